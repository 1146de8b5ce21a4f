//! Values as Python prints them: how engines log what they were started with.

use serde_json::{Map, Value};

/// The most bytes of a printed value.
const LIMIT: usize = 1 << 20;

/// The deepest nesting.
const DEPTH: usize = 48;

/// Reads a printed value: plain values, lists, sets of any bracket, dictionaries, and objects as
/// `Name(field=value, …)`, which become a map of fields. `None` where it does not end, or is none.
#[must_use]
pub fn value(text: &str) -> Option<Value> {
    let mut reader = Reader { text: text.get(..text.floor_char_boundary(LIMIT))?, at: 0, depth: 0 };
    reader.value()
}

struct Reader<'t> {
    text: &'t str,
    at: usize,
    depth: usize,
}

impl<'t> Reader<'t> {
    fn rest(&self) -> &'t str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn space(&mut self) {
        let rest = self.rest();
        self.at += rest.len() - rest.trim_start().len();
    }

    fn take(&mut self, mark: char) -> bool {
        self.space();
        let found = self.rest().starts_with(mark);
        if found {
            self.at += mark.len_utf8();
        }
        found
    }

    fn value(&mut self) -> Option<Value> {
        self.space();
        if self.depth >= DEPTH {
            return None;
        }
        self.depth += 1;
        let value = match self.rest().chars().next()? {
            '{' => self.braces(),
            '[' => self.list('[', ']'),
            '(' => self.list('(', ')'),
            '<' => self.angles(),
            '\'' | '"' => self.string().map(Value::String),
            _ => self.word(),
        };
        self.depth -= 1;
        value
    }

    fn list(&mut self, open: char, close: char) -> Option<Value> {
        self.take(open);
        let mut items = Vec::new();
        loop {
            if self.take(close) {
                return Some(Value::Array(items));
            }
            items.push(self.value()?);
            if !self.take(',') && !self.rest().starts_with(close) {
                return None;
            }
        }
    }

    /// A dictionary or a set.
    fn braces(&mut self) -> Option<Value> {
        self.take('{');
        let mut map = Map::new();
        let mut items = Vec::new();
        loop {
            if self.take('}') {
                return Some(if items.is_empty() { Value::Object(map) } else { Value::Array(items) });
            }
            let key = self.value()?;
            if self.take(':') {
                let value = self.value()?;
                map.insert(plain(&key), value);
            } else {
                items.push(key);
            }
            if !self.take(',') && !self.rest().starts_with('}') {
                return None;
            }
        }
    }

    /// `<Mode.FULL: 'full'>` is what it stands for; of any other object the text is kept.
    fn angles(&mut self) -> Option<Value> {
        let rest = self.rest();
        let end = rest.find('>')?;
        let inside = rest.get(1..end)?;
        self.at += end + 1;
        let meant = inside.split_once(": ").and_then(|(_, text)| value(text));
        Some(meant.unwrap_or_else(|| Value::String(inside.to_owned())))
    }

    fn string(&mut self) -> Option<String> {
        let mut chars = self.rest().char_indices();
        let (_, quote) = chars.next()?;
        let mut text = String::new();
        while let Some((at, c)) = chars.next() {
            match c {
                _ if c == quote => {
                    self.at += at + 1;
                    return Some(text);
                }
                '\\' => match chars.next()?.1 {
                    'n' => text.push('\n'),
                    't' => text.push('\t'),
                    'r' => text.push('\r'),
                    'x' => {
                        let code: String = chars.by_ref().take(2).map(|(_, c)| c).collect();
                        text.push(char::from(u8::from_str_radix(&code, 16).ok()?));
                    }
                    other => text.push(other),
                },
                other => text.push(other),
            }
        }
        None
    }

    /// A number, a constant, a name, or a call of one.
    fn word(&mut self) -> Option<Value> {
        let rest = self.rest();
        let end = rest.find([',', ')', ']', '}', '(', ':', '=', '\'', '"']).unwrap_or(rest.len());
        let word = rest.get(..end)?.trim_end();
        self.at += end;
        if self.rest().starts_with('(') {
            return self.call(word);
        }
        // A prefix of a string: bytes and raw strings.
        if self.rest().starts_with(['\'', '"']) && word.len() <= 2 {
            return self.string().map(Value::String);
        }
        match word {
            "" => None,
            "None" => Some(Value::Null),
            "True" => Some(Value::Bool(true)),
            "False" => Some(Value::Bool(false)),
            number => Some(serde_json::from_str(number).unwrap_or_else(|_| Value::String(number.to_owned()))),
        }
    }

    fn call(&mut self, name: &str) -> Option<Value> {
        self.take('(');
        let mut fields = Map::new();
        let mut items = Vec::new();
        loop {
            if self.take(')') {
                break;
            }
            let first = self.value()?;
            if self.take('=') {
                let value = self.value()?;
                fields.insert(plain(&first), value);
            } else {
                items.push(first);
            }
            if !self.take(',') && !self.rest().starts_with(')') {
                return None;
            }
        }
        Some(match (fields.is_empty(), items.len()) {
            (true, 0) => Value::String(format!("{name}()")),
            // `PosixPath('/models')` is its path.
            (true, 1) => items.remove(0),
            (true, _) => Value::Array(items),
            (false, _) => Value::Object(fields),
        })
    }
}

fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::value;

    #[test]
    fn what_engines_print_is_read() {
        let text = "ServerArgs(model_path='/m', tp_size=8, mem_fraction_static=0.8, x=None, on=True, \
                    lora=[], graph={'a': 1, \"b\": (1, 2)}, mode=<Mode.FULL: 'full'>, dtype=torch.bfloat16, \
                    path=PosixPath('/x'), inner=Inner(a=1), text='it\\'s') and more";
        assert_eq!(
            value(text),
            Some(json!({
                "model_path": "/m", "tp_size": 8, "mem_fraction_static": 0.8, "x": null, "on": true,
                "lora": [], "graph": {"a": 1, "b": [1, 2]}, "mode": "full", "dtype": "torch.bfloat16",
                "path": "/x", "inner": {"a": 1}, "text": "it's"
            }))
        );
        assert_eq!(value("{'port': 8888, 'c': {'n': 3}}"), Some(json!({"port": 8888, "c": {"n": 3}})));
    }

    #[test]
    fn what_does_not_end_is_no_value() {
        for text in ["{'a': 1", "[1, 2", "X(a=1", "'a", "", "{'a' 1}", "X(a=)"] {
            assert_eq!(value(text), None, "{text}");
        }
        assert_eq!(value(&"[".repeat(100_000)), None);
    }
}
