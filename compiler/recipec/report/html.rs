//! Hypertext, written so that no value can become markup.

use std::fmt::Display;

/// A page that is being written.
#[derive(Default)]
pub(super) struct Html {
    text: String,
}

impl Html {
    /// Writes markup as it is. Only what this program says itself goes here.
    pub(super) fn raw(&mut self, markup: &str) -> &mut Self {
        self.text.push_str(markup);
        self
    }

    /// Writes text: whatever is in it, it stays text, also inside an attribute's quotes.
    pub(super) fn text(&mut self, text: impl Display) -> &mut Self {
        self.text.push_str(&escaped(&text.to_string()));
        self
    }

    /// Writes an element with text in it.
    pub(super) fn element(&mut self, open: &str, text: impl Display) -> &mut Self {
        let name = open.split(' ').next().unwrap_or(open);
        self.raw("<").raw(open).raw(">").text(text).raw("</").raw(name).raw(">")
    }

    /// Writes a name of somebody's choosing, whose letters may run from right to left.
    pub(super) fn name(&mut self, name: impl Display) -> &mut Self {
        self.raw("<bdi>").text(name).raw("</bdi>")
    }

    /// Writes a link, if the address is one that may be followed; else the text alone.
    pub(super) fn link(&mut self, address: &str, text: impl Display) -> &mut Self {
        let plain = |c: char| c.is_ascii_alphanumeric() || "-._~:/?#@!$&+,;=%".contains(c);
        if address.starts_with("https://") && address.chars().all(plain) {
            self.raw("<a href=\"").text(address).raw("\" rel=\"noreferrer\">").text(text).raw("</a>")
        } else {
            self.text(text)
        }
    }

    pub(super) fn finish(self) -> String {
        self.text
    }
}

/// Returns text in which nothing is markup and nothing steers.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            '\n' | '\t' => out.push(' '),
            // What turns the direction of a line around, and what no browser may see.
            '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{200e}' | '\u{200f}' => {
                out.push('\u{fffd}');
            }
            c if c.is_control() => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::Html;

    #[test]
    fn a_hostile_name_stays_a_name() {
        let mut html = Html::default();
        html.name("<script>alert(\"1\")</script>\u{202e}&'\0");
        assert_eq!(
            html.finish(),
            "<bdi>&lt;script&gt;alert(&quot;1&quot;)&lt;/script&gt;\u{fffd}&amp;&#39;\u{fffd}</bdi>"
        );
        let mut html = Html::default();
        html.link("javascript:alert(1)", "a")
            .link("https://example.com/\" onx=\"", "b")
            .link("https://e.org/x?y#z", "c");
        assert_eq!(html.finish(), "ab<a href=\"https://e.org/x?y#z\" rel=\"noreferrer\">c</a>");
    }
}
