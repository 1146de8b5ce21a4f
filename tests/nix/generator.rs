//! Expressions of the language at random: mostly ones that mean something, some that do not.

use super::random::Random;
use super::term::Term;

/// What an expression is meant to be.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    Int,
    Float,
    Bool,
    Text,
    /// A list of integers.
    Ints,
    /// A list of strings.
    Texts,
    /// A list of anything.
    Mixed,
    /// A set whose attributes are integers.
    Set,
    /// A function from integer to integer.
    Function,
    Null,
}

const KINDS: [Kind; 10] = [
    Kind::Int,
    Kind::Float,
    Kind::Bool,
    Kind::Text,
    Kind::Ints,
    Kind::Texts,
    Kind::Mixed,
    Kind::Set,
    Kind::Function,
    Kind::Null,
];

const NAMES: [&str; 9] = ["a", "b", "c", "d", "x", "y", "or", "a-b", "tp"];

pub struct Generator {
    pub random: Random,
    /// Variables that are defined here, with what they are meant to be.
    scope: Vec<(String, Kind)>,
    fresh: usize,
}

impl Generator {
    pub fn new(seed: u64) -> Self {
        Self { random: Random(seed), scope: Vec::new(), fresh: 0 }
    }

    /// Returns an expression that can be written as JSON if all goes well.
    pub fn expression(&mut self) -> Term {
        self.scope.clear();
        let depth = 2 + self.random.below(4);
        let kind = loop {
            let kind = *self.random.pick(&KINDS);
            if kind != Kind::Function && kind != Kind::Null {
                break kind;
            }
        };
        self.of(kind, depth)
    }

    fn of(&mut self, kind: Kind, depth: usize) -> Term {
        // Now and then something else than what is needed.
        let kind = if self.random.once_in(60) { *self.random.pick(&KINDS) } else { kind };
        if self.random.once_in(4)
            && let Some(variable) = self.variable(kind)
        {
            return variable;
        }
        if depth == 0 {
            return self.leaf(kind);
        }
        let depth = depth - 1;
        if self.random.once_in(3) {
            return self.around(kind, depth);
        }
        match kind {
            Kind::Int => self.int(depth),
            Kind::Float => self.float(depth),
            Kind::Bool => self.bool(depth),
            Kind::Text => self.string(depth),
            Kind::Ints => self.ints(depth),
            Kind::Texts => self.texts(depth),
            Kind::Mixed => self.mixed(depth),
            Kind::Set => self.set(depth),
            Kind::Function => self.function(depth),
            Kind::Null => Term::leaf("null"),
        }
    }

    fn variable(&mut self, kind: Kind) -> Option<Term> {
        let fitting: Vec<String> =
            self.scope.iter().filter(|(_, other)| *other == kind).map(|(name, _)| name.clone()).collect();
        (!fitting.is_empty()).then(|| Term::leaf(self.random.pick(&fitting).clone()))
    }

    fn leaf(&mut self, kind: Kind) -> Term {
        match kind {
            Kind::Int => {
                let all =
                    ["0", "1", "2", "3", "7", "64", "1000000", "9223372036854775807", "4611686018427387904"];
                Term::leaf(*self.random.pick(&all))
            }
            Kind::Float => {
                let all = ["0.0", "1.0", "1.5", "0.1", "2.5e3", "1.0e-5", "1.0e20", ".5", "123456.789", "3."];
                Term::leaf(*self.random.pick(&all))
            }
            Kind::Bool => Term::leaf(*self.random.pick(&["true", "false"])),
            Kind::Text => self.literal(),
            Kind::Ints | Kind::Texts | Kind::Mixed => Term::leaf("[ ]"),
            Kind::Set => Term::leaf("{ a = 1; b = 2; }"),
            Kind::Function => {
                Term::leaf(*self.random.pick(&["(x: x)", "(x: x + 1)", "(builtins.add 1)", "(_: 4)"]))
            }
            Kind::Null => Term::leaf("null"),
        }
    }

