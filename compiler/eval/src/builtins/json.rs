//! `toJSON`, `fromJSON`, and JSON documents of Rust.

use diag::slugs::eval as slugs;

use crate::call::Args;
use crate::failure::Outcome;
use crate::machine::Machine;
use crate::slot::{NodeId, Slot, Symbol};

pub(super) fn to_json(machine: &mut Machine<'_>, args: &Args) -> Outcome<Slot> {
    let mut out = Vec::new();
    machine.write_json(args.list[0], &mut out, args.at)?;
    machine.string(&out, args.at)
}

pub(super) fn from_json(machine: &mut Machine<'_>, args: &Args) -> Outcome<Slot> {
    let (start, len) = machine.string_argument(args, 0)?;
    let text = machine.bytes(start, len).to_vec();
    let mut reader = Reader { text: &text, at: 0, node: args.at };
    let read = reader.document(machine)?;
    match read {
        Ok(value) => Ok(value),
        Err(reason) => {
            let message = format!("the text is not JSON: {reason} at byte {}", reader.at);
            Err(machine.unreadable_text(args, slugs::INVALID_JSON, message))
        }
    }
}

/// Reads JSON as Nix's JSON library does.
struct Reader<'t> {
    text: &'t [u8],
    at: usize,
    node: NodeId,
}

/// Outside: the evaluation may go on. Inside: the text is JSON.
type Read<T> = Outcome<Result<T, &'static str>>;

/// Passes a fault of the text on.
macro_rules! ok {
    ($read:expr) => {
        match $read {
            Ok(value) => value,
            Err(reason) => return Ok(Err(reason)),
        }
    };
}

