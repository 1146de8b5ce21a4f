#!/usr/bin/env python3
"""Makes curves.json from upstream's golden acceptance-length files (YAML with a header of comments).

    python3 compiler/engine/tables/curves.py GOLDEN_AL_DISTRIBUTION > compiler/engine/curves.json

The figures and the conditions they were measured under are upstream's; decimals are kept as written.
"""

import json
import pathlib
import re
import sys


def read(path):
    header, model, mode, lengths = [], None, None, {}
    for line in path.read_text().splitlines():
        if line.startswith("#"):
            header.append(line.lstrip("# ").rstrip())
        elif m := re.fullmatch(r"(\S+):", line):
            model = m[1]
        elif m := re.fullmatch(r"  thinking_(on|off):", line):
            mode = m[1]
        elif m := re.fullmatch(r"    (\d+): ([\d.]+)", line):
            lengths.setdefault(mode, {})[m[1]] = m[2]
        elif line.strip():
            sys.exit(f"{path}: cannot read `{line}`")
    text = "\n".join(header)
    find = lambda pattern: (m := re.search(pattern, text)) and m[1]
    curve = {
        "model": model,
        "checkpoints": [],
        "method": find(r"vLLM (\w+)").lower(),
        "lengths": lengths,
    }
    conditions = {
        "run": find(r"actions/runs/(\d+)"),
        "dataset": "SPEED-Bench " + find(r"dataset: (\w+)"),
        "outputTokens": find(r"output_len: (\d+)"),
        "hardware": find(r"\((\w+), vLLM"),
    }
    if draft := find(r"draft: ([\w./-]+)"):
        curve["draft"] = draft
    elif path.stem.endswith("_gqa"):
        curve["draft"] = "Inferact/MiniMax-M3-EAGLE3-GQA"
    elif "eagle3" in path.stem and "minimax" in path.stem:
        curve["draft"] = "Inferact/MiniMax-M3-EAGLE3"
    if curve["method"] == "dspark":
        curve["draftSampling"] = find(r"draft_sample_method=(\w+)") or "greedy"
    return {"curve": curve, "conditions": conditions}


folder = pathlib.Path(sys.argv[1])
print(json.dumps({path.name: read(path) for path in sorted(folder.glob("*.yaml"))}, indent=1, sort_keys=True))
