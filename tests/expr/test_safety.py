"""The expression code can reach nothing but the data it is given."""

from __future__ import annotations

import ast
import sys
from pathlib import Path
from typing import Any

import pytest

import penstock.expr
from penstock.errors import PenstockError
from penstock.expr import compile_expression, compile_template, context_view

from .test_bad_input import BROKEN, RUN_TIME
from .test_functions import ARRAY, LOGIC, NUMBER, STRING, VIEW

FOLDER = Path(penstock.expr.__file__).parent
FORBIDDEN_NAMES = {
    "eval", "exec", "compile", "getattr", "setattr", "delattr", "hasattr", "vars", "globals", "locals", "open", "input",
    "__import__", "format", "breakpoint", "memoryview", "dir", "type_checking",
}  # fmt: skip
FORBIDDEN_ATTRIBUTES = {
    "format", "format_map", "__globals__", "__dict__", "__class__", "__subclasses__", "__builtins__", "__code__",
    "attrgetter", "methodcaller", "import_module",
}  # fmt: skip
ALLOWED_MODULES = {
    "__future__", "collections.abc", "cronsim", "datetime", "decimal", "difflib", "functools", "json.encoder", "math",
    "msgspec", "operator", "penstock", "re", "re2", "typing", "unicodedata", "zoneinfo",
}  # fmt: skip


def files() -> list[Path]:
    return sorted(FOLDER.rglob("*.py"))


@pytest.mark.parametrize("path", files(), ids=lambda path: path.name)
def test_no_way_from_data_to_code(path: Path) -> None:
    """W-5.1.1: no eval, exec, compile, getattr or format anywhere in the module, and only harmless imports."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            assert node.func.id not in FORBIDDEN_NAMES, f"line {node.lineno}: {node.func.id}"
        if isinstance(node, ast.Attribute):
            assert node.attr not in FORBIDDEN_ATTRIBUTES, f"line {node.lineno}: .{node.attr}"
        if isinstance(node, ast.Import):
            assert {alias.name for alias in node.names} <= ALLOWED_MODULES, f"line {node.lineno}"
        if isinstance(node, ast.ImportFrom):
            module = node.module or ""
            assert module in ALLOWED_MODULES or module.startswith("penstock."), f"line {node.lineno}: {module}"
    assert ast.get_docstring(tree)


class Watch:
    """An audit hook that cannot be removed, so it listens only while it is asked to."""

    def __init__(self) -> None:
        self.listening = False
        self.heard: list[str] = []
        sys.addaudithook(self.hear)

    def hear(self, event: str, arguments: tuple[Any, ...]) -> None:
        if self.listening:
            self.heard.append(event)


def test_evaluation_touches_nothing() -> None:
    """W-5.1.1: reading and evaluating opens no file or socket, starts no process, runs and compiles no Python code."""
    watch = Watch()
    working = [source for source, _ in [*LOGIC, *NUMBER, *STRING, *ARRAY]]
    sources = [*working, *(case[0] for case in BROKEN), *(case[0] for case in RUN_TIME)]
    view = {**VIEW, "context": context_view({"x": 1})}
    for source in sources:
        watch.listening = True
        try:
            compile_expression(source + " ")(view)
            compile_template(f"a ${{{source}}}")(view)
        except PenstockError:
            pass
        finally:
            watch.listening = False
    assert len(sources) > 300
    assert set(watch.heard) <= {"builtins.id"}
