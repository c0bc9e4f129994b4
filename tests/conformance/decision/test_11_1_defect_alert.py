"""11.1 `wf_defect_alert_v2`, unmodified, run to every one of its ends against real servers."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from penstock.app.inbox import inbox, open_items
from penstock.app.maintenance.verify import verify
from penstock.app.penstock import Penstock
from penstock.errors import ApproverDenied, ItemDecided, Refused
from penstock.host.schedules import times_between
from penstock.kernel.state import encode_state
from penstock.lang.compile import check_document, compile_document
from tests.conformance.decision.stores import Base
from tests.conformance.decision.world import (
    ADMIN,
    DEFECT,
    DEFECTS,
    HOUR,
    MANAGER,
    OTHER,
    T0,
    Door,
    Wire,
    World,
    block,
    deaths,
    go,
    moment,
)
from tests.executors.bench import as_json
from tests.servers import postgres

BEGIN = ("data_defect", "judge_quality", "switch_severity")
EMERGENCY = ("action_slack_emergency", "action_sms_manager", "action_create_ticket")
ALARM = (*BEGIN, "parallel_emergency", *EMERGENCY, "approval_required")
PLACES = {"slack": EMERGENCY[0], "sms": EMERGENCY[1], "jira": EMERGENCY[2]}
REASON = "최고 불량률 0.08이(가) 위험 기준 0.05 이상이다\ndata[0].defect_rate is 0.08"


@pytest.fixture(scope="module")
def wire() -> Iterator[Wire]:
    one = Wire()
    yield one
    one.close()


@pytest.fixture
def world(tmp_path: Path, wire: Wire, base: Base) -> World:
    wire.forget()
    return World(tmp_path, wire, base).plant()


async def waiting(door: Door) -> str:
    """A critical run that waits for its approval."""
    run = await door.run(DEFECT)
    assert door.view(run).status == "waiting"
    return run


# ---- the document ----------------------------------------------------------------------------------------------------


def test_the_example_is_the_seeds_own() -> None:
    """W-11.1.1, C-81: byte for byte; not even a hint is left to give; 11 nodes, 8 edges."""
    body = DEFECT.read_bytes()
    assert body.decode() == block("11.1")
    assert [str(one) for one in check_document(body, name=DEFECT.name)[1]] == []
    whole = json.loads(body)
    assert (len(whole["nodes"]), len(whole["edges"])) == (11, 8)
    assert compile_document(body, name=DEFECT.name).net.active_timeout_ms == 120_000


def test_it_is_scheduled_in_seoul_and_starts_by_itself(world: World, wire: Wire) -> None:
    """W-11.1.1, C-31: 08:00, 14:00, 20:00 KST are 23:00, 05:00, 11:00 UTC; a run for each line of the tenant."""

    async def scene() -> None:
        async with world.open() as door:
            door.put_in_force(DEFECT)
            (row,) = door.store.schedules(door.tenant)
            assert (row.cron, row.zone, row.next_at) == ("0 8,14,20 * * *", "Asia/Seoul", T0 + 4 * HOUR)
            assert [moment(at)[11:16] for at in times_between(row, T0, T0 + 30 * HOUR)] == [
                "05:00", "11:00", "23:00", "05:00"
            ]  # fmt: skip
            world.clock.at = T0 + 4 * HOUR - 1
            world.plant("normal", ("L01", "L02"))
            door.host.wake_up()
            await door.quiet()
            assert door.runs() == []
            await door.later(1)
            await door.until(lambda: len(door.runs()) == 2 and all(row.status == 5 for row in door.runs()))
            assert {door.input_of(row)["line_id"] for row in door.runs()} == {"L01", "L02"}
            assert sorted(world.log()) == [("L01", "normal", 1.0), ("L02", "normal", 1.0)]

    go(scene())


# ---- decisions -------------------------------------------------------------------------------------------------------


def test_normal_is_written_down(world: World, wire: Wire) -> None:
    """W-11.1.2, W-11.1.3, W-11.1.4: yesterday's row is not read; the log has one row; nobody is told anything."""

    async def scene() -> None:
        async with world.plant("normal").open() as door:
            run = await door.run(DEFECT)
            look = door.view(run)
            assert look.status == "completed" and door.moves(run) == ["COMPLETED"]
            assert door.ran(run) == dict.fromkeys((*BEGIN, "action_log"), "succeeded")
            assert look.variables["defect_data"] == [
                {"line_id": "L01", "date": moment(T0 - HOUR), "defect_count": 7, "defect_rate": DEFECTS["normal"]}
            ]
            (asked,) = [one for one in door.told(run, "effect.asked") if one.node == "data_defect"]
            assert asked.data["args"]["params"]["line_id"] == "L01"
            (judge,) = [one for one in door.told(run, "effect.asked") if one.node == "judge_quality"]
            assert judge.data["args"]["context"]["line_info"]["name"] == "1라인"
            assert look.variables["judgment_result"]["decided_by"] == "hybrid"

    go(scene())
    assert world.log() == [("L01", "normal", 1.0)] and wire.counts() == {} and wire.mails() == []


