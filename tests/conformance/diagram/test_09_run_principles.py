"""9, core principles: each of the five, in one run that needs them all."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conformance.diagram.make import END, START, cond, job
from tests.conformance.diagram.running import EXAMPLES, Ran, awaited, door, drawn, go, saw, until_settled


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> Ran:
    """A loop of three epochs in which two branches meet, and a condition that leaves one branch out."""
    nodes = [
        START,
        job("Head", max_iteration=1),
        job("Left"),
        job("Right"),
        saw("Both"),
        cond("Even", expression="epoch % 2 == 0"),
        job("Extra"),
        cond("More", expression="epoch >= 2", loop_controller=True, join_policy="any"),
        END,
    ]
    ways = [
        "Start>Head", "Head>Left", "Head>Right", "Left>Both", "Right>Both", "Both>Even", "Even[condtrue]>Extra",
        "Even[condfalse]>More", "Extra>More", "More[condfalse]>Head", "More[condtrue]>End",
    ]  # fmt: skip
    return go(tmp_path_factory.mktemp("principles"), drawn(nodes, ways))


def test_tokens_drive(ran: Ran) -> None:
    """D-9.1, D-11.1: as many executions as tokens allow, none without; the run ends when they are used up."""
    assert ran.order().count("Head") == 3
    assert all(x.data["takes"] for x in ran.of("fired") if x.node != "Start")
    assert (ran.status, ran.balance()) == ("COMPLETED", 0)


@awaited
async def test_nodes_are_stateless(tmp_path: Path) -> None:
    """D-9.2: two runs of one release, one after the other in one process, know nothing of each other."""
    async with door(tmp_path) as p:
        first = await until_settled(p, EXAMPLES / "loop.yaml")
        second = await until_settled(p, EXAMPLES / "loop.yaml")
    assert first.trace() == second.trace()


def test_epochs_are_isolated(ran: Ran) -> None:
    """D-9.3, D-2.2.4: every execution takes tokens of its own epoch, and each epoch joins its own."""
    put = {(x.edge, x.epoch, x.data["token"]) for x in ran.of("put")}
    for x in ran.of("fired"):
        assert {(edge, x.epoch, number) for edge, number in x.data["takes"]} <= put
    assert [(x.epoch, [e for e, _ in x.data["takes"]]) for x in ran.of("fired", "Both")] == [
        (epoch, ["Left>Both", "Right>Both"]) for epoch in (0, 1, 2)
    ]


def test_flow_is_controlled_by_what_is_emitted(ran: Ran) -> None:
    """D-9.4, D-4.1.4: Extra executes in the epochs in which its branch got a token, and in no other."""
    assert [x.epoch for x in ran.of("fired", "Extra")] == [0, 2]
    assert [epoch for _, epoch, _ in ran.puts("Even:condtrue>Extra")] == [0, 2]
    assert [epoch for _, epoch, _ in ran.puts("Even:condfalse>More")] == [1]


def test_joins_synchronise(ran: Ran) -> None:
    """D-9.5, D-7.2.1: Left and Right begin together and neither waits for the other; Both waits for the two."""
    for epoch in (0, 1, 2):
        mine = [(x.fact, x.node) for x in ran.lines if x.epoch == epoch and x.fact in ("fired", "settled")]
        both = mine.index(("fired", "Both"))
        assert {("fired", "Left"), ("fired", "Right"), ("settled", "Left"), ("settled", "Right")} <= set(mine[:both])
        assert max(mine.index(("fired", n)) for n in ("Left", "Right")) < min(
            mine.index(("settled", n)) for n in ("Left", "Right")
        )
