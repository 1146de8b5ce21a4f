//! Generator components: pages whose commands are the result of a function of what a reader
//! selects.

use std::collections::BTreeMap;

use serde_json::Value as Json;

use crate::script::{Limits, Machine, Object, ScriptError, Statement, Value, parse, tree};

/// A generator component, read.
pub struct Generator {
    top: Vec<Statement>,
    body: Vec<Statement>,
}

impl std::fmt::Debug for Generator {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Generator").field("statements", &self.body.len()).finish()
    }
}

/// What a reader selects: an item's id, or several, for each option.
pub type Selection = BTreeMap<String, Json>;

/// Most selections that are looked at of one page.
const MOST_SELECTIONS: usize = 20_000;

impl Generator {
    /// Reads a component. What it paints, which begins at its last `return (`, is left out.
    ///
    /// # Errors
    /// If it is no component, or is written in a way that is not understood.
    pub fn read(text: &str) -> Result<Self, ScriptError> {
        let no_component = || ScriptError { line: 0, why: "it has no component".to_owned() };
        let cut = text.rfind("\n  return (").ok_or_else(no_component)?;
        let before = text.get(..cut).unwrap_or_default();
        let script: String = before
            .split_inclusive('\n')
            .map(|line| if line.starts_with("import ") { "\n" } else { line })
            .chain(["\n};\n"])
            .collect();
        let mut top = parse(&script)?;
        let Some(Statement { kind: tree::StatementKind::Declare(mut declared), .. }) = top.pop() else {
            return Err(no_component());
        };
        let Some((_, Some(value))) = declared.pop() else { return Err(no_component()) };
        let tree::ExpressionKind::Function(function) = *value.kind else { return Err(no_component()) };
        let Ok(function) = std::rc::Rc::try_unwrap(function) else { return Err(no_component()) };
        let tree::Body::Statements(body) = function.body else { return Err(no_component()) };
        Ok(Self { top, body })
    }

    fn machine(&self) -> Result<Machine, ScriptError> {
        let mut machine = Machine::new(Limits::default());
        machine.run(&self.top)?;
        Ok(machine)
    }

    /// Returns the command that the page shows for a selection.
    ///
    /// # Errors
    /// If the page's function fails, or does what is not understood or too much.
    pub fn render(&self, selection: &Selection) -> Result<String, ScriptError> {
        let mut machine = self.machine()?;
        let state = selection.iter().fold(Object::default(), |mut state, (key, value)| {
            state.set(&key.as_str().into(), from_json(value));
            state
        });
        let state = Value::object(state);
        machine.select(state.clone());
        let scope = machine.body(&self.body)?;
        if let Some(Value::Text(command)) = Machine::name_in(&scope, "command") {
            return Ok(command.to_string());
        }
        let Some(generate) = Machine::name_in(&scope, "generateCommand") else {
            return Err(machine.error("it has no `generateCommand`"));
        };
        match machine.call(&generate, vec![state])? {
            Value::Text(command) => Ok(command.to_string()),
            other => Err(machine.error(format!("`generateCommand` gives {}", other.kind()))),
        }
    }

    /// Returns every selection that a reader can make, at most so many as are looked at. `keep`
    /// says which item of an option is of interest; `hidden` also takes what is not shown or greyed
    /// out at the time.
    ///
    /// # Errors
    /// If the options are not understood.
    pub fn selections(
        &self,
        keep: &dyn Fn(&str, &str) -> bool,
        hidden: bool,
    ) -> Result<Vec<Selection>, ScriptError> {
        let mut machine = self.machine()?;
        let scope = machine.body(&self.body)?;
        let options = match Machine::name_in(&scope, "options") {
            Some(Value::Object(options)) => options.borrow().clone(),
            _ => return Err(machine.error("it has no `options`")),
        };
        let mut found: Vec<Object> = vec![initial(&mut machine, &options)?];
        for (key, option) in options.entries() {
            let mut next = Vec::new();
            for values in found {
                for choice in choices(&mut machine, option, &values, hidden)? {
                    let interesting = matches!(choice, Value::Array(_)) || keep(key, &choice.to_text());
                    if interesting && next.len() < MOST_SELECTIONS {
                        let mut values = values.clone();
                        values.set(key, choice);
                        next.push(values);
                    }
                }
            }
            found = next;
        }
        let selections = found.iter().map(|values| {
            values
                .entries()
                .iter()
                .map(|(key, value)| (key.to_string(), crate::script::to_json(value, 4)))
                .collect()
        });
        Ok(selections.collect())
    }
}