def test_a_warning_is_told_and_needs_no_approval(world: World, wire: Wire) -> None:
    """W-11.1.4, W-11.1.6: one message, then the merge, once, and the default goto `end`."""

    async def scene() -> None:
        async with world.plant("warning").open() as door:
            run = await door.run(DEFECT)
            look = door.view(run)
            assert look.status == "completed" and look.warnings == []
            assert door.ran(run) == dict.fromkeys((*BEGIN, "action_warning", "approval_required"), "succeeded")
            said = f"[주의] L01 라인: {look.variables['judgment_result']['reasoning']}"
            (sent,) = wire.to("slack")
            assert sent.json == {"text": said, "channel": "#quality-alerts"}
            assert sent.headers["idempotency-key"] == f"tenant_001/{run}/action_warning@~0#1"

    go(scene())
    assert wire.counts() == {"slack": 1} and wire.mails() == [] and world.log() == []


def test_unknown_ends_without_a_word(world: World, wire: Wire) -> None:
    """W-11.1.4, C-14: no case and no default: the path ends, the run completes, and the trace has a warning."""

    async def scene() -> None:
        async with world.plant("unknown").open() as door:
            run = await door.run(DEFECT)
            look = door.view(run)
            assert look.variables["defect_data"] == []
            assert look.variables["judgment_result"]["decision"] == "unknown"
            assert look.status == "completed" and door.ran(run) == dict.fromkeys(BEGIN, "succeeded")
            assert [(one["code"], one["node"]) for one in look.warnings] == [("SWITCH_NO_MATCH", "switch_severity")]

    go(scene())
    assert wire.counts() == {} and wire.mails() == [] and world.log() == []


@pytest.mark.parametrize("confidence", [0.8, 0.95])
def test_critical_and_sure_tells_three_and_ends(world: World, wire: Wire, confidence: float) -> None:
    """W-11.1.4, W-11.1.5, W-11.1.6, W-11.1.7, W-11.1.8: each target one token, each message once, then `end`."""
    world.sure(confidence)

    async def scene() -> None:
        async with world.open() as door:
            run = await door.run(DEFECT)
            look = door.view(run)
            assert look.variables["judgment_result"]["confidence"] == confidence
            assert look.status == "completed" and door.moves(run) == ["COMPLETED"]
            assert door.ran(run) == dict.fromkeys(ALARM, "succeeded")
            fired = [one.node for one in door.told(run, "fired")]
            assert [fired.count(node) for node in ALARM] == [1] * len(ALARM)
            assert len([one for one in door.told(run, "put") if one.edge.startswith("switch_severity")]) == 1

    go(scene())
    assert wire.counts() == {"slack": 1, "sms": 1, "jira": 1} and wire.mails() == []


