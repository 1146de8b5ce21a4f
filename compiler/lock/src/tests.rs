//! Locks as a whole: written, read, compared and merged.

use std::collections::{BTreeMap, BTreeSet};

use engine::known::{Checkpoint, Fact, Known, Source};
use recipe::plan::{
    Group, Hole, Mode, Mount, Phase, Plan, Pool, Rank, Ready, Replica, Role, Seat, Step, Word,
};
use recipe::want::Want;
use serde_json::{Value, json};

use crate::pin::{Entry, File, Image, Pin, Platform, Snapshot};
use crate::summary::{Comparison, Language};
use crate::{
    Cause, Change, Digest, Joined, Lock, Outcome, Resolution, State, build, check, diff, files, join, merge,
    refresh, repair, summary,
};

const V1: &str = "nvidia/Example-NVFP4";
const V2: &str = "nvidia/Example-NVFP4-V2";
const IMAGE: &str = "lmsysorg/sglang:v0.5.14";

fn rank(argv: &[&str], env: &[(&str, &str)]) -> Rank {
    Rank {
        seat: Seat { pool: 0, node: 0, first: 0, gpus: 4 },
        argv: argv.iter().map(|text| Word::from(*text)).collect(),
        env: env.iter().map(|(name, value)| ((*name).to_owned(), Word::from(*value))).collect(),
        unset: BTreeSet::new(),
        ports: BTreeMap::new(),
    }
}

fn group(role: Role, name: &str, rank: Rank) -> Group {
    Group {
        role,
        name: name.to_owned(),
        kind: name.to_owned(),
        image: None,
        mounts: None,
        replicas: vec![Replica { parallel: None, ranks: vec![rank], step: Step::EachRank }],
        after: vec![],
        ready: Ready::Ended,
        within: None,
        critical: true,
    }
}

/// A point of the search space, on one target, in one mode.
struct Case<'a> {
    checkpoint: &'a str,
    job: u32,
    tp: u32,
    conc: u32,
    target: &'a str,
    mode: Mode,
}

fn plan(case: &Case<'_>) -> Plan {
    let Case { checkpoint, job, tp, conc, target, mode } = case;
    let (tp, conc_text) = (tp.to_string(), conc.to_string());
    let interval = if *conc > 8 { "30" } else { "10" };
    let server = rank(
        &[
            "python3",
            "-m",
            "sglang.launch_server",
            "--model-path",
            checkpoint,
            "--tp-size",
            &tp,
            "--scheduler-recv-interval",
            interval,
            "--trust-remote-code",
        ],
        &[("NCCL_NVLS_ENABLE", "1")],
    );
    let mut home = Word::hole(Hole::Home);
    home.push_text("/models");
    let last = match mode {
        Mode::Throughput => {
            group(Role::Client, "client", rank(&["bench", "--max-concurrency", &conc_text], &[]))
        }
        Mode::Eval => group(Role::Eval, "eval", rank(&["lm_eval", "--task", "gsm8k"], &[])),
    };
    let point = json!({"tp": tp.parse::<u32>().unwrap_or(0), "conc": conc, "ep": 1, "pp": 1, "dp-attn": false, "model": checkpoint, "image": IMAGE});
    Plan {
        recipe: "example".to_owned(),
        target: (*target).to_owned(),
        mode: *mode,
        job: Some(*job),
        points: vec![point.as_object().cloned().unwrap_or_default()],
        image: IMAGE.to_owned(),
        allocate: Some(vec![Word::from("salloc"), Word::from("--gres=gpu:4")]),
        kubernetes: None,
        container: vec![Word::from("srun"), Word::from("--container-image=x.sqsh")],
        passed: BTreeMap::new(),
        mounts: vec![Mount { from: home, to: Word::from("/models"), readonly: true, create: false }],
        pools: vec![Pool { nodes: 1, gpus: 4 }],
        groups: vec![group(Role::Serve(Phase::Agg), "server", server), last],
        files: vec![],
        finish: 1,
        wants: BTreeSet::new(),
        secrets: BTreeSet::new(),
    }
}

