//! Manifests written in the test, and what is said of them.

use engine::known::Known;
use eval::{Limits, MemoryFiles, Session};

use crate::{Checked, Corpus, check, load};

const BASE: &str = include_str!("../../../fixtures/explain/root/manifests/lib/base.nix");
const HERE: &str = include_str!("../../../fixtures/explain/root/manifests/targets/here.nix");

/// Returns `slug text` of each finding: what is said, and the characters at which it is said.
fn findings(manifests: &[(&str, &str)]) -> Vec<String> {
    with(manifests, |session, corpus, found| {
        let Checked { diagnostics, .. } = check(session, corpus, &Known::default());
        let all = found.iter().chain(diagnostics.iter());
        all.map(|one| format!("{} {}", one.slug, one.span.map_or("", |at| session.sources().text(at))))
            .collect()
    })
}

fn with<T>(
    manifests: &[(&str, &str)],
    look: impl FnOnce(&mut Session<'_>, &Corpus, &diag::Diagnostics) -> T,
) -> T {
    let shared = [("manifests/lib/base.nix", BASE), ("manifests/targets/here.nix", HERE)];
    let files = MemoryFiles::new(shared.iter().chain(manifests).copied());
    let mut session = Session::new(&files, Limits::default());
    let paths: Vec<String> = manifests.iter().map(|(path, _)| (*path).to_owned()).collect();
    let (corpus, found) = load(&mut session, &paths, &["manifests/targets/here.nix".to_owned()]);
    look(&mut session, &corpus, &found)
}

fn one(recipe: &str) -> Vec<String> {
    let text = format!("let base = import ./lib/base.nix; in {{ \"one\" = base // {recipe}; }}");
    findings(&[("manifests/one.nix", &text)])
}

/// A recipe whose server gets more options than the base's.
fn served(pattern: &str, args: &str) -> Vec<String> {
    one(&format!(
        "{{ serve = {pattern}@point: let given = base.serve point; in given // {{ args = given.args // {args}; }}; }}"
    ))
}

#[test]
fn all_problems_of_a_manifest_are_reported_at_once() {
    let found = one("{ imgae = \"x\"; image = 14; targets = [ \"heer\" ]; download = \"always\"; }");
    // The recipe could not be read, so nobody asks for its target.
    assert_eq!(found, ["unknown-field imgae", "wrong-type 14", "unknown-choice \"always\""]);
}

#[test]
fn a_sound_recipe_has_no_finding() {
    assert_eq!(one("{ }"), [""; 0]);
}

#[test]
fn two_recipes_of_one_key_are_found_across_files() {
    let text = "{ \"one\" = import ./lib/base.nix; }";
    let found = findings(&[("manifests/a.nix", text), ("manifests/b.nix", text)]);
    assert_eq!(found, ["duplicate-key \"one\""]);
}

#[test]
fn a_branch_that_no_point_reaches_is_found_and_one_that_a_point_reaches_is_not() {
    let found = served("{ tp, ... }", "{ stream-interval = if tp >= 4 then 6 else 5; }");
    assert_eq!(found, ["unreached-branch 6"]);
    assert_eq!(served("{ conc, ... }", "{ stream-interval = if conc >= 8 then 6 else 5; }"), [""; 0]);
}

#[test]
fn a_field_is_tried_and_not_only_looked_for() {
    let quantization = "quantization = { method = \"fp8\"; };";
    assert_eq!(one(&format!("{{ {quantization} }}")), ["field-without-effect \"fp8\""]);
    // Reading it and throwing it away changes nothing either.
    let read = "serve = { quantization, ... }@point: builtins.seq quantization.method (base.serve point);";
    assert_eq!(one(&format!("{{ {quantization} {read} }}")), ["field-without-effect \"fp8\""]);
    let used = "serve = { quantization, ... }@point: let given = base.serve point; in \
                given // { args = given.args // { quantization = quantization.method; }; };";
    assert_eq!(one(&format!("{{ {quantization} {used} }}")), [""; 0]);
}

#[test]
fn a_rule_is_waived_by_its_name_and_only_where_it_speaks() {
    let waiving = |waivers: &str, lm_head: &str| {
        one(&format!(
            "{{ {waivers} serve = point: let given = base.serve point; in given // {{ args = given.args // {{ {lm_head} }}; }}; }}"
        ))
    };
    let fault = "enable-dp-lm-head = true;";
    assert_eq!(waiving("", fault), ["needs-another-flag enable-dp-lm-head"]);
    assert_eq!(waiving("waivers.sg-dplmhead = \"the branch can\";", fault), [""; 0]);
    assert_eq!(waiving("waivers.sg-dplmhead = \"the branch can\";", ""), ["unused-waiver sg-dplmhead"]);
    // A rule of another engine is never asked.
    assert_eq!(waiving("waivers.vl-toolparser = \"why\";", ""), ["unused-waiver vl-toolparser"]);
}

#[test]
fn a_waiver_names_a_rule_and_says_why() {
    assert_eq!(one("{ waivers.sg-dplmhed = \"why\"; }"), ["unknown-choice sg-dplmhed"]);
    assert_eq!(one("{ waivers.sg-dplmhead = true; }"), ["wrong-type true"]);
    assert_eq!(one("{ waivers = [ \"sg-dplmhead\" ]; }"), ["wrong-type [ \"sg-dplmhead\" ]"]);
}

#[test]
fn any_string_reaches_the_argument_list_unchanged() {
    let odd = "a\u{1}b \u{1b}[31m ${x} 'q' \\\"\\\" \\\\ _run --x \u{202e}";
    let text = format!(
        "let base = import ./lib/base.nix; in {{ \"one\" = base // {{ client = point: \
         let given = base.client point; in given // {{ args = {{ name = \"{}\"; dashed = \"--y\"; }}; }}; }}; }}",
        odd.replace("${", "\\${")
    );
    with(&[("manifests/one.nix", &text)], |session, corpus, found| {
        assert!(found.is_empty(), "{found:?}");
        let checked = check(session, corpus, &Known::default());
        let plan = &checked.plans[0];
        let client = &plan.groups[plan.finish].replicas[0].ranks[0].argv;
        let words: Vec<&str> = client.iter().map(|word| word.as_text().unwrap_or("<hole>")).collect();
        let wanted = odd.replace("\\\"", "\"").replace("\\\\", "\\");
        // A value that begins with a dash stands with its option, or a parser took it for one.
        assert_eq!(words[2..], ["--dashed=--y", "--name", &wanted]);
    });
}

#[test]
fn a_file_is_written_as_yaml_that_reads_the_same() {
    let config =
        "{ b = true; a = { list = [ 1 \"no\" { x = null; } ]; empty = [ ]; }; s = \"a: b\"; f = 1.0; }";
    let text = format!(
        "let base = import ./lib/base.nix; in {{ \"one\" = base // {{ serve = point: \
         base.serve point // {{ files.\"x.yml\".yaml = {config}; }}; }}; }}"
    );
    with(&[("manifests/one.nix", &text)], |session, corpus, _| {
        let checked = check(session, corpus, &Known::default());
        let file = &checked.plans[0].files[0];
        assert_eq!(file.path.as_text(), Some("./x.yml"));
        let lines = "a:\n  empty: []\n  list:\n    - 1\n    - \"no\"\n    -\n      x: null\nb: true\nf: 1.0\ns: \"a: b\"\n";
        assert_eq!(file.text.as_text(), Some(lines));
    });
}

#[test]
fn what_runs_beside_a_server_starts_before_it_and_a_router_after_it() {
    let text = "let base = import ./lib/base.nix; in { \"one\" = base // { scenarios.fixedSequence = [ { \
         isl = 8192; osl = 1024; search = [ { tp = 2; router = { name = \"spread\"; version = \"1\"; }; conc = [ 4 ]; } ]; \
         } ]; serve = { port, ... }@point: \
         base.serve point // { port = port + 1; tools = [ { program = [ \"get\" \"it\" ]; } ]; beside = [ \
         { role = \"router\"; program = [ \"spread\" ]; args = { inherit port; }; inherit port; ready = \"/up\"; } \
         { role = \"kv-store\"; program = [ \"keep\" ]; port = 5555; tools = [ { program = [ \"get\" \"keep\" ]; } ]; } \
         { role = \"sidecar\"; program = [ \"sit\" ]; port = 5556; } ]; }; }; }";
    with(&[("manifests/one.nix", text)], |session, corpus, found| {
        assert!(found.is_empty(), "{found:?}");
        let checked = check(session, corpus, &Known::default());
        assert!(checked.diagnostics.is_empty(), "{:?}", checked.diagnostics);
        let groups = &checked.plans[0].groups;
        let order: Vec<(&str, usize)> =
            groups.iter().map(|group| (group.kind.as_str(), group.after.len())).collect();
        // Stores and sidecars wait for the installations, not for each other.
        assert_eq!(
            order,
            [
                ("download", 0),
                ("install", 1),
                ("install", 2),
                ("kv-store", 3),
                ("sidecar", 3),
                ("server", 5),
                ("router", 6),
                ("client", 7)
            ]
        );
        let port = |index: usize| groups[index].replicas[0].ranks[0].ports["http"].as_text();
        assert_eq!([port(3), port(5), port(6)], [Some("5555"), Some("8889"), Some("8888")]);
    });
    let wrong = one(
        "{ serve = point: base.serve point // { beside = [ { role = \"rooter\"; program = [ \"x\" ]; } ]; }; }",
    );
    assert_eq!(
        wrong,
        ["missing-field { role = \"rooter\"; program = [ \"x\" ]; }", "unknown-choice \"rooter\""]
    );
}

#[test]
fn a_draft_lies_where_its_target_has_it_or_where_the_recipe_puts_it() {
    let draft = |more: &str, target: &str| {
        let text = format!(
            "let base = import ./lib/base.nix; in {{ \"one\" = base // {{ \
             speculative = {{ method = \"eagle3\"; steps = 3; draft = {{ repository = \"example/Draft\"; {more} }}; }}; \
             serve = {{ speculative, ... }}@point: let given = base.serve point; in given // {{ \
             args = given.args // {{ speculative-draft-model-path = speculative.draftPath; }}; }}; }}; }}"
        );
        with(&[("manifests/one.nix", &text)], |session, corpus, found| {
            assert!(found.is_empty(), "{found:?}");
            let mut corpus = corpus.clone();
            if !target.is_empty() {
                corpus.targets[0].checkpoints.directory = Some(crate::schema::At::made(target.to_owned()));
            }
            let recipe = &corpus.recipes[0];
            let job = &crate::matrix(recipe, &corpus.targets)[0];
            let mode = crate::plan::Mode::Throughput;
            let plan = crate::plan(session, recipe, &corpus.targets[0], job, mode, &Known::default());
            let plan = plan.unwrap_or_else(|findings| panic!("{findings:?}"));
            let text = |group: &crate::plan::Group| -> Vec<String> {
                let argv = &group.replicas[0].ranks[0].argv;
                argv.iter().map(|word| word.as_text().unwrap_or("<hole>").to_owned()).collect()
            };
            let brought = plan.groups.iter().find(|group| group.name == "draft").map(text);
            let server = text(plan.groups.iter().find(|group| group.kind == "server").expect("there is one"));
            let at = server.iter().position(|word| word == "--speculative-draft-model-path").expect("given");
            (server[at + 1].clone(), brought.map(|argv| argv[2..].join(" ")))
        })
    };
    let said = |path: &str, brought: &str| (path.to_owned(), Some(brought.to_owned()));
    assert_eq!(draft("", ""), said("example/Draft", "example/Draft"));
    assert_eq!(draft("", "/models"), said("/models/Draft", "example/Draft --local-dir /models/Draft"));
    let folder = "folder = \"/beside/Draft\";";
    assert_eq!(draft(folder, ""), said("/beside/Draft", "example/Draft --local-dir /beside/Draft"));
    assert_eq!(draft(folder, "/models"), said("/models/Draft", "example/Draft --local-dir /models/Draft"));
    assert_eq!(draft("download = \"engine\";", ""), ("example/Draft".to_owned(), None));
}

#[test]
fn a_point_outside_the_search_space_is_planned_like_any_other() {
    with(&[("manifests/one.nix", "{ \"one\" = import ./lib/base.nix; }")], |session, corpus, _| {
        let recipe = &corpus.recipes[0];
        let job = crate::point::parse(recipe, &corpus.targets, "tp=4,conc=24")
            .unwrap_or_else(|fault| panic!("{fault}"));
        let mode = crate::plan::Mode::Throughput;
        let plan = crate::plan(session, recipe, &corpus.targets[0], &job, mode, &Known::default());
        let plan = plan.unwrap_or_else(|findings| panic!("{findings:?}"));
        assert_eq!(plan.id(), "one/here/throughput/point");
        assert_eq!((plan.job, plan.points[0]["tp"].as_u64(), plan.pools[0].gpus), (None, Some(4), 4));
        let fault = crate::point::parse(recipe, &corpus.targets, "tq=4").err();
        assert_eq!(fault.as_deref(), Some("a point has no `tq`; did you mean `tp`?"));
    });
}
