//! Running a script, within limits.

mod assign;
mod statement;

use std::cell::RefCell;
use std::rc::Rc;

use super::ScriptError;
use super::builtin::{self, GLOBALS};
use super::class::Class;
use super::operator;
use super::tree::{Body, Entry, Expression, ExpressionKind, Function, Item, Pattern, Statement};
use super::value::{Object, Value};

/// How much a script may do.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    /// Steps: expressions and statements, and items that built-ins walk.
    pub(crate) steps: usize,
    /// Bytes of all texts made.
    pub(crate) bytes: usize,
    /// Calls within calls.
    pub(crate) depth: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { steps: 400_000, bytes: 8 << 20, depth: 60 }
    }
}

/// Names and their values.
pub(crate) struct Scope {
    names: RefCell<Vec<(Rc<str>, Value)>>,
    parent: Option<Rc<Scope>>,
}

impl Scope {
    fn inside(parent: &Rc<Self>) -> Rc<Self> {
        Rc::new(Self { names: RefCell::new(Vec::new()), parent: Some(parent.clone()) })
    }

    fn get(&self, name: &str) -> Option<Value> {
        let mut scope = Some(self);
        while let Some(current) = scope {
            if let Some((_, value)) = current.names.borrow().iter().rev().find(|(known, _)| &**known == name)
            {
                return Some(value.clone());
            }
            scope = current.parent.as_deref();
        }
        None
    }

    fn declare(&self, name: &Rc<str>, value: Value) {
        let mut names = self.names.borrow_mut();
        match names.iter_mut().find(|(known, _)| known == name) {
            Some((_, old)) => *old = value,
            None => names.push((name.clone(), value)),
        }
    }

    fn assign(&self, name: &str, value: Value) -> bool {
        let mut scope = Some(self);
        while let Some(current) = scope {
            if let Some((_, old)) = current.names.borrow_mut().iter_mut().find(|(known, _)| &**known == name)
            {
                *old = value;
                return true;
            }
            scope = current.parent.as_deref();
        }
        false
    }
}

/// What a statement led to.
enum Flow {
    Next,
    Break,
    Continue,
    Return(Value),
}

/// Runs scripts.
pub(crate) struct Machine {
    limits: Limits,
    depth: usize,
    line: usize,
    top: Rc<Scope>,
    /// What `useState` gives on its first call in place of what the page begins with.
    state: Option<Value>,
}

type Ran<T> = Result<T, ScriptError>;

impl Machine {
    pub(crate) fn new(limits: Limits) -> Self {
        let top = Rc::new(Scope { names: RefCell::new(Vec::new()), parent: None });
        for name in GLOBALS {
            top.declare(&name.into(), Value::Builtin(name, Rc::new(Value::Undefined)));
        }
        for name in ["useState", "useEffect", "useMemo", "useCallback", "useRef"] {
            top.declare(&name.into(), Value::Builtin(name, Rc::new(Value::Undefined)));
        }
        Self { limits, depth: 0, line: 0, top, state: None }
    }

    /// Gives the page this selection in place of the one that it begins with.
    pub(crate) fn select(&mut self, state: Value) {
        self.state = Some(state);
    }

    /// Runs the statements at the top, so that [`Machine::global`] knows their names.
    pub(crate) fn run(&mut self, statements: &[Statement]) -> Ran<()> {
        let top = self.top.clone();
        self.statements(statements, &top).map(|_| ())
    }

    /// Runs the statements in the body of a function without parameters, and gives its names.
    pub(crate) fn body(&mut self, statements: &[Statement]) -> Ran<Rc<Scope>> {
        let scope = Scope::inside(&self.top.clone());
        self.statements(statements, &scope)?;
        Ok(scope)
    }

    pub(crate) fn name_in(scope: &Scope, name: &str) -> Option<Value> {
        scope.get(name)
    }

    pub(crate) fn global(&self, name: &str) -> Option<Value> {
        self.top.get(name)
    }

    pub(crate) fn error(&self, why: impl Into<String>) -> ScriptError {
        ScriptError { line: self.line, why: why.into() }
    }

    /// Counts steps.
    pub(crate) fn charge(&mut self, steps: usize) -> Ran<()> {
        match self.limits.steps.checked_sub(steps) {
            Some(left) => {
                self.limits.steps = left;
                Ok(())
            }
            None => Err(self.error("it takes too many steps")),
        }
    }

    /// Makes a text, counting its bytes.
    pub(crate) fn text(&mut self, text: &str) -> Ran<Value> {
        match self.limits.bytes.checked_sub(text.len()) {
            Some(left) => {
                self.limits.bytes = left;
                Ok(Value::text(text))
            }
            None => Err(self.error("it makes too much text")),
        }
    }

