//! What is said about a text that does not parse: one function a finding.

mod literals;
mod places;
mod rules;

pub(crate) use literals::*;
pub(crate) use places::*;
pub(crate) use rules::*;

use diag::Diagnostic;
use diag::slugs::syntax as slugs;

use crate::builder::{Bracket, Builder};
use crate::grammar::EXPRESSION;
use crate::kind::{Kind, KindSet};
use crate::tokens::Tokens;

/// Reports a token that no rule takes, with what could have stood there.
pub(crate) fn unexpected(builder: &Builder<'_>, input: Tokens<'_>, expected: KindSet) -> Diagnostic {
    let kind = input.kind();
    let span = builder.span(input.start, input.end());
    if kind == Kind::End && input.before == 0 {
        return Diagnostic::error(slugs::EMPTY_FILE, "the file has no expression")
            .at(span)
            .why("a file is one expression, and this one has nothing but spaces and comments")
            .help("write `{ }` for an empty set");
    }
    if kind.is_keyword() && expected.has(Kind::Identifier) && !expected.has(Kind::Integer) {
        let word = builder.source(input.start, input.end());
        return Diagnostic::error(slugs::KEYWORD_AS_NAME, format!("`{word}` is a reserved word"))
            .at_labelled(span, format!("expected {}", describe(expected)))
            .help(format!(
                "choose another name, or write it in quotes where it names an attribute: `\"{word}\"`"
            ));
    }
    let found = found(builder, input);
    let message = if expected == KindSet::default() {
        format!("unexpected {found}")
    } else {
        format!("expected {}, found {found}", describe(expected))
    };
    let mut finding = Diagnostic::error(slugs::UNEXPECTED_TOKEN, message).at(span);
    if expected.has(Kind::Integer) && Bracket::of_closer(kind).is_none() {
        finding = match kind {
            Kind::Equal | Kind::Assign => finding.help("a set of bindings needs braces: `{ name = value; }`"),
            Kind::Or => finding
                .help("`or` is a reserved word; it gives the default of a selection: `set.name or default`"),
            Kind::AndAnd | Kind::OrOr => finding,
            Kind::Comma => finding.help("list elements are separated by spaces, bindings by `;`"),
            _ => finding,
        };
    }
    if kind == Kind::Assign && expected.has(Kind::Semicolon) {
        finding = finding.help("a binding has one `=`; to compare two values, write `==`");
    }
    if expected.has(Kind::Assign) && matches!(kind, Kind::Semicolon | Kind::BraceClose) {
        finding = finding.help("to take a variable of that name from around the set, write `inherit name;`");
    }
    finding
}

/// Returns what stands at a place, for messages.
pub(crate) fn found(builder: &Builder<'_>, input: Tokens<'_>) -> String {
    let text = builder.source(input.start, input.end());
    match input.kind() {
        Kind::Identifier | Kind::Integer | Kind::Float | Kind::Path | Kind::Uri
            if text.chars().count() <= 40 =>
        {
            format!("`{text}`")
        }
        kind => kind.describe().to_owned(),
    }
}

/// Returns a set of kinds as people list them: "a name, `;` or `}`".
fn describe(mut expected: KindSet) -> String {
    let mut words: Vec<&str> = Vec::new();
    if EXPRESSION.is_within(expected) {
        words.push("an expression");
        expected = expected.without(EXPRESSION);
    }
    for kind in expected.kinds() {
        let word = kind.describe();
        if !words.contains(&word) {
            words.push(word);
        }
    }
    match words.split_last() {
        None => "something else".to_owned(),
        Some((last, [])) => (*last).to_owned(),
        Some((last, rest)) => format!("{} or {last}", rest.join(", ")),
    }
}