def test_critical_and_unsure_asks_the_quality_manager(world: World, wire: Wire) -> None:
    """W-11.1.7, W-11.1.8, W-11.1.9, C-27: the three messages exactly as they stand in the templates, the secret's
    address is called and nowhere shown; 0.79 is below 0.8, so a person is asked."""
    world.sure(0.79)

    async def scene() -> None:
        async with world.open() as door:
            run = await waiting(door)
            assert door.ran(run) == {**dict.fromkeys(ALARM, "succeeded"), "request_approval": "running"}
            (item,) = inbox.open_items(door)
            assert (item.title, item.candidates["targets"]) == ("긴급 불량 알람 검토 요청", ["role:quality_manager"])
            assert (item.kind, item.due_at) == ("approval", T0 + 2 * HOUR)
            assert [one.id for one in inbox.open_items(door, MANAGER)] == [item.id]
            assert inbox.open_items(door, OTHER) == inbox.open_items(door, ADMIN) == []
            reason = door.view(run).variables["judgment_result"]["reasoning"]
            texts = {
                "slack": {"text": f"[critical] L01 라인: {reason} (신뢰도 0.79)", "channel": "#quality-alerts"},
                "sms": {"to": "+82-10-0000-0000", "from": "15880000",
                        "message": "[긴급] L01 라인 불량 critical. 즉시 확인 바랍니다."},
                "jira": {"summary": "긴급 불량 L01", "description": reason, "priority": "Highest"},
            }  # fmt: skip
            for place, text in texts.items():
                (sent,) = wire.to(place)
                assert (sent.method, sent.json) == ("POST", text)
                node, branch = PLACES[place], {"jira": "ticket"}.get(place, place)
                scope = f"parallel_emergency@~0#1/branch_{branch}~0#1"
                assert sent.headers["idempotency-key"] == f"tenant_001/{run}/{node}@{scope}"
            (mail,) = wire.mails()
            assert str(mail.message["Subject"]) == "승인 요청: 긴급 불량 알람 검토 요청"
            shown = repr([(one.fact, one.data) for one in door.lines(run)]) + repr(door.view(run))
            assert f"{wire.server.url}/jira" not in shown

    go(scene())


def test_the_rows_may_lie_in_postgresql(world: World, wire: Wire) -> None:
    """W-11.1.2, C-81: `postgres_main` is a PostgreSQL server, and the same document reads it."""
    url = postgres.database()
    with psycopg.connect(url, autocommit=True) as c:
        c.execute("CREATE TABLE fact_daily_defect (line_id text, date timestamptz, defect_rate float8)")
        for at, rate in ((T0 - HOUR, 0.08), (T0 - 25 * HOUR, 0.5)):
            c.execute("INSERT INTO fact_daily_defect VALUES ('L01', %s, %s)", (moment(at), rate))
    world.register("connection", "postgres_main", type="postgresql", url=url)
    world.sure(0.9)

    async def scene() -> None:
        async with world.open() as door:
            run = await door.run(DEFECT)
            look = door.view(run)
            assert look.status == "completed", look.failure
            assert [row["defect_rate"] for row in look.variables["defect_data"]] == [0.08]
            assert door.ran(run) == dict.fromkeys(ALARM, "succeeded")

    go(scene())
    assert wire.counts() == {"slack": 1, "sms": 1, "jira": 1}


# ---- the approval ----------------------------------------------------------------------------------------------------


def test_it_is_approved(world: World, wire: Wire) -> None:
    """W-11.1.9, W-11.1.12, C-10: RUNNING → WAITING → COMPLETED, and everything has its name."""

    async def scene() -> None:
        async with world.open() as door:
            run = await waiting(door)
            await door.later(HOUR)
            await door.decide(run, by=MANAGER, comment="확인")
            look = door.view(run)
            assert door.life(run) == ["created", "pending", "running", "waiting", "running", "completed"]
            assert door.life(run, "approval") == ["requested", "pending", "approved"]
            result = look.variables["approval_result"]
            assert (result["status"], result["approver"], result["comment"]) == ("approved", MANAGER, "확인")
            assert result["approved_at"] == moment(T0 + HOUR) and result["timed_out"] is False
            names = {"defect_data", "judgment_result", "parallel_results", "approval_result", "slack_emergency",
                     "sms_manager", "create_ticket"}  # fmt: skip
            assert {name for name in look.variables if "." not in name} == names
            assert door.ran(run) == dict.fromkeys((*ALARM, "request_approval"), "succeeded")
            merged = look.variables["parallel_results"]
            assert list(merged) == ["branch_slack", "branch_sms", "branch_ticket"]
            assert {one["status"] for one in merged.values()} == {"succeeded"}
            assert look.variables["create_ticket"]["_delivery"]["status_code"] == 200
            assert door.input_of(door.row(run)) == {"line_id": "L01"} and door.letters() == []

    go(scene())
    assert wire.counts() == {"slack": 1, "sms": 1, "jira": 1} and len(wire.mails()) == 1


