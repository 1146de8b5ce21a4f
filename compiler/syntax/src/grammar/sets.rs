//! Attribute sets, `let` and the bindings in both.

use nom::combinator::cut;
use nom::multi::many0_count;
use nom::sequence::preceded;
use nom::{Err, Parser};

use super::{expression, fault, recovery, strings};
use crate::builder::{Bracket, Builder};
use crate::kind::{Kind, KindSet};
use crate::merge::{self, Entry};
use crate::report;
use crate::tokens::{Parsed, Tokens, token};
use crate::tree::{AttrPathId, Expr, ExprId, Name, NameKind, Spanned};

/// What begins a name of an attribute.
pub(super) const NAME: KindSet =
    KindSet::of(&[Kind::Identifier, Kind::Or, Kind::StringOpen, Kind::InterpolationOpen]);

/// `{ … }` or `rec { … }`
pub(super) fn set<'a>(builder: &mut Builder<'a>, input: Tokens<'a>, recursive: bool) -> Parsed<'a, ExprId> {
    let start = input.start;
    // `let {` comes here as well as `rec {`.
    let input = if input.kind() == Kind::BraceOpen { input } else { input.next() };
    let open = (input.start, input.end());
    let (input, _) = cut(token(Kind::BraceOpen)).parse(input)?;
    let scope = merge::Scope::begin(builder, recursive);
    builder.enter(Bracket::Brace);
    let (input, _) = many0_count(|input| binding_or_skip(builder, input, Kind::BraceClose)).parse(input)?;
    builder.leave(Bracket::Brace);
    let input = recovery::close(builder, input, open, Bracket::Brace);
    let set = merge::finish(builder, scope);
    Ok((input, builder.push(Expr::Attrs(set), start, input.before)))
}

/// `let … in body`
pub(super) fn let_in<'a>(builder: &mut Builder<'a>, input: Tokens<'a>) -> Parsed<'a, ExprId> {
    let start = input.start;
    let scope = merge::Scope::begin(builder, true);
    let (input, _) = many0_count(|input| binding_or_skip(builder, input, Kind::In)).parse(input.next())?;
    let set = merge::finish(builder, scope);
    merge::refuse_dynamic(builder, set);
    let input = if input.kind() == Kind::In {
        input.next()
    } else {
        if !(input.kind() == Kind::End && builder.ate_the_rest) {
            let finding = report::missing_in(builder, input, start);
            builder.report(finding);
        }
        builder.said_missing_at = input.before;
        if matches!(input.kind(), Kind::End | Kind::Semicolon) || crate::builder::CLOSERS.has(input.kind()) {
            let body = builder.push(Expr::Error, input.before, input.before);
            return Ok((input, builder.push(Expr::Let { set, body }, start, input.before)));
        }
        input
    };
    let (input, body) = cut(|input| expression(builder, input)).parse(input)?;
    Ok((input, builder.push(Expr::Let { set, body }, start, input.before)))
}

/// Reads one binding; where there is none, says why and goes to the next. Fails at the end only.
fn binding_or_skip<'a>(builder: &mut Builder<'a>, input: Tokens<'a>, end: Kind) -> Parsed<'a, ()> {
    let kind = input.kind();
    if kind == end || kind == Kind::End {
        return Err(Err::Error(input.fault(KindSet::of(&[end]))));
    }
    let mark = builder.mark();
    let parsed = if kind == Kind::Inherit {
        inherit(builder, input)
    } else if !NAME.has(kind) {
        return recovery::no_binding(builder, input, end);
    } else if end == Kind::In && recovery::is_body(builder, input) {
        // The body of a `let` whose `in` is missing.
        return Err(Err::Error(input.fault(KindSet::of(&[end]))));
    } else {
        binding(builder, input)
    };
    match parsed {
        Ok(parsed) => Ok(parsed),
        Err(error) => {
            builder.back_to(mark);
            let at = builder.recover(fault(error));
            let stop = KindSet::of(&[Kind::Semicolon]).or(if end == Kind::In {
                KindSet::of(&[Kind::In])
            } else {
                KindSet::default()
            });
            let rest = builder.skip_to(at, stop);
            let rest = if rest.kind() == Kind::Semicolon { rest.next() } else { rest };
            Ok((if rest.left() < input.left() { rest } else { input.next() }, ()))
        }
    }
}

