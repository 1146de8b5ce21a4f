//! Search spaces and points: which cells of a workload a recipe measures.

use diag::{Diagnostics, Span, slugs};

use crate::matrix::DURATION;
use crate::plan::Parallel;
use crate::schema::{self, At, Record};
use crate::tree::{Node, Tree};

/// A workload with its search space.
#[derive(Clone, PartialEq, Debug)]
pub struct Scenario {
    /// What is asked of the server.
    pub workload: Workload,
    /// The parts of the search space, in the order written.
    pub search: Vec<Entry>,
    /// Where it was written.
    pub at: Option<Span>,
}

/// What is asked of the server.
#[derive(Clone, PartialEq, Debug)]
pub enum Workload {
    /// Random tokens of fixed lengths.
    FixedSequence {
        /// Tokens in.
        isl: u32,
        /// Tokens out.
        osl: u32,
    },
    /// Recorded agents' conversations.
    Agentic {
        /// Seconds.
        duration: u32,
        /// Share of the host's memory that KV offload may use, as a decimal.
        dram_utilization: Option<At<String>>,
    },
}

/// One part of a search space: one layout at several concurrencies.
#[derive(Clone, PartialEq, Debug)]
pub struct Entry {
    /// How wide the server is.
    pub parallel: Parallel,
    /// Where each width was written, by the name of the field.
    pub places: Vec<(&'static str, Span)>,
    /// Concurrencies in the order that upstream's matrix has them.
    pub conc: Vec<At<u32>>,
    /// Whether the concurrencies are a list, whose order and repetitions are the author's.
    pub listed: bool,
    /// Where evicted KV blocks go.
    pub kv_offload: Option<KvOffload>,
    /// What stands before the servers, as results name it.
    pub router: Option<Router>,
    /// Where it was written.
    pub at: Option<Span>,
}

/// Where evicted KV blocks go.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct KvOffload {
    /// `dram`, the only medium upstream has.
    pub medium: String,
    /// What does it: `hicache`, `lmcache`, `mooncake`, ….
    pub backend: At<String>,
    /// Its version, where it is a component of its own.
    pub version: Option<String>,
}

/// What stands before servers and hands requests out.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Router {
    /// Its name.
    pub name: At<String>,
    /// Its version.
    pub version: At<String>,
}

/// One cell of a search space.
#[derive(Clone, PartialEq, Debug)]
pub struct Point {
    /// What is asked of the server.
    pub workload: Workload,
    /// How wide the server is.
    pub parallel: Parallel,
    /// Requests, or session trees, at once.
    pub conc: u32,
    /// Where evicted KV blocks go.
    pub kv_offload: Option<KvOffload>,
    /// What stands before the servers, as results name it.
    pub router: Option<Router>,
    /// Index of the scenario that it is of, or whose workload it has.
    pub scenario: usize,
    /// Index of the search space's part; `None` outside the search space.
    pub entry: Option<usize>,
}

const WIDTHS: [&str; 5] = ["tp", "pp", "ep", "dcp", "pcp"];

/// Reads the field `scenarios` of a recipe.
pub(crate) fn scenarios(tree: &Tree, _: &str, out: &mut Diagnostics) -> Option<Vec<Scenario>> {
    let record = Record::open(tree, "`scenarios`", &["fixedSequence", "agentic"], out)?;
    let fixed = record.optional("fixedSequence", out, |tree, what, out| schema::list(tree, what, out, fixed));
    let agentic = record.optional("agentic", out, |tree, what, out| schema::list(tree, what, out, agentic));
    let all: Vec<Scenario> = fixed.into_iter().flatten().chain(agentic.into_iter().flatten()).collect();
    if all.is_empty() && record.field("fixedSequence").is_none() && record.field("agentic").is_none() {
        let mut finding = diag::Diagnostic::error(slugs::recipe::NOTHING_TO_MEASURE, "no scenario is given");
        finding.span = tree.at;
        out.push(finding);
    }
    Some(all)
}

fn fixed(tree: &Tree, _: &str, out: &mut Diagnostics) -> Option<Scenario> {
    let record = Record::open(tree, "a fixed-sequence scenario", &["isl", "osl", "search"], out)?;
    let isl = record.required("isl", out, schema::count);
    let osl = record.required("osl", out, schema::count);
    let search = search(record, out);
    let workload = Workload::FixedSequence { isl: isl?.value, osl: osl?.value };
    Some(Scenario { workload, search: search?, at: tree.at })
}

fn agentic(tree: &Tree, _: &str, out: &mut Diagnostics) -> Option<Scenario> {
    let fields = ["dramUtilization", "duration", "search"];
    let record = Record::open(tree, "an agentic scenario", &fields, out)?;
    let dram_utilization = record.optional("dramUtilization", out, share);
    let duration =
        record.optional("duration", out, schema::count).map_or(DURATION, |duration| duration.value);
    let search = search(record, out)?;
    Some(Scenario { workload: Workload::Agentic { duration, dram_utilization }, search, at: tree.at })
}

