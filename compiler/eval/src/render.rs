//! Values as text, byte for byte as `nix-instantiate` prints them.

use std::collections::BTreeSet;

use diag::{Diagnostic, slugs::eval as slugs};

use crate::failure::{Failure, Outcome};
use crate::faults::plain_name;
use crate::machine::Machine;
use crate::slot::{NOWHERE, NodeId, Slot, SlotId};

impl Machine<'_> {
    /// Appends a value as JSON, evaluating all of it.
    pub(crate) fn write_json(&mut self, value: Slot, out: &mut Vec<u8>, node: NodeId) -> Outcome<()> {
        if out.len() as u64 > self.limits.output {
            return Err(self.too_much_output());
        }
        match value {
            Slot::Null { .. } => out.extend_from_slice(b"null"),
            Slot::Bool { value, .. } => out.extend_from_slice(if value { b"true" } else { b"false" }),
            Slot::Int { value, .. } => write_integer(value, out),
            Slot::Float { value, .. } => out.extend_from_slice(crate::number::json(value).as_bytes()),
            Slot::String { start, len, .. } => {
                if !write_json_string(self.bytes(start, len), out) {
                    return Err(self.placed(self.not_unicode("a string"), node));
                }
            }
            Slot::Path { .. } => return Err(self.path_in_string(value, node)),
            Slot::List { start, len, .. } => {
                out.push(b'[');
                for index in 0..len {
                    if index > 0 {
                        out.push(b',');
                    }
                    self.write_json_part(start + index, out, node)?;
                }
                out.push(b']');
            }
            Slot::Attrs { shape, start, .. } => return self.write_json_set(value, shape, start, out, node),
            other => return Err(self.not_data(other, node)),
        }
        Ok(())
    }

    /// Appends what is in a slot as JSON.
    fn write_json_part(&mut self, slot: SlotId, out: &mut Vec<u8>, node: NodeId) -> Outcome<()> {
        let held = self.heap[slot as usize];
        // Most parts are scalars that are there already.
        match held {
            Slot::Int { .. } | Slot::String { .. } | Slot::Bool { .. } | Slot::Null { .. } => {
                self.write_json(held, out, node)
            }
            _ => self.deeper(|machine| {
                let value = machine.force_at(slot)?;
                machine.write_json(value, out, node)
            }),
        }
    }

    fn write_json_set(
        &mut self,
        value: Slot,
        shape: u32,
        start: SlotId,
        out: &mut Vec<u8>,
        node: NodeId,
    ) -> Outcome<()> {
        if let Some(slot) = self.attribute(shape, start, self.known.to_string) {
            let function = self.force_at(slot)?;
            let text = self.nested(|machine| machine.call(function, value, node))?;
            let base = self.scratch.len();
            self.append(text, crate::coerce::Coercion::Strings, node)?;
            let text = self.finish(base, node)?;
            return self.write_json(text, out, node);
        }
        if let Some(slot) = self.attribute(shape, start, self.known.out_path) {
            return self.write_json_part(slot, out, node);
        }
        out.push(b'{');
        let layout = self.shapes.get(shape).layout;
        for (count, index) in self.ordered(shape).enumerate() {
            if count > 0 {
                out.push(b',');
            }
            let position = self.shapes.ordered(index);
            let name = self.shapes.names(layout)[position as usize];
            write_json_string(self.name(name).as_bytes(), out);
            out.push(b':');
            self.write_json_part(start + position, out, node)?;
        }
        out.push(b'}');
        Ok(())
    }

    #[cold]
    fn not_data(&self, value: Slot, node: NodeId) -> Box<Failure> {
        let mut diagnostic =
            Diagnostic::error(slugs::NOT_DATA, format!("{} has no form in JSON", self.described(value)));
        diagnostic.span = self.origin(value).or_else(|| self.code.span(node));
        Failure::new(diagnostic)
    }

    #[cold]
    pub(crate) fn too_much_output(&self) -> Box<Failure> {
        Failure::new(
            Diagnostic::error(
                slugs::TOO_MUCH_OUTPUT,
                format!("the value takes more than {} bytes to write", self.limits.output),
            )
            .help("ask for a part of it with `-A`, or raise the limit"),
        )
    }

    /// Evaluates all of a value.
    pub(crate) fn force_deep(&mut self, value: Slot) -> Outcome<()> {
        let mut seen = BTreeSet::new();
        self.force_parts(value, &mut seen)
    }

    fn force_parts(&mut self, value: Slot, seen: &mut BTreeSet<SlotId>) -> Outcome<()> {
        let (start, len) = match value {
            Slot::List { start, len, .. } => (start, len),
            Slot::Attrs { shape, start, .. } => (start, self.shapes.len(shape)),
            _ => return Ok(()),
        };
        if len == 0 || !seen.insert(start) {
            return Ok(());
        }
        if let Slot::Attrs { shape, .. } = value {
            for index in self.ordered(shape) {
                let position = self.shapes.ordered(index);
                self.force_part(start + position, seen)?;
            }
            return Ok(());
        }
        for slot in start..start + len {
            self.force_part(slot, seen)?;
        }
        Ok(())
    }

    fn force_part(&mut self, slot: SlotId, seen: &mut BTreeSet<SlotId>) -> Outcome<()> {
        self.deeper(|machine| {
            let part = machine.force_at(slot)?;
            machine.force_parts(part, seen)
        })
    }

    /// Appends a value in the form of the language, as far as it is evaluated.
    pub(crate) fn write_nix(
        &mut self,
        value: Slot,
        out: &mut Vec<u8>,
        seen: &mut BTreeSet<SlotId>,
    ) -> Outcome<()> {
        if out.len() as u64 > self.limits.output {
            return Err(self.too_much_output());
        }
        match value {
            Slot::Null { .. } => out.extend_from_slice(b"null"),
            Slot::Bool { value, .. } => out.extend_from_slice(if value { b"true" } else { b"false" }),
            Slot::Int { value, .. } => write_integer(value, out),
            Slot::Float { value, .. } => out.extend_from_slice(crate::number::printed(value).as_bytes()),
            Slot::String { start, len, .. } => write_nix_string(self.bytes(start, len), out),
            Slot::Path { start, len, .. } => {
                let path = &self.text[start as usize..(start + len) as usize];
                out.extend_from_slice(path);
            }
            Slot::List { len, start, .. } => {
                if len > 0 && !seen.insert(start) {
                    out.extend_from_slice("«repeated»".as_bytes());
                    return Ok(());
                }
                out.extend_from_slice(b"[ ");
                for slot in start..start + len {
                    self.write_nix_part(slot, out, seen)?;
                    out.push(b' ');
                }
                out.push(b']');
            }
            Slot::Attrs { shape, start, .. } => {
                if self.shapes.len(shape) > 0 && !seen.insert(start) {
                    out.extend_from_slice("«repeated»".as_bytes());
                    return Ok(());
                }
                out.extend_from_slice(b"{ ");
                let layout = self.shapes.get(shape).layout;
                for index in self.ordered(shape) {
                    let position = self.shapes.ordered(index);
                    let name = self.shapes.names(layout)[position as usize];
                    let name = self.name(name);
                    if plain_name(name) {
                        out.extend_from_slice(name.as_bytes());
                    } else {
                        write_nix_string(name.as_bytes(), out);
                    }
                    out.extend_from_slice(b" = ");
                    self.write_nix_part(start + position, out, seen)?;
                    out.extend_from_slice(b"; ");
                }
                out.push(b'}');
            }
            Slot::Lambda { .. } => out.extend_from_slice(b"<LAMBDA>"),
            Slot::Builtin { count: 0, .. } => out.extend_from_slice(b"<PRIMOP>"),
            Slot::Builtin { .. } => out.extend_from_slice(b"<PRIMOP-APP>"),
            Slot::Busy => out.extend_from_slice("«potential infinite recursion»".as_bytes()),
            _ => out.extend_from_slice(b"<CODE>"),
        }
        Ok(())
    }

    fn write_nix_part(
        &mut self,
        slot: SlotId,
        out: &mut Vec<u8>,
        seen: &mut BTreeSet<SlotId>,
    ) -> Outcome<()> {
        let mut held = self.heap[slot as usize];
        for _ in 0..64 {
            let Slot::Ref { slot } = held else { break };
            held = self.heap[slot as usize];
        }
        match held {
            Slot::List { .. } | Slot::Attrs { .. } => {
                self.deeper(|machine| machine.write_nix(held, out, seen))
            }
            held => self.write_nix(held, out, seen),
        }
    }

    /// Returns the place of characters as `unsafeGetAttrPos` and `__curPos` tell it.
    pub(crate) fn position_set(&mut self, span: Option<diag::Span>, node: NodeId) -> Outcome<Slot> {
        let found = span.and_then(|span| Some((span, self.sources.get(span.file)?)));
        let Some((span, file)) = found else { return Ok(Slot::Null { at: node }) };
        let position = file.position(span.start);
        let path = format!("/{}", file.path);
        // Nix counts columns in bytes.
        let line_start = file.text[..span.start as usize].rfind('\n').map_or(0, |index| index + 1);
        let column = i64::from(span.start) - line_start as i64 + 1;
        let file = self.string(path.as_bytes(), node)?;
        let line = Slot::Int { at: node, value: i64::from(position.line) };
        let column = Slot::Int { at: node, value: column };
        let known = self.known;
        self.make_set(vec![(known.file, file), (known.line, line), (known.column, column)], NOWHERE)
    }
}

