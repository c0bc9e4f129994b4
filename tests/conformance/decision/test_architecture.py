"""What the seed says of the whole: components, words, categories, what must be readable, what must be injectable."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any, get_args

import pytest

from penstock import Penstock
from penstock.app.inbox import inbox
from penstock.dialects.decision.words import RUN, UNIT
from penstock.errors import DocumentInvalid
from penstock.expr import compile_expression
from penstock.host.clock import ManualClock
from penstock.host.embedded import Host
from penstock.kernel.state import COMPLETED
from penstock.lang.compile import check_document, compile_document
from penstock.lang.decision.node_fields import Category
from penstock.lang.decision.nodes import NODE_TYPES
from penstock.store.sqlite import Sqlite
from tests.conformance.decision.make import Play, data, document, net_of, node
from tests.conformance.decision.world import DEFECT
from tests.host.decisions import value, workflow
from tests.host.rig import eventually

THIRTEEN = "DATA BI JUDGMENT MCP ACTION APPROVAL WAIT SWITCH PARALLEL COMPENSATION DEPLOY ROLLBACK SIMULATE"


def test_the_parts_of_the_pipeline_are_apart() -> None:
    """W-2.1.1: parser, validator, planner, executor, state and persistence can each be used alone."""
    text = json.dumps(document([data("data_x")])).encode()
    language, findings = check_document(text, name="x")
    assert language == "decision" and not [one for one in findings if one.severity == "error"]
    assert compile_document(text, name="x").net.name == "wf_test"
    with pytest.raises(DocumentInvalid):
        compile_document(json.dumps(document([{"id": "x", "type": "DATA"}])).encode(), name="x")


def test_there_are_thirteen_node_types() -> None:
    """W-2.1.2: exactly these, and each of them runs."""
    assert set(NODE_TYPES) == set(THIRTEEN.split()) and len(NODE_TYPES) == 13


def test_who_uses_which_system() -> None:
    """W-2.1.3: DATA a database, JUDGMENT a model, MCP a server, ACTION a channel: each by an executor that can be
    replaced, and none of them named by an address in the document."""
    source = {"type": "sql", "query": "SELECT 1 AS one"}
    nodes = [
        {"id": "data_x", "type": "DATA", "source": source},
        {"id": "judge_x", "type": "JUDGMENT", "policy": {"type": "LLM_ONLY"}, "input": {"data": "${x_data}"}},
        {"id": "mcp_x", "type": "MCP", "server": {"id": "s"}, "operation": {"type": "tool", "name": "t"}},
        {"id": "action_x", "type": "ACTION", "channel": {"type": "slack"}, "message": "hi"},
    ]
    net = net_of(nodes, "data_x>judge_x", "judge_x>mcp_x", "mcp_x>action_x")
    used = {one.effect.executor for one in net.nodes if one.effect is not None}
    assert {"sql", "judgment", "mcp", "notify"} <= used


def test_states_are_written_in_lower_case() -> None:
    """W-2.2.6: on the wire, in expressions, in labels."""
    assert all(word == word.lower() for word in (*RUN.values(), *UNIT.values()))
    assert {"completed", "waiting", "timeout", "compensated"} <= set(RUN.values()) and "succeeded" in UNIT.values()


def test_eight_categories() -> None:
    """W-7.1.1: their values, as failures, retries and the store have them."""
    eight = "transient permanent business validation timeout authorization resource external"
    assert set(get_args(Category)) == set(eight.split())


def test_params_in_the_source_win() -> None:
    """C-26: beside the source, inside it, and both: what stands in the source wins on the same name."""
    source = {"type": "sql", "query": "SELECT :a AS a, :b AS b", "params": {"a": 2}}
    net = net_of([{"id": "data_x", "type": "DATA", "source": source, "params": {"a": 1, "b": 3}}])
    effect = node(net, "data_x").effect
    assert effect is not None and effect.args["params"] == {"a": 2, "b": 3}


@pytest.mark.parametrize(("text", "now", "holiday"), [
    ("fn.is_holiday()", "2026-03-01T03:00:00Z", True), ("fn.is_holiday('2026-03-01')", "2026-03-04T03:00:00Z", True),
    ("fn.is_holiday()", "2026-03-04T03:00:00Z", False), ("fn.is_holiday('2026-03-04')", "2026-03-01T03:00:00Z", False),
])  # fmt: skip
def test_is_holiday_with_and_without_a_date(text: str, now: str, holiday: bool) -> None:
    """W-4.5.3: callable with no argument, which means now, and with one."""
    millis = compile_expression(f"fn.date_diff('{now}', '1970-01-01T00:00:00Z', 'second') * 1000")({})
    view: dict[str, Any] = {"$now": int(millis), "$calendar": {"holidays": ["2026-03-01"]}}
    assert compile_expression(text)(view) is holiday


def test_verdicts_without_routing_and_model_settings(tmp_path: Path) -> None:
    """W-4.3.6, C-51, C-77: the merged verdict, `needs_review` below 0.85, and no escalation."""

    async def scene() -> dict[str, Any]:
        async with Penstock(tmp_path / "s.db") as door:
            run = await door.start(door.release(DEFECT), {"line_id": "L01"})
            look = await door.wait(run, until_waiting=True, timeout=60)
            verdict: dict[str, Any] = look.variables["judgment_result"]
            return verdict

    verdict = asyncio.run(scene())
    assert (verdict["decision"], verdict["decided_by"], verdict["needs_review"]) == ("critical", "hybrid", True)
    assert verdict["confidence"] == 0.75 and "escalate" not in verdict


def test_everything_that_was_promised_can_be_read(tmp_path: Path) -> None:
    """C-65: instances with input, output, error and version; executions; approvals with approvers, data, deadline;
    timers; messages; rule packs and templates: from the one store, without the engine's help."""

    async def scene() -> None:
        async with Penstock(tmp_path / "s.db") as door:
            run = await door.start(door.release(DEFECT), {"line_id": "L01"})
            await door.wait(run, until_waiting=True, timeout=60)
            look = door.view(run)
            assert (look.run_id, look.name, look.status) == (run, "wf_defect_alert_v2", "waiting")
            assert door.input_of(door.row(run)) == {"line_id": "L01"} and door.row(run).tenant == "tenant_001"
            done = {one.node: (one.status, one.attempt, one.started_at > 0) for one in look.firings}
            assert done["data_defect"] == ("succeeded", 1, True)
            (item,) = inbox.open_items(door)
            assert (item.node, item.priority, item.escalation_level) == ("request_approval", "normal", 0)
            assert item.due_at is not None and item.due_at - item.opened_at == 2 * 3_600_000
            assert {row.id for row in door.store.artifacts("tenant_001", "rule_pack")} >= {"defect_rules_v3"}
            assert {row.id for row in door.store.artifacts("tenant_001", "template")} >= {"emergency_alert"}
            assert [row.decision for row in door.store.judgments("tenant_001")] == ["critical"]

    asyncio.run(scene())


