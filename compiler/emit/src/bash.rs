//! Writes bash: a function, an array, an assignment at a time, every literal quoted.

use crate::quote::quote;

/// A bash file under construction. Lines are indented by the functions that are open.
#[derive(Debug, Default)]
pub(crate) struct Bash {
    text: String,
    depth: usize,
}

impl Bash {
    /// Adds a line as it is; an empty one stays empty.
    pub(crate) fn line(&mut self, line: &str) {
        if !line.is_empty() {
            self.text.extend(std::iter::repeat_n("  ", self.depth));
            self.text.push_str(line);
        }
        self.text.push('\n');
    }

    /// Adds text that is bash already and ends its last line.
    pub(crate) fn raw(&mut self, text: &str) {
        self.text.push_str(text);
    }

    /// Adds a comment. Line breaks in it become spaces, so that nothing leaves the comment.
    pub(crate) fn comment(&mut self, comment: &str) {
        let plain: String = comment.chars().map(|c| if matches!(c, ' '..='~') { c } else { ' ' }).collect();
        self.line(&format!("# {plain}"));
    }

    /// Adds `name() {`, what `body` adds, and `}`.
    pub(crate) fn function(&mut self, name: &str, body: impl FnOnce(&mut Self)) {
        self.line(&format!("{name}() {{"));
        self.depth += 1;
        body(self);
        self.depth -= 1;
        self.line("}");
        self.line("");
    }

    /// Adds `name=value` with the value quoted.
    pub(crate) fn assign(&mut self, name: &str, value: &str) {
        self.line(&format!("{name}={}", quote(value)));
    }

    /// Adds an array of words that are bash already, one a line.
    pub(crate) fn array(&mut self, name: &str, words: &[String]) {
        if words.is_empty() {
            self.line(&format!("{name}=()"));
            return;
        }
        self.line(&format!("{name}=("));
        self.depth += 1;
        for word in words {
            self.line(word);
        }
        self.depth -= 1;
        self.line(")");
    }

    /// Adds a command of words that are bash already, one a line but for the first.
    pub(crate) fn command(&mut self, words: &[String]) {
        let Some((first, rest)) = words.split_first() else { return };
        let Some((last, middle)) = rest.split_last() else {
            self.line(first);
            return;
        };
        self.line(&format!("{first} \\"));
        self.depth += 1;
        for word in middle {
            self.line(&format!("{word} \\"));
        }
        self.line(last);
        self.depth -= 1;
    }

    /// Returns what was written.
    pub(crate) fn finish(self) -> String {
        self.text
    }
}
