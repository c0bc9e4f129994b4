"""The ProcessDefinition of Process-GPT: read as one of ours, with its places, and nothing dropped."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from penstock import Penstock
from penstock.app.process.definitions import Processes
from penstock.app.process.work_items import WorkItems
from penstock.lang.compile import check_document, compile_document
from penstock.lang.process import process_gpt
from penstock.lang.process.drawing import read_drawing
from penstock.lang.read import read_document
from tests.conformance.process.test_nine_pairs import PAIRS, SOUND, pair, source

LEAVE: dict[str, Any] = {
    "processDefinitionId": "leave_request", "processDefinitionName": "휴가 신청",
    "description": "휴가를 신청하고 승인한다.",
    "version": "2.3", "isHorizontal": True, "megaProcessId": "hr",
    "data": [{"name": "일수", "description": "며칠", "type": "Number"}],
    "roles": [
        {"name": "신청자", "endpoint": "", "resolutionRule": "initiator"}, {"name": "팀장", "endpoint": ["lee", "kim"]},
        {"name": "인사팀", "endpoint": "role:hr"}, {"name": "대표", "resolutionRule": "회사의 대표를 찾는다"},
    ],
    "activities": [
        {"id": "request", "name": "신청", "type": "userTask", "role": "신청자", "description": "신청서를 쓴다",
         "duration": 2, "instruction": "날짜를 적는다", "inputData": [],
         "outputData": ["leave_form.days", "leave_form.reason"],
         "checkpoints": ["날짜가 맞는가?"], "tool": "formHandler:leave_form", "pythonCode": "", "agentMode": "none",
         "properties": "{}", "srcTrg": "start_event", "attachedEvents": []},
        {"id": "approve", "name": "승인", "type": "HumanActivity", "role": "팀장", "inputData": ["leave_form.days"],
         "outputData": ["approved"], "agent": "reviewer", "agentMode": "draft", "orchestration": "crewai-action"},
        {"id": "book", "name": "등록", "type": "ScriptActivity", "role": "인사팀",
         "pythonCode": "result = {'ok': True}"},
        {"id": "decide", "name": "결정", "type": "userTask", "role": "대표"},
    ],
    "events": [
        {"id": "start_event", "name": "시작", "type": "startEvent", "role": "신청자", "properties": "{}"},
        {"id": "end_event", "name": "끝"},
        {"id": "wait", "name": "시작일까지", "type": "intermediateThrowEvent",
         "properties": "{\"expression\": \"0 30 14 2 1 ? 2026\"}"},
    ],
    "gateways": [{"id": "split", "name": "승인?", "type": "exclusiveGateway", "role": "팀장",
                  "conditionData": ["approved"],
                  "condition": {"yes": {"key": "approved", "condition": "=", "value": "true"}},
                  "description": "갈림"}],
    "sequences": [
        {"source": "start_event", "target": "request"}, {"id": "s2", "source": "request", "target": "approve"},
        {"id": "s3", "source": "approve", "target": "split"}, {"id": "yes", "source": "split", "target": "wait"},
        {"id": "no", "source": "split", "target": "decide", "condition": "approved = false"},
        {"id": "s4", "source": "wait", "target": "book"}, {"id": "s5", "source": "book", "target": "end_event"},
        {"id": "s6", "source": "decide", "target": "end_event"},
    ],
}  # fmt: skip


def read(document: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = process_gpt.rewritten(read_document(source(document), name="p.json")).data
    return found


def by_id(entries: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    return {entry["id"]: entry for entry in entries}


def test_a_definition_is_read_whole() -> None:
    """P-2.2.9, P-X.25: activities, modes, roles without id, events without position, sequences."""
    data = read(LEAVE)
    assert (data["process_definition_id"], data["process_definition_name"], data["version"]) == (
        "leave_request", "휴가 신청", 2,
    )  # fmt: skip
    activities = by_id(data["activities"])
    assert {id: entry["type"] for id, entry in activities.items()} == {
        "request": "humanTask", "approve": "humanTask", "book": "scriptTask", "decide": "humanTask",
    }  # fmt: skip
    request, approve = activities["request"], activities["approve"]
    assert request["instruction"] == "날짜를 적는다\n☐ 날짜가 맞는가?" and request["due"] == 2 * 86_400
    assert request["form"] == {
        "type": "object", "properties": {"leave_form": {"type": "object", "properties": {"days": {}, "reason": {}}}},
    }  # fmt: skip
    assert (approve["agent_mode"], approve["agent"]) == ("SUPERVISED", "reviewer")
    assert approve["orchestration"] == {"engine": "crewai-action"} and request["agent_mode"] == "MANUAL"
    assert activities["book"]["python_code"] == "result = {'ok': True}"
    events = by_id(data["events"])
    assert [events[id]["position"] for id in ("start_event", "end_event", "wait")] == ["start", "end", "catch"]
    assert (events["wait"]["trigger"], events["wait"]["timer"]) == ("timer", {"date": "2026-01-02T14:30:00"})
    assert data["gateways"][0]["conditions"] == {"yes": "approved == true"}
    assert data["transitions"][0]["id"] == "start_event>request"
    assert by_id(data["transitions"])["no"]["condition"] == "approved == false"


def test_who_does_it_is_never_widened() -> None:
    """P-X.13: endpoints are those people; a rule that nobody can follow is for nobody, and is told."""
    data = read(LEAVE)
    activities = by_id(data["activities"])
    assert by_id(data["roles"])["신청자"]["assignment_rule"] == "initiator"
    assert by_id(data["roles"])["인사팀"]["assignment_rule"] == "role:hr"
    assert activities["approve"]["candidates"] == ["user:lee", "user:kim"]
    (finding,) = [f for f in check_document(source(LEAVE), name="p.json")[1] if f.rule == "assignment_not_understood"]
    assert finding.severity == "warning" and finding.node == "decide" and "회사의 대표를 찾는다" in finding.message


def test_nothing_is_dropped_and_what_nobody_knows_is_told() -> None:
    """P-X.25: known fields without a meaning here go along in silence, others with a finding at their place."""
    first, *others = LEAVE["activities"]
    strange = {**LEAVE, "colour": "blue", "activities": [{**first, "mood": "good"}, *others]}
    kept = read(strange)["extensions"]["process_gpt"]
    assert kept[""] == {"isHorizontal": True, "megaProcessId": "hr", "colour": "blue"}
    assert kept["request"]["mood"] == "good" and kept["split"]["conditionData"] == ["approved"]
    assert kept["data"]["일수"]["type"] == "Number" and kept["팀장"]["endpoint"] == ["lee", "kim"]
    told = [f.message for f in check_document(source(strange), name="p.json")[1] if f.rule == "left_out"]
    assert len(told) == 2 and "«colour»" in " ".join(told) and "«mood»" in " ".join(told)
    assert [f.rule for f in check_document(source(LEAVE), name="p.json")[1] if f.severity == "error"] == []


def test_a_kind_of_process_that_is_none_of_ours_is_kept() -> None:
    """P-2.2.9, P-X.25: it is no error, and stands in the file as it came."""
    data = read({**LEAVE, "type": "hr-flow"})
    assert "type" not in data and data["extensions"]["process_gpt"][""]["type"] == "hr-flow"
    assert read({**LEAVE, "type": "sub"})["type"] == "sub"


def test_places_are_those_of_the_file() -> None:
    """P-X.35: a finding has the line on which the part stands in Process-GPT's own JSON."""
    broken = {**LEAVE, "sequences": [*LEAVE["sequences"], {"id": "lost", "source": "book", "target": "nowhere"}]}
    text = json.dumps(broken, ensure_ascii=False, indent=1)
    (finding,) = [f for f in check_document(text.encode(), name="p.json")[1] if f.rule == "flow_to_nowhere"]
    assert text.splitlines()[finding.where.line - 1].strip().startswith('"target": "nowhere"')


