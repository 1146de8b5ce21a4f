//! The weight files of a checkpoint: are they all there, and is it clear which ones count?

use std::collections::{BTreeMap, BTreeSet};

use diag::{Diagnostic, slugs::upstream as slug};
use lock::pin::File;
use serde::Deserialize;

use super::{Documents, Hub};
use crate::refusal::Refusal;
use crate::transport::Transport;

/// The weights that a loader would take.
pub(super) struct WeightSet {
    /// Bytes of these files together.
    pub(super) bytes: u64,
    /// What is odd about them.
    pub(super) remarks: Vec<Diagnostic>,
}

/// An index of shards: which file holds each tensor.
#[derive(Deserialize)]
struct Index {
    #[serde(default)]
    metadata: Option<Metadata>,
    weight_map: BTreeMap<String, String>,
}

#[derive(Deserialize)]
struct Metadata {
    #[serde(default)]
    total_size: Option<serde_json::Number>,
}

const SAFETENSORS_INDEX: &str = "model.safetensors.index.json";
const BIN_INDEX: &str = "pytorch_model.bin.index.json";

/// The indexes that a checkpoint may have.
pub(super) const INDEXES: [&str; 2] = [SAFETENSORS_INDEX, BIN_INDEX];

/// Looks whether the tree of a checkpoint can be whole, before anything more is asked for.
///
/// # Errors
/// [`Refusal`]: there are no weights, or the numbering of the shards has gaps. Another revision is
/// never taken in its place.
pub(super) fn check<T: Transport + ?Sized>(hub: &Hub<'_, T>, files: &[File]) -> Result<(), Refusal> {
    let weights: Vec<&File> = files.iter().filter(|file| is_weight(&file.path)).collect();
    if weights.is_empty() {
        return Err(Refusal::outside(
            Diagnostic::error(slug::NO_WEIGHTS, format!("`{}` holds no weights", hub.name()))
                .why(format!(
                    "of its {} files none ends in .safetensors, .bin, .gguf, .pt or .pth",
                    files.len()
                ))
                .why("another revision is never taken in its place")
                .help("name the revision that holds the weights"),
        ));
    }
    numbering(hub, &weights)
}

/// Examines the weights beside their index, whose text is one of the documents.
///
/// # Errors
/// [`Refusal`]: the index cannot be read, or it names a file that the tree does not have.
pub(super) fn examine<T: Transport + ?Sized>(
    hub: &Hub<'_, T>,
    files: &[File],
    documents: &Documents,
) -> Result<WeightSet, Refusal> {
    let weights: Vec<&File> = files.iter().filter(|file| is_weight(&file.path)).collect();
    let mut remarks = Vec::new();
    let safetensors = root(&weights, ".safetensors");
    let others = [".bin", ".gguf", ".pt", ".pth"].map(|ending| root(&weights, ending)).concat();
    if !safetensors.is_empty() && !others.is_empty() {
        remarks.push(ambiguous(
            hub,
            &safetensors,
            &others,
            "loaders choose between formats, and not all choose alike",
        ));
    }
    let (index, chosen) =
        if safetensors.is_empty() { (BIN_INDEX, others) } else { (SAFETENSORS_INDEX, safetensors) };
    let Some(index) = files.iter().find(|file| file.path == index) else {
        if chosen.len() > 1 && chosen.iter().any(|file| shard(&file.path).is_some()) {
            remarks.push(index_missing(hub, index));
        } else if chosen.len() > 1 {
            remarks.push(ambiguous(
                hub,
                &chosen[..1],
                &chosen[1..],
                "there is no index that says which of them count",
            ));
        }
        let chosen = if chosen.is_empty() { weights } else { chosen };
        return Ok(WeightSet { bytes: sum(&chosen), remarks });
    };
    let text = documents.texts.get(&index.path).map_or("", String::as_str);
    let parsed: Index =
        serde_json::from_str(text).map_err(|error| broken_index(hub, &index.path, &error.to_string()))?;
    let named: BTreeSet<&str> = parsed.weight_map.values().map(String::as_str).collect();
    let missing: Vec<&str> =
        named.iter().filter(|path| !files.iter().any(|file| file.path == **path)).copied().collect();
    if !missing.is_empty() {
        return Err(missing_shards(hub, &missing, &format!("`{}` names them", index.path)));
    }
    let (mapped, stray): (Vec<&File>, Vec<&File>) =
        chosen.iter().partition(|file| named.contains(file.path.as_str()));
    if !stray.is_empty() {
        remarks.push(ambiguous(
            hub,
            &mapped,
            &stray,
            "the index names none of these; a loader that takes every file takes them too",
        ));
    }
    let mapped: Vec<&File> = files.iter().filter(|file| named.contains(file.path.as_str())).collect();
    let bytes = sum(&mapped);
    // Producers count differently, but tensors cannot be longer than the files that hold them.
    let total = parsed.metadata.and_then(|metadata| metadata.total_size?.as_f64()).unwrap_or(0.0);
    #[expect(
        clippy::cast_precision_loss,
        reason = "a checkpoint of more than 2^53 bytes would only lose digits"
    )]
    if total > bytes as f64 {
        remarks.push(
            Diagnostic::warning(
                slug::INDEX_WRONG,
                format!("the shards of `{}` are shorter than its index says", hub.name()),
            )
            .why(format!(
                "`{}` states {total} bytes of tensors, and its shards have {bytes} bytes together",
                index.path
            ))
            .help("check that the upload is whole; `recipec audit checkpoint` compares every byte"),
        );
    }
    Ok(WeightSet { bytes, remarks })
}

