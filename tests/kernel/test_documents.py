"""Every path of the documents lowered by hand: golden traces, and a crash at every turn gives the same journal."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from penstock.errors import NodeNotFound, StatusConflict
from penstock.kernel import command as C
from penstock.kernel import fact as F
from penstock.kernel.fact_lines import FactReader
from penstock.kernel.replay import fold
from penstock.kernel.run import Run
from penstock.kernel.state import State, decode_state, encode_state, new_state
from penstock.kernel.step import advance
from penstock.kernel.work_item import moment
from penstock.net import codec
from penstock.net.checks import check
from penstock.net.model import Net, Work
from penstock.net.soundness import verdicts
from tests.kernel import documents as D
from tests.kernel.harness import Sim

GOLDEN = Path(__file__).parent / "golden" / "documents"
Golden = Callable[[Path, str], None]


class Told(Sim):
    """A run that remembers what it was told, so that it can be told again from any turn on."""

    def __init__(self, net: Net, input: Any = None, **more: Any) -> None:
        self.told: list[tuple[int, tuple[C.Command, ...]]] = []
        super().__init__(net, input, **more)

    def do(self, *commands: C.Command) -> list[Any]:
        lines = super().do(*commands)
        self.told.append((self.now, commands))
        return lines

    def at(self, turn: int) -> State:
        """The state after so many turns, as a checkpoint brings it back."""
        st = new_state()
        for now, body in self.turns[:turn]:
            fold(st, F.decode_facts(body), now)  # type: ignore[arg-type]
        return decode_state(encode_state(st))

    def ended(self, golden: Golden, name: str) -> None:
        """Compare with the golden trace; then crash at every turn: the rest of the journal folds to the same state, and
        the same commands write the same journal, byte for byte."""
        golden(GOLDEN / f"{name}.trace", self.story())
        last = encode_state(self.st)
        for turn in range(len(self.turns)):
            st = self.at(turn)
            for now, body in self.turns[turn:]:
                fold(st, F.decode_facts(body), now)  # type: ignore[arg-type]
            assert encode_state(st) == last, f"the journal folds on from turn {turn}"
            run = Run.load(self.net, self.at(turn))
            for offset, (now, commands) in enumerate(self.told[turn:], turn):
                run, facts = advance(run, list(commands), now, self._never)
                assert F.encode_facts(facts) == self.turns[offset][1], f"turn {offset} after a crash at {turn}"

    def _never(self) -> Run:
        raise AssertionError("no answer here leads nowhere")

    def story(self) -> str:
        """The trace for people, with the moment of every turn; the net's hash is left out, the net stands beside it."""
        reader = FactReader(lambda _: self.net)
        out = []
        for now, body in self.turns:
            out.append(f"-- {now}")
            for line in reader.turn(now, F.decode_facts(body)):
                line.data.pop("net", None)
                out.append(line.text())
        return "\n".join(out) + "\n"

    def moves(self) -> list[str]:
        return [line.data["to"] for line in self.of("run.moved")]

    def items(self) -> list[tuple[str, str]]:
        """Every move of a work item, by node; an item whose firing is over is found by its number."""
        of = {f[1]: self.net.nodes[f[2]].id for f in self.facts if f[0] == F.WORK_OPENED}
        return [(x.node or of[x.data["firing"]], x.data["to"]) for x in self.of("work.moved")]

    def failure(self) -> tuple[str, str]:
        assert self.st.failure is not None
        return self.st.failure.code, self.st.failure.category

    def asks(self) -> list[str]:
        return [line.node for line in self.of("effect.asked")]

    def running(self) -> list[str]:
        return [self.net.nodes[f.node].id for f in self.effects()]


DOCUMENTS = [
    D.defect_alert(), D.ccp_deviation(), D.saga(), D.saga(rounds=2), D.pipeline(),
    D.plan({"a": [], "b": ["a?"]}), D.plan({"a": [], "b": ["a"], "c": ["b?"], "d": ["b", "c"]}),
]  # fmt: skip


@pytest.mark.parametrize("net", DOCUMENTS, ids=lambda n: n.name)
def test_a_document_lowered_by_hand_is_a_proper_net(net: Net) -> None:
    """No finding is an error, the canonical form reads back, and only a plan may get stuck: that is its pause."""
    assert not [f for f in check(net) if f.severity == "error"]
    assert codec.decode(codec.encode(net)) == net
    found = {v.status for v in verdicts(net).values()}
    assert found == {"sound"} if net.language != "plan" else found <= {"sound", "unsound"}


# ---- 11.1 ------------------------------------------------------------------------------------------------------------

LINE = {"line": {"L01": {"name": "Line 1"}}}
EMERGENCY = ("action_slack_emergency", "action_sms_manager", "action_create_ticket")


def judged(decision: str, confidence: float = 0.9) -> Told:
    m = Told(D.defect_alert(), {"line_id": "L01"})
    m.now = 40
    m.ok("data_defect", [{"defect_rate": 0.12}])
    m.ok("judge_quality.aas", LINE)
    m.now = 900
    m.ok("judge_quality", {"decision": decision, "confidence": confidence})
    return m


