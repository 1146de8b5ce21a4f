"""What vLLM's command line is, from its source: fields of configuration classes, what `EngineArgs`
adds of them, and the frontend's own arguments."""

import ast
import re

from source import Class, Unknown, dotted, expression
from sglang import alternatives, is_deprecated, told

PARSER = {
    "O_shorthand": True, "allow_abbrev": True, "dotted_json": True, "eq_form": True, "list_append_suffix": "+",
    "model_flag_deprecated": True, "positional": ["model_tag"], "repeat": "last wins + warning", "underscore_eq_dash": True,
}
ENGINE = "vllm.engine.arg_utils"
# Where the frontend's arguments are, and where they went.
FRONTENDS = ["vllm.entrypoints.openai.cli_args", "vllm.entrypoints.common.cli_args"]
LOWER = "lambda s: s.lower().replace('-', '_')"
TWINS = [("--enable-", "--disable-"), ("--disable-", "--enable-")]


def describe(source):
    parser = Parser(source)
    frontend = next((module for module in map(source.module, FRONTENDS) if module), None)
    if frontend is None:
        raise SystemExit(f"the package has no readable module of {', '.join(FRONTENDS)}")
    parser.function(frontend, find(frontend, "make_arg_parser"), None)
    classes = {cls.name: parser.members(cls) for cls in parser.described()}
    return {
        "flags": parser.flags, "config_classes": classes, "parser": PARSER,
        "program": ["vllm serve <model>"], "env": variables(source),
    }


def find(module, name, cls=None):
    body = cls.node.body if cls else module.tree.body
    for node in body:
        if isinstance(node, ast.FunctionDef) and node.name == name:
            return node
    raise SystemExit(f"`{module.name}` has no function `{name}`")


# Types.


class Hints:
    """What a field's type may be: builtin names, literals, collections, classes."""

    def __init__(self):
        self.names, self.literal, self.collections, self.classes = set(), None, [], []

    @property
    def none(self):
        return "None" in self.names


def hints(source, module, node, found=None, depth=0):
    found = found or Hints()
    if depth > 30:
        found.names.add("other")
        return found
    go = lambda inner, where=module: hints(source, where, inner, found, depth + 1)
    if isinstance(node, ast.BinOp):
        for part in alternatives(node):
            go(part)
        return found
    if isinstance(node, ast.Constant):
        if isinstance(node.value, str):
            try:
                return go(ast.parse(node.value, mode="eval").body)
            except SyntaxError:
                found.names.add("other")
                return found
        found.names.add("None" if node.value is None else "other")
        return found
    if isinstance(node, ast.Subscript):
        name = (dotted(node.value) or "").split(".")[-1]
        parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        if name == "Literal":
            try:
                found.literal = (found.literal or []) + source.value(module, node)
            except Unknown:
                found.names.add("other")
        elif name in ("Annotated", "SkipValidation", "ClassVar"):
            go(parts[0])
        elif name in ("Optional", "Union"):
            for part in parts:
                go(part)
            if name == "Optional":
                found.names.add("None")
        elif name.lower() in ("list", "set", "tuple", "dict", "sequence", "mapping"):
            found.names.add(name.lower())
            found.collections.append((name.lower(), parts, module))
        else:
            found.names.add("other")
        return found
    name = dotted(node) or ""
    if name in ("str", "int", "float", "bool", "dict", "list", "set", "tuple"):
        found.names.add(name)
        return found
    try:
        owner, bound = source.resolve(module, node)
    except Unknown:
        found.names.add("other")
        return found
    if isinstance(bound, ast.ClassDef):
        cls = Class(owner, bound)
        found.classes.append(cls)
        found.names.add("record" if source.is_record(cls) and not source.is_enum(cls) else "other")
        return found
    if bound is None or isinstance(bound, ast.FunctionDef) or isinstance(bound, ast.Call):
        found.names.add("other")
        return found
    return go(bound, owner)


