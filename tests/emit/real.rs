//! Scripts of the repository's own recipes, on all of their targets.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use emit::{Runtime, Site, Source};
use engine::known::Known;
use eval::{Limits, Session};
use lock::pin::{Entry, File, Image, Pin, Platform, Snapshot};
use lock::{Digest, Lock};
use recipe::plan::{Hole, Mode, Piece, Plan, Rank, Ready, Role, Word};
use recipe::want::Want;
use recipe::{Recipe, Target};

use super::plans::{COMMIT, file};
use super::run::{Bench, Call, has, port, said};
use crate::oracle::{load, manifests};
use crate::support::repository;

/// Gives every plan of every recipe, with its target, to `each`.
fn every_plan(mut each: impl FnMut(&Recipe, &Target, Plan)) {
    let (files, recipes, targets) = manifests(repository());
    let mut session = Session::new(&files, Limits::default());
    let corpus = load(&mut session, &recipes, &targets);
    for recipe in &corpus.recipes {
        let (plans, findings) = recipe::plans(&mut session, &corpus, recipe, &Known::default());
        assert!(!findings.has_errors(), "{findings:#?}");
        for plan in plans {
            let target = corpus.targets.iter().find(|target| target.name.value == plan.target).unwrap();
            each(recipe, target, plan);
        }
    }
}

fn weights() -> Vec<File> {
    vec![file("config.json", b"{}\n", true), file("model.safetensors", &[9; 300], false)]
}

/// Returns a lock that pins whatever a plan wants, with invented contents.
fn pinned(recipe: &Recipe, plan: &Plan) -> (Lock, BTreeMap<Digest, Vec<File>>) {
    let mut lock = Lock { recipe: recipe.key.value.clone(), ..Lock::default() };
    let files = weights();
    let list = lock::files::digest(&files);
    let snapshot =
        Snapshot { commit: COMMIT.to_owned(), renamed: None, files: list.clone(), count: 2, bytes: 303 };
    for want in recipe.wants(&["linux/amd64".to_owned()]) {
        let pin = match &want {
            Want::Image { reference, .. } => {
                let digest = Digest::of(reference.as_bytes());
                let media_type = "application/vnd.oci.image.manifest.v1+json".to_owned();
                let platform = Platform {
                    digest: digest.clone(),
                    config: None,
                    media_type: media_type.clone(),
                    size: 1,
                };
                let platforms = [("linux/amd64".to_owned(), platform)].into();
                Pin::Image(Image { digest, media_type, size: 1, platforms })
            }
            Want::Checkpoint { .. } => Pin::Checkpoint(snapshot.clone()),
            Want::Dataset { .. } => Pin::Dataset(snapshot.clone()),
            Want::Source { .. } => {
                Pin::Source(lock::pin::Source { commit: COMMIT.to_owned(), sha256: None, merge: None })
            }
        };
        lock.pins.insert(want.name(), Entry::Pinned { want, pin });
    }
    assert!(plan.wants.iter().all(|name| lock.pins.contains_key(name)), "{:?}", plan.wants);
    (lock, [(list, files)].into())
}

#[test]
fn every_plan_of_the_manifests_is_a_script_that_bash_reads() {
    let bench = Bench::new();
    let mut count = 0;
    let mut kinds: BTreeMap<(String, bool), PathBuf> = BTreeMap::new();
    every_plan(|recipe, target, plan| {
        let (lock, files) = pinned(recipe, &plan);
        let script = emit::script(&plan, &Source::new(&lock, &files), target)
            .unwrap_or_else(|found| panic!("{} on {}: {found:#?}", plan.recipe, plan.target));
        let path = bench.write(&format!("{count}.sh"), &script.text);
        kinds.insert((plan.target.clone(), plan.mode == Mode::Eval), path);
        count += 1;
    });
    // One bash for all: it reads each and runs none.
    let all = format!("for f in {}/*.sh; do bash -n \"$f\" || exit 1; done", bench.text(""));
    let ran = bench.plain("bash").args(["-c", &all]).output().unwrap();
    assert!(ran.status.success(), "{}", said(&ran));
    println!("{count} scripts, {} of them for shellcheck", kinds.len());
    assert!(count > 100, "{count}");
    if has("shellcheck") {
        let ran = bench
            .plain("shellcheck")
            .args(["--severity=style", "--shell=bash"])
            .args(kinds.values())
            .output()
            .unwrap();
        assert!(ran.status.success(), "{}", said(&ran));
    }
}

