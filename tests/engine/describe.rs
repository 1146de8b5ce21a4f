//! Descriptions of released packages, read from their source: small made packages, whose modules
//! must not run, and the releases themselves where they are at hand.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::support::{Sandbox, repository, shared};

fn python(arguments: &[&str]) -> (bool, String) {
    let output = Command::new("python3").args(arguments).output().unwrap();
    let text =
        format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    (output.status.success(), text)
}

fn tool(name: &str) -> String {
    repository().join("compiler/engine/tables").join(name).to_str().unwrap().to_owned()
}

/// Describes a source and makes its table.
fn table(sandbox: &Sandbox, engine: &str, version: &str, source: &Path) -> String {
    let (descriptions, tables) = (sandbox.path("descriptions"), sandbox.path("tables"));
    for folder in [&descriptions, &tables] {
        let _ = fs::remove_dir_all(folder);
        fs::create_dir_all(folder).unwrap();
    }
    let text = |path: &Path| path.to_str().unwrap().to_owned();
    let (good, said) = python(&[&tool("describe.py"), engine, version, &text(source), &text(&descriptions)]);
    assert!(good, "{said}");
    let (good, said) = python(&["-B", &tool("make.py"), &text(&descriptions), &text(&tables)]);
    assert!(good, "{said}");
    fs::read_to_string(tables.join(format!("{engine}.table"))).unwrap()
}

const FLEXIBLE: &str = r#"
import argparse
from typing import Annotated as A, List, Literal, Optional
from sglang.srt.arg_utils import Arg, add_cli_args_from_dataclass
from sglang.srt.kinds import Kind, KINDS

raise SystemExit("this module was run")

class ServerArgs:
    model_path: A[str, Arg(help="Weights.", aliases=["--model"])]
    port: A[int, "The port."] = 30000
    ratio: A[Optional[float], "A share."] = None
    kind: A[str, Arg(help="One of them.", choices=KINDS + ["auto"], resolvable=True)] = "auto"
    level: A[Literal["low", "high"], "How much."] = "low"
    hosts: A[Optional[List[str]], "All of them."] = None
    trace: A[bool, "[Deprecated] Writes a trace."] = False
    inner: A[int, Arg(no_cli=True)] = 1
    plain: int = 2

    @staticmethod
    def add_cli_args(parser):
        add_cli_args_from_dataclass(parser, ServerArgs)
        kinds = [kind.name.lower() for kind in Kind]
        parser.add_argument("--second-kind", type=str, choices=["none"] + kinds, default=ServerArgs.kind)
        parser.add_argument("--old-port", action=DeprecatedAliasStoreAction, new_flag="--port", dest="port", type=int)
        parser.add_argument("--measured", type=int, default=measure())
"#;

const KINDS: &str = "from enum import Enum\nKINDS = ['dense', 'sparse']\nclass Kind(Enum):\n    DENSE = 1\n    SPARSE = 2\nopen('ran', 'w')\n";

const ENVIRON: &str = "import os\nclass Envs:\n    SGLANG_FAST = EnvBool(False)\n    SGLANG_MANY = EnvInt(3)\n    SGLANG_NEW = EnvStrWithAlias('x', deprecated_name='SGLANG_OLD')\nHOST = os.environ.get('HOST_NAME', '')\n";

const SGLANG_TABLE: &str = "\
engine\tsglang
versions\t1.0
parser\t..\tabbreviations
flag\t..\t--hosts\thosts\tlist\ttext
flag\t..\t--kind\tkind\tvalue\ttext\tchoices=dense|sparse|auto\tdefault=\"auto\"\tresolved
flag\t..\t--level\tlevel\tvalue\ttext\tchoices=low|high\tdefault=\"low\"
flag\t..\t--measured\tmeasured\tvalue\tinteger
flag\t..\t--model-path,--model\tmodel_path\tvalue\ttext\trequired
flag\t..\t--old-port\tport\tvalue\tinteger\tdeprecated\tuse=--port
flag\t..\t--port\tport\tvalue\tinteger\tdefault=30000
flag\t..\t--ratio\tratio\tvalue\tnumber
flag\t..\t--second-kind\tsecond_kind\tvalue\ttext\tchoices=none|dense|sparse\tdefault=\"auto\"
flag\t..\t--trace\ttrace\tswitch\tbool\tdefault=false\tdeprecated
env\t..\tHOST_NAME
env\t..\tSGLANG_FAST\ttype=bool
env\t..\tSGLANG_MANY\ttype=integer
env\t..\tSGLANG_NEW
env\t..\tSGLANG_OLD
renamed\t..\tSGLANG_OLD\tSGLANG_NEW
";