fn plans(checkpoint: &str, space: &[(u32, u32)]) -> Vec<Plan> {
    let mut all = Vec::new();
    for target in ["b200-a", "b200-b"] {
        for mode in [Mode::Throughput, Mode::Eval] {
            for (job, (tp, conc)) in (0..).zip(space) {
                all.push(plan(&Case { checkpoint, job, tp: *tp, conc: *conc, target, mode }));
            }
        }
    }
    all
}

const SPACE: [(u32, u32); 4] = [(4, 4), (4, 8), (2, 16), (2, 32)];

fn wants(checkpoint: &str) -> Vec<Want> {
    vec![
        Want::Image { reference: IMAGE.to_owned(), platforms: vec!["linux/amd64".to_owned()] },
        Want::Checkpoint { repository: checkpoint.to_owned(), revision: "main".to_owned() },
    ]
}

fn image_pin(content: &str) -> Pin {
    let platform = Platform {
        digest: Digest::of(content.as_bytes()),
        config: None,
        media_type: "application/vnd.oci.image.manifest.v1+json".to_owned(),
        size: 1234,
    };
    Pin::Image(Image {
        digest: Digest::of(content.as_bytes()),
        media_type: "application/vnd.oci.image.index.v1+json".to_owned(),
        size: 5678,
        platforms: BTreeMap::from([("linux/amd64".to_owned(), platform)]),
    })
}

fn checkpoint_pin(content: &str) -> Pin {
    let list = [File {
        path: "model.safetensors".to_owned(),
        size: 7,
        sha256: Some(Digest::of(content.as_bytes())),
        blob: None,
    }];
    Pin::Checkpoint(Snapshot {
        commit: Digest::of(content.as_bytes()).hex()[..40].to_owned(),
        renamed: None,
        files: files::digest(&list),
        count: 1,
        bytes: 7,
    })
}

fn pins(checkpoint: &str, image: &str) -> BTreeMap<String, Entry> {
    let pins = [image_pin(image), checkpoint_pin(checkpoint)];
    wants(checkpoint)
        .into_iter()
        .zip(pins)
        .map(|(want, pin)| (want.name(), Entry::Pinned { want, pin }))
        .collect()
}

fn known(checkpoint: &str, producer: &str) -> Known {
    let fact = |value: &str| Some(Fact { value: value.to_owned(), source: Source::Pinned });
    let facts =
        Checkpoint { producer: fact(producer), quantization: fact("modelopt"), ..Checkpoint::default() };
    Known { checkpoints: BTreeMap::from([(checkpoint.to_owned(), facts)]), ..Known::default() }
}

fn lock(checkpoint: &str) -> Lock {
    build("example", &plans(checkpoint, &SPACE), pins(checkpoint, "one"), known(checkpoint, checkpoint))
}

fn paths(changes: &[Change]) -> Vec<&str> {
    changes.iter().map(|change| change.path.as_str()).collect()
}

#[test]
fn a_lock_is_read_back_as_it_was_written() {
    let lock = lock(V1);
    let text = lock.write();
    assert_eq!(Lock::read("x.lock.json", &text), Ok(lock.clone()));
    assert_eq!(lock.write_over("x.lock.json", Some(&text)), None);
    assert!(lock.write_over("x.lock.json", None).is_some());
    let mut shuffled = plans(V1, &SPACE);
    shuffled.reverse();
    assert_eq!(build("example", &shuffled, pins(V1, "one"), known(V1, V1)).write(), text);
}

#[test]
fn behaviour_reads_well_in_a_lock() {
    let text = lock(V1).write();
    for line in [
        r#""--scheduler-recv-interval": { "conc<=8": "10", "conc>=16": "30" }"#,
        r#""--tp-size": { "tp=2": "2", "tp=4": "4" }"#,
        r#""--trust-remote-code": { "*": true }"#,
        r#""env.NCCL_NVLS_ENABLE": { "*": "1" }"#,
        r#""mount./models": { "*": "<home>/models (read only)" }"#,
        r#""when": "mode=eval""#,
    ] {
        assert!(text.contains(line), "{line} is not in\n{text}");
    }
}

#[test]
fn an_edit_by_hand_is_noticed_and_the_rest_is_still_readable() {
    let text = lock(V1).write().replacen("\"30\"", "\"31\"", 1);
    let (opened, diagnostics) = Lock::open("x.lock.json", &text);
    assert!(opened.is_some());
    let slugs: Vec<&str> = diagnostics.iter().map(|diagnostic| diagnostic.slug.as_str()).collect();
    assert_eq!(slugs, ["lock-edited"]);
    assert!(Lock::read("x.lock.json", &text).is_err());
}

