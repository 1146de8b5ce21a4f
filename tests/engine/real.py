"""Judges command lines by an engine's own parser, imported from an unpacked wheel without a GPU.

    python3 real.py ENGINE ROOT < LINES > VERDICTS

ROOT holds the wheel's packages. Each line of LINES is a JSON list, the engine's own words; each
line of VERDICTS is `ok`, or `error: ` and what the parser says. Packages that are not installed are
stubbed: importing the parser must not need torch. Nothing of the engine but its parser runs.
"""

import argparse
import contextlib
import importlib.abc
import importlib.machinery
import importlib.metadata
import io
import json
import logging
import sys
import types

ENGINE, ROOT = sys.argv[1:3]
OWN = {"sglang": "sglang", "vllm": "vllm"}[ENGINE]
# Packages of the engine that reach for a device when imported, and that no parser needs.
DEVICE = {
    "sglang": ["kernels", "jit_kernel", "srt.layers", "srt.distributed", "srt.model_executor", "srt.models",
               "srt.hardware_backend", "srt.multimodal", "srt.sampling"],
    "vllm": ["model_executor.models", "model_executor.model_loader", "distributed", "platforms", "_C", "_custom_ops",
             "multimodal", "lora", "v1.worker", "v1.engine"],
}[ENGINE]
FORCED = [f"{OWN}.{name}" for name in DEVICE]


def call(self, *positional, **named):
    # As a decorator it gives back what it decorates.
    if len(positional) == 1 and not named and isinstance(positional[0], (types.FunctionType, type)):
        return positional[0]
    return self if not isinstance(self, type) else object.__new__(self)


class Meta(type):
    __call__ = call

    def __getattr__(cls, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return stub(name)

    def __getitem__(cls, key):
        return cls

    def __setitem__(cls, key, value):
        pass

    def __iter__(cls):
        return iter(())

    def __contains__(cls, key):
        return False

    def __len__(cls):
        return 0

    def __hash__(cls):
        return id(cls)

    def __eq__(cls, other):
        return cls is other

    def __mro_entries__(cls, bases):
        return ()


class Stub(metaclass=Meta):
    __call__ = call

    def __init_subclass__(cls, **named):
        pass

    @classmethod
    def __get_pydantic_core_schema__(cls, source, handler):
        from pydantic_core import core_schema

        return core_schema.any_schema()

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return stub(name)

    def __getitem__(self, key):
        return self

    def __setitem__(self, key, value):
        pass

    def __iter__(self):
        return iter(())

    def __enter__(self):
        return self

    def __exit__(self, *error):
        pass

    def __bool__(self):
        return False


for owner in (Meta, Stub):
    for name in "or ror add radd sub mul rmul truediv".split():
        setattr(owner, f"__{name}__", lambda self, other: self)
    for name, answer in {"lt": False, "gt": False, "le": True, "ge": True}.items():
        setattr(owner, f"__{name}__", lambda self, other, answer=answer: answer)
    for name in ("int", "index"):
        setattr(owner, f"__{name}__", lambda self: 0)

STUBS = {}


def stub(name):
    return STUBS.setdefault(name, Meta(str(name), (Stub,), {}))


class Module(types.ModuleType):
    def __getattr__(self, name):
        if name == "__version__":
            return "99.0.0"
        if name.startswith("__"):
            raise AttributeError(name)
        return stub(name)


class Stubs(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    def __init__(self, forced):
        self.forced = forced

    def find_spec(self, name, path=None, target=None):
        top = name.split(".")[0]
        forced = any(name == one or name.startswith(one + ".") for one in FORCED)
        if self.forced:
            wanted = forced
        else:
            real = top in sys.modules and not isinstance(sys.modules[top], Module)
            standard = top in sys.stdlib_module_names or top in ("_winapi", "winreg", "nt")
            wanted = not standard and top != OWN and not ("." in name and real)
        return importlib.machinery.ModuleSpec(name, self, is_package=True) if wanted else None

    def create_module(self, spec):
        module = Module(spec.name)
        module.__path__ = []
        return module

    def exec_module(self, module):
        pass


def version(name, real=importlib.metadata.version):
    try:
        return real(name)
    except importlib.metadata.PackageNotFoundError:
        return "99.0.0"


class Platform:
    """A CUDA device as far as a parser asks."""

    device_type = device_name = "cuda"
    dispatch_key = "CUDA"
    supported_quantization = supported_dtypes = []

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return (lambda *a: name == "is_cuda") if name.startswith("is_") else stub(name)


def parser():
    if ENGINE == "sglang":
        from sglang.srt.server_args import ServerArgs

        made = argparse.ArgumentParser()
        ServerArgs.add_cli_args(made)
        return made, []
    platforms = Module("vllm.platforms")
    platforms.__path__ = []
    platforms.current_platform = Platform()
    sys.modules["vllm.platforms"] = platforms
    from vllm.utils.argparse_utils import FlexibleArgumentParser

    try:
        from vllm.entrypoints.openai.cli_args import make_arg_parser
    except ImportError:
        from vllm.entrypoints.common.cli_args import make_arg_parser
    made = FlexibleArgumentParser(prog="vllm")
    make_arg_parser(made.add_subparsers(dest="subparser").add_parser("serve"))
    return made, ["serve"]


class Refused(Exception):
    pass


def refuse(self, message):
    raise Refused(message)


def main():
    sys.path.insert(0, ROOT)
    sys.meta_path.insert(0, Stubs(forced=True))
    sys.meta_path.append(Stubs(forced=False))
    importlib.metadata.version = version
    sys.argv = ["real.py"]
    out = sys.stdout
    with contextlib.redirect_stdout(sys.stderr):
        made, before = parser()
    argparse.ArgumentParser.error = type(made).error = refuse
    logging.disable(logging.CRITICAL)
    for line in sys.stdin:
        try:
            with contextlib.redirect_stderr(io.StringIO()), contextlib.redirect_stdout(io.StringIO()):
                made.parse_args(before + json.loads(line))
            verdict = "ok"
        except SystemExit:
            verdict = "error: exit"
        except Exception as error:  # noqa: BLE001
            verdict = f"error: {error}".split("\n")[0][:200]
        print(verdict, file=out, flush=True)


main()