def typed(source, module, name, annotation, human):
    """Returns the keyword arguments that a field of a configuration class has on the command line."""
    of = hints(source, module, annotation)
    kwargs = {}
    record = next((cls for cls in of.classes if source.is_record(cls) and not source.is_enum(cls)), None)
    lists = [one for one in of.collections if one[0] in ("tuple", "list", "set")]
    if record:
        kwargs.update(type="json", json_type=record)
    elif of.names == {"bool", "str", "None"} and not of.literal:
        kwargs.update(type="str", nargs="?", const=True)
        return kwargs
    elif "bool" in of.names:
        kwargs.update(kind="bool_optional", type="bool")
        return kwargs
    elif of.literal:
        options = sorted(set(of.literal), key=None if len({type(one) for one in of.literal}) == 1 else str)
        kwargs["type"] = type(options[0]).__name__
        kwargs["known_values" if "str" in of.names else "choices"] = options
    elif lists:
        order = ["tuple", "list", "set"]
        kind, parts, where = min(lists, key=lambda one: order.index(one[0]))
        inner = hints(source, where, parts[0])
        if inner.literal:
            kwargs.update(type=type(inner.literal[0]).__name__, choices=sorted(inner.literal))
        else:
            plain = inner.names & {"int", "float", "str"}
            kwargs["type"] = plain.pop() if len(inner.names) == 1 and plain else "nested" if inner.collections else "str"
        # A tuple of a fixed length takes just so many words.
        fixed = kind == "tuple" and not any(isinstance(p, ast.Constant) and p.value is Ellipsis for p in parts)
        kwargs["nargs"] = len(parts) if fixed else "+"
    elif "int" in of.names:
        kwargs["type"] = "human_int" if name in human else "int"
    elif "float" in of.names:
        kwargs["type"] = "float"
    elif "dict" in of.names:
        kwargs["type"] = "json_or_str" if of.names & {"str", "other", "record"} else "json"
    else:
        kwargs["type"] = "str"
    # An enumeration is compared by the engine after its parser.
    for cls in of.classes:
        if kwargs["type"] == "str" and "known_values" not in kwargs and source.is_enum(cls) and "str" not in of.names and not of.literal:
            kwargs["known_values"] = [member for member in source.members(cls)]
    if of.none:
        kwargs["optional"] = True
        if kwargs.get("choices"):
            kwargs["choices"] = kwargs["choices"] + ["None"]
    return kwargs


def human_fields(source, module):
    """Returns the fields that are read as `8k`: those for which the branch says so."""
    found = set()
    for function in (node for node in ast.walk(module.tree) if isinstance(node, ast.FunctionDef)):
        inner = module.within(function)
        # A name that a branch compares with may be bound in a branch itself.
        for node in ast.walk(function):
            if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
                inner.names.setdefault(node.targets[0].id, node.value)
        for node in (node for node in ast.walk(function) if isinstance(node, ast.If)):
            says = any(isinstance(part, ast.Name) and part.id.startswith("human_readable_int") for one in node.body for part in ast.walk(one) if not isinstance(one, ast.If))
            if says and isinstance(node.test, ast.Compare) and dotted(node.test.left) == "name":
                value = told(source, inner, node.test.comparators[0])
                found.update([value] if isinstance(value, str) else value)
    return found


# The parser.


