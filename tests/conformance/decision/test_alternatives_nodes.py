"""The samples of 4.1 to 4.5 and 6.3 as they run: every alternative of a source, a judgment, a server and a channel."""

from __future__ import annotations

import contextlib
import json
import sqlite3
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from penstock.app.inbox import open_items
from tests.conformance.decision.harness import INPUT, Sample, leaves, samples, shows
from tests.conformance.decision.test_tc_wf import play, timed
from tests.conformance.decision.world import HOUR, PLANT, T0, Door, Wire, World, moment
from tests.executors.bench import Seen, as_json
from tests.servers.mqtt import MqttBroker


@pytest.fixture(scope="module")
def wire() -> Iterator[Wire]:
    one = Wire()
    yield one
    one.close()


@pytest.fixture
def world(tmp_path: Path, wire: Wire) -> World:
    wire.forget()
    return World(tmp_path, wire).plant()


# ---- 4.1: where data come from ---------------------------------------------------------------------------------------

#: where each looks: the sample's query is SQL, which none of the others can do with (C-24)
PLACES = {"api": "/defects", "file": "{line_id}.json", "stream": "line.defects"}
ROWS = {"api": [{"defect_count": 1}], "file": [{"defect_count": 2}], "stream": [{"defect_count": 3}]}


@shows("4.1", "source/type", "sql", "api", "file", "stream")
@leaves("4.1", "source/connection", "source/query", "source/params/line_id", "source/params/start_date",
        "output/variable")  # fmt: skip
def test_where_data_come_from(world: World, wire: Wire, one: Sample) -> None:
    """C-05, C-24, W-4.1.1, W-4.1.3, W-4.1.4: each of the four has other rows, and only it is asked."""
    kind = one.alternative
    (world.folder / "files").mkdir()
    (world.folder / "files" / "L01.json").write_text(json.dumps(ROWS["file"]))
    wire.answers["defects"] = lambda seen: as_json(ROWS["api"])
    wire.answers["defects?line_id=L01&start_date=2026-02-23T01%3A00%3A00.000Z"] = wire.answers["defects"]
    connections: dict[str, dict[str, Any]] = {
        "api": {"type": "http", "base_url": wire.server.url}, "stream": {"type": "events"},
        "file": {"type": "file", "root": str(world.folder / "files")},
    }  # fmt: skip
    with contextlib.closing(sqlite3.connect(world.folder / "plant.db")) as c, c:
        c.execute("DELETE FROM fact_daily_defect")
        days = [("L01", "2026-02-22"), ("L01", "2026-02-24"), ("L01", "2026-03-01"), ("L02", "2026-03-01")]
        c.executemany("INSERT INTO fact_daily_defect VALUES (?, ?, 7, 0.1)", days)
    if kind != "sql":
        world.register("connection", "postgres_main", **connections[kind])
        one.node["source"]["query"] = PLACES[kind]

    async def scene(door: Door) -> None:
        await door.send_event("line.defects", ROWS["stream"][0])
        run = await one.run(door)
        assert door.view(run).status == "completed", door.view(run).failure
        found = door.view(run).variables["defect_data"]
        if kind == "sql":  # of a week, of one line
            assert [row["date"] for row in found] == ["2026-02-24", "2026-03-01"]
        elif kind == "stream":
            assert [row.get("payload", row) for row in found] == ROWS[kind]
        else:
            assert found == ROWS[kind]

    play(world, scene)
    assert len(wire.server.seen) == (kind == "api")


