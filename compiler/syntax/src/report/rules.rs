//! Findings about what reads well and is not allowed.

use diag::Diagnostic;
use diag::slugs::syntax as slugs;

use super::found;
use crate::builder::Builder;
use crate::kind::Kind;
use crate::tokens::Tokens;
use crate::tree::{Binary, Binding, DynamicBinding, Name, Spanned};

/// Reports `a == b == c`; `first` is the first operator, `second` the place of the second.
pub(crate) fn chained(
    builder: &Builder<'_>,
    operator: Binary,
    first: (u32, u32),
    second: Tokens<'_>,
) -> Diagnostic {
    let kind = second.kind();
    let sign = builder.source(second.start, second.end());
    let same = matches!(operator, Binary::Equal | Binary::NotEqual);
    let finding =
        Diagnostic::error(slugs::CHAINED_COMPARISON, format!("`{sign}` cannot follow another comparison"))
            .at(builder.span(second.start, second.end()))
            .label(builder.span(first.0, first.1), "the comparison before it")
            .why("comparisons have no order among themselves, so two of them need parentheses");
    if same || matches!(kind, Kind::Equal | Kind::NotEqual) {
        finding.help("write `(a == b) == c`, or `a == b && b == c` if all three shall be equal")
    } else {
        finding.help("write `a < b && b < c`")
    }
}

/// Reports `if`, `let`, `with` or `assert` where an operand stands, from `input` to `rest`.
pub(crate) fn needs_parentheses(builder: &Builder<'_>, input: Tokens<'_>, rest: Tokens<'_>) -> Diagnostic {
    let word = builder.source(input.start, input.end());
    let before = builder.span(input.start, input.start);
    let behind = builder.span(rest.before, rest.before);
    let mut finding = Diagnostic::error(slugs::NEEDS_PARENTHESES, format!("`{word}` needs parentheses here"))
        .at(builder.span(input.start, input.end()))
        .why(format!(
            "`{word}` reaches as far as it can, so it cannot be an operand, an argument or an element"
        ))
        .fix(before, "(", "put it into parentheses");
    finding.fixes.push(diag::Fix { span: behind, text: ")".to_owned(), help: 0 });
    finding
}

/// Reports `a + x: y`: the function from the name before `colon` up to `rest` needs parentheses.
pub(crate) fn bare_function(builder: &Builder<'_>, colon: Tokens<'_>, rest: Tokens<'_>) -> Diagnostic {
    let text = builder.source(0, colon.before);
    let other = text.char_indices().rfind(|&(_, c)| !(c.is_ascii_alphanumeric() || "_-'".contains(c)));
    let name = other.map_or(0, |(at, c)| at + c.len_utf8());
    let start = u32::try_from(name).unwrap_or(colon.before);
    let mut finding = Diagnostic::error(slugs::NEEDS_PARENTHESES, "a function needs parentheses here")
        .at(builder.span(start, colon.end()))
        .why("a function reaches as far as it can, so it cannot be an operand or an argument")
        .fix(builder.span(start, start), "(", "put it into parentheses");
    let behind = builder.span(rest.before, rest.before);
    finding.fixes.push(diag::Fix { span: behind, text: ")".to_owned(), help: 0 });
    finding
}

/// Reports `|>` and `<|`.
pub(crate) fn pipe(builder: &Builder<'_>, input: Tokens<'_>) -> Diagnostic {
    let sign = builder.source(input.start, input.end());
    let help = if input.kind() == Kind::PipeInto {
        "write `f a` for `a |> f`"
    } else {
        "write `f (a b)` for `f <| a b`"
    };
    Diagnostic::error(slugs::PIPE_OPERATOR, format!("the pipe operator `{sign}` is not part of the language"))
        .at(builder.span(input.start, input.end()))
        .why("Nix has it as an experimental feature, which is off by default")
        .help(help)
}

/// Warns of `or` read as a variable.
pub(crate) fn or_as_name(builder: &Builder<'_>, input: Tokens<'_>) -> Diagnostic {
    Diagnostic::warning(slugs::OR_AS_NAME, "`or` is read as a variable here")
        .at(builder.span(input.start, input.end()))
        .why("only behind a selection, as in `set.name or default`, does `or` give a default")
        .help("select something before it, or rename the variable")
}