def test_it_is_rejected(world: World, wire: Wire) -> None:
    """W-11.1.9, C-40: nobody handles the rejection, so the run is CANCELLED; that is no dead letter."""

    async def scene() -> None:
        async with world.open() as door:
            run = await waiting(door)
            await door.decide(run, "rejected", comment="오탐")
            look = door.view(run)
            assert door.life(run) == ["created", "pending", "running", "waiting", "cancelled"]
            assert door.life(run, "approval") == ["requested", "pending", "rejected"]
            assert look.variables["approval_result"]["status"] == "rejected"
            assert inbox.open_items(door) == [] and door.letters() == []
            await door.later(9 * HOUR)
            assert door.view(run).status == "cancelled"

    go(scene())


def test_who_may_not_decide_is_refused(world: World) -> None:
    """W-4.6.4, W-11.1.9: neither somebody of another role, nor somebody who is not registered; nothing changes."""

    async def scene() -> None:
        async with world.open() as door:
            run = await waiting(door)
            facts = door.view(run).facts
            for who in (OTHER, ADMIN, "nobody@example.com", ""):
                with pytest.raises(ApproverDenied):
                    await door.decide(run, by=who)
            assert door.view(run).facts == facts and door.view(run).status == "waiting"

    go(scene())


def test_a_second_decision_is_refused(world: World) -> None:
    """W-4.6.5: the item is gone; a command that was made before is refused, too, and changes nothing."""

    async def scene() -> None:
        async with world.open() as door:
            run = await waiting(door)
            item = open_items.find(door, run)
            late = inbox.decision(door, item, "rejected", MANAGER, None)
            await door.decide(run)
            state = encode_state(door.state_at(run))
            with pytest.raises(ItemDecided):
                await door.decide(run, "rejected")
            with pytest.raises(Refused):
                await door.command(run, late)
            assert door.view(run).status == "completed" and encode_state(door.state_at(run)) == state

    go(scene())


def test_two_who_decide_at_once_are_one_decision(world: World) -> None:
    """W-4.6.5: both commands lie in one turn; the second is refused."""

    async def scene() -> None:
        async with world.open() as door:
            run = await waiting(door)
            item = open_items.find(door, run)
            asked = [inbox.decision(door, item, verdict, MANAGER, None) for verdict in ("approved", "rejected")]
            both = await asyncio.gather(*(door.command(run, one) for one in asked), return_exceptions=True)
            assert both[0] is None and isinstance(both[1], Refused)
            assert door.view(run).status == "completed"

    go(scene())


def test_after_two_hours_it_is_the_admins(world: World, wire: Wire) -> None:
    """W-11.1.9, W-11.1.10, C-34, C-71: escalated with the full time, told again, the manager may no longer decide, the
    admin may; 120 s of active time are not over after two hours."""

    async def scene() -> None:
        async with world.open() as door:
            run = await waiting(door)
            await door.to(T0 + 2 * HOUR - 1)
            assert [one.id for one in inbox.open_items(door, MANAGER)] and len(wire.mails()) == 1
            await door.later(1)
            (item,) = inbox.open_items(door)
            assert door.view(run).status == "waiting" and (item.escalation_level, item.status) == (1, "escalated")
            assert (item.candidates["targets"], item.due_at) == (["role:admin"], T0 + 4 * HOUR)
            assert len(wire.mails()) == 2
            with pytest.raises(ApproverDenied):
                await door.decide(run, by=MANAGER)
            await door.later(HOUR)
            await door.decide(run, by=ADMIN)
            look = door.view(run)
            assert look.status == "completed"
            result = look.variables["approval_result"]
            assert (result["status"], result["approver"], result["escalation_level"]) == ("approved", ADMIN, 1)

    go(scene())
    assert wire.counts() == {"slack": 1, "sms": 1, "jira": 1}


