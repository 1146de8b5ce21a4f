//! Scripts per second, of a plan the size of a real one with a checkpoint of 100 files.
#![allow(clippy::disallowed_methods, clippy::disallowed_types, reason = "a benchmark reads the clock")]
#![allow(
    clippy::print_stdout,
    clippy::unwrap_used,
    missing_docs,
    reason = "a benchmark prints and fails loudly"
)]

use std::collections::{BTreeMap, BTreeSet};
use std::time::Instant;

use lock::pin::{Entry, File, Image, Pin, Platform, Snapshot};
use lock::{Digest, Lock};
use recipe::plan::{
    Group, Hole, Mode, Mount, Phase, Plan, Pool, Rank, Ready, Replica, Role, Seat, Step, Word,
};
use recipe::want::Want;
use recipec_emit::{self as emit, Import, Runtime, Site, Source};

fn group(role: Role, kind: &str, argv: Vec<Word>, ready: Ready) -> Group {
    let env = (0..8).map(|number| (format!("VARIABLE_{number}"), Word::from("some value"))).collect();
    let seat = Seat { pool: 0, node: 0, first: 0, gpus: 8 };
    let rank = Rank { seat, argv, env, unset: BTreeSet::new(), ports: BTreeMap::new() };
    Group {
        role,
        name: kind.to_owned(),
        kind: kind.to_owned(),
        image: None,
        mounts: None,
        replicas: vec![Replica { parallel: None, ranks: vec![rank], step: Step::EachRank }],
        after: vec![],
        ready,
        within: None,
        critical: true,
    }
}

fn hole(before: &str, hole: Hole, after: &str) -> Word {
    let mut word = Word::from(before);
    word.push_hole(hole);
    word.push_text(after);
    word
}

fn plan() -> Plan {
    let flags = |count: usize| -> Vec<Word> {
        (0..count)
            .flat_map(|number| [Word::from(format!("--some-flag-{number}")), Word::from("{\"a\": 1}")])
            .collect()
    };
    let ready = Ready::Http { port: "8888".into(), path: "/health".to_owned() };
    Plan {
        recipe: "example".to_owned(),
        target: "cluster".to_owned(),
        mode: Mode::Throughput,
        job: Some(1),
        points: vec![],
        image: "example/engine:v1".to_owned(),
        allocate: Some(vec!["salloc".into(), "--no-shell".into(), hole("--job-name=", Hole::Runner, "")]),
        kubernetes: None,
        container: vec![
            "srun".into(),
            hole("--jobid=", Hole::Job, ""),
            "--container-image=/squash/x.sqsh".into(),
            hole("--container-mounts=", Hole::Workspace, ":/workspace"),
            "--container-workdir=/workspace".into(),
        ],
        passed: BTreeMap::new(),
        secrets: BTreeSet::from(["HF_TOKEN".to_owned()]),
        mounts: vec![Mount {
            from: Word::hole(Hole::Workspace),
            to: "/workspace".into(),
            readonly: false,
            create: false,
        }],
        pools: vec![Pool { nodes: 1, gpus: 8 }],
        groups: vec![
            group(Role::Serve(Phase::Agg), "server", flags(35), ready),
            group(Role::Client, "client", flags(25), Ready::Ended),
        ],
        files: vec![],
        finish: 1,
        wants: BTreeSet::from([
            "image:example/engine:v1".to_owned(),
            "checkpoint:example/model@main".to_owned(),
        ]),
    }
}

fn main() {
    let digest = Digest::of(b"x");
    let media_type = "application/vnd.oci.image.manifest.v1+json".to_owned();
    let platform = Platform { digest: digest.clone(), config: None, media_type: media_type.clone(), size: 1 };
    let image = Image {
        digest: digest.clone(),
        media_type,
        size: 1,
        platforms: [("linux/amd64".to_owned(), platform)].into(),
    };
    let files: Vec<File> = (0..100)
        .map(|number| File {
            path: format!("model-{number:05}-of-00100.safetensors"),
            size: 5_000_000_000,
            sha256: Some(digest.clone()),
            blob: None,
        })
        .collect();
    let list = lock::files::digest(&files);
    let commit = "0123456789abcdef0123456789abcdef01234567".to_owned();
    let snapshot =
        Snapshot { commit, renamed: None, files: list.clone(), count: 100, bytes: 500_000_000_000 };
    let wants = [
        (
            Want::Image {
                reference: "example/engine:v1".to_owned(),
                platforms: vec!["linux/amd64".to_owned()],
            },
            Pin::Image(image),
        ),
        (
            Want::Checkpoint { repository: "example/model".to_owned(), revision: "main".to_owned() },
            Pin::Checkpoint(snapshot),
        ),
    ];
    let pins = wants.into_iter().map(|(want, pin)| (want.name(), Entry::Pinned { want, pin })).collect();
    let plan = plan();
    let lock = Lock { recipe: "example".to_owned(), pins, ..Lock::default() };
    let files = BTreeMap::from([(list, files)]);
    let site = Site {
        platform: "linux/amd64".to_owned(),
        runtime: Runtime::Pyxis { squash: Some("/squash".to_owned()), import: Import::Compute },
        staged: [("example/model".to_owned(), "/models/model".to_owned())].into(),
        cache: None,
        directory: None,
        readonly: vec![],
        writable: vec![],
    };
    let source = Source::new(&lock, &files);
    let one = emit::script_at(&plan, &source, &site).unwrap();
    let mut rates: Vec<f64> = (0..5)
        .map(|_| {
            let begun = Instant::now();
            let mut bytes = 0;
            for _ in 0..1000 {
                bytes += emit::script_at(std::hint::black_box(&plan), &source, &site).unwrap().text.len();
            }
            assert_eq!(bytes, one.text.len() * 1000);
            1000.0 / begun.elapsed().as_secs_f64()
        })
        .collect();
    rates.sort_by(f64::total_cmp);
    println!(
        "emit: {:.0} scripts a second, the median of five rounds of 1000; one has {} bytes",
        rates[2],
        one.text.len()
    );
}
