//! KV offload keeps to its share: what a server is told to take of the host's memory is at most what
//! the scenario's share of the target's memory gives to the GPUs that it uses.

use diag::{Diagnostic, slugs};
use engine::Engine;
use engine::sizes::Of;

use crate::build::Built;
use crate::matrix;
use crate::rules::sizes;
use crate::tree::Node;

/// Looks at what a server takes for evicted KV blocks.
pub(crate) fn look(engine: Engine, built: &Built) -> Option<Diagnostic> {
    let point = &built.job.point;
    let share = i64::try_from(matrix::dram_gb(point, &built.hardware)?).ok()?;
    let mut taken: i64 = 0;
    let mut largest: Option<sizes::Seen<'_>> = None;
    for seen in sizes::all(engine, &built.server).into_iter().filter(|seen| seen.takes.evicted) {
        let Some(size) = &seen.size else { continue };
        let Node::Int(amount) = size.amount.node else { continue };
        // Every pool of a kind takes as much; one of each is certain.
        let ranks = if size.of == Of::Rank { i64::from(point.parallel.gpus()) } else { 1 };
        taken = taken.saturating_add(amount.saturating_mul(size.unit.bytes()).saturating_mul(ranks));
        largest.get_or_insert(seen);
    }
    let seen = largest?;
    let limit = share.saturating_mul(1_000_000_000);
    if taken <= limit {
        return None;
    }
    let gb = |bytes: i64| format!("{}.{}", bytes / 1_000_000_000, bytes / 100_000_000 % 10);
    let mut finding = Diagnostic::warning(
        slugs::recipe::OFFLOAD_BEYOND_SHARE,
        format!("KV offload takes {} GB of the host's memory, and its share is {share} GB", gb(taken)),
    )
    .why(format!("`{}` is told so for {} GPUs", seen.place, point.parallel.gpus()))
    .help("size it by `kvOffload.totalGb`, which is in decimal gigabytes for all GPUs of the point");
    finding.span = seen.at;
    Some(finding)
}
