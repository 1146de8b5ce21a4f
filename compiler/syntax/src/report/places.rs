//! Findings about what is missing at a place, and about brackets.

use diag::Diagnostic;
use diag::slugs::syntax as slugs;

use super::found;
use crate::builder::{Bracket, Builder};
use crate::kind::Kind;
use crate::tokens::Tokens;

/// Reports that the brackets or operators inside each other are too many.
pub(crate) fn too_deep(span: diag::Span) -> Diagnostic {
    Diagnostic::error(slugs::NESTING_TOO_DEEP, "expressions are nested too deep")
        .at_labelled(span, format!("level {} begins here", crate::MAX_DEPTH))
        .why("the rest of the file is not read")
        .help("name inner parts with `let`, or put them into files of their own")
}

/// Reports a binding without its `;`; the next thing begins at `input`.
pub(crate) fn missing_semicolon(builder: &Builder<'_>, input: Tokens<'_>) -> Diagnostic {
    let end = builder.span(input.before, input.before);
    Diagnostic::error(slugs::MISSING_SEMICOLON, "this binding has no `;`")
        .at_labelled(end, "expected `;` here")
        .fix(end, ";", "end the binding with `;`")
}

/// Reports `,` behind a binding.
pub(crate) fn comma_for_semicolon(builder: &Builder<'_>, input: Tokens<'_>) -> Diagnostic {
    let span = builder.span(input.start, input.end());
    Diagnostic::error(slugs::MISSING_SEMICOLON, "bindings end with `;`, not with `,`").at(span).fix(
        span,
        ";",
        "write `;` in place of `,`",
    )
}

/// Reports `:` or `==` behind the name of a binding.
pub(crate) fn other_assign(builder: &Builder<'_>, input: Tokens<'_>) -> Diagnostic {
    let span = builder.span(input.start, input.end());
    let found = input.kind().describe();
    Diagnostic::error(slugs::UNEXPECTED_TOKEN, format!("expected `=`, found {found}"))
        .at(span)
        .why("a binding is written `name = value;`")
        .fix(span, "=", format!("write `=` in place of {found}"))
}

/// Reports an `if` without `else`; `start` is where the `if` begins.
pub(crate) fn missing_else(builder: &Builder<'_>, input: Tokens<'_>, start: u32) -> Diagnostic {
    let end = builder.span(input.before, input.before);
    Diagnostic::error(slugs::MISSING_ELSE, "this `if` has no `else`")
        .at_labelled(
            builder.span(start, start.saturating_add(2)),
            "without `else` it has no value when false",
        )
        .label(end, format!("expected `else`, found {}", found(builder, input)))
        .help("give it one, such as `else null` or `else [ ]`")
}

/// Reports a `let` without `in`; `start` is where the `let` begins.
pub(crate) fn missing_in(builder: &Builder<'_>, input: Tokens<'_>, start: u32) -> Diagnostic {
    let end = builder.span(input.before, input.before);
    Diagnostic::error(slugs::MISSING_IN, "this `let` has no `in`")
        .at_labelled(builder.span(start, start.saturating_add(3)), "its bindings have no body")
        .label(end, format!("expected `in`, found {}", found(builder, input)))
        .fix(end, " in", "write `in` between the bindings and the body")
}

/// Reports a bracket that is not closed before something that cannot stand in it.
pub(crate) fn unclosed(
    builder: &Builder<'_>,
    input: Tokens<'_>,
    open: (u32, u32),
    bracket: Bracket,
) -> Diagnostic {
    let opener = builder.source(open.0, open.1);
    let closer = bracket.closer().describe();
    let found = found(builder, input);
    let at = builder.span(input.start, input.end());
    let open = builder.span(open.0, open.1);
    if input.kind() == Kind::End || Bracket::of_closer(input.kind()).is_some() {
        return Diagnostic::error(slugs::UNCLOSED_BRACKET, format!("`{opener}` is never closed"))
            .at_labelled(open, "opened here")
            .label(at, format!("expected {closer}, found {found}"))
            .help(format!("close it with {closer}"));
    }
    let mut finding = Diagnostic::error(slugs::UNCLOSED_BRACKET, format!("expected {closer}, found {found}"))
        .at(at)
        .label(open, format!("to close this `{opener}`"));
    if input.kind() == Kind::Assign && bracket == Bracket::Paren {
        finding =
            finding.help("parentheses hold one expression; to compare, write `==`, to bind, use braces");
    }
    if input.kind() == Kind::Comma {
        finding = finding.help("the language has no tuples; a list is `[ a b ]`");
    }
    finding
}

/// Reports a closer without its opener.
pub(crate) fn unmatched(builder: &Builder<'_>, input: Tokens<'_>) -> Diagnostic {
    let closer = builder.source(input.start, input.end());
    let finding = Diagnostic::error(slugs::UNMATCHED_BRACKET, format!("`{closer}` closes nothing"))
        .at(builder.span(input.start, input.end()));
    match Bracket::of_closer(input.kind()) {
        Some(bracket) => finding.help(format!("remove it, or open it with {}", bracket.describe())),
        None => finding.help("remove it"),
    }
}

/// Reports what stands behind the one expression of a file.
pub(crate) fn leftover(builder: &Builder<'_>, input: Tokens<'_>) -> Diagnostic {
    let found = found(builder, input);
    let finding = Diagnostic::error(
        slugs::UNEXPECTED_TOKEN,
        format!("expected an operator or the end of the file, found {found}"),
    )
    .at(builder.span(input.start, input.end()))
    .why("a file is one expression, and it ends before this");
    match input.kind() {
        Kind::Assign | Kind::Semicolon => finding.help("put bindings into braces: `{ name = value; }`"),
        Kind::Comma => finding.help("several values are a list, `[ a b ]`, or a set, `{ a = 1; b = 2; }`"),
        Kind::In => finding.help("`in` belongs to a `let`: `let name = value; in …`"),
        Kind::Else | Kind::Then => finding.help("it belongs to an `if`: `if … then … else …`"),
        _ => finding,
    }
}

/// Reports a text whose places cannot be counted in 32 bits.
pub(crate) fn too_long(builder: &Builder<'_>) -> Diagnostic {
    Diagnostic::error(slugs::TEXT_TOO_LONG, "the file has 4 GiB or more")
        .at(builder.span(0, 0))
        .why("what comes after that is not read")
}
