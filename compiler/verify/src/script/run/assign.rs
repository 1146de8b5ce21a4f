//! Assignments: to names, entries and items.

use std::rc::Rc;

use super::super::tree::{Expression, Pattern, Target};
use super::super::value::Value;
use super::{Machine, Ran, Scope};

impl Machine {
    pub(super) fn assign(
        &mut self,
        operator: &str,
        target: &Target,
        value: &Expression,
        scope: &Rc<Scope>,
    ) -> Ran<Value> {
        let new = match operator {
            "=" => self.value(value, scope)?,
            "&&=" | "||=" | "??=" => {
                let old = self.read(target, scope)?;
                let enough = match operator {
                    "&&=" => !old.truthy(),
                    "||=" => old.truthy(),
                    _ => !old.is_nothing(),
                };
                if enough {
                    return Ok(old);
                }
                self.value(value, scope)?
            }
            _ => {
                let old = self.read(target, scope)?;
                let value = self.value(value, scope)?;
                self.binary(operator.get(..1).unwrap_or_default(), &old, &value)?
            }
        };
        self.write(target, new.clone(), scope)?;
        Ok(new)
    }

    pub(super) fn read(&mut self, target: &Target, scope: &Rc<Scope>) -> Ran<Value> {
        match target {
            Target::Pattern(Pattern::Name(name)) => {
                scope.get(name).ok_or_else(|| self.error(format!("`{name}` is not known")))
            }
            Target::Pattern(_) => Err(self.error("this cannot be changed")),
            Target::Member(object, name) => {
                let object = self.value(object, scope)?;
                self.member(&object, name)
            }
            Target::Index(object, key) => {
                let (object, key) = (self.value(object, scope)?, self.value(key, scope)?);
                self.index(&object, &key)
            }
        }
    }

    pub(super) fn write(&mut self, target: &Target, value: Value, scope: &Rc<Scope>) -> Ran<()> {
        let (object, key) = match target {
            Target::Pattern(Pattern::Name(name)) => {
                return if scope.assign(name, value) {
                    Ok(())
                } else {
                    Err(self.error(format!("`{name}` is not known")))
                };
            }
            Target::Pattern(_) => return Err(self.error("this cannot be changed")),
            Target::Member(object, name) => (self.value(object, scope)?, Value::Text(name.clone())),
            Target::Index(object, key) => (self.value(object, scope)?, self.value(key, scope)?),
        };
        match &object {
            Value::Object(entries) => {
                self.charge(1)?;
                entries.borrow_mut().set(&key.to_text(), value);
                Ok(())
            }
            Value::Array(items) => {
                let index = key.to_number();
                let mut items = items.borrow_mut();
                if index == items.len() as f64 {
                    items.push(value);
                } else if let Some(slot) =
                    (index >= 0.0 && index.fract() == 0.0).then(|| items.get_mut(index as usize)).flatten()
                {
                    *slot = value;
                } else {
                    return Err(self.error("a list is written beyond its end"));
                }
                Ok(())
            }
            other => Err(self.error(format!("an entry of {} is set", other.kind()))),
        }
    }
}
