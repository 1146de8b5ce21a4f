//! What the engine stage says of real command lines: those that upstream launched, those that its
//! cookbooks publish, and those that failed once. The judges are upstream's records, the released
//! packages' own parsers, and the failure corpus.

mod describe;
mod failures;

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

use diag::Severity;
use engine::{Engine, Finding, Launch, Mode, Scenario, check, choose};
use serde_json::Value as Json;

use crate::oracle::gz;
use crate::support::{repository, shared};

fn strings(list: &Json) -> Vec<String> {
    list.as_array().into_iter().flatten().filter_map(|word| word.as_str().map(str::to_owned)).collect()
}

fn variables(map: &Json) -> BTreeMap<String, String> {
    let text = |value: &Json| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    map.as_object().into_iter().flatten().map(|(name, value)| (name.clone(), text(value))).collect()
}

fn launch(argv: &[String], image: &str, stated: Option<&str>, env: &Json) -> Option<Launch> {
    let engine = Engine::of_command(argv)?;
    let words = &argv[engine.program_words(argv)?..];
    Some(Launch::new(choose(engine, image, stated), image, Launch::words(words), variables(env)))
}

fn errors(findings: Vec<Finding>) -> Vec<Finding> {
    findings.into_iter().filter(|finding| finding.severity == Severity::Error).collect()
}

#[test]
fn every_recorded_launch_is_accepted() {
    let Some(shared) = shared("every_recorded_launch_is_accepted") else { return };
    let recorded = gz(&shared.join("oracles/launches.json.gz"));
    let matrix = gz(&shared.join("oracles/matrix.json.gz"));
    let (mut launches, mut said) = (0, BTreeMap::<&str, usize>::new());
    for (kind, mode) in [("throughput", Mode::Throughput), ("eval_only", Mode::Eval)] {
        for row in recorded[kind].as_array().unwrap() {
            let key = row["config_key"].as_str().unwrap();
            let job = &matrix[key][usize::try_from(row["job"].as_u64().unwrap()).unwrap()];
            let agentic = key.contains("agentic");
            for server in row["server"].as_array().unwrap() {
                let image = job["image"].as_str().unwrap();
                let Some(mut launch) = launch(&strings(&server["argv"]), image, None, &server["env"]) else {
                    continue;
                };
                launch.mode = mode;
                launch.workload.scenario =
                    Some(if agentic { Scenario::Agentic } else { Scenario::FixedSequence });
                launch.workload.concurrency = job["conc"].as_u64();
                launches += 1;
                for finding in check(&launch).findings {
                    assert_ne!(finding.severity, Severity::Error, "{key}: {}", finding.message);
                    *said.entry(finding.slug.as_str()).or_default() += 1;
                }
            }
        }
    }
    assert!(launches > 1500, "{launches} launches");
    println!("{launches} recorded launches, none refused; warnings and notes: {said:?}");
}

/// What upstream's published commands are refused for, beside placeholders for the reader: each
/// was looked at, and is a fault of the page or asks for another version.
const PAGES_FAULTS: &[(&str, &str)] = &[
    ("batch-too-small", "leave no room in a batch"),
    ("excluded-flags", "DSpark does not go with decode context parallelism"),
    ("expandable-segments", "a KV connector does not go with expandable segments"),
    ("indivisible", "decode context parallelism 8 does not divide tensor parallelism 4"),
    ("removed-flag", "--disable-log-requests"),
    ("stray-word", "--max-model-len auto"),
    ("unknown-flag", "--tool-call-parser-plugin"),
    ("unknown-member", "use_inductor"),
    ("unknown-value", "B12X"),
    ("unknown-value", "b12x"),
];

