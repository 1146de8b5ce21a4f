//! Points outside the search space: `--point tp=4,conc=24`.

use diag::nearest;

use crate::matrix::{self, Job};
use crate::plan::Parallel;
use crate::recipe::Recipe;
use crate::schema::At;
use crate::search::{KvOffload, Point, Workload};
use crate::target::Target;

/// What a point can be asked for by, in upstream's names.
const NAMES: &[&str] = &[
    "tp",
    "pp",
    "ep",
    "dp-attn",
    "dcp-size",
    "pcp-size",
    "conc",
    "isl",
    "osl",
    "kv-offloading",
    "kv-offload-backend",
];

/// Returns the job of a point that is written `name=value,name=value`, in upstream's names. What is
/// not named has the default of upstream's matrix; workload, `tp` and `conc` are those of the
/// recipe's first point.
///
/// # Errors
/// With what is wrong, as a phrase.
pub fn parse(recipe: &Recipe, targets: &[Target], text: &str) -> Result<Job, String> {
    let first = matrix::points(recipe).next().ok_or("the recipe has no point to start from")?;
    let parallel = Parallel { tp: first.parallel.tp, pp: 1, ep: 1, dp_attn: false, dcp: 1, pcp: 1 };
    let mut point = Point { parallel, kv_offload: None, router: None, entry: None, ..first };
    let mut medium = None;
    let mut backend = None;
    for part in text.split(',').filter(|part| !part.trim().is_empty()) {
        let (name, value) = part
            .split_once('=')
            .map(|(name, value)| (name.trim(), value.trim()))
            .ok_or_else(|| format!("`{part}` is not `name=value`"))?;
        let count = || {
            value
                .parse::<u32>()
                .ok()
                .filter(|&count| count > 0)
                .ok_or_else(|| format!("`{name}` is `{value}`, not a whole number from 1"))
        };
        match name {
            "tp" => point.parallel.tp = count()?,
            "pp" => point.parallel.pp = count()?,
            "ep" => point.parallel.ep = count()?,
            "dcp-size" | "dcp" => point.parallel.dcp = count()?,
            "pcp-size" | "pcp" => point.parallel.pcp = count()?,
            "conc" => point.conc = count()?,
            "dp-attn" | "dpAttn" => {
                point.parallel.dp_attn = match value {
                    "true" => true,
                    "false" => false,
                    _ => return Err(format!("`{name}` is `{value}`, not true or false")),
                }
            }
            "isl" | "osl" => {
                let tokens = count()?;
                match &mut point.workload {
                    Workload::FixedSequence { isl, .. } if name == "isl" => *isl = tokens,
                    Workload::FixedSequence { osl, .. } => *osl = tokens,
                    Workload::Agentic { .. } => {
                        return Err(format!("an agentic workload has no `{name}`"));
                    }
                }
            }
            "kv-offloading" => medium = Some(value.to_owned()),
            "kv-offload-backend" => backend = Some(value.to_owned()),
            _ => {
                let near = nearest(name, NAMES.iter().copied());
                let help = near.map_or_else(
                    || format!("; a point has: {}", NAMES.join(", ")),
                    |near| format!("; did you mean `{near}`?"),
                );
                return Err(format!("a point has no `{name}`{help}"));
            }
        }
    }
    point.kv_offload = kv_offload(recipe, medium.as_deref(), backend)?;
    let row = matrix::row(recipe, &point, targets);
    Ok(Job { index: None, point, row })
}

/// A medium without a backend takes the backend that the recipe uses elsewhere.
fn kv_offload(
    recipe: &Recipe,
    medium: Option<&str>,
    backend: Option<String>,
) -> Result<Option<KvOffload>, String> {
    let medium = match (medium, &backend) {
        (None | Some("none"), None) => return Ok(None),
        (None, Some(_)) => "dram",
        (Some("none"), Some(_)) => return Err("`kv-offload-backend` without `kv-offloading`".to_owned()),
        (Some("dram"), _) => "dram",
        (Some(other), _) => return Err(format!("`kv-offloading` is `{other}`, not none or dram")),
    };
    let used = || matrix::points(recipe).find_map(|point| point.kv_offload);
    match backend {
        Some(backend) => {
            let same = used().filter(|kv| kv.backend.value == backend);
            Ok(Some(same.unwrap_or_else(|| KvOffload {
                medium: medium.to_owned(),
                backend: At::made(backend),
                version: None,
            })))
        }
        None => used().map(Some).ok_or_else(|| "`kv-offloading` needs a `kv-offload-backend`".to_owned()),
    }
}
