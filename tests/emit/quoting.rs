//! Quoting, judged by bash itself.

use std::io::Write as _;
use std::process::{Command, Stdio};

use emit::quote::quote;

/// A generator of hostile texts: small, seeded, the same on every machine.
pub struct Hostile(u64);

impl Hostile {
    pub fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, bound: u64) -> u64 {
        (self.next() >> 11) % bound
    }

    /// Returns a text of what shells, JSON and locales read in their own way, and of anything else.
    pub fn text(&mut self) -> String {
        const PARTS: [&str; 44] = [
            "'",
            "\"",
            "\\",
            "$",
            "`",
            "$(",
            ")",
            "${",
            "}",
            "\n",
            "\r",
            "\t",
            " ",
            "",
            "-",
            "--",
            "=",
            ",",
            ";",
            "&",
            "|",
            "<",
            ">",
            "*",
            "?",
            "[",
            "]",
            "{",
            "~",
            "#",
            "!",
            "%",
            "^",
            "$'",
            "\\'",
            "$HOME",
            "$(touch pwned)",
            "{a,b}",
            "\u{1}",
            "\u{7f}",
            "\u{a0}",
            "ü",
            "日本",
            "\u{1f680}",
        ];
        let mut text = String::new();
        for _ in 0..self.below(9) {
            if self.below(3) == 0 {
                // Any character but NUL and surrogates.
                let code = u32::try_from(1 + self.below(0xffff)).unwrap();
                text.push(char::from_u32(code).unwrap_or('\u{fffd}'));
            } else {
                text.push_str(PARTS[usize::try_from(self.below(44)).unwrap()]);
            }
        }
        text
    }
}

/// Has bash print each quoted word, ended by a zero byte.
fn through_bash(texts: &[String], locale: &str) -> Vec<Vec<u8>> {
    let mut script = String::from("words=(\n");
    for text in texts {
        script.push_str(&quote(text));
        script.push('\n');
    }
    script.push_str(")\nprintf '%s\\0' \"${words[@]}\"\n");
    assert!(script.is_ascii());
    let mut child = Command::new("bash")
        .env_clear()
        .env("LC_ALL", locale)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    let writer = std::thread::spawn(move || input.write_all(script.as_bytes()).unwrap());
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap();
    assert!(output.status.success());
    output.stdout.split_inclusive(|byte| *byte == 0).map(|word| word[..word.len() - 1].to_vec()).collect()
}

#[test]
fn any_text_reaches_an_argv_unchanged_in_any_locale() {
    let mut hostile = Hostile::new(1);
    let mut texts: Vec<String> = (0..5000).map(|_| hostile.text()).collect();
    // Every single character that a byte can be, and every pair with what ends a quotation.
    for code in 1..=255_u32 {
        let one = char::from_u32(code).unwrap();
        texts.extend([
            one.to_string(),
            format!("{one}'"),
            format!("'{one}"),
            format!("\\{one}"),
            format!("{one}0f"),
        ]);
    }
    for locale in ["C", "C.UTF-8"] {
        let got = through_bash(&texts, locale);
        assert_eq!(got.len(), texts.len());
        for (got, text) in got.iter().zip(&texts) {
            assert_eq!(got, text.as_bytes(), "{text:?} as {}", quote(text));
        }
    }
}
