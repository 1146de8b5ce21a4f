//! The folder of a checkpoint: what lies in it, and the content of its files.

use std::io::{self, Read as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use audit::checkpoint::Content;
use audit::survey::{Entry, Partial, Survey, What};

use crate::hash;

/// The most names that are listed; a checkpoint has hundreds.
const NAMES: usize = 2_000_000;

/// A download whose file has changed within this time is taken to be running.
const RECENT: Duration = Duration::from_secs(60);

/// The most bytes of a file whose line ends are looked at.
const TEXT: u64 = 16 << 20;

/// Where a checkpoint lies, in the layouts of the hub's client.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Place {
    /// The folder with the files.
    pub files: PathBuf,
    /// The folder of the repository in a hub cache; `None` for a plain folder.
    pub cache: Option<PathBuf>,
}

/// Finds a checkpoint: in a hub cache, in the folder of its repository there, in a snapshot, or in
/// the folder itself.
#[must_use]
pub fn place(folder: &Path, repository: &str, commit: &str) -> Place {
    let name = format!("models--{}", repository.replace('/', "--"));
    for cache in [folder.to_owned(), folder.join(&name), folder.join("hub").join(&name)] {
        if cache.join("snapshots").is_dir() {
            return Place { files: cache.join("snapshots").join(commit), cache: Some(cache) };
        }
    }
    let inside = folder.parent().filter(|parent| parent.file_name().is_some_and(|name| name == "snapshots"));
    Place { files: folder.to_owned(), cache: inside.and_then(Path::parent).map(Path::to_owned) }
}

/// Looks at everything in the folder of a checkpoint. Links to folders are not followed.
///
/// # Errors
/// If the folder itself cannot be read; what fails below it is part of the survey.
pub fn survey(place: &Place) -> io::Result<Survey> {
    fs_err::read_dir(&place.files)?;
    let mut survey = Survey::default();
    let home = place.cache.as_deref().and_then(Path::parent).unwrap_or(&place.files);
    let home = fs_err::canonicalize(home).unwrap_or_else(|_| home.to_owned());
    for (count, found) in walkdir::WalkDir::new(&place.files).sort_by_file_name().into_iter().enumerate() {
        if count >= NAMES {
            survey.unread.push((String::new(), format!("more than {NAMES} names")));
            break;
        }
        match found {
            Ok(entry) if entry.file_type().is_dir() => {}
            Ok(entry) => add(entry.path(), &place.files, &home, &mut survey),
            Err(error) => {
                let path = error.path().map_or_else(String::new, |path| below(path, &place.files));
                survey.unread.push((path, error.to_string()));
            }
        }
    }
    if let Some(cache) = &place.cache {
        for blob in fs_err::read_dir(cache.join("blobs")).into_iter().flatten().flatten() {
            let name = blob.file_name().to_string_lossy().into_owned();
            if name.ends_with(".incomplete") {
                survey.partial.push(partial(&blob.path(), format!("blobs/{name}")));
            }
        }
        survey.partial.sort_by(|a, b| a.path.cmp(&b.path));
    }
    Ok(survey)
}

fn below(path: &Path, folder: &Path) -> String {
    path.strip_prefix(folder).unwrap_or(path).to_string_lossy().into_owned()
}

fn add(path: &Path, folder: &Path, home: &Path, survey: &mut Survey) {
    let name = below(path, folder);
    // What the hub's client keeps for itself in a plain folder.
    if let Some(own) = name.strip_prefix(".cache/huggingface/") {
        if own.ends_with(".incomplete") {
            survey.partial.push(partial(path, name.clone()));
        } else if let Some(of) = own.strip_prefix("download/").and_then(|own| own.strip_suffix(".metadata")) {
            let commit = head(path, 256).ok().and_then(|text| text.lines().next().map(str::to_owned));
            survey.noted.extend(commit.map(|commit| (of.to_owned(), commit.trim().to_owned())));
        }
        return;
    }
    survey.entries.push(Entry { what: what(path, home), path: name });
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

/// Returns the beginning of a file as text; bytes that are none are replaced.
///
/// # Errors
/// As the system says.
pub fn head(path: &Path, limit: u64) -> io::Result<String> {
    if !fs_err::metadata(path)?.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "no regular file"));
    }
    let mut bytes = Vec::new();
    fs_err::File::open(path)?.take(limit).read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// Reads files and says what is in them, several at a time. `blob` asks for the git blob id as well,
/// for small files. `jobs` is how many at a time; 0 for one on each core.
///
/// A file that changes while it is read has no content that could be said.
pub fn contents(
    files: &[(PathBuf, bool)],
    jobs: usize,
    progress: &(dyn Fn(u64) + Sync),
) -> Vec<Result<Content, String>> {
    let paths: Vec<PathBuf> = files.iter().map(|(path, _)| path.clone()).collect();
    let before: Vec<Option<Stamp>> = paths.iter().map(|path| Stamp::of(path)).collect();
    let pool = rayon::ThreadPoolBuilder::new().num_threads(jobs).build();
    let hashed = match &pool {
        Ok(pool) => pool.install(|| hash::files(&paths, progress)),
        Err(_) => hash::files(&paths, progress),
    };
    hashed
        .into_iter()
        .zip(files)
        .zip(before)
        .map(|((hashed, (path, blob)), before)| {
            let (digest, bytes) = hashed.outcome.map_err(|error| error.to_string())?;
            if before.is_none() || Stamp::of(path) != before {
                return Err("it changed while it was read".to_owned());
            }
            let text = if *blob && bytes <= TEXT { fs_err::read(path).ok() } else { None };
            let plain = text
                .as_ref()
                .filter(|text| text.contains(&b'\r'))
                .map(|text| String::from_utf8_lossy(text).replace("\r\n", "\n").into_bytes());
            Ok(Content {
                sha256: digest.hex().to_owned(),
                blob: text.as_ref().map(|text| upstream::git_blob_id(text)),
                plain_blob: plain.map(|text| upstream::git_blob_id(&text)),
                bytes,
            })
        })
        .collect()
}

/// What changes when a file does. The time of the last change of the inode is the system's own: nobody
/// can set it back, as they can the time of the content.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Stamp {
    device: u64,
    inode: u64,
    size: u64,
    modified: (i64, i64),
    changed: (i64, i64),
}

impl Stamp {
    fn of(path: &Path) -> Option<Self> {
        let metadata = fs_err::metadata(path).ok()?;
        Some(Self {
            device: metadata.dev(),
            inode: metadata.ino(),
            size: metadata.len(),
            modified: (metadata.mtime(), metadata.mtime_nsec()),
            changed: (metadata.ctime(), metadata.ctime_nsec()),
        })
    }
}
