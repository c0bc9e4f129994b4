"""The acceptance scenarios of processes, black-box over HTTP on either store (P-A)."""

from __future__ import annotations

from typing import Any

from tests.conformance.process.http.world import Case, World
from tests.conformance.process.make import gateway, process, service, task

AB = process([task("A"), task("B")], ["A>B"])
ISSUE = process(
    [
        task("receive", name="데이터 등록서 접수"),
        gateway("g", name="이슈 있는가?", conditions={"yes": "has_issue == true", "no": "has_issue == false"}),
        task("solve", name="이슈 처리"), task("go_on", name="다음 단계"),
    ],
    [("receive>g", {}), ("g>solve", {"id": "yes"}), ("g>go_on", {"id": "no"})],
)  # fmt: skip
FORK = process(
    [task("S"), gateway("f", "parallel"), task("A"), task("B"), task("C"), gateway("j", "parallel"), task("D")],
    ["S>f", "f>A", "f>B", "f>C", "A>j", "B>j", "C>j", "j>D"],
)


def test_two_tasks_one_after_the_other(office: World) -> None:
    """P-2.3.4, P-A.1, P-3.2.1, P-3.2.2, P-3.2.3, P-3.2.10, P-E.1: define, begin, submit twice; first it is TODO."""
    case = office.begun(AB)
    assert case.states() == {"A": "TODO"}
    assert case.submits("A")["next_nodes"] == ["B"]
    assert case.submits("B")["next_nodes"] == []
    look = case.look()
    assert (look["status"], look["initiator_id"], look["proc_def_version"]) == ("COMPLETED", "lee", 1)
    started = [one for one in case.events() if one["event"] == "PROCESS_STARTED"]
    assert [one["payload"] for one in started] == [{"proc_inst_id": case.id, "proc_def_id": case.definition}]


def test_what_is_done_is_not_submitted_again(office: World) -> None:
    """P-A.2, P-3.2.4, P-X.1: 409 with the seed's own words, and nothing changes."""
    case = office.begun(AB)
    case.submits("A")
    before = case.look()
    told = case.submits("A", status=409)
    assert (told["code"], told["detail"]) == ("PROC-409-STATE", "Cannot submit workitem in DONE status")
    assert case.look() == before


def test_an_exclusive_gateway_takes_one_way(office: World) -> None:
    """P-A.3, P-3.2.12, P-X.9: only the branch whose condition holds."""
    case = office.begun(ISSUE)
    assert case.submits("receive", {"has_issue": True})["next_nodes"] == ["solve"]
    assert case.states() == {"receive": "DONE", "solve": "TODO"}
    assert case.item("solve")["activity_name"] == "이슈 처리"


def test_no_way_leads_on(office: World) -> None:
    """P-A.4, P-X.11: 422 PROC-422-BRANCH; the item is still IN_PROGRESS and nothing was written."""
    case = office.begun(ISSUE)
    case.does("receive", "start")
    before = case.look()
    told = case.submits("receive", {}, status=422)
    assert told["code"] == "PROC-422-BRANCH"
    assert case.look() == before
    assert (before["status"], case.states()) == ("RUNNING", {"receive": "IN_PROGRESS"})
    assert case.submits("receive", {"has_issue": False})["next_nodes"] == ["go_on"]


def test_a_join_waits_for_every_branch(office: World) -> None:
    """P-A.5, P-3.4.1, P-3.4.4, P-3.4.5: A, then C: no D; after B exactly one D."""
    case = office.begun(FORK)
    assert case.submits("S")["next_nodes"] == ["A", "B", "C"]
    groups = {(one["parallel_group_id"], one["branch_index"]) for one in case.items() if one["activity_id"] in "ABC"}
    assert groups == {("f", 0), ("f", 1), ("f", 2)}
    assert case.submits("A")["next_nodes"] == [] and case.submits("C")["next_nodes"] == []
    assert case.look()["status"] == "RUNNING" and not case.items("D")
    assert case.submits("B")["next_nodes"] == ["D"]
    assert len(case.items("D")) == 1
    case.submits("D")
    assert case.look()["status"] == "COMPLETED"


def test_an_inclusive_gateway_takes_every_true_way(office: World) -> None:
    """P-A.7, P-X.10: two of three conditions hold: two items, and the join waits for those two."""
    conditions = {"a": "x > 1", "b": "x > 2", "c": "x > 30"}
    case = office.begun(
        process(
            [
                task("S"), gateway("g", "inclusive", conditions=conditions), task("A"), task("B"), task("C"),
                gateway("j", "inclusive"), task("D"),
            ],
            ["S>g", ("g>A", {"id": "a"}), ("g>B", {"id": "b"}), ("g>C", {"id": "c"}), "A>j", "B>j", "C>j", "j>D"],
        )
    )  # fmt: skip
    assert case.submits("S", {"x": 5})["next_nodes"] == ["A", "B"]
    assert case.submits("A")["next_nodes"] == []
    assert case.submits("B")["next_nodes"] == ["D"]


def _drafted(office: World) -> Case:
    agent = office.echo("drafts", result={"grade": "A"})
    case = office.begun(process([service("draft", "SUPERVISED", agent=agent), task("next")], ["draft>next"]))
    case.until(draft="SUBMITTED")
    return case


