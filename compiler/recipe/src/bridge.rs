//! Between evaluation and trees: the only module that forces values.

use diag::slugs::eval::{TOO_DEEP, TOO_MUCH_OUTPUT};
use diag::{Diagnostic, Diagnostics, Span};
use eval::{Coverage, Origin, Session, Value, View};

use crate::tree::{Field, Node, Tree};

/// The argument of functions, made once for all functions of a plan.
pub(crate) type Point = Value;

/// Calls the functions of recipes and targets.
#[derive(Debug)]
pub(crate) struct Caller<'s, 'f> {
    session: &'s mut Session<'f>,
}

impl<'s, 'f> Caller<'s, 'f> {
    pub(crate) fn new(session: &'s mut Session<'f>) -> Self {
        Self { session }
    }

    /// Makes a value of a tree. `None`, with a finding, if the session may take no more memory.
    pub(crate) fn give(&mut self, tree: &Tree, out: &mut Diagnostics) -> Option<Value> {
        match value(self.session, tree) {
            Ok(value) => Some(value),
            Err(error) => {
                out.push(error.into_diagnostic());
                None
            }
        }
    }

    /// Makes a set of values.
    pub(crate) fn set<'n>(
        &mut self,
        values: impl IntoIterator<Item = (&'n str, Value)>,
        out: &mut Diagnostics,
    ) -> Option<Value> {
        match self.session.attrs(values) {
            Ok(value) => Some(value),
            Err(error) => {
                out.push(error.into_diagnostic());
                None
            }
        }
    }

    /// Calls a function and evaluates all of what it returns.
    pub(crate) fn call(&mut self, function: &Tree, point: Point, out: &mut Diagnostics) -> Option<Tree> {
        let Node::Function(callee) = &function.node else { return Some(function.clone()) };
        let called = self.session.call(callee, point).map_err(|error| Box::new(error.into_diagnostic()));
        let outcome = called.and_then(|value| {
            let at = self.session.span(&value).or(function.at);
            tree(self.session, &value, at)
        });
        match outcome {
            Ok(tree) => Some(tree),
            Err(finding) => {
                let mut finding = *finding;
                if finding.span.is_none() {
                    finding.span = function.at;
                }
                out.push(finding);
                None
            }
        }
    }

    /// Returns a value that may be given as it is or as a function from the point.
    pub(crate) fn resolve(&mut self, tree: &Tree, point: Point, out: &mut Diagnostics) -> Option<Tree> {
        self.call(tree, point, out)
    }

    pub(crate) fn coverage(&self) -> Coverage {
        self.session.coverage()
    }

    /// Returns the path of the file that a span is in, relative to the root.
    pub(crate) fn path(&self, span: Span) -> Option<String> {
        let file = self.session.sources().get(span.file)?;
        Some(file.path.trim_start_matches('/').to_owned())
    }
}

/// How deep a recipe or a target may nest; those of upstream need about ten.
const DEPTH: u32 = 200;
/// How many values one of them may hold; those of upstream hold some hundreds.
const VALUES: u32 = 1_000_000;

/// Evaluates a value and everything in it, functions aside.
///
/// # Errors
/// The first fault of evaluation; a value that holds itself, or is deeper or larger than any recipe.
pub(crate) fn tree(
    session: &mut Session<'_>,
    value: &Value,
    at: Option<Span>,
) -> Result<Tree, Box<Diagnostic>> {
    let mut left = VALUES;
    grow(session, value, at, DEPTH, &mut left)
}

fn grow(
    session: &mut Session<'_>,
    value: &Value,
    at: Option<Span>,
    depth: u32,
    left: &mut u32,
) -> Result<Tree, Box<Diagnostic>> {
    let refuse = |mut finding: Diagnostic| {
        finding.span = at;
        Box::new(finding.help("a recipe is a map of facts: say less, or say it in a function of the point"))
    };
    let Some(depth) = depth.checked_sub(1) else {
        let message = format!("values nest more than {DEPTH} deep, or one holds itself");
        return Err(refuse(Diagnostic::error(TOO_DEEP, message)));
    };
    let Some(rest) = left.checked_sub(1) else {
        let message = format!("this holds more than {VALUES} values");
        return Err(refuse(Diagnostic::error(TOO_MUCH_OUTPUT, message)));
    };
    *left = rest;
    let node = match session.force(value).map_err(|error| Box::new(error.into_diagnostic()))? {
        View::Null => Node::Null,
        View::Bool(value) => Node::Bool(value),
        View::Int(value) => Node::Int(value),
        View::Float(value) => Node::Float(value),
        View::String(text) | View::Path(text) => Node::Text(text),
        View::List(elements) => {
            let mut items = Vec::with_capacity(elements.len());
            for element in elements {
                items.push(grow(session, &element.value, element.span.or(at), depth, left)?);
            }
            Node::List(items)
        }
        View::Attrs(attributes) => {
            let mut fields = Vec::with_capacity(attributes.len());
            for attribute in attributes {
                let Origin { name: name_at, value: at, shadowed } = attribute.origin;
                let value = grow(session, &attribute.value, at, depth, left)?;
                let name = attribute.name;
                fields.push(Field { name, name_at, overrides: shadowed.first().copied(), value });
            }
            Node::Set(fields)
        }
        View::Function => Node::Function(*value),
    };
    Ok(Tree { at, node })
}

/// Makes a value of a tree.
fn value(session: &mut Session<'_>, tree: &Tree) -> Result<Value, eval::Error> {
    match &tree.node {
        Node::Null => Ok(session.null()),
        Node::Bool(value) => Ok(session.bool(*value)),
        Node::Int(value) => Ok(session.int(*value)),
        Node::Float(value) => Ok(session.float(*value)),
        Node::Text(text) => session.string(text),
        Node::List(items) => {
            let mut values = Vec::with_capacity(items.len());
            for item in items {
                values.push(value(session, item)?);
            }
            session.list(values)
        }
        Node::Set(fields) => {
            let mut values = Vec::with_capacity(fields.len());
            for field in fields {
                values.push((&*field.name, value(session, &field.value)?));
            }
            session.attrs(values)
        }
        Node::Function(value) => Ok(*value),
    }
}