class Parser:
    def __init__(self, source):
        self.source, self.flags, self.kwargs = source, [], {}
        self.seen = []
        text = source.need(ENGINE)
        self.human = human_fields(source, text)
        actions = source.module("vllm.utils.argparse_utils")
        # Since it has this action, `--enable-x` and `--disable-x` say the opposite of each other.
        self.twins = bool(actions and "EnableDisableAction" in actions.names)

    def of_class(self, cls):
        """Returns the keyword arguments of every field of a configuration class."""
        found, notes = {}, {}
        for one in self.source.bases(cls):
            for node, note in zip(one.node.body, one.node.body[1:]):
                if isinstance(note, ast.Expr):
                    notes[one.module.name, node.lineno] = note.value
        for name, [(module, node)] in self.source.fields(cls).items():
            if not isinstance(node, ast.AnnAssign) or (isinstance(node.annotation, ast.Subscript) and dotted(node.annotation.value) == "ClassVar"):
                continue
            kwargs = typed(self.source, module, name, node.annotation, self.human)
            kwargs["default"] = None
            if node.value is not None:
                # What a variable says is no default of the release.
                by_variable = (dotted(node.value) or "").startswith("envs.")
                kwargs["default"] = expression(node.value) if by_variable else told(self.source, module, node.value)
            kwargs["deprecated"] = is_deprecated(notes.get((module.name, node.lineno)))
            found[name] = kwargs
        return found

    def function(self, module, function, cls):
        """Follows a function that adds arguments, statement by statement."""
        inner = module.within(function)
        local = {}
        self.block(inner, function.body, cls, local)

    def block(self, module, body, cls, local):
        for node in body:
            if isinstance(node, ast.If):
                self.block(module, node.body, cls, local)
                self.block(module, node.orelse, cls, local)
            elif isinstance(node, ast.For):
                self.all_of(module, node, local)
            elif isinstance(node, ast.Delete):
                for target in node.targets:
                    found = self.entry(target.value, local) if isinstance(target, ast.Subscript) else None
                    if found is not None:
                        found.pop(told(self.source, module, target.slice), None)
            elif isinstance(node, ast.Assign) and len(node.targets) == 1:
                self.assign(module, node, cls, local)
            elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
                self.call(module, node.value, cls, local)

    def entry(self, node, local):
        """Returns the keyword arguments that `x_kwargs["field"]` or a name stands for."""
        if isinstance(node, ast.Name):
            return local.get(node.id)
        if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant):
            whole = self.entry(node.value, local)
            found = whole.get(node.slice.value) if isinstance(whole, dict) else None
            return found if isinstance(found, dict) else None
        return None

    def assign(self, module, node, cls, local):
        target, value = node.targets[0], node.value
        if isinstance(target, ast.Name):
            name = (dotted(value.func) or "").split(".")[-1] if isinstance(value, ast.Call) else ""
            if name == "get_kwargs":
                of = cls if dotted(value.args[0]) == "cls" else self.source.class_of(module, value.args[0])
                local[target.id] = self.of_class(of) if of else {}
            elif name == "_customize_cli_kwargs":
                self.customize(cls, local.get(target.id, {}))
            elif name == "add_cli_args":
                self.call(module, value, cls, local)
            elif isinstance(value, ast.Subscript) and isinstance(value.value, ast.Call) and dotted(value.value.func) == "get_kwargs":
                of = self.source.class_of(module, value.value.args[0])
                local[target.id] = (self.of_class(of) if of else {}).get(told(self.source, module, value.slice), {})
            elif self.entry(value, local) is not None:
                local[target.id] = self.entry(value, local)
            return
        if isinstance(target, ast.Subscript):
            found = self.entry(target.value, local)
            if found is not None and isinstance(target.slice, ast.Constant):
                found[target.slice.value] = self.told_kwarg(module, target.slice.value, value)

    def told_kwarg(self, module, name, value):
        if name in ("type", "action"):
            text = ast.unparse(value)
            return text.strip("'\"")
        return told(self.source, module, value)

    def customize(self, cls, kwargs):
        """Applies what the classes of the frontend change, the base's first."""
        for one in reversed(self.source.bases(cls)):
            for node in one.node.body:
                if isinstance(node, ast.FunctionDef) and node.name == "_customize_cli_kwargs":
                    self.block(one.module.within(node), node.body, cls, {"frontend_kwargs": kwargs})

    def all_of(self, module, node, local):
        """`for key, value in kwargs.items(): group.add_argument(f"--{key}", **value)`"""
        if not (isinstance(node.iter, ast.Call) and isinstance(node.iter.func, ast.Attribute) and node.iter.func.attr == "items"):
            return
        whole = self.entry(node.iter.func.value, local)
        for name, kwargs in (whole or {}).items():
            extra = kwargs.pop("flags", [])
            self.add([*extra, "--" + name.replace("_", "-")], dict(kwargs))

    def call(self, module, node, cls, local):
        if not isinstance(node.func, ast.Attribute):
            return
        if node.func.attr == "add_cli_args":
            of = self.source.class_of(module, node.func.value)
            for one in self.source.bases(of) if of else []:
                found = [part for part in one.node.body if isinstance(part, ast.FunctionDef) and part.name == "add_cli_args"]
                if found:
                    self.function(one.module, found[0], of)
                    break
        elif node.func.attr == "add_argument":
            kwargs = {}
            for keyword in node.keywords:
                if keyword.arg is None and isinstance(keyword.value, ast.Dict):
                    for key, value in zip(keyword.value.keys, keyword.value.values):
                        if key is None:
                            kwargs.update(self.entry(value, local) or {})
                        else:
                            name = told(self.source, module, key)
                            kwargs[name] = self.told_kwarg(module, name, value)
                elif keyword.arg is None:
                    kwargs.update(self.entry(keyword.value, local) or {})
                else:
                    kwargs[keyword.arg] = self.told_kwarg(module, keyword.arg, keyword.value)
            self.add([told(self.source, module, arg) for arg in node.args], kwargs)

    def add(self, names, kwargs):
        positional = not names[0].startswith("-")
        longest = next((name for name in names if name.startswith("--")), names[0])
        flag = {
            "names": names, "dest": kwargs.get("dest") or longest.lstrip("-").replace("-", "_"),
            "default": kwargs.get("default"), "positional": positional, "type": kwargs.get("type", "str"),
        }
        for key in ("nargs", "const", "choices", "known_values"):
            if kwargs.get(key) is not None:
                flag[key] = kwargs[key]
        match = re.fullmatch(r"(?:optional_type|parse_type)\((.*)\)", flag["type"])
        optional = bool(kwargs.get("optional"))
        if match:
            optional = flag["type"].startswith("optional_type")
            flag["type"] = match[1]
        if flag["type"].startswith("lambda"):
            flag["type"] = LOWER if "lower" in flag["type"] else flag["type"][:60]
            optional = False
        if flag["type"] in ("human_readable_int", "human_readable_int_or_auto"):
            flag["type"] = "human_int"
        flag["kind"] = kwargs.get("kind") or ("json" if flag["type"] in ("json", "json.loads", "json_or_str") else "value")
        action = kwargs.get("action")
        if action:
            last = action.split(".")[-1]
            flag["action"] = action
            flag["kind"] = {"store_true": "switch", "store_false": "switch", "BooleanOptionalAction": "bool_optional", "append": "append"}.get(last, "custom")
            if last == "store_true" and flag["default"] is None:
                flag["default"] = False
            if flag["kind"] in ("switch", "bool_optional"):
                flag["type"] = "bool"
        elif flag.get("nargs") in ("+", "*") or isinstance(flag.get("nargs"), int):
            flag["kind"] = "list"
        if flag["kind"] == "bool_optional":
            flag["negations"] = ["--no-" + name[2:] for name in names if name.startswith("--")]
            for prefix, inverse in TWINS if self.twins else ():
                flag["negations"] += [inverse + name[len(prefix):] for name in names if name.startswith(prefix)]
        if optional and flag["kind"] not in ("bool_optional", "switch"):
            flag["optional"] = True
        if kwargs.get("deprecated"):
            flag["deprecated"] = True
        record = kwargs.get("json_type")
        if record:
            flag["type"] = "json"
            if optional:
                flag["optional"] = True
            self.see(record)
            flag["json_type"] = record.name
            flag["json_fields"] = sorted(name for name, [(_, node)] in self.source.fields(record).items() if isinstance(node, ast.AnnAssign) and not name.startswith("_"))
        self.flags.append(flag)

    # Classes of JSON values.

    def see(self, cls):
        if cls not in self.seen and len(self.seen) < 200:
            self.seen.append(cls)
            for kwargs in self.of_class(cls).values():
                if kwargs.get("json_type"):
                    self.see(kwargs["json_type"])

    def described(self):
        return [cls for cls in self.seen if ".config." in cls.module.name + "."]

    def members(self, cls):
        found = {}
        for name, kwargs in self.of_class(cls).items():
            spec = {key: kwargs[key] for key in ("type", "nargs", "choices", "known_values") if kwargs.get(key) is not None}
            spec["kind"] = kwargs.get("kind", "value")
            if kwargs.get("json_type"):
                spec["json_type"] = kwargs["json_type"].name
            found[name] = spec
        return found


