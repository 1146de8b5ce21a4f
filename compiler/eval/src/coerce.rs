//! Values as parts of strings and paths.

use diag::{Diagnostic, slugs::eval as slugs};

use crate::code::Node;
use crate::failure::{Failure, Outcome};
use crate::machine::Machine;
use crate::slot::{NodeId, Slot, SlotId};

/// What may become part of a string.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Coercion {
    /// Strings, and sets that say how: `"${…}"`.
    Strings,
    /// Paths as well.
    Paths,
    /// Numbers, Booleans, null and lists as well: `toString`.
    All,
}

impl Machine<'_> {
    /// `"…${…}…"`
    pub(crate) fn interpolate(&mut self, start: u32, count: u32, node: NodeId, env: SlotId) -> Outcome<Slot> {
        let base = self.scratch.len();
        for index in start..start + count {
            if let Err(failure) = self.append_part(self.code.ids[index as usize], env) {
                self.scratch.truncate(base);
                return Err(failure);
            }
        }
        self.finish(base, node)
    }

    fn append_part(&mut self, part: NodeId, env: SlotId) -> Outcome<()> {
        let value = self.eval(part, env)?;
        if let Slot::String { start, len, .. } = value {
            self.scratch.extend_from_slice(&self.text[start as usize..start as usize + len as usize]);
            return self.bounded();
        }
        if let Slot::Path { .. } = value {
            return Err(self.path_in_string(value, part));
        }
        self.append(value, Coercion::Strings, part)
    }

    /// A string being built counts before it is done.
    pub(crate) fn bounded(&mut self) -> Outcome<()> {
        if self.scratch.len() as u64 > self.limits.bytes {
            self.make_room(0, self.scratch.len())?;
        }
        Ok(())
    }

    /// `./…${…}…`
    pub(crate) fn interpolate_path(
        &mut self,
        start: u32,
        count: u32,
        node: NodeId,
        env: SlotId,
    ) -> Outcome<Slot> {
        let base = self.scratch.len();
        for index in start..start + count {
            let part = self.code.ids[index as usize];
            let appended = match self.eval(part, env) {
                // The first part is the folder of the file and what was written before `${`.
                Ok(value) => self.append(value, Coercion::Paths, part),
                Err(failure) => Err(failure),
            };
            if let Err(failure) = appended {
                self.scratch.truncate(base);
                return Err(failure);
            }
        }
        self.finish_path(base, node)
    }

    /// Appends what is added to a string.
    pub(crate) fn append_string(&mut self, value: Slot, node: NodeId) -> Outcome<()> {
        self.append(value, Coercion::Strings, node)
    }

    /// Appends what is added to a path.
    pub(crate) fn append_for_path(&mut self, value: Slot, path: Slot, node: NodeId) -> Outcome<()> {
        match value {
            Slot::String { .. } | Slot::Path { .. } | Slot::Attrs { .. } => {
                self.append(value, Coercion::Paths, node)
            }
            _ => Err(self.wrong_operands("+", path, value, node)),
        }
    }

    /// Appends a value to the string under construction.
    pub(crate) fn append(&mut self, value: Slot, coercion: Coercion, node: NodeId) -> Outcome<()> {
        match value {
            Slot::String { start, len, .. } => {
                self.scratch.extend_from_slice(&self.text[start as usize..start as usize + len as usize]);
                self.bounded()
            }
            Slot::Path { start, len, .. } => {
                if coercion == Coercion::Strings {
                    return Err(self.path_in_string(value, node));
                }
                self.scratch.extend_from_slice(&self.text[start as usize..start as usize + len as usize]);
                Ok(())
            }
            Slot::Attrs { shape, start, .. } => self.append_set(value, shape, start, coercion, node),
            Slot::Int { value, .. } if coercion == Coercion::All => {
                self.append_text(&value.to_string());
                Ok(())
            }
            Slot::Float { value, .. } if coercion == Coercion::All => {
                self.append_text(&crate::number::fixed(value));
                Ok(())
            }
            Slot::Bool { value, .. } if coercion == Coercion::All => {
                self.append_text(if value { "1" } else { "" });
                Ok(())
            }
            Slot::Null { .. } if coercion == Coercion::All => Ok(()),
            Slot::List { start, len, .. } if coercion == Coercion::All => {
                self.nested(|machine| machine.append_list(start, len, node))
            }
            other => Err(self.not_text(other, coercion, node)),
        }
    }

    fn append_text(&mut self, text: &str) {
        self.scratch.extend_from_slice(text.as_bytes());
    }

    fn append_list(&mut self, start: SlotId, len: u32, node: NodeId) -> Outcome<()> {
        for index in 0..len {
            let element = self.force_at(start + index)?;
            self.append(element, Coercion::All, node)?;
            // Nix leaves the blank out after an empty list, which is not quite right, as it says.
            let empty = matches!(element, Slot::List { len: 0, .. });
            if index + 1 < len && !empty {
                self.scratch.push(b' ');
            }
        }
        self.bounded()
    }

    fn append_set(
        &mut self,
        value: Slot,
        shape: u32,
        start: SlotId,
        coercion: Coercion,
        node: NodeId,
    ) -> Outcome<()> {
        if let Some(slot) = self.attribute(shape, start, self.known.to_string) {
            let function = self.force_at(slot)?;
            let text = self.nested(|machine| machine.call(function, value, node))?;
            return self.nested(|machine| machine.append(text, coercion, node));
        }
        if let Some(slot) = self.attribute(shape, start, self.known.out_path) {
            let path = self.force_at(slot)?;
            return self.nested(|machine| machine.append(path, coercion, node));
        }
        Err(self.not_text(value, coercion, node))
    }

    #[cold]
    fn not_text(&self, value: Slot, coercion: Coercion, node: NodeId) -> Box<Failure> {
        let mut diagnostic =
            Diagnostic::error(slugs::WRONG_TYPE, format!("{} cannot become text", self.described(value)));
        diagnostic.span = self.code.span(node);
        if coercion != Coercion::All
            && matches!(value, Slot::Int { .. } | Slot::Float { .. } | Slot::Bool { .. } | Slot::Null { .. })
        {
            let help = "`toString` turns it into text";
            diagnostic = match (self.code.nodes[node as usize], diagnostic.span) {
                (Node::Local { .. } | Node::Outer { .. }, Some(span)) => {
                    let text = format!("toString {}", self.sources.text(span));
                    diagnostic.fix(span, text, help)
                }
                _ => diagnostic.help(help),
            };
        }
        if let Slot::Attrs { .. } = value {
            diagnostic = diagnostic.why("a set becomes text only if it has `__toString` or `outPath`");
        }
        if let Some(span) = self.origin(value)
            && diagnostic.span != Some(span)
        {
            diagnostic = diagnostic.label(span, "it comes from here");
        }
        Failure::new(diagnostic)
    }

    /// Returns what was built in `scratch` since `base` as a path, and cuts it off.
    pub(crate) fn finish_path(&mut self, base: usize, node: NodeId) -> Outcome<Slot> {
        let mut path = Vec::new();
        let written = self.scratch.split_off(base);
        if !normalize(&written, &mut path) {
            return Err(self.placed(self.outside(&written), node));
        }
        let Slot::String { start, len, .. } = self.string(&path, node)? else {
            return Ok(Slot::Null { at: node });
        };
        Ok(Slot::Path { at: node, start, len })
    }

    #[cold]
    pub(crate) fn outside(&self, path: &[u8]) -> Box<Failure> {
        let path = String::from_utf8_lossy(path);
        Failure::new(
            Diagnostic::error(
                slugs::PATH_OUTSIDE_ROOT,
                format!("the path `{}` leads out of the root", path.trim_start_matches('/')),
            )
            .why("a manifest may name files below its root only, so that it means the same everywhere"),
        )
    }
}

/// Writes a path without `.`, `..` and repeated slashes; returns false if it leaves the root.
pub(crate) fn normalize(path: &[u8], into: &mut Vec<u8>) -> bool {
    let mut parts: Vec<&[u8]> = Vec::new();
    for part in path.split(|&byte| byte == b'/') {
        match part {
            b"" | b"." => {}
            b".." => {
                if parts.pop().is_none() {
                    return false;
                }
            }
            part => parts.push(part),
        }
    }
    for part in &parts {
        into.push(b'/');
        into.extend_from_slice(part);
    }
    if parts.is_empty() {
        into.push(b'/');
    }
    true
}
