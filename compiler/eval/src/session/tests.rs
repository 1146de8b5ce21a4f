//! What callers rely on: origins, coverage, calls, values from Rust, limits.

use super::*;
use crate::MemoryFiles;

fn files(texts: &[(&str, &str)]) -> MemoryFiles {
    MemoryFiles::new(texts.iter().copied())
}

/// Returns the text under a span.
fn text<'s>(session: &'s Session<'_>, span: Option<Span>) -> &'s str {
    span.map_or("", |span| session.sources().text(span))
}

fn attributes(view: View) -> Vec<Attribute> {
    match view {
        View::Attrs(attributes) => attributes,
        other => panic!("{} is no set", other.described()),
    }
}

#[test]
fn an_attribute_remembers_where_it_was_written_and_what_it_overrode() {
    let files = files(&[(
        "a.nix",
        "let base = { tp = 1; ep = 2; }; in base // { tp = 4; } // { tp = 8; new.deep = 3; }",
    )]);
    let mut session = Session::new(&files, Limits::default());
    let value = session.evaluate_file("a.nix").unwrap();
    let all = attributes(session.force(&value).unwrap());
    let names: Vec<&str> = all.iter().map(|attribute| &*attribute.name).collect();
    assert_eq!(names, ["ep", "new", "tp"]);
    let tp = &all[2].origin;
    assert_eq!((text(&session, tp.name), text(&session, tp.value)), ("tp", "8"));
    let shadowed: Vec<u32> = tp.shadowed.iter().map(|span| span.start).collect();
    assert_eq!(shadowed, [45, 13], "the latest first");
    assert!(all[0].origin.shadowed.is_empty());
    assert_eq!(text(&session, all[1].origin.name), "new");
}

#[test]
fn a_merge_that_is_repeated_keeps_the_origins_of_its_own_sets() {
    let files = files(&[("a.nix", "map (n: { a = n; b = 0; } // { b = n; }) [ 1 2 3 ]")]);
    let mut session = Session::new(&files, Limits::default());
    let value = session.evaluate_file("a.nix").unwrap();
    let View::List(elements) = session.force(&value).unwrap() else { panic!("a list") };
    for element in elements {
        let all = attributes(session.force(&element.value).unwrap());
        assert_eq!(all[1].origin.name.unwrap().start, 31);
        assert_eq!(all[1].origin.shadowed.len(), 1);
    }
}

#[test]
fn list_elements_remember_their_expressions_through_concatenation() {
    let files = files(&[("a.nix", "[ 1 (2 + 3) ] ++ map (x: x) [ 4 ] ++ [ \"five\" ]")]);
    let mut session = Session::new(&files, Limits::default());
    let value = session.evaluate_file("a.nix").unwrap();
    let View::List(elements) = session.force(&value).unwrap() else { panic!("a list") };
    let texts: Vec<&str> = elements.iter().map(|element| text(&session, element.span)).collect();
    assert_eq!(texts, ["1", "2 + 3", "map (x: x) [ 4 ]", "\"five\""]);
}

#[test]
fn a_function_is_called_with_values_from_rust() {
    let files =
        files(&[("a.nix", "{ serve = { tp, conc ? 8, ... }@point: { args = [ tp conc ]; all = point; }; }")]);
    let mut session = Session::new(&files, Limits::default());
    let value = session.evaluate_file("a.nix").unwrap();
    let serve = session.get(&value, "serve").unwrap().unwrap().value;
    let formals = session.formals(&serve).unwrap();
    assert!(formals.open);
    let names: Vec<(String, bool)> =
        formals.names.unwrap().iter().map(|formal| (formal.name.to_string(), formal.optional)).collect();
    assert_eq!(names, [("tp".to_owned(), false), ("conc".to_owned(), true)]);
    let tp = session.int(4);
    let name = session.string("x").unwrap();
    let point = session.attrs([("tp", tp), ("name", name)]).unwrap();
    let called = session.call(&serve, point).unwrap();
    let json = session.json(&called).unwrap();
    assert_eq!(json, serde_json::json!({ "args": [4, 8], "all": { "tp": 4, "name": "x" } }));
    let built = session.build(&serde_json::json!({ "tp": 1, "conc": 2.5 })).unwrap();
    let called = session.call(&serve, built).unwrap();
    assert_eq!(session.render_nix(&called).unwrap(), "{ all = { conc = 2.5; tp = 1; }; args = [ 1 2.5 ]; }");
}

#[test]
fn coverage_tells_which_arms_were_taken() {
    let text_ = "map (n: if n > 4 then 30 else if n > 100 then 1 else 10) [ 1 8 2 ]";
    let files = files(&[("a.nix", text_)]);
    let mut session = Session::new(&files, Limits::default());
    let value = session.evaluate_file("a.nix").unwrap();
    session.force_deep(&value).unwrap();
    let coverage = session.coverage();
    let outer =
        coverage.branches.iter().find(|branch| text(&session, Some(branch.condition)) == "n > 4").unwrap();
    assert_eq!((outer.first_taken, outer.second_taken), (1, 2));
    let one_sided: Vec<&str> = coverage.one_sided().map(|branch| text(&session, branch.first)).collect();
    assert_eq!(one_sided, ["1"]);
}