#[test]
fn what_is_no_lock_of_this_version_is_refused_by_name() {
    let text = lock(V1).write();
    let cases = [
        (
            text.replace("\"version\": 1", "\"version\": 3"),
            "lock-version",
            "version 3 is newer than this recipec (1)",
        ),
        (
            text.replace("\"version\": 1", "\"version\": 0"),
            "lock-version",
            "no recipec has written version 0",
        ),
        (
            text.replace("\"recipe\":", "\"recipe\": \"x\", \"recipe\":"),
            "lock-unreadable",
            "the key `recipe` stands twice",
        ),
        (text.replace("  \"recipe\"", "<<<<<<< HEAD\n  \"recipe\""), "lock-conflict", "conflict markers"),
        (text.replace("conc<=8", "conc<=x"), "lock-unreadable", "`conc<=x` selects no plans"),
        (text[..text.len() / 2].to_owned(), "lock-unreadable", "EOF"),
        ("{}".to_owned(), "lock-unreadable", "it has no version"),
        ("[]".to_owned(), "lock-unreadable", "it has no version"),
        (String::new(), "lock-unreadable", "EOF"),
    ];
    for (text, slug, phrase) in cases {
        let diagnostics = Lock::read("a/b.lock.json", &text).err().unwrap_or_default();
        let found = diagnostics.iter().find(|diagnostic| diagnostic.slug.as_str() == slug);
        let message = found.map(|diagnostic| diagnostic.message.clone()).unwrap_or_default();
        assert!(message.contains(phrase) && message.contains("`a/b.lock.json`"), "{slug}: {diagnostics:?}");
    }
}

#[test]
fn a_moved_tag_changes_pins_and_no_plan() {
    let old = lock(V1);
    let new = build("example", &plans(V1, &SPACE), pins(V1, "two"), known(V1, V1));
    let changes = diff(&old, &new);
    assert_eq!(paths(&changes), ["pins.image.digest", "pins.image.platforms.linux/amd64.digest"]);
    assert!(changes.iter().all(|change| change.cause == Cause::Pin && change.points.len() == 4));
    assert_eq!(old.plans, new.plans);
}

#[test]
fn another_checkpoint_is_one_move_and_not_a_removal_and_an_addition() {
    let changes = diff(&lock(V1), &lock(V2));
    assert_eq!(
        paths(&changes),
        [
            "known.checkpoint.producer",
            "pins.checkpoint.commit",
            "pins.checkpoint.files",
            "pins.checkpoint.repository",
            "server.--model-path"
        ]
    );
    let model = changes.iter().find(|change| change.path == "server.--model-path");
    assert_eq!(model.map(|change| (&change.old, &change.new)), Some((&json!(V1), &json!(V2))));
    assert_eq!(
        model.map(|change| change.points.clone()),
        Some((0..4).map(|job| format!("example#{job}")).collect())
    );
    let lines =
        summary::words(&Comparison { changes, unchanged: 3, ..Comparison::default() }, Language::English);
    assert_eq!(
        lines,
        [
            format!("1 recipe: checkpoint `{V1}` to `{V2}`"),
            format!("checkpoint: producer `{V1}` to `{V2}`"),
            "4 points change argv".to_owned(),
            "image unchanged".to_owned(),
            "3 recipes unchanged".to_owned()
        ]
    );
}

#[test]
fn a_point_added_in_front_makes_no_other_point_differ() {
    let space = [(8, 1), (4, 4), (4, 8), (2, 16), (2, 32)];
    let new = build("example", &plans(V1, &space), pins(V1, "one"), known(V1, V1));
    let changes = diff(&lock(V1), &new);
    assert_eq!(paths(&changes), ["points"]);
    assert_eq!((&changes[0].old, &changes[0].new), (&Value::Null, &json!("conc=1 ep=1 tp=8")));
    assert_eq!(changes[0].points, ["example#0"]);
}

