//! Built-in functions, as far as pages use them.

use std::cell::RefCell;
use std::rc::Rc;

use super::ScriptError;
use super::run::Machine;
use super::value::{Object, Value};

/// Methods by the kind of what they are called on.
const ARRAY: [&str; 22] = [
    "map",
    "filter",
    "find",
    "findIndex",
    "some",
    "every",
    "forEach",
    "includes",
    "indexOf",
    "join",
    "push",
    "concat",
    "slice",
    "flatMap",
    "flat",
    "reduce",
    "sort",
    "reverse",
    "entries",
    "keys",
    "unshift",
    "at",
];
const TEXT: [&str; 18] = [
    "includes",
    "startsWith",
    "endsWith",
    "toUpperCase",
    "toLowerCase",
    "trim",
    "trimEnd",
    "trimStart",
    "slice",
    "split",
    "replace",
    "replaceAll",
    "repeat",
    "padStart",
    "indexOf",
    "toString",
    "concat",
    "substring",
];
const SET: [&str; 4] = ["has", "add", "delete", "forEach"];

/// Names of objects that hold functions, and of functions that stand alone.
pub(crate) const GLOBALS: [&str; 10] =
    ["Object", "Array", "Math", "Number", "String", "Boolean", "JSON", "parseInt", "parseFloat", "Set"];

/// Returns a method or property of a value that is no plain object.
pub(crate) fn member(value: &Value, name: &str) -> Option<Value> {
    let method = |names: &'static [&'static str]| {
        names.iter().find(|known| **known == name).map(|known| Value::Builtin(known, Rc::new(value.clone())))
    };
    match value {
        Value::Array(items) if name == "length" => Some(count(items.borrow().len())),
        Value::Array(_) => method(&ARRAY),
        Value::Text(text) if name == "length" => Some(count(text.encode_utf16().count())),
        Value::Text(_) => method(&TEXT),
        Value::Set(items) if name == "size" => Some(count(items.borrow().len())),
        Value::Set(_) => method(&SET),
        Value::Number(_) => method(&["toString", "toFixed"]),
        Value::Bool(_) => method(&["toString"]),
        Value::Object(_) => method(&["hasOwnProperty", "toString"]),
        Value::Builtin(namespace, _) => {
            let full = format!("{namespace}.{name}");
            NAMESPACED
                .iter()
                .find(|known| **known == full)
                .map(|known| Value::Builtin(known, Rc::new(Value::Undefined)))
        }
        _ => None,
    }
}

const NAMESPACED: [&str; 19] = [
    "Object.entries",
    "Object.keys",
    "Object.values",
    "Object.fromEntries",
    "Object.assign",
    "Array.isArray",
    "Array.from",
    "Math.max",
    "Math.min",
    "Math.floor",
    "Math.ceil",
    "Math.round",
    "Math.abs",
    "Math.log2",
    "Number.isInteger",
    "Number.isFinite",
    "Number.parseInt",
    "JSON.stringify",
    "Object.freeze",
];

fn count(length: usize) -> Value {
    Value::Number(u32::try_from(length).map_or(f64::INFINITY, f64::from))
}

/// Returns the items of what can be spread or walked.
pub(crate) fn items(value: &Value) -> Option<Vec<Value>> {
    match value {
        Value::Array(items) | Value::Set(items) => Some(items.borrow().clone()),
        Value::Text(text) => Some(text.chars().map(|c| Value::text(&c.to_string())).collect()),
        _ => None,
    }
}

fn entries(value: &Value) -> Vec<(Rc<str>, Value)> {
    match value {
        Value::Object(object) => object.borrow().entries().to_vec(),
        Value::Array(items) => items
            .borrow()
            .iter()
            .enumerate()
            .map(|(index, item)| (index.to_string().into(), item.clone()))
            .collect(),
        _ => Vec::new(),
    }
}

