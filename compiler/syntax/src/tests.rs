use diag::FileId;

use crate::tree::Expr;
use crate::{Interner, MAX_FINDINGS, Parse, generate, parse};

fn read(text: &str) -> Parse {
    parse(FileId(0), text, &mut Interner::new())
}

fn slugs(text: &str) -> Vec<&'static str> {
    read(text).diagnostics.iter().map(|finding| finding.slug.as_str()).collect()
}

#[test]
fn a_hundred_thousand_levels_end_in_one_finding() {
    for level in [
        "(",
        "[",
        "{a=",
        "{a.a.a=",
        "-",
        "!",
        "\"${",
        "''${",
        "./a/${",
        "x: ",
        "{ a }: ",
        "{ a ? ",
        "a ++ ",
        "a -> ",
        "a.b or ",
        "if 1 then 1 else ",
        "with a; ",
        "assert a; ",
        "let a = ",
        "rec {a=",
        "{ inherit (",
        "a ? \"${",
        "f (",
        "[ (",
        "{ ${",
    ] {
        let text = level.repeat(100_000);
        let found = slugs(&text);
        assert!(found.contains(&"nesting-too-deep"), "{level}: {found:?}");
    }
    assert_eq!(slugs(&format!("1{}", " + 1".repeat(100_000))), ["nesting-too-deep"]);
    assert_eq!(slugs(&format!("{{ a{} = 1; }}", ".a".repeat(100_000))), ["nesting-too-deep"]);
    // What is long without being deep is no problem.
    assert!(slugs(&format!("a{}", ".a".repeat(100_000))).is_empty());
    assert!(slugs(&format!("f{}", " a".repeat(100_000))).is_empty());
    assert!(slugs(&format!("[ {}]", "a ".repeat(100_000))).is_empty());
}

#[test]
fn warnings_do_not_end_the_reading() {
    let found = slugs(&format!("[ {} ] + ;", "(f or) ".repeat(200)));
    assert_eq!(found.iter().filter(|slug| **slug == "or-as-name").count(), MAX_FINDINGS);
    assert!(found.contains(&"unexpected-token"), "{found:?}");
}

#[test]
fn any_text_gives_a_tree() {
    for seed in 0..3000 {
        let text = generate::broken(seed, usize::try_from(seed % 9).unwrap_or(0) + 2);
        let parse = read(&text);
        assert!(parse.diagnostics.iter().len() <= 2 * MAX_FINDINGS, "{text}");
        for finding in parse.diagnostics.iter() {
            let span = finding.span.map(|span| span.start as usize..span.end as usize);
            assert!(span.is_some_and(|span| text.get(span).is_some()), "{text}\n{finding:?}");
            for fix in &finding.fixes {
                let span = fix.span.start as usize..fix.span.end as usize;
                assert!(text.get(span).is_some(), "{text}\n{finding:?}");
            }
        }
    }
}

#[test]
fn every_prefix_of_a_text_gives_a_tree() {
    let text = generate::manifest(2000);
    for (at, _) in text.char_indices() {
        let prefix = text.get(..at).unwrap_or("");
        let parse = read(prefix);
        assert!(!parse.tree.is_empty() && parse.diagnostics.iter().len() < 20, "{prefix}");
    }
}

#[test]
fn a_fix_repairs() {
    for (text, slug) in [
        ("{ a = 1 }", "missing-semicolon"),
        ("{ a = f b = 1; }", "missing-semicolon"),
        ("let a = 1;\na", "missing-in"),
        ("[ 1, 2 ]", "list-separator"),
        ("x:x", "url-literal"),
        ("1 + if a then b else c", "needs-parentheses"),
        ("1 + x: x", "needs-parentheses"),
        ("{ \"a\": 1; }", "unexpected-token"),
        ("./a/", "path-slash"),
    ] {
        let mut repaired = text.to_owned();
        let parse = read(text);
        let mut fixes: Vec<_> = parse.diagnostics.iter().flat_map(|finding| finding.fixes.clone()).collect();
        assert_eq!(slugs(text), [slug], "{text}");
        fixes.sort_by_key(|fix| std::cmp::Reverse(fix.span.start));
        for fix in fixes {
            repaired.replace_range(fix.span.start as usize..fix.span.end as usize, &fix.text);
        }
        assert!(slugs(&repaired).is_empty(), "{text} became {repaired}: {:?}", slugs(&repaired));
    }
}

#[test]
fn strings_are_cooked_as_in_nix() {
    let cooked = |text: &str| {
        let parse = read(text);
        match parse.tree.expr(parse.root) {
            Expr::Text(cooked) => parse.tree.text(cooked).to_owned(),
            other => panic!("{text}: {other:?}"),
        }
    };
    assert_eq!(cooked(r#""a\n\t\r\x\"\${b}$${c}""#), "a\n\t\rx\"${b}$${c}");
    assert_eq!(cooked("\"a\r\nb\rc\""), "a\nb\nc");
    assert_eq!(cooked("''\n    a\n      b\n\n    c\n  ''"), "a\n  b\n\nc\n");
    assert_eq!(cooked("''a\n  b''"), "a\n  b");
    assert_eq!(cooked("''\n  a''$b'''c''\\n''"), "a$b''c\n");
    assert_eq!(cooked("''  \n\n  a''"), "\na");
    assert_eq!(cooked("''\r\n  a''"), "\r\n  a");
    assert_eq!(cooked("'' ''"), "");
    assert_eq!(cooked("''\n\t a\n\t b''"), "\t a\n\t b");
}
