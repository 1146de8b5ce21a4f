//! `recipec new`: a manifest started from a sibling, or from a few answers.

use std::collections::BTreeMap;
use std::io::{BufRead as _, IsTerminal as _, Write as _};

use diag::Diagnostic;
use diag::slugs::cli::OPTION_NOT_READ;
use eval::{Session, View};
use recipe::draft::{self, Change, Draft};
use recipe::import;
use serde_json::{Value, json};

use crate::arguments::{New, Options};
use crate::corpus::Loaded;
use crate::outcome::{Outcome, Silence};
use crate::start::{self, Start};

/// Starts a manifest.
pub(crate) fn run(verb: &New, options: &Options) -> Outcome {
    start::with("new", &verb.bounds, options, |mut loaded| match start(&mut loaded, verb) {
        Ok(start) => start::run(loaded, start, options),
        Err(findings) => {
            loaded.findings.extend(findings);
            loaded.finish("new", Silence)
        }
    })
}

fn start<'s>(loaded: &mut Loaded<'_, '_>, verb: &'s New) -> Result<Start<'s>, diag::Diagnostics> {
    let one = |finding: Diagnostic| diag::Diagnostics::from_iter([finding]);
    let draft = if verb.from.is_some() { partial(verb)? } else { answers(verb)? };
    let mut changes = BTreeMap::new();
    for text in &verb.change {
        let (path, change) = change(loaded, verb.from.as_deref(), text).map_err(one)?;
        nest(&mut changes, &path, change);
    }
    Ok(Start {
        command: "new",
        draft,
        from: verb.from.as_deref(),
        changes,
        to: verb.to.as_deref(),
        origin: None,
    })
}

/// Returns what flags say beside a sibling, which says the rest.
fn partial(verb: &New) -> Result<Draft, diag::Diagnostics> {
    let mut draft = Draft {
        key: verb.key.clone(),
        engine: verb.engine.clone(),
        image: verb.image.clone(),
        repository: verb.model.clone(),
        prefix: verb.prefix.clone(),
        precision: verb.precision.clone(),
        targets: verb.target.clone(),
        ..Draft::default()
    };
    if verb.tp.is_some() || verb.conc.is_some() {
        let whole = answers(verb)?;
        draft.scenarios = whole.scenarios;
        draft.speculation = whole.speculation;
    }
    Ok(draft)
}

/// A question that a draft needs answered.
struct Question<'q> {
    option: &'static str,
    asks: &'static str,
    answer: Option<&'q str>,
}

/// Reads the answers from the flags, and asks for the others where somebody sits at a terminal.
fn answers(verb: &New) -> Result<Draft, diag::Diagnostics> {
    let prefix = verb.prefix.clone().or_else(|| verb.key.split('-').next().map(str::to_owned));
    let workload = match (verb.agentic, verb.isl, verb.osl) {
        (true, _, _) => Some("agentic".to_owned()),
        (false, Some(isl), Some(osl)) => Some(format!("{isl}/{osl}")),
        _ => None,
    };
    let target = verb.target.first().cloned();
    let questions = [
        Question {
            option: "--engine",
            asks: "the engine: sglang, vllm, trt or atom",
            answer: verb.engine.as_deref(),
        },
        Question { option: "--image", asks: "the container image", answer: verb.image.as_deref() },
        Question { option: "--model", asks: "the checkpoint, as OWNER/NAME", answer: verb.model.as_deref() },
        Question {
            option: "--precision",
            asks: "the precision, such as fp8",
            answer: verb.precision.as_deref(),
        },
        Question { option: "--target", asks: "the target, by name or label", answer: target.as_deref() },
        Question {
            option: "--isl and --osl, or --agentic",
            asks: "the workload: tokens in and out as 8192/1024, or agentic",
            answer: workload.as_deref(),
        },
        Question { option: "--tp", asks: "the tensor-parallel size", answer: verb.tp.as_deref() },
        Question {
            option: "--conc",
            asks: "the concurrencies, as 4,8,16 or 4..64",
            answer: verb.conc.as_deref(),
        },
    ];
    let mut given = Vec::new();
    let mut missing = diag::Diagnostics::new();
    let person = std::io::stdin().is_terminal();
    for question in &questions {
        match question.answer.map(str::to_owned).or_else(|| person.then(|| ask(question.asks)).flatten()) {
            Some(answer) => given.push(answer),
            None => missing.push(
                Diagnostic::error(OPTION_NOT_READ, format!("`{}` is not given", question.option))
                    .why(format!("nothing says {}", question.asks))
                    .help("give it, or start from a sibling with `--from KEY`"),
            ),
        }
    }
    let [engine, image, model, precision, runner, workload, tp, conc] = given.as_slice() else {
        return Err(missing);
    };
    // The answers are what an entry says, so what reads an entry reads them.
    let number = |text: &str| text.trim().parse::<u32>().map_or(Value::Null, Value::from);
    let mut part = json!({ "tp": number(tp) });
    if let Some(fields) = part.as_object_mut() {
        if verb.ep.is_some() {
            fields.insert("ep".to_owned(), json!(verb.ep));
        }
        if verb.drafts {
            fields.insert("spec-decoding".to_owned(), json!("mtp"));
        }
        match conc.split_once("..") {
            Some((from, to)) => {
                fields.insert("conc-start".to_owned(), number(from));
                fields.insert("conc-end".to_owned(), number(to));
            }
            None => {
                fields.insert("conc-list".to_owned(), conc.split(',').map(number).collect());
            }
        }
    }
    let scenarios = match workload.split_once('/') {
        Some((isl, osl)) => {
            json!({ "fixed-seq-len": [ { "isl": number(isl), "osl": number(osl), "search-space": [part] } ] })
        }
        None => json!({ "agentic-coding": [ { "search-space": [part] } ] }),
    };
    let key = &verb.key;
    let entries = json!({ key: {
        "image": image, "model": model, "model-prefix": prefix, "runner": runner, "precision": precision,
        "framework": engine, "multinode": false, "scenarios": scenarios,
    } });
    let mut draft = import::draft(&entries, key)?;
    if verb.target.len() > 1 {
        draft.targets.clone_from(&verb.target);
    }
    Ok(draft)
}

