//! Hashes, and the ways to write them.

use sha2::Digest as _;

use crate::call::Args;
use crate::failure::Outcome;
use crate::machine::Machine;
use crate::slot::{Slot, Symbol};

/// The digits of Nix's own base 32.
const NIX_DIGITS: &[u8; 32] = b"0123456789abcdfghijklmnpqrsvwxyz";
const BASE64_DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

pub(super) fn hash_string(machine: &mut Machine<'_>, args: &Args) -> Outcome<Slot> {
    let (start, len) = machine.string_argument(args, 0)?;
    let algorithm = machine.bytes(start, len).to_vec();
    let (start, len) = machine.string_argument(args, 1)?;
    let text = machine.bytes(start, len).to_vec();
    hash(machine, args, &algorithm, &text)
}

/// Returns the hash of bytes, in hexadecimal digits.
pub(super) fn hash(machine: &mut Machine<'_>, args: &Args, algorithm: &[u8], text: &[u8]) -> Outcome<Slot> {
    machine.spend(text.len() / 64)?;
    let digest: Vec<u8> = match algorithm {
        b"md5" => md5::Md5::digest(text).to_vec(),
        b"sha1" => sha1::Sha1::digest(text).to_vec(),
        b"sha256" => sha2::Sha256::digest(text).to_vec(),
        b"sha512" => sha2::Sha512::digest(text).to_vec(),
        _ => return Err(unknown(machine, args, algorithm)),
    };
    machine.string(hexadecimal(&digest).as_bytes(), args.at)
}

fn unknown(machine: &Machine<'_>, args: &Args, algorithm: &[u8]) -> Box<crate::failure::Failure> {
    let shown = String::from_utf8_lossy(algorithm);
    machine.bad_argument(
        args,
        0,
        format!("there is no hash `{shown}`: there are md5, sha1, sha256 and sha512"),
    )
}

fn size(algorithm: &[u8]) -> Option<usize> {
    match algorithm {
        b"md5" => Some(16),
        b"sha1" => Some(20),
        b"sha256" => Some(32),
        b"sha512" => Some(64),
        _ => None,
    }
}

pub(super) fn convert_hash(machine: &mut Machine<'_>, args: &Args) -> Outcome<Slot> {
    let known = machine.known;
    let Some(written) = text_of(machine, args, known.hash)? else {
        return Err(machine.bad_argument(args, 0, "the attribute `hash` is missing".to_owned()));
    };
    let given = text_of(machine, args, known.hash_algo)?;
    let Some(format) = text_of(machine, args, known.to_hash_format)? else {
        return Err(machine.bad_argument(args, 0, "the attribute `toHashFormat` is missing".to_owned()));
    };
    let (algorithm, digest) = match parse(&written, given.as_deref()) {
        Ok(parsed) => parsed,
        Err(message) => return Err(machine.bad_argument(args, 0, message)),
    };
    let text = match format.as_slice() {
        b"base16" => hexadecimal(&digest),
        b"nix32" | b"base32" => nix32(&digest),
        b"base64" => base64(&digest),
        b"sri" => format!("{}-{}", String::from_utf8_lossy(&algorithm), base64(&digest)),
        other => {
            let shown = String::from_utf8_lossy(other);
            let message =
                format!("there is no hash format `{shown}`: there are base16, nix32, base64 and sri");
            return Err(machine.bad_argument(args, 0, message));
        }
    };
    machine.string(text.as_bytes(), args.at)
}

/// Returns the bytes of a string attribute of the argument.
fn text_of(machine: &mut Machine<'_>, args: &Args, name: Symbol) -> Outcome<Option<Vec<u8>>> {
    let (shape, start) = machine.set_argument(args, 0)?;
    let Some(slot) = machine.attribute(shape, start, name) else { return Ok(None) };
    match machine.force_at(slot)? {
        value @ Slot::String { .. } => Ok(Some(machine.bytes_of(value).to_vec())),
        other => {
            let what = format!("`{}`", machine.name(name));
            Err(machine.wrong_type(other, "a string", &what, machine.argument(args, 0)))
        }
    }
}

