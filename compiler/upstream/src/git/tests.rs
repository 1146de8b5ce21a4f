use super::*;
use crate::scripted::Scripted;
use crate::secret::base64_encode;

const JSON_TYPE: &str = "application/json; charset=utf-8";
const COMMIT: &str = "0123456789abcdef0123456789abcdef01234567";
const BASE: &str = "https://api.github.com/repos/o/r";
const TEXT: &str = "kimi:\n  thinking_on:\n    1: 1.83\n";

fn file(text: &str, sha: &str) -> String {
    let content = base64_encode(text.as_bytes());
    // The forge breaks base64 into lines.
    let content = content.as_bytes().chunks(20).map(String::from_utf8_lossy).collect::<Vec<_>>().join("\\n");
    format!(
        r#"{{"type":"file","sha":"{sha}","size":{},"encoding":"base64","content":"{content}\n"}}"#,
        text.len()
    )
}

/// A forge with one file on `main`; `sha` is the blob id that it claims.
fn forge(revision: &str, sha: &str) -> Scripted {
    Scripted::default()
        .with(BASE, JSON_TYPE, r#"{"default_branch":"main"}"#)
        .with(&format!("{BASE}/commits/{revision}"), "application/vnd.github.sha", COMMIT)
        .with(&format!("{BASE}/contents/curves/k.yaml?ref={COMMIT}"), JSON_TYPE, file(TEXT, sha))
}

fn ask(transport: &Scripted, revision: &str) -> Result<Resolved, Refusal> {
    resolve(transport, &Endpoints::default(), "o/r", revision, "curves/k.yaml")
}

fn source(outcome: Result<Resolved, Refusal>) -> (Source, Resolved) {
    let resolved = outcome.unwrap();
    let Pin::Source(source) = resolved.pin.clone() else { panic!() };
    (source, resolved)
}

fn slug_of(outcome: Result<Resolved, Refusal>) -> &'static str {
    outcome.map_or_else(|refusal| refusal.diagnostic.slug.as_str(), |_| "resolved")
}

#[test]
fn a_file_is_pinned_by_the_bytes_that_its_blob_names() {
    let sha = crate::git_blob_id(TEXT.as_bytes());
    let (source, resolved) = source(ask(&forge("main", &sha), "main"));
    assert_eq!(source.commit, COMMIT);
    assert_eq!(source.sha256, Some(Digest::of(TEXT.as_bytes())));
    assert_eq!(resolved.content.as_deref(), Some(TEXT.as_bytes()));
    assert_eq!(source.merge, None, "this forge knows of no pull request");
    assert_eq!(slug_of(ask(&forge("main", &"0".repeat(40)), "main")), "digest-mismatch");
}