/// Reports what can be no element of a list.
pub(crate) fn in_list(builder: &Builder<'_>, input: Tokens<'_>) -> Diagnostic {
    let span = builder.span(input.start, input.end());
    let found = found(builder, input);
    if input.kind() == Kind::Comma {
        return Diagnostic::error(slugs::LIST_SEPARATOR, "elements of a list are separated by spaces")
            .at_labelled(span, "not by commas")
            .fix(span, "", "remove the comma");
    }
    let finding =
        Diagnostic::error(slugs::UNEXPECTED_TOKEN, format!("expected an element or `]`, found {found}"))
            .at(span);
    match input.kind() {
        Kind::Minus => finding.help("a negative number in a list needs parentheses: `[ (-1) ]`"),
        Kind::Colon => finding.help("a function in a list needs parentheses: `[ (x: x) ]`"),
        Kind::InterpolationOpen => finding.help("`${…}` stands in strings and in names only"),
        kind if !kind.is_keyword() => finding.help("an operation in a list needs parentheses: `[ (a + b) ]`"),
        _ => finding,
    }
}

/// Reports `let { … }`.
pub(crate) fn legacy_let(builder: &Builder<'_>, input: Tokens<'_>) -> Diagnostic {
    Diagnostic::error(slugs::LEGACY_LET, "`let { … }` is not part of the language")
        .at(builder.span(input.start, input.next().end()))
        .why("it is an old form of Nix that means `(rec { … }).body`")
        .help("write `let … in body`")
}

/// Reports names behind `...`.
pub(crate) fn ellipsis_not_last(builder: &Builder<'_>, comma: Tokens<'_>) -> Diagnostic {
    Diagnostic::error(slugs::ELLIPSIS_NOT_LAST, "`...` must be the last of a pattern")
        .at_labelled(builder.span(comma.start, comma.end()), "expected `}` here")
        .help("move `...` to the end")
}

/// Reports an argument that a pattern names twice.
pub(crate) fn duplicate_argument(builder: &Builder<'_>, name: Spanned, first: Option<Spanned>) -> Diagnostic {
    let word = builder.names.resolve(name.name);
    let finding =
        Diagnostic::error(slugs::DUPLICATE_ARGUMENT, format!("the argument `{word}` is there already"))
            .at(builder.span(name.start, name.end))
            .help("remove one of them, or rename it");
    match first {
        Some(first) => finding.label(builder.span(first.start, first.end), "first here"),
        None => finding,
    }
}

/// Reports `inherit ${…};`.
pub(crate) fn dynamic_inherit(builder: &Builder<'_>, name: Name) -> Diagnostic {
    Diagnostic::error(slugs::DYNAMIC_NAME, "`inherit` cannot take a computed name")
        .at(builder.span(name.start, name.end))
        .why("names in `inherit` are known before anything is evaluated")
        .help("write `${name} = set.${name};`")
}

/// Reports `let ${…} = …`.
pub(crate) fn dynamic_let(builder: &Builder<'_>, binding: DynamicBinding) -> Diagnostic {
    Diagnostic::error(slugs::DYNAMIC_NAME, "`let` cannot bind a computed name")
        .at(builder.span(binding.start, binding.end))
        .why("variables are known before anything is evaluated")
        .help("bind a set with that attribute, and select from it: `let set = { ${name} = value; }; in …`")
}

/// Reports an attribute that is defined twice; `path` leads to it.
pub(crate) fn duplicate_attribute(
    builder: &Builder<'_>,
    path: &[Name],
    first: Option<Binding>,
) -> Diagnostic {
    let written: Vec<&str> = path
        .iter()
        .map(|name| match name.kind {
            crate::tree::NameKind::Static(symbol) => builder.names.resolve(symbol),
            crate::tree::NameKind::Dynamic(_) => builder.source(name.start, name.end),
        })
        .collect();
    let at = path.last().map_or((0, 0), |name| (name.start, name.end));
    let finding = Diagnostic::error(
        slugs::DUPLICATE_ATTRIBUTE,
        format!("the attribute `{}` is defined already", written.join(".")),
    )
    .at(builder.span(at.0, at.1));
    match first {
        Some(first) => finding
            .label(builder.span(first.start, first.end), "first here")
            .help("remove one of the definitions; only sets written in full are joined"),
        None => finding,
    }
}
