//! The folder of a checkpoint: where it is, and what lies in it.

use std::collections::BTreeSet;
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use audit::found::is_weights;
use audit::survey::{Entry, Partial, Survey, What};

use crate::hash::head;

/// The most names that are listed; a checkpoint has hundreds.
const NAMES: u64 = 20_000_000;

/// The most names of a kind that are kept: weights beside the locked ones, downloads, what cannot be read.
const KEPT: usize = 1_000;

/// A download whose file has changed within this time is taken to be running.
const RECENT: Duration = Duration::from_secs(60);

/// Where a checkpoint lies, in the layouts of the hub's client.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Place {
    /// The folder with the files.
    pub files: PathBuf,
    /// The folder of the repository in a hub cache; `None` for a plain folder.
    pub cache: Option<PathBuf>,
    /// The commit that the cache has in place of the wanted one.
    pub other: Option<String>,
    /// The commit that `main` is in the cache.
    pub main: Option<String>,
}

/// Finds a checkpoint: in a hub cache, in the folder of its repository there, in a snapshot, or in
/// the folder itself. A cache that does not have the commit is looked at where it has another.
#[must_use]
pub fn place(folder: &Path, repository: &str, commit: &str) -> Place {
    let name = format!("models--{}", repository.replace('/', "--"));
    let candidates = [folder.to_owned(), folder.join(&name), folder.join("hub").join(&name)];
    let Some(cache) = candidates.into_iter().find(|cache| cache.join("snapshots").is_dir()) else {
        let inside =
            folder.parent().filter(|parent| parent.file_name().is_some_and(|name| name == "snapshots"));
        let cache = inside.and_then(Path::parent).map(Path::to_owned);
        return Place { files: folder.to_owned(), cache, other: None, main: None };
    };
    let snapshots = cache.join("snapshots");
    let main = head(&cache.join("refs/main"), 64).ok().map(|text| text.trim().to_owned());
    let main = main.filter(|main| main.len() == 40 && main.bytes().all(|byte| byte.is_ascii_hexdigit()));
    if snapshots.join(commit).is_dir() {
        return Place { files: snapshots.join(commit), cache: Some(cache), other: None, main };
    }
    let listed = fs_err::read_dir(&snapshots).into_iter().flatten().flatten().take(KEPT);
    let mut there: Vec<String> = listed
        .filter(|entry| entry.path().is_dir())
        .filter_map(|entry| entry.file_name().into_string().ok())
        .collect();
    there.sort();
    let other = main.clone().filter(|main| there.contains(main)).or_else(|| there.first().cloned());
    let files = snapshots.join(other.as_deref().unwrap_or(commit));
    Place { files, cache: Some(cache), other, main }
}

/// Looks at everything in the folder of a checkpoint. Links to folders are not followed. What is kept
/// are the `locked` names, and weights beside them; of what else lies there only the number.
///
/// # Errors
/// If the folder itself cannot be read; what fails below it is part of the survey.
pub fn survey(place: &Place, locked: &BTreeSet<&str>) -> io::Result<Survey> {
    let mut survey = Survey { other: place.other.clone(), main: place.main.clone(), ..Survey::default() };
    if place.cache.is_some() && !place.files.exists() {
        // The cache knows the repository and has no snapshot of it.
        downloads(place, &mut survey);
        return Ok(survey);
    }
    fs_err::read_dir(&place.files)?;
    let home = place.cache.as_deref().and_then(Path::parent).unwrap_or(&place.files);
    let home = fs_err::canonicalize(home).unwrap_or_else(|_| home.to_owned());
    // Not sorted here: that would hold all names of a folder at once.
    for (count, found) in (0_u64..).zip(walkdir::WalkDir::new(&place.files)) {
        if count >= NAMES {
            survey.unread.push((String::new(), format!("more than {NAMES} names")));
            break;
        }
        match found {
            Ok(entry) if entry.file_type().is_dir() => {}
            Ok(entry) => add(entry.path(), &place.files, &home, locked, &mut survey),
            Err(error) if survey.unread.len() < KEPT => {
                let path = error.path().map_or_else(String::new, |path| below(path, &place.files));
                survey.unread.push((path, error.to_string()));
            }
            Err(_) => {}
        }
    }
    // What lies behind a link to a folder: a loader follows it to the names that it looks for.
    let seen: BTreeSet<String> = survey.entries.iter().map(|entry| entry.path.clone()).collect();
    for name in locked.iter().filter(|name| !seen.contains(**name)) {
        let path = place.files.join(name);
        if fs_err::symlink_metadata(&path).is_ok() {
            survey.entries.push(Entry { what: what(&path, &home), path: (*name).to_owned() });
        }
    }
    downloads(place, &mut survey);
    survey.entries.sort_by(|a, b| a.path.cmp(&b.path));
    survey.partial.sort_by(|a, b| a.path.cmp(&b.path));
    survey.noted.sort();
    survey.unread.sort();
    Ok(survey)
}