WORDS = "«승인된 경우» is written in words"


@pytest.mark.parametrize(
    ("gateway", "flow", "condition"),
    [
        ({"condition": {"yes": "days > 3"}}, {}, "days > 3"), ({"conditions": {"그렇다": "days > 3"}}, {}, "days > 3"),
        ({"condition": {"a": {"expression": "days > 3"}}}, {}, "days > 3"), ({"condition": ""}, {}, ""),
        ({"conditions": [{"target": "a", "condition": "days > 3"}]}, {}, "days > 3"),
        ({"condition": [{"sequence": "yes", "expression": "=days > 3"}]}, {}, "=days > 3"),
        ({"condition": {}}, {"condition": "${days > 3}"}, "${days > 3}"), ({}, {"condition": True}, "true"),
        ({}, {"properties": json.dumps({"condition": {"key": "days", "condition": ">=", "value": "3"}})}, "days >= 3"),
        ({}, {"condition": {"key": "state", "operator": "=", "value": "좋음"}}, 'state == "좋음"'),
        ({}, {"condition": "승인된 경우"}, "script:words: 승인된 경우"), ({}, {"condition": "a = b"}, "a == b"),
        ({}, {"condition": "approved when ready"}, "script:words: approved when ready"),
    ],
)  # fmt: skip
def test_conditions_in_several_shapes(gateway: dict[str, Any], flow: dict[str, Any], condition: str) -> None:
    """P-X.9: by way, by its name or target, as a list, as a comparison, in properties; words are asked for."""
    document = {
        "processDefinitionId": "p", "processDefinitionName": "P",
        "activities": [{"id": "a", "name": "A"}, {"id": "b", "name": "B"}],
        "gateways": [{"id": "g", "type": "exclusiveGateway", **gateway}],
        "sequences": [{"id": "yes", "name": "그렇다", "source": "g", "target": "a", **flow},
                      {"id": "no", "source": "g", "target": "b"}],
    }  # fmt: skip
    data = read(document)
    at_the_gateway = data["gateways"][0].get("conditions", {}).get("yes", "")
    assert (at_the_gateway or by_id(data["transitions"])["yes"].get("condition", "")) == condition
    errors = [f for f in check_document(source(document), name="p.json")[1] if f.severity == "error"]
    if condition.startswith("script:"):
        assert errors[0].rule == "expression_language" and "written in words" in errors[0].message


