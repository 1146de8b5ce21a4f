//! Version 1.
//!
//! Pins and known facts are written as their own types serialise; a change there that an old
//! reader cannot take needs a new version.

use std::collections::BTreeMap;

use engine::known::Known;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::document::PlanKey;
use crate::launch::{Launch, Process, Setting};
use crate::pin::Entry;
use crate::select::{self, Rows};
use crate::{Digest, Fingerprint, Lock};

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Document {
    version: u64,
    recipe: String,
    pins: BTreeMap<String, Entry>,
    known: Known,
    jobs: BTreeMap<u32, Map<String, Value>>,
    launch: BTreeMap<String, WireProcess>,
    plans: BTreeMap<String, WirePlan>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    seal: Option<String>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct WirePlan {
    digest: Digest,
    groups: BTreeMap<String, Digest>,
}

impl From<WirePlan> for Fingerprint {
    fn from(plan: WirePlan) -> Self {
        Self { plan: plan.digest, groups: plan.groups }
    }
}

/// `when` says which plans have the process; selectors in `settings` are among those.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct WireProcess {
    when: String,
    settings: BTreeMap<String, BTreeMap<String, Value>>,
}

pub(super) fn write(lock: &Lock) -> Value {
    let rows = lock.rows();
    let launch =
        lock.launch.processes.iter().map(|(name, process)| (name.clone(), write_process(process, &rows)));
    let plans = lock.plans.iter().map(|(key, print)| {
        (key.to_string(), WirePlan { digest: print.plan.clone(), groups: print.groups.clone() })
    });
    let document = Document {
        version: 1,
        recipe: lock.recipe.clone(),
        pins: lock.pins.clone(),
        known: lock.known.clone(),
        jobs: lock.jobs.clone(),
        launch: launch.collect(),
        plans: plans.collect(),
        seal: None,
    };
    serde_json::to_value(document).unwrap_or_default()
}

fn write_process(process: &Process, rows: &Rows) -> WireProcess {
    let own = rows.only(&process.plans);
    let settings = process.settings.iter().map(|(name, values)| {
        let mut sets: BTreeMap<&Setting, std::collections::BTreeSet<PlanKey>> = BTreeMap::new();
        for (key, setting) in values {
            sets.entry(setting).or_default().insert(key.clone());
        }
        let entries = sets
            .into_iter()
            .map(|(setting, set)| (select::describe(&set, &own, setting.selector_hint()), setting.to_json()));
        (name.clone(), entries.collect())
    });
    WireProcess { when: select::describe(&process.plans, rows, ""), settings: settings.collect() }
}

pub(super) fn read(document: Value) -> Result<Lock, String> {
    let document: Document = serde_json::from_value(document).map_err(|error| error.to_string())?;
    let mut lock = Lock {
        recipe: document.recipe,
        pins: document.pins,
        known: document.known,
        jobs: document.jobs,
        ..Lock::default()
    };
    check_names(&lock.pins)?;
    for (name, plan) in document.plans {
        let key: PlanKey = name.parse().map_err(|()| format!("`{name}` is no plan"))?;
        lock.plans.insert(key, plan.into());
    }
    let rows = lock.rows();
    let mut launch = Launch::default();
    for (name, process) in document.launch {
        launch.processes.insert(name, read_process(process, &rows)?);
    }
    lock.launch = launch;
    Ok(lock)
}

/// What a side of a conflict still says for certain.
#[derive(Deserialize)]
struct Pins {
    recipe: String,
    pins: BTreeMap<String, Entry>,
    known: Known,
}

pub(super) fn read_pins(document: Value) -> Result<Lock, String> {
    let Pins { recipe, pins, known } = serde_json::from_value(document).map_err(|error| error.to_string())?;
    check_names(&pins)?;
    Ok(Lock { recipe, pins, known, ..Lock::default() })
}

pub(super) fn check_names(pins: &BTreeMap<String, Entry>) -> Result<(), String> {
    for (name, entry) in pins {
        let (Entry::Pinned { want, .. } | Entry::Unpinned { want, .. }) = entry;
        if want.name() != *name {
            return Err(format!("the pin `{name}` is of `{}`", want.name()));
        }
    }
    Ok(())
}

fn read_process(wire: WireProcess, rows: &Rows) -> Result<Process, String> {
    let selector = |text: &str, rows: &Rows| {
        select::parse(text, rows).ok_or_else(|| format!("`{text}` selects no plans"))
    };
    let plans = selector(&wire.when, rows)?;
    let own = rows.only(&plans);
    let mut process = Process { plans, settings: BTreeMap::new() };
    for (name, entries) in wire.settings {
        let mut values = BTreeMap::new();
        for (text, value) in entries {
            let setting =
                Setting::from_json(&value).ok_or_else(|| format!("`{name}` has the value `{value}`"))?;
            for key in selector(&text, &own)? {
                if values.insert(key, setting.clone()).is_some() {
                    return Err(format!("`{name}` has two values in one plan"));
                }
            }
        }
        process.settings.insert(name, values);
    }
    Ok(process)
}
