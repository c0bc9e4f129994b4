"""Runs a folder of DMN models with their expected values (the test case form of the public DMN suite) and counts.

`python -m tools.dmn_suite FOLDER [--list wrong]`: every expected value is right, refused by name, wrong, silent (null
instead of a value), or the engine crashed.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from penstock.errors import PenstockError
from penstock.executors.parts.rules.dmn import read_model
from penstock.executors.parts.rules.dmn.cases import WRONG, Case, read_suite_form, run_case
from penstock.feel import from_python

KINDS = ("right", "refused", "wrong", "silent", "crashed")


class Outcome(NamedTuple):
    kind: str  # one of KINDS
    case: str  # file, case and decision
    note: str


def run_folder(folder: Path) -> list[Outcome]:
    """What comes of every expected value below the folder, in the order of the files' names."""
    outcomes: list[Outcome] = []
    for tests in sorted(folder.rglob("*-test-*.xml")):
        outcomes += _file(tests)
    return outcomes


def counts(outcomes: list[Outcome]) -> dict[str, int]:
    found = Counter(outcome.kind for outcome in outcomes)
    return {kind: found[kind] for kind in KINDS}


def _file(tests: Path) -> Iterator[Outcome]:
    name, cases = read_suite_form(tests.read_bytes(), tests.name)
    others = [other.read_bytes() for other in sorted(tests.parent.glob("*.dmn")) if other.name != name]
    labels = [f"{tests.parent.name} {case.name}" for case in cases]
    try:
        model = read_model((tests.parent / name).read_bytes(), others)
    except PenstockError as error:
        yield from (Outcome("refused", label, str(error)) for label in labels)
        return
    now = from_python(datetime.now(UTC))
    for case, label in zip(cases, labels, strict=True):
        try:
            outcome = run_case(model, case, now=now)
        except Exception as error:
            yield Outcome("crashed", label, f"{type(error).__name__}: {error}")
            continue
        kind = "silent" if outcome.kind == WRONG and outcome.got == "null" else outcome.kind
        yield Outcome(kind, label, _note(outcome.got, case, kind))


def _note(got: str, case: Case, kind: str) -> str:
    return "" if kind == "right" else got if kind == "refused" else f"{got} instead of {case.shown(case.wanted)}"


def main(words: list[str]) -> int:
    outcomes = run_folder(Path(words[0]))
    for kind in words[2:] if words[1:2] == ["--list"] else ():
        for outcome in outcomes:
            if outcome.kind == kind:
                print(f"{outcome.kind}  {outcome.case}: {outcome.note}")
    figures = counts(outcomes)
    print("  ".join(f"{kind} {figures[kind]}" for kind in KINDS))
    return 1 if figures["wrong"] or figures["silent"] or figures["crashed"] else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