    fn literal(&mut self) -> Term {
        let all = [
            "\"\"",
            "\"a\"",
            "\"b\"",
            "\"abab\"",
            "\"é\"",
            "\"a b\"",
            "\"a\\nb\"",
            "\"\\\"\\\\\"",
            "\"\\${a}\"",
            "\"$${a}\"",
            "\"1.2.3\"",
            "\"2.3pre1\"",
            "\"a/b/c\"",
            "\"/x/y\"",
            "\"foo-1.0\"",
            "\"tp=4,ep=1\"",
            "''a''",
            "''\n  a\n    b\n''",
            "''\n\ta\n  b''",
            "'' ''${a} ''",
            "''a''\\nb''",
            "''  x\n   y\n  ''",
            "\"a\\tb\"",
            "''$''",
            "''\n  \n   a\n  ''",
            "'''''''",
            "''${\"a\"}\n  b''",
        ];
        Term::leaf(*self.random.pick(&all))
    }

    /// Constructs that fit around anything.
    fn around(&mut self, kind: Kind, depth: usize) -> Term {
        match self.random.below(13) {
            0 => Term::of(
                "if @ then @ else @",
                [self.of(Kind::Bool, depth), self.of(kind, depth), self.of(kind, depth)],
            ),
            1 | 2 => self.let_in(kind, depth),
            3 => {
                let (name, inner) = (self.name(), *self.random.pick(&KINDS));
                let value = self.of(inner, depth);
                let mark = self.scope.len();
                // Names around hide those of a `with`.
                if !self.scope.iter().any(|(other, _)| *other == name) && name != "or" {
                    self.scope.push((name.clone(), inner));
                }
                let body = self.of(kind, depth);
                self.scope.truncate(mark);
                Term::of(&format!("with {{ {name} = @; z = 1; }}; @"), [value, body])
            }
            4 => Term::of("assert @; @", [self.of(Kind::Bool, depth), self.of(kind, depth)]),
            5 => {
                let inner = *self.random.pick(&KINDS);
                let name = self.fresh_name();
                let argument = self.of(inner, depth);
                let body = self.within(&[(name.clone(), inner)], |g| g.of(kind, depth));
                Term::of(&format!("({name}: @) @"), [body, argument])
            }
            6 => self.pattern_call(kind, depth),
            7 => {
                let name = self.name();
                Term::of(&format!("{{ {name} = @; }}.{name}"), [self.of(kind, depth)])
            }
            8 => {
                let (name, other) = (self.name(), self.name());
                Term::of(
                    &format!("{{ {name} = @; }}.{other} or (@)"),
                    [self.of(kind, depth), self.of(kind, depth)],
                )
            }
            9 => {
                let name = self.name();
                Term::of(&format!("rec {{ {name} = @; q = {name}; }}.q"), [self.of(kind, depth)])
            }
            10 => Term::of("builtins.seq @ @", [self.of_any(depth), self.of(kind, depth)]),
            11 => Term::of("builtins.head [ @ @ ]", [self.of(kind, depth), self.of_any(depth)]),
            _ => Term::of("(builtins.tryEval @).value", [self.of(kind, depth)]),
        }
    }

    fn of_any(&mut self, depth: usize) -> Term {
        if self.random.once_in(30) {
            return Term::of("throw @", [self.of(Kind::Text, 0)]);
        }
        let kind = *self.random.pick(&KINDS);
        self.of(kind, depth)
    }

    fn name(&mut self) -> String {
        (*self.random.pick(&NAMES)).to_owned()
    }

    fn fresh_name(&mut self) -> String {
        self.fresh += 1;
        format!("v{}", self.fresh)
    }

