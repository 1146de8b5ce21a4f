//! The semantic difference of two locks: which field, from what to what, at which points.

mod defaults;

use std::collections::{BTreeMap, BTreeSet};

use recipe::plan::Plan;
use recipe::want::Want;
use serde::Serialize;
use serde_json::{Map, Value};

use crate::document::{PlanKey, job_fields, mode_name};
use crate::launch::Setting;
use crate::pin::Entry;
use crate::{Lock, build, canonical, fingerprint};

/// One field that differs.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Change {
    /// Config key of the recipe.
    pub recipe: String,
    /// The field: `server.--tensor-parallel-size`, `server.env.NCCL_DEBUG`, `pins.image.digest`,
    /// `known.checkpoint.producer`, `points`, `targets`.
    pub path: String,
    /// The value before; null where the field was not there.
    pub old: Value,
    /// The value now; null where the field is gone.
    pub new: Value,
    /// Ids of the points affected, as the newer lock names them.
    pub points: Vec<String>,
    /// Targets on which it differs.
    pub targets: Vec<String>,
    /// Modes in which it differs.
    pub modes: Vec<String>,
    /// Where the change comes from.
    pub cause: Cause,
}

/// Where a change comes from.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Cause {
    /// A manifest says something else.
    Manifest,
    /// The same name resolves to something else.
    Pin,
    /// The engine's own default differs between the two versions, under a flag that nobody sets.
    EngineDefault,
    /// The target's description says something else.
    Target,
}

/// Returns what differs from `old` to `new`, sorted by path.
#[must_use]
pub fn diff(old: &Lock, new: &Lock) -> Vec<Change> {
    let pairs = pair_plans(old, new);
    let mut all = Differences { old, new, pairs, wants: pair_wants(old, new), changes: Vec::new() };
    all.pins();
    all.known();
    all.points();
    all.launch();
    all.rest();
    all.defaults();
    let mut changes = all.changes;
    changes.sort_by(|a, b| {
        (&a.path, a.old.to_string(), a.new.to_string()).cmp(&(&b.path, b.old.to_string(), b.new.to_string()))
    });
    changes
}

/// Returns what differs from `lock` to what manifests give now: `plans` and `wants`, with no
/// network. Facts and pins are the lock's own; a want that the lock does not pin shows as such.
#[must_use]
pub fn check(lock: &Lock, plans: &[Plan], wants: &[Want]) -> Vec<Change> {
    let pins = wants.iter().map(|want| {
        let entry = match lock.pins.get(&want.name()) {
            Some(Entry::Pinned { pin, .. }) => Entry::Pinned { want: want.clone(), pin: pin.clone() },
            Some(Entry::Unpinned { reason, .. }) => {
                Entry::Unpinned { want: want.clone(), reason: reason.clone() }
            }
            None => Entry::Unpinned { want: want.clone(), reason: "not in the lock".to_owned() },
        };
        (want.name(), entry)
    });
    diff(lock, &build(&lock.recipe, plans, pins.collect(), lock.known.clone()))
}

/// Returns true if a lock is what manifests give: every plan has its digest, every job its labels, and
/// every want its entry, and there are no others. The table of behaviour is not compared: it follows from
/// what the digests are over, is under the seal, and only says to people where two digests differ.
#[must_use]
pub fn current(lock: &Lock, plans: &[Plan], wants: &[Want]) -> bool {
    let names: BTreeSet<String> = wants.iter().map(Want::name).collect();
    let pinned = |want: &Want| {
        lock.pins.get(&want.name()).is_some_and(|entry| {
            let (Entry::Pinned { want: locked, .. } | Entry::Unpinned { want: locked, .. }) = entry;
            locked == want
        })
    };
    if names.len() != lock.pins.len() || !wants.iter().all(pinned) {
        return false;
    }
    let (mut jobs, mut count) = (BTreeSet::new(), 0);
    for plan in plans {
        let Some(key) = PlanKey::of(plan) else { continue };
        if jobs.insert(key.job) && lock.jobs.get(&key.job) != Some(&job_fields(&plan.points)) {
            return false;
        }
        if lock.plans.get(&key) != Some(&fingerprint(plan)) {
            return false;
        }
        count += 1;
    }
    count == lock.plans.len() && jobs.len() == lock.jobs.len()
}

