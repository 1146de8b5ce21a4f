//! `recipec completions`: a completion script for a shell.

use clap::CommandFactory as _;

use crate::arguments::{Arguments, Completions};
use crate::outcome::{Answer, Document, Outcome};

struct Script(String);

impl Answer for Script {
    fn human(&self) -> String {
        self.0.clone()
    }

    fn document(&self) -> Document {
        Document::Fields([("script".to_owned(), self.0.as_str().into())].into_iter().collect())
    }
}

/// Generates the script from the very definitions that parse the command line.
pub(crate) fn run(verb: &Completions) -> Outcome {
    let mut script = Vec::new();
    clap_complete::generate(verb.shell, &mut Arguments::command(), "recipec", &mut script);
    Outcome::new("completions", Script(String::from_utf8_lossy(&script).into_owned()))
}