def test_clock_randomness_and_ids_are_injected(tmp_path: Path) -> None:
    """C-73: with the same clock and seed two hosts write the same run, byte for byte, random numbers included."""

    def journal(folder: Path) -> list[bytes]:
        folder.mkdir()
        store = Sqlite(folder / "s.db")

        async def scene() -> list[bytes]:
            host = Host(store, {}, clock=ManualClock(1_000_000), seed=7)
            net = host.release(compile_document(json.dumps(DICE).encode(), name="dice").net)
            engine = asyncio.ensure_future(host.run())
            run = host.start(net, {}, tenant="tenant_001")
            await eventually(lambda: (row := host.row(run)) is not None and row.status >= COMPLETED)
            await host.close()
            await engine
            return [run.encode(), *(turn.body for turn in store.journal(store.run_by_id(run).no))]

        try:
            return asyncio.run(scene())
        finally:
            store.close()

    first, second = journal(tmp_path / "a"), journal(tmp_path / "b")
    assert first == second and len(first) > 1


DICE = workflow(value("dice", "fn.random_int(1, 1000000)"), value("later", "fn.date_add(fn.now(), 1, 'day')"))


def test_back_off_is_no_waiting() -> None:
    """C-42, W-2.2.4: a node that will be tried again keeps the instance running; only a suspended one lets it wait."""
    nodes = [data("data_x", retry={"max": 1, "backoff_ms": 1000}), data("data_y")]
    play = Play(nodes, "data_x>data_y")
    play.bad("data_x", category="transient")
    assert play.status == "RUNNING" and play.asks() == []
    waits = Play([{"id": "wait_x", "type": "WAIT", "condition": {"type": "manual"}}])
    assert waits.status == "WAITING"
