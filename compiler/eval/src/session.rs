//! The door to the evaluator.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use diag::{Diagnostics, SourceMap, Span};

use crate::coverage::{Branch, Coverage};
use crate::failure::{Failure, Outcome};
use crate::load::ROOT;
use crate::machine::Machine;
use crate::slot::{NOWHERE, Slot, Symbol};
use crate::view::{Attribute, Element, Error, Formal, Formals, Origin, View};
use crate::{Files, Limits, Value};

/// Loads files, evaluates what is asked for, and remembers where everything was written.
///
/// Values belong to the session that gave them. All limits but depth are spent over its life.
#[derive(Debug)]
pub struct Session<'f> {
    machine: Machine<'f>,
    /// Where the attributes of a shape were written, in the order in which people see them. Many
    /// sets share a shape, and whoever looks at one looks at the others.
    origins: BTreeMap<u32, Arc<[Origin]>>,
}

/// The most shapes whose origins are remembered.
const REMEMBERED: usize = 1 << 14;

impl<'f> Session<'f> {
    /// Returns a session over these files.
    #[must_use]
    pub fn new(files: &'f dyn Files, limits: Limits) -> Self {
        Self { machine: Machine::new(files, limits), origins: BTreeMap::new() }
    }

    // ---- Evaluating ----

    /// Evaluates a file below the root to a value whose parts may stay unevaluated. A folder means
    /// its `default.nix`. A file that was evaluated before is not read again.
    ///
    /// # Errors
    /// All syntax errors and undefined names of the file at once, or the one fault of evaluation.
    pub fn evaluate_file(&mut self, path: &str) -> Result<Value, Diagnostics> {
        let path = normal(path);
        let outcome = self.machine.evaluate_module(&path);
        finished(outcome)
    }

    /// Evaluates a text as if it were the file at `path`, which need not exist.
    ///
    /// # Errors
    /// As [`Session::evaluate_file`].
    pub fn evaluate_text(&mut self, path: &str, text: &str) -> Result<Value, Diagnostics> {
        let path = normal(path);
        let code = self.machine.compile_text(&path, text, &[])?;
        let outcome = self.machine.nested(|machine| {
            let slot = machine.alloc_one(Slot::Delayed { code, env: ROOT })?;
            machine.force_at(slot)
        });
        finished(outcome)
    }

    /// Evaluates a value at the top and shows it.
    ///
    /// # Errors
    /// The fault of evaluation.
    pub fn force(&mut self, value: &Value) -> Result<View, Error> {
        let value = self.machine.nested(|machine| machine.force(value.0)).map_err(Error)?;
        Ok(self.view(value))
    }

    /// Evaluates a value and everything in it.
    ///
    /// # Errors
    /// The first fault of evaluation.
    pub fn force_deep(&mut self, value: &Value) -> Result<(), Error> {
        let value = self.machine.force(value.0).map_err(Error)?;
        self.machine.force_deep(value).map_err(Error)
    }

    /// Calls a function with one argument. Call the outcome again for the next argument.
    ///
    /// # Errors
    /// If the value is not a function, or the fault of evaluation.
    pub fn call(&mut self, function: &Value, argument: Value) -> Result<Value, Error> {
        self.machine
            .nested(|machine| {
                let function = machine.force(function.0)?;
                machine.call(function, argument.0, NOWHERE)
            })
            .map(Value)
            .map_err(Error)
    }

    /// Returns an attribute of a set; `None` if the value is not a set or lacks it.
    ///
    /// # Errors
    /// The fault of evaluating the set; the attribute itself stays unevaluated.
    pub fn get(&mut self, set: &Value, name: &str) -> Result<Option<Attribute>, Error> {
        let set = self.machine.nested(|machine| machine.force(set.0)).map_err(Error)?;
        let Slot::Attrs { shape, start, .. } = set else { return Ok(None) };
        let Some(symbol) = self.machine.names.find(name) else { return Ok(None) };
        let Some(slot) = self.machine.attribute(shape, start, symbol.0) else { return Ok(None) };
        Ok(Some(Attribute {
            name: self.machine.shared_name(symbol.0),
            value: Value(self.machine.share(slot)),
            origin: self.machine.origin_of(shape, symbol.0),
        }))
    }

    /// Returns the value at a dotted path such as `-A a.b` takes; numbers select list elements.
    ///
    /// # Errors
    /// A missing attribute, or the fault of evaluation.
    pub fn select(&mut self, value: &Value, path: &str) -> Result<Value, Error> {
        self.machine.nested(|machine| machine.select_path(value.0, path)).map(Value).map_err(Error)
    }

