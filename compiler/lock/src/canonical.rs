//! Canonical JSON: the form that digests are taken over (RFC 8785).

use serde_json::{Number, Value};

/// Returns the canonical text of `value`: no white space, keys in the order of their UTF-16 code
/// units, numbers as ECMAScript writes them.
#[must_use]
pub fn canonical(value: &Value) -> String {
    let mut text = String::new();
    write_value(value, &mut text);
    text
}

pub(crate) fn write_value(value: &Value, out: &mut String) {
    match value {
        Value::Null => out.push_str("null"),
        Value::Bool(true) => out.push_str("true"),
        Value::Bool(false) => out.push_str("false"),
        Value::Number(number) => write_number(number, out),
        Value::String(text) => write_string(text, out),
        Value::Array(items) => {
            out.push('[');
            for (index, item) in items.iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                write_value(item, out);
            }
            out.push(']');
        }
        Value::Object(map) => {
            write_map(map.iter(), out, write_value);
        }
    }
}

/// Writes a map whose entries come in the order of their bytes.
pub(crate) fn write_map<'a, V>(
    entries: impl Iterator<Item = (&'a String, V)>,
    out: &mut String,
    write: impl Fn(V, &mut String),
) {
    let mut entries: Vec<(&String, V)> = entries.collect();
    // The order of bytes is that of UTF-16 units but where a character takes two of them.
    if !entries.iter().all(|(key, _)| key.is_ascii()) {
        entries.sort_by(|a, b| a.0.encode_utf16().cmp(b.0.encode_utf16()));
    }
    out.push('{');
    for (index, (key, value)) in entries.into_iter().enumerate() {
        if index > 0 {
            out.push(',');
        }
        write_string(key, out);
        out.push(':');
        write(value, out);
    }
    out.push('}');
}

/// Writes a string with the fewest escapes: the same in canonical and in pretty JSON.
pub(crate) fn write_string(text: &str, out: &mut String) {
    out.push('"');
    // Most texts need no escape, and texts are most of what is written.
    if !text.bytes().any(|byte| byte < 0x20 || byte == b'"' || byte == b'\\') {
        out.push_str(text);
        out.push('"');
        return;
    }
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            c if u32::from(c) < 0x20 => out.push_str(&format!("\\u{:04x}", u32::from(c))),
            c => out.push(c),
        }
    }
    out.push('"');
}

/// Integers that a double holds exactly end here; beyond it RFC 8785 rounds.
const EXACT: u64 = 1 << 53;

pub(crate) fn write_number(number: &Number, out: &mut String) {
    let exact = match (number.as_u64(), number.as_i64()) {
        (Some(unsigned), _) => unsigned <= EXACT,
        (None, Some(signed)) => signed.unsigned_abs() <= EXACT,
        (None, None) => false,
    };
    if exact {
        out.push_str(&number.to_string());
    } else {
        out.push_str(&ecmascript(number.as_f64().unwrap_or(0.0)));
    }
}

/// Returns a finite double as ECMAScript's `Number::toString` writes it.
fn ecmascript(value: f64) -> String {
    if value == 0.0 {
        return "0".to_owned();
    }
    // Rust's `{:e}` gives the shortest digits that read back as the same double, as ECMAScript
    // demands; only the layout differs.
    let scientific = format!("{:e}", value.abs());
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let digits: String = mantissa.chars().filter(|c| *c != '.').collect();
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let count = i32::try_from(digits.len()).unwrap_or(i32::MAX);
    let point = exponent + 1;
    let sign = if value < 0.0 { "-" } else { "" };
    let body = if count <= point && point <= 21 {
        format!("{digits}{}", "0".repeat(usize::try_from(point - count).unwrap_or(0)))
    } else if 0 < point && point <= 21 {
        let (whole, fraction) = digits.split_at(usize::try_from(point).unwrap_or(0));
        format!("{whole}.{fraction}")
    } else if -6 < point && point <= 0 {
        format!("0.{}{digits}", "0".repeat(usize::try_from(-point).unwrap_or(0)))
    } else {
        let (first, rest) = digits.split_at(1);
        let dot = if rest.is_empty() { "" } else { "." };
        let plus = if exponent >= 0 { "+" } else { "" };
        format!("{first}{dot}{rest}e{plus}{exponent}")
    };
    format!("{sign}{body}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_sorted_by_utf16_units_and_white_space_is_gone() {
        let value: Value = serde_json::from_str(
            "{\"\\u20ac\": \"Euro Sign\", \"\\r\": \"Carriage Return\", \"\\ufb33\": \"Hebrew\", \
             \"1\": \"One\", \"\\ud83d\\ude00\": \"Emoji\", \"\\u0080\": \"Control\", \"\\u00f6\": \"o\"}",
        )
        .unwrap_or_default();
        // The order is the one of the example in RFC 8785, section 3.2.3.
        let order: Vec<String> = canonical(&value).split("\":").map(str::to_owned).collect();
        assert!(order[0].ends_with("\"\\r"));
        assert!(order[1].ends_with("\"1"));
        assert!(order[2].ends_with("\"\u{80}"));
        assert!(order[3].ends_with("\"\u{f6}"));
        assert!(order[4].ends_with("\"\u{20ac}"));
        assert!(order[5].ends_with("\"\u{1f600}"));
        assert!(order[6].ends_with("\"\u{fb33}"));
    }

    #[test]
    fn numbers_are_written_as_ecmascript_does() {
        // From the table in appendix B of RFC 8785.
        let cases: [(u64, &str); 14] = [
            (0x0000_0000_0000_0000, "0"),
            (0x8000_0000_0000_0000, "0"),
            (0x0000_0000_0000_0001, "5e-324"),
            (0x8000_0000_0000_0001, "-5e-324"),
            (0x7fef_ffff_ffff_ffff, "1.7976931348623157e+308"),
            (0x4340_0000_0000_0000, "9007199254740992"),
            (0x4430_0000_0000_0000, "295147905179352830000"),
            (0x44b5_2d02_c7e1_4af5, "9.999999999999997e+22"),
            (0x44b5_2d02_c7e1_4af6, "1e+23"),
            (0x444b_1ae4_d6e2_ef4e, "999999999999999700000"),
            (0x444b_1ae4_d6e2_ef50, "1e+21"),
            (0x3eb0_c6f7_a0b5_ed8d, "0.000001"),
            (0x3eb0_c6f7_a0b5_ed8c, "9.999999999999997e-7"),
            (0x41b3_de43_5555_5553, "333333333.3333332"),
        ];
        for (bits, expected) in cases {
            assert_eq!(ecmascript(f64::from_bits(bits)), expected, "{bits:x}");
        }
    }

    #[test]
    fn whole_floats_lose_their_fraction() {
        let value: Value =
            serde_json::from_str("[1.0, 0.8, 0.80, 1e3, 12345678901234567890]").unwrap_or_default();
        assert_eq!(canonical(&value), "[1,0.8,0.8,1000,12345678901234567000]");
    }
}