#[test]
fn files_that_need_each_other_are_reported_as_that() {
    let files = files(&[
        ("a.nix", "{ x = 1; } // import ./lib"),
        ("lib/default.nix", "import ../b.nix"),
        ("b.nix", "(import ./a.nix) // { y = 2; }"),
        ("lazy.nix", "{ x = import ./other.nix; y = 1; }"),
        ("other.nix", "(import ./lazy.nix).y"),
    ]);
    let mut session = Session::new(&files, Limits::default());
    let found = session.evaluate_file("a.nix").unwrap_err();
    let found = found.iter().next().unwrap();
    assert_eq!(found.slug.as_str(), "import-cycle");
    assert_eq!(found.notes, ["`a.nix` imports `lib` imports `b.nix` imports `a.nix`"]);
    let lazy = session.evaluate_file("lazy.nix").unwrap();
    assert_eq!(session.render_json(&lazy).unwrap(), "{\"x\":1,\"y\":1}");
}

#[test]
fn all_undefined_names_are_reported_at_once() {
    let files = files(&[("a.nix", "let tp = 1; in { a = tb; b = x; c = with { }; y; }")]);
    let mut session = Session::new(&files, Limits::default());
    let found = session.evaluate_file("a.nix").unwrap_err();
    let messages: Vec<&str> = found.iter().map(|found| found.message.as_str()).collect();
    assert_eq!(messages, ["`tb` is not defined", "`x` is not defined"]);
    assert_eq!(found.iter().next().unwrap().fixes[0].text, "tp");
}

#[test]
fn a_failed_value_can_be_asked_again() {
    let files = files(&[("a.nix", "let f = x: x + \"s\"; in { a = f 1; b = throw \"no\"; }")]);
    let mut session = Session::new(&files, Limits::default());
    let value = session.evaluate_file("a.nix").unwrap();
    let a = session.get(&value, "a").unwrap().unwrap().value;
    for _ in 0..2 {
        let error = session.force(&a).unwrap_err();
        assert_eq!(error.diagnostic().slug.as_str(), "type-mismatch");
        assert!(error.diagnostic().labels.iter().any(|label| label.text == "in this call of `f`"));
        assert!(!error.is_catchable());
    }
    let b = session.get(&value, "b").unwrap().unwrap().value;
    assert!(session.force(&b).unwrap_err().is_catchable());
}

#[test]
fn limits_hold() {
    let nothing = MemoryFiles::default();
    let slug = |text: &str, limits: Limits| {
        let mut session = Session::new(&nothing, limits);
        let value = session.evaluate_text("x.nix", text);
        let json = value.and_then(|value| session.render_json(&value).map_err(Error::into_diagnostics));
        json.map_err(|found| found.iter().next().unwrap().slug.as_str())
    };
    let usual = Limits::default();
    let endless = "let f = n: f (n + 1); in f 0";
    assert_eq!(slug(endless, usual), Err("too-deep"));
    assert_eq!(slug(endless, Limits { steps: 1000, ..usual }), Err("too-many-steps"));
    assert_eq!(
        slug("builtins.genList (n: n) 100000", Limits { bytes: 1 << 20, ..usual }),
        Err("too-much-memory")
    );
    assert_eq!(
        slug("builtins.genList (n: n) 100000", Limits { output: 1000, ..usual }),
        Err("too-much-output")
    );
    assert_eq!(slug("builtins.genList (n: n) 3", usual), Ok("[0,1,2]".to_owned()));
}

#[test]
fn strings_that_are_cut_inside_a_character_are_no_data() {
    let nothing = MemoryFiles::default();
    let mut session = Session::new(&nothing, Limits::default());
    let value = session.evaluate_text("x.nix", "builtins.substring 0 1 \"é\"").unwrap();
    assert_eq!(session.json(&value).unwrap_err().diagnostic().slug.as_str(), "not-unicode");
    assert!(matches!(session.force(&value), Ok(View::String(text)) if &*text == "\u{fffd}"));
}

#[test]
fn json_strings_are_escaped_wherever_the_special_byte_stands() {
    let nothing = MemoryFiles::default();
    let mut session = Session::new(&nothing, Limits::default());
    for length in 0..20 {
        for special in ["\"", "\\", "\n", "\u{1}", "é", "\u{7f}", "~", " "] {
            let written = format!("{}{special}{}", "a".repeat(length), "b".repeat(19 - length));
            let value = session.string(&written).unwrap();
            assert_eq!(session.render_json(&value).unwrap(), serde_json::to_string(&written).unwrap());
        }
    }
}
