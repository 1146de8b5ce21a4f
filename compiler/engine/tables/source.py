"""Python source that is read and never run: modules of a wheel, a source archive or a folder, and
the values of expressions in them as far as they can be told without running anything."""

import ast
import pathlib
import tarfile
import zipfile

# A module larger than this holds data and no command line.
LARGEST = 4 << 20
# Expressions nested deeper, or names that lead on further, are not followed.
DEEPEST = 60
# A value that is longer, and a package that takes more steps, was not written by hand.
LONGEST, MOST_STEPS = 100_000, 5_000_000


class Unknown(Exception):
    """What only a run could tell."""


def read_package(path, package):
    """Returns the texts of a package's modules by dotted name, from a wheel, a source archive or a
    folder. Nothing is unpacked to disk."""
    path = pathlib.Path(path)
    if path.is_dir():
        files = ((str(file.relative_to(path)), file.stat().st_size, file.read_bytes) for file in sorted(path.rglob("*.py")))
        return modules(files, package)
    if path.is_file() and zipfile.is_zipfile(path):
        with zipfile.ZipFile(path) as archive:
            files = ((info.filename, info.file_size, lambda info=info: archive.read(info)) for info in archive.infolist())
            return modules(files, package)
    if path.is_file() and tarfile.is_tarfile(path):
        with tarfile.open(path) as archive:
            files = ((member.name, member.size, lambda member=member: archive.extractfile(member).read()) for member in archive if member.isfile())
            return modules(files, package)
    raise SystemExit(f"{path} is no wheel, no source archive and no folder")


def modules(files, package):
    found = {}
    for name, size, read in files:
        parts = pathlib.PurePosixPath(name).with_suffix("").parts
        if not name.endswith(".py") or package not in parts or size > LARGEST:
            continue
        # The outermost folder of that name that is not another package's: `python/sglang/srt/…`.
        parts = parts[parts.index(package):]
        if parts[-1] == "__init__":
            parts = parts[:-1]
        try:
            found.setdefault(".".join(parts), read().decode())
        except UnicodeDecodeError:
            continue
    return found