def critical(confidence: float) -> Told:
    m = judged("critical", confidence)
    assert m.running() == list(EMERGENCY)
    for node in reversed(EMERGENCY):
        m.ok(node, {"_delivery": {"status": "sent"}})
    return m


def test_11_1_begins_at_one_node_and_hands_on_what_it_read(golden: Golden) -> None:
    """W-11.1.2, W-11.1.3."""
    m = Told(D.defect_alert(), {"line_id": "L01"}, tenant="tenant_001")
    assert m.fired() == ["data_defect"]
    m.now = 40
    m.ok("data_defect", [{"defect_rate": 0.12}])
    m.ok("judge_quality.aas", LINE)
    asked: dict[str, Any] = {line.node: line.data.get("args") for line in m.of("effect.asked")}
    assert asked["data_defect"]["params"] == {"line_id": "L01", "start_date": -D.DAY}
    assert asked["judge_quality.aas"] == {"path": "line.L01"}
    assert asked["judge_quality"]["data"] == [{"defect_rate": 0.12}]
    assert asked["judge_quality"]["context"] == {"line_info": {"name": "Line 1"}}
    assert m.st.timers[1].why == "active" and m.st.timers[1].due == 120_000
    m.ended(golden, "11_1_begin")


@pytest.mark.parametrize(
    ("decision", "path", "chosen"),
    [
        ("warning", ["action_warning", "approval_required"], {"matched": ["warning"], "goto": ["action_warning"]}),
        ("normal", ["action_log"], {"matched": ["normal"], "goto": ["action_log"]}),
        ("unknown", [], {"matched": [], "goto": []}),
    ],
)
def test_11_1_takes_the_case_of_the_decision(golden: Golden, decision: str, path: list[str], chosen: Any) -> None:
    """W-11.1.4, W-11.1.5, C-14: one token to the target of the case; no case, no token, and the output says so."""
    m = judged(decision)
    assert m.output("switch_severity") == {"value": decision, **chosen}
    for node in path:
        if node.startswith("action_"):
            m.ok(node)
    assert m.status == "COMPLETED" and m.fired()[4:] == path
    assert [x.data["token"] for x in m.of("put") if x.edge.startswith("switch_severity>")] == [0] * bool(path)
    if decision == "warning":
        assert m.output("approval_required") == {"value": False, "matched": ["default"], "goto": ["end"]}
    m.ended(golden, f"11_1_{decision}")


def test_11_1_critical_and_sure_ends_without_approval(golden: Golden) -> None:
    """W-11.1.4, W-11.1.6, W-11.1.7, W-11.1.8: three actions, once each, then the merge, once; 0.8 is not below 0.8."""
    m = critical(0.8)
    assert m.status == "COMPLETED" and "request_approval" not in m.fired()
    assert [m.fired().count(n) for n in (*EMERGENCY, "approval_required")] == [1, 1, 1, 1]
    hook = m.net.by_id["action_create_ticket"].spec.effect
    assert hook is not None and hook.args["channel"]["config"]["url"] == "${secrets.jira_webhook}"
    m.ended(golden, "11_1_critical_0_80")


def test_11_1_critical_and_unsure_is_approved(golden: Golden) -> None:
    """W-11.1.8, W-11.1.9, W-11.1.10, W-11.1.12, W-4.6.5, W-4.6.7, C-71: nearly two hours of waiting are no active
    time; who decided what is in the output, and a later decision is refused."""
    m = critical(0.79)
    assert m.status == "WAITING" and not any(t.why == "active" for t in m.st.timers.values())
    item = m.item("request_approval")
    (opened,) = m.of("work.opened")
    assert opened.data["candidates"] == {"type": "role", "targets": ["quality_manager"]}
    m.now += 2 * D.HOUR - 1
    m.tick(m.now)
    assert m.status == "WAITING" and m.st.active_ms == 900
    m.do(C.work(item, "vote", "kim", {"vote": "approved", "comment": "seen"}))
    assert m.status == "COMPLETED" and m.moves() == ["WAITING", "COMPLETED"] and m.st.active_ms == 900
    assert m.vars() == {
        "defect_data": [{"defect_rate": 0.12}],
        "judgment_result": {"decision": "critical", "confidence": 0.79},
        **{node[7:]: {"_delivery": {"status": "sent"}} for node in EMERGENCY},
        "parallel_results": m.output("parallel_emergency"),
        "approval_result": m.output("request_approval"),
    }
    assert m.output("request_approval") == {
        "status": "approved", "approver": "kim", "comment": "seen", "approved_at": moment(m.now), "timed_out": False,
        "approvals": [{"user": "kim", "target": None, "decision": "approved", "comment": "seen", "at": moment(m.now)}],
        "escalation_level": 0, "request_id": "r1/request_approval@~0#1",
    }  # fmt: skip
    records = m.output("parallel_emergency")
    assert list(records) == ["branch_slack", "branch_sms", "branch_ticket"]
    assert {r["status"] for r in records.values()} == {"succeeded"}
    with pytest.raises(StatusConflict, match="DONE"):
        m.do(C.work(item, "vote", "lee", "approved"))
    with pytest.raises(NodeNotFound):
        m.do(C.work(item + 1, "vote", "lee", "approved"))
    m.ended(golden, "11_1_approved")


