//! Attestations, made by recipec and judged by others.

use serde_json::Value;

use super::{LOCK, SHARD, Stage};
use crate::support::Ran;

/// Verifies an envelope with nothing of ours: Python reads it, openssl checks the signature.
const JUDGE: &str = r#"
import base64, json, subprocess, sys
envelope = json.load(open(sys.argv[1]))
payload, kind = base64.b64decode(envelope["payload"]), envelope["payloadType"].encode()
signed = b"DSSEv1 %d %s %d %s" % (len(kind), kind, len(payload), payload)
open("signed", "wb").write(signed)
open("signature", "wb").write(base64.b64decode(envelope["signatures"][0]["sig"]))
done = subprocess.run(["openssl", "pkeyutl", "-verify", "-pubin", "-inkey", sys.argv[2], "-rawin",
    "-in", "signed", "-sigfile", "signature"], capture_output=True, text=True)
print(done.stdout, done.stderr, file=sys.stderr)
print(payload.decode())
sys.exit(done.returncode)
"#;

/// A stage with a pair of keys, as openssl makes them; `None` without openssl.
fn stage(test: &str) -> Option<Stage> {
    let stage = Stage::new();
    let made =
        "openssl genpkey -algorithm ed25519 -out key.pem && openssl pkey -in key.pem -pubout -out public.pem";
    if stage.sandbox.bash(made).code != 0 {
        println!("{test}: skipped, there is no openssl that knows ed25519");
        return None;
    }
    stage.sandbox.write("judge.py", JUDGE);
    Some(stage)
}

fn attest(stage: &Stage, to: &str, more: &[&str]) -> Ran {
    let more: Vec<&str> = ["--attest", to, "--key", "key.pem"].iter().chain(more).copied().collect();
    stage.audit("model", &more).0
}

fn verify(stage: &Stage, file: &str, more: &[&str]) -> (Ran, Value) {
    let words = ["audit", "attestation", file, "--key", "public.pem", "--format", "json"];
    let ran = stage.sandbox.recipec(words.iter().chain(more));
    let value = ran.json();
    (ran, value)
}

#[test]
fn an_independent_judge_takes_what_recipec_signs() {
    let Some(stage) = stage("an_independent_judge_takes_what_recipec_signs") else { return };
    let at = ["--at", "2026-12-07T12:00:00Z"];
    assert_eq!(attest(&stage, "one.json", &at).code, 0);
    let judged = stage.sandbox.bash("python3 judge.py one.json public.pem");
    assert_eq!(judged.code, 0, "{}", judged.stderr);
    let statement: Value = serde_json::from_str(&judged.stdout).unwrap();
    assert_eq!(statement["_type"], "https://in-toto.io/Statement/v1");
    assert_eq!(statement["subject"][0]["name"], super::MODEL);
    assert_eq!(statement["subject"][0]["digest"]["gitCommit"], super::COMMIT);
    let said = &statement["predicate"];
    assert_eq!((&said["time"], &said["verdicts"][0]["verdict"]), (&at[1].into(), &"complete".into()));
    assert_eq!(said["plans"].as_object().unwrap().len(), 8);
    // The same but for the declared time, byte for byte; the folder's name is not in it.
    stage.bash("mv model elsewhere && ln -s elsewhere model");
    attest(&stage, "two.json", &at);
    attest(&stage, "three.json", &["--at", "2026-12-07T12:00:01Z"]);
    let read = |name: &str| stage.sandbox.read(name);
    assert!(read("one.json") == read("two.json") && read("one.json") != read("three.json"));
    assert!(!judged.stdout.contains(stage.path("").to_str().unwrap()));
    let (ran, value) = verify(&stage, "one.json", &["--lock", LOCK]);
    assert_eq!((ran.code, &value["predicate"]["time"]), (0, &at[1].into()));
    // The file list of the checkpoint is its subject: by its digest, wherever it lies.
    let list = statement["subject"][0]["digest"]["sha256"].as_str().unwrap();
    let list = format!("lockfiles/files/sha256-{list}.json");
    assert_eq!(verify(&stage, "one.json", &[&list]).1["checked"], 1);
}

#[test]
fn what_was_tampered_with_is_refused_by_both() {
    let Some(stage) = stage("what_was_tampered_with_is_refused_by_both") else { return };
    assert_eq!(attest(&stage, "found.json", &[]).code, 0);
    let refused = |file: &str, more: &[&str]| {
        let (ran, value) = verify(&stage, file, more);
        assert_eq!((ran.code, &value["diagnostics"][0]["slug"]), (4, &"attestation-false".into()), "{file}");
        assert!(value.get("predicate").is_none(), "nothing of it is shown");
    };
    for (name, change) in [
        (
            "payload",
            "b=json.loads(base64.b64decode(e['payload'])); b['predicate']['verdicts'][0]['verdict']='same'; e['payload']=base64.b64encode(json.dumps(b).encode()).decode()",
        ),
        ("space", "e['payload']=base64.b64encode(base64.b64decode(e['payload'])+b' ').decode()"),
        (
            "signature",
            "s=bytearray(base64.b64decode(e['signatures'][0]['sig'])); s[0]^=1; e['signatures'][0]['sig']=base64.b64encode(bytes(s)).decode()",
        ),
        ("none", "e['signatures']=[]"),
        ("type", "e['payloadType']='application/json'"),
    ] {
        stage.sandbox.write("change.py", format!("import base64, json\ne=json.load(open('found.json'))\n{change}\njson.dump(e, open('{name}.json', 'w'))\n"));
        stage.bash("python3 change.py");
        refused(&format!("{name}.json"), &[]);
        if name != "type" && name != "none" {
            assert_ne!(
                stage.sandbox.bash(&format!("python3 judge.py {name}.json public.pem")).code,
                0,
                "{name}"
            );
        }
    }
    // Another key, another lock, a file that it says nothing of, and no attestation at all.
    stage.bash("openssl genpkey -algorithm ed25519 -out other.pem && openssl pkey -in other.pem -pubout -out other-public.pem");
    let ran = stage.sandbox.recipec(["audit", "attestation", "found.json", "--key", "other-public.pem"]);
    assert!(ran.code == 4 && ran.stderr.contains("attestation-false"), "{}", ran.stderr);
    refused("found.json", &["model/config.json"]);
    stage.edit_lock(|pin| {
        if let lock::pin::Pin::Image(image) = pin {
            image.size += 1;
        }
    });
    refused("found.json", &["--lock", LOCK]);
    refused("model/config.json", &[]);
}