@shows("4.1", "source/type", "sql")
@leaves("4.1", "cache/enabled", "cache/ttl_sec", "cache/key")
def test_what_was_read_is_kept_for_a_while(world: World, one: Sample) -> None:
    """W-4.14.1, W-4.1.7: for 300 s, by line and by day."""
    (world.folder / "plant.db").unlink()
    with contextlib.closing(sqlite3.connect(world.folder / "plant.db")) as c, c:
        c.executescript(PLANT)

    async def scene(door: Door) -> None:
        async def hit(**given: Any) -> bool:
            run = await one.run(door, {**INPUT, **given})
            assert door.view(run).status == "completed", door.view(run).failure
            return bool((door.told(run, "settled")[0].data.get("meta") or {}).get("cache_hit"))

        assert [await hit(), await hit(), await hit(line_id="L02")] == [False, True, False]
        await door.later(299_999)
        assert await hit()
        await door.later(1)
        assert not await hit()
        await door.to(T0 + 14 * HOUR - 1000)  # a second before midnight in Seoul
        assert [await hit(), await hit()] == [False, True]
        await door.later(1000)
        assert not await hit()

    play(world, scene)


@shows("4.1", "source/type", "api")
@leaves("4.1", "retry/max", "retry/backoff_ms", "output/schema")
def test_a_source_in_trouble(world: World, wire: Wire, one: Sample) -> None:
    """W-4.1.6, W-7.2.1: three retries of 1000 ms each; then rows that are not as the schema says."""
    world.register("connection", "postgres_main", type="http", base_url=wire.server.url)
    one.node["source"] |= {"query": "/defects", "params": {}}
    times = timed(world, "defects", 503, 503, 503, 503)

    async def scene(door: Door) -> None:
        run = await one.run(door)
        await door.later(10_000)
        assert times == [0, 1000, 2000, 3000] and door.failure(run) == ("HTTP_5XX", "external")
        wire.answers["defects"] = lambda seen: as_json([{"defect_rate": "much"}])
        assert door.failure(await one.run(door)) == ("OUTPUT_SCHEMA", "validation")
        wire.answers["defects"] = lambda seen: as_json([{"defect_rate": 0.1}])
        assert door.view(await one.run(door)).status == "completed"

    play(world, scene)


@shows("4.1", "source/type", "api")
@leaves("4.1", "timeout_ms")
def test_a_source_that_does_not_answer(world: World, wire: Wire, one: Sample) -> None:
    """W-4.1.8: what takes more than a second is well within 30 s."""
    world.register("connection", "postgres_main", type="http", base_url=wire.server.url)
    one.node["source"] |= {"query": "/defects", "params": {}}
    del one.node["retry"], one.node["cache"]

    def slow(seen: Seen) -> Any:
        time.sleep(1.2)
        return as_json([])

    wire.answers["defects"] = slow

    async def scene(door: Door) -> None:
        assert door.view(await one.run(door)).status == "completed"
        one.node["timeout_ms"] = 1000
        assert door.failure(await one.run(door)) == ("NODE_TIMEOUT", "timeout")

    play(world, scene)


# ---- 4.3: who judges -------------------------------------------------------------------------------------------------


RULES = ["over_limit", "near_limit"]


def model(world: World, decision: str, confidence: float) -> None:
    """A model on a socket that says so."""
    verdict = {"decision": decision, "confidence": confidence, "reasoning": "so it seems", "recommendations": []}
    said = json.dumps(verdict)
    choice = {"index": 0, "message": {"role": "assistant", "content": said}, "finish_reason": "stop"}
    usage = {"prompt_tokens": 11, "completion_tokens": 4, "total_tokens": 15}
    whole = {"id": "c1", "object": "chat.completion", "model": "gpt-4o", "choices": [choice], "usage": usage}
    world.wire.answers["v1/chat/completions"] = lambda seen: as_json(whole)
    world.register("connection", "default_llm", type="openai", base_url=f"{world.wire.server.url}/v1")


@shows("4.3", "policy/type", "RULE_ONLY", "LLM_ONLY", "HYBRID", "ESCALATE")
@leaves("4.3", "policy/rule_pack_id", "policy/llm_config/model", "policy/llm_config/temperature",
        "policy/llm_config/max_tokens", "output/variable", "input/data", "input/context/line_info")  # fmt: skip