struct Differences<'a> {
    old: &'a Lock,
    new: &'a Lock,
    /// Plans that are the same point on the same target in the same mode.
    pairs: BTreeMap<PlanKey, PlanKey>,
    wants: Vec<WantPair<'a>>,
    changes: Vec<Change>,
}

/// Pairs plans by target, mode and what tells their jobs apart, so that a point that is added or
/// moved in the list makes no other point differ.
fn pair_plans(old: &Lock, new: &Lock) -> BTreeMap<PlanKey, PlanKey> {
    let identities = |lock: &Lock| {
        let mut seen: BTreeMap<(String, &str, String), u32> = BTreeMap::new();
        let mut all = BTreeMap::new();
        for key in lock.plans.keys() {
            let fields = lock.jobs.get(&key.job).cloned().unwrap_or_default();
            let identity = (key.target.clone(), mode_name(key.mode), canonical(&Value::Object(fields)));
            let count = seen.entry(identity.clone()).or_insert(0);
            all.insert((identity, *count), key.clone());
            *count += 1;
        }
        all
    };
    let olds = identities(old);
    identities(new)
        .into_iter()
        .filter_map(|(identity, key)| Some((olds.get(&identity)?.clone(), key)))
        .collect()
}

struct WantPair<'a> {
    /// `image`, `checkpoint`, `dataset`, or the purpose of a source.
    kind: String,
    /// Tells several of a kind apart; empty for the only one.
    which: String,
    old: Option<&'a Entry>,
    new: Option<&'a Entry>,
}

impl WantPair<'_> {
    fn path(&self, section: &str, field: &str) -> String {
        let which = if self.which.is_empty() { String::new() } else { format!("[{}]", self.which) };
        let dot = if field.is_empty() { "" } else { "." };
        format!("{section}.{}{which}{dot}{field}", self.kind)
    }
}

fn want(entry: &Entry) -> &Want {
    match entry {
        Entry::Pinned { want, .. } | Entry::Unpinned { want, .. } => want,
    }
}

fn kind(want: &Want) -> &str {
    match want {
        Want::Image { .. } => "image",
        Want::Checkpoint { .. } => "checkpoint",
        Want::Dataset { .. } => "dataset",
        Want::Source { purpose, .. } => purpose,
    }
}

/// Returns what a want names, without revision.
fn subject(want: &Want) -> String {
    match want {
        Want::Image { reference, .. } => reference.clone(),
        Want::Checkpoint { repository, .. } | Want::Dataset { repository, .. } => repository.clone(),
        Want::Source { repository, path, .. } if path.is_empty() => repository.clone(),
        Want::Source { repository, path, .. } => format!("{repository}:{path}"),
    }
}

/// Pairs wants by name; what is left of a kind is paired in order if there is as much on both
/// sides, so that a checkpoint that gives way to another is one change and not two.
fn pair_wants<'a>(old: &'a Lock, new: &'a Lock) -> Vec<WantPair<'a>> {
    let kinds: BTreeSet<String> =
        old.pins.values().chain(new.pins.values()).map(|entry| kind(want(entry)).to_owned()).collect();
    let mut pairs = Vec::new();
    for kind_name in kinds {
        let of = |lock: &'a Lock| -> BTreeMap<&'a str, &'a Entry> {
            let entries = lock.pins.iter().filter(|(_, entry)| kind(want(entry)) == kind_name);
            entries.map(|(name, entry)| (name.as_str(), entry)).collect()
        };
        let (olds, news) = (of(old), of(new));
        let several = olds.len() > 1 || news.len() > 1;
        let mut add = |old: Option<&'a Entry>, new: Option<&'a Entry>| {
            let which = match (several, new.or(old)) {
                (true, Some(entry)) => subject(want(entry)),
                _ => String::new(),
            };
            pairs.push(WantPair { kind: kind_name.clone(), which, old, new });
        };
        for (name, entry) in &olds {
            if let Some(other) = news.get(name) {
                add(Some(entry), Some(other));
            }
        }
        let left: Vec<&Entry> =
            olds.iter().filter(|(name, _)| !news.contains_key(*name)).map(|(_, entry)| *entry).collect();
        let came: Vec<&Entry> =
            news.iter().filter(|(name, _)| !olds.contains_key(*name)).map(|(_, entry)| *entry).collect();
        if left.len() == came.len() {
            left.into_iter().zip(came).for_each(|(old, new)| add(Some(old), Some(new)));
        } else {
            left.into_iter().for_each(|old| add(Some(old), None));
            came.into_iter().for_each(|new| add(None, Some(new)));
        }
    }
    pairs
}