def test_nobody_ever_decides(world: World, wire: Wire) -> None:
    """W-11.1.9, W-11.1.10, C-34: three levels of two hours each, then FAILED by time-out, a letter, and a notice."""

    async def scene() -> None:
        async with world.open() as door:
            run = await waiting(door)
            for level in (1, 2, 3):
                await door.to(T0 + 2 * level * HOUR)
                assert door.view(run).status == "waiting" and open_items.find(door, run).escalation_level == level
            await door.to(T0 + 8 * HOUR - 1)
            assert door.view(run).status == "waiting"
            await door.later(1)
            assert door.view(run).status == "failed" and door.failure(run) == ("APPROVAL_TIMEOUT", "timeout")
            assert door.life(run)[-3:] == ["waiting", "timeout", "failed"]
            again = ["timeout", "escalated", "pending"]
            assert door.life(run, "approval") == ["requested", "pending", *again * 3, "timeout"]
            (letter,) = door.letters()
            assert (letter.run, letter.code, letter.at) == (run, "APPROVAL_TIMEOUT", T0 + 8 * HOUR)
            assert letter.error["context"]["status"] == "timeout" and letter.error["context"]["escalation_level"] == 3
            await door.until(lambda: wire.mails("failed"))
            assert len(wire.mails("승인 요청")) == 4

    go(scene())


def test_waiting_is_not_interrupted_by_telling_people(world: World) -> None:
    """W-11.1.9, W-2.2.4: while an approval goes to others the instance stays WAITING; to tell them is no work."""

    async def scene() -> None:
        async with world.open() as door:
            run = await waiting(door)
            await door.to(T0 + 2 * HOUR)
            assert door.life(run, "approval") == ["requested", "pending", "timeout", "escalated", "pending"]
            assert door.life(run) == ["created", "pending", "running", "waiting"]

    go(scene())


# ---- failures --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("place", sorted(PLACES))
def test_one_channel_is_down(world: World, wire: Wire, place: str) -> None:
    """W-11.1.11, C-22, C-46: three attempts, 5 s apart, under one key; the others are told once; PARALLEL and run
    FAILED, nothing is compensated, a letter is written and people hear of it."""
    wire.trouble[place] = float("inf")

    async def scene() -> None:
        async with world.open() as door:
            run = await door.run(DEFECT)
            for attempt in (1, 2):
                assert door.view(run).status == "running" and len(wire.to(place)) == attempt
                assert door.ran(run)[PLACES[place]] == "retrying"
                await door.to(T0 + 5000 * attempt - 1)
                assert len(wire.to(place)) == attempt
                await door.later(1)
            assert len(wire.to(place)) == 3 and len(set(wire.keys(place))) == 1
            assert wire.counts() == {**dict.fromkeys(PLACES, 1), place: 3}
            look, ran = door.view(run), door.ran(run)
            assert door.life(run) == ["created", "pending", "running", "failed"]
            assert door.failure(run) == ("HTTP_5XX", "external")
            assert {node for node, status in ran.items() if status == "failed"} == {PLACES[place], "parallel_emergency"}
            assert "approval_required" not in ran and "parallel_results" not in look.variables
            (letter,) = door.letters()
            assert (letter.run, letter.status, letter.code) == (run, "FAILED", "HTTP_5XX")
            assert letter.error["node_id"] == PLACES[place] and letter.error["retry_count"] == 2
            assert letter.input == {"line_id": "L01"}
            await door.until(lambda: wire.mails("failed"))
            assert len(wire.mails()) == 1

    go(scene())


@pytest.mark.parametrize("place", sorted(PLACES))
def test_one_channel_recovers(world: World, wire: Wire, place: str) -> None:
    """W-11.1.11, W-7.2.1: two attempts fail, the third arrives; nobody is told twice."""
    world.sure(0.9)
    wire.trouble[place] = 2

    async def scene() -> None:
        async with world.open() as door:
            run = await door.run(DEFECT)
            await door.later(10_000)
            assert door.view(run).status == "completed" and door.letters() == []

    go(scene())
    assert wire.counts() == {**dict.fromkeys(PLACES, 1), place: 3} and wire.mails() == []
    assert sorted(place for place, status in wire.said if status == 200) == sorted(PLACES)


def test_a_refusal_is_not_tried_again(world: World, wire: Wire) -> None:
    """W-11.1.11, W-7.2.1: 400 is permanent."""
    wire.answers["jira"] = lambda seen: as_json({"errors": ["no such project"]}, 400)

    async def scene() -> None:
        async with world.open() as door:
            run = await door.run(DEFECT)
            assert door.view(run).status == "failed" and door.failure(run) == ("HTTP_4XX", "permanent")

    go(scene())
    assert wire.counts() == dict.fromkeys(PLACES, 1)


