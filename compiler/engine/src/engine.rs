//! Which engines there are, what they are called and how their command lines begin.

use std::fmt;

/// An inference engine whose command line this crate knows.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Engine {
    /// SGLang: plain argparse.
    Sglang,
    /// vLLM: argparse with underscores, dotted JSON and short forms.
    Vllm,
    /// TensorRT-LLM's `trtllm-serve`: Click, exact names only.
    Trtllm,
    /// ATOM: argparse.
    Atom,
}

impl Engine {
    /// Every engine.
    pub const ALL: [Self; 4] = [Self::Sglang, Self::Vllm, Self::Trtllm, Self::Atom];

    /// Returns the engine of a name as manifests and upstream's `framework` field write it.
    ///
    /// Prefixes of orchestrators (`dynamo-`, `llmd-`) and suffixes of deployments (`-disagg`) say
    /// nothing about the engine and are dropped.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        let name = name.strip_prefix("dynamo-").or_else(|| name.strip_prefix("llmd-")).unwrap_or(name);
        let name = name.strip_suffix("-disagg").unwrap_or(name);
        match name {
            "sglang" => Some(Self::Sglang),
            "vllm" => Some(Self::Vllm),
            "trt" | "trtllm" | "tensorrt-llm" | "trtllm-serve" => Some(Self::Trtllm),
            "atom" => Some(Self::Atom),
            _ => None,
        }
    }

    /// Returns the name that tables, messages and manifests use.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Sglang => "sglang",
            Self::Vllm => "vllm",
            Self::Trtllm => "trtllm",
            Self::Atom => "atom",
        }
    }

    /// Returns how the engine calls itself in prose.
    #[must_use]
    pub fn title(self) -> &'static str {
        match self {
            Self::Sglang => "SGLang",
            Self::Vllm => "vLLM",
            Self::Trtllm => "TensorRT-LLM",
            Self::Atom => "ATOM",
        }
    }

    /// Returns the beginnings of names of environment variables that only this engine reads.
    #[must_use]
    pub fn variable_prefixes(self) -> &'static [&'static str] {
        match self {
            Self::Sglang => &["SGLANG_", "SGL_"],
            Self::Vllm => &["VLLM_"],
            Self::Trtllm => &["TLLM_", "TRTLLM_"],
            Self::Atom => &["ATOM_"],
        }
    }

    /// Returns the word sequences after which this engine's own arguments begin, longest first.
    fn entries(self) -> &'static [&'static [&'static str]] {
        match self {
            Self::Sglang => {
                &[&["-m", "sglang.launch_server"], &["-m", "dynamo.sglang"], &["sglang", "serve"]]
            }
            Self::Vllm => &[
                &["vllm", "serve"],
                &["-m", "vllm.entrypoints.openai.api_server"],
                &["-m", "vllm.entrypoints.cli.main", "serve"],
                &["-m", "dynamo.vllm"],
            ],
            Self::Trtllm => &[&["trtllm-serve", "serve"], &["trtllm-serve"], &["-m", "dynamo.trtllm"]],
            Self::Atom => &[&["-m", "atom.entrypoints.openai_server"]],
        }
    }

    /// Returns how many words of a command line come before the engine's own arguments: wrappers
    /// such as `mpirun -n 1`, the interpreter and the entry itself. `None` where the command does
    /// not start this engine.
    #[must_use]
    pub fn program_words(self, argv: &[String]) -> Option<usize> {
        self.entries().iter().find_map(|entry| {
            let start = argv.windows(entry.len()).position(|words| {
                words.iter().zip(*entry).enumerate().all(|(at, (word, wanted))| {
                    // The program itself may be given by its path.
                    word == wanted || at == 0 && !wanted.starts_with('-') && base(word) == *wanted
                })
            })?;
            Some(start + entry.len())
        })
    }

    /// Returns whether a command line starts an orchestrator's worker, which has no HTTP frontend.
    #[must_use]
    pub fn is_worker(argv: &[String]) -> bool {
        argv.windows(2).any(|words| {
            matches!(words, [module, name] if module == "-m" && name.starts_with("dynamo.") && name != "dynamo.frontend")
        })
    }

    /// Returns the engine that a command line starts.
    #[must_use]
    pub fn of_command(argv: &[String]) -> Option<Self> {
        Self::ALL.into_iter().find(|engine| engine.program_words(argv).is_some())
    }
}

fn base(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

impl fmt::Display for Engine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