def test_who_judges(world: World, wire: Wire, one: Sample) -> None:
    """C-05, W-4.3.1, C-51: rules say 0.95, the model 0.97; the better of both; a person."""
    model(world, "critical", 0.97)
    asked, matched, confidence = {
        "RULE_ONLY": (0, RULES, 0.95), "LLM_ONLY": (1, [], 0.97), "HYBRID": (1, RULES, 0.97),
        "ESCALATE": (0, [], 1.0),
    }[one.alternative]  # fmt: skip

    async def scene(door: Door) -> None:
        run = await one.run(door)
        assert door.view(run).status == ("waiting" if one.alternative == "ESCALATE" else "completed")
        if one.alternative == "ESCALATE":
            await door.decide(run, "critical")
        result = door.view(run).variables["judgment_result"]
        assert (result["decision"], result["confidence"], result["matched_rules"]) == ("critical", confidence, matched)
        assert (result.get("decided_by") == "human") is (one.alternative == "ESCALATE")
        (kept,) = door.judgments()
        assert kept.input["data"][0]["defect_rate"] == 0.12
        assert kept.input["context"]["line_info"]["name"] == "1라인"

    play(world, scene)
    calls = wire.to("v1/chat/completions")
    assert len(calls) == asked
    for call in calls:
        assert (call.json["model"], call.json["temperature"], call.json["max_tokens"]) == ("gpt-4o", 0.1, 1000)


@shows("4.3", "policy/routing/conflict_resolution", "rule_priority", "llm_priority", "human_escalate")
@leaves("4.3", "policy/routing/confidence_threshold")
def test_when_rules_and_model_disagree(world: World, one: Sample) -> None:
    """C-05, W-4.3.3, C-51: whoever wins, less half of what the other was sure of; under 0.85 a person decides."""
    one.node["policy"]["type"] = "HYBRID"  # where one judges alone there is nothing to resolve
    sure: list[tuple[float, float]] = [(0.95, 0.1), (0.2, 0.95), (0.95, 0.22)]
    wanted = {"rule_priority": ["critical", "waits", "waits"], "llm_priority": ["waits", "warning", "waits"],
              "human_escalate": ["waits", "waits", "waits"]}  # fmt: skip
    found = []
    for rules, llm in sure:
        model(world, "warning", llm)
        rule = {"id": "r", "when": "true", "decision": "critical", "confidence": rules}
        pack = {
            "id": "quality_rules_v2",
            "version": "2.0.0",
            "status": "approved",
            "rules": [rule],
        }  # which is deployed
        world.register("rule_pack", "quality_rules_v2", **pack)

        async def scene(door: Door) -> str:
            run = await one.run(door)
            waits = door.view(run).status == "waiting"
            return "waits" if waits else str(door.view(run).variables["judgment_result"]["decision"])

        found.append(play(world, scene))
        (world.folder / "store.db").unlink()
    assert found == wanted[one.alternative]


@shows("4.3", "policy/type", "LLM_ONLY")
@leaves("4.3", "policy/routing/fallback", "input/context/recent_judgments", "output/schema", "audit/log_input",
        "audit/log_reasoning", "audit/human_review_if")  # fmt: skip
def test_a_judgment_is_fallen_back_on_written_down_and_reviewed(world: World, wire: Wire, one: Sample) -> None:
    """W-4.14.1, W-4.3.3, W-4.3.4, C-51, C-52: nobody can judge: a person; a critical one is reviewed, a normal one is
    not; the ones before are looked at."""

    async def scene(door: Door) -> None:
        calls = wire.to("v1/chat/completions")
        run = await one.run(door)
        (first,) = door.judgments()
        assert first.needs_review and first.input["data"] and first.output["reasoning"] == "so it seems"
        model(world, "normal", 0.9)
        again = await one.run(door)
        second = next(one for one in door.judgments() if one.run == again)
        assert not second.needs_review
        (before,) = second.input["context"]["recent_judgments"]
        assert before["decision"] == "critical" and before["input"]["data"] == first.input["data"]
        wire.trouble["v1/chat/completions"] = float("inf")
        lost = await one.run(door)
        await door.later(HOUR)
        assert door.view(lost).status == "waiting" and open_items.find(door, lost).kind == "review"
        assert door.view(run).status == "completed" and not calls

    model(world, "critical", 0.97)
    play(world, scene)


