//! A server fits the node that it asks for: `tp * pp * pcp` GPUs at most, and `dcp` divides `tp`.

use diag::{Diagnostic, Diagnostics, Span, slugs};

use crate::check::Corpus;
use crate::recipe::Recipe;
use crate::search::Entry;

pub(crate) fn report(recipe: &Recipe, corpus: &Corpus, out: &mut Diagnostics) {
    let targets = corpus.targets_of(recipe);
    for entry in recipe.scenarios.iter().flat_map(|scenario| &scenario.search) {
        let parallel = entry.parallel;
        let gpus = parallel.gpus();
        let small: Vec<String> = targets
            .iter()
            .filter(|target| target.hardware.gpus_per_node < gpus)
            .map(|target| format!("`{}` has {}", target.name.value, target.hardware.gpus_per_node))
            .collect();
        if !small.is_empty() {
            let mut finding = Diagnostic::error(
                slugs::recipe::MORE_GPUS_THAN_NODE,
                format!("this point needs {gpus} GPUs of one node, and {}", small.join(", ")),
            );
            if gpus != parallel.tp {
                finding = finding
                    .why(format!("tp {} x pp {} x pcp {} = {gpus}", parallel.tp, parallel.pp, parallel.pcp));
            }
            finding.span = place(entry, "tp");
            out.push(finding);
        }
        if !parallel.tp.is_multiple_of(parallel.dcp) {
            let mut finding = Diagnostic::error(
                slugs::recipe::DCP_DOES_NOT_DIVIDE_TP,
                format!("dcp {} does not divide tp {}", parallel.dcp, parallel.tp),
            )
            .why("decode context parallelism splits the tensor-parallel ranks into equal groups");
            finding.span = place(entry, "dcp");
            if let Some(at) = place(entry, "tp") {
                finding = finding.label(at, "the ranks that it splits");
            }
            out.push(finding);
        }
    }
}

fn place(entry: &Entry, name: &str) -> Option<Span> {
    entry.places.iter().find(|(field, _)| *field == name).map(|(_, at)| *at).or(entry.at)
}