/// Returns a value of a script for one of JSON.
pub(super) fn from_json(value: &Json) -> Value {
    match value {
        Json::Null => Value::Null,
        Json::Bool(yes) => Value::Bool(*yes),
        Json::Number(number) => Value::Number(number.as_f64().unwrap_or(f64::NAN)),
        Json::String(text) => Value::text(text),
        Json::Array(items) => Value::array(items.iter().map(from_json).collect()),
        Json::Object(entries) => {
            Value::object(entries.iter().fold(Object::default(), |mut object, (key, value)| {
                object.set(&key.as_str().into(), from_json(value));
                object
            }))
        }
    }
}

/// Returns a member; nothing if there is none.
pub(super) fn field(value: &Value, name: &str) -> Value {
    match value {
        Value::Object(object) => object.borrow().get(name).cloned().unwrap_or(Value::Undefined),
        _ => Value::Undefined,
    }
}

/// Returns the items of an option, given what is selected so far.
fn items(machine: &mut Machine, option: &Value, values: &Object) -> Result<Vec<Value>, ScriptError> {
    let list = match field(option, "getDynamicItems") {
        Value::Undefined => field(option, "items"),
        function => machine.call(&function, vec![Value::object(values.clone())])?,
    };
    Ok(if let Value::Array(items) = list { items.borrow().clone() } else { Vec::new() })
}

fn several(option: &Value) -> bool {
    matches!(field(option, "type"), Value::Text(kind) if &*kind == "checkbox")
}

/// Returns what the page begins with.
fn initial(machine: &mut Machine, options: &Object) -> Result<Object, ScriptError> {
    let mut values = Object::default();
    for (key, option) in options.entries() {
        let items = items(machine, option, &values)?;
        let default = |item: &&Value| field(item, "default").truthy() && !field(item, "disabled").truthy();
        let value = if several(option) {
            Value::array(items.iter().filter(default).map(|item| field(item, "id")).collect())
        } else {
            let first = items
                .iter()
                .find(default)
                .or_else(|| items.iter().find(|item| !field(item, "disabled").truthy()));
            // An option without items is a text that a reader types.
            first.or(items.first()).map_or_else(|| field(option, "default"), |item| field(item, "id"))
        };
        values.set(key, value);
    }
    Ok(values)
}

/// Returns what a reader can choose of an option; one that is not shown keeps what it has.
fn choices(
    machine: &mut Machine,
    option: &Value,
    values: &Object,
    hidden: bool,
) -> Result<Vec<Value>, ScriptError> {
    let key_value = |values: &Object| match field(option, "name") {
        Value::Text(name) => values.get(&name).cloned(),
        _ => None,
    };
    let shown = match field(option, "condition") {
        Value::Undefined => true,
        _ if hidden => true,
        condition => machine.call(&condition, vec![Value::object(values.clone())])?.truthy(),
    };
    let all: Vec<Value> = items(machine, option, values)?
        .iter()
        .filter(|item| hidden || !field(item, "disabled").truthy())
        .map(|item| field(item, "id"))
        .collect();
    if !shown || all.is_empty() {
        return Ok(vec![key_value(values).unwrap_or(Value::Undefined)]);
    }
    if several(option) {
        // Every subset of a few boxes; of many, none, each alone, and all.
        let subsets: Vec<Vec<Value>> = if all.len() <= 4 {
            (0..1u32 << all.len())
                .map(|bits| {
                    all.iter()
                        .enumerate()
                        .filter(|(index, _)| bits >> index & 1 == 1)
                        .map(|(_, id)| id.clone())
                        .collect()
                })
                .collect()
        } else {
            std::iter::once(Vec::new())
                .chain(all.iter().map(|id| vec![id.clone()]))
                .chain([all.clone()])
                .collect()
        };
        return Ok(subsets.into_iter().map(Value::array).collect());
    }
    Ok(all)
}
