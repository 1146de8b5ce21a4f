//! `recipec import inferencex`: a manifest started from what another project says of a configuration.

use diag::Diagnostic;
use diag::slugs::host::CANNOT_READ;
use recipe::import;
use serde_json::Value;

use crate::arguments::{ImportInferencex, Options};
use crate::outcome::{Outcome, Silence};
use crate::start::{self, Start};

/// Starts a manifest from an entry of a master configuration.
pub(super) fn run(verb: &ImportInferencex, options: &Options) -> Outcome {
    start::with("import", &verb.bounds, options, |mut loaded| {
        let name = verb.file.to_string_lossy().into_owned();
        let entries = start::read(&verb.file).and_then(|text| {
            serde_saphyr::from_str::<Value>(&text).map_err(|error| {
                Diagnostic::error(CANNOT_READ, format!("cannot read `{name}`")).why(error.to_string())
            })
        });
        let draft = match entries {
            Ok(entries) => import::draft(&entries, &verb.key),
            Err(finding) => Err([finding].into_iter().collect()),
        };
        let draft = match draft {
            Ok(draft) => draft,
            Err(findings) => {
                loaded.findings.extend(findings);
                return loaded.finish("import", Silence);
            }
        };
        if let Some(checkout) = crate::checkout::around(&verb.file) {
            let mut found = diag::Diagnostics::new();
            recipe::routes::report(&draft, &checkout, &mut found);
            loaded.findings.extend(found);
        }
        let start = Start {
            command: "import",
            draft,
            from: verb.from.as_deref(),
            changes: std::collections::BTreeMap::new(),
            to: verb.to.as_deref(),
            origin: Some(format!("{}, started from its entry of the master configuration.", verb.key)),
        };
        start::run(loaded, start, options)
    })
}
