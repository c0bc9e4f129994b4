"""10.1, the successful loop: the nine steps of the seed, fact by fact, event by event."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conformance.diagram.running import EXAMPLES, Ran, go, loop

GOLDEN = Path(__file__).parents[2] / "kernel" / "golden" / "diagrams"

#: Number of the step, its requirement, its node and iteration, and the one token it publishes
Step = tuple[int, str, str, int, str | None, int | None]
STEPS = [
    (1, "D-10.1.1", "Start", 1, "Start>PersonJob", 0),
    (2, "D-10.1.2", "PersonJob", 1, "PersonJob>Condition", 0),
    (3, "D-10.1.3", "Condition", 1, "Condition:condfalse>PersonJob", 0),
    (4, "D-10.1.4", "PersonJob", 2, "PersonJob>Condition", 1),
    (5, "D-10.1.5", "Condition", 2, "Condition:condfalse>PersonJob", 1),
    (6, "D-10.1.6", "PersonJob", 3, "PersonJob>Condition", 2),
    (7, "D-10.1.7", "Condition", 3, "Condition:condtrue>Ask", 0),
    (8, "D-10.1.8", "Ask", 1, "Ask>Endpoint", 0),
    (9, "D-10.1.9", "Endpoint", 1, None, None),
]


def steps_of(ran: Ran) -> list[tuple[str, int, str | None, int | None]]:
    """Every firing with the tokens that were put before the next one fired: a firing without one has None."""
    found: list[tuple[str, int, str | None, int | None]] = []
    node, visit, open_ = "", 0, False
    for line in ran.lines:
        if line.fact == "fired":
            node, visit = line.node, line.data["visit"]
        elif line.fact == "settled":
            open_ = True
            found.append((node, visit, None, None))
        elif line.fact == "put":
            assert open_, "one token per step"
            found[-1] = (node, visit, line.edge, line.data["token"])
            open_ = False
    return found


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> Ran:
    return go(tmp_path_factory.mktemp("loop"), EXAMPLES / "loop.yaml")


@pytest.mark.parametrize("step", STEPS, ids=lambda step: step[1])
def test_each_step(ran: Ran, step: Step) -> None:
    """The step of this number is this execution of this node, and it publishes this one token."""
    number, _, *expected = step
    assert steps_of(ran)[number - 1] == tuple(expected)


def test_there_are_nine_steps_and_then_it_is_complete(ran: Ran) -> None:
    """D-A.1, D-2.2.1: exactly nine steps in order, all in epoch 0; MAXITER_REACHED; the result is stored."""
    assert [(n, i, e, t) for _, _, n, i, e, t in STEPS] == steps_of(ran)
    assert {x.epoch for x in ran.lines if x.fact in ("put", "fired", "settled")} == {0}
    assert ran.look.nodes["PersonJob"] == "MAXITER_REACHED"
    assert ran.status == "COMPLETED"
    assert ran.look.outputs == {"Endpoint": ran.bodies("Ask>Endpoint")[0]}


def test_every_iteration_works_on_the_one_before(ran: Ran) -> None:
    """D-6.2.3, D-10.1.3: what comes back along the loop is what PersonJob had answered."""
    answers = ran.output("PersonJob")
    assert len(set(answers)) == 3
    assert ran.bodies("Condition:condfalse>PersonJob") == answers[:2]
    assert answers[0] in answers[1]
    assert ran.bodies("Condition:condtrue>Ask") == answers[2:]


def work(node: str) -> list[tuple[str, str]]:
    return [("node.started", node), ("node.completed", node)]


def test_the_events_of_the_nine_steps(ran: Ran) -> None:
    """D-X.22, D-6.1.3: what a subscriber is told, in order."""
    shown = [(e.name, e.node or e.edge) for e in ran.events if not e.name.startswith("token.")]
    again = [*work("PersonJob"), *work("Condition"), ("branch.decided", "Condition")]
    assert shown == [
        ("run.started", ""), *work("Start"), *again, *again,
        *work("PersonJob"), ("node.maxiter_reached", "PersonJob"), *work("Condition"), ("branch.decided", "Condition"),
        *work("Ask"), *work("Endpoint"), ("run.completed", ""),
    ]  # fmt: skip
    assert [e.data["branch"] for e in ran.told("branch.decided")] == ["condfalse", "condfalse", "condtrue"]


def test_the_whole_trace(tmp_path: Path, golden: Callable[[Path, str], None]) -> None:
    """D-10.1.1, D-10.1.9, D-11.4: fact by fact."""
    golden(GOLDEN / "nine_steps.trace", go(tmp_path, loop()).trace())


def test_the_native_form_runs_the_same(tmp_path: Path) -> None:
    """D-A.1, D-X.14: the same diagram in the native JSON form takes the same nine steps."""
    native = go(tmp_path, EXAMPLES / "loop.native.json")
    assert steps_of(native) == [(n, i, e, t) for _, _, n, i, e, t in STEPS]


def test_skippable_takes_the_same_nine_steps(tmp_path: Path) -> None:
    """D-A.2, D-12.1: the same with `skippable: true` on the condition; no deadlock."""
    skippable = go(tmp_path, EXAMPLES / "loop_skippable.yaml")
    assert steps_of(skippable) == [(n, i, e, t) for _, _, n, i, e, t in STEPS]
    assert skippable.status == "COMPLETED"


@pytest.mark.parametrize("most", [1, 2, 7])
def test_other_limits(tmp_path: Path, most: int) -> None:
    """D-6.1.1, D-6.2.1: as many iterations as `max_iteration` says."""
    found = go(tmp_path, loop(most))
    assert found.order() == ["Start", *["PersonJob", "Condition"] * most, "Ask", "Endpoint"]
    assert found.status == "COMPLETED"
