//! Attestations: what an audit found, as an in-toto statement in a signed envelope.
//!
//! The statement is canonical JSON, so the same findings at the same declared time give the same bytes, and
//! with them the same signature (ed25519 has no randomness). The envelope is DSSE: what is signed is the
//! type and the payload with their lengths, so neither can be taken for the other. What is inside is read
//! only after a signature of the given key has held.

use std::collections::BTreeMap;
use std::fmt;

use aws_lc_rs::signature::{ED25519, Ed25519KeyPair, KeyPair as _, UnparsedPublicKey};
use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE};
use lock::Digest;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// Type of what is in the envelope.
pub const PAYLOAD_TYPE: &str = "application/vnd.in-toto+json";
/// Type of the statement.
pub const STATEMENT_TYPE: &str = "https://in-toto.io/Statement/v1";
/// Type of what the statement says.
pub const PREDICATE_TYPE: &str = "https://github.com/SemiAnalysisAI/recipec/attestations/audit/v1";

/// The most bytes of an envelope or a key that are read.
pub const LIMIT: u64 = 16 << 20;

/// The beginning of an ed25519 public key in its usual form, before its 32 bytes.
const PUBLIC_PREFIX: &[u8] = &[0x30, 0x2a, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x03, 0x21, 0x00];

/// Something that a statement is about.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Subject {
    /// Its name, such as the path of a result.
    pub name: String,
    /// Its digests, by algorithm; `sha256` is always among ours.
    pub digest: BTreeMap<String, String>,
}

impl Subject {
    /// Returns a subject with a sha256 digest.
    #[must_use]
    pub fn new(name: &str, digest: &Digest) -> Self {
        let digest = BTreeMap::from([("sha256".to_owned(), digest.hex().to_owned())]);
        Self { name: name.to_owned(), digest }
    }
}

/// What an audit says of its subjects.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Predicate {
    /// The version of recipec.
    pub recipec: String,
    /// The verb, such as `audit checkpoint`.
    pub command: String,
    /// The declared time, in UTC.
    pub time: String,
    /// The lock.
    pub lock: LockName,
    /// Digests of the lock's plans that the subjects are of, by `target/mode/job`.
    pub plans: BTreeMap<String, String>,
    /// Checkpoints as pinned: commit and digest of the file list, by repository.
    pub checkpoints: BTreeMap<String, Value>,
    /// Images as pinned: the digest, by reference.
    pub images: BTreeMap<String, Digest>,
    /// What was found, one by one.
    pub verdicts: Vec<Verdict>,
}

/// Which lock it was.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct LockName {
    /// Config key of the recipe.
    pub recipe: String,
    /// Seal of the lock.
    pub seal: Digest,
}

/// One verdict.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Verdict {
    /// What of.
    pub of: String,
    /// The word, as the audit gives it.
    pub verdict: String,
    /// What it rests on.
    pub details: Value,
}

impl Verdict {
    /// Says whether it is what one hopes for.
    #[must_use]
    pub fn is_good(&self) -> bool {
        matches!(self.verdict.as_str(), "complete" | "same" | "reproduced" | "holds")
    }
}

/// A statement as it was signed.
#[derive(Clone, PartialEq, Debug)]
pub struct Statement {
    /// What it is about.
    pub subjects: Vec<Subject>,
    /// What it says.
    pub predicate: Predicate,
}

/// Why an attestation is not taken.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Refused {
    /// It is no such envelope; in a phrase.
    Shape(String),
    /// No signature in it is one of this key over these bytes.
    Signature,
    /// The signed bytes are no statement of ours; in a phrase.
    Statement(String),
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Shape(why) => write!(f, "it is no signed envelope: {why}"),
            Self::Signature => f.write_str("no signature in it is one of this key over what it holds"),
            Self::Statement(why) => write!(f, "what was signed is no statement of an audit: {why}"),
        }
    }
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Envelope {
    payload: String,
    payload_type: String,
    signatures: Vec<Signature>,
}

#[derive(Serialize, Deserialize)]
struct Signature {
    #[serde(default)]
    keyid: String,
    sig: String,
}