/// Returns every scalar in a value under its dotted path.
fn flatten(value: &Value, path: &str, into: &mut BTreeMap<String, Value>) {
    let Value::Object(map) = value else {
        into.insert(path.to_owned(), value.clone());
        return;
    };
    for (key, item) in map {
        let inner = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
        flatten(item, &inner, into);
    }
}

fn flat(value: &Value) -> BTreeMap<String, Value> {
    let mut all = BTreeMap::new();
    flatten(value, "", &mut all);
    all
}

fn entry_fields(entry: Option<&Entry>) -> BTreeMap<String, Value> {
    let Some(entry) = entry else { return BTreeMap::new() };
    let mut fields = flat(&serde_json::to_value(want(entry)).unwrap_or_default());
    fields.remove("kind");
    fields.remove("purpose");
    match entry {
        Entry::Pinned { pin, .. } => {
            // The outermost key of a pin is its kind, which the path says already.
            if let Ok(Value::Object(map)) = serde_json::to_value(pin) {
                fields.extend(map.values().flat_map(flat));
            }
        }
        Entry::Unpinned { reason, .. } => {
            fields.insert("unpinned".to_owned(), reason.as_str().into());
        }
    }
    fields
}

impl Differences<'_> {
    fn push(&mut self, path: String, old: Value, new: Value, plans: &BTreeSet<PlanKey>, cause: Cause) {
        self.push_of(self.new, path, old, new, plans, cause);
    }

    fn push_of(
        &mut self,
        lock: &Lock,
        path: String,
        old: Value,
        new: Value,
        plans: &BTreeSet<PlanKey>,
        cause: Cause,
    ) {
        let targets: BTreeSet<&String> = plans.iter().map(|plan| &plan.target).collect();
        let modes: BTreeSet<&str> = plans.iter().map(|plan| mode_name(plan.mode)).collect();
        self.changes.push(Change {
            recipe: self.new.recipe.clone(),
            path,
            old,
            new,
            points: lock.points_of(plans),
            targets: targets.into_iter().cloned().collect(),
            modes: modes.into_iter().map(str::to_owned).collect(),
            cause,
        });
    }

    /// True if a manifest names other things from outside than before.
    fn wants_changed(&self) -> bool {
        self.wants.iter().any(|pair| pair.old.map(want) != pair.new.map(want))
    }

    fn fields(
        &mut self,
        old: BTreeMap<String, Value>,
        new: BTreeMap<String, Value>,
        path: impl Fn(&str) -> String,
        cause: Cause,
    ) {
        let all: BTreeSet<PlanKey> = self.new.plans.keys().cloned().collect();
        let names: BTreeSet<&String> = old.keys().chain(new.keys()).collect();
        for name in names {
            let (before, after) = (old.get(name), new.get(name));
            if before != after {
                let value = |side: Option<&Value>| side.cloned().unwrap_or_default();
                self.push(path(name), value(before), value(after), &all, cause);
            }
        }
    }

    fn pins(&mut self) {
        let wants = std::mem::take(&mut self.wants);
        for pair in &wants {
            let cause = if pair.old.map(want) == pair.new.map(want) { Cause::Pin } else { Cause::Manifest };
            let (old, new) = (entry_fields(pair.old), entry_fields(pair.new));
            self.fields(old, new, |field| pair.path("pins", field), cause);
        }
        self.wants = wants;
    }

    fn known(&mut self) {
        let sections = |lock: &Lock| -> BTreeMap<&'static str, BTreeMap<String, Value>> {
            let value = serde_json::to_value(&lock.known).unwrap_or_default();
            let section = |name: &str| -> BTreeMap<String, Value> {
                let Some(Value::Object(map)) = value.get(name) else { return BTreeMap::new() };
                map.iter().map(|(key, item)| (key.clone(), item.clone())).collect()
            };
            BTreeMap::from([
                ("checkpoint", section("checkpoints")),
                ("image", section("images")),
                ("curve", section("curves")),
            ])
        };
        let (olds, news) = (sections(self.old), sections(self.new));
        let cause = if self.wants_changed() { Cause::Manifest } else { Cause::Pin };
        for (kind_name, mut old) in olds {
            let mut new = news.get(kind_name).cloned().unwrap_or_default();
            let several = old.len() > 1 || new.len() > 1;
            // Facts follow their want: what is known of V1 stands beside what is known of V2.
            let names: Vec<(Option<String>, Option<String>)> = self
                .wants
                .iter()
                .filter(|pair| pair.kind == kind_name)
                .map(|pair| {
                    (pair.old.map(|entry| subject(want(entry))), pair.new.map(|entry| subject(want(entry))))
                })
                .collect();
            let mut pairs: Vec<(String, Value, Value)> = Vec::new();
            for (before, after) in names {
                let before_fact = before.as_ref().and_then(|name| old.remove(name));
                let after_fact = after.as_ref().and_then(|name| new.remove(name));
                let name = after.or(before).unwrap_or_default();
                pairs.push((name, before_fact.unwrap_or_default(), after_fact.unwrap_or_default()));
            }
            let rest: BTreeSet<String> = old.keys().chain(new.keys()).cloned().collect();
            for name in rest {
                let (before, after) =
                    (old.remove(&name).unwrap_or_default(), new.remove(&name).unwrap_or_default());
                pairs.push((name, before, after));
            }
            for (name, before, after) in pairs {
                let which = if several { format!("[{name}]") } else { String::new() };
                self.fields(
                    facts(&before),
                    facts(&after),
                    |field| format!("known.{kind_name}{which}.{field}"),
                    cause,
                );
            }
        }
    }

    fn points(&mut self) {
        let (old_targets, new_targets) = (targets(self.old), targets(self.new));
        for target in old_targets.symmetric_difference(&new_targets) {
            let added = new_targets.contains(target);
            let lock = if added { self.new } else { self.old };
            let plans: BTreeSet<PlanKey> =
                lock.plans.keys().filter(|key| key.target == *target).cloned().collect();
            let (old, new) = if added {
                (Value::Null, target.as_str().into())
            } else {
                (target.as_str().into(), Value::Null)
            };
            self.push_of(lock, "targets".to_owned(), old, new, &plans, Cause::Manifest);
        }
        let old_jobs: BTreeSet<u32> = self.pairs.keys().map(|key| key.job).collect();
        let new_jobs: BTreeSet<u32> = self.pairs.values().map(|key| key.job).collect();
        let shared = |key: &PlanKey| old_targets.contains(&key.target) && new_targets.contains(&key.target);
        for (lock, paired, added) in [(self.old, &old_jobs, false), (self.new, &new_jobs, true)] {
            let alone: BTreeSet<PlanKey> =
                lock.plans.keys().filter(|key| shared(key) && !paired.contains(&key.job)).cloned().collect();
            let jobs: BTreeSet<u32> = alone.iter().map(|key| key.job).collect();
            for job in jobs {
                let plans: BTreeSet<PlanKey> = alone.iter().filter(|key| key.job == job).cloned().collect();
                let label = Value::String(label(lock.jobs.get(&job)));
                let (old, new) = if added { (Value::Null, label) } else { (label, Value::Null) };
                self.push_of(lock, "points".to_owned(), old, new, &plans, Cause::Manifest);
            }
        }
    }

    fn launch(&mut self) {
        let machine_cause = if self.wants_changed() { Cause::Manifest } else { Cause::Target };
        let (old, new) = (&self.old.launch.processes, &self.new.launch.processes);
        let mut found: BTreeMap<(String, Value2), BTreeSet<PlanKey>> = BTreeMap::new();
        let names: BTreeSet<&String> = old.keys().chain(new.keys()).collect();
        for name in names {
            let (before, after) = (old.get(name), new.get(name));
            let settings: BTreeSet<&String> =
                before.iter().chain(after.iter()).flat_map(|process| process.settings.keys()).collect();
            for (old_key, new_key) in &self.pairs {
                let had = before.is_some_and(|process| process.plans.contains(old_key));
                let has = after.is_some_and(|process| process.plans.contains(new_key));
                if had != has {
                    let argv = |lock: &Lock, key| lock.launch.get(name, "argv", key).cloned();
                    let values = (
                        had.then(|| argv(self.old, old_key)).flatten(),
                        has.then(|| argv(self.new, new_key)).flatten(),
                    );
                    found.entry((name.clone(), values)).or_default().insert(new_key.clone());
                    continue;
                }
                for setting in &settings {
                    let value_before = self.old.launch.get(name, setting, old_key);
                    let value_after = self.new.launch.get(name, setting, new_key);
                    if value_before != value_after {
                        let key =
                            (format!("{name}.{setting}"), (value_before.cloned(), value_after.cloned()));
                        found.entry(key).or_default().insert(new_key.clone());
                    }
                }
            }
        }
        for ((path, (before, after)), plans) in found {
            let machine =
                path.starts_with("container.") && path != "container.image" || path.starts_with("allocate");
            let cause = if machine { machine_cause } else { Cause::Manifest };
            let json =
                |setting: Option<Setting>| setting.map(|setting| setting.to_json()).unwrap_or_default();
            self.push(path, json(before), json(after), &plans, cause);
        }
    }

    /// Plans whose digest differs although no setting does: an order, a limit, a place.
    fn rest(&mut self) {
        let told: BTreeSet<(String, String, String)> = self
            .changes
            .iter()
            .filter(|change| !change.path.starts_with("pins.") && !change.path.starts_with("known."))
            .flat_map(|change| {
                let jobs =
                    change.points.iter().map(|point| point.split(':').next().unwrap_or_default().to_owned());
                let places = change
                    .targets
                    .iter()
                    .flat_map(|target| change.modes.iter().map(move |mode| (target.clone(), mode.clone())));
                let places: Vec<(String, String)> = places.collect();
                jobs.flat_map(move |job| {
                    places.clone().into_iter().map(move |(target, mode)| (job.clone(), target, mode))
                })
            })
            .collect();
        let mut found: BTreeMap<String, BTreeSet<PlanKey>> = BTreeMap::new();
        for (old_key, new_key) in &self.pairs {
            let (Some(before), Some(after)) = (self.old.plans.get(old_key), self.new.plans.get(new_key))
            else {
                continue;
            };
            let place = (
                format!("{}#{}", self.new.recipe, new_key.job),
                new_key.target.clone(),
                mode_name(new_key.mode).to_owned(),
            );
            if before.plan == after.plan || told.contains(&place) {
                continue;
            }
            let groups: BTreeSet<&String> = before.groups.keys().chain(after.groups.keys()).collect();
            let differing: Vec<&String> = groups
                .into_iter()
                .filter(|name| before.groups.get(*name) != after.groups.get(*name))
                .collect();
            let path = match differing.as_slice() {
                [] => "plan".to_owned(),
                names => names.iter().map(|name| name.as_str()).collect::<Vec<_>>().join("+"),
            };
            found.entry(path).or_default().insert(new_key.clone());
        }
        for (path, plans) in found {
            let digest = |lock: &Lock, key: Option<&PlanKey>| -> Value {
                key.and_then(|key| lock.plans.get(key))
                    .map(|print| print.plan.to_string().into())
                    .unwrap_or_default()
            };
            let first_new = plans.first();
            let first_old = first_new
                .and_then(|new| self.pairs.iter().find(|(_, paired)| *paired == new))
                .map(|(old, _)| old);
            let (old, new) = (digest(self.old, first_old), digest(self.new, first_new));
            self.push(format!("{path}.order"), old, new, &plans, Cause::Manifest);
        }
    }
}

type Value2 = (Option<Setting>, Option<Setting>);

fn targets(lock: &Lock) -> BTreeSet<String> {
    lock.plans.keys().map(|key| key.target.clone()).collect()
}

fn label(fields: Option<&Map<String, Value>>) -> String {
    let Some(fields) = fields else { return String::new() };
    let parts: Vec<String> = fields
        .iter()
        .map(|(name, value)| format!("{name}={}", value.to_string().trim_matches('"')))
        .collect();
    parts.join(" ")
}

/// Returns facts by name: the value, and where it comes from under `name.source`.
fn facts(value: &Value) -> BTreeMap<String, Value> {
    let Value::Object(map) = value else { return BTreeMap::new() };
    let mut all = BTreeMap::new();
    for (name, item) in map {
        match (item.get("value"), item.get("source")) {
            (Some(value), Some(source)) => {
                flatten(value, name, &mut all);
                if let Some(stated) = source.get("stated") {
                    all.insert(format!("{name}.stated"), stated.clone());
                }
            }
            _ => flatten(item, name, &mut all),
        }
    }
    all
}
