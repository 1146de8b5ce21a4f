//! Snippets that upstream generated from InferenceX's own submissions: strict JSON after the
//! export. A deployment is written in full once, and later ones as what differs.
//!
//! Only the router and the KV tier that a point was measured with are read: what the page derives
//! for the others was never run.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value as Json};

use super::{Cell, Class, Unreadable, line_of};

/// Deepest chain of deployments that are written as what differs from another.
const DEEPEST: usize = 32;

/// Returns the commands of the workers of every point on a GPU.
///
/// # Errors
/// If it has another form, or a deployment refers to one that is not there.
pub(super) fn cells(text: &str, hardware: &str) -> Result<Vec<Cell>, Unreadable> {
    let fail = |why: String| Unreadable { line: 0, why };
    let json = text.lines().position(|line| line.starts_with("export const agentx")).map_or("", |at| {
        let from: usize = text.split_inclusive('\n').take(at).map(str::len).sum();
        text.get(from..).unwrap_or_default()
    });
    let json = json.trim_start_matches("export const agentx").trim_start().trim_start_matches('=');
    let data = lock::parse_json(json.trim().trim_end_matches(';').trim()).map_err(fail)?;
    let page = Snippets { data: &data };
    let all = page.data.get("cells").and_then(Json::as_array);
    let all = all.ok_or_else(|| fail("it has no `cells`".to_owned()))?;
    let mut found = Vec::new();
    for (index, deployment) in all.iter().enumerate() {
        let of_hardware = word(deployment, "hw").is_some_and(|gpu| gpu.eq_ignore_ascii_case(hardware));
        if of_hardware {
            page.points(index, deployment, text, hardware, &mut found).map_err(fail)?;
        }
    }
    Ok(found)
}

struct Snippets<'a> {
    data: &'a Json,
}

type Blocks = Vec<Map<String, Json>>;

impl Snippets<'_> {
    fn points(
        &self,
        index: usize,
        deployment: &Json,
        text: &str,
        hardware: &str,
        into: &mut Vec<Cell>,
    ) -> Result<(), String> {
        let name = word(deployment, "id").unwrap_or_default();
        let key = word(deployment, "configKey").ok_or_else(|| format!("`{name}` has no `configKey`"))?;
        let router = word(deployment, "submitted").ok_or_else(|| format!("`{name}` has no `submitted`"))?;
        let points = deployment.get("points").and_then(Json::as_array);
        let points = points.ok_or_else(|| format!("`{name}` has no `points`"))?;
        let base = self.blocks(index, router, 0)?;
        for (number, point) in points.iter().enumerate() {
            let patch = point.get("patch").and_then(|patch| patch.get(router));
            let blocks = if number == 0 { base.clone() } else { patched(&base, patch)? };
            for block in blocks.iter().filter(|block| block.get("kind") == Some(&"worker".into())) {
                let mut selection = Map::new();
                selection.insert("configKey".to_owned(), key.into());
                selection.insert("concs".to_owned(), point.get("concs").cloned().unwrap_or_default());
                selection.insert("role".to_owned(), block.get("role").cloned().unwrap_or_default());
                into.push(Cell {
                    selection,
                    hardware: Some(hardware.to_owned()),
                    argv: argv(block),
                    env: env(block),
                    image: word(deployment, "image").map(str::to_owned),
                    line: line_of(text, key).max(1),
                    class: Class::Circular,
                });
            }
        }
        Ok(())
    }

    /// Returns the processes of a deployment's first point, written in full.
    fn blocks(&self, index: usize, router: &str, depth: usize) -> Result<Blocks, String> {
        if depth > DEEPEST {
            return Err("its deployments refer to each other without end".to_owned());
        }
        let deployment = self.data.get("cells").and_then(|cells| cells.get(index));
        let written = deployment
            .and_then(|cell| cell.get("routers")?.get(router)?.get("blocks")?.as_array())
            .ok_or_else(|| format!("it refers to deployment {index} with `{router}`, which is not there"))?;
        let submitted = deployment.and_then(|cell| word(cell, "submitted")).unwrap_or_default();
        let mut blocks = Vec::new();
        for block in written {
            let block = block.as_object().ok_or("a process is no object")?;
            let other = match (block.get("ref"), block.get("from")) {
                (Some(Json::Array(place)), _) => {
                    let (Some(cell), Some(router), Some(at)) = (
                        place.first().and_then(position),
                        place.get(1).and_then(Json::as_str),
                        place.get(2).and_then(position),
                    ) else {
                        return Err("a reference to another deployment is not understood".to_owned());
                    };
                    Some((self.blocks(cell, router, depth + 1)?, at))
                }
                (Some(_), _) => return Err("a reference to another deployment is not understood".to_owned()),
                (None, Some(at)) => {
                    let at = position(at).ok_or("a reference to another process is not understood")?;
                    Some((self.blocks(index, submitted, depth + 1)?, at))
                }
                (None, None) => None,
            };
            let mut block = match other {
                Some((others, at)) => {
                    let other = others.get(at).ok_or("it refers to a process that is not there")?;
                    from_other(other, block)?
                }
                None => block.clone(),
            };
            if let Some(shared) = block.remove("envRef") {
                let env = position(&shared).and_then(|at| self.data.get("envs")?.get(at));
                let env = env.ok_or("it refers to an environment that is not there")?;
                block.insert("env".to_owned(), env.clone());
            }
            blocks.push(block);
        }
        Ok(blocks)
    }
}

