//! What a token can be.

/// The kind of a token.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[repr(u8)]
pub enum Kind {
    /// Spaces, tabs, line feeds and carriage returns.
    Whitespace,
    /// `# …` up to the end of the line; a lone carriage return ends it too.
    LineComment,
    /// `/* … */`
    BlockComment,
    /// A character that begins no token. Reported, then skipped.
    Unknown,
    /// A name.
    Identifier,
    /// `if`
    If,
    /// `then`
    Then,
    /// `else`
    Else,
    /// `assert`
    Assert,
    /// `with`
    With,
    /// `let`
    Let,
    /// `in`
    In,
    /// `rec`
    Rec,
    /// `inherit`
    Inherit,
    /// `or`
    Or,
    /// `12`
    Integer,
    /// `1.5`, `.5`, `1.e3`
    Float,
    /// The `"` that begins a string.
    StringOpen,
    /// Raw characters of a string.
    StringText,
    /// The `"` that ends a string.
    StringClose,
    /// The `''` that begins an indented string.
    IndentedOpen,
    /// Raw characters of an indented string.
    IndentedText,
    /// The `''` that ends an indented string.
    IndentedClose,
    /// `${`
    InterpolationOpen,
    /// A path, or what stands before its first `${`.
    Path,
    /// More characters of a path, right behind a `}` or another path token.
    PathText,
    /// `~/…`
    HomePath,
    /// `<…>`
    SearchPath,
    /// `https://…`, and `a:b` too.
    Uri,
    /// `(`
    ParenOpen,
    /// `)`
    ParenClose,
    /// `[`
    BracketOpen,
    /// `]`
    BracketClose,
    /// `{`
    BraceOpen,
    /// `}`, of a set, a pattern or an interpolation.
    BraceClose,
    /// `;`
    Semicolon,
    /// `:`
    Colon,
    /// `,`
    Comma,
    /// `@`
    At,
    /// `.`
    Dot,
    /// `...`
    Ellipsis,
    /// `?`
    Question,
    /// `=`
    Assign,
    /// `==`
    Equal,
    /// `!=`
    NotEqual,
    /// `<`
    Less,
    /// `<=`
    LessOrEqual,
    /// `>`
    Greater,
    /// `>=`
    GreaterOrEqual,
    /// `&&`
    AndAnd,
    /// `||`
    OrOr,
    /// `->`
    Implies,
    /// `//`
    Update,
    /// `+`
    Plus,
    /// `-`
    Minus,
    /// `*`
    Star,
    /// `/`
    Slash,
    /// `++`
    Concat,
    /// `!`
    Not,
    /// `|>`
    PipeInto,
    /// `<|`
    PipeFrom,
    /// The end of the text; always the last token, never elsewhere, and empty.
    End,
}

impl Kind {
    /// Every kind.
    pub const ALL: &[Self] = &[
        Self::Whitespace,
        Self::LineComment,
        Self::BlockComment,
        Self::Unknown,
        Self::Identifier,
        Self::If,
        Self::Then,
        Self::Else,
        Self::Assert,
        Self::With,
        Self::Let,
        Self::In,
        Self::Rec,
        Self::Inherit,
        Self::Or,
        Self::Integer,
        Self::Float,
        Self::StringOpen,
        Self::StringText,
        Self::StringClose,
        Self::IndentedOpen,
        Self::IndentedText,
        Self::IndentedClose,
        Self::InterpolationOpen,
        Self::Path,
        Self::PathText,
        Self::HomePath,
        Self::SearchPath,
        Self::Uri,
        Self::ParenOpen,
        Self::ParenClose,
        Self::BracketOpen,
        Self::BracketClose,
        Self::BraceOpen,
        Self::BraceClose,
        Self::Semicolon,
        Self::Colon,
        Self::Comma,
        Self::At,
        Self::Dot,
        Self::Ellipsis,
        Self::Question,
        Self::Assign,
        Self::Equal,
        Self::NotEqual,
        Self::Less,
        Self::LessOrEqual,
        Self::Greater,
        Self::GreaterOrEqual,
        Self::AndAnd,
        Self::OrOr,
        Self::Implies,
        Self::Update,
        Self::Plus,
        Self::Minus,
        Self::Star,
        Self::Slash,
        Self::Concat,
        Self::Not,
        Self::PipeInto,
        Self::PipeFrom,
        Self::End,
    ];