def test_the_database_is_away(world: World, wire: Wire) -> None:
    """W-11.1.2, W-11.1.11: a source that cannot be read fails the run, and nobody is alarmed for nothing."""
    (world.folder / "plant.db").unlink()

    async def scene() -> None:
        async with world.open() as door:
            run = await door.run(DEFECT)
            await door.later(20_000)
            assert door.view(run).status == "failed" and door.ran(run) == {"data_defect": "failed"}
            assert len(door.letters()) == 1

    go(scene())
    assert wire.counts() == {}


def test_an_operator_tries_again(world: World, wire: Wire) -> None:
    """W-2.2.3, W-11.1.11: the ticket system is mended: only its message goes out again, under its key; the run goes
    on to its approval, and when it has ended well it is no dead letter any more."""
    wire.trouble["jira"] = float("inf")

    async def scene() -> None:
        async with world.open() as door:
            run = await door.run(DEFECT)
            await door.later(10_000)
            assert door.view(run).status == "failed" and len(door.letters()) == 1
            wire.trouble.clear()
            await door.retry(run)
            await door.quiet()
            assert door.view(run).status == "waiting" and wire.counts() == {"slack": 1, "sms": 1, "jira": 4}
            await door.decide(run)
            assert door.view(run).status == "completed" and door.letters() == []
            assert door.ran(run) == dict.fromkeys((*ALARM, "request_approval"), "succeeded")

    go(scene())
    assert len(set(wire.keys("jira"))) == 1


def test_it_is_cancelled_while_it_waits(world: World, wire: Wire) -> None:
    """W-2.2.3, C-41: nothing waits for anybody any more, and time changes nothing."""

    async def scene() -> None:
        async with world.open() as door:
            run = await waiting(door)
            await door.cancel(run)
            assert door.view(run).status == "cancelled" and inbox.open_items(door) == []
            await door.later(9 * HOUR)
            assert door.moves(run) == ["WAITING", "CANCELLED"] and len(wire.mails()) == 1 and door.letters() == []

    go(scene())


@pytest.mark.parametrize("line", ["L01' OR '1'='1", "${secrets.jira_webhook}", "../L01", "", "L01;--"])
def test_a_line_is_data_whatever_it_says(world: World, wire: Wire, line: str) -> None:
    """W-11.1.2, W-11.1.3: neither SQL nor a reference to something else: there are no rows of such a line."""

    async def scene() -> None:
        async with world.open() as door:
            run = await door.run(DEFECT, line)
            assert door.view(run).status == "completed", door.view(run).failure
            assert door.view(run).variables["defect_data"] == []
            shown = repr([(one.fact, one.data) for one in door.lines(run)])
            assert wire.server.url not in shown

    go(scene())
    assert wire.counts() == {}


# ---- time ------------------------------------------------------------------------------------------------------------


def test_the_time_of_the_workflow_is_active_time(world: World, wire: Wire) -> None:
    """W-11.1.10, C-71: a call that hangs for two minutes is active time: WORKFLOW_TIMEOUT, at 120 s and not before."""
    wire.hangs.add("slack")

    async def scene() -> None:
        async with world.open() as door:
            run = await door.start(door.release(DEFECT), {"line_id": "L01"})
            await door.until(lambda: wire.counts() == dict.fromkeys(PLACES, 1))
            await door.until(lambda: len(door.host.dispatch.in_flight) == 1)
            world.clock.at = T0 + 119_999
            door.host.wake_up()
            await asyncio.sleep(0.05)
            assert door.view(run).status == "running"
            world.clock.at = T0 + 120_000
            door.host.wake_up()
            await door.until(lambda: door.view(run).status == "failed")
            assert door.failure(run) == ("WORKFLOW_TIMEOUT", "timeout")
            assert door.life(run) == ["created", "pending", "running", "timeout", "failed"]
            (letter,) = door.letters()
            assert letter.code == "WORKFLOW_TIMEOUT"
            wire.going.set()
            await door.quiet()

    go(scene())


