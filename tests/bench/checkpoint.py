#!/usr/bin/env python3
"""Measures `recipec audit checkpoint` beside what else reads and hashes a checkpoint, in one run.

    cargo build --release
    tests/bench/checkpoint.py [--recipec FILE] [--hf FILE] [--gib 4] [--rounds 5]

A sharded checkpoint of random bytes is made in a temporary folder, locked from a mirror that names it, and
read once, so that all that follows is from the page cache. Then every command looks at the same files, in
turns, so that a busy machine slows all alike; medians count, and ratios are of the same round. Processor
seconds are nearly the same on a machine where others work; the clock is not. `hf cache verify` is the hub's own
client, which asks a hub on loopback; `sha256` is Python's hashlib on a buffer that stays in the cache,
on one core: no reader can be faster than that on one file.

The gate before serving (`--fast`) is measured on a checkpoint of 419 files.
"""

import argparse
import hashlib
import http.server
import json
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
MODEL = "tiny-org/tiny-moe-NVFP4"
COMMIT = "2084572b0f1fcd38a8ff90e8b5db2c2737eaf74a"
LOCK = "lockfiles/tiny/tiny-fp4-b200-vllm.lock.json"
MIB = 1 << 20

# A child that shares this process's memory until it is replaced would be said to have had all of it.
subprocess._USE_VFORK = False


