"""APPROVAL on the kernel: who decides, when, and what follows."""

from __future__ import annotations

from typing import Any

import pytest

from penstock.errors import Refused, StatusConflict
from penstock.kernel import command as C
from tests.conformance.decision.make import DAY, HOUR, Play, act, approval, node, rules, undo


def played(*ways: Any, more: Any = (), targets: Any = ("qa",), top: Any = None, **fields: Any) -> Play:
    nodes = [approval("ask", *targets, **fields), act("after", message="${approval_result.status}"), *more]
    return Play(nodes, "ask>after", *ways, **(top or {}))


def test_approved() -> None:
    """W-4.6.2: RUNNING to WAITING when asked, back when decided; the output has who and when."""
    m = played()
    assert m.moves() == ["WAITING"] and m.st.items[m.item("ask")].status == "TODO"
    m.now = 5
    m.vote("ask", "kim", comment="fine")
    assert m.moves() == ["WAITING", "RUNNING"] and m.args("after")["message"] == "approved"
    result = m.vars()["approval_result"]
    assert (
        result["approver"] == "kim"
        and result["comment"] == "fine"
        and result["approved_at"] == "1970-01-01T00:00:00.005Z"
    )
    assert not result["timed_out"] and result["escalation_level"] == 0 and result["request_id"] == "r1/ask@~0#1"


def test_rejected_cancels_the_run() -> None:
    """W-4.6.2, C-40, W-11.3.4: nobody takes it, so the run is cancelled and says why."""
    m = played()
    m.vote("ask", vote="rejected")
    assert m.status == "CANCELLED" and m.failure()[0] == "REJECTED" and m.asks() == []


def test_rejected_with_something_to_undo() -> None:
    """C-41: rejection with an applicable compensation is COMPENSATED."""
    m = Play([act("a"), approval("ask"), undo("u", "a")], "a>ask")
    m.ok("a")
    m.vote("ask", vote="rejected")
    assert m.asks() == ["u"]
    m.ok("u")
    assert m.status == "COMPENSATED" and m.failure()[0] == "REJECTED"


def test_an_edge_takes_the_rejection() -> None:
    """C-40, C-39: the unlabelled edge needs approval."""
    ways = [("ask>no", {"when": "rejected"}), ("ask>yes", {"when": "approved"})]
    for vote, asks in (("rejected", ["no"]), ("approved", ["after", "yes"])):
        m = played(*ways, more=[act("no"), act("yes")])
        m.vote("ask", vote=vote)
        assert sorted(m.asks()) == asks and m.vars()["approval_result"]["status"] == vote


def test_on_reject_continue() -> None:
    """C-40: it goes on; where an edge takes the rejection only that."""
    m = played(on_reject="continue")
    m.vote("ask", vote="rejected")
    assert m.args("after")["message"] == "rejected"
    m = played(("ask>no", {"when": "rejected"}), more=[act("no")], on_reject="continue")
    m.vote("ask", vote="rejected")
    assert m.asks() == ["no"]
    m = Play([approval("ask", on_reject="continue")])
    m.vote("ask", vote="rejected")
    assert m.status == "COMPLETED"


def test_always_takes_every_outcome() -> None:
    """C-39."""
    for vote in ("approved", "rejected"):
        m = Play([approval("ask"), act("log")], ("ask>log", {"when": "always"}))
        m.vote("ask", vote=vote)
        assert m.asks() == ["log"]


@pytest.mark.parametrize("type", ["user", "role", "group", "any_of"])
def test_min_approvals_distinct_people(type: str) -> None:
    """W-4.6.4, C-32: so many distinct people; the first rejection decides."""
    m = played(type=type, targets=("role:a", "role:b"), who={"min_approvals": 2})
    m.vote("ask", "kim")
    with pytest.raises(Refused, match="kim has voted"):
        m.vote("ask", "kim")
    assert m.status == "WAITING"
    m.vote("ask", "lee")
    assert m.asks() == ["after"] and [one["user"] for one in m.vars()["approval_result"]["approvals"]] == ["kim", "lee"]
    m = played(type=type, who={"min_approvals": 2})
    m.vote("ask", "kim")
    m.vote("ask", "lee", "rejected")
    assert m.status == "CANCELLED"


def test_all_of_needs_every_target() -> None:
    """C-32, W-11.3.8: each target by another person; min_approvals counts only when it is larger."""
    targets = ("role:quality_manager", "role:it_manager")
    m = played(type="all_of", targets=targets, who={"min_approvals": 1})
    m.vote("ask", "kim", target="role:quality_manager")
    assert m.status == "WAITING"
    m.vote("ask", "lee", target="role:quality_manager")
    assert m.status == "WAITING"
    m.vote("ask", "park", target="role:it_manager")
    assert m.asks() == ["after"]
    m = played(type="all_of", targets=targets, who={"min_approvals": 3})
    m.vote("ask", "kim", target="role:quality_manager")
    m.vote("ask", "park", target="role:it_manager")
    assert m.status == "WAITING"
    m.vote("ask", "choi", target="role:it_manager")
    assert m.asks() == ["after"]