def test_11_1_is_rejected(golden: Golden) -> None:
    """W-11.1.9, C-40, C-41: a rejection that nobody handles cancels the run, and says why."""
    m = critical(0.79)
    m.do(C.work(m.item("request_approval"), "vote", "kim", "rejected"))
    assert m.status == "CANCELLED" and m.failure() == ("REJECTED", "business")
    assert m.vars()["approval_result"]["status"] == "rejected" and m.moves() == ["WAITING", "CANCELLED"]
    m.ended(golden, "11_1_rejected")


def test_11_1_is_escalated(golden: Golden) -> None:
    """W-11.1.9, C-34: after two hours the same item is open again, for others, with the full time."""
    m = critical(0.79)
    item = m.item("request_approval")
    m.do(C.work(item, "start", "kim"))
    m.tick()
    assert m.now == 900 + 2 * D.HOUR and m.status == "WAITING"
    assert m.st.items[item].level == 1 and m.st.items[item].status == "TODO" and m.run.wake_at() == 900 + 4 * D.HOUR
    opened = m.of("work.opened")[-1]
    assert opened.data["level"] == 1 and opened.data["candidates"] == {"type": "role", "targets": ["admin"]}
    m.now += 5
    m.do(C.work(item, "vote", "root", "approved"))
    assert m.status == "COMPLETED" and m.st.active_ms == 900
    m.ended(golden, "11_1_escalated")


def test_11_1_nobody_decides(golden: Golden) -> None:
    """W-11.1.10, C-34: the run waits through the levels and fails after the last one."""
    m = critical(0.79)
    began = m.now
    for level in (1, 2, 3):
        m.tick()
        assert m.now == began + 2 * level * D.HOUR and m.status == "WAITING"
    m.tick()
    assert m.now == began + 8 * D.HOUR and m.status == "FAILED" and m.failure() == ("APPROVAL_TIMEOUT", "timeout")
    assert m.moves() == ["WAITING", "FAILED"] and m.st.active_ms == 900
    m.ended(golden, "11_1_undecided")


def test_11_1_one_emergency_branch_fails_after_two_retries(golden: Golden) -> None:
    """W-11.1.11, C-22: no fail-fast, no compensation; two retries of 5 s each, one key."""
    m = judged("critical", 0.79)
    m.ok("action_slack_emergency", {})
    for attempt in (1, 2):
        m.bad("action_sms_manager", "SMS_DOWN", "external")
        assert m.status == "RUNNING" and m.asked("action_create_ticket")
        m.tick()
        assert m.now == 900 + 5000 * attempt
    m.bad("action_sms_manager", "SMS_DOWN", "external")
    assert m.status == "RUNNING"
    m.ok("action_create_ticket", {"key": "Q-1"})
    assert m.status == "FAILED" and m.failure() == ("SMS_DOWN", "external") and m.moves() == ["FAILED"]
    assert m.asks().count("action_sms_manager") == 3
    assert len({x.data["key"] for x in m.of("effect.asked") if x.node == "action_sms_manager"}) == 1
    assert "approval_required" not in m.fired() and "create_ticket" in m.vars() and "parallel_results" not in m.vars()
    m.ended(golden, "11_1_branch_fails")


def test_11_1_active_time_runs_out(golden: Golden) -> None:
    """C-71: 120 s of work, whatever the clock says."""
    m = judged("critical", 0.79)
    m.tick()
    assert m.now == 120_000 and m.status == "FAILED" and m.failure() == ("WORKFLOW_TIMEOUT", "timeout")
    assert len(m.run.stops) == 3
    m.ended(golden, "11_1_active_timeout")


# ---- 11.2 ------------------------------------------------------------------------------------------------------------


def deviation(decision: str = "high") -> Told:
    m = Told(D.ccp_deviation(), {"line_id": "L02", "severity": "high"})
    m.now = 10
    m.ok("data_ccp", [{"temperature": 71}])
    m.now = 20
    m.ok("judge_ccp", {"decision": decision})
    return m


def waiting(answered_at: int = 5000) -> Told:
    m = deviation()
    m.now = answered_at
    m.ok("action_sample_request", {"id": "S7"})
    assert m.status == "RUNNING"
    m.ok("action_ccp_alert", {"ts": "1.2"})
    assert m.status == "WAITING"
    return m


def lab(id: str, sample: Any) -> C.Command:
    return C.signal(id, "lab.result.completed", {"sample_id": sample, "ok": False})