    fn within(&mut self, names: &[(String, Kind)], work: impl FnOnce(&mut Self) -> Term) -> Term {
        let mark = self.scope.len();
        self.scope.extend_from_slice(names);
        let term = work(self);
        self.scope.truncate(mark);
        term
    }

    fn let_in(&mut self, kind: Kind, depth: usize) -> Term {
        let (first, second) = (self.fresh_name(), self.fresh_name());
        let (one, two) = (*self.random.pick(&KINDS), *self.random.pick(&KINDS));
        // The first may see the second, which comes later; the second only what is outside.
        let later = self.of(two, depth);
        let earlier = self.within(&[(second.clone(), two)], |g| g.of(one, depth));
        let names = [(first.clone(), one), (second.clone(), two)];
        let body = self.within(&names, |g| g.of(kind, depth));
        if self.random.once_in(4) {
            let template =
                format!("let inherit (rec {{ {first} = @; {second} = @; }}) {first} {second}; in @");
            return Term::of(&template, [earlier, later, body]);
        }
        Term::of(&format!("let {first} = @; {second} = @; in @"), [earlier, later, body])
    }

    fn pattern_call(&mut self, kind: Kind, depth: usize) -> Term {
        let (first, second) = (self.fresh_name(), self.fresh_name());
        let (one, two) = (*self.random.pick(&KINDS), *self.random.pick(&KINDS));
        let default = self.within(&[(first.clone(), one)], |g| g.of(two, depth));
        let names = [(first.clone(), one), (second.clone(), two)];
        let body = self.within(&names, |g| g.of(kind, depth));
        let value = self.of(one, depth);
        let (open, extra) = match self.random.below(8) {
            0 => ("", " zz = 1;"),
            1..=3 => (", ...", " zz = 1;"),
            _ => ("", ""),
        };
        let whole = *self.random.pick(&["", "", "@args"]);
        let template = format!("({{ {first}, {second} ? §{open} }}{whole}: §) {{ {first} = §;{extra} }}");
        // `@` is part of the language here, so another sign marks the children.
        Term::of_marked(&template, '§', [default, body, value])
    }

    fn two(&mut self, template: &str, kind: Kind, depth: usize) -> Term {
        Term::of(template, [self.of(kind, depth), self.of(kind, depth)])
    }

    fn int(&mut self, depth: usize) -> Term {
        use Kind::{Bool, Float, Function, Int, Ints, Set, Text, Texts};
        match self.random.below(26) {
            0..=2 => self.two("@ + @", Int, depth),
            3 | 4 => self.two("@ - @", Int, depth),
            5 => self.two("@ * @", Int, depth),
            6 => self.two("@ / @", Int, depth),
            7 => Term::of("-@", [self.of(Int, depth)]),
            8 => Term::of("builtins.length @", [self.of(Texts, depth)]),
            9 => Term::of("builtins.stringLength @", [self.of(Text, depth)]),
            10 => Term::of("builtins.head @", [self.of(Ints, depth)]),
            11 => Term::of("builtins.elemAt @ @", [self.of(Ints, depth), self.of(Int, 0)]),
            12 => Term::of("builtins.foldl' (p: q: p + q) @ @", [self.of(Int, depth), self.of(Ints, depth)]),
            13 => {
                let name = self.name();
                Term::of(&format!("@.{name} or @"), [self.of(Set, depth), self.of(Int, depth)])
            }
            14 => Term::of("@.a", [self.of(Set, depth)]),
            15 => Term::of("@ @", [self.of(Function, depth), self.of(Int, depth)]),
            16 => self.two("builtins.bitAnd @ @", Int, depth),
            17 => self.two("builtins.bitXor @ @", Int, depth),
            18 => Term::of("builtins.ceil @", [self.of(Float, depth)]),
            19 => Term::of("builtins.floor @", [self.of(Float, depth)]),
            20 => self.two("builtins.compareVersions @ @", Text, depth),
            21 => Term::of("builtins.getAttr \"b\" @", [self.of(Set, depth)]),
            22 => Term::of("builtins.fromJSON (builtins.toJSON @)", [self.of(Int, depth)]),
            23 => Term::of(
                "builtins.length (builtins.filter (e: @) @)",
                [self.of(Bool, depth), self.of(Ints, depth)],
            ),
            24 => Term::of(
                "builtins.foldl' (p: q: if p < q then q else p) @ @",
                [self.of(Int, depth), self.of(Ints, depth)],
            ),
            _ => Term::of(
                "{ __functor = self: p: p + self.n; n = @; } @",
                [self.of(Int, depth), self.of(Int, depth)],
            ),
        }
    }

