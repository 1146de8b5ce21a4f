//! Operators on values.

use super::value::Value;

/// Applies an operator whose operands are both evaluated; `None` for one that is not known.
pub(crate) fn binary(operator: &str, left: &Value, right: &Value) -> Option<Value> {
    let number = |apply: fn(f64, f64) -> f64| Value::Number(apply(left.to_number(), right.to_number()));
    Some(match operator {
        "===" => Value::Bool(left.same(right)),
        "!==" => Value::Bool(!left.same(right)),
        "==" => Value::Bool(left.alike(right)),
        "!=" => Value::Bool(!left.alike(right)),
        "+" => add(left, right),
        "-" => number(|a, b| a - b),
        "*" => number(|a, b| a * b),
        "/" => number(|a, b| a / b),
        "%" => number(|a, b| a % b),
        "**" => number(f64::powf),
        "<" => Value::Bool(compare(left, right, |order| order.is_lt())),
        ">" => Value::Bool(compare(left, right, |order| order.is_gt())),
        "<=" => Value::Bool(compare(left, right, |order| order.is_le())),
        ">=" => Value::Bool(compare(left, right, |order| order.is_ge())),
        "in" => Value::Bool(match right {
            Value::Object(object) => object.borrow().get(&left.to_text()).is_some(),
            Value::Array(items) => (left.to_number() as usize) < items.borrow().len(),
            _ => return None,
        }),
        _ => return None,
    })
}

fn add(left: &Value, right: &Value) -> Value {
    let numeric =
        |value: &Value| matches!(value, Value::Undefined | Value::Null | Value::Bool(_) | Value::Number(_));
    if numeric(left) && numeric(right) {
        return Value::Number(left.to_number() + right.to_number());
    }
    Value::text(&format!("{}{}", left.to_text(), right.to_text()))
}

fn compare(left: &Value, right: &Value, fits: fn(std::cmp::Ordering) -> bool) -> bool {
    let order = match (left, right) {
        (Value::Text(a), Value::Text(b)) => Some(a.encode_utf16().cmp(b.encode_utf16())),
        _ => left.to_number().partial_cmp(&right.to_number()),
    };
    order.is_some_and(fits)
}