impl Reader<'_> {
    fn document(&mut self, machine: &mut Machine<'_>) -> Read<Slot> {
        let value = ok!(self.value(machine)?);
        self.blank();
        if self.at < self.text.len() {
            return Ok(Err("there is something after the value"));
        }
        Ok(Ok(value))
    }

    fn peek(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }

    fn blank(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    fn take(&mut self, byte: u8) -> bool {
        let found = self.peek() == Some(byte);
        self.at += usize::from(found);
        found
    }

    fn word(&mut self, word: &str, value: Slot) -> Result<Slot, &'static str> {
        if self.text[self.at..].starts_with(word.as_bytes()) {
            self.at += word.len();
            Ok(value)
        } else {
            Err("there is no such word in JSON")
        }
    }

    fn value(&mut self, machine: &mut Machine<'_>) -> Read<Slot> {
        self.blank();
        let at = self.node;
        match self.peek() {
            Some(b'{') => machine.nested(|machine| self.object(machine)),
            Some(b'[') => machine.nested(|machine| self.array(machine)),
            Some(b'"') => {
                let text = ok!(self.string());
                Ok(Ok(machine.string(&text, at)?))
            }
            Some(b't') => Ok(self.word("true", Slot::Bool { at, value: true })),
            Some(b'f') => Ok(self.word("false", Slot::Bool { at, value: false })),
            Some(b'n') => Ok(self.word("null", Slot::Null { at })),
            Some(b'-' | b'0'..=b'9') => Ok(self.number()),
            Some(_) => Ok(Err("no value begins like this")),
            None => Ok(Err("the text ends too early")),
        }
    }

    fn object(&mut self, machine: &mut Machine<'_>) -> Read<Slot> {
        self.at += 1;
        let mut pairs: Vec<(Symbol, Slot)> = Vec::new();
        self.blank();
        if !self.take(b'}') {
            loop {
                self.blank();
                if self.peek() != Some(b'"') {
                    return Ok(Err("an object needs a name here"));
                }
                let name = ok!(self.string());
                let name = ok!(String::from_utf8(name).map_err(|_| "the name is not Unicode"));
                self.blank();
                if !self.take(b':') {
                    return Ok(Err("a colon is missing"));
                }
                let value = ok!(self.value(machine)?);
                pairs.push((machine.intern(&name), value));
                self.blank();
                if self.take(b'}') {
                    break;
                }
                if !self.take(b',') {
                    return Ok(Err("a comma or the end of the object is missing"));
                }
            }
        }
        Ok(Ok(machine.make_set(pairs, self.node)?))
    }

    fn array(&mut self, machine: &mut Machine<'_>) -> Read<Slot> {
        self.at += 1;
        let mut elements = Vec::new();
        self.blank();
        if !self.take(b']') {
            loop {
                elements.push(ok!(self.value(machine)?));
                self.blank();
                if self.take(b']') {
                    break;
                }
                if !self.take(b',') {
                    return Ok(Err("a comma or the end of the array is missing"));
                }
            }
        }
        Ok(Ok(machine.make_list(&elements, self.node)?))
    }

    fn digits(&mut self) -> bool {
        let begin = self.at;
        while matches!(self.peek(), Some(b'0'..=b'9')) {
            self.at += 1;
        }
        self.at > begin
    }

    fn number(&mut self) -> Result<Slot, &'static str> {
        let begin = self.at;
        let negative = self.take(b'-');
        let zero = self.peek() == Some(b'0');
        if zero {
            self.at += 1;
        } else if !self.digits() {
            return Err("a number needs a digit");
        }
        let mut float = false;
        if self.take(b'.') {
            float = true;
            if !self.digits() {
                return Err("a number needs a digit after its point");
            }
        }
        if matches!(self.peek(), Some(b'e' | b'E')) {
            float = true;
            self.at += 1;
            if !self.take(b'+') {
                self.take(b'-');
            }
            if !self.digits() {
                return Err("a number needs a digit in its exponent");
            }
        }
        let text = std::str::from_utf8(&self.text[begin..self.at]).unwrap_or("");
        let at = self.node;
        if !float {
            if let Ok(value) = text.parse::<i64>() {
                return Ok(Slot::Int { at, value });
            }
            // Between 2^63 and 2^64 Nix refuses; beyond, its library makes a float of it.
            if !negative && text.parse::<u64>().is_ok() {
                return Err("the number does not fit an integer");
            }
        }
        match text.parse::<f64>() {
            Ok(value) if value.is_finite() => Ok(Slot::Float { at, value }),
            _ => Err("the number does not fit a float"),
        }
    }

    fn string(&mut self) -> Result<Vec<u8>, &'static str> {
        self.at += 1;
        let mut out = Vec::new();
        loop {
            let Some(byte) = self.peek() else { return Err("a string has no end") };
            self.at += 1;
            match byte {
                b'"' => break,
                b'\\' => self.escape(&mut out)?,
                0..32 => return Err("a string has a bare control character"),
                byte => out.push(byte),
            }
        }
        if std::str::from_utf8(&out).is_err() {
            return Err("a string is not UTF-8");
        }
        Ok(out)
    }

    fn escape(&mut self, out: &mut Vec<u8>) -> Result<(), &'static str> {
        let Some(byte) = self.peek() else { return Err("a string has no end") };
        self.at += 1;
        out.push(match byte {
            b'"' | b'\\' | b'/' => byte,
            b'b' => 8,
            b'f' => 12,
            b'n' => b'\n',
            b'r' => b'\r',
            b't' => b'\t',
            b'u' => {
                let mut code = self.hex()?;
                if (0xd800..0xdc00).contains(&code) {
                    if !(self.take(b'\\') && self.take(b'u')) {
                        return Err("half of a surrogate pair stands alone");
                    }
                    let low = self.hex()?;
                    if !(0xdc00..0xe000).contains(&low) {
                        return Err("half of a surrogate pair stands alone");
                    }
                    code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
                }
                let Some(character) = char::from_u32(code) else {
                    return Err("half of a surrogate pair stands alone");
                };
                if character == '\0' {
                    return Err("a string of this language has no null character");
                }
                out.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
                return Ok(());
            }
            _ => return Err("there is no such escape"),
        });
        Ok(())
    }

    fn hex(&mut self) -> Result<u32, &'static str> {
        let mut code = 0;
        for _ in 0..4 {
            let digit = self.peek().and_then(|byte| char::from(byte).to_digit(16));
            let Some(digit) = digit else { return Err("`\\u` needs four hexadecimal digits") };
            code = code * 16 + digit;
            self.at += 1;
        }
        Ok(code)
    }
}

