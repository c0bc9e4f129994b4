"""The author's drawing with a run on it: after any fact, and fact by fact."""

from __future__ import annotations

import contextlib
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from penstock.app.drawing.run_graph import (
    MOST_STEPS,
    GraphDeltas,
    RunGraph,
    definition_graph,
    deltas,
    graph,
    graph_of,
    steps_of,
)
from penstock.app.runs.queries import Queries
from penstock.errors import BadInput, PenstockError
from penstock.kernel import fact as F
from penstock.lang.compile import compile_document
from penstock.net.compiled import Compiled
from penstock.net.model import Edge, Effect, Net, Node
from tests.app.scenes import LOOP, Echo, ccp, opened
from tests.app.test_history import KNOWN, stir
from tests.conformance.decision.harness import INPUT
from tests.conformance.decision.make import act, compiled, document, undo
from tests.conformance.decision.world import CCP, DEFECT, Wire, World, go
from tests.kernel.harness import Sim


@pytest.fixture(scope="module")
def wire() -> Iterator[Wire]:
    one = Wire()
    yield one
    one.close()


@pytest.fixture
def world(tmp_path: Path, wire: Wire) -> World:
    wire.forget()
    one = World(tmp_path, wire).plant()
    one.sure(0.6)
    return one


def drawn(path: Path) -> RunGraph:
    return definition_graph(compile_document(path.read_bytes(), name=path.name).net)


def added(told: GraphDeltas) -> dict[str, Any]:
    """The snapshot with every step on top of it."""
    shot = msgspec.to_builtins(told.snapshot)
    edges = {one["edge"]: one["count"] for one in shot["tokens"] if one["edge"]}
    nodes = {one["node"]: one["count"] for one in shot["tokens"] if one["node"]}
    states, variables, taken = dict(shot["states"]), dict(shot["variables"]), list(shot["taken"])
    for step in told.steps:
        for counts, changes in ((edges, step.tokens), (nodes, step.resting)):
            counts.update(changes)
            for gone in [id for id, count in changes.items() if not count]:
                del counts[gone]
        states.update(msgspec.to_builtins(step.states))
        variables.update(msgspec.to_builtins(step.variables))
        for gone in step.gone:
            del variables[gone]
        taken += step.taken
    return {"edges": edges, "nodes": nodes, "states": states, "variables": variables, "taken": taken}


def same(door: Queries, run: str, told: GraphDeltas) -> None:
    agree(told, graph(door, run, told.to))


def agree(told: GraphDeltas, after: RunGraph) -> None:
    """Steps lead to what the graph says after the last of them."""
    end = msgspec.to_builtins(after)
    found = added(told)
    assert found["edges"] == {one["edge"]: one["count"] for one in end["tokens"] if one["edge"]}
    assert found["nodes"] == {one["node"]: one["count"] for one in end["tokens"] if one["node"]}
    assert found["states"] == end["states"] and found["taken"] == end["taken"]
    assert found["variables"] == end["variables"]


# ---- what the author drew --------------------------------------------------------------------------------------------


def test_a_workflow_is_drawn_as_it_was_written() -> None:
    """CONSOLE 5: the eleven nodes of 11.1 and where its ways end; no part that the language made."""
    found = drawn(DEFECT)
    shapes = {one.id: one.shape for one in found.nodes}
    assert shapes.pop("end") == "end" and len(shapes) == 11 and not any("." in id for id in shapes)
    assert shapes["switch_severity"] == "choose" and shapes["request_approval"] == "work"
    assert shapes["parallel_emergency"] == "region" and shapes["data_defect"] == "task"
    inside = {one.id for one in found.nodes if one.parent == "parallel_emergency"}
    assert inside == {"action_slack_emergency", "action_sms_manager", "action_create_ticket"}
    ways = {(one.from_, one.to, one.label) for one in found.edges}
    assert ("data_defect", "judge_quality", None) in ways and ("switch_severity", "action_log", "normal") in ways
    assert len(found.edges) == 9 and not any("." in one.id for one in found.edges)  # 8, and the default
    assert (found.at, found.of, found.tokens, found.states) == (0, 0, [], {}) and found.language == "decision"
    assert {one.id: one.shape for one in drawn(CCP).nodes}["wait_lab"] == "wait"


