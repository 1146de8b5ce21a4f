//! Images are pinned from a real registry, and skopeo computes the same digests.

use std::fs;
use std::process::Command;

use host::{Environment, Options, Refusal, Resolved};
use lock::Digest;
use lock::pin::{Image, Pin};
use recipe::want::Want;

use crate::support::process::program;
use crate::support::registry::Registry;

fn image(reference: &str, platforms: &[&str]) -> Want {
    Want::Image {
        reference: reference.to_owned(),
        platforms: platforms.iter().map(|platform| (*platform).to_owned()).collect(),
    }
}

fn resolve(want: Want, options: &Options) -> Result<Resolved, Refusal> {
    host::resolve(&[want], options).pop().unwrap().outcome
}

#[track_caller]
fn pinned(outcome: Result<Resolved, Refusal>) -> (Image, Resolved) {
    let resolved = outcome.unwrap_or_else(|refusal| panic!("{refusal:#?}"));
    let Pin::Image(image) = resolved.pin.clone() else { panic!("{resolved:?}") };
    (image, resolved)
}

#[track_caller]
fn refused(outcome: Result<Resolved, Refusal>, slug: &str, exit: u8) -> Refusal {
    let refusal = outcome.expect_err("it should be refused");
    assert_eq!((refusal.diagnostic.slug.as_str(), refusal.class.exit_code()), (slug, exit), "{refusal:#?}");
    assert!(!refusal.diagnostic.help.is_empty(), "a refusal says what to do: {refusal:#?}");
    refusal
}

/// Returns the sha256 of the bytes that skopeo receives.
fn skopeo_digest(reference: &str) -> Digest {
    let output = Command::new("skopeo")
        .args(["inspect", "--raw", "--tls-verify=false", &format!("docker://{reference}")])
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Digest::of(&output.stdout)
}

#[test]
fn a_multi_platform_image_has_the_digests_that_skopeo_sees() {
    let test = "a_multi_platform_image_has_the_digests_that_skopeo_sees";
    let (Some(skopeo), Some(registry)) = (program(test, "skopeo"), Registry::start(test)) else { return };
    registry.push(&skopeo, "1.0", "tiny/engine:1.0", &[]);
    let name = format!("{}/tiny/engine", registry.name());
    let wanted = image(&format!("{name}:1.0"), &["linux/amd64", "linux/arm64"]);
    let (image, resolved) = pinned(resolve(wanted, &Options::default()));
    assert_eq!(image.digest, skopeo_digest(&format!("{name}:1.0")));
    assert_eq!(image.media_type, "application/vnd.oci.image.index.v1+json");
    // The index has four entries: the two attestations are no platforms.
    assert_eq!(image.platforms.keys().collect::<Vec<_>>(), ["linux/amd64", "linux/arm64"]);
    for platform in image.platforms.values() {
        assert_eq!(platform.digest, skopeo_digest(&format!("{name}@{}", platform.digest)));
        assert!(platform.config.is_some() && platform.size > 0);
    }
    assert!(resolved.remarks.is_empty(), "{:?}", resolved.remarks);

    // enroot's spelling names the same image.
    let spelled = crate::registry::image(&format!("{}#tiny/engine:1.0", registry.name()), &["linux/arm64"]);
    assert_eq!(pinned(resolve(spelled, &Options::default())).0.digest, image.digest);
}

#[test]
fn the_pin_is_the_same_from_a_registry_and_from_the_mirror_that_it_was_filled_from() {
    let test = "the_pin_is_the_same_from_a_registry_and_from_the_mirror_that_it_was_filled_from";
    let (Some(skopeo), Some(registry)) = (program(test, "skopeo"), Registry::start(test)) else { return };
    registry.push(&skopeo, "1.0", "tiny/engine:1.0", &[]);
    let live = resolve(image(&format!("{}/tiny/engine:1.0", registry.name()), &[]), &Options::default());
    let mirror =
        Options { mirror: Some(crate::support::repository().join("fixtures/mirror")), ..Options::default() };
    let mirrored = resolve(image("registry.example/tiny/engine:1.0", &[]), &mirror);
    assert_eq!(pinned(live).0, pinned(mirrored).0);
}

