//! Plans beside what InferenceX really launches: every recorded row of the recipes that are here.
//!
//! Two launches are equal when the processes that read them get the same. The differences that are
//! allowed are in `ALLOWED`, each with its reason, and there are no others.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Read as _;
use std::path::Path;

use engine::known::Known;
use eval::{Limits, MemoryFiles, Session};
use recipe::json::Given;
use recipe::plan::Mode;
use recipe::{Corpus, Job, Recipe};
use serde_json::{Map, Value, json};

use crate::support::{repository, shared};

/// What may differ, and why.
const ALLOWED: &[(&str, &str)] = &[
    ("entry", "the emitted script takes the place of upstream's as the container's entry"),
    (
        "export",
        "a declared environment in place of `--export=ALL`; what upstream names beside ALL is declared",
    ),
    (
        "leaked",
        "shell variables that only leaked into the server: MODEL, MODEL_PATH, PORT, EVAL_MAX_MODEL_LEN, EVAL_FRAMEWORK, WEKA_LOADER_OVERRIDE, AIPERF_*; into the client: AIPERF_MMAP_CACHE_HOST_PATH",
    ),
    (
        "job",
        "variables of the job itself are the same on both sides by construction: HF_HUB_CACHE where the target has no other",
    ),
    (
        "staged",
        "a download of a staged path, or a snapshot in the hub cache, stands for the checkpoint's repository at its commit",
    ),
    ("client marker", "the recorder writes AIPERF before the client's own words"),
    ("no realpath", "the recorder had no `realpath`, so one launcher's container has no image in its record"),
    ("probe", "upstream asks pip for its help before some installations, which installs nothing"),
    (
        "sidecars",
        "those of one kind start together and were written down as they came; a router's installation is an installation",
    ),
    ("eval", "the record has the arguments of a library call; framework and port are compared"),
];

/// Faults of upstream's that recipes do not repeat: the recipe, what differs, and why.
const FAULTS: &[(&str, &str, &str)] = &[
    (
        "qwen3.5-fp8-mi325x-sglang-mtp",
        "clients:",
        "fault:stray-client-argument: a lost line continuation hands the client a word that it refuses, so upstream measures nothing",
    ),
    (
        "kimik3-fp4-b300-vllm-agentic-dspark",
        "downloads:",
        "fault:unused-draft: the draft is downloaded at points that do not draft, where nothing reads it",
    ),
];

/// Variables that leaked from upstream's shells.
const LEAKED: &[&str] =
    &["MODEL", "MODEL_PATH", "PORT", "EVAL_MAX_MODEL_LEN", "EVAL_FRAMEWORK", "WEKA_LOADER_OVERRIDE"];

/// Returns the files of the repository's manifests, and the paths of manifests and of targets.
pub fn manifests(root: &Path) -> (MemoryFiles, Vec<String>, Vec<String>) {
    let files = texts(root);
    let (mut recipes, mut targets) = (Vec::new(), Vec::new());
    for path in files.keys() {
        if path.starts_with("manifests/targets/") {
            targets.push(path.clone());
        } else if path.ends_with(".nix") && !path.starts_with("manifests/lib/") {
            recipes.push(path.clone());
        }
    }
    (MemoryFiles::new(files), recipes, targets)
}

/// Returns the texts of the repository's manifests, and of what they read, by path.
pub fn texts(root: &Path) -> BTreeMap<String, String> {
    let mut files = BTreeMap::new();
    collect(root, &root.join("manifests"), &mut files);
    files
}

fn collect(root: &Path, folder: &Path, files: &mut BTreeMap<String, String>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            collect(root, &path, files);
        } else if path.extension().is_some_and(|extension| extension == "nix" || extension == "yaml") {
            let name = path.strip_prefix(root).unwrap().to_str().unwrap().to_owned();
            files.insert(name, std::fs::read_to_string(&path).unwrap());
        }
    }
}

/// Reads one compressed document of recorded truth.
pub fn gz(path: &Path) -> Value {
    serde_json::from_str(&gz_text(path)).unwrap()
}