def test_a_draft_waits_for_its_approval(office: World) -> None:
    """P-A.8, P-4.1.3, P-4.2.2, P-4.3.7, P-X.14: TODO, IN_PROGRESS, SUBMITTED with a draft; then DONE, and next."""
    case = _drafted(office)
    item = case.item("draft")
    assert (item["draft"], item["result"], item["assignee"]) == ({"grade": "A"}, None, "drafts")
    assert case.history("draft") == ["TODO", "IN_PROGRESS", "SUBMITTED"] and not case.items("next")
    told = case.submits("draft", status=409)
    assert told["detail"] == "Cannot submit workitem in SUBMITTED status"
    told = case.does("draft", "approve", {"approver_id": "manager@example.com", "result_overrides": {"note": "ok"}})
    assert (told["next_nodes"], told["status"]) == (["next"], "DONE")
    assert case.item("draft")["result"] == {"grade": "A", "note": "ok"}
    assert case.states() == {"draft": "DONE", "next": "TODO"}


def test_a_draft_is_sent_back(office: World) -> None:
    """P-A.9, P-4.1.6, P-4.1.7: REWORK, then TODO, and the comment stays readable."""
    case = _drafted(office)
    case.does("draft", "reject", {"comment": "다시 보세요"})
    case.until(draft="SUBMITTED")
    assert case.history("draft") == [
        "TODO", "IN_PROGRESS", "SUBMITTED", "REWORK", "TODO", "IN_PROGRESS", "SUBMITTED",
    ]  # fmt: skip
    told = [one["comment"] for one in case.look()["history"] if one["to"] == "REWORK"]
    assert told == ["다시 보세요"]


def test_an_agent_does_it_alone(office: World) -> None:
    """P-A.10, P-4.2.1, P-4.3.6: DONE with no human call."""
    agent = office.agent("adds", {"sum": 7})
    case = office.begun(process([service("add", agent=agent, instruction="Add.")], []), {"a": 3, "b": 4})
    look = case.until(status="COMPLETED")
    (item,) = look["workitems"]
    assert (item["status"], item["result"], item["agent_mode"]) == ("DONE", {"sum": 7}, "AUTONOMOUS")
    ((_, said),) = office.calls("adds")
    assert (said["instruction"], said["input_data"]) == ("Add.", {"a": 3, "b": 4})
    assert look["variables"]["sum"] == 7


def _chain(office: World, undo_b: Any = None) -> Case:
    """A and B can be undone; the agent of C fails."""
    for name, says in (("undo_a", None), ("undo_b", undo_b)):
        office.tool(name, says)
    makes_a, makes_b = office.agent("makes_a", {"id": "a-1"}), office.agent("makes_b", {"id": "b-1"})
    breaks = office.agent("breaks", ValueError("no room"))
    office.asked.clear()
    return office.begun(
        process(
            [
                service("A", agent=makes_a, compensation="undo_a"), service("B", agent=makes_b, compensation="undo_b"),
                service("C", agent=breaks),
            ],
            ["A>B", "B>C"],
        )
    )  # fmt: skip


def test_a_failure_is_undone_in_reverse(office: World) -> None:
    """P-A.11, P-5.2.2, P-5.3.4, P-5.3.5, P-5.3.8, P-E.2, P-X.16: undo_b, undo_a, with what B and A had made."""
    case = _chain(office)
    look = case.until(status="TERMINATED")
    assert office.calls("undo_a", "undo_b") == [("undo_b", {"id": "b-1"}), ("undo_a", {"id": "a-1"})]
    assert case.states() == {"A": "COMPENSATED", "B": "COMPENSATED", "C": "CANCELLED"}
    failed = case.item("C")
    assert failed["cancel_reason"] == "execution failed" and failed["error"]
    assert (look["compensation_status"], look["failed_activity_id"]) == ("COMPLETE", "C")
    (told,) = [one["payload"] for one in case.events() if one["event"] == "SAGA_COMPENSATION_COMPLETED"]
    assert set(told) == {"proc_inst_id", "failed_activity", "failure_reason", "compensation_results"}
    assert (told["failed_activity"], told["failure_reason"]) == ("C", look["failure_reason"])
    assert told["compensation_results"] == [
        {"step": "B", "status": "EXECUTED"}, {"step": "A", "status": "EXECUTED"},
    ]  # fmt: skip


def test_a_step_that_cannot_be_undone_does_not_stop_the_others(office: World) -> None:
    """P-A.12, P-5.3.6, P-5.3.7, P-X.20, P-X.36: B FAILED with its error and told of, A still undone; resumed later."""
    case = _chain(office, {"ok": False, "error": "locked"})
    look = case.until(status="TERMINATED")
    assert [name for name, _ in office.calls("undo_a", "undo_b")] == ["undo_b", "undo_a"]
    steps = {one["activity_id"]: one for one in look["compensation"]["steps"]}
    assert (steps["B"]["status"], steps["A"]["status"]) == ("FAILED", "EXECUTED") and steps["B"]["error"]
    assert look["compensation_status"] == "PARTIAL"
    assert case.states() == {"A": "COMPENSATED", "B": "DONE", "C": "CANCELLED"}
    names = [one["event"] for one in case.events()]
    assert names.count("COMPENSATION_STEP_FAILED") == 1 and names[-1] == "PROCESS_TERMINATED"
    office.tool("undo_b")
    again = office.operator.post(f"/processes/instances/{case.id}:compensate")
    assert again.status_code == 202, again.text
    look = case.until(status="TERMINATED", B="COMPENSATED")
    assert look["compensation_status"] == "COMPLETE"
    assert [name for name, _ in office.calls("undo_a")] == ["undo_a"], "what is undone is not undone again"
