//! Matrix configs: pages whose commands are data, one cell each, with what a reader may lay over
//! any cell.

use std::collections::BTreeMap;

use serde_json::{Map, Value as Json};

use super::generator::{field, from_json};
use crate::script::{Limits, Machine, ScriptError, Value, parse, to_json};

/// A cell of a matrix config.
#[derive(Clone, PartialEq, Debug)]
pub struct MatrixCell {
    /// Place among the cells of the file.
    pub index: usize,
    /// What a reader selects to see it.
    pub selection: Map<String, Json>,
    /// What the page says of it: `verified`, `in-progress`, `unverified`.
    pub status: String,
    /// Whether the cell only points elsewhere.
    pub redirect: bool,
    /// Nodes that it needs.
    pub nodes: u64,
    env: Vec<String>,
    flags: Vec<String>,
}

/// What a page shows for a selection.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Shown {
    /// The command as a reader sees it.
    pub command: String,
    /// The image that the page suggests.
    pub image: String,
}

/// A matrix config, read.
pub struct Matrix {
    machine: Machine,
    config: Value,
    data: Json,
    cells: Vec<MatrixCell>,
}

impl std::fmt::Debug for Matrix {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Matrix").field("cells", &self.cells).finish_non_exhaustive()
    }
}

/// Most selections that are looked at of one cell.
const MOST_SELECTIONS: usize = 256;
/// Flags after which the flags of several nodes stand, the first that is there.
const ANCHORS: [&str; 4] = ["--enable-dp-attention", "--dp", "--tp-size", "--tp"];

impl Matrix {
    /// Reads a matrix config.
    ///
    /// # Errors
    /// If it is none, or is written in a way that is not understood.
    pub fn read(text: &str) -> Result<Self, ScriptError> {
        let mut machine = Machine::new(Limits { steps: 16_000_000, ..Limits::default() });
        machine.run(&parse(text)?)?;
        let missing = |what: &str| ScriptError { line: 0, why: format!("it has no `{what}`") };
        let config = machine.global("config").ok_or_else(|| missing("config"))?;
        let data = to_json(&config, 32);
        let cells = data.get("cells").and_then(Json::as_array).ok_or_else(|| missing("cells"))?;
        let cells =
            cells.iter().enumerate().map(|(index, cell)| read_cell(index, cell)).collect::<Result<_, _>>()?;
        Ok(Self { machine, config, data, cells })
    }

    /// Returns the cells.
    #[must_use]
    pub fn cells(&self) -> &[MatrixCell] {
        &self.cells
    }

    /// Returns what a reader can lay over a cell: the cell's selection with every choice that is
    /// shown and can be taken, the page's own choice first.
    ///
    /// # Errors
    /// If a function of the page fails, or does what is not understood or too much.
    pub fn selections(&mut self, cell: &MatrixCell) -> Result<Vec<Map<String, Json>>, ScriptError> {
        let rows = list(&field(&self.config, "overlayDims"));
        let id = |value: &Value| field(value, "id").to_text().to_string();
        let mut initial = cell.selection.clone();
        for row in &rows {
            let options = list(&field(row, "options"));
            let default = match field(row, "default") {
                Value::Undefined => options.first().map_or(Value::text(""), |option| field(option, "id")),
                default => default,
            };
            initial.insert(id(row), to_json(&default, 2));
        }
        let mut found = vec![initial];
        for row in &rows {
            let mut next: Vec<Map<String, Json>> = Vec::new();
            for selection in found {
                let state = from_json(&Json::Object(selection.clone()));
                let mut offered = Vec::new();
                if self.says(row, "showWhen", &state, true)? {
                    for option in list(&field(row, "options")) {
                        if self.says(&option, "showWhen", &state, true)?
                            && !self.says(&option, "disabled", &state, false)?
                        {
                            offered.push(Json::from(id(&option)));
                        }
                    }
                }
                let default = selection.get(&id(row)).cloned().unwrap_or_default();
                offered.sort_by_key(|option| *option != default);
                if offered.is_empty() {
                    offered.push(default);
                }
                for option in offered {
                    if next.len() < MOST_SELECTIONS {
                        let mut selection = selection.clone();
                        selection.insert(id(row), option);
                        next.push(selection);
                    }
                }
            }
            found = next;
        }
        Ok(found)
    }

