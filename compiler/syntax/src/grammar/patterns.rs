//! Functions whose parameter is a pattern: `{ a, b ? c, ... } @ all: body`.

use nom::combinator::{cut, opt};
use nom::sequence::preceded;
use nom::{Err, Parser};

use super::{expression, fault};
use crate::builder::{Bracket, Builder};
use crate::kind::{Kind, KindSet};
use crate::report;
use crate::tokens::{Parsed, Tokens, token};
use crate::tree::{Expr, ExprId, Formal, Parameter, ParameterId, Pattern, Slice, Spanned};

/// Returns true at a `{` that begins a pattern and no set: three tokens tell.
pub(super) fn is_pattern(input: Tokens<'_>) -> bool {
    let first = input.next();
    match first.kind() {
        Kind::Ellipsis => true,
        Kind::BraceClose => matches!(first.next().kind(), Kind::Colon | Kind::At),
        Kind::Identifier => match first.next().kind() {
            Kind::Comma | Kind::Question => true,
            Kind::BraceClose => matches!(first.next().next().kind(), Kind::Colon | Kind::At),
            _ => false,
        },
        _ => false,
    }
}

/// Reads a function from its pattern or from the name before `@` on.
pub(super) fn function<'a>(builder: &mut Builder<'a>, input: Tokens<'a>) -> Parsed<'a, ExprId> {
    let start = input.start;
    let (input, before) = opt(|input| name_before(builder, input)).parse(input)?;
    let (input, (mut pattern, from)) = cut(|input| pattern(builder, input)).parse(input)?;
    let (input, behind) = match before {
        Some(_) => (input, None),
        None => opt(|input| name_behind(builder, input)).parse(input)?,
    };
    let whole = before.or(behind);
    pattern.formals = unique(builder, from, whole);
    let (input, body) =
        preceded(cut(token(Kind::Colon)), cut(|input| expression(builder, input))).parse(input)?;
    Ok((input, lambda(builder, whole, Some(pattern), body, start, input.before)))
}

/// Adds a function to the tree.
pub(super) fn lambda(
    builder: &mut Builder<'_>,
    whole: Option<Spanned>,
    pattern: Option<Pattern>,
    body: ExprId,
    start: u32,
    end: u32,
) -> ExprId {
    let parameter = ParameterId(u32::try_from(builder.tree.parameters.len()).unwrap_or(u32::MAX));
    builder.tree.parameters.push(Parameter { whole, pattern });
    builder.push(Expr::Lambda { parameter, body }, start, end)
}

/// `name @`
fn name_before<'a>(builder: &mut Builder<'a>, input: Tokens<'a>) -> Parsed<'a, Spanned> {
    let (input, name) = name(builder, input)?;
    let (input, _) = token(Kind::At).parse(input)?;
    Ok((input, name))
}

/// `@ name`
fn name_behind<'a>(builder: &mut Builder<'a>, input: Tokens<'a>) -> Parsed<'a, Spanned> {
    preceded(token(Kind::At), cut(|input| name(builder, input))).parse(input)
}

fn name<'a>(builder: &mut Builder<'a>, input: Tokens<'a>) -> Parsed<'a, Spanned> {
    let (input, (start, end)) = token(Kind::Identifier).parse(input)?;
    Ok((input, Spanned { name: builder.symbol(start, end), start, end }))
}

/// Reads `{ … }`; the names are on the builder's stack from the returned index on.
fn pattern<'a>(builder: &mut Builder<'a>, input: Tokens<'a>) -> Parsed<'a, (Pattern, usize)> {
    let start = input.start;
    let from = builder.formals.len();
    builder.enter(Bracket::Brace);
    let (mut input, _) = token(Kind::BraceOpen).parse(input)?;
    let mut open = false;
    while !matches!(input.kind(), Kind::BraceClose | Kind::End) {
        let mark = builder.mark();
        let (rest, is_ellipsis) = match formal_or_ellipsis(builder, input) {
            Ok(parsed) => parsed,
            Err(error) => {
                builder.back_to(mark);
                let rest = builder.recover(fault(error));
                (builder.skip_to(rest, KindSet::of(&[Kind::Comma])), false)
            }
        };
        open |= is_ellipsis;
        input = match rest.kind() {
            Kind::Comma if is_ellipsis => {
                let finding = report::ellipsis_not_last(builder, rest);
                builder.report(finding);
                rest.next()
            }
            Kind::Comma => rest.next(),
            Kind::BraceClose | Kind::End => rest,
            _ if builder.stopped => rest,
            _ => {
                let expected = KindSet::of(&[Kind::Comma, Kind::BraceClose, Kind::Question]);
                let rest = builder.recover(rest.fault(expected));
                let rest = builder.skip_to(rest, KindSet::of(&[Kind::Comma]));
                if rest.kind() == Kind::Comma { rest.next() } else { rest }
            }
        };
        if crate::builder::CLOSERS.has(input.kind()) {
            break;
        }
    }
    builder.leave(Bracket::Brace);
    let (input, (_, end)) = cut(token(Kind::BraceClose)).parse(input)?;
    Ok((input, (Pattern { formals: Slice::EMPTY, open, start, end }, from)))
}

/// Reads `name`, `name ? default`, or `...`, for which it gives true.
fn formal_or_ellipsis<'a>(builder: &mut Builder<'a>, input: Tokens<'a>) -> Parsed<'a, bool> {
    if input.kind() == Kind::Ellipsis {
        return Ok((input.next(), true));
    }
    if input.kind() != Kind::Identifier {
        let expected = KindSet::of(&[Kind::Identifier, Kind::Ellipsis, Kind::BraceClose]);
        return Err(Err::Failure(input.fault(expected)));
    }
    let (input, name) = name(builder, input)?;
    let (input, default) =
        opt(preceded(token(Kind::Question), cut(|input| expression(builder, input)))).parse(input)?;
    builder.formals.push(Formal { name, default });
    Ok((input, false))
}

/// Moves the names of a pattern into the tree, reporting those that are there already.
fn unique(builder: &mut Builder<'_>, from: usize, whole: Option<Spanned>) -> Slice<Formal> {
    builder.round += 1;
    if let Some(whole) = whole {
        builder.stamp(whole.name, u32::MAX);
    }
    let start = builder.tree.formals.len();
    for at in from..builder.formals.len() {
        let Some(&formal) = builder.formals.get(at) else { break };
        let index = u32::try_from(builder.tree.formals.len()).unwrap_or(u32::MAX);
        match builder.stamp(formal.name.name, index) {
            None => builder.tree.formals.push(formal),
            Some(first) => {
                let first = builder.tree.formals.get(first as usize).map(|formal| formal.name).or(whole);
                let finding = report::duplicate_argument(builder, formal.name, first);
                builder.report(finding);
            }
        }
    }
    builder.formals.truncate(from);
    Slice::new(start, builder.tree.formals.len())
}
