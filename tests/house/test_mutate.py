"""The command that breaks lines: what it breaks, what it leaves alone, and that its explanations still fit."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from tests.house.files import ROOT
from tools.mutate import sample
from tools.mutate.mutants import Mutant, mutants
from tools.mutate.server import Watcher

SOURCE = '''"""About."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    LIMIT = 5
__slots__ = ("a", "b")
KNOWN = ("left", "right")


class Form(Fields):
    """A form."""

    count: Annotated[int, Meta(ge=1, description="how many")] = 3
    side: Literal["left", "right"] = "left"


def chosen(first: int, second: int = 0) -> str:
    """Which."""
    assert first < 9, "too large"
    log.warning("it is so")
    if first > second and not second:
        raise ValueError("no")
    told(first, second, hint="left")
    return "left" if first == 1 else f"right {1 + 1}"
'''


def changed(source: str = SOURCE) -> list[tuple[str, str]]:
    return [
        (made.kind, made.diff(source.encode()).rpartition("\n+")[2].strip())
        for made in mutants("x.py", source.encode())
    ]


def test_what_is_broken() -> None:
    assert changed() == [
        ("constant", "KNOWN = ('left_', \"right\")"),
        ("constant", "KNOWN = (\"left\", 'right_')"),
        ("off by one", 'count: Annotated[int, Meta(ge=2, description="how many")] = 3'),
        ("off by one", 'count: Annotated[int, Meta(ge=0, description="how many")] = 3'),
        ("off by one", 'count: Annotated[int, Meta(ge=1, description="how many")] = 4'),
        ("off by one", 'count: Annotated[int, Meta(ge=1, description="how many")] = 2'),
        ("constant", 'side: Literal[\'left_\', "right"] = "left"'),
        ("constant", 'side: Literal["left", \'right_\'] = "left"'),
        ("constant", 'side: Literal["left", "right"] = \'left_\''),
        ("off by one", "def chosen(first: int, second: int = 1) -> str:"),
        ("condition", "if not (first > second and not second):"),
        ("logic", "if first > second or not second:"),
        ("comparison", "if first >= second and not second:"),
        ("condition", "if first > second and (second):"),
        ("deleted", "pass"),
        ("deleted", "pass"),
        ("arguments", 'told(second, first, hint="left")'),
        ("return", "return None"),
        ("condition", 'return "left" if not (first == 1) else f"right {1 + 1}"'),
        ("comparison", 'return "left" if first != 1 else f"right {1 + 1}"'),
        ("off by one", 'return "left" if first == 2 else f"right {1 + 1}"'),
        ("off by one", 'return "left" if first == 0 else f"right {1 + 1}"'),
        ("constant", "return 'left_' if first == 1 else f\"right {1 + 1}\""),
    ]


def test_a_key_outlives_lines_that_move_and_a_longer_sample_begins_with_the_shorter() -> None:
    moved = SOURCE.replace("class Form", "OTHER = 1\n\n\nclass Form")
    before, after = (mutants("x.py", text.encode()) for text in (SOURCE, moved))
    assert {made.key for made in before} < {made.key for made in after} and len({m.key for m in before}) == len(before)

    def lines(made: list[Mutant], seed: int) -> list[str]:
        ranked = sorted(made, key=lambda one: sample._rank(seed, "line", one.key))
        return [one.key for one in ranked]

    assert lines(before, 1) == [key for key in lines(after, 1) if key in {made.key for made in before}]
    assert lines(before, 1) != lines(before, 2)


def test_a_sample_is_of_different_lines() -> None:
    made = sample.every(["kernel"], "kernel/ready")
    picked = sample.chosen(made, 12, 3)
    assert len({one.line for one in picked}) == 12 and sample.chosen(made, 5, 3) == picked[:5]
    with pytest.raises(SystemExit):
        sample.every(["cellar"])


def test_a_default_is_seen_by_whoever_runs_the_function() -> None:
    """It is read at import: only the lines of the body tell which tests can notice it."""
    (made,) = [made for made in mutants("x.py", SOURCE.encode()) if made.kind == "off by one" and made.function and
               made.line == SOURCE[: SOURCE.index("def chosen")].count("\n") + 1]  # fmt: skip
    assert made.last_line == SOURCE.count("\n")


def test_a_test_that_is_gone_is_not_taken_for_one_that_fails() -> None:
    """The lines may have been collected before it got another name; the others are run, in the order asked for."""
    items = [SimpleNamespace(nodeid=f"t.py::{name}") for name in ("a", "b", "c")]
    Watcher(["t.py::c", "t.py::gone", "t.py::a"]).pytest_collection_modifyitems(items)
    assert [item.nodeid for item in items] == ["t.py::c", "t.py::a"]


def test_what_is_explained_is_still_there() -> None:
    """An explanation is of a line that stands in its file, and says more than a word."""
    for file, before, after in sample.explained():
        lines = " ".join(line.strip() for line in (ROOT / file).read_text("utf-8").splitlines())
        assert before in lines, f"{file}: «{before}» is gone; take its explanation away"
        assert before != after
    assert all(len(why.split()) > 5 for why in sample.explained().values())
