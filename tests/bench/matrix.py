#!/usr/bin/env python3
"""Measures `recipec matrix` beside the generator of InferenceX, and `recipec check`, in one run.

    cargo build --release
    tests/bench/matrix.py CHECKOUT-OF-INFERENCEX [RECIPEC]

Both tools answer the same question: the jobs of every recipe of `manifests/`. The generator takes
all keys in one call, which is its best case. Each command runs nine times, interleaved so that a
busy machine slows both; the medians count. Times are of whole processes, as a person waits for
them. The answers are compared before anything is timed.
"""

import json
import pathlib
import platform
import statistics
import subprocess
import sys
import time

ROUNDS = 9
ROOT = pathlib.Path(__file__).resolve().parents[2]


def output(command, where):
    ran = subprocess.run(command, cwd=where, capture_output=True, text=True)
    if ran.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))} ended with {ran.returncode}\n{ran.stderr}")
    return ran.stdout


def seconds(command, where):
    start = time.perf_counter()
    ran = subprocess.run(command, cwd=where, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    took = time.perf_counter() - start
    if ran.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))} ended with {ran.returncode}")
    return took


def sorted_jobs(jobs):
    return [json.dumps(job, sort_keys=True) for job in jobs]


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    checkout = pathlib.Path(sys.argv[1]).resolve()
    recipec = pathlib.Path(sys.argv[2] if len(sys.argv) > 2 else ROOT / "target/release/recipec").resolve()
    masters = ["configs/nvidia-master.yaml", "configs/amd-master.yaml"]
    entries = "".join("\n" + (checkout / master).read_text() for master in masters)
    ours = json.loads(output([recipec, "matrix", "--format", "json"], ROOT))
    # Recipes that are newer than the checkout are ours alone.
    newer = [key for key in ours if f"\n{key}:" not in entries]
    ours = {key: jobs for key, jobs in ours.items() if key not in newer}
    generator = [sys.executable, "utils/matrix_logic/generate_sweep_configs.py", "test-config"]
    theirs = [*generator, "--config-files", *masters, "--config-keys", *ours]
    jobs = [job for key in ours for job in ours[key]]
    same = sorted(sorted_jobs(jobs)) == sorted(sorted_jobs(json.loads(output(theirs, checkout))))

    commands = {
        "generator": (theirs, checkout),
        "matrix": ([recipec, "matrix", "--format", "json"], ROOT),
        "check": ([recipec, "check"], ROOT),
        "version": ([recipec, "--version"], ROOT),
    }
    times = {name: [] for name in commands}
    for _ in range(ROUNDS):
        for name, command in commands.items():
            times[name].append(seconds(*command))
    median = {name: statistics.median(values) for name, values in times.items()}

    revision = subprocess.run(["git", "rev-parse", "--short=12", "HEAD"], cwd=checkout, capture_output=True, text=True)
    print(f"{len(ours)} recipes, {len(jobs)} jobs, {ROUNDS} rounds; the answers are {'equal' if same else 'NOT EQUAL'}")
    print(f"peer: generate_sweep_configs.py at {revision.stdout.strip() or 'unknown'} on Python {platform.python_version()}")
    print(f"generator        {median['generator'] * 1e3:9.1f} ms")
    print(f"recipec matrix   {median['matrix'] * 1e3:9.1f} ms   {median['generator'] / median['matrix']:.0f}x faster")
    print(f"recipec check    {median['check'] * 1e3:9.1f} ms")
    print(f"start-up alone   {median['version'] * 1e3:9.1f} ms")
    sys.exit(0 if same else 1)


main()
