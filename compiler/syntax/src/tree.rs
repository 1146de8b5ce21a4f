//! The syntax tree: one arena a file, handles instead of pointers, a span for everything.
//!
//! Parentheses leave no node. Attribute sets are already merged the way Nix merges them, so
//! `a.b = 1; a.c = 2;` and `a = { b = 1; }; a.c = 2;` give the same two-level tree. Strings and
//! paths are cooked: escapes are resolved and indentation is stripped. What layout and comments
//! there were is in the token vector alone ([`crate::lex`]).

use std::fmt;
use std::marker::PhantomData;

use diag::{FileId, Span};

use crate::Symbol;

/// Names one expression of a [`Tree`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct ExprId(pub u32);

/// Names one attribute set (or one list of `let` bindings) of a [`Tree`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct SetId(pub u32);

/// Names one parameter of a function.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct ParameterId(pub u32);

/// Names one attribute path such as `a."b".${c}`: never empty.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct AttrPathId(pub u32);

/// A run of elements in one of the tree's arrays; [`Tree::slice`] gives them.
pub struct Slice<T> {
    start: u32,
    len: u32,
    of: PhantomData<fn() -> T>,
}

/// A cooked text; [`Tree::text`] gives it.
pub type Text = Slice<u8>;

/// An expression. Sixteen bytes, children by handle.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Expr {
    /// Stands where no expression could be read; a diagnostic says why.
    Error,
    /// An integer literal, never negative (`-1` is a negation).
    Integer(i64),
    /// A floating-point literal, finite and never negative.
    Float(f64),
    /// A string without interpolation, in quotes or indented.
    Text(Text),
    /// A string with interpolation. Never two [`Part::Text`] side by side, none of them empty.
    Interpolated(Slice<Part>),
    /// A path as written, such as `./a` or `../b/${c}.nix`. The first part is a text.
    Path(Slice<Part>),
    /// A name. Whether it is defined is for the scope pass of the evaluator.
    Variable(Symbol),
    /// `__curPos`: the place where it is written.
    CurrentPosition,
    /// `set.a.b`
    Select {
        /// What is selected from.
        set: ExprId,
        /// The names, at least one.
        path: AttrPathId,
    },
    /// `set.a.b or default`
    SelectOr {
        /// What is selected from.
        set: ExprId,
        /// The names, at least one.
        path: AttrPathId,
        /// What it is where a name is missing.
        default: ExprId,
    },
    /// `set ? a.b`
    Has {
        /// What is asked.
        set: ExprId,
        /// The names, at least one.
        path: AttrPathId,
    },
    /// `function argument …`, at least one argument, applied from left to right.
    Apply {
        /// What is called.
        function: ExprId,
        /// What it is called with; several arguments are several calls.
        arguments: Slice<ExprId>,
    },
    /// `[ a b ]`
    List(Slice<ExprId>),
    /// `{ … }` or `rec { … }`, see [`Set::recursive`].
    Attrs(SetId),
    /// `let … in body`. The set's bindings see each other; it has no dynamic ones.
    Let {
        /// The bindings.
        set: SetId,
        /// What the expression is.
        body: ExprId,
    },
    /// `with namespace; body`
    With {
        /// The set whose attributes become names.
        namespace: ExprId,
        /// What the expression is.
        body: ExprId,
    },
    /// `assert condition; body`
    Assert {
        /// What must be true.
        condition: ExprId,
        /// What the expression is then.
        body: ExprId,
    },
    /// `if condition then … else …`
    If {
        /// The question.
        condition: ExprId,
        /// The value where it is true.
        then: ExprId,
        /// The value where it is false.
        otherwise: ExprId,
    },
    /// `parameter: body`
    Lambda {
        /// What the function takes.
        parameter: ParameterId,
        /// What it gives.
        body: ExprId,
    },
    /// `!operand` or `-operand`
    Unary {
        /// Which.
        operator: Unary,
        /// What it works on.
        operand: ExprId,
    },
    /// `left operator right`
    Binary {
        /// Which.
        operator: Binary,
        /// The left operand.
        left: ExprId,
        /// The right operand.
        right: ExprId,
    },
}

/// A prefix operator.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Unary {
    /// `!`
    Not,
    /// `-`
    Negate,
}

/// An operator between two expressions.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Binary {
    /// `++`
    Concat,
    /// `*`
    Multiply,
    /// `/`
    Divide,
    /// `+`
    Add,
    /// `-`
    Subtract,
    /// `//`
    Update,
    /// `<`
    Less,
    /// `<=`
    LessOrEqual,
    /// `>`
    Greater,
    /// `>=`
    GreaterOrEqual,
    /// `==`
    Equal,
    /// `!=`
    NotEqual,
    /// `&&`
    And,
    /// `||`
    Or,
    /// `->`
    Implies,
}

