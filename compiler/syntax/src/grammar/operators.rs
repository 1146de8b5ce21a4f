//! Operators by precedence, and function application, which binds tighter than all of them.

use nom::Parser;
use nom::combinator::cut;

use super::{EXPRESSION, SIMPLE, WIDE, expression, sets, simple};
use crate::builder::Builder;
use crate::kind::Kind;
use crate::report;
use crate::tokens::{Parsed, Tokens};
use crate::tree::{Binary, Expr, ExprId, Unary};

/// Which operand takes an operator that stands between two of its own level.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Side {
    Left,
    Right,
    /// `a == b == c` is an error.
    Neither,
}

/// How tight `!` binds: `!a + b` is `!(a + b)`, `!a == b` is `(!a) == b`.
pub(crate) const NOT: u8 = 7;
/// How tight `?` binds.
pub(crate) const HAS: u8 = 11;
/// How tight a leading `-` binds: only application and selection are tighter.
pub(crate) const NEGATE: u8 = 12;

/// Returns operator, tightness and side, in the order of Nix's own table.
#[inline]
fn infix(kind: Kind) -> Option<(Binary, u8, Side)> {
    Some(match kind {
        Kind::Implies => (Binary::Implies, 1, Side::Right),
        Kind::OrOr => (Binary::Or, 2, Side::Left),
        Kind::AndAnd => (Binary::And, 3, Side::Left),
        Kind::Equal => (Binary::Equal, 4, Side::Neither),
        Kind::NotEqual => (Binary::NotEqual, 4, Side::Neither),
        Kind::Less => (Binary::Less, 5, Side::Neither),
        Kind::LessOrEqual => (Binary::LessOrEqual, 5, Side::Neither),
        Kind::Greater => (Binary::Greater, 5, Side::Neither),
        Kind::GreaterOrEqual => (Binary::GreaterOrEqual, 5, Side::Neither),
        Kind::Update => (Binary::Update, 6, Side::Right),
        Kind::Plus => (Binary::Add, 8, Side::Left),
        Kind::Minus => (Binary::Subtract, 8, Side::Left),
        Kind::Star => (Binary::Multiply, 9, Side::Left),
        Kind::Slash => (Binary::Divide, 9, Side::Left),
        Kind::Concat => (Binary::Concat, 10, Side::Right),
        _ => return None,
    })
}

/// Returns how tight an operator binds, and whether the right one of two takes the operand.
pub(crate) fn tightness(kind: Kind) -> Option<(u8, bool)> {
    infix(kind).map(|(_, tightness, side)| (tightness, side == Side::Right))
}

/// Reads operators and operands, and reports what Nix's grammar has no place for behind them.
pub(super) fn operators<'a>(builder: &mut Builder<'a>, input: Tokens<'a>) -> Parsed<'a, ExprId> {
    let (rest, expr) = binary(builder, input, 0)?;
    match rest.kind() {
        Kind::PipeInto | Kind::PipeFrom => pipe(builder, rest, expr, input.start),
        // A pattern with a mistake in it was read as a set.
        Kind::Colon
            if matches!(builder.tree.expr(expr), Expr::Attrs(_)) && builder.diagnostics.has_errors() =>
        {
            let (rest, _) = cut(|input| expression(builder, input)).parse(rest.next())?;
            Ok((rest, builder.push(Expr::Error, input.start, rest.before)))
        }
        // Only `name: …` could have come here, and only as an operand.
        Kind::Colon
            if matches!(
                builder.tree.expr(expr),
                Expr::Binary { .. } | Expr::Unary { .. } | Expr::Apply { .. }
            ) =>
        {
            bare_function(builder, rest, input.start)
        }
        _ => Ok((rest, expr)),
    }
}

/// Reads an operand and all operators behind it that bind at least as tight as `least`.
fn binary<'a>(builder: &mut Builder<'a>, input: Tokens<'a>, least: u8) -> Parsed<'a, ExprId> {
    let start = input.start;
    let depth = builder.depth;
    let (mut input, mut left) = prefix(builder, input)?;
    loop {
        let kind = input.kind();
        if kind == Kind::Question && least <= HAS {
            let (rest, path) = cut(|input| sets::attr_path(builder, input)).parse(input.next())?;
            left = builder.push(Expr::Has { set: left, path }, start, rest.before);
            input = rest;
        } else if let Some((operator, tightness, side)) = infix(kind)
            && tightness >= least
        {
            let sign = (input.start, input.end());
            let right_least = tightness + u8::from(side != Side::Right);
            let (rest, right) = operand(builder, input.next(), right_least)?;
            left = builder.push(Expr::Binary { operator, left, right }, start, rest.before);
            input = rest;
            if side == Side::Neither && infix(input.kind()).is_some_and(|(_, next, _)| next == tightness) {
                let finding = report::chained(builder, operator, sign, input);
                builder.report(finding);
            }
        } else {
            builder.depth = depth;
            return Ok((input, left));
        }
        // A chain is as deep as it is long: whoever walks the tree goes down its left side.
        builder.depth += 1;
        if builder.depth >= crate::MAX_DEPTH {
            return Err(builder.too_deep(input));
        }
    }
}

