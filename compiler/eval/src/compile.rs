//! From tree to code: variables become places in frames, and what is constant is computed.
//!
//! Names that nothing defines are reported here, all of them, before anything is evaluated, as
//! Nix does when it parses.

mod scope;
mod sets;

use diag::{Diagnostic, Diagnostics, Span, slugs::eval as slugs};
use syntax::tree::{AttrPathId, Binary, Expr, NameKind, ParameterId, Part, Unary};
use syntax::{ExprId, Tree};

use crate::code::{Access, AccessName, Arithmetic, Conditional, Formal, Lambda, Node, Site};
use crate::coverage::BranchKind;
use crate::machine::Machine;
use crate::slot::{NodeId, Slot, Symbol};
use scope::Scopes;

const STACK_LEFT: usize = 128 * 1024;
const STACK_MORE: usize = 2 * 1024 * 1024;
/// More undefined names than this in one file say nothing new.
const REPORTED: usize = 100;

/// A compiled expression. Where it is a constant, its value is not in the heap yet: whoever asked
/// for it decides where.
#[derive(Clone, Copy)]
struct Compiled {
    node: NodeId,
    constant: Option<Slot>,
}

struct Compiler<'t, 'm, 'f> {
    tree: &'t Tree,
    machine: &'m mut Machine<'f>,
    scopes: Scopes,
    diagnostics: Diagnostics,
    reported: usize,
    /// The folder of the file, for paths.
    folder: &'t str,
}

/// Compiles a tree. The names of `scope` are in the frame that the code is to be evaluated in.
pub(crate) fn compile(
    machine: &mut Machine<'_>,
    tree: &Tree,
    root: ExprId,
    folder: &str,
    scope: &[Symbol],
) -> Result<NodeId, Diagnostics> {
    let file = tree.file();
    machine.code.nodes.reserve(tree.len());
    machine.code.spans.reserve(tree.len());
    machine.code.files.push((machine.code.nodes.len() as NodeId, file));
    machine.code.access_files.push((machine.code.accesses.len() as u32, file));
    let mut compiler = Compiler {
        tree,
        machine,
        scopes: Scopes::new(),
        diagnostics: Diagnostics::new(),
        reported: 0,
        folder,
    };
    if !scope.is_empty() {
        compiler.scopes.enter(scope.iter().copied().zip(1..));
    }
    let node = compiler.node(root);
    if compiler.diagnostics.has_errors() { Err(compiler.diagnostics) } else { Ok(node) }
}

