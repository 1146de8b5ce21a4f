//! What differs between revisions of srt-slurm, as data: which ports, which flags, which variables.
//!
//! Source: github.com/NVIDIA/srt-slurm at each commit, files `src/srtctl/ports.py`,
//! `core/{schema,topology,runtime}.py`, `backends/*.py`, `frontends/*.py`, `cli/mixins/*.py`,
//! `benchmarks/sa_bench.py` and `templates/nginx.conf.j2`.

/// A revision whose rules are known.
#[derive(Debug)]
pub struct Revision {
    /// The commit.
    pub commit: &'static str,
    /// Its release tag, where it has one.
    pub tag: Option<&'static str>,
    /// A branch that recipes name and that moves; what is known is its state of August 2026.
    pub branch: Option<&'static str>,
    pub(super) facts: Facts,
}

/// The rules that a revision has.
#[derive(Clone, Copy, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is a rule that a revision has or has not")]
pub(super) struct Facts {
    /// Where the counters of ports begin.
    pub ports: Ports,
    /// Whether every process of a worker under data parallelism counts a side-channel port of its
    /// own; otherwise a worker takes a block that its ranks share.
    pub side_channel_each: bool,
    /// Whether the side channel's address is given.
    pub side_channel_host: bool,
    /// Whether each vLLM process gets a `VLLM_PORT` of its own.
    pub vllm_port: bool,
    /// Whether vLLM is told its GPUs by `--device-ids` in place of `CUDA_VISIBLE_DEVICES`.
    pub device_ids: bool,
    /// Whether SGLang is told the port of its NCCL rendezvous.
    pub nccl_port: bool,
    /// Whether SGLang's workers are told the request plane by a flag.
    pub plane_flag_sglang: bool,
    /// Whether vLLM's workers are.
    pub plane_flag_vllm: bool,
    /// The request plane where a recipe names none.
    pub plane: &'static str,
    /// Whether workers get a default `DYN_LOG`, and logs stay in Dynamo's format.
    pub log_defaults: bool,
    /// Whether a worker's own model path and name are taken out of the recipe's flags, and prefill
    /// workers always get a bootstrap port.
    pub owns_flags: bool,
    /// Whether the folder of run-time scripts is mounted.
    pub runtime_scripts: bool,
    /// Whether InferenceX's checkout is mounted.
    pub workspace: bool,
    /// The last arguments of the load generator.
    pub client: Client,
    /// Whether the client learns where the front end is.
    pub client_frontend: bool,
    /// Whether a client of the recipe's own learns where the workers are.
    pub client_workers: bool,
    /// Whether each rank of vLLM under data parallelism is waited for.
    pub waits_for_ranks: bool,
    /// Whether direct vLLM does without discovery.
    pub direct_without_discovery: bool,
    /// How large a request nginx takes, if it is told.
    pub nginx_body: bool,
    /// Whether nginx keeps connections.
    pub nginx_keepalive: bool,
}

/// First port of each kind.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ports {
    pub http: u16,
    pub http_step: u16,
    pub bootstrap: u16,
    pub events: u16,
    pub side_channel: u16,
    pub rendezvous: u16,
    pub init: u16,
    pub system: u16,
}

/// What the load generator is told after the tokenizer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Client {
    /// The request rate of the warm-up.
    WarmupRate,
    /// The tokenizer's mode.
    TokenizerMode,
    /// The dataset's name and path.
    Dataset,
    /// The same, and whether connections are reused.
    Connections,
}

const EARLY: Ports = Ports {
    http: 30000,
    http_step: 1,
    bootstrap: 31000,
    events: 20000,
    side_channel: 21000,
    rendezvous: 13345,
    init: 29500,
    system: 8081,
};

const RELEASED: Ports = Ports {
    http: 6100,
    http_step: 32,
    bootstrap: 7200,
    events: 5200,
    side_channel: 5400,
    rendezvous: 8400,
    init: 8300,
    system: 7500,
};

/// The branch of submissions, from which the others came.
const SUBMISSION: Facts = Facts {
    ports: EARLY,
    side_channel_each: false,
    side_channel_host: true,
    vllm_port: false,
    device_ids: false,
    nccl_port: false,
    plane_flag_sglang: true,
    plane_flag_vllm: true,
    plane: "nats",
    log_defaults: false,
    owns_flags: false,
    runtime_scripts: false,
    workspace: true,
    client: Client::WarmupRate,
    client_frontend: false,
    client_workers: false,
    waits_for_ranks: false,
    direct_without_discovery: false,
    nginx_body: false,
    nginx_keepalive: false,
};

const V1_0_6: Facts = Facts {
    ports: RELEASED,
    plane_flag_sglang: false,
    log_defaults: true,
    owns_flags: true,
    runtime_scripts: true,
    client: Client::Dataset,
    vllm_port: true,
    waits_for_ranks: true,
    nginx_body: true,
    ..SUBMISSION
};

