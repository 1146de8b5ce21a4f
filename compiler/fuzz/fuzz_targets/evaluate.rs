//! Any text, evaluated: it ends within the limits, with a value or with diagnostics, and twice
//! with the same ones.
#![no_main]

use eval::{Limits, MemoryFiles, Session};
use libfuzzer_sys::fuzz_target;

fn said(text: &str) -> String {
    let files = MemoryFiles::new([("a.nix", text)]);
    let limits = Limits { steps: 100_000, depth: 500, bytes: 32 << 20, output: 1 << 20, imports: 10 };
    let mut session = Session::new(&files, limits);
    let found = match session.evaluate_file("a.nix") {
        Ok(value) => {
            let nix = session.render_nix(&value);
            let json = session.render_json(&value);
            let document = session.json(&value);
            if let (Ok(json), Ok(document)) = (&json, &document) {
                assert_eq!(&serde_json::from_str::<serde_json::Value>(json).ok().as_ref(), &Some(document));
            }
            for part in [nix, json] {
                if let Err(error) = &part {
                    check(&session, error.diagnostic());
                }
            }
            format!("{:?}", session.render_nix(&value))
        }
        Err(found) => {
            for finding in found.iter() {
                check(&session, finding);
            }
            format!("{found:?}")
        }
    };
    found
}

/// Every span lies in a text, on the borders of characters.
fn check(session: &Session<'_>, finding: &diag::Diagnostic) {
    for span in finding.span.iter().chain(finding.labels.iter().map(|label| &label.span)) {
        let file = session.sources().get(span.file).expect("the file of a span is known");
        assert!(file.text.get(span.start as usize..span.end as usize).is_some(), "{finding:?}");
    }
}

fuzz_target!(|text: &str| {
    assert_eq!(said(text), said(text));
});
