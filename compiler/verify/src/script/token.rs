//! Tokens of a script.

use nom::branch::alt;
use nom::bytes::complete::{tag, take_till, take_until, take_while, take_while1};
use nom::combinator::{map, recognize, value};
use nom::sequence::{delimited, pair, preceded};
use nom::{IResult, Parser};

use super::ScriptError;

/// A token with the line that it begins on.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Token {
    pub(crate) kind: Kind,
    pub(crate) line: usize,
    /// Whether a line break stands before it.
    pub(crate) fresh: bool,
}

/// What a token is.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Kind {
    /// A name or a keyword.
    Name(String),
    /// A number.
    Number(f64),
    /// A string, unescaped.
    Text(String),
    /// A template: texts, and between them the tokens of the expressions.
    Template(Vec<String>, Vec<Vec<Token>>),
    /// A regular expression; it is told apart so that a page that has one can be read, and refused
    /// where it is used.
    Regex(String),
    /// Punctuation.
    Mark(&'static str),
    /// The end.
    End,
}

/// Punctuation, longest first.
const MARKS: [&str; 50] = [
    "===", "!==", "...", "**=", "&&=", "||=", "??=", "=>", "==", "!=", "<=", ">=", "&&", "||", "??", "?.",
    "++", "--", "+=", "-=", "*=", "/=", "%=", "**", "{", "}", "(", ")", "[", "]", ";", ",", "<", ">", "+",
    "-", "*", "/", "%", "!", "?", ":", "=", ".", "&", "|", "^", "~", "@", "#",
];

/// Longest script, in bytes, and most tokens.
const LONGEST: usize = 4 << 20;
/// Templates nested deeper than this are refused.
const DEEPEST: usize = 16;

/// Splits a script into tokens.
pub(crate) fn tokens(text: &str) -> Result<Vec<Token>, ScriptError> {
    if text.len() > LONGEST {
        return Err(ScriptError { line: 0, why: format!("the script is longer than {LONGEST} bytes") });
    }
    let mut lexer = Lexer { rest: text, line: 1, fresh: false };
    lexer.until_end(0, false)
}

struct Lexer<'a> {
    rest: &'a str,
    line: usize,
    fresh: bool,
}

impl<'a> Lexer<'a> {
    fn error(&self, why: impl Into<String>) -> ScriptError {
        ScriptError { line: self.line, why: why.into() }
    }

    fn advance(&mut self, rest: &'a str) {
        let taken = self.rest.len().saturating_sub(rest.len());
        let text = self.rest.get(..taken).unwrap_or_default();
        self.line += text.bytes().filter(|byte| *byte == b'\n').count();
        self.rest = rest;
    }

    fn skip_space(&mut self) {
        let line = self.line;
        while let Ok((rest, ())) = space(self.rest) {
            self.advance(rest);
        }
        self.fresh = self.line != line;
    }

    /// Reads tokens to the end of the script, or of a template's expression.
    fn until_end(&mut self, depth: usize, in_template: bool) -> Result<Vec<Token>, ScriptError> {
        if depth > DEEPEST {
            return Err(self.error("templates are nested too deep"));
        }
        let mut list: Vec<Token> = Vec::new();
        let mut braces = 0usize;
        loop {
            self.skip_space();
            let (line, fresh) = (self.line, self.fresh);
            if self.rest.is_empty() {
                if in_template {
                    return Err(self.error("a template has no end"));
                }
                list.push(Token { kind: Kind::End, line, fresh });
                return Ok(list);
            }
            if in_template && braces == 0 && self.rest.starts_with('}') {
                self.rest = self.rest.get(1..).unwrap_or_default();
                list.push(Token { kind: Kind::End, line, fresh });
                return Ok(list);
            }
            let operand = match list.last().map(|token| &token.kind) {
                None => true,
                Some(Kind::Mark(mark)) => !matches!(*mark, ")" | "]" | "}" | "++" | "--"),
                Some(Kind::Name(word)) => matches!(word.as_str(), "return" | "typeof" | "case" | "in"),
                Some(_) => false,
            };
            let kind = if let Some(rest) = self.rest.strip_prefix('`') {
                self.rest = rest;
                self.template(depth)?
            } else if operand && let Ok((rest, kind)) = regex(self.rest) {
                self.advance(rest);
                kind
            } else {
                let Ok((rest, kind)) = alt((text, number, name, mark)).parse(self.rest) else {
                    let found: String = self.rest.chars().take(1).collect();
                    return Err(self.error(format!("`{found}` begins nothing that is known")));
                };
                self.advance(rest);
                kind
            };
            match kind {
                Kind::Mark("{") => braces += 1,
                Kind::Mark("}") => braces = braces.saturating_sub(1),
                _ => {}
            }
            list.push(Token { kind, line, fresh });
        }
    }

    /// Reads a template after its opening mark.
    fn template(&mut self, depth: usize) -> Result<Kind, ScriptError> {
        let (mut texts, mut parts) = (Vec::new(), Vec::new());
        let mut text = String::new();
        loop {
            let mut chars = self.rest.chars();
            let Some(c) = chars.next() else { return Err(self.error("a template has no end")) };
            let after = chars.as_str();
            match c {
                '`' => {
                    self.rest = after;
                    texts.push(text);
                    return Ok(Kind::Template(texts, parts));
                }
                '$' if after.starts_with('{') => {
                    self.rest = after.get(1..).unwrap_or_default();
                    texts.push(std::mem::take(&mut text));
                    parts.push(self.until_end(depth + 1, true)?);
                }
                '\\' => {
                    let Ok((rest, piece)) = escape(self.rest) else {
                        return Err(self.error("an unknown escape"));
                    };
                    text.push_str(&piece);
                    self.advance(rest);
                }
                c => {
                    text.push(c);
                    self.advance(after);
                }
            }
        }
    }
}

