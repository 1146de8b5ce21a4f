//! Plans as machines read them: an element of `plans` in `plan --format json`.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use crate::plan::{Group, Hole, Mode, Mount, Phase, Piece, Plan, Rank, Role, Word};

/// What only a run knows, given beforehand by `--set`; holes that are not given stay holes.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct Given {
    /// The runner's name.
    pub runner: Option<String>,
    /// The home folder of the user who runs.
    pub home: Option<String>,
    /// The checked-out repository.
    pub workspace: Option<String>,
    /// The job's id.
    pub job: Option<String>,
    /// Where logs go.
    pub logs: Option<String>,
}

impl Given {
    /// Returns the text of a hole, if what is given decides it.
    #[must_use]
    pub fn fill(&self, hole: &Hole) -> Option<String> {
        match hole {
            Hole::Runner => self.runner.clone(),
            Hole::Home => self.home.clone(),
            Hole::Workspace => self.workspace.clone(),
            Hole::Job => self.job.clone(),
            Hole::LogDir => self.logs.clone(),
            Hole::JobPort { base, modulus } => {
                let job: u64 = self.job.as_ref()?.parse().ok()?;
                let offset = job.checked_rem(u64::from(*modulus))?;
                Some((u64::from(*base) + offset).to_string())
            }
            Hole::Host { .. }
            | Hole::Address { .. }
            | Hole::Orchestrator
            | Hole::Unique(_)
            | Hole::Each { .. } => None,
        }
    }

    /// Returns a word with the holes filled that are given.
    #[must_use]
    pub fn expand(&self, word: &Word) -> Word {
        let mut all = Word::new();
        for piece in word.pieces() {
            match piece {
                Piece::Text(text) => all.push_text(text),
                Piece::Hole(hole) => match self.fill(hole) {
                    Some(text) => all.push_text(&text),
                    None => all.push_hole(hole.clone()),
                },
            }
        }
        all
    }
}

/// Returns a word as machines read it: a string, or a list of strings and holes.
#[must_use]
pub fn word(word: &Word) -> Value {
    if let Some(text) = word.as_text() {
        return Value::String(text.to_owned());
    }
    word.pieces()
        .iter()
        .map(|piece| match piece {
            Piece::Text(text) => Value::String(text.clone()),
            Piece::Hole(hole) => self::hole(hole),
        })
        .collect()
}

fn hole(hole: &Hole) -> Value {
    match hole {
        Hole::Runner => json!({ "run": "runner" }),
        Hole::Home => json!({ "run": "home" }),
        Hole::Workspace => json!({ "run": "workspace" }),
        Hole::Orchestrator => json!({ "run": "orchestrator" }),
        Hole::Host { node: (pool, node) } => json!({ "run": "host", "node": [pool, node] }),
        Hole::Address { node: (pool, node) } => json!({ "run": "address", "node": [pool, node] }),
        Hole::Job => json!({ "run": "job" }),
        Hole::JobPort { base, modulus } => json!({ "run": "port", "base": base, "mod": modulus }),
        Hole::LogDir => json!({ "run": "logdir" }),
        Hole::Unique(name) => json!({ "run": "unique", "name": name }),
        Hole::Each { of, shape, separator } => {
            json!({ "run": "each", "of": of, "shape": shape, "separator": separator })
        }
    }
}

/// Returns the word for a mode.
#[must_use]
pub fn mode(mode: Mode) -> &'static str {
    match mode {
        Mode::Throughput => "throughput",
        Mode::Eval => "eval",
    }
}

impl Plan {
    /// Returns the plan's id: `KEY/TARGET/MODE/JOB`, with `point` in place of the job outside the
    /// search space.
    #[must_use]
    pub fn id(&self) -> String {
        let job = self.job.map_or_else(|| "point".to_owned(), |job| job.to_string());
        format!("{}/{}/{}/{job}", self.recipe, self.target, mode(self.mode))
    }

    /// Returns the ids of the plan's points: `KEY#JOB`, or `KEY#JOB:CONC` where the job has several
    /// concurrencies.
    #[must_use]
    pub fn point_ids(&self) -> Vec<String> {
        let job = self.job.map_or_else(|| "point".to_owned(), |job| job.to_string());
        match self.points.as_slice() {
            [_] => vec![format!("{}#{job}", self.recipe)],
            several => several
                .iter()
                .map(|point| format!("{}#{job}:{}", self.recipe, point.get("conc").unwrap_or(&Value::Null)))
                .collect(),
        }
    }

