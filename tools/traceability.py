"""Which requirements of docs/requirements does a test name, and which does none?

    python -m tools.traceability                   one line per catalogue, its open sections, then what looks thin
    python -m tools.traceability --missing D-3     the ids under that prefix that no test names, with their text
    python -m tools.traceability --sample 10       ten named ids drawn by the HEAD commit: break each, see its test fail

A test names a requirement in its docstring, in a decorator (or a table the decorator uses) or in its own name
(test_d_3_2_…). A test that checks nothing names nothing. Prefixes count whole segments: D-1 is not D-10.
"""

from __future__ import annotations

import ast
import random
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
CATALOGUES = ("diagrams", "pipelines", "process", "tasks", "workflow")
ID = r"(?<![A-Za-z0-9-])(?:[WPTFD]-(?:[A-Z]|\d+)(?:\.\d+[a-z]?)+|C-\d\d|TC-WF-\d{3})(?![\w-])"
DEFINED = re.compile(rf"^\s*(?:\|\s*|[-*]\s+)?(?:\*\*)?({ID})(?:\s*\[D\])?(?:\*\*)?(?=[\s|:*])(.*)$")
NAMED = re.compile(ID)
IN_NAME = re.compile(r"(?<![a-z0-9])([wptfd]_(?:[xaerps]|\d+[a-z]?)(?:_\d+[a-z]?)*|c_\d\d)(?=_|$)")
WAIVED = re.compile(rf"^\W*({ID})\s*:\s*(\S.*)$")
CHECKS = re.compile(r"raises|assert|check|expect|golden|verify")
MANY = 8  # a test that names more ids than this is a list, not a test


class Requirement(NamedTuple):
    id: str
    catalogue: str
    text: str


class Test(NamedTuple):
    file: str
    name: str
    ids: frozenset[str]
    checks: bool
    table: bool

    @property
    def where(self) -> str:
        return f"{self.file}::{self.name}"


def requirements(root: Path = ROOT) -> dict[str, Requirement]:
    """Every id a catalogue defines, in the catalogues' order; the first line that defines an id wins."""
    found: dict[str, Requirement] = {}
    for catalogue in CATALOGUES:
        for line in (root / "docs/requirements" / f"{catalogue}.md").read_text(encoding="utf-8").splitlines():
            if match := DEFINED.match(line):
                found.setdefault(match[1], Requirement(match[1], catalogue, match[2].strip(" |*")))
    return found


def waived(root: Path = ROOT) -> dict[str, str]:
    """The ids no test can show, each with its reason."""
    file = root / "docs/requirements/waived.md"
    lines = file.read_text(encoding="utf-8").splitlines() if file.is_file() else []
    return {match[1]: match[2] for line in lines if (match := WAIVED.match(line))}


def all_tests(root: Path = ROOT) -> list[Test]:
    """Every test of tests/ that names an id, in the order of files and lines."""
    files = sorted({*(root / "tests").rglob("test_*.py"), *(root / "tests").rglob("*_test.py")})
    return [test for file in files for test in _tests_of(file, root) if test.ids]


def named(root: Path = ROOT) -> dict[str, list[str]]:
    """id → the tests that name it and check something."""
    found: dict[str, list[str]] = {}
    for test in all_tests(root):
        for requirement in sorted(test.ids) if test.checks else ():
            found.setdefault(requirement, []).append(test.where)
    return found


def under(requirement: str, prefix: str) -> bool:
    """Whole segments only: D-1 holds D-1.1 and not D-10.1; W- holds everything of its catalogue."""
    rest = requirement[len(prefix) :]
    return requirement.startswith(prefix) and (not prefix or prefix.endswith("-") or rest[:1] in ("", "."))


def _tests_of(file: Path, root: Path) -> Iterator[Test]:
    text = file.read_text(encoding="utf-8", errors="replace")
    try:
        tree = ast.parse(text)
    except SyntaxError:
        return
    tables = {
        target.id: ast.get_source_segment(text, node) or ""
        for node in tree.body
        if isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test"):
            source = [ast.get_docstring(node) or ""]
            for decorator in node.decorator_list:
                source.append(ast.get_source_segment(text, decorator) or "")
                source += [tables.get(name.id, "") for name in ast.walk(decorator) if isinstance(name, ast.Name)]
            ids = {*NAMED.findall("\n".join(source)), *map(_id_of, IN_NAME.findall(node.name))}
            is_table = any("parametrize" in part for part in source)
            yield Test(file.relative_to(root).as_posix(), node.name, frozenset(ids), _checks(node), is_table)


def _id_of(word: str) -> str:
    head, *rest = word.split("_")
    return f"{head.upper()}-{'.'.join(part.upper() if part.isalpha() else part for part in rest)}"


def _checks(test: ast.AST) -> bool:
    return any(
        isinstance(node, ast.Assert)
        or (isinstance(node, ast.Attribute) and CHECKS.search(node.attr))
        or (isinstance(node, ast.Name) and CHECKS.search(node.id))
        for node in ast.walk(test)
    )


def _section(requirement: str) -> str:
    return requirement.split(".", 1)[0] if "." in requirement else requirement.rsplit("-", 1)[0]


def _report() -> None:
    known, seen, without = requirements(), named(), waived()
    for catalogue in CATALOGUES:
        mine = [one for one in known.values() if one.catalogue == catalogue]
        have = {one.id for one in mine if one.id in seen or one.id in without}
        sections: dict[str, list[str]] = {}
        for one in mine:
            sections.setdefault(_section(one.id), []).append(one.id)
        still = [f"{s}:{len(have & set(ids))}/{len(ids)}" for s, ids in sections.items() if not have.issuperset(ids)]
        print(f"{catalogue}: {len(have)} of {len(mine)} named by a test or waived   open: {' '.join(still) or 'none'}")
    print(f"waived with a reason: {len(without)}")
    for line in complaints():
        print(line)


def complaints(root: Path = ROOT) -> list[str]:
    """What a reader should look at: tests that prove little, ids that exist nowhere."""
    known, found = requirements(root), []
    for test in all_tests(root):
        if not test.checks:
            found.append(f"thin: {test.where} checks nothing")
        elif len(test.ids) > MANY and not test.table:
            found.append(f"thin: {test.where} names {len(test.ids)} ids")
        found += [f"unknown: {test.where} names {one}" for one in sorted(test.ids - known.keys())]
    return found + [f"unknown: waived.md names {one}" for one in waived(root) if one not in known]


def main(arguments: list[str]) -> None:
    known, seen, without = requirements(), named(), waived()
    if arguments[:1] == ["--missing"]:
        prefix = (arguments[1:] or [""])[0]
        for one in known.values():
            if under(one.id, prefix) and one.id not in seen and one.id not in without:
                print(f"{one.id}  {one.text[:150]}")
    elif arguments[:1] == ["--sample"]:
        head = subprocess.run(["git", "rev-parse", "HEAD"], capture_output=True, text=True, cwd=ROOT).stdout
        pool = sorted(seen.keys() & known.keys())
        for drawn in random.Random(head).sample(pool, min(int((arguments[1:] or ["10"])[0]), len(pool))):
            print(f"{drawn}  {known[drawn].text[:90]}\n    {'  '.join(seen[drawn][:3])}")
    else:
        _report()


if __name__ == "__main__":
    main(sys.argv[1:])
