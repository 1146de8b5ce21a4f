//! Digests that are well formed by construction.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use sha2::{Digest as _, Sha256};

/// A sha256 digest. Lowercase hex of 64 characters, always; shown as `sha256:<hex>`.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Digest {
    hex: Box<str>,
}

/// What is wrong with a text that should be a digest.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum DigestError {
    /// It does not begin with `sha256:`.
    Algorithm,
    /// What follows is not 64 lowercase hexadecimal characters.
    Hex,
}

impl fmt::Display for DigestError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Algorithm => "a digest begins with `sha256:`",
            Self::Hex => "a sha256 digest has 64 lowercase hexadecimal characters",
        })
    }
}

impl std::error::Error for DigestError {}

impl Digest {
    /// Returns the digest of `bytes`.
    #[must_use]
    pub fn of(bytes: &[u8]) -> Self {
        Self::from_bytes(&Sha256::digest(bytes))
    }

    /// Returns the digest whose raw bytes these are; callers give the 32 bytes of a hasher.
    #[must_use]
    pub fn from_bytes(bytes: &[u8]) -> Self {
        const DIGITS: [char; 16] =
            ['0', '1', '2', '3', '4', '5', '6', '7', '8', '9', 'a', 'b', 'c', 'd', 'e', 'f'];
        let mut hex = String::with_capacity(2 * bytes.len());
        for byte in bytes {
            hex.push(DIGITS[usize::from(byte >> 4)]);
            hex.push(DIGITS[usize::from(byte & 15)]);
        }
        Self { hex: hex.into() }
    }

    /// Reads bare hex, as the hub writes it.
    ///
    /// # Errors
    /// [`DigestError::Hex`] if it is not 64 lowercase hexadecimal characters.
    pub fn from_hex(hex: &str) -> Result<Self, DigestError> {
        let fits = hex.len() == 64 && hex.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b));
        if fits { Ok(Self { hex: hex.into() }) } else { Err(DigestError::Hex) }
    }

    /// Returns the 64 hexadecimal characters.
    #[must_use]
    pub fn hex(&self) -> &str {
        &self.hex
    }
}

impl FromStr for Digest {
    type Err = DigestError;

    fn from_str(text: &str) -> Result<Self, DigestError> {
        Self::from_hex(text.strip_prefix("sha256:").ok_or(DigestError::Algorithm)?)
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "sha256:{}", self.hex)
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Serialize for Digest {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Digest {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}
