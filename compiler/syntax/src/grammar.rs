//! The grammar, written with nom over tokens: one function a rule, in the order of Nix's own rules.
//!
//! A rule that has begun and cannot go on fails for good ([`nom::combinator::cut`]); the nearest
//! enclosing brackets or binding reports that, skips to a place that they know, and goes on, so that
//! one reading finds several errors.

mod operators;
mod patterns;
mod recovery;
mod sets;
mod simple;
mod strings;

pub(crate) use operators::{HAS, NEGATE, NOT, tightness};

use nom::Parser;
use nom::combinator::cut;
use nom::sequence::{delimited, preceded, terminated};

use crate::builder::Builder;
use crate::kind::{Kind, KindSet};
use crate::report;
use crate::tokens::{Fault, Parsed, Tokens, token};
use crate::tree::{Expr, ExprId};

/// What begins an operand that stands alone: a list element, an argument.
pub(crate) const SIMPLE: KindSet = KindSet::of(&[
    Kind::Identifier,
    Kind::Integer,
    Kind::Float,
    Kind::StringOpen,
    Kind::IndentedOpen,
    Kind::Path,
    Kind::HomePath,
    Kind::SearchPath,
    Kind::Uri,
    Kind::ParenOpen,
    Kind::BracketOpen,
    Kind::BraceOpen,
    Kind::Rec,
]);

/// What begins an expression that needs parentheses as an operand.
pub(crate) const WIDE: KindSet = KindSet::of(&[Kind::If, Kind::Assert, Kind::With, Kind::Let]);

/// What begins an expression.
pub(crate) const EXPRESSION: KindSet = SIMPLE.or(WIDE).or(KindSet::of(&[Kind::Not, Kind::Minus]));

/// Reads a whole file.
pub(crate) fn file<'a>(builder: &mut Builder<'a>, input: Tokens<'a>) -> ExprId {
    let (rest, root) = match expression(builder, input) {
        Ok(parsed) => parsed,
        Err(error) => {
            let rest = builder.recover(fault(error));
            let root = builder.push(Expr::Error, input.start, rest.start);
            return recovery::leftover(builder, rest, root);
        }
    };
    if rest.kind() == Kind::End {
        return root;
    }
    recovery::leftover(builder, rest, root)
}

/// Reads an expression: a function, a `let`, `with`, `assert` or `if`, or operators and operands.
pub(crate) fn expression<'a>(builder: &mut Builder<'a>, input: Tokens<'a>) -> Parsed<'a, ExprId> {
    builder.deeper(input, |builder, input| match input.kind() {
        Kind::Identifier => match input.next().kind() {
            Kind::Colon => simple_function(builder, input),
            Kind::At => patterns::function(builder, input),
            _ => operators::operators(builder, input),
        },
        Kind::BraceOpen if patterns::is_pattern(input) => patterns::function(builder, input),
        Kind::Let if input.next().kind() != Kind::BraceOpen => sets::let_in(builder, input),
        Kind::With => with(builder, input),
        Kind::Assert => assert(builder, input),
        Kind::If => conditional(builder, input),
        _ => operators::operators(builder, input),
    })
}

/// `name: body`
fn simple_function<'a>(builder: &mut Builder<'a>, input: Tokens<'a>) -> Parsed<'a, ExprId> {
    let start = input.start;
    let (input, (from, to)) = terminated(token(Kind::Identifier), cut(token(Kind::Colon))).parse(input)?;
    let name = builder.symbol(from, to);
    let (input, body) = cut(|input| expression(builder, input)).parse(input)?;
    let whole = Some(crate::tree::Spanned { name, start: from, end: to });
    Ok((input, patterns::lambda(builder, whole, None, body, start, input.before)))
}

/// `with namespace; body`
fn with<'a>(builder: &mut Builder<'a>, input: Tokens<'a>) -> Parsed<'a, ExprId> {
    let start = input.start;
    let (input, namespace) =
        delimited(token(Kind::With), cut(|input| expression(builder, input)), cut(token(Kind::Semicolon)))
            .parse(input)?;
    let (input, body) = cut(|input| expression(builder, input)).parse(input)?;
    Ok((input, builder.push(Expr::With { namespace, body }, start, input.before)))
}

/// `assert condition; body`
fn assert<'a>(builder: &mut Builder<'a>, input: Tokens<'a>) -> Parsed<'a, ExprId> {
    let start = input.start;
    let (input, condition) =
        delimited(token(Kind::Assert), cut(|input| expression(builder, input)), cut(token(Kind::Semicolon)))
            .parse(input)?;
    let (input, body) = cut(|input| expression(builder, input)).parse(input)?;
    Ok((input, builder.push(Expr::Assert { condition, body }, start, input.before)))
}

/// `if condition then … else …`
fn conditional<'a>(builder: &mut Builder<'a>, input: Tokens<'a>) -> Parsed<'a, ExprId> {
    let start = input.start;
    let (input, condition) =
        preceded(token(Kind::If), cut(|input| expression(builder, input))).parse(input)?;
    let (input, then) =
        preceded(cut(token(Kind::Then)), cut(|input| expression(builder, input))).parse(input)?;
    if input.kind() != Kind::Else {
        return Ok(without_else(builder, input, start));
    }
    let (input, otherwise) =
        preceded(token(Kind::Else), cut(|input| expression(builder, input))).parse(input)?;
    let expr = Expr::If { condition, then, otherwise };
    Ok((input, builder.push(expr, start, input.before)))
}

/// Reports an `if` that has no `else`.
fn without_else<'a>(builder: &mut Builder<'a>, input: Tokens<'a>, start: u32) -> (Tokens<'a>, ExprId) {
    if !(input.kind() == Kind::End && builder.ate_the_rest) {
        let finding = report::missing_else(builder, input, start);
        builder.report(finding);
    }
    builder.said_missing_at = input.before;
    let id = builder.push(Expr::Error, start, input.before);
    (input, id)
}

/// Returns the fault inside nom's error.
pub(crate) fn fault(error: nom::Err<Fault>) -> Fault {
    match error {
        nom::Err::Error(fault) | nom::Err::Failure(fault) => fault,
        // No rule is a streaming one.
        nom::Err::Incomplete(_) => Fault { left: 1, expected: KindSet::default() },
    }
}