    /// Returns what a function takes; `None` for what is not a function of the language.
    #[must_use]
    pub fn formals(&self, function: &Value) -> Option<Formals> {
        let machine = &self.machine;
        let mut held = function.0;
        while let Slot::Ref { slot } = held {
            held = machine.heap[slot as usize];
        }
        let Slot::Lambda { lambda, .. } = held else { return None };
        let lambda = machine.code.lambdas[lambda as usize];
        let file = machine.code.file(lambda.node)?;
        let mut formals =
            machine.code.formals[lambda.formals as usize..][..lambda.formal_count as usize].to_vec();
        formals.sort_by_key(|formal| formal.written);
        let names = formals.iter().map(|formal| Formal {
            name: machine.name(formal.name).into(),
            span: Some(Span::new(file, formal.start, formal.end)),
            optional: formal.default != 0,
        });
        Some(Formals {
            span: Some(Span::new(file, lambda.start, lambda.end)),
            names: lambda.pattern.then(|| names.collect()),
            open: lambda.open,
        })
    }

    // ---- Values from Rust ----

    /// Returns null.
    #[must_use]
    pub fn null(&self) -> Value {
        Value(Slot::Null { at: NOWHERE })
    }

    /// Returns a Boolean.
    #[must_use]
    pub fn bool(&self, value: bool) -> Value {
        Value(Slot::Bool { at: NOWHERE, value })
    }

    /// Returns an integer.
    #[must_use]
    pub fn int(&self, value: i64) -> Value {
        Value(Slot::Int { at: NOWHERE, value })
    }

    /// Returns a float.
    #[must_use]
    pub fn float(&self, value: f64) -> Value {
        Value(Slot::Float { at: NOWHERE, value })
    }

    /// Returns a string.
    ///
    /// # Errors
    /// If the session may take no more memory.
    pub fn string(&mut self, text: &str) -> Result<Value, Error> {
        self.machine.string(text.as_bytes(), NOWHERE).map(Value).map_err(Error)
    }

    /// Returns a list.
    ///
    /// # Errors
    /// If the session may take no more memory.
    pub fn list(&mut self, elements: impl IntoIterator<Item = Value>) -> Result<Value, Error> {
        let elements: Vec<Slot> = elements.into_iter().map(|element| element.0).collect();
        self.machine.make_list(&elements, NOWHERE).map(Value).map_err(Error)
    }

    /// Returns a set; of attributes with one name the last counts.
    ///
    /// # Errors
    /// If the session may take no more memory.
    pub fn attrs<'n>(
        &mut self,
        attributes: impl IntoIterator<Item = (&'n str, Value)>,
    ) -> Result<Value, Error> {
        let mut pairs: Vec<(Symbol, Slot)> = Vec::new();
        for (name, value) in attributes {
            pairs.push((self.machine.intern(name), value.0));
        }
        self.machine.make_set(pairs, NOWHERE).map(Value).map_err(Error)
    }

    /// Returns the value that a JSON document means.
    ///
    /// # Errors
    /// If the session may take no more memory, or a number does not fit.
    pub fn build(&mut self, document: &serde_json::Value) -> Result<Value, Error> {
        self.machine.read_document(document, NOWHERE).map(Value).map_err(Error)
    }

    // ---- Values to Rust ----

    /// Returns the JSON document of a value, evaluating all of it.
    ///
    /// # Errors
    /// A function or a path in it, or the fault of evaluation.
    pub fn json(&mut self, value: &Value) -> Result<serde_json::Value, Error> {
        self.machine
            .nested(|machine| {
                let value = machine.force(value.0)?;
                machine.write_document(value, NOWHERE)
            })
            .map_err(Error)
    }

    /// Returns a value as `nix-instantiate --eval --strict --json` prints it, without the newline.
    ///
    /// # Errors
    /// A function or a path in it, or the fault of evaluation.
    pub fn render_json(&mut self, value: &Value) -> Result<String, Error> {
        let mut out = Vec::new();
        self.machine
            .nested(|machine| {
                let value = machine.force(value.0)?;
                machine.write_json(value, &mut out, NOWHERE)
            })
            .map_err(Error)?;
        Ok(text_of(out))
    }

    /// Returns a value as `nix-instantiate --eval --strict` prints it, without the newline.
    ///
    /// # Errors
    /// The fault of evaluation.
    pub fn render_nix(&mut self, value: &Value) -> Result<String, Error> {
        let mut out = Vec::new();
        self.machine
            .nested(|machine| {
                let value = machine.force(value.0)?;
                machine.force_deep(value)?;
                machine.write_nix(value, &mut out, &mut BTreeSet::new())
            })
            .map_err(Error)?;
        Ok(text_of(out))
    }

    // ---- What the session knows ----

