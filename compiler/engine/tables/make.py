#!/usr/bin/env python3
"""Makes the flag tables of this folder from per-version descriptions in JSON.

    python3 compiler/engine/tables/make.py DESCRIPTIONS [OUT]

DESCRIPTIONS holds one file per engine version (`sglang-0.5.16.json`), read statically from the
released packages by describe.py. The result is one text file per engine: what every version says alike
stands once, with the versions that say it. table.rs describes the form.
"""

import json
import pathlib
import re
import sys
from collections import defaultdict

NAMES = {"sglang": "sglang", "vllm": "vllm", "atom": "atom", "tensorrt-llm": "trtllm"}


def version_key(version):
    """Sorts releases as pip does, near enough: numbers, then `.postN`; a name stands last."""
    numbers = [int(n) for n in re.findall(r"\d+", version.split("-")[0])]
    return (not numbers, numbers, "post" in version, version)


def clean(text):
    return str(text).replace("\t", " ").replace("\n", " ").replace("|", "/")


def words(values):
    return "|".join("None" if v is None else clean(v) for v in values)


def scalar(value):
    if value is None or isinstance(value, dict):
        return None
    return clean(json.dumps(value, separators=(",", ":")))


TYPES = {
    "bool": "bool", "flag": "bool", "str": "text", "nullable_str": "text", "optional_type(str)": "text",
    "Path": "text", "int": "integer", "float": "number", "human_int": "human-integer", "human_readable_int": "human-integer",
    "json": "json", "json.loads": "json", "json_or_str": "json-or-text", "json_list_type": "json-list",
    "lambda s: s.lower().replace('-', '_')": "lower",
    "parse_cuda_graph_config_arg": "opaque", "parse_cuda_graph_backend_arg": "text", "parse_reasoning_parser": "text",
}


def flag_line(flag):
    kind, action = flag["kind"], flag.get("action")
    type_name = flag.get("type")
    choices = flag.get("choices")
    if isinstance(type_name, str) and type_name.startswith("Choice["):
        inner = type_name[7:-1]
        choices = None if "…" in inner else inner.split(",")
        type_name = "str"
    type_name = TYPES.get(type_name, "text" if type_name is None else "opaque")
    nargs = flag.get("nargs") or (flag.get("action_kwargs") or {}).get("nargs")
    if kind == "custom" and nargs in ("+", "*"):
        kind = "list"
    elif kind == "custom" or (kind == "json" and nargs not in ("+", "*")):
        kind = "value"
    elif nargs == "?":
        kind = "optional"
    if kind == "list" and nargs == "*":
        kind = "any"
    if flag.get("multiple"):
        kind = "append"
    if kind == "bool_optional":
        kind, type_name = "toggle", "bool"
    if flag.get("positional"):
        kind = "positional"
    fields = [",".join(flag["names"]), flag["dest"], kind, type_name]
    extra = []
    negations = flag.get("negations")
    if kind == "toggle" and not negations:
        # argparse makes them itself.
        negations = ["--no-" + name[2:] for name in flag["names"] if name.startswith("--")]
    if negations:
        extra.append("no=" + words(negations))
    if choices:
        extra.append("choices=" + words(choices))
    if flag.get("known_values"):
        extra.append("known=" + words(flag["known_values"]))
    if flag.get("json_type"):
        extra.append("class=" + clean(flag["json_type"]))
    if flag.get("json_fields"):
        extra.append("fields=" + words(flag["json_fields"]))
    default = scalar(flag.get("default"))
    if default is not None:
        extra.append("default=" + default)
    # vLLM wraps the type so that an empty value and `None` are none; SGLang's types stay as they are.
    if flag.get("optional") and "positional" in flag and flag.get("type") != "json.loads":
        extra.append("optional")
    if flag.get("required"):
        extra.append("required")
    if flag.get("resolvable"):
        extra.append("resolved")
    if flag.get("deprecated") or flag.get("status") == "deprecated":
        extra.append("deprecated")
    if action == "DeprecatedAction":
        extra.append("ignored")
    if flag.get("new_flag"):
        extra.append("use=" + clean(flag["new_flag"]))
    return "\t".join(fields + extra)


def config_lines(description):
    for name, fields in sorted((description.get("config_classes") or {}).items()):
        for field, spec in sorted(fields.items()):
            extra = []
            if spec.get("choices"):
                extra.append("choices=" + words(spec["choices"]))
            if spec.get("known_values"):
                extra.append("known=" + words(spec["known_values"]))
            if spec.get("json_type"):
                extra.append("class=" + clean(spec["json_type"]))
            type_name = "bool" if spec["kind"] == "bool_optional" else TYPES.get(spec["type"], "opaque")
            yield "\t".join([name, field, "list" if spec.get("nargs") else "value", type_name] + extra)