/// Calls a built-in function.
pub(crate) fn call(
    machine: &mut Machine,
    name: &'static str,
    on: &Value,
    arguments: &[Value],
) -> Result<Value, ScriptError> {
    let argument = |index: usize| arguments.get(index).cloned().unwrap_or(Value::Undefined);
    match on {
        Value::Array(list) => return array(machine, name, list, arguments),
        Value::Text(text) => return text_method(machine, name, text, arguments),
        Value::Set(list) => {
            let known = list.borrow().iter().position(|item| item.same(&argument(0)));
            return Ok(match name {
                "has" => Value::Bool(known.is_some()),
                "add" => {
                    if known.is_none() {
                        machine.charge(1)?;
                        list.borrow_mut().push(argument(0));
                    }
                    on.clone()
                }
                "delete" => {
                    known.map(|index| list.borrow_mut().remove(index));
                    Value::Bool(known.is_some())
                }
                _ => return array(machine, name, list, arguments),
            });
        }
        Value::Number(number) => {
            return Ok(match name {
                "toFixed" => {
                    let digits = argument(0).to_number().clamp(0.0, 100.0) as usize;
                    Value::text(&format!("{number:.digits$}"))
                }
                _ => Value::Text(on.to_text()),
            });
        }
        Value::Object(object) if name == "hasOwnProperty" => {
            return Ok(Value::Bool(object.borrow().get(&argument(0).to_text()).is_some()));
        }
        Value::Object(_) | Value::Bool(_) => return Ok(Value::Text(on.to_text())),
        _ => {}
    }
    let numbers = || arguments.iter().map(Value::to_number);
    machine.charge(arguments.len())?;
    Ok(match name {
        "Object.entries" => pairs(machine, &argument(0))?,
        "Object.keys" => {
            Value::array(entries(&argument(0)).into_iter().map(|(key, _)| Value::Text(key)).collect())
        }
        "Object.values" => Value::array(entries(&argument(0)).into_iter().map(|(_, value)| value).collect()),
        "Object.freeze" => argument(0),
        "Object.assign" => {
            if let Value::Object(target) = argument(0) {
                for (key, value) in arguments.iter().skip(1).flat_map(entries) {
                    target.borrow_mut().set(&key, value);
                }
            }
            argument(0)
        }
        "Object.fromEntries" => {
            let mut object = Object::default();
            for pair in items(&argument(0)).unwrap_or_default() {
                let pair = items(&pair).unwrap_or_default();
                let [key, value] = [0, 1].map(|index| pair.get(index).cloned().unwrap_or(Value::Undefined));
                object.set(&key.to_text(), value);
            }
            Value::object(object)
        }
        "Array.isArray" => Value::Bool(matches!(argument(0), Value::Array(_))),
        "Array.from" => {
            let list = match (&argument(0), items(&argument(0))) {
                (_, Some(list)) => list,
                (Value::Object(object), None) => {
                    let length = object.borrow().get("length").map_or(0.0, Value::to_number);
                    machine.charge(length.clamp(0.0, 1e9) as usize)?;
                    vec![Value::Undefined; length.clamp(0.0, 1e6) as usize]
                }
                _ => Vec::new(),
            };
            match argument(1) {
                Value::Undefined => Value::array(list),
                mapper => {
                    let mut mapped = Vec::new();
                    for (index, item) in list.into_iter().enumerate() {
                        mapped.push(machine.call(&mapper, vec![item, count(index)])?);
                    }
                    Value::array(mapped)
                }
            }
        }
        "Math.max" => Value::Number(numbers().fold(f64::NEG_INFINITY, f64::max)),
        "Math.min" => Value::Number(numbers().fold(f64::INFINITY, f64::min)),
        "Math.floor" => Value::Number(argument(0).to_number().floor()),
        "Math.ceil" => Value::Number(argument(0).to_number().ceil()),
        "Math.round" => Value::Number((argument(0).to_number() + 0.5).floor()),
        "Math.abs" => Value::Number(argument(0).to_number().abs()),
        "Math.log2" => Value::Number(argument(0).to_number().log2()),
        "Number" => Value::Number(argument(0).to_number()),
        "Number.isInteger" => {
            Value::Bool(matches!(argument(0), Value::Number(n) if n.is_finite() && n.fract() == 0.0))
        }
        "Number.isFinite" => Value::Bool(matches!(argument(0), Value::Number(n) if n.is_finite())),
        "Boolean" => Value::Bool(argument(0).truthy()),
        "String" => Value::Text(argument(0).to_text()),
        "parseInt" | "Number.parseInt" => Value::Number(parse_integer(&argument(0).to_text())),
        "parseFloat" => Value::Number(parse_float(&argument(0).to_text())),
        "JSON.stringify" => Value::text(&lock::canonical(&to_json(&argument(0), 32))),
        _ => return Err(machine.error(format!("`{name}` is not known"))),
    })
}