/// A piece of a string or of a path.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Part {
    /// Characters, cooked.
    Text(Text),
    /// `${…}`
    Expr(ExprId),
}

/// One element of an attribute path, with its own characters.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Name {
    /// What it is.
    pub kind: NameKind,
    /// First byte; quotes and `${` included.
    pub start: u32,
    /// One past the last byte.
    pub end: u32,
}

/// A name known now, or one that is computed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NameKind {
    /// `a` or `"a"`
    Static(Symbol),
    /// `${e}` or `"…${e}…"`. The expression is the one inside `${…}`, or the whole string.
    Dynamic(ExprId),
}

/// The bindings of an attribute set or of a `let`, after merging.
#[derive(Clone, Copy, Debug)]
pub struct Set {
    /// True for `rec { … }` and for `let`: the values see the bindings. A set that was written in
    /// pieces has what its first piece had, as in Nix.
    pub recursive: bool,
    /// Bindings whose names are known, in the order in which each name was first written; no name twice.
    pub bindings: Slice<Binding>,
    /// Bindings whose names are computed, in order.
    pub dynamic: Slice<DynamicBinding>,
    /// The expressions of `inherit (source) …`, in order.
    pub sources: Slice<ExprId>,
}

/// One attribute with a known name.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Binding {
    /// The name.
    pub name: Symbol,
    /// First byte of the name where it was first written.
    pub start: u32,
    /// One past its last byte.
    pub end: u32,
    /// What it is bound to.
    pub value: Value,
}

/// What a name is bound to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Value {
    /// `name = value;`
    Expr(ExprId),
    /// `inherit name;`: the variable of that name outside the set (for `let` and `rec` too).
    Inherit,
    /// `inherit (source) name;`: the attribute of the source with this index in [`Set::sources`].
    /// The source is in the scope of the set's own bindings where the set is recursive.
    InheritFrom(u32),
}

/// One attribute with a computed name.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DynamicBinding {
    /// The name; null means that there is no such attribute.
    pub name: ExprId,
    /// First byte of the name, with its `${` or quote.
    pub start: u32,
    /// One past its last byte.
    pub end: u32,
    /// What it is bound to.
    pub value: ExprId,
}

/// What a function takes.
#[derive(Clone, Copy, Debug)]
pub struct Parameter {
    /// `name:`, or the name beside `@`.
    pub whole: Option<Spanned>,
    /// `{ a, b ? c, ... }`, if it has a pattern.
    pub pattern: Option<Pattern>,
}

/// A name and its characters.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Spanned {
    /// The name.
    pub name: Symbol,
    /// First byte.
    pub start: u32,
    /// One past the last byte.
    pub end: u32,
}

/// A pattern of named arguments.
#[derive(Clone, Copy, Debug)]
pub struct Pattern {
    /// The names, in order; no name twice.
    pub formals: Slice<Formal>,
    /// True where `...` admits other attributes.
    pub open: bool,
    /// First byte: the `{`.
    pub start: u32,
    /// One past the `}`.
    pub end: u32,
}

/// One named argument.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Formal {
    /// The name and where it is written.
    pub name: Spanned,
    /// `name ? default`
    pub default: Option<ExprId>,
}

/// Everything that one file says.
#[derive(Clone, Debug)]
pub struct Tree {
    pub(crate) file: FileId,
    pub(crate) exprs: Vec<Expr>,
    pub(crate) spans: Vec<(u32, u32)>,
    pub(crate) texts: String,
    pub(crate) ids: Vec<ExprId>,
    pub(crate) parts: Vec<Part>,
    pub(crate) paths: Vec<Slice<Name>>,
    pub(crate) names: Vec<Name>,
    pub(crate) sets: Vec<Set>,
    pub(crate) bindings: Vec<Binding>,
    pub(crate) dynamic: Vec<DynamicBinding>,
    pub(crate) parameters: Vec<Parameter>,
    pub(crate) formals: Vec<Formal>,
}

impl Tree {
    /// Returns an empty tree of `file`.
    pub(crate) fn new(file: FileId) -> Self {
        Self {
            file,
            exprs: Vec::new(),
            spans: Vec::new(),
            texts: String::new(),
            ids: Vec::new(),
            parts: Vec::new(),
            paths: Vec::new(),
            names: Vec::new(),
            sets: Vec::new(),
            bindings: Vec::new(),
            dynamic: Vec::new(),
            parameters: Vec::new(),
            formals: Vec::new(),
        }
    }

    /// Returns the file that the tree was read from.
    #[must_use]
    pub fn file(&self) -> FileId {
        self.file
    }

    /// Returns how many expressions there are; ids count from 0, children before parents.
    #[must_use]
    pub fn len(&self) -> usize {
        self.exprs.len()
    }