fn is_weight(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    let ends = |ending: &str| name.len() > ending.len() && name.ends_with(ending);
    // `training_args.bin`, `optimizer.pt` and their like are no weights of the model.
    let aside = ["training_args", "optimizer", "scheduler", "rng_state", "scaler"];
    !aside.iter().any(|prefix| name.starts_with(prefix))
        && [".safetensors", ".bin", ".gguf", ".pt", ".pth"].iter().any(|ending| ends(ending))
}

/// Returns the files directly in the repository that end so.
fn root<'f>(weights: &[&'f File], ending: &str) -> Vec<&'f File> {
    weights.iter().filter(|file| !file.path.contains('/') && file.path.ends_with(ending)).copied().collect()
}

fn sum(files: &[&File]) -> u64 {
    files.iter().map(|file| file.size).fold(0, u64::saturating_add)
}

/// Reads `prefix-00001-of-00004.ending`: what the set is called, which shard, of how many.
fn shard(path: &str) -> Option<(String, u32, u32)> {
    let (stem, ending) = path.rsplit_once('.')?;
    let (rest, total) = stem.rsplit_once("-of-")?;
    let (prefix, number) = rest.rsplit_once('-')?;
    let digits = |text: &str| if text.len() <= 6 { text.parse::<u32>().ok() } else { None };
    let (number, count) = (digits(number)?, digits(total)?);
    (count <= 100_000).then(|| (format!("{prefix}-*-of-{total}.{ending}"), number, count))
}

/// Refuses a set whose own numbering has gaps.
fn numbering<T: Transport + ?Sized>(hub: &Hub<'_, T>, weights: &[&File]) -> Result<(), Refusal> {
    let mut sets: BTreeMap<(String, u32), BTreeSet<u32>> = BTreeMap::new();
    for file in weights {
        if let Some((set, number, count)) = shard(&file.path) {
            sets.entry((set, count)).or_default().insert(number);
        }
    }
    for ((set, count), numbers) in sets {
        // Most count from 1, some from 0.
        let first = u32::from(!numbers.contains(&0));
        let missing: Vec<String> = (first..first + count)
            .filter(|number| !numbers.contains(number))
            .take(10)
            .map(|number| set.replace('*', &format!("{number:05}")))
            .collect();
        if !missing.is_empty() {
            let missing: Vec<&str> = missing.iter().map(String::as_str).collect();
            return Err(missing_shards(hub, &missing, "the numbering of the others has a place for them"));
        }
    }
    Ok(())
}

fn missing_shards<T: Transport + ?Sized>(hub: &Hub<'_, T>, missing: &[&str], why: &str) -> Refusal {
    let list = missing.iter().take(10).map(|path| format!("`{path}`")).collect::<Vec<_>>().join(", ");
    Refusal::outside(
        Diagnostic::error(
            slug::INCOMPLETE_UPLOAD,
            format!("`{}` lacks {} of its weight files", hub.name(), missing.len()),
        )
        .why(format!("not there: {list}"))
        .why(why.to_owned())
        .why("an engine that starts on the rest answers with noise")
        .help("take a revision that is whole, or ask the owner to upload the rest"),
    )
}

fn broken_index<T: Transport + ?Sized>(hub: &Hub<'_, T>, path: &str, why: &str) -> Refusal {
    Refusal::outside(
        Diagnostic::error(slug::INDEX_WRONG, format!("`{path}` of `{}` is no index of shards", hub.name()))
            .why(why.to_owned())
            .help("take a revision that is whole"),
    )
}

fn index_missing<T: Transport + ?Sized>(hub: &Hub<'_, T>, index: &str) -> Diagnostic {
    Diagnostic::warning(slug::INDEX_ABSENT, format!("`{}` has several shards and no `{index}`", hub.name()))
        .why("without it a loader cannot tell whether all tensors are there")
        .help("take a revision with the index")
}

fn ambiguous<T: Transport + ?Sized>(
    hub: &Hub<'_, T>,
    taken: &[&File],
    other: &[&File],
    why: &str,
) -> Diagnostic {
    let list = |files: &[&File]| {
        let mut names: Vec<String> = files.iter().take(3).map(|file| format!("`{}`", file.path)).collect();
        if files.len() > 3 {
            names.push(format!("{} more", files.len() - 3));
        }
        names.join(", ")
    };
    Diagnostic::warning(
        slug::AMBIGUOUS_WEIGHTS,
        format!("`{}` holds more than one set of weights", hub.name()),
    )
    .why(format!("{} beside {}", list(taken), list(other)))
    .why(why.to_owned())
    .help("the lock holds all of them; say in the recipe which format the engine loads")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shards_are_read_in_every_spelling_seen() {
        assert_eq!(
            shard("model-00001-of-00004.safetensors"),
            Some(("model-*-of-00004.safetensors".into(), 1, 4))
        );
        assert_eq!(
            shard("model.safetensors-00001-of-00002.safetensors").map(|it| (it.1, it.2)),
            Some((1, 2))
        );
        assert_eq!(shard("sub/x-2-of-3.bin").map(|it| (it.1, it.2)), Some((2, 3)));
        for path in ["model.safetensors", "a-of-b.bin", "x-1-of-99999999.bin", "", "-of-"] {
            assert_eq!(shard(path), None, "{path}");
        }
    }

    #[test]
    fn what_training_leaves_behind_is_no_weight() {
        assert!(is_weight("model.safetensors") && is_weight("sub/pytorch_model.bin"));
        assert!(
            !is_weight("training_args.bin")
                && !is_weight("optimizer.pt")
                && !is_weight(".bin")
                && !is_weight("a.json")
        );
    }
}
