"""11.2 `wf_ccp_deviation_v2`, unmodified: begun by events, resumed by the lab, timed out, restarted."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from penstock.app.maintenance.verify import verify
from penstock.app.penstock import Penstock
from penstock.app.releases.triggers import EventReceipt
from penstock.lang.compile import check_document
from tests.conformance.decision.stores import Base
from tests.conformance.decision.world import CCP, HOUR, MINUTE, T0, Door, Wire, World, block, deaths, go, moment
from tests.executors.bench import as_json

SENSOR, LAB = "sensor.ccp.threshold_exceeded", "lab.result.completed"
BEGIN = ("data_ccp", "judge_ccp", "switch_ccp")
BOTH = ("parallel_response", "action_ccp_alert", "action_sample_request")
RESULT = {"sample_id": "S-L01", "ok": False, "ph": 6.1}
TWO_HOURS = 7_200_000
EXPIRED = ["created", "pending", "running", "waiting", "timeout", "failed"]


@pytest.fixture(scope="module")
def wire() -> Iterator[Wire]:
    one = Wire()
    yield one
    one.close()


@pytest.fixture
def world(tmp_path: Path, wire: Wire, base: Base) -> World:
    wire.forget()
    return World(tmp_path, wire, base).plant()


async def alarm(door: Door, severity: Any = "high", **payload: Any) -> EventReceipt:
    receipt = await door.send_event(SENSOR, {"line_id": "L01", "severity": severity, **payload})
    await door.quiet()
    return receipt


async def begun(door: Door) -> str:
    """The run that an alarm has started, until it can do no more."""
    door.put_in_force(CCP)
    (run,) = (await alarm(door)).started
    return run


async def waiting(door: Door) -> str:
    run = await begun(door)
    assert door.view(run).status == "waiting", door.view(run).failure
    return run


# ---- the document, and what starts it --------------------------------------------------------------------------------


def test_the_example_is_the_seeds_own() -> None:
    """W-11.2.2, C-81: byte for byte, and not even a hint is left to give."""
    body = CCP.read_bytes()
    assert body.decode() == block("11.2")
    assert [str(one) for one in check_document(body, name=CCP.name)[1]] == []
    assert (len(json.loads(body)["nodes"]), len(json.loads(body)["edges"])) == (8, 5)


def test_severities_go_by_rank(world: World, wire: Wire) -> None:
    """W-11.2.1, C-30: warning, high and critical start one run each, with the payload as input; info, normal and low,
    an unknown word and none at all start nothing; the same event again is the same run."""

    async def scene() -> None:
        async with world.plant("normal").open() as door:
            door.put_in_force(CCP)
            for severity in ("info", "normal", "low", "terrible", None):
                assert (await alarm(door, severity)).started == [], severity
            assert (await door.send_event(SENSOR, {"line_id": "L01"})).started == []
            assert (await door.send_event("sensor.other", {"line_id": "L01", "severity": "high"})).started == []
            assert door.runs() == []
            for severity in ("warning", "high", "critical", "CRITICAL"):
                (run,) = (await alarm(door, severity, sensor="T-7")).started
                assert door.input_of(door.row(run)) == {"line_id": "L01", "severity": severity, "sensor": "T-7"}
                assert door.view(run).status == "completed"
            first = await door.send_event(SENSOR, {"line_id": "L01", "severity": "high"}, id="e1")
            again = await door.send_event(SENSOR, {"line_id": "L01", "severity": "high"}, id="e1")
            assert first.started == again.started and not again.new
            assert len(door.runs()) == 5

    go(scene())
    assert wire.counts() == {} and wire.mails() == []


# ---- decisions -------------------------------------------------------------------------------------------------------


def test_normal_sends_nothing(world: World, wire: Wire) -> None:
    """W-11.2.2, W-11.2.3, W-11.2.4, W-11.2.5, C-14: the last hour only, judged by rules, no match: COMPLETED."""

    async def scene() -> None:
        async with world.plant("normal").open() as door:
            run = await begun(door)
            look = door.view(run)
            assert look.status == "completed" and door.ran(run) == dict.fromkeys(BEGIN, "succeeded")
            assert [row["timestamp"] for row in look.variables["ccp_data"]] == [moment(T0 - 10 * MINUTE)]
            assert look.variables["judgment_result"]["decided_by"] == "rule"
            assert [one["code"] for one in look.warnings] == ["SWITCH_NO_MATCH"] and door.letters() == []

    go(scene())
    assert wire.counts() == {} and wire.mails() == []


@pytest.mark.parametrize("decision", ["warning", "critical", "unknown"])
def test_anything_else_starts_both_branches(world: World, wire: Wire, decision: str) -> None:
    """W-11.2.5, W-11.2.6, W-11.2.7, W-11.2.8: the alert and the request for a sample, once each, then it waits."""

    async def scene() -> None:
        async with world.plant(decision).open() as door:
            run = await waiting(door)
            look = door.view(run)
            assert look.variables["judgment_result"]["decision"] == decision
            assert door.ran(run) == {
                **dict.fromkeys((*BEGIN, *BOTH), "succeeded"), "parallel_response": "running", "wait_lab": "running"
            }  # fmt: skip
            reason = look.variables["judgment_result"]["reasoning"]
            (alert,), (sample,) = wire.to("slack"), wire.to("lab")
            assert alert.json == {"text": f"[CCP 이탈] L01 라인: {reason}", "channel": "#quality-alerts"}
            assert (sample.method, sample.json) == ("POST", {"line_id": "L01", "reason": reason})
            assert look.variables["sample_request"]["id"] == "S-L01"
            assert [(one.node, one.for_, one.name) for one in look.waiting] == [("wait_lab", "signal", LAB)]

    go(scene())
    assert wire.counts() == {"slack": 1, "lab": 1} and wire.mails() == []


def test_branches_run_at_the_same_time(world: World, wire: Wire) -> None:
    """W-11.2.6: the sample is asked for while the alert hangs; the instance is WAITING only when both are done."""
    wire.hangs.add("slack")

    async def scene() -> None:
        async with world.open() as door:
            door.put_in_force(CCP)
            (run,) = (await door.send_event(SENSOR, {"line_id": "L01", "severity": "high"})).started
            await door.until(lambda: door.ran(run).get("wait_lab") == "running")
            assert door.view(run).status == "running"
            wire.going.set()
            await door.until(lambda: door.view(run).status == "waiting")

    go(scene())


# ---- the lab ---------------------------------------------------------------------------------------------------------


def reported(door: Door, wire: Wire, run: str) -> None:
    """The end that every good way leads to."""
    look = door.view(run)
    assert look.status == "completed", look.failure
    assert door.ran(run) == dict.fromkeys((*BEGIN, *BOTH, "wait_lab", "action_report"), "succeeded")
    assert look.variables["lab_result"] == RESULT and door.letters() == []
    merged = look.variables["parallel_results"]
    assert {name: one["status"] for name, one in merged.items()} == {
        "alert_branch": "succeeded", "sample_branch": "succeeded"
    }  # fmt: skip
    (mail,) = wire.mails()
    assert mail.to == ["quality@example.com"] and str(mail.message["Subject"]) == "CCP 이탈 보고서: L01"
    text = mail.message.get_content()
    assert "판정: critical" in text and json.loads(text.split("분석 결과: ")[1]) == RESULT
    assert wire.counts() == {"slack": 1, "lab": 1}


def test_the_right_result_completes_it(world: World, wire: Wire) -> None:
    """W-11.2.7, W-11.2.8, W-11.2.9: another sample does not resume it; the right one does, and the mail that the server
    takes has the result in it."""

    async def scene() -> None:
        async with world.open() as door:
            run = await waiting(door)
            facts = door.view(run).facts
            for wrong in ({"sample_id": "S-L02"}, {"id": "S-L01"}, {}, {"sample_id": None}, {"sample_id": ["S-L01"]}):
                assert (await door.send_event(LAB, wrong)).resumed == []
            assert (await door.send_event("lab.result.started", RESULT)).resumed == []
            await door.quiet()
            assert door.view(run).facts == facts and door.view(run).status == "waiting"
            assert (await door.send_event(LAB, RESULT)).resumed == [run]
            await door.quiet()
            assert door.life(run) == ["created", "pending", "running", "waiting", "running", "completed"]
            reported(door, wire, run)
            assert (await door.send_event(LAB, RESULT)).resumed == []

    go(scene())


def test_the_lab_is_faster_than_its_own_answer(world: World, wire: Wire) -> None:
    """C-37, W-4.7.6: the event is there before the wait begins, and is found."""
    wire.hangs.add("lab")

    async def scene() -> None:
        async with world.open() as door:
            door.put_in_force(CCP)
            (run,) = (await door.send_event(SENSOR, {"line_id": "L01", "severity": "high"})).started
            await door.until(lambda: wire.to("lab"))
            assert (await door.send_event(LAB, RESULT)).resumed == []
            wire.going.set()
            await door.until(lambda: door.view(run).status == "completed")
            reported(door, wire, run)

    go(scene())


def test_news_from_before_the_run_are_not_its_own(world: World, wire: Wire) -> None:
    """C-37: only events newer than the run's start count."""

    async def scene() -> None:
        async with world.open() as door:
            door.put_in_force(CCP)
            await door.send_event(LAB, RESULT)
            await door.later(1000)
            (run,) = (await alarm(door)).started
            assert door.view(run).status == "waiting"

    go(scene())