def test_sub_processes_lie_in_their_parent() -> None:
    """P-2.2.9: `children` with ids of their own, which may be those of the parent again; else a process is called."""
    inner = {
        "events": [{"id": "start_event", "type": "startEvent"}, {"id": "end_event", "type": "endEvent"}],
        "activities": [{"id": "check", "name": "확인", "type": "userTask"}],
        "sequences": [{"id": "i1", "source": "start_event", "target": "check"},
                      {"id": "i2", "source": "check", "target": "end_event"}],
    }  # fmt: skip
    document = {
        "processDefinitionId": "p", "processDefinitionName": "P",
        "events": [{"id": "start_event", "type": "startEvent"}, {"id": "end_event", "type": "endEvent"}],
        "subProcesses": [{"id": "sub", "name": "안", "type": "subProcess", "role": "팀", "children": inner},
                         {"id": "other", "name": "밖", "processDefinitionId": "elsewhere", "children": None}],
        "sequences": [{"id": "o1", "source": "start_event", "target": "sub"},
                      {"id": "o2", "source": "sub", "target": "end_event"}],
    }  # fmt: skip
    data = read(document)
    events = by_id(data["events"])
    assert events["sub.start_event"]["parent"] == "sub" and "parent" not in events["start_event"]
    assert by_id(data["transitions"])["i1"]["source"] == "sub.start_event"
    assert by_id(data["activities"])["check"]["parent"] == "sub"
    assert by_id(data["activities"])["other"]["orchestration"] == {"sub_process": "elsewhere"}
    document["subProcesses"].pop()
    assert [f.rule for f in check_document(source(document), name="p.json")[1] if f.severity == "error"] == []


def test_elements_in_one_list() -> None:
    """Its second public form: `elements`, each with an elementType; border events by the activities that name them."""
    document = {
        "processDefinitionId": "p", "processDefinitionName": "P",
        "elements": [
            {"elementType": "Event", "id": "s", "type": "StartEvent"},
            {"elementType": "Activity", "id": "a", "name": "A", "type": "userTask", "attachedEvents": ["late"]},
            {"elementType": "Event", "id": "late", "type": "timerIntermediateEvent", "expression": "PT2H"},
            {"elementType": "Activity", "id": "b", "name": "B", "type": "userTask"},
            {"elementType": "Event", "id": "e", "type": "EndEvent"},
            {"elementType": "Sequence", "id": "1", "source": "s", "target": "a"},
            {"elementType": "Sequence", "id": "2", "source": "a", "target": "e"},
            {"elementType": "Sequence", "id": "3", "source": "late", "target": "b"},
        ],
    }  # fmt: skip
    late = by_id(read(document)["events"])["late"]
    assert (late["position"], late["attached_to"], late["timer"]) == ("boundary", "a", {"duration": "PT2H"})
    assert [f.rule for f in check_document(source(document), name="p.json")[1] if f.severity == "error"] == []


