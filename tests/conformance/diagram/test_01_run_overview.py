"""1, overview: tokens on the edges, and nothing else, make a diagram go on."""

from __future__ import annotations

from pathlib import Path

import pytest

from penstock import Penstock
from penstock.kernel import command as C
from tests.conformance.diagram.make import END, START, job
from tests.conformance.diagram.running import PATIENCE_S, Ran, awaited, door, drawn, go

ROW = drawn([START, job("A"), job("B"), END], ["Start>A", "A>B", "B>End"])


def test_every_execution_follows_a_token(tmp_path: Path) -> None:
    """D-1.1, D-9.1, D-2.1.3: but for START every execution takes a token that its source has put on that very edge."""
    ran = go(tmp_path, ROW)
    assert ran.order() == ["Start", "A", "B", "End"]
    lying: set[tuple[str, int, int]] = set()
    edges = ran.net.edge_by_id
    last = ""
    for line in ran.lines:
        if line.fact == "settled":
            last = line.node
        elif line.fact == "put":
            assert edges[line.edge].src.id == last
            lying.add((line.edge, line.epoch, line.data["token"]))
        elif line.fact == "fired":
            taken = {(edge, line.epoch, number) for edge, number in line.data["takes"]}
            assert taken <= lying
            assert bool(taken) == (line.node != "Start")
            assert all(edges[edge].dst.id == line.node for edge, _, _ in taken)
            lying -= taken
    assert not lying


def test_what_gets_no_token_never_executes(tmp_path: Path) -> None:
    """D-1.1, D-9.1: a node that no edge leads to rests, whatever else goes on."""
    other = {"label": "Other", "type": "endpoint"}
    ran = go(tmp_path, drawn([START, job("A"), END, job("Lonely"), other], ["Start>A", "A>End", "Lonely>Other"]))
    assert ran.order() == ["Start", "A", "End"]
    assert ran.look.nodes["Lonely"] == "SKIPPED"


@awaited
async def test_without_a_token_nothing_moves(tmp_path: Path) -> None:
    """D-1.1, D-8.1.7: asking every node again changes nothing where no token has come."""
    ask = {"label": "Ask", "type": "user_response", "prompt": "?"}
    async with door(tmp_path) as p:
        run = await p.start(p.release(drawn([START, ask, job("A"), END], ["Start>Ask", "Ask>A", "A>End"])))
        await p.wait(run, until_waiting=True, timeout=PATIENCE_S)
        before = _state(p, run)
        for _ in range(3):
            await p.command(run, C.nudge())
        assert _state(p, run) == before
        await p.respond(run, "Ask", "yes")
        assert (await p.wait(run, timeout=PATIENCE_S)).status == "COMPLETED"


def _state(p: Penstock, run: str) -> tuple[list[str], dict[str, int]]:
    return Ran(p, run).order(), p.view(run).tokens


@pytest.mark.parametrize("width", [1, 2, 5])
def test_one_token_per_edge_and_execution(tmp_path: Path, width: int) -> None:
    """D-2.1.3, D-7.1.6: a node publishes one token on each of its edges, with the same body."""
    names = [f"N{i}" for i in range(width)]
    nodes = [START, job("Split"), *(job(n) for n in names), END]
    ran = go(tmp_path, drawn(nodes, ["Start>Split", *(f"Split>{n}" for n in names), *(f"{n}>End" for n in names)]))
    assert [ran.puts(f"Split>{n}") for n in names] == [[(f"Split>{n}", 0, 0)] for n in names]
    assert {str(ran.bodies(f"Split>{n}")) for n in names} == {str(ran.output("Split"))}
    assert ran.status == "COMPLETED"
