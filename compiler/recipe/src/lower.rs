//! From a manifest's value to recipes: every field read, every problem reported at once.

use std::collections::BTreeMap;

use diag::{Diagnostic, Diagnostics, slugs};
use engine::known::{self, Fact, Source};

use crate::recipe::{
    Acceptance, Curve, Download, Draft, Model, Quantization, Recipe, Repository, SourceFile, Speculation,
    Speculative,
};
use crate::schema::{self, At, Record};
use crate::search;
use crate::tree::{Field, Node, Tree, float_text};

const FIELDS: &[&str] = &[
    "engine",
    "engineVersion",
    "waivers",
    "image",
    "model",
    "quantization",
    "speculative",
    "drafts",
    "curves",
    "targets",
    "scenarios",
    "download",
    "datasets",
    "packages",
    "installs",
    "port",
    "cookbook",
    "harness",
    "serve",
    "client",
    "eval",
];

/// Reads a manifest's value: a set of recipes by config key. Recipes with problems are left out.
pub(crate) fn manifest(tree: &Tree, path: &str, out: &mut Diagnostics) -> Vec<Recipe> {
    let Node::Set(fields) = &tree.node else {
        let finding = schema::wrong_type(tree, "a manifest", "a set of recipes by config key");
        out.push(finding.help("write `{ \"some-key\" = { engine = …; … }; }`"));
        return Vec::new();
    };
    fields.iter().filter_map(|field| recipe(field, path, out)).collect()
}

fn recipe(field: &Field, path: &str, out: &mut Diagnostics) -> Option<Recipe> {
    let tree = &field.value;
    let record = Record::open(tree, "a recipe", FIELDS, out)?;
    let engine = record.required("engine", out, engine_name);
    let engine_version = record.optional("engineVersion", out, schema::text);
    let waivers = record.optional("waivers", out, waivers);
    let image = record.required("image", out, schema::text);
    let model = record.required("model", out, model);
    let quantization = record.optional("quantization", out, quantization);
    let speculative = match record.field("speculative") {
        None => Some(Speculation::None),
        Some(field) if matches!(field.value.node, Node::Function(_)) => {
            Some(Speculation::PerPoint(field.value.clone()))
        }
        Some(field) => speculative(&field.value, out).map(|value| Speculation::Always(Box::new(value))),
    };
    let drafts = record.optional("drafts", out, |tree, what, out| schema::list(tree, what, out, repository));
    let curves = record.optional("curves", out, |tree, what, out| schema::list(tree, what, out, curve));
    let targets =
        record.required("targets", out, |tree, what, out| schema::list(tree, what, out, schema::text));
    if let Some(field) = record.field("targets")
        && matches!(&field.value.node, Node::List(items) if items.is_empty())
    {
        let mut finding = Diagnostic::error(slugs::recipe::NOTHING_TO_MEASURE, "no target is given");
        finding.span = field.value.at;
        out.push(finding);
    }
    let scenarios = record.required("scenarios", out, search::scenarios);
    let moments =
        [("unstaged", Download::Unstaged), ("missing", Download::Missing), ("engine", Download::Engine)];
    let download =
        record.optional("download", out, |tree, what, out| schema::choice(tree, what, &moments, out));
    let datasets =
        record.optional("datasets", out, |tree, what, out| schema::list(tree, what, out, repository));
    let packages =
        record.optional("packages", out, |tree, what, out| schema::list(tree, what, out, schema::text));
    let installs = record.optional("installs", out, |tree, what, out| {
        schema::list(tree, what, out, |tree, _, _| Some(tree.clone()))
    });
    let port = record.field("port").map(|field| field.value.clone());
    let cookbook =
        record.optional("cookbook", out, |tree, what, out| schema::list(tree, what, out, source_file));
    let harness = record.optional("harness", out, source_file);
    let serve = record.required("serve", out, function);
    let client = record.required("client", out, function);
    let eval = record.optional("eval", out, function);
    Some(Recipe {
        key: At { value: field.name.to_string(), at: field.name_at },
        manifest: path.to_owned(),
        engine: engine?,
        engine_version,
        waivers: waivers.unwrap_or_default(),
        image: image?,
        model: model?,
        quantization,
        speculative: speculative?,
        drafts: drafts.unwrap_or_default(),
        curves: curves.unwrap_or_default(),
        targets: targets?,
        scenarios: scenarios?,
        download: download.map_or(Download::Unstaged, |download| download.value),
        datasets: datasets.unwrap_or_default(),
        packages: packages.unwrap_or_default(),
        installs: installs.unwrap_or_default(),
        port,
        cookbook: cookbook.unwrap_or_default(),
        harness,
        serve: serve?,
        client: client?,
        eval,
    })
}

