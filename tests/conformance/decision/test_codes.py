"""The codes of C-80: each is in the catalogue, in the source with its category, and in what a test expects."""

from __future__ import annotations

import ast
import functools
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.house.files import ROOT

pytestmark = pytest.mark.xdist_group("source")  # the trees of all files are read once

#: codes that nothing of this version says, and why
NOT_SAID = {
    "WORKER_LIMIT": "who finds no free worker waits for one (C-78) and does not fail; no start is refused",
    "CHECKPOINT_TOO_LARGE": "no requirement gives a checkpoint a largest size: what is large is kept beside it",
}


def catalogue() -> Iterator[tuple[str, str]]:
    """(code, category) as C-80 has them."""
    text = (ROOT / "docs" / "requirements" / "workflow.md").read_text("utf-8")
    line = next(one for one in text.splitlines() if one.startswith("| C-80 |"))
    for codes, category in re.findall(r"`([A-Z0-9_, *]+)` \((\w+)\)", line):
        yield from ((code.strip().removesuffix("*"), category) for code in codes.split(","))


CODES = dict(catalogue())


@functools.cache
def parsed(folder: str) -> list[tuple[Path, ast.Module]]:
    return [(file, ast.parse(file.read_text("utf-8"))) for file in sorted((ROOT / folder).rglob("*.py"))]


def texts(node: ast.AST) -> Iterator[str]:
    for one in ast.walk(node):
        if isinstance(one, ast.Constant) and isinstance(one.value, str):
            yield one.value


@functools.cache
def expected() -> frozenset[str]:
    """Words of the texts that tests assert, or are run with."""
    found: set[str] = set()
    for file, module in parsed("tests"):
        if file == Path(__file__):
            continue
        for one in ast.walk(module):
            if isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef) and one.name.startswith("test_"):
                held = [part for part in ast.walk(one) if isinstance(part, ast.Assert | ast.withitem)]
                found |= {text for part in (*held, *one.decorator_list) for text in texts(part)}
    return frozenset(word for text in found for word in re.findall(r"[A-Z][A-Z0-9_]+", text))


@functools.cache
def words() -> frozenset[str]:
    return frozenset(text for _, module in parsed("src") for text in texts(module))


@functools.cache
def said() -> frozenset[tuple[str, str]]:
    """(code, category) wherever the source has the two beside each other."""
    found: set[tuple[str, str]] = set()
    for _, module in parsed("src"):
        for one in ast.walk(module):
            parts = one.args if isinstance(one, ast.Call) else one.elts if isinstance(one, ast.Tuple) else []
            beside = [part.value for part in parts if isinstance(part, ast.Constant) and isinstance(part.value, str)]
            found |= set(zip(beside, beside[1:], strict=False))
    return frozenset(found)


def test_the_catalogue_has_them() -> None:
    """C-80: 38 codes and the family of business errors, each with one category."""
    assert len(CODES) == 39 and "BUSINESS_" in CODES and set(NOT_SAID) < set(CODES)
    assert set(CODES.values()) == {
        "validation", "authorization", "timeout", "external", "transient", "resource", "permanent", "business",
    }  # fmt: skip


@pytest.mark.parametrize("code", sorted(set(CODES) - set(NOT_SAID)))
def test_a_code_is_said_and_expected(code: str) -> None:
    """C-80: the source says it with its category, if it has the two in one place; a test expects it."""
    assert any(word.startswith(code) for word in words()), "nobody says it"
    assert any(word.startswith(code) for word in expected()), "no test expects it"
    kinds = {category for word, category in said() if word.startswith(code) and category in set(CODES.values())}
    assert kinds <= {CODES[code]}, "it is said with another category"


@pytest.mark.parametrize("code", NOT_SAID)
def test_what_is_not_said_is_nowhere(code: str) -> None:
    """C-80: when somebody begins to say it, it leaves this list."""
    assert code not in words()