def dotted(node):
    """Returns `a.b.c` of a chain of names, else nothing."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        inner = dotted(node.value)
        return inner and f"{inner}.{node.attr}"
    return None


def expression(node):
    """Returns what a description says of a value that only a run could tell."""
    return {"$expr": ast.unparse(node)[:200]}


class Module:
    """One module: its imports, and what its names were bound to last."""

    def __init__(self, name, text, is_package):
        self.name, self.text, self.is_package = name, text, is_package
        self.tree = ast.parse(text)
        self.names = {}
        self.stars = []
        self.bind(self.tree.body)

    def bind(self, body):
        for node in body:
            if isinstance(node, (ast.Assign, ast.AnnAssign)):
                targets = node.targets if isinstance(node, ast.Assign) else [node.target]
                for target in targets:
                    # A class stays what it is where it is decorated by hand afterwards.
                    if isinstance(target, ast.Name) and node.value is not None and not isinstance(self.names.get(target.id), ast.ClassDef):
                        self.names[target.id] = node.value
            elif isinstance(node, (ast.ClassDef, ast.FunctionDef)):
                self.names[node.name] = node
            elif isinstance(node, ast.ImportFrom):
                origin = self.origin(node)
                for alias in node.names:
                    if alias.name == "*":
                        self.stars.append(origin)
                    else:
                        self.names[alias.asname or alias.name] = (origin, alias.name)
            elif isinstance(node, ast.Import):
                for alias in node.names:
                    self.names[alias.asname or alias.name.split(".")[0]] = (alias.name if alias.asname else alias.name.split(".")[0], None)
            elif isinstance(node, ast.If):
                # What type checkers see comes first, and what a run sees replaces it.
                self.bind(node.body)
                self.bind(node.orelse)
            elif isinstance(node, ast.Try):
                for part in (node.body, node.orelse, node.finalbody):
                    self.bind(part)

    def within(self, function):
        """Returns the module as the body of a function sees it."""
        inner = Module.__new__(Module)
        inner.name, inner.text, inner.is_package = self.name, self.text, self.is_package
        inner.tree, inner.names, inner.stars = self.tree, dict(self.names), list(self.stars)
        inner.bind(function.body)
        return inner

    def origin(self, node):
        if not node.level:
            return node.module
        base = self.name.split(".") if self.is_package else self.name.split(".")[:-1]
        base = base[: len(base) - (node.level - 1)] if node.level > 1 else base
        return ".".join(base + ([node.module] if node.module else []))


class Class:
    """A class with the module that it is in."""

    def __init__(self, module, node):
        self.module, self.node, self.name = module, node, node.name

    def __eq__(self, other):
        return isinstance(other, Class) and (self.module.name, self.name) == (other.module.name, other.name)

    def __hash__(self):
        return hash((self.module.name, self.name))


class Source:
    """All modules of a package."""

    def __init__(self, path, package):
        self.texts = read_package(path, package)
        if not self.texts:
            raise SystemExit(f"{path} has no package `{package}`")
        self.read, self.steps = {}, 0

    def module(self, name):
        if name not in self.read:
            text = self.texts.get(name)
            is_package = any(other.startswith(name + ".") for other in self.texts)
            try:
                self.read[name] = text is not None and Module(name, text, is_package)
            except (SyntaxError, RecursionError, ValueError):
                self.read[name] = None
        return self.read[name] or None

    def need(self, name):
        module = self.module(name)
        if module is None:
            raise SystemExit(f"the package has no readable module `{name}`")
        return module

    def lookup(self, module, name, depth=0):
        """Returns the module and the node that a name stands for."""
        if module is None or depth > DEEPEST:
            raise Unknown(name)
        bound = module.names.get(name)
        if bound is None:
            for star in module.stars:
                try:
                    return self.lookup(self.module(star), name, depth + 1)
                except Unknown:
                    continue
            submodule = self.module(f"{module.name}.{name}")
            if submodule:
                return submodule, None
            raise Unknown(name)
        if not isinstance(bound, tuple):
            return module, bound
        origin, inner = bound
        if inner is None:
            found = self.module(origin)
            if found is None:
                raise Unknown(name)
            return found, None
        if self.module(origin) is None:
            found = self.module(f"{origin}.{inner}")
            if found:
                return found, None
            raise Unknown(name)
        return self.lookup(self.module(origin), inner, depth + 1)

    def resolve(self, module, node, depth=0):
        """Returns the module and the node that a chain of names stands for."""
        if isinstance(node, ast.Name):
            return self.lookup(module, node.id, depth)
        if isinstance(node, ast.Attribute):
            owner, inner = self.resolve(module, node.value, depth + 1)
            if inner is None:
                return self.lookup(owner, node.attr, depth + 1)
            if isinstance(inner, ast.ClassDef):
                cls = Class(owner, inner)
                for holder, value in self.fields(cls).get(node.attr, []):
                    if value.value is not None:
                        return holder.within(inner), value.value
        raise Unknown(ast.unparse(node))

    def class_of(self, module, node):
        """Returns the class that a name stands for, else nothing."""
        try:
            module, found = self.resolve(module, node)
        except Unknown:
            return None
        return Class(module, found) if isinstance(found, ast.ClassDef) else None

    def class_given(self, module, node):
        """Returns the class that a function without arguments gives, else nothing."""
        if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and not node.args):
            return None
        try:
            owner, found = self.resolve(module, node.func)
        except Unknown:
            return None
        gives = [part.value for part in ast.walk(found) if isinstance(part, ast.Return)] if isinstance(found, ast.FunctionDef) else []
        given = gives[0] if gives else None
        if isinstance(given, ast.Call) and dotted(given.func) == "list" and given.args:
            given = given.args[0]
        return self.class_of(owner.within(found), given) if given is not None else None

    def bases(self, cls):
        """Returns a class and all that it is built on, nearest first."""
        order, waiting = [], [cls]
        while waiting:
            one = waiting.pop(0)
            if one in order or len(order) > DEEPEST:
                continue
            order.append(one)
            waiting += [base for base in (self.class_of(one.module, base) for base in one.node.bases) if base]
        return order

    def fields(self, cls):
        """Returns the assignments of a class by name, each with the module of the class that has it:
        of the first base first, and a class's own in the place of its bases'."""
        all_fields = {}
        for one in reversed(self.bases(cls)):
            for node in one.node.body:
                if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
                    all_fields[node.target.id] = [(one.module, node)]
                elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
                    all_fields[node.targets[0].id] = [(one.module, node)]
        return all_fields

    def is_enum(self, cls):
        return any("Enum" in (dotted(base) or "") for one in self.bases(cls) for base in one.node.bases)

    def is_record(self, cls):
        """Whether a class is a dataclass, by its decorators or by what it is built on."""
        for one in self.bases(cls):
            names = [dotted(d.func if isinstance(d, ast.Call) else d) or "" for d in one.node.decorator_list]
            names += [dotted(base) or "" for base in one.node.bases]
            if any(name.split(".")[-1] in ("config", "dataclass", "BaseModel", "Struct") for name in names):
                return True
        return False

    def members(self, cls):
        """Returns the members of an enumeration: name and value."""
        found = {}
        for name, [(module, node)] in self.fields(cls).items():
            if name.startswith("_") or node.value is None:
                continue
            try:
                found[name] = self.value(module, node.value)
            except Unknown:
                found[name] = name.lower() if ast.unparse(node.value).endswith("auto()") else None
        return found

    # Values.

    def value(self, module, node, depth=0):
        """Returns the value of an expression.

        Raises Unknown where only a run could tell."""
        self.steps += 1
        if self.steps > MOST_STEPS:
            raise SystemExit("the package takes too many steps to read")
        if depth > DEEPEST:
            raise Unknown("too deep")
        go = lambda inner: self.value(module, inner, depth + 1)
        if isinstance(node, ast.Constant):
            return node.value
        if isinstance(node, (ast.List, ast.Tuple, ast.Set)):
            found = []
            for item in node.elts:
                found += list(go(item.value)) if isinstance(item, ast.Starred) else [go(item)]
            return found
        if isinstance(node, ast.Dict):
            found = {}
            for key, item in zip(node.keys, node.values):
                if key is None:
                    found.update(go(item))
                    continue
                try:
                    found[go(key)] = go(item)
                except (Unknown, TypeError):
                    try:
                        found[go(key)] = None
                    except TypeError:
                        raise Unknown(ast.unparse(key)) from None
            return found
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
            return -number(go(node.operand))
        if isinstance(node, ast.BinOp):
            return binary(node, go(node.left), go(node.right))
        if isinstance(node, (ast.Name, ast.Attribute)):
            return self.named(module, node, depth)
        if isinstance(node, ast.Call):
            return self.call(module, node, depth)
        if isinstance(node, (ast.ListComp, ast.GeneratorExp)):
            return self.comprehension(module, node, depth)
        if isinstance(node, ast.Subscript) and dotted(node.value) in ("Literal", "typing.Literal"):
            inner = node.slice
            found = []
            for item in inner.elts if isinstance(inner, ast.Tuple) else [inner]:
                # A literal may list the values of others.
                value = go(item)
                found += value if isinstance(value, list) else [value]
            return found
        if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant) and isinstance(node.slice.value, (int, str)):
            try:
                return go(node.value)[node.slice.value]
            except (IndexError, KeyError, TypeError):
                raise Unknown(ast.unparse(node)) from None
        raise Unknown(ast.unparse(node))

    def named(self, module, node, depth):
        if isinstance(node, ast.Attribute) and node.attr in ("value", "name"):
            cls = isinstance(node.value, ast.Attribute) and self.class_of(module, node.value.value)
            if cls and self.is_enum(cls):
                members = self.members(cls)
                if node.value.attr in members:
                    return members[node.value.attr] if node.attr == "value" else node.value.attr
        if isinstance(node, ast.Attribute):
            cls = self.class_of(module, node.value)
            if cls and self.is_enum(cls):
                members = self.members(cls)
                if members.get(node.attr) is not None:
                    return members[node.attr]
        owner, found = self.resolve(module, node, depth)
        if found is None or isinstance(found, (ast.ClassDef, ast.FunctionDef)):
            raise Unknown(ast.unparse(node))
        return self.value(owner, found, depth + 1)

    def call(self, module, node, depth):
        name = dotted(node.func) or ""
        last = name.split(".")[-1]
        if last in ("list", "sorted", "tuple", "set", "get_args", "frozenset") and len(node.args) == 1:
            found = list(self.listed(module, node.args[0], depth))
            return sorted(found) if last == "sorted" else found
        if last == "keys" and isinstance(node.func, ast.Attribute):
            return list(self.value(module, node.func.value, depth + 1))
        if not node.args and not node.keywords and isinstance(node.func, ast.Name):
            owner, found = self.resolve(module, node.func, depth)
            if isinstance(found, ast.FunctionDef):
                inner = owner.within(found)
                for part in ast.walk(found):
                    if isinstance(part, ast.Return) and part.value is not None:
                        return self.value(inner, part.value, depth + 1)
        if last in ("field", "Field"):
            for keyword in node.keywords:
                if keyword.arg == "default":
                    return self.value(module, keyword.value, depth + 1)
                if keyword.arg == "default_factory":
                    return self.made(module, keyword.value, depth)
            if node.args and last == "Field":
                return self.value(module, node.args[0], depth + 1)
        if last in ("int", "float", "str") and len(node.args) == 1:
            try:
                return {"int": int, "float": float, "str": str}[last](self.value(module, node.args[0], depth + 1))
            except (TypeError, ValueError):
                pass
        if last == "get_field" and len(node.args) == 2:
            cls = self.class_of(module, node.args[0])
            found = cls and self.fields(cls).get(self.value(module, node.args[1]))
            if found and found[0][1].value is not None:
                return self.value(found[0][0], found[0][1].value, depth + 1)
        raise Unknown(ast.unparse(node))

    def made(self, module, node, depth):
        empty = {"list": [], "dict": {}, "set": [], "tuple": []}.get(dotted(node))
        if empty is not None:
            return empty
        if isinstance(node, ast.Lambda):
            return self.value(module, node.body, depth + 1)
        raise Unknown(ast.unparse(node))

    def listed(self, module, node, depth):
        cls = isinstance(node, (ast.Name, ast.Attribute)) and self.class_of(module, node)
        if cls and self.is_enum(cls):
            return list(self.members(cls).values())
        return self.value(module, node, depth + 1)

    def comprehension(self, module, node, depth):
        if len(node.generators) != 1 or not isinstance(node.generators[0].target, ast.Name):
            raise Unknown(ast.unparse(node))
        loop = node.generators[0]
        cls = self.class_of(module, loop.iter) or self.class_given(module, loop.iter)
        if cls and self.is_enum(cls):
            pairs = self.members(cls).items()
        else:
            pairs = [(None, item) for item in self.value(module, loop.iter, depth + 1)]
        found = []
        for name, item in pairs:
            conditions = [self.step(part, loop.target.id, name, item) for part in loop.ifs]
            if all(conditions):
                found.append(self.step(node.elt, loop.target.id, name, item))
        return found

    def step(self, node, variable, name, item):
        """The few things that are done with one item: `x`, `x.value`, `x.name.lower()`, comparisons."""
        if isinstance(node, ast.Name) and node.id == variable:
            return item
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == variable:
            return {"value": item, "name": name}.get(node.attr)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in ("lower", "upper") and not node.args:
            inner = self.step(node.func.value, variable, name, item)
            return getattr(str(inner), node.func.attr)()
        if isinstance(node, ast.Constant):
            return node.value
        if isinstance(node, ast.Compare) and len(node.ops) == 1 and isinstance(node.ops[0], (ast.Eq, ast.NotEq)):
            same = self.step(node.left, variable, name, item) == self.step(node.comparators[0], variable, name, item)
            return same == isinstance(node.ops[0], ast.Eq)
        raise Unknown(ast.unparse(node))


def number(value):
    if isinstance(value, (int, float)) and abs(value) < 1 << 63:
        return value
    raise Unknown("no number")


def binary(node, left, right):
    kinds = {ast.Add: lambda: added(left, right), ast.Sub: lambda: number(left) - number(right), ast.Mult: lambda: number(left) * number(right)}
    if isinstance(node.op, (ast.LShift, ast.Pow)) and isinstance(left, int) and isinstance(right, int) and 0 <= right < 64:
        return number(left) << right if isinstance(node.op, ast.LShift) else number(left) ** right
    try:
        return kinds[type(node.op)]()
    except (KeyError, TypeError):
        raise Unknown("no such sum") from None


def added(left, right):
    if isinstance(left, (int, float)):
        return number(left) + number(right)
    if len(left) + len(right) > LONGEST:
        raise Unknown("too long")
    return left + right