#[test]
fn a_package_is_described_from_a_wheel_an_archive_and_a_folder_and_never_run() {
    let sandbox = Sandbox::new();
    sandbox.write("src/sglang/srt/server_args.py", FLEXIBLE);
    sandbox.write("src/sglang/srt/kinds.py", KINDS);
    sandbox.write("src/sglang/srt/environ.py", ENVIRON);
    let text = |path: &str| sandbox.path(path).to_str().unwrap().to_owned();
    let package = text("src/sglang");
    assert!(python(&["-m", "zipfile", "-c", &text("sglang-1.0-py3-none-any.whl"), &package]).0);
    assert!(python(&["-m", "tarfile", "-c", &text("sglang-1.0.tar.gz"), &package]).0);
    for source in ["src", "sglang-1.0-py3-none-any.whl", "sglang-1.0.tar.gz"] {
        assert_eq!(table(&sandbox, "sglang", "1.0", &sandbox.path(source)), SGLANG_TABLE, "{source}");
    }
    assert!(!Path::new("ran").exists() && !sandbox.path("ran").exists());
}

const ARG_UTILS: &str = r#"
import json
from vllm.config import CacheConfig, ModelConfig
raise SystemExit("this module was run")

def _compute_kwargs(cls):
    for name in fields(cls):
        if name in {"max_tokens"}:
            kwargs[name]["type"] = human_readable_int

class EngineArgs:
    @staticmethod
    def add_cli_args(parser):
        model_kwargs = get_kwargs(ModelConfig)
        group = parser.add_argument_group(title="ModelConfig")
        group.add_argument("--runner", **model_kwargs["runner"])
        group.add_argument("--tokenizer", **model_kwargs["tokenizer"])
        group.add_argument("--eager", **model_kwargs["eager"])
        group.add_argument("--max-tokens", "-mt", **{**model_kwargs["max_tokens"], "default": None})
        model_kwargs["overrides"]["type"] = optional_type(json.loads)
        group.add_argument("--overrides", **model_kwargs["overrides"])
        group.add_argument("--cache-config", **model_kwargs["cache"])
        group.add_argument("--hidden", type=int, default=measure())
        return parser

class AsyncEngineArgs(EngineArgs):
    @staticmethod
    def add_cli_args(parser):
        parser = EngineArgs.add_cli_args(parser)
        parser.add_argument("--log-requests", action=argparse.BooleanOptionalAction, default=False)
        return parser
"#;

const CONFIG: &str = r#"
from typing import Any, Literal
from pydantic import Field
Size = Literal["small", "large"]
Runner = Literal["auto", Size]

@config
class CacheConfig:
    size: Size = "small"
    share: float = 0.9
    layers: list[int] | None = None

@config
class ModelConfig:
    runner: Runner = "auto"
    tokenizer: str | None = None
    eager: bool = Field(default=False)
    max_tokens: int = Field(default=None, ge=1)
    overrides: dict[str, Any] = field(default_factory=dict)
    cache: CacheConfig | None = None
"#;

const CLI_ARGS: &str = r#"
from vllm.engine.arg_utils import AsyncEngineArgs

@config
class BaseFrontendArgs:
    origins: list[str] = field(default_factory=lambda: ["*"])

    @classmethod
    def _customize_cli_kwargs(cls, frontend_kwargs):
        frontend_kwargs["origins"]["type"] = json.loads
        del frontend_kwargs["origins"]["nargs"]
        return frontend_kwargs

    @classmethod
    def add_cli_args(cls, parser):
        frontend_kwargs = get_kwargs(cls)
        frontend_kwargs = cls._customize_cli_kwargs(frontend_kwargs)
        for key, value in frontend_kwargs.items():
            parser.add_argument(f"--{key.replace('_', '-')}", **value)
        return parser

@config
class FrontendArgs(BaseFrontendArgs):
    port: int = 8000

def make_arg_parser(parser):
    parser.add_argument("model_tag", type=str, nargs="?")
    parser = FrontendArgs.add_cli_args(parser)
    parser = AsyncEngineArgs.add_cli_args(parser)
    return parser
"#;

const ENVS: &str = r#"
import os
VLLM_COUNT: int = 1
environment_variables = {
    "VLLM_COUNT": lambda: int(os.getenv("VLLM_COUNT", "1")),
    "VLLM_SIZE": env_with_choices("VLLM_SIZE", "s", ["s", "l"]),
}
"#;