def run(command, where, env=None):
    """Returns seconds by the clock, processor seconds and peak KiB of a command that must succeed."""
    start = time.perf_counter()
    child = subprocess.Popen(command, cwd=where, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    output = child.stdout.read()
    _, status, usage = os.wait4(child.pid, 0)
    took = time.perf_counter() - start
    if status != 0:
        sys.exit(f"{' '.join(map(str, command))} ended with {status}\n{output.decode(errors='replace')}")
    return took, usage.ru_utime + usage.ru_stime, usage.ru_maxrss


def hot(gigabytes):
    buffer, digest = bytes(MIB), hashlib.sha256()
    start, before = time.perf_counter(), time.process_time()
    for _ in range(int(gigabytes * 1e9 / MIB)):
        digest.update(buffer)
    return time.perf_counter() - start, time.process_time() - before, 0


def digests(path):
    sha256, blob = hashlib.sha256(), hashlib.sha1(b"blob %d\0" % path.stat().st_size)
    with open(path, "rb") as file:
        while piece := file.read(16 * MIB):
            sha256.update(piece)
            blob.update(piece)
    return sha256.hexdigest(), blob.hexdigest()


def lock(root, recipec, files):
    """Makes the files those of the mirror's checkpoint, and locks it; returns what the hub lists."""
    repository = root / "mirror/hub/models--tiny-org--tiny-moe-NVFP4"
    snapshot = repository / "snapshots" / COMMIT
    for path in snapshot.glob("model*"):
        path.unlink()
    for name, size in files:
        with open(snapshot / name, "wb") as file:
            # Large writes, as of a client that downloads: the system keeps them in large pieces.
            for _ in range(size // (16 * MIB)):
                file.write(os.urandom(16 * MIB))
            file.write(os.urandom(size % (16 * MIB)))
    tree, listed = {}, []
    for path in sorted(path for path in snapshot.rglob("*") if path.is_file()):
        name, size = str(path.relative_to(snapshot)), path.stat().st_size
        sha256, blob = digests(path)
        tree[name] = {"blob_id": blob, "size": size}
        entry = {"type": "file", "path": name, "size": size, "oid": blob}
        if name.endswith((".safetensors", ".bin")):
            tree[name] |= {"lfs_sha256": sha256, "lfs_size": size}
            entry["lfs"] = {"oid": sha256, "size": size, "pointerSize": 134}
        listed.append(entry)
    (repository / "trees" / f"{COMMIT}.json").write_text(json.dumps({"files": tree, "format_version": 1}))
    run([recipec, "lock", "--mirror", "mirror", "--update", MODEL], root)
    return snapshot, listed


def hub(listed):
    """Starts a hub that lists these files, and returns its address."""

    class Answer(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            tree = "/tree/" in self.path
            body = json.dumps(listed if tree else {"id": MODEL, "sha": COMMIT, "siblings": []}).encode()
            self.send_response(200)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Answer)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return f"http://127.0.0.1:{server.server_port}"


def hashing(root, arguments):
    shards = [(f"model-{n:05}-of-00008.safetensors", arguments.gib * 1024 * MIB // 8) for n in range(1, 9)]
    snapshot, listed = lock(root, arguments.recipec, shards)
    paths = [str(snapshot / name) for name, _ in shards]
    gigabytes = sum(size for _, size in shards) / 1e9
    audit = [arguments.recipec, "audit", "checkpoint", snapshot, "--lock", LOCK, "--repository", MODEL]
    commands = {
        "audit checkpoint": audit,
        "audit checkpoint --jobs 1": [*audit, "--jobs", "1"],
        "cat": ["bash", "-c", 'cat "$@" >/dev/null', "cat", *paths],
    }
    for name, command in [
        ("sha256sum", ["sha256sum"]),
        ("sha256sum, 2 processes", ["bash", "-c", 'printf "%s\\0" "$@" | xargs -0 -n 1 -P 2 sha256sum', "x"]),
        ("openssl dgst -sha256", ["openssl", "dgst", "-sha256"]),
        ("b3sum", ["b3sum"]),
    ]:
        if shutil.which(command[0]):
            commands[name] = [*command, *paths]
    env = None
    if arguments.hf:
        env = {**os.environ, "HF_ENDPOINT": hub(listed), "HF_HUB_DISABLE_TELEMETRY": "1", "HF_HOME": str(root / "hf")}
        commands["hf cache verify"] = [
            arguments.hf, "cache", "verify", MODEL, "--revision", COMMIT, "--local-dir", str(snapshot)
        ]
    for path in paths:
        with open(path, "rb") as file:
            while file.read(16 * MIB):
                pass
    rows = []
    for _ in range(arguments.rounds):
        row = {name: run(command, root, env) for name, command in commands.items()}
        row["sha256 of a hot buffer"] = hot(gigabytes)
        rows.append(row)
    print(f"{gigabytes:.2f} GB in 8 shards, {os.cpu_count()} cores, {arguments.rounds} rounds, medians")
    print(f"{'':28} {'GB/s':>7} {'GB/processor s':>15} {'clock ratio':>12} {'processor ratio':>16} {'MiB':>6}")
    for name in rows[0]:
        took, used, peak = (statistics.median(row[name][part] for row in rows) for part in range(3))
        clock = statistics.median(row[name][0] / row["audit checkpoint"][0] for row in rows)
        processor = statistics.median(row[name][1] / row["audit checkpoint"][1] for row in rows)
        print(f"{name:28} {gigabytes / took:7.2f} {gigabytes / used:15.2f} {clock:11.2f}x {processor:15.2f}x {peak / 1024:6.0f}")
    best = min(row["audit checkpoint"][0] for row in rows)
    print(f"fastest audit {gigabytes / best:.2f} GB/s; ratios are of its seconds: above 1 it is the faster one")


def gate(root, arguments):
    files = [(f"model-{n:05}-of-00410.safetensors", 40_000) for n in range(1, 411)]
    snapshot, listed = lock(root, arguments.recipec, files[: 419 - 7])
    audit = [arguments.recipec, "audit", "checkpoint", snapshot, "--lock", LOCK, "--repository", MODEL, "--fast"]
    all_times = [run(audit, root) for _ in range(31)]
    times = sorted(took * 1000 for took, _, _ in all_times)
    used = statistics.median(used * 1000 for _, used, _ in all_times)
    print(f"audit checkpoint --fast, {len(listed)} files: median {statistics.median(times):.1f} ms, "
          f"best {times[0]:.1f} ms, processor {used:.1f} ms, 31 runs")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--recipec", default=str(ROOT / "target/release/recipec"))
    parser.add_argument("--hf", default=shutil.which("hf"))
    parser.add_argument("--gib", type=int, default=4)
    parser.add_argument("--rounds", type=int, default=5)
    arguments = parser.parse_args()
    for tool in [["sha256sum", "--version"], ["openssl", "version"], ["b3sum", "--version"]] + (
        [[arguments.hf, "version"]] if arguments.hf else []
    ):
        if shutil.which(tool[0]):
            said = subprocess.run(tool, capture_output=True, text=True).stdout.split("\n")
            print(tool[0].rsplit("/", 1)[-1], next(line.strip() for line in said if any(c.isdigit() for c in line)))
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        shutil.copytree(ROOT / "fixtures/tour", root, dirs_exist_ok=True)
        shutil.copytree(ROOT / "fixtures/mirror", root / "mirror")
        run([arguments.recipec, "lock", "--mirror", "mirror"], root)
        gate(root, arguments)
        hashing(root, arguments)


main()