def test_two_runs_wait_for_their_own_samples(world: World, wire: Wire) -> None:
    """W-11.2.7, W-11.2.8: each filter has the id that its own lab request was answered with."""

    async def scene() -> None:
        async with world.plant("critical", ("L01", "L02")).open() as door:
            first = await waiting(door)
            (second,) = (await alarm(door, line_id="L02")).started
            assert (await door.send_event(LAB, {"sample_id": "S-L02"})).resumed == [second]
            await door.quiet()
            assert [door.view(run).status for run in (first, second)] == ["waiting", "completed"]

    go(scene())


def test_a_lab_without_an_id(world: World, wire: Wire) -> None:
    """C-37: the filter's value would be null, so that any event might match: FILTER_VALUE_NULL."""
    wire.answers["lab"] = lambda seen: as_json({"accepted": True}, 202)

    async def scene() -> None:
        async with world.open() as door:
            run = await begun(door)
            assert door.view(run).status == "failed"
            assert door.failure(run) == ("FILTER_VALUE_NULL", "validation")

    go(scene())
    assert wire.counts() == {"slack": 1, "lab": 1}


def test_a_restart_while_it_waits(world: World, wire: Wire) -> None:
    """W-11.2.10, C-37: the process ends; an event that comes while nobody drives is delivered by the next one."""

    async def first() -> str:
        async with world.open() as door:
            return await waiting(door)

    async def nobody() -> None:
        with contextlib.closing(Penstock(world.path, drive=False).open()) as door:
            assert not (await door.send_event(LAB, RESULT, id="lab-1")).delivered

    async def second(run: str) -> None:
        async with world.open(again=True) as door:
            await door.until(lambda: door.view(run).status == "completed")
            reported(door, wire, run)

    run = go(first())
    go(nobody())
    assert wire.counts() == {"slack": 1, "lab": 1}
    go(second(run))


