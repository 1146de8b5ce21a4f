//! Any text, parsed and laid out: a tree and findings inside the text, the same when asked again; and
//! a layout that keeps the meaning.
#![no_main]

use diag::FileId;
use libfuzzer_sys::fuzz_target;
use syntax::tree::Expr;
use syntax::{ExprId, Interner, compare};

fuzz_target!(|text: &str| {
    let mut names = Interner::new();
    let parse = syntax::parse(FileId(0), text, &mut names);
    assert!(parse.diagnostics.iter().len() <= 2 * syntax::MAX_FINDINGS);
    for finding in parse.diagnostics.iter() {
        let spans = finding.span.iter().chain(finding.labels.iter().map(|label| &label.span));
        for span in spans.chain(finding.fixes.iter().map(|fix| &fix.span)) {
            assert!(text.get(span.start as usize..span.end as usize).is_some(), "{finding:?}");
        }
    }
    let again = syntax::parse(FileId(0), text, &mut names);
    assert_eq!(parse.diagnostics, again.diagnostics);
    if parse.diagnostics.has_errors() {
        return;
    }
    assert!(compare::same(&parse, &again));
    for id in 0..parse.tree.len() {
        let id = ExprId(u32::try_from(id).unwrap());
        assert!(parse.tree.expr(id) != Expr::Error, "no error node without an error");
    }
    let formatted = syntax::format(text).expect("a text without errors has a layout");
    let after = syntax::parse(FileId(0), &formatted, &mut names);
    assert!(compare::same(&parse, &after), "{formatted}");
});