#[test]
fn published_commands_are_refused_for_their_own_faults_only() {
    let Some(shared) = shared("published_commands_are_refused_for_their_own_faults_only") else { return };
    let mut seen = BTreeMap::<String, BTreeSet<String>>::new();
    let mut refused = BTreeMap::<String, usize>::new();
    let recorded = gz(&shared.join("oracles/vllm-commands.json.gz"));
    let entries = recorded["entries"].as_array().unwrap();
    let (mut sound, mut unfilled) = (0, 0);
    for entry in entries {
        let mut slugs = BTreeSet::new();
        let roles = [entry, &entry["prefill"], &entry["decode"]];
        for role in roles.into_iter().filter(|role| role["argv"].is_array()) {
            let of_role = seen.entry(format!("{}{}", role["argv"], role["env"])).or_insert_with(|| {
                let launch = launch(&strings(&role["argv"]), "example/vllm:x", Some("0.27.1"), &role["env"]);
                let findings = launch.map(|launch| errors(check(&launch).findings)).unwrap_or_default();
                for finding in &findings {
                    let slug = finding.slug.as_str();
                    let known = |(of, text): &(&str, &str)| *of == slug && finding.message.contains(text);
                    let expected = slug == "unexpanded-placeholder" || PAGES_FAULTS.iter().any(known);
                    assert!(expected, "{}: {slug}: {}", entry["hf_id"], finding.message);
                }
                findings.iter().map(|finding| finding.slug.as_str().to_owned()).collect()
            });
            slugs.extend(of_role.iter().cloned());
        }
        sound += usize::from(slugs.is_empty());
        unfilled += usize::from(slugs.len() == 1 && slugs.contains("unexpanded-placeholder"));
        for slug in slugs {
            *refused.entry(slug).or_default() += 1;
        }
    }
    println!(
        "{} published commands against vLLM 0.27.1: {sound} sound, {unfilled} with nothing but places to fill in, {} refused; by slug {refused:?}",
        entries.len(),
        entries.len() - sound - unfilled
    );
}

#[test]
fn published_halves_agree_with_each_other() {
    let Some(shared) = shared("published_halves_agree_with_each_other") else { return };
    let recorded = gz(&shared.join("oracles/vllm-commands.json.gz"));
    let (mut pairs, mut said) = (0, BTreeMap::<String, usize>::new());
    for entry in recorded["entries"].as_array().unwrap() {
        let half = |role: &Json| {
            let argv = role["argv"].is_array().then(|| strings(&role["argv"]))?;
            launch(&argv, "example/vllm:x", Some("0.27.1"), &role["env"])
        };
        let (Some(prefill), Some(decode)) = (half(&entry["prefill"]), half(&entry["decode"])) else {
            continue;
        };
        pairs += 1;
        for finding in engine::together(&prefill, &decode).findings {
            *said.entry(format!("{}: {}", entry["hf_id"], finding.message)).or_default() += 1;
        }
    }
    assert!(pairs > 1000, "{pairs} pairs");
    println!("{pairs} published pairs of prefill and decode, that differ: {said:?}");
    assert!(said.is_empty(), "{said:?}");
}

/// What the commands of SGLang's cookbook are refused for, beside placeholders for the reader: each
/// was looked at, and is a fault of the page.
const COOKBOOK_FAULTS: &[(&str, &str)] = &[
    // A component that draws every combination of its switches.
    ("indivisible", "attention over 8 data-parallel ranks does not divide"),
    ("needs-another-flag", "`--enable-dp-lm-head` needs `--enable-dp-attention`"),
    ("wrong-value-type", "not `undefined`"),
    ("needs-another-flag", "DSpark with data-parallel attention needs `--enable-dp-lm-head`"),
    ("unknown-flag", "--max-context-length"),
];

/// A model that draws: `sglang serve` hands it to a program with another parser.
const DRAWS: &str = "MiniMaxAI/MiniMax-H3";