# ---- 4.4: servers ----------------------------------------------------------------------------------------------------

SERVER = """
import json, sys
from mcp.server.mcpserver import MCPServer

server = MCPServer("erp", version=sys.argv[2])

@server.tool()
def get_inventory(item_code: str, warehouse: str) -> dict:
    return {"items": [{"item_code": item_code + "/" + warehouse, "quantity": int(sys.argv[1])}]}

@server.resource("erp://get_inventory/{item_code}")
def stock(item_code: str) -> str:
    return json.dumps({"items": [{"item_code": "read " + item_code, "quantity": 0}]})

@server.prompt(name="get_inventory")
def ask(item_code: str, warehouse: str) -> str:
    return "How many " + item_code + " are in " + warehouse + "?"

server.run("stdio")
"""


@pytest.fixture
def erp(world: World) -> World:
    """The ERP has 7 of everything, and the one that takes its place 5."""
    pytest.importorskip("mcp")
    script = world.folder / "server.py"
    script.write_text(SERVER)
    for name, count in (("erp_mcp_server", "7"), ("erp_mcp_backup", "5")):
        command = [sys.executable, "-I", str(script), count, "1.4.2"]
        world.register("mcp_server", name, transport="stdio", command=command, version="1.4.2")
    return world


@shows("4.4", "operation/type", "tool", "resource", "prompt")
@leaves("4.4", "server/id", "operation/name", "operation/arguments/item_code", "operation/arguments/warehouse",
        "output/variable", "output/transform/type", "output/transform/expression")  # fmt: skip
def test_what_is_asked_of_a_server(erp: World, one: Sample) -> None:
    """C-05, W-4.4.1, W-4.4.2: a tool is called, a resource is read, a prompt is filled."""
    wanted: dict[str, Any] = {
        "tool": [{"code": "I-1/WH01", "qty": 7}], "resource": [{"code": "read I-1", "qty": 0}],
        "prompt": [{"role": "user", "content": "How many I-1 are in WH01?"}],
    }  # fmt: skip
    if one.alternative == "resource":  # it has a URI
        one.node["operation"] |= {"name": "erp://get_inventory/{item_code}"}
        del one.node["operation"]["arguments"]["warehouse"]
    if one.alternative == "prompt":  # it has no items
        one.node["output"]["transform"]["expression"] = ".messages"

    async def scene(door: Door) -> None:
        run = await one.run(door)
        assert door.view(run).status == "completed", door.view(run).failure
        assert door.view(run).variables["inventory_data"] == wanted[one.alternative]

    play(erp, scene)


@shows("4.4", "fallback/on_error", "skip", "fail", "default_value", "alternative_server")
@leaves("4.4", "fallback/default/quantity", "fallback/default/status", "fallback/alternative_server")
def test_a_server_that_is_not_there(erp: World, one: Sample) -> None:
    """C-05, W-4.4.3, W-4.14.1."""
    erp.register("mcp_server", "erp_mcp_server", transport="stdio", command=["/nowhere/at-all"], version="1.4.2")
    ends, node, result = {
        "skip": ("completed", "skipped", None), "fail": ("failed", "failed", None),
        "default_value": ("completed", "succeeded", {"quantity": 0, "status": "unavailable"}),
        "alternative_server": ("completed", "succeeded", [{"code": "I-1/WH01", "qty": 5}]),
    }[one.alternative]  # fmt: skip

    async def scene(door: Door) -> None:
        run = await one.run(door)
        await door.later(HOUR)
        assert (door.view(run).status, door.ran(run)["mcp_erp"]) == (ends, node)
        assert door.view(run).variables.get("inventory_data") == result

    play(erp, scene)