def test_11_2_normal_sends_nothing(golden: Golden) -> None:
    """W-11.2.2, W-11.2.3, W-11.2.4, W-11.2.5."""
    m = Told(D.ccp_deviation(), {"line_id": "L02"})
    assert m.fired() == ["data_ccp"]
    m.ok("data_ccp", [{"temperature": 60}])
    asked = {line.node: line.data["args"] for line in m.of("effect.asked")}
    assert asked["data_ccp"]["params"] == {"line_id": "L02", "since": -D.HOUR}
    assert asked["judge_ccp"]["data"] == [{"temperature": 60}]
    m.ok("judge_ccp", {"decision": "normal"})
    assert m.status == "COMPLETED" and m.fired() == ["data_ccp", "judge_ccp", "switch_ccp"]
    assert m.output("switch_ccp") == {"value": False, "matched": [], "goto": []}
    assert m.vars() == {"ccp_data": [{"temperature": 60}], "judgment_result": {"decision": "normal"}}
    m.ended(golden, "11_2_normal")


@pytest.mark.parametrize("decision", ["critical", "unknown"])
def test_11_2_anything_else_starts_both_branches(decision: str) -> None:
    """W-11.2.5, W-11.2.6."""
    m = deviation(decision)
    assert m.running() == ["action_ccp_alert", "action_sample_request"]


def test_11_2_deviation_waits_for_the_right_sample(golden: Golden) -> None:
    """W-11.2.6, W-11.2.7, W-11.2.8, W-11.2.9, W-11.2.10: another sample changes nothing, a restart loses nothing."""
    m = waiting()
    m.now = 60_000
    m.do(lab("e1", "S8"))
    assert m.status == "WAITING" and "wait_lab" not in dict(m.settled())
    m.crash()
    assert m.status == "WAITING"
    m.now = 61_000
    m.do(lab("e2", "S7"))
    assert m.status == "RUNNING" and not m.st.waits
    assert m.vars()["lab_result"] == {"sample_id": "S7", "ok": False}
    assert m.of("effect.asked")[-1].data["args"]["template"]["params"] == {"lab_result": m.vars()["lab_result"]}
    m.do(lab("e2", "S7"))
    m.ok("action_report", {"message_id": 5})
    assert m.status == "COMPLETED" and m.moves() == ["WAITING", "RUNNING", "COMPLETED"] and not m.st.timers
    records = m.vars()["parallel_results"]
    assert records["alert_branch"]["output"] == {"ts": "1.2"}
    assert records["sample_branch"]["output"] == {"message_id": 5}
    m.ended(golden, "11_2_deviation")


def test_11_2_an_event_that_comes_early_is_kept(golden: Golden) -> None:
    """C-37, W-4.7.6: the lab is faster than its own web hook."""
    m = deviation()
    m.do(lab("e1", "S7"))
    assert m.st.signals
    m.ok("action_sample_request", {"id": "S7"})
    assert m.asked("action_report") and not m.st.signals and not m.st.waits
    m.ok("action_report")
    m.ok("action_ccp_alert")
    assert m.status == "COMPLETED"
    m.ended(golden, "11_2_early_event")


def test_11_2_a_filter_without_a_value_fails_the_wait(golden: Golden) -> None:
    """C-37: the lab gave no id, so no event may ever match by accident."""
    m = deviation()
    m.ok("action_sample_request", {})
    m.ok("action_ccp_alert", {})
    assert m.status == "FAILED" and m.failure() == ("FILTER_VALUE_NULL", "validation")
    m.ended(golden, "11_2_filter_null")


def test_11_2_a_failed_alert_does_not_stop_the_sample(golden: Golden) -> None:
    """C-22."""
    m = deviation()
    m.bad("action_ccp_alert", "SLACK_DOWN", "external")
    m.ok("action_sample_request", {"id": "S7"})
    assert m.status == "WAITING"
    m.do(lab("e1", "S7"))
    m.ok("action_report")
    assert m.status == "FAILED" and m.failure() == ("SLACK_DOWN", "external")
    m.ended(golden, "11_2_alert_fails")


def test_11_2_no_event_and_the_join_is_due_first(golden: Golden) -> None:
    """W-11.2.11, C-72: also when the clock comes back long after both were due."""
    m = waiting()
    assert sorted((t.due, t.why) for t in m.st.timers.values()) == [(7_200_020, "join"), (7_205_000, "trigger")]
    m.tick(10**8)
    assert m.status == "FAILED" and m.failure() == ("JOIN_TIMEOUT", "timeout") and m.moves() == ["WAITING", "FAILED"]
    assert m.vars()["ccp_alert"] == {"ts": "1.2"} and "lab_result" not in m.vars()
    (closed,) = [x for x in m.of("swept") if x.data.get("scopes")]
    assert closed.data["status"] == "timeout"
    assert closed.data["firings"] == ["wait_lab@parallel_response@~0#1/sample_branch~0#1"]
    m.ended(golden, "11_2_join_timeout")


def test_11_2_no_event_and_both_are_due_at_once(golden: Golden) -> None:
    """W-11.2.11, C-72: at one instant the inner timer is first; both ways the run fails with a time-out."""
    m = waiting(answered_at=20)
    assert {t.due for t in m.st.timers.values()} == {7_200_020}
    m.tick()
    assert m.status == "FAILED" and m.failure() == ("WAIT_TIMEOUT", "timeout")
    assert dict(m.settled())["wait_lab"] == "failed" and m.vars()["ccp_alert"] == {"ts": "1.2"}
    m.ended(golden, "11_2_wait_timeout")


