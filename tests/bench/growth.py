#!/usr/bin/env python3
"""Measures what `recipec` costs a point as the corpus grows, and how many scripts it writes a second.

    cargo build --release
    tests/bench/growth.py [RECIPEC] [TIMES…]

The corpus is `manifests/`, and as many copies of each manifest as are asked for (10 and 100 by
default), under keys of their own; what they import is shared, as it is among real manifests. Each
command runs as a whole process, three times (once where the corpus is large), and the fastest counts:
what is asked is how the cost grows. `build` needs pins, which nobody can resolve offline, so each want that has none
borrows one from the tour's lock: the scripts are those of the corpus but for digests.
"""

import hashlib
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
ROUNDS = 3
SHARED = ("lib", "targets", "policy")


def run(command, where, codes=(0,)):
    ran = subprocess.run(command, cwd=where, capture_output=True, text=True)
    if ran.returncode not in codes:
        sys.exit(f"{' '.join(map(str, command))} ended with {ran.returncode}\n{ran.stderr[-2000:]}")
    return ran.stdout


def measured(command, where, rounds=ROUNDS):
    """Returns seconds and the most memory, in MB, of one process."""
    best, peak = None, 0
    for _ in range(rounds):
        start = time.perf_counter()
        child = subprocess.Popen(command, cwd=where, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        _, status, usage = os.wait4(child.pid, 0)
        took = time.perf_counter() - start
        if os.waitstatus_to_exitcode(status) != 0:
            sys.exit(f"{' '.join(map(str, command))} ended with {os.waitstatus_to_exitcode(status)}")
        best, peak = min(best or took, took), max(peak, usage.ru_maxrss / 1024)
    return best, peak


def grow(folder, times, keys):
    """Writes a corpus that is `times` as large as ours."""
    shutil.copytree(ROOT / "manifests", folder / "manifests")
    named = re.compile("|".join(f'"{re.escape(key)}"' for key in sorted(keys, key=len, reverse=True)))
    for copy in range(1, times):
        for path in sorted((ROOT / "manifests").rglob("*")):
            inside = path.relative_to(ROOT / "manifests")
            if path.is_dir() or inside.parts[0] in SHARED:
                continue
            to = folder / "manifests" / f"copy{copy}" / inside
            to.parent.mkdir(parents=True, exist_ok=True)
            text = path.read_text()
            if path.suffix == ".nix":
                text = named.sub(lambda found: f"{found[0][:-1]}-copy{copy}\"", text)
                text = text.replace("../lib/", "../../lib/")
            to.write_text(text)


def borrow(root, recipec):
    """Locks a corpus, and gives each want that has no pin one of the tour's."""
    tour = root / "tour"
    shutil.copytree(ROOT / "fixtures/tour", tour)
    shutil.copytree(ROOT / "fixtures/mirror", tour / "mirror")
    run([recipec, "lock", "--mirror", "mirror"], tour)
    lent = {}
    for path in (tour / "lockfiles").rglob("*.lock.json"):
        for entry in json.loads(path.read_text())["pins"].values():
            lent[entry["want"]["kind"]] = entry["pin"]
    lent["dataset"] = {"dataset": lent["checkpoint"]["checkpoint"]}
    run([recipec, "lock", "--offline", "--allow-unpinned"], root, codes=(0, 3))
    shutil.copytree(tour / "lockfiles/files", root / "lockfiles/files", dirs_exist_ok=True)
    shutil.rmtree(tour)
    for path in (root / "lockfiles").rglob("*.lock.json"):
        lock = json.loads(path.read_text())
        for entry in lock["pins"].values():
            if entry["state"] != "pinned":
                kind = entry["want"]["kind"]
                entry.pop("reason", None)
                entry.update(state="pinned", pin=lent[kind])
        lock.pop("seal")
        canonical = json.dumps(lock, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
        lock["seal"] = "sha256:" + hashlib.sha256(canonical.encode()).hexdigest()
        path.write_text(json.dumps(lock, indent=2, sort_keys=True, ensure_ascii=False) + "\n")


def main():
    numbers = [int(word) for word in sys.argv[1:] if word.isdigit()]
    names = [word for word in sys.argv[1:] if not word.isdigit()]
    recipec = pathlib.Path(names[0] if names else ROOT / "target/release/recipec").resolve()
    print(run([recipec, "--version"], ROOT).strip())
    ours = json.loads(run([recipec, "matrix", "--format", "json"], ROOT))
    first = {}
    for times in [1, *(numbers or [10, 100])]:
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            grow(root, times, ours)
            points = sum(map(len, json.loads(run([recipec, "matrix", "--format", "json"], root)).values()))
            print(f"\n{times} x: {times * len(ours)} recipes, {points} points")
            for name, command in {"matrix": ["matrix", "--format", "json"], "check": ["check"]}.items():
                took, peak = measured([recipec, *command], root, ROUNDS if times <= 10 else 1)
                each = took / points * 1e6
                growth = each / first.setdefault(name, each)
                print(f"{name:8} {took * 1e3:10.1f} ms {each:9.1f} us a point, {growth:.2f} of 1 x, {peak:7.0f} MB")
            if times == 1:
                borrow(root, recipec)
                # A recipe that is refused for a reason of its own says so, and the others are built.
                build = [recipec, "build", "--out", "out", "--format", "json"]
                fine = [key for key in ours if subprocess.run([*build, key], cwd=root, capture_output=True).returncode == 0]
                scripts = len(json.loads(run([*build, *fine], root))["scripts"])
                took, peak = measured([*build, *fine], root)
                print(f"build    {took * 1e3:10.1f} ms {len(fine)} recipes, {scripts} scripts, {scripts / took:.0f} a second, {peak:.0f} MB")


main()