#[test]
fn check_names_the_setting_the_values_and_the_points() {
    let mut changed = plans(V1, &SPACE);
    for plan in &mut changed {
        if plan.job == Some(2) && plan.mode == Mode::Throughput && plan.target == "b200-a" {
            plan.groups[0].replicas[0].ranks[0].argv.push(Word::from("--disable-radix-cache"));
            plan.groups[0].replicas[0].ranks[0].env.insert("NCCL_NVLS_ENABLE".to_owned(), Word::from("0"));
        }
    }
    assert_eq!(check(&lock(V1), &plans(V1, &SPACE), &wants(V1)), []);
    let changes = check(&lock(V1), &changed, &wants(V1));
    assert_eq!(paths(&changes), ["server.--disable-radix-cache", "server.env.NCCL_NVLS_ENABLE"]);
    assert_eq!((&changes[0].old, &changes[0].new), (&Value::Null, &json!(true)));
    assert_eq!((&changes[1].old, &changes[1].new), (&json!("1"), &json!("0")));
    for change in &changes {
        assert_eq!(
            (&change.points, &change.targets, &change.modes),
            (&vec!["example#2".to_owned()], &vec!["b200-a".to_owned()], &vec!["throughput".to_owned()])
        );
    }
}

#[test]
fn an_order_that_no_setting_shows_is_still_a_change() {
    let mut changed = plans(V1, &SPACE);
    changed[0].groups[0].critical = false;
    changed[1].files.push(recipe::plan::File { path: Word::from("a"), text: Word::from("b") });
    let changes = check(&lock(V1), &changed, &wants(V1));
    assert_eq!(paths(&changes), ["files", "server.order"]);
}

#[test]
fn a_want_that_failed_keeps_its_pin_and_others_move_only_when_named() {
    let old = lock(V1);
    let wants = wants(V1);
    let image = wants[0].name();
    let moved = BTreeMap::from([(image.clone(), Resolution::Pinned(image_pin("two")))]);
    let kept = refresh(Some(&old), "example", &wants, &moved, &[]);
    assert_eq!(kept.pins, old.pins);
    assert!(kept.states.iter().all(|state| state.state == State::Kept));
    for name in [image.as_str(), IMAGE, "lmsysorg/sglang", "example"] {
        let update = [name.to_owned()];
        assert!(crate::unresolved(Some(&old), "example", &wants, &update).contains(&wants[0]), "{name}");
        let refreshed = refresh(Some(&old), "example", &wants[..1], &moved, &update);
        assert_eq!(refreshed.states[0].state, State::Moved, "{name}");
    }
    assert_eq!(crate::unresolved(Some(&old), "example", &wants, &["sglang".to_owned()]), []);
    let gone = BTreeMap::from([(image.clone(), Resolution::Failed(Outcome::Refused, "404".to_owned()))]);
    let failed = refresh(Some(&old), "example", &wants, &gone, &[IMAGE.to_owned()]);
    assert_eq!(failed.pins, old.pins);
    assert_eq!(failed.states.iter().filter(|state| state.state == State::Failed).count(), 1);
    let fresh = refresh(None, "example", &wants, &gone, &[]);
    let reasons: Vec<&Entry> = fresh.pins.values().collect();
    assert!(reasons.iter().all(|entry| matches!(entry, Entry::Unpinned { .. })));
}

#[test]
fn an_image_without_a_platform_that_is_now_needed_is_asked_for_again() {
    let old = lock(V1);
    let mut wants = wants(V1);
    if let Want::Image { platforms, .. } = &mut wants[0] {
        platforms.push("linux/arm64".to_owned());
    }
    assert_eq!(crate::unresolved(Some(&old), "example", &wants, &[]), wants[..1]);
}

#[test]
fn a_stated_fact_that_a_pin_contradicts_is_an_error() {
    let mut stated = known(V1, "modelopt 0.37");
    if let Some(facts) = stated.checkpoints.get_mut(V1) {
        facts.producer = Some(Fact {
            value: "modelopt 0.45".to_owned(),
            source: Source::Stated("a release note".to_owned()),
        });
        facts.heads = Some(Fact { value: 32, source: Source::Stated("a release note".to_owned()) });
    }
    let (settled, diagnostics) =
        crate::facts::settle(&stated, &Known::default(), &known(V1, "modelopt 0.37"));
    assert_eq!(
        diagnostics.iter().map(|diagnostic| diagnostic.slug.as_str()).collect::<Vec<_>>(),
        ["stated-contradicted"]
    );
    let facts = settled.checkpoints.get(V1).cloned().unwrap_or_default();
    assert_eq!(facts.producer.map(|fact| fact.value), Some("modelopt 0.37".to_owned()));
    assert_eq!(facts.heads.map(|fact| fact.value), Some(32));
}

