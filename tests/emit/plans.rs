//! Plans, locks and places for tests of scripts, made by hand: nothing here is a real recipe.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write as _;
use std::process::{Command, Stdio};

use emit::{Import, Runtime, Site};
use lock::pin::{Entry, File, Image, Pin, Platform, Snapshot};
use lock::{Digest, Lock};
use recipe::plan::{
    Group, Hole, Mode, Mount, Parallel, Phase, Plan, Pool, Rank, Ready, Replica, Role, Seat, Step, Word,
};
use recipe::want::Want;

pub const REPOSITORY: &str = "example/tiny-model";
pub const COMMIT: &str = "0123456789abcdef0123456789abcdef01234567";

/// A plan with everything that its script is made of.
#[derive(Clone, Debug)]
pub struct Case {
    pub plan: Plan,
    pub lock: Lock,
    pub files: BTreeMap<Digest, Vec<File>>,
    pub site: Site,
}

impl Case {
    /// Returns the script, or fails with what the emitter says.
    #[track_caller]
    pub fn script(&self) -> emit::Script {
        self.try_script().unwrap_or_else(|found| panic!("{found:?}"))
    }

    pub fn try_script(&self) -> Result<emit::Script, diag::Diagnostics> {
        emit::script_at(&self.plan, &emit::Source::new(&self.lock, &self.files), &self.site)
    }

    /// Pins an image as the one that the plan wants.
    pub fn pin_image(&mut self, reference: &str, digest: &Digest, config: Option<Digest>) {
        let want = Want::Image { reference: reference.to_owned(), platforms: vec!["linux/amd64".to_owned()] };
        self.plan.wants.retain(|name| !name.starts_with("image:"));
        self.plan.wants.insert(want.name());
        reference.clone_into(&mut self.plan.image);
        let platform = Platform {
            digest: digest.clone(),
            config,
            media_type: "application/vnd.oci.image.manifest.v1+json".to_owned(),
            size: 1,
        };
        let pin = Pin::Image(Image {
            digest: Digest::of(b"the index"),
            media_type: "application/vnd.oci.image.index.v1+json".to_owned(),
            size: 1,
            platforms: [("linux/amd64".to_owned(), platform)].into(),
        });
        self.lock.pins.insert(want.name(), Entry::Pinned { want, pin });
    }

    /// Makes the plan serve a checkpoint of these files.
    pub fn serve(&mut self, files: Vec<File>) {
        let want = Want::Checkpoint { repository: REPOSITORY.to_owned(), revision: "main".to_owned() };
        self.plan.wants.insert(want.name());
        let digest = lock::files::digest(&files);
        let pin = Pin::Checkpoint(Snapshot {
            commit: COMMIT.to_owned(),
            renamed: None,
            files: digest.clone(),
            count: files.len() as u64,
            bytes: files.iter().map(|file| file.size).sum(),
        });
        self.files.insert(digest, files);
        self.lock.pins.insert(want.name(), Entry::Pinned { want, pin });
    }

    /// Puts a group before the others.
    pub fn prepend(&mut self, group: Group) {
        self.plan.groups.insert(0, group);
        self.plan.finish += 1;
        for group in &mut self.plan.groups {
            for after in &mut group.after {
                *after += 1;
            }
        }
    }

    pub fn server(&mut self) -> &mut Rank {
        self.rank(|role| matches!(role, Role::Serve(_)))
    }

    pub fn client(&mut self) -> &mut Rank {
        self.rank(|role| matches!(role, Role::Client | Role::Eval))
    }

    fn rank(&mut self, wanted: impl Fn(Role) -> bool) -> &mut Rank {
        let group = self.plan.groups.iter_mut().find(|group| wanted(group.role)).unwrap();
        &mut group.replicas[0].ranks[0]
    }
}

pub fn words(list: &[&str]) -> Vec<Word> {
    list.iter().map(|text| Word::from(*text)).collect()
}

/// Returns a word of text, hole, text.
pub fn word(before: &str, hole: Hole, after: &str) -> Word {
    let mut word = Word::from(before);
    word.push_hole(hole);
    word.push_text(after);
    word
}

pub fn group(
    role: Role,
    kind: &str,
    argv: Vec<Word>,
    env: &[(&str, &str)],
    ready: Ready,
    after: Vec<usize>,
) -> Group {
    let env = env.iter().map(|(name, value)| ((*name).to_owned(), Word::from(*value))).collect();
    let rank = Rank {
        seat: Seat { pool: 0, node: 0, first: 0, gpus: 4 },
        argv,
        env,
        unset: BTreeSet::new(),
        ports: BTreeMap::new(),
    };
    let parallel = Parallel { tp: 4, pp: 1, ep: 1, dp_attn: false, dcp: 1, pcp: 1 };
    let engine = matches!(role, Role::Serve(_));
    Group {
        role,
        name: kind.to_owned(),
        kind: kind.to_owned(),
        image: None,
        mounts: None,
        replicas: vec![Replica {
            parallel: engine.then_some(parallel),
            ranks: vec![rank],
            step: Step::EachRank,
        }],
        after,
        ready,
        within: None,
        critical: engine,
    }
}