/// Asks somebody at a terminal; silence is no answer.
fn ask(what: &str) -> Option<String> {
    let mut screen = std::io::stderr().lock();
    let _ = write!(screen, "{what}: ").and_then(|()| screen.flush());
    let mut line = String::new();
    std::io::stdin().lock().read_line(&mut line).ok()?;
    let line = line.trim();
    (!line.is_empty()).then(|| line.to_owned())
}

/// Reads `--change FIELD=VALUE`. The value is read as what the sibling has there: text where there
/// is text, so that nobody has to quote it twice; else an expression of the language.
fn change(
    loaded: &mut Loaded<'_, '_>,
    from: Option<&str>,
    text: &str,
) -> Result<(String, Change), Diagnostic> {
    let wrong = |why: &str| {
        Diagnostic::error(OPTION_NOT_READ, format!("`{text}` is no change"))
            .why(why)
            .help("write it as `image=repository/name:tag` or `model.revision=abc`")
    };
    let (path, value) = text.split_once('=').ok_or_else(|| wrong("it has no `=`"))?;
    let path = path.trim();
    if path.split('.').any(|part| part.trim().is_empty()) {
        return Err(wrong("it names no field"));
    }
    let here = from.and_then(|from| there(loaded, from, path));
    let text = match here {
        Some(View::String(_)) => draft::string(value),
        Some(View::List(_)) if !value.trim_start().starts_with('[') => {
            let items: Vec<String> = value.split(',').map(|item| literal(item.trim())).collect();
            format!("[ {} ]", items.join(" "))
        }
        Some(_) => value.to_owned(),
        None => literal(value),
    };
    let mut names = syntax::Interner::new();
    let parsed = syntax::parse(diag::FileId(0), &text, &mut names);
    if !parsed.diagnostics.is_empty() {
        return Err(wrong("its value is no expression of the language"));
    }
    Ok((path.to_owned(), Change::Value(text)))
}

/// Returns what a sibling has at a path.
fn there(loaded: &mut Loaded<'_, '_>, from: &str, path: &str) -> Option<View> {
    let manifest = &loaded.corpus.recipes.iter().find(|recipe| recipe.key.value == from)?.manifest;
    let session: &mut Session<'_> = &mut loaded.session;
    let mut value = session.evaluate_file(manifest).ok()?;
    for name in std::iter::once(from).chain(path.split('.')) {
        value = session.get(&value, name.trim()).ok()??.value;
    }
    session.force(&value).ok()
}

/// Returns a value that nothing says the type of: what reads as a number, a Boolean, a list, a set
/// or a quoted text is that; everything else is text.
fn literal(value: &str) -> String {
    let value = value.trim();
    let plain = matches!(value, "true" | "false" | "null")
        || value.parse::<i64>().is_ok()
        || value.starts_with(['[', '{', '(', '"']);
    if plain { value.to_owned() } else { draft::string(value) }
}

/// Puts a change at a dotted path.
fn nest(changes: &mut BTreeMap<String, Change>, path: &str, change: Change) {
    let Some((first, rest)) = path.split_once('.') else {
        changes.insert(path.trim().to_owned(), change);
        return;
    };
    let place = changes.entry(first.trim().to_owned()).or_insert_with(|| Change::Fields(BTreeMap::new()));
    if let Change::Fields(fields) = place {
        nest(fields, rest, change);
    }
}
