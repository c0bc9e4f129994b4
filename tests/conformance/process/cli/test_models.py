"""Definitions from the command line on either store: versions, mined and extracted models, tenants, thresholds."""

from __future__ import annotations

import asyncio

from penstock import Penstock
from penstock.app.process.definitions import Processes
from penstock.store.address import place
from tests.conformance.process.cli.desk import DONE, LEE, Desk, Desked
from tests.conformance.process.http.test_models import BPMN
from tests.conformance.process.make import process, service, task

ANALYST = "analyst@example.com"
TEXT = "# 자료 접수\n1. 담당자: 등록서를 접수한다\n2. 검토자: 내용을 검토한다\n"


def test_a_new_version_is_for_new_instances(office: Desk) -> None:
    """P-A.18, P-X.8, P-2.3.2: version 2 with its diff; the running instance ends on 1, a new one uses 2."""
    old = office.begins(process([task("A"), task("B")], ["A>B"]))
    second = process([task("A", name="Ah"), task("C")], ["A>C"], process_definition_id=old.definition)
    done = office("process", "define", office.file(second))
    assert (done["version"], list(done["diff"]["activities"]["added"])) == (2, ["C"])
    assert office("process", "define", office.file(second))["new"] is False, "the same content is the same version"
    new = office.begins(old.definition)
    first = office.begins(old.definition, "--version", "1")
    assert [case.hands_in("A") for case in (old, new, first)] == [["B"], ["C"], ["B"]]
    assert [case.look()["proc_def_version"] for case in (old, new, first)] == [1, 2, 1]
    old.hands_in("B", code=DONE)
    diff = office("process", "diff", old.definition, "1", "2")
    assert diff["activities"]["changed"] == {"A": {"name": ["A", "Ah"]}} and list(diff["activities"]["removed"]) == [
        "B"
    ]
    shown = office.says("process", "diff", old.definition, "1", "2")
    for line in ("added    activities/C", "removed  activities/B", "changed  activities/A", "name: A → Ah"):
        assert line in shown
    assert "the same but for their version" in office.says("process", "diff", old.definition, "2", "2")
    assert office.wrong("process", "diff", old.definition, "1", "9")["code"] == "PROC-404"
    assert office.wrong("process", "start", old.definition, "--version", "9")["code"] == "PROC-404"


def _mined(office: Desk, id: str, *more: str) -> dict[str, object]:
    words = ("--log", f"log-{id}", "--algorithm", "inductive", "--fitness", "0.85", "--precision", "0.9")
    made: dict[str, object] = office(
        "process", "import-discovered", office.file(BPMN.format(id=id)), *words, "--cases", "42", "--by", LEE, *more
    )
    return made


def test_a_mined_model_waits_for_an_analyst(office: Desk) -> None:
    """P-A.17, P-7.4.2, P-7.4.4, P-7.4.5, P-7.4.6, P-7.5.1, P-7.5.3: discovered and pending, with its log and event."""
    made = _mined(office, "mined1")
    assert (made["type"], made["approval_status"]) == ("discovered", "pending")
    held = office("process", "show", "mined1")["definition"]
    assert held["description"].split("\n") == [
        "프로세스 마이닝으로 자동 발견된 모델", "알고리즘: inductive", "Fitness: 0.85", "케이스 수: 42",
    ]  # fmt: skip
    assert held["source_event_log_id"] == "log-mined1"
    assert office.says("process", "bpmn", "mined1").strip() == BPMN.format(id="mined1")
    told = [one["payload"] for one in office.told("DISCOVERED_MODEL_IMPORTED")]
    assert {
        "aggregate_type": "proc_def", "aggregate_id": "mined1", "proc_def_id": "mined1",
        "event_log_id": "log-mined1", "source": "process_mining",
    } in told  # fmt: skip
    refused = office.wrong("process", "start", "mined1", "--by", LEE)
    assert (refused["code"], refused["message"]) == ("PROC-409-STATE", "«mined1» cannot be begun: it is pending")
    assert "mined1 v1 discovered approved" in office.says("process", "approve", "mined1", "--by", ANALYST)
    assert office.begins("mined1").states() == {"a": "TODO"}
    assert office.wrong("process", "approve", "mined1", "--by", ANALYST)["code"] == "PROC-409-STATE"


def test_a_mined_model_is_rejected_or_taken_over(office: Desk) -> None:
    """P-X.23, P-X.43, P-7.2.2: rejected and kept with the reason; approved into a base process with a diff."""
    _mined(office, "mined2")
    shown = office.says("process", "reject", "mined2", "--by", ANALYST, "-m", "잡음")
    assert "mined2 v1 discovered rejected" in shown and "잡음" in shown
    assert office("process", "show", "mined2")["approval_status"] == "rejected"
    assert office.wrong("process", "start", "mined2")["code"] == "PROC-409-STATE"
    base = office.defined(process([task("a", name="접수")], []))
    _mined(office, "mined3", "--base", base)
    done = office("process", "approve", "mined3", "--by", ANALYST, "--into", base)
    assert (done["id"], done["version"], done["type"]) == (base, 2, "base")
    assert list(done["diff"]["activities"]["added"]) == ["b"]
    _mined(office, "mined4")
    assert office.wrong("process", "approve", "mined4", "--by", ANALYST, "--into", "nowhere")["code"] == "PROC-404"
    wrong = office.wrong("process", "import-discovered", office.file("<html/>"), "--log", "l")
    assert wrong["code"] == "PROC-400-SCHEMA"
    wrong = office.wrong(
        "process", "import-discovered", office.file(BPMN.format(id="x")), "--log", "l", "--fitness", "2"
    )
    assert wrong["code"] == "PS-400-USAGE"


