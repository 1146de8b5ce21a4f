"""What SGLang's command line is, from its source: fields of `ServerArgs` and what `add_cli_args` adds."""

import ast
import re

from source import Class, Unknown, dotted, expression

PARSER = {
    "allow_abbrev": True, "dotted_json": False, "eq_form": True, "repeat": "last wins", "underscore_eq_dash": False,
}
MODULE = "sglang.srt.server_args"


def describe(source):
    module = source.need(MODULE)
    if not isinstance(module.names.get("ServerArgs"), ast.ClassDef):
        raise SystemExit(f"`{MODULE}` has no class `ServerArgs`")
    own = Class(module, module.names["ServerArgs"])
    fields = {}
    # Newer releases put the fields together from classes of their own, a namespace each.
    for name in sorted(source.texts):
        if name.startswith("sglang.srt.arg_groups.fields."):
            part = source.module(name)
            for node in part.tree.body if part else []:
                if isinstance(node, ast.ClassDef):
                    fields.update({key: found[0] for key, found in source.fields(Class(part, node)).items()})
    fields.update({key: found[0] for key, found in source.fields(own).items()})
    added = added_by_hand(source, own, fields)
    taken = {name for flag in added for name in flag["names"]}
    derived = [flag for flag in map(lambda item: of_field(source, *item), fields.items()) if flag]
    flags = [flag for flag in derived if not taken.intersection(flag["names"])] + added
    return {"flags": flags, "parser": PARSER, "program": ["python3 -m sglang.launch_server", "sglang serve"], **variables(source)}


# Fields.


def told(source, module, node):
    """Returns a value, or the expression where only a run could tell."""
    try:
        return source.value(module, node)
    except Unknown:
        return expression(node)


def optional_of(node):
    """Returns what `Optional[X]` and `X | None` may be beside nothing, and whether they are that."""
    if isinstance(node, ast.Subscript) and dotted(node.value) in ("Optional", "typing.Optional"):
        return node.slice, True
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):
        parts = alternatives(node)
    elif isinstance(node, ast.Subscript) and dotted(node.value) in ("Union", "typing.Union"):
        parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    else:
        return node, False
    rest = [part for part in parts if not (isinstance(part, ast.Constant) and part.value is None)]
    return (rest[0], True) if len(rest) == 1 and len(rest) < len(parts) else (node, False)


def alternatives(node):
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):
        return alternatives(node.left) + alternatives(node.right)
    return [node]


def is_deprecated(note):
    """Whether a help text begins by saying so."""
    while isinstance(note, ast.BinOp):
        note = note.left
    if isinstance(note, ast.JoinedStr) and note.values:
        note = note.values[0]
    text = note.value if isinstance(note, ast.Constant) else ""
    return bool(re.match(r"\s*[\[(]?deprecated", str(text), re.I))


def of_field(source, name, found):
    module, node = found
    annotation = getattr(node, "annotation", None)
    if not (isinstance(annotation, ast.Subscript) and dotted(annotation.value) in ("A", "Annotated", "typing.Annotated")):
        return None
    inner, *extra = annotation.slice.elts
    arg = note = None
    for part in extra:
        if isinstance(part, ast.Call) and (dotted(part.func) or "").split(".")[-1] == "Arg":
            arg = {keyword.arg: keyword.value for keyword in part.keywords}
            break
        if isinstance(part, (ast.Constant, ast.JoinedStr, ast.BinOp)):
            arg, note = {}, part
            break
    if arg is None or ("no_cli" in arg and told(source, module, arg["no_cli"]) is True):
        return None
    get = lambda key: told(source, module, arg[key]) if key in arg else None
    flag_name = get("cli_name") or "--" + name.replace("_", "-")
    flag = {"names": [flag_name] + (get("aliases") or []), "dest": name}
    flag["default"] = None
    if node.value is not None:
        # What a factory makes is no plain value.
        made = isinstance(node.value, ast.Call) and (dotted(node.value.func) or "").split(".")[-1] == "field"
        flag["default"] = expression(node.value) if made else told(source, module, node.value)
    inner, optional = optional_of(inner)
    flag["optional"] = optional
    if get("resolvable") is True:
        flag["resolvable"] = True
    if is_deprecated(arg.get("help", note)):
        flag["deprecated"] = True
    if "action" in arg:
        kwargs = get("action_kwargs") if isinstance(get("action_kwargs"), dict) and "$expr" not in get("action_kwargs") else {}
        toggle = (dotted(arg["action"]) or "").endswith("BooleanOptionalAction")
        flag.update(action=ast.unparse(arg["action"]), kind="bool_optional" if toggle else "custom", action_kwargs=kwargs)
        if toggle:
            flag["negations"] = ["--no-" + spelling[2:] for spelling in flag["names"] if spelling.startswith("--")]
        if kwargs.get("nargs"):
            flag["nargs"] = kwargs["nargs"]
        return flag
    literal = None
    if isinstance(inner, ast.Subscript) and dotted(inner.value) in ("Literal", "typing.Literal"):
        literal = told(source, module, inner)
    is_list = isinstance(inner, ast.Subscript) and dotted(inner.value) in ("List", "list", "typing.List")
    parser = dotted(arg["type_parser"]) if "type_parser" in arg else None
    if literal is None and not is_list and dotted(inner) == "bool":
        flag.update(kind="switch", type="bool", action="store_true")
        if node.value is None:
            flag["default"] = False
        return flag
    base = inner.slice if is_list and not parser else inner
    flag["type"] = parser or (dotted(base) if dotted(base) in ("str", "int", "float") else "str")
    if literal:
        known = type(literal[0]).__name__
        flag["type"] = parser or (known if known in ("str", "int", "float") else "str")
    choices = get("choices") or literal
    if choices is not None:
        flag["choices"] = choices
    flag["kind"] = "list" if is_list and not parser else "value"
    nargs = get("nargs") or ("+" if flag["kind"] == "list" else None)
    if nargs and (literal is None):
        flag["nargs"] = nargs
        if nargs in ("+", "*"):
            flag["kind"] = "list"
    if node.value is None and get("required") is not False or get("required") is True:
        flag["required"] = True
    return flag


