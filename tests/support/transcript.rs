//! Transcripts: what a person types and what they see, checked word by word.
//!
//! A block that begins with ```` ```console ```` holds commands behind `$ ` (a line that ends in a
//! backslash goes on in the next) and what standard output and standard error show together. A line `[exit N]` at the end of
//! an output states the exit code where it is not 0. A line `...` stands for any lines, and `[..]`
//! inside a line for any characters. With `UPDATE=1` in the environment the blocks are rewritten;
//! reading the difference is the work.

use super::Sandbox;

/// One command with what it shows.
struct Step {
    command: String,
    expected: Vec<String>,
}

/// Runs every console block of a Markdown text in `sandbox` and returns the text with the outputs
/// as they are now.
pub fn run(text: &str, sandbox: &Sandbox) -> String {
    let mut out = String::new();
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        out.push_str(line);
        out.push('\n');
        if line != "```console" {
            continue;
        }
        let block: Vec<&str> = lines.by_ref().take_while(|line| *line != "```").collect();
        for step in steps(&block) {
            let ran = sandbox.bash(&format!("exec 2>&1\n{}", step.command));
            let mut got: Vec<String> = ran.stdout.lines().map(str::to_owned).collect();
            if ran.code != 0 {
                got.push(format!("[exit {}]", ran.code));
            }
            let shown = if matches(&step.expected, &got) { &step.expected } else { &got };
            for line in step.command.lines().enumerate().map(|(index, line)| match index {
                0 => format!("$ {line}"),
                _ => line.to_owned(),
            }) {
                out.push_str(&line);
                out.push('\n');
            }
            for line in shown {
                out.push_str(line);
                out.push('\n');
            }
        }
        out.push_str("```\n");
    }
    out
}

fn steps(block: &[&str]) -> Vec<Step> {
    let mut steps: Vec<Step> = Vec::new();
    let mut continues = false;
    for line in block {
        match (line.strip_prefix("$ "), steps.last_mut()) {
            (Some(command), _) => {
                continues = command.ends_with('\\');
                steps.push(Step { command: command.to_owned(), expected: Vec::new() });
            }
            (None, Some(step)) if continues => {
                step.command.push('\n');
                step.command.push_str(line);
                continues = line.ends_with('\\');
            }
            (None, Some(step)) => step.expected.push((*line).to_owned()),
            (None, None) => panic!("a console block begins with `$ `, not with `{line}`"),
        }
    }
    steps
}

fn matches(expected: &[String], got: &[String]) -> bool {
    match expected.split_first() {
        None => got.is_empty(),
        Some((line, rest)) if line == "..." => {
            (0..=got.len()).any(|skip| matches(rest, got.get(skip..).unwrap_or(&[])))
        }
        Some((line, rest)) => got
            .split_first()
            .is_some_and(|(first, others)| line_matches(line, first) && matches(rest, others)),
    }
}

fn line_matches(expected: &str, got: &str) -> bool {
    let mut parts = expected.split("[..]");
    let Some(mut rest) = got.strip_prefix(parts.next().unwrap_or("")) else { return false };
    let parts: Vec<&str> = parts.collect();
    let Some((last, middle)) = parts.split_last() else { return rest.is_empty() };
    for part in middle {
        let Some(at) = rest.find(part) else { return false };
        rest = rest.get(at + part.len()..).unwrap_or("");
    }
    rest.ends_with(last)
}

/// Fails unless the transcript in `file` (relative to the repository) is what happens now.
#[track_caller]
pub fn check(file: &str, sandbox: &Sandbox) {
    let path = super::repository().join(file);
    let before = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{file}: {error}"));
    let after = run(&before, sandbox);
    if before == after {
        return;
    }
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(&path, &after).unwrap();
        println!("{file}: rewritten; read the difference");
        return;
    }
    for (line, (was, is)) in before.lines().zip(after.lines()).enumerate() {
        assert_eq!(was, is, "{file}, line {}; now it reads:\n\n{after}", line + 1);
    }
    panic!("{file} ends differently; now it reads:\n\n{after}");
}