    pub(crate) fn call(&mut self, callee: &Value, arguments: Vec<Value>) -> Ran<Value> {
        self.charge(1)?;
        match callee {
            Value::Builtin(name, on) => match *name {
                "useState" => self.use_state(&arguments),
                "useEffect" => Ok(Value::Undefined),
                "useMemo" => self.call(&arguments.into_iter().next().unwrap_or(Value::Undefined), vec![]),
                "useCallback" => Ok(arguments.into_iter().next().unwrap_or(Value::Undefined)),
                "useRef" => {
                    let mut object = Object::default();
                    object.set(&"current".into(), arguments.into_iter().next().unwrap_or(Value::Undefined));
                    Ok(Value::object(object))
                }
                name => builtin::call(self, name, on, &arguments),
            },
            Value::Function(function, scope) => self.call_function(function, scope, arguments),
            other => Err(self.error(format!("{} is called, which is no function", other.kind()))),
        }
    }

    /// The first state of a page is its selection; the others only paint.
    fn use_state(&mut self, arguments: &[Value]) -> Ran<Value> {
        let first = arguments.first().cloned().unwrap_or(Value::Undefined);
        let value = match (self.state.take(), first) {
            (Some(selected), _) => selected,
            (None, function @ Value::Function(..)) => self.call(&function, vec![])?,
            (None, value) => value,
        };
        Ok(Value::array(vec![value, Value::Builtin("useEffect", Rc::new(Value::Undefined))]))
    }

    fn call_function(&mut self, function: &Function, outer: &Rc<Scope>, arguments: Vec<Value>) -> Ran<Value> {
        if self.depth >= self.limits.depth {
            return Err(self.error("functions call each other too deep"));
        }
        self.depth += 1;
        let scope = Scope::inside(outer);
        let mut arguments = arguments.into_iter();
        for (pattern, default) in &function.parameters {
            let value = arguments.next().unwrap_or(Value::Undefined);
            self.bind(pattern, value, default.as_ref(), &scope)?;
        }
        if let Some(rest) = &function.rest {
            self.bind(rest, Value::array(arguments.collect()), None, &scope)?;
        }
        let result = match &function.body {
            Body::Expression(expression) => self.value(expression, &scope)?,
            Body::Statements(statements) => match self.statements(statements, &scope)? {
                Flow::Return(value) => value,
                Flow::Next | Flow::Break | Flow::Continue => Value::Undefined,
            },
        };
        self.depth -= 1;
        Ok(result)
    }

    fn bind(
        &mut self,
        pattern: &Pattern,
        value: Value,
        default: Option<&Expression>,
        scope: &Rc<Scope>,
    ) -> Ran<()> {
        let value = match (value, default) {
            (Value::Undefined, Some(default)) => self.value(default, scope)?,
            (value, _) => value,
        };
        match pattern {
            Pattern::Name(name) => scope.declare(name, value),
            Pattern::Array(parts, rest) => {
                let Some(items) = builtin::items(&value) else {
                    return Err(self.error(format!("{} is taken apart as a list", value.kind())));
                };
                for (index, part) in parts.iter().enumerate() {
                    if let Some((pattern, default)) = part {
                        let item = items.get(index).cloned().unwrap_or(Value::Undefined);
                        self.bind(pattern, item, default.as_ref(), scope)?;
                    }
                }
                if let Some(rest) = rest {
                    self.bind(
                        rest,
                        Value::array(items.get(parts.len()..).unwrap_or_default().to_vec()),
                        None,
                        scope,
                    )?;
                }
            }
            Pattern::Object(parts, rest) => {
                if value.is_nothing() {
                    return Err(self.error(format!("{} is taken apart", value.to_text())));
                }
                for (key, pattern, default) in parts {
                    let item = self.member(&value, key)?;
                    self.bind(pattern, item, default.as_ref(), scope)?;
                }
                if let (Some(rest), Value::Object(object)) = (rest, &value) {
                    let mut left = object.borrow().clone();
                    parts.iter().for_each(|(key, _, _)| left.remove(key));
                    scope.declare(rest, Value::object(left));
                }
            }
        }
        Ok(())
    }

