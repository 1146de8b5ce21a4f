use super::*;
use crate::scripted::Scripted;
use crate::secret::Secret;

const JSON: &str = "application/json";
const COMMIT: &str = "0123456789abcdef0123456789abcdef01234567";
const REVISION: &str = "https://huggingface.co/api/models/o/m/revision/main";

fn tree() -> String {
    format!("https://huggingface.co/api/models/o/m/tree/{COMMIT}?recursive=true&expand=false")
}

fn weights(path: &str) -> String {
    format!(
        r#"{{"type":"file","path":"{path}","size":7,"oid":"{}","lfs":{{"oid":"{}","size":7,"pointerSize":120}}}}"#,
        "a".repeat(40),
        "b".repeat(64)
    )
}

/// A hub whose revision is known and whose tree is this answer.
fn hub(tree_answer: &str, headers: &[(&str, &str)]) -> Scripted {
    let sha = format!(r#"{{"id":"o/m","sha":"{COMMIT}"}}"#);
    let headers = [&[("content-type", JSON)], headers].concat();
    Scripted::default().with(REVISION, JSON, sha).with_status(&tree(), 200, &headers, tree_answer)
}

fn ask(transport: &Scripted) -> Result<Resolved, Refusal> {
    resolve(transport, &Endpoints::default(), Kind::Model, "o/m", "main")
}

fn slug_of(outcome: Result<Resolved, Refusal>) -> &'static str {
    outcome.map_or_else(|refusal| refusal.diagnostic.slug.as_str(), |_| "resolved")
}

#[test]
fn the_sha256_of_weights_is_the_inner_oid_and_the_outer_one_is_the_pointers() {
    let transport = hub(&format!("[{}]", weights("model.safetensors")), &[]);
    let resolved = ask(&transport).unwrap();
    assert_eq!(resolved.files[0].sha256.as_ref().map(lock::Digest::hex), Some("b".repeat(64).as_str()));
    assert_eq!(resolved.files[0].blob, None);
    let Pin::Checkpoint(snapshot) = resolved.pin else { panic!() };
    assert_eq!((snapshot.commit.as_str(), snapshot.bytes, snapshot.count), (COMMIT, 7, 1));
}

#[test]
fn pages_are_followed_to_their_end_and_not_to_another_host() {
    let next = format!("{}&cursor=2", tree());
    let link = format!("<{next}>; rel=\"next\"");
    let transport = hub(&format!("[{}]", weights("a.safetensors")), &[("link", &link)]);
    let transport = transport.with(&next, JSON, format!("[{}]", weights("b.safetensors")));
    assert_eq!(ask(&transport).unwrap().files.len(), 2);

    let link = "<https://evil.test/tree>; rel=\"next\"";
    let transport = hub("[]", &[("link", link)]);
    assert_eq!(slug_of(ask(&transport)), "unexpected-answer");
    assert!(!transport.addresses().iter().any(|address| address.contains("evil")));

    let link = format!("<{}>; rel=\"next\"", tree());
    assert_eq!(slug_of(ask(&hub("[]", &[("link", &link)]))), "answer-too-large", "pages in a circle");
}

#[test]
fn a_file_without_an_id_or_with_two_sizes_is_not_pinned() {
    for entry in [
        r#"{"type":"file","path":"model.safetensors","size":7}"#,
        r#"{"type":"file","path":"model.safetensors","size":7,"oid":"short"}"#,
        r#"{"type":"file","path":"model.safetensors","size":7,"lfs":{"oid":"not hex"}}"#,
    ] {
        assert_eq!(slug_of(ask(&hub(&format!("[{entry}]"), &[]))), "unexpected-answer", "{entry}");
    }
    let two = weights("model.safetensors").replacen("\"size\":7", "\"size\":8", 1);
    assert_eq!(slug_of(ask(&hub(&format!("[{two}]"), &[]))), "unexpected-answer");
}

#[test]
fn a_hub_that_answers_about_another_commit_is_not_believed() {
    let url = format!("https://huggingface.co/api/models/o/m/revision/{COMMIT}");
    let other = format!(r#"{{"sha":"{}"}}"#, "f".repeat(40));
    let transport = Scripted::default().with(&url, JSON, other);
    let outcome = resolve(&transport, &Endpoints::default(), Kind::Model, "o/m", COMMIT);
    assert_eq!(slug_of(outcome), "unexpected-answer");
    let transport = Scripted::default().with(REVISION, JSON, r#"{"sha":null}"#);
    assert_eq!(slug_of(ask(&transport)), "unexpected-answer");
}

#[test]
fn a_small_file_that_is_not_what_the_tree_names_is_refused() {
    let config = r#"{"num_attention_heads":4}"#;
    let entry = format!(
        r#"{{"type":"file","path":"config.json","size":{},"oid":"{}"}}"#,
        config.len(),
        crate::git_blob_id(config.as_bytes())
    );
    let tree = format!("[{entry},{}]", weights("model.safetensors"));
    let file = format!("https://huggingface.co/o/m/resolve/{COMMIT}/config.json");
    assert_eq!(slug_of(ask(&hub(&tree, &[]).with(&file, "text/plain", config))), "resolved");
    let changed = config.replace('4', "8");
    assert_eq!(slug_of(ask(&hub(&tree, &[]).with(&file, "text/plain", changed))), "digest-mismatch");
    // Longer than the tree promises: cut off before it is read.
    let longer = format!("{config} ");
    assert_eq!(slug_of(ask(&hub(&tree, &[]).with(&file, "text/plain", longer))), "answer-too-large");
}

#[test]
fn the_token_goes_to_the_hub_in_a_masked_header() {
    let mut transport = hub(&format!("[{}]", weights("model.safetensors")), &[]);
    transport.credential = Some(Credential::Bearer(Secret::new("hf_secret")));
    ask(&transport).unwrap();
    let asked = transport.asked.lock().unwrap();
    assert!(asked.iter().all(|request| request.headers.iter().any(|(name, _)| *name == "authorization")));
    assert!(!format!("{asked:?}").contains("hf_secret"));
}

#[test]
fn a_successor_that_the_card_names_is_told_and_the_old_one_is_pinned() {
    let listing = format!("[{}]", weights("model.safetensors"));
    let with = |card: &str| {
        let sha = format!(r#"{{"id":"o/m","sha":"{COMMIT}","cardData":{card}}}"#);
        let transport = Scripted::default().with(REVISION, JSON, sha).with_status(
            &tree(),
            200,
            &[("content-type", JSON)],
            listing.as_str(),
        );
        let resolved = ask(&transport).unwrap();
        let Pin::Checkpoint(snapshot) = &resolved.pin else { panic!("{resolved:?}") };
        assert_eq!(snapshot.commit, COMMIT);
        resolved.remarks
    };
    let told = with(r#"{"new_version":"o/m-v2"}"#);
    assert_eq!(told.iter().map(|remark| remark.slug.as_str()).collect::<Vec<_>>(), ["superseded-checkpoint"]);
    assert!(told[0].message.contains("`o/m-v2`"));
    for nothing in
        ["null", "[]", r#"{"new_version":7}"#, r#"{"new_version":"o/m"}"#, r#"{"new_version":"../x"}"#]
    {
        assert!(with(nothing).is_empty(), "{nothing}");
    }
}