# What the function adds by itself.


def added_by_hand(source, own, fields):
    functions = [node for node in own.node.body if isinstance(node, ast.FunctionDef) and node.name == "add_cli_args"]
    if not functions:
        raise SystemExit("`ServerArgs` has no `add_cli_args`")
    module = own.module.within(functions[0])
    flags = []
    for node in ast.walk(functions[0]):
        if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "add_argument"):
            continue
        names = [told(source, module, arg) for arg in node.args]
        kwargs = {keyword.arg: keyword.value for keyword in node.keywords}
        flags.append(argument(source, module, names, kwargs, fields))
    # `ast.walk` goes by depth; the order of the text is the order of registration.
    return flags


def argument(source, module, names, kwargs, fields):
    get = lambda key: told(source, module, kwargs[key]) if key in kwargs else None
    longest = next((name for name in names if name.startswith("--")), names[0])
    flag = {"names": names, "dest": get("dest") or longest.lstrip("-").replace("-", "_")}
    flag["default"] = default_of(source, module, kwargs.get("default"), fields)
    action = ast.unparse(kwargs["action"]).strip("'") if "action" in kwargs else None
    kind = "value"
    if action:
        flag["action"] = action
        last = action.split(".")[-1]
        if last in ("store_true", "store_false", "DeprecatedAction", "DeprecatedStoreTrueAction", "DeprecatedStoreConstAction"):
            kind = "switch"
            flag["type"] = "bool"
            if "default" not in kwargs and last in ("store_true", "DeprecatedStoreTrueAction"):
                flag["default"] = False
        elif last == "BooleanOptionalAction":
            kind = "bool_optional"
            flag["negations"] = ["--no-" + name[2:] for name in names if name.startswith("--")]
        elif last == "append":
            kind = "append"
        elif not last.startswith("Deprecated"):
            kind = "custom"
            flag["action_kwargs"] = {"nargs": get("nargs")}
        if last.startswith("Deprecated"):
            flag["deprecated"] = True
    if is_deprecated(kwargs.get("help")):
        flag["deprecated"] = True
    if get("new_flag"):
        flag["new_flag"] = get("new_flag")
    if kind not in ("switch", "bool_optional"):
        flag["type"] = ast.unparse(kwargs["type"]) if "type" in kwargs else "str"
    if "choices" in kwargs:
        choices = get("choices")
        if isinstance(choices, list):
            flag["choices"] = choices
    nargs = get("nargs")
    if nargs:
        flag["nargs"] = nargs
        if nargs in ("+", "*") and kind == "value":
            kind = "list"
    if get("required") is True:
        flag["required"] = True
    flag["kind"] = kind
    return flag


def default_of(source, module, node, fields):
    if node is None:
        return None
    name = None
    if isinstance(node, ast.Attribute) and dotted(node.value) == "ServerArgs":
        name = node.attr
    elif isinstance(node, ast.Call) and len(node.args) == 1 and isinstance(node.args[0], ast.Constant):
        name = node.args[0].value
    if name in fields:
        owner, field = fields[name]
        return told(source, owner, field.value) if field.value is not None else None
    return told(source, module, node)


# Variables.

# A variable that is set by assignment is the engine's too; a default for others is not.
READS = re.compile(r"""(?:getenv|environ\.get|\w*env_var)\s*\(\s*["']([A-Z][A-Z0-9_]+)["']|environ\s*\[\s*["']([A-Z][A-Z0-9_]+)["']\s*\]|["']([A-Z][A-Z0-9_]+)["']\s+(?:not\s+)?in\s+os\.environ""")


def variables(source):
    module = source.module("sglang.srt.environ")
    registered, renamed = [], {}
    for node in module.tree.body if module else []:
        if isinstance(node, ast.ClassDef) and node.name == "Envs":
            registered = registered_in(source, module, node, renamed)
    for node in ast.walk(module.tree) if module else []:
        if isinstance(node, ast.Call) and dotted(node.func) == "_print_deprecated_env" and len(node.args) == 2:
            old, new = (told(source, module, arg) for arg in node.args)
            if isinstance(old, str) and isinstance(new, str):
                renamed[new] = old
    raw = {name for text in source.texts.values() for names in READS.findall(text) for name in names if name}
    return {"env": registered, "env_raw": sorted(raw), "env_deprecated_aliases": renamed}


def registered_in(source, module, cls, renamed):
    found = []
    for node in cls.body:
        if not (isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name) and isinstance(node.value, ast.Call)):
            continue
        kind = dotted(node.value.func) or ""
        if not kind.startswith("Env"):
            continue
        name = node.targets[0].id
        default = told(source, module, node.value.args[0]) if node.value.args else None
        found.append({"name": name, "type": kind, "default": default, "line": node.lineno})
        for keyword in node.value.keywords:
            if keyword.arg == "deprecated_name":
                old = told(source, module, keyword.value)
                found[-1]["reads"] = [old]
                renamed[name] = old
    return found
