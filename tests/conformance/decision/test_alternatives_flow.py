"""The samples of 4.6 to 4.10 as they run: every alternative of an approval, a wait, a switch and a parallel."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from penstock.app.inbox import inbox, open_items
from penstock.errors import AnswerInvalid, ApproverDenied
from penstock.kernel import command as C
from tests.conformance.decision.harness import INPUT, Sample, leaves, shows
from tests.conformance.decision.make import data, found, undo, wait
from tests.conformance.decision.test_tc_wf import answering, numbers, play
from tests.conformance.decision.world import HOUR, MANAGER, MINUTE, T0, Door, Wire, World, moment
from tests.executors.bench import as_json

ADMIN, NAMED, GROUPED = "admin@company.com", "quality_manager", "grouped@example.com"


@pytest.fixture(scope="module")
def wire() -> Iterator[Wire]:
    one = Wire()
    yield one
    one.close()


@pytest.fixture
def world(tmp_path: Path, wire: Wire) -> World:
    wire.forget()
    one = World(tmp_path, wire).plant()
    one.register("user", ADMIN, name="Admin", roles=[], groups=[])
    one.register("user", NAMED, name="One who is called like a role", roles=[], groups=[])
    one.register("user", GROUPED, name="One of a group", roles=[], groups=["quality_manager"])
    return one


def variable(door: Door, run: str, name: str) -> Any:
    assert door.view(run).status == "completed", door.view(run).failure
    return door.view(run).variables[name]


# ---- 4.6: approvals --------------------------------------------------------------------------------------------------


@shows("4.6", "request/priority", "high", "normal", "low")
@leaves("4.6", "request/title", "request/description", "request/data/rule_summary", "request/data/impact_analysis",
        "request/data/rollback_plan", "notification/channels", "notification/template", "output/variable")  # fmt: skip
def test_what_an_approval_shows(world: World, wire: Wire, one: Sample) -> None:
    """C-05, W-4.14.1, W-4.6.6: in the inbox, in the mail and in Slack; and what comes of it."""

    async def scene(door: Door) -> None:
        run = await one.run(door, simulation_result={"change": 3})
        item = open_items.find(door, run)
        assert (item.priority, item.title) == (one.alternative, "신규 불량 탐지 규칙 배포 승인")
        assert item.description == "Rule Pack: Quality v2" and item.data == {
            "rule_summary": "s", "impact_analysis": {"change": 3}, "rollback_plan": {"to": "previous"},
        }  # fmt: skip
        await door.until(lambda: wire.mails() and wire.to("slack"))
        text = f"신규 불량 탐지 규칙 배포 승인\nRule Pack: Quality v2\n우선순위: {one.alternative}"
        body = wire.mails()[0].message.get_body()
        assert body is not None and body.get_content().replace("\r", "").strip() == text
        assert text in wire.to("slack")[0].json["text"]
        await door.decide(run, comment="well")
        result = variable(door, run, "approval_result")
        assert (result["status"], result["approver"], result["comment"]) == ("approved", MANAGER, "well")
        assert result["approved_at"] == moment(T0)

    play(world, scene)


@shows("4.6", "request/approvers/type", "user", "role", "group", "any_of", "all_of")
def test_who_may_approve(world: World, one: Sample) -> None:
    """C-05, C-32, W-4.6.4: the same two words are users, roles or groups; of any_of one will do, of all_of each."""
    one.node["request"]["approvers"]["targets"] = ["quality_manager", ADMIN]  # a prefix says the same in each of them
    wanted = {"user": {NAMED, ADMIN}, "role": {MANAGER}, "group": {GROUPED}, "any_of": {MANAGER, ADMIN},
              "all_of": {MANAGER, ADMIN}}[one.alternative]  # fmt: skip

    async def scene(door: Door) -> None:
        run = await one.run(door)
        eligible = set()
        for who in (NAMED, ADMIN, MANAGER, GROUPED):
            try:
                inbox.decision(door, open_items.find(door, run), "approved", who, None)
                eligible.add(who)
            except ApproverDenied:
                pass
        assert eligible == wanted
        first, *others = sorted(wanted)
        await door.decide(run, by=first)
        assert door.view(run).status == ("waiting" if one.alternative == "all_of" else "completed")
        if one.alternative == "all_of":
            await door.decide(run, by=others[0])
        assert variable(door, run, "approval_result")["status"] == "approved"

    play(world, scene)


@shows("4.6", "request/approvers/type", "any_of", "all_of")
@leaves("4.6", "request/approvers/targets", "request/approvers/min_approvals")
def test_the_samples_own_approvers(world: World, one: Sample) -> None:
    """C-32: a role and a user, one of them or both; two where two are asked for."""

    async def scene(door: Door) -> None:
        for at_least in (1, 2):
            if at_least == 2:
                one.node["request"]["approvers"]["min_approvals"] = 2
            run = await one.run(door)
            with pytest.raises(ApproverDenied):
                await door.decide(run, by=GROUPED)
            await door.decide(run, by=ADMIN)
            enough = one.alternative == "any_of" and at_least == 1
            assert door.view(run).status == ("completed" if enough else "waiting")
            if not enough:
                await door.decide(run)
            assert door.view(run).status == "completed"

    play(world, scene)


@shows("4.6", "timeout/on_timeout", "reject", "escalate", "auto_approve")
@leaves("4.6", "timeout/duration_hours", "timeout/reminder_intervals")
def test_nobody_approves(world: World, wire: Wire, one: Sample) -> None:
    """C-05, W-4.6.1, W-4.6.3, C-33, C-34: people are reminded after 1, 6 and 12 hours; 24 hours, and what then is."""
    told: list[int] = []

    async def scene(door: Door) -> None:
        run = await one.run(door)
        for hour in range(24):
            await door.to(T0 + hour * HOUR)
            told.extend([hour] * (len(wire.to("slack")) - len(told)))
        assert told == [0, 1, 6, 12] and door.view(run).status == "waiting"
        await door.to(T0 + 24 * HOUR - 1)
        assert door.view(run).status == "waiting" and open_items.find(door, run).escalation_level == 0
        await door.later(1)
        if one.alternative == "escalate":
            assert door.view(run).status == "waiting" and open_items.find(door, run).escalation_level == 1
            assert {str(who) for who in open_items.find(door, run).candidates["targets"]} == {"role:admin"}
        else:
            ends, status = {"reject": ("cancelled", "rejected"), "auto_approve": ("completed", "approved")}[
                one.alternative
            ]
            assert door.view(run).status == ends
            result = door.view(run).variables["approval_result"]
            assert (result["status"], result["timed_out"]) == (status, True)

    play(world, scene)


@shows("4.6", "request/priority", "normal")
@leaves("4.6", "output/schema")
def test_a_decision_fits_the_schema(world: World, one: Sample) -> None:
    """C-05, W-4.0.3, C-80: one that would not is refused, and it waits on; nobody has to say why who is not asked to.
    What no person decides and does not fit is a failure."""
    schema = one.node["output"]["schema"]

    async def scene(door: Door) -> None:
        run = await one.run(door)
        await door.decide(run)
        assert variable(door, run, "approval_result")["comment"] is None
        schema["required"] = ["comment"]
        schema["properties"]["comment"] = {"type": "string", "minLength": 5}
        run = await one.run(door)
        for verdict, comment in (("approved", None), ("approved", "ok"), ("rejected", None)):
            with pytest.raises(AnswerInvalid, match="comment") as refused:
                await door.decide(run, verdict, comment=comment)
            assert refused.value.code == "OUTPUT_SCHEMA" and "--comment" in refused.value.hint
            assert run in str(refused.value) and open_items.find(door, run).votes == {}
        await door.decide(run, comment="looks good")
        assert variable(door, run, "approval_result")["comment"] == "looks good"
        one.node["timeout"]["on_timeout"] = "auto_approve"
        run = await one.run(door)
        await door.later(24 * HOUR)
        assert door.failure(run) == ("OUTPUT_SCHEMA", "validation")

    play(world, scene)


# ---- 4.7: waits ------------------------------------------------------------------------------------------------------

LAB = "lab.result.completed"
POLL = "api/lab/results/S-1"


@shows("4.7", "condition/type", "event", "time", "polling", "manual")
@leaves("4.7", "condition/event/source", "condition/event/filter/sample_id", "condition/polling/endpoint",
        "condition/polling/interval_sec", "condition/polling/success_condition", "output/variable")  # fmt: skip
def test_what_ends_a_wait(world: World, wire: Wire, one: Sample) -> None:
    """C-05, W-4.14.1, W-4.7.2, W-4.7.3, W-4.7.4: an event, its time, an answer, a person's word, and nothing else."""
    kind = one.alternative
    answer = {"status": "running", "by": "poll"}
    wire.answers[POLL] = lambda seen: as_json(answer)
    del one.node["output"]["from"]  # what a type brings is its own

    async def scene(door: Door) -> None:
        run = await one.run(door)
        for source, sample in ((LAB, "S-2"), ("lab.result", "S-1")):
            await door.send_event(source, {"sample_id": sample})
        assert door.view(run).status == "waiting"
        answer["status"] = "completed"
        await door.later(59_999)
        assert (door.view(run).status, len(wire.to(POLL))) == ("waiting", 1 if kind == "polling" else 0)
        await door.later(1)
        assert door.view(run).status == ("completed" if kind == "polling" else "waiting")
        await door.send_event(LAB, {"sample_id": "S-1", "by": "event"})
        await door.quiet()
        assert door.view(run).status == ("completed" if kind in ("polling", "event") else "waiting")
        await door.later(4 * MINUTE)
        assert door.view(run).status == ("waiting" if kind == "manual" else "completed")
        if kind == "manual":
            await door.signal(run, "manual:wait_lab_result", {"by": "hand"})
            await door.quiet()
        assert variable(door, run, "lab_result") == {
            "event": {"sample_id": "S-1", "by": "event"}, "polling": {"status": "completed", "by": "poll"},
            "time": {"resumed_at": moment(T0 + 5 * MINUTE), "waited_ms": 5 * MINUTE}, "manual": {"by": "hand"},
        }[kind]  # fmt: skip
        assert len(wire.to(POLL)) == (2 if kind == "polling" else 0)

    play(world, scene)


