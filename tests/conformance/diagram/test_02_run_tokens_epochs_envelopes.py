"""2, core concepts in a run: tokens and their numbers, epochs, envelopes."""

from __future__ import annotations

import asyncio
import base64
import json
from pathlib import Path
from typing import Any

import pytest

from penstock.app.runs.timeline.tokens import TokenRecord
from penstock.diagram import EnvelopeFactory, NodeHandler, context, register_handler
from tests.conformance.diagram.make import END, START, cond, job, text
from tests.conformance.diagram.running import (
    EXAMPLES,
    PATIENCE_S,
    Gates,
    Ran,
    awaited,
    door,
    drawn,
    gate,
    go,
    reached,
    script,
    until_settled,
)

PICTURE = bytes(range(256))
BODIES: dict[str, tuple[Any, str]] = {
    "Text": ("grüß 안녕", "raw_text"),
    "Json": ({"a": [1, None, "x"], "b": {"c": 0.5}}, "object"),
    "Picture": (PICTURE, "binary"),
}


@register_handler("run_02_make")
class Make(NodeHandler):
    """Gives out the body of its name, after a moment, and says how many words it used."""

    async def execute_with_envelopes(self, request: Any, inputs: Any) -> Any:
        await asyncio.sleep(0.01)
        return EnvelopeFactory.create(BODIES[context.node_id][0], metadata={"token_usage": {"total": 7}})


@register_handler("run_02_look")
class Look(NodeHandler):
    """Gives out all that it sees of what came in."""

    def execute_with_envelopes(self, request: Any, inputs: Any) -> Any:
        return {
            name: {
                "fields": one.as_dict(),
                "text": one.as_text(),
                "json": one.as_json(),
                "bytes": base64.b64encode(one.as_bytes()).decode(),
                "older": [old.body for old in inputs.history[name]],
            }
            for name, one in inputs.items()
        }


# ---- 2.1 tokens ------------------------------------------------------------------------------------------------------


def tokens_of(folder: Path, source: bytes | Path) -> tuple[Ran, list[TokenRecord]]:
    async def story() -> tuple[Ran, list[TokenRecord]]:
        async with door(folder) as p:
            ran = await until_settled(p, source)
            return ran, p.tokens(ran.id)

    return asyncio.run(story())


def test_a_token_is_named_by_edge_epoch_and_number(tmp_path: Path) -> None:
    """D-2.1.2, D-X.7: (edge, epoch, sequence_number) names one token; numbers are 0, 1, 2, … without gaps."""
    _, tokens = tokens_of(tmp_path, EXAMPLES / "epochs.yaml")
    names = [(t.edge, t.epoch, t.sequence_number) for t in tokens]
    assert len(names) == len(set(names)) == 16
    for place in {(edge, epoch) for edge, epoch, _ in names}:
        assert [n for edge, epoch, n in names if (edge, epoch) == place] == list(range(len(_at(names, place))))
    assert _at(names, ("PJ>C1", 1)) == [("PJ>C1", 1, 0), ("PJ>C1", 1, 1)]


def _at(names: list[tuple[str, int, int]], place: tuple[str, int]) -> list[tuple[str, int, int]]:
    return [name for name in names if name[:2] == place]


@awaited
async def test_tokens_can_be_looked_at(tmp_path: Path) -> None:
    """D-2.1.1, D-X.29: those of one edge, of one epoch, and what became of each."""
    async with door(tmp_path) as p:
        ran = await until_settled(p, EXAMPLES / "epochs.yaml")
        assert [t.sequence_number for t in p.tokens(ran.id, edge="PJ>C1", epoch=2)] == [0, 1]
        assert {t.epoch for t in p.tokens(ran.id, edge="C2:condfalse>PJ")} == {1, 2}
        assert {(t.fate, t.by) for t in p.tokens(ran.id, edge="PJ>C1")} == {("consumed", "C1")}
        ask = {"label": "Ask", "type": "user_response", "prompt": "?"}
        source = drawn([START, job("A"), ask, job("B"), END], ["Start>A", "Start>Ask", "A>B", "Ask>B", "B>End"])
        waiting = await until_settled(p, source)
        assert [(t.fate, t.by) for t in p.tokens(waiting.id, edge="A>B")] == [("", "")]
        assert waiting.look.tokens == {"A>B": 1}


def test_a_node_executes_when_enough_tokens_are_there(tmp_path: Path) -> None:
    """D-2.1.4, D-9.5: not with the first of two, but with the second, and it has both."""
    slow = {"Slow": {"service": "mock", "delay_ms": 100}}
    nodes = [START, job("A"), job("B", person="Slow"), job("N"), END]
    ran = go(tmp_path, drawn(nodes, ["Start>A", "Start>B", "A>N", "B>N", "N>End"], persons=slow))
    assert ran.at("put", "") < ran.at("settled", "B") < ran.at("fired", "N")
    assert ran.took("N") == [["A>N", "B>N"]]


# ---- 2.2 epochs ------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def epochs(tmp_path_factory: pytest.TempPathFactory) -> Ran:
    return go(tmp_path_factory.mktemp("epochs"), EXAMPLES / "epochs.yaml")


