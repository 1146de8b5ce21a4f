//! An entry of InferenceX's master configuration as the draft of a recipe.
//!
//! This module, `matrix` and `export` are the only ones that speak upstream's vocabulary. An entry
//! says what is served, where, and which points are measured; how it is served it does not say.

use diag::{Diagnostic, Diagnostics, nearest, slugs};
use serde_json::{Map, Value};

use crate::draft::Draft;
use crate::matrix::DURATION;
use crate::plan::Parallel;
use crate::schema::At;
use crate::search::{Entry, KvOffload, Router, Scenario, Workload};
use crate::tree::float_text;

/// Reads the entry of a key among the entries of a master configuration.
///
/// # Errors
/// If there is no such entry, or it is none of one node, or says what no recipe can; all problems
/// found are in the diagnostics.
pub fn draft(entries: &Value, key: &str) -> Result<Draft, Diagnostics> {
    let mut out = Diagnostics::new();
    let mut reader = Reader { key, out: &mut out };
    let draft = reader.entry(entries);
    match draft {
        Some(draft) if out.is_empty() => Ok(draft),
        _ => Err(out),
    }
}

struct Reader<'r> {
    key: &'r str,
    out: &'r mut Diagnostics,
}

impl Reader<'_> {
    fn wrong(&mut self, message: String) -> Diagnostic {
        Diagnostic::error(slugs::recipe::ENTRY_NOT_READ, message).why(format!("in the entry `{}`", self.key))
    }

    fn refuse(&mut self, message: impl Into<String>) {
        let finding = self.wrong(message.into());
        self.out.push(finding);
    }

    fn entry(&mut self, entries: &Value) -> Option<Draft> {
        let Some(all) = entries.as_object() else {
            self.refuse("the file is no mapping of entries by config key");
            return None;
        };
        let Some(entry) = all.get(self.key).and_then(Value::as_object) else {
            let mut finding =
                Diagnostic::error(slugs::recipe::ENTRY_NOT_READ, format!("there is no entry `{}`", self.key));
            if let Some(near) = nearest(self.key, all.keys().map(String::as_str)) {
                finding = finding.help(format!("there is `{near}`"));
            }
            self.out.push(finding);
            return None;
        };
        if entry.get("multinode").and_then(Value::as_bool) == Some(true) {
            self.refuse("the entry is of several nodes, and recipes are of one");
            return None;
        }
        let fields = [
            "image",
            "model",
            "model-prefix",
            "runner",
            "precision",
            "framework",
            "multinode",
            "disagg",
            "router",
            "scenarios",
        ];
        self.known(entry, &fields, "an entry");
        let mut text = |name: &str| self.text(entry, name);
        let (image, repository, prefix) = (text("image"), text("model"), text("model-prefix"));
        let (runner, precision, engine) = (text("runner"), text("precision"), text("framework"));
        let router = entry.get("router").and_then(|router| self.router(router));
        let mut labels = Vec::new();
        let scenarios = self.scenarios(entry, router.as_ref(), &mut labels);
        labels.sort_unstable();
        labels.dedup();
        if labels.len() > 1 {
            self.refuse(
                "some parts of the search space draft and others do not; a recipe does one of the two",
            );
        }
        Some(Draft {
            key: self.key.to_owned(),
            engine: Some(engine?),
            image: Some(image?),
            repository: Some(repository?),
            prefix: Some(prefix?),
            precision: Some(precision?),
            targets: vec![runner?],
            speculation: labels.pop().filter(|label| label != "none"),
            scenarios: scenarios?,
        })
    }

    fn known(&mut self, map: &Map<String, Value>, fields: &[&str], what: &str) {
        for name in map.keys().filter(|name| !fields.contains(&name.as_str())) {
            let mut finding = self.wrong(format!("`{name}` is no field of {what}"));
            if let Some(near) = nearest(name, fields.iter().copied()) {
                finding = finding.help(format!("did you mean `{near}`?"));
            }
            self.out.push(finding);
        }
    }

    fn text(&mut self, map: &Map<String, Value>, name: &str) -> Option<String> {
        let found = map.get(name).and_then(Value::as_str).filter(|text| !text.is_empty());
        if found.is_none() {
            self.refuse(format!("`{name}` is no text"));
        }
        found.map(str::to_owned)
    }

    /// Reads a number from 1; `None` is reported unless the field may be absent.
    fn count(&mut self, map: &Map<String, Value>, name: &str, absent: Option<u32>) -> Option<u32> {
        match (map.get(name), absent) {
            (None, Some(absent)) => return Some(absent),
            (Some(value), _) => {
                let count = value.as_u64().and_then(|count| u32::try_from(count).ok());
                if let Some(count) = count.filter(|&count| count > 0) {
                    return Some(count);
                }
            }
            (None, None) => {}
        }
        self.refuse(format!("`{name}` is not a whole number from 1"));
        None
    }

    fn list<'v>(&mut self, map: &'v Map<String, Value>, name: &str) -> &'v [Value] {
        match map.get(name) {
            None => &[],
            Some(Value::Array(items)) => items,
            Some(_) => {
                self.refuse(format!("`{name}` is no list"));
                &[]
            }
        }
    }

    fn map<'v>(&mut self, value: &'v Value, what: &str) -> Option<&'v Map<String, Value>> {
        if value.as_object().is_none() {
            self.refuse(format!("{what} is no mapping"));
        }
        value.as_object()
    }

    fn scenarios(
        &mut self,
        entry: &Map<String, Value>,
        router: Option<&Router>,
        labels: &mut Vec<String>,
    ) -> Option<Vec<Scenario>> {
        let scenarios = self.map(entry.get("scenarios")?, "`scenarios`")?;
        self.known(scenarios, &["fixed-seq-len", "agentic-coding"], "`scenarios`");
        let mut all = Vec::new();
        for kind in ["fixed-seq-len", "agentic-coding"] {
            for item in self.list(scenarios, kind) {
                let item = self.map(item, "a scenario")?;
                let agentic = kind == "agentic-coding";
                let fields: &[&str] = if agentic {
                    &["dram-utilization", "search-space"]
                } else {
                    &["isl", "osl", "search-space"]
                };
                self.known(item, fields, "a scenario");
                let mut search = Vec::new();
                for part in self.list(item, "search-space") {
                    let mut part = self.part(part, labels)?;
                    part.router = part.router.or_else(|| router.cloned());
                    search.push(part);
                }
                let workload = if agentic {
                    let share = item.get("dram-utilization").and_then(Value::as_f64).map(float_text);
                    Workload::Agentic { duration: DURATION, dram_utilization: share.map(At::made) }
                } else {
                    Workload::FixedSequence {
                        isl: self.count(item, "isl", None)?,
                        osl: self.count(item, "osl", None)?,
                    }
                };
                all.push(Scenario { workload, search, at: None });
            }
        }
        if all.is_empty() {
            self.refuse("no scenario is given");
        }
        Some(all)
    }

    fn part(&mut self, value: &Value, labels: &mut Vec<String>) -> Option<Entry> {
        let map = self.map(value, "a part of the search space")?;
        let fields = [
            "tp",
            "pp",
            "dcp-size",
            "pcp-size",
            "ep",
            "dp-attn",
            "spec-decoding",
            "kv-offloading",
            "kv-offload-backend",
            "router",
            "conc-start",
            "conc-end",
            "conc-list",
        ];
        self.known(map, &fields, "a part of the search space");
        labels.push(map.get("spec-decoding").and_then(Value::as_str).unwrap_or("none").to_owned());
        let parallel = Parallel {
            tp: self.count(map, "tp", None)?,
            pp: self.count(map, "pp", Some(1))?,
            ep: self.count(map, "ep", Some(1))?,
            dp_attn: map.get("dp-attn").and_then(Value::as_bool).unwrap_or(false),
            dcp: self.count(map, "dcp-size", Some(1))?,
            pcp: self.count(map, "pcp-size", Some(1))?,
        };
        let kv_offload = match map.get("kv-offloading").and_then(Value::as_str) {
            None | Some("none") => None,
            Some(medium) => {
                let backend = map.get("kv-offload-backend").and_then(Value::as_object);
                let Some(backend) = backend else {
                    self.refuse("`kv-offload-backend` is no mapping");
                    return None;
                };
                Some(KvOffload {
                    medium: medium.to_owned(),
                    backend: At::made(self.text(backend, "name")?),
                    version: backend.get("version").and_then(Value::as_str).map(str::to_owned),
                })
            }
        };
        let router = map.get("router").and_then(|router| self.router(router));
        let listed = map.contains_key("conc-list");
        let conc = if listed {
            let numbers = self.list(map, "conc-list").iter();
            let numbers: Option<Vec<u32>> =
                numbers.map(|one| one.as_u64().and_then(|one| u32::try_from(one).ok())).collect();
            numbers.filter(|all| !all.is_empty() && !all.contains(&0))
        } else {
            let (from, to) = (self.count(map, "conc-start", None)?, self.count(map, "conc-end", None)?);
            (from <= to).then(|| crate::search::doubling(from, to))
        };
        let Some(conc) = conc else {
            self.refuse("the concurrencies are no list of numbers from 1, and no range that grows");
            return None;
        };
        let conc = conc.into_iter().map(At::made).collect();
        Some(Entry { parallel, places: Vec::new(), conc, listed, kv_offload, router, at: None })
    }

    fn router(&mut self, value: &Value) -> Option<Router> {
        let map = self.map(value, "`router`")?;
        Some(Router {
            name: At::made(self.text(map, "name")?),
            version: At::made(self.text(map, "version")?),
        })
    }
}