/// Adds the downloads of a hub cache that did not end.
fn downloads(place: &Place, survey: &mut Survey) {
    let Some(cache) = &place.cache else { return };
    for blob in fs_err::read_dir(cache.join("blobs")).into_iter().flatten().flatten() {
        let name = blob.file_name().to_string_lossy().into_owned();
        if name.ends_with(".incomplete") && survey.partial.len() < KEPT {
            survey.partial.push(partial(&blob.path(), format!("blobs/{name}")));
        }
    }
}

fn below(path: &Path, folder: &Path) -> String {
    path.strip_prefix(folder).unwrap_or(path).to_string_lossy().into_owned()
}

fn add(path: &Path, folder: &Path, home: &Path, locked: &BTreeSet<&str>, survey: &mut Survey) {
    let name = below(path, folder);
    // What the hub's client keeps for itself in a plain folder.
    if let Some(own) = name.strip_prefix(".cache/huggingface/") {
        if own.ends_with(".incomplete") {
            if survey.partial.len() < KEPT {
                survey.partial.push(partial(path, name.clone()));
            }
        } else if let Some(of) = own.strip_prefix("download/").and_then(|own| own.strip_suffix(".metadata"))
            && locked.contains(of)
        {
            let commit = head(path, 256).ok().and_then(|text| text.lines().next().map(str::to_owned));
            survey.noted.extend(commit.map(|commit| (of.to_owned(), commit.trim().to_owned())));
        }
        return;
    }
    let ours = locked.contains(name.as_str());
    let stray = !ours && is_weights(&name);
    if ours || stray && survey.strays < KEPT as u64 {
        survey.entries.push(Entry { what: what(path, home), path: name });
    }
    survey.strays += u64::from(stray);
    survey.beside += u64::from(!ours && !stray);
}

fn what(path: &Path, home: &Path) -> What {
    let metadata = match fs_err::metadata(path) {
        Ok(metadata) => metadata,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let to = fs_err::read_link(path).map(|to| to.to_string_lossy().into_owned());
            return What::Dangling { to: to.unwrap_or_default() };
        }
        Err(error) => return What::Unreadable(error.to_string()),
    };
    if !metadata.is_file() {
        return What::Other;
    }
    let real = fs_err::canonicalize(path).ok().filter(|real| !real.starts_with(home));
    let outside = real.map(|real| real.to_string_lossy().into_owned());
    What::File { size: metadata.len(), held: metadata.blocks().saturating_mul(512), outside }
}

fn partial(path: &Path, name: String) -> Partial {
    let metadata = fs_err::metadata(path).ok();
    let changed = metadata.as_ref().and_then(|metadata| metadata.modified().ok());
    let recent = changed
        .and_then(|changed| SystemTime::now().duration_since(changed).ok())
        .is_some_and(|age| age < RECENT);
    Partial { path: name, size: metadata.map_or(0, |metadata| metadata.len()), recent }
}