def test_everything_came_while_nobody_was_there(world: World, wire: Wire) -> None:
    """W-11.2.1, C-37: alarm and result lie in the store when the process begins: one run, which finds its result."""

    async def nobody() -> None:
        with contextlib.closing(Penstock(world.path, drive=False).open()) as door:
            for _ in range(2):
                await door.send_event(SENSOR, {"line_id": "L01", "severity": "high"}, id="alarm-1")
            await door.send_event(LAB, RESULT, id="lab-1")

    async def second() -> None:
        async with world.open(again=True) as door:
            await door.until(lambda: door.runs() and door.view(door.runs()[0].id).status == "completed")
            (row,) = door.runs()
            reported(door, wire, row.id)

    go(in_force(world))
    go(nobody())
    assert wire.counts() == {}
    go(second())


def test_a_receipt_names_whom_it_has_resumed_after_a_restart(world: World) -> None:
    """C-37: the first thing that a new process hears is the event that a run of the old one waits for."""

    async def first() -> str:
        async with world.open() as door:
            return await waiting(door)

    async def second(run: str) -> None:
        async with world.open(again=True) as door:
            receipt = await door.send_event(LAB, RESULT)
            await door.until(lambda: door.view(run).status == "completed")
            assert receipt.resumed == [run]

    go(second(go(first())))