#[test]
fn cookbook_commands_are_refused_for_their_own_faults_only() {
    let Some(shared) = shared("cookbook_commands_are_refused_for_their_own_faults_only") else { return };
    let recorded = gz(&shared.join("oracles/sglang-commands.json.gz"));
    let (mut judged, mut drawn, mut sound, mut unfilled) = (0, 0, 0, 0);
    let (mut refused, mut faults) = (BTreeMap::<String, usize>::new(), BTreeSet::new());
    let entries = recorded["entries"].as_array().unwrap();
    for entry in entries {
        if entry["model"] == DRAWS {
            drawn += 1;
            continue;
        }
        for command in verify::cookbook::command::commands(entry["command"].as_str().unwrap()) {
            let env = serde_json::to_value(&command.env).unwrap();
            let Some(launch) = launch(&command.argv, "lmsysorg/sglang:dev", Some("0.5.18"), &env) else {
                continue;
            };
            judged += 1;
            let mut of_command = BTreeSet::new();
            for finding in errors(check(&launch).findings) {
                let slug = finding.slug.as_str();
                of_command.insert(slug.to_owned());
                let expected = slug == "unexpanded-placeholder"
                    || COOKBOOK_FAULTS.iter().any(|(of, text)| *of == slug && finding.message.contains(text));
                if !expected {
                    faults.insert(format!("{}: {slug}: {}", entry["model"], finding.message));
                }
            }
            sound += usize::from(of_command.is_empty());
            unfilled += usize::from(of_command.len() == 1 && of_command.contains("unexpanded-placeholder"));
            for slug in of_command {
                *refused.entry(slug).or_default() += 1;
            }
        }
    }
    println!(
        "{} entries, {drawn} of them for another program, {judged} commands against SGLang 0.5.18: {sound} sound, {unfilled} with nothing but places to fill in, {} refused; by slug {refused:?}",
        entries.len(),
        judged - sound - unfilled
    );
    assert!(faults.is_empty(), "{faults:#?}");
}

/// Small deterministic numbers: the same mistakes in every run.
struct Dice(u64);

impl Dice {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap() % bound.max(1)
    }
}

/// A command with one mistake, or something that looks like one.
fn mistaken(words: &[String], dice: &mut Dice) -> Vec<String> {
    let mut words = words.to_vec();
    let flags: Vec<usize> =
        (0..words.len()).filter(|at| words[*at].starts_with("--") && words[*at].len() > 4).collect();
    if flags.is_empty() {
        return words;
    }
    let at = flags[dice.below(flags.len())];
    let flag = words[at].clone();
    let values = [
        "x",
        "1.5",
        "",
        "-1",
        "{}",
        "true",
        "None",
        "8k",
        "0x10",
        "1_000",
        " 3 ",
        "auto",
        "[1,2]",
        "{\"a\":1}",
    ];
    match dice.below(10) {
        0 => words[at] = flag[..flag.len() - 1].to_owned(),
        1 => words[at] = flag[..3.max(flag.len() / 2)].to_owned(),
        2 if at + 1 < words.len() => drop(words.remove(at + 1)),
        3 => words.push(flag),
        4 | 5 if at + 1 < words.len() && !words[at + 1].starts_with('-') => {
            words[at + 1] = values[dice.below(values.len())].to_owned();
        }
        6 => words[at] = format!("--{}", flag[2..].replace('-', "_")),
        7 => words[at] = format!("--no-{}", &flag[2..]),
        8 => {
            let place = dice.below(words.len() + 1);
            words.insert(place, ["stray", "--", "-x", "-1", "--no", "-tp", "a b"][dice.below(7)].to_owned());
        }
        _ => words[at] = format!("{flag}s"),
    }
    words
}

/// Verdicts of a release's own parser over command lines.
///
/// # Errors
///
/// What stood in the way of importing the parser.
fn really(engine: Engine, root: &Path, lines: &[Vec<String>]) -> Result<Vec<String>, String> {
    let script = repository().join("tests/engine/real.py");
    let mut child = Command::new("python3")
        .args([script.as_os_str(), engine.name().as_ref(), root.as_os_str()])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    let text: String =
        lines.iter().map(|words| format!("{}\n", serde_json::to_string(words).unwrap())).collect();
    let writer = std::thread::spawn(move || input.write_all(text.as_bytes()));
    let output = child.wait_with_output().unwrap();
    // It stops reading where it fails.
    let _ = writer.join().unwrap();
    let verdicts: Vec<String> =
        String::from_utf8(output.stdout).unwrap().lines().map(str::to_owned).collect();
    if verdicts.len() == lines.len() {
        return Ok(verdicts);
    }
    Err(String::from_utf8_lossy(&output.stderr).lines().last().unwrap_or_default().to_owned())
}

