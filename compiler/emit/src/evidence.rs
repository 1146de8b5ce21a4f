//! What a script writes into its evidence without having to look: what it was made from.
//!
//! The evidence is one JSON object in `STEM.evidence.json`, in the workspace or in the folder of it
//! that `RECIPEC_LOG_DIR` names, beside the results. [`stem`] says what `STEM` is. Fields:
//!
//! | field | what |
//! |---|---|
//! | `version`, `kind` | 1, `recipec-evidence` |
//! | `recipe`, `target`, `mode`, `job`, `points` | which plan, in the words of its lock |
//! | `plan`, `lock`, `script` | digests: of the plan, the lock's seal, of the script that ran |
//! | `image` | `wanted` as the manifest has it; `pinned` (`reference`, `digest`, `platform`, `config`); `seen`: what enroot noted in the image, or the daemon's digest and id; empty if the runtime does not say |
//! | `node`, `scheduler_job`, `gpus` | where it ran; names and drivers of GPUs if `nvidia-smi` is there |
//! | `started`, `ended` | UTC |
//! | `checkpoints` | per checkpoint `repository`, `commit`, `list` (digest of the locked file list), `layout`, `path`, `check` (`full` or `stamp`), `seconds`, `files` (count), `extras`, `problems` |
//! | `processes` | in the order of their start: `name`, `kind`, `argv`, `env` (declared), `inherited` (the image's, and the scheduler's GPUs), `secrets` (names), `unset` (names), `log`, `started`, `ready`, `ended`, `exit` |
//! | `results` | files that the run left beside the evidence: `path`, `sha256` |
//! | `exit`, `stopped` | the run's status; the named reason if it was stopped, else null |

use lock::Digest;
use recipe::plan::Plan;
use serde_json::{Value, json};

use crate::bash::Bash;

/// Version of the evidence file.
const VERSION: u32 = 1;

/// Returns the name that a plan's logs and evidence begin with: letters, digits, `.`, `-`, `_`.
pub(crate) fn stem(plan: &Plan) -> String {
    let mode = mode(plan);
    let job = plan.job.map_or_else(|| "point".to_owned(), |job| job.to_string());
    let name = format!("{}_{}_{mode}_{job}", plan.recipe, plan.target);
    let plain = |c: char| if c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_') { c } else { '_' };
    // Neither hidden nor an option, and short enough for a file name with what follows it.
    let name: String = name.chars().map(plain).take(180).collect();
    if name.starts_with(['.', '-']) { format!("_{name}") } else { name }
}

/// Returns the word for the mode of a plan.
pub(crate) fn mode(plan: &Plan) -> &'static str {
    match plan.mode {
        recipe::plan::Mode::Throughput => "throughput",
        recipe::plan::Mode::Eval => "eval",
    }
}

/// The pinned image as a script names it.
#[derive(Debug)]
pub(crate) struct Pinned<'a> {
    /// What the runtime is asked for.
    pub(crate) reference: String,
    /// Digest of what the lock pins: an index, or a manifest.
    pub(crate) digest: &'a Digest,
    /// Digest of the manifest of the target's platform.
    pub(crate) platform: &'a Digest,
    /// Digest of the image's config, where the lock has it.
    pub(crate) config: Option<&'a Digest>,
}

/// Writes the variables that the evidence and the logs begin with.
pub(crate) fn write(bash: &mut Bash, plan: &Plan, plan_digest: &Digest, seal: &Digest, image: &Pinned<'_>) {
    let head = json!({
        "version": VERSION,
        "kind": "recipec-evidence",
        "recipe": plan.recipe,
        "target": plan.target,
        "mode": mode(plan),
        "job": plan.job,
        "points": plan.points,
        "plan": plan_digest,
        "lock": seal,
    });
    bash.assign("stem", &stem(plan));
    bash.assign("evidence_head", open(&head).as_str());
    bash.assign("image_reference", &image.reference);
    bash.assign("image_wanted", &Value::String(plan.image.clone()).to_string());
    let pinned = json!({
        "reference": image.reference,
        "digest": image.digest,
        "platform": image.platform,
        "config": image.config,
    });
    bash.assign("image_pinned", &pinned.to_string());
}

/// Returns an object without its closing brace, so that bash can add fields.
fn open(object: &Value) -> String {
    let mut text = object.to_string();
    text.pop();
    text
}