def test_11_2_the_join_times_out_while_an_action_runs(golden: Golden) -> None:
    """C-22: RUNNING to FAILED; the answer that comes after that changes nothing."""
    m = deviation()
    m.ok("action_sample_request", {"id": "S7"})
    late = m.asked("action_ccp_alert")
    assert late is not None
    m.tick()
    assert m.status == "FAILED" and m.moves() == ["FAILED"] and m.run.stops == [late.no]
    (line,) = m.do(C.done(late.no, late.attempt, body={"ts": "9"}))
    assert line.fact == "ignored" and "ccp_alert" not in m.vars()
    m.ended(golden, "11_2_join_timeout_running")


# ---- process: P-A.13 -------------------------------------------------------------------------------------------------


def forked(**more: Any) -> Told:
    m = Told(D.saga(**more))
    for _ in range(more.get("rounds", 1)):
        m.now += 10
        m.ok("P", {"files": 3})
    return m


def undone(m: Told) -> list[str]:
    return [line.node for line in m.of("fired") if "undoes" in line.data]


def steps(m: Told) -> list[tuple[str, str]]:
    return [(m.net.nodes[e.node].id, e.status) for e in m.st.ledger]


def test_saga_a_branch_fails(golden: Golden) -> None:
    """P-A.13, P-5.5.1, P-5.5.2, P-5.5.3, P-5.5.4, P-5.5.5, P-5.5.9, P-X.21: cancel, branches, what was before."""
    m = forked()
    m.ok("A", {"score": 9})
    m.now += 10
    m.ok("B", {"pdf": "p1"})
    running = m.asked("C")
    assert running is not None
    m.now += 10
    m.bad("D", "AGENT_ERROR", "permanent")
    assert m.status == "COMPENSATING" and m.run.stops == [running.no]
    assert m.items()[-2:] == [("D", "CANCELLED"), ("C", "CANCELLED")]
    assert next(x for x in m.of("settled") if x.node == "D").data["failure"]["code"] == "AGENT_ERROR"
    made = {"B.undo.1": {"pdf": "p1"}, "B.undo.2": {"pdf": "p1"}, "A.undo": {"score": 9}, "P.undo": {"files": 3}}
    for node, data in made.items():
        assert m.running() == [node] and m.of("effect.asked")[-1].data["args"]["data"] == data
        m.crash()
        m.now += 10
        m.ok(node)
    assert m.status == "COMPENSATED" and m.failure() == ("AGENT_ERROR", "permanent")
    assert m.items()[-3:] == [("B", "COMPENSATED"), ("A", "COMPENSATED"), ("P", "COMPENSATED")]
    assert steps(m) == [("P", "EXECUTED"), ("A", "EXECUTED"), ("B", "EXECUTED")]
    assert [x.data["result"] for x in m.of("undo.ended")] == ["COMPLETE"]
    m.do(C.compensate())
    assert undone(m) == ["B.undo.1", "B.undo.2", "A.undo", "P.undo"]
    m.ended(golden, "p_a_13")


def test_saga_a_step_fails(golden: Golden) -> None:
    """P-X.20, P-X.21: every branch is tried, what lies before the fork stays open, later only what is left is done."""
    m = forked()
    m.ok("A", {"score": 9})
    m.ok("B", {"pdf": "p1"})
    m.bad("D", "AGENT_ERROR", "permanent")
    m.ok("B.undo.1")
    m.bad("B.undo.2", "CALENDAR_DOWN", "external")
    m.ok("A.undo")
    assert m.status == "FAILED" and m.failure()[0] == "COMPENSATION_FAILED"
    assert m.st.failure is not None and m.st.failure.detail["cause"]["code"] == "AGENT_ERROR"
    assert steps(m) == [("P", "open"), ("A", "EXECUTED"), ("B", "FAILED")]
    assert [x.data["result"] for x in m.of("undo.ended")] == ["PARTIAL"]
    m.do(C.compensate())
    m.ok("B.undo.1")
    m.ok("B.undo.2")
    m.ok("P.undo")
    assert m.status == "COMPENSATED" and [s for _, s in steps(m)] == ["EXECUTED"] * 3
    assert m.failure() == ("AGENT_ERROR", "permanent"), "C-45: the error is kept"
    m.ended(golden, "p_a_13_partial")


@pytest.mark.parametrize("begun", [False, True])
def test_saga_a_persons_item_in_a_branch_is_cancelled(golden: Golden, begun: bool) -> None:
    """P-5.5.3: an item that nobody has begun, and one that somebody has."""
    m = forked(classify=Work())
    m.ok("A", {"score": 9})
    if begun:
        m.do(C.work(m.item("C"), "start", "kim"))
    m.bad("D", "AGENT_ERROR", "permanent")
    assert m.items()[-1] == ("C", "CANCELLED") and m.running() == ["A.undo"]
    m.ok("A.undo")
    m.ok("P.undo")
    assert m.status == "COMPENSATED"
    m.ended(golden, f"p_a_13_person_{'in_progress' if begun else 'todo'}")


