//! What is known of what is pinned: facts read from pinned bytes, and facts that manifests state.

use std::collections::BTreeSet;

use diag::slugs::lock::STATED_CONTRADICTED;
use diag::{Diagnostic, Diagnostics};
use engine::known::Known;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

/// Returns what is known after resolving. `fetched` are facts read from what the new pins name,
/// `kept` those that the old lock had from pins that are kept, `stated` those of manifests. What
/// was read beats what is stated, and where the two differ that is an error: plans that used the
/// stated value may be wrong.
#[must_use]
pub fn settle(stated: &Known, kept: &Known, fetched: &Known) -> (Known, Diagnostics) {
    let mut diagnostics = Diagnostics::new();
    let mut known = Known::default();
    let names = |pick: fn(&Known) -> Vec<&String>| -> BTreeSet<String> {
        [stated, kept, fetched].into_iter().flat_map(pick).cloned().collect()
    };
    for name in names(|known| known.checkpoints.keys().collect()) {
        let sides = [stated, kept, fetched].map(|known| object(known.checkpoints.get(&name)));
        let facts = settle_facts(&name, sides, &mut diagnostics);
        known.checkpoints.insert(name, value(facts));
    }
    for name in names(|known| known.images.keys().collect()) {
        let sides = [stated, kept, fetched].map(|known| object(known.images.get(&name)));
        let facts = settle_facts(&name, sides, &mut diagnostics);
        known.images.insert(name, value(facts));
    }
    for name in names(|known| known.curves.keys().collect()) {
        let curve = [fetched, kept, stated].into_iter().find_map(|known| known.curves.get(&name));
        known.curves.extend(curve.map(|curve| (name.clone(), curve.clone())));
    }
    (known, diagnostics)
}

fn object<T: Serialize>(facts: Option<&T>) -> Map<String, Value> {
    match serde_json::to_value(facts) {
        Ok(Value::Object(map)) => map,
        _ => Map::new(),
    }
}

fn value<T: DeserializeOwned + Default>(facts: Map<String, Value>) -> T {
    serde_json::from_value(Value::Object(facts)).unwrap_or_default()
}

fn settle_facts(
    name: &str,
    [stated, kept, fetched]: [Map<String, Value>; 3],
    diagnostics: &mut Diagnostics,
) -> Map<String, Value> {
    let mut settled = stated;
    for (fact, item) in kept.into_iter().chain(fetched) {
        // What an old lock had as stated is only as good as what the manifest states now.
        let is_stated = item.pointer("/source/stated").is_some();
        if is_stated {
            continue;
        }
        if let Some(before) = settled.get(&fact)
            && before.pointer("/source/stated").is_some()
            && before.get("value") != item.get("value")
        {
            let show = |side: &Value| side.get("value").unwrap_or(side).to_string();
            let message = format!(
                "`{fact}` of `{name}` is {}, not {} as the manifest states",
                show(&item),
                show(before)
            );
            diagnostics.push(
                Diagnostic::error(STATED_CONTRADICTED, message)
                    .why("the value was read from the very content that the pin names")
                    .help("correct the manifest, or leave the statement out: the pinned fact is then used"),
            );
        }
        settled.insert(fact, item);
    }
    settled
}
