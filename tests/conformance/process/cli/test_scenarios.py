"""The acceptance scenarios of processes from the command line on either store (P-A): typed, printed, exit code."""

from __future__ import annotations

from typing import Any

from tests.conformance.process.cli.desk import DONE, FAILED, KIM, LEE, WAITS, Desk, Desked
from tests.conformance.process.http.test_scenarios import AB, FORK, ISSUE
from tests.conformance.process.make import event, gateway, process, service, task


def test_two_tasks_one_after_the_other(office: Desk) -> None:
    """P-A.1, P-3.2.1, P-3.2.3, P-3.2.10, P-E.1: define, start, submit twice; 4 while it waits, 0 when it is done."""
    case = office.begins(AB)
    assert case.states() == {"A": "TODO"}
    assert case.hands_in("A") == ["B"]
    assert case.hands_in("B", code=DONE) == []
    look = case.look()
    assert (look["status"], look["initiator_id"], look["proc_def_version"]) == ("COMPLETED", LEE, 1)
    assert [one["payload"] for one in case.told("PROCESS_STARTED")] == [
        {"proc_inst_id": case.id, "proc_def_id": case.definition}
    ]
    shown = office.says("process", "instance", case.id, "--history")
    assert f"instance {case.id}  COMPLETED" in shown and f"of {case.definition} v1" in shown
    assert f"{case.id}~2 DONE        MANUAL     A  {KIM}" in shown and shown.count("submit") == 2


def test_a_process_with_several_starts(office: Desk) -> None:
    """P-X.25, P-3.2.1: by hand one says in which way it begins; without a word it is the first."""
    starts = [event("S", "start"), event("R", "start"), task("A"), task("B")]
    id = office.defined(process(starts, ["S>A", "R>B"]))
    assert office.begins(id).states() == {"A": "TODO"}
    assert office.begins(id, "--start-event", "R").states() == {"B": "TODO"}
    told = office.wrong("process", "start", id, "--start-event", "X")
    assert told["code"] == "PROC-400-SCHEMA" and "S, R" in told["message"]


def test_what_is_done_is_not_submitted_again(office: Desk) -> None:
    """P-A.2, P-3.2.4, P-X.1: exit code 2 with the seed's own words, and nothing changes."""
    case = office.begins(AB)
    case.hands_in("A")
    before = case.look()
    told = case.refuses("A", "submit")
    assert (told["code"], told["message"]) == ("PROC-409-STATE", "Cannot submit workitem in DONE status")
    assert case.look() == before
    said = office.says("items", "submit", f"{case.id}/A", "--by", KIM, code=2)
    assert "error PROC-409-STATE  Cannot submit workitem in DONE status" in said


def test_an_exclusive_gateway_takes_one_way(office: Desk) -> None:
    """P-A.3, P-3.2.12, P-X.9: only the branch whose condition holds."""
    case = office.begins(ISSUE)
    assert case.hands_in("receive", {"has_issue": True}) == ["solve"]
    assert case.states() == {"receive": "DONE", "solve": "TODO"}
    assert "이슈 처리" in office.says("items", "ls", "--run", case.id)


def test_no_way_leads_on(office: Desk) -> None:
    """P-A.4, P-X.11: exit code 2 and PROC-422-BRANCH; the item is still IN_PROGRESS and nothing was written."""
    case = office.begins(ISSUE)
    case.verb("receive", "start")
    before = case.look()
    assert case.refuses("receive", "submit", "--result", "{}")["code"] == "PROC-422-BRANCH"
    told = office.wrong("respond", case.id, "receive", "{}", "--by", KIM)
    assert told["code"] == "PROC-422-BRANCH", "the same from the general command"
    assert case.look() == before
    assert (before["status"], case.states()) == ("RUNNING", {"receive": "IN_PROGRESS"})
    assert case.hands_in("receive", {"has_issue": False}) == ["go_on"]


