"""8, how a run ends (D-X.8): every status, what a deadlock says, and that no run hangs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from penstock.errors import StatusConflict
from tests.conformance.diagram.make import END, START, cond, job, rules
from tests.conformance.diagram.running import (
    PATIENCE_S,
    Gates,
    Ran,
    awaited,
    door,
    drawn,
    gate,
    go,
    reached,
    saw,
)

ASK = {"label": "Ask", "type": "user_response", "prompt": "?"}


@awaited
async def test_every_status_of_a_run(tmp_path: Path) -> None:
    """D-X.8: PENDING, RUNNING, WAITING, COMPLETED; nodes that never executed are SKIPPED at the end."""
    gates = Gates()
    nodes = [START, gate("A"), ASK, END, job("Never")]
    async with door(tmp_path, settings={"services": {"gates": gates}}) as p:
        found = p.host.nets.by_hash(p.release(drawn(nodes, ["Start>A", "A>Ask", "Ask>End"])).hash)
        assert found is not None
        run = p.host.start(found[0], tenant=p.tenant)  # as `start` does, but its first turn is still to come
        assert p.view(run).status == "PENDING"
        assert set(p.view(run).nodes.values()) == {"PENDING"}
        ran = await reached(p, run, lambda ran: bool(gates.waiting)) if await _started(p, run) else None
        assert ran is not None and ran.status == "RUNNING"
        gates.let("A")
        look = await p.wait(run, until_waiting=True, timeout=PATIENCE_S)
        assert (look.status, look.nodes["Ask"]) == ("WAITING", "RUNNING")
        await p.respond(run, "Ask", "x")
        look = await p.wait(run, timeout=PATIENCE_S)
        assert (look.status, look.nodes["Never"], look.tokens) == ("COMPLETED", "SKIPPED", {})


async def _started(p: Any, run: str) -> bool:
    """The first turn has been committed."""
    import asyncio

    while not p.lines(run):
        await asyncio.sleep(0)
    return True


@awaited
async def test_a_run_can_be_cancelled(tmp_path: Path) -> None:
    """D-X.8, D-X.29: CANCELLED; nothing is left of it; an ended run cannot be cancelled (409)."""
    gates = Gates()
    nodes = [START, gate("A"), job("B"), saw("N"), END]
    async with door(tmp_path, settings={"services": {"gates": gates}}) as p:
        run = await p.start(p.release(drawn(nodes, ["Start>A", "Start>B", "A>N", "B>N", "N>End"])))
        await reached(p, run, lambda ran: bool(ran.puts("B>N")))
        await p.cancel(run)
        ran = Ran(p, run)
        assert (ran.status, ran.look.tokens, ran.balance()) == ("CANCELLED", {}, 0)
        gates.let("A")
        with pytest.raises(StatusConflict) as refused:
            await p.cancel(run)
        assert refused.value.http == 409
        assert p.view(run).status == "CANCELLED"


# ---- deadlock --------------------------------------------------------------------------------------------------------


def diamond(policy: str | None) -> dict[str, Any]:
    """D-A.10: both branches of a condition meet in one node."""
    nodes = [START, cond("C", expression="input.yes"), job("A"), job("B"), saw("Merge"), END]
    if policy is not None:
        nodes[4]["join_policy"] = policy
    return {"nodes": nodes, "ways": ["Start>C", "C[condtrue]>A", "C[condfalse]>B", "A>Merge", "B>Merge", "Merge>End"]}


@pytest.mark.parametrize(("yes", "held", "missing"), [(True, "A>Merge", "B>Merge"), (False, "B>Merge", "A>Merge")])
def test_a_diamond_with_all_is_a_deadlock(tmp_path: Path, yes: bool, held: str, missing: str) -> None:
    """D-A.10, D-X.8, D-X.9: FAILED with DEADLOCK, naming the node, the edges it holds and the ones it misses."""
    ran = go(tmp_path, drawn(**diamond(None)), {"yes": yes})
    assert ran.status == "FAILED"
    failure = ran.look.failure
    assert failure is not None
    assert (failure["code"], failure["node"]) == ("DEADLOCK", "Merge")
    assert failure["detail"] == [{"node": "Merge", "held": [held], "missing": [missing]}]
    assert f"holds {held} and waits for {missing}" in failure["message"]
    assert ran.look.nodes["Merge"] == "SKIPPED"
    assert ran.balance() == 0


def test_a_node_that_holds_tokens_is_not_said_to_have_none(tmp_path: Path) -> None:
    """D-X.25: its join policy was not met; `no_token` is for those that no token has come to."""
    ran = go(tmp_path, drawn(**diamond(None)), {"yes": True})
    assert {e.node: e.data["skip_reason"] for e in ran.told("node.skipped")} == {
        "B": "no_token", "Merge": "policy", "End": "no_token",
    }  # fmt: skip


def test_a_diamond_is_warned_about_and_any_completes(tmp_path: Path) -> None:
    """D-A.10, D-X.9: the warning says to use ANY; with ANY it completes."""
    warned = [x for x in rules(**_checked(diamond(None))) if x[2] == "Merge"]
    assert [severity for severity, _, _ in warned] == ["warning"]
    assert not [x for x in rules(**_checked(diamond("any"))) if x[2] == "Merge"]
    ran = go(tmp_path, drawn(**diamond("any")), {"yes": True})
    assert (ran.status, ran.took("Merge")) == ("COMPLETED", [["A>Merge"]])


def _checked(parts: dict[str, Any]) -> dict[str, Any]:
    """The same with a node type that the language knows without the application."""
    nodes = [{**n, "type": "template_job", "template": "x"} if n["type"] == "run_saw" else n for n in parts["nodes"]]
    return {"nodes": nodes, "ways": parts["ways"]}


def test_every_node_that_is_stuck_is_named(tmp_path: Path) -> None:
    """D-X.8: two nodes lack an input; both are listed."""
    nodes = [START, job("A"), cond("C", expression="false"), job("X"), job("Y"), saw("N"), saw("M"), END]
    ways = ["Start>A", "Start>C", "C[condtrue]>X", "C[condtrue]>Y", "A>N", "X>N", "A>M", "Y>M", "N>End", "M>End"]
    ran = go(tmp_path, drawn(nodes, ways))
    assert ran.look.failure is not None
    assert ran.look.failure["detail"] == [
        {"node": "N", "held": ["A>N"], "missing": ["X>N"]},
        {"node": "M", "held": ["A>M"], "missing": ["Y>M"]},
    ]


@awaited
async def test_what_is_not_waited_for_is_not_called_missing(tmp_path: Path) -> None:
    """D-X.8, D-5.2.5: a START edge that has served is not among the edges that are missing."""
    gates = Gates()
    nodes = [START, gate("A", max_iteration=2), cond("C", expression="counters.A >= 2"), job("B"), saw("N"), END]
    ways = ["Start>A", "Start>B", "Start>N", "A>C", "C[condfalse]>A", "A>N", "B>N", "N>End"]
    async with door(tmp_path, settings={"services": {"gates": gates}}) as p:
        run = await p.start(p.release(drawn(nodes, ways)))
        await reached(p, run, lambda ran: bool(ran.puts("B>N")))
        gates.let("A")
        await p.wait(run, timeout=PATIENCE_S)
        ran = Ran(p, run)
    assert [sorted(x) for x in ran.took("N")] == [["A>N", "B>N", "Start>N"]]
    assert ran.look.failure is not None
    assert ran.look.failure["detail"] == [{"node": "N", "held": ["A>N"], "missing": ["B>N"]}]


def test_the_run_ends_when_nothing_is_left(tmp_path: Path) -> None:
    """D-X.8, D-6.2.5: no unconsumed token: COMPLETED, also without any endpoint and without a warning."""
    ran = go(
        tmp_path, drawn([START, job("A"), cond("C", expression="false"), END], ["Start>A", "A>C", "C[condtrue]>End"])
    )
    assert (ran.status, ran.warned()) == ("COMPLETED", [])
    assert ran.look.nodes["End"] == "SKIPPED"


@pytest.mark.parametrize("seed", range(8))
def test_no_run_hangs(tmp_path: Path, seed: int) -> None:
    """D-X.8, D-11.1: whatever is drawn ends COMPLETED or FAILED with a reason; drawn at random, joins of all kinds."""
    import random

    draw = random.Random(seed)
    names = [f"N{i}" for i in range(8)]
    nodes: list[dict[str, Any]] = [START]
    for name in names:
        if draw.random() < 0.35:
            nodes.append(
                cond(name, expression=f"counters['{name}'] % 2 == {draw.randrange(2)}", skippable=draw.random() < 0.5)
            )
        else:
            nodes.append(job(name, max_iteration=draw.randint(1, 3), join_policy=draw.choice(["all", "any"])))
    ways = [f"Start>{draw.choice(names)}"]
    for node in nodes[1:]:
        for handle in ("[condtrue]", "[condfalse]") if node["type"] == "condition" else ("",):
            ways += [f"{node['label']}{handle}>{target}" for target in draw.sample(names, draw.choice((1, 1, 2)))]
    nodes.append(END)
    ways.append(f"{names[0]}{'[condtrue]' if nodes[1]['type'] == 'condition' else ''}>End")
    ran = go(tmp_path, drawn(nodes, sorted(set(ways)), max_node_executions=20))
    assert ran.status in ("COMPLETED", "FAILED")
    assert (ran.look.failure is not None) == (ran.status == "FAILED")
    assert ran.balance() == 0
