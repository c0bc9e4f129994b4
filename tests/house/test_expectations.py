"""Expected values do not come from the code: no test makes its cases from a table of the package.

A test that is parametrized over the code's own table loses its case when the table loses its entry, and nobody notices.
The cases are written out, from the seed or the standard; or the table's length stands beside them.
"""

from __future__ import annotations

import ast
import functools
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
#: tests over a table whose entries another test has written out
ALLOWED = {
    "tests/contract/test_sqlite_file.py::test_the_file_has_the_columns_and_indexes_that_are_declared": "the tables are "
    "those of the golden first schema and its migrations, compared in the same file",
    "tests/contract/test_sqlite_file.py::test_every_table_and_column_says_what_it_is_for": "the same tables; a text "
    "for each that there is",
}
#: what hands on the entries of what it is given
HANDS_ON = {"sorted", "list", "tuple", "set", "frozenset", "enumerate", "zip", "get_args", "reversed", "dict"}


class Module:
    """What one test file knows of the package's tables."""

    def __init__(self, text: str, package: str) -> None:
        self.tree = ast.parse(text)
        self.of_package: set[str] = set()
        self.helpers: dict[str, str] = {}
        for node in ast.walk(self.tree):
            if isinstance(node, ast.ImportFrom) and node.module:
                for name in node.names:
                    if node.module.split(".")[0] == package:
                        self.of_package.add(name.asname or name.name)
                    elif node.module.split(".")[0] == "tests":
                        self.helpers[name.asname or name.name] = f"{node.module}.{name.name}"
        self.tables: set[str] = set()
        for _ in range(3):
            for statement in self.tree.body:
                self._learn(statement)

    def _learn(self, statement: ast.stmt) -> None:
        """A name at the top that is a table of the package, or is made from the entries of one."""
        if (
            isinstance(statement, ast.Assign | ast.AnnAssign)
            and statement.value is not None
            and self.made(statement.value)
        ):
            targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
            self.tables |= {name.id for target in targets for name in ast.walk(target) if isinstance(name, ast.Name)}
        if isinstance(statement, ast.FunctionDef) and any(
            self.is_table(loop.iter) for loop in ast.walk(statement) if isinstance(loop, ast.For | ast.comprehension)
        ):
            self.tables.add(statement.name)

    def is_table(self, node: ast.expr) -> bool:
        if isinstance(node, ast.Name):
            return node.id in self.tables or node.id in self.of_package and node.id.isupper()
        if isinstance(node, ast.Attribute):
            base = node.value
            if isinstance(base, ast.Name) and base.id in self.helpers:
                return node.attr in _tables_of(self.helpers[base.id])
            return node.attr.isupper() and isinstance(base, ast.Name) and base.id in self.of_package
        if isinstance(node, ast.Call):
            if isinstance(node.func, ast.Name) and node.func.id in HANDS_ON:
                return any(map(self.is_table, node.args))
            if isinstance(node.func, ast.Name) and node.func.id in self.helpers:
                module, _, name = self.helpers[node.func.id].rpartition(".")
                return name in _tables_of(module)
            if isinstance(node.func, ast.Attribute) and node.func.attr in ("items", "values", "keys"):
                return self.is_table(node.func.value)
            return self.is_table(node.func)
        return False

    def made(self, value: ast.expr) -> bool:
        """Is it a table, or made from all the entries of one?"""
        if self.is_table(value):
            return True
        return any(
            isinstance(part, ast.comprehension) and self.is_table(part.iter)
            or isinstance(part, ast.Starred) and self.is_table(part.value)
            for part in ast.walk(value)
        )  # fmt: skip

    def offenders(self) -> list[str]:
        counted = self._counted()
        return [
            function.name
            for function in ast.walk(self.tree)
            if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef)
            for mark in function.decorator_list
            if isinstance(mark, ast.Call) and ast.unparse(mark.func).endswith("parametrize") and len(mark.args) > 1
            if self.made(mark.args[1]) and ast.unparse(mark.args[1]) not in counted
        ]

    def _counted(self) -> set[str]:
        """What the file asserts the length of, as a number."""
        return {
            ast.unparse(test.left.args[0])
            for test in ast.walk(self.tree)
            if isinstance(test, ast.Compare)
            and isinstance(test.left, ast.Call)
            and ast.unparse(test.left.func) == "len"
            if isinstance(test.comparators[-1], ast.Constant)
        }


@functools.cache
def _tables_of(module: str) -> frozenset[str]:
    file = ROOT / (module.replace(".", "/") + ".py")
    return frozenset(Module(file.read_text("utf-8"), "penstock").tables) if file.is_file() else frozenset()


def _offenders(file: Path) -> list[str]:
    name = file.relative_to(ROOT).as_posix()
    return [f"{name}::{test}" for test in Module(file.read_text("utf-8"), "penstock").offenders()]


def test_no_test_makes_its_cases_from_a_table_of_the_code() -> None:
    found = [one for file in sorted((ROOT / "tests").rglob("test_*.py")) for one in _offenders(file)]
    assert sorted(set(found) - ALLOWED.keys()) == [], "write the cases out, or assert how many there are"
    assert sorted(ALLOWED.keys() - set(found)) == [], "nothing to allow any more"


@pytest.mark.parametrize(
    ("cases", "refused"),
    [
        ("TABLE", True), ("sorted(TABLE)", True), ("TABLE.items()", True), ("room.TABLE", True), ("CASES", True),
        ("[(a, 1) for a in TABLE]", True), ("[*TABLE, 'x']", True), ("cases()", True),
        ("[Thing('a'), Thing('b')]", False), ("['a', 'b']", False), ("COUNTED", False), ("[TABLE['a']]", False),
    ],
)  # fmt: skip
def test_what_is_refused(cases: str, refused: bool) -> None:
    text = f"""
from penstock.x import TABLE, Thing, room
CASES = [(a, b) for a, b in TABLE.items()]
COUNTED = sorted(TABLE)
def cases():
    return [a for a in TABLE]
def test_count():
    assert len(COUNTED) == 3
@pytest.mark.parametrize("case", {cases})
def test_it(case): ...
"""
    assert (Module(text, "penstock").offenders() == ["test_it"]) is refused
