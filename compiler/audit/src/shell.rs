//! Words of a command as a shell quotes them: what `printf %q` wrote, and what people write by hand.

/// The most bytes of a command that are read; the kernel takes no longer one.
const LIMIT: usize = 4 << 20;

/// Reads the commands of a text, one a line or longer. Nothing is run or expanded.
///
/// # Errors
/// If a quotation does not end, or a word holds something that only a shell could fill in.
pub fn commands(text: &str) -> Result<Vec<Vec<String>>, String> {
    if text.len() > LIMIT {
        return Err(format!("a command of {} bytes", text.len()));
    }
    let mut reader = Reader { rest: text.as_bytes(), commands: Vec::new(), words: Vec::new(), word: None };
    while let Some(byte) = reader.next() {
        reader.take(byte)?;
    }
    reader.end_command();
    Ok(reader.commands)
}

struct Reader<'t> {
    rest: &'t [u8],
    commands: Vec<Vec<String>>,
    words: Vec<String>,
    /// The word that is being read; there may be an empty one, between quotes.
    word: Option<Vec<u8>>,
}

impl Reader<'_> {
    fn next(&mut self) -> Option<u8> {
        let (first, rest) = self.rest.split_first()?;
        self.rest = rest;
        Some(*first)
    }

    fn peek(&self) -> Option<u8> {
        self.rest.first().copied()
    }

    fn push(&mut self, byte: u8) {
        self.word.get_or_insert_default().push(byte);
    }

    fn end_word(&mut self) {
        if let Some(word) = self.word.take() {
            self.words.push(String::from_utf8_lossy(&word).into_owned());
        }
    }

    fn end_command(&mut self) {
        self.end_word();
        if !self.words.is_empty() {
            self.commands.push(std::mem::take(&mut self.words));
        }
    }

    fn take(&mut self, byte: u8) -> Result<(), String> {
        match byte {
            b'\\' => match self.next() {
                // A line that goes on.
                Some(b'\n') | None => {}
                Some(next) => self.push(next),
            },
            b'\'' => self.single()?,
            b'"' => self.double()?,
            b'$' if self.peek() == Some(b'\'') => {
                self.next();
                self.escaped()?;
            }
            b'$' if self.peek().is_some_and(expands) => return Err(unexpanded()),
            b'`' => return Err(unexpanded()),
            b' ' | b'\t' | b'\r' => self.end_word(),
            b'\n' | b';' | b'|' | b'&' => self.end_command(),
            b'#' if self.word.is_none() => {
                while self.peek().is_some_and(|next| next != b'\n') {
                    self.next();
                }
            }
            other => self.push(other),
        }
        Ok(())
    }

    fn single(&mut self) -> Result<(), String> {
        self.word.get_or_insert_default();
        loop {
            match self.next().ok_or_else(open)? {
                b'\'' => return Ok(()),
                byte => self.push(byte),
            }
        }
    }

    fn double(&mut self) -> Result<(), String> {
        self.word.get_or_insert_default();
        loop {
            match self.next().ok_or_else(open)? {
                b'"' => return Ok(()),
                b'\\' => match self.next().ok_or_else(open)? {
                    b'\n' => {}
                    byte @ (b'$' | b'`' | b'"' | b'\\') => self.push(byte),
                    byte => {
                        self.push(b'\\');
                        self.push(byte);
                    }
                },
                b'$' if self.peek().is_some_and(expands) => return Err(unexpanded()),
                b'`' => return Err(unexpanded()),
                byte => self.push(byte),
            }
        }
    }

    /// Reads `$'…'`, which bash writes for words with control characters.
    fn escaped(&mut self) -> Result<(), String> {
        self.word.get_or_insert_default();
        loop {
            match self.next().ok_or_else(open)? {
                b'\'' => return Ok(()),
                b'\\' => self.escape()?,
                byte => self.push(byte),
            }
        }
    }

    fn escape(&mut self) -> Result<(), String> {
        let byte = match self.next().ok_or_else(open)? {
            b'a' => 7,
            b'b' => 8,
            b'e' | b'E' => 27,
            b'f' => 12,
            b'n' => b'\n',
            b'r' => b'\r',
            b't' => b'\t',
            b'v' => 11,
            b'x' => self.digits(16, 2).to_le_bytes()[0],
            kind @ (b'u' | b'U') => {
                let code = self.digits(16, if kind == b'u' { 4 } else { 8 });
                let text = char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER).to_string();
                text.bytes().for_each(|byte| self.push(byte));
                return Ok(());
            }
            first @ b'0'..=b'7' => {
                let code = u32::from(first - b'0');
                let more = self.octal();
                more.iter().fold(code, |code, digit| code * 8 + digit).to_le_bytes()[0]
            }
            other => other,
        };
        self.push(byte);
        Ok(())
    }

    fn digits(&mut self, radix: u32, most: usize) -> u32 {
        let mut code = 0_u32;
        for _ in 0..most {
            let Some(digit) = self.peek().and_then(|byte| char::from(byte).to_digit(radix)) else { break };
            self.next();
            code = code.wrapping_mul(radix) + digit;
        }
        code
    }

    fn octal(&mut self) -> Vec<u32> {
        let mut digits = Vec::new();
        while digits.len() < 2
            && let Some(digit) = self.peek().and_then(|byte| char::from(byte).to_digit(8))
        {
            self.next();
            digits.push(digit);
        }
        digits
    }
}

fn expands(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'{' | b'(' | b'@' | b'*' | b'#' | b'?')
}

fn unexpanded() -> String {
    "it holds something that only a shell could fill in".to_owned()
}

fn open() -> String {
    "a quotation does not end".to_owned()
}

#[cfg(test)]
mod tests {
    use super::commands;

    #[test]
    fn words_come_out_as_bash_put_them_in() {
        let text = r#"vllm serve m --speculative-config \{\"method\":\"mtp\"\} --x $'a\nb\x41\u20ac\101' '' "a \"b\"" c\ d # not this
python3 -m \
  lm_eval"#;
        let read = commands(text).expect("well formed");
        assert_eq!(
            read[0],
            [
                "vllm",
                "serve",
                "m",
                "--speculative-config",
                r#"{"method":"mtp"}"#,
                "--x",
                "a\nbA\u{20ac}A",
                "",
                "a \"b\"",
                "c d"
            ]
        );
        assert_eq!(read[1], ["python3", "-m", "lm_eval"]);
    }

    #[test]
    fn what_only_a_shell_knows_is_not_guessed() {
        for text in ["vllm serve $MODEL", "vllm \"${X}\"", "a `b`", "a 'b", "a \"b", "a $'b"] {
            assert!(commands(text).is_err(), "{text}");
        }
        assert_eq!(commands("a 'b$c' 5$").expect("plain dollars")[0], ["a", "b$c", "5$"]);
        assert_eq!(commands("").expect("nothing").len(), 0);
    }
}
