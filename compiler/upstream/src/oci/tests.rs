use super::*;
use crate::scripted::Scripted;
use crate::secret::{Credential, Secret};

const INDEX: &str = "application/vnd.oci.image.index.v1+json";
const MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";

fn manifest(config: &str) -> String {
    let digest = Digest::of(config.as_bytes());
    format!(
        r#"{{"schemaVersion":2,"config":{{"mediaType":"c","digest":"{digest}","size":{}}}}}"#,
        config.len()
    )
}

fn entry(body: &str, platform: &str, more: &str) -> String {
    format!(
        r#"{{"mediaType":"{MANIFEST}","digest":"{}","size":{},"platform":{platform}{more}}}"#,
        Digest::of(body.as_bytes()),
        body.len()
    )
}

/// A registry with one tag that names an index of these entries.
fn registry(base: &str, entries: &[(&str, &str, &str)]) -> Scripted {
    let listed: Vec<String> =
        entries.iter().map(|(body, platform, more)| entry(body, platform, more)).collect();
    let index = format!(r#"{{"schemaVersion":2,"mediaType":"{INDEX}","manifests":[{}]}}"#, listed.join(","));
    let mut transport = Scripted::default().with(&format!("{base}/v2/a/b/manifests/1"), INDEX, index);
    for (body, _, _) in entries {
        let url = format!("{base}/v2/a/b/manifests/{}", Digest::of(body.as_bytes()));
        transport = transport.with(&url, MANIFEST, *body);
    }
    transport
}

fn ask(transport: &Scripted, reference: &str, platforms: &[&str]) -> Result<Image, Refusal> {
    let platforms: Vec<String> = platforms.iter().map(|name| (*name).to_owned()).collect();
    let resolved = resolve(transport, &Endpoints::default(), &Tokens::default(), reference, &platforms)?;
    match resolved.pin {
        Pin::Image(image) => Ok(image),
        other => panic!("{other:?}"),
    }
}

const AMD64: &str = r#"{"os":"linux","architecture":"amd64"}"#;
const NOWHERE: &str = r#"{"os":"unknown","architecture":"unknown"}"#;
const HUB: &str = "https://registry-1.docker.io";

#[test]
fn every_request_names_all_four_media_types() {
    let one = manifest("one");
    let transport = registry(HUB, &[(&one, AMD64, "")]);
    ask(&transport, "a/b:1", &["linux/amd64"]).unwrap();
    for request in transport.asked.lock().unwrap().iter() {
        let accept = format!("{:?}", request.headers);
        assert!(MANIFEST_TYPES.iter().all(|media_type| accept.contains(media_type)), "{}", request.url);
    }
}

#[test]
fn attestations_are_no_platforms_however_they_are_marked() {
    let (one, proof, odd) = (manifest("one"), manifest("proof"), manifest("odd"));
    let marked = r#","annotations":{"vnd.docker.reference.type":"attestation-manifest"}"#;
    let transport = registry(HUB, &[(&proof, NOWHERE, ""), (&odd, AMD64, marked), (&one, AMD64, "")]);
    let image = ask(&transport, "a/b:1", &["linux/amd64"]).unwrap();
    assert_eq!(image.platforms.len(), 1);
    assert_eq!(image.platforms["linux/amd64"].digest, Digest::of(one.as_bytes()));
}

#[test]
fn the_first_entry_of_a_platform_counts_as_runtimes_take_it() {
    let (one, two) = (manifest("one"), manifest("two"));
    let transport = registry(HUB, &[(&one, AMD64, ""), (&two, AMD64, "")]);
    let image = ask(&transport, "a/b:1", &[]).unwrap();
    assert_eq!(image.platforms["linux/amd64"].digest, Digest::of(one.as_bytes()));
}

#[test]
fn an_index_that_lies_about_a_size_is_refused() {
    let one = manifest("one");
    let digest = Digest::of(one.as_bytes());
    let index = format!(
        r#"{{"manifests":[{{"mediaType":"{MANIFEST}","digest":"{digest}","size":1,"platform":{AMD64}}}]}}"#
    );
    let transport = Scripted::default().with(&format!("{HUB}/v2/a/b/manifests/1"), INDEX, index).with(
        &format!("{HUB}/v2/a/b/manifests/{digest}"),
        MANIFEST,
        one,
    );
    let refusal = ask(&transport, "a/b:1", &[]).unwrap_err();
    assert_eq!(refusal.diagnostic.slug, slug::UNEXPECTED_ANSWER);
}

#[test]
fn a_public_registry_cannot_send_us_to_a_private_token_server() {
    for (realm, asked) in [
        ("https://auth.test/token", true),
        ("http://auth.test/token", false),
        ("https://127.0.0.1/token", false),
        ("https://10.1.2.3/token", false),
        ("https://169.254.169.254/token", false),
        ("https://[::1]/token", false),
        ("https://localhost/token", false),
    ] {
        let challenge = format!("Bearer realm=\"{realm}\"");
        let url = "https://nvcr.io/v2/a/b/manifests/1";
        let transport = Scripted::default().with_status(url, 401, &[("www-authenticate", &challenge)], "");
        ask(&transport, "nvcr.io#a/b:1", &[]).unwrap_err();
        let sent = transport.addresses().iter().any(|address| address.contains("/token"));
        assert_eq!(sent, asked, "{realm}");
    }
}

#[test]
fn a_token_is_asked_for_with_the_login_and_sent_to_the_registry_alone() {
    let token = "https://auth.test/token?service=nvcr.io&scope=repository%3Aa%2Fb%3Apull";
    let url = "https://nvcr.io/v2/a/b/manifests/1";
    let mut transport = Scripted::default()
        .with_status(url, 401, &[("www-authenticate", "Bearer realm=\"https://auth.test/token\"")], "")
        .with(token, "application/json", r#"{"access_token":"fresh"}"#);
    let password = Secret::new("password");
    transport.credential = Some(Credential::Basic { user: "me".into(), password });
    let refusal = ask(&transport, "nvcr.io/a/b:1", &[]).unwrap_err();
    assert_eq!(refusal.diagnostic.slug, slug::ACCESS_DENIED);
    let sent = |address: &str| {
        let asked = transport.asked.lock().unwrap();
        let requests = asked.iter().filter(|request| request.url.as_str() == address);
        requests
            .flat_map(|request| &request.headers)
            .filter(|(name, _)| *name == "authorization")
            .map(|(_, value)| match value {
                crate::transport::Value::Secret(secret) => secret.expose().to_owned(),
                crate::transport::Value::Plain(text) => panic!("{text} is not masked"),
            })
            .collect::<Vec<_>>()
    };
    assert_eq!(sent(token), ["Basic bWU6cGFzc3dvcmQ="]);
    assert_eq!(sent(url), ["Bearer fresh"], "first as nobody, then with the token, and not again");
}

#[test]
fn tags_like_the_missing_one_are_offered() {
    let published =
        ["latest", "v0.10.1", "v0.5.12-rocm720-mi35x-20260517", "v0.5.12-rocm720-mi35x-20260510", "v0.9"];
    let mut tags: Vec<String> = published.iter().map(|tag| (*tag).to_owned()).collect();
    tags.sort_unstable();
    assert_eq!(similar("0.10.1", &tags).first().map(String::as_str), Some("v0.10.1"));
    assert_eq!(
        similar("v0.5.12-rocm720-mi35x", &tags)[..2],
        ["v0.5.12-rocm720-mi35x-20260517", "v0.5.12-rocm720-mi35x-20260510"]
    );
    assert!(similar("something-else-entirely", &tags).is_empty());
}

#[test]
fn a_moved_tag_may_run_the_same_content() {
    let platform = |config: &str, digest: &str| Platform {
        digest: Digest::of(digest.as_bytes()),
        config: Some(Digest::of(config.as_bytes())),
        media_type: MANIFEST.to_owned(),
        size: 1,
    };
    let image = |digest: &str, config: &str| Image {
        digest: Digest::of(digest.as_bytes()),
        media_type: INDEX.to_owned(),
        size: 1,
        platforms: BTreeMap::from([("linux/amd64".to_owned(), platform(config, digest))]),
    };
    let amd64 = ["linux/amd64".to_owned()];
    assert_eq!(movement(&image("a", "x"), &image("a", "x"), &amd64), Movement::None);
    assert_eq!(movement(&image("a", "x"), &image("b", "x"), &amd64), Movement::OtherParts);
    assert_eq!(movement(&image("a", "x"), &image("b", "y"), &amd64), Movement::Content);
    assert_eq!(movement(&image("a", "x"), &image("b", "x"), &["linux/arm64".to_owned()]), Movement::Content);
}

#[test]
fn a_pin_is_looked_at_and_not_fetched_again() {
    let one = manifest("one");
    let transport = registry(HUB, &[(&one, AMD64, "")]);
    let image = ask(&transport, "a/b:1", &[]).unwrap();
    let amd64 = ["linux/amd64".to_owned()];
    let served = |transport: &Scripted| {
        still_served(transport, &Endpoints::default(), &Tokens::default(), "a/b:1", &image, &amd64)
    };
    let gone = served(&transport).unwrap_err();
    // The scripted registry knows its index by tag alone, so the digest of the pin is gone.
    assert_eq!(gone.diagnostic.slug, slug::REPOSITORY_NOT_FOUND);
    let by_digest = format!("{HUB}/v2/a/b/manifests/{}", image.digest);
    let transport = registry(HUB, &[(&one, AMD64, "")]).with(&by_digest, INDEX, "");
    served(&transport).unwrap();
    assert!(transport.asked.lock().unwrap().iter().all(|request| request.method == Method::Head));
    let transport = Scripted::default().with(&by_digest, INDEX, "");
    assert_eq!(served(&transport).unwrap_err().diagnostic.slug, slug::CHILD_GONE);
}