    /// Returns the plan as an element of `plans`. `digest` is the plan's digest and `pinned` the
    /// image's digest in the lock, if there is one.
    #[must_use]
    pub fn to_json(&self, digest: &str, pinned: Option<&str>, given: &Given) -> Value {
        let list = |words: &[Word]| -> Value { words.iter().map(|item| word(&given.expand(item))).collect() };
        let mut points = self.points.clone();
        for (point, id) in points.iter_mut().zip(self.point_ids()) {
            point.insert("id".to_owned(), Value::String(id));
        }
        let mut steps: Vec<Value> = Vec::new();
        let first_server = self
            .groups
            .iter()
            .position(|group| matches!(group.role, Role::Serve(_)))
            .unwrap_or(self.groups.len());
        for (index, group) in self.groups.iter().enumerate() {
            if index == first_server {
                steps.extend(self.files.iter().map(|file| {
                    let mut step = step("file");
                    step.insert("path".to_owned(), word(&given.expand(&file.path)));
                    step.insert("text".to_owned(), word(&given.expand(&file.text)));
                    Value::Object(step)
                }));
            }
            steps.extend(group_steps(group, given));
        }
        let mut plan = json!({
            "id": self.id(),
            "recipe": self.recipe,
            "target": self.target,
            "mode": mode(self.mode),
            "job": self.job,
            "points": points,
            "digest": digest,
            "image": { "wanted": self.image, "pinned": pinned },
            "allocate": self.allocate.as_ref().map(|words| list(words)),
            "container": list(&self.container),
            "mounts": mounts(&self.mounts, given),
            "steps": steps,
        });
        if let Some(job) = &self.kubernetes {
            plan["kubernetes"] = job.clone();
        }
        plan
    }
}

/// Returns a step of which only the kind is said.
fn step(kind: &str) -> Map<String, Value> {
    let mut step = Map::new();
    for name in ["role", "worker", "rank", "node", "path", "text"] {
        step.insert(name.to_owned(), Value::Null);
    }
    step.insert("kind".to_owned(), json!(kind));
    step.insert("argv".to_owned(), json!([]));
    step.insert("env".to_owned(), json!({}));
    step.insert("unset".to_owned(), json!([]));
    step
}

fn group_steps(group: &Group, given: &Given) -> Vec<Value> {
    let role = match group.role {
        Role::Serve(Phase::Agg) => Some("agg"),
        Role::Serve(Phase::Prefill) => Some("prefill"),
        Role::Serve(Phase::Decode) => Some("decode"),
        _ => None,
    };
    let mut steps = Vec::new();
    for (worker, replica) in group.replicas.iter().enumerate() {
        for (rank_index, rank) in replica.ranks.iter().enumerate() {
            let mut step = step(&group.kind);
            step.insert("name".to_owned(), json!(group.name));
            step.insert("role".to_owned(), json!(role));
            step.insert("worker".to_owned(), json!(worker));
            step.insert("rank".to_owned(), json!(rank_index));
            step.insert("node".to_owned(), json!(rank.seat.node));
            fill(&mut step, rank, given);
            if let Some(image) = &group.image {
                step.insert("image".to_owned(), json!(image));
            }
            if let Some(list) = &group.mounts {
                step.insert("mounts".to_owned(), mounts(list, given));
            }
            steps.push(Value::Object(step));
        }
    }
    steps
}

fn fill(step: &mut Map<String, Value>, rank: &Rank, given: &Given) {
    let argv: Value = rank.argv.iter().map(|item| word(&given.expand(item))).collect();
    step.insert("argv".to_owned(), argv);
    step.insert("env".to_owned(), table(&rank.env, given));
    step.insert("unset".to_owned(), json!(rank.unset));
}

fn table(words: &BTreeMap<String, Word>, given: &Given) -> Value {
    Value::Object(words.iter().map(|(name, value)| (name.clone(), word(&given.expand(value)))).collect())
}

fn mounts(mounts: &[Mount], given: &Given) -> Value {
    mounts
        .iter()
        .map(|mount| {
            json!({
                "from": word(&given.expand(&mount.from)),
                "to": word(&given.expand(&mount.to)),
                "readonly": mount.readonly,
            })
        })
        .collect()
}
