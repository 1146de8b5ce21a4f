//! What a new image changes without a word in any manifest: the engine's own defaults.

use std::collections::BTreeSet;

use recipe::want::Want;
use serde_json::Value;

use super::{Cause, Differences, want};
use crate::document::PlanKey;

impl Differences<'_> {
    /// Defaults of the engine that differ between two versions, under flags that nobody sets: what
    /// a new image changes without a word in any manifest. Only versions that the tags name are
    /// compared; a guess would cry wolf.
    pub(super) fn defaults(&mut self) {
        let images = self.wants.iter().find_map(|pair| match (pair.old.map(want)?, pair.new.map(want)?) {
            (Want::Image { reference: old, .. }, Want::Image { reference: new, .. }) if old != new => {
                Some((old.clone(), new.clone()))
            }
            _ => None,
        });
        let Some((old_image, new_image)) = images else { return };
        let engine_of = |image: &str| engine::identify(image).map(|(engine, _)| engine);
        let (Some(old_engine), Some(new_engine)) = (engine_of(&old_image), engine_of(&new_image)) else {
            return;
        };
        if old_engine != new_engine {
            return;
        }
        let (before, after) =
            (engine::choose(old_engine, &old_image, None), engine::choose(new_engine, &new_image, None));
        if !before.exact || !after.exact || before.version == after.version {
            return;
        }
        let serves = |name: &str| {
            name.split(['[', '#']).next().is_some_and(|name| matches!(name, "server" | "prefill" | "decode"))
        };
        let set: BTreeSet<&String> = [self.old, self.new]
            .into_iter()
            .flat_map(|lock| &lock.launch.processes)
            .filter(|(name, _)| serves(name))
            .flat_map(|(_, process)| process.settings.keys())
            .collect();
        let mut found: Vec<(String, Value, Value)> = Vec::new();
        for flag in before.table.flags() {
            let Some(name) = flag.names.first() else { continue };
            let Some((other, _)) = after.table.flag(name) else { continue };
            let unset = !flag
                .names
                .iter()
                .chain(&other.names)
                .any(|name| set.iter().any(|set| set.as_str() == *name));
            if let (Some(old), Some(new)) = (flag.default, other.default)
                && unset
                && old != new
            {
                let json = |text: &str| serde_json::from_str(text).unwrap_or_else(|_| text.into());
                let full = before.table.full(flag.field).unwrap_or(name);
                found.push((format!("server.{full}"), json(old), json(new)));
            }
        }
        found.sort_by(|a, b| a.0.cmp(&b.0));
        found.dedup();
        let all: BTreeSet<PlanKey> = self.new.plans.keys().cloned().collect();
        for (path, old, new) in found {
            self.push(path, old, new, &all, Cause::EngineDefault);
        }
    }
}
