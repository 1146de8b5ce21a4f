//! What the grammar does where the text is wrong: says so once, and finds a place to go on.

use nom::Err;

use super::sets::NAME;
use super::{EXPRESSION, expression, fault};
use crate::builder::{Bracket, Builder, CLOSERS};
use crate::kind::{Kind, KindSet};
use crate::report;
use crate::tokens::{Parsed, Tokens};
use crate::tree::{Expr, ExprId};

/// Reads a rule between brackets. Whatever stands there, it gives an expression.
pub(super) fn enclosed<'a>(
    builder: &mut Builder<'a>,
    input: Tokens<'a>,
    bracket: Bracket,
    rule: impl FnOnce(&mut Builder<'a>, Tokens<'a>) -> Parsed<'a, ExprId>,
) -> Parsed<'a, ExprId> {
    let open = (input.start, input.end());
    let mark = builder.mark();
    builder.enter(bracket);
    let parsed = rule(builder, input.next());
    builder.leave(bracket);
    match parsed {
        Ok((rest, id)) if rest.kind() == bracket.closer() => Ok((rest.next(), id)),
        Ok((rest, id)) => Ok((close(builder, rest, open, bracket), id)),
        Err(error) => {
            builder.back_to(mark);
            let fault = fault(error);
            let at = Tokens::at(builder.all, fault.left);
            let rest = if at.kind() == Kind::End {
                // What is missing inside matters less than that the brackets never end.
                close(builder, at, open, bracket)
            } else {
                let at = builder.recover(fault);
                let rest = builder.skip_to(at, KindSet::of(&[Kind::Semicolon]));
                if rest.kind() == bracket.closer() { rest.next() } else { rest }
            };
            Ok((rest, builder.push(Expr::Error, open.0, rest.before)))
        }
    }
}

/// Goes over a closer; where it is missing, says so and looks for it.
pub(super) fn close<'a>(
    builder: &mut Builder<'a>,
    mut input: Tokens<'a>,
    open: (u32, u32),
    bracket: Bracket,
) -> Tokens<'a> {
    // Closers that nothing opened are in the way, no more.
    while let Some(other) = Bracket::of_closer(input.kind())
        && other != bracket
        && !builder.is_open(other)
    {
        let finding = report::unmatched(builder, input);
        builder.report(finding);
        input = input.next();
    }
    if input.kind() == bracket.closer() {
        return input.next();
    }
    if input.kind() == Kind::End && builder.ate_the_rest {
        return input;
    }
    let finding = report::unclosed(builder, input, open, bracket);
    builder.report(finding);
    builder.said_missing_at = input.before;
    // `[ … }` on one line is a slip of the finger; further down, the `}` closes what it should.
    let slip =
        Bracket::of_closer(input.kind()).is_some() && !builder.source(open.0, input.start).contains('\n');
    let rest = builder.skip_to(input, KindSet::of(&[Kind::Semicolon]));
    if rest.kind() == bracket.closer() || (slip && rest.left() == input.left()) { rest.next() } else { rest }
}

/// Returns true where a list surely ends, its closer or not.
pub(super) fn ends_list(builder: &Builder<'_>, input: Tokens<'_>) -> bool {
    match input.kind() {
        Kind::BracketClose | Kind::End => true,
        // A name in front of `=` was a binding: then the list was never closed.
        Kind::Semicolon | Kind::In | Kind::Then | Kind::Else | Kind::Inherit | Kind::Assign => true,
        kind => Bracket::of_closer(kind).is_some_and(|bracket| builder.is_open(bracket)),
    }
}

/// Goes over what can be no binding.
pub(super) fn no_binding<'a>(builder: &mut Builder<'a>, input: Tokens<'a>, end: Kind) -> Parsed<'a, ()> {
    let kind = input.kind();
    if let Some(bracket) = Bracket::of_closer(kind) {
        if builder.is_open(bracket) || end == Kind::In {
            // It closes something further out.
            return Err(Err::Error(input.fault(KindSet::of(&[end]))));
        }
        let finding = report::unmatched(builder, input);
        builder.report(finding);
        return Ok((input.next(), ()));
    }
    if end == Kind::In && EXPRESSION.has(kind) {
        // The body of a `let` whose `in` is missing.
        return Err(Err::Error(input.fault(KindSet::of(&[end]))));
    }
    let finding = report::unexpected(builder, input, NAME.or(KindSet::of(&[Kind::Inherit, end])));
    builder.report(finding);
    let mut stop = KindSet::of(&[Kind::Semicolon]);
    if end == Kind::In {
        stop = stop.or(KindSet::of(&[Kind::In]));
    }
    let rest = builder.skip_to(input, stop);
    let rest = if rest.kind() == Kind::Semicolon { rest.next() } else { rest };
    Ok((if rest.left() < input.left() { rest } else { input.next() }, ()))
}