fn pairs(machine: &mut Machine, value: &Value) -> Result<Value, ScriptError> {
    let list = entries(value);
    machine.charge(list.len() * 3)?;
    Ok(Value::array(
        list.into_iter().map(|(key, value)| Value::array(vec![Value::Text(key), value])).collect(),
    ))
}

fn parse_integer(text: &str) -> f64 {
    let text = text.trim();
    let end = text
        .char_indices()
        .find(|(index, c)| !(c.is_ascii_digit() || *index == 0 && *c == '-'))
        .map_or(text.len(), |(index, _)| index);
    text.get(..end).and_then(|digits| digits.parse().ok()).unwrap_or(f64::NAN)
}

fn parse_float(text: &str) -> f64 {
    let text = text.trim();
    (1..=text.len().min(40)).rev().find_map(|end| text.get(..end)?.parse().ok()).unwrap_or(f64::NAN)
}

/// Returns a value as JSON; what nests deeper than `depth` is null.
pub(crate) fn to_json(value: &Value, depth: usize) -> serde_json::Value {
    if depth == 0 {
        return serde_json::Value::Null;
    }
    match value {
        Value::Bool(yes) => (*yes).into(),
        Value::Number(number) => {
            serde_json::Number::from_f64(*number).map_or(serde_json::Value::Null, |number| {
                // A whole number is written as one.
                serde_json::from_str(&lock::canonical(&number.into())).unwrap_or_default()
            })
        }
        Value::Text(text) => (&**text).into(),
        Value::Array(items) => items.borrow().iter().map(|item| to_json(item, depth - 1)).collect(),
        Value::Object(object) => {
            let object = object.borrow();
            let kept = object
                .entries()
                .iter()
                .filter(|(_, value)| !matches!(value.kind(), "function" | "undefined"));
            serde_json::Value::Object(
                kept.map(|(key, value)| (key.to_string(), to_json(value, depth - 1))).collect(),
            )
        }
        Value::Set(_) | Value::Class(_) => serde_json::json!({}),
        Value::Undefined | Value::Null | Value::Function(..) | Value::Builtin(..) | Value::Getter(..) => {
            serde_json::Value::Null
        }
    }
}

/// Returns where a slice begins or ends: negative numbers count from the end.
fn bound(value: &Value, length: usize, default: usize) -> usize {
    if matches!(value, Value::Undefined) {
        return default;
    }
    let number = value.to_number().trunc();
    let from_start = if number < 0.0 { number + length as f64 } else { number };
    from_start.clamp(0.0, length as f64) as usize
}