@shows("4.7", "timeout/on_timeout", "fail", "skip", "default_value", "alternative_path")
@leaves("4.7", "timeout/duration_minutes")
def test_a_wait_is_over(world: World, wire: Wire, one: Sample) -> None:
    """C-05, W-4.7.5, C-36: after 120 minutes."""
    kind = one.alternative
    ends, result = {
        "fail": ("failed", None), "skip": ("completed", None), "default_value": ("completed", {"status": "unknown"}),
        "alternative_path": ("completed", None),
    }[kind]  # fmt: skip
    one.workflow["nodes"].append(data("after"))
    one.workflow["edges"].append({"from": "wait_lab_result", "to": "after"})

    async def scene(door: Door) -> None:
        run = await one.run(door)
        await door.to(T0 + 120 * MINUTE - 1)
        assert door.view(run).status == "waiting"
        await door.later(1)
        assert door.view(run).status == ends
        if kind != "alternative_path":  # what the other way finds there is nobody's promise
            assert door.view(run).variables.get("lab_result") == result
        if kind == "fail":
            assert door.failure(run) == ("WAIT_TIMEOUT", "timeout")
        assert (door.ran(run)["wait_lab_result"] == "skipped") is (kind == "skip")

    play(world, scene)
    assert wire.counts() == {"fail": {}, "alternative_path": {"slack": 1}}.get(kind, {"after": 1})