@shows("4.4", "fallback/on_error", "fail")
@leaves("4.4", "server/version")
def test_a_server_of_another_version(erp: World, one: Sample) -> None:
    """C-54: 1.0.0 is asked for; 1.4.2 will do, 2.0.0 will not."""
    command = [sys.executable, "-I", str(erp.folder / "server.py"), "7", "2.0.0"]

    async def scene(door: Door) -> tuple[str, Any]:
        run = await one.run(door)
        return door.view(run).status, door.view(run).failure and door.failure(run)[1]

    assert play(erp, scene) == ("completed", None)
    erp.register("mcp_server", "erp_mcp_server", transport="stdio", command=command, version="2.0.0")
    (erp.folder / "store.db").unlink()
    assert play(erp, scene) == ("failed", "permanent")


# ---- 4.5: channels ---------------------------------------------------------------------------------------------------

TEXT = "[critical] L01 라인 불량률 0.12: stop the line"


@pytest.fixture
def broker() -> Iterator[MqttBroker]:
    one = MqttBroker()
    yield one
    one.close()


@shows("4.5", "channel/type", "slack", "email", "sms", "webhook", "robot", "database")
@leaves("4.5", "channel/config/slack/webhook_url", "channel/config/slack/channel", "channel/config/slack/mention",
        "template/id", "template/params/severity", "template/params/line_id", "template/params/defect_rate",
        "template/params/recommendation")  # fmt: skip
def test_where_a_message_goes(world: World, wire: Wire, broker: MqttBroker, one: Sample) -> None:
    """C-05, W-4.5.4, W-4.5.5, W-4.14.1: each channel to its own place, and to no other."""
    world.register("secret", "slack_webhook", value=f"{wire.server.url}/own-slack")
    world.register("connection", "default_mqtt", type="mqtt", url=broker.url)
    wire.answers["lab"] = lambda seen: as_json({})
    world.register("robot", "arm-1", commands=["stop"])
    world.register("channel", "robot", robot_id="arm-1", command="stop")
    world.register("channel", "database", table="quality_log", operation="insert")
    if one.alternative == "database":  # its columns
        one.node["template"] = {"id": "log_normal_check"}

    async def scene(door: Door) -> None:
        run = await one.run(door)
        assert door.view(run).status == "completed", door.view(run).failure

    play(world, scene)
    heard = {
        "slack": [seen.json for seen in wire.to("own-slack")], "webhook": [seen.body for seen in wire.to("lab")],
        "sms": [seen.json for seen in wire.to("sms")], "email": wire.mails(), "database": world.log(),
        "robot": broker.wait(1) if one.alternative == "robot" else broker.heard,
    }  # fmt: skip
    assert {name for name, said in heard.items() if said} == {one.alternative}
    (said,) = heard[one.alternative]
    if one.alternative == "slack":
        assert (said["text"], said["channel"]) == (f"@quality-team {TEXT}", "#quality-alerts")
    elif one.alternative == "database":
        assert said == ("L01", "critical", 0.95)
    elif one.alternative == "robot":
        assert said[1]["robot_id"] == "arm-1" and said[1]["params"]["severity"] == "critical"
    elif one.alternative == "email":
        assert TEXT in said.message.get_body().get_content() and said.message["Subject"] == "불량 알림"
    else:
        assert TEXT in (said.decode() if isinstance(said, bytes) else json.dumps(said, ensure_ascii=False))


@shows("4.5", "channel/type", "slack")
@leaves("4.5", "conditions/execute_if", "conditions/skip_if", "rate_limit/max_per_hour", "rate_limit/dedupe_key",
        "rate_limit/dedupe_window_sec")  # fmt: skip