/// Reads a hash: its algorithm and its bytes.
fn parse(written: &[u8], given: Option<&[u8]>) -> Result<(Vec<u8>, Vec<u8>), String> {
    let cut = |mark: u8| {
        let index = written.iter().position(|&byte| byte == mark)?;
        Some((&written[..index], &written[index + 1..]))
    };
    let (prefix, rest, sri) = match (cut(b'-'), cut(b':')) {
        (Some((prefix, rest)), _) if size(prefix).is_some() => (Some(prefix), rest, true),
        (_, Some((prefix, rest))) => (Some(prefix), rest, false),
        _ => (None, written, false),
    };
    let algorithm = match (prefix, given) {
        (Some(prefix), Some(given)) if prefix != given => {
            return Err("the hash names another algorithm than `hashAlgo`".to_owned());
        }
        (Some(prefix), _) => prefix,
        (None, Some(given)) => given,
        (None, None) => return Err("the hash names no algorithm, and `hashAlgo` is missing".to_owned()),
    };
    let Some(size) = size(algorithm) else {
        return Err(format!("there is no hash `{}`", String::from_utf8_lossy(algorithm)));
    };
    let digest = if !sri && rest.len() == size * 2 {
        from_hexadecimal(rest)
    } else if !sri && rest.len() == (size * 8).div_ceil(5) {
        from_nix32(rest, size)
    } else if rest.len() == size.div_ceil(3) * 4 {
        from_base64(rest)
    } else {
        None
    };
    match digest {
        Some(digest) if digest.len() == size => Ok((algorithm.to_vec(), digest)),
        _ => Err("the hash has a wrong length or a wrong character".to_owned()),
    }
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn from_hexadecimal(text: &[u8]) -> Option<Vec<u8>> {
    let digit = |byte: u8| char::from(byte).to_digit(16);
    text.chunks_exact(2).map(|pair| Some((digit(pair[0])? * 16 + digit(pair[1])?) as u8)).collect()
}

/// Nix writes the last bits first.
fn nix32(bytes: &[u8]) -> String {
    let digits = (bytes.len() * 8).div_ceil(5);
    let at = |index: usize| u16::from(bytes.get(index).copied().unwrap_or(0));
    (0..digits)
        .rev()
        .map(|digit| {
            let (byte, bit) = (digit * 5 / 8, digit * 5 % 8);
            let value = (at(byte) >> bit) | (at(byte + 1) << (8 - bit));
            char::from(NIX_DIGITS[usize::from(value & 31)])
        })
        .collect()
}

fn from_nix32(text: &[u8], size: usize) -> Option<Vec<u8>> {
    let mut bytes = vec![0_u8; size];
    for (digit, &character) in text.iter().rev().enumerate() {
        let value = NIX_DIGITS.iter().position(|&other| other == character)? as u16;
        let (byte, bit) = (digit * 5 / 8, digit * 5 % 8);
        *bytes.get_mut(byte)? |= (value << bit) as u8;
        let carry = (value >> (8 - bit)) as u8;
        match bytes.get_mut(byte + 1) {
            Some(next) => *next |= carry,
            None if carry != 0 => return None,
            None => {}
        }
    }
    Some(bytes)
}

fn base64(bytes: &[u8]) -> String {
    let mut out = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let at = |index: usize| u32::from(chunk.get(index).copied().unwrap_or(0));
        let word = at(0) << 16 | at(1) << 8 | at(2);
        for index in 0..4 {
            if index <= chunk.len() {
                out.push(char::from(BASE64_DIGITS[(word >> (18 - 6 * index)) as usize & 63]));
            } else {
                out.push('=');
            }
        }
    }
    out
}

fn from_base64(text: &[u8]) -> Option<Vec<u8>> {
    let body = text.strip_suffix(b"==").or_else(|| text.strip_suffix(b"=")).unwrap_or(text);
    let (mut out, mut word, mut bits) = (Vec::new(), 0_u32, 0);
    for &character in body {
        let value = BASE64_DIGITS.iter().position(|&other| other == character)? as u32;
        word = (word << 6 | value) & 0xff_ffff;
        bits += 6;
        if bits >= 8 {
            bits -= 8;
            out.push((word >> bits) as u8);
        }
    }
    Some(out)
}