@shows("4.7", "output/from", "event.payload", "polling.response")
def test_what_a_wait_brings(world: World, wire: Wire, one: Sample) -> None:
    """C-05, W-4.7.4: a part of what came its way; of what comes another way there is no part, which is told at load."""
    payload, response = {"sample_id": "S-1"}, {"status": "completed", "sample_id": "S-1"}
    wire.answers[POLL] = lambda seen: as_json(response)
    one.node["output"]["from"] += ".sample_id"

    async def scene(door: Door) -> None:
        results, wrong = {}, []
        for kind in ("event", "polling"):
            one.node["condition"]["type"] = kind
            wrong += [kind for finding in found(one.workflow) if finding.rule == "wait_output_from"]
            run = await one.run(door)
            await door.send_event(LAB, payload)
            await door.quiet()
            results[kind] = variable(door, run, "lab_result")
        wanted, misses = {
            "event.payload": ({"event": "S-1", "polling": response}, ["polling"]),
            "polling.response": ({"event": payload, "polling": "S-1"}, ["event"]),
        }[one.alternative]  # fmt: skip
        assert results == wanted and wrong == misses

    play(world, scene)


@shows("4.7", "condition/type", "event")
@leaves("4.7", "checkpoint/save_context", "checkpoint/resume_on_restart")
def test_a_wait_outlives_the_process(world: World, one: Sample) -> None:
    """W-4.7.1, W-8.1.5: it leaves a checkpoint, and another process resumes it; that it should not is told."""
    assert found(one.workflow) == []
    for name in ("save_context", "resume_on_restart"):
        other = {**one.node, "checkpoint": {**one.node["checkpoint"], name: False}}
        assert [finding.rule for finding in found({**one.workflow, "nodes": [other]})] == ["wait_is_durable"]

    async def begin(door: Door) -> str:
        run = await one.run(door)
        assert numbers(door, run) == [(1, "wait_lab_result", "waiting")]
        del one.node["checkpoint"]
        assert numbers(door, await one.run(door)) == []
        return run

    async def end(door: Door, run: str) -> None:
        assert door.view(run).status == "waiting"
        await door.send_event(LAB, {"sample_id": "S-1"})
        await door.quiet()
        assert variable(door, run, "lab_result") == {"sample_id": "S-1"}

    run = play(world, begin)
    play(world, lambda door: end(door, run))