    /// Returns true for what the grammar does not see.
    #[must_use]
    #[inline]
    pub fn is_trivia(self) -> bool {
        self as u8 <= Self::Unknown as u8
    }

    /// Returns true for reserved words.
    #[must_use]
    pub fn is_keyword(self) -> bool {
        (Self::If as u8..=Self::Or as u8).contains(&(self as u8))
    }

    /// Returns the word for messages: the characters in backticks, or what they are called.
    #[must_use]
    pub fn describe(self) -> &'static str {
        match self {
            Self::Whitespace => "a space",
            Self::LineComment | Self::BlockComment => "a comment",
            Self::Identifier => "a name",
            Self::If => "`if`",
            Self::Then => "`then`",
            Self::Else => "`else`",
            Self::Assert => "`assert`",
            Self::With => "`with`",
            Self::Let => "`let`",
            Self::In => "`in`",
            Self::Rec => "`rec`",
            Self::Inherit => "`inherit`",
            Self::Or => "`or`",
            Self::Integer | Self::Float => "a number",
            Self::StringOpen | Self::StringText => "a string",
            Self::StringClose => "`\"`",
            Self::IndentedOpen | Self::IndentedText => "an indented string",
            Self::IndentedClose => "`''`",
            Self::InterpolationOpen => "`${`",
            Self::Path | Self::PathText | Self::HomePath => "a path",
            Self::SearchPath => "a search path",
            Self::Uri => "a URL",
            Self::ParenOpen => "`(`",
            Self::ParenClose => "`)`",
            Self::BracketOpen => "`[`",
            Self::BracketClose => "`]`",
            Self::BraceOpen => "`{`",
            Self::BraceClose => "`}`",
            Self::Semicolon => "`;`",
            Self::Colon => "`:`",
            Self::Comma => "`,`",
            Self::At => "`@`",
            Self::Dot => "`.`",
            Self::Ellipsis => "`...`",
            Self::Question => "`?`",
            Self::Assign => "`=`",
            Self::Equal => "`==`",
            Self::NotEqual => "`!=`",
            Self::Less => "`<`",
            Self::LessOrEqual => "`<=`",
            Self::Greater => "`>`",
            Self::GreaterOrEqual => "`>=`",
            Self::AndAnd => "`&&`",
            Self::OrOr => "`||`",
            Self::Implies => "`->`",
            Self::Update => "`//`",
            Self::Plus => "`+`",
            Self::Minus => "`-`",
            Self::Star => "`*`",
            Self::Slash => "`/`",
            Self::Concat => "`++`",
            Self::Not => "`!`",
            Self::PipeInto => "`|>`",
            Self::PipeFrom => "`<|`",
            Self::Unknown => "an unknown character",
            Self::End => "the end of the file",
        }
    }
}

/// One token: what it is and where it ends. It begins where the token before it ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Token {
    /// One past the last byte.
    pub end: u32,
    /// What it is.
    pub kind: Kind,
}

/// A set of kinds: what could have stood at a place.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct KindSet(u64);

impl KindSet {
    /// Returns the set of these kinds.
    #[must_use]
    pub const fn of(kinds: &[Kind]) -> Self {
        let mut bits = 0;
        let mut at = 0;
        while at < kinds.len() {
            // In a constant, so a wrong index would be a compile error.
            bits |= 1 << kinds[at] as u64;
            at += 1;
        }
        Self(bits)
    }

    /// Returns true if `kind` is in the set.
    #[must_use]
    #[inline]
    pub const fn has(self, kind: Kind) -> bool {
        self.0 >> kind as u64 & 1 == 1
    }

    /// Returns true if all kinds of this set are in `other`.
    #[must_use]
    pub const fn is_within(self, other: Self) -> bool {
        self.0 & !other.0 == 0
    }

    /// Returns what is in this set and not in `other`.
    #[must_use]
    pub const fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    /// Returns the kinds, in the order of their declaration.
    pub fn kinds(self) -> impl Iterator<Item = Kind> {
        Kind::ALL.iter().copied().filter(move |&kind| self.has(kind))
    }

    /// Returns what is in either.
    #[must_use]
    pub const fn or(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}
