//! Searching an automaton: depth first, with a stack of its own instead of the program's.

use super::{Group, Kind, Regex, StateId, holds};

/// What counts as a match.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Mode {
    /// The whole text.
    Whole,
    /// What begins here.
    Prefix,
    /// What begins here and is not empty.
    NotEmpty,
}

/// One thing left to do. The search is the recursive one of the C++ library, turned inside out.
enum Task {
    Visit {
        state: StateId,
        at: u32,
    },
    /// The body of a repetition was tried: if it led nowhere, goes on behind it.
    AfterBody {
        state: StateId,
        at: u32,
        saved: (u32, u8),
    },
    /// The first alternative was tried: now the second, whatever came of the first.
    Second {
        next: StateId,
        at: u32,
    },
    /// Both were tried.
    Both {
        found: bool,
    },
    RestoreBegin {
        group: u32,
        saved: u32,
    },
    RestoreEnd {
        group: u32,
        saved: (u32, u32, bool),
    },
}

pub(super) struct Search<'r> {
    regex: &'r Regex,
    text: &'r [u8],
    tasks: Vec<Task>,
    /// By state: where a repetition came by last, and how often in a row.
    counts: Vec<(u32, u8)>,
    /// By group: where it begins, where it last began and ended, whether it matched.
    groups: Vec<(u32, u32, u32, bool)>,
    best: Option<(u32, Vec<Group>)>,
    found: bool,
}

impl<'r> Search<'r> {
    pub(super) fn new(regex: &'r Regex, text: &'r [u8]) -> Self {
        Self {
            regex,
            text,
            tasks: Vec::new(),
            counts: vec![(0, 0); regex.states.len()],
            groups: vec![(0, 0, 0, false); regex.groups + 1],
            best: None,
            found: false,
        }
    }

    /// Returns the groups of the longest match that begins at `start`; `begin` says whether `^`
    /// matches there.
    pub(super) fn run(
        &mut self,
        start: usize,
        mode: Mode,
        begin: bool,
        budget: &mut u64,
    ) -> Option<Vec<Group>> {
        let start = start as u32;
        self.best = None;
        self.found = false;
        self.counts.fill((0, 0));
        self.groups.fill((0, 0, 0, false));
        self.tasks.clear();
        self.tasks.push(Task::Visit { state: self.regex.start, at: start });
        while let Some(task) = self.tasks.pop() {
            *budget = budget.saturating_sub(1);
            if *budget == 0 {
                return None;
            }
            match task {
                Task::Visit { state, at } => self.visit(state, at, start, mode, begin),
                Task::AfterBody { state, at, saved } => {
                    self.counts[state as usize] = saved;
                    if !self.found {
                        let next = self.regex.states[state as usize].next;
                        self.tasks.push(Task::Visit { state: next, at });
                    }
                }
                Task::Second { next, at } => {
                    self.tasks.push(Task::Both { found: self.found });
                    self.found = false;
                    self.tasks.push(Task::Visit { state: next, at });
                }
                Task::Both { found } => self.found |= found,
                Task::RestoreBegin { group, saved } => self.groups[group as usize].0 = saved,
                Task::RestoreEnd { group, saved } => {
                    let held = &mut self.groups[group as usize];
                    (held.1, held.2, held.3) = saved;
                }
            }
        }
        self.best.take().map(|(_, groups)| groups)
    }

    fn visit(&mut self, mut state: StateId, mut at: u32, start: u32, mode: Mode, begin: bool) {
        loop {
            let held = &self.regex.states[state as usize];
            match &held.kind {
                Kind::Dummy => {}
                Kind::Byte { set } => match self.text.get(at as usize) {
                    Some(&byte) if holds(set, byte) => at += 1,
                    _ => return,
                },
                Kind::LineBegin if begin && at == start => {}
                Kind::LineEnd if at as usize == self.text.len() => {}
                Kind::LineBegin | Kind::LineEnd => return,
                Kind::GroupBegin { group } => {
                    let saved = self.groups[*group as usize].0;
                    self.tasks.push(Task::RestoreBegin { group: *group, saved });
                    self.groups[*group as usize].0 = at;
                }
                Kind::GroupEnd { group } => {
                    let held = &mut self.groups[*group as usize];
                    let saved = (held.1, held.2, held.3);
                    self.tasks.push(Task::RestoreEnd { group: *group, saved });
                    (held.1, held.2, held.3) = (held.0, at, true);
                }
                Kind::Either { first } => {
                    self.tasks.push(Task::Second { next: held.next, at });
                    state = *first;
                    continue;
                }
                Kind::Repeat { body } => {
                    let saved = self.counts[state as usize];
                    // A body that matches nothing may come by twice at one place, not for ever.
                    if saved.1 == 0 || saved.0 != at {
                        self.counts[state as usize] = (at, 1);
                    } else if saved.1 < 2 {
                        self.counts[state as usize] = (at, saved.1 + 1);
                    } else {
                        state = held.next;
                        continue;
                    }
                    self.tasks.push(Task::AfterBody { state, at, saved });
                    state = *body;
                    continue;
                }
                Kind::Accept => return self.accept(at, start, mode),
            }
            state = held.next;
        }
    }

    fn accept(&mut self, at: u32, start: u32, mode: Mode) {
        let counts = match mode {
            Mode::Whole => at as usize == self.text.len(),
            Mode::Prefix => true,
            Mode::NotEmpty => at > start,
        };
        if !counts {
            return;
        }
        self.found = true;
        // Of equally long ones the first stays.
        if self.best.as_ref().is_none_or(|(end, _)| *end < at) {
            let groups = self.groups.iter().map(|&(_, from, to, set)| set.then_some((from, to))).collect();
            self.best = Some((at, groups));
        }
    }
}