# ---- 4.8: switches ---------------------------------------------------------------------------------------------------


def told(wire: Wire) -> list[str]:
    """What Slack was told, and now forgets."""
    found = sorted(seen.json["text"] for seen in wire.to("slack"))
    wire.server.seen.clear()
    return found


@shows("4.8", "multi_match/mode", "first", "all", "priority")
@leaves("4.8 switch_severity", "multi_match/enabled")
def test_several_cases_match(world: World, wire: Wire, one: Sample) -> None:
    """C-05, C-14: the first, all, or the one that comes first by its priority; as it is printed it is not enabled."""
    for case, priority in zip(one.node["cases"], (3, 2, 1), strict=True):
        case |= {"value": "critical", "priority": priority}
    everywhere = ["action_emergency", "action_log", "action_warning"]
    wanted = {"first": ["action_emergency"], "all": everywhere, "priority": ["action_log"]}[one.alternative]

    async def scene(door: Door) -> None:
        await one.run(door)
        assert told(wire) == ["action_emergency"]
        one.node["multi_match"]["enabled"] = True
        await one.run(door)
        assert told(wire) == wanted

    play(world, scene)


@shows("4.8", "multi_match/mode", "first")
@leaves("4.8 switch_severity", "expression", "cases/0/value", "cases/0/goto", "cases/1/value", "cases/1/goto",
        "cases/2/value", "cases/2/goto", "default/goto", "cases/0/label", "cases/1/label", "cases/2/label",
        "default/label")  # fmt: skip