def test_no_retry_where_no_policy_asks_for_one(world: World, wire: Wire) -> None:
    """W-11.2.6, C-22: no policies: one attempt; the alert fails, the sample branch goes on to its end, then FAILED."""
    wire.trouble["slack"] = 1

    async def scene() -> None:
        async with world.open() as door:
            run = await waiting(door)
            assert door.ran(run)["action_ccp_alert"] == "failed"
            await door.send_event(LAB, RESULT)
            await door.quiet()
            look = door.view(run)
            assert look.status == "failed" and door.failure(run) == ("HTTP_5XX", "external")
            assert look.variables["lab_result"] == RESULT and len(wire.mails("보고서")) == 1
            assert len(door.letters()) == 1

    go(scene())
    assert wire.counts() == {"slack": 1, "lab": 1}


# ---- time ------------------------------------------------------------------------------------------------------------


def test_nothing_comes_for_two_hours(world: World, wire: Wire) -> None:
    """W-11.2.11, C-72, W-2.2.5: the lab took 3 s, so the join is due first: WAITING → TIMEOUT → FAILED, a letter; the
    alert's answer is kept; a result that comes too late changes nothing."""
    wire.hangs.add("lab")

    async def scene() -> None:
        async with world.open() as door:
            door.put_in_force(CCP)
            (run,) = (await door.send_event(SENSOR, {"line_id": "L01", "severity": "high"})).started
            await door.until(lambda: wire.to("lab"))
            await door.until(lambda: len(door.host.dispatch.in_flight) == 1)
            world.clock.at = T0 + 3000
            wire.going.set()
            await door.until(lambda: door.view(run).status == "waiting")
            timers = sorted((one.data["due"], one.data["why"]) for one in door.told(run, "timer.set"))
            assert timers == [(T0 + TWO_HOURS, "join"), (T0 + TWO_HOURS + 3000, "trigger")]
            await door.to(T0 + TWO_HOURS - 1)
            assert door.view(run).status == "waiting"
            await door.later(1)
            look = door.view(run)
            assert look.status == "failed" and door.failure(run) == ("JOIN_TIMEOUT", "timeout")
            assert door.life(run) == EXPIRED
            ran = door.ran(run)
            assert (
                ran["parallel_response"] == "failed" and ran["wait_lab"] != "succeeded" and "action_report" not in ran
            )
            assert look.variables["ccp_alert"]["_delivery"]["status"] == "sent"
            (letter,) = door.letters()
            assert (letter.run, letter.category, letter.error["node_id"]) == (run, "timeout", "parallel_response")
            assert letter.context_snapshot["outputs"]["ccp_alert"]["_delivery"]["status"] == "sent"
            assert (await door.send_event(LAB, RESULT)).resumed == []
            await door.later(HOUR)
            assert door.view(run).status == "failed" and wire.mails("보고서") == []

    go(scene())