/// Reads a function from the point to a process.
fn function(tree: &Tree, what: &str, out: &mut Diagnostics) -> Option<Tree> {
    if matches!(tree.node, Node::Function(_)) {
        return Some(tree.clone());
    }
    out.push(schema::wrong_type(tree, what, "a function from the point to a process"));
    None
}

/// Reads the engine's rules that do not hold for the recipe's image, each with the reason.
fn waivers(tree: &Tree, what: &str, out: &mut Diagnostics) -> Option<BTreeMap<String, At<String>>> {
    let Node::Set(fields) = &tree.node else {
        out.push(schema::wrong_type(tree, what, "a set of reasons by rule"));
        return None;
    };
    let mut read = BTreeMap::new();
    for field in fields {
        let reason = schema::text(&field.value, &field.name, out);
        if engine::is_rule(&field.name) {
            let at = field.name_at.or(field.value.at);
            read.extend(reason.map(|reason| (field.name.to_string(), At { value: reason.value, at })));
            continue;
        }
        let mut finding = Diagnostic::error(
            slugs::recipe::UNKNOWN_CHOICE,
            format!("{} names `{}`, which is no rule of an engine", schema::called(what), field.name),
        );
        finding.span = field.name_at.or(field.value.at);
        if let Some(near) = diag::nearest(&field.name, engine::rule_names()) {
            finding = finding.help(format!("did you mean `{near}`?"));
        }
        out.push(finding);
    }
    Some(read)
}

fn engine_name(tree: &Tree, what: &str, out: &mut Diagnostics) -> Option<At<String>> {
    let name = schema::text(tree, what, out)?;
    if engine::Engine::parse(&name.value).is_some() {
        return Some(name);
    }
    let known = ["sglang", "vllm", "trt", "atom"];
    let mut finding = Diagnostic::error(
        slugs::recipe::UNKNOWN_CHOICE,
        format!("{} is `{}`, which is not one of {}", schema::called(what), name.value, known.join(", ")),
    );
    finding.span = tree.at;
    if let Some(near) = diag::nearest(&name.value, known) {
        finding = finding.help(format!("did you mean `{near}`?"));
    }
    out.push(finding);
    None
}

fn model(tree: &Tree, _: &str, out: &mut Diagnostics) -> Option<Model> {
    let fields = ["repository", "revision", "prefix", "precision", "thinking", "facts"];
    let record = Record::open(tree, "`model`", &fields, out)?;
    let repository = record.required("repository", out, repository_id);
    let revision = record.optional("revision", out, schema::text);
    let prefix = record.required("prefix", out, schema::text);
    let precision = record.required("precision", out, schema::text);
    let thinking = record.optional("thinking", out, schema::boolean);
    let facts = record.optional("facts", out, facts).unwrap_or_default();
    Some(Model {
        repository: repository?,
        revision: revision.unwrap_or_else(|| At::made("main".to_owned())),
        prefix: prefix?,
        precision: precision?,
        thinking,
        facts,
        at: tree.at,
    })
}