def test_a_switch_by_value(world: World, wire: Wire, one: Sample) -> None:
    """W-4.14.1, W-4.8.1, W-4.8.5: a case for each decision, else the default; its label is in what it gives out."""
    ways = {"critical": ("action_emergency", "긴급 대응"), "warning": ("action_warning", "주의 알림"),
            "normal": ("action_log", "정상 처리"), "odd": ("action_escalate", "알 수 없음")}  # fmt: skip

    async def scene(door: Door) -> None:
        for decision, (way, label) in ways.items():
            run = await one.run(door, judgment_result={"decision": decision})
            assert told(wire) == [way]
            output = door.told(run, "settled")[0].data["output"]
            assert output == {"value": decision, "matched": [label], "goto": [way]}

    play(world, scene)


@shows("4.8 switch_complex", "")
@leaves("4.8 switch_complex", "mode", "cases/0/condition", "cases/0/goto", "cases/1/condition", "cases/1/goto",
        "cases/2/condition", "cases/2/goto", "default/goto")  # fmt: skip
def test_a_switch_by_condition(world: World, wire: Wire, one: Sample) -> None:
    """W-4.14.1, W-4.8.3: the order of the cases decides; at night somebody else is asked."""
    rows = [("critical", 0.9, "auto_action"), ("critical", 0.6, "human_review"), ("normal", 0.95, "standard_flow"),
            ("normal", 0.69, "human_review"), ("normal", 0.7, "standard_flow")]  # fmt: skip

    async def scene(door: Door) -> None:
        for hours, warned in ((0, "standard_flow"), (13, "escalate_to_manager")):  # 10:00 and 23:00 in Seoul
            await door.to(T0 + hours * HOUR)
            for decision, confidence, way in [*rows, ("warning", 0.8, warned)]:
                await one.run(door, judgment_result={"decision": decision, "confidence": confidence})
                assert told(wire) == [way], (decision, confidence, hours)

    play(world, scene)


# ---- 4.9: parallel ---------------------------------------------------------------------------------------------------

BRANCHES = ("slack", "email", "sms")


def calling(one: Sample, wire: Wire, *bad: str) -> None:
    """Its members call a server instead of Slack, so that each may fail by itself."""
    one.workflow["nodes"][1:] = [data(f"action_{name}") for name in BRANCHES]
    for name in BRANCHES:
        wire.answers[f"action_{name}"] = answering({"by": name}, 400 if name in bad else 200)


@shows("4.9", "join/strategy", "all", "any", "n_of")
@leaves("4.9", "join/n", "branches/0/nodes", "branches/1/nodes", "branches/2/nodes")
def test_how_branches_join(world: World, wire: Wire, one: Sample) -> None:
    """C-05, W-4.9.1, C-22: with three, two or one of three that do not come, it goes on or does not."""
    hung = {"all": 0, "n_of": 1, "any": 2}[one.alternative]  # so many may hang

    async def scene(door: Door) -> None:
        found = []
        for count in range(4):
            slow = BRANCHES[3 - count :]
            one.workflow["nodes"][1:] = [
                wait(f"action_{name}", {"type": "manual"}) if name in slow else data(f"action_{name}")
                for name in BRANCHES
            ]
            run = await one.run(door)
            found.append(door.view(run).status)
        assert found == ["completed" if count <= hung else "waiting" for count in range(4)]

    play(world, scene)


