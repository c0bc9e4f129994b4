"""handler: node types as classes, the seed's own handler among them, and envelopes."""

from __future__ import annotations

import asyncio
import base64
import json
import re
import threading
from pathlib import Path

import msgspec
import pytest

from penstock.executors import handler as module
from penstock.executors.contract import Done, Failed, Skipped
from penstock.executors.handler import (
    Envelope,
    EnvelopeFactory,
    HandlerExecutor,
    Inputs,
    NodeHandler,
    context,
    handler_executors,
    load_handlers,
    node_id,
    register_handler,
)  # fmt: skip
from tests.executors.bench import given

SEED = Path(__file__).parents[1] / "seeds" / "004_b1a9524774d0b8f7.txt"


@pytest.fixture(autouse=True)
def registry(monkeypatch):
    monkeypatch.setattr(module, "HANDLERS", {})
    module.offered.cache_clear()
    yield
    module.offered.cache_clear()


def test_the_seeds_own_handler_runs_unmodified(bench):
    """D-7.3.1, D-7.3.2, D-X.30: the class of the seed, word for word, in a module that imports what it names."""
    text = re.search(r"```python\n(class NodeHandler.*?)```", SEED.read_text(), re.S)[1]
    module_of_a_user = {"context": context, "node_id": node_id, "EnvelopeFactory": EnvelopeFactory, "result": "made"}
    exec(text, module_of_a_user)
    done = bench.done(HandlerExecutor("seed", module_of_a_user["NodeHandler"]), None, {"a": "x"})
    assert (done.body, done.content_type) == ("made", "raw_text")


def test_what_was_taken_reaches_the_handler(bench):
    """D-7.3.1, D-X.7: consume_inbound gives the newest envelope per name; older ones are in its history."""
    seen = {}

    class Looks(NodeHandler):
        def consume_token_inputs(request, inputs):  # noqa: N805
            seen["same"] = (
                inputs == context.consume_inbound(node_id) == request.context.consume_inbound(request.node_id)
            )
            return context.consume_inbound(node_id)

        def execute_with_envelopes(request, inputs):  # noqa: N805
            seen["inputs"] = inputs
            return EnvelopeFactory.create({name: one.body for name, one in inputs.items()})

    taken = [given("a", 1, 2, 3, meta={"execution_time_ms": 4}), given("b", "t")]
    done = bench.done(HandlerExecutor("h", Looks), None, taken)
    assert done.body == {"default": 3, "a": 3, "b": "t"}
    assert seen["same"]
    inputs = seen["inputs"]
    assert isinstance(inputs, Inputs)
    assert [one.body for one in inputs.history["a"]] == [1, 2]
    assert inputs.history["b"] == []
    assert inputs["a"].metadata == {"execution_time_ms": 4}
    assert (inputs["a"].produced_by, inputs["a"].trace_id) == ("src_a", "trace-1")


def test_a_received_envelope_is_named_by_its_token(bench):
    """D-2.1.2, D-X.20: id is (edge, epoch, sequence number); created_at is when the token was made."""
    one = msgspec.structs.replace(given("a", "x", "y"), seqs=(0, 4), ats=(1_000, 1_700_000_000_123))
    found = Inputs(bench.request(None, [one], epoch=2))
    assert (found["a"].id, found["a"].created_at) == ("e_a/2/4", "2023-11-14T22:13:20.123+00:00")
    assert found.history["a"][0].id == "e_a/2/0"


class WithSelf(NodeHandler):
    def execute_with_envelopes(self, request, inputs):
        return EnvelopeFactory.create(f"{request.node_id} {inputs['default'].as_text()}")


class WithoutSelf(NodeHandler):
    def consume_token_inputs(request, inputs):  # noqa: N805
        return context.consume_inbound(node_id)

    def execute_with_envelopes(request, inputs):  # noqa: N805
        return EnvelopeFactory.create(f"{node_id} {inputs['default'].as_text()}")


class Static(NodeHandler):
    @staticmethod
    def execute_with_envelopes(request, inputs):
        return EnvelopeFactory.create(f"{request.node_id} {inputs['default'].as_text()}")


class ByClass(NodeHandler):
    @classmethod
    def execute_with_envelopes(cls, request, inputs):
        return EnvelopeFactory.create(f"{request.node_id} {inputs['default'].as_text()}")


class Awaited(NodeHandler):
    async def consume_token_inputs(self, request, inputs):
        await asyncio.sleep(0)
        return inputs

    async def execute_with_envelopes(self, request, inputs):
        await asyncio.sleep(0)
        return EnvelopeFactory.create(f"{node_id} {inputs['default'].as_text()}")


