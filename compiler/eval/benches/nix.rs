//! recipec beside real Nix, on the same inputs in the same run: `cargo bench -p recipec-eval`.
//!
//! Build the command first (`cargo build --release`), or name one in `RECIPEC_BIN`. The peer is the
//! `nix-instantiate` on the path; its version is printed. Each figure is the median of eleven runs
//! that take turns, so that both meet the same machine. With `-- --instructions` the instructions
//! of the evaluator alone are counted by valgrind instead, compared with `benches/instructions.txt`,
//! and written there: unlike times they are the same on a busy machine, so a regression shows in the
//! diff.

#![allow(
    clippy::disallowed_types,
    clippy::disallowed_methods,
    reason = "a benchmark runs programs and reads the clock"
)]
#![allow(clippy::print_stdout, clippy::unwrap_used, reason = "a benchmark prints, and fails loudly")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use recipec_eval::{Limits, MemoryFiles, Session};

const RUNS: usize = 11;

/// 200 recipes of 50 points each, computed with functions, `//` and interpolation.
const COMPUTED: &str = r#"
let
  models = [ "llama" "qwen" "deepseek" "gptoss" ];
  engines = {
    sglang = { program = "sglang"; image = "lmsysorg/sglang:v0.5.14"; };
    vllm = { program = "vllm"; image = "vllm/vllm-openai:v0.11"; };
  };
  base = {
    precision = "fp8";
    isl = 1024;
    osl = 1024;
    flags = { trust-remote-code = true; kv-cache-dtype = "fp8_e4m3"; };
  };
  point = recipe: n:
    let
      tp = 1 + n / 10;
      conc = 4 * (n + 1);
    in
    {
      name = "${recipe.name}-tp${toString tp}-conc${toString conc}";
      inherit tp conc;
      ep = if tp > 4 then tp else 1;
    }
    // recipe.base
    // {
      flags = recipe.base.flags // {
        tensor-parallel-size = tp;
        max-running-requests = conc;
        cuda-graph-max-bs = if conc > 64 then 64 else conc;
      }
      // (if conc > 100 then { scheduler-recv-interval = 30; } else { });
      env = { CONC = toString conc; MODEL = recipe.model; PORT = "8888"; };
    };
  recipe = i:
    let
      model = builtins.elemAt models (i - i / 4 * 4);
      engine = if i < 100 then engines.sglang else engines.vllm;
      self = {
        name = "${model}-${base.precision}-${toString i}";
        inherit model;
        base = base // { inherit (engine) image; };
      };
    in
    {
      inherit (self) name;
      value = { inherit (self) name model; points = builtins.genList (point self) 50; };
    };
in
builtins.listToAttrs (builtins.genList recipe 200)
"#;

/// The same value written out, one attribute a line where a line is short.
fn written_out() -> String {
    let nothing = MemoryFiles::default();
    let mut session = Session::new(&nothing, Limits::default());
    let value = session.evaluate_text("computed.nix", COMPUTED).unwrap();
    session.force_deep(&value).unwrap();
    let json = session.json(&value).unwrap();
    let mut text = String::new();
    write(&json, &mut text);
    text
}

fn write(value: &serde_json::Value, out: &mut String) {
    match value {
        serde_json::Value::Object(members) => {
            out.push_str("{\n");
            for (name, value) in members {
                out.push_str(name);
                out.push_str(" = ");
                write(value, out);
                out.push_str(";\n");
            }
            out.push('}');
        }
        serde_json::Value::Array(elements) => {
            out.push_str("[\n");
            for element in elements {
                write(element, out);
                out.push('\n');
            }
            out.push(']');
        }
        scalar => out.push_str(&scalar.to_string()),
    }
}

/// One program with its arguments before the file.
struct Peer {
    name: &'static str,
    command: Vec<String>,
}

impl Peer {
    fn command(&self, file: &Path) -> Command {
        let mut command = Command::new(&self.command[0]);
        command.args(&self.command[1..]).arg(file).stdout(Stdio::piped()).stderr(Stdio::null());
        command
    }

    fn milliseconds(&self, file: &Path) -> f64 {
        let begin = Instant::now();
        let status = self.command(file).stdout(Stdio::null()).status().unwrap();
        assert!(status.success(), "{} fails on {}", self.name, file.display());
        begin.elapsed().as_secs_f64() * 1000.0
    }

    /// Peak memory in MiB, as `time` tells it.
    fn memory(&self, file: &Path) -> Option<f64> {
        let output = Command::new("/usr/bin/time")
            .args(["-f", "%M"])
            .args(&self.command)
            .arg(file)
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .output()
            .ok()?;
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        Some(text.lines().last()?.trim().parse::<f64>().ok()? / 1024.0)
    }
}

fn median(mut all: Vec<f64>) -> f64 {
    all.sort_by(f64::total_cmp);
    all[all.len() / 2]
}

