//! Builtins that read texts, on any texts: the first byte chooses, the rest is cut in two.
#![no_main]

use eval::{Limits, MemoryFiles, Session};
use libfuzzer_sys::fuzz_target;

const CALLS: [&str; 14] = [
    "a: b: builtins.match a b",
    "a: b: builtins.split a b",
    "a: b: builtins.fromJSON a",
    "a: b: builtins.fromTOML a",
    "a: b: builtins.replaceStrings [ a ] [ b ] (a + b + a)",
    "a: b: builtins.compareVersions a b",
    "a: b: builtins.splitVersion a",
    "a: b: builtins.parseDrvName a",
    "a: b: builtins.convertHash { hash = a; hashAlgo = \"sha256\"; toHashFormat = b; }",
    "a: b: builtins.convertHash { hash = a; toHashFormat = \"nix32\"; }",
    "a: b: [ (builtins.baseNameOf a) (builtins.dirOf a) ]",
    "a: b: builtins.substring (builtins.stringLength b) 3 a",
    "a: b: builtins.toJSON { ${a} = b; }",
    "a: b: builtins.toXML { ${a} = b; }",
];

fuzz_target!(|data: (u8, &str, &str)| {
    let (which, a, b) = data;
    let nothing = MemoryFiles::default();
    let limits = Limits { steps: 200_000, ..Limits::default() };
    let mut session = Session::new(&nothing, limits);
    let function = session.evaluate_text("a.nix", CALLS[usize::from(which) % CALLS.len()]);
    let Ok(function) = function else { panic!("the calls are well written") };
    let (Ok(a), Ok(b)) = (session.string(a), session.string(b)) else { return };
    let called = session.call(&function, a).and_then(|bound| session.call(&bound, b));
    if let Ok(value) = called {
        let _ = session.render_json(&value);
        let _ = session.render_nix(&value);
    }
});
