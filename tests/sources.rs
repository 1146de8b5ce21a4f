//! Sources are pinned from real git repositories, and git itself computes the same ids.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use host::{Options, Refusal, Resolved};
use lock::Digest;
use lock::pin::{Pin, Source};
use recipe::want::Want;

use crate::support::repository;

fn git(folder: &Path, arguments: &[&str]) -> String {
    let output = Command::new("git")
        .current_dir(folder)
        .args(["-c", "user.name=t", "-c", "user.email=t@t.test", "-c", "init.defaultBranch=main"])
        .args(["-c", "commit.gpgsign=false", "-c", "protocol.file.allow=always"])
        .args(arguments)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_SYSTEM", "/dev/null")
        .output()
        .unwrap();
    assert!(output.status.success(), "git {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

/// An upstream with two commits of one file, and a clone of it in which a stranger has committed.
struct Repositories {
    folder: tempfile::TempDir,
    first: String,
    second: String,
    stranger: String,
}

impl Repositories {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let upstream = folder.path().join("upstream");
        fs::create_dir_all(upstream.join("curves")).unwrap();
        git(&upstream, &["init", "-q"]);
        let commit = |place: &Path, text: &str| {
            fs::write(place.join("curves/k.yaml"), text).unwrap();
            git(place, &["add", "-A"]);
            git(place, &["commit", "-q", "-m", "change"]);
            git(place, &["rev-parse", "HEAD"])
        };
        let first = commit(&upstream, "kimi: 1\n");
        git(&upstream, &["tag", "v1"]);
        let second = commit(&upstream, "kimi: 2\n");
        git(folder.path(), &["clone", "-q", "upstream", "clone"]);
        let clone = folder.path().join("clone");
        git(&clone, &["checkout", "-q", "-b", "mine", &first]);
        let stranger = commit(&clone, "kimi: 3\n");
        Self { folder, first, second, stranger }
    }

    fn clone(&self) -> PathBuf {
        self.folder.path().join("clone")
    }

    fn options(&self) -> Options {
        let clones = [("o/r".to_owned(), self.clone())].into_iter().collect();
        Options { clones, offline: true, ..Options::default() }
    }
}

fn want(repository: &str, revision: &str, path: &str) -> Want {
    Want::Source {
        purpose: "curve".to_owned(),
        repository: repository.to_owned(),
        revision: revision.to_owned(),
        path: path.to_owned(),
    }
}

fn resolve(want: Want, options: &Options) -> Result<Resolved, Refusal> {
    host::resolve(&[want], options).pop().unwrap().outcome
}

#[track_caller]
fn pinned(outcome: Result<Resolved, Refusal>) -> Source {
    match outcome.unwrap_or_else(|refusal| panic!("{refusal:#?}")).pin {
        Pin::Source(source) => source,
        other => panic!("{other:?}"),
    }
}

#[track_caller]
fn refused(outcome: Result<Resolved, Refusal>, slug: &str) {
    let refusal = outcome.expect_err("it should be refused");
    assert_eq!(refusal.diagnostic.slug.as_str(), slug, "{refusal:#?}");
}

#[test]
fn a_clone_answers_as_the_forge_does_and_asks_nobody() {
    let repositories = Repositories::new();
    let options = repositories.options();
    let of = |revision: &str| pinned(resolve(want("o/r", revision, "curves/k.yaml"), &options));
    let main = of("main");
    assert_eq!(main.commit, repositories.second);
    assert_eq!(main.sha256, Some(Digest::of(b"kimi: 2\n")));
    assert_eq!(
        (of("v1").commit, of("v1").sha256),
        (repositories.first.clone(), Some(Digest::of(b"kimi: 1\n")))
    );
    assert_eq!(of(&repositories.first), of("v1"));
    assert_eq!(pinned(resolve(want("o/r", "main", ""), &options)).sha256, None, "the commit says it all");
    let folder = pinned(resolve(want("o/r", "main", "curves"), &options));
    let blob = git(&repositories.clone(), &["rev-parse", &format!("{}:curves/k.yaml", repositories.second)]);
    assert_eq!(folder.sha256, Some(Digest::of(format!("{blob}  curves/k.yaml\n").as_bytes())));
}

#[test]
fn a_strangers_commit_in_a_clone_is_not_upstream() {
    let repositories = Repositories::new();
    let options = repositories.options();
    let path = "curves/k.yaml";
    refused(resolve(want("o/r", &repositories.stranger, path), &options), "commit-not-upstream");
    // A branch of the clone's owner is no branch of upstream.
    refused(resolve(want("o/r", "mine", path), &options), "revision-not-found");
    refused(resolve(want("o/r", "main", "curves/absent.yaml"), &options), "path-not-found");
    refused(resolve(want("o/other", "main", path), &options), "offline-without-pin");
}

#[test]
fn a_bare_clone_inside_a_mirror_is_read() {
    let repositories = Repositories::new();
    let mirror = repositories.folder.path().join("mirror");
    fs::create_dir_all(mirror.join("git/o")).unwrap();
    git(repositories.folder.path(), &["clone", "-q", "--mirror", "upstream", "mirror/git/o/r.git"]);
    let options = Options { mirror: Some(mirror), ..Options::default() };
    let source = pinned(resolve(want("o/r", &repositories.first, "curves/k.yaml"), &options));
    assert_eq!(source.sha256, Some(Digest::of(b"kimi: 1\n")));
    refused(resolve(want("o/absent", "main", "x"), &options), "not-in-mirror");
}

#[test]
fn a_snapshot_in_a_mirror_is_pinned_with_its_merge() {
    let options = Options { mirror: Some(repository().join("fixtures/mirror")), ..Options::default() };
    let page = pinned(resolve(want("tiny-org/cookbook", "main", "models/tiny-org/tiny-moe.yaml"), &options));
    let merge = page.merge.clone().expect("the mirror holds the merge");
    assert_eq!((merge.pull, merge.commit.as_str()), (7, page.commit.as_str()));
    // The commit is the one that git computes for these files.
    let folder = repository().join("fixtures/mirror/git/tiny-org/cookbook").join(&page.commit);
    let copy = tempfile::tempdir().unwrap();
    crate::support::copy_tree(&folder, copy.path());
    git(copy.path(), &["init", "-q"]);
    git(copy.path(), &["add", "-A"]);
    let tree = git(copy.path(), &["write-tree"]);
    let person = "Tiny <tiny@tiny-org.example> 1767225600 +0000";
    let text = format!("tree {tree}\nauthor {person}\ncommitter {person}\n\nAdd tiny-moe (#7)\n");
    fs::write(copy.path().join("commit"), text).unwrap();
    assert_eq!(git(copy.path(), &["hash-object", "-t", "commit", "commit"]), page.commit);
    refused(resolve(want("tiny-org/cookbook", "v9", "x"), &options), "not-in-mirror");
    refused(resolve(want("tiny-org/cookbook", "main", "../../hub"), &options), "source-reference");
}