@pytest.mark.parametrize(
    ("type", "given", "target"),
    [
        ("role", "quality_manager", "role:quality_manager"),
        ("user", "kim", "user:kim"),
        ("group", "g", "group:g"),
        ("any_of", "role:x", "role:x"),
        ("any_of", "kim@company.com", "user:kim@company.com"),
        ("all_of", "x", "role:x"),
        ("role", "user:admin@company.com", "user:admin@company.com"),
    ],
)
def test_who_is_meant(type: str, given: str, target: str) -> None:
    """C-32, W-11.1.9: prefixes are optional where the type says it; an @ is a user, else a role."""
    work = node(played(type=type, targets=(given,)).net.net, "ask").work
    assert work is not None and work.candidates == {"type": type, "targets": [target], "allow_self_approval": True}


def test_what_those_who_decide_are_shown() -> None:
    """W-4.0.6: title, description, priority and data are templates."""
    ask = {"title": "T ${input.n}", "description": "D", "priority": "${input.p}", "data": {"x": "${input.n}"}}
    m = Play([approval("ask", ask=ask)], input={"n": 3, "p": "high"})
    prompt = m.of("work.opened")[-1].data["prompt"]
    assert prompt == {"kind": "approval", "title": "T 3", "description": "D", "priority": "high", "data": {"x": 3}}
    m = Play([approval("ask", "role:${input.n}", type="any_of")], input={"n": "x"})
    assert m.st.items[m.item("ask")].candidates["targets"] == ["role:x"]


@pytest.mark.parametrize(
    "timeout", [None, {}, {"on_timeout": "reject"}, {"duration_hours": 24, "on_timeout": "reject"}]
)
def test_time_is_over_and_it_is_rejected(timeout: Any) -> None:
    """W-4.6.6: 24 hours and reject are the default; TIMEOUT goes to REJECTED."""
    m = played(**({"timeout": timeout} if timeout is not None else {}))
    m.tick(DAY - 1)
    assert m.status == "WAITING"
    m.tick(DAY)
    assert m.status == "CANCELLED" and m.failure()[0] == "REJECTED"


def test_a_timeout_that_rejects_has_an_output() -> None:
    """W-4.6.7."""
    m = played(("ask>no", {"when": "rejected"}), more=[act("no")], timeout={"duration_minutes": 30})
    m.tick(30 * 60_000)
    result = m.vars()["approval_result"]
    assert (
        m.asks() == ["no"]
        and result["status"] == "rejected"
        and result["timed_out"]
        and result["request_id"] == "r1/ask@~0#1"
    )


def test_time_is_over_and_it_is_approved() -> None:
    """W-4.6.1: TIMEOUT goes to APPROVED with auto_approve."""
    m = played(timeout={"duration_hours": 2, "on_timeout": "auto_approve"})
    m.tick(2 * HOUR)
    assert m.asks() == ["after"] and m.vars()["approval_result"]["status"] == "approved"
    assert m.vars()["approval_result"]["approved_at"] == "1970-01-01T02:00:00.000Z"


def escalating(to: Any = None, **more: Any) -> Play:
    timeout = {"duration_hours": 2, "on_timeout": "escalate", **({"escalate_to": to} if to else {})}
    return played(timeout=timeout, **more)


def who(m: Play) -> Any:
    return m.st.items[m.item("ask")].candidates["targets"]


def test_escalation_goes_to_others_three_times() -> None:
    """W-4.6.1, C-34, W-11.1.9: full time each; then APPROVAL_TIMEOUT; the run waits meanwhile."""
    m = escalating(["user:boss", "chief"])
    for level in (1, 2, 3):
        m.tick(level * 2 * HOUR)
        assert (
            m.status == "WAITING" and m.st.items[m.item("ask")].level == level and who(m) == ["user:boss", "role:chief"]
        )
    m.tick(8 * HOUR)
    assert m.status == "FAILED" and m.failure()[:2] == ("APPROVAL_TIMEOUT", "timeout")
    m = escalating()
    m.tick(2 * HOUR)
    m.vote("ask", "boss")
    assert m.asks() == ["after"] and m.vars()["approval_result"]["escalation_level"] == 1


def test_whom_an_escalation_asks() -> None:
    """C-34: what the node says, else what the tenant has set, else the role admin."""
    m = escalating()
    m.tick(2 * HOUR)
    assert who(m) == ["role:admin"] and "tenant_config" in m.net.net.declares.carries
    config = {"approval": {"escalation_targets": ["role:boss"]}}
    m = Play([approval("ask", timeout={"duration_hours": 2, "on_timeout": "escalate"})],
             start={"options": {"tenant_config": config}})  # fmt: skip
    m.tick(2 * HOUR)
    assert who(m) == ["role:boss"]
    for empty in ([], None, ""):
        m = Play([approval("ask", timeout={"duration_hours": 2, "on_timeout": "escalate"})],
                 start={"options": {"tenant_config": {"approval": {"escalation_targets": empty}}}})  # fmt: skip
        m.tick(2 * HOUR)
        assert who(m) == ["role:admin"]  # a list that is empty does not mean everybody


