//! Numbers.

use crate::call::Args;
use crate::code::Arithmetic;
use crate::failure::Outcome;
use crate::machine::Machine;
use crate::slot::Slot;

impl Machine<'_> {
    fn numbers(&self, args: &Args) -> Outcome<()> {
        for index in 0..2 {
            if !matches!(args.list[index], Slot::Int { .. } | Slot::Float { .. }) {
                return Err(self.wrong_argument(args, index, "a number"));
            }
        }
        Ok(())
    }

    fn integers(&self, args: &Args) -> Outcome<(i64, i64)> {
        Ok((self.int_argument(args, 0)?, self.int_argument(args, 1)?))
    }
}

pub(super) fn add(machine: &mut Machine<'_>, args: &Args) -> Outcome<Slot> {
    machine.numbers(args)?;
    machine.add_values(args.list[0], args.list[1], args.at)
}

pub(super) fn sub(machine: &mut Machine<'_>, args: &Args) -> Outcome<Slot> {
    machine.numbers(args)?;
    machine.arithmetic(Arithmetic::Subtract, args.list[0], args.list[1], args.at)
}

pub(super) fn mul(machine: &mut Machine<'_>, args: &Args) -> Outcome<Slot> {
    machine.numbers(args)?;
    machine.arithmetic(Arithmetic::Multiply, args.list[0], args.list[1], args.at)
}

pub(super) fn div(machine: &mut Machine<'_>, args: &Args) -> Outcome<Slot> {
    machine.numbers(args)?;
    machine.arithmetic(Arithmetic::Divide, args.list[0], args.list[1], args.at)
}

pub(super) fn bit_and(machine: &mut Machine<'_>, args: &Args) -> Outcome<Slot> {
    let (a, b) = machine.integers(args)?;
    Ok(Slot::Int { at: args.at, value: a & b })
}

pub(super) fn bit_or(machine: &mut Machine<'_>, args: &Args) -> Outcome<Slot> {
    let (a, b) = machine.integers(args)?;
    Ok(Slot::Int { at: args.at, value: a | b })
}

pub(super) fn bit_xor(machine: &mut Machine<'_>, args: &Args) -> Outcome<Slot> {
    let (a, b) = machine.integers(args)?;
    Ok(Slot::Int { at: args.at, value: a ^ b })
}

pub(super) fn less_than(machine: &mut Machine<'_>, args: &Args) -> Outcome<Slot> {
    let value = machine.less(args.list[0], args.list[1], args.at)?;
    Ok(Slot::Bool { at: args.at, value })
}

pub(super) fn ceil(machine: &mut Machine<'_>, args: &Args) -> Outcome<Slot> {
    rounded(machine, args, f64::ceil)
}

pub(super) fn floor(machine: &mut Machine<'_>, args: &Args) -> Outcome<Slot> {
    rounded(machine, args, f64::floor)
}

fn rounded(machine: &mut Machine<'_>, args: &Args, round: fn(f64) -> f64) -> Outcome<Slot> {
    match args.list[0] {
        Slot::Int { value, .. } => Ok(Slot::Int { at: args.at, value }),
        Slot::Float { value, .. } => {
            let rounded = round(value);
            // 2^63 is the first float that is too large.
            if (-9_223_372_036_854_775_808.0..9_223_372_036_854_775_808.0).contains(&rounded) {
                return Ok(Slot::Int { at: args.at, value: rounded as i64 });
            }
            let shown = crate::number::printed(value);
            Err(machine.bad_argument(args, 0, format!("{shown} does not fit an integer")))
        }
        _ => Err(machine.wrong_argument(args, 0, "a number")),
    }
}