def test_saga_a_draft_in_a_branch_is_compensated(golden: Golden) -> None:
    """P-5.5.4: SUBMITTED counts as work done; its draft is what is undone."""
    m = forked(verify=Work(agent=True, approve=True))
    m.ok("A", {"score": 1})
    m.do(C.work(m.item("A"), "reject", "lee"))
    m.ok("A", {"score": 9})
    assert m.st.items[m.item("A")].status == "SUBMITTED"
    m.bad("D", "AGENT_ERROR", "permanent")
    assert m.of("effect.asked")[-1].data["args"] == {"tool": "delete_verification", "data": {"score": 9}}
    m.ok("A.undo")
    m.ok("P.undo")
    assert m.status == "COMPENSATED" and undone(m) == ["A.undo", "P.undo"]
    assert m.items().count(("A", "COMPENSATED")) == 1
    m.ended(golden, "p_a_13_draft")


def test_saga_every_visit_is_compensated_latest_first(golden: Golden) -> None:
    """P-X.21: a looped activity has one entry per visit."""
    m = Told(D.saga(rounds=2))
    m.ok("P", 1)
    m.ok("P", 2)
    m.ok("B", {"pdf": "p1"})
    m.bad("D", "AGENT_ERROR", "permanent")
    for node in ("B.undo.1", "B.undo.2", "P.undo", "P.undo"):
        m.ok(node)
    assert m.status == "COMPENSATED"
    assert [x.data["args"]["data"] for x in m.of("effect.asked") if x.node == "P.undo"] == [2, 1]
    assert len({x.data["key"] for x in m.of("effect.asked") if x.node == "P.undo"}) == 2
    m.ended(golden, "p_a_13_visits")


@pytest.mark.parametrize("late", ["ignore", "undo"])
def test_saga_the_cancelled_agent_answers_after_all(golden: Golden, late: str) -> None:
    """P-X.21, C-22: the late success changes no status; it is an incident, or an entry that can be undone."""
    m = forked(late_success=late)
    running = m.asked("C")
    assert running is not None
    m.bad("D", "AGENT_ERROR", "permanent")
    m.do(C.done(running.no, running.attempt, body={"classes": 4}))
    assert m.incidents() == ["LATE_SUCCESS"] and m.running() == ["P.undo"]
    m.ok("P.undo")
    assert m.status == "COMPENSATED"
    assert steps(m) == [("P", "EXECUTED")] + ([("C", "open")] if late == "undo" else [])
    m.ended(golden, f"p_a_13_late_{late}")


# ---- pipeline --------------------------------------------------------------------------------------------------------


def in_group(size: int = 10, *, max_retries: int = 2, **more: Any) -> Told:
    m = Told(D.pipeline(max_retries, **more), {"size": size})
    m.now += 10
    m.ok("fetch", "bytes")
    assert m.running() == ["resize", "ocr"]
    return m


def test_a_pipeline_runs_its_group_two_at_a_time(golden: Golden) -> None:
    """F-X.15, F-S.3: the group is a barrier; every member gets what the stage before it made."""
    m = in_group()
    m.ok("ocr", "text")
    assert m.running() == ["resize", "checksum"] and "index.if" not in m.fired()
    m.ok("resize", "small")
    m.ok("checksum", "abc")
    assert [x.data["args"]["input"] for x in m.of("effect.asked")[1:4]] == ["bytes"] * 3
    records = m.of("effect.asked")[-1].data["args"]["input"]
    assert {k: r["output"] for k, r in records.items()} == {"resize": "small", "ocr": "text", "checksum": "abc"}
    m.ok("index", 1)
    m.ok("publish", 2)
    assert m.status == "COMPLETED" and m.st.retries == 0
    m.ended(golden, "pipeline")


def test_a_pipeline_goes_on_after_skip_and_continue(golden: Golden) -> None:
    """F-X.6b, F-A.9: skipped is skipped, continued is failed with the output before it, and the run completes."""
    m = in_group(size=5000)
    m.bad("resize", "NO_IMAGE", "validation")
    m.bad("checksum", "IO", "external")
    m.ok("ocr", "text")
    assert dict(m.settled())["resize"] == "skipped" and dict(m.settled())["checksum"] == "failed"
    records = m.of("effect.asked")[-1].data["args"]["input"]
    assert {k: r["status"] for k, r in records.items()} == dict.fromkeys(("resize", "ocr", "checksum"), "succeeded")
    assert records["checksum"]["output"] == "bytes"
    assert "index" not in m.fired() and next(x for x in m.of("settled") if x.node == "index.if").data["port"] == "skip"
    m.ok("publish")
    assert m.status == "COMPLETED" and m.st.failure is None
    m.ended(golden, "pipeline_skip_continue")