@pytest.mark.parametrize(
    "document",
    [
        {"processDefinitionId": 5, "processDefinitionName": None}, {"processDefinitionId": "p", "sequences": "x"},
        {"processDefinitionId": "p", "activities": [1, {"id": None}, {"id": ["a"]}], "roles": [{}], "data": [{}]},
        {"processDefinitionId": "p", "gateways": [{"id": "g", "condition": [[1]]}], "events": [{"type": 5}]},
        {"processDefinitionId": "p", "sequences": [{}, {"source": {}}], "subProcesses": [{"children": 1}]},
        {"processDefinitionName": "p", "activities": [{"id": "a", "type": {}, "duration": "x"}]},
        {"processDefinitionName": "p", "activities": [{"id": "a", "attachedEvents": "abc", "outputData": {}}]},
    ],
)  # fmt: skip
def test_broken_definitions_are_findings(document: dict[str, Any]) -> None:
    """P-X.35: whatever stands in it: told, never raised."""
    findings = check_document(source(document), name="p.json")[1]
    assert any(f.severity == "error" and f.hint for f in findings)


def test_it_is_a_drawing_too() -> None:
    """P-X.25: brought as a draft like every other file."""
    assert read_drawing(source(LEAVE), "p.json").definitions[0]["process_definition_id"] == "leave_request"


# ---- the nine pairs --------------------------------------------------------------------------------------------------


def as_process_gpt(document: dict[str, Any]) -> dict[str, Any]:
    """The same process as Process-GPT writes it."""
    return {
        "processDefinitionId": document["process_definition_id"],
        "processDefinitionName": document["process_definition_name"],
        "activities": [{**entry, "type": "userTask", "agentMode": "none"} for entry in document["activities"]],
        "gateways": [
            {"id": entry["id"], "type": entry["type"], "name": entry["name"], "condition": entry.get("conditions", "")}
            for entry in document["gateways"]
        ],
        "sequences": [{**entry, "properties": "{}"} for entry in document["transitions"]],
    }


@pytest.mark.parametrize(("split", "join"), PAIRS)
def test_both_shapes_have_the_same_verdict(split: str, join: str) -> None:
    """P-2.2.9, P-3.4.4, P-X.33: nine pairs; the same findings, and the same way that shows it."""
    ours = pair(split, join)
    verdicts = []
    for document in (ours, as_process_gpt(ours)):
        findings = check_document(source(document), name="pair.json")[1]
        verdicts.append([(f.rule, f.severity, f.message, f.node) for f in findings if f.severity == "error"])
    assert verdicts[0] == verdicts[1] and bool(verdicts[0]) == ((split, join) not in SOUND)


@pytest.mark.parametrize(("split", "join"), sorted(SOUND))
@pytest.mark.parametrize(("amount", "urgent"), [(20, True), (20, False), (1, True)])
def test_both_shapes_run_alike(tmp_path: Path, split: str, join: str, amount: int, urgent: bool) -> None:
    """P-2.2.9, P-X.10 to P-X.12: the same activities in the same order, to the end."""
    ours = pair(split, join)
    done = []
    for n, document in enumerate((ours, as_process_gpt(ours))):
        compile_document(source(document), name="pair.json")
        (folder := tmp_path / str(n)).mkdir()
        done.append(asyncio.run(_worked_through(folder, document, {"amount": amount, "urgent": urgent})))
    assert done[0] == done[1] and done[0][0] == "s" and done[0][-1] == "e"


async def _worked_through(folder: Path, document: dict[str, Any], variables: dict[str, Any]) -> list[str]:
    async with Penstock(folder / "s.db") as door:
        await Processes(door).define(document, by="kim")
        items = WorkItems(door)
        run = await items.initiate("pair", by="kim", input=variables)
        done = []
        while True:
            outcome = await door.wait(run, until_waiting=True)
            waiting = sorted(door.inbox.each(), key=lambda item: item.node)
            if not waiting:
                return [*done] if outcome is not None else done
            await door.respond(run, waiting[0].node, {}, by="kim")
            done.append(waiting[0].node)
