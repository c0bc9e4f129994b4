"""The floor plan: no large import rings, hidden imports counted, and no folder of the app that is a drawer."""

from __future__ import annotations

import ast
from collections import Counter
from pathlib import Path

from tests.house.files import SOURCE, files

LARGEST_RING = 3
MOST_FILES = 15


def imports(source: Path) -> dict[str, set[str]]:
    """By module: the modules it imports, at its top, inside functions and for types only."""
    modules = {_name(file, source): file for file in files(".py", below=source)}
    return {name: _imported(file, modules) - {name} for name, file in modules.items()}


def _name(file: Path, source: Path) -> str:
    parts = [source.name, *file.relative_to(source).with_suffix("").parts]
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _imported(file: Path, modules: dict[str, Path]) -> set[str]:
    names: set[str] = set()
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module is not None:
            members = {f"{node.module}.{alias.name}" for alias in node.names}
            names |= {member if member in modules else node.module for member in members}
    return names & modules.keys()


def rings(graph: dict[str, set[str]]) -> list[list[str]]:
    """Modules that import each other, directly or through others: strongly connected components (Tarjan)."""
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    components: list[list[str]] = []

    def visit(module: str) -> None:
        index[module] = low[module] = len(index)
        stack.append(module)
        for imported in graph[module]:
            if imported not in index:
                visit(imported)
                low[module] = min(low[module], low[imported])
            elif imported in stack:
                low[module] = min(low[module], index[imported])
        if low[module] == index[module]:
            at = stack.index(module)
            components.append(sorted(stack[at:]))
            del stack[at:]

    for module in graph:
        if module not in index:
            visit(module)
    return [component for component in components if len(component) > 1]


def test_no_import_ring_is_larger_than_three() -> None:
    large = [ring for ring in rings(imports(SOURCE)) if len(ring) > LARGEST_RING]
    assert not large, "\n".join(" ".join(ring) for ring in large)


def test_a_planted_ring_is_seen(tmp_path: Path) -> None:
    """Imports inside functions and under TYPE_CHECKING count."""
    package = tmp_path / "planted"
    package.mkdir()
    (package / "a.py").write_text("def f() -> None:\n    from planted import b\n")
    (package / "b.py").write_text("from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from planted.c import C\n")
    (package / "c.py").write_text("from planted.d import D\nclass C: ...\n")
    (package / "d.py").write_text("import planted.a\nclass D: ...\n")
    (package / "__init__.py").write_text("")
    assert rings(imports(package)) == [["planted.a", "planted.b", "planted.c", "planted.d"]]


def test_no_folder_of_the_app_is_a_drawer() -> None:
    count = Counter(file.parent for file in files(".py", below=SOURCE / "app"))
    large = {folder.relative_to(SOURCE).as_posix(): number for folder, number in count.items() if number > MOST_FILES}
    assert not large
