//! Regular expressions, as far as pages use them: one character of a class, such as `/[\s=]/`.

/// One of these characters.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Class {
    characters: String,
    blank: bool,
    /// Whether every place is meant, and not the first alone.
    pub(crate) everywhere: bool,
}

impl Class {
    /// Reads a regular expression as written; `None` if it is more than a class of characters.
    pub(crate) fn read(text: &str) -> Option<Self> {
        let (body, flags) = text.strip_prefix('/')?.rsplit_once('/')?;
        let everywhere = match flags {
            "" => false,
            "g" => true,
            _ => return None,
        };
        let inside = body.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
        let mut class = Self { characters: String::new(), blank: false, everywhere };
        let mut characters = inside.unwrap_or(body).chars();
        while let Some(c) = characters.next() {
            match c {
                '\\' => match characters.next()? {
                    's' => class.blank = true,
                    'n' => class.characters.push('\n'),
                    't' => class.characters.push('\t'),
                    c if c.is_ascii_punctuation() => class.characters.push(c),
                    _ => return None,
                },
                '^' | '-' | '[' | ']' => return None,
                '.' | '*' | '+' | '?' | '(' | ')' | '{' | '}' | '|' | '$' if inside.is_none() => return None,
                c => class.characters.push(c),
            }
        }
        let single = inside.is_some() || class.characters.chars().count() + usize::from(class.blank) == 1;
        single.then_some(class)
    }

    /// Returns true for a character of the class.
    pub(crate) fn has(&self, c: char) -> bool {
        self.blank && c.is_whitespace() || self.characters.contains(c)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_character_of_a_class_is_read_and_nothing_more() {
        let split = |regex: &str, text: &str| -> Option<Vec<String>> {
            let class = Class::read(regex)?;
            Some(text.split(|c| class.has(c)).map(str::to_owned).collect())
        };
        assert_eq!(split(r"/[\s=]/", "--tp 8=a"), Some(["--tp", "8", "a"].map(str::to_owned).to_vec()));
        assert_eq!(split(r"/\n/g", "a\nb"), Some(["a", "b"].map(str::to_owned).to_vec()));
        for more in [r"/ab/", r"/[a-z]/", r"/[^a]/", r"/a+/", r"/./", r"/[a]b/", r"/a/i", r"/\d/"] {
            assert_eq!(Class::read(more), None, "{more}");
        }
    }
}
