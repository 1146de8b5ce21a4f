//! A recipe of srt-slurm, schema 1, read into types.

use diag::{Diagnostic, Diagnostics, slugs};

use crate::schema;
use crate::tree::{Node, Tree};

/// The engine that workers run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Engine {
    Sglang,
    Vllm,
    Trtllm,
}

impl Engine {
    /// The section of its flags.
    pub(super) fn section(self) -> &'static str {
        match self {
            Self::Sglang => "sglang_config",
            Self::Vllm => "vllm_config",
            Self::Trtllm => "trtllm_config",
        }
    }
}

/// What stands before the workers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Frontend {
    Dynamo,
    Sglang,
    Vllm,
}

impl Frontend {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Dynamo => "dynamo",
            Self::Sglang => "sglang",
            Self::Vllm => "vllm",
        }
    }
}

/// A role of workers.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Role {
    Prefill,
    Decode,
    Agg,
}

impl Role {
    pub(super) const ALL: [Self; 3] = [Self::Prefill, Self::Decode, Self::Agg];

    /// The word for it in commands.
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Prefill => "prefill",
            Self::Decode => "decode",
            Self::Agg => "agg",
        }
    }

    /// The word for it in sections of a recipe.
    pub(super) fn section(self) -> &'static str {
        if self == Self::Agg { "aggregated" } else { self.word() }
    }
}

/// How many workers a role has, and how many GPUs each.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub(super) struct Workers {
    pub count: u32,
    pub gpus: u32,
}

/// A recipe.
#[derive(Debug)]
pub(super) struct Config<'t> {
    pub tree: &'t Tree,
    pub name: &'t str,
    pub model: &'t str,
    pub container: &'t str,
    pub gpu_type: &'t str,
    pub gpus_per_node: u32,
    pub workers: [Workers; 3],
    pub agg_nodes: u32,
    pub spread: bool,
    pub engine: Engine,
    pub frontend: Frontend,
    pub dedicated: bool,
}

/// More nodes or GPUs than any machine has; a recipe may be hostile.
const MOST: u32 = 4096;

impl<'t> Config<'t> {
    /// Reads a recipe, with all that cannot be read at once.
    pub(super) fn read(tree: &'t Tree, out: &mut Diagnostics) -> Option<Self> {
        if !matches!(tree.node, Node::Set(_)) {
            out.push(schema::wrong_type(tree, "a recipe of srt-slurm", "a set"));
            return None;
        }
        let name = required(tree, &["name"], out);
        let model = required(tree, &["model", "path"], out);
        let container = required(tree, &["model", "container"], out);
        let gpu_type = required(tree, &["resources", "gpu_type"], out);
        let engine = choice(
            tree,
            &["backend", "type"],
            &[("sglang", Engine::Sglang), ("vllm", Engine::Vllm), ("trtllm", Engine::Trtllm)],
            Engine::Sglang,
            out,
        );
        let frontend = choice(
            tree,
            &["frontend", "type"],
            &[("dynamo", Frontend::Dynamo), ("sglang", Frontend::Sglang), ("vllm", Frontend::Vllm)],
            Frontend::Dynamo,
            out,
        );
        let mut number = |path: &[&str]| count(tree, path, out);
        let gpus_per_node = number(&["resources", "gpus_per_node"]).unwrap_or(4);
        let prefill_nodes = number(&["resources", "prefill_nodes"]).unwrap_or(0);
        let decode_nodes = number(&["resources", "decode_nodes"]).unwrap_or(0);
        let agg_nodes = number(&["resources", "agg_nodes"]).unwrap_or(0);
        let mut role = |workers: &str, gpus: &str, nodes: u32| {
            let count = number(&["resources", workers]).unwrap_or(0);
            let each = number(&["resources", gpus]).filter(|&gpus| gpus > 0);
            let shared = (nodes.saturating_mul(gpus_per_node)).checked_div(count).filter(|_| nodes > 0);
            (Workers { count, gpus: each.or(shared).unwrap_or(gpus_per_node) }, each.is_some())
        };
        let (prefill, _) = role("prefill_workers", "gpus_per_prefill", prefill_nodes);
        let (mut decode, stated) = role("decode_workers", "gpus_per_decode", decode_nodes);
        let (agg, _) = role("agg_workers", "gpus_per_agg", agg_nodes);
        if decode_nodes == 0 && !stated {
            // Decode without nodes of its own sits on those of prefill, as wide.
            decode.gpus = prefill.gpus;
        }
        Some(Self {
            tree,
            name: name?,
            model: model?,
            container: container?,
            gpu_type: gpu_type?,
            gpus_per_node: gpus_per_node.max(1),
            workers: [prefill, decode, agg],
            agg_nodes,
            spread: flag(tree, &["resources", "spread_workers"], false),
            engine: engine?,
            frontend: frontend?,
            dedicated: flag(tree, &["infra", "etcd_nats_dedicated_node"], false),
        })
    }

    /// Returns the workers of a role.
    pub(super) fn of(&self, role: Role) -> Workers {
        self.workers[role as usize]
    }

    /// Returns the flags of a role.
    pub(super) fn flags(&self, role: Role) -> Vec<(&'t str, &'t Tree)> {
        set(at(self.tree, &["backend", self.engine.section(), role.section()]))
    }