fn space(input: &str) -> IResult<&str, ()> {
    alt((
        value((), take_while1(|c: char| c.is_whitespace() || c == '\u{feff}')),
        value((), pair(tag("//"), take_till(|c| c == '\n'))),
        value((), delimited(tag("/*"), take_until("*/"), tag("*/"))),
    ))
    .parse(input)
}

fn name(input: &str) -> IResult<&str, Kind> {
    let first = |c: char| c.is_alphabetic() || c == '_' || c == '$';
    let next = |c: char| c.is_alphanumeric() || c == '_' || c == '$';
    let whole = recognize(pair(nom::character::complete::satisfy(first), take_while(next)));
    map(whole, |text: &str| Kind::Name(text.to_owned())).parse(input)
}

fn regex(input: &str) -> IResult<&str, Kind> {
    let (mut rest, _) = tag("/")(input)?;
    let mut in_class = false;
    loop {
        let mut chars = rest.chars();
        let c = chars.next();
        match c {
            Some('\\') => {
                chars.next();
            }
            Some('[') => in_class = true,
            Some(']') => in_class = false,
            Some('/') if !in_class => {
                let (rest, _) = take_while(|c: char| c.is_ascii_alphabetic())(chars.as_str())?;
                let text = input.get(..input.len() - rest.len()).unwrap_or_default();
                return Ok((rest, Kind::Regex(text.to_owned())));
            }
            Some('\n') | None => {
                return Err(nom::Err::Error(nom::error::Error::new(input, nom::error::ErrorKind::Char)));
            }
            Some(_) => {}
        }
        rest = chars.as_str();
    }
}

fn number(input: &str) -> IResult<&str, Kind> {
    let hex = preceded(alt((tag("0x"), tag("0X"))), take_while1(|c: char| c.is_ascii_hexdigit()));
    let hex = nom::combinator::map_res(hex, |digits: &str| {
        u32::from_str_radix(digits, 16).map(|n| Kind::Number(f64::from(n)))
    });
    let digit = |c: char| c.is_ascii_digit() || c == '_';
    let fraction = nom::combinator::opt(pair(tag("."), take_while(digit)));
    let exponent = nom::combinator::opt((
        alt((tag("e"), tag("E"))),
        nom::combinator::opt(alt((tag("+"), tag("-")))),
        take_while1(digit),
    ));
    let whole = recognize((take_while1(|c: char| c.is_ascii_digit()), take_while(digit), fraction, exponent));
    let short = recognize((tag("."), take_while1(|c: char| c.is_ascii_digit())));
    let decimal = nom::combinator::map_res(alt((whole, short)), |text: &str| {
        text.replace('_', "").parse().map(Kind::Number)
    });
    alt((hex, decimal)).parse(input)
}

fn text(input: &str) -> IResult<&str, Kind> {
    let mut quote = nom::character::complete::one_of("'\"");
    let (mut rest, quote) = quote(input)?;
    let mut text = String::new();
    loop {
        let mut chars = rest.chars();
        match chars.next() {
            Some(c) if c == quote => return Ok((chars.as_str(), Kind::Text(text))),
            Some('\\') => {
                let (after, piece) = escape(rest)?;
                text.push_str(&piece);
                rest = after;
            }
            Some('\n') | None => {
                return Err(nom::Err::Error(nom::error::Error::new(rest, nom::error::ErrorKind::Char)));
            }
            Some(c) => {
                text.push(c);
                rest = chars.as_str();
            }
        }
    }
}

/// Reads an escape, its backslash included.
fn escape(input: &str) -> IResult<&str, String> {
    let (rest, ()) = value((), tag("\\")).parse(input)?;
    let fail = || nom::Err::Error(nom::error::Error::new(input, nom::error::ErrorKind::Escaped));
    let mut chars = rest.chars();
    let c = chars.next().ok_or_else(fail)?;
    let after = chars.as_str();
    let simple = match c {
        'n' => "\n",
        't' => "\t",
        'r' => "\r",
        'b' => "\u{8}",
        'f' => "\u{c}",
        'v' => "\u{b}",
        '0' => "\0",
        '\n' => "",
        'u' | 'x' => {
            let (digits, after) = match (c, after.strip_prefix('{').and_then(|braced| braced.split_once('}')))
            {
                ('u', Some(found)) => found,
                _ => {
                    let count = if c == 'u' { 4 } else { 2 };
                    (after.get(..count).ok_or_else(fail)?, after.get(count..).ok_or_else(fail)?)
                }
            };
            let code = u32::from_str_radix(digits, 16).ok().and_then(char::from_u32).ok_or_else(fail)?;
            return Ok((after, code.to_string()));
        }
        other => return Ok((after, other.to_string())),
    };
    Ok((after, simple.to_owned()))
}

fn mark(input: &str) -> IResult<&str, Kind> {
    match MARKS.iter().find(|mark| input.starts_with(**mark)) {
        // `a ? .5 : 1` is no optional chain.
        Some(&"?.") if input[2..].starts_with(|c: char| c.is_ascii_digit()) => {
            Ok((&input[1..], Kind::Mark("?")))
        }
        Some(mark) => Ok((&input[mark.len()..], Kind::Mark(mark))),
        None => Err(nom::Err::Error(nom::error::Error::new(input, nom::error::ErrorKind::Tag))),
    }
}