def test_a_mail_server_that_hangs_costs_no_active_time(world: World, wire: Wire) -> None:
    """W-11.1.10, C-71: telling the approvers is no activity of the workflow: it waits for them meanwhile."""
    wire.hangs.add("mail")

    async def scene() -> None:
        async with world.open() as door:
            run = await door.start(door.release(DEFECT), {"line_id": "L01"})
            await door.until(lambda: len(wire.server.seen) == 3 and inbox.open_items(door))
            try:
                world.clock.at = T0 + 121_000
                door.host.wake_up()
                await asyncio.sleep(0.3)
                assert door.view(run).status == "waiting", door.view(run).failure
            finally:
                wire.going.set()

    go(scene())


def test_a_mail_that_is_refused_stops_nobody(world: World, wire: Wire) -> None:
    """W-11.1.9, W-4.6.6: the approval waits, goes to others and is decided, though nobody could be told of it."""
    wire.trouble["mail"] = float("inf")

    async def scene() -> None:
        async with world.open() as door:
            run = await door.run(DEFECT)
            await door.to(T0 + HOUR)
            assert door.view(run).status == "waiting"
            await door.to(T0 + 7 * HOUR)
            assert door.view(run).status == "waiting", door.view(run).failure
            await door.decide(run, by=ADMIN)
            assert door.view(run).status == "completed"

    go(scene())


# ---- breakers --------------------------------------------------------------------------------------------------------


def test_the_breaker_is_every_runs(world: World, wire: Wire) -> None:
    """W-11.1.11, C-19: fail_rate 0.3 of a window of 10, each node its own; open for 60 s for every run; then it is
    tried, and closes."""
    world.sure(0.9)

    async def scene() -> None:
        async with world.open() as door:
            for _ in range(7):
                await door.run(DEFECT)
            wire.trouble["slack"] = float("inf")
            first = await door.run(DEFECT)
            await door.later(10_000)
            assert door.failure(first) == ("HTTP_5XX", "external") and len(wire.to("slack")) == 10
            (found,) = [one for one in door.breakers() if one.status == "open"]
            assert found.name == "wf_defect_alert_v2/action_slack_emergency"
            second = await door.run(DEFECT)
            assert door.failure(second) == ("CIRCUIT_OPEN", "external")
            assert len(wire.to("slack")) == 10 and len(wire.to("sms")) == 9
            wire.trouble.clear()
        async with world.open() as door:  # and of every process
            third = await door.run(DEFECT)
            assert door.failure(third) == ("CIRCUIT_OPEN", "external") and len(wire.to("slack")) == 10
            await door.later(60_000)
            world.plant()
            fourth = await door.run(DEFECT)
            assert door.view(fourth).status == "completed" and len(wire.to("slack")) == 11

    go(scene())


# ---- killed ----------------------------------------------------------------------------------------------------------


async def whole_life(door: Door) -> None:
    """A message that arrives at the second attempt, an approval that is escalated, and the admin's yes. Asked for again
    after a crash it goes on where it was."""
    run = await door.run(DEFECT, key="the one")
    await door.to(T0 + 5000)
    for item in inbox.open_items(door, MANAGER):
        await door.to(item.due_at or 0)
    if door.view(run).status == "waiting":
        await door.decide(run, by=ADMIN)


def test_killed_at_every_write_and_resumed(world: World, wire: Wire) -> None:
    """W-8.3.2, W-11.1.9, W-4.5.8: the process is dropped before and after every write; the next one comes to the same
    end, no node ends twice, and every message is sent once or again under the same key and with the same words."""
    world.furnish()

    async def resume(other: World) -> None:
        async with other.open(again=True) as door:
            await whole_life(door)
            run = door.row("the one").id
            assert door.view(run).status == "completed", door.view(run).failure
            assert door.ran(run) == dict.fromkeys((*ALARM, "request_approval"), "succeeded")
            assert door.view(run).variables["approval_result"]["approver"] == ADMIN
            ended = [one.node for one in door.told(run, "settled") if one.node in ALARM]
            assert len(ended) == len(set(ended)) and verify(door.store).violations == []
            for place in PLACES:
                assert len(set(wire.keys(place))) == 1 and len({sent.body for sent in wire.to(place)}) == 1
                assert (place, 200) in wire.said and len(wire.to(place)) <= 3
            assert len({mail.message["Message-ID"] for mail in wire.mails()}) == 2 and len(wire.mails()) <= 4
            assert door.letters() == []

    again = 0
    for other in deaths(world, whole_life, prepare=lambda: wire.trouble.update(slack=1)):
        go(resume(other))
        again += max(len(wire.to("sms")), len(wire.to("jira"))) > 1
    assert again > 0, "no death came between a message and its answer"