/// Reads a share: more than 0, at most 1, kept as the decimal that was written.
fn share(tree: &Tree, what: &str, out: &mut Diagnostics) -> Option<At<String>> {
    let value = match tree.node {
        Node::Float(value) => value,
        Node::Int(1) => 1.0,
        _ => {
            out.push(schema::wrong_type(tree, what, "a share such as 0.8"));
            return None;
        }
    };
    if value > 0.0 && value <= 1.0 {
        return Some(At { value: crate::tree::float_text(value), at: tree.at });
    }
    let mut finding = diag::Diagnostic::error(
        slugs::recipe::OUT_OF_RANGE,
        format!("{} is {value}, not more than 0 and at most 1", schema::called(what)),
    );
    finding.span = tree.at;
    out.push(finding);
    None
}

fn search(record: Record<'_>, out: &mut Diagnostics) -> Option<Vec<Entry>> {
    record.required("search", out, |tree, what, out| schema::list(tree, what, out, entry))
}

fn entry(tree: &Tree, _: &str, out: &mut Diagnostics) -> Option<Entry> {
    let fields = ["tp", "pp", "ep", "dcp", "pcp", "dpAttn", "conc", "kvOffload", "router"];
    let record = Record::open(tree, "a part of the search space", &fields, out)?;
    let mut places = Vec::new();
    let mut widths = [1_u32; WIDTHS.len()];
    let mut whole = true;
    for (width, name) in widths.iter_mut().zip(WIDTHS) {
        let Some(field) = record.field(name) else {
            if name == "tp" {
                whole &= record.required(name, out, schema::count).is_some();
            }
            continue;
        };
        match schema::count(&field.value, name, out) {
            Some(value) => *width = value.value,
            None => whole = false,
        }
        places.extend(field.value.at.map(|at| (name, at)));
    }
    let dp_attn = record.optional("dpAttn", out, schema::boolean);
    places.extend(dp_attn.as_ref().and_then(|value| value.at).map(|at| ("dpAttn", at)));
    let dp_attn = dp_attn.is_some_and(|value| value.value);
    let kv_offload = record.optional("kvOffload", out, kv_offload);
    let router = record.optional("router", out, router);
    let conc = record.required("conc", out, concurrencies);
    let (conc, listed) = conc?;
    if !whole {
        return None;
    }
    let [tp, pp, ep, dcp, pcp] = widths;
    let parallel = Parallel { tp, pp, ep, dp_attn, dcp, pcp };
    Some(Entry { parallel, places, conc, listed, kv_offload, router, at: tree.at })
}

fn kv_offload(tree: &Tree, _: &str, out: &mut Diagnostics) -> Option<KvOffload> {
    let record = Record::open(tree, "`kvOffload`", &["medium", "backend", "version"], out)?;
    let medium = record
        .required("medium", out, |tree, what, out| schema::choice(tree, what, &[("dram", "dram")], out));
    let backend = record.required("backend", out, schema::text);
    let version = record.optional("version", out, schema::text);
    Some(KvOffload {
        medium: medium?.value.to_owned(),
        backend: backend?,
        version: version.map(|version| version.value),
    })
}

fn router(tree: &Tree, _: &str, out: &mut Diagnostics) -> Option<Router> {
    let record = Record::open(tree, "`router`", &["name", "version"], out)?;
    let name = record.required("name", out, schema::text);
    let version = record.required("version", out, schema::text);
    Some(Router { name: name?, version: version? })
}

/// Reads concurrencies: a list, or a range that doubles and always ends at its end.
fn concurrencies(tree: &Tree, what: &str, out: &mut Diagnostics) -> Option<(Vec<At<u32>>, bool)> {
    if let Node::List(items) = &tree.node {
        let all = schema::list(tree, what, out, schema::count)?;
        if items.is_empty() {
            let mut finding =
                diag::Diagnostic::error(slugs::recipe::NOTHING_TO_MEASURE, "no concurrency is given");
            finding.span = tree.at;
            out.push(finding);
        }
        return (all.len() == items.len()).then_some((all, true));
    }
    let record = Record::open(tree, "concurrencies", &["from", "to"], out)?;
    let from = record.required("from", out, schema::count);
    let to = record.required("to", out, schema::count);
    let (from, to) = (from?, to?);
    if from.value > to.value {
        let mut finding = diag::Diagnostic::error(
            slugs::recipe::OUT_OF_RANGE,
            format!("concurrencies begin at {} and end before, at {}", from.value, to.value),
        );
        finding.span = from.at;
        out.push(finding);
        return None;
    }
    let all = doubling(from.value, to.value).into_iter().map(|value| At { value, at: tree.at });
    Some((all.collect(), false))
}

/// Returns a range of concurrencies: it doubles, and always ends at its end.
pub(crate) fn doubling(from: u32, to: u32) -> Vec<u32> {
    let mut all = Vec::new();
    let mut value = from;
    loop {
        all.push(value);
        // Nothing doubles to itself, so that a range of any numbers ends.
        if value >= to || value == 0 {
            return all;
        }
        value = value.saturating_mul(2).min(to);
    }
}