/// Reads one compressed text.
pub fn gz_text(path: &Path) -> String {
    let mut text = String::new();
    let file = std::fs::File::open(path).unwrap();
    flate2::read::GzDecoder::new(file).read_to_string(&mut text).unwrap();
    text
}

/// Loads what is under a root; findings are a failure.
pub fn load(session: &mut Session<'_>, recipes: &[String], targets: &[String]) -> Corpus {
    let (corpus, findings) = recipe::load(session, recipes, targets);
    assert!(findings.is_empty(), "{findings:#?}");
    corpus
}

#[test]
fn every_plan_equals_the_recorded_launch() {
    let Some(shared) = shared("every_plan_equals_the_recorded_launch") else { return };
    let recorded = gz(&shared.join("oracles/launches.json.gz"));
    let (files, recipes, targets) = manifests(repository());
    let mut session = Session::new(&files, Limits::default());
    let corpus = load(&mut session, &recipes, &targets);
    let mut table: BTreeMap<&str, (usize, usize)> = BTreeMap::new();
    let mut faults = Vec::new();
    for (part, mode) in [("throughput", Mode::Throughput), ("eval_only", Mode::Eval)] {
        for row in recorded[part].as_array().unwrap() {
            let key = row["config_key"].as_str().unwrap();
            let Some(recipe) = corpus.recipes.iter().find(|recipe| recipe.key.value == key) else { continue };
            let mut found = differences(&mut session, &corpus, recipe, row, mode);
            found.retain(|difference| {
                !FAULTS.iter().any(|(recipe, what, _)| *recipe == key && difference.starts_with(what))
            });
            let count = table.entry(key).or_default();
            count.1 += 1;
            if found.is_empty() {
                count.0 += 1;
            } else {
                faults.push(format!(
                    "{key} {} {part} job {}: {}",
                    row["launcher"],
                    row["job"],
                    found.join("\n    ")
                ));
            }
        }
    }
    for (key, (equal, rows)) in &table {
        println!("{equal:4} / {rows:4}  {key}");
    }
    let (equal, rows) = table.values().fold((0, 0), |sum, row| (sum.0 + row.0, sum.1 + row.1));
    println!("{equal:4} / {rows:4}  in all; allowed differences: {}", ALLOWED.len());
    // Some of upstream's configs were recorded elsewhere; they have no row here.
    let keys = corpus.recipes.iter().map(|recipe| recipe.key.value.as_str());
    let unrecorded: Vec<&str> = keys.filter(|key| !table.contains_key(key)).collect();
    println!("without a row here: {unrecorded:?}");
    assert!(rows > 0);
    let shown = faults.get(..faults.len().min(5)).unwrap_or_default();
    assert!(faults.is_empty(), "{} rows differ, such as\n{}", faults.len(), shown.join("\n"));
}

/// Returns in what a plan differs from its record.
fn differences(
    session: &mut Session<'_>,
    corpus: &Corpus,
    recipe: &Recipe,
    row: &Value,
    mode: Mode,
) -> Vec<String> {
    let launcher = row["launcher"].as_str().unwrap();
    let Some(target) = corpus.targets.iter().find(|target| target.name.value == launcher) else {
        return vec![format!("no target `{launcher}`")];
    };
    let index = usize::try_from(row["job"].as_u64().unwrap()).unwrap();
    let jobs = recipe::matrix(recipe, &corpus.targets);
    let Some(job) = jobs.get(index) else { return vec!["no such job".to_owned()] };
    let plan = match plan_json(session, recipe, target, job, mode, row["node"].as_str().unwrap()) {
        Ok(plan) => plan,
        Err(fault) => return vec![fault],
    };
    let mut found = Vec::new();
    compare_cluster(row, &plan, &mut found);
    compare_server(recipe, row, &plan, &mut found);
    compare_client(row, &plan, &mut found);
    compare_rest(
        row,
        &plan,
        target.checkpoints.staged.iter().map(|(id, path)| (path.value.as_str(), id.as_str())).collect(),
        &mut found,
    );
    found
}

