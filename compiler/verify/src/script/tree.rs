//! The tree of a script.

use std::rc::Rc;

/// A statement with its line.
#[derive(Clone, Debug)]
pub(crate) struct Statement {
    pub(crate) line: usize,
    pub(crate) kind: StatementKind,
}

/// What a statement does.
#[derive(Clone, Debug)]
pub(crate) enum StatementKind {
    /// `const`, `let` or `var`: patterns with their values.
    Declare(Vec<(Pattern, Option<Expression>)>),
    /// A function with a name.
    Function(Rc<str>, Rc<Function>),
    /// `return`.
    Return(Option<Expression>),
    /// `if`.
    If(Expression, Box<Statement>, Option<Box<Statement>>),
    /// `for (const pattern of list)`.
    ForOf(Pattern, Expression, Box<Statement>),
    /// `for (first; test; next)`.
    For(Option<Box<Statement>>, Option<Expression>, Option<Expression>, Box<Statement>),
    /// `while`.
    While(Expression, Box<Statement>),
    /// `switch`, with the tests and where their statements begin.
    Switch(Expression, Vec<(Option<Expression>, Vec<Statement>)>),
    /// `{ … }`.
    Block(Vec<Statement>),
    /// `break`.
    Break,
    /// `continue`.
    Continue,
    /// `throw`.
    Throw(Expression),
    /// An expression.
    Expression(Expression),
    /// Nothing.
    Empty,
}

/// What takes a value apart.
#[derive(Clone, Debug)]
pub(crate) enum Pattern {
    /// A name.
    Name(Rc<str>),
    /// `[a, , b = 1, ...rest]`.
    Array(Vec<Option<(Pattern, Option<Expression>)>>, Option<Box<Pattern>>),
    /// `{ a, b: c = 1, ...rest }`.
    Object(Vec<(Rc<str>, Pattern, Option<Expression>)>, Option<Rc<str>>),
}

/// A function: its parameters and what it does.
#[derive(Debug)]
pub(crate) struct Function {
    pub(crate) parameters: Vec<(Pattern, Option<Expression>)>,
    pub(crate) rest: Option<Pattern>,
    pub(crate) body: Body,
}

/// What a function does.
#[derive(Debug)]
pub(crate) enum Body {
    /// Gives an expression's value.
    Expression(Expression),
    /// Runs statements.
    Statements(Vec<Statement>),
}

/// An expression with its line.
#[derive(Clone, Debug)]
pub(crate) struct Expression {
    pub(crate) line: usize,
    pub(crate) kind: Box<ExpressionKind>,
}

/// What an expression is.
#[derive(Clone, Debug)]
pub(crate) enum ExpressionKind {
    Undefined,
    Null,
    Bool(bool),
    Number(f64),
    Text(Rc<str>),
    /// A regular expression, as written.
    Regex(Rc<str>),
    Template(Vec<Rc<str>>, Vec<Expression>),
    Name(Rc<str>),
    Array(Vec<Item>),
    Object(Vec<Entry>),
    Function(Rc<Function>),
    /// Operator and operand.
    Unary(&'static str, Expression),
    /// Operator and operands, both evaluated.
    Binary(&'static str, Expression, Expression),
    /// `&&`, `||` or `??`.
    Logical(&'static str, Expression, Expression),
    Conditional(Expression, Expression, Expression),
    /// Operator (`=`, `+=`, …), what is assigned to, and the value.
    Assign(&'static str, Target, Expression),
    /// `x++` and the like: amount, whether it stands before, what is changed.
    Step(f64, bool, Target),
    /// Object, name, whether `?.`.
    Member(Expression, Rc<str>, bool),
    /// Object, key, whether `?.`.
    Index(Expression, Expression, bool),
    /// Callee, arguments, whether `?.`.
    Call(Expression, Vec<Item>, bool),
    /// Class and arguments.
    New(Rc<str>, Vec<Item>),
    /// A chain of members within which `?.` ends the whole.
    Chain(Expression),
}

/// An element of an array or a list of arguments.
#[derive(Clone, Debug)]
pub(crate) enum Item {
    /// One value.
    One(Expression),
    /// `...values`.
    Spread(Expression),
}

/// An entry of an object.
#[derive(Clone, Debug)]
pub(crate) enum Entry {
    /// `name: value`.
    Named(Rc<str>, Expression),
    /// `[key]: value`.
    Computed(Expression, Expression),
    /// `...object`.
    Spread(Expression),
    /// `get name() { … }`.
    Getter(Rc<str>, Rc<Function>),
}

/// What is assigned to.
#[derive(Clone, Debug)]
pub(crate) enum Target {
    Pattern(Pattern),
    Member(Expression, Rc<str>),
    Index(Expression, Expression),
}
