use super::{Look, Tool, brief, github, harmless, human, json, markdown, sarif};
use crate::slugs::cli::{NO_ROOT, NO_SUCH_RECIPE, UNKNOWN_SLUG};
use crate::{Diagnostic, FileId, SourceMap, Span, pages};

const TOOL: Tool<'_> = Tool { name: "recipec", version: "0.0.0", home: "https://example.org" };

fn example() -> (SourceMap, Vec<Diagnostic>) {
    let mut sources = SourceMap::new();
    let a = sources.add("manifests/a.nix", "{\n  imgae = \"é\";\n  engine = \"sglang\";\n}\n");
    let b = sources.add("manifests/lib/b.nix", "rec { image = 1; }");
    let first = Diagnostic::error(NO_SUCH_RECIPE, "unknown field `imgae`")
        .at_labelled(Span::new(a, 4, 9), "not a field of `recipe`")
        .label(Span::new(b, 6, 11), "the set that it overrides has `image`")
        .why("a field that nobody reads is a silent fault")
        .help("fields are listed in CONTRIBUTING.md")
        .fix(Span::new(a, 4, 9), "image", "write `image`");
    let second = Diagnostic::warning(NO_ROOT, "100% sure, it is: here\nand there").at(Span::new(a, 12, 16));
    let third = Diagnostic::note(UNKNOWN_SLUG, "in no text");
    (sources, vec![first, second, third])
}

#[test]
fn people_see_labels_of_two_files_notes_helps_and_the_repair() {
    let (sources, findings) = example();
    let expected = "\
error[no-such-recipe]: unknown field `imgae`
 --> manifests/a.nix:2:3
  |
2 |   imgae = \"é\";
  |   ^^^^^ not a field of `recipe`
  |
 ::: manifests/lib/b.nix:1:7
  |
1 | rec { image = 1; }
  |       ----- the set that it overrides has `image`
  |
  = note: a field that nobody reads is a silent fault
  = help: fields are listed in CONTRIBUTING.md
help: write `image`
  |
2 -   imgae = \"é\";
2 +   image = \"é\";
  |

warning[no-root]: 100% sure, it is: here
                  and there
 --> manifests/a.nix:2:11
  |
2 |   imgae = \"é\";
  |           ^^^

note[unknown-slug]: in no text
";
    assert_eq!(human(&findings, &sources, Look::default()), expected);
}

#[test]
fn colour_is_only_there_when_asked_for() {
    let (sources, findings) = example();
    assert!(!human(&findings, &sources, Look::default()).contains('\u{1b}'));
    assert!(human(&findings, &sources, Look { color: true, width: 100 }).contains('\u{1b}'));
}

#[test]
fn brief_is_one_line_a_finding() {
    let (sources, findings) = example();
    assert_eq!(
        brief(&findings, &sources),
        "manifests/a.nix:2:3: error[no-such-recipe] unknown field `imgae`\n\
         manifests/a.nix:2:11: warning[no-root] 100% sure, it is: here and there\n\
         note[unknown-slug] in no text\n"
    );
}

#[test]
fn json_counts_bytes_from_zero_and_columns_in_scalars() {
    let (sources, findings) = example();
    let value = json(&findings, &sources);
    assert_eq!(
        value[1]["span"],
        serde_json::json!({
            "file": "manifests/a.nix",
            "start": { "byte": 12, "line": 2, "column": 11 },
            "end": { "byte": 16, "line": 2, "column": 14 },
        })
    );
    assert_eq!(value[0]["fixes"][0]["text"], "image");
    assert_eq!(value[0]["labels"][0]["span"]["file"], "manifests/lib/b.nix");
    assert_eq!(value[2]["span"], serde_json::Value::Null);
    for field in ["slug", "severity", "message", "span", "labels", "notes", "help", "fixes"] {
        assert!(value[2].get(field).is_some(), "{field} is always there");
    }
}

#[test]
fn github_commands_survive_line_feeds_percents_commas_and_colons() {
    let mut sources = SourceMap::new();
    let file = sources.add("odd,name:1%.nix", "x\ny");
    let one = Diagnostic::warning(NO_ROOT, "100% sure\nreally").at(Span::new(file, 0, 1)).help("a, b: c");
    let two = Diagnostic::error(NO_ROOT, "over lines").at(Span::new(file, 0, 3));
    assert_eq!(
        github(&[one, two], &sources),
        "::warning file=odd%2Cname%3A1%25.nix,line=1,endLine=1,col=1,endColumn=2,title=no-root\
         ::100%25 sure%0Areally%0Ahelp: a, b: c\n\
         ::error file=odd%2Cname%3A1%25.nix,line=1,endLine=2,title=no-root::over lines\n"
    );
}

