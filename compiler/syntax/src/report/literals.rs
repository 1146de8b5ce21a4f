//! Findings about literals and characters.

use diag::Diagnostic;
use diag::slugs::syntax as slugs;

use crate::builder::Builder;
use crate::lex::{LexFault, LexFaultKind};

/// Reports what the lexer found.
pub(crate) fn lexical(builder: &Builder<'_>, fault: LexFault) -> Diagnostic {
    let span = builder.span(fault.start, fault.end);
    match fault.kind {
        LexFaultKind::UnknownCharacter => unknown_character(builder, fault),
        LexFaultKind::UnclosedComment => {
            Diagnostic::error(slugs::UNTERMINATED_COMMENT, "this comment never ends")
                .at(span)
                .help("end it with `*/`; comments do not nest")
        }
        LexFaultKind::TrailingSlash => Diagnostic::error(slugs::PATH_SLASH, "a path cannot end with `/`")
            .at(span)
            .fix(builder.span(fault.end.saturating_sub(1), fault.end), "", "remove the last `/`"),
        LexFaultKind::LoneCarriageReturn => {
            Diagnostic::warning(slugs::LONE_CARRIAGE_RETURN, "a carriage return ends this comment")
                .at(span)
                .why("most editors show what follows as part of the comment, but it is code")
                .help("remove the carriage return, or end the line with a line feed")
        }
    }
}

fn unknown_character(builder: &Builder<'_>, fault: LexFault) -> Diagnostic {
    let text = builder.source(fault.start, fault.end);
    let shown = match text.chars().next() {
        Some(character) if character.is_control() || character.is_whitespace() || is_invisible(character) => {
            format!("the character U+{:04X}", u32::from(character))
        }
        _ => format!("the character `{text}`"),
    };
    let finding = Diagnostic::error(slugs::UNKNOWN_CHARACTER, format!("{shown} has no meaning here"))
        .at(builder.span(fault.start, fault.end));
    match text {
        "&" => finding.help("the operator is `&&`"),
        "|" => finding.help("the operator is `||`"),
        "'" | "`" | "\u{201c}" | "\u{201d}" | "\u{2018}" | "\u{2019}" => {
            finding.help("strings stand in `\"…\"`, or in `''…''` over several lines")
        }
        "%" => finding.help("there is no remainder operator; `a - b * (a / b)` is the remainder of integers"),
        "^" => finding.help("there is no power operator"),
        "$" => finding.help("an interpolation is `${…}`, and stands in strings and in names only"),
        "\\" => finding.help("a function is `name: body`"),
        "~" => finding.help("there is no path to the home directory; write a path relative to this file"),
        "\u{feff}" => finding.help("save the file without a byte order mark"),
        "\u{a0}" => finding.help("write an ordinary space"),
        _ => finding,
    }
}

/// Returns true for characters that leave no mark, such as a zero-width space.
fn is_invisible(character: char) -> bool {
    matches!(character, '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}')
}

/// Reports an integer that does not fit 64 bits.
pub(crate) fn integer_out_of_range(builder: &Builder<'_>, start: u32, end: u32) -> Diagnostic {
    Diagnostic::error(slugs::NUMBER_OUT_OF_RANGE, "this integer is too large")
        .at(builder.span(start, end))
        .why("integers have 64 bits, so the largest is 9223372036854775807")
        .help("write it as a number with a fraction, such as `1.0e19`, if it need not be exact")
}

/// Reports a number whose exponent does not fit.
pub(crate) fn float_out_of_range(builder: &Builder<'_>, start: u32, end: u32, value: f64) -> Diagnostic {
    let what = if value.is_infinite() { "large" } else { "small" };
    Diagnostic::error(slugs::NUMBER_OUT_OF_RANGE, format!("this number is too {what}"))
        .at(builder.span(start, end))
        .why("numbers with a fraction reach from about 2.2e-308 to 1.8e308")
}

/// Reports a string without its end.
pub(crate) fn unterminated(builder: &Builder<'_>, open: (u32, u32), quotes: &str) -> Diagnostic {
    Diagnostic::error(slugs::UNTERMINATED_STRING, "this string never ends")
        .at_labelled(builder.span(open.0, open.1), "begins here")
        .help(format!("end it with `{quotes}`"))
}

/// Reports `a//b` read as a path.
pub(crate) fn double_slash(builder: &Builder<'_>, start: u32, end: u32) -> Diagnostic {
    Diagnostic::error(slugs::PATH_SLASH, "a path cannot have `//` in it")
        .at(builder.span(start, end))
        .help("write one `/`; if `//` is to join two sets, put spaces around it")
}

/// Reports `~/a`.
pub(crate) fn home_path(builder: &Builder<'_>, start: u32, end: u32) -> Diagnostic {
    Diagnostic::error(slugs::HOME_PATH, "paths in the home directory are not part of the language")
        .at(builder.span(start, end))
        .why("a manifest means the same on every machine, so it names files beside it only")
        .help("write a path relative to this file, such as `./lib.nix`")
}

/// Reports `<a>`.
pub(crate) fn search_path(builder: &Builder<'_>, start: u32, end: u32) -> Diagnostic {
    Diagnostic::error(slugs::SEARCH_PATH, "search paths are not part of the language")
        .at(builder.span(start, end))
        .why("`<…>` is looked up in the environment, and a manifest means the same on every machine")
        .help("write a path relative to this file; to compare, put spaces around `<` and `>`")
}

/// Reports `a:b`.
pub(crate) fn url(builder: &Builder<'_>, start: u32, end: u32) -> Diagnostic {
    let text = builder.source(start, end);
    let span = builder.span(start, end);
    let finding = Diagnostic::error(slugs::URL_LITERAL, format!("`{text}` is read as a URL")).at(span);
    let (scheme, rest) = text.split_once(':').unwrap_or((text, ""));
    if !rest.starts_with("//") && !scheme.contains(['+', '.']) {
        let fixed = format!("{scheme}: {rest}");
        return finding
            .why("a name, a colon and a character without a space between them are a URL to Nix")
            .fix(span, fixed.clone(), format!("write `{fixed}` for a function"));
    }
    finding.why("URLs without quotes are deprecated in Nix, and left out here").fix(
        span,
        format!("\"{text}\""),
        "put it into quotes",
    )
}
