//! The builtins: every pure one of Nix, one table, one module a topic.
//!
//! A builtin is a function over evaluated arguments. `strict` says which arguments are evaluated
//! before it is called; the others are handed over as they are. `compiler/eval/BUILTINS.md` lists
//! them for people.

mod control;
mod convert;
mod files;
mod json;
mod lists;
mod more_lists;
mod numbers;
mod paths;
mod sets;
mod strings;
mod toml;
mod types;
mod versions;
mod xml;

use diag::{Diagnostic, slugs::eval as slugs};

use crate::call::Args;
use crate::failure::{Failure, Outcome};
use crate::machine::Machine;
use crate::slot::{NOWHERE, NodeId, Slot, SlotId, Symbol};

/// What runs when a builtin has its arguments.
pub(crate) type Run = fn(&mut Machine<'_>, &Args) -> Outcome<Slot>;

/// A builtin function.
#[derive(Debug)]
pub(crate) struct Builtin {
    pub(crate) name: &'static str,
    pub(crate) arity: u8,
    /// Bit `i` is set if argument `i` is evaluated before the call.
    pub(crate) strict: u8,
    pub(crate) run: Run,
}

const fn builtin(name: &'static str, arity: u8, strict: u8, run: Run) -> Builtin {
    Builtin { name, arity, strict, run }
}

/// All builtin functions, by the name that they have in `builtins`.
pub(crate) static BUILTINS: &[Builtin] = &[
    builtin("abort", 1, 0b1, control::abort),
    builtin("add", 2, 0b11, numbers::add),
    builtin("addErrorContext", 2, 0b0, control::add_error_context),
    builtin("all", 2, 0b10, more_lists::all),
    builtin("any", 2, 0b10, more_lists::any),
    builtin("appendContext", 2, 0b11, strings::append_context),
    builtin("attrNames", 1, 0b1, sets::attr_names),
    builtin("attrValues", 1, 0b1, sets::attr_values),
    builtin("baseNameOf", 1, 0b1, paths::base_name_of),
    builtin("bitAnd", 2, 0b11, numbers::bit_and),
    builtin("bitOr", 2, 0b11, numbers::bit_or),
    builtin("bitXor", 2, 0b11, numbers::bit_xor),
    builtin("break", 1, 0b1, control::identity),
    builtin("catAttrs", 2, 0b11, sets::cat_attrs),
    builtin("ceil", 1, 0b1, numbers::ceil),
    builtin("compareVersions", 2, 0b11, versions::compare_versions),
    builtin("concatLists", 1, 0b1, lists::concat_lists),
    builtin("concatMap", 2, 0b10, lists::concat_map),
    builtin("concatStringsSep", 2, 0b11, strings::concat_strings_sep),
    builtin("convertHash", 1, 0b1, convert::convert_hash),
    builtin("deepSeq", 2, 0b1, control::deep_seq),
    builtin("dirOf", 1, 0b1, paths::dir_of),
    builtin("div", 2, 0b11, numbers::div),
    builtin("elem", 2, 0b10, lists::elem),
    builtin("elemAt", 2, 0b11, lists::elem_at),
    builtin("filter", 2, 0b10, lists::filter),
    builtin("floor", 1, 0b1, numbers::floor),
    builtin("foldl'", 3, 0b100, lists::foldl),
    builtin("fromJSON", 1, 0b1, json::from_json),
    builtin("fromTOML", 1, 0b1, toml::from_toml),
    builtin("functionArgs", 1, 0b1, sets::function_args),
    builtin("genList", 2, 0b10, lists::gen_list),
    builtin("genericClosure", 1, 0b1, more_lists::generic_closure),
    builtin("getAttr", 2, 0b11, sets::get_attr),
    builtin("getContext", 1, 0b1, strings::get_context),
    builtin("groupBy", 2, 0b10, more_lists::group_by),
    builtin("hasAttr", 2, 0b11, sets::has_attr),
    builtin("hasContext", 1, 0b1, strings::has_context),
    builtin("hashFile", 2, 0b11, files::hash_file),
    builtin("hashString", 2, 0b11, convert::hash_string),
    builtin("head", 1, 0b1, lists::head),
    builtin("import", 1, 0b1, files::import),
    builtin("intersectAttrs", 2, 0b11, sets::intersect_attrs),
    builtin("isAttrs", 1, 0b1, types::is_attrs),
    builtin("isBool", 1, 0b1, types::is_bool),
    builtin("isFloat", 1, 0b1, types::is_float),
    builtin("isFunction", 1, 0b1, types::is_function),
    builtin("isInt", 1, 0b1, types::is_int),
    builtin("isList", 1, 0b1, types::is_list),
    builtin("isNull", 1, 0b1, types::is_null),
    builtin("isPath", 1, 0b1, types::is_path),
    builtin("isString", 1, 0b1, types::is_string),
    builtin("length", 1, 0b1, lists::length),
    builtin("lessThan", 2, 0b11, numbers::less_than),
    builtin("listToAttrs", 1, 0b1, sets::list_to_attrs),
    builtin("map", 2, 0b10, lists::map),
    builtin("mapAttrs", 2, 0b10, sets::map_attrs),
    builtin("match", 2, 0b11, strings::matches),
    builtin("mul", 2, 0b11, numbers::mul),
    builtin("parseDrvName", 1, 0b1, versions::parse_drv_name),
    builtin("partition", 2, 0b10, more_lists::partition),
    builtin("pathExists", 1, 0b1, files::path_exists),
    builtin("readDir", 1, 0b1, files::read_dir),
    builtin("readFile", 1, 0b1, files::read_file),
    builtin("readFileType", 1, 0b1, files::read_file_type),
    builtin("removeAttrs", 2, 0b11, sets::remove_attrs),
    builtin("replaceStrings", 3, 0b111, strings::replace_strings),
    builtin("scopedImport", 2, 0b11, files::scoped_import),
    builtin("seq", 2, 0b1, control::seq),
    builtin("sort", 2, 0b10, more_lists::sort),
    builtin("split", 2, 0b11, strings::split),
    builtin("splitVersion", 1, 0b1, versions::split_version),
    builtin("stringLength", 1, 0b1, strings::string_length),
    builtin("sub", 2, 0b11, numbers::sub),
    builtin("substring", 3, 0b111, strings::substring),
    builtin("tail", 1, 0b1, lists::tail),
    builtin("throw", 1, 0b1, control::throw),
    builtin("toJSON", 1, 0b1, json::to_json),
    builtin("toPath", 1, 0b1, paths::to_path),
    builtin("toString", 1, 0b1, strings::to_string),
    builtin("toXML", 1, 0b1, xml::to_xml),
    builtin("trace", 2, 0b1, control::trace),
    builtin("traceVerbose", 2, 0b0, control::trace_verbose),
    builtin("tryEval", 1, 0b0, control::try_eval),
    builtin("typeOf", 1, 0b1, types::type_of),
    builtin("unsafeDiscardOutputDependency", 1, 0b1, strings::discard_context),
    builtin("unsafeDiscardStringContext", 1, 0b1, strings::discard_context),
    builtin("unsafeGetAttrPos", 2, 0b11, sets::get_attr_pos),
    builtin("warn", 2, 0b1, control::warn),
    builtin("zipAttrsWith", 2, 0b10, more_lists::zip_attrs_with),
];

/// The builtins that need no `builtins.` before them.
const PLAIN: &[&str] = &[
    "abort",
    "baseNameOf",
    "break",
    "dirOf",
    "fromTOML",
    "import",
    "isNull",
    "map",
    "removeAttrs",
    "scopedImport",
    "throw",
    "toString",
];

const STORE: &str = "recipec builds nothing and has no store";
const NETWORK: &str =
    "evaluation must not depend on the network; name what you need as a want, and `recipec lock` pins it";
const MACHINE: &str = "evaluation must give the same on every machine and at every time";
const FLAKES: &str = "flakes are a way to fetch sources; recipec pins what a recipe names in its lockfile";

/// What Nix has and this language leaves out, with the reason. Those with `true` are defined
/// everywhere in Nix, without `builtins.`.
const LEFT_OUT: &[(&str, bool, &str)] = &[
    ("addDrvOutputDependencies", false, STORE),
    ("currentSystem", false, MACHINE),
    ("currentTime", false, MACHINE),
    ("derivation", true, STORE),
    ("derivationStrict", true, STORE),
    ("exec", false, MACHINE),
    ("fetchClosure", false, NETWORK),
    ("fetchGit", true, NETWORK),
    ("fetchMercurial", true, NETWORK),
    ("fetchTarball", true, NETWORK),
    ("fetchTree", true, NETWORK),
    ("fetchurl", false, NETWORK),
    ("filterSource", false, STORE),
    ("findFile", false, MACHINE),
    ("flakeRefToString", false, FLAKES),
    ("getEnv", false, MACHINE),
    ("getFlake", false, FLAKES),
    ("importNative", false, MACHINE),
    ("nixPath", false, MACHINE),
    ("outputOf", false, STORE),
    ("parseFlakeRef", false, FLAKES),
    ("path", false, STORE),
    ("placeholder", true, STORE),
    ("storeDir", false, STORE),
    ("storePath", false, STORE),
    ("toFile", false, STORE),
];

/// Returns why Nix's builtin of this name is left out, if it is.
pub(crate) fn left_out_reason(name: &str) -> Option<&'static str> {
    LEFT_OUT.iter().find(|(left_out, ..)| *left_out == name).map(|&(_, _, reason)| reason)
}

