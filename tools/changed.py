"""Which test files can a change break? Found from what git says has changed, and from who imports or reads it.

    python -m tools.changed                        against HEAD: what is not committed yet
    python -m tools.changed origin/main            against another revision

`python3 bootstrap.py test -- --changed` (or `--changed=REV`) runs these. A test file depends on what it imports, at its
top, inside a function or in a program that it keeps as a text, and on what that imports; on the conftest.py files above
it; and on files whose name or folder stands as a path in one of these. A test that starts the program or its server
depends on the whole package. Not seen: that a package's `__init__.py` cannot be imported any more because of what it
imports itself. The whole suite is for that.
"""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SOURCES = {"src": "src", "tests": ".", "tools": ".", "bench": "."}  # folder → what its modules are named below
PACKAGE = "src/penstock/"
OWN = "tools/changed.py"
#: a change of these can break anything
EVERYTHING = ("pyproject.toml", "constraints.txt", "bootstrap.py")
#: the program: whoever starts Python and names one of these starts all of it
PROGRAM = ("penstock", "penstock.cli.main", "penstock.cli.main.main")
#: imports modules by names that stand in texts, or by names that it finds in its folder
DYNAMIC, LISTING = {"import_module"}, {"iter_modules", "walk_packages"}
#: what is built from a folder, and read at another place
BUILT = {"console/": "src/penstock/api/console/index.html"}
#: an import in a program that is kept as a text
IN_TEXT = re.compile(r"\bfrom ((?:penstock|tests)[\w.]*) import (\w+|\*)")
#: whoever calls these reads any file of the tree
READ_ALL = {"tests.house.files.files", "tests.house.files.texts"}


@dataclass
class Source:
    """What one Python file says about others."""

    imports: set[str] = field(default_factory=set)
    texts: set[str] = field(default_factory=set)
    paths: set[str] = field(default_factory=set)
    handed_on: dict[str, str] = field(default_factory=dict)  # names of others that can be imported from here
    constants: set[str] = field(default_factory=set)
    starts_python: bool = False
    dynamic: bool = False
    listing: bool = False

    @property
    def starts_the_program(self) -> bool:
        return self.starts_python and any(name in self.texts | self.imports for name in PROGRAM)


@dataclass
class Answer:
    """The test files that the change can break, and the changed files that no Python file names."""

    tests: list[str]
    unnamed: list[str]


def changed_files(since: str, root: Path = ROOT) -> list[str]:
    """Changed, deleted and not yet known to git, as paths from the root."""
    asked = (["diff", "--name-only", "--no-renames", since, "--"], ["ls-files", "--others", "--exclude-standard"])
    said = [subprocess.run(["git", *one], cwd=root, capture_output=True, text=True, check=True).stdout for one in asked]
    return sorted({line for text in said for line in text.splitlines()})


def read_tree(root: Path = ROOT) -> dict[str, Source]:
    files = [file for folder in SOURCES for file in _python(root / folder)]
    sources = {file.relative_to(root).as_posix(): read(file.read_bytes()) for file in files}
    if OWN in sources:  # its texts are about others
        sources[OWN] = Source(sources[OWN].imports)
    return sources


def breakable(changed: Iterable[str], sources: dict[str, Source]) -> Answer:
    """The test files that depend on a changed file, directly or not."""
    changed = set(changed)
    tests = sorted(file for file in sources if is_test(file))
    if changed & set(EVERYTHING):
        return Answer(tests, [])
    hit = {file for file in changed if file.endswith(".py")}
    graph = Graph(sources, {*sources, *hit})
    unnamed = []
    for file in sorted(changed - hit):
        readers = graph.readers(file)
        hit |= readers
        unnamed += [] if readers else [file]
    reached = graph.users(hit)
    return Answer([file for file in tests if file in reached], unnamed)


def is_test(file: str) -> bool:
    return file.startswith("tests/") and file.rpartition("/")[2].startswith("test_") and file.endswith(".py")


def read(text: bytes) -> Source:
    source, tree = Source(), ast.parse(text)
    for line in tree.body:
        if isinstance(line, ast.Assign) and isinstance(line.value, ast.Constant):
            source.constants |= {target.id for target in line.targets if isinstance(target, ast.Name)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            source.imports |= {name.name for name in node.names}
        elif isinstance(node, ast.ImportFrom):
            # imports are absolute in this house; of `from a import b`, b may be a module
            source.imports |= {f"{node.module}.{name.name}" for name in node.names}
            source.handed_on |= {name.asname or name.name: f"{node.module}.{name.name}" for name in node.names}
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            source.imports |= {f"{module}.{name}" for module, name in IN_TEXT.findall(node.value)}
            source.texts.add(node.value)
            if re.search(r"[^/*]/[^/*]|\.\w", node.value):
                source.paths.add(node.value)
        elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div):
            parts = [part.value for part in (node.left, node.right) if isinstance(part, ast.Constant)]
            source.paths |= {part for part in parts if isinstance(part, str)}
        elif isinstance(node, ast.Attribute):
            source.starts_python |= node.attr == "executable" and ast.unparse(node.value) == "sys"
            source.starts_python |= node.attr == "fork" and ast.unparse(node.value) == "os"
            source.dynamic |= node.attr in DYNAMIC
            source.listing |= node.attr in LISTING
        elif isinstance(node, ast.Name):
            source.dynamic |= node.id in DYNAMIC
            source.listing |= node.id in LISTING
    return source


