//! Files become values: reading, parsing, compiling, once each.

use std::sync::Arc;

use diag::{Diagnostic, Diagnostics, slugs::eval as slugs};
use syntax::ExprId;

use crate::failure::{Failure, Outcome};
use crate::faults::shown;
use crate::files::{FileError, FileKind};
use crate::machine::Machine;
use crate::slot::{NodeId, Slot, SlotId, Symbol};

/// The frame around every file: nothing is in it.
pub(crate) const ROOT: SlotId = 0;

impl Machine<'_> {
    /// Returns the slot of a file's value, loading the file the first time. The path is normal.
    pub(crate) fn load(&mut self, path: &str) -> Outcome<SlotId> {
        if let Some(&slot) = self.modules.get(path) {
            return Ok(slot);
        }
        let (file, text) = self.read_source(path)?;
        if let Some(&slot) = self.modules.get(&file) {
            self.modules.insert(path.to_owned(), slot);
            return Ok(slot);
        }
        let code = self.compile_text(&file, text, &[]).map_err(first_of)?;
        let slot = self.alloc_one(Slot::Delayed { code, env: ROOT })?;
        self.modules.insert(path.to_owned(), slot);
        self.modules.insert(file, slot);
        Ok(slot)
    }

    /// Reads a file, or the `default.nix` of a folder; returns the path of what was read as well.
    pub(crate) fn read_source(&mut self, path: &str) -> Outcome<(String, String)> {
        if self.modules.len() as u64 >= u64::from(self.limits.imports) {
            return Err(Failure::new(
                Diagnostic::error(
                    slugs::TOO_MANY_IMPORTS,
                    format!("more than {} files are imported", self.limits.imports),
                )
                .help("look for a file that imports computed paths without end, or raise the limit"),
            ));
        }
        let kind = self.files.kind(path).map_err(|error| unreadable(path, &error))?;
        let file = match kind {
            Some(FileKind::Directory) => format!("{}/default.nix", path.trim_end_matches('/')),
            _ => path.to_owned(),
        };
        let text = self.files.read(&file).map_err(|error| unreadable(&file, &error))?;
        Ok((file, text))
    }

    /// Compiles a text; the names of `scope` are in the frame that its code is evaluated in.
    pub(crate) fn compile_text(
        &mut self,
        path: &str,
        text: impl Into<Arc<str>>,
        scope: &[Symbol],
    ) -> Result<NodeId, Diagnostics> {
        let text: Arc<str> = text.into();
        let file = self.sources.add(shown(path), Arc::clone(&text));
        let parse = syntax::parse(file, &text, &mut self.names);
        if parse.diagnostics.has_errors() {
            return Err(parse.diagnostics);
        }
        self.warnings.extend(parse.diagnostics);
        let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
        self.compile_tree(&parse.tree, parse.root, folder, scope)
    }

    fn compile_tree(
        &mut self,
        tree: &syntax::Tree,
        root: ExprId,
        folder: &str,
        scope: &[Symbol],
    ) -> Result<NodeId, Diagnostics> {
        let room = self.make_room(tree.len(), 0);
        if let Err(failure) = room {
            return Err(std::iter::once(failure.diagnostic).collect());
        }
        crate::compile::compile(self, tree, root, folder, scope)
    }

    /// Evaluates a loaded file, knowing that it is being loaded while that lasts.
    pub(crate) fn evaluate_module(&mut self, path: &str) -> Outcome<Slot> {
        let slot = self.load(path)?;
        self.loading.push((path.to_owned(), slot));
        let outcome = self.nested(|machine| machine.force_at(slot));
        self.loading.pop();
        outcome
    }
}

/// Makes one failure of all that is wrong with a text.
pub(crate) fn first_of(diagnostics: Diagnostics) -> Box<Failure> {
    let mut all = diagnostics.into_iter();
    match all.next() {
        Some(first) => {
            let mut failure = Failure::new(first);
            failure.more = all.collect();
            failure
        }
        None => Failure::new(Diagnostic::error(slugs::ABORTED, "the file cannot be read")),
    }
}

/// Says why a file cannot be read.
pub(crate) fn unreadable(path: &str, error: &FileError) -> Box<Failure> {
    let path = shown(path);
    Failure::new(match error {
        FileError::Missing => Diagnostic::error(slugs::FILE_NOT_FOUND, format!("there is no file `{path}`")),
        FileError::Outside => {
            Diagnostic::error(slugs::PATH_OUTSIDE_ROOT, format!("the path `{path}` leads out of the root"))
                .why("a manifest may name files below its root only, so that it means the same everywhere")
        }
        FileError::NotText => {
            Diagnostic::error(slugs::FILE_UNREADABLE, format!("`{path}` is not UTF-8 text"))
        }
        FileError::Other(reason) => {
            Diagnostic::error(slugs::FILE_UNREADABLE, format!("`{path}` cannot be read")).why(reason.clone())
        }
    })
}
