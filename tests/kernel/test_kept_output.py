"""A firing that fails and has an output all the same (C-57)."""

from __future__ import annotations

from typing import Any

import pytest

from penstock.kernel import command as C
from penstock.kernel.failure import Failure
from penstock.net.model import Edge, Effect, Net, Node, OnError
from tests.kernel.harness import Sim

OUTPUT = {"status": "rolled_back", "version": "2.1.0"}


def net(*more: Node, port: str = "", rows: tuple[OnError, ...] = (), keeps: bool = True) -> Net:
    work = Node(
        id="a",
        kind="task",
        effect=Effect(executor="x"),
        out=("made",),
        result="made",
        keeps_output=keeps,
        on_error=rows,
    )
    edges = [Edge(id="s>a", src="s", dst="a"), Edge(id="a>e", src="a", dst="e")]
    if port:
        edges.append(Edge(id="a>b", src="a", dst="b", port=port, guard="made.status == 'rolled_back'"))
    return Net(name="n", nodes=(Node(id="s", kind="start"), work, *more, Node(id="e", kind="end")), edges=tuple(edges))


def failed(sim: Sim, detail: Any) -> None:
    firing = sim.asked("a")
    assert firing is not None
    sim.do(C.failed(firing.no, firing.attempt, Failure("BACK", "permanent", "taken back", "", detail)))


NEXT = Node(id="b", kind="task", effect=Effect(executor="x", args={"got": {"$expr": "made.version"}}))


def test_the_run_fails_and_its_output_is_known() -> None:
    """C-57: by its name, as a result, and as the node's output; the failure itself does not hold it twice."""
    sim = Sim(net())
    failed(sim, {"output": OUTPUT, "hint": "look"})
    assert sim.status == "FAILED" and sim.st.results == {"made": OUTPUT} and sim.vars()["made"] == OUTPUT
    assert sim.st.failure is not None and sim.st.failure.detail == {"hint": "look"}
    sim.crash()
    assert sim.st.results == {"made": OUTPUT}


@pytest.mark.parametrize(
    ("port", "rows"), [("failed", ()), ("rolled_back", (OnError(match="BACK", action="port:rolled_back"),))]
)
def test_who_takes_the_failure_reads_the_output(port: str, rows: tuple[OnError, ...]) -> None:
    """C-57, C-39: also in the condition of the edge that takes it."""
    sim = Sim(net(NEXT, port=port, rows=rows))
    failed(sim, {"output": OUTPUT})
    firing = sim.asked("b")
    assert firing is not None and firing.args == {"got": "2.1.0"}


@pytest.mark.parametrize(("keeps", "detail"), [(False, {"output": OUTPUT}), (True, None), (True, {"hint": "look"})])
def test_otherwise_there_is_none(keeps: bool, detail: Any) -> None:
    sim = Sim(net(keeps=keeps))
    failed(sim, detail)
    assert sim.status == "FAILED" and "made" not in sim.vars() and sim.st.results.get("made") is None
