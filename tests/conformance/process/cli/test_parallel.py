"""Branches side by side from the command line on either store: a race for the join, a failing branch, a slow undo."""

from __future__ import annotations

import os
import subprocess
import threading
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.api.serving import until
from tests.cli.shell import Zygote
from tests.conformance.process.cli.desk import FAILED, KIM, LEE, WAITS, Desk, Desked, desk
from tests.conformance.process.http.test_parallel import CANCELLED, RACE
from tests.conformance.process.make import gateway, process, service

TIMES = min(int(os.environ.get("PENSTOCK_RACES", "50")), 50)
Slow = tuple[Desked, "subprocess.Popen[str]"]


@pytest.fixture(scope="module")
def slow(office: Desk, tmp_path_factory: pytest.TempPathFactory, zygotes: list[Zygote]) -> Iterator[Slow]:
    """P-A.14 takes half a minute: it is begun first, in a store of its own, and looked at last."""
    with desk(office.kind, tmp_path_factory.mktemp("slow"), zygotes[0]) as other:
        asked = threading.Event()
        other.tool("sleeps_40_s", lambda seen: (asked.set(), other.closing.wait(40))[1])
        made, breaks = other.agent("made", {"id": 1}), other.agent("breaks_late", ValueError("no"))
        steps = [service("A", agent=made, compensation="sleeps_40_s"), service("B", agent=breaks)]
        definition = other.defined(process(steps, ["A>B"]))
        running = other.beside("process", "start", definition, "--by", LEE, "--key", "slow", "--json")
        try:
            assert asked.wait(60)
            yield Desked(other, "slow", definition), running
        finally:
            running.kill()
            running.communicate()


def test_two_submitters_at_the_same_instant(office: Desk, slow: Slow, zygotes: list[Zygote]) -> None:
    """P-A.6, P-3.4.6, P-X.12: two processes submit the last two branches at once, on fresh instances: one D each."""
    definition, start = office.defined(RACE), threading.Barrier(2)
    passed = Counter[str]()

    def submit(zygote: Zygote, item: str) -> list[str]:
        start.wait(60)
        found: list[str] = office("items", "submit", item, "--by", KIM, code=WAITS, zygote=zygote)["next_nodes"]
        return found

    ids = []
    with ThreadPoolExecutor(2) as pool:
        for _ in range(TIMES):
            case = office.begins(definition)
            ids.append(case.id)
            told = [*pool.map(submit, zygotes, (f"{case.id}/A", f"{case.id}/B"))]
            passed["".join(node for one in told for node in one)] += 1
    assert passed == {"D": TIMES}, "exactly one of the two passes the join"
    open_ = Counter(one["id"].partition("~")[0] for one in office("items", "ls") if one["activity_id"] == "D")
    assert [open_[id] for id in ids] == [1] * TIMES


def test_a_failing_branch_takes_the_others_with_it(office: Desk) -> None:
    """P-A.13, P-5.5.1, P-5.5.2, P-5.5.3, P-5.5.4, P-5.5.8, P-4.1.9: cancelled first, then the branches undone, and only
    then what lies before the fork; the command that drives it ends with 3."""
    ready = threading.Event()
    for name in ("p", "a", "b"):
        office.agent(name, {"made": name})
        office.tool(f"undo_{name}")
    office.agent("c", "waits")
    office.agent("d", lambda seen: (ready.wait(60), ValueError("broken"))[1])
    steps = [service(name.upper(), agent=name, compensation=f"undo_{name}") for name in ("p", "a", "b", "c", "d")]
    ways = ["P>f", "f>A", "f>B", "f>C", "f>D", "A>j", "B>j", "C>j", "D>j"]
    office.asked.clear()
    definition = office.defined(process([*steps, gateway("f", "parallel"), gateway("j", "parallel")], ways))
    running = office.beside("process", "start", definition, "--by", LEE, "--key", "branches")
    try:
        until(lambda: {name for name, _ in office.asked}, lambda names: {"a", "b", "c", "d"} <= names)
        case = Desked(office, "branches", definition)
        case.until(A="DONE", B="DONE", C="IN_PROGRESS", D="IN_PROGRESS")
        ready.set()
        out, err = running.communicate(timeout=60)
    finally:
        office.going.set()
        running.kill()
    assert running.returncode == FAILED and "TERMINATED" in out and "Traceback" not in err, err
    look = case.look()
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
    steps_ = [(one["status"], one["activity_id"]) for one in look["compensation"]["steps"]]
    assert steps_[0] == ("CANCELLED", "C") and steps_[-1] == ("EXECUTED", "P")
    assert sorted(steps_[1:-1]) == [("EXECUTED", "A"), ("EXECUTED", "B")]
    shown = office.says("process", "instance", "branches")
    assert shown.index("CANCELLED C") < shown.index("by undo_a") < shown.index("by undo_p")


def test_a_slow_tool_has_thirty_seconds(office: Desk, slow: Slow) -> None:
    """P-A.14, P-5.3.10: a tool that sleeps 40 s: the step is FAILED by timeout after 30 s, and the command ends."""
    case, running = slow
    running.communicate(timeout=120)
    assert running.returncode == FAILED
    look = case.look()
    (step,) = look["compensation"]["steps"]
    assert (step["status"], look["compensation_status"]) == ("FAILED", "PARTIAL") and "30" in step["error"]
    (failed,) = case.told("COMPENSATION_STEP_FAILED")
    assert failed["at"] - case.item("B")["cancelled_at"] >= 30_000
    told = case.desk("outbox", "slow")
    assert any("could not be undone" in str(one["message"]) for one in told), "people are told (P-5.3.6)"
