//! Texts by lines.

use super::cst::Part;

/// Splits the raw characters at their line feeds.
pub(super) fn lines(parts: Vec<Part>) -> Vec<Vec<Part>> {
    let mut lines = vec![Vec::new()];
    for part in parts {
        let Part::Text(text) = part else {
            if let Some(line) = lines.last_mut() {
                line.push(part);
            }
            continue;
        };
        for (index, piece) in text.split('\n').enumerate() {
            if index > 0 {
                lines.push(Vec::new());
            }
            if let Some(line) = lines.last_mut()
                && !piece.is_empty()
            {
                match line.last_mut() {
                    Some(Part::Text(last)) => last.push_str(piece),
                    _ => line.push(Part::Text(piece.to_owned())),
                }
            }
        }
    }
    lines
}

/// Splits an indented string, and takes off the indentation that Nix takes off.
pub(super) fn indented_lines(parts: Vec<Part>) -> Vec<Vec<Part>> {
    let mut lines = lines(parts);
    if lines.len() > 1 && lines.first().is_some_and(|line| is_blank(line)) {
        lines.remove(0);
    }
    if lines.len() > 1
        && let Some(last) = lines.last_mut()
        && is_blank(last)
    {
        last.clear();
    }
    let shared =
        lines.iter().filter(|line| !is_blank(line)).map(|line| spaces(line)).min().unwrap_or(usize::MAX);
    for line in &mut lines {
        if let Some(Part::Text(text)) = line.first_mut() {
            let own = text.len() - text.trim_start_matches(' ').len();
            text.replace_range(..own.min(shared), "");
            if text.is_empty() {
                line.remove(0);
            }
        }
    }
    lines
}

/// Returns the raw characters of `"…"` for an indented string of one line, where it needs no escapes
/// that are harder to read than the indented ones.
pub(super) fn as_quoted(lines: &[Vec<Part>]) -> Option<Vec<Vec<Part>>> {
    let [line] = lines else { return None };
    let mut quoted = Vec::with_capacity(line.len());
    for part in line {
        let Part::Text(text) = part else {
            quoted.push(part.clone());
            continue;
        };
        quoted.push(Part::Text(without_escapes(text)?));
    }
    Some(vec![quoted])
}

/// Returns raw characters of an indented string as raw characters of a quoted one.
fn without_escapes(text: &str) -> Option<String> {
    if text.contains(['"', '\\', '\r']) {
        return None;
    }
    let mut quoted = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find("''") {
        let (plain, escape) = rest.split_at(at);
        quoted.push_str(plain);
        rest = if let Some(rest) = escape.strip_prefix("'''") {
            quoted.push_str("''");
            rest
        } else {
            quoted.push_str("\\$");
            escape.strip_prefix("''$")?
        };
    }
    quoted.push_str(rest);
    Some(quoted)
}

/// Returns true for an indented string with spaces behind an escaped line end. Nix takes those for
/// indentation, so what they mean depends on how far the string is indented, and it stays as it is.
pub(super) fn is_fixed(raw: &str) -> bool {
    ["''\\n ", "''\\n''", "''\\\n"].iter().any(|fixed| raw.contains(fixed))
}

fn is_blank(line: &[Part]) -> bool {
    line.iter().all(|part| matches!(part, Part::Text(text) if text.bytes().all(|byte| byte == b' ')))
}

fn spaces(line: &[Part]) -> usize {
    match line.first() {
        Some(Part::Text(text)) => text.len() - text.trim_start_matches(' ').len(),
        _ => 0,
    }
}