/// Reads the operand behind an operator.
fn operand<'a>(builder: &mut Builder<'a>, input: Tokens<'a>, least: u8) -> Parsed<'a, ExprId> {
    if needs_parentheses(input) {
        return bare(builder, input);
    }
    if !EXPRESSION.has(input.kind()) {
        return Err(nom::Err::Failure(input.fault(EXPRESSION)));
    }
    cut(|input| builder.deeper(input, |builder, input| binary(builder, input, least))).parse(input)
}

/// `!operand`, `-operand`, or a function and its arguments.
fn prefix<'a>(builder: &mut Builder<'a>, input: Tokens<'a>) -> Parsed<'a, ExprId> {
    let (operator, least) = match input.kind() {
        Kind::Not => (Unary::Not, NOT + 1),
        Kind::Minus => (Unary::Negate, NEGATE + 1),
        _ => return application(builder, input),
    };
    let start = input.start;
    let (input, operand) = operand(builder, input.next(), least)?;
    Ok((input, builder.push(Expr::Unary { operator, operand }, start, input.before)))
}

/// `function argument …`
#[inline]
fn application<'a>(builder: &mut Builder<'a>, input: Tokens<'a>) -> Parsed<'a, ExprId> {
    let start = input.start;
    let (mut input, function) = simple::select(builder, input)?;
    if !is_argument(builder, input) {
        return Ok((input, function));
    }
    let from = builder.ids.len();
    while is_argument(builder, input) {
        let (rest, argument) = if needs_parentheses(input) {
            bare(builder, input)?
        } else {
            cut(|input| simple::select(builder, input)).parse(input)?
        };
        builder.ids.push(argument);
        input = rest;
    }
    let arguments = builder.take_ids(from);
    Ok((input, builder.push(Expr::Apply { function, arguments }, start, input.before)))
}

/// Returns true at an argument, or at what was meant as one: `f if a then b else c` on one line.
#[inline]
fn is_argument(builder: &Builder<'_>, input: Tokens<'_>) -> bool {
    let kind = input.kind();
    SIMPLE.has(kind)
        || (WIDE.has(kind)
            && (!needs_parentheses(input) || !builder.source(input.before, input.start).contains('\n')))
}

/// Returns true at `if`, `let`, `with` or `assert`, but not at `let {`, which stands alone.
pub(super) fn needs_parentheses(input: Tokens<'_>) -> bool {
    WIDE.has(input.kind()) && !(input.kind() == Kind::Let && input.next().kind() == Kind::BraceOpen)
}

/// Reports an expression that needs parentheses where it stands, and reads it.
pub(super) fn bare<'a>(builder: &mut Builder<'a>, input: Tokens<'a>) -> Parsed<'a, ExprId> {
    let (rest, expr) = cut(|input| expression(builder, input)).parse(input)?;
    let finding = report::needs_parentheses(builder, input, rest);
    builder.report(finding);
    Ok((rest, expr))
}

/// `operand operator name: body`: reports that the function needs parentheses, and reads its body.
fn bare_function<'a>(builder: &mut Builder<'a>, colon: Tokens<'a>, start: u32) -> Parsed<'a, ExprId> {
    let (rest, _) = cut(|input| expression(builder, input)).parse(colon.next())?;
    let finding = report::bare_function(builder, colon, rest);
    builder.report(finding);
    Ok((rest, builder.push(Expr::Error, start, rest.before)))
}

/// Reports `a |> f` and `f <| a`, and reads them as calls.
fn pipe<'a>(
    builder: &mut Builder<'a>,
    mut input: Tokens<'a>,
    mut left: ExprId,
    start: u32,
) -> Parsed<'a, ExprId> {
    while matches!(input.kind(), Kind::PipeInto | Kind::PipeFrom) {
        let finding = report::pipe(builder, input);
        builder.report(finding);
        let into = input.kind() == Kind::PipeInto;
        let (rest, right) = operand(builder, input.next(), 0)?;
        let (function, argument) = if into { (right, left) } else { (left, right) };
        let from = builder.ids.len();
        builder.ids.push(argument);
        let arguments = builder.take_ids(from);
        left = builder.push(Expr::Apply { function, arguments }, start, rest.before);
        input = rest;
    }
    Ok((input, left))
}
