//! `recipec audit attestation`: who signed what, and of which files.

use std::fmt::Write as _;
use std::path::Path;

use ::lock::Digest;
use audit::attestation::{LIMIT, PublicKey, Statement, open};
use diag::slugs::audit::{ATTESTATION_FALSE, ATTESTED_FAILURE};
use diag::slugs::host::CANNOT_READ;
use diag::{Diagnostic, Diagnostics, SourceMap};
use host::hash::{Task, files};
use host::stamp::whole;
use serde_json::json;

use super::attest::{read_key, unusable};
use super::read_lock;
use crate::arguments::AuditAttestation;
use crate::outcome::{Answer, Document, Outcome, Silence};
use crate::words::count;

const COMMAND: &str = "audit attestation";

/// Verifies an attestation.
pub(crate) fn run(verb: &AuditAttestation) -> Outcome {
    match verified(verb) {
        Ok((statement, checked)) => outcome(verb, statement, checked),
        Err(findings) => Outcome::new(COMMAND, Silence).with(findings, SourceMap::new()),
    }
}

/// Opens it, and sets beside it what it must be about. Returns how many of its subjects were looked at.
fn verified(verb: &AuditAttestation) -> Result<(Statement, usize), Diagnostics> {
    let one = |finding: Diagnostic| Diagnostics::from_iter([finding]);
    let shown = verb.file.display();
    let key = read_key(&verb.key).map_err(one)?;
    let key = PublicKey::read(&key).map_err(|why| one(unusable(&verb.key, why)))?;
    let bytes = whole(&verb.file, LIMIT).map_err(|error| one(unreadable(&verb.file, &error.to_string())))?;
    let statement = open(&String::from_utf8_lossy(&bytes), &key).map_err(|refused| {
        one(Diagnostic::error(ATTESTATION_FALSE, format!("`{shown}` attests nothing"))
            .why(refused.to_string())
            .why(format!("the key is sha256:{}", key.id()))
            .help("do not believe what stands in it; ask whoever should have signed it"))
    })?;
    let mut findings = Diagnostics::new();
    if let Some(path) = &verb.lock {
        let (lock, _) = read_lock(path)?;
        let (is, said) = (lock.seal(), &statement.predicate.lock.seal);
        if is != *said {
            findings.push(
                Diagnostic::error(ATTESTATION_FALSE, format!("`{shown}` is of another lock"))
                    .why(format!("`{}` has the seal {is}", path.display()))
                    .why(format!(
                        "it attests {said}, of `{}`",
                        statement.predicate.lock.recipe.escape_debug()
                    )),
            );
        }
    }
    let tasks: Vec<Task> =
        verb.subjects.iter().map(|path| Task { path: path.clone(), blob: false }).collect();
    let mut found: Vec<Digest> = Vec::new();
    for (task, hashed) in tasks.iter().zip(files(&tasks, 0, &|_| (), &|_, _| ())) {
        match hashed {
            Ok(hashed) if statement.about(&hashed.sha256).is_some() => found.push(hashed.sha256),
            Ok(hashed) => findings.push(
                Diagnostic::error(
                    ATTESTATION_FALSE,
                    format!("`{shown}` says nothing of `{}`", task.path.display()),
                )
                .why(format!("it has the digest {}, which is none of what it attests", hashed.sha256)),
            ),
            Err(why) => findings.push(unreadable(&task.path, &why.to_string())),
        }
    }
    found.sort();
    found.dedup();
    if findings.is_empty() { Ok((statement, found.len())) } else { Err(findings) }
}

fn unreadable(path: &Path, why: &str) -> Diagnostic {
    Diagnostic::error(CANNOT_READ, format!("cannot read `{}`", path.display())).why(why.to_owned())
}

fn outcome(verb: &AuditAttestation, statement: Statement, checked: usize) -> Outcome {
    let mut findings = Diagnostics::new();
    let bad: Vec<String> = statement
        .predicate
        .verdicts
        .iter()
        .filter(|verdict| !verdict.is_good())
        .map(|verdict| format!("`{}` is {}", verdict.of.escape_debug(), verdict.verdict.escape_debug()))
        .collect();
    if !bad.is_empty() {
        let message = format!("what `{}` attests is no success", verb.file.display());
        let mut finding = Diagnostic::error(ATTESTED_FAILURE, message);
        for why in bad.into_iter().take(20) {
            finding = finding.why(why);
        }
        findings.push(finding.help("the signature holds: this is what was found"));
    }
    let mut outcome = Outcome::new(COMMAND, Verified { statement, checked });
    outcome.findings = findings;
    outcome
}

/// An attestation that holds.
struct Verified {
    statement: Statement,
    checked: usize,
}

impl Answer for Verified {
    fn human(&self) -> String {
        let Statement { subjects, predicate } = &self.statement;
        let mut text = format!(
            "holds  {} of `{}` at {}, {} of {} looked at\n",
            predicate.command.escape_debug(),
            predicate.lock.recipe.escape_debug(),
            predicate.time.escape_debug(),
            self.checked,
            count(subjects.len(), "subject"),
        );
        for verdict in &predicate.verdicts {
            let _ = writeln!(text, "  {}  {}", verdict.verdict.escape_debug(), verdict.of.escape_debug());
        }
        text
    }

    fn document(&self) -> Document {
        let Statement { subjects, predicate } = &self.statement;
        let fields = json!({ "subjects": subjects, "checked": self.checked, "predicate": predicate });
        Document::Fields(fields.as_object().cloned().unwrap_or_default())
    }
}
