//! `recipec audit image`: what ran beside the image that the lock pins.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::io::{ErrorKind, Read as _};
use std::path::Path;

use ::lock::pin::{Entry, Pin};
use ::lock::{Digest, Lock};
use audit::image::{Pinned, Seen, Verdict, judge, read};
use diag::slugs::audit::{IMAGE_DIFFERENT, IMAGE_UNPROVEN, NO_IMAGE};
use diag::slugs::host::CANNOT_READ;
use diag::{Diagnostic, Diagnostics, SourceMap};
use host::squash::{self, is_squash};
use host::stamp::whole;
use recipe::want::Want;
use serde_json::{Value, json};
use upstream::oci::Reference;

use super::read_lock;
use crate::arguments::AuditImage;
use crate::outcome::{Answer, Document, Failure, Outcome, Silence};

const COMMAND: &str = "audit image";

/// The most bytes of a piece of evidence that is no squash file.
const LIMIT: u64 = 16 << 20;

/// Audits what ran.
pub(crate) fn run(verb: &AuditImage) -> Outcome {
    match audited(verb) {
        Ok(audited) => outcome(audited),
        Err(findings) => Outcome::new(COMMAND, Silence).with(findings, SourceMap::new()),
    }
}

fn audited(verb: &AuditImage) -> Result<Audited, Diagnostics> {
    let (lock, _) = read_lock(&verb.lock)?;
    let pinned = choose(verb, &lock).map_err(|finding| Diagnostics::from_iter([finding]))?;
    let mut seen = Vec::new();
    let mut failed = Diagnostics::new();
    for evidence in &verb.evidence {
        match look(evidence) {
            Ok(found) => seen.push((evidence, found)),
            Err(why) => failed.push(
                Diagnostic::error(
                    CANNOT_READ,
                    format!("cannot read `{}` as evidence of an image", evidence.escape_debug()),
                )
                .why(why),
            ),
        }
    }
    if !failed.is_empty() {
        return Err(failed);
    }
    // Only the pinned index says which digests are attestations of it.
    let attestations: BTreeSet<Digest> = seen
        .iter()
        .filter(|(_, seen)| seen.digests.contains(&pinned.image.digest))
        .flat_map(|(_, seen)| seen.attestations.clone())
        .collect();
    let verdicts = seen
        .iter()
        .map(|(evidence, seen)| {
            let verdict = judge(&pinned, seen, verb.platform.as_deref(), &attestations, &name);
            ((*evidence).clone(), verdict)
        })
        .collect();
    let (reference, digest) = (pinned.reference.to_owned(), pinned.image.digest.clone());
    Ok(Audited { reference, digest, verdicts })
}

/// Returns where a reference leads, its tag and its digest.
fn name(text: &str) -> Option<(String, Option<String>, Option<Digest>)> {
    let reference = Reference::parse(text).ok()?;
    let place = format!("{}/{}", reference.registry(), reference.repository());
    Some((place, reference.tag().map(str::to_owned), reference.digest().cloned()))
}

/// Reads one piece of evidence.
fn look(evidence: &str) -> Result<Seen, String> {
    let say = |error: std::io::Error| error.to_string();
    if evidence == "-" {
        let mut bytes = Vec::new();
        std::io::stdin().lock().take(LIMIT).read_to_end(&mut bytes).map_err(say)?;
        return read(&bytes);
    }
    let path = Path::new(evidence);
    match is_squash(path) {
        Ok(true) => {
            let note = squash::note(path).map_err(say)?;
            let line = note.lines().next().unwrap_or_default();
            // An image may have a script of its own there, which is no note.
            let noted = line.starts_with("# enroot-provenance: ");
            if noted { read(line.as_bytes()) } else { Ok(Seen::default()) }
        }
        Ok(false) => read(&whole(path, LIMIT).map_err(say)?),
        Err(error) if error.kind() == ErrorKind::NotFound => {
            let digest = name(evidence).and_then(|(_, _, digest)| digest);
            if digest.is_some() || evidence.parse::<Digest>().is_ok() {
                return read(evidence.as_bytes());
            }
            Err("there is no such file, and it is no reference with a digest".to_owned())
        }
        Err(error) => Err(error.to_string()),
    }
}