fn write_integer(value: i64, out: &mut Vec<u8>) {
    let mut digits = [0_u8; 20];
    let mut at = digits.len();
    let mut rest = value.unsigned_abs();
    loop {
        at -= 1;
        digits[at] = b'0' + (rest % 10) as u8;
        rest /= 10;
        if rest == 0 {
            break;
        }
    }
    if value < 0 {
        out.push(b'-');
    }
    out.extend_from_slice(&digits[at..]);
}

/// Appends a string as JSON; returns false if it is not UTF-8.
pub(crate) fn write_json_string(bytes: &[u8], out: &mut Vec<u8>) -> bool {
    out.push(b'"');
    // Nearly all strings are plain ASCII, which eight bytes at a time can show.
    let mut chunks = bytes.chunks_exact(8);
    let plain = chunks.all(|chunk| chunk.try_into().is_ok_and(|word| plain_word(u64::from_le_bytes(word))));
    let rest = &bytes[bytes.len() / 8 * 8..];
    if plain && rest.iter().all(|&byte| (32..128).contains(&byte) && byte != b'"' && byte != b'\\') {
        out.extend_from_slice(bytes);
        out.push(b'"');
        return true;
    }
    if !bytes.is_ascii() && std::str::from_utf8(bytes).is_err() {
        return false;
    }
    let mut plain = 0;
    for (index, &byte) in bytes.iter().enumerate() {
        let escape: &[u8] = match byte {
            b'"' => b"\\\"",
            b'\\' => b"\\\\",
            b'\n' => b"\\n",
            b'\r' => b"\\r",
            b'\t' => b"\\t",
            8 => b"\\b",
            12 => b"\\f",
            0..32 => b"",
            _ => continue,
        };
        out.extend_from_slice(&bytes[plain..index]);
        plain = index + 1;
        if escape.is_empty() {
            out.extend_from_slice(format!("\\u{byte:04x}").as_bytes());
        } else {
            out.extend_from_slice(escape);
        }
    }
    out.extend_from_slice(&bytes[plain..]);
    out.push(b'"');
    true
}

