//! Whether a checkout of InferenceX could run what an entry says: its runner is listed, each runner
//! has a launcher, and a script is there under a name that the launcher looks for.
//!
//! Upstream finds a script by its name, made of family, precision, kind of machine, engine and
//! whether it drafts. Some launchers look for the engine's name and some do not; a name that no
//! launcher would find is a route that ends nowhere.

use std::collections::{BTreeMap, BTreeSet};

use diag::{Diagnostic, Diagnostics, nearest, slugs};

use crate::draft::Draft;
use crate::search::Workload;

/// What a checkout has.
#[derive(Clone, Debug, Default)]
pub struct Checkout {
    /// The names of machines by runner, of `configs/runners.yaml`.
    pub runners: BTreeMap<String, Vec<String>>,
    /// The paths of its files, below its root.
    pub files: BTreeSet<String>,
}

/// Engines whose name is part of a script's name where the launcher looks for no other.
const TAGGED: [&str; 2] = ["trt", "atom"];

/// Reports each step of a route that is not there.
pub fn report(draft: &Draft, checkout: &Checkout, out: &mut Diagnostics) {
    let lost = |message: String| {
        Diagnostic::warning(slugs::recipe::NO_ROUTE, message)
            .why("a job of it would wait or fail in InferenceX's pipeline")
    };
    let Some(runner) = draft.targets.first() else { return };
    let key = &draft.key;
    let Some(machines) = checkout.runners.get(runner) else {
        let mut finding = lost(format!("the runner `{runner}` of `{key}` is not in `configs/runners.yaml`"));
        if let Some(near) = nearest(runner, checkout.runners.keys().map(String::as_str)) {
            finding = finding.help(format!("there is `{near}`"));
        }
        out.push(finding);
        return;
    };
    let launchers: BTreeSet<&str> =
        machines.iter().map(|machine| machine.split('_').next().unwrap_or(machine)).collect();
    for launcher in launchers {
        let path = format!("runners/launch_{launcher}.sh");
        if !checkout.files.contains(&path) {
            out.push(lost(format!("`{key}` may run on `{launcher}`, and there is no `{path}`")));
            continue;
        }
        for scenario in &draft.scenarios {
            let folder = match scenario.workload {
                Workload::FixedSequence { .. } => "fixed_seq_len",
                Workload::Agentic { .. } => "agentic",
            };
            let names = scripts(draft, launcher);
            let there = names
                .iter()
                .any(|name| checkout.files.contains(&format!("benchmarks/single_node/{folder}/{name}")));
            if !there {
                let first = names.first().map_or("", String::as_str);
                let message = format!("`{key}` has no script for `{launcher}`: no `{first}` in `{folder}`");
                let finding = lost(message);
                out.push(match names.get(1) {
                    Some(other) => finding.why(format!("nor `{other}`")),
                    None => finding,
                });
            }
        }
    }
}

/// Returns the names of scripts that a launcher may look for.
fn scripts(draft: &Draft, launcher: &str) -> Vec<String> {
    let text = |part: &Option<String>| part.clone().unwrap_or_default();
    let (prefix, precision, engine) = (text(&draft.prefix), text(&draft.precision), text(&draft.engine));
    let sku = launcher.split('-').next().unwrap_or(launcher);
    let drafts = if draft.speculation.as_deref() == Some("mtp") { "_mtp" } else { "" };
    let base = format!("{prefix}_{precision}_{sku}");
    let tag = if TAGGED.contains(&engine.as_str()) { format!("_{engine}") } else { String::new() };
    let mut names = vec![format!("{base}_{engine}{drafts}.sh"), format!("{base}{tag}{drafts}.sh")];
    names.dedup();
    names
}

#[cfg(test)]
mod tests {
    use super::{Checkout, report};
    use crate::draft::Draft;
    use crate::search::{Scenario, Workload};

    fn draft() -> Draft {
        let text = |text: &str| Some(text.to_owned());
        Draft {
            key: "some-key".to_owned(),
            engine: text("sglang"),
            prefix: text("model"),
            precision: text("fp8"),
            targets: vec!["h100".to_owned()],
            scenarios: vec![Scenario {
                workload: Workload::FixedSequence { isl: 8192, osl: 1024 },
                search: Vec::new(),
                at: None,
            }],
            ..Draft::default()
        }
    }

    fn found(draft: &Draft, files: &[&str]) -> Vec<String> {
        let runners = [("h100".to_owned(), vec!["h100-cw_00".to_owned(), "h100-cw_01".to_owned()])];
        let files = files.iter().map(|path| (*path).to_owned()).collect();
        let mut out = diag::Diagnostics::new();
        report(draft, &Checkout { runners: runners.into_iter().collect(), files }, &mut out);
        out.into_iter().map(|finding| finding.message).collect()
    }

    #[test]
    fn a_route_is_there_under_either_name_and_missing_under_another() {
        let launcher = "runners/launch_h100-cw.sh";
        let folder = "benchmarks/single_node/fixed_seq_len";
        for name in ["model_fp8_h100.sh", "model_fp8_h100_sglang.sh"] {
            assert!(found(&draft(), &[launcher, &format!("{folder}/{name}")]).is_empty(), "{name}");
        }
        for name in ["model_fp8_h100_mtp.sh", "model_fp8_h100_vllm.sh", "model_fp4_h100.sh"] {
            assert_eq!(found(&draft(), &[launcher, &format!("{folder}/{name}")]).len(), 1, "{name}");
        }
        assert!(found(&draft(), &[])[0].contains("launch_h100-cw.sh"));
        let elsewhere = Draft { targets: vec!["h200".to_owned()], ..draft() };
        assert!(found(&elsewhere, &[])[0].contains("runners.yaml"));
    }
}
