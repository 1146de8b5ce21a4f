#!/usr/bin/env python3
"""Describes the command line of a released engine, from its source, which is read and never run.

    python3 compiler/engine/tables/describe.py ENGINE VERSION SOURCE OUT

ENGINE is `sglang` or `vllm`; SOURCE is a wheel, a source archive or a folder that has the package.
OUT is the folder of descriptions from which `make.py` makes the tables:

    pip download --no-deps --only-binary :all: vllm==0.27.1
    python3 compiler/engine/tables/describe.py vllm 0.27.1 vllm-0.27.1-*.whl descriptions
    python3 compiler/engine/tables/make.py descriptions

A description that only a run could complete has an expression in that place, and the table leaves it out.
Instead of OUT, `--beside FILE` says how the result differs from a description that is there.
"""

import json
import pathlib
import sys

sys.dont_write_bytecode = True

import make
import sglang
import vllm
from source import Source

ENGINES = {"sglang": sglang, "vllm": vllm}


def describe(engine, version, path):
    try:
        found = ENGINES[engine].describe(Source(path, engine))
    except RecursionError:
        raise SystemExit("the package has an expression that is nested too deep") from None
    return {"engine": engine, "version": version, **found}


def lines(description):
    """Returns the lines of the table that a description makes, by kind."""
    return {
        "flag": {make.flag_line(flag) for flag in description["flags"]},
        "field": set(make.config_lines(description)),
        "env": set(make.env_lines(description)),
    }


def beside(ours, theirs):
    """Says how many lines of a table two descriptions share, and which each has alone."""
    alike = True
    # Which classes of JSON values are described is a choice.
    classes = set(ours.get("config_classes") or {}) & set(theirs.get("config_classes") or {})
    ours, theirs = lines(ours), lines(theirs)
    for kind, mine in ours.items():
        others = theirs[kind]
        if kind == "field":
            mine, others = ({line for line in all_ if line.split("\t")[0] in classes} for all_ in (mine, others))
        print(f"{kind}: {len(mine & others)} lines in both, {len(mine - others)} only here, {len(others - mine)} only there")
        for mark, alone in (("+", mine - others), ("-", others - mine)):
            for line in sorted(alone):
                print(f"  {mark} {line[:300]}")
        alike = alike and mine == others
    return alike


def main():
    if len(sys.argv) not in (5, 6) or sys.argv[1] not in ENGINES:
        raise SystemExit(__doc__)
    engine, version, path = sys.argv[1:4]
    description = describe(engine, version, path)
    if sys.argv[4] == "--beside":
        raise SystemExit(0 if beside(description, json.loads(pathlib.Path(sys.argv[5]).read_text())) else 1)
    out = pathlib.Path(sys.argv[4])
    out.mkdir(parents=True, exist_ok=True)
    text = json.dumps(description, indent=1, sort_keys=True, default=str)
    (out / f"{engine}-{version}.json").write_text(text + "\n")
    print(engine, version, len(description["flags"]), "flags,", len(description["env"]), "variables")


if __name__ == "__main__":
    main()