fn recipec() -> Option<PathBuf> {
    if let Some(named) = std::env::var_os("RECIPEC_BIN") {
        return Some(named.into());
    }
    // Benchmarks run from <target>/release/deps.
    let beside = std::env::current_exe().ok()?.parent()?.parent()?.join("recipec");
    beside.is_file().then_some(beside)
}

/// What `recipec eval --format json FILE` does, without the command around it.
fn evaluate(file: &Path) {
    let files = MemoryFiles::new([("input.nix", fs::read_to_string(file).unwrap())]);
    let mut session = Session::new(&files, Limits::default());
    let value = session.evaluate_file("input.nix").unwrap();
    println!("{}", session.render_json(&value).unwrap());
}

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    if let [_, option, file, ..] = arguments.as_slice()
        && option == "--evaluate"
    {
        evaluate(Path::new(file));
        return;
    }
    let folder = std::env::temp_dir().join(format!("recipec-bench-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    let input = |name: &str, text: &str| {
        let path = folder.join(format!("{name}.nix"));
        fs::write(&path, text).unwrap();
        (name.to_owned(), path, text.len())
    };
    let inputs =
        [input("start-up", "1 + 1\n"), input("computed", COMPUTED), input("written out", &written_out())];
    let this = std::env::current_exe().unwrap().to_string_lossy().into_owned();
    let alone = Peer { name: "the evaluator", command: vec![this, "--evaluate".to_owned()] };
    if arguments.iter().any(|argument| argument == "--instructions") {
        instructions(&alone, &inputs);
    } else {
        let command = recipec().map(|recipec| {
            let options = ["eval", "--format", "json"].map(str::to_owned);
            let command = std::iter::once(recipec.to_string_lossy().into_owned()).chain(options);
            Peer { name: "recipec", command: command.collect() }
        });
        if command.is_none() {
            println!("the evaluator without its command: `cargo build --release` makes one");
        }
        compare(&command.unwrap_or(alone), &inputs);
    }
    let _ = fs::remove_dir_all(&folder);
}

fn compare(ours: &Peer, inputs: &[(String, PathBuf, usize)]) {
    let version = Command::new("nix-instantiate").arg("--version").output();
    let nix = version.ok().map(|output| {
        println!("{}", String::from_utf8_lossy(&output.stdout).trim());
        let command = ["nix-instantiate", "--eval", "--strict", "--json"].map(str::to_owned).to_vec();
        Peer { name: "nix-instantiate", command }
    });
    for (name, path, len) in inputs {
        let (mut mine, mut theirs) = (Vec::new(), Vec::new());
        for _ in 0..RUNS {
            mine.push(ours.milliseconds(path));
            theirs.extend(nix.as_ref().map(|nix| nix.milliseconds(path)));
        }
        let mine = median(mine);
        let memory = ours.memory(path).unwrap_or(f64::NAN);
        print!("{name} ({len} bytes): {} {mine:.1} ms, {memory:.1} MiB", ours.name);
        if let Some(nix) = &nix {
            let same = ours.command(path).output().unwrap().stdout.trim_ascii_end()
                == nix.command(path).output().unwrap().stdout.trim_ascii_end();
            assert!(same, "{name}: the outputs differ");
            let (theirs, peak) = (median(theirs), nix.memory(path).unwrap_or(f64::NAN));
            print!("; Nix {theirs:.1} ms, {peak:.1} MiB; {:.1} times as fast", theirs / mine);
        }
        println!();
    }
}

fn instructions(ours: &Peer, inputs: &[(String, PathBuf, usize)]) {
    let kept = Path::new(env!("CARGO_MANIFEST_DIR")).join("benches/instructions.txt");
    let before = fs::read_to_string(&kept).unwrap_or_default();
    let mut after = "# Instructions of evaluating and writing JSON, in millions, as valgrind counts them.\n\
        # Refresh: cargo bench -p recipec-eval --bench nix -- --instructions\n"
        .to_owned();
    for (name, path, _) in inputs {
        let output = Command::new("valgrind")
            .args(["--tool=callgrind", "--callgrind-out-file=/dev/null"])
            .args(&ours.command)
            .arg(path)
            .output()
            .unwrap();
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        let count =
            text.lines().find_map(|line| line.split_once("Collected : ")?.1.trim().parse::<f64>().ok());
        let Some(count) = count else {
            println!("skipped: valgrind counts nothing here");
            return;
        };
        let line = format!("{name}: {:.1}", count / 1e6);
        let old =
            before.lines().find_map(|line| line.strip_prefix(&format!("{name}: "))?.parse::<f64>().ok());
        match old {
            Some(old) => {
                println!("{line} million, {:+.1} % since last kept", (count / 1e6 / old - 1.0) * 100.0);
            }
            None => println!("{line} million"),
        }
        after.push_str(&line);
        after.push('\n');
    }
    fs::write(kept, after).unwrap();
}