    /// Returns a flag of a role, in either spelling.
    pub(super) fn flag(&self, role: Role, name: &str) -> Option<&'t Tree> {
        self.flags(role).into_iter().find(|(key, value)| same(key, name) && !value.is_null()).map(|(_, v)| v)
    }

    /// Returns the data-parallel size of a role of vLLM, where its ranks are started one by one.
    pub(super) fn data_parallel(&self, role: Role) -> Option<u32> {
        if self.engine != Engine::Vllm || self.frontend == Frontend::Vllm {
            return None;
        }
        match self.flag(role, "data-parallel-size")?.node {
            Node::Int(size) => u32::try_from(size).ok().filter(|&size| (1..=MOST).contains(&size)),
            _ => None,
        }
    }

    /// Returns whether one process holds all ranks of a node.
    pub(super) fn per_node(&self) -> bool {
        text_at(self.tree, &["backend", "dp_launch_mode"]) == Some("per_node")
    }

    /// Returns whether the work is split into prefill and decode.
    pub(super) fn split(&self) -> bool {
        self.of(Role::Prefill).count > 0 || self.of(Role::Decode).count > 0
    }
}

/// Returns whether two spellings of a flag are one: an underscore is a dash.
pub(super) fn same(a: &str, b: &str) -> bool {
    a.len() == b.len() && a.bytes().zip(b.bytes()).all(|(a, b)| a == b || a == b'_' && b == b'-')
}

/// Returns the value at a path that is there and not null.
pub(super) fn at<'t>(tree: &'t Tree, path: &[&str]) -> Option<&'t Tree> {
    path.iter()
        .try_fold(tree, |tree, name| tree.get(name).map(|field| &field.value))
        .filter(|tree| !tree.is_null())
}

/// Returns the text at a path.
pub(super) fn text_at<'t>(tree: &'t Tree, path: &[&str]) -> Option<&'t str> {
    at(tree, path).and_then(Tree::as_text)
}

/// Returns the fields of a set.
pub(super) fn set(tree: Option<&Tree>) -> Vec<(&str, &Tree)> {
    match tree.map(|tree| &tree.node) {
        Some(Node::Set(fields)) => fields.iter().map(|field| (&*field.name, &field.value)).collect(),
        _ => Vec::new(),
    }
}

/// Returns the elements of a list.
pub(super) fn list(tree: Option<&Tree>) -> &[Tree] {
    match tree.map(|tree| &tree.node) {
        Some(Node::List(items)) => items,
        _ => &[],
    }
}

/// Returns the Boolean at a path.
pub(super) fn flag(tree: &Tree, path: &[&str], default: bool) -> bool {
    match at(tree, path).map(|tree| &tree.node) {
        Some(Node::Bool(value)) => *value,
        _ => default,
    }
}

fn count(tree: &Tree, path: &[&str], out: &mut Diagnostics) -> Option<u32> {
    let value = at(tree, path)?;
    let Node::Int(number) = value.node else {
        out.push(schema::wrong_type(value, path[path.len() - 1], "a whole number"));
        return None;
    };
    let found = u32::try_from(number).ok().filter(|&number| number <= MOST);
    if found.is_none() {
        let mut finding = Diagnostic::error(
            slugs::recipe::OUT_OF_RANGE,
            format!("`{}` is {number}, not a whole number up to {MOST}", path[path.len() - 1]),
        );
        finding.span = value.at;
        out.push(finding);
    }
    found
}

fn required<'t>(tree: &'t Tree, path: &[&str], out: &mut Diagnostics) -> Option<&'t str> {
    let Some(value) = at(tree, path) else {
        let mut finding = Diagnostic::error(
            slugs::recipe::MISSING_FIELD,
            format!("a recipe of srt-slurm has no `{}`", path.join(".")),
        );
        finding.span = tree.at;
        out.push(finding);
        return None;
    };
    if value.as_text().is_none() {
        out.push(schema::wrong_type(value, path[path.len() - 1], "a string"));
    }
    value.as_text()
}

fn choice<T: Copy>(
    tree: &Tree,
    path: &[&str],
    choices: &[(&str, T)],
    default: T,
    out: &mut Diagnostics,
) -> Option<T> {
    match at(tree, path) {
        None => Some(default),
        Some(value) => schema::choice(value, path[path.len() - 1], choices, out).map(|choice| choice.value),
    }
}

/// Writes a scalar as srt-slurm does, which is as Python does.
pub(super) fn scalar(tree: &Tree) -> Option<String> {
    Some(match &tree.node {
        Node::Bool(true) => "True".to_owned(),
        Node::Bool(false) => "False".to_owned(),
        Node::Int(number) => number.to_string(),
        Node::Float(number) => float(*number),
        Node::Text(text) => text.to_string(),
        Node::Null => "None".to_owned(),
        Node::List(_) | Node::Set(_) | Node::Function(_) => return None,
    })
}

/// The shortest decimal that reads back equal; with an exponent below 1e-4 and from 1e16 on.
fn float(number: f64) -> String {
    let exponent = format!("{number:e}");
    let Some((digits, power)) = exponent.split_once('e') else { return exponent };
    match power.parse::<i32>() {
        Ok(power) if number != 0.0 && !(-4..16).contains(&power) => {
            format!("{digits}e{}{:02}", if power < 0 { '-' } else { '+' }, power.abs())
        }
        _ => crate::tree::float_text(number),
    }
}