def test_an_edge_takes_the_last_timeout() -> None:
    """C-34, C-39: the output's status is timeout then."""
    m = played(
        ("ask>late", {"when": "timeout"}), more=[act("late", message="${approval_result.status}")],
        timeout={"duration_hours": 2, "on_timeout": "escalate"},
    )  # fmt: skip
    for level in range(1, 5):
        m.tick(level * 2 * HOUR)
    assert m.args("late")["message"] == "timeout" and m.vars()["approval_result"]["timed_out"]


def test_a_last_timeout_that_fails_has_an_output() -> None:
    """C-34, C-39, W-4.6.7: the status is timeout, for whoever handles the failure and for what is undone."""
    timeout = {"duration_hours": 2, "on_timeout": "escalate"}
    handler = act("handler", message="${approval_result.status} ${ask.status} ${ask.output.escalation_level}")
    m = played(("ask>handler", {"when": "failed"}), more=[handler], timeout=timeout, who={"min_approvals": 2})
    for level in range(1, 4):
        m.tick(level * 2 * HOUR)
    m.vote("ask", "kim")
    m.crash()
    m.tick(8 * HOUR)
    m.crash()
    assert m.args("handler")["message"] == "timeout failed 3"
    result = m.vars()["approval_result"]
    assert result["timed_out"] and result["approver"] is None
    assert [one["user"] for one in result["approvals"]] == ["kim"]
    actions = [{"type": "api", "endpoint": "/undo", "body": {"why": "${approval_result.status}"}}]
    m = Play([act("a"), approval("ask", timeout=timeout), undo("u", "a", actions=actions)], "a>ask")
    m.ok("a")
    for level in range(1, 5):
        m.tick(level * 2 * HOUR)
    assert m.args("u")["body"] == {"why": "timeout"}


def told(m: Play) -> list[tuple[int, Any]]:
    """When people were told, and of what."""
    return [(at, said["template"]["params"]["event"]) for at, said in m.told("ask")]


def test_reminders() -> None:
    """W-4.6.3, C-33: hours since the request, each once; what is not before the end is left out; anew after others."""
    timeout = {"duration_hours": 12, "reminder_intervals": [1, 6, 12], "on_timeout": "escalate"}
    m = played(timeout=timeout, notification={"channels": ["slack"]})
    m.tick(0)
    for hours in (1, 6, 12, 13, 18):
        m.all_ok()
        m.tick(hours * HOUR)
    m.all_ok()
    assert [(at // HOUR, event) for at, event in told(m)] == [
        (0, "requested"), (1, "reminder"), (6, "reminder"), (12, "requested"), (13, "reminder"), (18, "reminder"),
    ]  # fmt: skip


def test_people_are_told_and_nothing_waits_for_that() -> None:
    """W-4.6.6, W-4.14.1: template and channels of the node; the approval waits, and nothing is at work."""
    m = played(notification={"channels": ["email", "slack"], "template": "approval_request_v1"})
    ((_, said),) = m.told("ask")
    assert said["channels"] == ["email", "slack"] and said["template"]["id"] == "approval_request_v1"
    params = said["template"]["params"]
    assert (params["title"], params["approvers"], params["event"]) == ("ask", ["role:qa"], "requested")
    assert m.status == "WAITING" and m.asks() == []
    m.vote("ask")
    assert m.asks() == ["after"]


def test_without_channels_the_tenant_s_are_used() -> None:
    """W-4.6.6: the net leaves them open; whoever delivers the message asks the tenant."""
    ask = {k: v for k, v in approval("ask").items() if k != "notification"}
    ((_, said),) = Play([ask]).told("ask")
    assert said["channels"] is None and said["template"]["id"] == "approval_request_v1"


def test_a_decision_about_nothing_is_refused() -> None:
    """W-4.6.5: decided is decided."""
    m = played()
    item = m.item("ask")
    m.vote("ask")
    with pytest.raises(StatusConflict):
        m.do(C.work(item, "vote", "lee", {"vote": "approved"}))


def test_a_guard() -> None:
    """W-4.0.2: nobody is asked."""
    m = played(condition="false")
    assert m.asks() == ["after"] and m.states()["ask"] == "skipped"


def test_nobody_may_decide() -> None:
    """C-69: targets must be there, and have somebody."""
    ask = {"id": "a", "type": "APPROVAL", "request": {"approvers": {"type": "role", "targets": []}}}
    assert rules([ask]) == [("error", "missing_field", "/nodes/0/request/approvers")]


def test_an_output_of_its_own() -> None:
    """W-4.0.3: output.expression on an approval."""
    output = {"variable": "ok", "expression": "output.status == 'approved'"}
    m = Play([approval("ask", output=output), act("after")], "ask>after")
    m.vote("ask.do")
    assert m.vars()["ok"] is True