    fn float(&mut self, depth: usize) -> Term {
        use Kind::{Float, Int, Text};
        match self.random.below(8) {
            0 | 1 => self.two("@ + @", Float, depth),
            2 => Term::of("@ * @", [self.of(Float, depth), self.of(Int, depth)]),
            3 => self.two("@ / @", Float, depth),
            4 => Term::of("@ - @", [self.of(Int, depth), self.of(Float, depth)]),
            5 => Term::of("builtins.mul @ 2.0", [self.of(Int, depth)]),
            6 => Term::of(
                "builtins.fromJSON @",
                [Term::leaf(*self.random.pick(&["\"1.5\"", "\"1e3\"", "\"-0.0\"", "\"1E400\""]))],
            ),
            _ => Term::of("builtins.stringLength @ + 0.5", [self.of(Text, depth)]),
        }
    }

    fn bool(&mut self, depth: usize) -> Term {
        use Kind::{Bool, Float, Int, Ints, Mixed, Set, Text, Texts};
        let kind = *self.random.pick(&[Int, Float, Text, Ints, Texts, Mixed, Set, Bool]);
        match self.random.below(20) {
            0 | 1 => self.two("@ == @", kind, depth),
            2 => self.two("@ != @", kind, depth),
            3 => Term::of("@ == @", [self.of_any(depth), self.of_any(depth)]),
            4 => {
                let kind = *self.random.pick(&[Int, Text, Float, Ints, Texts]);
                self.two("@ < @", kind, depth)
            }
            5 => self.two("@ <= @", Int, depth),
            6 => self.two("@ > @", Text, depth),
            7 => Term::of("@ >= @", [self.of(Int, depth), self.of(Float, depth)]),
            8 => self.two("@ && @", Bool, depth),
            9 => self.two("@ || @", Bool, depth),
            10 => self.two("@ -> @", Bool, depth),
            11 => Term::of("!@", [self.of(Bool, depth)]),
            12 => {
                let path = *self.random.pick(&["a", "a.b", "or", "\"a\"", "${\"b\"}", "x.y.${\"a\"}", "a-b"]);
                Term::of(&format!("@ ? {path}"), [self.of(Set, depth)])
            }
            13 => Term::of("builtins.elem @ @", [self.of(Int, depth), self.of(Ints, depth)]),
            14 => {
                let all = ["any", "all"];
                let template = format!("builtins.{} (e: @) @", self.random.pick(&all));
                let body = self.within(&[("e".to_owned(), Int)], |g| g.of(Bool, depth));
                Term::of(&template, [body, self.of(Ints, depth)])
            }
            15 => {
                let all = ["Int", "Float", "Bool", "String", "List", "Attrs", "Function", "Null"];
                Term::of(&format!("builtins.is{} @", self.random.pick(&all)), [self.of_any(depth)])
            }
            16 => Term::of("builtins.hasAttr @ @", [self.of(Text, 0), self.of(Set, depth)]),
            17 => Term::of("builtins.lessThan @ @", [self.of(Int, depth), self.of(Float, depth)]),
            18 => Term::of("(builtins.tryEval @).success", [self.of_any(depth)]),
            _ => self.two("@ == @", Bool, depth),
        }
    }

