//! Commands as pages show them to a reader: shell text, alone or in fences.

use std::collections::BTreeMap;

/// A command taken apart.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct Command {
    /// Line of its first word within the text, counted from 1.
    pub line: usize,
    /// Assignments before the program.
    pub env: BTreeMap<String, String>,
    /// Program and arguments.
    pub argv: Vec<String>,
}

/// Longest text that is read, in bytes.
const LONGEST: usize = 4 << 20;

/// Splits shell text into commands: comments left out, lines that end in a backslash joined,
/// quotes removed. Variables stay as written. What is no plain list of words (a pipe, a loop) is
/// cut at its first control character.
#[must_use]
pub fn commands(text: &str) -> Vec<Command> {
    let mut all = Vec::new();
    if text.len() > LONGEST {
        return all;
    }
    let mut words: Vec<String> = Vec::new();
    let mut word: Option<String> = None;
    let mut line = 1;
    let mut begin = 1;
    let mut chars = text.chars().peekable();
    let mut finish = |words: &mut Vec<String>, begin: usize| {
        let mut command = Command { line: begin, ..Command::default() };
        for word in words.drain(..) {
            match assignment(&word) {
                Some((name, value)) if command.argv.is_empty() => {
                    command.env.insert(name.to_owned(), value.to_owned());
                }
                _ if command.argv.is_empty() && word == "export" => {}
                _ => command.argv.push(word),
            }
        }
        if !command.argv.is_empty() || !command.env.is_empty() {
            all.push(command);
        }
    };
    while let Some(c) = chars.next() {
        if word.is_none() && words.is_empty() {
            begin = line;
        }
        match c {
            '\\' if chars.peek() == Some(&'\n') => {
                chars.next();
                line += 1;
                words.extend(word.take());
            }
            '\\' => word.get_or_insert_default().extend(chars.next()),
            '\n' | ';' | '|' | '&' | '>' => {
                words.extend(word.take());
                finish(&mut words, begin);
                // What follows a redirection or a pipe is no command of its own to a reader.
                if c != '\n' && c != ';' && c != '&' {
                    while chars.peek().is_some_and(|next| *next != '\n') {
                        chars.next();
                    }
                }
                line += usize::from(c == '\n');
            }
            '#' if word.is_none() => {
                while chars.peek().is_some_and(|next| *next != '\n') {
                    chars.next();
                }
            }
            '\'' => {
                let word = word.get_or_insert_default();
                for inner in chars.by_ref() {
                    line += usize::from(inner == '\n');
                    if inner == '\'' {
                        break;
                    }
                    word.push(inner);
                }
            }
            '"' => {
                let word = word.get_or_insert_default();
                while let Some(inner) = chars.next() {
                    line += usize::from(inner == '\n');
                    match inner {
                        '"' => break,
                        '\\' => match chars.next() {
                            Some(escaped @ ('"' | '\\' | '$' | '`')) => word.push(escaped),
                            Some('\n') => line += 1,
                            Some(other) => word.extend(['\\', other]),
                            None => {}
                        },
                        other => word.push(other),
                    }
                }
            }
            // A placeholder such as <your-token> is a word to a reader, not a redirection.
            '<' => {
                let word = word.get_or_insert_default();
                word.push('<');
                while let Some(inner) = chars.next_if(|next| *next != '\n' && *next != ' ') {
                    word.push(inner);
                    if inner == '>' {
                        break;
                    }
                }
            }
            c if c.is_whitespace() => words.extend(word.take()),
            c => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word.take());
    finish(&mut words, begin);
    all
}

fn assignment(word: &str) -> Option<(&str, &str)> {
    let (name, value) = word.split_once('=')?;
    let mut bytes = name.bytes();
    let plain = bytes.next().is_some_and(|b| b.is_ascii_alphabetic() || b == b'_')
        && bytes.all(|b| b.is_ascii_alphanumeric() || b == b'_');
    plain.then_some((name, value))
}

/// A fenced block of a page.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Fence<'a> {
    /// Line of its first line of content, counted from 1.
    pub line: usize,
    /// What stands after the opening fence.
    pub info: &'a str,
    /// The nearest heading above it.
    pub heading: &'a str,
    /// The content, with its indentation.
    pub text: String,
}

/// Returns the fenced blocks of a Markdown or MDX page.
#[must_use]
pub fn fences(page: &str) -> Vec<Fence<'_>> {
    let mut all: Vec<Fence<'_>> = Vec::new();
    let mut open: Option<(&str, usize)> = None;
    let mut heading = "";
    if page.len() > LONGEST {
        return all;
    }
    for (index, line) in page.lines().enumerate() {
        let bare = line.trim_start();
        let marks = ["```", "~~~"].into_iter().find(|mark| bare.starts_with(mark));
        match (open, marks) {
            (None, Some(mark)) => {
                let length = bare.len() - bare.trim_start_matches(mark.chars().next().unwrap_or('`')).len();
                let info = bare.get(length..).unwrap_or_default().trim();
                // An inline code span that fills a line closes itself.
                if !info.contains('`') {
                    open = Some((mark, length));
                    all.push(Fence { line: index + 2, info, heading, text: String::new() });
                }
            }
            (Some((mark, length)), _) => {
                let rest = bare.trim_start_matches(mark.chars().next().unwrap_or('`'));
                if bare.starts_with(mark) && bare.len() - rest.len() >= length && rest.trim().is_empty() {
                    open = None;
                } else if let Some(fence) = all.last_mut() {
                    fence.text.push_str(line);
                    fence.text.push('\n');
                }
            }
            (None, None) if bare.starts_with('#') => heading = bare.trim_start_matches('#').trim(),
            (None, None) => {}
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_with_environment_comments_and_continuations_is_taken_apart() {
        let text = "# Multi-node\n#   <rank> = 0\nA=1 \\\nB='x y' \\\nsglang serve --model-path org/name \\\n  --json '{\"a\": 1}' --env \"T=<t>\"\n";
        let expected = Command {
            line: 3,
            env: [("A", "1"), ("B", "x y")].map(|(name, value)| (name.to_owned(), value.to_owned())).into(),
            argv: ["sglang", "serve", "--model-path", "org/name", "--json", "{\"a\": 1}", "--env", "T=<t>"]
                .map(str::to_owned)
                .to_vec(),
        };
        assert_eq!(commands(text), [expected]);
    }

    #[test]
    fn pipes_and_placeholders_do_not_lead_astray() {
        let found =
            commands("curl x | jq .a\nsglang serve --node-rank <node-rank> --tp 8 && echo done > log\n");
        let words: Vec<String> = found.iter().map(|command| command.argv.join(" ")).collect();
        assert_eq!(words, ["curl x", "sglang serve --node-rank <node-rank> --tp 8", "echo done"]);
    }

    #[test]
    fn fences_are_found_with_their_heading_and_line() {
        let page = "# A\n\n```bash Command\nx\n```\n\n## B\n  ````\n  ```\n  y\n  ````\n";
        let found: Vec<(usize, &str, &str, String)> = fences(page)
            .into_iter()
            .map(|fence| (fence.line, fence.info, fence.heading, fence.text))
            .collect();
        assert_eq!(
            found,
            [(4, "bash Command", "A", "x\n".to_owned()), (9, "", "B", "  ```\n  y\n".to_owned())]
        );
    }
}