    pub(crate) fn value(&mut self, expression: &Expression, scope: &Rc<Scope>) -> Ran<Value> {
        self.charge(1)?;
        self.line = expression.line;
        Ok(match &*expression.kind {
            ExpressionKind::Undefined => Value::Undefined,
            ExpressionKind::Null => Value::Null,
            ExpressionKind::Bool(yes) => Value::Bool(*yes),
            ExpressionKind::Number(number) => Value::Number(*number),
            ExpressionKind::Text(text) => Value::Text(text.clone()),
            ExpressionKind::Regex(text) => match Class::read(text) {
                Some(class) => Value::Class(Rc::new(class)),
                None => return Err(self.error(format!("the regular expression `{text}` is not known"))),
            },
            ExpressionKind::Template(texts, parts) => {
                let mut whole = String::new();
                for (index, text) in texts.iter().enumerate() {
                    whole.push_str(text);
                    if let Some(part) = parts.get(index) {
                        whole.push_str(&self.value(part, scope)?.to_text());
                    }
                }
                self.text(&whole)?
            }
            ExpressionKind::Name(name) => match scope.get(name) {
                Some(value) => value,
                None => return Err(self.error(format!("`{name}` is not known"))),
            },
            ExpressionKind::Array(items) => Value::array(self.items(items, scope)?),
            ExpressionKind::Object(entries) => self.object(entries, scope)?,
            ExpressionKind::Function(function) => Value::Function(function.clone(), scope.clone()),
            ExpressionKind::Unary(operator, operand) => self.unary(operator, operand, scope)?,
            ExpressionKind::Binary(operator, left, right) => {
                let (left, right) = (self.value(left, scope)?, self.value(right, scope)?);
                self.binary(operator, &left, &right)?
            }
            ExpressionKind::Logical(operator, left, right) => {
                let left = self.value(left, scope)?;
                let enough = match *operator {
                    "&&" => !left.truthy(),
                    "||" => left.truthy(),
                    _ => !left.is_nothing(),
                };
                if enough { left } else { self.value(right, scope)? }
            }
            ExpressionKind::Conditional(test, then, other) => {
                let branch = if self.value(test, scope)?.truthy() { then } else { other };
                self.value(branch, scope)?
            }
            ExpressionKind::Assign(operator, target, value) => self.assign(operator, target, value, scope)?,
            ExpressionKind::Step(amount, before, target) => {
                let old = Value::Number(self.read(target, scope)?.to_number());
                let new = Value::Number(old.to_number() + amount);
                self.write(target, new.clone(), scope)?;
                if *before { new } else { old }
            }
            ExpressionKind::Member(..) | ExpressionKind::Index(..) | ExpressionKind::Call(..) => {
                self.link(expression, scope)?.unwrap_or(Value::Undefined)
            }
            ExpressionKind::Chain(inner) => self.link(inner, scope)?.unwrap_or(Value::Undefined),
            ExpressionKind::New(class, items) => {
                let arguments = self.items(items, scope)?;
                match &**class {
                    "Set" => {
                        let set = Value::Set(Rc::default());
                        let first = arguments.first().cloned().unwrap_or(Value::Undefined);
                        for item in builtin::items(&first).unwrap_or_default() {
                            builtin::call(self, "add", &set, &[item])?;
                        }
                        set
                    }
                    "Error" => {
                        let mut object = Object::default();
                        object
                            .set(&"message".into(), arguments.into_iter().next().unwrap_or(Value::Undefined));
                        Value::object(object)
                    }
                    class => return Err(self.error(format!("`new {class}` is not known"))),
                }
            }
        })
    }

    /// Evaluates a link of a chain; `None` once a `?.` has ended the chain.
    fn link(&mut self, expression: &Expression, scope: &Rc<Scope>) -> Ran<Option<Value>> {
        let inner = |machine: &mut Self, value: &Expression| -> Ran<Option<Value>> {
            match &*value.kind {
                ExpressionKind::Member(..) | ExpressionKind::Index(..) | ExpressionKind::Call(..) => {
                    machine.link(value, scope)
                }
                _ => machine.value(value, scope).map(Some),
            }
        };
        match &*expression.kind {
            ExpressionKind::Member(object, name, optional) => {
                let Some(object) = inner(self, object)? else { return Ok(None) };
                if *optional && object.is_nothing() {
                    return Ok(None);
                }
                self.line = expression.line;
                self.member(&object, name).map(Some)
            }
            ExpressionKind::Index(object, key, optional) => {
                let Some(object) = inner(self, object)? else { return Ok(None) };
                if *optional && object.is_nothing() {
                    return Ok(None);
                }
                let key = self.value(key, scope)?;
                self.index(&object, &key).map(Some)
            }
            ExpressionKind::Call(callee, items, optional) => {
                let Some(callee) = inner(self, callee)? else { return Ok(None) };
                if *optional && callee.is_nothing() {
                    return Ok(None);
                }
                let arguments = self.items(items, scope)?;
                self.line = expression.line;
                self.call(&callee, arguments).map(Some)
            }
            _ => self.value(expression, scope).map(Some),
        }
    }

