//! The command line: exit codes, documents, and what people see.

use crate::support::{Sandbox, copy_tree, repository, transcript};

#[test]
fn usage_is_exit_code_2_and_says_so_on_standard_error() {
    let sandbox = Sandbox::new();
    for arguments in
        [&["no-such-verb"][..], &["explain", "--format", "xml"], &["explain", "no-such-slug"], &[]]
    {
        let ran = sandbox.recipec(arguments).exits(2);
        assert!(ran.stdout.is_empty() && !ran.stderr.is_empty(), "{ran:?}");
    }
}

#[test]
fn a_document_has_version_command_exit_and_diagnostics() {
    let sandbox = Sandbox::new();
    let document = sandbox.recipec(["explain", "no-such-slug", "--format", "json"]).exits(2).json();
    assert_eq!((document["version"].as_u64(), document["exit"].as_u64()), (Some(1), Some(2)));
    assert_eq!(document["command"], "explain");
    assert_eq!(document["diagnostics"][0]["slug"], "unknown-slug");
}

#[test]
fn every_format_of_findings_is_printed() {
    let sandbox = Sandbox::new();
    let run = |format: &str| sandbox.recipec(["explain", "no-such-slug", "--format", format]).exits(2);
    assert_eq!(run("sarif").json()["runs"][0]["results"][0]["ruleId"], "unknown-slug");
    assert!(run("github").stdout.starts_with("::error title=unknown-slug::"));
    assert!(run("brief").stdout.starts_with("error[unknown-slug] "));
    assert!(run("markdown").stdout.starts_with("- **error** `unknown-slug`"));
    assert!(run("human").stderr.starts_with("error[unknown-slug]: "));
}

#[test]
fn colour_follows_the_usual_variables() {
    let sandbox = Sandbox::new();
    let colored = |variables: &[(&str, &str)]| {
        let mut command = sandbox.command(env!("CARGO_BIN_EXE_recipec"));
        let output = command.args(["explain", "x"]).envs(variables.iter().copied()).output().unwrap();
        output.stderr.contains(&0x1b)
    };
    assert!(!colored(&[]), "no terminal, no colour");
    assert!(colored(&[("FORCE_COLOR", "1")]) && colored(&[("CLICOLOR_FORCE", "1")]));
    assert!(!colored(&[("FORCE_COLOR", "0")]) && !colored(&[("CLICOLOR_FORCE", "1"), ("NO_COLOR", "1")]));
}

#[test]
fn a_reader_that_leaves_early_is_no_error() {
    let sandbox = Sandbox::new();
    let ran = sandbox.bash("set -o pipefail; recipec completions bash | head -n 1").exits(0);
    assert_eq!((ran.stdout.lines().count(), ran.stderr.as_str()), (1, ""));
}

#[test]
fn audits_of_runs_read_as_reviewed() {
    let sandbox = Sandbox::with("fixtures/tour");
    sandbox.copy("fixtures/explain/audit");
    copy_tree(&repository().join("fixtures/mirror"), &sandbox.path("mirror"));
    transcript::check("tests/cli/runs.md", &sandbox);
}

#[test]
fn explain_reads_as_reviewed() {
    transcript::check("tests/cli/explain.md", &Sandbox::new());
}

#[test]
fn the_tour_reads_as_reviewed() {
    let sandbox = Sandbox::with("fixtures/tour");
    crate::support::copy_tree(&crate::support::repository().join("fixtures/mirror"), &sandbox.path("mirror"));
    transcript::check("tests/cli/tour.md", &sandbox);
}

#[test]
fn mistakes_read_as_reviewed() {
    transcript::check("tests/cli/mistakes.md", &Sandbox::with("fixtures/tour"));
}

#[test]
fn a_key_is_not_judged_by_the_manifests_of_others() {
    let sandbox = Sandbox::with("fixtures/tour");
    sandbox.write("manifests/broken.nix", "{ broken = ");
    sandbox.recipec(["check", "tiny-fp4-b200-vllm"]).exits(0);
    sandbox.recipec(["check"]).exits(1);
    sandbox.recipec(["check", "no-such-key"]).exits(1);
}

#[test]
fn what_cannot_be_read_is_exit_code_5_and_denied_warnings_are_1() {
    let sandbox = Sandbox::with("fixtures/tour");
    sandbox.recipec(["eval", "absent.nix"]).exits(5);
    sandbox.recipec(["check", "manifests/absent.nix"]).exits(5);
    sandbox.recipec(["eval", "-E", "1", "--output", "json:manifests/tiny.nix/x"]).exits(5);
    let text = sandbox.read("manifests/tiny.nix").replace("no-enable-prefix-caching = true;", "");
    sandbox.write("manifests/tiny.nix", text);
    sandbox.recipec(["check"]).exits(0);
    sandbox.recipec(["check", "--deny", "warnings"]).exits(1);
}

#[test]
fn several_formats_are_written_at_once() {
    let sandbox = Sandbox::with("fixtures/tour");
    sandbox
        .recipec([
            "check",
            "--format",
            "json",
            "--output",
            "sarif:out/check.sarif",
            "--output",
            "markdown:out/check.md",
        ])
        .exits(0);
    assert!(sandbox.read("out/check.sarif").contains("\"version\": \"2.1.0\""));
    assert_eq!(sandbox.read("out/check.md"), "");
}

#[test]
fn hostile_manifests_end_in_a_finding() {
    let sandbox = Sandbox::new();
    let deep = "[".repeat(100_000);
    let manifests = [
        deep.as_str(),
        "let x = { a = x; }; in { y = x; }",
        "let f = n: { a = f (n + 1); b = f (n + 1); }; in { y = f 0; }",
        "{ x.image = builtins.foldl' (a: _: [ a ]) [ ] (builtins.genList (x: x) 100000); }",
        "{ x = import ../../../../etc/passwd; }",
        "{ x.serve = throw \"\u{1b}[31m\"; }",
        "\u{feff}{ }",
    ];
    for (index, manifest) in manifests.iter().enumerate() {
        sandbox.write("manifests/hostile.nix", manifest);
        let ran = sandbox.recipec(["check", "--limit-bytes", "100000000"]);
        assert!(matches!(ran.code, 0 | 1), "{index}: {ran:?}");
        assert!(!ran.stderr.contains('\u{1b}') && !ran.stderr.contains("root:"), "{index}: {}", ran.stderr);
    }
}