#[test]
fn a_merge_is_believed_for_its_time_and_not_for_its_commit() {
    let sha = crate::git_blob_id(TEXT.as_bytes());
    let last = "89abcdef0123456789abcdef0123456789abcdef";
    let with = |pull: &str| {
        forge("main", &sha)
            .with(
                &format!("{BASE}/commits?path=curves%2Fk.yaml&sha={COMMIT}&per_page=1"),
                JSON_TYPE,
                format!(r#"[{{"sha":"{last}"}}]"#),
            )
            .with(&format!("{BASE}/commits/{last}/pulls"), JSON_TYPE, format!("[{pull}]"))
    };
    let merged = format!(
        r#"{{"number":241,"merged_at":"2026-05-05T01:02:03Z","merge_commit_sha":"{last}","base":{{"repo":{{"full_name":"O/R"}}}}}}"#
    );
    let (pinned, resolved) = source(ask(&with(&merged), "main"));
    let merge = pinned.merge.unwrap();
    assert_eq!((merge.pull, merge.commit.as_str(), merge.time.as_str()), (241, last, "2026-05-05T01:02:03Z"));
    assert!(resolved.remarks.is_empty());
    // Open, or closed without a merge: the forge still names a trial merge.
    let open = merged.replace("\"2026-05-05T01:02:03Z\"", "null");
    let (pinned, resolved) = source(ask(&with(&open), "main"));
    assert_eq!(pinned.merge, None);
    assert_eq!(resolved.remarks[0].slug, slug::NOT_MERGED);
    // A fork's pull request about the same commit says nothing of upstream.
    let fork = merged.replace("O/R", "fork/r");
    let (pinned, resolved) = source(ask(&with(&fork), "main"));
    assert!(pinned.merge.is_none() && resolved.remarks.is_empty());
}

#[test]
fn a_commit_that_only_a_fork_has_is_not_upstream() {
    let sha = crate::git_blob_id(TEXT.as_bytes());
    let compare = format!("{BASE}/compare/main...{COMMIT}?per_page=1");
    let status =
        |status: &str| forge(COMMIT, &sha).with(&compare, JSON_TYPE, format!(r#"{{"status":"{status}"}}"#));
    for (word, slug) in [
        ("behind", "resolved"),
        ("identical", "resolved"),
        ("ahead", "commit-not-upstream"),
        ("diverged", "commit-not-upstream"),
    ] {
        assert_eq!(slug_of(ask(&status(word), COMMIT)), slug, "{word}");
    }
    // The head of a tag is upstream's although the branch has moved elsewhere.
    let tags = format!(r#"[{{"name":"v1","commit":{{"sha":"{COMMIT}"}}}}]"#);
    let tagged = status("diverged").with(&format!("{BASE}/tags?per_page=100"), JSON_TYPE, tags);
    assert_eq!(slug_of(ask(&tagged, COMMIT)), "resolved");
    // A branch of upstream is upstream's: nothing needs to be compared.
    let (_, resolved) = source(ask(&forge("main", &sha), "main"));
    assert!(resolved.remarks.is_empty());
}

#[test]
fn what_is_missing_is_told_apart() {
    let sha = crate::git_blob_id(TEXT.as_bytes());
    let other = resolve(&forge("main", &sha), &Endpoints::default(), "o/r", "main", "curves/renamed.yaml");
    assert_eq!(slug_of(other), "path-not-found");
    assert_eq!(slug_of(ask(&forge("main", &sha), "v9")), "revision-not-found");
    assert_eq!(slug_of(ask(&Scripted::default(), "main")), "source-not-found");
    for (repository, revision, path) in
        [("o", "main", "x"), ("o/r", "a b", "x"), ("o/r", "main", "../x"), ("o/r", "", "x")]
    {
        let outcome = resolve(&Scripted::default(), &Endpoints::default(), repository, revision, path);
        assert_eq!(slug_of(outcome), "source-reference", "{repository} {revision} {path}");
    }
}

#[test]
fn a_limit_is_no_missing_file() {
    let limited = [("x-ratelimit-remaining", "0"), ("x-ratelimit-reset", "1796031516")];
    let transport = Scripted::default().with_status(&format!("{BASE}/commits/main"), 403, &limited, "{}");
    let refusal = ask(&transport, "main").unwrap_err();
    assert_eq!(refusal.diagnostic.slug, slug::RATE_LIMITED);
    assert_eq!(refusal.class.exit_code(), 5);
    assert!(refusal.diagnostic.notes.iter().any(|note| note.contains("1796031516")));
}

#[test]
fn a_folder_is_pinned_by_the_names_and_ids_of_its_files() {
    let tree = |truncated: bool| {
        let blob = |path: &str| format!(r#"{{"path":"{path}","type":"blob","sha":"{}"}}"#, "a".repeat(40));
        let nodes = [blob("docs/b.md"), blob("docs/a/c.md"), blob("other.md")].join(",");
        Scripted::default()
            .with(&format!("{BASE}/commits/main"), "text/plain", COMMIT)
            .with(&format!("{BASE}/contents/docs?ref={COMMIT}"), JSON_TYPE, "[]")
            .with(
                &format!("{BASE}/git/trees/{COMMIT}?recursive=1"),
                JSON_TYPE,
                format!(r#"{{"tree":[{nodes}],"truncated":{truncated}}}"#),
            )
    };
    let docs = |transport| resolve(&transport, &Endpoints::default(), "o/r", "main", "docs");
    let (pinned, resolved) = source(docs(tree(false)));
    let listing = String::from_utf8(resolved.content.unwrap()).unwrap();
    assert_eq!(listing, format!("{0}  docs/a/c.md\n{0}  docs/b.md\n", "a".repeat(40)));
    assert_eq!(pinned.sha256, Some(Digest::of(listing.as_bytes())));
    assert_eq!(slug_of(docs(tree(true))), "unexpected-answer");
}