/// Returns the image that the evidence is to be set beside.
fn choose<'l>(verb: &AuditImage, lock: &'l Lock) -> Result<Pinned<'l>, Diagnostic> {
    let pinned: Vec<Pinned<'l>> = lock
        .pins
        .values()
        .filter_map(|entry| match entry {
            Entry::Pinned { want: Want::Image { reference, platforms }, pin: Pin::Image(image) } => {
                Some(Pinned { reference, image, needed: platforms })
            }
            _ => None,
        })
        .collect();
    let found = match (&verb.image, pinned.as_slice()) {
        (Some(reference), _) => pinned.iter().find(|one| one.reference == reference),
        (None, [one]) => Some(one),
        (None, _) => None,
    };
    found.copied().ok_or_else(|| {
        let names: Vec<&str> = pinned.iter().map(|one| one.reference).collect();
        let message = match &verb.image {
            Some(reference) => format!("the lock pins no image `{}`", reference.escape_debug()),
            None => format!("the lock pins {} images, and none is named", names.len()),
        };
        let finding = Diagnostic::error(NO_IMAGE, message);
        if names.is_empty() {
            finding.why("it pins none").help("run `recipec lock` where the registry can be reached")
        } else {
            finding.help(format!("name one with `--image`: {}", names.join(", ")))
        }
    })
}

fn outcome(audited: Audited) -> Outcome {
    let mut findings = Diagnostics::new();
    let mut failures = BTreeSet::new();
    for (evidence, verdict) in &audited.verdicts {
        let evidence = evidence.escape_debug();
        let (slug, failure, message, why, help) = match verdict {
            Verdict::Same { .. } => continue,
            Verdict::Different(why) => (
                IMAGE_DIFFERENT,
                Failure::Outside,
                format!("`{evidence}` is not the image that the lock pins"),
                why,
                "a result of it is not of this lock: start what `recipec build` writes, which starts the pinned image",
            ),
            Verdict::Unproven(why) => (
                IMAGE_UNPROVEN,
                Failure::Unreachable,
                format!("`{evidence}` does not say which image ran"),
                why,
                "keep what the runtime says: `docker image inspect`, or a squash file with enroot's note",
            ),
        };
        findings.push(
            Diagnostic::error(slug, message)
                .why(why.escape_debug().to_string())
                .why(format!("the lock pins `{}` at {}", audited.reference, audited.digest))
                .help(help),
        );
        failures.insert(failure);
    }
    let mut outcome = Outcome::new(COMMAND, audited);
    outcome.findings = findings;
    outcome.failures = failures;
    outcome.explicit = true;
    outcome
}

/// What was found of each piece of evidence.
struct Audited {
    reference: String,
    digest: Digest,
    verdicts: Vec<(String, Verdict)>,
}

impl Answer for Audited {
    fn human(&self) -> String {
        let mut text = String::new();
        for (evidence, verdict) in &self.verdicts {
            let of = match verdict {
                Verdict::Same { through, platform } => {
                    let platform = platform.as_ref().map_or_else(String::new, |name| format!(" for {name}"));
                    format!("{}{platform}, by the digest of its {}", self.reference, through.word())
                }
                Verdict::Different(_) | Verdict::Unproven(_) => format!("not shown to be {}", self.reference),
            };
            let _ = writeln!(text, "{}  {}: {of}", verdict.word(), evidence.escape_debug());
        }
        text
    }

    fn document(&self) -> Document {
        let images: Vec<Value> = self
            .verdicts
            .iter()
            .map(|(evidence, verdict)| {
                let mut fields = verdict.to_json();
                fields.insert("evidence".to_owned(), json!(evidence));
                Value::Object(fields)
            })
            .collect();
        let fields =
            json!({ "wants": { "reference": self.reference, "digest": self.digest }, "images": images });
        Document::Fields(fields.as_object().cloned().unwrap_or_default())
    }
}