class Unrelated:
    def execute_with_envelopes(request, inputs):  # noqa: N805
        return f"{node_id} {inputs['default'].as_text()}"


@pytest.mark.parametrize("cls", [WithSelf, WithoutSelf, Static, ByClass, Awaited, Unrelated])
def test_methods_may_be_written_in_any_way(bench, cls):
    """D-X.30: with self or without, awaited or not, derived from NodeHandler or not."""
    assert bench.done(HandlerExecutor("h", cls), None, {"a": "x"}).body == "n x"


def test_a_handler_keeps_no_state(bench):
    """D-9.2: each attempt gets a handler of its own."""

    class Counts(NodeHandler):
        def __init__(self):
            self.n = 0

        def execute_with_envelopes(self, request, inputs):
            self.n += 1
            return self.n

    executor = HandlerExecutor("h", Counts)
    assert [bench.done(executor).body for _ in range(3)] == [1, 1, 1]


def test_attempts_at_the_same_time_see_their_own_context(bench):
    """D-7.2.4: each execution is independent of the others."""
    gate = threading.Barrier(8, timeout=60)

    class Meets(NodeHandler):
        def execute_with_envelopes(request, inputs):  # noqa: N805
            before = str(node_id)
            gate.wait()
            return [before, str(node_id), context.run_id, inputs["default"].body]

    async def all_of_them():
        executor = HandlerExecutor("h", Meets)
        asked = [bench.request(None, {"a": n}, node=f"n{n}", run=f"r{n}") for n in range(8)]
        return await asyncio.gather(*(executor.run(one, bench.services) for one in asked))

    for n, done in enumerate(asyncio.run(all_of_them())):
        assert done.body == [f"n{n}", f"n{n}", f"r{n}", n]


def test_the_context_lends_services(bench):
    """D-8.2.4: dependencies come from the application."""
    bench.settings["services"] = {"greeter": lambda name: f"hi {name}"}

    class Greets(NodeHandler):
        def execute_with_envelopes(request, inputs):  # noqa: N805
            return (
                context.service("greeter")(request.props["name"])
                + f" {context.iteration} {context.epoch} {request.attempt}"
            )

    args = {"type": "greets", "props": {"name": "ann"}}
    assert bench.done(HandlerExecutor("h", Greets), args, visit=2, epoch=1, attempt=3).body == "hi ann 2 1 3"
    bench.settings.clear()
    assert "greeter" in bench.failed(HandlerExecutor("h", Greets), args).message


def test_a_handler_cannot_take_tokens_of_others(bench):
    """D-X.30: consume_inbound gives what the kernel has taken for this node, and nothing else."""

    class Reaches(NodeHandler):
        def consume_token_inputs(request, inputs):  # noqa: N805
            return context.consume_inbound("another")

        def execute_with_envelopes(request, inputs):  # noqa: N805
            return "never"

    assert "«another»" in bench.failed(HandlerExecutor("h", Reaches)).message


def test_outside_of_a_handler_there_is_no_context():
    with pytest.raises(RuntimeError, match="only while a handler works"):
        context.consume_inbound("x")
    with pytest.raises(RuntimeError):
        str(node_id)


def test_a_plain_value_is_wrapped(bench):
    """D-7.3.2, D-7.1.5: the result is wrapped in an envelope; outcomes go through as they are."""

    def returning(value):
        class Returns(NodeHandler):
            def execute_with_envelopes(request, inputs):  # noqa: N805
                return value

        return HandlerExecutor("h", Returns)

    assert bench.run(returning({"a": (1,)})) == Done({"a": [1]}, {}, "object")
    assert bench.run(returning(b"\x00")) == Done(b"\x00", {}, "binary")
    assert bench.run(returning(None)) == Done(None, {}, "object")
    assert bench.run(returning(Skipped("policy"))) == Skipped("policy")
    made = EnvelopeFactory.create("x", content_type="conversation_state", metadata={"token_usage": {"total": 3}})
    assert bench.run(returning(made)) == Done("x", {"token_usage": {"total": 3}}, "conversation_state")
    assert bench.failed(returning(object())).code == "OUTPUT_INVALID"


def test_a_handler_that_raises(bench):
    """D-A.15: the node fails with the message."""

    class Raises(NodeHandler):
        def execute_with_envelopes(request, inputs):  # noqa: N805
            raise ValueError("cannot do it")

    failure = bench.failed(HandlerExecutor("h", Raises))
    assert (failure.code, failure.category, failure.message) == ("NODE_ERROR", "permanent", "cannot do it")


