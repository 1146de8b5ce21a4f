//! The jobs of a recipe, field for field as upstream's generator writes them.
//!
//! This module, `export` and `import` are the only ones that speak upstream's vocabulary. The rules
//! are those of `utils/matrix_logic/generate_sweep_configs.py` at 843c6254, as measured.

use serde_json::{Map, Value, json};

use crate::recipe::{Recipe, Speculation};
use crate::search::{Point, Workload};
use crate::target::{Hardware, Target};

/// One job of the matrix: one start of the servers.
#[derive(Clone, PartialEq, Debug)]
pub struct Job {
    /// Index in the recipe's matrix; `None` for a point outside the search space.
    pub index: Option<u32>,
    /// The point.
    pub point: Point,
    /// The job as upstream's matrix has it.
    pub row: Map<String, Value>,
}

/// Seconds that upstream replays conversations for.
pub(crate) const DURATION: u32 = 3600;

/// KV offload never gets more than this much of a host's memory, in MiB: 3 TB.
const DRAM_BASELINE_MIB: u64 = 2_861_022;

/// Evaluations are marked at this concurrency and above.
const EVAL_FROM: u32 = 16;

/// Returns the jobs of a recipe in upstream's order, those that upstream evaluates marked.
///
/// `targets` are all targets of the root: KV offload is sized by the memory of those that the
/// recipe's runner names.
#[must_use]
pub fn matrix(recipe: &Recipe, targets: &[Target]) -> Vec<Job> {
    let mut jobs: Vec<Job> = points(recipe)
        .zip(0..)
        .map(|(point, index)| Job { index: Some(index), row: row(recipe, &point, targets), point })
        .collect();
    mark(&mut jobs);
    jobs
}

/// Returns the points of a recipe in upstream's order.
pub fn points(recipe: &Recipe) -> impl Iterator<Item = Point> + '_ {
    recipe.scenarios.iter().enumerate().flat_map(|(index, scenario)| {
        scenario.search.iter().enumerate().flat_map(move |(entry, part)| {
            part.conc.iter().map(move |conc| Point {
                workload: scenario.workload.clone(),
                parallel: part.parallel,
                conc: conc.value,
                kv_offload: part.kv_offload.clone(),
                router: part.router.clone(),
                scenario: index,
                entry: Some(entry),
            })
        })
    })
}

/// Returns the row of a point, not yet marked for evaluation.
#[must_use]
pub fn row(recipe: &Recipe, point: &Point, targets: &[Target]) -> Map<String, Value> {
    let mut row = Map::new();
    let mut put = |name: &str, value: Value| {
        row.insert(name.to_owned(), value);
    };
    put("image", json!(recipe.image.value));
    put("model", json!(recipe.model.repository.value));
    put("model-prefix", json!(recipe.model.prefix.value));
    put("precision", json!(recipe.model.precision.value));
    put("framework", json!(recipe.engine.value));
    put("runner", json!(recipe.runner()));
    let parallel = point.parallel;
    put("tp", json!(parallel.tp));
    put("pp", json!(parallel.pp));
    put("dcp-size", json!(parallel.dcp));
    put("pcp-size", json!(parallel.pcp));
    put("ep", json!(parallel.ep));
    put("dp-attn", json!(parallel.dp_attn));
    put("conc", json!(point.conc));
    put("spec-decoding", json!(speculation(recipe)));
    put("exp-name", json!(experiment(recipe, point)));
    put("run-eval", json!(false));
    if let Some(router) = &point.router {
        put("router", json!({ "name": router.name.value, "version": router.version.value }));
    }
    match &point.workload {
        Workload::FixedSequence { isl, osl } => {
            put("isl", json!(isl));
            put("osl", json!(osl));
            put("max-model-len", json!(u64::from(*isl) + u64::from(*osl) + 256));
            put("disagg", json!(false));
        }
        Workload::Agentic { duration, .. } => {
            put("scenario-type", json!("agentic-coding"));
            put("duration", json!(duration));
            put("kv-offloading", json!(point.kv_offload.as_ref().map_or("none", |kv| &kv.medium)));
            if let Some(kv) = &point.kv_offload {
                let mut backend = json!({ "name": kv.backend.value });
                if let (Some(version), Some(backend)) = (&kv.version, backend.as_object_mut()) {
                    backend.insert("version".to_owned(), json!(version));
                }
                put("kv-offload-backend", backend);
            }
            let dram = targets
                .iter()
                .find(|target| target.answers_to(recipe.runner()) && target.hardware.dram_mib.is_some())
                .and_then(|target| dram_gb(point, &target.hardware));
            put("total-cpu-dram-gb", json!(dram.unwrap_or(0)));
        }
    }
    row
}

