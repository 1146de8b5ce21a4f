//! The text of lockfiles: pretty JSON with sorted keys, made for people who read `git diff`.

use serde_json::Value;

use crate::canonical::{write_number, write_string};

/// Objects and arrays of scalars that fit in this many columns stand on one line, so that one
/// fact is one line of a diff.
const WIDTH: usize = 160;

/// Returns the text of a lockfile: two spaces of indentation, sorted keys, final newline.
#[must_use]
pub fn pretty(value: &Value) -> String {
    let mut text = String::new();
    write(value, 0, &mut text);
    text.push('\n');
    text
}

fn write(value: &Value, depth: usize, out: &mut String) {
    if let Some(line) = one_line(value)
        && depth > 0
        && line.len() + 2 * depth <= WIDTH
    {
        out.push_str(&line);
        return;
    }
    match value {
        Value::Array(items) => {
            out.push('[');
            for (index, item) in items.iter().enumerate() {
                out.push_str(if index > 0 { ",\n" } else { "\n" });
                out.push_str(&"  ".repeat(depth + 1));
                write(item, depth + 1, out);
            }
            newline_unless_empty(items.is_empty(), depth, out);
            out.push(']');
        }
        Value::Object(map) => {
            out.push('{');
            let mut entries: Vec<(&String, &Value)> = map.iter().collect();
            entries.sort_by(|a, b| key_order(a.0, b.0));
            for (index, (key, item)) in entries.into_iter().enumerate() {
                out.push_str(if index > 0 { ",\n" } else { "\n" });
                out.push_str(&"  ".repeat(depth + 1));
                write_string(key, out);
                out.push_str(": ");
                write(item, depth + 1, out);
            }
            newline_unless_empty(map.is_empty(), depth, out);
            out.push('}');
        }
        scalar => write_scalar(scalar, out),
    }
}

/// Orders keys so that `job/2` stands before `job/10`: equal prefixes, then numbers as numbers.
fn key_order(a: &str, b: &str) -> std::cmp::Ordering {
    let split = |text: &str| {
        let digits = text.bytes().rev().take_while(u8::is_ascii_digit).count();
        let at = text.len() - digits.min(9);
        (text[..at].to_owned(), text[at..].parse::<u64>().ok())
    };
    split(a).cmp(&split(b)).then_with(|| a.cmp(b))
}

fn newline_unless_empty(empty: bool, depth: usize, out: &mut String) {
    if !empty {
        out.push('\n');
        out.push_str(&"  ".repeat(depth));
    }
}

fn one_line(value: &Value) -> Option<String> {
    let scalar = |item: &Value| !item.is_array() && !item.is_object();
    let mut line = String::new();
    match value {
        Value::Array(items) if items.iter().all(scalar) => {
            line.push('[');
            for (index, item) in items.iter().enumerate() {
                if index > 0 {
                    line.push_str(", ");
                }
                write_scalar(item, &mut line);
            }
            line.push(']');
        }
        Value::Object(map) if map.values().all(scalar) => {
            line.push('{');
            let mut entries: Vec<(&String, &Value)> = map.iter().collect();
            entries.sort_by(|a, b| key_order(a.0, b.0));
            for (index, (key, item)) in entries.into_iter().enumerate() {
                line.push_str(if index > 0 { ", " } else { " " });
                write_string(key, &mut line);
                line.push_str(": ");
                write_scalar(item, &mut line);
            }
            line.push_str(if map.is_empty() { "}" } else { " }" });
        }
        Value::Array(_) | Value::Object(_) => return None,
        item => write_scalar(item, &mut line),
    }
    Some(line)
}

fn write_scalar(value: &Value, out: &mut String) {
    match value {
        Value::String(text) => write_string(text, out),
        Value::Number(number) => write_number(number, out),
        other => out.push_str(&other.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_objects_stand_on_one_line_and_keys_are_sorted() {
        let value: Value =
            serde_json::from_str(r#"{"b":{"z":1,"a":true},"a":[],"c":[{"x":[1,2]}]}"#).unwrap_or_default();
        let expected = "{\n  \"a\": [],\n  \"b\": { \"a\": true, \"z\": 1 },\n  \"c\": [\n    {\n      \"x\": [1, 2]\n    }\n  ]\n}\n";
        assert_eq!(pretty(&value), expected);
    }

    #[test]
    fn jobs_are_ordered_by_number() {
        let value: Value = serde_json::from_str(r#"{"t/10":{},"t/9":{},"t/1":{}}"#).unwrap_or_default();
        assert_eq!(pretty(&value), "{\n  \"t/1\": {},\n  \"t/9\": {},\n  \"t/10\": {}\n}\n");
    }
}
