"""Finds modules that are named for a language, and comparisons with a language's name."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

#: the house's five, also those that are still to come
NAMES = frozenset({"decision", "process", "plan", "pipeline", "diagram"})
#: where a language has its own folder
ROOMS = ("lang", "dialects", "app", "api", "cli")
#: folders that are about all languages, and the table that lists them
FREE = ("lifecycle/", "errors/", "languages.py")
#: every verdict has a field of this name (C-52): to look it up, or to name it beside other fields, is no comparison
FIELDS = frozenset({"decision"})
_PLURALS = {"processes": "process", **{f"{name}s": name for name in NAMES}}
_LOOKS_UP = ("get", "pop", "setdefault")


def source_files(root: Path) -> list[str]:
    """Paths below the package."""
    return sorted(str(path.relative_to(root)) for path in root.rglob("*.py") if "__pycache__" not in path.parts)


def folder_of(file: str) -> str | None:
    """The language in whose folder a file lies."""
    parts = file.split("/")
    return parts[1] if len(parts) > 2 and parts[0] in ROOMS and parts[1] in NAMES else None


def named_modules(files: list[str]) -> Iterator[str]:
    """Files that carry a language's name outside of that language's folders."""
    for file in files:
        words = [word for part in file.removesuffix(".py").split("/") for word in part.split("_")]
        named = {_PLURALS.get(word, word) for word in words} & NAMES
        if named - {folder_of(file)} and not file.startswith(FREE):
            yield file


def compared_names(file: str, text: str) -> Iterator[tuple[int, str]]:
    """Line and name of every comparison with a language's name outside of the languages' folders."""
    if file.startswith(FREE) or folder_of(file):
        return
    for node in ast.walk(ast.parse(text)):
        for name in _compared(node):
            yield getattr(node, "lineno", 0), name


def imported_folders(file: str, text: str) -> Iterator[tuple[int, str]]:
    """Line and module of every import of a language's folder from outside of the languages' folders."""
    if folder_of(file):
        return
    for node in ast.walk(ast.parse(text)):
        modules = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        if isinstance(node, ast.ImportFrom) and node.module:
            modules = [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
        for module in modules:
            parts = module.split(".")
            if parts[0] == "penstock" and len(parts) > 2 and parts[1] in ROOMS and parts[2] in NAMES:
                yield getattr(node, "lineno", 0), module
                break


def _compared(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.Compare):
        for side in (node.left, *node.comparators):
            yield from _names(side)
    elif isinstance(node, ast.MatchValue):
        yield from _names(node.value)
    elif isinstance(node, ast.Dict):
        keys = {name for key in node.keys if key is not None for name in _names(key)}
        yield from sorted(keys) if keys - FIELDS else ()
    elif isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Load):
        yield from (name for name in _names(node.slice) if name not in FIELDS)
    elif isinstance(node, ast.Call):
        if isinstance(node.func, ast.Attribute) and node.func.attr in _LOOKS_UP and node.args:
            yield from (name for name in _names(node.args[0]) if name not in FIELDS)
        for keyword in node.keywords:
            yield from _names(keyword.value) if keyword.arg == "language" else ()
    elif isinstance(node, ast.Assign) and (isinstance(node.value, ast.Constant) or _unpacks(node)):
        yield from _names(node.value)


def _unpacks(node: ast.Assign) -> bool:
    return isinstance(node.targets[0], ast.Tuple) and isinstance(node.value, ast.Tuple)


def _names(node: ast.expr) -> Iterator[str]:
    """The languages' names that an expression spells; a field's name counts only among languages."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value in NAMES:
        yield node.value
    elif isinstance(node, ast.Tuple | ast.List | ast.Set):
        spelt = [part.value for part in node.elts if isinstance(part, ast.Constant) and isinstance(part.value, str)]
        languages = [word for word in spelt if word in NAMES]
        yield from languages if len(languages) == len(spelt) else (word for word in languages if word not in FIELDS)