#[test]
fn sarif_has_rules_results_places_and_fixes() {
    let (sources, findings) = example();
    let log = sarif(&findings, &sources, TOOL);
    assert_eq!(log["version"], "2.1.0");
    let run = &log["runs"][0];
    for result in run["results"].as_array().expect("results") {
        let index = usize::try_from(result["ruleIndex"].as_u64().expect("an index")).expect("small");
        assert_eq!(run["tool"]["driver"]["rules"][index]["id"], result["ruleId"]);
    }
    let region = &run["results"][1]["locations"][0]["physicalLocation"]["region"];
    assert_eq!((region["startLine"].as_u64(), region["endColumn"].as_u64()), (Some(2), Some(14)));
    let fix = &run["results"][0]["fixes"][0];
    assert_eq!(fix["description"]["text"], "write `image`");
    assert_eq!(fix["artifactChanges"][0]["replacements"][0]["insertedContent"]["text"], "image");
}

#[test]
fn markdown_keeps_names_in_backticks_and_escapes_the_rest() {
    let mut sources = SourceMap::new();
    let file = sources.add("a.nix", "x");
    let finding = Diagnostic::error(NO_ROOT, "<b> and `<c>`").at(Span::new(file, 0, 1)).why("is *so*");
    assert_eq!(
        markdown(&[finding], &sources),
        "- **error** `no-root`: \\<b\\> and `<c>` (`a.nix:1:1`)\n  - note: is \\*so\\*\n"
    );
}

#[test]
fn control_characters_do_not_reach_a_terminal() {
    assert_eq!(harmless("plain\n\ttext"), "plain\n\ttext");
    assert_eq!(harmless("a\u{1b}[2Jb\u{202e}"), "a\\u{1b}[2Jb\\u{202e}");
    let mut sources = SourceMap::new();
    let file = sources.add("\u{1b}.nix", "\u{1b}[31m x");
    let finding = Diagnostic::error(NO_ROOT, "\u{1b}")
        .at_labelled(Span::new(file, 0, 4), "\u{1b}")
        .label(Span::new(file, 5, 6), "\u{7}")
        .why("\u{1b}")
        .help("\u{1b}")
        .fix(Span::new(file, 0, 1), "\u{1b}", "\u{1b}");
    let all = [
        human([&finding], &sources, Look::default()),
        brief([&finding], &sources),
        markdown([&finding], &sources),
    ];
    for text in all {
        assert!(!text.contains(|c: char| c.is_control() && c != '\n'), "{text:?}");
    }
}

#[test]
fn no_span_makes_a_renderer_fail() {
    let texts = ["", "\n", "a", "é\r\n\tü\n", "a\r", "日本\n\n\u{200d}x\u{0}\n", "\u{feff}{\n}\n\n"];
    for text in texts {
        let mut sources = SourceMap::new();
        let file = sources.add("a", text);
        let length = u32::try_from(text.len()).expect("short");
        for start in 0..=length + 2 {
            for end in start..=length + 3 {
                let span = Span::new(file, start, end);
                for other in [span, Span::new(file, 0, 0), Span::new(FileId(7), start, end)] {
                    let finding = Diagnostic::error(NO_ROOT, text)
                        .at_labelled(span, text)
                        .label(other, text)
                        .fix(span, "", "delete")
                        .fix(other, text, "replace")
                        .fix(span, "x\ny", "write");
                    let _ = human([&finding], &sources, Look::default());
                    let _ = (brief([&finding], &sources), github([&finding], &sources));
                    let _ = (json([&finding], &sources), sarif([&finding], &sources, TOOL));
                }
            }
        }
    }
}

#[test]
fn a_long_line_and_a_tall_span_are_pointed_at_and_not_printed() {
    let mut sources = SourceMap::new();
    let long = sources.add("long.nix", "x".repeat(1 << 20));
    let tall = sources.add("tall.nix", "x\n".repeat(1 << 19));
    let findings = [
        Diagnostic::error(NO_ROOT, "long").at(Span::new(long, 70_000, 70_001)),
        Diagnostic::error(NO_ROOT, "tall").at_labelled(Span::new(tall, 2, 1 << 20), "all of it"),
        Diagnostic::error(NO_ROOT, "far")
            .at(Span::new(tall, 0, 1))
            .label(Span::new(tall, 900_000, 900_001), "b"),
    ];
    let text = human(&findings, &sources, Look::default());
    assert!(text.len() < 2000, "{}", text.len());
    assert!(text.contains("long.nix:1:70001") && text.contains("tall.nix:2:1"), "{text}");
    assert!(text.contains("450001 | x"), "{text}");
}

#[test]
fn every_page_can_be_read_and_names_are_unique() {
    let mut names = std::collections::BTreeSet::new();
    for page in pages() {
        assert!(names.insert(page.slug), "{} is declared twice", page.slug);
        if let Err(error) = page.explanation() {
            panic!("pages/{}/{}.md, {error}", page.stage, page.slug);
        }
    }
    assert!(names.len() >= 3);
}