def test_a_message_that_is_not_sent(world: World, wire: Wire, one: Sample) -> None:
    """W-4.14.1, W-4.5.1, W-4.5.2: normal; a holiday; the eleventh of an hour; the same again within the hour."""
    world.register("secret", "slack_webhook", value=f"{wire.server.url}/own-slack")
    world.register("calendar", "default", timezone="Asia/Seoul", holidays=["2026-03-03"])

    async def scene(door: Door) -> None:
        async def sent(line: str = "L01", decision: str = "critical") -> str:
            before = len(wire.to("own-slack"))
            judged = {"decision": decision, "recommendations": ["none"]}
            run = await one.run(door, {**INPUT, "line_id": line}, judgment_result=judged)
            meta = door.told(run, "settled")[0].data.get("meta") or {}
            new = len(wire.to("own-slack")) - before
            assert new == (0 if door.ran(run)["action_slack"] == "skipped" else 1)
            return str(meta.get("skip_reason", "")) if not new else "sent"

        assert [await sent(), await sent(), await sent(decision="warning")] == ["sent", "duplicate", "sent"]
        assert await sent(decision="normal") not in ("sent", "duplicate", "rate_limited")
        assert [await sent(f"L{n}") for n in range(10, 19)] == ["sent"] * 8 + ["rate_limited"]
        await door.later(HOUR - 1)
        assert await sent() == "duplicate"
        await door.later(1)
        assert await sent() == "sent"
        await door.to(T0 + 23 * HOUR)
        assert await sent("L99") not in ("sent", "duplicate", "rate_limited")

    play(world, scene)


# ---- 6.3: variables --------------------------------------------------------------------------------------------------


@shows("6.3", "")
@leaves("6.3", "source/type", "output/variable", "output/expression", "side_effects/set_variables/last_check_time",
        "side_effects/set_variables/check_count")  # fmt: skip
def test_variables_are_set(world: World, wire: Wire, one: Sample) -> None:
    """W-4.14.1, W-4.1.5: half as much again as the mean; a count that goes on from the one before; nobody is called."""

    async def scene(door: Door) -> None:
        run = await one.run(door)
        found = door.view(run).variables
        assert found["calculated_threshold"] == pytest.approx(0.18)
        assert (found["check_count"], found["last_check_time"]) == (1, moment(T0))
        again = await one.run(door, check_count=1, defect_data=[{"defect_rate": 0.1}, {"defect_rate": 0.3}])
        found = door.view(again).variables
        assert found["check_count"] == 2 and found["calculated_threshold"] == pytest.approx(0.3)

    play(world, scene)
    assert wire.counts() == {}


# ---- what every sample says ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("one", list({one.name: one for one in samples() if "type" in one.node}.values()),
                         ids=lambda one: one.name)  # fmt: skip
@leaves("4.1", "id", "type", "name")
@leaves("4.3", "id", "type", "name")
@leaves("4.4", "id", "type", "name")
@leaves("4.5", "id", "type", "name")
@leaves("4.6", "id", "type", "name")
@leaves("4.7", "id", "type", "name")
@leaves("4.8", "id", "type", "name")
@leaves("4.9", "id", "type", "name")
@leaves("4.10", "name")
@leaves("6.3", "id", "type")
def test_what_a_node_is_called(world: World, one: Sample) -> None:
    """W-4.14.1: what is told of a run has its id and its type; the name that its author gave it is its label."""

    async def scene(door: Door) -> None:
        run = await one.run(door)
        net = door.net_of(door.told(run, "run.started")[0].data["net"])
        called = {node.label for node in net.nodes if node.id.split(".")[0] == one.node["id"]}
        assert one.node.get("name", one.node["id"]) in called
        if one.node["type"] != "COMPENSATION":  # it is on no path
            ran = [(each.node, each.type) for each in door.view(run).firings]
            assert (one.node["id"], one.node["type"]) in ran

    play(world, scene)
