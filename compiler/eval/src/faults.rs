//! What is said when an evaluation fails.
//!
//! Every fault points at the characters where it shows, and at where the values in it came from.

use diag::{Diagnostic, Span, nearest_all, slugs::eval as slugs};

use crate::code::Access;
use crate::failure::Failure;
use crate::machine::Machine;
use crate::shapes::{Source, Written};
use crate::slot::{NOWHERE, NodeId, Slot, SlotId, Symbol};

/// The most calls that a failure tells as labels, and the most members of a cycle.
const CALLS: u32 = 4;
const MEMBERS: u32 = 8;

impl Machine<'_> {
    /// Gives a failure that has no place yet the place of a node.
    #[cold]
    pub(crate) fn placed(&self, mut failure: Box<Failure>, node: NodeId) -> Box<Failure> {
        if failure.diagnostic.span.is_none() {
            failure.diagnostic.span = self.code.span(node);
        }
        failure
    }

    /// Adds the call at `node` to a failure that comes out of it.
    #[cold]
    pub(crate) fn called(
        &self,
        mut failure: Box<Failure>,
        node: NodeId,
        name: Option<Symbol>,
    ) -> Box<Failure> {
        let Some(span) = self.code.span(node) else { return failure };
        let diagnostic = &mut failure.diagnostic;
        let Some(primary) = diagnostic.span else {
            diagnostic.span = Some(span);
            return failure;
        };
        // A fault in an argument written right here needs no word about the call around it.
        let inside = primary.file == span.file && primary.start >= span.start && primary.end <= span.end;
        if inside || diagnostic.labels.iter().any(|label| label.span == span) {
            return failure;
        }
        let text = match name {
            Some(name) => format!("in this call of `{}`", self.name(name)),
            None => "in this call".to_owned(),
        };
        // The innermost calls say what was done, the outermost who asked for it.
        if failure.calls >= CALLS {
            diagnostic.labels.pop();
        }
        failure.calls += 1;
        diagnostic.labels.push(diag::Label { span, text });
        failure
    }

    /// Notes that a failure passed the evaluation of a slot: for a cycle, one of its members.
    #[cold]
    pub(crate) fn passed(&self, mut failure: Box<Failure>, slot: SlotId, code: NodeId) -> Box<Failure> {
        let Some(cycle) = failure.cycle else { return failure };
        // A cycle may have any number of members; a few tell the story.
        let full = failure.members.len() >= MEMBERS as usize;
        let name = if full { None } else { self.bound_name(code) };
        if let Some(span) = self.code.span(code)
            && failure.calls < MEMBERS
            && !failure.diagnostic.labels.iter().any(|label| label.span == span)
        {
            failure.calls += 1;
            let text = match &name {
                Some(name) => format!("to compute `{name}`"),
                None => "to compute this".to_owned(),
            };
            failure.diagnostic.labels.push(diag::Label { span, text });
        }
        if name.is_some() && failure.members.last() != name.as_ref() {
            failure.members.extend(name);
        }
        if cycle == slot {
            failure.cycle = None;
            failure.calls = 0;
            let mut chain = std::mem::take(&mut failure.members);
            chain.reverse();
            if !full && let Some(first) = chain.first().cloned() {
                chain.push(first);
            }
            let steps: Vec<String> =
                chain.windows(2).map(|pair| format!("`{}` needs `{}`", pair[0], pair[1])).collect();
            if !steps.is_empty() {
                let before = if full { "after many others, " } else { "" };
                failure.diagnostic.notes = vec![format!("{before}{}", steps.join(", "))];
            }
        }
        failure
    }

    /// Returns the name of the attribute or variable whose expression a node is.
    fn bound_name(&self, code: NodeId) -> Option<String> {
        if code == NOWHERE {
            return None;
        }
        let written = self.shapes.written.iter().find(|written| written.value == code)?;
        let name = self.sources.text(self.place(*written)?);
        Some(name.trim_matches('"').to_owned()).filter(|name| !name.is_empty() && !name.contains('$'))
    }

    #[cold]
    pub(crate) fn infinite_recursion(&self, slot: SlotId) -> Box<Failure> {
        if let Some((path, _)) = self.loading.iter().find(|(_, module)| *module == slot) {
            return self.import_cycle(path);
        }
        let mut failure = Failure::new(
            Diagnostic::error(slugs::INFINITE_RECURSION, "this value needs itself to be computed")
                .why("its evaluation had begun and asked for its own result"),
        );
        failure.cycle = Some(slot);
        failure
    }

    fn import_cycle(&self, path: &str) -> Box<Failure> {
        let begin = self.loading.iter().position(|(loading, _)| loading == path).unwrap_or(0);
        // The last one is the file itself again: it was asked for by the one before.
        let members: Vec<String> =
            self.loading[begin..].iter().map(|(path, _)| format!("`{}`", shown(path))).collect();
        Failure::new(
            Diagnostic::error(slugs::IMPORT_CYCLE, "these files import each other without end")
                .why(members.join(" imports "))
                .help("move what both need into a third file"),
        )
    }

    #[cold]
    pub(crate) fn too_deep(&self) -> Box<Failure> {
        Failure::new(
            Diagnostic::error(
                slugs::TOO_DEEP,
                format!("evaluation is more than {} calls deep", self.limits.depth),
            )
            .why("a function that calls itself without end does this")
            .help("look for the condition that should end the recursion, or raise the limit"),
        )
    }

    #[cold]
    pub(crate) fn too_many_steps(&self) -> Box<Failure> {
        Failure::new(
            Diagnostic::error(
                slugs::TOO_MANY_STEPS,
                format!("evaluation takes more than {} steps", self.limits.steps),
            )
            .help("look for a computation that grows without end, or raise the limit"),
        )
    }

    /// `what` was found to be something else than it must be.
    #[cold]
    pub(crate) fn wrong_type(&self, found: Slot, expected: &str, what: &str, node: NodeId) -> Box<Failure> {
        let mut diagnostic = Diagnostic::error(
            slugs::WRONG_TYPE,
            format!("{what} must be {expected}, but this is {}", self.described(found)),
        );
        diagnostic.span = self.code.span(node);
        Failure::new(self.with_origin(diagnostic, found))
    }

    #[cold]
    pub(crate) fn wrong_operands(&self, operator: &str, a: Slot, b: Slot, node: NodeId) -> Box<Failure> {
        let (left, right) = (self.described(a), self.described(b));
        let message = match operator {
            "+" => format!("{left} and {right} cannot be added"),
            _ => format!("`{operator}` needs two numbers, but these are {left} and {right}"),
        };
        let mut diagnostic = Diagnostic::error(slugs::WRONG_TYPE, message);
        diagnostic.span = self.code.span(node);
        if operator == "+" && matches!((a, b), (Slot::String { .. }, _) | (_, Slot::String { .. })) {
            diagnostic = diagnostic.help("`toString` turns a number into text");
        }
        if let (Slot::List { .. }, Slot::List { .. }) = (a, b) {
            diagnostic = diagnostic.help("`++` joins lists");
        }
        if let (Slot::Attrs { .. }, Slot::Attrs { .. }) = (a, b) {
            diagnostic = diagnostic.help("`//` merges sets");
        }
        let diagnostic = self.with_origin(diagnostic, a);
        Failure::new(self.with_origin(diagnostic, b))
    }

    #[cold]
    pub(crate) fn incomparable(&self, a: Slot, b: Slot, node: NodeId) -> Box<Failure> {
        let mut diagnostic = Diagnostic::error(
            slugs::WRONG_TYPE,
            format!("{} and {} have no order", self.described(a), self.described(b)),
        )
        .why("numbers compare with numbers, strings with strings, paths with paths, and lists of these");
        diagnostic.span = self.code.span(node);
        let diagnostic = self.with_origin(diagnostic, a);
        Failure::new(self.with_origin(diagnostic, b))
    }

    /// Adds where a value came from, unless that is what the diagnostic points at anyway.
    fn with_origin(&self, diagnostic: Diagnostic, value: Slot) -> Diagnostic {
        match self.origin(value) {
            Some(span)
                if diagnostic.span != Some(span) && diagnostic.labels.iter().all(|l| l.span != span) =>
            {
                let text = format!("{} comes from here", self.described(value));
                diagnostic.label(span, text)
            }
            _ => diagnostic,
        }
    }

    /// Returns what a value is, in words: `the integer 4`.
    pub(crate) fn described(&self, value: Slot) -> String {
        match value {
            Slot::Int { value, .. } => format!("the integer {value}"),
            Slot::Float { value, .. } => format!("the float {}", crate::number::printed(value)),
            Slot::Bool { value, .. } => format!("`{value}`"),
            Slot::String { start, len, .. } => {
                let text = String::from_utf8_lossy(self.bytes(start, len));
                if text.chars().count() <= 32 && !text.contains('\n') {
                    format!("the string {text:?}")
                } else {
                    "a string".to_owned()
                }
            }
            Slot::Attrs { shape, .. } if self.shapes.len(shape) == 0 => "the empty set".to_owned(),
            Slot::List { len: 0, .. } => "the empty list".to_owned(),
            other => other.described().to_owned(),
        }
    }

    #[cold]
    pub(crate) fn overflow(&self, operator: &str, a: i64, b: i64, node: NodeId) -> Box<Failure> {
        let mut diagnostic = Diagnostic::error(
            slugs::INTEGER_OVERFLOW,
            format!("`{a} {operator} {b}` does not fit an integer"),
        )
        .why("integers go from -9223372036854775808 to 9223372036854775807")
        .help("compute with floats where the value may be that large");
        diagnostic.span = self.code.span(node);
        Failure::new(diagnostic)
    }

    #[cold]
    pub(crate) fn division_by_zero(&self, divisor: Slot, node: NodeId) -> Box<Failure> {
        let mut diagnostic = Diagnostic::error(slugs::DIVISION_BY_ZERO, "division by zero");
        diagnostic.span = self.code.span(node);
        Failure::new(self.with_origin(diagnostic, divisor))
    }

    #[cold]
    pub(crate) fn not_unicode(&self, what: &str) -> Box<Failure> {
        Failure::new(
            Diagnostic::error(slugs::NOT_UNICODE, format!("{what} is not valid Unicode"))
                .why("a string was cut inside a character: `substring` counts bytes, not characters"),
        )
    }

    #[cold]
    pub(crate) fn assertion_failed(&self, condition: NodeId, node: NodeId) -> Box<Failure> {
        let written = self.code.span(condition).map_or("", |span| self.sources.text(span));
        let short = written.split_whitespace().collect::<Vec<_>>().join(" ");
        let message = if short.chars().count() <= 60 {
            format!("the assertion `{short}` does not hold")
        } else {
            "this assertion does not hold".to_owned()
        };
        let mut diagnostic = Diagnostic::error(slugs::ASSERTION_FAILED, message);
        diagnostic.span = self.code.span(condition).or_else(|| self.code.span(node));
        Failure::catchable(diagnostic)
    }

    #[cold]
    pub(crate) fn unread(&self, node: NodeId) -> Box<Failure> {
        let mut diagnostic = Diagnostic::error(slugs::ABORTED, "this expression could not be read");
        diagnostic.span = self.code.span(node);
        Failure::new(diagnostic)
    }

    #[cold]
    pub(crate) fn repeated_attribute(&self, name: Symbol, earlier: Written, later: Written) -> Box<Failure> {
        let mut diagnostic = Diagnostic::error(
            slugs::REPEATED_NAME,
            format!("the computed attribute `{}` is already there", self.name(name)),
        );
        diagnostic.span = self.place(later);
        if let Some(span) = self.place(earlier) {
            diagnostic = diagnostic.label(span, "first written here");
        }
        Failure::new(diagnostic)
    }

    /// Returns the characters of a name.
    pub(crate) fn place(&self, written: Written) -> Option<Span> {
        if written.value == NOWHERE {
            return None;
        }
        Some(Span::new(self.code.file(written.value)?, written.start, written.end))
    }

    #[cold]
    pub(crate) fn missing_attribute(&self, set: Slot, shape: u32, name: Symbol, access: u32) -> Box<Failure> {
        let Access { start, end, .. } = self.code.accesses[access as usize];
        let file = self.access_file(access);
        let span = file.map(|file| Span::new(file, start, end));
        Failure::new(self.missing(set, shape, name, span))
    }

    /// Says that a set lacks an attribute: which names are near, and where the set was written.
    pub(crate) fn missing(&self, set: Slot, shape: u32, name: Symbol, span: Option<Span>) -> Diagnostic {
        let name_text = self.name(name);
        if let Slot::Attrs { start, .. } = set
            && self.is_builtins(start)
            && let Some(reason) = crate::builtins::left_out_reason(name_text)
        {
            let mut diagnostic = Diagnostic::error(
                slugs::LEFT_OUT_BUILTIN,
                format!("`builtins.{name_text}` is not part of this language"),
            )
            .why(reason);
            diagnostic.span = span;
            return diagnostic;
        }
        let names: Vec<&str> = self.shapes.names_of(shape).iter().map(|&other| self.name(other)).collect();
        let mut diagnostic =
            Diagnostic::error(slugs::MISSING_ATTRIBUTE, format!("the set has no attribute `{name_text}`"));
        diagnostic.span = span;
        let near = nearest_all(name_text, names.iter().copied());
        if let Some(nearest) = near.first() {
            diagnostic = match span {
                Some(span) if self.sources.text(span) == name_text && plain_name(nearest) => {
                    diagnostic.fix(span, *nearest, format!("perhaps `{nearest}` was meant"))
                }
                _ => diagnostic.help(format!("perhaps `{nearest}` was meant")),
            };
        } else if !names.is_empty() && names.len() <= 12 {
            let mut names = names;
            names.sort_unstable();
            let all: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
            diagnostic = diagnostic.help(format!("it has {}", all.join(", ")));
        }
        let defined = self.set_origin(shape).or_else(|| self.origin(set));
        match defined {
            Some(defined) if Some(defined) != span => diagnostic.label(defined, "the set is made here"),
            _ => diagnostic,
        }
    }

    /// Returns where the set that gave a shape its names was made.
    fn set_origin(&self, shape: u32) -> Option<Span> {
        match self.shapes.get(shape).source {
            Source::Made { at } => self.code.span(at),
            _ => None,
        }
    }

    #[cold]
    pub(crate) fn not_a_set(&self, found: Slot, name: Symbol, access: u32, set: NodeId) -> Box<Failure> {
        let Access { start, end, .. } = self.code.accesses[access as usize];
        let mut diagnostic = Diagnostic::error(
            slugs::WRONG_TYPE,
            format!("`.{}` needs a set, but this is {}", self.name(name), self.described(found)),
        );
        diagnostic.span = self.code.span(set);
        if let Some(span) = diagnostic.span {
            diagnostic = diagnostic.label(Span::new(span.file, start, end), "selected here");
        }
        Failure::new(self.with_origin(diagnostic, found))
    }

    /// Accesses are made in the order of loading, as nodes are, but do not keep their file.
    fn access_file(&self, access: u32) -> Option<diag::FileId> {
        let after = self.code.access_files.partition_point(|&(first, _)| first <= access);
        self.code.access_files.get(after.checked_sub(1)?).map(|&(_, file)| file)
    }

    #[cold]
    pub(crate) fn undefined_in_with(&self, name: Symbol, node: NodeId) -> Box<Failure> {
        let mut diagnostic =
            Diagnostic::error(slugs::UNDEFINED_VARIABLE, format!("`{}` is not defined", self.name(name)))
                .why("no binding around it has this name, nor has any set of a `with` around it");
        diagnostic.span = self.code.span(node);
        Failure::new(diagnostic)
    }

    #[cold]
    pub(crate) fn left_out(&self, index: u32, node: NodeId) -> Box<Failure> {
        let (name, reason) = crate::builtins::left_out(index);
        let mut diagnostic =
            Diagnostic::error(slugs::LEFT_OUT_BUILTIN, format!("`{name}` is not part of this language"))
                .why(reason);
        diagnostic.span = self.code.span(node);
        Failure::new(diagnostic)
    }

    #[cold]
    pub(crate) fn path_in_string(&self, path: Slot, node: NodeId) -> Box<Failure> {
        let mut diagnostic = Diagnostic::error(
            slugs::PATH_IN_STRING,
            "a path cannot become part of a string here",
        )
        .why("Nix would copy the file into its store and insert the store's path; recipec has no store")
        .help("write `toString` before the path to insert where it is");
        diagnostic.span = self.code.span(node);
        Failure::new(self.with_origin(diagnostic, path))
    }
}

/// Returns a path of a file as people know it.
pub(crate) fn shown(path: &str) -> &str {
    path.strip_prefix('/').unwrap_or(path)
}

/// Returns true for a name that needs no quotes.
pub(crate) fn plain_name(name: &str) -> bool {
    let mut bytes = name.bytes();
    bytes.next().is_some_and(|b| b.is_ascii_alphabetic() || b == b'_')
        && bytes.all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'\''))
        && !matches!(name, "if" | "then" | "else" | "assert" | "with" | "let" | "in" | "rec" | "inherit")
}
