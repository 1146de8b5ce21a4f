//! Random programs, the same for the same seed: food for tests, fuzzers and benchmarks.
//!
//! Programs are written from the grammar, with comments and odd spaces between their tokens, so most
//! of them parse. [`broken`] damages one, so most of those do not.

/// A small generator of random numbers (xorshift), which needs no clock and no system.
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    /// Starts from a seed.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    /// Returns a number below `limit`, or 0 if that is 0.
    pub fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 >> 33).unwrap_or(0).checked_rem(limit).unwrap_or(0)
    }

    /// Returns one of several texts.
    pub fn pick<'a>(&mut self, from: &[&'a str]) -> &'a str {
        let at = self.below(from.len());
        from.get(at).copied().unwrap_or("")
    }

    /// Returns true in one of `in_how_many` cases.
    pub fn once(&mut self, in_how_many: usize) -> bool {
        self.below(in_how_many) == 0
    }
}

/// Returns a program of about `size` expressions. It begins with `with { };`, so that every name in
/// it may be free.
#[must_use]
pub fn program(seed: u64, size: usize) -> String {
    let mut writer = Writer { random: Random::new(seed), text: "with { };".to_owned(), left: size };
    writer.expression();
    writer.text
}

/// Returns a program with a few characters or words removed, doubled, swapped or put in.
#[must_use]
pub fn broken(seed: u64, size: usize) -> String {
    let mut random = Random::new(seed ^ 0xdead);
    let mut text = program(seed, size);
    for _ in 0..=random.below(3) {
        let tokens = crate::lex(&text).tokens;
        let at = random.below(tokens.len());
        let start = at.checked_sub(1).and_then(|at| tokens.get(at)).map_or(0, |token| token.end as usize);
        let end = tokens.get(at).map_or(start, |token| token.end as usize);
        let piece = text.get(start..end).unwrap_or("").to_owned();
        let replacement = match random.below(5) {
            0 => String::new(),
            1 => format!("{piece}{piece}"),
            2 => format!("{piece} {}", random.pick(WORDS)),
            3 => random.pick(WORDS).to_owned(),
            _ => format!("{} {piece}", random.pick(WORDS)),
        };
        text.replace_range(start..end, &replacement);
    }
    text
}

/// Returns a manifest-like file of about `bytes` bytes, for benchmarks.
#[must_use]
pub fn manifest(bytes: usize) -> String {
    let mut random = Random::new(11);
    let mut text = String::from(
        "# Generated: recipes as people write them.\nlet\n  sglang = import ../lib/sglang.nix;\n  base = { engine = \"sglang\"; tp = 8; };\nin {\n",
    );
    let mut index = 0_usize;
    while text.len() < bytes {
        index += 1;
        let (tp, conc) = (1 << random.below(4), 1 << random.below(9));
        text.push_str(&format!(
            r#"  # Recipe {index}, measured with a concurrency of {conc}.
  "qwen3.5-fp4-b200-sglang-{index}" = base // {{
    image = "lmsysorg/sglang:v0.5.{index}-cu130";
    model = {{ prefix = "qwen3.5"; hf = "nvidia/Qwen3.5-397B-A17B-NVFP4-V2"; precision = "fp4"; }};
    quantization.method = "modelopt_fp4";
    quantization.kvCache = "fp8_e4m3";
    targets = [ "b200" "gb200" ./targets/h{tp}.nix ];
    scenarios = map (conc: {{ inherit conc; isl = 1024; osl = 8192; tp = {tp}; }}) [ 4 8 16 32 {conc} ];
    serve = {{ tp, ep ? 1, conc, ... }}: sglang.blackwell // {{
      cuda-graph-max-bs = conc;
      scheduler-recv-interval = if conc > 4 && tp != 2 then 30 else 10;
      mem-fraction-static = 0.8{tp};
      env.SGLANG_NAME = "${{toString tp}}-${{builtins.toString (conc * 2 + {index})}}";
      script = ''
        set -e
        exec server --tp ${{toString tp}} --port {conc}
      '';
    }};
  }};
"#
        ));
    }
    text.push_str("}\n");
    text
}

const NAMES: &[&str] =
    &["a", "b", "c", "d'", "e-f", "_g", "tp", "conc", "x1", "true", "null", "__curPos", "inner"];