/// Returns name and reason of a builtin that is left out.
pub(crate) fn left_out(index: u32) -> (&'static str, &'static str) {
    LEFT_OUT.get(index as usize).map_or(("", ""), |&(name, _, reason)| (name, reason))
}

/// Returns the names that are defined everywhere.
pub(crate) fn global_names() -> impl Iterator<Item = &'static str> {
    ["builtins", "true", "false", "null"].into_iter().chain(PLAIN.iter().copied())
}

/// Puts the builtins into a new machine.
pub(crate) fn install(machine: &mut Machine<'_>) {
    let at = NOWHERE;
    let mut pairs: Vec<(Symbol, Slot)> = Vec::with_capacity(BUILTINS.len() + 6);
    let mut globals: Vec<(Symbol, Slot)> = Vec::with_capacity(BUILTINS.len() + 6);
    for (which, builtin) in (0_u16..).zip(BUILTINS) {
        let value = Slot::Builtin { which, count: 0, at, start: 0 };
        pairs.push((machine.intern(builtin.name), value));
        if PLAIN.contains(&builtin.name) {
            globals.push((machine.intern(builtin.name), value));
        } else {
            let hidden = format!("__{}", builtin.name);
            globals.push((machine.intern(&hidden), value));
        }
    }
    let literals = [
        ("true", Slot::Bool { at, value: true }),
        ("false", Slot::Bool { at, value: false }),
        ("null", Slot::Null { at }),
    ];
    for (name, value) in literals {
        let name = machine.intern(name);
        pairs.push((name, value));
        globals.push((name, value));
    }
    let version = Slot::Int { at, value: 6 };
    pairs.push((machine.intern("langVersion"), version));
    globals.push((machine.intern("__langVersion"), version));
    // The version whose semantics these are.
    if let Ok(version) = machine.string(b"2.34.8", at) {
        pairs.push((machine.intern("nixVersion"), version));
        globals.push((machine.intern("__nixVersion"), version));
    }
    let builtins = machine.known.builtins;
    pairs.push((builtins, Slot::Null { at }));
    let Ok(set) = machine.make_set(pairs, at) else { return };
    let Slot::Attrs { shape, start, .. } = set else { return };
    machine.builtins_start = start;
    // `builtins.builtins` is the set itself.
    if let Some(slot) = machine.attribute(shape, start, builtins) {
        machine.heap[slot as usize] = set;
    }
    globals.push((builtins, set));
    for (name, value) in globals {
        let slot = machine.heap.len() as SlotId;
        machine.heap.push(value);
        let at = name as usize;
        if machine.globals.len() <= at {
            machine.globals.resize(at + 1, 0);
        }
        machine.globals[at] = slot;
    }
    for (index, &(name, plain, _)) in (1_u32..).zip(LEFT_OUT) {
        let hidden = if plain { name.to_owned() } else { format!("__{name}") };
        let at = machine.intern(&hidden) as usize;
        if machine.left_out_globals.len() <= at {
            machine.left_out_globals.resize(at + 1, 0);
        }
        machine.left_out_globals[at] = index;
    }
}