async def in_vain(door: Door) -> None:
    """The ticket system is away for good: two retries, FAILED, a letter, a notice."""
    run = await door.run(DEFECT, key="the one")
    await door.to(T0 + 10_000)
    await door.until(lambda: door.view(run).status == "failed" and not door.store.notices_left())


def test_killed_at_every_write_of_a_failure(world: World, wire: Wire) -> None:
    """W-11.1.11, W-7.5.2, W-8.3.2: wherever the process dies: three attempts or one more, FAILED, one letter and one
    notice; what the other branches have sent is not sent under another key."""
    world.furnish()

    async def resume(other: World) -> None:
        async with other.open(again=True) as door:
            await in_vain(door)
            run = door.row("the one").id
            assert door.failure(run) == ("HTTP_5XX", "external") and verify(door.store).violations == []
            (letter,) = door.letters()
            assert (letter.run, letter.error["node_id"]) == (run, "action_create_ticket")
            assert letter.error["retry_count"] == 2 and 3 <= len(wire.to("jira")) <= 4
            for place in PLACES:
                assert len(set(wire.keys(place))) == 1
            assert len({mail.message["Message-ID"] for mail in wire.mails()}) == 1

    for other in deaths(world, in_vain, prepare=lambda: wire.trouble.update(jira=float("inf")), some=True):
        go(resume(other))


def test_killed_at_every_write_of_a_scheduled_fire(world: World, wire: Wire) -> None:
    """W-11.1.1, C-31, W-8.3.2: 14:00 in Seoul comes once: a run for each line, whenever the process dies."""
    world.clock.at = T0 + 4 * HOUR - 1000
    world.plant("normal", ("L01", "L02"))

    async def prepared() -> None:
        async with world.open() as door:
            door.put_in_force(DEFECT)

    go(prepared())

    async def fires(door: Door) -> None:
        await door.to(T0 + 4 * HOUR)
        await door.until(lambda: len(door.runs()) >= 2 and all(row.status == 5 for row in door.runs()))
        await door.quiet()

    async def resume(other: World) -> None:
        async with other.open(again=True) as door:
            await fires(door)
            assert sorted(door.input_of(row)["line_id"] for row in door.runs()) == ["L01", "L02"]
            assert sorted(other.log()) == [("L01", "normal", 1.0), ("L02", "normal", 1.0)]
            (row,) = door.store.schedules(door.tenant)
            assert row.next_at == T0 + 10 * HOUR

    for other in deaths(world, fires, prepare=lambda: None, some=True):
        go(resume(other))


# ---- as it comes out of the box --------------------------------------------------------------------------------------


def test_the_sample_tenant_runs_it_offline(tmp_path: Path, base: Base, monkeypatch: pytest.MonkeyPatch) -> None:
    """C-81: a new store, nothing registered by hand, no network: L01 is critical and waits, L02 is normal; what would
    have been sent lies in the outbox, once."""

    monkeypatch.chdir(tmp_path)  # beside a database lies what lies here

    async def scene() -> None:
        async with Penstock(base.make(tmp_path)) as door:
            release = door.release(DEFECT)
            assert release.findings == []
            first = await door.start(release, {"line_id": "L01"})
            second = await door.start(release, {"line_id": "L02"})
            look = await door.wait(first, until_waiting=True, timeout=60)
            assert look.status == "waiting" and look.variables["judgment_result"]["decision"] == "critical"
            assert (await door.wait(second, timeout=60)).status == "completed"
            item = open_items.find(door, first)
            await door.command(first, inbox.decision(door, item, "approved", MANAGER, None))
            assert (await door.wait(first, timeout=60)).status == "completed"
            kept = [(row.channel, row.target) for row in door.store.messages(door.tenant, first, 100)]
            assert sorted(kept) == [
                ("email", "outbox:email"), ("slack", "outbox:slack"), ("sms", "outbox:sms"), ("webhook", "outbox:jira")
            ]  # fmt: skip
            assert door.store.messages(door.tenant, second, 100) == []

    go(scene())