def test_a_text_becomes_a_process(office: Desk) -> None:
    """P-X.2, P-X.22, P-6.1.6, P-X.23: shown with confidence and diff; below 0.80 it waits, and then may be begun."""
    text = office.shell.write("text.md", TEXT)
    shown = office("process", "extract", text, "--id", "ex1")
    assert shown["version"] is None and office.wrong("process", "show", "ex1")["code"] == "PROC-404"
    made = office("process", "extract", text, "--id", "ex1", "--save", "--by", LEE)
    assert (made["approval_status"], made["version"], made["confidence"] >= 0.8) == ("approved", 1, True)
    assert office.begins("ex1").look()["status"] == "RUNNING"
    vague = office("process", "extract", office.shell.write("vague.md", "1. 접수\n2. 검토"), "--id", "ex2", "--save")
    assert (vague["approval_status"], vague["confidence"] < 0.8) == ("pending", True)
    assert office.wrong("process", "start", "ex2")["code"] == "PROC-409-STATE"
    office("process", "approve", "ex2", "--by", ANALYST)
    assert office.begins("ex2").look()["status"] == "RUNNING"


def test_what_is_wrong_is_named(office: Desk) -> None:
    """P-X.1, P-X.4, P-X.7, P-X.35: every finding with its place, nothing stored; another tenant's is not there."""
    ring = process([task("A"), task("B")], ["A>B", "B>A"], process_definition_id="ring")
    refused = office.wrong("process", "define", office.file(ring))
    assert refused["code"] == "PROC-400-SCHEMA" and refused["findings"]
    assert office.wrong("process", "show", "ring")["code"] == "PROC-404"
    foreign = process([task("A")], [], process_definition_id="theirs", tenant_id="somebody_else")
    assert office.wrong("process", "define", office.file(foreign))["code"] == "PROC-403-SCOPE"
    case = office.begins(process([task("A")], []))
    for words in (("process", "show", case.definition), ("process", "instance", case.id),
                  ("items", "submit", f"{case.id}~2", "--by", LEE), ("process", "start", case.definition)):  # fmt: skip
        assert office.wrong(*words, "--tenant", "somebody_else")["code"] == "PROC-404", words
    assert office("items", "ls", "--tenant", "somebody_else") == []
    mega = process([], [], process_definition_id="mega", type="mega")
    office("process", "define", office.file(mega))
    assert office.wrong("process", "start", "mega")["code"] == "PROC-409-STATE"


def test_an_instance_is_ended(office: Desk) -> None:
    """P-X.28, P-X.30: `terminate` ends it, once, with exit code 0; its items are cancelled. A key begins it once."""
    case = office.begins(process([task("A"), task("B")], ["A>B"]), "--key", "once")
    assert office.begins(case.definition, "--key", "once").id == case.id
    assert Desked(office, "once", case.definition).look()["id"] == case.id
    assert office("process", "terminate", "once")["status"] == "TERMINATED"
    assert case.states() == {"A": "CANCELLED"}
    again = office.wrong("process", "terminate", case.id)
    assert (again["code"], again["message"]) == ("PROC-409-STATE", "Cannot terminate instance in TERMINATED status")
    assert office.wrong("process", "compensate", case.id)["code"] == "PROC-409-STATE"
    for words in (("process", "instance", "rnothing"), ("items", "show", "rnothing~1"), ("items", "show", "once/Z")):
        assert office.wrong(*words)["code"] == "PROC-404"
    assert office.wrong("items", "show", "once")["code"] == "PS-400-INPUT"


def test_thresholds_are_told(office: Desk) -> None:
    """P-A.20, P-8.1, P-8.5, P-X.27: 101 definitions exceed 100; a mined fitness of 0.85 does not fall below."""
    _mined(office, "fits")
    here = len(office("process", "ls"))

    async def many() -> None:
        async with Penstock(place(office.server.store)) as p:
            for n in range(101 - here):
                await Processes(p).define(process([service("A")], [], process_definition_id=f"n{n}"))

    asyncio.run(many())
    rows = {one["id"]: one for one in office("process", "reevaluation")}
    assert list(rows) == [f"P-8.{n}" for n in range(1, 8)]
    assert (rows["P-8.1"]["value"], rows["P-8.1"]["exceeded"]) == (101, True)
    assert (rows["P-8.5"]["value"], rows["P-8.5"]["exceeded"]) == (0.85, False)
    shown = office.says("process", "reevaluation")
    assert "P-8.1 definitions > 100: 101 exceeded" in shown and shown.count("exceeded") == 1