    fn string(&mut self, depth: usize) -> Term {
        use Kind::{Bool, Float, Int, Mixed, Null, Set, Text, Texts};
        match self.random.below(24) {
            0 | 1 => self.two("\"${@}-${@}\"", Text, depth),
            2 => self.two("@ + @", Text, depth),
            3 => {
                let kind = *self.random.pick(&[Int, Float, Bool, Text, Null, Mixed, Texts]);
                Term::of("toString @", [self.of(kind, depth)])
            }
            4 => {
                let bounds = [self.of(Int, 0), self.of(Int, 0), self.of(Text, depth)];
                Term::of("builtins.substring @ @ @", bounds)
            }
            5 => Term::of("builtins.concatStringsSep @ @", [self.of(Text, 0), self.of(Texts, depth)]),
            6 => Term::of(
                "builtins.replaceStrings @ @ @",
                [self.of(Texts, depth), self.of(Texts, depth), self.of(Text, depth)],
            ),
            7 => Term::of(
                "builtins.replaceStrings [ \"a\" \"\" ] [ @ \"_\" ] @",
                [self.of(Text, 0), self.of(Text, depth)],
            ),
            8 => Term::of("builtins.typeOf @", [self.of_any(depth)]),
            9 | 10 => {
                let kind = *self.random.pick(&[Int, Float, Bool, Text, Null, Mixed, Texts, Set]);
                Term::of("builtins.toJSON @", [self.of(kind, depth)])
            }
            11 => {
                let algorithm = *self.random.pick(&["md5", "sha1", "sha256", "sha512"]);
                Term::of(&format!("builtins.hashString \"{algorithm}\" @"), [self.of(Text, depth)])
            }
            12 => Term::of("builtins.baseNameOf @", [self.of(Text, depth)]),
            13 => Term::of("builtins.dirOf @", [self.of(Text, depth)]),
            14 => Term::of("builtins.head @", [self.of(Texts, depth)]),
            15 => Term::of("(builtins.parseDrvName @).version", [self.of(Text, depth)]),
            16 => Term::of("{ __toString = self: @; } + \"s\"", [self.of(Text, depth)]),
            17 => Term::of("\"${{ outPath = @; }}\"", [self.of(Text, depth)]),
            18 => Term::of("''\n  ${@}\n    x ${@}\n''", [self.of(Text, depth), self.of(Text, 0)]),
            19 => Term::of("''  ${@} y\n z''", [self.of(Text, depth)]),
            20 => Term::of("builtins.toXML @", [self.of_any(depth)]),
            21 => Term::of("builtins.unsafeDiscardStringContext @", [self.of(Text, depth)]),
            22 => Term::of("toString [ @ @ ]", [self.of_any(depth), self.of_any(depth)]),
            _ => self.literal(),
        }
    }

    fn ints(&mut self, depth: usize) -> Term {
        use Kind::{Bool, Function, Int, Ints, Set};
        match self.random.below(16) {
            0..=2 => self.two("[ @ @ ]", Int, depth),
            3 => Term::of("[ @ ]", [self.of(Int, depth)]),
            4 => self.two("@ ++ @", Ints, depth),
            5 => Term::of("map @ @", [self.of(Function, depth), self.of(Ints, depth)]),
            6 => {
                let body = self.within(&[("e".to_owned(), Int)], |g| g.of(Bool, depth));
                Term::of("builtins.filter (e: @) @", [body, self.of(Ints, depth)])
            }
            7 => {
                let count = self.random.below(6);
                Term::of(&format!("builtins.genList @ {count}"), [self.of(Function, depth)])
            }
            8 => Term::of("builtins.sort builtins.lessThan @", [self.of(Ints, depth)]),
            9 => Term::of("builtins.sort (p: q: p > q) @", [self.of(Ints, depth)]),
            10 => Term::of("builtins.attrValues @", [self.of(Set, depth)]),
            11 => Term::of("builtins.concatMap (e: [ e @ ]) @", [self.of(Int, depth), self.of(Ints, depth)]),
            12 => {
                Term::of("(builtins.partition (e: @) @).right", [self.of(Bool, depth), self.of(Ints, depth)])
            }
            13 => Term::of("builtins.tail @", [self.of(Ints, depth)]),
            14 => Term::of("builtins.catAttrs \"a\" [ @ @ ]", [self.of(Set, depth), self.of(Set, depth)]),
            _ => Term::of("builtins.concatLists [ @ @ ]", [self.of(Ints, depth), self.of(Ints, depth)]),
        }
    }