/// Returns a plan as machines read it, with the recorder's own values in place of the holes.
pub fn plan_json(
    session: &mut Session<'_>,
    recipe: &Recipe,
    target: &recipe::Target,
    job: &Job,
    mode: Mode,
    node: &str,
) -> Result<Value, String> {
    let given = Given {
        runner: Some(node.to_owned()),
        home: Some("/root".to_owned()),
        workspace: Some("/workspace".to_owned()),
        job: Some("4242".to_owned()),
        logs: Some("/workspace/results".to_owned()),
    };
    match recipe::plan(session, recipe, target, job, mode, &Known::default()) {
        Ok(plan) => Ok(plan.to_json("", None, &given)),
        Err(findings) => Err(format!("{findings:?}")),
    }
}

fn compare(what: &str, theirs: &Value, ours: &Value, found: &mut Vec<String>) {
    if theirs != ours {
        found.push(format!("{what}: theirs {theirs}, ours {ours}"));
    }
}

fn words(value: &Value) -> Vec<String> {
    value.as_array().into_iter().flatten().map(|word| word.as_str().unwrap_or("<hole>").to_owned()).collect()
}

/// Returns the steps of one kind.
pub fn steps<'p>(plan: &'p Value, kind: &str) -> Vec<&'p Value> {
    plan["steps"].as_array().unwrap().iter().filter(|step| step["kind"] == kind).collect()
}

fn compare_cluster(row: &Value, plan: &Value, found: &mut Vec<String>) {
    let theirs = row
        .get("salloc_argv")
        .filter(|argv| !argv.is_null())
        .map(|argv| engine::canonical_plain(&words(argv)));
    let ours = Some(&plan["allocate"])
        .filter(|argv| !argv.is_null())
        .map(|argv| engine::canonical_plain(&words(argv)));
    compare("allocation", &json!(theirs), &json!(ours), found);
    let mut theirs = words(&row["container_argv"]);
    let mut ours = words(&plan["container"]);
    let (their_export, our_export) = if theirs[0] == "docker" {
        // The entry: upstream's script, which its image's `bash` runs.
        theirs.truncate(theirs.len() - 1);
        (take_docker_environment(&mut theirs), take_docker_environment(&mut ours))
    } else {
        // The entry: upstream's script and the shell before it.
        theirs.truncate(theirs.len() - 2);
        (take_export(&mut theirs), take_export(&mut ours))
    };
    // Where the recorder had no `realpath`, it wrote no image.
    if theirs.iter().any(|word| word == "--container-image=") {
        theirs.retain(|word| word != "--container-image=");
        ours.retain(|word| !word.starts_with("--container-image="));
    }
    compare(
        "container",
        &json!(engine::canonical_plain(&theirs)),
        &json!(engine::canonical_plain(&ours)),
        found,
    );
    if our_export.contains("ALL") {
        found.push("our container passes everything".to_owned());
    }
    let named: BTreeSet<&String> = their_export.iter().filter(|name| *name != "ALL").collect();
    if !named.iter().all(|name| our_export.contains(*name)) {
        found.push(format!("export: theirs {their_export:?}, ours {our_export:?}"));
    }
}

fn take_export(argv: &mut Vec<String>) -> BTreeSet<String> {
    let Some(place) = argv.iter().position(|word| word.starts_with("--export=")) else {
        return BTreeSet::new();
    };
    let word = argv.remove(place);
    word["--export=".len()..].split(',').map(str::to_owned).collect()
}

/// Takes what Docker is told of the environment and of the entry, and spells its short options out.
/// Returns the variables that it gives a value; the others are the job's own.
fn take_docker_environment(argv: &mut Vec<String>) -> BTreeSet<String> {
    let mut given = BTreeSet::new();
    let mut rest = Vec::new();
    let mut words = std::mem::take(argv).into_iter();
    while let Some(word) = words.next() {
        match word.as_str() {
            "-e" | "--env" => given.extend(words.next().filter(|variable| variable.contains('='))),
            variable if variable.starts_with("--env=") => {
                given
                    .extend(variable.strip_prefix("--env=").filter(|it| it.contains('=')).map(str::to_owned));
            }
            "-v" => rest.push("--volume".to_owned()),
            "-w" => rest.push("--workdir".to_owned()),
            entry if entry.starts_with("--entrypoint") => {}
            _ => rest.push(word),
        }
    }
    *argv = rest;
    given
}