impl Machine<'_> {
    /// Returns the expression of argument `index` of a builtin, for diagnostics.
    pub(crate) fn argument(&self, args: &Args, index: usize) -> NodeId {
        match self.code.nodes[args.at as usize] {
            crate::code::Node::Apply { start, count, .. } if (index as u32) < count => {
                self.code.ids[start as usize + index]
            }
            _ => args.at,
        }
    }

    /// Says that an argument is not what it must be.
    #[cold]
    pub(crate) fn wrong_argument(&self, args: &Args, index: usize, expected: &str) -> Box<Failure> {
        let ordinal = ["first", "second", "third"][index.min(2)];
        let what = format!("the {ordinal} argument of `{}`", args.name);
        self.wrong_type(args.list[index], expected, &what, self.argument(args, index))
    }

    /// Says that an argument has a value that the builtin cannot work with.
    #[cold]
    pub(crate) fn bad_argument(&self, args: &Args, index: usize, message: String) -> Box<Failure> {
        let mut diagnostic = Diagnostic::error(slugs::BAD_ARGUMENT, message);
        diagnostic.span = self.code.span(self.argument(args, index));
        if let Some(origin) = self.origin(args.list[index.min(2)])
            && diagnostic.span != Some(origin)
        {
            diagnostic = diagnostic.label(origin, "the value comes from here");
        }
        Failure::new(diagnostic)
    }

    /// Returns an evaluated argument that must be a list: its first slot and its length.
    pub(crate) fn list_argument(&self, args: &Args, index: usize) -> Outcome<(SlotId, u32)> {
        match args.list[index] {
            Slot::List { start, len, .. } => Ok((start, len)),
            _ => Err(self.wrong_argument(args, index, "a list")),
        }
    }

    /// Returns an evaluated argument that must be a set: its shape and its first slot.
    pub(crate) fn set_argument(&self, args: &Args, index: usize) -> Outcome<(u32, SlotId)> {
        match args.list[index] {
            Slot::Attrs { shape, start, .. } => Ok((shape, start)),
            _ => Err(self.wrong_argument(args, index, "a set")),
        }
    }

    /// Returns an evaluated argument that must be a string: where it is in the text.
    pub(crate) fn string_argument(&self, args: &Args, index: usize) -> Outcome<(u32, u32)> {
        match args.list[index] {
            Slot::String { start, len, .. } => Ok((start, len)),
            _ => Err(self.wrong_argument(args, index, "a string")),
        }
    }

    /// Returns an evaluated argument that must be an integer.
    pub(crate) fn int_argument(&self, args: &Args, index: usize) -> Outcome<i64> {
        match args.list[index] {
            Slot::Int { value, .. } => Ok(value),
            _ => Err(self.wrong_argument(args, index, "an integer")),
        }
    }

    /// Calls what must answer true or false.
    pub(crate) fn ask(&mut self, function: Slot, argument: Slot, args: &Args) -> Outcome<bool> {
        self.step()?;
        match self.call(function, argument, args.at)? {
            Slot::Bool { value, .. } => Ok(value),
            other => {
                let what = format!("what the function of `{}` returns", args.name);
                Err(self.wrong_type(other, "a Boolean", &what, self.argument(args, 0)))
            }
        }
    }

    /// Returns a slot that holds an argument, so that it can be shared.
    pub(crate) fn keep(&mut self, held: Slot) -> Outcome<SlotId> {
        match held {
            Slot::Ref { slot } => Ok(slot),
            held => self.alloc_one(held),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_builtin_is_documented_and_none_that_is_not_there() {
        let page = include_str!("../BUILTINS.md");
        let (kept, left) = page.split_once("## Left out").unwrap();
        let listed = |text: &str| -> Vec<String> {
            let rows = text.lines().filter_map(|line| line.strip_prefix("| [`"));
            rows.filter_map(|row| Some(row.split_once('`')?.0.to_owned())).collect()
        };
        let constants = ["builtins", "true", "null", "langVersion", "nixVersion"];
        let mut expected: Vec<&str> = BUILTINS.iter().map(|builtin| builtin.name).collect();
        expected.extend(constants);
        assert_eq!(listed(kept), expected);
        assert_eq!(listed(left), LEFT_OUT.iter().map(|&(name, ..)| name).collect::<Vec<_>>());
    }

    #[test]
    fn the_table_is_sorted_and_strictness_fits_the_arity() {
        assert!(BUILTINS.windows(2).all(|pair| pair[0].name < pair[1].name));
        assert!(BUILTINS.iter().all(|builtin| builtin.strict < 1 << builtin.arity));
    }
}