    /// Returns what the page shows for a cell with a selection.
    ///
    /// # Errors
    /// If a function of the page fails, or does what is not understood or too much.
    pub fn render(&mut self, cell: &MatrixCell, selection: &Map<String, Json>) -> Result<Shown, ScriptError> {
        let picked = self.picked(selection)?;
        let mut flags = compose(
            &cell.flags,
            &self.laid_over(&picked, "stripPrefixes", selection)?,
            &self.laid_over(&picked, "flags", selection)?,
        );
        if cell.nodes > 1 {
            several_nodes(&mut flags, cell.nodes);
        }
        // Prefill and decode on one host have ports of their own.
        let port = match text_of(selection, "pdMode") {
            "prefill" => Some("--port 30000"),
            "decode" => Some("--port 30100"),
            _ => None,
        };
        for flag in flags.iter_mut().filter(|flag| head(flag) == "--port") {
            *flag = port.map_or_else(|| std::mem::take(flag), str::to_owned);
        }
        let mut env = cell.env.clone();
        env.extend(self.laid_over(&picked, "env", selection)?);
        let mut hints = self.laid_over(&picked, "hints", selection)?;
        if cell.nodes > 1 {
            let of_hardware =
                self.data.get("multiNodeHints").map(|hints| strings(hints, hardware(selection)));
            hints.extend(of_hardware.transpose()?.unwrap_or_default());
        }
        let hints =
            hints.iter().map(|hint| if hint.is_empty() { "#".to_owned() } else { format!("# {hint}") });
        let env = env.iter().map(|entry| format!("{entry} \\"));
        let flags = flags.iter().map(|flag| format!("  {flag}")).collect::<Vec<_>>().join(" \\\n");
        let lines: Vec<String> =
            hints.chain(env).chain(["sglang serve \\".to_owned()]).chain([flags]).collect();
        let mut command = interpolate(&lines.join("\n"), &self.data, &model(&self.data, selection));
        if cell.nodes > 1 {
            command = format!(
                "# Multi-node ({nodes} nodes). Run the same command on every node with:\n\
                 #   <node-rank> = 0 on the head node, 1..{last} on the others\n\
                 #   <node0-ip>  = IP of the head node (reachable from all others)\n{command}",
                nodes = cell.nodes,
                last = cell.nodes - 1,
            );
        }
        Ok(Shown { command, image: image(&self.data, selection) })
    }

    /// Returns the options that are laid over: those of rows that are shown, unless they cannot be
    /// taken.
    fn picked(&mut self, selection: &Map<String, Json>) -> Result<Vec<Value>, ScriptError> {
        let state = from_json(&Json::Object(selection.clone()));
        let mut picked = Vec::new();
        for row in list(&field(&self.config, "overlayDims")) {
            let options = list(&field(&row, "options"));
            let mut visible = false;
            for option in &options {
                visible |= self.says(option, "showWhen", &state, true)?;
            }
            if !visible || !self.says(&row, "showWhen", &state, true)? {
                continue;
            }
            let wanted = text_of(selection, &field(&row, "id").to_text()).to_owned();
            let chosen = options.into_iter().find(|option| *field(option, "id").to_text() == *wanted);
            if let Some(option) = chosen
                && !self.says(&option, "disabled", &state, false)?
            {
                picked.push(option);
            }
        }
        Ok(picked)
    }

    /// Returns what a member says, which may be a function of the selection.
    fn says(&mut self, of: &Value, name: &str, state: &Value, unless: bool) -> Result<bool, ScriptError> {
        match field(of, name) {
            Value::Undefined => Ok(unless),
            function @ Value::Function(..) => Ok(self.machine.call(&function, vec![state.clone()])?.truthy()),
            // Whether something is shown is never a plain value on upstream's pages.
            value => Ok(if name == "showWhen" { unless } else { value.truthy() }),
        }
    }

    /// Returns a list that the picked options add up to.
    fn laid_over(
        &mut self,
        picked: &[Value],
        name: &str,
        selection: &Map<String, Json>,
    ) -> Result<Vec<String>, ScriptError> {
        let state = from_json(&Json::Object(selection.clone()));
        let mut all = Vec::new();
        for option in picked {
            let value = match field(option, name) {
                function @ Value::Function(..) => self.machine.call(&function, vec![state.clone()])?,
                value => value,
            };
            all.extend(list(&value).iter().map(|item| item.to_text().to_string()));
        }
        Ok(all)
    }
}

fn list(value: &Value) -> Vec<Value> {
    if let Value::Array(items) = value { items.borrow().clone() } else { Vec::new() }
}

fn text<'a>(value: &'a Json, key: &str) -> &'a str {
    value.get(key).and_then(Json::as_str).unwrap_or_default()
}

fn text_of<'a>(selection: &'a Map<String, Json>, key: &str) -> &'a str {
    selection.get(key).and_then(Json::as_str).unwrap_or_default()
}

fn hardware(selection: &Map<String, Json>) -> &str {
    text_of(selection, "hw")
}

fn strings(value: &Json, key: &str) -> Result<Vec<String>, ScriptError> {
    let Some(list) = value.get(key) else { return Ok(Vec::new()) };
    let items =
        list.as_array().and_then(|items| items.iter().map(|item| item.as_str().map(str::to_owned)).collect());
    items.ok_or_else(|| ScriptError { line: 0, why: format!("`{key}` of a cell is no list of texts") })
}

fn head(flag: &str) -> &str {
    flag.split(|c: char| c.is_whitespace() || c == '=').next().unwrap_or(flag)
}