const VLLM_TABLE: &str = "\
engine\tvllm
versions\t2.0
parser\t..\tabbreviations underscores dotted
flag\t..\t--cache-config\tcache_config\tvalue\tjson\tclass=CacheConfig\tfields=layers|share|size\toptional
flag\t..\t--eager\teager\ttoggle\tbool\tno=--no-eager\tdefault=false
flag\t..\t--hidden\thidden\tvalue\tinteger
flag\t..\t--log-requests\tlog_requests\ttoggle\tbool\tno=--no-log-requests\tdefault=false
flag\t..\t--max-tokens,-mt\tmax_tokens\tvalue\thuman-integer
flag\t..\t--origins\torigins\tvalue\tjson\tdefault=[\"*\"]
flag\t..\t--overrides\toverrides\tvalue\tjson
flag\t..\t--port\tport\tvalue\tinteger\tdefault=8000
flag\t..\t--runner\trunner\tvalue\ttext\tchoices=auto|large|small\tdefault=\"auto\"
flag\t..\t--tokenizer\ttokenizer\tvalue\ttext\toptional
flag\t..\tmodel_tag\tmodel_tag\tpositional\ttext
field\t..\tCacheConfig\tlayers\tlist\tinteger
field\t..\tCacheConfig\tshare\tvalue\tnumber
field\t..\tCacheConfig\tsize\tvalue\ttext\tchoices=large|small
env\t..\tVLLM_COUNT\ttype=integer
env\t..\tVLLM_SIZE\tchoices=s|l
";

#[test]
fn a_hostile_package_ends_in_what_only_a_run_could_tell() {
    let sandbox = Sandbox::new();
    let mut text =
        "from typing import Annotated as A\nv0 = ['x'] * 3\nw0 = ['x', 'y']\nn0 = 9\nloop = loop + [1]\n"
            .to_owned();
    for step in 1..50 {
        let before = step - 1;
        text += &format!("w{step} = w{before} + w{before}\nn{step} = n{before} ** 63\n");
    }
    text += &format!(
        "class ServerArgs:\n    deep: A[str, 'x'] = {}'x'{}\n    long: A[str, 'x'] = w49\n    big: A[int, 'x'] = n49\n    \
         again: A[str, 'x'] = loop\n\n    def add_cli_args(parser):\n        pass\n",
        "[".repeat(80),
        "]".repeat(80)
    );
    sandbox.write("src/sglang/srt/server_args.py", text);
    let made = table(&sandbox, "sglang", "1", &sandbox.path("src"));
    assert!(made.contains("flag\t..\t--big\tbig\tvalue\tinteger\n"), "{made}");
    assert!(made.contains("flag\t..\t--long\tlong\tvalue\ttext\n"), "{made}");
}

#[test]
fn configuration_classes_become_flags_as_the_engine_makes_them() {
    let sandbox = Sandbox::new();
    for (name, text) in [
        ("engine/arg_utils", ARG_UTILS),
        ("config/__init__", CONFIG),
        ("entrypoints/openai/cli_args", CLI_ARGS),
        ("envs", ENVS),
    ] {
        sandbox.write(&format!("src/vllm/{name}.py"), text);
    }
    assert_eq!(table(&sandbox, "vllm", "2.0", &sandbox.path("src")), VLLM_TABLE);
}

#[test]
fn what_is_no_package_is_refused_in_one_line() {
    let sandbox = Sandbox::new();
    sandbox.write("text", "no archive");
    sandbox.write("other/x.py", "");
    sandbox.write("broken/sglang/srt/server_args.py", "def (");
    let deep = "1 + ".repeat(900);
    let sum = format!(
        "class ServerArgs:\n    x: A[str, 'x'] = {deep}1\n\n    def add_cli_args(parser):\n        pass\n"
    );
    sandbox.write("deep/sglang/srt/server_args.py", sum);
    for (source, says) in [
        ("text", "is no wheel, no source archive and no folder"),
        ("nowhere", "is no wheel, no source archive and no folder"),
        ("other", "has no package `sglang`"),
        ("deep", "nested too deep"),
        ("broken", "no readable module `sglang.srt.server_args`"),
    ] {
        let path = sandbox.path(source);
        let out = sandbox.path("out");
        let (good, said) =
            python(&[&tool("describe.py"), "sglang", "1", path.to_str().unwrap(), out.to_str().unwrap()]);
        assert!(!good && said.contains(says) && said.lines().count() == 1, "{source}: {said}");
    }
}

/// Compares with the descriptions that the project was given, for the releases in
/// `RECIPEC_RELEASES`; skipped without it.
#[test]
fn releases_are_described_as_they_were_before() {
    let Some(releases) = std::env::var_os("RECIPEC_RELEASES") else {
        println!(
            "releases_are_described_as_they_were_before: skipped, RECIPEC_RELEASES names no folder of unpacked wheels"
        );
        return;
    };
    let Some(shared) = shared("releases_are_described_as_they_were_before") else { return };
    let mut roots: Vec<_> = fs::read_dir(releases).unwrap().map(|entry| entry.unwrap().path()).collect();
    roots.sort();
    for root in roots {
        let name = root.file_name().unwrap().to_str().unwrap().to_owned();
        let before = shared.join(format!("engines/{name}.json"));
        let Some((engine, version)) = name.split_once('-').filter(|_| before.is_file()) else { continue };
        let path = root.to_str().unwrap();
        let (_, said) =
            python(&[&tool("describe.py"), engine, version, path, "--beside", before.to_str().unwrap()]);
        println!("{name}:");
        for line in said.lines().filter(|line| !line.starts_with("  ")) {
            println!("  {line}");
        }
        let flags = said.lines().find_map(|line| line.strip_prefix("flag: ")).expect(&said);
        let count = |word: usize| flags.split_whitespace().nth(word).unwrap().parse::<u32>().unwrap();
        let (both, here, there) = (count(0), count(4), count(7));
        // What differs was looked at: the order of numbers, members that nobody sets, two notes.
        assert!(both > 200 && here <= 4 && here == there, "{name}: {said}");
    }
}