# Variables.


def variables(source):
    module = source.need("vllm.envs")
    known = module.names.get("environment_variables")
    if not isinstance(known, ast.Dict):
        raise SystemExit("`vllm.envs` has no `environment_variables`")
    types = {}
    for node in ast.walk(module.tree):
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            types.setdefault(node.target.id, ast.unparse(node.annotation))
    found = []
    for key, value in zip(known.keys, known.values):
        if not (isinstance(key, ast.Constant) and isinstance(key.value, str)):
            continue
        entry = {"name": key.value, "type": types.get(key.value), "choices": None, "reads": reads(value)}
        for part in ast.walk(value):
            # One that is deprecated is wrapped once more.
            if isinstance(part, ast.Call) and dotted(part.func) == "env_with_choices" and len(part.args) > 2:
                choices = told(source, module, part.args[2])
                entry["choices"] = choices if isinstance(choices, list) else None
        found.append(entry)
    return found


def reads(node):
    """Returns the names that an expression asks the environment for."""
    found = []
    for part in ast.walk(node):
        if isinstance(part, ast.Call) and (dotted(part.func) or "").split(".")[-1] in ("getenv", "get") and part.args:
            asked = part.args[0]
        elif isinstance(part, ast.Subscript) and (dotted(part.value) or "").endswith("environ"):
            asked = part.slice
        else:
            continue
        if isinstance(asked, ast.Constant) and isinstance(asked.value, str):
            found.append(asked.value)
    return found