fn read_cell(index: usize, cell: &Json) -> Result<MatrixCell, ScriptError> {
    let selection = cell.get("match").and_then(Json::as_object).cloned().unwrap_or_default();
    // Nodes are one more choice on some pages, and a property of the cell on the others.
    let nodes = match selection.get("nodes").and_then(Json::as_str) {
        Some(choice) => choice.strip_prefix("multi-").and_then(|count| count.parse().ok()).unwrap_or(1),
        None => cell.get("nnodes").and_then(Json::as_u64).unwrap_or(1),
    };
    let status = match (text(cell, "verificationStatus"), cell.get("verified").and_then(Json::as_bool)) {
        ("", Some(true)) => "verified",
        ("", Some(false) | None) => "unverified",
        (status, _) => status,
    };
    Ok(MatrixCell {
        index,
        env: strings(cell, "env")?,
        flags: strings(cell, "flags")?,
        status: status.to_owned(),
        redirect: cell.get("redirect").and_then(Json::as_bool).unwrap_or_default(),
        nodes,
        selection,
    })
}

/// Lays flags over those of a cell: a flag that is taken out gives its place to one of its name,
/// once; the others stand at the end.
fn compose(flags: &[String], strip: &[String], add: &[String]) -> Vec<String> {
    let mut left: Vec<Option<&String>> = add.iter().map(Some).collect();
    let mut all = Vec::new();
    for flag in flags {
        if !strip.iter().any(|name| name == head(flag)) {
            all.push(flag.clone());
            continue;
        }
        for place in &mut left {
            if place.is_some_and(|added| head(added) == head(flag)) {
                all.extend(place.take().cloned());
            }
        }
    }
    all.extend(left.into_iter().flatten().cloned());
    all
}

fn several_nodes(flags: &mut Vec<String>, nodes: u64) {
    let anchor = ANCHORS
        .iter()
        .find_map(|anchor| flags.iter().position(|flag| head(flag) == *anchor))
        .or_else(|| flags.iter().position(|flag| flag.starts_with("--model-path")));
    let at = anchor.map_or(0, |at| at + 1);
    let several = [
        format!("--nnodes {nodes}"),
        "--node-rank {{NODE_RANK}}".to_owned(),
        "--dist-init-addr {{NODE0_IP}}:20000".to_owned(),
    ];
    flags.splice(at..at, several);
}

/// Returns the first that a table has, from the most to the least particular.
fn first(table: Option<&Json>, keys: [String; 4]) -> Option<String> {
    let table = table?;
    keys.iter().map(|key| text(table, key)).find(|name| !name.is_empty()).map(str::to_owned)
}

fn model(config: &Json, selection: &Map<String, Json>) -> String {
    let (hardware, variant, quantization) =
        (hardware(selection), text_of(selection, "variant"), text_of(selection, "quant"));
    let keys = [
        format!("{hardware}|{variant}|{quantization}"),
        format!("{variant}|{quantization}"),
        hardware.to_owned(),
        "default".to_owned(),
    ];
    first(config.get("modelNames"), keys).unwrap_or_default()
}

fn image(config: &Json, selection: &Map<String, Json>) -> String {
    let (hardware, quantization, strategy) =
        (hardware(selection), text_of(selection, "quant"), text_of(selection, "strategy"));
    let keys = [
        format!("{hardware}|{quantization}|{strategy}"),
        format!("{hardware}|{quantization}"),
        hardware.to_owned(),
        String::new(),
    ];
    first(config.get("dockerImages"), keys).unwrap_or_else(|| "lmsysorg/sglang:dev".to_owned())
}

/// Puts in what a reader would fill in: the model, and placeholders by their defaults.
fn interpolate(command: &str, config: &Json, model: &str) -> String {
    let defaults: BTreeMap<&str, &str> = config
        .get("placeholders")
        .and_then(Json::as_object)
        .into_iter()
        .flatten()
        .map(|(key, placeholder)| (key.as_str(), text(placeholder, "default")))
        .chain([("MODEL_NAME", model)])
        .collect();
    let mut result = String::new();
    let mut rest = command;
    while let Some((before, after)) = rest.split_once("{{") {
        result.push_str(before);
        let filled = after.split_once("}}").and_then(|(key, after)| Some((defaults.get(key)?, after)));
        match filled {
            Some((value, after)) => {
                result.push_str(value);
                rest = after;
            }
            None => {
                result.push_str("{{");
                rest = after;
            }
        }
    }
    result.push_str(rest);
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flag_that_is_taken_out_gives_its_place_to_one_of_its_name() {
        let flags = |line: &str| line.split(", ").map(str::to_owned).collect::<Vec<_>>();
        let cell = flags("--a 1, --b 2, --c 3, --b 4");
        assert_eq!(compose(&cell, &flags("--b, --c"), &flags("--d, --b 5")), flags("--a 1, --b 5, --d"));
        assert_eq!(compose(&cell, &[], &flags("--b 5")), flags("--a 1, --b 2, --c 3, --b 4, --b 5"));
    }

    #[test]
    fn what_is_no_placeholder_stays_as_it_is() {
        let config =
            serde_json::json!({ "placeholders": { "PORT": { "default": "1" }, "NONE": { "default": "" } } });
        assert_eq!(
            interpolate("{{PORT}} {{NONE}}|{{MODEL_NAME}} {{OTHER}} {{ {{PORT}}", &config, "m"),
            "1 |m {{OTHER}} {{ 1"
        );
    }
}