def test_only_a_loop_controller_begins_an_epoch(epochs: Ran) -> None:
    """D-A.13, D-X.1, D-2.2.1, D-2.2.2: PJ runs twice in each of epochs 0, 1, 2; C2's ways back carry 1 and 2."""
    ran = epochs
    assert [(x.epoch, x.data["visit"]) for x in ran.of("fired", "PJ")] == [
        (0, 1), (0, 2), (1, 1), (1, 2), (2, 1), (2, 2),
    ]  # fmt: skip
    assert ran.puts("C2:condfalse>PJ") == [("C2:condfalse>PJ", 1, 0), ("C2:condfalse>PJ", 2, 0)]
    assert [x.epoch for x in ran.of("fired", "Start")] == [0]
    assert [epoch for _, epoch, _ in ran.puts("C1:condfalse>PJ")] == [0, 1, 2]
    assert ran.puts("C2:condtrue>Endpoint") == [("C2:condtrue>Endpoint", 2, 0)]
    assert ran.status == "COMPLETED"


def test_counters_are_kept_per_epoch(epochs: Ran) -> None:
    """D-2.2.3, D-6.1.2, D-X.1: `max_iteration` counts from 0 again in a new epoch."""
    assert [e.epoch for e in epochs.told("node.maxiter_reached")] == [0, 1, 2]
    assert epochs.look.counters == {"Start": 1, "PJ": 2, "C1": 2, "C2": 1, "Endpoint": 1}
    assert [(f.epoch, f.iteration) for f in epochs.look.firings if f.node == "C1"] == [
        (0, 1), (0, 2), (1, 1), (1, 2), (2, 1), (2, 2),
    ]  # fmt: skip


def test_every_node_that_ran_in_an_old_epoch_has_run(epochs: Ran) -> None:
    """D-2.2.3, D-8.1.6: counters of epochs that are left may go, but nobody is called skipped for that."""
    assert epochs.told("node.skipped") == []
    assert epochs.look.nodes["Start"] == "COMPLETED"


def test_tokens_of_two_epochs_never_meet(tmp_path: Path) -> None:
    """D-2.2.4, D-9.3: a slow branch of epoch 0 arrives while epoch 1 is there; each epoch joins its own two."""
    persons = {"Slow": script("slow", delay_ms=150), "Quick": script("quick")}
    nodes = [
        START,
        job("Head", person="Quick", max_iteration=1),
        cond("More", expression="epoch >= 2", loop_controller=True),
        job("Left", person="Quick"),
        job("Right", person="Slow"),
        text("Both", template="{{left}} and {{right}}"),
        END,
    ]
    ways = [
        "Start>Head", "Head>More", "More[condfalse]>Head", "Head>Left", "Head>Right", "Left>Both", "Right>Both",
        "Both>End", "More[condtrue]>End",
    ]  # fmt: skip
    ran = go(tmp_path, drawn(nodes, ways, persons=persons))
    assert [(x.epoch, [e for e, _ in x.data["takes"]]) for x in ran.of("fired", "Both")] == [
        (epoch, ["Left>Both", "Right>Both"]) for epoch in (0, 1, 2)
    ]
    assert ran.at("settled", "Right") > ran.of("fired", "Left")[-1].seq, "all epochs were there at once"
    assert set(ran.output("Both")) == {"quick and slow"}
    assert ran.status == "COMPLETED"


@awaited
async def test_counters_of_two_living_epochs_are_apart(tmp_path: Path) -> None:
    """D-6.1.2, D-2.2.3, D-9.3: while epoch 0 still has something at work, epoch 1 counts for itself: one, then two."""
    gates = Gates()
    nodes = [
        START,
        gate("Hold"),
        job("Work", max_iteration=5),
        cond("In", expression="counters.Work >= 1 + epoch"),
        cond("Turn", expression="epoch >= 1", loop_controller=True),
        END,
        {"label": "Held", "type": "endpoint"},
    ]
    ways = ["Start>Hold", "Hold>Held", "Start>Work", "Work>In", "In[condfalse]>Work", "In[condtrue]>Turn"]
    ways += ["Turn[condfalse]>Work", "Turn[condtrue]>End"]
    async with door(tmp_path, settings={"services": {"gates": gates}}) as p:
        run = await p.start(p.release(drawn(nodes, ways)))
        ran = await reached(p, run, lambda ran: ran.times("End") == 1)
        assert [(x.epoch, x.data["visit"]) for x in ran.of("fired", "Work")] == [(0, 1), (1, 1), (1, 2)]
        gates.let("Hold")
        assert (await p.wait(run, timeout=PATIENCE_S)).status == "COMPLETED"


# ---- 2.3 envelopes ---------------------------------------------------------------------------------------------------

MAKERS = drawn(
    [START, *({"label": n, "type": "run_02_make"} for n in BODIES), {"label": "Look", "type": "run_02_look"}, END],
    [*(f"Start>{n}" for n in BODIES), *(f"{n}>Look" for n in BODIES), "Look>End"],
)


