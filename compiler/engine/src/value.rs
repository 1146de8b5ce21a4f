//! Values of flags after their type, so that `0.8` is `0.80` and JSON is compared as JSON.

use serde_json::Value as Json;

use crate::table::Type;

/// A value as the engine holds it after parsing.
#[derive(Clone, PartialEq, Debug, serde::Serialize)]
#[serde(untagged)]
pub enum Value {
    /// Yes or no.
    Bool(bool),
    /// A number, as JSON writes it; whole numbers without a fraction.
    Number(serde_json::Number),
    /// Anything that is only text.
    Text(String),
    /// JSON, with numbers made alike.
    Json(Json),
    /// Several, in order.
    List(Vec<Self>),
    /// A flag given without the value that it may have.
    Nothing,
}

impl Eq for Value {}

impl Value {
    /// Reads a word as a value of a type; what does not fit stays text.
    #[must_use]
    pub fn read(word: &str, value: Type) -> Self {
        let text = || Self::Text(word.to_owned());
        match value {
            Type::Integer => integer(word).and_then(whole).map_or_else(text, Self::Number),
            Type::HumanInteger => human_integer(word).and_then(whole).map_or_else(text, Self::Number),
            Type::Number => number(word).map_or_else(text, Self::Number),
            Type::Json | Type::JsonOrText | Type::JsonList => {
                serde_json::from_str(word).map_or_else(|_| text(), |json| Self::Json(alike(json)))
            }
            Type::Lower => Self::Text(word.to_lowercase().replace('-', "_")),
            // An engine's parser keeps such a word as text, and whoever uses it reads it as JSON.
            Type::Text | Type::Opaque if word.starts_with('{') => Self::read(word, Type::Json),
            Type::Bool | Type::Text | Type::Opaque => text(),
        }
    }

    /// Reads a word of a flag whose type nobody told: a number, JSON, else text.
    #[must_use]
    pub fn guess(word: &str) -> Self {
        let begins = |set: &[char]| word.starts_with(set);
        if begins(&['{', '[']) {
            return Self::read(word, Type::Json);
        }
        if word.contains('.')
            && word.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.' || byte == b'-')
        {
            return Self::read(word, Type::Number);
        }
        Self::Text(word.to_owned())
    }

    /// Returns the text of a plain value, as one would write it.
    #[must_use]
    pub fn to_text(&self) -> String {
        match self {
            Self::Bool(yes) => yes.to_string(),
            Self::Number(number) => number.to_string(),
            Self::Text(text) => text.clone(),
            Self::Json(json) => json.to_string(),
            Self::List(list) => list.iter().map(Self::to_text).collect::<Vec<_>>().join(" "),
            Self::Nothing => String::new(),
        }
    }
}

/// Reads a whole number as Python's `int` does.
#[must_use]
pub fn integer(word: &str) -> Option<i128> {
    let word = word.trim();
    let digits = word.strip_prefix(['+', '-']).unwrap_or(word);
    let sound = digits.bytes().all(|byte| byte.is_ascii_digit() || byte == b'_')
        && !digits.starts_with('_')
        && !digits.ends_with('_')
        && !digits.contains("__");
    if !sound || digits.is_empty() {
        return None;
    }
    word.replace('_', "").parse().ok()
}

/// Reads a whole number with a suffix: `8k` is 8000 and `8K` is 8192, as vLLM and SGLang have it.
#[must_use]
pub fn human_integer(word: &str) -> Option<i128> {
    let word = word.trim();
    let Some(suffix) = word.chars().last().filter(char::is_ascii_alphabetic) else { return integer(word) };
    let power = match suffix.to_ascii_lowercase() {
        'k' => 1,
        'm' => 2,
        'g' => 3,
        't' => 4,
        _ => return None,
    };
    let digits = word.get(..word.len() - suffix.len_utf8())?;
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.') {
        return None;
    }
    if suffix.is_ascii_uppercase() {
        return digits.parse::<i128>().ok()?.checked_mul(1024_i128.checked_pow(power)?);
    }
    let value = digits.parse::<f64>().ok()? * 1000_f64.powi(i32::try_from(power).ok()?);
    #[expect(clippy::cast_possible_truncation, reason = "cut off as int(float) does; the digits bound it")]
    (value.is_finite() && value < 1e30).then_some(value as i128)
}

/// Reads a decimal number as Python's `float` does, but for infinities and not-a-number.
#[must_use]
pub fn number(word: &str) -> Option<serde_json::Number> {
    let word = word.trim();
    let plain = word.bytes().all(|byte| byte.is_ascii_digit() || b"+-._eE".contains(&byte));
    if !plain || word.is_empty() {
        return None;
    }
    let value: f64 = word.replace('_', "").parse().ok()?;
    made_alike(value)
}

fn whole(value: i128) -> Option<serde_json::Number> {
    i64::try_from(value).ok().map(Into::into).or_else(|| u64::try_from(value).ok().map(Into::into))
}

/// A float without a fraction is the whole number, so that 1 and 1.0 are one.
fn made_alike(value: f64) -> Option<serde_json::Number> {
    if value.fract() == 0.0 && value.abs() < 9e15 {
        #[expect(clippy::cast_possible_truncation, reason = "whole and below 2^53")]
        return Some((value as i64).into());
    }
    serde_json::Number::from_f64(value)
}

/// Makes numbers in JSON alike: 1.0 is 1, 2.50 is 2.5.
fn alike(json: Json) -> Json {
    match json {
        Json::Number(number) if number.is_f64() => {
            number.as_f64().and_then(made_alike).map_or(Json::Number(number), Json::Number)
        }
        Json::Array(list) => Json::Array(list.into_iter().map(alike).collect()),
        Json::Object(map) => Json::Object(map.into_iter().map(|(key, value)| (key, alike(value))).collect()),
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::{Value, human_integer, integer};
    use crate::table::Type;

    #[test]
    fn equal_values_are_equal_whatever_their_spelling() {
        assert_eq!(Value::read("0.80", Type::Number), Value::read("0.8", Type::Number));
        assert_eq!(Value::read("8", Type::Number), Value::read("8.0", Type::Number));
        assert_eq!(
            Value::read(r#"{"a":2.50,"b":[1]}"#, Type::Json),
            Value::read(r#"{"b": [1.0], "a": 2.5}"#, Type::Json)
        );
        assert_ne!(Value::read("8k", Type::Text), Value::read("8000", Type::Text));
        assert_eq!(human_integer("8k"), Some(8000));
        assert_eq!(human_integer("8K"), Some(8192));
        assert_eq!(human_integer("25.6k"), Some(25_600));
        assert_eq!(integer("1_024"), Some(1024));
        assert_eq!(integer("--1"), None);
    }
}