fn word<'a>(value: &'a Json, key: &str) -> Option<&'a str> {
    value.get(key).and_then(Json::as_str)
}

fn position(value: &Json) -> Option<usize> {
    value.as_u64().and_then(|number| usize::try_from(number).ok())
}

/// Returns a process as another with what is written anew and what differs.
fn from_other(other: &Map<String, Json>, written: &Map<String, Json>) -> Result<Map<String, Json>, String> {
    let mut block = other.clone();
    let dropped = written.get("drop").and_then(Json::as_array).into_iter().flatten();
    for key in dropped.filter_map(Json::as_str) {
        block.remove(key);
    }
    let kept = written.iter().filter(|(key, _)| !matches!(key.as_str(), "from" | "diff" | "drop" | "ref"));
    block.extend(kept.map(|(key, value)| (key.clone(), value.clone())));
    differing(&block, written.get("diff").unwrap_or(&Json::Null))
}

/// Returns the processes of a later point.
fn patched(base: &Blocks, patch: Option<&Json>) -> Result<Blocks, String> {
    match patch {
        None | Some(Json::Null) => Ok(base.clone()),
        Some(Json::Array(patches)) => {
            let none = &Json::Null;
            let patch = |at: usize| patches.get(at).unwrap_or(none);
            base.iter().enumerate().map(|(at, block)| differing(block, patch(at))).collect()
        }
        Some(Json::Object(patch)) => {
            let blocks = patch.get("replace").and_then(Json::as_array).ok_or("a point is not understood")?;
            let objects = blocks.iter().map(|block| block.as_object().cloned());
            objects.collect::<Option<_>>().ok_or_else(|| "a process is no object".to_owned())
        }
        Some(_) => Err("a point is not understood".to_owned()),
    }
}

/// Returns a process with what differs: `null` takes away.
fn differing(block: &Map<String, Json>, diff: &Json) -> Result<Map<String, Json>, String> {
    let diff = match diff {
        Json::Null => return Ok(block.clone()),
        Json::Object(diff) => diff,
        _ => return Err("what differs is not understood".to_owned()),
    };
    if let Some(whole) = diff.get("block") {
        return whole.as_object().cloned().ok_or_else(|| "a process is no object".to_owned());
    }
    if let Some(unknown) = diff.keys().find(|key| !matches!(key.as_str(), "args" | "env")) {
        return Err(format!("a difference in `{unknown}` is not understood"));
    }
    let mut block = block.clone();
    if let Some(Json::Object(changes)) = diff.get("args") {
        let old = block.get("args").and_then(Json::as_array).cloned().unwrap_or_default();
        let name = |arg: &Json| arg.get(0).and_then(Json::as_str).map(str::to_owned).unwrap_or_default();
        let with = |name: &str, values: &Json| -> Json {
            std::iter::once(Json::from(name)).chain(values.as_array().cloned().unwrap_or_default()).collect()
        };
        let known: BTreeSet<String> = old.iter().map(name).collect();
        let changed = old.into_iter().filter_map(|arg| match changes.get(&name(&arg)) {
            Some(Json::Null) => None,
            Some(values) => Some(with(&name(&arg), values)),
            None => Some(arg),
        });
        let added = changes.iter().filter(|(name, values)| !values.is_null() && !known.contains(*name));
        let args = changed.chain(added.map(|(name, values)| with(name, values))).collect();
        block.insert("args".to_owned(), args);
    }
    if let Some(Json::Object(changes)) = diff.get("env") {
        let mut env = block.get("env").and_then(Json::as_object).cloned().unwrap_or_default();
        for (name, value) in changes {
            if value.is_null() {
                env.remove(name);
            } else {
                env.insert(name.clone(), value.clone());
            }
        }
        block.insert("env".to_owned(), env.into());
    }
    Ok(block)
}