impl Machine<'_> {
    /// Returns the value that a JSON document means.
    pub(crate) fn read_document(&mut self, document: &serde_json::Value, at: NodeId) -> Outcome<Slot> {
        use serde_json::Value as Json;
        Ok(match document {
            Json::Null => Slot::Null { at },
            Json::Bool(value) => Slot::Bool { at, value: *value },
            Json::Number(number) => match (number.as_i64(), number.as_f64()) {
                (Some(value), _) => Slot::Int { at, value },
                (None, Some(value)) => Slot::Float { at, value },
                (None, None) => Slot::Null { at },
            },
            Json::String(text) => self.string(text.as_bytes(), at)?,
            Json::Array(elements) => {
                let mut slots = Vec::with_capacity(elements.len());
                for element in elements {
                    slots.push(self.nested(|machine| machine.read_document(element, at))?);
                }
                self.make_list(&slots, at)?
            }
            Json::Object(members) => {
                let mut pairs = Vec::with_capacity(members.len());
                for (name, value) in members {
                    let value = self.nested(|machine| machine.read_document(value, at))?;
                    pairs.push((self.intern(name), value));
                }
                self.make_set(pairs, at)?
            }
        })
    }

    /// Returns the JSON document of a value, evaluating all of it.
    pub(crate) fn write_document(&mut self, value: Slot, node: NodeId) -> Outcome<serde_json::Value> {
        use serde_json::Value as Json;
        Ok(match value {
            Slot::Null { .. } => Json::Null,
            Slot::Bool { value, .. } => Json::Bool(value),
            Slot::Int { value, .. } => Json::from(value),
            // What is no number in JSON is null, as in Nix.
            Slot::Float { value, .. } => Json::from(value),
            Slot::String { start, len, .. } => match std::str::from_utf8(self.bytes(start, len)) {
                Ok(text) => Json::from(text),
                Err(_) => return Err(self.placed(self.not_unicode("a string"), node)),
            },
            Slot::List { start, len, .. } => {
                let mut elements = Vec::with_capacity(len as usize);
                for slot in start..start + len {
                    elements.push(self.write_document_part(slot, node)?);
                }
                Json::Array(elements)
            }
            Slot::Attrs { shape, start, .. }
                if self.attribute(shape, start, self.known.to_string).is_none()
                    && self.attribute(shape, start, self.known.out_path).is_none() =>
            {
                let layout = self.shapes.get(shape).layout;
                let mut members = serde_json::Map::new();
                for index in self.ordered(shape) {
                    let position = self.shapes.ordered(index);
                    let name = self.shapes.names(layout)[position as usize];
                    let name = self.name(name).to_owned();
                    members.insert(name, self.write_document_part(start + position, node)?);
                }
                Json::Object(members)
            }
            other => {
                // The odd ones go the way of the text, which knows what to make of them.
                let mut out = Vec::new();
                self.write_json(other, &mut out, node)?;
                serde_json::from_slice(&out).unwrap_or(Json::Null)
            }
        })
    }

    fn write_document_part(&mut self, slot: crate::slot::SlotId, node: NodeId) -> Outcome<serde_json::Value> {
        self.deeper(|machine| {
            let value = machine.force_at(slot)?;
            machine.write_document(value, node)
        })
    }

    /// Returns the value at a dotted path such as `-A a.b` takes.
    pub(crate) fn select_path(&mut self, value: Slot, path: &str) -> Outcome<Slot> {
        let mut value = self.force(value)?;
        for part in path.split('.').filter(|part| !part.is_empty()) {
            let next = match (value, part.parse::<u32>()) {
                (Slot::List { start, len, .. }, Ok(index)) if index < len => Some(start + index),
                (Slot::Attrs { shape, start, .. }, _) => {
                    let name = self.intern(part.trim_matches('"'));
                    let found = self.attribute(shape, start, name);
                    if found.is_none() {
                        return Err(crate::failure::Failure::new(self.missing(value, shape, name, None)));
                    }
                    found
                }
                _ => None,
            };
            let Some(slot) = next else {
                let what = format!("what `{part}` is selected from");
                return Err(self.wrong_type(value, "a set", &what, crate::slot::NOWHERE));
            };
            value = self.force_at(slot)?;
        }
        Ok(value)
    }
}