@shows("4.9", "join/on_partial_failure", "continue", "fail", "compensate")
@leaves("4.9", "branches/0/required", "branches/1/required", "branches/2/required")
def test_a_branch_fails(world: World, wire: Wire, one: Sample) -> None:
    """C-05, W-4.9.2, C-22: the one that is required: it goes on, fails, where an edge may take it, or is undone, edge
    or no edge; those that are not required may fail anyway."""
    calling(one, wire, "slack")
    one.workflow["nodes"] += [undo("undo_email", "action_email"), data("handles")]
    one.workflow["edges"] = [{"from": "parallel_notify", "to": "handles", "when": "failed"}]
    wanted = {"continue": ("completed", 0, 0), "fail": ("completed", 1, 0), "compensate": ("compensated", 0, 1)}

    async def scene(door: Door) -> None:
        status = door.view(await one.run(door)).status
        assert (status, len(wire.to("handles")), len(wire.to("undo/action_email"))) == wanted[one.alternative]
        calling(one, wire, "email", "sms")
        one.workflow["edges"] = []
        assert door.view(await one.run(door)).status == "completed"

    play(world, scene)


@shows("4.9", "output/merge_strategy", "array", "object", "first_success")
@leaves("4.9", "output/variable", "branches/0/id", "branches/1/id", "branches/2/id")
def test_how_results_are_merged(world: World, wire: Wire, one: Sample) -> None:
    """C-05, C-23: a list in the order of the branches, an object by their ids, or the first one that came."""
    calling(one, wire)
    one.workflow["nodes"][1] = wait("action_slack", {"type": "time", "duration_ms": 1000})

    async def scene(door: Door) -> None:
        run = await one.run(door)
        await door.later(1000)
        result = variable(door, run, "parallel_results")
        late = {"resumed_at": moment(T0 + 1000), "waited_ms": 1000}
        if one.alternative == "first_success":
            assert result == {"by": "email"}
            return
        assert isinstance(result, list) is (one.alternative == "array")
        each = {part["branch_id"]: part for part in result} if isinstance(result, list) else result
        assert list(each) == ["branch_slack", "branch_email", "branch_sms"]
        assert [part["output"] for part in each.values()] == [late, {"by": "email"}, {"by": "sms"}]

    play(world, scene)


@shows("4.9", "join/strategy", "all")
@leaves("4.9", "branches/2/condition", "join/timeout_ms")
def test_a_branch_under_a_condition_and_one_that_is_late(world: World, wire: Wire, one: Sample) -> None:
    """W-4.14.1, W-4.9.3, C-22: an SMS only for critical; 30 s and no more."""
    calling(one, wire)
    slow = wait("action_email", {"type": "manual"})

    async def scene(door: Door) -> None:
        for decision, sms in (("warning", 0), ("critical", 1)):
            await one.run(door, judgment_result={"decision": decision})
            assert len(wire.to("action_sms")) == sms
        one.workflow["nodes"][2] = slow
        run = await one.run(door)
        await door.later(29_999)
        assert door.view(run).status == "waiting"
        await door.later(1)
        assert door.view(run).status == "completed"
        assert [part["status"] for part in variable(door, run, "parallel_results")] == [
            "succeeded", "timeout", "succeeded",
        ]  # fmt: skip

    play(world, scene)


# ---- 4.10: compensation ----------------------------------------------------------------------------------------------


@shows("4.10", "")
@leaves("4.10", "id", "type", "for_node", "trigger/on", "actions/0/type", "actions/0/endpoint", "actions/0/method",
        "actions/0/body/reservation_id", "actions/0/body/reason", "actions/1/type", "actions/1/channel",
        "actions/1/message")  # fmt: skip