def test_a_pipeline_starts_again_at_the_first_stage(golden: Golden) -> None:
    """F-X.6, F-X.6b, F-A.7: publish fails with FAIL; two more attempts of the whole, then it is final."""
    m = in_group(size=5000)
    for attempt in (1, 2, 3):
        for node in ("resize", "ocr", "checksum"):
            m.ok(node, node)
        m.bad("publish", "S3_DOWN", "transient")
        m.tick()
        m.bad("publish", "S3_DOWN", "transient")
        if attempt < 3:
            assert m.status == "PENDING" and m.failure() == ("S3_DOWN", "transient")
            m.tick()
            m.ok("fetch", "bytes")
    assert m.status == "FAILED" and m.st.retries == 2
    assert [m.asks().count(n) for n in ("fetch", "ocr", "publish")] == [3, 3, 6]
    assert m.moves() == ["PENDING", "RUNNING"] * 2 + ["FAILED"]
    m.ended(golden, "pipeline_fail")


def test_a_pipeline_resumes_in_its_group(golden: Golden) -> None:
    """F-X.6b, F-A.7: ocr fails with RETRY; the next attempt runs ocr alone, with the key it had."""
    m = in_group(size=5000)
    m.ok("resize", "small")
    m.bad("ocr", "OCR_DOWN", "external")
    m.ok("checksum", "abc")
    assert m.status == "PENDING" and m.run.wake_at() == m.now + 60_000
    m.tick()
    assert m.running() == ["ocr"]
    m.ok("ocr", "text")
    m.ok("publish")
    assert m.status == "COMPLETED" and m.st.retries == 1
    assert [m.asks().count(n) for n in ("fetch", "resize", "checksum", "ocr")] == [1, 1, 1, 2]
    assert len({x.data["key"] for x in m.of("effect.asked") if x.node == "ocr"}) == 1
    m.ended(golden, "pipeline_retry")


def test_a_member_says_for_itself_how_its_group_is_tried_again(golden: Golden) -> None:
    """F-X.6b: resize fails with FAIL, so the next attempt begins at the first stage, though ocr would have resumed."""
    m = in_group(size=5000, resize={"on_final": "restart"})
    m.bad("resize", "NO_IMAGE", "validation")
    m.ok("ocr", "text")
    m.ok("checksum", "abc")
    assert m.status == "PENDING"
    m.tick()
    assert m.running() == ["fetch"]
    m.ended(golden, "pipeline_member_fails")


def test_a_failed_pipeline_is_resumed_by_hand(golden: Golden) -> None:
    """F-A.13: the same run, finished stages are not repeated, inside the group neither."""
    m = in_group(size=5000, max_retries=0)
    m.ok("resize", "small")
    m.bad("ocr", "OCR_DOWN", "external")
    m.ok("checksum", "abc")
    assert m.status == "FAILED" and m.failure() == ("OCR_DOWN", "external")
    with pytest.raises(StatusConflict):
        m.do(C.cancel("boundary"))
    m.do(C.retry("here"))
    assert m.status == "RUNNING" and m.running() == ["ocr"]
    m.ok("ocr", "text")
    m.bad("publish", "S3_DOWN", "permanent")
    assert m.status == "FAILED"
    m.do(C.retry("here"))
    m.ok("publish", "done")
    assert m.status == "COMPLETED" and [m.asks().count(n) for n in ("fetch", "ocr", "publish")] == [1, 2, 2]
    with pytest.raises(StatusConflict):
        m.do(C.retry("here"))
    m.ended(golden, "pipeline_resume")


def test_a_pipeline_is_cancelled_at_the_boundary(golden: Golden) -> None:
    """F-A.10, F-S.4: what runs may finish, nothing new starts, hooks run in reverse and cannot prevent the end."""
    m = in_group()
    m.do(C.cancel("boundary"))
    assert m.status == "RUNNING" and m.running() == ["resize", "ocr"]
    assert m.do(C.cancel("boundary"))[0].fact == "ignored"
    m.ok("resize", "small")
    m.ok("ocr", "text")
    assert "checksum" not in m.fired() and m.running() == ["resize.undo"]
    m.bad("resize.undo", "IO", "external")
    m.ok("fetch.undo")
    assert m.status == "CANCELLED" and undone(m) == ["resize.undo", "fetch.undo"]
    m.ended(golden, "pipeline_cancel")


# ---- plan ------------------------------------------------------------------------------------------------------------

TASKS = {"design": [], "build": ["design"], "docs": ["build?"], "lint": [], "ship": ["build", "docs"]}


def give_up(m: Told, task: str) -> None:
    for _ in range(3):
        m.bad(task, "EXIT_1", "external")
        m.tick()
    m.bad(task, "EXIT_1", "external")


def test_a_plan_runs_what_is_resolved(golden: Golden) -> None:
    """T-7.1.5, T-7.2.1, T-X.28: two at a time; a priority goes before the order of creation; then what depends."""
    m = Told(D.plan(TASKS, priority={"lint": 1}))
    assert m.running() == ["lint", "design"]
    m.ok("lint")
    m.ok("design")
    assert m.running() == ["build"]
    m.ok("build")
    m.ok("docs")
    m.ok("ship")
    assert m.status == "COMPLETED" and m.asks() == ["lint", "design", "build", "docs", "ship"]
    m.ended(golden, "plan")


