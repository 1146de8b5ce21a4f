//! Files below the root, and nothing else.

use diag::{Diagnostic, slugs::eval as slugs};

use crate::call::Args;
use crate::failure::{Failure, Outcome};
use crate::files::FileKind;
use crate::load::{ROOT, first_of, unreadable};
use crate::machine::Machine;
use crate::slot::Slot;

pub(super) fn import(machine: &mut Machine<'_>, args: &Args) -> Outcome<Slot> {
    let path = machine.path_argument(args, 0)?;
    let loaded = machine.evaluate_module(&path);
    loaded.map_err(|failure| imported(machine, failure, args))
}

/// A failure to load a file belongs to the words that name it; any other has its place already.
fn imported(machine: &Machine<'_>, failure: Box<Failure>, args: &Args) -> Box<Failure> {
    if failure.diagnostic.span.is_none() {
        return machine.placed(failure, machine.argument(args, 0));
    }
    machine.called(failure, args.at, None)
}

pub(super) fn scoped_import(machine: &mut Machine<'_>, args: &Args) -> Outcome<Slot> {
    let (shape, start) = machine.set_argument(args, 0)?;
    let path = machine.path_argument(args, 1)?;
    let node = machine.argument(args, 1);
    let (file, text) = machine.read_source(&path).map_err(|failure| machine.placed(failure, node))?;
    let names = machine.shapes.names_of(shape).to_vec();
    let code = machine.compile_text(&file, text, &names).map_err(first_of)?;
    let frame = machine.alloc(1 + names.len())?;
    machine.heap[frame as usize] = Slot::Frame { parent: ROOT };
    for index in 0..names.len() as u32 {
        machine.heap[(frame + 1 + index) as usize] = machine.share(start + index);
    }
    let env = if names.is_empty() { ROOT } else { frame };
    machine.eval(code, env)
}

pub(super) fn path_exists(machine: &mut Machine<'_>, args: &Args) -> Outcome<Slot> {
    let text = machine.path_text(args, 0)?;
    let folder = text.ends_with(b"/") || text.ends_with(b"/.");
    let path = machine.path_argument(args, 0)?;
    // What is outside the root does not exist for a manifest.
    let kind = machine.files.kind(&path).ok().flatten();
    let value = match kind {
        Some(kind) => !folder || kind == FileKind::Directory,
        None => path == "/",
    };
    Ok(Slot::Bool { at: args.at, value })
}

fn read(machine: &mut Machine<'_>, args: &Args, index: usize) -> Outcome<String> {
    let path = machine.path_argument(args, index)?;
    let node = machine.argument(args, index);
    if machine.files.kind(&path) == Ok(Some(FileKind::Directory)) {
        let message = format!("`{}` is a folder", crate::faults::shown(&path));
        let failure = Failure::new(Diagnostic::error(slugs::FILE_UNREADABLE, message));
        return Err(machine.placed(failure, node));
    }
    machine.files.read(&path).map_err(|error| machine.placed(unreadable(&path, &error), node))
}

pub(super) fn read_file(machine: &mut Machine<'_>, args: &Args) -> Outcome<Slot> {
    let text = read(machine, args, 0)?;
    machine.string(text.as_bytes(), args.at)
}

pub(super) fn hash_file(machine: &mut Machine<'_>, args: &Args) -> Outcome<Slot> {
    let (start, len) = machine.string_argument(args, 0)?;
    let algorithm = machine.bytes(start, len).to_vec();
    let text = read(machine, args, 1)?;
    super::convert::hash(machine, args, &algorithm, text.as_bytes())
}

fn kind_name(kind: FileKind) -> &'static [u8] {
    match kind {
        FileKind::Regular => b"regular",
        FileKind::Directory => b"directory",
        FileKind::Symlink => b"symlink",
        FileKind::Unknown => b"unknown",
    }
}

pub(super) fn read_file_type(machine: &mut Machine<'_>, args: &Args) -> Outcome<Slot> {
    let path = machine.path_argument(args, 0)?;
    let node = machine.argument(args, 0);
    let kind = machine.files.kind(&path).and_then(|kind| kind.ok_or(crate::FileError::Missing));
    match kind {
        Ok(kind) => machine.string(kind_name(kind), args.at),
        Err(error) => Err(machine.placed(unreadable(&path, &error), node)),
    }
}

pub(super) fn read_dir(machine: &mut Machine<'_>, args: &Args) -> Outcome<Slot> {
    let path = machine.path_argument(args, 0)?;
    let node = machine.argument(args, 0);
    let names = machine.files.list(&path).map_err(|error| machine.placed(unreadable(&path, &error), node))?;
    let mut pairs = Vec::with_capacity(names.len());
    for (name, kind) in names {
        let value = machine.string(kind_name(kind), args.at)?;
        pairs.push((machine.intern(&name), value));
    }
    machine.make_set(pairs, args.at)
}