def test_both_are_due_at_once(world: World, wire: Wire) -> None:
    """W-11.2.11, C-72: at one moment the inner one is first: WAIT_TIMEOUT; FAILED by time-out all the same."""

    async def scene() -> None:
        async with world.open() as door:
            run = await waiting(door)
            await door.to(T0 + TWO_HOURS)
            assert door.view(run).status == "failed" and door.failure(run) == ("WAIT_TIMEOUT", "timeout")
            assert door.life(run) == EXPIRED
            assert door.ran(run)["wait_lab"] == "failed"
            assert door.view(run).variables["ccp_alert"]["ok"] == "slack" and len(door.letters()) == 1

    go(scene())


def test_the_time_was_over_while_nobody_was_there(world: World, wire: Wire) -> None:
    """W-11.2.10, W-11.2.11, C-72: the process comes back after three hours: the same end."""

    async def first() -> str:
        async with world.open() as door:
            return await waiting(door)

    async def second(run: str) -> None:
        async with world.open() as door:
            await door.until(lambda: door.view(run).status == "failed")
            assert door.failure(run)[1] == "timeout" and len(door.letters()) == 1 and door.life(run) == EXPIRED

    run = go(first())
    world.clock.at += 3 * HOUR
    go(second(run))


# ---- killed ----------------------------------------------------------------------------------------------------------


async def alarmed(door: Door) -> str:
    """The one run that the alarm has started; the same alarm again is the same run."""
    await door.send_event(SENSOR, {"line_id": "L01", "severity": "high"}, id="alarm-1")
    await door.until(door.runs)
    await door.quiet()
    (row,) = door.runs()
    return row.id


async def whole_life(door: Door) -> None:
    run = await alarmed(door)
    await door.until(lambda: door.view(run).status in ("waiting", "completed"))
    await door.send_event(LAB, RESULT, id="lab-1")
    await door.until(lambda: door.view(run).status == "completed")


async def early_life(door: Door) -> None:
    """The result is there before the lab has answered that it takes the sample."""
    wire = door.world.wire
    await door.send_event(SENSOR, {"line_id": "L01", "severity": "high"}, id="alarm-1")
    await door.until(lambda: wire.to("lab") or door.runs() and door.view(door.runs()[0].id).status == "completed")
    await door.send_event(LAB, RESULT, id="lab-1")
    wire.going.set()
    await door.until(lambda: door.runs() and door.view(door.runs()[0].id).status == "completed")


async def in_vain(door: Door) -> None:
    """Nothing comes from the lab."""
    run = await alarmed(door)
    await door.to(T0 + TWO_HOURS)
    await door.until(lambda: door.view(run).status == "failed")
    await door.until(lambda: not door.store.notices_left())


async def in_force(world: World) -> None:
    async with world.open() as door:
        door.put_in_force(CCP)


def once_or_again(door: Door, wire: Wire, run: str, mails: int) -> None:
    """Every message under one key with the same words; no node has ended twice; the store is sound."""
    for place in ("slack", "lab"):
        assert len(set(wire.keys(place))) == 1 and len({sent.body for sent in wire.to(place)}) == 1
        assert len(wire.to(place)) <= 2
    assert len({mail.message["Message-ID"] for mail in wire.mails()}) == mails and len(wire.mails()) <= mails + 1
    ended = [one.node for one in door.told(run, "settled") if one.node in (*BEGIN, *BOTH, "wait_lab", "action_report")]
    assert len(ended) == len(set(ended)) and verify(door.store).violations == []