fn plain(value: &Json) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

fn argv(block: &Map<String, Json>) -> Vec<String> {
    let program = block.get("cmd").and_then(Json::as_str).unwrap_or_default().split_whitespace();
    let args = block.get("args").and_then(Json::as_array).into_iter().flatten();
    let words = args.flat_map(|arg| arg.as_array().cloned().unwrap_or_default());
    program.map(str::to_owned).chain(words.map(|value| plain(&value))).collect()
}

fn env(block: &Map<String, Json>) -> BTreeMap<String, String> {
    let env = block.get("env").and_then(Json::as_object).into_iter().flatten();
    env.map(|(name, value)| (name.clone(), plain(value))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: &str = r#"// GENERATED; mentions `export const agentx` here
export const agentx = {
 "envs": [{"A": "1", "B": "2"}],
 "cells": [
  {"id": "one#0", "hw": "b200", "configKey": "one", "image": "org/image:1", "submitted": "sglang",
   "points": [
    {"concs": [1]},
    {"concs": [8], "patch": {"sglang": [{"args": {"--x": null, "--tp-size": ["2"], "--new": []}, "env": {"A": null}}, null]}},
    {"concs": [9], "patch": {"sglang": {"replace": [{"kind": "worker", "role": "decode", "cmd": "serve", "args": [["--y"]]}]}}}],
   "routers": {
    "sglang": {"blocks": [
     {"kind": "worker", "role": "agg", "cmd": "python3 -m sglang.launch_server", "envRef": 0, "args": [["--model-path", "org/name"], ["--tp-size", "1"], ["--x"]]},
     {"kind": "sglang-router", "cmd": "router", "args": []}]}}},
  {"id": "two#0", "hw": "b200", "configKey": "two", "submitted": "dynamo", "points": [{"concs": [4]}],
   "routers": {"dynamo": {"blocks": [{"ref": [0, "sglang", 0], "drop": ["role"], "cmd": "python3 -m dynamo.sglang", "diff": {"args": {"--x": ["7"]}, "env": {"C": "3"}}}]}}},
  {"id": "three#0", "hw": "h200", "configKey": "three", "submitted": "x", "points": [], "routers": {"x": {"blocks": [{"ref": [2, "x", 0]}]}}}]};
"#;

    #[test]
    fn deployments_written_as_what_differs_are_written_out() {
        let found = cells(PAGE, "b200").expect("it is well written");
        let shown: Vec<String> = found
            .iter()
            .map(|cell| {
                let env: Vec<String> =
                    cell.env.iter().map(|(name, value)| format!("{name}={value}")).collect();
                format!("{} {} | {}", cell.selection["concs"], cell.argv.join(" "), env.join(" "))
            })
            .collect();
        assert_eq!(
            shown,
            [
                "[1] python3 -m sglang.launch_server --model-path org/name --tp-size 1 --x | A=1 B=2",
                "[8] python3 -m sglang.launch_server --model-path org/name --tp-size 2 --new | B=2",
                "[9] serve --y | ",
                "[4] python3 -m dynamo.sglang --model-path org/name --tp-size 1 --x 7 | A=1 B=2 C=3",
            ]
        );
        assert!(found.iter().all(|cell| cell.class == Class::Circular));
        assert_eq!((found[0].line, found[0].image.as_deref()), (5, Some("org/image:1")));
    }

    #[test]
    fn what_is_not_there_or_has_no_end_is_unreadable() {
        assert!(cells(PAGE, "h200").expect_err("it is not understood").why.contains("without end"));
        let broken = PAGE.replace("[0, \"sglang\", 0]", "[0, \"other\", 0]");
        assert!(cells(&broken, "b200").expect_err("it is not understood").why.contains("not there"));
        let newer = PAGE.replace("\"env\": {\"A\": null}", "\"preamble\": []");
        assert!(
            cells(&newer, "b200")
                .expect_err("it is not understood")
                .why
                .contains("`preamble` is not understood")
        );
        assert!(cells("export const agentx = [];", "b200").is_err());
    }
}
