//! Values of a script.

use std::cell::RefCell;
use std::rc::Rc;

use super::class::Class;
use super::run::Scope;
use super::tree::Function;

/// A value.
#[derive(Clone)]
pub(crate) enum Value {
    Undefined,
    Null,
    Bool(bool),
    Number(f64),
    Text(Rc<str>),
    Array(Rc<RefCell<Vec<Value>>>),
    Object(Rc<RefCell<Object>>),
    Set(Rc<RefCell<Vec<Value>>>),
    /// A regular expression.
    Class(Rc<Class>),
    Function(Rc<Function>, Rc<Scope>),
    /// An entry that is computed when it is read.
    Getter(Rc<Function>, Rc<Scope>),
    /// A built-in function by name, and what it is called on.
    Builtin(&'static str, Rc<Value>),
}

/// An object: its entries in the order that scripts see.
#[derive(Clone, Default)]
pub(crate) struct Object {
    entries: Vec<(Rc<str>, Value)>,
}

impl Object {
    pub(crate) fn get(&self, key: &str) -> Option<&Value> {
        self.entries.iter().find(|(name, _)| &**name == key).map(|(_, value)| value)
    }

    /// Sets an entry. Keys that are whole numbers stand first, in order of number.
    pub(crate) fn set(&mut self, key: &Rc<str>, value: Value) {
        if let Some((_, old)) = self.entries.iter_mut().find(|(name, _)| name == key) {
            *old = value;
            return;
        }
        let at = match index(key) {
            Some(number) => {
                self.entries.iter().position(|(name, _)| index(name).is_none_or(|other| other > number))
            }
            None => None,
        };
        self.entries.insert(at.unwrap_or(self.entries.len()), (key.clone(), value));
    }

    pub(crate) fn remove(&mut self, key: &str) {
        self.entries.retain(|(name, _)| &**name != key);
    }

    pub(crate) fn entries(&self) -> &[(Rc<str>, Value)] {
        &self.entries
    }
}

/// Returns the number of a key that is an array index.
fn index(key: &str) -> Option<u32> {
    let plain = key == "0" || !key.starts_with('0');
    if plain && key.bytes().all(|byte| byte.is_ascii_digit()) { key.parse().ok() } else { None }
}

impl Value {
    pub(crate) fn text(text: &str) -> Self {
        Self::Text(text.into())
    }

    pub(crate) fn array(items: Vec<Self>) -> Self {
        Self::Array(Rc::new(RefCell::new(items)))
    }

    pub(crate) fn object(object: Object) -> Self {
        Self::Object(Rc::new(RefCell::new(object)))
    }

    pub(crate) fn truthy(&self) -> bool {
        match self {
            Self::Undefined | Self::Null => false,
            Self::Bool(yes) => *yes,
            Self::Number(number) => *number != 0.0 && !number.is_nan(),
            Self::Text(text) => !text.is_empty(),
            _ => true,
        }
    }

    pub(crate) fn is_nothing(&self) -> bool {
        matches!(self, Self::Undefined | Self::Null)
    }

    pub(crate) fn kind(&self) -> &'static str {
        match self {
            Self::Undefined => "undefined",
            Self::Bool(_) => "boolean",
            Self::Number(_) => "number",
            Self::Text(_) => "string",
            Self::Function(..) | Self::Builtin(..) | Self::Getter(..) => "function",
            Self::Null | Self::Array(_) | Self::Object(_) | Self::Set(_) | Self::Class(_) => "object",
        }
    }

    /// Returns the text that string concatenation and templates give.
    pub(crate) fn to_text(&self) -> Rc<str> {
        self.text_within(16)
    }

    /// Lists that hold themselves end in nothing once `depth` is used up.
    fn text_within(&self, depth: usize) -> Rc<str> {
        match self {
            Self::Undefined => "undefined".into(),
            Self::Null => "null".into(),
            Self::Bool(yes) => if *yes { "true" } else { "false" }.into(),
            Self::Number(number) => number_text(*number).into(),
            Self::Text(text) => text.clone(),
            Self::Array(_) if depth == 0 => "".into(),
            Self::Array(items) => {
                let texts: Vec<Rc<str>> = items
                    .borrow()
                    .iter()
                    .map(|item| if item.is_nothing() { "".into() } else { item.text_within(depth - 1) })
                    .collect();
                texts.join(",").into()
            }
            Self::Object(_) => "[object Object]".into(),
            Self::Set(_) => "[object Set]".into(),
            Self::Class(_) => "[object RegExp]".into(),
            Self::Function(..) | Self::Builtin(..) | Self::Getter(..) => "function".into(),
        }
    }

    pub(crate) fn to_number(&self) -> f64 {
        match self {
            Self::Undefined => f64::NAN,
            Self::Null => 0.0,
            Self::Bool(yes) => f64::from(u8::from(*yes)),
            Self::Number(number) => *number,
            Self::Text(text) => {
                let text = text.trim();
                if text.is_empty() { 0.0 } else { text.parse().unwrap_or(f64::NAN) }
            }
            other => Self::Text(other.to_text()).to_number(),
        }
    }

    /// `===`.
    pub(crate) fn same(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Undefined, Self::Undefined) | (Self::Null, Self::Null) => true,
            (Self::Bool(a), Self::Bool(b)) => a == b,
            (Self::Number(a), Self::Number(b)) => a == b,
            (Self::Text(a), Self::Text(b)) => a == b,
            (Self::Array(a), Self::Array(b)) | (Self::Set(a), Self::Set(b)) => Rc::ptr_eq(a, b),
            (Self::Object(a), Self::Object(b)) => Rc::ptr_eq(a, b),
            (Self::Function(a, s), Self::Function(b, t)) => Rc::ptr_eq(a, b) && Rc::ptr_eq(s, t),
            _ => false,
        }
    }

    /// `==`, for what pages compare with it.
    pub(crate) fn alike(&self, other: &Self) -> bool {
        match (self, other) {
            (a, b) if a.is_nothing() && b.is_nothing() => true,
            (a, b) if a.is_nothing() || b.is_nothing() => false,
            (Self::Number(_) | Self::Bool(_), Self::Text(_))
            | (Self::Text(_), Self::Number(_) | Self::Bool(_)) => self.to_number() == other.to_number(),
            (a, b) => a.same(b),
        }
    }
}

/// Returns a number as ECMAScript writes it.
pub(crate) fn number_text(number: f64) -> String {
    if number.is_nan() {
        return "NaN".to_owned();
    }
    if number.is_infinite() {
        return if number > 0.0 { "Infinity" } else { "-Infinity" }.to_owned();
    }
    // RFC 8785 takes its numbers from ECMAScript, so the lock's writer is the same thing.
    serde_json::Number::from_f64(number)
        .map_or_else(String::new, |number| lock::canonical(&serde_json::Value::Number(number)))
}