    fn texts(&mut self, depth: usize) -> Term {
        use Kind::{Set, Text, Texts};
        match self.random.below(10) {
            0..=2 => self.two("[ @ @ ]", Text, depth),
            3 => self.two("@ ++ @", Texts, depth),
            4 => Term::of("builtins.attrNames @", [self.of(Set, depth)]),
            5 => Term::of("builtins.sort (p: q: p < q) @", [self.of(Texts, depth)]),
            6 => Term::of("builtins.splitVersion @", [self.of(Text, depth)]),
            7 => Term::of("map (e: e + @) @", [self.of(Text, depth), self.of(Texts, depth)]),
            8 => Term::of("map toString @", [self.of(Kind::Ints, depth)]),
            _ => Term::of(
                "builtins.filter builtins.isString (builtins.split @ @)",
                [self.pattern(3), self.of(Text, depth)],
            ),
        }
    }

    fn mixed(&mut self, depth: usize) -> Term {
        match self.random.below(8) {
            0 | 1 => Term::of("[ @ @ @ ]", [self.of_any(depth), self.of_any(depth), self.of_any(depth)]),
            2 => Term::of("builtins.split @ @", [self.pattern(3), self.subject()]),
            3 => Term::of("builtins.match @ @", [self.pattern(3), self.subject()]),
            4 => Term::of(
                "[ (builtins.match @ @) (builtins.split @ @) ]",
                [self.pattern(4), self.subject(), self.pattern(4), self.subject()],
            ),
            5 => Term::of(
                "builtins.genericClosure { startSet = [ { key = @; } ]; operator = e: if e.key < 5 && e.key > 0 - 5 then [ { key = e.key + 1; } { key = e.key + 2; } ] else [ ]; }",
                [self.of(Kind::Int, 0)],
            ),
            6 => Term::of("map (e: builtins.typeOf e) @", [self.of(Kind::Mixed, depth)]),
            _ => Term::of("@ ++ @", [self.of(Kind::Mixed, depth), self.of(Kind::Ints, depth)]),
        }
    }

    fn set(&mut self, depth: usize) -> Term {
        use Kind::{Int, Set, Text};
        let (one, two) = (self.name(), self.name());
        match self.random.below(22) {
            0..=3 => self.two(&format!("{{ {one} = @; {two}2 = @; }}"), Int, depth),
            4 | 5 => self.two("@ // @", Set, depth),
            6 => Term::of(&format!("rec {{ {one} = @; r = {one}; }}"), [self.of(Int, depth)]),
            7 => Term::of("{ ${@} = @; b = 3; }", [self.of(Text, depth), self.of(Int, depth)]),
            8 => Term::of("{ \"a b\" = @; \"${@}\" = 2; }", [self.of(Int, depth), self.of(Text, depth)]),
            9 => Term::of("builtins.mapAttrs (n: e: @) @", [self.of(Int, depth), self.of(Set, depth)]),
            10 => Term::of("builtins.mapAttrs (n: e: n + toString e) @", [self.of(Set, depth)]),
            11 => Term::of(
                "builtins.listToAttrs [ { name = @; value = @; } { name = \"a\"; value = 1; } ]",
                [self.of(Text, depth), self.of(Int, depth)],
            ),
            12 => Term::of("builtins.removeAttrs @ @", [self.of(Set, depth), self.of(Kind::Texts, depth)]),
            13 => self.two("builtins.intersectAttrs @ @", Set, depth),
            14 => Term::of("builtins.tryEval @", [self.of(Int, depth)]),
            15 => Term::of("builtins.groupBy toString @", [self.of(Kind::Ints, depth)]),
            16 => Term::of("builtins.parseDrvName @", [self.of(Text, depth)]),
            17 => Term::of(
                "builtins.zipAttrsWith (n: vs: builtins.length vs) [ @ @ ]",
                [self.of(Set, depth), self.of(Set, depth)],
            ),
            18 => Term::of("{ a.b = @; a.c = @; }", [self.of(Int, depth), self.of(Int, depth)]),
            19 => Term::of(&format!("{{ inherit (@) a b; {one}9 = 1; }}"), [self.of(Set, depth)]),
            20 => Term::of("builtins.functionArgs ({ a, b ? @, ... }: a)", [self.of(Int, depth)]),
            _ => Term::of("{ x.y.${@} = @; a = { b = 1; }; }", [self.of(Text, depth), self.of(Int, depth)]),
        }
    }