/// Returns what upstream's matrix calls a recipe's speculation.
#[must_use]
pub fn speculation(recipe: &Recipe) -> &str {
    match &recipe.speculative {
        Speculation::None => "none",
        Speculation::Always(speculative) => &speculative.label,
        Speculation::PerPoint(_) => "mtp",
    }
}

/// Returns upstream's name of the experiment.
#[must_use]
pub fn experiment(recipe: &Recipe, point: &Point) -> String {
    let prefix = &recipe.model.prefix.value;
    match &point.workload {
        Workload::FixedSequence { isl: 1024, osl: 1024 } => format!("{prefix}_1k1k"),
        Workload::FixedSequence { isl: 8192, osl: 1024 } => format!("{prefix}_8k1k"),
        Workload::FixedSequence { isl, osl } => format!("{prefix}_{isl}_{osl}"),
        Workload::Agentic { .. } => {
            let kv = match &point.kv_offload {
                None => "kvnone".to_owned(),
                Some(kv) => format!("kv{}-{}", kv.medium, kv.backend.value),
            };
            let spec = match speculation(recipe) {
                "none" => String::new(),
                label => format!("_spec-{label}"),
            };
            format!("{prefix}_tp{}_conc{}_{kv}{spec}", point.parallel.tp, point.conc)
        }
    }
}

/// Returns upstream's name of a result, without the runner and the suffix.
#[must_use]
pub fn result_stem(recipe: &Recipe, point: &Point) -> String {
    let parallel = point.parallel;
    format!(
        "{}_{}_{}_tp{}-pp{}-dcp{}-pcp{}-ep{}-dpa{}_disagg-false_spec-{}_conc{}",
        experiment(recipe, point),
        recipe.model.precision.value,
        recipe.engine.value,
        parallel.tp,
        parallel.pp,
        parallel.dcp,
        parallel.pcp,
        parallel.ep,
        parallel.dp_attn,
        speculation(recipe),
        point.conc,
    )
}

/// Returns how much of a host's memory a point's KV offload may use, in decimal GB, rounded down:
/// the declared share of what the host has (3 TB at most) for the share of its GPUs that are used.
/// `None` without offload, or where the target does not say how much memory it has.
#[must_use]
pub fn dram_gb(point: &Point, hardware: &Hardware) -> Option<u64> {
    point.kv_offload.as_ref()?;
    let Workload::Agentic { dram_utilization: Some(share), .. } = &point.workload else { return None };
    let (numerator, denominator) = decimal(&share.value)?;
    let bytes = u128::from(hardware.dram_mib?.min(DRAM_BASELINE_MIB)) << 20;
    let gpus = u128::from(point.parallel.gpus());
    let whole = u128::from(hardware.gpus_per_node).checked_mul(1_000_000_000)?;
    let used = bytes.checked_mul(numerator)?.checked_mul(gpus)?;
    u64::try_from(used / whole.checked_mul(denominator)?).ok()
}

/// Reads a decimal such as `0.8` as a fraction.
fn decimal(text: &str) -> Option<(u128, u128)> {
    let (whole, part) = text.split_once('.').unwrap_or((text, ""));
    let denominator = 10_u128.checked_pow(u32::try_from(part.len()).ok()?)?;
    Some((format!("{whole}{part}").parse().ok()?, denominator))
}

/// Marks the jobs that upstream also evaluates: fixed sequences of 8192 and 1024 tokens at the
/// highest and at the middle concurrency, for each way of attention parallelism.
fn mark(jobs: &mut [Job]) {
    let eligible = |point: &Point| {
        matches!(point.workload, Workload::FixedSequence { isl: 8192, osl: 1024 }) && point.conc >= EVAL_FROM
    };
    for dp_attn in [false, true] {
        let of_group = |point: &Point| eligible(point) && point.parallel.dp_attn == dp_attn;
        let mut concurrencies: Vec<u32> =
            jobs.iter().filter(|job| of_group(&job.point)).map(|job| job.point.conc).collect();
        concurrencies.sort_unstable();
        concurrencies.dedup();
        let chosen = [concurrencies.last(), concurrencies.get(concurrencies.len() / 2)];
        let chosen: Vec<u32> = chosen.into_iter().flatten().copied().collect();
        for job in jobs.iter_mut() {
            if of_group(&job.point) && chosen.contains(&job.point.conc) {
                job.row.insert("run-eval".to_owned(), Value::Bool(true));
            }
        }
    }
}