fn array(
    machine: &mut Machine,
    name: &'static str,
    list: &Rc<RefCell<Vec<Value>>>,
    arguments: &[Value],
) -> Result<Value, ScriptError> {
    let argument = |index: usize| arguments.get(index).cloned().unwrap_or(Value::Undefined);
    // A callback may change the list, so it walks a copy.
    let copy: Vec<Value> = list.borrow().clone();
    machine.charge(copy.len() + arguments.len())?;
    let callback = argument(0);
    let each = |machine: &mut Machine, index: usize, item: &Value| {
        machine.call(&callback, vec![item.clone(), count(index)])
    };
    Ok(match name {
        "map" | "flatMap" => {
            let mut mapped = Vec::new();
            for (index, item) in copy.iter().enumerate() {
                let value = each(machine, index, item)?;
                match (name, items(&value)) {
                    ("flatMap", Some(inner)) if matches!(value, Value::Array(_)) => mapped.extend(inner),
                    _ => mapped.push(value),
                }
            }
            Value::array(mapped)
        }
        "filter" => {
            let mut kept = Vec::new();
            for (index, item) in copy.iter().enumerate() {
                if each(machine, index, item)?.truthy() {
                    kept.push(item.clone());
                }
            }
            Value::array(kept)
        }
        "find" | "findIndex" | "some" | "every" => {
            for (index, item) in copy.iter().enumerate() {
                let yes = each(machine, index, item)?.truthy();
                match name {
                    "find" if yes => return Ok(item.clone()),
                    "findIndex" if yes => return Ok(count(index)),
                    "some" if yes => return Ok(Value::Bool(true)),
                    "every" if !yes => return Ok(Value::Bool(false)),
                    _ => {}
                }
            }
            match name {
                "find" => Value::Undefined,
                "findIndex" => Value::Number(-1.0),
                _ => Value::Bool(name == "every"),
            }
        }
        "forEach" => {
            for (index, item) in copy.iter().enumerate() {
                each(machine, index, item)?;
            }
            Value::Undefined
        }
        "reduce" => {
            let mut rest = copy.iter().enumerate();
            let mut sum = match arguments.get(1) {
                Some(first) => first.clone(),
                None => rest.next().map_or(Value::Undefined, |(_, first)| first.clone()),
            };
            for (index, item) in rest {
                sum = machine.call(&callback, vec![sum, item.clone(), count(index)])?;
            }
            sum
        }
        "sort" => {
            let sorted = sort(machine, copy, &callback)?;
            *list.borrow_mut() = sorted;
            Value::Array(list.clone())
        }
        "reverse" => {
            list.borrow_mut().reverse();
            Value::Array(list.clone())
        }
        "includes" => Value::Bool(copy.iter().any(|item| item.same(&callback))),
        "indexOf" => copy.iter().position(|item| item.same(&callback)).map_or(Value::Number(-1.0), count),
        "join" => {
            let separator = if arguments.is_empty() { ",".into() } else { callback.to_text() };
            let texts: Vec<Rc<str>> =
                copy.iter().map(|item| if item.is_nothing() { "".into() } else { item.to_text() }).collect();
            machine.text(&texts.join(&*separator))?
        }
        "push" | "unshift" => {
            let at = if name == "push" { copy.len() } else { 0 };
            let mut borrowed = list.borrow_mut();
            borrowed.splice(at..at, arguments.iter().cloned());
            count(borrowed.len())
        }
        "concat" => {
            let mut all = copy;
            for argument in arguments {
                match argument {
                    Value::Array(more) => all.extend(more.borrow().iter().cloned()),
                    other => all.push(other.clone()),
                }
            }
            machine.charge(all.len())?;
            Value::array(all)
        }
        "slice" => {
            let (start, end) =
                (bound(&argument(0), copy.len(), 0), bound(&argument(1), copy.len(), copy.len()));
            Value::array(copy.get(start..end).unwrap_or_default().to_vec())
        }
        "flat" => Value::array(
            copy.iter()
                .flat_map(|item| {
                    if let Value::Array(inner) = item { inner.borrow().clone() } else { vec![item.clone()] }
                })
                .collect(),
        ),
        "entries" => Value::array(
            copy.into_iter()
                .enumerate()
                .map(|(index, item)| Value::array(vec![count(index), item]))
                .collect(),
        ),
        "keys" => Value::array((0..copy.len()).map(count).collect()),
        "at" => {
            let index = argument(0).to_number();
            let index = if index < 0.0 { index + copy.len() as f64 } else { index };
            if index < 0.0 {
                Value::Undefined
            } else {
                copy.get(index as usize).cloned().unwrap_or(Value::Undefined)
            }
        }
        _ => return Err(machine.error(format!("`{name}` of a list is not known"))),
    })
}

