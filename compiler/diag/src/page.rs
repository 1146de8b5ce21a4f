//! Explain pages: front matter, prose and examples.

use std::fmt;

use crate::{Page, Severity, Slug, page};

/// A page, read.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Explanation {
    /// A phrase that names the fault.
    pub title: String,
    /// How much a finding of this slug usually weighs.
    pub severity: Option<Severity>,
    /// The version of recipec that first had it.
    pub since: String,
    /// Records of the failure corpus that this slug answers, such as `F012`.
    pub covers: Vec<String>,
    /// Public links that show the fault in the wild.
    pub evidence: Vec<String>,
    /// The prose without the examples.
    pub why: String,
    /// Everything below the front matter, as Markdown.
    pub body: String,
    /// The examples, in order.
    pub examples: Vec<Example>,
}

/// One example of a page. Examples are run as tests.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Example {
    /// How it is run.
    pub kind: ExampleKind,
    /// Whether running it must report the page's slug (`true`) or must not (`false`).
    pub bad: bool,
    /// The text between the fences.
    pub text: String,
}

/// How an example is run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ExampleKind {
    /// A manifest file, given to `recipec check`.
    Manifest,
    /// An expression, given to `recipec eval`.
    Expression,
    /// Shell commands, each behind `$ `.
    Console,
}

impl ExampleKind {
    /// Returns the words of the fence.
    #[must_use]
    pub fn fence(self) -> &'static str {
        match self {
            Self::Manifest => "nix",
            Self::Expression => "nix expr",
            Self::Console => "console",
        }
    }
}

/// What is wrong with a page.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PageError {
    /// Line of the page, counted from 1.
    pub line: usize,
    /// What is wrong there.
    pub message: String,
}

impl fmt::Display for PageError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.message)
    }
}

impl std::error::Error for PageError {}

impl Explanation {
    /// Returns the explanation of a slug; `None` if its page cannot be read, which a test refuses.
    #[must_use]
    pub fn of(slug: Slug) -> Option<Self> {
        page(slug.as_str()).and_then(|page| page.explanation().ok())
    }

    fn empty() -> Self {
        Self {
            title: String::new(),
            severity: None,
            since: String::new(),
            covers: Vec::new(),
            evidence: Vec::new(),
            why: String::new(),
            body: String::new(),
            examples: Vec::new(),
        }
    }

    fn set(&mut self, key: &str, value: &str) -> Result<(), String> {
        match key {
            "title" => value.clone_into(&mut self.title),
            "since" => value.clone_into(&mut self.since),
            "severity" => {
                self.severity = Some(match value {
                    "error" => Severity::Error,
                    "warning" => Severity::Warning,
                    "note" => Severity::Note,
                    _ => return Err(format!("unknown severity `{value}`")),
                });
            }
            "covers" => self.covers = list(value)?,
            "evidence" => self.evidence = list(value)?,
            _ => return Err(format!("unknown key `{key}`")),
        }
        Ok(())
    }
}

impl Page {
    /// Reads the page.
    ///
    /// # Errors
    /// The first line that is not of the form that CONTRIBUTING.md describes.
    pub fn explanation(&self) -> Result<Explanation, PageError> {
        let mut explanation = Explanation::empty();
        let mut lines = self.text.lines().zip(1..);
        let wrong = |line, message: String| PageError { line, message };
        if lines.next().map(|(line, _)| line) != Some("---") {
            return Err(wrong(1, "a page begins with `---`".to_owned()));
        }
        loop {
            let Some((text, line)) = lines.next() else {
                return Err(wrong(self.text.lines().count(), "the front matter has no end".to_owned()));
            };
            // What follows ` #` is a comment, as in YAML.
            let text = text.split_once(" #").map_or(text, |(before, _)| before).trim_end();
            if text == "---" {
                break;
            }
            let Some((key, value)) = text.split_once(':') else {
                return Err(wrong(line, "expected `key: value`".to_owned()));
            };
            explanation.set(key.trim(), value.trim()).map_err(|message| wrong(line, message))?;
        }
        read_body(&mut explanation, lines)?;
        if explanation.title.is_empty() || explanation.since.is_empty() || explanation.severity.is_none() {
            return Err(wrong(1, "the front matter needs `title`, `severity` and `since`".to_owned()));
        }
        Ok(explanation)
    }
}

/// Splits what follows the front matter into prose and examples.
fn read_body<'a>(
    explanation: &mut Explanation,
    mut lines: impl Iterator<Item = (&'a str, usize)>,
) -> Result<(), PageError> {
    let (mut why, mut body) = (String::new(), String::new());
    while let Some((text, line)) = lines.next() {
        body.push_str(text);
        body.push('\n');
        let Some(info) = text.strip_prefix("```") else {
            why.push_str(text);
            why.push('\n');
            continue;
        };
        let mut example = String::new();
        loop {
            let Some((text, _)) = lines.next() else {
                return Err(PageError { line, message: "this fence has no end".to_owned() });
            };
            body.push_str(text);
            body.push('\n');
            if text == "```" {
                break;
            }
            example.push_str(text);
            example.push('\n');
        }
        let kinds = [ExampleKind::Manifest, ExampleKind::Expression, ExampleKind::Console];
        let found = kinds.into_iter().find_map(|kind| match info.trim().strip_prefix(kind.fence())? {
            " bad" => Some((kind, true)),
            " good" => Some((kind, false)),
            _ => None,
        });
        match found {
            Some((kind, bad)) => explanation.examples.push(Example { kind, bad, text: example }),
            None => why.push_str(&format!("{text}\n{example}```\n")),
        }
    }
    why.trim().clone_into(&mut explanation.why);
    body.trim().clone_into(&mut explanation.body);
    Ok(())
}

/// Reads `[a, b]`; entries may be quoted.
fn list(text: &str) -> Result<Vec<String>, String> {
    let inner = text
        .strip_prefix('[')
        .and_then(|rest| rest.strip_suffix(']'))
        .ok_or_else(|| "expected a list such as `[F001, F002]`".to_owned())?;
    Ok(inner
        .split(',')
        .map(|entry| entry.trim().trim_matches(['"', '\'']).to_owned())
        .filter(|entry| !entry.is_empty())
        .collect())
}
