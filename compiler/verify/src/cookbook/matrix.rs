//! Matrix configs: pages whose commands are data, one cell each.

use std::collections::BTreeMap;

use serde_json::{Map, Value as Json};

use super::command;
use crate::script::{Limits, Machine, ScriptError, parse, to_json};

/// A cell of a matrix config.
#[derive(Clone, PartialEq, Debug)]
pub struct MatrixCell {
    /// Place among the cells of the file.
    pub index: usize,
    /// What a reader selects to see it.
    pub selection: Map<String, Json>,
    /// The environment.
    pub env: BTreeMap<String, String>,
    /// Program and arguments, as shown for one node of those it needs.
    pub argv: Vec<String>,
    /// The image that the page suggests.
    pub image: String,
    /// What the page says of it: `verified`, `in-progress`, `unverified`.
    pub status: String,
    /// Whether the cell only points elsewhere.
    pub redirect: bool,
    /// Nodes that it needs.
    pub nodes: u64,
}

/// Reads the cells of a matrix config.
///
/// # Errors
/// If it is none, or is written in a way that is not understood.
pub fn read(text: &str) -> Result<Vec<MatrixCell>, ScriptError> {
    let mut machine = Machine::new(Limits { steps: 4_000_000, ..Limits::default() });
    machine.run(&parse(text)?)?;
    let missing = |what: &str| ScriptError { line: 0, why: format!("it has no `{what}`") };
    let config = to_json(&machine.global("config").ok_or_else(|| missing("config"))?, 32);
    let cells = config.get("cells").and_then(Json::as_array).ok_or_else(|| missing("cells"))?;
    cells.iter().enumerate().map(|(index, cell)| read_cell(&config, index, cell)).collect()
}

fn text<'a>(value: &'a Json, key: &str) -> &'a str {
    value.get(key).and_then(Json::as_str).unwrap_or_default()
}

fn strings(value: &Json, key: &str) -> Result<Vec<String>, ScriptError> {
    let Some(list) = value.get(key) else { return Ok(Vec::new()) };
    let items =
        list.as_array().and_then(|items| items.iter().map(|item| item.as_str().map(str::to_owned)).collect());
    items.ok_or_else(|| ScriptError { line: 0, why: format!("`{key}` of a cell is no list of texts") })
}

/// Flags after which the flags of several nodes stand, the first that is there.
const ANCHORS: [&str; 4] = ["--enable-dp-attention", "--dp", "--tp-size", "--tp"];

fn head(flag: &str) -> &str {
    flag.split([' ', '=', '\t', '\n']).next().unwrap_or(flag)
}

fn read_cell(config: &Json, index: usize, cell: &Json) -> Result<MatrixCell, ScriptError> {
    let selection = cell.get("match").and_then(Json::as_object).cloned().unwrap_or_default();
    let pick = |key: &str| selection.get(key).and_then(Json::as_str).unwrap_or_default();
    let (hardware, variant, quantization, strategy) =
        (pick("hw"), pick("variant"), pick("quant"), pick("strategy"));
    let nodes = match pick("nodes") {
        "single" => 1,
        multiple => multiple
            .strip_prefix("multi-")
            .and_then(|count| count.parse().ok())
            .or_else(|| cell.get("nnodes").and_then(Json::as_f64).map(|count| count as u64))
            .unwrap_or(1),
    };
    let names = config.get("modelNames").cloned().unwrap_or_default();
    let model = [
        format!("{hardware}|{variant}|{quantization}"),
        format!("{variant}|{quantization}"),
        hardware.to_owned(),
        "default".to_owned(),
    ]
    .iter()
    .map(|key| text(&names, key).to_owned())
    .find(|name| !name.is_empty())
    .unwrap_or_default();
    let mut flags = strings(cell, "flags")?;
    if nodes > 1 {
        let anchor = ANCHORS
            .iter()
            .find_map(|anchor| flags.iter().position(|flag| head(flag) == *anchor))
            .or_else(|| flags.iter().position(|flag| flag.starts_with("--model-path")));
        let at = anchor.map_or(0, |at| at + 1);
        let several = [
            format!("--nnodes {nodes}"),
            "--node-rank <node-rank>".to_owned(),
            "--dist-init-addr <node0-ip>:20000".to_owned(),
        ];
        flags.splice(at..at, several);
    }
    let images = config.get("dockerImages").cloned().unwrap_or_default();
    let image = [
        format!("{hardware}|{quantization}|{strategy}"),
        format!("{hardware}|{quantization}"),
        hardware.to_owned(),
    ]
    .iter()
    .map(|key| text(&images, key).to_owned())
    .find(|image| !image.is_empty())
    .unwrap_or_else(|| "lmsysorg/sglang:dev".to_owned());
    let line = strings(cell, "env")?.into_iter().chain(["sglang serve".to_owned()]).chain(flags);
    let shown = interpolate(&line.collect::<Vec<_>>().join(" \\\n"), config, &model);
    let command = command::commands(&shown).into_iter().next().unwrap_or_default();
    let status = match (text(cell, "verificationStatus"), cell.get("verified").and_then(Json::as_bool)) {
        ("", Some(true)) => "verified",
        ("", Some(false) | None) => "unverified",
        (status, _) => status,
    };
    Ok(MatrixCell {
        index,
        env: command.env,
        argv: command.argv,
        image,
        status: status.to_owned(),
        redirect: cell.get("redirect").and_then(Json::as_bool).unwrap_or_default(),
        nodes,
        selection,
    })
}

/// Puts in what a reader would fill in: the model, and placeholders by their defaults.
fn interpolate(command: &str, config: &Json, model: &str) -> String {
    let mut result = String::new();
    let mut rest = command;
    while let Some((before, after)) = rest.split_once("{{") {
        result.push_str(before);
        let Some((key, after)) = after.split_once("}}") else {
            result.push_str("{{");
            rest = after;
            continue;
        };
        let default = config
            .get("placeholders")
            .and_then(|all| all.get(key))
            .map(|placeholder| text(placeholder, "default"));
        match (key, default) {
            ("MODEL_NAME", _) => result.push_str(model),
            (_, Some(default)) if !default.is_empty() => result.push_str(default),
            _ => result.push_str(&format!("{{{{{key}}}}}")),
        }
        rest = after;
    }
    result.push_str(rest);
    result
}
