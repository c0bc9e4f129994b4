"""Branches side by side, over HTTP on either store: joins under a race, branches that are undone (P-A.6, 13, 14)."""

from __future__ import annotations

import os
import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from typing import Any

import httpx2
import pytest

from tests.conformance.process.http.world import Case, World
from tests.conformance.process.make import gateway, process, service, task

TIMES = int(os.environ.get("PENSTOCK_RACES", "500"))
RACE = process(
    [gateway("f", "parallel"), task("A"), task("B"), gateway("j", "parallel"), task("D")],
    ["f>A", "f>B", "A>j", "B>j", "j>D"],
)
CANCELLED = "Saga compensation - parallel branch cancellation"


@pytest.fixture(scope="module")
def slow(office: World) -> Case:
    """P-A.14 takes half a minute: it is begun first, and looked at last."""
    office.tool("sleeps_40_s", lambda seen: office.closing.wait(40))
    made, breaks = office.agent("made", {"id": 1}), office.agent("breaks_late", ValueError("no"))
    steps = [service("A", agent=made, compensation="sleeps_40_s"), service("B", agent=breaks)]
    return office.begun(process(steps, ["A>B"]))


def test_two_submitters_at_the_same_instant(office: World, slow: Case, capsys: pytest.CaptureFixture[str]) -> None:
    """P-A.6, P-3.4.6, P-X.12: two clients submit the last two branches at once, on fresh instances: one D each."""
    definition, start = office.defined(RACE), threading.Barrier(2)
    clients = [office.server.client("manager@example.com") for _ in range(2)]

    def submit(client: httpx2.Client, item: str) -> dict[str, Any]:
        start.wait(30)
        answer = client.post(f"/processes/workitems/{item}:submit", json={})
        assert answer.status_code == 200, answer.text
        found: dict[str, Any] = answer.json()
        return found

    passed = Counter[str]()
    ids = []
    with ThreadPoolExecutor(2) as pool:
        for _ in range(TIMES):
            case = office.begun(definition)
            ids.append(case.id)
            items = [one["id"] for one in case.items()]
            told = [*pool.map(submit, clients, items)]
            passed["".join(sorted(node for one in told for node in one["next_nodes"]))] += 1
    assert passed == {"D": TIMES}, "exactly one of the two passes the join"
    open_ = Counter(one["proc_inst_id"] for one in _all(office, "TODO") if one["activity_id"] == "D")
    assert {open_[id] for id in ids} == {1}
    with capsys.disabled():
        print(f"\n{TIMES} joins raced for on {office.server.kind}: one each")


def _all(office: World, status: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    cursor: dict[str, str] = {}
    while True:
        page = office.manager.get("/processes/workitems", params={"status": status, "limit": 200, **cursor}).json()
        found += page["items"]
        if page["next"] is None:
            return found
        cursor = {"cursor": page["next"]}


def test_a_failing_branch_takes_the_others_with_it(office: World) -> None:
    """P-A.13, P-5.5.1, P-5.5.2, P-5.5.3, P-5.5.4, P-5.5.5, P-5.5.8, P-4.1.9: cancelled first, then the branches undone,
    and only then what lies before the fork."""
    ready = threading.Event()
    for name in ("p", "a", "b"):
        office.agent(name, {"made": name})
        office.tool(f"undo_{name}")
    office.agent("c", "waits")
    office.agent("d", lambda seen: (ready.wait(30), ValueError("broken"))[1])
    steps = [service(name.upper(), agent=name, compensation=f"undo_{name}") for name in ("p", "a", "b", "c", "d")]
    ways = ["P>f", "f>A", "f>B", "f>C", "f>D", "A>j", "B>j", "C>j", "D>j"]
    office.asked.clear()
    case = office.begun(process([*steps, gateway("f", "parallel"), gateway("j", "parallel")], ways))
    case.until(A="DONE", B="DONE", C="IN_PROGRESS", D="IN_PROGRESS")
    ready.set()
    look = case.until(status="TERMINATED")
    office.going.set()
    items = {one["activity_id"]: one for one in look["workitems"]}
    assert {name: one["status"] for name, one in items.items()} == {
        "P": "COMPENSATED", "A": "COMPENSATED", "B": "COMPENSATED", "C": "CANCELLED", "D": "CANCELLED",
    }  # fmt: skip
    assert (items["D"]["cancel_reason"], bool(items["D"]["error"])) == ("execution failed", True)
    assert (items["C"]["cancel_reason"], items["C"]["error"]) == (CANCELLED, None)
    assert items["C"]["cancelled_at"] <= min(items[one]["compensated_at"] for one in "AB")
    assert max(items[one]["compensated_at"] for one in "AB") <= items["P"]["compensated_at"]
    undone = [name for name, _ in office.calls("undo_p", "undo_a", "undo_b", "undo_c", "undo_d")]
    assert sorted(undone[:2]) == ["undo_a", "undo_b"] and undone[2:] == ["undo_p"]
    results = look["compensation"]["results"]
    assert results[0] == {"step": "C", "status": "CANCELLED", "action": "진행 중인 에이전트 작업 취소"}
    assert sorted(one["action"] for one in results[1:3]) == ["undo_a", "undo_b"]
    assert {one["status"] for one in results[1:3]} == {"COMPENSATED"}
    assert results[3] == {"step": "P", "status": "EXECUTED"}
    steps_ = {one["activity_id"]: one for one in look["compensation"]["steps"]}
    assert (steps_["A"]["parallel_group_id"], steps_["A"]["branch_index"]) == ("f", 0)
    assert (steps_["P"]["parallel_group_id"], steps_["P"]["branch_index"]) == (None, None)


def test_a_slow_tool_has_thirty_seconds(office: World, slow: Case) -> None:
    """P-A.14, P-5.3.10: a tool that sleeps 40 s: the step is FAILED by timeout after 30 s."""
    look = slow.until(status="TERMINATED")
    (step,) = look["compensation"]["steps"]
    assert (step["status"], look["compensation_status"]) == ("FAILED", "PARTIAL") and "30" in step["error"]
    failed = next(one for one in slow.events() if one["event"] == "COMPENSATION_STEP_FAILED")
    cancelled = slow.item("B")["cancelled_at"]
    assert 29 <= (_moment(failed["at"]) - _moment(cancelled)).total_seconds() < 40, "it was not waited for"
    told = office.admin.get("/outbox", params={"run": slow.id}).json()["items"]
    assert any("could not be undone" in str(one["message"]) for one in told), "people are told (P-5.3.6)"


def _moment(text: str) -> datetime:
    return datetime.fromisoformat(text)
