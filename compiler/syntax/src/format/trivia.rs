//! Comments and empty lines between tokens, in the shape in which they are printed.

/// What stands between two tokens, spaces left out.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Trivium {
    /// One empty line or more.
    EmptyLine,
    /// The characters behind `#`, up to the end of the line.
    Line(String),
    /// The lines of `/* … */` or `/** … */`, without the indentation that they share.
    Block { doc: bool, lines: Vec<String> },
    /// `/* bash */` right before a string on the same line, by which editors highlight it.
    Language(String),
}

/// Trivia as they are read: positions still matter.
enum Raw {
    Newlines(usize),
    Line { text: String, column: usize },
    Block { doc: bool, lines: Vec<String> },
    Language(String),
}

impl Raw {
    /// Returns true for a comment that stays on the line of the token before it.
    fn is_trailing(&self) -> bool {
        match self {
            Self::Line { .. } => true,
            Self::Block { doc, lines } => !doc && lines.len() <= 1,
            _ => false,
        }
    }
}

/// Returns all that leads to the next token, for places where nothing can stay with the token before.
pub(super) fn leading_only(text: &str, column: usize, string_next: bool) -> Vec<Trivium> {
    leading(read(text, column, string_next))
}

/// Splits the characters between two tokens into the comment that stays with the token before and
/// what leads to the next. `column` is where the characters begin; `next_column` where the next token
/// does; `string_next` tells that it is a string.
pub(super) fn split(
    text: &str,
    column: usize,
    next_column: usize,
    string_next: bool,
) -> (Option<String>, Vec<Trivium>) {
    let raw = read(text, column, string_next);
    let trailing = raw.iter().take_while(|trivium| trivium.is_trailing()).count();
    // A comment behind `{` that begins a block of comments, or that is above the first item, belongs
    // to what follows.
    let is_block = match raw.as_slice() {
        [Raw::Line { column, .. }, Raw::Newlines(1), Raw::Line { column: next, .. }, ..] => column == next,
        [Raw::Line { column, .. }, Raw::Newlines(1)] => *column == next_column,
        _ => false,
    };
    if is_block {
        return (None, leading(raw));
    }
    let mut raw = raw;
    let rest = raw.split_off(trailing);
    let words: Vec<String> = raw
        .iter()
        .filter_map(|trivium| match trivium {
            Raw::Line { text, .. } => Some(text.trim().to_owned()),
            Raw::Block { lines, .. } => lines.first().map(|line| line.trim().to_owned()),
            _ => None,
        })
        .filter(|words| !words.is_empty())
        .collect();
    ((!words.is_empty()).then(|| words.join(" ")), leading(rest))
}

fn leading(raw: Vec<Raw>) -> Vec<Trivium> {
    let mut trivia = Vec::new();
    for trivium in raw {
        match trivium {
            Raw::Newlines(count) if count > 1 => trivia.push(Trivium::EmptyLine),
            Raw::Newlines(_) => {}
            Raw::Line { text, .. } => trivia.push(Trivium::Line(text)),
            Raw::Block { doc, lines } => match lines.as_slice() {
                [] => {}
                [line] if !doc => trivia.push(Trivium::Line(format!(" {}", line.trim()))),
                _ => trivia.push(Trivium::Block { doc, lines }),
            },
            Raw::Language(language) => trivia.push(Trivium::Language(language)),
        }
    }
    trivia
}

fn read(text: &str, mut column: usize, string_next: bool) -> Vec<Raw> {
    let mut raw = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let length = match first {
            '\n' | '\r' => {
                let length = rest.find(|c: char| !c.is_ascii_whitespace()).unwrap_or(rest.len());
                let blank = rest.get(..length).unwrap_or("");
                raw.push(Raw::Newlines(newlines(blank)));
                let last = blank.rfind(['\n', '\r']).map_or(0, |at| at + 1);
                column = blank.len() - last;
                rest = rest.get(length..).unwrap_or("");
                continue;
            }
            '#' => {
                let length = rest.find(['\n', '\r']).unwrap_or(rest.len());
                let comment = rest.get(1..length).unwrap_or("");
                raw.push(Raw::Line { text: comment.trim_end().to_owned(), column });
                length
            }
            '/' => {
                let length = rest.get(2..).and_then(|inner| inner.find("*/")).map_or(rest.len(), |at| at + 4);
                let comment = rest.get(..length).unwrap_or(rest);
                let behind = rest.get(length..).unwrap_or("");
                match language(comment, behind, string_next) {
                    Some(language) => raw.push(Raw::Language(language)),
                    None => raw.push(block(comment, column)),
                }
                length
            }
            // Spaces, and bytes that mean nothing: a text with those is not formatted.
            other => other.len_utf8(),
        };
        let done = rest.get(..length).unwrap_or("");
        column = match done.rfind('\n') {
            Some(line) => done.get(line + 1..).unwrap_or("").chars().count(),
            None => column + done.chars().count(),
        };
        rest = rest.get(length..).unwrap_or("");
    }
    raw
}

/// Counts line ends: LF, CR and CR LF are one each.
fn newlines(blank: &str) -> usize {
    let feeds = blank.bytes().filter(|&byte| byte == b'\n').count();
    let returns = blank.bytes().filter(|&byte| byte == b'\r').count();
    feeds + returns - blank.matches("\r\n").count()
}

/// Returns the language of `/* bash */` in front of a string on the same line.
fn language(comment: &str, behind: &str, string_next: bool) -> Option<String> {
    if !string_next || !behind.chars().all(|c| c == ' ' || c == '\t') {
        return None;
    }
    let inner = comment.strip_prefix("/*")?.strip_suffix("*/")?;
    let word = inner.trim();
    let plain = !word.is_empty() && word.chars().all(|c| c.is_ascii_alphanumeric() || "-_+.".contains(c));
    plain.then(|| word.to_owned())
}

fn block(comment: &str, column: usize) -> Raw {
    let inner = comment.strip_prefix("/*").unwrap_or(comment);
    let inner = inner.strip_suffix("*/").unwrap_or(inner);
    // `/**/` is empty and no documentation.
    let doc = inner.starts_with('*');
    let inner = if doc { inner.get(1..).unwrap_or("") } else { inner };
    let mut lines: Vec<String> = inner.split('\n').map(|line| line.trim_end().replace('\r', " ")).collect();
    while lines.last().is_some_and(String::is_empty) {
        lines.pop();
    }
    if let Some((first, rest)) = lines.split_first_mut() {
        *first = first.trim().to_owned();
        let star = format!("{} *", " ".repeat(column));
        if rest.iter().all(|line| line.starts_with(&star)) {
            for line in rest.iter_mut() {
                line.replace_range(column + 1..column + 2, " ");
                line.truncate(line.trim_end().len());
            }
        }
        let shared = rest
            .iter()
            .filter(|line| !line.is_empty())
            .map(|line| line.len() - line.trim_start_matches(' ').len())
            .min()
            .unwrap_or(0);
        for line in rest.iter_mut() {
            line.replace_range(..shared.min(line.len()), "");
        }
    }
    while lines.first().is_some_and(String::is_empty) {
        lines.remove(0);
    }
    Raw::Block { doc, lines }
}
