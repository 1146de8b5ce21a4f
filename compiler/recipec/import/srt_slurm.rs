//! `recipec import srt-slurm`: what a recipe of that orchestrator starts, and what is wrong with it.

use diag::slugs::cli::OPTION_NOT_READ;
use diag::{Diagnostic, Diagnostics, SourceMap, nearest};
use recipe::json::Given;
use recipe::plan::{self, Plan};
use recipe::srt_slurm::{Revision, launch, select};

use crate::arguments::{ImportSrtSlurm, Mode};
use crate::outcome::{Outcome, Silence};
use crate::plan::Plans;
use crate::{start, yaml};

/// Plans each variant that the selector takes.
pub(super) fn run(verb: &ImportSrtSlurm) -> Outcome {
    let mut sources = SourceMap::new();
    let mut findings = Diagnostics::new();
    let plans = plans(verb, &mut sources, &mut findings);
    let outcome = match plans {
        Ok(plans) => Outcome::new("import", Plans::of(plans, Given::default())),
        Err(finding) => {
            findings.push(finding);
            Outcome::new("import", Silence)
        }
    };
    outcome.with(findings, sources)
}

fn plans(
    verb: &ImportSrtSlurm,
    sources: &mut SourceMap,
    findings: &mut Diagnostics,
) -> Result<Vec<Plan>, Diagnostic> {
    let revision = Revision::named(&verb.revision).ok_or_else(|| unknown(&verb.revision))?;
    // A selector stands after the file's name, as the orchestrator takes it.
    let whole = verb.file.to_string_lossy();
    let (path, selector) = match whole.rsplit_once(':') {
        Some((path, selector)) if !verb.file.exists() => (path, Some(selector)),
        _ => (&*whole, None),
    };
    let file = yaml::read(path, &start::read(path.as_ref())?, sources)?;
    let cluster = verb.cluster.to_string_lossy();
    let cluster = yaml::read(&cluster, &start::read(&verb.cluster)?, sources)?;
    let mode = match verb.mode {
        Mode::Throughput => plan::Mode::Throughput,
        Mode::Eval => plan::Mode::Eval,
    };
    let target = verb.cluster.file_stem().unwrap_or_default().to_string_lossy();
    let mut plans = Vec::new();
    for (variant, recipe) in select(&file, selector)? {
        let name = recipe.get("name").and_then(|field| field.value.as_text()).unwrap_or(&variant).to_owned();
        let launch = launch(&recipe, &cluster, revision, mode, findings);
        plans.extend(launch.map(|launch| launch.plan(&name, &target, mode)));
    }
    Ok(plans)
}

fn unknown(name: &str) -> Diagnostic {
    let finding =
        Diagnostic::error(OPTION_NOT_READ, format!("the rules of srt-slurm `{name}` are not known"));
    let names: Vec<&str> = Revision::all().iter().map(Revision::name).collect();
    let all = format!("known are {}", names.join(", "));
    match nearest(name, names.iter().copied()) {
        Some(near) => finding.help(format!("did you mean `{near}`?")).help(all),
        None => finding.help(all),
    }
}