const V1_0_25: Facts = Facts { plane_flag_sglang: true, plane: "tcp", client_frontend: true, ..V1_0_6 };

const V1_0_29: Facts = Facts { client: Client::Connections, ..V1_0_25 };

const V1_0_31: Facts = Facts { device_ids: true, ..V1_0_29 };

const V1_0_38: Facts = Facts { client_workers: true, ..V1_0_31 };

const V1_0_44: Facts = Facts { nginx_keepalive: true, ..V1_0_38 };

const V1_0_53: Facts = Facts { direct_without_discovery: true, ..V1_0_44 };

const VLLM_BRANCH: Facts = Facts { side_channel_each: true, plane_flag_vllm: false, ..SUBMISSION };

static REVISIONS: &[Revision] = &[
    Revision {
        commit: "deb1dfd9934398664f92d194169c183e009da83b",
        tag: None,
        branch: Some("sa-submission-q2-2026"),
        facts: SUBMISSION,
    },
    Revision {
        commit: "758becd9d18dcab1fb722abc1875d73ee81a20cb",
        tag: None,
        branch: Some("aflowers/gb200-dsv4-recipes"),
        facts: Facts { client: Client::TokenizerMode, ..VLLM_BRANCH },
    },
    Revision {
        commit: "517d3c37afeff9c50cb56c38145c38e24135924e",
        tag: None,
        branch: Some("aflowers/vllm-gb200-v0.20.0"),
        facts: Facts {
            side_channel_host: false,
            runtime_scripts: true,
            workspace: false,
            client: Client::Dataset,
            ..VLLM_BRANCH
        },
    },
    Revision {
        commit: "a98738de9b2233459b5456e9ed71af09ce893f92",
        tag: Some("v1.0.6"),
        branch: None,
        facts: V1_0_6,
    },
    Revision {
        commit: "3435776cd6db4c14f8b771ff7a3976deb62fe133",
        tag: Some("v1.0.25"),
        branch: None,
        facts: V1_0_25,
    },
    Revision {
        commit: "c1b6b5c97f323baefad577d70c4e8392b6f537d9",
        tag: Some("v1.0.29"),
        branch: None,
        facts: V1_0_29,
    },
    Revision {
        commit: "0f31474a9b3831af28b5f44c95913776daed9f38",
        tag: Some("v1.0.31"),
        branch: None,
        facts: V1_0_31,
    },
    Revision {
        commit: "cb651682117df129162cd276cf567ec70dc57b36",
        tag: Some("v1.0.36"),
        branch: None,
        facts: V1_0_31,
    },
    Revision {
        commit: "c180328b98c3793ca84a1e24a030f90545eb7d5d",
        tag: Some("v1.0.38"),
        branch: None,
        facts: V1_0_38,
    },
    Revision {
        commit: "e94a843974a81dec32138d2e2255301331f2dd34",
        tag: None,
        branch: None,
        facts: Facts { ..V1_0_44 },
    },
    Revision {
        commit: "04e87fcc505d6d851451781a5499ca19a02ec2b4",
        tag: Some("v1.0.44"),
        branch: None,
        facts: V1_0_44,
    },
    Revision {
        commit: "9d8d92b20c350a5d42f0709f5a0b64e30eb37d33",
        tag: Some("v1.0.45"),
        branch: None,
        facts: V1_0_44,
    },
    Revision {
        commit: "e4019633c9e2bc25f38c44b81edf52bb0504d937",
        tag: Some("v1.0.50"),
        branch: None,
        facts: V1_0_44,
    },
    Revision {
        commit: "217f94387abeddfed7149a71955dc523e07cd765",
        tag: Some("v1.0.53"),
        branch: None,
        facts: V1_0_53,
    },
    Revision {
        commit: "c88ef731636890ff6385a783e152c1790e15b194",
        tag: Some("v1.0.68"),
        branch: Some("main"),
        facts: Facts { nccl_port: true, ..V1_0_53 },
    },
];

impl Revision {
    /// Returns the revision that a tag, a branch or a commit (seven digits or more) names.
    #[must_use]
    pub fn named(name: &str) -> Option<&'static Self> {
        let digits = name.len() >= 7 && name.bytes().all(|byte| byte.is_ascii_hexdigit());
        REVISIONS.iter().find(|revision| {
            revision.tag == Some(name)
                || revision.branch == Some(name)
                || digits && revision.commit.starts_with(name)
        })
    }

    /// Returns all whose rules are known, the oldest first.
    #[must_use]
    pub fn all() -> &'static [Self] {
        REVISIONS
    }

    /// Returns what people call it: its tag, its branch, or the commit.
    #[must_use]
    pub fn name(&self) -> &'static str {
        self.tag.or(self.branch).unwrap_or(self.commit)
    }
}