#[test]
fn a_failure_is_attested_as_one() {
    let Some(stage) = stage("a_failure_is_attested_as_one") else { return };
    stage.bash(&format!("printf X | dd of=model/{SHARD} bs=1 seek=9000 conv=notrunc status=none"));
    assert_eq!(attest(&stage, "found.json", &[]).code, 4);
    assert_eq!(stage.sandbox.bash("python3 judge.py found.json public.pem").code, 0);
    let (ran, value) = verify(&stage, "found.json", &[]);
    assert_eq!((ran.code, &value["diagnostics"][0]["slug"]), (4, &"attested-failure".into()));
    assert_eq!(value["predicate"]["verdicts"][0]["details"]["wrong"][0]["path"], SHARD);
}

/// Before anything is read: nobody waits for a checkpoint to learn that the key is none.
#[test]
fn keys_and_times_that_cannot_be_used_are_said_first() {
    let Some(stage) = stage("keys_and_times_that_cannot_be_used_are_said_first") else { return };
    stage.bash("openssl genpkey -algorithm rsa -pkeyopt rsa_keygen_bits:1024 -out rsa.pem 2>/dev/null");
    for key in ["rsa.pem", "public.pem", "nowhere.pem", "model"] {
        let (ran, _) = stage.audit("model", &["--attest", "found.json", "--key", key]);
        assert_eq!(ran.code, 5, "{key}: {}", ran.stderr);
        assert!(!stage.path("found.json").exists() && !ran.stdout.contains("hashed_bytes"));
    }
    assert_eq!(attest(&stage, "found.json", &["--at", "yesterday"]).code, 2);
    assert_eq!(attest(&stage, "model/config.json/x", &[]).code, 5);
    let secret = stage.sandbox.read("key.pem").lines().nth(1).unwrap().to_owned();
    let ran = stage.sandbox.recipec(["audit", "attestation", "key.pem", "--key", "key.pem"]);
    assert!(ran.code == 5 && !ran.stderr.contains(&secret), "{}", ran.stderr);
}

#[test]
fn results_are_the_subjects_of_an_audit_of_a_run() {
    let Some(stage) = stage("results_are_the_subjects_of_an_audit_of_a_run") else { return };
    stage.sandbox.copy("fixtures/explain/audit");
    let ran = stage.sandbox.recipec(["lock", "--mirror", "mirror"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    stage.bash(&format!(
        "openssl genpkey -algorithm ed25519 -out key.pem && openssl pkey -in key.pem -pubout -out public.pem && python3 measure.py {LOCK} throughput"
    ));
    let run = ["audit", "run", "run", "--lock", LOCK, "--attest", "found.json", "--key", "key.pem"];
    let ran = stage.sandbox.recipec(run);
    assert_eq!(ran.code, 0, "{}{}", ran.stdout, ran.stderr);
    let judged = stage.sandbox.bash("python3 judge.py found.json public.pem");
    assert_eq!(judged.code, 0, "{}", judged.stderr);
    let statement: Value = serde_json::from_str(&judged.stdout).unwrap();
    let subjects = statement["subject"].as_array().unwrap();
    let subject = subjects.iter().find(|subject| subject["name"] == "tiny.json").unwrap();
    let sum = stage.sandbox.bash("sha256sum run/tiny.json | head -c 64").stdout;
    assert_eq!(subject["digest"]["sha256"], sum);
    let said = &statement["predicate"];
    assert_eq!(said["verdicts"][0]["verdict"], "reproduced");
    assert_eq!(said["plans"].as_object().unwrap().len(), 1);
    let (ran, value) = verify(&stage, "found.json", &["run/tiny.json", "--lock", LOCK]);
    assert_eq!((ran.code, &value["checked"]), (0, &1.into()));
    // A result that was improved afterwards is none that the attestation is about.
    stage.bash("sed -i 's/\"completed\": 40/\"completed\": 41/' run/tiny.json");
    assert_eq!(verify(&stage, "found.json", &["run/tiny.json"]).0.code, 4);
    let ran = stage.sandbox.recipec(run);
    assert_ne!(ran.code, 0);
    let (ran, value) = verify(&stage, "found.json", &["run/tiny.json"]);
    assert_eq!((ran.code, &value["diagnostics"][0]["slug"]), (4, &"attested-failure".into()));
}