def test_a_diagram_is_drawn_as_it_was_written() -> None:
    """CONSOLE 5: start, jobs, the condition and its two ways, one of which leads back."""
    found = drawn(LOOP)
    assert {one.id: one.shape for one in found.nodes} == {
        "Start": "start", "PersonJob": "task", "Condition": "choose", "Ask": "task", "Endpoint": "end",
    }  # fmt: skip
    assert [one.id for one in found.edges if one.back] == ["Condition:condfalse>PersonJob"]
    assert {one.label for one in found.edges} == {None, "condtrue", "condfalse"}


def test_what_undoes_hangs_below_what_it_undoes() -> None:
    """CONSOLE 5: a compensation of several actions is one node, with a way of its own kind to it."""
    tell = {"type": "notification", "channel": "slack", "message": "undone"}
    whole = document([act("pay"), undo("refund", "pay", actions=[tell, tell])])
    found = definition_graph(compile_document(msgspec.json.encode(whole), name="w.json").net)
    assert {one.id: one.shape for one in found.nodes} == {"pay": "task", "refund": "undo"}
    assert [(one.from_, one.to, one.port) for one in found.edges] == [("pay", "refund", "undo")]


# ---- a run on it -----------------------------------------------------------------------------------------------------


def test_tokens_rest_where_people_and_news_are_awaited(world: World) -> None:
    """W-2.3.4, CONSOLE 5: a node that waits holds its token; ways that were decided against are told."""

    async def scene() -> None:
        async with world.open() as door:
            found = graph(door, await door.run(DEFECT))
            assert [(one.node, one.count, one.epochs) for one in found.tokens] == [("request_approval", 1, [0])]
            asks = found.states["request_approval"]
            assert (asks.state, asks.status, asks.tone, asks.ms) == ("WAITING", "running", "held", None)
            assert found.states["action_log"].state == "PENDING" and found.states["data_defect"].tone == "done"
            assert set(found.not_taken) == {
                "switch_severity>action_warning", "switch_severity>action_log", "approval_required>end",
                "action_warning>approval_required",  # nothing can come to where it begins
            }  # fmt: skip
            assert "data_defect>judge_quality" in found.taken and found.at == found.of
            assert found.variables["judgment_result"]["decision"] == "critical"
            lab = graph(door, await ccp(door))
            assert [one.node for one in lab.tokens] == ["wait_lab"]
            assert lab.states["parallel_response"].state == "RUNNING" and lab.not_taken == []

    go(scene())


def test_every_fact_of_a_workflow_can_be_visited(world: World, wire: Wire) -> None:
    """CONSOLE 5: from any fact to any later one the steps lead to the same graph, retries and failure too."""

    async def scene() -> None:
        async with world.open() as door:
            wire.trouble["slack"] = 99
            run = await door.run(DEFECT)
            await door.later(10_000)
            total = graph(door, run).of
            for first in range(1, total + 1, 5):
                told = deltas(door, run, first, total)
                assert (told.from_, told.to, told.of, len(told.steps)) == (first, total, total, total - first)
                same(door, run, told)
            slack = graph(door, run).states["action_slack_emergency"]
            assert (slack.state, slack.tone, slack.note, slack.attempt, slack.ms) == (
                "FAILED", "failed", "HTTP_5XX", 3, 10_000,
            )  # fmt: skip
            whole = deltas(door, run, 1, total).steps
            states = [s.states["action_slack_emergency"].state for s in whole if "action_slack_emergency" in s.states]
            assert states == ["RUNNING", "RETRYING", "RUNNING", "RETRYING", "RUNNING", "FAILED"]

    go(scene())