/// Changes every text of a plan.
fn change(plan: &mut Plan, with: &dyn Fn(&str) -> String) {
    let word = |word: &mut Word| {
        let mut new = Word::new();
        for piece in word.pieces() {
            match piece {
                Piece::Text(text) => new.push_text(&with(text)),
                // Every run here has job 4242, so a port of its own stands for the job's.
                Piece::Hole(Hole::JobPort { .. }) => new.push_text(&with("8888")),
                Piece::Hole(hole) => new.push_hole(hole.clone()),
            }
        }
        *word = new;
    };
    plan.allocate.iter_mut().flatten().for_each(word);
    plan.container.iter_mut().for_each(word);
    plan.passed.values_mut().for_each(word);
    for mount in &mut plan.mounts {
        word(&mut mount.from);
        word(&mut mount.to);
    }
    for file in &mut plan.files {
        word(&mut file.path);
        word(&mut file.text);
    }
    for group in &mut plan.groups {
        if let Ready::Http { port, .. } | Ready::Tcp { port } = &mut group.ready {
            word(port);
        }
        for rank in group.replicas.iter_mut().flat_map(|replica| &mut replica.ranks) {
            rank.argv.iter_mut().for_each(word);
            rank.env.values_mut().for_each(word);
        }
    }
}

/// Returns a word as the run should expand it on the host.
fn expand(word: &Word, bench: &Bench) -> String {
    expand_within(word, bench, &bench.text("workspace"))
}

/// Returns a word as the run should expand it where the workspace is seen at this path.
fn expand_within(word: &Word, bench: &Bench, workspace: &str) -> String {
    word.pieces()
        .iter()
        .map(|piece| match piece {
            Piece::Text(text) => text.clone(),
            Piece::Hole(Hole::Runner) => "example-target_00".to_owned(),
            Piece::Hole(Hole::Home) => bench.text("home"),
            Piece::Hole(Hole::Workspace | Hole::LogDir) => workspace.to_owned(),
            Piece::Hole(Hole::Job) => "4242".to_owned(),
            Piece::Hole(hole) => panic!("{hole:?}"),
        })
        .collect()
}

fn server(plan: &Plan) -> &Rank {
    let group = plan.groups.iter().find(|group| matches!(group.role, Role::Serve(_))).unwrap();
    &group.replicas[0].ranks[0]
}

#[test]
fn processes_of_real_recipes_receive_what_their_plans_say() {
    let mut seen: BTreeSet<(String, bool, String)> = BTreeSet::new();
    let mut chosen = Vec::new();
    every_plan(|recipe, target, plan| {
        let program = lock::words::to_text(&server(&plan).argv[0]);
        if seen.insert((plan.target.clone(), plan.mode == Mode::Eval, program)) {
            let (lock, files) = pinned(recipe, &plan);
            chosen.push((plan, lock, files, Site::of(target)));
        }
    });
    let queue = std::sync::Mutex::new(chosen.into_iter());
    let count = std::thread::scope(|scope| {
        let work = || {
            let mut count = 0;
            loop {
                let next = queue.lock().unwrap().next();
                let Some((plan, lock, files, site)) = next else { return count };
                one(plan, lock, &files, site);
                count += 1;
            }
        };
        let running: Vec<_> = (0..3).map(|_| scope.spawn(work)).collect();
        running.into_iter().map(|thread| thread.join().unwrap()).sum::<usize>()
    });
    println!("{count} runs: every target, mode and program of an engine");
    assert!(count > 5, "{count}");
}

/// Moves every absolute path in a text below a folder: at the beginning, or after what separates.
fn below(root: &str, text: &str) -> String {
    let mut moved = String::new();
    let mut before = '=';
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        if c == '/' && "=:,\"'".contains(before) && rest.peek() != Some(&'/') {
            moved.push_str(root.trim_end_matches('/'));
        }
        moved.push(c);
        before = c;
    }
    moved
}

