//! The command line of recipec: one module a verb, each a thin layer over the crates.
//!
//! A verb takes its arguments and gives an [`outcome::Outcome`]: what was asked for, what was
//! found, and what failed. Printing and exit codes are decided here and in [`outcome`], once.

mod arguments;
mod audit;
mod build;
mod check;
mod checkout;
mod completions;
mod corpus;
mod diff;
mod eval;
mod explain;
mod export;
mod flags;
mod fmt;
mod glob;
mod import;
mod layouts;
mod lock;
mod lock_check;
mod matrix;
mod merge_driver;
mod new;
mod outcome;
mod plan;
mod report;
mod screen;
mod siblings;
mod start;
mod verify;
mod words;
mod workspace;
mod yaml;

use std::process::ExitCode;

use arguments::{Arguments, Format, Verb};
use clap::error::ErrorKind;
use clap::{CommandFactory as _, Parser as _};

fn main() -> ExitCode {
    std::panic::set_hook(Box::new(screen::report_panic));
    // A panic is a fault of recipec, whatever the input was: it ends as one, calmly.
    std::panic::catch_unwind(run).unwrap_or(ExitCode::from(outcome::INTERNAL))
}

fn run() -> ExitCode {
    let arguments = Arguments::parse();
    let options = arguments.options;
    if options.format == Format::Nix && !matches!(arguments.verb, Verb::Eval(_)) {
        let message = "`--format nix` is for `recipec eval` alone";
        Arguments::command().error(ErrorKind::InvalidValue, message).exit();
    }
    let claims = matches!(&arguments.verb, Verb::Verify(verb) if verb.claims.is_some());
    if options.format == Format::Jsonl && !claims {
        let message = "`--format jsonl` is for `recipec verify --claims` alone";
        Arguments::command().error(ErrorKind::InvalidValue, message).exit();
    }
    let outcome = match &arguments.verb {
        Verb::Check(verb) => check::run(verb, &options),
        Verb::Plan(verb) => plan::run(verb, &options),
        Verb::Matrix(verb) => matrix::run(verb, &options),
        Verb::Export(verb) => export::run(verb, &options),
        Verb::Import(verb) => import::run(verb, &options),
        Verb::New(verb) => new::run(verb, &options),
        Verb::Lock(verb) => lock::run(verb, &options),
        Verb::Diff(verb) => diff::run(verb, &options),
        Verb::MergeDriver(verb) => merge_driver::run(verb),
        Verb::Verify(verb) => verify::run(verb, &options),
        Verb::Build(verb) => build::run(verb, &options),
        Verb::Eval(verb) => eval::run(verb, &options),
        Verb::Fmt(verb) => fmt::run(verb, &options),
        Verb::Flags(verb) => flags::run(verb),
        Verb::Audit(verb) => audit::run(verb, &options),
        Verb::Report(verb) => report::run(verb, &options),
        Verb::Explain(verb) => explain::run(verb),
        Verb::Completions(verb) => completions::run(verb),
    };
    screen::show(outcome, &options)
}
