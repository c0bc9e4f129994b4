"""Judgments: every verdict leaves a row with its commit, and the journal can make it again."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import msgspec
import pytest

from penstock.app.decision.judgments import judgments
from penstock.app.inbox.inbox import decision
from penstock.app.inbox.open_items import find
from penstock.app.penstock import Penstock
from penstock.host.clock import ManualClock
from penstock.store.events import EventRow
from tests.host.decisions import TENANT, House, workflow
from tests.host.rig import eventually, go

PACK = {
    "id": "p", "version": "1", "status": "approved",
    "rules": [{"id": "hot", "when": "data.t > 10", "decision": "critical", "reasoning": "it is ${data.t}"}],
    "default": {"decision": "normal", "confidence": 0.6},
}  # fmt: skip


def judging(audit: dict[str, Any] | None = None, **policy: Any) -> dict[str, Any]:
    told = {"type": "RULE_ONLY", "rule_pack_id": "p", **policy}
    node: dict[str, Any] = {
        "id": "judge", "type": "JUDGMENT", "policy": told,
        "input": {"data": "${input}", "context": {"line": "${input.line}"}},
    }  # fmt: skip
    if audit is not None:
        node["audit"] = audit
    return workflow(node)


@pytest.fixture
def house(tmp_path: Path) -> House:
    one = House(tmp_path, ManualClock())
    one.register("rule_pack", "p", **PACK)
    return one


def test_w_4_3_4_one_verdict_with_what_it_was_made_from(house: House) -> None:
    """W-4.3.4: input and output are kept with the node, the document and the decision; newest first."""
    clock: Any = house.clock

    async def scene() -> list[str]:
        runs = await house.runs(judging(), {"t": 30, "line": "L01"})
        clock.at += 1000
        return runs + await house.runs(judging(), {"t": 1})

    hot, cool = go(scene())
    with house.reading() as door:
        second, first = judgments(door.store, door.tenant)
        assert (first.run, first.node, first.document, first.decision) == (hot, "judge", "wf_test", "critical")
        assert first.input["data"] == {"t": 30, "line": "L01"} and first.input["context"] == {"line": "L01"}
        assert first.output["matched_rules"] == ["hot"] and first.output["reasoning"] == "it is 30"
        assert (second.run, second.decision) == (cool, "normal")
        assert [one.run for one in judgments(door.store, door.tenant, since=clock.at)] == [cool]
        assert len(judgments(door.store, door.tenant, name="wf_test")) == 2
        assert judgments(door.store, door.tenant, name="wf_else") == []


@pytest.mark.parametrize(
    ("condition", "wanted"),
    [("input.t > 20 && decision == 'critical'", True), ("input.line == 'L02'", False), ("seen == 7", True),
     ("decision == 'critical' and not (input.t < 20)", True)],
)  # fmt: skip
def test_w_4_3_4_the_review_may_ask_what_the_run_knows(house: House, condition: str, wanted: bool) -> None:
    """W-4.3.4: whatever the check accepts can be asked: the input, variables, the words of the verdict."""
    made = {**judging({"human_review_if": condition}, rule_pack_id="sure"), "context": {"variables": {"seen": 7}}}
    house.register("rule_pack", "sure", **{**PACK, "id": "sure", "default": {"decision": "normal", "confidence": 0.99}})
    (run,) = go(house.runs(made, {"t": 30, "line": "L01"}))
    with house.reading() as door:
        (one,) = judgments(door.store, door.tenant)
        assert (one.run, one.needs_review) == (run, wanted)


def test_c_52_reviews_and_what_may_not_be_written_down(house: House) -> None:
    """C-52, W-4.3.4: human_review_if gives a review record and does not hold up the run; without log_input and
    log_reasoning neither is stored."""
    secretly = {"log_input": False, "log_reasoning": False, "human_review_if": "decision == 'critical'"}
    runs = go(house.runs(judging(secretly), {"t": 30}, {"t": 1}))
    assert [house.status(run) for run in runs] == ["COMPLETED"] * 2
    with house.reading() as door:
        reviews = judgments(door.store, door.tenant, reviews=True)
        assert runs[0] in [one.run for one in reviews]
        (one,) = [one for one in reviews if one.run == runs[0]]
        assert one.needs_review and one.input is None and one.output["reasoning"] == ""


def test_c_52_the_persons_verdict_takes_the_place_of_the_one_left_to_them(house: House) -> None:
    """C-52: escalated: the run waits, a person decides, and the row says what was proposed and what was decided."""

    async def scene() -> str:
        async with house.driving() as host:
            run = await house.run(host, judging(routing={"confidence_threshold": 0.9}), {"t": 1})
            with house.reading() as door:
                (proposed,) = judgments(door.store, door.tenant, reviews=True)
                assert proposed.decision == "normal" and proposed.output["escalate"]
                item = find(door, run)
                command = decision(door, item, "warning", "manager@example.com", "I saw it")
            await host.ask(host.store.run_by_id(run).no, command)
            await eventually(lambda: host.row(run).status == 5)  # type: ignore[union-attr]
        return run

    run = go(scene())
    with house.reading() as door:
        (one,) = judgments(door.store, door.tenant)
        assert (one.run, one.node, one.decision, one.needs_review) == (run, "judge", "warning", False)
        assert one.output["decided_by"] == "human" and one.proposed["decision"] == "normal"
        assert one.input["data"] == {"t": 1} and judgments(door.store, door.tenant, reviews=True) == []


def test_judgments_are_made_again_from_the_journal(house: House) -> None:
    """W-4.3.4: `rebuild` drops the rows and folds the same ones, reviewed ones too."""
    test_c_52_the_persons_verdict_takes_the_place_of_the_one_left_to_them(house)
    go(house.runs(judging(), {"t": 30}, {"t": 1}))
    before = house.rows("SELECT * FROM judgment ORDER BY run, firing")
    assert len(before) == 3
    door = Penstock(house.path).open()
    door.store.c.execute("UPDATE judgment SET decision='nonsense'")  # type: ignore[attr-defined]
    door.rebuild()
    door.close()
    assert house.rows("SELECT * FROM judgment ORDER BY run, firing") == before


def test_a_failed_or_skipped_judgment_is_no_verdict(house: House) -> None:
    net = judging(rule_pack_id="nobody")
    go(house.runs(net, {"t": 1}))
    with house.reading() as door:
        assert judgments(door.store, door.tenant) == []


def test_c_64_stored_judgments_are_searched_without_reading_them_again(house: House) -> None:
    """C-64: the index of a tenant is made once; what comes later is added, what is decided anew replaces the old."""

    async def scene() -> None:
        clock: Any = house.clock
        async with house.driving() as host:
            tenant = host.tenants(TENANT)
            for n in range(30):
                await house.run(host, judging(), {"t": n, "note": f"bearing {n} worn"})
                clock.at += 1
            found = await tenant.search("similar_judgments", {"note": "bearing 7 worn"}, 3)
            assert len(found) == 3 and found[0]["input"]["data"]["note"] == "bearing 7 worn"
            assert found[0]["decision"] == "normal" and found[0]["output"]["confidence"] == 0.6
            index = tenant.indexes["similar_judgments"]  # type: ignore[attr-defined]
            await house.run(host, judging(), {"t": 99, "note": "hydraulic leak"})
            (leak,) = await tenant.search("similar_judgments", "hydraulic leak", 1)
            assert leak["decision"] == "critical"
            assert tenant.indexes["similar_judgments"] is index and len(index.known) == 31  # type: ignore[attr-defined]

    go(scene())


@pytest.mark.parametrize("type", ["rule_pack", "prompt", "model", "config"])
def test_c_82_the_newest_approved_version_is_used(house: House, type: str) -> None:
    """C-82, C-53: of all four types; neither a draft nor what is deprecated, and 1.10 is newer than 1.9."""
    for version, status in (("1.9", "approved"), ("1.10", "approved"), ("2", "draft"), ("3", "deprecated")):
        body = PACK if type == "rule_pack" else {}
        house.register(type, "thing", **{**body, "version": version, "status": status})

    async def scene() -> None:
        async with house.driving() as host:
            tenant = host.tenants(TENANT)
            found = tenant.find(type, "thing")
            assert found is not None and found["version"] == "1.10"
            assert tenant.each(type)["thing"]["version"] == "1.10"
            asked = tenant.find(type, "thing", "1.9")
            assert asked is not None and asked["version"] == "1.9" and tenant.find(type, "thing", "7") is None

    go(scene())


def test_w_4_1_4_the_stream_of_the_inbox_is_read_once_and_waited_for(house: House) -> None:
    """W-4.1.4, C-24: events of a source come once, oldest first; nobody waits longer than max_wait_ms."""

    def read(**params: Any) -> dict[str, Any]:
        source = {"type": "stream", "query": "line.alarm", "params": {"max_wait_ms": 0, **params}}
        return workflow({"id": "data_s", "type": "DATA", "source": source})

    async def scene() -> list[Any]:
        found = []
        async with house.driving() as host:
            for n in range(3):
                host.store.put_event(EventRow(TENANT, f"e{n}", "line.alarm", msgspec.msgpack.encode({"n": n}), n))
            for params in ({"max_messages": 2}, {}, {}):
                run = await house.run(host, read(**params))
                with house.reading() as door:
                    found.append(door.view(run).outputs["s_data"])
            began = time.perf_counter()
            await house.run(host, read(max_wait_ms=700))
            assert time.perf_counter() - began >= 0.7
        return found

    assert go(scene()) == [[{"n": 0}, {"n": 1}], [{"n": 2}], []]
