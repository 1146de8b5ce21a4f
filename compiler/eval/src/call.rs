//! Calling functions.

use diag::{Diagnostic, nearest, slugs::eval as slugs};

use crate::builtins::{BUILTINS, Builtin};
use crate::code::Lambda;
use crate::failure::{Failure, Outcome};
use crate::machine::Machine;
use crate::slot::{NodeId, Slot, SlotId, Symbol};

/// The most arguments that a builtin takes.
pub(crate) const MOST: usize = 3;

/// What a builtin is called with. Arguments that the builtin is strict in are values; the others
/// are values or references.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Args {
    /// The call.
    pub(crate) at: NodeId,
    /// The builtin's name.
    pub(crate) name: &'static str,
    pub(crate) list: [Slot; MOST],
}

impl Machine<'_> {
    /// `function argument …`
    pub(crate) fn apply(
        &mut self,
        node: NodeId,
        function: NodeId,
        start: u32,
        count: u32,
        env: SlotId,
    ) -> Outcome<Slot> {
        let mut callee = self.eval(function, env)?;
        let mut index = 0;
        while index < count {
            match callee {
                Slot::Lambda { lambda, env: closure } => {
                    let argument = self.delay(self.code.ids[(start + index) as usize], env);
                    callee = self.call_lambda(lambda, closure, argument, node)?;
                    index += 1;
                }
                Slot::Builtin { which, count: 0, .. }
                    if u32::from(BUILTINS[which as usize].arity) <= count - index =>
                {
                    let builtin = &BUILTINS[which as usize];
                    let mut list = [Slot::Null { at: node }; MOST];
                    for (position, held) in list.iter_mut().take(builtin.arity as usize).enumerate() {
                        let id = self.code.ids[(start + index) as usize + position];
                        *held = if builtin.strict & (1 << position) != 0 {
                            self.eval(id, env)?
                        } else {
                            match self.delay(id, env) {
                                delayed @ Slot::Delayed { .. } => {
                                    Slot::Ref { slot: self.alloc_one(delayed)? }
                                }
                                held => held,
                            }
                        };
                    }
                    callee = self.run(builtin, Args { at: node, name: builtin.name, list })?;
                    index += u32::from(builtin.arity);
                }
                _ => {
                    if !matches!(callee, Slot::Builtin { .. } | Slot::Attrs { .. }) {
                        return Err(self.not_a_function(callee, function, node));
                    }
                    let argument = self.delay(self.code.ids[(start + index) as usize], env);
                    callee = self.call(callee, argument, node)?;
                    index += 1;
                }
            }
        }
        Ok(callee)
    }

    /// Calls an evaluated function with one argument.
    pub(crate) fn call(&mut self, function: Slot, argument: Slot, at: NodeId) -> Outcome<Slot> {
        match function {
            Slot::Lambda { lambda, env } => self.call_lambda(lambda, env, argument, at),
            Slot::Builtin { which, count, start, .. } => self.call_builtin(which, count, start, argument, at),
            Slot::Attrs { shape, start, .. } => {
                let Some(slot) = self.attribute(shape, start, self.known.functor) else {
                    return Err(self.not_a_function(function, at, at));
                };
                let argument = match argument {
                    delayed @ Slot::Delayed { .. } => Slot::Ref { slot: self.alloc_one(delayed)? },
                    held => held,
                };
                let functor = self.force_at(slot)?;
                let bound = self.nested(|machine| machine.call(functor, function, at))?;
                self.nested(|machine| machine.call(bound, argument, at))
            }
            other => Err(self.not_a_function(other, at, at)),
        }
    }

    /// Calls an evaluated function with two arguments.
    pub(crate) fn call_two(&mut self, function: Slot, a: Slot, b: Slot, at: NodeId) -> Outcome<Slot> {
        if let Slot::Builtin { which, count: 0, .. } = function
            && BUILTINS[which as usize].arity == 2
        {
            let builtin = &BUILTINS[which as usize];
            let mut list = [a, b, Slot::Null { at }];
            for (position, held) in list.iter_mut().enumerate() {
                if builtin.strict & (1 << position) != 0 {
                    *held = self.force(*held)?;
                }
            }
            return self.run(builtin, Args { at, name: builtin.name, list });
        }
        let bound = self.call(function, a, at)?;
        self.call(bound, b, at)
    }

    fn call_builtin(
        &mut self,
        which: u16,
        count: u8,
        held: SlotId,
        argument: Slot,
        at: NodeId,
    ) -> Outcome<Slot> {
        let builtin = &BUILTINS[which as usize];
        let count = usize::from(count);
        let argument = match argument {
            delayed @ Slot::Delayed { .. } => Slot::Ref { slot: self.alloc_one(delayed)? },
            held => held,
        };
        if count + 1 < usize::from(builtin.arity) {
            let start = self.alloc(count + 1)?;
            for index in 0..count {
                self.heap[start as usize + index] = self.heap[held as usize + index];
            }
            self.heap[start as usize + count] = argument;
            return Ok(Slot::Builtin { which, count: count as u8 + 1, at, start });
        }
        let mut list = [Slot::Null { at }; MOST];
        for (index, entry) in list.iter_mut().enumerate().take(count) {
            *entry = self.heap[held as usize + index];
        }
        list[count] = argument;
        for (position, held) in list.iter_mut().enumerate().take(count + 1) {
            if builtin.strict & (1 << position) != 0 {
                *held = self.force(*held)?;
            }
        }
        self.run(builtin, Args { at, name: builtin.name, list })
    }

    fn run(&mut self, builtin: &'static Builtin, args: Args) -> Outcome<Slot> {
        match self.nested(|machine| (builtin.run)(machine, &args)) {
            Ok(value) => Ok(value),
            Err(failure) => Err(self.placed(failure, args.at)),
        }
    }

    pub(crate) fn call_lambda(
        &mut self,
        index: u32,
        closure: SlotId,
        argument: Slot,
        at: NodeId,
    ) -> Outcome<Slot> {
        let lambda = self.code.lambdas[index as usize];
        let frame = if lambda.pattern {
            self.bind_pattern(index, lambda, closure, argument, at)?
        } else {
            let frame = self.alloc(2)?;
            self.heap[frame as usize] = Slot::Frame { parent: closure };
            self.heap[frame as usize + 1] = argument;
            frame
        };
        self.calls += 1;
        if self.calls > self.limits.depth {
            self.calls -= 1;
            return Err(self.placed(self.too_deep(), at));
        }
        let outcome = self.eval(lambda.body, frame);
        self.calls -= 1;
        match outcome {
            Ok(value) => Ok(value),
            Err(failure) => Err(self.called(failure, at, lambda.name.checked_sub(1))),
        }
    }

    /// Makes the frame of a function whose parameter is a pattern.
    fn bind_pattern(
        &mut self,
        index: u32,
        lambda: Lambda,
        closure: SlotId,
        argument: Slot,
        at: NodeId,
    ) -> Outcome<SlotId> {
        let argument = match argument {
            Slot::Ref { .. } | Slot::Delayed { .. } => self.force(argument)?,
            held => held,
        };
        let Slot::Attrs { shape, start, .. } = argument else {
            let what = match lambda.name.checked_sub(1) {
                Some(name) => format!("the argument of `{}`", self.name(name)),
                None => "the argument of this function".to_owned(),
            };
            return Err(self.wrong_type(argument, "a set", &what, self.argument_node(at)));
        };
        let layout = self.shapes.get(shape).layout;
        if layout != lambda.layout {
            self.match_pattern(index, lambda, argument, at)?;
        }
        let whole = u32::from(lambda.whole);
        let frame = self.alloc((1 + whole + lambda.formal_count) as usize)?;
        self.heap[frame as usize] = Slot::Frame { parent: closure };
        if lambda.whole {
            self.heap[frame as usize + 1] = argument;
        }
        let first = frame + 1 + whole;
        for position in 0..lambda.formal_count {
            let found = self.code.matches[(lambda.matches + position) as usize];
            self.heap[(first + position) as usize] = if found > 0 {
                self.share(start + found - 1)
            } else {
                let formal = self.code.formals[(lambda.formals + position) as usize];
                match self.code.nodes[(formal.default - 1) as usize] {
                    crate::code::Node::Const { slot } => self.heap[slot as usize],
                    _ => Slot::Delayed { code: formal.default - 1, env: frame },
                }
            };
        }
        Ok(frame)
    }

    /// Finds the places of a pattern's names in the layout of an argument, and keeps them.
    fn match_pattern(&mut self, index: u32, lambda: Lambda, argument: Slot, at: NodeId) -> Outcome<()> {
        let Slot::Attrs { shape, .. } = argument else { return Ok(()) };
        let layout = self.shapes.get(shape).layout;
        let mut count = 0;
        let mut missing = None;
        for position in 0..lambda.formal_count {
            let formal = self.code.formals[(lambda.formals + position) as usize];
            let found = self.shapes.find(layout, formal.name);
            count += u32::from(found.is_some());
            if found.is_none() && formal.default == 0 {
                // Of several, the one that was written first.
                missing = match missing {
                    Some((written, name)) if written < formal.written => Some((written, name)),
                    _ => Some((formal.written, formal.name)),
                };
            }
            self.code.matches[(lambda.matches + position) as usize] = found.map_or(0, |index| index + 1);
        }
        let unexpected = !lambda.open && count < self.shapes.len(shape);
        self.code.lambdas[index as usize].layout =
            if missing.is_some() || unexpected { u32::MAX } else { layout };
        if let Some((_, name)) = missing {
            return Err(self.missing_argument(lambda, argument, name, at));
        }
        if unexpected {
            return Err(self.unexpected_argument(lambda, shape, at));
        }
        Ok(())
    }

    // ---- What is said when a call is wrong ----

    /// Returns the argument of a call with one argument, else the call.
    pub(crate) fn argument_node(&self, at: NodeId) -> NodeId {
        match self.code.nodes[at as usize] {
            crate::code::Node::Apply { start, count: 1, .. } => self.code.ids[start as usize],
            _ => at,
        }
    }

    #[cold]
    fn not_a_function(&self, found: Slot, function: NodeId, at: NodeId) -> Box<Failure> {
        let mut diagnostic = Diagnostic::error(
            slugs::NOT_A_FUNCTION,
            format!("this is called, but it is {}", self.described(found)),
        );
        diagnostic.span = self.code.span(function).or_else(|| self.code.span(at));
        if let Slot::Attrs { .. } = found {
            diagnostic = diagnostic.why("a set can be called only if it has `__functor`");
        }
        if let Some(span) = self.origin(found)
            && diagnostic.span != Some(span)
        {
            diagnostic = diagnostic.label(span, "it comes from here");
        }
        Failure::new(diagnostic)
    }

    fn function_name(&self, lambda: Lambda) -> String {
        match lambda.name.checked_sub(1) {
            Some(name) => format!("`{}`", self.name(name)),
            None => "this function".to_owned(),
        }
    }

    #[cold]
    fn missing_argument(&self, lambda: Lambda, argument: Slot, name: Symbol, at: NodeId) -> Box<Failure> {
        let mut diagnostic = Diagnostic::error(
            slugs::MISSING_ARGUMENT,
            format!("{} is called without the argument `{}`", self.function_name(lambda), self.name(name)),
        );
        diagnostic.span = self.origin(argument).or_else(|| self.code.span(at));
        if let Some(span) = self.code.span(at)
            && diagnostic.span != Some(span)
        {
            diagnostic = diagnostic.label(span, "called here");
        }
        if let Some(function) = self.code.span(lambda.node) {
            let formals = &self.code.formals[lambda.formals as usize..][..lambda.formal_count as usize];
            if let Some(formal) = formals.iter().find(|formal| formal.name == name) {
                diagnostic = diagnostic
                    .label(diag::Span::new(function.file, formal.start, formal.end), "it has no default");
            }
            if let Slot::Attrs { shape, .. } = argument {
                let given = self.shapes.names_of(shape).iter().copied();
                let others: Vec<Symbol> =
                    given.filter(|given| formals.iter().all(|formal| formal.name != *given)).collect();
                let near = nearest(self.name(name), others.iter().map(|&other| self.name(other)));
                let other = others.iter().copied().find(|&other| Some(self.name(other)) == near);
                if let Some(span) = other.and_then(|other| self.place(self.written(shape, other))) {
                    let text = format!("perhaps `{}` was meant", self.name(name));
                    diagnostic = diagnostic.fix(span, self.name(name), text);
                }
            }
        }
        Failure::new(diagnostic)
    }

    #[cold]
    fn unexpected_argument(&self, lambda: Lambda, shape: u32, at: NodeId) -> Box<Failure> {
        let formals = &self.code.formals[lambda.formals as usize..][..lambda.formal_count as usize];
        let unexpected = self
            .shapes
            .names_of(shape)
            .iter()
            .copied()
            .filter(|name| formals.iter().all(|formal| formal.name != *name))
            .min_by_key(|&name| self.name(name).to_owned());
        let Some(name) = unexpected else { return Failure::new(self.unread(at).diagnostic) };
        let mut diagnostic = Diagnostic::error(
            slugs::UNEXPECTED_ARGUMENT,
            format!("{} takes no argument `{}`", self.function_name(lambda), self.name(name)),
        );
        let written = self.place(self.written(shape, name));
        diagnostic.span = written.or_else(|| self.code.span(at));
        if let Some(function) = self.code.span(lambda.node) {
            let pattern = diag::Span::new(function.file, lambda.start, lambda.end);
            diagnostic = diagnostic.label(pattern, "it takes these");
        }
        // What is given already was not meant.
        let given = self.shapes.names_of(shape);
        let names = formals.iter().filter(|formal| !given.contains(&formal.name));
        let names = names.map(|formal| self.name(formal.name));
        diagnostic = match (nearest(self.name(name), names), written) {
            (Some(near), Some(span)) if self.sources.text(span) == self.name(name) => {
                diagnostic.fix(span, near, format!("perhaps `{near}` was meant"))
            }
            (Some(near), _) => diagnostic.help(format!("perhaps `{near}` was meant")),
            _ => diagnostic.help("add `...` to the pattern to let other arguments pass"),
        };
        Failure::new(diagnostic)
    }
}