/// Sorts by insertion, stable, so that a comparison that fails ends the sort.
fn sort(machine: &mut Machine, list: Vec<Value>, compare: &Value) -> Result<Vec<Value>, ScriptError> {
    let mut sorted: Vec<Value> = Vec::with_capacity(list.len());
    for item in list {
        let mut at = sorted.len();
        while let Some(before) = at.checked_sub(1).and_then(|index| sorted.get(index)) {
            let greater = match compare {
                Value::Undefined => before.to_text().encode_utf16().gt(item.to_text().encode_utf16()),
                compare => machine.call(compare, vec![before.clone(), item.clone()])?.to_number() > 0.0,
            };
            if !greater {
                break;
            }
            at -= 1;
        }
        machine.charge(1)?;
        sorted.insert(at, item);
    }
    Ok(sorted)
}

fn text_method(
    machine: &mut Machine,
    name: &'static str,
    text: &Rc<str>,
    arguments: &[Value],
) -> Result<Value, ScriptError> {
    let argument = |index: usize| arguments.get(index).cloned().unwrap_or(Value::Undefined);
    let first = argument(0).to_text();
    machine.charge(1 + text.len() / 16)?;
    let result = match name {
        "includes" => return Ok(Value::Bool(text.contains(&*first))),
        "startsWith" => return Ok(Value::Bool(text.starts_with(&*first))),
        "endsWith" => return Ok(Value::Bool(text.ends_with(&*first))),
        "indexOf" => {
            let at =
                text.find(&*first).and_then(|at| text.get(..at)).map(|before| before.encode_utf16().count());
            return Ok(at.map_or(Value::Number(-1.0), count));
        }
        "split" => {
            let parts: Vec<Value> = match (&argument(0), first.is_empty()) {
                (Value::Class(class), _) => text.split(|c| class.has(c)).map(Value::text).collect(),
                (Value::Undefined, _) => vec![Value::Text(text.clone())],
                (_, true) => text.chars().map(|c| Value::text(&c.to_string())).collect(),
                (_, false) => text.split(&*first).map(Value::text).collect(),
            };
            machine.charge(parts.len())?;
            return Ok(Value::array(parts));
        }
        "toUpperCase" => text.to_uppercase(),
        "toLowerCase" => text.to_lowercase(),
        "trim" => text.trim().to_owned(),
        "trimEnd" => text.trim_end().to_owned(),
        "trimStart" => text.trim_start().to_owned(),
        "toString" => text.to_string(),
        "concat" => format!("{text}{first}"),
        "replace" => match argument(0) {
            Value::Class(class) => {
                let (with, most) = (argument(1).to_text(), if class.everywhere { usize::MAX } else { 1 });
                text.replacen(|c| class.has(c), &with, most)
            }
            _ => text.replacen(&*first, &argument(1).to_text(), 1),
        },
        "replaceAll" => text.replace(&*first, &argument(1).to_text()),
        "repeat" => {
            let times = argument(0).to_number().clamp(0.0, 1e6) as usize;
            machine.charge(times.saturating_mul(text.len()))?;
            text.repeat(times)
        }
        "padStart" => {
            let width = argument(0).to_number().clamp(0.0, 1e4) as usize;
            let fill =
                if matches!(argument(1), Value::Undefined) { " ".into() } else { argument(1).to_text() };
            let missing = width.saturating_sub(text.chars().count());
            format!(
                "{}{text}",
                fill.chars().cycle().take(if fill.is_empty() { 0 } else { missing }).collect::<String>()
            )
        }
        "slice" | "substring" => {
            let chars: Vec<char> = text.chars().collect();
            let (start, end) =
                (bound(&argument(0), chars.len(), 0), bound(&argument(1), chars.len(), chars.len()));
            chars.get(start..end).unwrap_or_default().iter().collect()
        }
        _ => return Err(machine.error(format!("`{name}` of a text is not known"))),
    };
    machine.text(&result)
}
