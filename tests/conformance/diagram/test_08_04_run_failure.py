"""8, when a node fails (D-X.10): what is shown, what still finishes, what goes on."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from penstock.diagram import NodeHandler, context, register_handler
from penstock.lang.compile import check_document
from tests.conformance.diagram.make import END, START, job, text
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
    until_settled,
)


@register_handler("run_08_raise")
class Raise(NodeHandler):
    """Raises as often as `times` says, counted outside; always without it."""

    def execute_with_envelopes(self, request: Any, inputs: Any) -> Any:
        tries = context.service("tries")
        tries.append(request.key)
        if len(tries) <= request.props.get("times", 99):
            kind = ConnectionError if request.props.get("passing") else ValueError
            raise kind("cannot do it")
        return "done"


@register_handler("run_08_received")
class Received(NodeHandler):
    def execute_with_envelopes(self, request: Any, inputs: Any) -> Any:
        one = inputs["default"]
        return {"content_type": one.content_type, "body": one.body}


def bad(**fields: Any) -> dict[str, Any]:
    return {"label": "Bad", "type": "run_08_raise", **fields}


def test_a_node_that_raises_fails_the_run(tmp_path: Path) -> None:
    """D-A.15, D-X.10, D-8.1.4: node FAILED, downstream got no token, run FAILED with the message, no traceback."""
    source = drawn([START, bad(), job("Next"), END], ["Start>Bad", "Bad>Next", "Next>End"])
    ran = go(tmp_path, source, settings={"services": {"tries": []}})
    assert ran.status == "FAILED"
    assert ran.look.failure is not None
    assert (ran.look.failure["message"], ran.look.failure["node"]) == ("cannot do it", "Bad")
    assert "Traceback" not in str(ran.look.failure)
    assert ran.look.nodes == {"Start": "COMPLETED", "Bad": "FAILED", "Next": "SKIPPED", "End": "SKIPPED"}
    assert ran.puts("Bad>Next") == []
    assert ran.balance() == 0


def test_on_error_continue(tmp_path: Path) -> None:
    """D-A.15, D-X.10, D-X.20: an error envelope goes on instead; the node is FAILED, the run is not."""
    received = {"label": "Next", "type": "run_08_received"}
    source = drawn([START, bad(on_error="continue"), received, END], ["Start>Bad", "Bad>Next", "Next>End"])
    ran = go(tmp_path, source, settings={"services": {"tries": []}})
    assert (ran.status, ran.look.nodes["Bad"], ran.look.failure) == ("COMPLETED", "FAILED", None)
    out = ran.look.outputs["End"]
    assert out["content_type"] == "error"
    assert out["body"]["error"]["message"] == "cannot do it"
    assert len(ran.puts("Bad>Next")) == 1


def test_an_error_envelope_says_whose_error_it_is(tmp_path: Path) -> None:
    """D-X.10, D-A.15: code, category, message and the node that failed."""
    source = drawn([START, bad(on_error="continue"), END], ["Start>Bad", "Bad>End"])
    ran = go(tmp_path, source, settings={"services": {"tries": []}})
    error = ran.look.outputs["End"]["error"]
    assert (error["code"], error["category"], error["message"]) == ("NODE_ERROR", "permanent", "cannot do it")
    assert error["node"] == "Bad"


@awaited
async def test_running_nodes_finish_and_no_new_ones_start(tmp_path: Path) -> None:
    """D-X.10: after a failure what is at work may finish; nothing begins; then the run is FAILED."""
    gates = Gates()
    nodes = [START, gate("Long"), job("After"), gate("Before"), bad(), END]
    ways = ["Start>Long", "Long>After", "Start>Before", "Before>Bad", "Bad>End"]
    async with door(tmp_path, settings={"services": {"gates": gates, "tries": []}}) as p:
        run = await p.start(p.release(drawn(nodes, ways)))
        await reached(p, run, lambda ran: len(gates.waiting) == 2)
        gates.let("Before")
        ran = await reached(p, run, lambda ran: bool(ran.of("settled", "Bad")))
        assert ran.status == "RUNNING", "Long is still at work"
        gates.let("Long")
        await p.wait(run, timeout=PATIENCE_S)
        ran = Ran(p, run)
    assert [x.data["status"] for x in ran.of("settled", "Long")] == ["done"]
    assert ran.times("After") == 0
    assert ran.look.nodes["After"] == "SKIPPED"
    assert (ran.status, ran.balance()) == ("FAILED", 0)


@pytest.mark.parametrize(("times", "status"), [(2, "COMPLETED"), (3, "FAILED")])
def test_retry(tmp_path: Path, times: int, status: str) -> None:
    """D-X.10: `retry: {max, backoff_ms}`; all attempts have one key, so the work counts once."""
    tries: list[str] = []
    node = bad(times=times, passing=True, retry={"max": 2, "backoff_ms": 5})
    ran = go(tmp_path, drawn([START, node, END], ["Start>Bad", "Bad>End"]), settings={"services": {"tries": tries}})
    assert ran.status == status
    assert (len(tries), len(set(tries))) == (3, 1)
    assert ran.times("Bad") == 1
    assert ran.look.counters["Bad"] == 1
    assert [x.data["attempt"] for x in ran.of("effect.asked", "Bad")] == [1, 2, 3]
    assert [f.attempt for f in ran.look.firings if f.node == "Bad"] == [3]


def test_no_retry_where_it_cannot_help(tmp_path: Path) -> None:
    """D-X.10: what cannot pass is not tried again; `on_error: continue` then goes on."""
    ran = go(tmp_path, EXAMPLES / "keep_going.yaml")
    assert ran.status == "COMPLETED"
    assert [x.data["attempt"] for x in ran.of("effect.asked", "Load")] == [1], "a file that is missing stays missing"
    assert ran.look.nodes["Load"] == "FAILED"
    assert ran.look.outputs["Endpoint"].startswith("Got: ")


def test_a_script_that_raises_is_not_tried_again(tmp_path: Path) -> None:
    """D-X.10: as in 000 (C-15) what is permanent is not repeated; a script raises again with the same inputs, and the
    check says so before anybody waits for it."""
    node = {"label": "Bad", "type": "code_job", "code": "1 / 0", "retry": {"max": 3, "backoff_ms": 5}}
    document = drawn([START, node, END], ["Start>Bad", "Bad>End"])
    _, (told,) = check_document(document, name="d.json")
    assert (told.severity, told.rule, told.node, told.where.pointer) == (
        "warning", "retry_cannot_help", "Bad", "/nodes/1/retry",
    )  # fmt: skip
    assert "on_error: continue" in told.hint
    ran = go(tmp_path, document)
    assert ran.status == "FAILED"
    assert [x.data["attempt"] for x in ran.of("effect.asked", "Bad")] == [1]


@awaited
async def test_a_node_that_takes_too_long(tmp_path: Path) -> None:
    """D-X.10: `timeout` ends an attempt; the node fails with NODE_TIMEOUT."""
    gates = Gates()
    async with door(tmp_path, settings={"services": {"gates": gates}}) as p:
        ran = await until_settled(p, drawn([START, gate("A", timeout=0.05), END], ["Start>A", "A>End"]))
    assert ran.status == "FAILED"
    assert ran.look.failure is not None
    assert ran.look.failure["code"] == "NODE_TIMEOUT"


@awaited
async def test_a_failed_run_can_be_tried_again(tmp_path: Path) -> None:
    """D-X.10, D-X.23: the node that failed is revived under its own key; what was done before is not done again."""
    tries: list[str] = []
    async with door(tmp_path, settings={"services": {"tries": tries}}) as p:
        ran = await until_settled(p, drawn([START, job("A"), bad(times=1), END], ["Start>A", "A>Bad", "Bad>End"]))
        assert ran.status == "FAILED"
        await p.retry(ran.id)
        look = await p.wait(ran.id, timeout=PATIENCE_S)
        again = Ran(p, ran.id)
    assert (look.status, look.outputs) == ("COMPLETED", {"End": "done"})
    assert (again.times("A"), len(set(tries))) == (1, 1)
    assert look.nodes["Bad"] == "COMPLETED"


def test_a_document_that_names_what_nobody_does(tmp_path: Path) -> None:
    """D-X.15: an unknown type is refused before anything runs."""
    from penstock.errors import DocumentInvalid

    with pytest.raises(DocumentInvalid) as refused:
        go(tmp_path, drawn([START, {"label": "A", "type": "nobody"}, END], ["Start>A", "A>End"]))
    assert "nobody" in str(refused.value.findings[0].message)


def test_a_node_that_returns_what_cannot_be_kept(tmp_path: Path) -> None:
    """D-X.10, D-X.20: the node fails; the run ends and says why."""
    ran = go(tmp_path, drawn([START, text("T"), END], ["Start>T", "T>End"]), executors={"template": object})
    assert ran.status == "FAILED"
    assert ran.look.failure is not None
    assert ran.look.failure["node"] == "T"