@awaited
async def test_envelopes_of_tokens(tmp_path: Path) -> None:
    """D-A.14, D-2.1.1, D-2.3.1, D-2.3.2, D-2.3.3, D-2.3.4, D-X.20: read from tokens, each representation is equal."""
    async with door(tmp_path) as p:
        ran = await until_settled(p, MAKERS)
        for name, (body, kind) in BODIES.items():
            (token,) = p.tokens(ran.id, edge=f"{name}>Look")
            one = token.envelope
            assert (one.body, one.content_type, one.produced_by) == (body, kind, name)
            assert one.metadata["execution_time_ms"] >= 10
            assert one.metadata["iteration"] == 1
            assert one.metadata["token_usage"] == {"total": 7}
            assert one.trace_id == ran.events[0].trace_id
            assert one.id == f"{name}>Look/0/0"
            assert one.created_at.startswith("20")
        text, data, picture = (p.tokens(ran.id, edge=f"{n}>Look")[0].envelope for n in BODIES)
        assert text.as_text() == BODIES["Text"][0]
        assert text.as_bytes().decode() == text.as_text()
        assert data.as_json() == json.loads(data.as_text()) == json.loads(data.as_bytes()) == BODIES["Json"][0]
        assert picture.as_bytes() == PICTURE
        assert base64.b64decode(picture.as_json()) == PICTURE
        assert {t.envelope.trace_id for t in p.tokens(ran.id)} == {ran.events[0].trace_id}


def test_envelopes_that_a_handler_receives(tmp_path: Path) -> None:
    """D-A.14, D-2.3.1, D-2.3.3, D-2.3.4, D-7.3.1: the same, seen from the node that they come to."""
    ran = go(tmp_path, MAKERS)
    (seen,) = ran.output("Look")
    trace = ran.events[0].trace_id
    for name, (body, kind) in BODIES.items():
        fields = seen[name.lower()]["fields"]
        raw = base64.b64encode(body).decode() if kind == "binary" else body
        assert (fields["body"], fields["content_type"], fields["produced_by"]) == (raw, kind, name)
        assert (fields["trace_id"], fields["id"]) == (trace, f"{name}>Look/0/0")
        assert fields["metadata"]["token_usage"] == {"total": 7}
    assert seen["text"]["text"] == seen["text"]["json"] == BODIES["Text"][0]
    assert seen["json"]["json"] == BODIES["Json"][0]
    assert base64.b64decode(seen["picture"]["bytes"]) == PICTURE


def test_metadata_that_a_handler_receives(tmp_path: Path) -> None:
    """D-2.3.2, D-X.20: execution time and iteration under the names of the catalogue."""
    (seen,) = go(tmp_path, MAKERS).output("Look")
    for name in ("text", "json", "picture"):
        metadata = seen[name]["fields"]["metadata"]
        assert metadata["execution_time_ms"] >= 10
        assert metadata["iteration"] == 1


def test_token_usage_travels(tmp_path: Path) -> None:
    """D-2.3.2, D-X.17: what a person has used is in the metadata of its answer."""
    _, tokens = tokens_of(tmp_path, drawn([START, job("A", default_prompt="one two"), END], ["Start>A", "A>End"]))
    (answer,) = [t.envelope for t in tokens if t.edge == "A>End"]
    assert answer.metadata["token_usage"]["input"] == 2
    assert answer.metadata["model"] == "mock"


@pytest.mark.parametrize(
    "big", ["x" * 200_000, {"rows": [["y" * 100] * 10] * 100}, b"\x00" * 200_000], ids=["text", "json", "binary"]
)
def test_large_bodies_travel_by_reference(tmp_path: Path, big: Any) -> None:
    """D-X.20: over 64 KiB a body leaves the journal; tokens, nodes and outputs have it whole."""

    async def story() -> None:
        p = door(tmp_path)
        p.executor("template")(lambda: big)
        p.executor("person")(len)
        async with p:
            ran = await until_settled(
                p,
                drawn(
                    [START, text("Big"), job("Count"), END, {"label": "Kept", "type": "endpoint"}],
                    ["Start>Big", "Big>Count", "Count>End", "Big>Kept"],
                ),
            )
            assert ran.output("Count") == [len(big)]
            assert ran.look.outputs["Kept"] == big
            assert p.tokens(ran.id, edge="Big>Count")[0].envelope.body == big
            assert sum(len(row.body) for row in p.store.journal(p.row(ran.id).no)) < 10_000
            await p.wait(ran.id, timeout=PATIENCE_S)

    asyncio.run(story())


def test_a_condition_sees_a_large_body(tmp_path: Path) -> None:
    """D-X.20, D-X.16: by reference or not, what an expression reads of a body is the same."""
    nodes = [START, text("Big"), cond("Good", expression="big.good"), END, {"label": "Bad", "type": "endpoint"}]
    source = drawn(nodes, ["Start>Big", "Big>Good", "Good[condtrue]>End", "Good[condfalse]>Bad"])
    ran = go(tmp_path, source, executors={"template": lambda: {"good": True, "filling": "x" * 200_000}})
    assert ran.look.branches == {"Good": "condtrue"}
