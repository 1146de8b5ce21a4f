//! Asking for the type of a value.

use crate::call::Args;
use crate::failure::Outcome;
use crate::machine::Machine;
use crate::slot::Slot;

macro_rules! questions {
    ($($name:ident => $pattern:pat),* $(,)?) => {$(
        pub(super) fn $name(_: &mut Machine<'_>, args: &Args) -> Outcome<Slot> {
            Ok(Slot::Bool { at: args.at, value: matches!(args.list[0], $pattern) })
        }
    )*};
}

questions! {
    is_null => Slot::Null { .. },
    is_bool => Slot::Bool { .. },
    is_int => Slot::Int { .. },
    is_float => Slot::Float { .. },
    is_string => Slot::String { .. },
    is_path => Slot::Path { .. },
    is_list => Slot::List { .. },
    is_attrs => Slot::Attrs { .. },
    is_function => Slot::Lambda { .. } | Slot::Builtin { .. },
}

pub(super) fn type_of(machine: &mut Machine<'_>, args: &Args) -> Outcome<Slot> {
    let name: &[u8] = match args.list[0] {
        Slot::Null { .. } => b"null",
        Slot::Bool { .. } => b"bool",
        Slot::Int { .. } => b"int",
        Slot::Float { .. } => b"float",
        Slot::String { .. } => b"string",
        Slot::Path { .. } => b"path",
        Slot::List { .. } => b"list",
        Slot::Attrs { .. } => b"set",
        _ => b"lambda",
    };
    machine.string(name, args.at)
}
