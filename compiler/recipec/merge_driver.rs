//! `recipec merge-driver`: merges one lock for git.

use ::lock::{Conflict, Joined};
use diag::slugs::host::CANNOT_WRITE;
use diag::slugs::lock::LOCK_CONFLICT;
use diag::{Diagnostic, Diagnostics};
use serde_json::{Value, json};

use crate::arguments::MergeDriver;
use crate::corpus::LOCK_LIMIT;
use crate::outcome::{Answer, Document, Failure, Outcome};
use crate::workspace;

/// What became of the lock.
struct Merged {
    path: String,
    conflicts: Vec<Conflict>,
}

/// Merges three files into the second. Git asks while the manifests of the work tree are still
/// those of one side, so nothing is planned here: what both sides changed is left to `recipec lock`.
pub(crate) fn run(verb: &MergeDriver) -> Outcome {
    let path = verb.path.clone().unwrap_or_else(|| verb.ours.to_string_lossy().into_owned());
    let mut texts = Vec::new();
    for file in [&verb.base, &verb.ours, &verb.theirs] {
        match workspace::read(file, LOCK_LIMIT) {
            Ok(bytes) => texts.push(String::from_utf8_lossy(&bytes).into_owned()),
            Err(finding) => return refusal(finding),
        }
    }
    let [base, ours, theirs] = &texts[..] else {
        return Outcome::new("merge-driver", crate::outcome::Silence);
    };
    let mut answer = Merged { path, conflicts: Vec::new() };
    let mut findings = Diagnostics::new();
    let text = match ::lock::join(&answer.path, base, ours, theirs) {
        Joined::Clean(text) => text,
        Joined::Conflicted { text, conflicts } => {
            findings.push(conflict(&answer.path, &conflicts));
            answer.conflicts = conflicts;
            text
        }
        Joined::Unread { text, findings: found } => {
            findings.extend(found);
            text
        }
    };
    if let Err(error) = host::write_atomic(&verb.ours, text.as_bytes()) {
        let message = format!("cannot write `{}`", verb.ours.display());
        return refusal(Diagnostic::error(CANNOT_WRITE, message).why(error.to_string()));
    }
    let mut outcome = Outcome::new("merge-driver", answer);
    // Git takes 1 for a conflict that is left in the file.
    if findings.has_errors() {
        outcome.failures.insert(Failure::Manifest);
    }
    outcome.findings = findings;
    outcome.explicit = true;
    outcome
}

/// Git then says that the file is in conflict, and leaves it as it is on our side.
fn refusal(finding: Diagnostic) -> Outcome {
    Outcome::refusal("merge-driver", finding)
}

fn conflict(path: &str, conflicts: &[Conflict]) -> Diagnostic {
    let mut finding = Diagnostic::error(LOCK_CONFLICT, format!("both sides changed what `{path}` is of"));
    for conflict in conflicts.iter().take(8) {
        let text = match conflict.path.as_str() {
            "plans" => "what is started: see the settings between the markers".to_owned(),
            name => {
                format!("`{name}`: {} on ours, {} on theirs", short(&conflict.ours), short(&conflict.theirs))
            }
        };
        finding = finding.why(text);
    }
    if conflicts.len() > 8 {
        finding = finding.why(format!("and {}", crate::words::count(conflicts.len() - 8, "more")));
    }
    finding.help("merge the manifests first, then run `recipec lock`: it writes this file anew")
}

/// Returns what identifies a side of a conflict: a digest or a commit where it pins, else its text.
pub(crate) fn short(side: &Value) -> String {
    if let Some(Value::Object(pin)) = side.get("pin") {
        let of = |field: &str| pin.values().find_map(|pin| pin.get(field)?.as_str().map(str::to_owned));
        if let Some(id) = of("digest").or_else(|| of("commit")) {
            return id;
        }
    }
    let text = side.to_string();
    match text.char_indices().nth(80) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

impl Answer for Merged {
    fn human(&self) -> String {
        String::new()
    }

    fn document(&self) -> Document {
        let conflicts: Vec<Value> = self
            .conflicts
            .iter()
            .map(
                |conflict| json!({ "path": conflict.path, "ours": conflict.ours, "theirs": conflict.theirs }),
            )
            .collect();
        let fields = json!({ "path": self.path, "conflicts": conflicts });
        Document::Fields(fields.as_object().cloned().unwrap_or_default())
    }
}
