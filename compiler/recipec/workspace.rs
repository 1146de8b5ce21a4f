//! Where manifests are, and which of them the operands of a command mean.

use std::path::{Path, PathBuf};

use diag::Diagnostic;
use diag::slugs::cli::NO_ROOT;
use diag::slugs::host::CANNOT_READ;
use host::files::{PathError, Root};

use crate::glob;

/// The folder that manifests and locks are below, and what was asked for.
pub(crate) struct Workspace {
    pub(crate) root: Root,
    /// Config keys or patterns of them.
    pub(crate) keys: Vec<String>,
    /// Manifests named as files, relative to the root and with `/`.
    pub(crate) files: Vec<String>,
}

/// The folders below `manifests/` that hold no manifests of recipes.
const NO_RECIPES: [&str; 3] = ["manifests/lib/", "manifests/targets/", "manifests/policy/"];

fn holds_recipes(path: &str) -> bool {
    !NO_RECIPES.iter().any(|folder| path.starts_with(folder))
}

impl Workspace {
    /// Finds the root and sorts the operands into keys and files.
    pub(crate) fn open(root: Option<&Path>, operands: &[String]) -> Result<Self, Diagnostic> {
        let (files, keys): (Vec<&String>, Vec<&String>) =
            operands.iter().partition(|operand| is_file(operand));
        let start = files.first().map_or(Path::new("."), |file| folder_of(Path::new(file)));
        let found = find_root(root, start)?;
        let root = match (found, files.is_empty()) {
            (Some(root), _) => root,
            (None, false) => open_folder(start)?,
            (None, true) => {
                return Err(Diagnostic::error(NO_ROOT, "there is no folder `manifests` here or above")
                    .help("change into a checkout that has one, or name it with `--root DIR`"));
            }
        };
        let mut named = Vec::new();
        for file in files {
            let path = below(&root, Path::new(file))?;
            // A folder means the manifests in it.
            let inside = Root::open(Path::new(file)).is_ok();
            let found = if inside {
                root.walk(&path, ".nix").map_err(|error| unreadable(file, &error))?
            } else {
                vec![path]
            };
            named.extend(found);
        }
        Ok(Self { root, keys: keys.into_iter().cloned().collect(), files: named })
    }

    /// Returns the manifests to load, relative to the root, sorted: those named as files if nothing
    /// else is asked for, else all.
    pub(crate) fn manifests(&self) -> Result<Vec<String>, Diagnostic> {
        if self.keys.is_empty() && !self.files.is_empty() {
            return Ok(self.files.clone());
        }
        self.all_manifests()
    }

    /// Returns all manifests of the root and those named as files, sorted.
    pub(crate) fn all_manifests(&self) -> Result<Vec<String>, Diagnostic> {
        let mut all = self.below("manifests")?;
        all.retain(|path| holds_recipes(path));
        all.extend(self.files.iter().cloned());
        all.sort_unstable();
        all.dedup();
        Ok(all)
    }

    /// Returns the manifests of targets, sorted.
    pub(crate) fn targets(&self) -> Result<Vec<String>, Diagnostic> {
        self.below("manifests/targets")
    }

    fn below(&self, folder: &str) -> Result<Vec<String>, Diagnostic> {
        self.root.walk(folder, ".nix").map_err(|error| unreadable(folder, &error))
    }

    /// Returns true if a recipe is asked for by its key, by its manifest, or since all are.
    pub(crate) fn wants(&self, key: &str, manifest: &str) -> bool {
        (self.keys.is_empty() && self.files.is_empty())
            || self.files.iter().any(|file| file == manifest)
            || self.keys.iter().any(|pattern| glob::matches(pattern, key))
    }

    /// Returns the keys and patterns that mean none of these recipes.
    pub(crate) fn unmatched<'k>(&self, keys: impl IntoIterator<Item = &'k str> + Clone) -> Vec<&str> {
        let missing = |pattern: &&String| !keys.clone().into_iter().any(|key| glob::matches(pattern, key));
        self.keys.iter().filter(missing).map(String::as_str).collect()
    }
}

/// An operand with a slash or the ending of manifests is a file; config keys have neither.
fn is_file(operand: &str) -> bool {
    operand.contains('/') || operand.ends_with(".nix")
}

fn folder_of(file: &Path) -> &Path {
    match file.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    }
}

/// Returns the root: the one named, or the nearest folder from `start` upwards that has `manifests/`.
pub(crate) fn find_root(named: Option<&Path>, start: &Path) -> Result<Option<Root>, Diagnostic> {
    if let Some(folder) = named {
        return open_folder(folder).map(Some);
    }
    let start = open_folder(start)?;
    let found = start.folder().ancestors().find(|folder| Root::open(&folder.join("manifests")).is_ok());
    found.map(open_folder).transpose()
}

/// Returns the root for one file, which may stand outside every root, and its path below that.
pub(crate) fn root_of(named: Option<&Path>, file: &Path) -> Result<(Root, String), Diagnostic> {
    let folder = folder_of(file);
    let root = match find_root(named, folder)? {
        Some(root) => root,
        None => open_folder(folder)?,
    };
    let path = below(&root, file)?;
    Ok((root, path))
}

fn open_folder(folder: &Path) -> Result<Root, Diagnostic> {
    Root::open(folder).map_err(|error| {
        Diagnostic::error(CANNOT_READ, format!("cannot open the folder `{}`", folder.display()))
            .why(error.to_string())
    })
}

/// Returns the path of a file relative to the root, with `/`.
fn below(root: &Root, file: &Path) -> Result<String, Diagnostic> {
    let folder = open_folder(folder_of(file))?;
    let whole: PathBuf =
        file.file_name().map_or_else(|| folder.folder().to_owned(), |name| folder.folder().join(name));
    match whole.strip_prefix(root.folder()) {
        Ok(relative) => Ok(relative.to_string_lossy().replace(std::path::MAIN_SEPARATOR, "/")),
        Err(_) => Err(unreadable(&file.to_string_lossy(), &PathError::Outside)),
    }
}

/// Returns true if there is something at a path.
pub(crate) fn is_there(path: &Path) -> bool {
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    Root::open(folder_of(path)).is_ok_and(|root| root.locate(&name).is_ok())
}

/// Reads a file that may be anywhere.
pub(crate) fn read(path: &Path, limit: u64) -> Result<Vec<u8>, Diagnostic> {
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    open_folder(folder_of(path))?
        .bytes(&name, limit)
        .map_err(|error| unreadable(&path.to_string_lossy(), &error))
}

/// Returns the finding for a file that cannot be used.
pub(crate) fn unreadable(path: &str, error: &PathError) -> Diagnostic {
    Diagnostic::error(CANNOT_READ, format!("cannot read `{path}`")).why(error.to_string())
}
