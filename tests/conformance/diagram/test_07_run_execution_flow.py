"""7, execution flow: the six steps of a node, nodes side by side, and handlers."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path
from typing import Any

import pytest

from penstock import Penstock, RunView
from penstock.diagram import Envelope, EnvelopeFactory, NodeHandler, context, node_id, register_handler
from penstock.errors import BadInput
from tests.conformance.diagram.make import END, START, job, text
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
    script,
    until_settled,
)

SEED = Path(__file__).parents[2] / "seeds" / "004_b1a9524774d0b8f7.txt"

# ---- 7.1 the order of a node's execution -----------------------------------------------------------------------------


def test_the_six_steps_of_a_node(tmp_path: Path) -> None:
    """D-7.1.1, D-7.1.2, D-7.1.3, D-7.1.4, D-7.1.5, D-7.1.6, D-8.2.1: from arrival to emission."""
    nodes = [START, job("A"), job("B", person="Late"), job("N"), END]
    ways = ["Start>A", "Start>B", "A>N", "B>N", "N>End"]
    ran = go(tmp_path, drawn(nodes, ways, persons={"Late": script("b", delay_ms=30)}))
    mine = [(x.fact, x.edge or x.node) for x in ran.lines if x.node == "N" or x.edge.startswith(("A>", "B>", "N>"))]
    assert mine == [
        ("put", "A>N"),  # arrival; by its join it is not ready yet, so nothing follows
        ("put", "B>N"),
        ("fired", "N"),  # ready: it takes all that lies there
        ("effect.asked", "N"),  # work
        ("settled", "N"),  # its result, wrapped
        ("put", "N>End"),  # and out
    ]
    (fired,) = ran.of("fired", "N")
    assert fired.data["takes"] == [["A>N", 0], ["B>N", 0]]
    (settled,) = ran.of("settled", "N")
    assert settled.data["meta"]["token_usage"]["total"] > 0
    assert ran.bodies("N>End") == [settled.data["output"]]


@awaited
async def test_the_engine_publishes_after_the_work(tmp_path: Path) -> None:
    """D-7.3.3, D-7.1.6: while a handler works nothing is on its edges; what it returns is published by the engine."""
    gates = Gates()
    async with door(tmp_path, settings={"services": {"gates": gates}}) as p:
        run = await p.start(
            p.release(drawn([START, gate("A"), saw("B"), END], ["Start>A", ("A>B", {"label": "a"}), "B>End"]))
        )
        ran = await reached(p, run, lambda ran: bool(gates.waiting))
        assert ran.puts("A>B") == []
        assert ran.look.tokens == {}
        gates.let("A")
        await p.wait(run, timeout=PATIENCE_S)
        ran = Ran(p, run)
        assert ran.puts("A>B") == [("A>B", 0, 0)]
        assert ran.output("B") == [{"newest": {"a": "A"}, "older": {"a": []}}]


# ---- 7.2 side by side ------------------------------------------------------------------------------------------------

MANY = [f"N{i:02}" for i in range(30)]


def many(**fields: Any) -> bytes:
    """D-A.9: 30 independent nodes."""
    nodes = [START, *(gate(n, **fields) for n in MANY), saw("All"), END]
    return drawn(nodes, [*(f"Start>{n}" for n in MANY), *(f"{n}>All" for n in MANY), "All>End"])


@pytest.mark.parametrize(("limit", "most"), [(None, 20), (5, 5), (1, 1), (100, 30)])
@awaited
async def test_so_many_nodes_at_once(tmp_path: Path, limit: int | None, most: int) -> None:
    """D-A.9, D-7.2.1, D-7.2.2, D-7.2.3, D-X.29: at most 20 at once, or as many as the run was told; all of them run."""
    gates = Gates()
    async with door(tmp_path, settings={"services": {"gates": gates}}) as p:
        run = await p.start(p.release(many()), max_concurrent=limit)
        await reached(p, run, lambda ran: len(gates.waiting) == most)
        for _ in range(20):
            await asyncio.sleep(0)
        assert len(gates.waiting) == most, "no more than that"
        gates.let(*MANY)
        await p.wait(run, timeout=PATIENCE_S)
        ran = Ran(p, run)
    assert ran.most_at_once(*MANY) == most
    assert sorted(ran.order()[1:31]) == MANY
    assert ran.status == "COMPLETED"


def test_a_limit_below_one_is_refused(tmp_path: Path) -> None:
    """D-X.29, D-7.2.2: at least one node must be able to run."""
    with pytest.raises(BadInput):
        go(tmp_path, many(), max_concurrent=0)


@awaited
async def test_limits_of_two_runs_are_separate(tmp_path: Path) -> None:
    """D-X.27, D-7.2.2: each run has its own limit, and neither waits for the other; there is no global lock."""
    gates = Gates()
    async with door(tmp_path, settings={"services": {"gates": gates}}) as p:
        release = p.release(many())
        first = await p.start(release, max_concurrent=3)
        await reached(p, first, lambda ran: len(gates.waiting) == 3)
        second = await p.start(release, max_concurrent=4)
        await reached(p, second, lambda ran: len(gates.waiting) == 7)
        quick = await until_settled(p, drawn([START, job("A"), END], ["Start>A", "A>End"]))
        assert quick.status == "COMPLETED", "a third run passes both by"
        assert not p.view(first).outputs and not p.view(second).outputs
        gates.let(*MANY)
        looks = [await p.wait(run, timeout=PATIENCE_S) for run in (first, second)]
        assert [one.status for one in looks] == ["COMPLETED"] * 2
        assert [Ran(p, run).most_at_once(*MANY) for run in (first, second)] == [3, 4]


@awaited
async def test_a_node_that_waits_for_a_person_is_not_at_work(tmp_path: Path) -> None:
    """D-7.2.2, D-X.18: a question takes no place of those that work."""
    asks = [{"label": f"Ask{i}", "type": "user_response", "prompt": "?"} for i in range(3)]
    nodes = [START, *asks, job("Work"), {"label": "Done", "type": "endpoint"}, saw("All"), END]
    ways = [
        *(f"Start>{a['label']}" for a in asks),
        "Start>Work",
        "Work>Done",
        *(f"{a['label']}>All" for a in asks),
        "All>End",
    ]
    async with door(tmp_path) as p:
        run = await p.start(p.release(drawn(nodes, ways)), max_concurrent=1)
        look = await p.wait(run, until_waiting=True, timeout=PATIENCE_S)
        assert look.nodes["Done"] == "COMPLETED"
        assert {w.node for w in look.waiting} == {"Ask0", "Ask1", "Ask2"}


@awaited
async def test_executions_are_independent(tmp_path: Path) -> None:
    """D-7.2.4, D-7.2.1, D-9.2: one node's failure or slowness is its own; each sees its own node and its own inputs."""
    gates = Gates()
    nodes = [START, gate("Slow"), job("Quick"), {"label": "Out", "type": "endpoint"}, END]
    async with door(tmp_path, settings={"services": {"gates": gates}}) as p:
        run = await p.start(p.release(drawn(nodes, ["Start>Slow", "Start>Quick", "Quick>Out", "Slow>End"])))
        ran = await reached(p, run, lambda ran: ran.times("Out") == 1 and bool(gates.waiting))
        assert ran.look.nodes["Slow"] == "RUNNING"
        gates.let("Slow")
        assert (await p.wait(run, timeout=PATIENCE_S)).outputs["End"] == "Slow"


