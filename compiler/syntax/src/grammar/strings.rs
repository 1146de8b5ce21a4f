//! Literals: numbers, strings, indented strings and paths.

use nom::Parser;
use nom::combinator::opt;

use super::{expression, recovery};
use crate::builder::{Bracket, Builder};
use crate::cook::{self, Piece};
use crate::kind::Kind;
use crate::report;
use crate::tokens::{Parsed, Tokens, token};
use crate::tree::{Expr, ExprId, Part, Slice, Text};

/// `12`
pub(super) fn integer(builder: &mut Builder<'_>, start: u32, end: u32) -> Expr {
    if let Ok(value) = builder.source(start, end).parse() {
        return Expr::Integer(value);
    }
    let finding = report::integer_out_of_range(builder, start, end);
    builder.report(finding);
    Expr::Error
}

/// `1.5e3`
pub(super) fn float(builder: &mut Builder<'_>, start: u32, end: u32) -> Expr {
    let digits = builder.source(start, end);
    let value = digits.parse::<f64>().ok();
    // Nix asks the C library, which calls numbers that lose digits near zero out of range too.
    let mantissa = digits.split(['e', 'E']).next().unwrap_or("");
    let is_zero = mantissa.bytes().all(|byte| matches!(byte, b'0' | b'.'));
    match value {
        Some(value) if value.is_normal() || (is_zero && value == 0.0) => Expr::Float(value),
        _ => {
            let finding = report::float_out_of_range(builder, start, end, value.unwrap_or(0.0));
            builder.report(finding);
            Expr::Error
        }
    }
}

/// `"…"`
pub(super) fn string<'a>(builder: &mut Builder<'a>, input: Tokens<'a>) -> Parsed<'a, ExprId> {
    let start = input.start;
    let open = (start, input.end());
    let from = builder.parts.len();
    let mut input = input.next();
    loop {
        match input.kind() {
            Kind::StringText => {
                let raw = builder.source(input.start, input.end());
                let text = cook::quoted(&mut builder.tree.texts, raw);
                builder.push_text(from, text);
                input = input.next();
            }
            Kind::InterpolationOpen => {
                let (rest, id) = recovery::enclosed(builder, input, Bracket::Brace, expression)?;
                builder.parts.push(Part::Expr(id));
                input = rest;
            }
            Kind::StringClose => {
                input = input.next();
                break;
            }
            _ => {
                unterminated(builder, open, "\"");
                break;
            }
        }
    }
    let expr = finish(builder, from);
    Ok((input, builder.push(expr, start, input.before)))
}

/// Returns the expression of the parts from `from` on.
fn finish(builder: &mut Builder<'_>, from: usize) -> Expr {
    match builder.parts.get(from..) {
        Some(&[Part::Text(text)]) => {
            builder.parts.truncate(from);
            Expr::Text(text)
        }
        Some([]) | None => Expr::Text(empty()),
        Some(_) => Expr::Interpolated(builder.take_parts(from)),
    }
}

/// Reports a string without its end, unless a string inside it was reported: that one took the end.
fn unterminated(builder: &mut Builder<'_>, open: (u32, u32), quotes: &str) {
    if !builder.ate_the_rest {
        let finding = report::unterminated(builder, open, quotes);
        builder.report(finding);
        builder.ate_the_rest = true;
    }
}

fn empty() -> Text {
    Slice::new(0, 0)
}

/// `''…''`
pub(super) fn indented<'a>(builder: &mut Builder<'a>, input: Tokens<'a>) -> Parsed<'a, ExprId> {
    let start = input.start;
    // The opening quotes have the rest of their line with them.
    let open = (start, start.saturating_add(2));
    let mut pieces = Vec::new();
    let mut input = input.next();
    loop {
        match input.kind() {
            Kind::IndentedText => {
                cook::pieces(&mut pieces, builder.source(input.start, input.end()));
                input = input.next();
            }
            Kind::InterpolationOpen => {
                let (rest, id) = recovery::enclosed(builder, input, Bracket::Brace, expression)?;
                pieces.push(Piece::Expr(id));
                input = rest;
            }
            Kind::IndentedClose => {
                input = input.next();
                break;
            }
            _ => {
                unterminated(builder, open, "''");
                break;
            }
        }
    }
    let from = builder.parts.len();
    let left = cook::strip(builder, from, &pieces);
    // As in Nix, `''${"a"}''` is the string in it.
    if let Some(&[Part::Expr(only)]) = builder.parts.get(from..)
        && matches!(builder.tree.expr(only), Expr::Text(_))
    {
        builder.parts.truncate(from);
        return Ok((input, only));
    }
    let expr = finish(builder, from);
    let id = builder.push(expr, start, input.before);
    if left > 1 {
        builder.pieced = Some(id);
    }
    Ok((input, id))
}

/// `./a/${b}/c`
pub(super) fn path<'a>(builder: &mut Builder<'a>, input: Tokens<'a>) -> Parsed<'a, ExprId> {
    let start = input.start;
    let from = builder.parts.len();
    let text = copy(builder, input);
    builder.parts.push(Part::Text(text));
    let mut input = input.next();
    // Nix lets one more piece stand between the beginning and the first `${`, and any number behind
    // it; `/a//b` without any interpolation is refused.
    let (rest, more) = opt(token(Kind::PathText)).parse(input)?;
    if more.is_some() {
        if rest.kind() == Kind::InterpolationOpen && rest.is_adjacent() {
            let text = copy(builder, input);
            builder.push_text(from, text);
        } else {
            let finding = report::double_slash(builder, start, rest.before);
            builder.report(finding);
        }
        input = rest;
    }
    while input.is_adjacent() {
        match input.kind() {
            Kind::InterpolationOpen => {
                let (rest, id) = recovery::enclosed(builder, input, Bracket::Brace, expression)?;
                builder.parts.push(Part::Expr(id));
                input = rest;
            }
            Kind::PathText => {
                let text = copy(builder, input);
                builder.push_text(from, text);
                input = input.next();
            }
            _ => break,
        }
    }
    let parts = builder.take_parts(from);
    Ok((input, builder.push(Expr::Path(parts), start, input.before)))
}

/// Copies a token's characters as they are.
fn copy(builder: &mut Builder<'_>, input: Tokens<'_>) -> Text {
    let raw = builder.source(input.start, input.end());
    let start = builder.tree.texts.len();
    builder.tree.texts.push_str(raw);
    Slice::new(start, builder.tree.texts.len())
}

/// Reports literals that Nix has and manifests have not, and reads them.
pub(super) fn refused<'a>(builder: &mut Builder<'a>, input: Tokens<'a>) -> Parsed<'a, ExprId> {
    let (start, end) = (input.start, input.end());
    let finding = match input.kind() {
        Kind::HomePath => report::home_path(builder, start, end),
        Kind::SearchPath => report::search_path(builder, start, end),
        _ => report::url(builder, start, end),
    };
    builder.report(finding);
    match input.kind() {
        Kind::HomePath => path(builder, input),
        Kind::Uri => {
            let text = copy(builder, input);
            Ok((input.next(), builder.push(Expr::Text(text), start, end)))
        }
        _ => Ok((input.next(), builder.push(Expr::Error, start, end))),
    }
}
