//! Paths as text.

use crate::call::Args;
use crate::coerce::Coercion;
use crate::failure::Outcome;
use crate::machine::Machine;
use crate::slot::Slot;

impl Machine<'_> {
    /// Returns the bytes of an argument that is a path or can become text.
    pub(super) fn path_text(&mut self, args: &Args, index: usize) -> Outcome<Vec<u8>> {
        let base = self.scratch.len();
        let appended = self.append(args.list[index], Coercion::Paths, self.argument(args, index));
        let text = self.scratch.split_off(base);
        appended.map(|()| text)
    }

    /// Returns the normal path that an argument names, which must be absolute.
    pub(super) fn path_argument(&mut self, args: &Args, index: usize) -> Outcome<String> {
        let text = self.path_text(args, index)?;
        if text.first() != Some(&b'/') {
            let shown = String::from_utf8_lossy(&text).into_owned();
            return Err(self.bad_argument(
                args,
                index,
                format!("the text `{shown}` names no file: it does not begin with `/`"),
            ));
        }
        let mut normal = Vec::new();
        if !crate::coerce::normalize(&text, &mut normal) {
            let node = self.argument(args, index);
            return Err(self.placed(self.outside(&text), node));
        }
        String::from_utf8(normal).map_err(|_| self.not_unicode("a path"))
    }
}

pub(super) fn to_path(machine: &mut Machine<'_>, args: &Args) -> Outcome<Slot> {
    let path = machine.path_argument(args, 0)?;
    machine.string(path.as_bytes(), args.at)
}

pub(super) fn base_name_of(machine: &mut Machine<'_>, args: &Args) -> Outcome<Slot> {
    let text = machine.path_text(args, 0)?;
    // Nix drops one slash at the end, and only one.
    let text = match text.split_last() {
        Some((b'/', rest)) if !rest.is_empty() => rest,
        _ => &text,
    };
    let name = text.rsplit(|&byte| byte == b'/').next().unwrap_or(text);
    machine.string(name, args.at)
}

pub(super) fn dir_of(machine: &mut Machine<'_>, args: &Args) -> Outcome<Slot> {
    let is_path = matches!(args.list[0], Slot::Path { .. });
    let text = machine.path_text(args, 0)?;
    let folder: &[u8] = match text.iter().rposition(|&byte| byte == b'/') {
        None => b".",
        Some(0) => b"/",
        Some(index) => &text[..index],
    };
    match machine.string(folder, args.at)? {
        Slot::String { at, start, len } if is_path => Ok(Slot::Path { at, start, len }),
        folder => Ok(folder),
    }
}
