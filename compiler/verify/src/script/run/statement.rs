//! Statements, one after another.

use std::rc::Rc;

use super::super::builtin;
use super::super::tree::{Expression, Statement, StatementKind};
use super::super::value::Value;
use super::{Flow, Machine, Ran, Scope};

impl Machine {
    pub(super) fn statements(&mut self, statements: &[Statement], scope: &Rc<Scope>) -> Ran<Flow> {
        for statement in statements {
            if let StatementKind::Function(name, function) = &statement.kind {
                scope.declare(name, Value::Function(function.clone(), scope.clone()));
            }
        }
        for statement in statements {
            match self.statement(statement, scope)? {
                Flow::Next => {}
                flow => return Ok(flow),
            }
        }
        Ok(Flow::Next)
    }

    pub(super) fn statement(&mut self, statement: &Statement, scope: &Rc<Scope>) -> Ran<Flow> {
        self.charge(1)?;
        self.line = statement.line;
        match &statement.kind {
            StatementKind::Declare(list) => {
                for (pattern, value) in list {
                    let value =
                        value.as_ref().map_or(Ok(Value::Undefined), |value| self.value(value, scope))?;
                    self.bind(pattern, value, None, scope)?;
                }
            }
            StatementKind::Function(..) | StatementKind::Empty => {}
            StatementKind::Return(value) => {
                let value = value.as_ref().map_or(Ok(Value::Undefined), |value| self.value(value, scope))?;
                return Ok(Flow::Return(value));
            }
            StatementKind::If(test, then, other) => {
                if self.value(test, scope)?.truthy() {
                    return self.statement(then, scope);
                }
                if let Some(other) = other {
                    return self.statement(other, scope);
                }
            }
            StatementKind::Block(statements) => return self.statements(statements, &Scope::inside(scope)),
            StatementKind::ForOf(pattern, list, body) => {
                let list = self.value(list, scope)?;
                let Some(items) = builtin::items(&list) else {
                    return Err(self.error(format!("{} is walked, which is no list", list.kind())));
                };
                for item in items {
                    let inner = Scope::inside(scope);
                    self.bind(pattern, item, None, &inner)?;
                    match self.statement(body, &inner)? {
                        Flow::Break => break,
                        Flow::Return(value) => return Ok(Flow::Return(value)),
                        Flow::Next | Flow::Continue => {}
                    }
                }
            }
            StatementKind::For(first, test, next, body) => {
                let inner = Scope::inside(scope);
                if let Some(first) = first {
                    self.statement(first, &inner)?;
                }
                return self.turns(test.as_ref(), next.as_ref(), body, &inner);
            }
            StatementKind::While(test, body) => return self.turns(Some(test), None, body, scope),
            StatementKind::Switch(value, cases) => return self.switch(value, cases, scope),
            StatementKind::Break => return Ok(Flow::Break),
            StatementKind::Continue => return Ok(Flow::Continue),
            StatementKind::Throw(value) => {
                let value = self.value(value, scope)?;
                let text = match &value {
                    Value::Object(object) => object.borrow().get("message").map(Value::to_text),
                    other => Some(other.to_text()),
                };
                return Err(self.error(format!("the page refuses: {}", text.unwrap_or_else(|| "".into()))));
            }
            StatementKind::Expression(expression) => {
                self.value(expression, scope)?;
            }
        }
        Ok(Flow::Next)
    }

    pub(super) fn turns(
        &mut self,
        test: Option<&Expression>,
        next: Option<&Expression>,
        body: &Statement,
        scope: &Rc<Scope>,
    ) -> Ran<Flow> {
        loop {
            if let Some(test) = test
                && !self.value(test, scope)?.truthy()
            {
                return Ok(Flow::Next);
            }
            match self.statement(body, scope)? {
                Flow::Break => return Ok(Flow::Next),
                Flow::Return(value) => return Ok(Flow::Return(value)),
                Flow::Next | Flow::Continue => {}
            }
            if let Some(next) = next {
                self.value(next, scope)?;
            }
        }
    }

    pub(super) fn switch(
        &mut self,
        value: &Expression,
        cases: &[(Option<Expression>, Vec<Statement>)],
        scope: &Rc<Scope>,
    ) -> Ran<Flow> {
        let value = self.value(value, scope)?;
        let mut begin = None;
        for (index, (test, _)) in cases.iter().enumerate() {
            if let Some(test) = test
                && self.value(test, scope)?.same(&value)
            {
                begin = Some(index);
                break;
            }
        }
        let begin = begin.or_else(|| cases.iter().position(|(test, _)| test.is_none()));
        let inner = Scope::inside(scope);
        for (_, statements) in cases.iter().skip(begin.unwrap_or(cases.len())) {
            match self.statements(statements, &inner)? {
                Flow::Break => break,
                Flow::Next => {}
                flow => return Ok(flow),
            }
        }
        Ok(Flow::Next)
    }
}
