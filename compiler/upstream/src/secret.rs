//! Secrets that neither `Display` nor `Debug` shows.

use std::fmt;

/// A credential. It is masked wherever it could be printed; [`Secret::expose`] is the one way to
/// its text, and only what puts it on the wire calls that.
#[derive(Clone, PartialEq, Eq, Default)]
pub struct Secret(Box<str>);

impl Secret {
    /// Keeps a text secret.
    pub fn new(text: impl Into<Box<str>>) -> Self {
        Self(text.into())
    }

    /// Returns the text, for the wire only.
    #[must_use]
    pub fn expose(&self) -> &str {
        &self.0
    }

    /// Returns true if there is no text, which is no credential.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl fmt::Display for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("****")
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("****")
    }
}

impl From<String> for Secret {
    fn from(text: String) -> Self {
        Self(text.into())
    }
}

/// What a person or a machine shows to a service.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Credential {
    /// A user name and a password.
    Basic {
        /// The user; not secret.
        user: String,
        /// The password.
        password: Secret,
    },
    /// A token that goes on the wire as it is.
    Bearer(Secret),
    /// A registry's identity token, to be exchanged for an access token.
    Identity(Secret),
}

/// Encodes as base64 with padding; needed for `Authorization: Basic`.
#[must_use]
pub fn base64_encode(bytes: &[u8]) -> String {
    const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let byte = |at: usize| u32::from(chunk.get(at).copied().unwrap_or(0));
        let word = byte(0) << 16 | byte(1) << 8 | byte(2);
        for place in 0..4_usize {
            if place <= chunk.len() {
                let index = (word >> (18 - 6 * place)) & 63;
                text.push(ALPHABET.get(index as usize).map_or('=', |&letter| char::from(letter)));
            } else {
                text.push('=');
            }
        }
    }
    text
}

/// Decodes base64, with or without padding and line breaks; `None` if it is not base64.
#[must_use]
pub fn base64_decode(text: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(text.len() / 4 * 3);
    let (mut word, mut bits) = (0_u32, 0_u32);
    for letter in text.bytes().filter(|byte| !byte.is_ascii_whitespace()) {
        let value = match letter {
            b'A'..=b'Z' => letter - b'A',
            b'a'..=b'z' => letter - b'a' + 26,
            b'0'..=b'9' => letter - b'0' + 52,
            b'+' | b'-' => 62,
            b'/' | b'_' => 63,
            b'=' => continue,
            _ => return None,
        };
        word = word << 6 | u32::from(value);
        bits += 6;
        if bits >= 8 {
            bits -= 8;
            bytes.push(u8::try_from(word >> bits & 0xff).unwrap_or(0));
        }
    }
    (bits < 6).then_some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_never_shown() {
        let secret = Secret::new("hunter2");
        let credential = Credential::Basic { user: "me".into(), password: secret.clone() };
        assert_eq!(format!("{secret} {secret:?}"), "**** ****");
        assert!(!format!("{credential:?}").contains("hunter2"));
        assert_eq!(secret.expose(), "hunter2");
    }

    #[test]
    fn base64_goes_both_ways() {
        for text in ["", "a", "ab", "abc", "user:pass", "\u{fc}n\u{ef}"] {
            assert_eq!(base64_decode(&base64_encode(text.as_bytes())).as_deref(), Some(text.as_bytes()));
        }
        assert_eq!(base64_encode(b"user:pass"), "dXNlcjpwYXNz");
        assert_eq!(base64_decode("dXNl\ncjpw YXNz").as_deref(), Some(&b"user:pass"[..]));
        assert_eq!(base64_decode("d*"), None);
        assert_eq!(base64_decode("A"), None);
    }
}
