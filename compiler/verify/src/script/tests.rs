use super::*;

fn result(text: &str) -> String {
    let program = match parse(text) {
        Ok(program) => program,
        Err(error) => return format!("! {error}"),
    };
    let mut machine = Machine::new(Limits::default());
    match machine.run(&program) {
        Ok(()) => {
            machine.global("out").map_or_else(|| "nothing".to_owned(), |value| value.to_text().to_string())
        }
        Err(error) => format!("! {error}"),
    }
}

#[test]
fn what_pages_are_written_in_is_understood() {
    // Each expectation was checked with Node.js.
    let cases = [
        ("const a = {'8': 1, b: 2, '2': 3}; const out = Object.keys(a).join();", "2,8,b"),
        (
            "const { x, y: { z = 5 } = {}, ...rest } = { x: 1, q: 2 }; const out = `${x}-${z}-${rest.q}`;",
            "1-5-2",
        ),
        (
            "let s = 'a'; for (const [k, v] of Object.entries({p: 1, q: null})) { if (!v) continue; s += ` ${k}=${v}`; } const out = s;",
            "a p=1",
        ),
        ("const f = (a, b = a + 1, ...c) => a * b + c.length; const out = f(2) + f(1, 2, 3, 4);", "10"),
        (
            "const o = {a: null}; const out = [o?.a?.b?.c, o.x?.(1), o?.['a']].map(v => v === undefined).join();",
            "true,true,false",
        ),
        ("const out = (undefined ?? 0) || (null && 1) || typeof missing;", "undefined"),
        ("let out = 0; for (let i = 0; i < 5; i++) { if (i === 3) break; out += i; }", "3"),
        (
            "const v = x => { switch (x) { case 1: case 2: return 'low'; default: return 'high'; } }; const out = [1, 2, 3].map(v).join('|');",
            "low|low|high",
        ),
        (
            "const s = new Set(['a', 'b']); const out = s.has('a') && !s.has('c') && [...s].length === 2;",
            "true",
        ),
        (
            "const out = [10, 9, 1].sort().join() + ';' + [10, 9, 1].sort((a, b) => a - b).join();",
            "1,10,9;1,9,10",
        ),
        ("const out = `a${[1, 2].map((n) => `<${n}>`).join('')}b`;", "a<1><2>b"),
        (
            "const o = { f(x) { return x + 1; }, ['k' + 1]: 2, ...{ z: 3 } }; const out = o.f(1) + o.k1 + o.z;",
            "7",
        ),
        (
            "const out = String(0.1 + 0.2) + ' ' + 1e21 + ' ' + (0.8).toFixed(2);",
            "0.30000000000000004 1e+21 0.80",
        ),
        ("const out = 'a-b-c'.split('-').slice(-2).join('+').toUpperCase();", "B+C"),
        ("// comment `\n/* another */ const out = 4 / 2 /* here */ / 1;", "2"),
    ];
    for (text, expected) in cases {
        assert_eq!(result(text), expected, "{text}");
    }
}

#[test]
fn what_is_not_known_is_refused_by_name_and_line() {
    let cases = [
        ("const a = 1;\nconst out = fetch('x');", "! line 2: `fetch` is not known"),
        ("const out = [1].frobnicate();", "! line 1: `frobnicate` of object is not known"),
        ("class A {}", "! line 1: `class` is not understood here"),
        ("const out = Date.now();", "! line 1: `Date` is not known"),
        ("const out = Math.random();", "! line 1: `random` of function is not known"),
        ("const out = null.x;", "! line 1: `x` is read of null"),
        ("const out = `a", "! line 1: a template has no end"),
        ("throw new Error('no')", "! line 1: the page refuses: no"),
    ];
    for (text, expected) in cases {
        assert_eq!(result(text), expected, "{text}");
    }
}

#[test]
fn a_script_cannot_run_on() {
    let cases = [
        ("while (true) {}", "too many steps"),
        ("let s = 'x'; while (true) { s += s; }", "too much text"),
        ("const f = () => f(); f();", "too deep"),
        ("const out = 'x'.repeat(1e9);", "too many steps"),
        ("const a = []; while (true) { a.push(...a, 1); }", "too many steps"),
        ("const a = []; a.push(a); const out = String(a);", ""),
    ];
    for (text, expected) in cases {
        assert!(result(text).contains(expected), "{text}: {}", result(text));
    }
    for deep in [
        "(".repeat(50_000),
        "[".repeat(50_000),
        "!".repeat(50_000),
        "`${".repeat(50_000),
        "a => ".repeat(50_000),
    ] {
        assert!(parse(&deep).is_err());
    }
}