/// Returns true if a name behind the bindings of a `let` begins its body, the `in` being forgotten:
/// neither `=` nor `.` nor `:` follows, and it stands on a line of its own.
pub(super) fn is_body(builder: &Builder<'_>, input: Tokens<'_>) -> bool {
    let fresh = builder.source(input.before, input.start).contains('\n');
    let next = input.next().kind();
    let quiet = !matches!(
        next,
        Kind::Assign
            | Kind::Dot
            | Kind::Colon
            | Kind::Equal
            | Kind::Comma
            | Kind::StringText
            | Kind::StringClose
    );
    let plain = matches!(input.kind(), Kind::Identifier);
    plain && quiet && (fresh || next == Kind::End)
}

/// Returns the place where a value may begin although its `=` is missing.
pub(super) fn no_assign<'a>(
    builder: &mut Builder<'a>,
    input: Tokens<'a>,
) -> Result<Tokens<'a>, Err<crate::tokens::Fault>> {
    if matches!(input.kind(), Kind::Colon | Kind::Equal) {
        let finding = report::other_assign(builder, input);
        builder.report(finding);
        return Ok(input.next());
    }
    Err(Err::Failure(input.fault(KindSet::of(&[Kind::Assign, Kind::Dot]))))
}

/// Returns the place where the next binding begins although the `;` before it is missing.
pub(super) fn no_semicolon<'a>(
    builder: &mut Builder<'a>,
    value: Tokens<'a>,
    input: Tokens<'a>,
) -> Result<Tokens<'a>, Err<crate::tokens::Fault>> {
    match input.kind() {
        Kind::Comma => {
            let finding = report::comma_for_semicolon(builder, input);
            builder.report(finding);
            Ok(input.next())
        }
        Kind::Assign => {
            let Some(name) = swallowed_name(builder, value, input) else {
                return Err(Err::Failure(input.fault(KindSet::of(&[Kind::Semicolon]))));
            };
            let finding = report::missing_semicolon(builder, name);
            builder.report(finding);
            Ok(name)
        }
        // A set or a string that does not end is reported there.
        Kind::End => Ok(input),
        kind if CLOSERS.has(kind) || NAME.has(kind) || matches!(kind, Kind::In | Kind::Inherit) => {
            if builder.said_missing_at != input.before {
                let finding = report::missing_semicolon(builder, input);
                builder.report(finding);
            }
            Ok(input)
        }
        _ => Err(Err::Failure(input.fault(KindSet::of(&[Kind::Semicolon])))),
    }
}

/// In `a = f b = 1;`, finds the `b` that was read as an argument: the path in front of the second `=`.
fn swallowed_name<'a>(builder: &Builder<'a>, value: Tokens<'a>, assign: Tokens<'a>) -> Option<Tokens<'a>> {
    let all = builder.all;
    let first = all.len().checked_sub(value.left())?;
    let before = |index: usize| {
        let known = all.get(first..index)?;
        known.iter().rposition(|token| !token.kind.is_trivia()).map(|at| at + first)
    };
    let kind = |index: usize| all.get(index).map(|token| token.kind);
    let mut name = before(all.len().checked_sub(assign.left())?)?;
    loop {
        match kind(name)? {
            Kind::Identifier | Kind::Or => {}
            Kind::StringClose => {
                let open = before(name)?;
                name = if kind(open)? == Kind::StringOpen { open } else { before(open)? };
                if kind(name)? != Kind::StringOpen {
                    return None;
                }
            }
            _ => return None,
        }
        match before(name) {
            Some(dot) if kind(dot)? == Kind::Dot => name = before(dot)?,
            // Without anything in front of it, it is no argument but the value: `a = b = 1;`.
            Some(_) => return Some(Tokens::at(all, all.len() - name)),
            None => return None,
        }
    }
}

/// Reports what stands behind the expression of a file.
pub(super) fn leftover<'a>(builder: &mut Builder<'a>, mut input: Tokens<'a>, root: ExprId) -> ExprId {
    while input.kind() != Kind::End && !builder.stopped {
        let at = input;
        if CLOSERS.has(at.kind()) {
            let finding = report::unmatched(builder, at);
            builder.report(finding);
            let next = at.next();
            if next.kind() == Kind::End {
                break;
            }
            // What follows may have errors of its own.
            let mark = builder.mark();
            match expression(builder, next) {
                Ok((rest, _)) => input = rest,
                Err(_) => {
                    builder.back_to(mark);
                    break;
                }
            }
            continue;
        }
        if !builder.diagnostics.has_errors() {
            let finding = report::leftover(builder, at);
            builder.report(finding);
        }
        break;
    }
    root
}