/// Runs the script of one plan, its paths moved below a temporary folder and its port to a free one.
fn one(mut plan: Plan, mut lock: Lock, files: &BTreeMap<Digest, Vec<File>>, mut site: Site) {
    let bench = Bench::with_stubs();
    let port = port().to_string();
    let moved = |text: &str| below(&bench.text(""), &text.replace("8888", &port));
    // Where the container mounts the workspace, its processes see it at that path.
    let workspace = plan.mounts.iter().find(|mount| mount.from.pieces() == [Piece::Hole(Hole::Workspace)]);
    let workspace =
        workspace.map_or_else(|| bench.text("workspace"), |mount| moved(&expand(&mount.to, &bench)));
    let workspace = workspace.trim_end_matches('/').to_owned();
    change(&mut plan, &moved);
    lock.plans.clear();
    for path in site.staged.values_mut() {
        *path = moved(path);
    }
    for path in
        site.cache.iter_mut().chain(&mut site.directory).chain(&mut site.readonly).chain(&mut site.writable)
    {
        *path = moved(path);
    }
    if let Runtime::Pyxis { squash: Some(squash), .. } = &mut site.runtime {
        *squash = moved(squash);
    }
    // Whatever the plan starts is a stand-in.
    for rank in plan.groups.iter().flat_map(|group| &group.replicas).flat_map(|replica| &replica.ranks) {
        let program = expand(&rank.argv[0], &bench);
        let place = bench.path("bin").join(program.split('/').next_back().unwrap());
        if !place.exists() {
            std::fs::copy(bench.path("bin/engine"), place).unwrap();
        }
    }
    let words: Vec<String> = server(&plan).argv.iter().take(3).map(|word| expand(word, &bench)).collect();
    let words = words.join(" ");
    let program = words.split(' ').next().unwrap().rsplit('/').next().unwrap().to_owned();
    let rest = words.split_once(' ').map_or("", |(_, rest)| rest);
    bench.write("record/server", format!("{port} {program} {rest}\n"));
    // The checkpoint lies wherever the plan may look for it.
    for (name, entry) in &lock.pins {
        let Entry::Pinned { want: Want::Checkpoint { repository, .. }, .. } = entry else { continue };
        if !plan.wants.contains(name) {
            continue;
        }
        let mut places: Vec<String> = site.staged.get(repository).cloned().into_iter().collect();
        places.extend(site.cache.iter().map(|cache| {
            format!(
                "{}/models--{}/snapshots/{COMMIT}",
                cache.trim_end_matches('/'),
                repository.replace('/', "--")
            )
        }));
        places.extend(
            site.directory
                .iter()
                .map(|folder| format!("{folder}/{}", repository.split('/').next_back().unwrap())),
        );
        for place in places {
            std::fs::create_dir_all(&place).unwrap();
            std::fs::write(format!("{place}/config.json"), b"{}\n").unwrap();
            std::fs::write(format!("{place}/model.safetensors"), [9; 300]).unwrap();
        }
    }
    for mount in &plan.mounts {
        std::fs::create_dir_all(expand(&mount.from, &bench)).unwrap();
    }
    let label = format!("{} on {} {:?}", plan.recipe, plan.target, plan.mode);
    let script = emit::script_at(&plan, &Source::new(&lock, files), &site)
        .unwrap_or_else(|found| panic!("{label}: {found:#?}"));
    let output = bench
        .command(&script.text)
        .env("HF_TOKEN", "hf_secret")
        .env("SGLANG_SIMULATE_ACC_LEN", "9")
        .env("PYTHONPATH", "/opt/modules")
        .output()
        .unwrap();
    assert!(output.status.success(), "{label}: {}", said(&output));
    let mut calls: BTreeMap<String, std::vec::IntoIter<Call>> = BTreeMap::new();
    for group in &plan.groups {
        let rank = &group.replicas[0].ranks[0];
        let seen = |word: &Word| expand_within(word, &bench, &workspace);
        let mut argv: Vec<String> = rank.argv.iter().map(seen).collect();
        if group.kind == "download" {
            if !argv.contains(&"dataset".to_owned()) {
                // The checkpoint is there, so nobody asks for it.
                continue;
            }
            let at = argv.iter().position(|word| word.contains('/')).unwrap() + 1;
            argv.splice(at..at, ["--revision".to_owned(), COMMIT.to_owned()]);
        }
        let mut env: Vec<String> =
            rank.env.iter().map(|(name, value)| format!("{name}={}", seen(value))).collect();
        env.push("HF_TOKEN=hf_secret".to_owned());
        env.sort();
        let program = argv[0].split('/').next_back().unwrap().to_owned();
        let call = calls.entry(program.clone()).or_insert_with(|| bench.calls(&program).into_iter()).next();
        let call = call.unwrap_or_else(|| panic!("{label}: {argv:?} was not started\n{}", said(&output)));
        assert_eq!(call.argv, argv, "{label}");
        let beside = ["PATH=", "HOME="];
        let from_image = matches!(site.runtime, Runtime::Docker).then_some("FROM_IMAGE=yes");
        let mut got = call.env.clone();
        got.retain(|pair| {
            !beside.iter().any(|name| pair.starts_with(name)) && Some(pair.as_str()) != from_image
        });
        got.sort();
        assert_eq!(got, env, "{label}: {}", argv[0]);
    }
    bench.nothing_runs();
}