/// A key that signs. It is never shown.
pub struct Key(Ed25519KeyPair);

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Key(…)")
    }
}

impl Key {
    /// Reads a private key in PEM (PKCS#8), as `openssl genpkey -algorithm ed25519` writes it.
    ///
    /// # Errors
    /// In a phrase that shows nothing of the key.
    pub fn read(text: &str) -> Result<Self, String> {
        let bytes = pem(text, "PRIVATE KEY")?;
        Ed25519KeyPair::from_pkcs8_maybe_unchecked(&bytes)
            .map(Self)
            .map_err(|_| "it is no ed25519 key in PKCS#8".to_owned())
    }

    /// Returns the key that verifies what this one signs.
    #[must_use]
    pub fn public(&self) -> PublicKey {
        PublicKey(self.0.public_key().as_ref().to_vec())
    }
}

/// A key that verifies.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PublicKey(Vec<u8>);

impl PublicKey {
    /// Reads a public key in PEM, as `openssl pkey -pubout` writes it.
    ///
    /// # Errors
    /// In a phrase.
    pub fn read(text: &str) -> Result<Self, String> {
        let bytes = pem(text, "PUBLIC KEY")?;
        match bytes.strip_prefix(PUBLIC_PREFIX) {
            Some(key) if key.len() == 32 => Ok(Self(key.to_vec())),
            _ => Err("it is no ed25519 key".to_owned()),
        }
    }

    /// Returns the name of the key: the digest of its usual form.
    #[must_use]
    pub fn id(&self) -> String {
        Digest::of(&[PUBLIC_PREFIX, &self.0].concat()).hex().to_owned()
    }
}

/// Returns the bytes of the first part of a PEM file with this label.
fn pem(text: &str, label: &str) -> Result<Vec<u8>, String> {
    let (begin, end) = (format!("-----BEGIN {label}-----"), format!("-----END {label}-----"));
    let inside = text.split_once(&begin).and_then(|(_, rest)| rest.split_once(&end));
    let Some((inside, _)) = inside else { return Err(format!("it has no `{begin}`")) };
    let inside: String = inside.split_whitespace().collect();
    STANDARD.decode(inside).map_err(|_| "it is no base64".to_owned())
}

/// Returns what is signed: type and payload, each after its length.
fn signed(payload_type: &str, payload: &[u8]) -> Vec<u8> {
    let mut bytes = format!("DSSEv1 {} {payload_type} {} ", payload_type.len(), payload.len()).into_bytes();
    bytes.extend_from_slice(payload);
    bytes
}

/// Returns the envelope of a statement, with its signature.
#[must_use]
pub fn sign(statement: &Statement, key: &Key) -> String {
    let value = json!({
        "_type": STATEMENT_TYPE,
        "subject": statement.subjects,
        "predicateType": PREDICATE_TYPE,
        "predicate": statement.predicate,
    });
    let payload = lock::canonical(&value).into_bytes();
    let signature = key.0.sign(&signed(PAYLOAD_TYPE, &payload));
    let envelope = Envelope {
        payload: STANDARD.encode(&payload),
        payload_type: PAYLOAD_TYPE.to_owned(),
        signatures: vec![Signature { keyid: key.public().id(), sig: STANDARD.encode(signature.as_ref()) }],
    };
    lock::pretty(&serde_json::to_value(envelope).unwrap_or_default())
}

/// Opens an envelope that was signed with a key.
///
/// # Errors
/// [`Refused`]: before a signature has held, nothing of what is inside is read.
pub fn open(text: &str, key: &PublicKey) -> Result<Statement, Refused> {
    let value = lock::parse_json(text).map_err(Refused::Shape)?;
    let envelope: Envelope =
        serde_json::from_value(value).map_err(|error| Refused::Shape(error.to_string()))?;
    if envelope.payload_type != PAYLOAD_TYPE {
        return Err(Refused::Shape(format!("it holds `{}`", envelope.payload_type.escape_debug())));
    }
    let decode = |text: &str| STANDARD.decode(text).or_else(|_| URL_SAFE.decode(text)).ok();
    let payload =
        decode(&envelope.payload).ok_or_else(|| Refused::Shape("its payload is no base64".to_owned()))?;
    let bytes = signed(&envelope.payload_type, &payload);
    let public = UnparsedPublicKey::new(&ED25519, &key.0);
    // The name of a key is a hint that anybody can write, so every signature is tried.
    let holds =
        |signature: &Signature| decode(&signature.sig).is_some_and(|sig| public.verify(&bytes, &sig).is_ok());
    if !envelope.signatures.iter().take(100).any(holds) {
        return Err(Refused::Signature);
    }
    statement(&payload).map_err(Refused::Statement)
}

