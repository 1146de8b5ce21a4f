//! Names that the evaluator itself looks for.

use syntax::Interner;

use crate::slot::Symbol;

macro_rules! known {
    ($($field:ident = $name:literal),* $(,)?) => {
        /// Symbols of the names that have a meaning of their own.
        #[derive(Clone, Copy, Debug)]
        pub(crate) struct Known { $(pub(crate) $field: Symbol),* }

        impl Known {
            pub(crate) fn new(names: &mut Interner) -> Self {
                Self { $($field: names.intern($name).0),* }
            }
        }
    };
}

known! {
    functor = "__functor",
    to_string = "__toString",
    overrides = "__overrides",
    out_path = "outPath",
    kind = "type",
    name = "name",
    value = "value",
    key = "key",
    start_set = "startSet",
    operator = "operator",
    success = "success",
    right = "right",
    wrong = "wrong",
    version = "version",
    file = "file",
    line = "line",
    column = "column",
    builtins = "builtins",
    hash = "hash",
    hash_algo = "hashAlgo",
    to_hash_format = "toHashFormat",
}