# ---- 7.3 handlers ----------------------------------------------------------------------------------------------------


@register_handler("run_07_shout")
class Shout(NodeHandler):
    """As the seed writes it: without self, with `context` and `node_id` as if they were global."""

    def consume_token_inputs(request, inputs):  # type: ignore[no-untyped-def]  # noqa: N805
        return context.consume_inbound(node_id)

    def execute_with_envelopes(request, inputs):  # type: ignore[no-untyped-def]  # noqa: N805
        result = inputs["default"].as_text().upper() + request.props.get("end", "")
        return EnvelopeFactory.create(result)


def test_a_handler_as_the_seed_writes_it(tmp_path: Path) -> None:
    """D-7.3.1, D-7.3.2, D-7.3.3, D-X.30: a class in the seed's pattern is a node type of diagrams."""
    shout = {"label": "Shout", "type": "run_07_shout", "end": "!"}
    ran = go(tmp_path, drawn([START, shout, END], ["Start>Shout", "Shout>End"]), "hello")
    assert ran.look.outputs == {"End": "HELLO!"}
    assert ran.puts("Shout>End") == [("Shout>End", 0, 0)]


def test_the_class_of_the_seed_itself(tmp_path: Path) -> None:
    """D-X.30, D-7.3.1, D-7.3.2: the seed's own lines, word for word, run as a node."""
    code = re.search(r"```python\n(class NodeHandler.*?)```", SEED.read_text(encoding="utf-8"), re.S)
    assert code is not None
    names: dict[str, Any] = {
        "context": context,
        "node_id": node_id,
        "EnvelopeFactory": EnvelopeFactory,
        "result": "made",
    }
    exec(code[1], names)
    register_handler("run_07_seed")(names["NodeHandler"])
    ran = go(tmp_path, drawn([START, {"label": "It", "type": "run_07_seed"}, END], ["Start>It", "It>End"]))
    assert ran.look.outputs == {"End": "made"}