/// Reads `owner/name`.
fn repository_id(tree: &Tree, what: &str, out: &mut Diagnostics) -> Option<At<String>> {
    let id = schema::text(tree, what, out)?;
    let part = |part: &str| {
        !part.is_empty()
            && part.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.'))
    };
    if id.value.split_once('/').is_some_and(|(owner, name)| part(owner) && part(name)) {
        return Some(id);
    }
    let mut finding = Diagnostic::error(
        slugs::recipe::WRONG_TYPE,
        format!("{} is `{}`, not a repository id such as `owner/name`", schema::called(what), id.value),
    );
    finding.span = tree.at;
    out.push(finding);
    None
}

fn facts(tree: &Tree, _: &str, out: &mut Diagnostics) -> Option<known::Checkpoint> {
    let fields = [
        "architecture",
        "context",
        "heads",
        "kvHeads",
        "experts",
        "sharedExperts",
        "expertWidth",
        "quantization",
        "quantizationAlgorithm",
        "quantizationBlock",
        "kvCacheQuantization",
        "kvScales",
        "producer",
        "chatTemplate",
        "thinksByDefault",
        "weightBytes",
        "plainHead",
        "ssmType",
        "draftLayers",
        "draftBlock",
        "configMembers",
    ];
    let record = Record::open(tree, "`facts`", &fields, out)?;
    let word = |name: &str, out: &mut Diagnostics| {
        record.optional(name, out, |tree, _, out| {
            fact(tree, out, |tree, what, out| Some(schema::text(tree, what, out)?.value))
        })
    };
    let number =
        |name: &str, out: &mut Diagnostics| record.optional(name, out, |tree, _, out| fact(tree, out, whole));
    let yes = |name: &str, out: &mut Diagnostics| {
        record.optional(name, out, |tree, _, out| {
            fact(tree, out, |tree, what, out| Some(schema::boolean(tree, what, out)?.value))
        })
    };
    Some(known::Checkpoint {
        architecture: word("architecture", out),
        context: number("context", out),
        heads: number("heads", out),
        kv_heads: number("kvHeads", out),
        experts: number("experts", out),
        shared_experts: number("sharedExperts", out),
        expert_width: number("expertWidth", out),
        quantization: word("quantization", out),
        quantization_algorithm: word("quantizationAlgorithm", out),
        quantization_block: number("quantizationBlock", out),
        kv_cache_quantization: word("kvCacheQuantization", out),
        kv_scales: yes("kvScales", out),
        producer: word("producer", out),
        chat_template: yes("chatTemplate", out),
        thinks_by_default: yes("thinksByDefault", out),
        weight_bytes: number("weightBytes", out),
        plain_head: number("plainHead", out),
        ssm_type: word("ssmType", out),
        draft_layers: number("draftLayers", out),
        draft_block: number("draftBlock", out),
        config_members: record.optional("configMembers", out, |tree, _, out| {
            fact(tree, out, |tree, what, out| {
                let members = schema::list(tree, what, out, schema::text)?;
                Some(members.into_iter().map(|member| member.value).collect())
            })
        }),
        // Read from a checkpoint's own files alone.
        schemes: None,
    })
}

fn whole(tree: &Tree, what: &str, out: &mut Diagnostics) -> Option<u64> {
    if let Node::Int(number) = tree.node
        && let Ok(number) = u64::try_from(number)
    {
        return Some(number);
    }
    out.push(schema::wrong_type(tree, what, "a whole number"));
    None
}

/// Reads `{ value; source; }`.
fn fact<T>(
    tree: &Tree,
    out: &mut Diagnostics,
    read: impl FnOnce(&Tree, &str, &mut Diagnostics) -> Option<T>,
) -> Option<Fact<T>> {
    let record = Record::open(tree, "a fact", &["value", "source"], out)?;
    let value = record.required("value", out, read);
    let source = record.required("source", out, schema::text);
    Some(Fact { value: value?, source: Source::Stated(source?.value) })
}

fn quantization(tree: &Tree, _: &str, out: &mut Diagnostics) -> Option<Quantization> {
    let record = Record::open(tree, "`quantization`", &["method", "kvCache"], out)?;
    Some(Quantization {
        method: record.optional("method", out, schema::text),
        kv_cache: record.optional("kvCache", out, schema::text),
    })
}