fn statement(payload: &[u8]) -> Result<Statement, String> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Document {
        #[serde(rename = "_type")]
        kind: String,
        subject: Vec<Subject>,
        predicate_type: String,
        predicate: Value,
    }
    let text = std::str::from_utf8(payload).map_err(|error| error.to_string())?;
    let document: Document =
        serde_json::from_value(lock::parse_json(text)?).map_err(|error| error.to_string())?;
    for (is, wanted) in [(&document.kind, STATEMENT_TYPE), (&document.predicate_type, PREDICATE_TYPE)] {
        if is != wanted {
            return Err(format!("its type is `{}`", is.escape_debug()));
        }
    }
    if document.subject.is_empty() {
        return Err("it is about nothing".to_owned());
    }
    let predicate = serde_json::from_value(document.predicate).map_err(|error| error.to_string())?;
    Ok(Statement { subjects: document.subject, predicate })
}

impl Statement {
    /// Returns the subject that has this sha256 digest.
    #[must_use]
    pub fn about(&self, digest: &Digest) -> Option<&Subject> {
        self.subjects
            .iter()
            .find(|subject| subject.digest.get("sha256").is_some_and(|hex| hex == digest.hex()))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests fail loudly")]
    use super::*;

    /// The first pair of keys of RFC 8032, 7.1.
    const SECRET: [u8; 32] = [
        0x9d, 0x61, 0xb1, 0x9d, 0xef, 0xfd, 0x5a, 0x60, 0xba, 0x84, 0x4a, 0xf4, 0x92, 0xec, 0x2c, 0xc4, 0x44,
        0x49, 0xc5, 0x69, 0x7b, 0x32, 0x69, 0x19, 0x70, 0x3b, 0xac, 0x03, 0x1c, 0xae, 0x7f, 0x60,
    ];
    const OPEN: [u8; 32] = [
        0xd7, 0x5a, 0x98, 0x01, 0x82, 0xb1, 0x0a, 0xb7, 0xd5, 0x4b, 0xfe, 0xd3, 0xc9, 0x64, 0x07, 0x3a, 0x0e,
        0xe1, 0x72, 0xf3, 0xda, 0xa6, 0x23, 0x25, 0xaf, 0x02, 0x1a, 0x68, 0xf7, 0x07, 0x51, 0x1a,
    ];

    fn as_pem(label: &str, parts: &[&[u8]]) -> String {
        format!("-----BEGIN {label}-----\n{}\n-----END {label}-----\n", STANDARD.encode(parts.concat()))
    }

    fn private() -> String {
        let prefix = [0x30, 0x2e, 2, 1, 0, 0x30, 5, 6, 3, 0x2b, 0x65, 0x70, 4, 0x22, 4, 0x20];
        as_pem("PRIVATE KEY", &[&prefix, &SECRET])
    }

    fn keys() -> (Key, PublicKey) {
        let public = as_pem("PUBLIC KEY", &[PUBLIC_PREFIX, &OPEN]);
        (Key::read(&private()).unwrap(), PublicKey::read(&public).unwrap())
    }

    fn example() -> Statement {
        Statement {
            subjects: vec![Subject::new("result.json", &Digest::of(b"result"))],
            predicate: Predicate {
                recipec: "0.1.0".to_owned(),
                command: "audit run".to_owned(),
                time: "2026-12-07T12:00:00Z".to_owned(),
                lock: LockName { recipe: "a".to_owned(), seal: Digest::of(b"lock") },
                plans: BTreeMap::new(),
                checkpoints: BTreeMap::new(),
                images: BTreeMap::new(),
                verdicts: vec![],
            },
        }
    }

    #[test]
    fn what_is_signed_is_read_again_and_is_the_same_each_time() {
        let (key, public) = keys();
        assert_eq!(key.public(), public);
        let envelope = sign(&example(), &key);
        assert_eq!(envelope, sign(&example(), &key));
        assert_eq!(open(&envelope, &public), Ok(example()));
        assert!(
            example().about(&Digest::of(b"result")).is_some() && example().about(&Digest::of(b"x")).is_none()
        );
    }

    #[test]
    fn what_was_changed_is_refused() {
        let (key, public) = keys();
        let envelope = sign(&example(), &key);
        let value: Value = serde_json::from_str(&envelope).unwrap();
        let change = |path: &str, text: String| {
            let mut value = value.clone();
            *value.pointer_mut(path).unwrap() = text.into();
            open(&value.to_string(), &public)
        };
        let payload = STANDARD.decode(value["payload"].as_str().unwrap()).unwrap();
        let other = String::from_utf8(payload.clone()).unwrap().replace("result.json", "resulT.json");
        assert_eq!(change("/payload", STANDARD.encode(other)), Err(Refused::Signature));
        let mut signature = STANDARD.decode(value["signatures"][0]["sig"].as_str().unwrap()).unwrap();
        assert!(change("/signatures/0/sig", URL_SAFE.encode(&signature)).is_ok());
        signature[3] ^= 1;
        assert_eq!(change("/signatures/0/sig", STANDARD.encode(signature)), Err(Refused::Signature));
        assert!(change("/signatures/0/keyid", "another".to_owned()).is_ok());
        assert!(matches!(change("/payloadType", "text/plain".to_owned()), Err(Refused::Shape(_))));
        let mut all = value.clone();
        all["signatures"] = json!([]);
        assert_eq!(open(&all.to_string(), &public), Err(Refused::Signature));
        for text in ["", "{}", "[]", "{\"payload\":1}", &envelope[..envelope.len() - 4]] {
            assert!(matches!(open(text, &public), Err(Refused::Shape(_))), "{text}");
        }
        let twice = envelope.replacen('{', "{ \"payload\": \"\",", 1);
        assert!(matches!(open(&twice, &public), Err(Refused::Shape(_))));
    }

    #[test]
    fn signed_bytes_that_are_no_statement_are_refused() {
        let (key, public) = keys();
        let seal = |payload: &str| {
            let signature = key.0.sign(&signed(PAYLOAD_TYPE, payload.as_bytes()));
            let (payload, sig) = (STANDARD.encode(payload), STANDARD.encode(signature.as_ref()));
            json!({ "payload": payload, "payloadType": PAYLOAD_TYPE, "signatures": [{ "sig": sig }] })
                .to_string()
        };
        let good = String::from_utf8(
            STANDARD
                .decode(
                    serde_json::from_str::<Value>(&sign(&example(), &key)).unwrap()["payload"]
                        .as_str()
                        .unwrap(),
                )
                .unwrap(),
        )
        .unwrap();
        assert!(open(&seal(&good), &public).is_ok());
        for bad in [
            String::new(),
            good.replace("Statement/v1", "Statement/v0.1"),
            good.replace("audit/v1", "other/v1"),
            good.replace(r#""subject":[{"#, r#""subject":[],"was":[{"#),
            good.replacen(r#""command":"#, r#""command":"x","command":"#, 1),
        ] {
            assert!(matches!(open(&seal(&bad), &public), Err(Refused::Statement(_))), "{bad}");
        }
    }

    #[test]
    fn keys_of_another_kind_are_refused_and_not_shown() {
        let (key, _) = keys();
        assert_eq!(format!("{key:?}"), "Key(…)");
        for text in [
            "",
            &as_pem("PUBLIC KEY", &[PUBLIC_PREFIX, &OPEN]),
            "-----BEGIN PRIVATE KEY-----\n!\n-----END PRIVATE KEY-----",
            "-----BEGIN PRIVATE KEY-----\nMAA=\n-----END PRIVATE KEY-----",
        ] {
            assert!(Key::read(text).is_err(), "{text}");
        }
        assert!(PublicKey::read(&private()).is_err());
    }
}