impl Compiler<'_, '_, '_> {
    /// Adds a node with the characters of an expression.
    fn push(&mut self, node: Node, at: ExprId) -> NodeId {
        let span = self.tree.span(at);
        self.push_at(node, span.start, span.end)
    }

    fn push_at(&mut self, node: Node, start: u32, end: u32) -> NodeId {
        let code = &mut self.machine.code;
        code.nodes.push(node);
        code.spans.push((start, end));
        code.nodes.len() as NodeId - 1
    }

    fn report(&mut self, diagnostic: Diagnostic) {
        self.reported += 1;
        if self.reported <= REPORTED {
            self.diagnostics.push(diagnostic);
        }
    }

    /// Compiles an expression to a node that can be evaluated.
    fn node(&mut self, id: ExprId) -> NodeId {
        let compiled = self.expr(id, None);
        self.settle(compiled)
    }

    /// Gives a constant a slot of its own.
    fn settle(&mut self, compiled: Compiled) -> NodeId {
        if let Some(value) = compiled.constant {
            let slot = self.machine.heap.len() as u32;
            self.machine.heap.push(value);
            self.machine.code.nodes[compiled.node as usize] = Node::Const { slot };
        }
        compiled.node
    }

    /// Compiles an expression that is bound to `name`, if it is.
    fn expr(&mut self, id: ExprId, name: Option<Symbol>) -> Compiled {
        let tree = self.tree;
        let node = match tree.expr(id) {
            Expr::Integer(value) => return self.constant(id, |at| Slot::Int { at, value }),
            Expr::Float(value) => return self.constant(id, |at| Slot::Float { at, value }),
            Expr::Text(text) => {
                let bytes = tree.text(text).as_bytes();
                let (start, len) = (self.machine.text.len() as u32, bytes.len() as u32);
                self.machine.text.extend_from_slice(bytes);
                return self.constant(id, |at| Slot::String { at, start, len });
            }
            Expr::Variable(symbol) => {
                let span = tree.span(id);
                return self.variable(symbol.0, span.start, span.end);
            }
            Expr::Error => self.push(Node::Unread, id),
            _ => return stacker::maybe_grow(STACK_LEFT, STACK_MORE, || self.compound(id, name)),
        };
        Compiled { node, constant: None }
    }

    fn constant(&mut self, id: ExprId, value: impl FnOnce(NodeId) -> Slot) -> Compiled {
        let node = self.push(Node::Unread, id);
        Compiled { node, constant: Some(value(node)) }
    }

    fn compound(&mut self, id: ExprId, name: Option<Symbol>) -> Compiled {
        let tree = self.tree;
        let node = match tree.expr(id) {
            Expr::Interpolated(parts) => {
                let (start, count) = self.parts(tree.slice(parts), None);
                self.push(Node::Interpolate { start, count }, id)
            }
            Expr::Path(parts) => return self.path(id, tree.slice(parts)),
            Expr::CurrentPosition => return self.current_position(id),
            Expr::Select { set, path } => return self.select(set, path),
            Expr::SelectOr { set, path, default } => {
                let set = self.node(set);
                let span = Span::new(tree.file(), self.machine.code.spans[set as usize].0, 0);
                let second = self.node(default);
                let end = tree.path(path).last().map_or(span.end, |name| name.end);
                // The condition's characters are `set.path`.
                let condition = self.push_at(Node::Unread, span.start, end);
                let path = self.access_path(path);
                let branch = self.conditional(BranchKind::Default, condition, 0, second);
                self.push(Node::SelectOr { set, path, branch }, id)
            }
            Expr::Has { set, path } => {
                let set = self.node(set);
                let path = self.access_path(path);
                self.push(Node::Has { set, path }, id)
            }
            Expr::Apply { function, arguments } => {
                let function = self.node(function);
                let ids: Vec<NodeId> = tree.slice(arguments).iter().map(|&id| self.node(id)).collect();
                let (start, count) = self.ids(&ids);
                self.push(Node::Apply { function, start, count }, id)
            }
            Expr::List(elements) => return self.list(id, tree.slice(elements)),
            Expr::Attrs(set) => return self.attrs(id, tree.set(set)),
            Expr::Let { set, body } => self.let_in(id, tree.set(set), body),
            Expr::With { namespace, body } => {
                let namespace = self.node(namespace);
                self.scopes.enter_with();
                let body = self.node(body);
                self.scopes.leave_with();
                self.push(Node::With { namespace, body }, id)
            }
            Expr::Assert { condition, body } => {
                let condition = self.node(condition);
                let body = self.node(body);
                self.push(Node::Assert { condition, body }, id)
            }
            Expr::If { condition, then, otherwise } => {
                let condition = self.node(condition);
                let first = self.node(then);
                let second = self.node(otherwise);
                let branch = self.conditional(BranchKind::If, condition, first, second);
                self.push(Node::If { branch }, id)
            }
            Expr::Lambda { parameter, body } => self.lambda(id, parameter, body, name),
            Expr::Unary { operator: Unary::Not, operand } => {
                let operand = self.node(operand);
                self.push(Node::Not { operand }, id)
            }
            Expr::Unary { operator: Unary::Negate, operand } => {
                match tree.expr(operand) {
                    // A literal is never negative, so the negation fits.
                    Expr::Integer(value) => return self.constant(id, |at| Slot::Int { at, value: -value }),
                    Expr::Float(value) => {
                        return self.constant(id, |at| Slot::Float { at, value: 0.0 - value });
                    }
                    _ => {}
                }
                let operand = self.node(operand);
                self.push(Node::Negate { operand }, id)
            }
            Expr::Binary { operator, left, right } => self.binary(id, operator, left, right),
            _ => self.push(Node::Unread, id),
        };
        Compiled { node, constant: None }
    }

    fn ids(&mut self, ids: &[NodeId]) -> (u32, u32) {
        let start = self.machine.code.ids.len() as u32;
        self.machine.code.ids.extend_from_slice(ids);
        (start, ids.len() as u32)
    }

    fn binary(&mut self, id: ExprId, operator: Binary, left: ExprId, right: ExprId) -> NodeId {
        let left = self.node(left);
        let right = self.node(right);
        let arithmetic = |operator| Node::Arithmetic { operator, left, right };
        let less = |swapped, negated| Node::Less { left, right, swapped, negated };
        let node = match operator {
            Binary::And => Node::And { branch: self.conditional(BranchKind::And, left, 0, right) },
            Binary::Or => Node::Or { branch: self.conditional(BranchKind::Or, left, 0, right) },
            Binary::Implies => {
                Node::Implies { branch: self.conditional(BranchKind::Implies, left, 0, right) }
            }
            Binary::Add => Node::Add { left, right },
            Binary::Subtract => arithmetic(Arithmetic::Subtract),
            Binary::Multiply => arithmetic(Arithmetic::Multiply),
            Binary::Divide => arithmetic(Arithmetic::Divide),
            Binary::Concat => Node::Concat { left, right },
            Binary::Update => Node::Update { left, right },
            Binary::Equal => Node::Equal { left, right, negated: false },
            Binary::NotEqual => Node::Equal { left, right, negated: true },
            // Nix has `<` alone: `a > b` is `b < a`, and `a <= b` is `!(b < a)`.
            Binary::Less => less(false, false),
            Binary::Greater => less(true, false),
            Binary::LessOrEqual => less(true, true),
            Binary::GreaterOrEqual => less(false, true),
        };
        self.push(node, id)
    }

    fn conditional(&mut self, kind: BranchKind, condition: NodeId, first: NodeId, second: NodeId) -> u32 {
        let conditionals = &mut self.machine.code.conditionals;
        conditionals.push(Conditional { kind, condition, first, second, taken: [0; 2] });
        conditionals.len() as u32 - 1
    }

    /// Compiles the parts of a string or path; `first` stands in place of the first one.
    fn parts(&mut self, parts: &[Part], first: Option<NodeId>) -> (u32, u32) {
        let tree = self.tree;
        let mut ids: Vec<NodeId> = first.into_iter().collect();
        for part in parts.iter().skip(ids.len()) {
            ids.push(match *part {
                Part::Expr(id) => self.node(id),
                Part::Text(text) => self.text_node(tree.text(text), ExprId(u32::MAX)),
            });
        }
        self.ids(&ids)
    }

    fn text_node(&mut self, text: &str, at: ExprId) -> NodeId {
        let (start, len) = (self.machine.text.len() as u32, text.len() as u32);
        self.machine.text.extend_from_slice(text.as_bytes());
        let compiled = self.constant(at, |at| Slot::String { at, start, len });
        self.settle(compiled)
    }

    fn path(&mut self, id: ExprId, parts: &[Part]) -> Compiled {
        let tree = self.tree;
        let Some(&Part::Text(text)) = parts.first() else {
            return Compiled { node: self.push(Node::Unread, id), constant: None };
        };
        let written = tree.text(text);
        if written.starts_with('~') {
            self.report(
                Diagnostic::error(
                    slugs::PATH_OUTSIDE_ROOT,
                    "a path in somebody's home is not part of this language",
                )
                .at(tree.span(id))
                .why("it would mean another file for everyone who evaluates the manifest"),
            );
        }
        let whole =
            if written.starts_with('/') { written.to_owned() } else { format!("{}/{written}", self.folder) };
        let mut normal = Vec::new();
        if parts.len() == 1 && crate::coerce::normalize(whole.as_bytes(), &mut normal) {
            let (start, len) = (self.machine.text.len() as u32, normal.len() as u32);
            self.machine.text.extend_from_slice(&normal);
            return self.constant(id, |at| Slot::Path { at, start, len });
        }
        let first = self.text_node(&whole, id);
        let (start, count) = self.parts(parts, Some(first));
        Compiled { node: self.push(Node::Path { start, count }, id), constant: None }
    }

    /// `__curPos`
    fn current_position(&mut self, id: ExprId) -> Compiled {
        let span = self.tree.span(id);
        let node = self.push(Node::Unread, id);
        let value = self.machine.position_set(Some(span), node);
        Compiled { node, constant: Some(value.unwrap_or(Slot::Null { at: node })) }
    }

    fn select(&mut self, set: ExprId, path: AttrPathId) -> Compiled {
        let tree = self.tree;
        let mut node = self.node(set);
        let start = self.machine.code.spans[node as usize].0;
        for &name in tree.path(path) {
            let access = self.access(name);
            node = self.push_at(Node::Select { set: node, access }, start, name.end);
        }
        Compiled { node, constant: None }
    }

    fn access(&mut self, name: syntax::tree::Name) -> u32 {
        let kind = match name.kind {
            NameKind::Static(symbol) => AccessName::Static(symbol.0),
            NameKind::Dynamic(id) => AccessName::Dynamic(self.node(id)),
        };
        self.static_access(kind, name.start, name.end)
    }

    fn static_access(&mut self, name: AccessName, start: u32, end: u32) -> u32 {
        let accesses = &mut self.machine.code.accesses;
        accesses.push(Access { name, start, end, layout: u32::MAX, found: 0 });
        accesses.len() as u32 - 1
    }

    fn access_path(&mut self, path: AttrPathId) -> u32 {
        let tree = self.tree;
        let names = tree.path(path);
        // Names that are computed have accesses of their own inside, so all are compiled first.
        let kinds: Vec<AccessName> = names
            .iter()
            .map(|name| match name.kind {
                NameKind::Static(symbol) => AccessName::Static(symbol.0),
                NameKind::Dynamic(id) => AccessName::Dynamic(self.node(id)),
            })
            .collect();
        let first = self.machine.code.accesses.len() as u32;
        for (name, kind) in names.iter().zip(kinds) {
            self.static_access(kind, name.start, name.end);
        }
        let paths = &mut self.machine.code.paths;
        paths.push((first, names.len() as u32));
        paths.len() as u32 - 1
    }

    fn list(&mut self, id: ExprId, elements: &[ExprId]) -> Compiled {
        let all: Vec<Compiled> = elements.iter().map(|&id| self.expr(id, None)).collect();
        let node = self.push(Node::Unread, id);
        let ids: Vec<NodeId> = all.iter().map(|element| element.node).collect();
        let (start, count) = self.ids(&ids);
        let sites = &mut self.machine.code.sites;
        sites.push(Site::Written { node, start });
        let site = sites.len() as u32 - 1;
        if let Some(start) = self.place_constants(&all) {
            return Compiled { node, constant: Some(Slot::List { site, start, len: count }) };
        }
        for element in all {
            self.settle(element);
        }
        self.machine.code.nodes[node as usize] = Node::List { site, count };
        Compiled { node, constant: None }
    }

    /// If all are constants, puts them side by side and returns where.
    fn place_constants(&mut self, all: &[Compiled]) -> Option<u32> {
        if all.iter().any(|compiled| compiled.constant.is_none()) {
            return None;
        }
        let start = self.machine.heap.len() as u32;
        for (compiled, slot) in all.iter().zip(start..) {
            self.machine.heap.extend(compiled.constant);
            self.machine.code.nodes[compiled.node as usize] = Node::Const { slot };
        }
        Some(start)
    }

    fn lambda(&mut self, id: ExprId, parameter: ParameterId, body: ExprId, name: Option<Symbol>) -> NodeId {
        let tree = self.tree;
        let parameter = tree.parameter(parameter);
        let node = self.push(Node::Unread, id);
        let mut formals: Vec<(Formal, Option<ExprId>)> = Vec::new();
        let (mut open, mut start, mut end) = (true, 0, 0);
        if let Some(whole) = parameter.whole {
            (start, end) = (whole.start, whole.end);
        }
        if let Some(pattern) = parameter.pattern {
            (open, start, end) = (pattern.open, pattern.start, pattern.end);
            for (formal, written) in tree.slice(pattern.formals).iter().zip(0..) {
                let syntax::tree::Spanned { name, start, end } = formal.name;
                formals.push((Formal { name: name.0, default: 0, start, end, written }, formal.default));
            }
            formals.sort_by_key(|(formal, _)| formal.name);
        }
        let whole = parameter.whole.map(|whole| whole.name.0);
        let first = 1 + u32::from(whole.is_some());
        let names = formals.iter().map(|(formal, _)| formal.name).zip(first..);
        self.scopes.enter(whole.map(|whole| (whole, 1)).into_iter().chain(names));
        for (formal, default) in &mut formals {
            if let Some(default) = *default {
                formal.default = self.node(default) + 1;
            }
        }
        let body = self.node(body);
        self.scopes.leave();
        let code = &mut self.machine.code;
        let lambda = Lambda {
            body,
            node,
            whole: whole.is_some(),
            pattern: parameter.pattern.is_some(),
            open,
            formals: code.formals.len() as u32,
            formal_count: formals.len() as u32,
            start,
            end,
            name: name.map_or(0, |name| name + 1),
            whole_name: whole.map_or(0, |whole| whole + 1),
            layout: u32::MAX,
            matches: code.matches.len() as u32,
        };
        code.matches.extend(formals.iter().map(|_| 0));
        code.formals.extend(formals.into_iter().map(|(formal, _)| formal));
        code.lambdas.push(lambda);
        code.nodes[node as usize] = Node::Lambda { lambda: code.lambdas.len() as u32 - 1 };
        node
    }
}