    fn function(&mut self, depth: usize) -> Term {
        use Kind::{Int, Set};
        match self.random.below(8) {
            0..=3 => {
                let name = self.fresh_name();
                let body = self.within(&[(name.clone(), Int)], |g| g.of(Int, depth));
                Term::of(&format!("{name}: @"), [body])
            }
            4 => Term::of("builtins.add @", [self.of(Int, depth)]),
            5 => Term::of("{ __functor = self: e: e + @; }", [self.of(Int, depth)]),
            6 => Term::of("(p: q: p - q) @", [self.of(Int, depth)]),
            _ => Term::of("e: @.a or e", [self.of(Set, depth)]),
        }
    }

    /// A regular expression over few letters.
    fn pattern(&mut self, depth: usize) -> Term {
        let mut text = String::new();
        self.regex(depth, &mut text);
        Term::leaf(format!("\"{}\"", text.replace('\\', "\\\\")))
    }

    fn regex(&mut self, depth: usize, out: &mut String) {
        let count = 1 + self.random.below(3);
        for _ in 0..count {
            match self.random.below(if depth == 0 { 6 } else { 11 }) {
                0..=2 => out.push_str(self.random.pick::<&str>(&["a", "b", "ab", "1", "."])),
                3 => out.push_str(self.random.pick::<&str>(&[
                    "[ab]",
                    "[^a]",
                    "[a-c]",
                    "[[:alpha:]]",
                    "[[:digit:]]",
                    "[]a]",
                    "[a-]",
                ])),
                4 => out.push_str(self.random.pick::<&str>(&["^", "$", "\\.", "\\*", "-"])),
                5 => {
                    out.push_str(
                        self.random.pick::<&str>(&["", "a?", "b*", "a+", "b{2}", "a{1,2}", "b{0,}"]),
                    );
                }
                6..=8 => {
                    out.push('(');
                    self.regex(depth - 1, out);
                    out.push(')');
                    out.push_str(self.random.pick::<&str>(&["", "", "*", "+", "?", "{2}", "{0,1}", "**"]));
                }
                9 => {
                    self.regex(depth - 1, out);
                    out.push('|');
                    self.regex(depth - 1, out);
                }
                _ => {
                    out.push_str(
                        self.random.pick::<&str>(&["(", ")", "[", "*", "{", "a{,2}", "[b-a]", "\\w", "|"]),
                    );
                }
            }
        }
    }

    fn subject(&mut self) -> Term {
        let len = self.random.below(7);
        let text: String =
            (0..len).map(|_| *self.random.pick(&['a', 'b', 'a', 'b', '1', '-', '.', 'c'])).collect();
        Term::leaf(format!("\"{text}\""))
    }
}