def test_a_join_waits_for_every_branch(office: Desk) -> None:
    """P-A.5, P-3.4.1, P-3.4.4, P-3.4.5: A, then C: no D; after B exactly one D."""
    case = office.begins(FORK)
    assert case.hands_in("S") == ["A", "B", "C"]
    assert case.hands_in("A") == [] and case.hands_in("C") == []
    assert case.look()["status"] == "RUNNING" and not case.items("D")
    assert case.hands_in("B") == ["D"]
    assert len(case.items("D")) == 1
    case.hands_in("D", code=DONE)
    assert case.look()["status"] == "COMPLETED"


def test_an_inclusive_gateway_takes_every_true_way(office: Desk) -> None:
    """P-A.7, P-X.10: two of three conditions hold: two items, and the join waits for those two."""
    conditions = {"a": "x > 1", "b": "x > 2", "c": "x > 30"}
    case = office.begins(
        process(
            [
                task("S"), gateway("g", "inclusive", conditions=conditions), task("A"), task("B"), task("C"),
                gateway("j", "inclusive"), task("D"),
            ],
            ["S>g", ("g>A", {"id": "a"}), ("g>B", {"id": "b"}), ("g>C", {"id": "c"}), "A>j", "B>j", "C>j", "j>D"],
        )
    )  # fmt: skip
    assert case.hands_in("S", {"x": 5}) == ["A", "B"]
    assert case.hands_in("A") == []
    assert case.hands_in("B") == ["D"]


def _drafted(office: Desk) -> Desked:
    agent = office.echo("drafts", result={"grade": "A"})
    return office.begins(process([service("draft", "SUPERVISED", agent=agent), task("next")], ["draft>next"]))


def test_a_draft_waits_for_its_approval(office: Desk) -> None:
    """P-A.8, P-4.1.3, P-4.2.2, P-4.3.7, P-X.14: TODO, IN_PROGRESS, SUBMITTED with a draft; then DONE, and next."""
    case = _drafted(office)
    item = office("items", "show", f"{case.id}/draft")
    assert (item["draft"], item["result"], item["assignee"]) == ({"grade": "A"}, None, "drafts")
    assert [one["to"] for one in item["history"]] == ["TODO", "IN_PROGRESS", "SUBMITTED"] and not case.items("next")
    assert '{"grade":"A"}' in office.says("items", "show", f"{case.id}/draft")
    assert case.refuses("draft", "submit")["message"] == "Cannot submit workitem in SUBMITTED status"
    assert case.refuses("draft", "approve", by="drafts")["code"] == "PROC-403-SCOPE", "not by who has done it"
    assert case.verb("draft", "approve", "--result", '{"note": "ok"}', "-m", "좋아요")["next_nodes"] == ["next"]
    assert case.item("draft")["result"] == {"grade": "A", "note": "ok"}
    assert case.states() == {"draft": "DONE", "next": "TODO"}


def test_a_draft_is_sent_back(office: Desk) -> None:
    """P-A.9, P-4.1.6, P-4.1.7: REWORK, then TODO, and the comment stays readable; so it does with `penstock reject`."""
    case = _drafted(office)
    case.verb("draft", "reject", "-m", "다시 보세요")
    once = ["TODO", "IN_PROGRESS", "SUBMITTED"]
    passed = office("items", "history", f"{case.id}/draft")
    assert [one["to"] for one in passed] == [*once, "REWORK", *once]
    assert [one["comment"] for one in passed if one["to"] == "REWORK"] == ["다시 보세요"]
    assert "다시 보세요" in office.says("items", "history", f"{case.id}/draft")
    assert office.wrong("reject", case.id, "--by", KIM)["code"] == "PS-400-INPUT", "a reason is asked for"
    office("reject", case.id, "--by", KIM, "-m", "한 번 더", code=WAITS)
    assert [one["to"] for one in office("items", "history", f"{case.id}/draft")][-4:] == ["REWORK", *once]
    office("approve", case.id, "--by", KIM, code=WAITS)
    assert case.states() == {"draft": "DONE", "next": "TODO"}