def test_what_was_reserved_is_released(world: World, wire: Wire, one: Sample) -> None:
    """W-4.14.1, W-4.10.1, W-4.10.2, W-4.10.5: a failure, a cancellation, a person's word; released, then told."""
    wire.answers["action_reserve_inventory"] = lambda seen: as_json({"reservation_id": "R-7"})
    wire.answers["bad"] = lambda seen: as_json({}, 400)
    one.workflow["nodes"] += [data("bad"), wait("w", {"type": "manual"})]

    async def scene(door: Door) -> None:
        for how in ("node_failure", "workflow_cancel", "manual"):
            after = "bad" if how == "node_failure" else "w"
            nodes = one.workflow["nodes"]
            one.workflow["nodes"] = [node for node in nodes if node["id"] not in {"bad", "w"} - {after}]
            one.workflow["edges"] = [{"from": "action_reserve_inventory", "to": after}]
            run = await one.run(door)
            one.workflow["nodes"] = nodes
            if how == "workflow_cancel":
                await door.cancel(run)
            elif how == "manual":
                await door.command(run, C.compensate())
            await door.quiet()
            assert door.view(run).status == "compensated", how
            undone = next(each for each in door.view(run).firings if each.node == "compensation_inventory")
            assert undone.type == "COMPENSATION"
            path = [seen.path.strip("/") for seen in wire.server.seen if "bad" not in seen.path]
            assert path == ["action_reserve_inventory", "api/inventory/release", "slack"]
            (released,), (said,) = wire.to("api/inventory/release"), wire.to("slack")
            assert released.method == "POST"
            assert released.json == {"reservation_id": "R-7", "reason": "workflow_compensation"}
            assert said.json["text"] == "재고 예약이 롤백되었습니다: R-7"
            wire.server.seen.clear()

    play(world, scene)


@shows("4.10", "")
@leaves("4.10", "trigger/conditions", "retry/max", "retry/backoff_ms", "retry/on_failure")
def test_a_release_that_does_not_work(world: World, wire: Wire, one: Sample) -> None:
    """W-4.10.3, C-45: five retries, 2 s apart, then people are told; what has not succeeded is not undone."""
    one.workflow["nodes"].append(data("bad"))
    one.workflow["edges"] = [{"from": "action_reserve_inventory", "to": "bad"}]
    wire.answers["action_reserve_inventory"] = lambda seen: as_json({"reservation_id": "R-7"})
    wire.answers["bad"] = lambda seen: as_json({}, 400)
    wire.trouble["api/inventory/release"] = float("inf")

    async def scene(door: Door) -> None:
        run = await one.run(door)
        for n in range(1, 6):
            assert len(wire.to("api/inventory/release")) == n and door.view(run).status == "compensating"
            await door.later(2000)
        assert len(wire.to("api/inventory/release")) == 6
        assert door.view(run).status == "failed" and door.failure(run)[0] == "COMPENSATION_FAILED"
        await door.until(lambda: wire.mails("COMPENSATION_FAILED"))
        wire.server.seen.clear()
        wire.answers["action_reserve_inventory"] = lambda seen: as_json({}, 400)
        run = await one.run(door, INPUT)
        assert door.view(run).status == "failed" and set(wire.counts()) == {"action_reserve_inventory"}

    play(world, scene)


@shows("4.10", "")
@leaves("4.10", "audit/log_reason", "audit/log_result")
def test_what_is_written_down_of_a_release(world: World, wire: Wire, one: Sample) -> None:
    """W-4.10.4: why it was released, and what came of each action; where the document does not want it, neither."""
    one.workflow["nodes"].append(data("bad"))
    one.workflow["edges"] = [{"from": "action_reserve_inventory", "to": "bad"}]
    wire.answers["action_reserve_inventory"] = lambda seen: as_json({"reservation_id": "R-7"})
    wire.answers["api/inventory/release"] = lambda seen: as_json({"released": 7})
    wire.answers["bad"] = lambda seen: as_json({}, 400)

    async def scene(door: Door) -> None:
        for reason, result in ((True, True), (False, True), (True, False), (False, False), (None, None)):
            one.node["audit"] = {"log_reason": reason, "log_result": result}
            if reason is None:
                del one.node["audit"]  # C-45: both
            run = await one.run(door)
            told = {step.event: step.reason for step in door.history(run) if step.node_id == one.node["id"]}
            why, what = told["node_scheduled"], told["execution_ok"]
            assert (why is not None and why.startswith("HTTP_4XX")) == (reason is not False), told
            assert (what is not None and '{"released":7}; ' in what and "_delivery" in what) == (result is not False)
            assert (why is None) == (reason is False) and (what is None) == (result is False)

    play(world, scene)
