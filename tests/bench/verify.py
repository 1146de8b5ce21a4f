#!/usr/bin/env python3
"""Measures `recipec verify` of all recipes against the cookbooks that their locks pin, on one core.

    cargo build --release
    target/release/recipec lock --mirror MIRROR --allow-unpinned
    tests/bench/verify.py MIRROR [RECIPEC]

The whole corpus runs nine times as one process, and the median counts; `--offline`, which plans and
judges all but the cookbooks, and the start of the process alone say what is in it. Then each recipe
runs alone three times: that is what a contributor waits for. Times are of whole processes.
"""

import json
import os
import pathlib
import statistics
import subprocess
import sys
import time

ROUNDS = 9
ROOT = pathlib.Path(__file__).resolve().parents[2]


def seconds(command):
    start = time.perf_counter()
    ran = subprocess.run(command, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    took = time.perf_counter() - start
    # 4 and 5 are verdicts, 3 is a lock that lacks a pin.
    if ran.returncode not in (0, 3, 4, 5):
        sys.exit(f"{' '.join(map(str, command))} ended with {ran.returncode}")
    return took


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    mirror = pathlib.Path(sys.argv[1]).resolve()
    recipec = pathlib.Path(sys.argv[2] if len(sys.argv) > 2 else ROOT / "target/release/recipec").resolve()
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    whole = [recipec, "verify", "--mirror", mirror]
    document = subprocess.run([*whole, "--format", "json"], cwd=ROOT, capture_output=True, text=True)
    verdicts = json.loads(document.stdout)["verdicts"]
    recipes = sorted({verdict["recipe"] for verdict in verdicts})
    beside = {verdict["recipe"] for verdict in verdicts if verdict["slug"] == "cookbook-match" and verdict["cell"]}

    commands = {"whole": whole, "offline": [recipec, "verify", "--offline"], "start": [recipec, "--version"]}
    times = {name: [] for name in commands}
    for _ in range(ROUNDS):
        for name, command in commands.items():
            times[name].append(seconds(command))
    median = {name: statistics.median(values) * 1e3 for name, values in times.items()}
    alone = {
        key: statistics.median(seconds([recipec, "verify", key, "--mirror", mirror]) for _ in range(3)) * 1e3
        for key in recipes
    }
    print(f"{len(recipes)} recipes, {len(beside)} of them beside a cell, {len(verdicts)} verdicts, {ROUNDS} rounds, one core")
    print(f"all recipes        {median['whole']:8.1f} ms   {median['whole'] / len(recipes):.2f} ms a recipe")
    print(f"without cookbooks  {median['offline']:8.1f} ms")
    print(f"start-up alone     {median['start']:8.1f} ms")
    print(f"one recipe alone   {statistics.median(alone.values()):8.1f} ms   at most {max(alone.values()):.1f}")
    for key, took in sorted(alone.items(), key=lambda entry: -entry[1]):
        print(f"  {took:8.1f} ms  {key}")


main()