    /// Returns true if there is no expression, which no parse gives.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.exprs.is_empty()
    }

    /// Returns an expression; [`Expr::Error`] for an id of another tree.
    #[must_use]
    #[inline]
    pub fn expr(&self, id: ExprId) -> Expr {
        self.exprs.get(id.0 as usize).copied().unwrap_or(Expr::Error)
    }

    /// Returns the characters of an expression, without parentheses around it.
    #[must_use]
    #[inline]
    pub fn span(&self, id: ExprId) -> Span {
        let (start, end) = self.spans.get(id.0 as usize).copied().unwrap_or((0, 0));
        Span { file: self.file, start, end }
    }

    /// Returns the span of two byte offsets of this file, as names and patterns keep them.
    #[must_use]
    pub fn range(&self, start: u32, end: u32) -> Span {
        Span { file: self.file, start, end }
    }

    /// Returns a cooked text.
    #[must_use]
    #[inline]
    pub fn text(&self, text: Text) -> &str {
        self.texts.get(text.range()).unwrap_or("")
    }

    /// Returns the elements of a slice.
    #[must_use]
    #[inline]
    pub fn slice<T: Stored>(&self, slice: Slice<T>) -> &[T] {
        T::array(self).get(slice.range()).unwrap_or(&[])
    }

    /// Returns the names of an attribute path.
    #[must_use]
    #[inline]
    pub fn path(&self, id: AttrPathId) -> &[Name] {
        self.paths.get(id.0 as usize).map_or(&[], |&slice| self.slice(slice))
    }

    /// Returns a set; an empty one for an id of another tree.
    #[must_use]
    #[inline]
    pub fn set(&self, id: SetId) -> Set {
        self.sets.get(id.0 as usize).copied().unwrap_or(Set::EMPTY)
    }

    /// Returns the number of sets; ids count from 0.
    #[must_use]
    pub fn set_count(&self) -> usize {
        self.sets.len()
    }

    /// Returns what a function takes.
    #[must_use]
    #[inline]
    pub fn parameter(&self, id: ParameterId) -> Parameter {
        self.parameters.get(id.0 as usize).copied().unwrap_or(Parameter { whole: None, pattern: None })
    }
}

impl Set {
    pub(crate) const EMPTY: Self =
        Self { recursive: false, bindings: Slice::EMPTY, dynamic: Slice::EMPTY, sources: Slice::EMPTY };
}

/// What a [`Tree`] keeps in arrays.
pub trait Stored: Sized {
    /// Returns the array of this type.
    fn array(tree: &Tree) -> &[Self];
}

macro_rules! stored {
    ($($type:ty => $field:ident),* $(,)?) => {$(
        impl Stored for $type {
            #[inline]
            fn array(tree: &Tree) -> &[Self] {
                &tree.$field
            }
        }
    )*};
}
stored!(ExprId => ids, Part => parts, Name => names, Binding => bindings, DynamicBinding => dynamic, Formal => formals);

impl<T> Slice<T> {
    pub(crate) const EMPTY: Self = Self { start: 0, len: 0, of: PhantomData };

    /// Returns the slice of `start..end`, both counted in elements.
    pub(crate) fn new(start: usize, end: usize) -> Self {
        // Every element takes at least one byte of a text that is shorter than 4 GiB.
        let count = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
        Self { start: count(start), len: count(end.saturating_sub(start)), of: PhantomData }
    }

    /// Returns how many elements there are.
    #[must_use]
    pub fn len(self) -> usize {
        self.len as usize
    }

    /// Returns true if there are none.
    #[must_use]
    pub fn is_empty(self) -> bool {
        self.len == 0
    }

    /// Returns the place of the elements in their array, which tells slices of one tree apart.
    #[must_use]
    #[inline]
    pub fn range(self) -> std::ops::Range<usize> {
        let start = self.start as usize;
        start..start.saturating_add(self.len as usize)
    }
}

// Derives would ask the same of `T`.
impl<T> Clone for Slice<T> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<T> Copy for Slice<T> {}
impl<T> PartialEq for Slice<T> {
    fn eq(&self, other: &Self) -> bool {
        (self.start, self.len) == (other.start, other.len)
    }
}
impl<T> Eq for Slice<T> {}
impl<T> fmt::Debug for Slice<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.range())
    }
}

impl Binary {
    /// Returns the operator as it is written.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Concat => "++",
            Self::Multiply => "*",
            Self::Divide => "/",
            Self::Add => "+",
            Self::Subtract => "-",
            Self::Update => "//",
            Self::Less => "<",
            Self::LessOrEqual => "<=",
            Self::Greater => ">",
            Self::GreaterOrEqual => ">=",
            Self::Equal => "==",
            Self::NotEqual => "!=",
            Self::And => "&&",
            Self::Or => "||",
            Self::Implies => "->",
        }
    }
}

impl Unary {
    /// Returns the operator as it is written.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Not => "!",
            Self::Negate => "-",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Expr;

    #[test]
    fn an_expression_is_sixteen_bytes() {
        assert_eq!(std::mem::size_of::<Expr>(), 16);
    }
}