def test_a_handler_that_does_nothing_says_so(bench):
    assert "execute_with_envelopes" in bench.failed(HandlerExecutor("h", NodeHandler)).message


def test_types_are_registered_by_decorator(bench):
    """D-X.15, D-X.30: extra types by decorator; one executor serves them all, or each its own."""

    @register_handler("shout")
    class Shout(NodeHandler):
        def execute_with_envelopes(request, inputs):  # noqa: N805
            return inputs["default"].as_text().upper()

    assert module.HANDLERS["shout"] is Shout
    assert bench.done(HandlerExecutor(), {"type": "shout", "props": {}}, {"a": "hi"}).body == "HI"
    made = handler_executors()["shout"]()
    assert made.name == "shout"
    assert bench.done(made, None, {"a": "hi"}).body == "HI"
    failure = bench.failed(HandlerExecutor(), {"type": "whisper"})
    assert (failure.code, failure.category) == ("HANDLER_UNKNOWN", "validation")
    with pytest.raises(ValueError, match="already has the handler"):
        register_handler("shout")(WithSelf)


def test_types_come_from_entry_points(bench, monkeypatch):
    """D-X.15, D-X.30: extra types by entry point."""

    class Point:
        name = "from_package"

        @staticmethod
        def load():
            return WithSelf

    def points(group):
        assert group == "penstock.handlers"
        return [Point]

    monkeypatch.setattr("importlib.metadata.entry_points", points)
    assert load_handlers() == {"from_package": WithSelf}
    assert bench.done(HandlerExecutor(), {"type": "from_package"}, {"a": "x"}).body == "n x"


# ---- envelopes -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("body", "kind", "text", "as_json", "raw"),
    [
        ("grüß", "raw_text", "grüß", "grüß", "grüß".encode()),
        ({"a": [1]}, "object", '{"a":[1]}', {"a": [1]}, b'{"a":[1]}'),
        ([1, 2], "object", "[1,2]", [1, 2], b"[1,2]"),
        (b"\x00\xff", "binary", "AP8=", "AP8=", b"\x00\xff"),
        (b"abc", "binary", "abc", "YWJj", b"abc"),
        ('{"a": 1}', "raw_text", '{"a": 1}', {"a": 1}, b'{"a": 1}'),
        ("{not json", "raw_text", "{not json", "{not json", b"{not json"),
        (7, "object", "7", 7, b"7"),
        (None, "object", "", None, b""),
    ],
)
def test_an_envelope_has_several_representations(body, kind, text, as_json, raw):
    """D-2.3.1, D-2.3.3, D-A.14: text, JSON and binary; each reads back equal."""
    made = EnvelopeFactory.create(body)
    assert made.content_type == kind
    read = msgspec.convert(json.loads(json.dumps(made.as_dict())), Envelope)
    for envelope in (made, read):
        assert (envelope.as_text(), envelope.as_json(), envelope.as_bytes()) == (text, as_json, raw)


def test_an_envelope_has_its_fields_and_survives_json(bench):
    """D-X.20, D-2.3.2, D-2.3.4: id, body, content_type, metadata, produced_by, trace_id, created_at; base64 in JSON."""
    kept = {}

    class Makes(NodeHandler):
        def execute_with_envelopes(request, inputs):  # noqa: N805
            kept.setdefault("all", []).append(EnvelopeFactory.create(b"\x01\x02", metadata={"execution_time_ms": 12}))
            return kept["all"][-1]

    for _ in range(2):
        bench.done(HandlerExecutor("h", Makes))
    one, again = kept["all"]
    told = json.loads(json.dumps(one.as_dict()))
    assert sorted(told) == ["body", "content_type", "created_at", "id", "metadata", "produced_by", "trace_id"]
    assert base64.b64decode(told["body"]) == b"\x01\x02"
    assert (told["produced_by"], told["trace_id"]) == ("n", "trace-1")
    assert told["metadata"] == {"execution_time_ms": 12}
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}\+00:00", told["created_at"])
    assert one.id == again.id  # an attempt that is repeated makes the same envelope
    read = msgspec.convert(told, Envelope)
    assert (read.as_bytes(), read.as_json()) == (b"\x01\x02", "AQI=")


def test_an_envelope_is_not_wrapped_twice():
    made = EnvelopeFactory.create("x")
    assert EnvelopeFactory.create(made) is made


def test_a_failed_outcome_passes_through(bench):
    from penstock.executors.contract import failed

    class Refuses(NodeHandler):
        def execute_with_envelopes(request, inputs):  # noqa: N805
            return failed("BUSINESS_NO", "business", "no")

    assert isinstance(bench.run(HandlerExecutor("h", Refuses)), Failed)