@pytest.mark.parametrize("life", [whole_life, early_life])
def test_killed_at_every_write_and_resumed(world: World, wire: Wire, life: Callable[[Door], Any]) -> None:
    """W-11.2.10, W-8.3.2, W-4.5.8, C-37: the process is dropped before and after every write, from the alarm to the
    report; the next one comes to the same end, with one run, and each message once or again under the same key."""
    go(in_force(world))

    async def resume(other: World) -> None:
        async with other.open(again=True) as door:
            await life(door)
            run = await alarmed(door)
            look = door.view(run)
            assert look.status == "completed" and look.variables["lab_result"] == RESULT
            assert door.ran(run) == dict.fromkeys((*BEGIN, *BOTH, "wait_lab", "action_report"), "succeeded")
            once_or_again(door, wire, run, mails=1)
            assert door.letters() == []

    again = 0
    early = life is early_life
    for other in deaths(world, life, prepare=lambda: wire.hangs.update({"lab"} if early else ()), some=early):
        go(resume(other))
        again += len(wire.server.seen) + len(wire.mails()) > 3
    assert again > 0, "no death came between a message and its answer"


def test_killed_at_every_write_while_the_time_runs_out(world: World, wire: Wire) -> None:
    """W-11.2.11, W-8.3.2, C-72: the same with nothing from the lab: FAILED by time-out, one letter, one notice."""
    go(in_force(world))

    async def resume(other: World) -> None:
        async with other.open(again=True) as door:
            await in_vain(door)
            run = await alarmed(door)
            assert door.view(run).status == "failed" and door.failure(run)[1] == "timeout"
            once_or_again(door, wire, run, mails=1)
            assert [one.run for one in door.letters()] == [run]
            assert door.view(run).variables["ccp_alert"]["ok"] == "slack"

    for other in deaths(world, in_vain, prepare=lambda: None, some=True):
        go(resume(other))


# ---- many, and as it comes out of the box ----------------------------------------------------------------------------


def test_fifty_at_once(world: World, wire: Wire) -> None:
    """W-11.2.7, W-11.2.8, C-37: fifty alarms, results in another order and each of them twice: every run gets its own,
    and nobody is told twice."""
    lines = [f"L{n:02}" for n in range(50)]
    world.plant("critical", lines)

    async def scene() -> None:
        async with world.open() as door:
            door.put_in_force(CCP)
            started = {}
            for line in lines:
                receipt = await door.send_event(SENSOR, {"line_id": line, "severity": "high"})
                (started[line],) = receipt.started
            await door.until(lambda: all(door.row(run).status == 3 for run in started.values()))
            for line in [*reversed(lines), *lines]:
                await door.send_event(LAB, {"sample_id": f"S-{line}", "line": line}, id=f"result-{line}")
            await door.until(lambda: all(door.row(run).status == 5 for run in started.values()))
            for line, run in started.items():
                assert door.view(run).variables["lab_result"] == {"sample_id": f"S-{line}", "line": line}

    go(scene())
    assert wire.counts() == {"slack": 50, "lab": 50}
    assert sorted(str(mail.message["Subject"]) for mail in wire.mails()) == [
        f"CCP 이탈 보고서: {line}" for line in lines
    ]


def test_the_sample_tenant_runs_it_offline(tmp_path: Path, base: Base, monkeypatch: pytest.MonkeyPatch) -> None:
    """C-81: a new store, nothing registered by hand, no network: the lab's stub answers with an id, the event with that
    id completes it, and the report lies in the outbox."""

    monkeypatch.chdir(tmp_path)  # beside a database lies what lies here

    async def scene() -> None:
        async with Penstock(base.make(tmp_path)) as door:
            run = await door.start(door.release(CCP), {"line_id": "L01", "severity": "high"})
            look = await door.wait(run, until_waiting=True, timeout=60)
            assert look.variables["sample_request"]["id"] == f"sample-{run}"
            assert (await door.send_event(LAB, {"sample_id": "sample-other"})).resumed == []
            assert (await door.send_event(LAB, {"sample_id": f"sample-{run}", "ok": True})).resumed == [run]
            assert (await door.wait(run, timeout=60)).status == "completed"
            kept = sorted(row.channel for row in door.store.messages(door.tenant, run, 100))
            assert kept == ["email", "slack", "webhook"]

    go(scene())
