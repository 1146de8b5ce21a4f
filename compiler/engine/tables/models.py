#!/usr/bin/env python3
"""Makes models.table: which model architectures each released engine knows.

    python3 compiler/engine/tables/models.py RELEASES > compiler/engine/tables/models.table

RELEASES holds the unpacked wheels as `sglang-0.5.16/sglang/...` and `vllm-0.27.1/vllm/...`. Their
source is read with `ast`, never run: SGLang's `EntryClass` of each file under srt/models, vLLM's
keys of the registries in model_executor/models/registry.py.
"""

import ast
import pathlib
import sys
from collections import defaultdict

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from make import ranges, version_key  # noqa: E402


def sglang(root):
    for path in sorted((root / "sglang/srt/models").rglob("*.py")):
        for node in ast.parse(path.read_text(encoding="utf-8-sig")).body:
            if isinstance(node, (ast.Assign, ast.AnnAssign)):
                targets = node.targets if isinstance(node, ast.Assign) else [node.target]
                if any(isinstance(target, ast.Name) and target.id == "EntryClass" for target in targets) and node.value:
                    yield from (name.id for name in ast.walk(node.value) if isinstance(name, ast.Name))


def vllm(root):
    for path in sorted((root / "vllm").glob("model*/**/registry.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8-sig"))):
            if isinstance(node, ast.Dict):
                for key, value in zip(node.keys, node.values):
                    if isinstance(key, ast.Constant) and isinstance(key.value, str) and isinstance(value, ast.Tuple):
                        yield key.value


known = defaultdict(dict)
for root in sorted(pathlib.Path(sys.argv[1]).iterdir()):
    engine, _, version = root.name.partition("-")
    reader = {"sglang": sglang, "vllm": vllm}.get(engine)
    if reader and version and root.is_dir():
        known[engine][version] = set(reader(root))
for engine, versions in sorted(known.items()):
    order = sorted(versions, key=version_key)
    print(f"versions\t{engine}\t{' '.join(order)}")
    for name in sorted(set().union(*versions.values())):
        print(f"model\t{engine}\t{ranges([v for v in order if name in versions[v]], order)}\t{name}")
