//! Operands: names, literals, brackets, and selection from them.

use nom::Parser;
use nom::combinator::cut;
use nom::multi::many0_count;

use super::operators::{bare, needs_parentheses};
use super::{EXPRESSION, SIMPLE, expression, recovery, sets, strings};
use crate::builder::{Bracket, Builder};
use crate::kind::Kind;
use crate::report;
use crate::tokens::{Parsed, Tokens};
use crate::tree::{Expr, ExprId, Name, NameKind};

/// `operand`, `operand.path`, `operand.path or default`, and the old `operand or`.
#[inline]
pub(super) fn select<'a>(builder: &mut Builder<'a>, input: Tokens<'a>) -> Parsed<'a, ExprId> {
    let start = input.start;
    let (input, set) = simple(builder, input)?;
    match input.kind() {
        Kind::Dot => selection(builder, input, set, start),
        Kind::Or => Ok(call_of_or(builder, input, set, start)),
        _ => Ok((input, set)),
    }
}

fn selection<'a>(
    builder: &mut Builder<'a>,
    input: Tokens<'a>,
    set: ExprId,
    start: u32,
) -> Parsed<'a, ExprId> {
    let (input, path) = cut(|input| sets::attr_path(builder, input)).parse(input.next())?;
    if input.kind() != Kind::Or {
        return Ok((input, builder.push(Expr::Select { set, path }, start, input.before)));
    }
    let (input, default) = cut(|input| {
        builder.deeper(input, |builder, input| match input.kind() {
            _ if needs_parentheses(input) => bare(builder, input),
            _ => select(builder, input),
        })
    })
    .parse(input.next())?;
    Ok((input, builder.push(Expr::SelectOr { set, path, default }, start, input.before)))
}

/// `f or`: as in Nix, a call of `f` with the variable `or`, for the sake of old code.
fn call_of_or<'a>(
    builder: &mut Builder<'a>,
    input: Tokens<'a>,
    function: ExprId,
    start: u32,
) -> (Tokens<'a>, ExprId) {
    let finding = report::or_as_name(builder, input);
    builder.report(finding);
    let argument = builder.push(Expr::Variable(builder.or), input.start, input.end());
    let from = builder.ids.len();
    builder.ids.push(argument);
    let arguments = builder.take_ids(from);
    let input = input.next();
    (input, builder.push(Expr::Apply { function, arguments }, start, input.before))
}

/// Reads one operand.
#[inline]
fn simple<'a>(builder: &mut Builder<'a>, input: Tokens<'a>) -> Parsed<'a, ExprId> {
    let (start, end) = (input.start, input.end());
    let expr = match input.kind() {
        Kind::Identifier => {
            let symbol = builder.symbol(start, end);
            if symbol == builder.current_position { Expr::CurrentPosition } else { Expr::Variable(symbol) }
        }
        Kind::Integer => strings::integer(builder, start, end),
        Kind::Float => strings::float(builder, start, end),
        Kind::StringOpen => return strings::string(builder, input),
        Kind::IndentedOpen => return strings::indented(builder, input),
        Kind::Path => return strings::path(builder, input),
        Kind::HomePath | Kind::SearchPath | Kind::Uri => return strings::refused(builder, input),
        Kind::ParenOpen => {
            return recovery::enclosed(builder, input, Bracket::Paren, expression);
        }
        Kind::BracketOpen => return builder.deeper(input, list),
        Kind::BraceOpen => return sets::set(builder, input, false),
        Kind::Rec => return sets::set(builder, input, true),
        Kind::Let if input.next().kind() == Kind::BraceOpen => return legacy_let(builder, input),
        _ => return Err(nom::Err::Error(input.fault(EXPRESSION))),
    };
    Ok((input.next(), builder.push(expr, start, end)))
}

/// `[ element … ]`
fn list<'a>(builder: &mut Builder<'a>, input: Tokens<'a>) -> Parsed<'a, ExprId> {
    let start = input.start;
    let open = (start, input.end());
    let from = builder.ids.len();
    builder.enter(Bracket::Square);
    let (input, _) = many0_count(|input| element(builder, input)).parse(input.next())?;
    builder.leave(Bracket::Square);
    let elements = builder.take_ids(from);
    let input = recovery::close(builder, input, open, Bracket::Square);
    Ok((input, builder.push(Expr::List(elements), start, input.before)))
}

/// Reads one element of a list, or reports what is none and goes over it.
fn element<'a>(builder: &mut Builder<'a>, input: Tokens<'a>) -> Parsed<'a, ()> {
    let kind = input.kind();
    if SIMPLE.has(kind) || (kind == Kind::Let && !needs_parentheses(input)) {
        let mark = builder.mark();
        return match select(builder, input) {
            Ok((rest, id)) => {
                builder.ids.push(id);
                Ok((rest, ()))
            }
            Err(error) => {
                builder.back_to(mark);
                let rest = builder.recover(super::fault(error));
                Ok((if rest.left() < input.left() { rest } else { input.next() }, ()))
            }
        };
    }
    if recovery::ends_list(builder, input) {
        return Err(nom::Err::Error(input.fault(SIMPLE)));
    }
    if needs_parentheses(input) {
        let (rest, id) = bare(builder, input)?;
        builder.ids.push(id);
        return Ok((rest, ()));
    }
    let finding = report::in_list(builder, input);
    builder.report(finding);
    if kind == Kind::InterpolationOpen {
        let (rest, _) = recovery::enclosed(builder, input, Bracket::Brace, expression)?;
        return Ok((rest, ()));
    }
    Ok((input.next(), ()))
}

/// `let { …; body = …; }`: reported, and read as `(rec { … }).body`, which it means.
fn legacy_let<'a>(builder: &mut Builder<'a>, input: Tokens<'a>) -> Parsed<'a, ExprId> {
    let start = input.start;
    let finding = report::legacy_let(builder, input);
    builder.report(finding);
    let (input, set) = sets::set(builder, input, true)?;
    let body = builder.names.intern("body");
    builder.path.push(Name { kind: NameKind::Static(body), start, end: input.before });
    let path = builder.take_path(builder.path.len() - 1);
    Ok((input, builder.push(Expr::Select { set, path }, start, input.before)))
}