/// Reads how a recipe drafts.
pub(crate) fn speculative(tree: &Tree, out: &mut Diagnostics) -> Option<Speculative> {
    let fields = [
        "method",
        "label",
        "algorithm",
        "steps",
        "topk",
        "draftTokens",
        "draft",
        "draftSampling",
        "acceptance",
    ];
    let record = Record::open(tree, "`speculative`", &fields, out)?;
    let method = record.required("method", out, schema::text);
    let labels = [("mtp", "mtp"), ("draft_model", "draft_model")];
    let label = record.optional("label", out, |tree, what, out| schema::choice(tree, what, &labels, out));
    let algorithm = record.optional("algorithm", out, schema::text);
    let steps = record.required("steps", out, schema::count);
    let topk = record.optional("topk", out, schema::count);
    let draft_tokens = record.optional("draftTokens", out, schema::count);
    let draft = record.optional("draft", out, draft);
    let draft_sampling = record.optional("draftSampling", out, schema::text);
    let acceptance = record.optional("acceptance", out, acceptance);
    Some(Speculative {
        method: method?,
        label: label.map_or("mtp", |label| label.value).to_owned(),
        algorithm,
        steps: steps?,
        topk,
        draft_tokens,
        draft,
        draft_sampling,
        acceptance,
        at: tree.at,
    })
}

fn draft(tree: &Tree, _: &str, out: &mut Diagnostics) -> Option<Draft> {
    let record = Record::open(tree, "a draft", &["repository", "revision", "folder", "download"], out)?;
    let whoever = [("recipe", false), ("engine", true)];
    let brought =
        record.optional("download", out, |tree, what, out| schema::choice(tree, what, &whoever, out));
    let folder = record.optional("folder", out, schema::text);
    Some(Draft {
        checkpoint: checkpoint(record, out)?,
        folder,
        brought: brought.is_some_and(|engine| engine.value),
    })
}

fn acceptance(tree: &Tree, _: &str, out: &mut Diagnostics) -> Option<Acceptance> {
    let record = Record::open(tree, "`acceptance`", &["length", "curve", "source"], out)?;
    let length = record.optional("length", out, length);
    let curve = record.optional("curve", out, curve);
    let source = record.optional("source", out, schema::text);
    if record.field("length").is_none() && record.field("curve").is_none() {
        let mut finding = Diagnostic::error(
            slugs::recipe::MISSING_FIELD,
            "`acceptance` has neither a `curve` nor a `length`",
        );
        finding.span = tree.at;
        out.push(finding);
    }
    Some(Acceptance { length, curve, source, at: tree.at })
}

/// Reads an acceptance length as the decimal that was written.
fn length(tree: &Tree, what: &str, out: &mut Diagnostics) -> Option<At<String>> {
    let text = match &tree.node {
        Node::Float(value) if *value >= 1.0 && value.is_finite() => float_text(*value),
        Node::Int(value) if *value >= 1 => value.to_string(),
        _ => {
            out.push(schema::wrong_type(tree, what, "a length such as 2.32, at least 1"));
            return None;
        }
    };
    Some(At { value: text, at: tree.at })
}

fn curve(tree: &Tree, _: &str, out: &mut Diagnostics) -> Option<Curve> {
    let fields =
        ["name", "source", "yaml", "model", "checkpoints", "draft", "method", "draftSampling", "lengths"];
    let record = Record::open(tree, "a golden curve", &fields, out)?;
    let name = record.required("name", out, schema::text);
    let source = record.optional("source", out, source_file);
    let stated = match (record.field("yaml"), record.field("lengths")) {
        (Some(_), _) => Some(curve_file(record, out)?),
        (None, Some(_)) => Some(stated_curve(record, out)?),
        (None, None) => None,
    };
    Some(Curve { name: name?, source, stated })
}