#[test]
fn changes_of_one_side_merge_and_two_moves_of_one_pin_are_a_conflict() {
    let base = lock(V1);
    let ours = build("example", &plans(V1, &SPACE), pins(V1, "two"), known(V1, V1));
    let theirs = build("example", &plans(V1, &SPACE[..3]), pins(V1, "one"), known(V1, V1));
    let merged = merge(Some(&base), &ours, &theirs);
    assert_eq!(merged.conflicts, []);
    assert_eq!((&merged.lock.pins, &merged.lock.plans), (&ours.pins, &theirs.plans));
    let theirs = build("example", &plans(V1, &SPACE), pins(V1, "three"), known(V1, V1));
    let merged = merge(Some(&base), &ours, &theirs);
    assert_eq!(
        merged.conflicts.iter().map(|conflict| conflict.path.as_str()).collect::<Vec<_>>(),
        [format!("image:{IMAGE}")]
    );
}

#[test]
fn files_merge_into_one_sealed_lock_and_a_pin_moved_twice_is_a_readable_conflict() {
    let of = |image: &str, space: &[(u32, u32)]| {
        build("example", &plans(V1, space), pins(V1, image), known(V1, V1)).write()
    };
    let (base, moved, fewer) = (of("one", &SPACE), of("two", &SPACE), of("one", &SPACE[..3]));
    let Joined::Clean(text) = join("x", &base, &moved, &fewer) else { panic!("no conflict") };
    assert_eq!(text, of("two", &SPACE[..3]));
    let Joined::Clean(turned) = join("x", &base, &fewer, &moved) else { panic!("no conflict") };
    assert_eq!(turned, text);

    let Joined::Conflicted { text, conflicts } = join("x", &base, &moved, &of("three", &SPACE)) else {
        panic!("a conflict")
    };
    assert_eq!(conflicts.len(), 1);
    let between: Vec<&str> = text
        .lines()
        .skip_while(|line| !line.starts_with("<<<<<<<"))
        .take_while(|line| !line.starts_with(">>>>>>>"))
        .collect();
    assert!(between.len() < 10 && between.iter().all(|line| !line.contains("seal")), "{text}");
    let kept = repair("x", &text).map(|merged| merged.lock.pins);
    assert_eq!(kept, Ok(pins(V1, "two")));
}

#[test]
fn two_changes_of_behaviour_conflict_in_the_settings_and_not_in_digests() {
    let of = |space: &[(u32, u32)], interval: &str| {
        let mut plans = plans(V1, space);
        for plan in &mut plans {
            plan.groups[0].replicas[0].ranks[0].argv.push(Word::from(format!("--chunk={interval}").as_str()));
        }
        build("example", &plans, pins(V1, "one"), known(V1, V1)).write()
    };
    let (base, ours, theirs) = (of(&SPACE, "1"), of(&SPACE, "2"), of(&SPACE, "3"));
    let Joined::Conflicted { text, conflicts } = join("x", &base, &ours, &theirs) else {
        panic!("a conflict")
    };
    assert_eq!(conflicts.iter().map(|conflict| conflict.path.as_str()).collect::<Vec<_>>(), ["plans"]);
    assert_eq!(text.matches("<<<<<<< ours").count(), 1, "{text}");
    let between = text.split("<<<<<<< ours\n").nth(1).and_then(|rest| rest.split("\n>>>>>>>").next());
    let between = between.unwrap_or_default();
    assert!(between.contains("--chunk") && !between.contains("sha256:"), "{between}");
    assert!(repair("x", &text).is_ok_and(|merged| merged.conflicts.is_empty()));
}