/// What the engine refuses only after its parser: its own checks of words that the parser passed.
fn after_parsing(finding: &Finding) -> bool {
    let slug = finding.slug.as_str();
    slug == "unexpanded-placeholder"
        || slug == "unknown-value"
        || matches!(slug, "unknown-member" | "wrong-value-type")
            && finding.message.contains("--speculative-config")
}

/// Runs the parsers of the releases in `RECIPEC_RELEASES`, a folder of unpacked wheels
/// (`sglang-0.5.16/sglang/…`, `vllm-0.27.1/vllm/…`); skipped without it.
#[test]
fn the_releases_own_parsers_agree() {
    let Some(releases) = std::env::var_os("RECIPEC_RELEASES") else {
        println!(
            "the_releases_own_parsers_agree: skipped, RECIPEC_RELEASES names no folder of unpacked wheels"
        );
        return;
    };
    let Some(shared) = shared("the_releases_own_parsers_agree") else { return };
    let recorded = gz(&shared.join("oracles/launches.json.gz"));
    let parsing = [
        "unknown-flag",
        "removed-flag",
        "flag-too-new",
        "ambiguous-flag",
        "missing-value",
        "unexpected-value",
        "stray-word",
        "wrong-value-type",
        "unknown-value",
        "broken-json",
        "unknown-member",
        "unexpanded-placeholder",
    ];
    let mut roots: Vec<_> = std::fs::read_dir(releases).unwrap().map(|entry| entry.unwrap().path()).collect();
    roots.sort();
    let mut judged = 0;
    for root in roots {
        let name = root.file_name().unwrap().to_str().unwrap().to_owned();
        let Some((engine, version)) = name.split_once('-') else { continue };
        let (Some(engine @ (Engine::Sglang | Engine::Vllm)), true) = (Engine::parse(engine), root.is_dir())
        else {
            continue;
        };
        let mut commands = BTreeSet::new();
        for row in recorded["throughput"].as_array().unwrap() {
            for server in row["server"].as_array().unwrap() {
                let argv = strings(&server["argv"]);
                if let Some(begin) = engine.program_words(&argv) {
                    commands.insert(argv[begin..].to_vec());
                }
            }
        }
        let mut lines: Vec<Vec<String>> = commands.into_iter().collect();
        let mut dice = Dice(7);
        let sound = lines.len();
        for _ in 0..2000 {
            let words = lines[dice.below(sound)].clone();
            lines.push(mistaken(&words, &mut dice));
        }
        let real = match really(engine, &root, &lines) {
            Ok(real) => real,
            Err(reason) => {
                println!("{name}: its parser cannot be imported here: {reason}");
                continue;
            }
        };
        judged += 1;
        let (mut refused, mut stricter) = (0, 0);
        for (words, verdict) in lines.iter().zip(&real) {
            let launch = Launch::new(
                choose(engine, "example/x:x", Some(version)),
                "",
                Launch::words(words),
                BTreeMap::new(),
            );
            let ours: Vec<Finding> = errors(check(&launch).findings)
                .into_iter()
                .filter(|finding| parsing.contains(&finding.slug.as_str()))
                .collect();
            let theirs = verdict != "ok";
            refused += usize::from(theirs);
            if !theirs && !ours.is_empty() && ours.iter().all(after_parsing) {
                stricter += 1;
                continue;
            }
            assert_eq!(theirs, !ours.is_empty(), "{name}: {verdict}; ours: {ours:?}; {}", words.join(" "));
        }
        println!(
            "{name}: {} command lines, {refused} refused by both, {stricter} only by the engine after its parser",
            lines.len()
        );
    }
    assert!(judged > 0, "no release has a parser that can be imported here");
}