/// Returns true if none of eight bytes is a control character, a quote, a backslash or beyond ASCII.
/// A false alarm is possible, the other error is not.
#[inline]
fn plain_word(word: u64) -> bool {
    const LOW: u64 = 0x0101_0101_0101_0101;
    const HIGH: u64 = 0x8080_8080_8080_8080;
    let zero_in = |word: u64| word.wrapping_sub(LOW) & !word;
    let control = word.wrapping_sub(LOW * 32) & !word;
    let quote = zero_in(word ^ (LOW * 0x22));
    let backslash = zero_in(word ^ (LOW * 0x5c));
    (control | quote | backslash | word) & HIGH == 0
}

/// Appends a string as the language writes it.
pub(crate) fn write_nix_string(bytes: &[u8], out: &mut Vec<u8>) {
    out.push(b'"');
    for (index, &byte) in bytes.iter().enumerate() {
        match byte {
            b'"' | b'\\' => out.extend_from_slice(&[b'\\', byte]),
            b'\n' => out.extend_from_slice(b"\\n"),
            b'\r' => out.extend_from_slice(b"\\r"),
            b'\t' => out.extend_from_slice(b"\\t"),
            b'$' if bytes.get(index + 1) == Some(&b'{') => out.extend_from_slice(b"\\$"),
            byte => out.push(byte),
        }
    }
    out.push(b'"');
}