/// `path = value;`
#[inline]
fn binding<'a>(builder: &mut Builder<'a>, input: Tokens<'a>) -> Parsed<'a, ()> {
    let from = builder.path.len();
    let (input, _) = names(builder, input)?;
    let input =
        if input.kind() == Kind::Assign { input.next() } else { recovery::no_assign(builder, input)? };
    let value_at = input;
    // Each further name of the path is a set around the value.
    let inside = u32::try_from(builder.path.len() - from - 1).unwrap_or(u32::MAX);
    builder.depth = builder.depth.saturating_add(inside);
    let parsed = cut(|input| expression(builder, input)).parse(input);
    builder.depth -= inside;
    let (input, value) = parsed?;
    merge::push_binding(builder, from, value);
    if input.kind() == Kind::Semicolon {
        return Ok((input.next(), ()));
    }
    Ok((recovery::no_semicolon(builder, value_at, input)?, ()))
}

/// `inherit a b;` or `inherit (source) a b;`
fn inherit<'a>(builder: &mut Builder<'a>, input: Tokens<'a>) -> Parsed<'a, ()> {
    let input = input.next();
    let (input, source) = if input.kind() == Kind::ParenOpen {
        let (input, source) = recovery::enclosed(builder, input, Bracket::Paren, expression)?;
        (input, Some(merge::push_source(builder, source)))
    } else {
        (input, None)
    };
    let names_at = input;
    let (input, _) = many0_count(|input| inherited(builder, input, source)).parse(input)?;
    if input.kind() == Kind::Semicolon {
        return Ok((input.next(), ()));
    }
    if input.kind().is_keyword() && !matches!(input.kind(), Kind::In | Kind::Inherit) {
        return Err(Err::Failure(input.fault(NAME.or(KindSet::of(&[Kind::Semicolon])))));
    }
    let rest = recovery::no_semicolon(builder, names_at, input)?;
    if rest.left() > input.left() {
        // The last name was the next binding's.
        builder.entries.pop();
    }
    Ok((rest, ()))
}

/// Reads one name behind `inherit`.
fn inherited<'a>(builder: &mut Builder<'a>, input: Tokens<'a>, source: Option<u32>) -> Parsed<'a, ()> {
    let (input, name) = name(builder, input)?;
    match name.kind {
        NameKind::Static(symbol) => {
            let name = Spanned { name: symbol, start: name.start, end: name.end };
            builder.entries.push(match source {
                Some(source) => Entry::InheritFrom { name, source },
                None => Entry::Inherit { name },
            });
        }
        NameKind::Dynamic(_) => {
            let finding = report::dynamic_inherit(builder, name);
            builder.report(finding);
        }
    }
    Ok((input, ()))
}

/// Reads the path behind a `.` or `?` into the tree.
pub(super) fn attr_path<'a>(builder: &mut Builder<'a>, input: Tokens<'a>) -> Parsed<'a, AttrPathId> {
    let from = builder.path.len();
    let (input, ()) = names(builder, input)?;
    Ok((input, builder.take_path(from)))
}

/// Reads `a.b.c` onto the builder's stack of names.
#[inline]
fn names<'a>(builder: &mut Builder<'a>, input: Tokens<'a>) -> Parsed<'a, ()> {
    let (input, first) = name(builder, input)?;
    builder.path.push(first);
    if input.kind() != Kind::Dot {
        return Ok((input, ()));
    }
    let (input, _) = many0_count(preceded(
        token(Kind::Dot),
        cut(|input| {
            let (input, name) = name(builder, input)?;
            builder.path.push(name);
            Ok((input, ()))
        }),
    ))
    .parse(input)?;
    Ok((input, ()))
}

/// Reads one name: `a`, `"a"`, `"a${b}"` or `${b}`.
#[inline]
fn name<'a>(builder: &mut Builder<'a>, input: Tokens<'a>) -> Parsed<'a, Name> {
    let (start, end) = (input.start, input.end());
    match input.kind() {
        Kind::Identifier | Kind::Or => {
            let kind = NameKind::Static(builder.symbol(start, end));
            Ok((input.next(), Name { kind, start, end }))
        }
        Kind::StringOpen => {
            let (input, id) = strings::string(builder, input)?;
            Ok((input, computed(builder, id, start, input.before)))
        }
        Kind::InterpolationOpen => {
            let (input, id) = recovery::enclosed(builder, input, Bracket::Brace, expression)?;
            Ok((input, computed(builder, id, start, input.before)))
        }
        _ => Err(Err::Error(input.fault(NAME))),
    }
}

/// Returns the name that an expression gives: known now if it is a string without interpolation.
fn computed(builder: &mut Builder<'_>, id: ExprId, start: u32, end: u32) -> Name {
    let kind = match builder.tree.expr(id) {
        Expr::Text(text) if builder.pieced != Some(id) => {
            NameKind::Static(builder.names.intern(builder.tree.text(text)))
        }
        _ => NameKind::Dynamic(id),
    };
    Name { kind, start, end }
}