fn compare_server(recipe: &Recipe, row: &Value, plan: &Value, found: &mut Vec<String>) {
    let servers = steps(plan, "server");
    let theirs = row["server"].as_array().unwrap();
    compare("number of servers", &json!(theirs.len()), &json!(servers.len()), found);
    let kind = engine::Engine::parse(&recipe.engine.value).unwrap();
    let version = engine::choose(kind, &recipe.image.value, None).version;
    for (theirs, ours) in theirs.iter().zip(servers) {
        let canonical = |argv: &Value| engine::canonical(kind, &version, &words(argv));
        let (one, other) = (canonical(&theirs["argv"]), canonical(&ours["argv"]));
        compare("server's program", &json!(one.program), &json!(other.program), found);
        let theirs_at: Vec<String> = one.positionals.iter().map(|word| at_commit(word)).collect();
        compare("server's positionals", &json!(theirs_at), &json!(other.positionals), found);
        for name in one.flags.keys().chain(other.flags.keys()).collect::<BTreeSet<_>>() {
            compare(name, &json!(one.flags.get(name)), &json!(other.flags.get(name)), found);
        }
        let leaked = |name: &str| LEAKED.contains(&name) || name.starts_with("AIPERF_");
        let mut theirs = theirs["env"].as_object().unwrap().clone();
        let mut ours = ours["env"].as_object().unwrap().clone();
        theirs.retain(|name, _| !leaked(name));
        ours.retain(|name, value| !(leaked(name) || name == "HF_HUB_CACHE" && value == "/mnt/hf_hub_cache/"));
        compare("server's environment", &Value::Object(theirs), &Value::Object(ours), found);
    }
}

/// Returns the repository that a snapshot in a hub cache is of.
fn at_commit(word: &str) -> String {
    let repository = word
        .rsplit_once("/models--")
        .and_then(|(_, rest)| rest.split_once("/snapshots/"))
        .map(|(folder, _)| folder.replacen("--", "/", 1));
    repository.unwrap_or_else(|| word.to_owned())
}

fn compare_client(row: &Value, plan: &Value, found: &mut Vec<String>) {
    let clients = steps(plan, "client");
    let evals = steps(plan, "eval");
    if row["client"].is_null() {
        compare("clients", &json!(0), &json!(clients.len()), found);
    } else {
        let [client] = clients.as_slice() else {
            found.push(format!("{} clients", clients.len()));
            return;
        };
        let mut theirs = words(&row["client"]["argv"]);
        let agentic = theirs[0] == "AIPERF";
        if agentic {
            theirs.remove(0);
        }
        let theirs = json!(engine::canonical_plain(&theirs));
        compare("client", &theirs, &json!(engine::canonical_plain(&words(&client["argv"]))), found);
        if agentic {
            let of = |env: &Value| -> Map<String, Value> {
                let mut env = env.as_object().unwrap().clone();
                env.retain(|name, _| name.starts_with("AIPERF_") && name != "AIPERF_MMAP_CACHE_HOST_PATH");
                env
            };
            compare(
                "client's environment",
                &json!(of(&row["client"]["env"])),
                &json!(of(&client["env"])),
                found,
            );
        }
    }
    if row["eval"].is_null() {
        compare("evals", &json!(0), &json!(evals.len()), found);
        return;
    }
    let [eval] = evals.as_slice() else {
        found.push(format!("{} evals", evals.len()));
        return;
    };
    let call = words(&row["eval"]);
    let after = |name: &str| call.iter().position(|word| word == name).and_then(|at| call.get(at + 1));
    // Without a framework the library runs lm-eval, unless the script exported another.
    let exported = row["server"][0]["env"]["EVAL_FRAMEWORK"].as_str().unwrap_or("lm-eval");
    let framework = after("--framework").map_or(exported, String::as_str).replace('-', "_");
    let argv = words(&eval["argv"]);
    if !argv.contains(&framework) {
        found.push(format!("eval: theirs by {framework}, ours {argv:?}"));
    }
    let port = format!(":{}/", after("--port").unwrap());
    if !argv.iter().any(|word| word.contains(&port)) {
        found.push(format!("eval: theirs at {port}, ours {argv:?}"));
    }
}