def test_an_agent_does_it_alone(office: Desk) -> None:
    """P-A.10, P-4.2.1, P-4.3.6: DONE with no human call, and the command ends with 0."""
    agent = office.agent("adds", {"sum": 7})
    case = office.begins(
        process([service("add", agent=agent, instruction="Add.")], []), given={"a": 3, "b": 4}, code=DONE
    )
    look = case.look()
    (item,) = look["workitems"]
    assert (look["status"], item["status"], item["result"]) == ("COMPLETED", "DONE", {"sum": 7})
    assert item["agent_mode"] == "AUTONOMOUS" and look["variables"]["sum"] == 7
    ((_, said),) = office.calls("adds")
    assert (said["instruction"], said["input_data"]) == ("Add.", {"a": 3, "b": 4})


def _chain(office: Desk, undo_b: Any = None) -> Desked:
    """A and B can be undone; the agent of C fails."""
    for name, says in (("undo_a", None), ("undo_b", undo_b)):
        office.tool(name, says)
    makes_a, makes_b = office.agent("makes_a", {"id": "a-1"}), office.agent("makes_b", {"id": "b-1"})
    breaks = office.agent("breaks", ValueError("no room"))
    office.asked.clear()
    return office.begins(
        process(
            [
                service("A", agent=makes_a, compensation="undo_a"), service("B", agent=makes_b, compensation="undo_b"),
                service("C", agent=breaks),
            ],
            ["A>B", "B>C"],
        ),
        code=FAILED,
    )  # fmt: skip


def test_a_failure_is_undone_in_reverse(office: Desk) -> None:
    """P-A.11, P-5.2.2, P-5.3.4, P-5.3.5, P-5.3.8, P-E.2, P-X.16: undo_b, undo_a, with what B and A had made; exit 3."""
    case = _chain(office)
    look = case.look()
    assert office.calls("undo_a", "undo_b") == [("undo_b", {"id": "b-1"}), ("undo_a", {"id": "a-1"})]
    assert case.states() == {"A": "COMPENSATED", "B": "COMPENSATED", "C": "CANCELLED"}
    assert (look["status"], look["compensation_status"], look["failed_activity_id"]) == ("TERMINATED", "COMPLETE", "C")
    (told,) = case.told("SAGA_COMPENSATION_COMPLETED")
    assert told["payload"]["compensation_results"] == [
        {"step": "B", "status": "EXECUTED"}, {"step": "A", "status": "EXECUTED"},
    ]  # fmt: skip
    shown = office.says("process", "instance", case.id)
    assert "TERMINATED, compensation COMPLETE" in shown and "failed at «C»" in shown
    assert shown.index("1. EXECUTED  B by undo_b") < shown.index("2. EXECUTED  A by undo_a")


def test_a_step_that_cannot_be_undone_does_not_stop_the_others(office: Desk) -> None:
    """P-A.12, P-5.3.6, P-5.3.7, P-X.20, P-X.36: B FAILED with its error and told of, A still undone; resumed later."""
    case = _chain(office, {"ok": False, "error": "locked"})
    assert [name for name, _ in office.calls("undo_a", "undo_b")] == ["undo_b", "undo_a"]
    look = case.look()
    steps = {one["activity_id"]: one for one in look["compensation"]["steps"]}
    assert (steps["B"]["status"], steps["A"]["status"]) == ("FAILED", "EXECUTED") and steps["B"]["error"]
    assert (look["status"], look["compensation_status"]) == ("TERMINATED", "PARTIAL")
    assert case.states() == {"A": "COMPENSATED", "B": "DONE", "C": "CANCELLED"}
    names = [one["event"] for one in case.told()]
    assert names.count("COMPENSATION_STEP_FAILED") == 1 and names[-1] == "PROCESS_TERMINATED"
    kept = office("outbox", case.id)
    assert any("could not be undone" in str(one["message"]) for one in kept), "people are told"
    assert "1. FAILED    B by undo_b: " in office.says("process", "instance", case.id)
    office("process", "compensate", case.id, code=FAILED)
    office.tool("undo_b")
    again = office("process", "compensate", case.id)
    assert (again["compensation_status"], again["compensation"]["steps"][0]["status"]) == ("COMPLETE", "EXECUTED")
    assert [name for name, _ in office.calls("undo_a")] == ["undo_a"], "what is undone is not undone again"
    assert office.wrong("process", "compensate", case.id)["code"] == "PROC-409-STATE"