#[test]
fn a_side_that_was_edited_is_never_sealed_by_a_merge() {
    let (base, ours) =
        (lock(V1).write(), build("example", &plans(V1, &SPACE), pins(V1, "two"), known(V1, V1)));
    let edited = base.replace("--tp-size", "--tp");
    let Joined::Unread { text, findings } = join("x", &base, &ours.write(), &edited) else {
        panic!("not merged")
    };
    assert!(findings.iter().any(|finding| finding.slug.as_str() == "lock-edited"), "{findings:#?}");
    assert!(text.contains("<<<<<<< ours") && Lock::read("x", &text).is_err());
    // An ancestor that nobody can read is none: what differs is a conflict.
    let theirs = build("example", &plans(V1, &SPACE), pins(V1, "three"), known(V1, V1)).write();
    assert!(matches!(join("x", "", &ours.write(), &theirs), Joined::Conflicted { .. }));
}

#[test]
fn a_lock_with_conflict_markers_is_repaired_from_both_sides() {
    let old = lock(V1).write();
    let new = lock(V2).write();
    let text = format!("<<<<<<< HEAD\n{old}=======\n{new}>>>>>>> other\n");
    let merged = repair("x.lock.json", &text);
    let names: Vec<String> = merged.map(|merged| merged.lock.pins.into_keys().collect()).unwrap_or_default();
    assert_eq!(
        names,
        [format!("checkpoint:{V2}@main"), format!("checkpoint:{V1}@main"), format!("image:{IMAGE}")]
    );
}

#[test]
fn a_default_that_a_new_engine_version_changes_under_an_unset_flag_is_named() {
    let old = lock(V1);
    let renamed = "lmsysorg/sglang:v0.5.18";
    let mut plans = plans(V1, &SPACE);
    let mut pins = pins(V1, "two");
    pins.remove(&format!("image:{IMAGE}"));
    let want = Want::Image { reference: renamed.to_owned(), platforms: vec!["linux/amd64".to_owned()] };
    pins.insert(want.name(), Entry::Pinned { want, pin: image_pin("two") });
    for plan in &mut plans {
        plan.image = renamed.to_owned();
    }
    let changes = diff(&old, &build("example", &plans, pins, known(V1, V1)));
    let defaults: Vec<&Change> =
        changes.iter().filter(|change| change.cause == Cause::EngineDefault).collect();
    assert!(!defaults.is_empty(), "{changes:#?}");
    for change in defaults {
        assert!(change.path.starts_with("server.--") && change.old != change.new, "{change:?}");
        assert!(!["server.--tp-size", "server.--model-path"].contains(&change.path.as_str()));
    }
}

#[test]
fn a_client_that_moves_is_said_to_change_results() {
    let with = |commit: &str| {
        let want = Want::Source {
            purpose: "harness".to_owned(),
            repository: "o/harness".to_owned(),
            revision: "main".to_owned(),
            path: String::new(),
        };
        let pin = Pin::Source(crate::pin::Source { commit: commit.repeat(40), sha256: None, merge: None });
        let mut all = pins(V1, "one");
        all.insert(want.name(), Entry::Pinned { want, pin });
        build("example", &plans(V1, &SPACE), all, known(V1, V1))
    };
    let changes = diff(&with("a"), &with("b"));
    assert_eq!(paths(&changes), ["pins.harness.commit"]);
    let comparison = Comparison { changes, ..Comparison::default() };
    let words = summary::words(&comparison, Language::English);
    assert!(words[0].contains("the client harness changed"), "{words:?}");
}

#[test]
fn a_lock_read_in_brief_is_the_lock_without_behaviour_and_no_change_of_a_byte_passes() {
    let whole = lock(V1);
    let text = whole.write();
    let expected = Some(Lock { launch: crate::launch::Launch::default(), ..whole });
    assert_eq!(Lock::brief(&text), expected);
    for at in (0..text.len()).step_by(7) {
        let mut bytes = text.clone().into_bytes();
        bytes[at] = if bytes[at] == b'1' { b'2' } else { b'1' };
        let Ok(changed) = String::from_utf8(bytes) else { continue };
        let (lock, findings) = Lock::open("x", &changed);
        let brief = Lock::brief(&changed);
        assert!(brief.is_none() || brief == expected, "{at}");
        assert_eq!(brief.is_none(), lock.is_none() || findings.has_errors(), "{at}");
    }
    assert_eq!(Lock::brief(&text.replacen("\"version\": 1", "\"version\": 1, \"version\": 1", 1)), None);
}
