//! Evaluating a node.

use crate::code::{INNER, Node, Template};
use crate::failure::Outcome;
use crate::machine::Machine;
use crate::shapes::Source;
use crate::slot::{NodeId, Slot, SlotId, Symbol};

impl Machine<'_> {
    /// Evaluates a node in a frame, to a value whose parts may stay unevaluated.
    #[inline]
    pub(crate) fn eval(&mut self, node: NodeId, env: SlotId) -> Outcome<Slot> {
        match self.code.nodes[node as usize] {
            Node::Const { slot } => self.force_at(slot),
            Node::Local { index } => {
                let held = self.heap[(env + index) as usize];
                if held.is_value() { Ok(held) } else { self.eval_variable(node, env + index) }
            }
            Node::Outer { level, index } => {
                let slot = self.outer(env, level) + index;
                let held = self.heap[slot as usize];
                if held.is_value() { Ok(held) } else { self.eval_variable(node, slot) }
            }
            Node::Lambda { lambda } => Ok(Slot::Lambda { lambda, env }),
            _ => self.nested(|machine| machine.eval_node(node, env)),
        }
    }

    fn eval_variable(&mut self, node: NodeId, slot: SlotId) -> Outcome<Slot> {
        match self.nested(|machine| machine.force_at(slot)) {
            Ok(value) => Ok(value),
            Err(failure) => Err(self.placed(failure, node)),
        }
    }

    /// Returns the frame `level` further out than `env`.
    #[inline]
    pub(crate) fn outer(&self, mut env: SlotId, level: u32) -> SlotId {
        for _ in 0..level {
            if let Slot::Frame { parent } = self.heap[env as usize] {
                env = parent;
            }
        }
        env
    }

    /// Returns what a slot may hold so that the node is evaluated when somebody asks.
    #[inline]
    pub(crate) fn delay(&self, node: NodeId, env: SlotId) -> Slot {
        match self.code.nodes[node as usize] {
            Node::Const { slot } => self.share(slot),
            Node::Local { index } => self.share(env + index),
            Node::Outer { level, index } => self.share(self.outer(env, level) + index),
            Node::Lambda { lambda } => Slot::Lambda { lambda, env },
            _ => Slot::Delayed { code: node, env },
        }
    }

    /// As [`Machine::delay`], for a frame whose slots are not all filled yet.
    #[inline]
    fn delay_in_new_frame(&self, node: NodeId, env: SlotId) -> Slot {
        match self.code.nodes[node as usize] {
            Node::Local { .. } => Slot::Delayed { code: node, env },
            _ => self.delay(node, env),
        }
    }

    fn eval_node(&mut self, mut node: NodeId, mut env: SlotId) -> Outcome<Slot> {
        loop {
            match self.code.nodes[node as usize] {
                Node::If { branch } => {
                    let condition = self.code.conditionals[branch as usize].condition;
                    let truth = self.eval_bool(condition, env, "the condition of `if`")?;
                    let conditional = &mut self.code.conditionals[branch as usize];
                    conditional.taken[usize::from(!truth)] += 1;
                    node = if truth { conditional.first } else { conditional.second };
                }
                Node::Assert { condition, body } => {
                    if !self.eval_bool(condition, env, "the condition of `assert`")? {
                        return Err(self.assertion_failed(condition, node));
                    }
                    node = body;
                }
                Node::Let { template, body } => {
                    env = self.bind(template, env)?;
                    node = body;
                }
                Node::With { namespace, body } => {
                    let held = self.delay(namespace, env);
                    let frame = self.alloc(2)?;
                    self.heap[frame as usize] = Slot::Frame { parent: env };
                    self.heap[frame as usize + 1] = held;
                    env = frame;
                    node = body;
                }
                Node::Const { .. } | Node::Local { .. } | Node::Outer { .. } | Node::Lambda { .. } => {
                    return self.eval(node, env);
                }
                other => return self.eval_leaf(other, node, env),
            }
        }
    }

    fn eval_leaf(&mut self, held: Node, node: NodeId, env: SlotId) -> Outcome<Slot> {
        match held {
            Node::Apply { function, start, count } => self.apply(node, function, start, count, env),
            Node::Select { set, access } => self.select(set, access, node, env),
            Node::SelectOr { set, path, branch } => self.select_or(set, path, branch, env),
            Node::Has { set, path } => {
                let value = self.has(set, path, env)?;
                Ok(Slot::Bool { at: node, value })
            }
            Node::List { site, count } => self.eval_list(site, count, env),
            Node::Attrs { template } => self.eval_attrs(template, node, env),
            Node::Recursive { template } => self.eval_recursive(template, node, env),
            Node::And { branch } | Node::Or { branch } | Node::Implies { branch } => {
                self.eval_logic(branch, node, env)
            }
            Node::Not { operand } => {
                let value = !self.eval_bool(operand, env, "the operand of `!`")?;
                Ok(Slot::Bool { at: node, value })
            }
            Node::Negate { operand } => self.negate(operand, node, env),
            Node::Update { left, right } => self.update(left, right, node, env),
            Node::Concat { left, right } => self.concat(left, right, env),
            Node::Add { left, right } => self.add(left, right, node, env),
            Node::Arithmetic { operator, left, right } => {
                let (a, b) = (self.eval(left, env)?, self.eval(right, env)?);
                self.arithmetic(operator, a, b, node)
            }
            Node::Equal { left, right, negated } => {
                let (a, b) = (self.eval(left, env)?, self.eval(right, env)?);
                let value = self.equal(a, b)? != negated;
                Ok(Slot::Bool { at: node, value })
            }
            Node::Less { left, right, swapped, negated } => {
                // Nix reads `a > b` as `lessThan b a`, so the right operand goes first there.
                let value = if swapped {
                    let b = self.eval(right, env)?;
                    let a = self.eval(left, env)?;
                    self.less(b, a, node)?
                } else {
                    let a = self.eval(left, env)?;
                    let b = self.eval(right, env)?;
                    self.less(a, b, node)?
                };
                Ok(Slot::Bool { at: node, value: value != negated })
            }
            Node::Interpolate { start, count } => self.interpolate(start, count, node, env),
            Node::Path { start, count } => self.interpolate_path(start, count, node, env),
            Node::Dynamic { name, start, count } => self.eval_dynamic(name, start, count, node, env),
            Node::LeftOut { index } => Err(self.left_out(index, node)),
            // The other nodes are handled by the callers, and a text that has an unread
            // expression is never evaluated.
            _ => Err(self.unread(node)),
        }
    }

    /// Evaluates a node that must be true or false.
    #[inline]
    pub(crate) fn eval_bool(&mut self, node: NodeId, env: SlotId, what: &str) -> Outcome<bool> {
        match self.eval(node, env)? {
            Slot::Bool { value, .. } => Ok(value),
            other => Err(self.wrong_type(other, "a Boolean", what, node)),
        }
    }

    fn eval_logic(&mut self, branch: u32, node: NodeId, env: SlotId) -> Outcome<Slot> {
        use crate::BranchKind::{And, Or};
        let conditional = self.code.conditionals[branch as usize];
        let (operator, short, answer) = match conditional.kind {
            And => ("an operand of `&&`", false, false),
            Or => ("an operand of `||`", true, true),
            _ => ("an operand of `->`", false, true),
        };
        let left = self.eval_bool(conditional.condition, env, operator)?;
        let taken = &mut self.code.conditionals[branch as usize].taken;
        if left == short {
            taken[0] += 1;
            return Ok(Slot::Bool { at: node, value: answer });
        }
        taken[1] += 1;
        let value = self.eval_bool(conditional.second, env, operator)?;
        Ok(Slot::Bool { at: node, value })
    }

    fn eval_list(&mut self, site: u32, count: u32, env: SlotId) -> Outcome<Slot> {
        let start = self.alloc(count as usize)?;
        if let crate::code::Site::Written { start: ids, .. } = self.code.sites[site as usize] {
            for index in 0..count {
                let element = self.delay(self.code.ids[(ids + index) as usize], env);
                self.heap[(start + index) as usize] = element;
            }
        }
        Ok(Slot::List { site, start, len: count })
    }

    fn eval_attrs(&mut self, template: u32, node: NodeId, env: SlotId) -> Outcome<Slot> {
        let template = self.code.templates[template as usize];
        let inner = if template.source_count > 0 {
            let frame = self.alloc(1 + template.source_count as usize)?;
            self.heap[frame as usize] = Slot::Frame { parent: env };
            for index in 0..template.source_count {
                let source = self.delay(self.code.ids[(template.sources + index) as usize], env);
                self.heap[(frame + 1 + index) as usize] = source;
            }
            frame
        } else {
            env
        };
        let start = self.alloc(template.count as usize)?;
        for index in 0..template.count {
            let id = self.code.ids[(template.start + index) as usize];
            let value = if id & INNER == 0 {
                self.delay(id, env)
            } else {
                Slot::Delayed { code: id & !INNER, env: inner }
            };
            self.heap[(start + index) as usize] = value;
        }
        let set = Slot::Attrs { at: node, shape: template.shape, start };
        if template.computed_count == 0 { Ok(set) } else { self.add_computed(template, set, node, env) }
    }

    /// Makes the frame of `let` or `rec`, and returns it.
    fn bind(&mut self, template: u32, env: SlotId) -> Outcome<SlotId> {
        let template = self.code.templates[template as usize];
        let count = template.count + template.source_count;
        let frame = self.alloc(1 + count as usize)?;
        self.heap[frame as usize] = Slot::Frame { parent: env };
        for index in 0..template.count {
            let id = self.code.ids[(template.start + index) as usize];
            // A plain `inherit` in a recursive set means the variable outside.
            let value = if id & INNER == 0 {
                self.delay_in_new_frame(id, frame)
            } else {
                self.delay(id & !INNER, env)
            };
            self.heap[(frame + 1 + index) as usize] = value;
        }
        for index in 0..template.source_count {
            let id = self.code.ids[(template.sources + index) as usize];
            let value = self.delay_in_new_frame(id, frame);
            self.heap[(frame + 1 + template.count + index) as usize] = value;
        }
        Ok(frame)
    }

    fn eval_recursive(&mut self, index: u32, node: NodeId, env: SlotId) -> Outcome<Slot> {
        let frame = self.bind(index, env)?;
        let template = self.code.templates[index as usize];
        let mut set = Slot::Attrs { at: node, shape: template.shape, start: frame + 1 };
        if template.overrides > 0 {
            set = self.apply_overrides(template, frame, node)?;
        }
        if template.computed_count == 0 { Ok(set) } else { self.add_computed(template, set, node, frame) }
    }

    /// The ancient `__overrides`: its attributes replace those of the recursive set, in the set's
    /// own scope too.
    fn apply_overrides(&mut self, template: Template, frame: SlotId, node: NodeId) -> Outcome<Slot> {
        let slot = frame + template.overrides;
        let overrides = self.force_at(slot)?;
        let Slot::Attrs { shape: other, start: from, .. } = overrides else {
            return Err(self.wrong_type(overrides, "a set", "`__overrides`", node));
        };
        let layout = self.shapes.get(template.shape).layout;
        let names: Vec<Symbol> = self.shapes.names_of(other).to_vec();
        for (index, &name) in (0_u32..).zip(&names) {
            if let Some(position) = self.shapes.find(layout, name) {
                self.heap[(frame + 1 + position) as usize] = self.share(from + index);
            }
        }
        let set = Slot::Attrs { at: node, shape: template.shape, start: frame + 1 };
        self.merge(set, overrides, node)
    }

    fn add_computed(&mut self, template: Template, set: Slot, node: NodeId, env: SlotId) -> Outcome<Slot> {
        let Slot::Attrs { shape, start, .. } = set else { return Ok(set) };
        let layout = self.shapes.get(shape).layout;
        let count = self.shapes.len(shape);
        let mut all: Vec<(Symbol, Slot, crate::shapes::Written)> = Vec::new();
        for index in 0..count {
            let name = self.shapes.names(layout)[index as usize];
            all.push((name, self.share(start + index), self.written(shape, name)));
        }
        for index in template.computed..template.computed + template.computed_count {
            let computed = self.code.computed[index as usize];
            let name = match self.eval(computed.name, env)? {
                Slot::Null { .. } => continue,
                Slot::String { start, len, .. } => self.intern_bytes(start, len)?,
                other => return Err(self.wrong_type(other, "a string", "an attribute name", computed.name)),
            };
            let value = self.delay(computed.value, env);
            let written =
                crate::shapes::Written { start: computed.start, end: computed.end, value: computed.value };
            all.push((name, value, written));
        }
        all.sort_by_key(|&(name, ..)| name);
        for pair in all.windows(2) {
            if let &[(name, _, earlier), (again, _, later)] = pair
                && name == again
            {
                return Err(self.repeated_attribute(name, earlier, later));
            }
        }
        let first = self.shapes.written.len() as u32;
        self.shapes.written.extend(all.iter().map(|&(_, _, written)| written));
        let pairs: Vec<(Symbol, Slot)> = all.iter().map(|&(name, value, _)| (name, value)).collect();
        self.make_sorted_set(&pairs, Source::Written { first }, node)
    }
}