const WORDS: &[&str] = &[
    "if", "then", "else", "let", "in", "rec", "inherit", "or", "with", "assert", "{", "}", "(", ")", "[",
    "]", ";", ":", ",", "@", ".", "...", "?", "=", "==", "!=", "<", "<=", "->", "//", "+", "-", "*", "/",
    "++", "!", "a", "1", "1.5", "\"", "''", "${", "./a", "a/b", "#", "/*", "*/", "|>", "a:b", "<a>", "~/a",
    "$", "\\", "'", "\r", "é", "&",
];
const OPERATORS: &[&str] = &[
    "+", "-", "*", "/", "++", "//", "==", "!=", "<", "<=", ">", ">=", "&&", "||", "->", "+", "//", "++", "*",
];

struct Writer {
    random: Random,
    text: String,
    /// How many more expressions may branch.
    left: usize,
}

impl Writer {
    /// Writes a token with something before it that separates it.
    fn token(&mut self, token: &str) {
        let space = match self.random.below(40) {
            0 => "\n",
            1 => "\n\n  ",
            2 => "  ",
            3 => " /* c */ ",
            4 => " # c\n",
            5 => "\n# c\n  # d\n",
            6 => "\t",
            7 => " /** d\n  e */\n",
            8 => "\r\n",
            _ => " ",
        };
        self.text.push_str(space);
        self.text.push_str(token);
    }

    /// Writes a token right behind the one before, where both stay what they are.
    fn tight(&mut self, token: &str) {
        if self.random.once(4) { self.token(token) } else { self.text.push_str(token) }
    }

    fn name(&mut self) {
        let name = self.random.pick(NAMES);
        self.token(name);
    }

    fn expression(&mut self) {
        self.left = self.left.saturating_sub(1);
        if self.left == 0 {
            return self.simple();
        }
        match self.random.below(16) {
            0 => {
                self.name();
                self.tight(":");
                self.expression_behind_colon();
            }
            1 => self.pattern_function(),
            2 => {
                self.token("let");
                self.bindings(true);
                self.token("in");
                self.expression();
            }
            3 => {
                let word = self.random.pick(&["with", "assert"]);
                self.token(word);
                self.expression();
                self.tight(";");
                self.expression();
            }
            4 => {
                self.token("if");
                self.expression();
                self.token("then");
                self.expression();
                self.token("else");
                self.expression();
            }
            5 => self.application(),
            6 | 7 => self.set(),
            8 => self.list(),
            _ => self.operators(),
        }
    }

    /// A character right behind `name:` could make a URL of both.
    fn expression_behind_colon(&mut self) {
        self.text.push(' ');
        self.expression();
    }

    fn operators(&mut self) {
        for _ in 0..self.random.below(4) {
            self.operand();
            if self.random.once(10) {
                self.token("?");
                self.attr_path();
            }
            let operator = self.random.pick(OPERATORS);
            self.token(operator);
        }
        self.operand();
    }

    fn operand(&mut self) {
        if self.random.once(12) {
            let sign = self.random.pick(&["!", "-"]);
            self.token(sign);
        }
        self.text.push(' ');
        if self.random.once(3) { self.application() } else { self.select() }
    }

    fn application(&mut self) {
        self.select();
        for _ in 0..self.random.below(3) {
            self.text.push(' ');
            self.select();
        }
    }

    fn select(&mut self) {
        self.simple();
        if self.random.once(5) {
            self.tight(".");
            self.attr_path();
            if self.random.once(3) {
                self.token("or");
                self.text.push(' ');
                self.select();
            }
        } else if self.random.once(80) {
            self.token("or");
        }
    }

    fn simple(&mut self) {
        self.left = self.left.saturating_sub(1);
        let choice = if self.left == 0 { self.random.below(9) } else { self.random.below(16) };
        match choice {
            0..=2 => self.name(),
            3 => {
                let number = self.random.pick(&["0", "1", "42", "0123", "9223372036854775807", "1000000"]);
                self.token(number);
            }
            4 => {
                let number = self.random.pick(&["1.5", ".5", "2.", "1.e3", "1.5E-3", "0.1", "3.25e2"]);
                self.token(number);
            }
            5 => self.string(),
            6 => self.indented(),
            7 => {
                let path =
                    self.random.pick(&["./a", "../b/c.nix", "/d/e", "a/b", "./.", "./a-b_c+d/e", ".a/b"]);
                self.token(path);
                if self.random.once(3) {
                    self.text.push_str("/${");
                    self.expression();
                    self.text.push('}');
                    let rest = self.random.pick(&["", "c", "/d", ".nix", "/e/f"]);
                    self.text.push_str(rest);
                }
            }
            8 => self.token("{ }"),
            9 | 10 => {
                self.token("(");
                self.expression();
                self.tight(")");
            }
            11 | 12 => self.list(),
            _ => self.set(),
        }
    }