class Graph:
    """Who uses whom. `files` may name some that are gone: whoever imports them still does."""

    def __init__(self, sources: dict[str, Source], files: set[str]) -> None:
        self.sources = sources
        self.modules = {name: file for file in files if (name := _module(file))}
        self.used_by: dict[str, set[str]] = {}
        package = {file for file in files if file.startswith(PACKAGE)}
        for file, source in sources.items():
            for used in self._uses(file, source):
                self.used_by.setdefault(used, set()).add(file)
            if file.startswith("tests/") and source.starts_the_program:
                for used in package:
                    self.used_by.setdefault(used, set()).add(file)

    def _uses(self, file: str, source: Source) -> Iterator[str]:
        own = _module(file)
        inside = own if file.endswith("/__init__.py") else own.rpartition(".")[0]
        for name in source.imports:
            yield from self._imported(name)
        for name in source.texts:  # a module to be run or loaded
            for known in [name, f"{inside}.{name.lstrip('.')}"] if source.dynamic else [name] if "." in name else []:
                if known in self.modules:
                    yield self.modules[known]
            if source.dynamic and "{}" in name:  # a table says where the parts of each language are
                part = re.compile(re.escape(name).replace(re.escape("{}"), r"\w+"))
                yield from (other for module, other in self.modules.items() if part.fullmatch(module))
        for name in source.imports:  # a package runs before what is in it
            for parent in _parents(name):
                if parent in self.modules:
                    yield self.modules[parent] + "#"
        if source.listing:
            yield from (other for name, other in self.modules.items() if name.rpartition(".")[0] == inside)
        if file.startswith("tests/"):
            for folder in Path(file).parents:
                yield f"{folder.as_posix()}/conftest.py"

    def _imported(self, name: str) -> Iterator[str]:
        """The file of a module, or of the module that a name is in, or that the package has it from."""
        package, _, last = name.rpartition(".")
        if name in self.modules:
            yield self.modules[name]
        elif (file := self.modules.get(package)) is not None:
            source = self.sources.get(file, Source())
            if last in source.handed_on and source.handed_on[last] != name:
                yield from self._imported(source.handed_on[last])
            elif not (file.endswith("/__init__.py") and last in source.constants):
                yield file

    def users(self, hit: Iterable[str]) -> set[str]:
        """These files and all that need them. What only needs a package to have run (`#`) needs that file itself, and
        not what it imports: otherwise everything needed everything."""
        reached = set(hit)
        todo = [*reached, *(f"{file}#" for file in reached if file.endswith("/__init__.py"))]
        while todo:
            for user in self.used_by.get(todo.pop(), ()):
                if user not in reached:
                    reached.add(user)
                    todo.append(user)
        return reached

    def readers(self, file: str) -> set[str]:
        """The Python files that name it or its folder."""
        paths = [file, *(built for folder, built in BUILT.items() if file.startswith(folder))]
        inside = file.startswith("src/")  # the package reads its own files only
        return {
            at
            for at, source in self.sources.items()
            if inside or not at.startswith("src/")
            if source.imports & READ_ALL or any(_names(at, text, path) for text in source.paths for path in paths)
        }


def _names(at: str, text: str, path: str) -> bool:
    """Does a text in a file mean a path? Several steps may stand anywhere in it; a single one is a file, a folder at
    the top, or one beside the file that has the text."""
    text = text.strip("/").removesuffix("/*")
    if text == "src":  # that is where a process is told to import from
        return False
    if "/" in text:
        return f"/{text}/" in f"/{path}/"
    return path.endswith(f"/{text}") or f"{path}/".startswith((f"{text}/", f"{at.rpartition('/')[0]}/{text}/"))


def _module(file: str) -> str:
    """The name a file is imported by."""
    if not file.endswith(".py"):
        return ""
    parts = file.removesuffix(".py").split("/")
    parts = parts[1:] if SOURCES.get(parts[0]) == "src" else parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _parents(name: str) -> Iterator[str]:
    while name := name.rpartition(".")[0]:
        yield name


def _python(folder: Path) -> Iterator[Path]:
    for at, inner, names in os.walk(folder):
        inner[:] = [name for name in inner if name not in ("__pycache__", "node_modules")]
        yield from (Path(at) / name for name in names if name.endswith(".py"))


def main(arguments: list[str]) -> None:
    answer = breakable(changed_files(arguments[0] if arguments else "HEAD"), read_tree())
    print(*answer.tests, sep="\n")
    for file in answer.unnamed:
        print(f"no test reads {file}", file=sys.stderr)


if __name__ == "__main__":
    main(sys.argv[1:])
