#!/usr/bin/env python3
"""Writes fields.txt anew: the fields of a recipe that each revision of srt-slurm knows.

    fields.py CHECKOUT > fields.txt

CHECKOUT is a clone of srt-slurm with all commits that revision.rs names. Its Python is read and not run.
"""

import ast
import re
import subprocess
import sys
from pathlib import Path

BACKENDS = {"SGLangProtocol": "sglang", "VLLMProtocol": "vllm", "TRTLLMProtocol": "trtllm"}
HEAD = """\
# Fields of a recipe, read from the dataclasses of each revision. A mask says which know it: bit 0 is
# the first of `Revision::all()`. Without one, all do.
"""


def git(checkout, *arguments):
    return subprocess.run(
        ["git", "-C", checkout, *arguments], check=True, capture_output=True, text=True
    ).stdout


def dataclasses(checkout, commit):
    """Returns the fields of every dataclass, each with its annotation."""
    classes = {}
    names = git(checkout, "ls-tree", "-r", "--name-only", commit, "src/srtctl").splitlines()
    for name in names:
        if not name.endswith(".py") or "/scripts/" in name:
            continue
        for node in ast.parse(git(checkout, "show", f"{commit}:{name}")).body:
            if not isinstance(node, ast.ClassDef):
                continue
            if not any("dataclass" in ast.unparse(decorator) for decorator in node.decorator_list):
                continue
            fields = {}
            for part in node.body:
                if not isinstance(part, ast.AnnAssign) or not isinstance(part.target, ast.Name):
                    continue
                annotation = ast.unparse(part.annotation)
                value = ast.unparse(part.value) if part.value else ""
                key = re.search(r"data_key'?\s*[=:]\s*'([\w-]+)'", value)
                field = key.group(1) if key else part.target.id
                if "ClassVar" not in annotation and not field.startswith("_"):
                    fields[field] = annotation
            classes.setdefault(node.name, fields)
    return classes


def paths(classes, name, start, found):
    for field, annotation in classes[name].items():
        path = start + field
        found.add(path)
        if path == "backend":
            for backend, engine in BACKENDS.items():
                paths(classes, backend, f"backend.{engine}.", found)
            continue
        for inner in re.findall(r"\w+", annotation):
            if inner in classes and inner != name and path.count(".") < 5:
                paths(classes, inner, f"{path}.", found)


def main():
    (checkout,) = sys.argv[1:]
    source = Path(__file__).with_name("revision.rs").read_text()
    commits = re.findall(r'commit: "([0-9a-f]{40})"', source)
    masks = {}
    for bit, commit in enumerate(commits):
        found = set()
        paths(dataclasses(checkout, commit), "SrtConfig", "", found)
        for path in found:
            masks[path] = masks.get(path, 0) | 1 << bit
    every = (1 << len(commits)) - 1
    print(HEAD, end="")
    for path, mask in sorted(masks.items()):
        print(path if mask == every else f"{path} {mask:04x}")


main()
