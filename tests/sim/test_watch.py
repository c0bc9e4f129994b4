"""The watch, both ways: it says nothing about what a real engine commits, and notices each thing that is put wrong."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from penstock.kernel import fact as F
from penstock.kernel.state import COMPLETED
from penstock.net.compiled import Compiled
from penstock.store.run_store import Batch
from tests.sim.faults import Violation
from tests.sim.nets import by_hand
from tests.sim.sim import Sim
from tests.sim.watch import Watch

Facts = list[list[Any]]


class Recorded(Sim):
    """Keeps what was committed, a turn for each command: who looks at it again does not know what was left over."""

    slices = False

    def __init__(self, *names: str, fails: frozenset[str] = frozenset()) -> None:
        works = [by_hand(name) for name in names]
        for work in works:
            work.fails |= fails
        super().__init__(1, plan={}, works=works, kind="dict")
        self.publish = False
        self.batches: list[Batch] = []

    def commit(self, port: Any, batch: Batch) -> None:
        super().commit(port, batch)
        self.batches.append(batch)


def recorded(*names: str, **options: Any) -> Recorded:
    sim = Recorded(*names, **options)
    assert sim.run().violation is None
    return sim


def watched(sim: Recorded) -> Watch:
    """A fresh watch that has seen it all again."""
    watch = Watch({h: Compiled(c.net) for h, c in sim.nets.items()}, lambda no: None, lambda shadow: True)
    for batch in sim.batches:
        watch.committed(batch, publish=False)
    return watch


def with_facts(sim: Recorded, change: Callable[[Facts], Facts | None]) -> None:
    """Change the facts of the first turn for which the change is not None; numbers and rows stay as they were."""
    for batch in sim.batches:
        for i, (no, first, last, at, body) in enumerate(batch.journal):
            facts = change(F.decode_facts(bytes(body)))
            if facts is not None:
                shift = len(facts) - (last - first + 1)
                batch.journal[i] = (no, first, last + shift, at, F.encode_facts(facts))
                return
    raise AssertionError("there is no such turn")


def test_what_was_committed_is_in_order() -> None:
    for names in (("fan",), ("timers",), ("saga",), ("epochs", "twice"), ("signals", "work"), ("caller", "once")):
        sim = recorded(*names)
        assert watched(sim).facts == sim.watch.facts > 0


def _at(
    tag: int, change: Callable[[list[Any]], list[list[Any]]], where: Callable[[list[Any]], bool] = lambda f: True
) -> Callable[[Facts], Facts | None]:
    """Replace the first fact of a kind."""

    def apply(facts: Facts) -> Facts | None:
        found = next((i for i, f in enumerate(facts) if f[0] == tag and where(f)), None)
        return None if found is None else [*facts[:found], *change(facts[found]), *facts[found + 1 :]]

    return apply


WRONG: dict[str, tuple[str, str, Callable[[Facts], Facts | None]]] = {
    "a fact twice": ("fan", "K6", _at(F.PUT, lambda f: [f, f])),
    "a status that no table has": ("fan", "K3", _at(F.MOVED, lambda f: [[f[0], "PENDING", "start", None]])),
    "a join that takes one edge": (
        "fan",
        "K8",
        _at(F.PASSED, lambda f: [[*f[:6], f[6][:1], *f[7:]]], lambda f: len(f[6]) > 1),
    ),
    "an effect asked twice": ("fan", "E4", _at(F.ASKED, lambda f: [f, f])),
    "an effect of nobody": ("fan", "E1", _at(F.ASKED, lambda f: [[f[0], 99, *f[2:]]])),
    "a firing that settles twice": ("fan", "E4", _at(F.SETTLED, lambda f: [f, f])),
    "a timer twice": ("timers", "K17", _at(F.TIMER_SET, lambda f: [f, [f[0], f[1] + 1, *f[2:]]])),
    "a timer that goes twice": ("timers", "K17", _at(F.TIMER_GONE, lambda f: [f, f])),
    "an answer to another attempt": ("saga", "K16", _at(F.ANSWERED, lambda f: [[f[0], f[1], f[2] + 1, *f[3:]]])),
    "undone in the wrong order": ("saga", "C5", _at(F.UNDO_PLANNED, lambda f: [[f[0], f[1][::-1], *f[2:]]])),
}


@pytest.mark.parametrize("what", WRONG)
def test_what_is_put_wrong_is_noticed(what: str) -> None:
    name, check, change = WRONG[what]
    sim = recorded(name, fails=frozenset({"pay"}))
    with_facts(sim, change)
    with pytest.raises(Violation) as found:
        watched(sim)
    assert found.value.check == check


def _hole(batch: Batch) -> None:
    no, first, last, at, body = batch.journal[0]
    batch.journal[0] = (no, first + 1, last + 1, at, body)


def _status(batch: Batch) -> None:
    batch.ended[0] = (COMPLETED + 1, *batch.ended[0][1:])


def _checkpoint(batch: Batch) -> None:
    row = batch.moved[0]
    batch.moved[0] = (*row[:4], bytes(row[4])[:-1] + b"\x07", *row[5:])


def _wake(batch: Batch) -> None:
    row = batch.moved[0]
    batch.moved[0] = (*row[:2], 1, *row[3:])


@pytest.mark.parametrize(
    ("check", "pick", "change"),
    [
        ("K2", lambda b: b.journal and not b.new, _hole),
        ("H9", lambda b: b.ended, _status),
        ("K1", lambda b: b.moved and b.journal, _checkpoint),
        ("K17", lambda b: b.moved and b.journal, _wake),
    ],
)
def test_rows_that_do_not_say_what_the_journal_says(check: str, pick: Any, change: Callable[[Batch], None]) -> None:
    sim = recorded("signals")
    change(next(batch for batch in sim.batches if pick(batch)))
    with pytest.raises(Violation) as found:
        watched(sim)
    assert found.value.check == check


def test_a_commit_that_is_missing_or_comes_twice() -> None:
    for again in (0, 2):
        sim = recorded("fan")
        sim.batches[1:2] = sim.batches[1:2] * again
        with pytest.raises(Violation) as found:
            watched(sim)
        assert found.value.check == "K2"