@register_handler("run_07_takes")
class Takes(NodeHandler):
    """Asks twice for what was taken, and for what is not its own."""

    def consume_token_inputs(self, request: Any, inputs: Any) -> Any:
        first, again = context.consume_inbound(node_id), request.context.consume_inbound(request.node_id)
        assert first == again == inputs
        try:
            context.consume_inbound("Start")
        except LookupError as error:
            return {"refused": str(error), **first}
        return first

    def execute_with_envelopes(self, request: Any, inputs: Any) -> Any:
        one = inputs["text"]
        assert isinstance(one, Envelope)
        return {"refused": inputs["refused"], "body": one.body, "from": one.produced_by}


def test_a_handler_never_takes_tokens_itself(tmp_path: Path) -> None:
    """D-X.30, D-7.3.1, D-7.1.3: `consume_inbound` hands over what the engine has taken, every time the same."""
    source = drawn(
        [START, text("Text"), {"label": "It", "type": "run_07_takes"}, END], ["Start>Text", "Text>It", "It>End"]
    )
    ran = go(tmp_path, source)
    assert ran.look.outputs["End"]["body"] == "Text"
    assert ran.look.outputs["End"]["from"] == "Text"
    assert "Start" in ran.look.outputs["End"]["refused"]
    assert ran.took("It") == [["Text>It"]]
    assert ran.at("fired", "It") < ran.at("settled", "It")


@register_handler("run_07_lent")
class Lent(NodeHandler):
    def execute_with_envelopes(self, request: Any, inputs: Any) -> Any:
        desk = context.service("desk")
        desk.append((context.run_id, context.node_id, context.epoch, context.iteration))
        return len(desk)


def test_services_are_lent_to_handlers(tmp_path: Path) -> None:
    """D-8.2.4: the context gives handlers what the application lends them, and says where they work."""
    desk: list[Any] = []
    lent = {"label": "It", "type": "run_07_lent"}
    ran = go(tmp_path, drawn([START, lent, END], ["Start>It", "It>End"]), settings={"services": {"desk": desk}})
    assert desk == [(ran.id, "It", 0, 1)]
    missing = go(tmp_path / "none", drawn([START, lent, END], ["Start>It", "It>End"]))
    assert missing.status == "FAILED"
    assert missing.look.failure is not None
    assert "desk" in missing.look.failure["message"]


@register_handler("run_07_count")
class Count(NodeHandler):
    """Tries to remember something from one execution to the next."""

    def __init__(self) -> None:
        self.seen = 0

    def execute_with_envelopes(self, request: Any, inputs: Any) -> Any:
        self.seen += 1
        return self.seen


def test_nodes_keep_no_state(tmp_path: Path) -> None:
    """D-9.2: every execution has a handler of its own."""
    from tests.conformance.diagram.make import cond

    nodes = [
        START,
        {"label": "It", "type": "run_07_count", "max_iteration": 3},
        cond("C", expression="counters.It >= 3"),
        END,
    ]
    ran = go(tmp_path, drawn(nodes, ["Start>It", "It>C", "C[condfalse]>It", "C[condtrue]>End"]))
    assert ran.output("It") == [1, 1, 1]


@awaited
async def test_a_function_is_an_executor(tmp_path: Path) -> None:
    """D-7.1.4, D-X.15: the application may do the work of a type itself."""
    p: Penstock = door(tmp_path)

    @p.executor("template")
    def double(default: int) -> int:
        return default * 2

    async with p:
        ran = await until_settled(p, drawn([START, text("T"), END], ["Start>T", "T>End"]), 21)
        look: RunView = ran.look
        assert look.outputs == {"End": 42}