#[test]
fn a_mirror_that_skopeo_fills_is_read() {
    let test = "a_mirror_that_skopeo_fills_is_read";
    let (Some(skopeo), Some(registry)) = (program(test, "skopeo"), Registry::start(test)) else { return };
    registry.push(&skopeo, "1.0", "tiny/engine:1.0", &[]);
    let reference = format!("{}/tiny/engine:1.0", registry.name());
    let folder = tempfile::tempdir().unwrap();
    // The command that the mirror's documentation gives.
    let output = Command::new(skopeo)
        .args([
            "--insecure-policy",
            "copy",
            "--all",
            "--preserve-digests",
            "--src-tls-verify=false",
            &format!("docker://{reference}"),
        ])
        .arg(format!("oci:{}:{reference}", folder.path().join("oci").display()))
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let (live, _) = pinned(resolve(image(&reference, &[]), &Options::default()));
    let mirror = Options { mirror: Some(folder.path().to_owned()), ..Options::default() };
    assert_eq!(pinned(resolve(image(&reference, &[]), &mirror)).0, live);
    refused(resolve(image("vllm/vllm-openai:v1", &[]), &mirror), "not-in-mirror", 4);
}

#[test]
fn a_login_comes_from_dockers_file_and_is_never_shown() {
    let test = "a_login_comes_from_dockers_file_and_is_never_shown";
    let (Some(skopeo), Some(registry)) = (program(test, "skopeo"), Registry::with_login(test)) else {
        return;
    };
    registry.push(&skopeo, "1.0", "tiny/engine:1.0", &["--dest-creds", "me:secret"]);
    let wanted = || image(&format!("{}/tiny/engine:1.0", registry.name()), &["linux/amd64"]);

    let nobody = refused(resolve(wanted(), &Options::default()), "access-denied", 4);
    assert!(nobody.diagnostic.help.iter().any(|help| help.contains("docker login")));

    let home = tempfile::tempdir().unwrap();
    let with = |password: &str| {
        let auth = upstream::secret::base64_encode(format!("me:{password}").as_bytes());
        let text = format!(r#"{{"auths":{{"{}":{{"auth":"{auth}"}}}}}}"#, registry.name());
        fs::create_dir_all(home.path().join(".docker")).unwrap();
        fs::write(home.path().join(".docker/config.json"), text).unwrap();
        let environment: Environment = [("HOME", home.path().display().to_string())].into_iter().collect();
        Options { environment, ..Options::default() }
    };
    pinned(resolve(wanted(), &with("secret")));
    let wrong = refused(resolve(wanted(), &with("wrong-password")), "access-denied", 4);
    assert!(!format!("{wrong:?}").contains("wrong-password"));
    assert!(wrong.diagnostic.notes.iter().any(|note| note.contains("refuses the login")), "{wrong:?}");
    assert!(nobody.diagnostic.notes.iter().any(|note| note.contains("none is configured")), "{nobody:?}");
    // With the login, what is missing is told from what is private.
    let missing = image(&format!("{}/tiny/other:1.0", registry.name()), &[]);
    refused(resolve(missing, &with("secret")), "repository-not-found", 4);

    // A helper is a program that answers with JSON.
    let helper = home.path().join("docker-credential-mine");
    fs::write(&helper, "#!/bin/sh\ncat >/dev/null\necho '{\"Username\":\"me\",\"Secret\":\"secret\"}'\n")
        .unwrap();
    Command::new("chmod").arg("+x").arg(&helper).status().unwrap();
    let text = format!(r#"{{"credHelpers":{{"{}":"mine"}}}}"#, registry.name());
    fs::write(home.path().join(".docker/config.json"), text).unwrap();
    let environment: Environment = [
        ("HOME", home.path().display().to_string()),
        ("PATH", format!("{}:/usr/bin:/bin", home.path().display())),
    ]
    .into_iter()
    .collect();
    pinned(resolve(wanted(), &Options { environment, ..Options::default() }));
}

#[test]
fn what_is_not_there_is_told_apart_with_tags_like_it() {
    let test = "what_is_not_there_is_told_apart_with_tags_like_it";
    let (Some(skopeo), Some(registry)) = (program(test, "skopeo"), Registry::start(test)) else { return };
    for tag in ["v0.10.1", "v0.5.12-rocm720-mi35x-20260517", "nightly-dev-cu13-20260826-aa1bb2cc"] {
        registry.push(&skopeo, "1.0", &format!("tiny/engine:{tag}"), &[]);
    }
    let of = |rest: &str| resolve(image(&format!("{}/{rest}", registry.name()), &[]), &Options::default());
    let help = |refusal: &Refusal| refusal.diagnostic.help.join("\n");

    let missing = refused(of("tiny/engine:0.10.1"), "tag-not-found", 4);
    assert!(help(&missing).contains("`v0.10.1`"), "{missing:#?}");
    let undated = refused(of("tiny/engine:v0.5.12-rocm720-mi35x"), "tag-not-found", 4);
    assert!(help(&undated).contains("`v0.5.12-rocm720-mi35x-20260517`"), "{undated:#?}");
    let tomorrow = refused(of("tiny/engine:nightly-dev-cu13-20260827-20621aa1"), "tag-not-found", 4);
    assert!(help(&tomorrow).contains("20260826"), "{tomorrow:#?}");
    refused(of("tiny/frontend:1.0"), "repository-not-found", 4);
    refused(of(&format!("tiny/engine@sha256:{}", "0".repeat(64))), "digest-gone", 4);
    refused(of("tiny/Engine:1.0"), "image-reference", 1);
}

#[test]
fn an_image_for_one_platform_is_no_image_for_another() {
    let test = "an_image_for_one_platform_is_no_image_for_another";
    let (Some(skopeo), Some(registry)) = (program(test, "skopeo"), Registry::start(test)) else { return };
    registry.push(&skopeo, "1.0-amd64", "tiny/engine:amd64", &[]);
    let reference = format!("{}/tiny/engine:amd64", registry.name());
    // The tag names a single manifest, so the platform stands in the image config alone.
    let (single, _) = pinned(resolve(image(&reference, &["linux/amd64"]), &Options::default()));
    assert_eq!(single.platforms["linux/amd64"].digest, single.digest);
    assert_eq!(single.digest, skopeo_digest(&reference));
    let other =
        refused(resolve(image(&reference, &["linux/arm64"]), &Options::default()), "platform-missing", 4);
    assert!(other.diagnostic.notes.iter().any(|note| note.contains("linux/amd64")));
}

#[test]
fn a_docker_manifest_list_is_pinned_as_itself_and_not_as_its_first_child() {
    let test = "a_docker_manifest_list_is_pinned_as_itself_and_not_as_its_first_child";
    let (Some(skopeo), Some(registry)) = (program(test, "skopeo"), Registry::start(test)) else { return };
    registry.push(&skopeo, "1.0-amd64", "tiny/engine:oci", &[]);
    let list = format!("{}/tiny/engine:oci", registry.name());
    // Docker's own form of a single manifest, which skopeo converts to.
    let output = Command::new(&skopeo)
        .args([
            "--insecure-policy",
            "copy",
            "--format",
            "v2s2",
            "--src-tls-verify=false",
            "--dest-tls-verify=false",
        ])
        .args([format!("docker://{list}"), format!("docker://{}/tiny/engine:docker", registry.name())])
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let manifest = Command::new(&skopeo)
        .args([
            "inspect",
            "--raw",
            "--tls-verify=false",
            &format!("docker://{}/tiny/engine:docker", registry.name()),
        ])
        .output()
        .unwrap()
        .stdout;
    let text = format!(
        r#"{{"schemaVersion":2,"mediaType":"application/vnd.docker.distribution.manifest.list.v2+json","manifests":[{{"mediaType":"application/vnd.docker.distribution.manifest.v2+json","size":{},"digest":"{}","platform":{{"architecture":"amd64","os":"linux"}}}}]}}"#,
        manifest.len(),
        Digest::of(&manifest)
    );
    put(&registry, "tiny/engine", "list", "application/vnd.docker.distribution.manifest.list.v2+json", &text);
    let reference = format!("{}/tiny/engine:list", registry.name());
    let (image, _) = pinned(resolve(image(&reference, &["linux/amd64"]), &Options::default()));
    assert_eq!(image.digest, Digest::of(text.as_bytes()));
    assert_eq!(image.platforms["linux/amd64"].digest, Digest::of(&manifest));
}

/// Puts a manifest under a tag, as a push does.
fn put(registry: &Registry, repository: &str, tag: &str, media_type: &str, text: &str) {
    let url = format!("http://{}/v2/{repository}/manifests/{tag}", registry.name());
    let header = format!("Content-Type: {media_type}");
    let output = Command::new("curl")
        .args(["-sS", "--fail", "-X", "PUT", "-H", &header, "--data-binary", text, &url])
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn a_registry_whose_storage_was_changed_is_not_believed() {
    let test = "a_registry_whose_storage_was_changed_is_not_believed";
    let (Some(skopeo), Some(registry)) = (program(test, "skopeo"), Registry::start(test)) else { return };
    registry.push(&skopeo, "1.0", "tiny/engine:1.0", &[]);
    let wanted = || image(&format!("{}/tiny/engine:1.0", registry.name()), &["linux/amd64"]);
    let (before, _) = pinned(resolve(wanted(), &Options::default()));
    let blob = registry.blob(before.digest.hex());
    let text = fs::read_to_string(&blob).unwrap();
    // The same length: the registry goes on announcing the old digest.
    fs::write(&blob, text.replacen("attestation", "Attestation", 1)).unwrap();
    let lie = refused(resolve(wanted(), &Options::default()), "digest-mismatch", 4);
    assert!(lie.diagnostic.notes.iter().any(|note| note.contains(before.digest.hex())));
}

#[test]
fn a_part_that_a_cleanup_deleted_is_reported_where_a_target_needs_it() {
    let test = "a_part_that_a_cleanup_deleted_is_reported_where_a_target_needs_it";
    let (Some(skopeo), Some(registry)) = (program(test, "skopeo"), Registry::start(test)) else { return };
    registry.push(&skopeo, "1.0", "tiny/engine:1.0", &[]);
    let reference = format!("{}/tiny/engine:1.0", registry.name());
    let (whole, _) = pinned(resolve(image(&reference, &["linux/arm64"]), &Options::default()));
    let pin = [(image(&reference, &["linux/arm64"]), Pin::Image(whole.clone()))];
    assert_eq!(host::served(&pin, &Options::default()), [Ok(())]);
    registry.forget("tiny/engine", whole.platforms["linux/arm64"].digest.hex());
    let gone = host::served(&pin, &Options::default()).pop().unwrap().unwrap_err();
    assert_eq!(gone.diagnostic.slug.as_str(), "child-gone");
    refused(resolve(image(&reference, &["linux/arm64"]), &Options::default()), "child-gone", 4);
    let (rest, _) = pinned(resolve(image(&reference, &["linux/amd64"]), &Options::default()));
    assert_eq!(rest.platforms.keys().collect::<Vec<_>>(), ["linux/amd64"]);
}

#[test]
fn a_tag_beside_a_digest_is_compared_and_the_digest_wins() {
    let test = "a_tag_beside_a_digest_is_compared_and_the_digest_wins";
    let (Some(skopeo), Some(registry)) = (program(test, "skopeo"), Registry::start(test)) else { return };
    registry.push(&skopeo, "1.0", "tiny/engine:v1", &[]);
    let name = format!("{}/tiny/engine", registry.name());
    let (first, _) = pinned(resolve(image(&format!("{name}:v1"), &[]), &Options::default()));
    let both = image(&format!("{name}:v1@{}", first.digest), &["linux/amd64"]);
    assert!(pinned(resolve(both.clone(), &Options::default())).1.remarks.is_empty());

    registry.push(&skopeo, "1.0-amd64", "tiny/engine:v1", &[]);
    let (moved, _) = pinned(resolve(image(&format!("{name}:v1"), &[]), &Options::default()));
    let (kept, resolved) = pinned(resolve(both, &Options::default()));
    assert_eq!(kept, first);
    let remark = resolved.remarks.first().expect("the tag has moved");
    assert_eq!(remark.slug.as_str(), "tag-moved");
    let notes = remark.notes.join("\n");
    assert!(notes.contains(first.digest.hex()) && notes.contains(moved.digest.hex()), "{notes}");

    // The tag has moved, and what the pin names is still served.
    let pin = [(image(&format!("{name}:v1"), &["linux/amd64"]), Pin::Image(first.clone()))];
    assert_eq!(host::served(&pin, &Options::default()), [Ok(())]);

    let gone = image(&format!("{name}:never@{}", first.digest), &[]);
    assert_eq!(pinned(resolve(gone, &Options::default())).1.remarks[0].slug.as_str(), "tag-not-found");
    // What the amd64 target runs is the same in both: the tag lost its other parts alone.
    let platforms = ["linux/amd64".to_owned()];
    assert_eq!(upstream::oci::movement(&first, &moved, &platforms), upstream::oci::Movement::OtherParts);
}

#[test]
fn a_cache_is_never_asked_where_a_tag_points() {
    let test = "a_cache_is_never_asked_where_a_tag_points";
    let (Some(skopeo), Some(registry)) = (program(test, "skopeo"), Registry::start(test)) else { return };
    registry.push(&skopeo, "1.0", "tiny/engine:1.0", &[]);
    let cache = tempfile::tempdir().unwrap();
    let environment: Environment =
        [("RECIPEC_CACHE", cache.path().display().to_string())].into_iter().collect();
    let options = Options { environment, ..Options::default() };
    let wanted = || image(&format!("{}/tiny/engine:1.0", registry.name()), &["linux/amd64"]);
    let (cold, _) = pinned(resolve(wanted(), &options));
    assert_eq!(pinned(resolve(wanted(), &options)).0, cold);
    registry.push(&skopeo, "1.0-amd64", "tiny/engine:1.0", &[]);
    assert_ne!(pinned(resolve(wanted(), &options)).0.digest, cold.digest);
}
