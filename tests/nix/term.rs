//! Generated expressions as trees, so that they can be made smaller.

/// An expression: text with expressions in it. Every child stands in parentheses, so that any
/// expression can take the place of any other.
#[derive(Clone, Debug)]
pub struct Term {
    pieces: Vec<Piece>,
}

#[derive(Clone, Debug)]
enum Piece {
    Text(String),
    Child(Term),
}

impl Term {
    /// Returns an expression without children.
    pub fn leaf(text: impl Into<String>) -> Self {
        Self { pieces: vec![Piece::Text(text.into())] }
    }

    /// Returns an expression with the children in the places of `@`.
    pub fn of(template: &str, children: impl IntoIterator<Item = Self>) -> Self {
        Self::of_marked(template, '@', children)
    }

    /// As [`Term::of`], with another mark.
    pub fn of_marked(template: &str, mark: char, children: impl IntoIterator<Item = Self>) -> Self {
        let mut children = children.into_iter();
        let mut pieces = Vec::new();
        for (index, text) in template.split(mark).enumerate() {
            if index > 0 {
                pieces.extend(children.next().map(Piece::Child));
            }
            pieces.push(Piece::Text(text.to_owned()));
        }
        Self { pieces }
    }

    pub fn text(&self) -> String {
        let mut text = String::new();
        self.write(&mut text);
        text
    }

    fn write(&self, out: &mut String) {
        for piece in &self.pieces {
            match piece {
                Piece::Text(text) => out.push_str(text),
                Piece::Child(child) if child.is_plain() => child.write(out),
                Piece::Child(child) => {
                    out.push('(');
                    child.write(out);
                    out.push(')');
                }
            }
        }
    }

    /// Returns true for a word, a number or what has brackets of its own.
    fn is_plain(&self) -> bool {
        match self.pieces.as_slice() {
            [Piece::Text(text)] => {
                text.bytes().all(|byte| byte.is_ascii_alphanumeric()) || text == "[ ]" || text == "{ }"
            }
            _ => false,
        }
    }

    /// Returns how many expressions there are in it.
    pub fn size(&self) -> usize {
        1 + self.children().map(Self::size).sum::<usize>()
    }

    fn children(&self) -> impl Iterator<Item = &Self> {
        self.pieces.iter().filter_map(|piece| match piece {
            Piece::Child(child) => Some(child),
            Piece::Text(_) => None,
        })
    }

    /// Returns expressions that are smaller in one place, the much smaller ones first.
    pub fn smaller(&self) -> Vec<Self> {
        let mut all: Vec<Self> = self.children().cloned().collect();
        if self.size() > 1 {
            all.extend(["1", "\"a\"", "[ ]", "{ }", "null"].map(Self::leaf));
        }
        for (index, piece) in self.pieces.iter().enumerate() {
            let Piece::Child(child) = piece else { continue };
            for smaller in child.smaller() {
                let mut pieces = self.pieces.clone();
                pieces[index] = Piece::Child(smaller);
                all.push(Self { pieces });
            }
        }
        all.sort_by_key(Self::size);
        all
    }
}