def test_t_7_2_1_three_of_five_ready_tasks_run_and_the_next_one_when_one_of_them_ends() -> None:
    """T-7.2.1: `maxConcurrent` is 3 in the seed; who runs is known, and nobody is started beyond it."""
    m = Told(D.plan({task: [] for task in "abcde"}, most=3))
    running = [m.running()]
    for task in "bdcae":
        m.ok(task)
        running.append(m.running())
    assert [set(tasks) for tasks in running] == [set(tasks) for tasks in ("abc", "acd", "ace", "ae", "e", "")]
    assert m.status == "COMPLETED"


def test_a_plan_goes_on_over_an_optional_dependency_and_then_is_blocked(golden: Golden) -> None:
    """T-X.29, T-X.27: docs only likes build, ship needs it; when nothing else can run the plan pauses and says why."""
    m = Told(D.plan(TASKS))
    m.ok("design")
    give_up(m, "build")
    assert m.asked("docs") and m.asked("lint") and m.status == "RUNNING"
    m.ok("docs")
    m.ok("lint")
    assert m.st.paused and m.incidents() == ["DEADLOCK"]
    (incident,) = m.of("incident")
    assert incident.node == "ship"
    assert incident.data["detail"] == [{"node": "ship", "held": ["start>ship", "docs>ship"], "missing": ["build>ship"]}]
    assert m.asks().count("build") == 4
    m.do(C.resume())
    assert m.st.paused and m.incidents() == ["DEADLOCK"] * 2
    m.do(C.cancel())
    assert m.status == "CANCELLED"
    m.ended(golden, "plan_blocked")


def test_a_plan_completes_when_only_likes_were_lost(golden: Golden) -> None:
    """T-X.27, T-X.29: a failed task that nobody needs does not keep the plan from its end."""
    m = Told(D.plan({"a": [], "b": ["a?"]}))
    give_up(m, "a")
    m.ok("b")
    assert m.status == "COMPLETED" and dict(m.settled())["a"] == "failed"
    m.ended(golden, "plan_optional")


def test_a_plan_whose_first_task_fails_is_blocked_and_not_at_its_end(golden: Golden) -> None:
    """T-X.27."""
    m = Told(D.plan({"a": [], "b": ["a"]}))
    give_up(m, "a")
    assert m.st.paused and m.of("incident")[0].data["detail"][0]["missing"] == ["a>b"]
    m.ended(golden, "plan_first_fails")


def test_a_cancelled_task_blocks_who_needs_it_and_frees_who_likes_it(golden: Golden) -> None:
    """T-X.29, T-1.2.3."""
    m = Told(D.plan(TASKS))
    m.ok("design")
    m.do(C.cancel_firing(m.firing("build").no))
    m.ok("lint")
    m.ok("docs")
    assert m.st.paused and dict(m.settled())["build"] == "interrupted" and "ship" not in m.fired()
    m.ended(golden, "plan_cancelled_task")


def test_a_crashed_agent_and_a_task_completed_by_hand(golden: Golden) -> None:
    """T-1.3.6, T-X.30: a lost worker is one retry; an operator gives a running task its result."""
    m = Told(D.plan(TASKS))
    m.bad("design", "WORKER_LOST", "transient")
    m.tick()
    assert set(m.running()) == {"design", "lint"}
    m.do(C.resolve(m.firing("design").no, "by hand"))
    assert m.asked("build")
    m.ok("build")
    m.ok("lint")
    m.ok("docs")
    m.ok("ship")
    assert m.status == "COMPLETED"
    with pytest.raises(StatusConflict):
        m.do(C.resume())
    m.ended(golden, "plan_by_hand")


def test_a_blocked_plan_goes_on_when_the_failed_task_is_retried(golden: Golden) -> None:
    """T-X.1, T-X.29: the same firing again; who only liked it has gone on and does not start twice."""
    m = Told(D.plan(TASKS))
    m.ok("design")
    failed = m.firing("build").no
    give_up(m, "build")
    m.ok("docs")
    m.ok("lint")
    assert m.st.paused
    m.do(C.retry("here", failed))
    assert m.running() == ["build"] and m.of("effect.asked")[-1].data["attempt"] == 5
    m.do(C.resume())
    m.ok("build")
    m.ok("ship")
    assert m.status == "COMPLETED" and m.asks().count("docs") == 1
    assert len({x.data["key"] for x in m.of("effect.asked") if x.node == "build"}) == 1
    m.ended(golden, "plan_retry")


def test_a_pending_task_is_completed_or_cancelled_by_hand(golden: Golden) -> None:
    """T-X.30, T-1.2.4, T-X.29: it takes what lies before it; what comes later does not wake it again."""
    m = Told(D.plan(TASKS))
    m.do(C.resolve("build", "by hand"))
    assert "build" in m.fired() and "build" not in m.asks()
    m.do(C.cancel_firing("docs"))
    m.ok("design")
    m.ok("lint")
    assert m.st.paused and dict(m.settled())["docs"] == "interrupted"
    m.do(C.resolve("ship", "by hand"))
    m.do(C.resume())
    assert m.status == "COMPLETED" and m.fired().count("build") == 1
    m.ended(golden, "plan_pending_by_hand")
