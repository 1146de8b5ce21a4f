//! Texts of a git repository as they were at a revision.

use std::io::{self, Read as _, Write as _};
use std::path::Path;
use std::process::{Command, Stdio};

/// The most bytes of all texts together.
const LIMIT: u64 = 1 << 30;

/// Returns the texts below `below` (a folder relative to `folder`) whose paths end so, as they were
/// at a revision: path relative to `folder`, and text. `None` if there is no such revision or
/// `folder` is in no repository.
///
/// # Errors
/// If git cannot be run, or does not answer as it should.
pub fn texts_at(
    folder: &Path,
    revision: &str,
    below: &str,
    ending: &str,
) -> io::Result<Option<Vec<(String, String)>>> {
    let name = format!("{revision}^{{commit}}");
    let found = git(folder, &["rev-parse", "--verify", "--quiet", "--end-of-options", &name]).output()?;
    if !found.status.success() {
        return Ok(None);
    }
    let commit = String::from_utf8_lossy(&found.stdout).trim().to_owned();
    let listed = git(folder, &["ls-tree", "-r", "-z", &commit, "--", below]).output()?;
    if !listed.status.success() {
        return Err(io::Error::other(format!("git cannot list `{below}` at {commit}")));
    }
    let listed = String::from_utf8_lossy(&listed.stdout).into_owned();
    let entries: Vec<(&str, &str)> = listed
        .split('\0')
        .filter_map(|line| {
            let (about, path) = line.split_once('\t')?;
            let mut words = about.split(' ').skip(1);
            (words.next() == Some("blob") && path.ends_with(ending)).then_some((words.next()?, path))
        })
        .collect();
    contents(folder, &entries).map(Some)
}

/// Reads blobs by id, all in one process.
fn contents(folder: &Path, entries: &[(&str, &str)]) -> io::Result<Vec<(String, String)>> {
    if entries.is_empty() {
        return Ok(Vec::new());
    }
    let mut child =
        git(folder, &["cat-file", "--batch"]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
    let (stdin, stdout) = (child.stdin.take(), child.stdout.take());
    let (Some(mut stdin), Some(stdout)) = (stdin, stdout) else {
        return Err(io::Error::other("git takes no questions"));
    };
    let questions: String = entries.iter().map(|(id, _)| format!("{id}\n")).collect();
    let mut answers = Vec::new();
    std::thread::scope(|scope| {
        // Asked beside the reading: neither pipe holds everything.
        scope.spawn(move || {
            let _ = stdin.write_all(questions.as_bytes());
        });
        stdout.take(LIMIT).read_to_end(&mut answers)
    })?;
    child.wait()?;
    let odd = || io::Error::other("git gave an answer that cannot be read");
    let mut rest = answers.as_slice();
    let mut texts = Vec::new();
    for (_, path) in entries {
        let line = rest.iter().position(|byte| *byte == b'\n').ok_or_else(odd)?;
        let (head, after) = (rest.get(..line).ok_or_else(odd)?, rest.get(line + 1..).ok_or_else(odd)?);
        let size =
            String::from_utf8_lossy(head).rsplit(' ').next().and_then(|size| size.parse::<usize>().ok());
        let size = size.ok_or_else(odd)?;
        let body = after.get(..size).ok_or_else(odd)?;
        texts.push(((*path).to_owned(), String::from_utf8_lossy(body).into_owned()));
        rest = after.get(size + 1..).unwrap_or_default();
    }
    Ok(texts)
}

fn git(folder: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new("git");
    command
        .arg("-C")
        .arg(folder)
        .args(["-c", "core.fsmonitor=false", "-c", "core.quotePath=false", "--no-pager"])
        .args(arguments)
        .env("GIT_NO_LAZY_FETCH", "1")
        .env("GIT_OPTIONAL_LOCKS", "0")
        .env("GIT_TERMINAL_PROMPT", "0")
        .env_remove("GIT_DIR")
        .env_remove("GIT_WORK_TREE")
        .stdin(Stdio::null())
        .stderr(Stdio::null());
    command
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_those_of_the_revision() {
        let folder = tempfile::tempdir().unwrap();
        let run = |arguments: &[&str]| {
            let mut command = git(folder.path(), arguments);
            command.env("GIT_CONFIG_GLOBAL", "/dev/null");
            for who in ["AUTHOR", "COMMITTER"] {
                command.env(format!("GIT_{who}_NAME"), "a").env(format!("GIT_{who}_EMAIL"), "a@example.org");
            }
            assert!(command.output().unwrap().status.success(), "{arguments:?}");
        };
        let root = folder.path().join("inner");
        fs_err::create_dir_all(root.join("locks/é")).unwrap();
        fs_err::write(root.join("locks/é/a b.json"), "old\n\n").unwrap();
        fs_err::write(root.join("locks/other"), "x").unwrap();
        run(&["init", "-q"]);
        run(&["add", "."]);
        run(&["commit", "-q", "-m", "one"]);
        fs_err::write(root.join("locks/é/a b.json"), "new").unwrap();
        let texts = texts_at(&root, "HEAD", "locks", ".json").unwrap().unwrap();
        assert_eq!(texts, [("locks/é/a b.json".to_owned(), "old\n\n".to_owned())]);
        assert_eq!(texts_at(&root, "no-such", "locks", ".json").unwrap(), None);
        assert_eq!(texts_at(&root, "--help", "locks", ".json").unwrap(), None);
        assert!(texts_at(&root, "HEAD", "absent", ".json").unwrap().unwrap().is_empty());
    }
}
