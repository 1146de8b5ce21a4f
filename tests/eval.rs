//! `recipec eval`: what people see when a manifest is wrong, and that nothing runs away.

use std::fs;
use std::time::{Duration, Instant};

use crate::support::{Sandbox, files, repository};

/// What the diagnostics of fixtures/eval/errors look like stands beside them;
/// `UPDATE_EXPECT=1` writes them anew, and the difference is to be read as prose.
#[test]
fn errors_read_as_they_were_reviewed() {
    let folder = repository().join("fixtures/eval/errors");
    let sandbox = Sandbox::with("fixtures/eval/errors");
    let update = std::env::var_os("UPDATE_EXPECT").is_some();
    let mut wrong = Vec::new();
    let mut count = 0;
    for path in files(&folder, ".nix").iter().filter(|path| path.parent() == Some(&folder)) {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let ran = sandbox.recipec(["eval", &name]);
        assert_eq!((ran.code, ran.stdout.as_str()), (1, ""), "{name}: {}", ran.stderr);
        let expected = path.with_extension("txt");
        if update {
            fs::write(&expected, &ran.stderr).unwrap();
        } else if fs::read_to_string(&expected).unwrap_or_default() != ran.stderr {
            wrong.push(format!("{name}:\n{}", ran.stderr));
        }
        count += 1;
    }
    assert!(count > 10, "the fixtures are where they are looked for");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_value_is_printed_as_nix_prints_it() {
    let sandbox = Sandbox::new();
    sandbox.write("a.nix", "{ b = { c = 1.0; }; f = x: x; l = [ \"a\\n\" null ]; }");
    assert_eq!(
        sandbox.recipec(["eval", "a.nix", "-A", "b", "--format", "json"]).exits(0).stdout.trim(),
        "{\"c\":1.0}"
    );
    assert_eq!(
        sandbox.recipec(["eval", "a.nix", "--format", "nix"]).exits(0).stdout.trim(),
        "{ b = { c = 1; }; f = <LAMBDA>; l = [ \"a\\n\" null ]; }"
    );
    sandbox.recipec(["eval", "a.nix", "-A", "b.d"]).exits(1);
}

/// Texts that would take for ever, all of memory or all of the stack.
fn hostile() -> Vec<(&'static str, String)> {
    let megabyte = 1 << 20;
    let deep = |open: &str, middle: &str, close: &str| {
        let times = megabyte / (open.len() + close.len());
        format!("{}{middle}{}", open.repeat(times), close.repeat(times))
    };
    vec![
        ("brackets", deep("[", "", "]")),
        ("sets", deep("{a=", "1", ";}")),
        ("parentheses", deep("(", "1", ")")),
        ("functions", format!("{}1", "x:".repeat(megabyte / 2))),
        ("sums", format!("1{}", "+1".repeat(megabyte / 2))),
        ("negations", format!("{}true", "!".repeat(megabyte))),
        ("calls", format!("(x: x){}", " 1".repeat(megabyte / 2))),
        ("selections", format!("{{}}{}", ".a".repeat(megabyte / 2))),
        ("strings", deep("\"${", "\"\"", "}\"")),
        ("names", format!("{{{}}}", (0..60_000).map(|n| format!("n{n}=1;")).collect::<String>())),
        ("merges", format!("{{}}{}", "//{a=1;}".repeat(megabyte / 8))),
        ("joined", format!("[]{}", "++[1]".repeat(megabyte / 5))),
        ("bindings", format!("let {} in n9", (0..60_000).map(|n| format!("n{n}=n{};", (n + 1) % 60_000)).collect::<String>())),
        ("endless", "let f = x: f x; in f 1".to_owned()),
        ("chain", "builtins.foldl' (a: b: x: a x) (x: x) (builtins.genList (n: n) 1000000) 1".to_owned()),
        ("lazy sum", "let s = n: if n == 0 then 0 else s (n - 1) + n; in s 1000000".to_owned()),
        ("thunks", "(builtins.foldl' (a: b: { v = a.v + 1; }) { v = 0; } (builtins.genList (n: n) 1000000)).v".to_owned()),
        ("doubling", "let d = s: n: if n == 0 then s else d (s + s) (n - 1); in builtins.stringLength (d \"aa\" 60)".to_owned()),
        ("shared", "let t = v: n: if n == 0 then v else t [ v v ] (n - 1); in t 1 60".to_owned()),
        ("pairs", "let l = builtins.genList (n: n) 100000; in builtins.all (a: builtins.all (b: a + b >= 0) l) l".to_owned()),
        ("replace", "builtins.replaceStrings (builtins.genList toString 10000) (builtins.genList toString 10000) (builtins.concatStringsSep \"\" (builtins.genList (n: \"x\") 1000000))".to_owned()),
        ("regex", "builtins.match \"(a*)*b\" (builtins.concatStringsSep \"\" (builtins.genList (n: \"a\") 5000))".to_owned()),
        ("nested regex", "builtins.match \"((a|aa)*|(aa|a)*)*c\" (builtins.concatStringsSep \"\" (builtins.genList (n: \"a\") 60))".to_owned()),
        ("cyclic", "let x = { inherit x; }; in x == { x = x; }".to_owned()),
        ("json", "builtins.fromJSON (builtins.concatStringsSep \"\" (builtins.genList (n: \"[\") 1000000))".to_owned()),
        ("toml", "builtins.fromTOML (\"a=\" + builtins.concatStringsSep \"\" (builtins.genList (n: \"[\") 100000))".to_owned()),
        ("growing", "builtins.length (builtins.foldl' (l: n: l ++ [ n ]) [ ] (builtins.genList (n: n) 100000))".to_owned()),
        ("growing set", "builtins.foldl' (s: n: s // { ${toString n} = n; }) { } (builtins.genList (n: n) 100000)".to_owned()),
        ("self import", "import ./a.nix".to_owned()),
        ("closure", "builtins.length (builtins.genericClosure { startSet = [ { key = 0; } ]; operator = x: [ { key = x.key + 1; } ]; })".to_owned()),
    ]
}

#[test]
fn a_hostile_manifest_ends_with_a_diagnostic_or_a_value_and_soon() {
    let sandbox = Sandbox::new();
    let mut slow = Vec::new();
    for (name, text) in hostile() {
        sandbox.write("a.nix", &text);
        let begin = Instant::now();
        let ran =
            sandbox.recipec(["eval", "a.nix", "--limit-bytes", "100000000", "--limit-steps", "5000000"]);
        let took = begin.elapsed();
        assert!(ran.code == 0 || ran.code == 1, "{name} ends with {}: {}", ran.code, ran.stderr);
        println!("{name}: {} in {took:?}", ran.code);
        if took > Duration::from_secs(60) {
            slow.push(name);
        }
    }
    assert!(slow.is_empty(), "{slow:?} take too long");
}

#[test]
fn every_limit_has_a_flag_and_a_slug() {
    let sandbox = Sandbox::new();
    sandbox
        .write("a.nix", "let f = n: if n == 0 then [ ] else [ n ] ++ f (n - 1); in import ./b.nix (f 100)");
    sandbox.write("b.nix", "l: l");
    let cases = [
        ("--limit-steps", "50", "too-many-steps"),
        ("--limit-depth", "50", "too-deep"),
        ("--limit-bytes", "1000", "too-much-memory"),
        ("--limit-output", "100", "too-much-output"),
        ("--limit-imports", "1", "too-many-imports"),
    ];
    for (flag, value, slug) in cases {
        let ran = sandbox.recipec(["eval", "a.nix", flag, value, "--format", "brief"]).exits(1);
        assert!(
            format!("{}{}", ran.stdout, ran.stderr).contains(&format!("[{slug}]")),
            "{flag}: {}",
            ran.stderr
        );
    }
    sandbox.recipec(["eval", "a.nix"]).exits(0);
}