/// Reads the text of a curve file that stands beside the manifest, which says what the file leaves
/// open.
fn curve_file(record: Record<'_>, out: &mut Diagnostics) -> Option<known::Curve> {
    let text = record.required("yaml", out, schema::text)?;
    let method = record.optional("method", out, schema::text);
    match engine::curves::read_yaml(&text.value) {
        Ok(read) => {
            let mut curve = read.curve;
            if let Some(method) = method {
                curve.method = method.value;
            }
            Some(curve)
        }
        Err((line, fault)) => {
            let mut finding = Diagnostic::error(
                slugs::recipe::WRONG_TYPE,
                format!("line {line} of the golden curve cannot be read: {fault}"),
            )
            .help("the form is that of upstream's curve files: the model, below it thinking modes, below those lengths by draft tokens");
            finding.span = text.at;
            out.push(finding);
            None
        }
    }
}

fn stated_curve(record: Record<'_>, out: &mut Diagnostics) -> Option<known::Curve> {
    let model = record.optional("model", out, schema::text);
    let checkpoints =
        record.required("checkpoints", out, |tree, what, out| schema::list(tree, what, out, schema::text));
    let draft = record.optional("draft", out, schema::text);
    let method = record.required("method", out, schema::text);
    let draft_sampling = record.optional("draftSampling", out, schema::text);
    let lengths = record.required("lengths", out, lengths);
    let checkpoints: Vec<String> = checkpoints?.into_iter().map(|id| id.value).collect();
    Some(known::Curve {
        model: model.map(|model| model.value).or_else(|| checkpoints.first().cloned()).unwrap_or_default(),
        checkpoints,
        draft: draft.map(|id| id.value),
        method: method?.value,
        draft_sampling: draft_sampling.map(|sampling| sampling.value),
        lengths: lengths?,
    })
}

fn lengths(tree: &Tree, _: &str, out: &mut Diagnostics) -> Option<BTreeMap<String, BTreeMap<u32, String>>> {
    let record = Record::open(tree, "`lengths`", &["on", "off"], out)?;
    let mut all = BTreeMap::new();
    for mode in ["on", "off"] {
        let Some(field) = record.field(mode) else { continue };
        let Node::Set(rows) = &field.value.node else {
            out.push(schema::wrong_type(&field.value, "a curve", "a set of lengths by draft tokens"));
            return None;
        };
        let mut by_tokens = BTreeMap::new();
        for row in rows {
            let Ok(tokens) = row.name.parse::<u32>() else {
                let mut finding = Diagnostic::error(
                    slugs::recipe::WRONG_TYPE,
                    format!("`{}` is not a number of draft tokens", row.name),
                );
                finding.span = row.name_at;
                out.push(finding);
                continue;
            };
            if let Some(length) = length(&row.value, "an acceptance length", out) {
                by_tokens.insert(tokens, length.value);
            }
        }
        all.insert(mode.to_owned(), by_tokens);
    }
    Some(all)
}

fn repository(tree: &Tree, _: &str, out: &mut Diagnostics) -> Option<Repository> {
    checkpoint(Record::open(tree, "a repository", &["repository", "revision"], out)?, out)
}

fn checkpoint(record: Record<'_>, out: &mut Diagnostics) -> Option<Repository> {
    let repository = record.required("repository", out, repository_id);
    let revision = record.optional("revision", out, schema::text);
    Some(Repository {
        repository: repository?,
        revision: revision.unwrap_or_else(|| At::made("main".to_owned())),
    })
}

fn source_file(tree: &Tree, _: &str, out: &mut Diagnostics) -> Option<SourceFile> {
    let record = Record::open(tree, "a source", &["repository", "revision", "path"], out)?;
    let repository = record.required("repository", out, repository_id);
    let revision = record.required("revision", out, schema::text);
    let path = record.optional("path", out, schema::text);
    Some(SourceFile {
        repository: repository?,
        revision: revision?,
        path: path.map_or_else(String::new, |path| path.value),
    })
}