    /// Returns the texts that diagnostics point into.
    #[must_use]
    pub fn sources(&self) -> &SourceMap {
        &self.machine.sources
    }

    /// Returns which arms of the conditionals were evaluated until now.
    #[must_use]
    pub fn coverage(&self) -> Coverage {
        let code = &self.machine.code;
        let branches = code.conditionals.iter().filter_map(|conditional| {
            Some(Branch {
                kind: conditional.kind,
                condition: code.span(conditional.condition)?,
                first: code.span(conditional.first),
                second: code.span(conditional.second)?,
                first_taken: conditional.taken[0],
                second_taken: conditional.taken[1],
            })
        });
        Coverage { branches: branches.collect() }
    }

    /// Returns what is odd about the texts that were read, though they can be evaluated.
    #[must_use]
    pub fn warnings(&self) -> &Diagnostics {
        &self.machine.warnings
    }

    /// Returns the messages of `builtins.trace` and `builtins.warn`, in order.
    #[must_use]
    pub fn traces(&self) -> &[String] {
        &self.machine.traces
    }

    /// Returns how many steps were taken.
    #[must_use]
    pub fn steps(&self) -> u64 {
        self.machine.steps
    }

    /// Returns the expression that made a value, if one did.
    #[must_use]
    pub fn span(&self, value: &Value) -> Option<Span> {
        let mut held = value.0;
        while let Slot::Ref { slot } = held {
            held = self.machine.heap[slot as usize];
        }
        match held {
            Slot::Delayed { code, .. } => self.machine.code.span(code),
            held => self.machine.origin(held),
        }
    }

    /// Returns a file's path as diagnostics show it, for every file loaded.
    pub fn loaded(&self) -> impl Iterator<Item = &str> {
        self.machine.sources.files().map(|(_, file)| &*file.path)
    }

    fn view(&mut self, value: Slot) -> View {
        let machine = &mut self.machine;
        match value {
            Slot::Null { .. } => View::Null,
            Slot::Bool { value, .. } => View::Bool(value),
            Slot::Int { value, .. } => View::Int(value),
            Slot::Float { value, .. } => View::Float(value),
            Slot::String { .. } => View::String(shared_text(machine.bytes_of(value))),
            Slot::Path { .. } => View::Path(shared_text(machine.bytes_of(value))),
            Slot::List { site, start, len } => {
                let elements = (0..len).map(|index| Element {
                    value: Value(machine.share(start + index)),
                    span: machine.code.element_span(site, index),
                });
                View::List(elements.collect())
            }
            Slot::Attrs { shape, start, .. } => {
                let layout = machine.shapes.get(shape).layout;
                let order: Vec<u32> = machine.ordered(shape).collect();
                let origins = match self.origins.get(&shape) {
                    Some(origins) => Arc::clone(origins),
                    None => {
                        let written = order.iter().map(|&index| {
                            let position = machine.shapes.ordered(index);
                            machine.origin_of(shape, machine.shapes.names(layout)[position as usize])
                        });
                        let origins: Arc<[Origin]> = written.collect();
                        if self.origins.len() < REMEMBERED {
                            self.origins.insert(shape, Arc::clone(&origins));
                        }
                        origins
                    }
                };
                let attributes = order.into_iter().zip(origins.iter()).map(|(index, origin)| {
                    let position = machine.shapes.ordered(index);
                    let name = machine.shapes.names(layout)[position as usize];
                    Attribute {
                        name: machine.shared_name(name),
                        value: Value(machine.share(start + position)),
                        origin: origin.clone(),
                    }
                });
                View::Attrs(attributes.collect())
            }
            _ => View::Function,
        }
    }

    /// Returns where an attribute of an evaluated set was written.
    #[must_use]
    pub fn origin(&self, set: &Value, name: &str) -> Origin {
        let mut held = set.0;
        while let Slot::Ref { slot } = held {
            held = self.machine.heap[slot as usize];
        }
        match (held, self.machine.names.find(name)) {
            (Slot::Attrs { shape, .. }, Some(symbol)) => self.machine.origin_of(shape, symbol.0),
            _ => Origin::default(),
        }
    }
}

fn finished(outcome: Outcome<Slot>) -> Result<Value, Diagnostics> {
    outcome.map(Value).map_err(|failure: Box<Failure>| Error(failure).into_diagnostics())
}

fn normal(path: &str) -> String {
    let mut normal = Vec::new();
    if crate::coerce::normalize(path.as_bytes(), &mut normal) {
        String::from_utf8(normal).unwrap_or_default()
    } else {
        path.to_owned()
    }
}

fn shared_text(bytes: &[u8]) -> Arc<str> {
    String::from_utf8_lossy(bytes).into()
}

fn text_of(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
}

#[cfg(test)]
mod tests;