fn compare_rest(row: &Value, plan: &Value, staged: BTreeMap<&str, &str>, found: &mut Vec<String>) {
    // Where the router is an installation of its own, the recorder wrote that as one more sidecar.
    let is_install = |argv: &Value| words(argv).iter().any(|word| word == "pip");
    let (their_installs, theirs): (Vec<&Value>, Vec<&Value>) = row["sidecars"]
        .as_array()
        .unwrap()
        .iter()
        .map(|sidecar| &sidecar["argv"])
        .partition(|argv| is_install(argv));
    // Those of one kind start together, and the recorder wrote them as they came.
    let sorted = |of: Vec<&Value>| -> Vec<String> {
        let mut all: Vec<String> =
            of.iter().map(|argv| json!(engine::canonical_plain(&words(argv))).to_string()).collect();
        all.sort();
        all
    };
    let ours = ["router", "kv-store", "sidecar"].iter().flat_map(|kind| steps(plan, kind));
    let ours: Vec<&Value> = ours.map(|step| &step["argv"]).collect();
    compare("sidecars", &json!(sorted(theirs)), &json!(sorted(ours)), found);
    let mut theirs: Vec<_> = row["downloads"].as_array().unwrap().iter().map(words).collect();
    for download in &mut theirs {
        if let Some(id) = download.get(1).and_then(|path| staged.get(path.as_str())) {
            download[1] = (*id).to_owned();
        }
    }
    let set = |downloads: Vec<Vec<String>>| -> BTreeSet<String> {
        downloads.iter().map(|argv| json!(engine::canonical_plain(argv)).to_string()).collect()
    };
    let ours = steps(plan, "download").iter().map(|step| words(&step["argv"])[1..].to_vec()).collect();
    let (theirs, ours) = (set(theirs), set(ours));
    compare("downloads", &json!(theirs), &json!(ours), found);
    // What changes an engine's files is no package; whether there is such a step, the row says apart.
    let is_package = |argv: &&Value| words(argv).iter().any(|word| word.starts_with("pip"));
    let ours: Vec<&Value> =
        steps(plan, "install").iter().map(|step| &step["argv"]).filter(is_package).collect();
    // pip reads its options wherever they stand.
    let sorted = |argv: &Value| -> Vec<String> {
        let mut words = words(argv);
        words.sort();
        words
    };
    // Upstream asks pip what it can do before it installs; that installs nothing.
    let asked = |argv: &&Value| words(argv).iter().any(|word| word == "--help");
    let mut theirs: Vec<_> =
        row["pip"].as_array().unwrap().iter().filter(|argv| !asked(argv)).map(sorted).collect();
    let mut ours: Vec<_> = ours.into_iter().map(sorted).collect();
    if !their_installs.is_empty() {
        theirs.extend(their_installs.into_iter().map(sorted));
        theirs.sort();
        ours.sort();
    }
    compare("pip", &json!(theirs), &json!(ours), found);
    let yaml = |text: &Value| -> Value { serde_saphyr::from_str(text.as_str().unwrap()).unwrap() };
    let theirs: Map<String, Value> =
        row["files"].as_object().unwrap().iter().map(|(path, text)| (path.clone(), yaml(text))).collect();
    let ours: Map<String, Value> = steps(plan, "file")
        .iter()
        .map(|step| (step["path"].as_str().unwrap().to_owned(), yaml(&step["text"])))
        .collect();
    compare("files", &Value::Object(theirs), &Value::Object(ours), found);
}