    fn list(&mut self) {
        self.token("[");
        for _ in 0..self.random.below(5) {
            self.text.push(' ');
            self.select();
        }
        self.token("]");
    }

    fn set(&mut self) {
        if self.random.once(4) {
            self.token("rec");
        }
        self.token("{");
        self.bindings(false);
        self.token("}");
    }

    fn bindings(&mut self, known: bool) {
        for _ in 0..self.random.below(5) {
            if self.random.once(5) {
                self.token("inherit");
                if self.random.once(2) {
                    self.token("(");
                    self.expression();
                    self.tight(")");
                }
                for _ in 0..self.random.below(4) {
                    let name = self.random.below(1000);
                    self.token(&format!("i{name}"));
                }
            } else {
                if known || !self.random.once(8) {
                    // Mostly names that are not there yet.
                    let name = self.random.below(1000);
                    let name =
                        if self.random.once(3) { format!("n{name}") } else { format!("n{}", name % 4) };
                    self.token(&name);
                    if self.random.once(4) {
                        self.tight(".");
                        self.attr_path();
                    }
                } else {
                    self.attr_path();
                }
                self.token("=");
                self.text.push(' ');
                self.expression();
            }
            self.tight(";");
        }
    }

    fn attr_path(&mut self) {
        for _ in 0..self.random.below(3) {
            self.attr();
            self.tight(".");
        }
        self.attr();
    }

    fn attr(&mut self) {
        match self.random.below(10) {
            0 => self.string(),
            1 => {
                self.token("${");
                self.expression();
                self.tight("}");
            }
            2 => {
                let name = self.random.pick(&["or", "\"q r\"", "\"\"", "\"if\""]);
                self.token(name);
            }
            _ => self.name(),
        }
    }

    fn string(&mut self) {
        self.token("\"");
        for _ in 0..self.random.below(4) {
            let part = self.random.pick(&[
                "plain", " ", "\\n", "\\\"", "\\${", "$$", "$", "$${", "\n", "\r\n", "\\\\", "é", "'", "''",
                "#", "/*",
            ]);
            self.text.push_str(part);
            if self.random.once(4) {
                self.text.push_str(" ${");
                self.expression();
                self.tight("}");
            }
        }
        // A `$` right before the quote is fine, one before `{` was written with an escape.
        self.text.push('"');
    }

    fn indented(&mut self) {
        self.token("''");
        for _ in 0..self.random.below(6) {
            let part = self.random.pick(&[
                "plain", "\n", "\n  ", "\n    ", "  ", "''$", "'''", "''\\n", "''\\ ", "$$", "$", "'", "\t",
                "é", "\\n", "\"", "\n\n", "# ", "$${",
            ]);
            self.text.push_str(part);
            if self.random.once(4) {
                self.text.push_str(" ${");
                self.expression();
                self.tight("}");
            }
        }
        self.text.push_str(" ''");
    }

    fn pattern_function(&mut self) {
        let before = self.random.once(4);
        if before {
            self.token("all");
            self.tight("@");
        }
        self.token("{");
        let count = self.random.below(4);
        for at in 0..count {
            self.token(&format!("p{at}"));
            if self.random.once(3) {
                self.tight("?");
                self.text.push(' ');
                self.expression();
            }
            if at + 1 < count || self.random.once(4) {
                self.tight(",");
            }
        }
        if self.random.once(3) {
            if !self.text.ends_with(',') && count > 0 {
                self.tight(",");
            }
            self.token("...");
        }
        self.tight("}");
        if !before && self.random.once(4) {
            self.tight("@");
            self.token("all");
        }
        self.tight(":");
        self.expression_behind_colon();
    }
}