/// Returns a plan of one engine and one client in a container at `workspace`, whose engine listens
/// on `port`.
pub fn plain(workspace: &str, port: u16) -> Case {
    let mut engine = words(&["engine", "--port"]);
    engine.push(Word::from(port.to_string()));
    let ready = Ready::Http { port: Word::from(port.to_string()), path: "/health".to_owned() };
    let server = group(Role::Serve(Phase::Agg), "server", engine, &[("ENGINE_MODE", "fast")], ready, vec![]);
    let mut client = words(&["client", "--url"]);
    client.push(Word::from(format!("http://127.0.0.1:{port}")));
    client.push(Word::from(format!("result={workspace}/result.json")));
    let client = group(Role::Client, "client", client, &[], Ready::Ended, vec![0]);
    let plan = Plan {
        recipe: "example-recipe".to_owned(),
        target: "example-target".to_owned(),
        mode: Mode::Throughput,
        job: Some(3),
        points: vec![],
        image: String::new(),
        allocate: None,
        kubernetes: None,
        container: vec![],
        passed: BTreeMap::new(),
        secrets: BTreeSet::from(["HF_TOKEN".to_owned()]),
        mounts: vec![Mount {
            from: Word::hole(Hole::Workspace),
            to: Word::from(workspace),
            readonly: false,
            create: false,
        }],
        pools: vec![Pool { nodes: 1, gpus: 4 }],
        groups: vec![server, client],
        files: vec![],
        finish: 1,
        wants: BTreeSet::new(),
    };
    let site = Site {
        platform: "linux/amd64".to_owned(),
        runtime: Runtime::Docker,
        staged: BTreeMap::new(),
        cache: None,
        directory: None,
        readonly: vec![],
        writable: vec![],
    };
    let lock = Lock { recipe: "example-recipe".to_owned(), ..Lock::default() };
    let mut case = Case { plan, lock, files: BTreeMap::new(), site };
    case.pin_image("example/engine:v1", &Digest::of(b"the manifest"), None);
    case
}

/// Returns [`plain`] on a Slurm cluster that allocates first and imports into `squash`.
pub fn slurm(workspace: &str, port: u16, squash: &str) -> Case {
    let mut case = plain(workspace, port);
    case.site.runtime = Runtime::Pyxis { squash: Some(squash.to_owned()), import: Import::Compute };
    let mut allocate = words(&["salloc", "--partition=gpu", "--gres=gpu:4", "--time=180", "--no-shell"]);
    allocate.push(word("--job-name=", Hole::Runner, ""));
    case.plan.allocate = Some(allocate);
    case.plan.container = vec![
        "srun".into(),
        word("--jobid=", Hole::Job, ""),
        format!("--container-image={squash}/example_engine_v1.sqsh").into(),
        word("--container-mounts=", Hole::Workspace, &format!(":{workspace}")),
        "--no-container-mount-home".into(),
        format!("--container-workdir={workspace}").into(),
        "--no-container-entrypoint".into(),
        format!("--export=PORT={port},HF_TOKEN").into(),
    ];
    case
}

/// Returns [`plain`] on a Slurm cluster whose container step allocates and pulls by itself.
pub fn direct(workspace: &str, port: u16) -> Case {
    let mut case = slurm(workspace, port, "/unused");
    case.site.runtime = Runtime::Pyxis { squash: None, import: Import::Compute };
    case.plan.allocate = None;
    case.plan.container = vec![
        "srun".into(),
        "--partition=gpu".into(),
        "--gres=gpu:4".into(),
        "--exclusive".into(),
        word("--job-name=", Hole::Runner, ""),
        "--container-image=example/engine:v1".into(),
        word("--container-mounts=", Hole::Workspace, &format!(":{workspace}")),
        "--no-container-mount-home".into(),
        "--container-remap-root".into(),
        "--container-writable".into(),
        format!("--container-workdir={workspace}").into(),
        "--no-container-entrypoint".into(),
        format!("--export=PORT={port},HF_TOKEN").into(),
    ];
    case
}

/// Returns [`plain`] on a Docker host.
pub fn docker(workspace: &str, port: u16) -> Case {
    let mut case = plain(workspace, port);
    case.plan.container = vec![
        "docker".into(),
        "run".into(),
        "--rm".into(),
        word("--name=bench-", Hole::Runner, ""),
        "--network=host".into(),
        "--privileged".into(),
        "--shm-size=64m".into(),
        "--volume".into(),
        word("", Hole::Workspace, &format!(":{workspace}")),
        format!("--workdir={workspace}").into(),
        format!("--env=PORT={port}").into(),
        "--entrypoint=/bin/bash".into(),
        "example/engine:v1".into(),
    ];
    case
}

/// Returns the lock's line for a file of this content: by blob id if it is small, else by sha256.
pub fn file(path: &str, content: &[u8], small: bool) -> File {
    let blob = small.then(|| blob_id(content));
    let sha256 = (!small).then(|| Digest::of(content));
    File { path: path.to_owned(), size: content.len() as u64, sha256, blob }
}

/// Returns a git blob id, as coreutils computes it.
fn blob_id(content: &[u8]) -> String {
    let mut child = Command::new("sha1sum").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    write!(input, "blob {}\0", content.len()).unwrap();
    input.write_all(content).unwrap();
    drop(input);
    String::from_utf8(child.wait_with_output().unwrap().stdout).unwrap()[..40].to_owned()
}

/// Returns the step that downloads the checkpoint, into a hub cache or a folder.
pub fn download(cache: &str, folder: Option<&str>) -> Group {
    let mut argv = words(&["hf", "download", REPOSITORY]);
    if let Some(folder) = folder {
        argv.extend(words(&["--local-dir", folder]));
    }
    let mut group = group(Role::Stage, "download", argv, &[("HF_HUB_CACHE", cache)], Ready::Ended, vec![]);
    group.critical = true;
    group
}