    fn member(&mut self, object: &Value, name: &str) -> Ran<Value> {
        if let Value::Object(entries) = object {
            let found = entries.borrow().get(name).cloned();
            match found {
                Some(Value::Getter(function, scope)) => return self.call_function(&function, &scope, vec![]),
                Some(value) => return Ok(value),
                None => {}
            }
        }
        if object.is_nothing() {
            return Err(self.error(format!("`{name}` is read of {}", object.to_text())));
        }
        if let Some(value) = builtin::member(object, name) {
            return Ok(value);
        }
        match object {
            // A method that this does not know must not pass for one that is not there.
            Value::Array(_) | Value::Text(_) | Value::Set(_) | Value::Number(_) | Value::Builtin(..) => {
                Err(self.error(format!("`{name}` of {} is not known", object.kind())))
            }
            _ => Ok(Value::Undefined),
        }
    }

    fn index(&mut self, object: &Value, key: &Value) -> Ran<Value> {
        match object {
            Value::Array(items) if matches!(key, Value::Number(_)) => {
                let number = key.to_number();
                let found = if number >= 0.0 && number.fract() == 0.0 {
                    items.borrow().get(number as usize).cloned()
                } else {
                    None
                };
                Ok(found.unwrap_or(Value::Undefined))
            }
            Value::Text(text) if matches!(key, Value::Number(_)) => {
                let number = key.to_number();
                let found = if number >= 0.0 { text.chars().nth(number as usize) } else { None };
                Ok(found.map_or(Value::Undefined, |c| Value::text(&c.to_string())))
            }
            object => self.member(object, &key.to_text()),
        }
    }

    fn items(&mut self, items: &[Item], scope: &Rc<Scope>) -> Ran<Vec<Value>> {
        let mut list = Vec::new();
        for item in items {
            match item {
                Item::One(expression) => list.push(self.value(expression, scope)?),
                Item::Spread(expression) => {
                    let value = self.value(expression, scope)?;
                    let Some(items) = builtin::items(&value) else {
                        return Err(self.error(format!("{} is spread, which is no list", value.kind())));
                    };
                    self.charge(items.len())?;
                    list.extend(items);
                }
            }
        }
        Ok(list)
    }

    fn object(&mut self, entries: &[Entry], scope: &Rc<Scope>) -> Ran<Value> {
        let mut object = Object::default();
        for entry in entries {
            match entry {
                Entry::Named(name, value) => {
                    let value = self.value(value, scope)?;
                    object.set(name, value);
                }
                Entry::Computed(key, value) => {
                    let (key, value) = (self.value(key, scope)?, self.value(value, scope)?);
                    object.set(&key.to_text(), value);
                }
                Entry::Spread(other) => {
                    if let Value::Object(other) = self.value(other, scope)? {
                        let other = other.borrow().clone();
                        self.charge(other.entries().len())?;
                        other.entries().iter().for_each(|(key, value)| object.set(key, value.clone()));
                    }
                }
                Entry::Getter(name, function) => {
                    object.set(name, Value::Getter(function.clone(), scope.clone()));
                }
            }
        }
        Ok(Value::object(object))
    }

    fn unary(&mut self, operator: &str, operand: &Expression, scope: &Rc<Scope>) -> Ran<Value> {
        if operator == "typeof"
            && let ExpressionKind::Name(name) = &*operand.kind
            && scope.get(name).is_none()
        {
            return Ok(Value::text("undefined"));
        }
        if operator == "delete" {
            if let ExpressionKind::Member(object, name, _) = &*operand.kind
                && let Value::Object(object) = self.value(object, scope)?
            {
                object.borrow_mut().remove(name);
                return Ok(Value::Bool(true));
            }
            if let ExpressionKind::Index(object, key, _) = &*operand.kind
                && let Value::Object(object) = self.value(object, scope)?
            {
                let key = self.value(key, scope)?;
                object.borrow_mut().remove(&key.to_text());
                return Ok(Value::Bool(true));
            }
            return Err(self.error("`delete` of this is not known"));
        }
        let value = self.value(operand, scope)?;
        Ok(match operator {
            "!" => Value::Bool(!value.truthy()),
            "-" => Value::Number(-value.to_number()),
            "+" => Value::Number(value.to_number()),
            "typeof" => Value::text(value.kind()),
            _ => Value::Undefined,
        })
    }

    fn binary(&mut self, operator: &str, left: &Value, right: &Value) -> Ran<Value> {
        let value = operator::binary(operator, left, right)
            .ok_or_else(|| self.error(format!("`{operator}` of this is not known")))?;
        if let Value::Text(text) = &value {
            self.limits.bytes = self
                .limits
                .bytes
                .checked_sub(text.len())
                .ok_or_else(|| self.error("it makes too much text"))?;
        }
        Ok(value)
    }
}