def test_a_loop_round_by_round(tmp_path: Path) -> None:
    """D-X.21, D-8.1.5: the decision of each round, the way back taken, and the limit reached in the end."""

    async def scene() -> None:
        async with opened(tmp_path) as door:
            run = await door.start(door.release(LOOP))
            await door.wait(run, timeout=60)
            end = graph(door, run)
            job = end.states["PersonJob"]
            assert (job.state, job.status, job.count) == ("SUCCEEDED", "MAXITER_REACHED", 3)
            assert end.states["Condition"].note == "condtrue" and end.tokens == [] and end.not_taken == []
            told = deltas(door, run, 1, end.of)
            notes = [s.states["Condition"].note for s in told.steps if "Condition" in s.states]
            assert [one for one in notes if one] == ["condfalse", "condfalse", "condtrue"]
            same(door, run, told)
            taken = [edge for step in told.steps for edge in step.taken]
            assert taken.index("Condition:condfalse>PersonJob") < taken.index("Condition:condtrue>Ask")
            back = next(s.fact for s in told.steps if s.taken == ["Condition:condfalse>PersonJob"])
            first = graph(door, run, door.end_of_turn(run, back)[2])
            assert "Condition:condtrue>Ask" in first.not_taken and first.states["Ask"].status == "PENDING"

    go(scene())


def test_a_fact_that_is_not_there(tmp_path: Path) -> None:
    async def scene() -> None:
        async with opened(tmp_path) as door:
            run = await door.start(door.release(LOOP))
            await door.wait(run, timeout=60)
            for wrong in (0, -1, 10_000):
                with pytest.raises(BadInput, match="facts 1 to"):
                    graph(door, run, wrong)
                with pytest.raises(BadInput):
                    deltas(door, run, wrong, 10_001)

    go(scene())


def test_four_hundred_facts_of_a_large_net_are_one_fold(tmp_path: Path) -> None:
    """CONSOLE 5, 10: a window of 400 facts of a net of 500 nodes; a step costs what moves, not what there is."""
    nodes = [Node(id="s", kind="start")]
    nodes += [Node(id=f"n{i}", kind="task", effect=Effect(executor="echo")) for i in range(500)]
    edges = tuple(Edge(id=f"{a.id}>{b.id}", src=a.id, dst=b.id) for a, b in zip(nodes, nodes[1:], strict=False))

    async def scene() -> None:
        async with opened(tmp_path, echo=Echo()) as door:
            run = await door.start(door.release(Net(name="long", nodes=tuple(nodes), edges=edges)))
            await door.wait(run, timeout=60)
            told = deltas(door, run, 1000, 5000)
            assert len(told.steps) == MOST_STEPS and told.to == 1400
            assert max(len(step.states) for step in told.steps) <= 2
            same(door, run, told)

    go(scene())


@pytest.mark.parametrize("which", KNOWN)
def test_whatever_happens_steps_and_graph_agree(which: str) -> None:
    """CONSOLE 5: the seed's samples and more, at random: steps from any fact lead to the graph, only the author's nodes
    and edges are named, and what is told changed did change."""
    net = compiled(KNOWN[which]).net
    made = Compiled(net)
    drawn_ids = {node.id for node in definition_graph(net).nodes}
    edge_ids = {edge.id for edge in definition_graph(net).edges}
    for seed in range(4):
        sim, rng = Sim(net, INPUT, check=False), random.Random(f"{which}/{seed}")
        for _ in range(40):
            with contextlib.suppress(PenstockError):
                stir(sim, rng)
        turns = [(at, F.decode_facts(body)) for at, body in sim.turns]
        of = sum(len(facts) for _, facts in turns)
        told = steps_of(lambda _: made, turns, rng.randrange(1, of + 1), of, lambda body: body)
        end = graph_of(lambda _: made, turns, of, of, lambda body: body)
        agree(told, end)
        named = {one.node or "" for one in end.tokens} | {one.edge or "" for one in end.tokens}
        assert named <= {"", *drawn_ids, *edge_ids} and {*end.taken, *end.not_taken} <= edge_ids
        assert not any(step.states.keys() - drawn_ids for step in told.steps), seed
