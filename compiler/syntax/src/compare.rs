//! Whether two trees say the same, wherever it is written.

use crate::tree::{AttrPathId, Expr, ExprId, NameKind, Part, SetId, Slice, Tree, Value};
use crate::{Parse, Symbol};

/// Returns true if two readings, made with one interner, mean the same. Places do not count.
#[must_use]
pub fn same(a: &Parse, b: &Parse) -> bool {
    if a.diagnostics.has_errors() || b.diagnostics.has_errors() {
        return false;
    }
    let mut pairs = vec![(a.root, b.root)];
    while let Some((left, right)) = pairs.pop() {
        let mut pair = Pair { a: &a.tree, b: &b.tree, pairs: &mut pairs };
        if !pair.expression(left, right) {
            return false;
        }
    }
    true
}

/// Two trees, and what in them is still to be compared.
struct Pair<'a> {
    a: &'a Tree,
    b: &'a Tree,
    pairs: &'a mut Vec<(ExprId, ExprId)>,
}

impl Pair<'_> {
    fn expression(&mut self, left: ExprId, right: ExprId) -> bool {
        match (self.a.expr(left), self.b.expr(right)) {
            (Expr::Error, Expr::Error) | (Expr::CurrentPosition, Expr::CurrentPosition) => true,
            (Expr::Integer(a), Expr::Integer(b)) => a == b,
            (Expr::Float(a), Expr::Float(b)) => a.to_bits() == b.to_bits(),
            (Expr::Text(a), Expr::Text(b)) => self.a.text(a) == self.b.text(b),
            (Expr::Interpolated(a), Expr::Interpolated(b)) | (Expr::Path(a), Expr::Path(b)) => {
                self.parts(a, b)
            }
            (Expr::Variable(a), Expr::Variable(b)) => a == b,
            (Expr::Select { set: a, path: p }, Expr::Select { set: b, path: q })
            | (Expr::Has { set: a, path: p }, Expr::Has { set: b, path: q }) => {
                self.also(a, b) && self.path(p, q)
            }
            (
                Expr::SelectOr { set: a, path: p, default: c },
                Expr::SelectOr { set: b, path: q, default: d },
            ) => self.also(a, b) && self.also(c, d) && self.path(p, q),
            (Expr::Apply { function: a, arguments: c }, Expr::Apply { function: b, arguments: d }) => {
                self.also(a, b) && self.list(c, d)
            }
            (Expr::List(a), Expr::List(b)) => self.list(a, b),
            (Expr::Attrs(a), Expr::Attrs(b)) => self.set(a, b),
            (Expr::Let { set: a, body: c }, Expr::Let { set: b, body: d }) => {
                self.set(a, b) && self.also(c, d)
            }
            (Expr::With { namespace: a, body: c }, Expr::With { namespace: b, body: d })
            | (Expr::Assert { condition: a, body: c }, Expr::Assert { condition: b, body: d }) => {
                self.also(a, b) && self.also(c, d)
            }
            (
                Expr::If { condition: a, then: c, otherwise: e },
                Expr::If { condition: b, then: d, otherwise: f },
            ) => self.also(a, b) && self.also(c, d) && self.also(e, f),
            (Expr::Lambda { parameter: a, body: c }, Expr::Lambda { parameter: b, body: d }) => {
                self.parameter(a, b) && self.also(c, d)
            }
            (Expr::Unary { operator: o, operand: a }, Expr::Unary { operator: p, operand: b }) => {
                o == p && self.also(a, b)
            }
            (
                Expr::Binary { operator: o, left: a, right: c },
                Expr::Binary { operator: p, left: b, right: d },
            ) => o == p && self.also(a, b) && self.also(c, d),
            _ => false,
        }
    }

    /// Puts off a comparison, so that deep trees need no deep stack.
    fn also(&mut self, a: ExprId, b: ExprId) -> bool {
        self.pairs.push((a, b));
        true
    }

    fn list(&mut self, a: Slice<ExprId>, b: Slice<ExprId>) -> bool {
        let (a, b) = (self.a.slice(a), self.b.slice(b));
        self.pairs.extend(a.iter().copied().zip(b.iter().copied()));
        a.len() == b.len()
    }

    fn parts(&mut self, a: Slice<Part>, b: Slice<Part>) -> bool {
        let (a, b) = (self.a.slice(a), self.b.slice(b));
        a.len() == b.len()
            && a.iter().zip(b).all(|parts| match parts {
                (Part::Text(a), Part::Text(b)) => self.a.text(*a) == self.b.text(*b),
                (Part::Expr(a), Part::Expr(b)) => self.also(*a, *b),
                _ => false,
            })
    }

    fn path(&mut self, a: AttrPathId, b: AttrPathId) -> bool {
        let (a, b) = (self.a.path(a), self.b.path(b));
        a.len() == b.len()
            && a.iter().zip(b).all(|(a, b)| match (a.kind, b.kind) {
                (NameKind::Static(a), NameKind::Static(b)) => a == b,
                (NameKind::Dynamic(a), NameKind::Dynamic(b)) => self.also(a, b),
                _ => false,
            })
    }

    fn set(&mut self, a: SetId, b: SetId) -> bool {
        let (a, b) = (self.a.set(a), self.b.set(b));
        let bindings = (self.a.slice(a.bindings), self.b.slice(b.bindings));
        let dynamic = (self.a.slice(a.dynamic), self.b.slice(b.dynamic));
        a.recursive == b.recursive
            && self.list(a.sources, b.sources)
            && bindings.0.len() == bindings.1.len()
            && bindings.0.iter().zip(bindings.1).all(|(a, b)| {
                a.name == b.name
                    && match (a.value, b.value) {
                        (Value::Expr(a), Value::Expr(b)) => self.also(a, b),
                        (a, b) => a == b,
                    }
            })
            && dynamic.0.len() == dynamic.1.len()
            && dynamic
                .0
                .iter()
                .zip(dynamic.1)
                .all(|(a, b)| self.also(a.name, b.name) && self.also(a.value, b.value))
    }

    fn parameter(&mut self, a: crate::tree::ParameterId, b: crate::tree::ParameterId) -> bool {
        let (a, b) = (self.a.parameter(a), self.b.parameter(b));
        let names = |whole: Option<crate::tree::Spanned>| -> Option<Symbol> { whole.map(|whole| whole.name) };
        names(a.whole) == names(b.whole)
            && match (a.pattern, b.pattern) {
                (None, None) => true,
                (Some(a), Some(b)) => {
                    let (left, right) = (self.a.slice(a.formals), self.b.slice(b.formals));
                    a.open == b.open
                        && left.len() == right.len()
                        && left.iter().zip(right).all(|(a, b)| {
                            a.name.name == b.name.name
                                && match (a.default, b.default) {
                                    (None, None) => true,
                                    (Some(a), Some(b)) => self.also(a, b),
                                    _ => false,
                                }
                        })
                }
                _ => false,
            }
    }
}