# What SGLang's own readers of variables and vLLM's type hints say of a value. A hint of `bool` says
# nothing: some of vLLM's are read as numbers and some as words.
ENV_TYPES = {
    "sglang": {"EnvBool": "bool", "EnvInt": "integer", "EnvFloat": "number"},
    "vllm": {"int": "integer", "float": "number"},
}


def env_lines(description):
    """Yields each variable that is read, with what its value must be where that is known."""
    lines = {}
    for entry in description.get("env") or []:
        if isinstance(entry, str):
            lines.setdefault(entry, entry)
            continue
        extra = []
        type_name = ENV_TYPES.get(description["engine"], {}).get(entry.get("type"))
        if type_name:
            extra.append("type=" + type_name)
        if entry.get("choices"):
            extra.append("choices=" + words(entry["choices"]))
        lines[entry["name"]] = "\t".join([entry["name"]] + extra)
        for name in entry.get("reads") or []:
            lines.setdefault(name, name)
    for name in env_names(description):
        lines.setdefault(name, name)
    yield from lines.values()


def env_names(description):
    yield from description.get("env_raw") or []
    for new, old in (description.get("env_deprecated_aliases") or {}).items():
        yield new
        yield from [old] if isinstance(old, str) else old


def ranges(versions, order):
    """Writes a set of versions as ranges: `0.5.12..0.5.16`, `..`, `0.5.23..`."""
    at = sorted(order.index(v) for v in versions)
    if len(at) == len(order):
        return ".."
    runs = []
    for i in at:
        if runs and runs[-1][1] == i - 1:
            runs[-1][1] = i
        else:
            runs.append([i, i])
    out = []
    for a, b in runs:
        left = "" if a == 0 else order[a]
        right = "" if b == len(order) - 1 else order[b]
        out.append(order[a] if a == b and (left and right) else f"{left}..{right}")
    return ",".join(out)


def main():
    source, out = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2] if len(sys.argv) > 2 else pathlib.Path(__file__).parent)
    engines = defaultdict(dict)
    for path in sorted(source.glob("*.json")):
        description = json.loads(path.read_text())
        if "flags" in description:
            engines[NAMES[description["engine"]]][description["version"].replace(" ", "-")] = description
    for engine, versions in sorted(engines.items()):
        order = sorted(versions, key=version_key)
        flags, fields, env, old = (defaultdict(list) for _ in range(4))
        for version in order:
            description = versions[version]
            for flag in description["flags"]:
                flags[flag_line(flag)].append(version)
            for line in config_lines(description):
                fields[line].append(version)
            for line in env_lines(description):
                env[line].append(version)
            # The descriptions write these pairs in either direction; the registered name is the new one.
            registered = {entry["name"] for entry in description.get("env") or [] if isinstance(entry, dict)}
            for new, was in (description.get("env_deprecated_aliases") or {}).items():
                if new not in registered:
                    new, was = was, new
                old[f"{was}\t{new}"].append(version)
        parsers = defaultdict(list)
        for version in order:
            parser = versions[version]["parser"]
            words_ = [name for name, on in [
                ("abbreviations", parser.get("allow_abbrev")),
                ("underscores", parser.get("underscore_eq_dash")),
                ("dotted", parser.get("dotted_json")),
                ("exact", parser.get("lib") == "click"),
            ] if on]
            parsers[" ".join(words_)].append(version)
        lines = [f"engine\t{engine}", "versions\t" + " ".join(order)]
        lines += [f"parser\t{ranges(v, order)}\t{text}" for text, v in sorted(parsers.items())]
        lines += [f"flag\t{ranges(v, order)}\t{text}" for text, v in sorted(flags.items())]
        lines += [f"field\t{ranges(v, order)}\t{text}" for text, v in sorted(fields.items())]
        lines += [f"env\t{ranges(v, order)}\t{name}" for name, v in sorted(env.items())]
        lines += [f"renamed\t{ranges(v, order)}\t{pair}" for pair, v in sorted(old.items())]
        (out / f"{engine}.table").write_text("\n".join(lines) + "\n")
        print(engine, len(order), "versions,", len(flags), "flag lines,", len(env), "variables")


if __name__ == "__main__":
    main()
