"""BPMN files in the shapes that modelers export: read, checked, written without loss, opened again by bpmn-moddle."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.errors import DocumentTooLarge, DocumentUnreadable
from penstock.expr import compile_expression
from penstock.lang.compile import check_document, compile_document
from penstock.lang.process.bpmn.dialects import expression
from penstock.lang.process.bpmn.reader import read_bpmn
from penstock.lang.process.bpmn.writer import write_bpmn
from penstock.lang.read import read_document
from tests.conformance.process.moddle import moddle_warnings

ROOT = Path(__file__).resolve().parents[3]
FILES = sorted((ROOT / "tests/bpmn").iterdir())
IDS = [one.name for one in FILES]
#: what a file may lack and a written one has: a drawing, and names that it only refers to
ADDED = ("diagram", "messages", "errors")
HEAD = (
    '<bpmn:definitions xmlns:bpmn="http://www.omg.org/spec/BPMN/20100524/MODEL" '
    'xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" id="d" targetNamespace="t">'
)


def bpmn(inner: str) -> bytes:
    return f'{HEAD}<bpmn:process id="p" name="P" isExecutable="true">{inner}</bpmn:process></bpmn:definitions>'.encode()


def data(raw: bytes) -> dict[str, Any]:
    found: dict[str, Any] = read_document(raw, name="file.bpmn").data
    return found


def by_id(entries: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    return {one["id"]: one for one in entries}


def alike(one: dict[str, Any], other: dict[str, Any]) -> None:
    for name in one.keys() | other.keys():
        if name in ADDED and name not in one:
            continue
        mine, yours = one.get(name), other.get(name)
        if isinstance(mine, list) and isinstance(yours, list):
            assert by_id(mine) == by_id(yours), name
        else:
            assert mine == yours, name


@pytest.mark.parametrize("file", FILES, ids=IDS)
def test_a_file_goes_out_as_it_came_in(file: Path) -> None:
    """P-X.25, P-2.3.1: read, written, read again: nothing is lost, extensions, drawing and annotations included."""
    first = data(file.read_bytes())
    text = write_bpmn(first)
    alike(first, data(text.encode()))
    assert write_bpmn(data(text.encode())) == text


@pytest.mark.parametrize("file", FILES, ids=IDS)
def test_what_there_is_to_say_about_it(file: Path) -> None:
    """P-X.25: a modeler's file is a process of ours, without an error but for what it calls and nobody has."""
    language, findings = check_document(file.read_bytes(), name=file.name)
    assert language == "process"
    assert {one.rule for one in findings if one.severity == "error"} <= {"sub_process_unknown"}
    assert all(one.where.line > 1 for one in findings)


def test_every_file_opens_in_bpmn_moddle(tmp_path: Path) -> None:
    """P-2.3.1: what is written for the front end is opened by its own reader with 0 warnings."""
    texts = {file.name: write_bpmn(data(file.read_bytes())) for file in FILES}
    texts |= {"seed": write_bpmn(SEED), "strange": write_bpmn(STRANGE)}
    warnings = moddle_warnings(tmp_path, texts)
    assert len(warnings) == len(FILES) + 2 and not any(warnings.values()), warnings


# ---- what is read ----------------------------------------------------------------------------------------------------


def test_tasks_events_gateways_and_lanes() -> None:
    """P-X.25, P-X.13: every element a node; an assignee is a role, several groups are all candidates; lanes hold their
    members."""
    found = data((ROOT / "tests/bpmn/camunda7.bpmn").read_bytes())
    activities = by_id(found["activities"])
    assert activities["Task_assign"]["type"] == "humanTask" and activities["Task_pay"]["type"] == "serviceTask"
    assert activities["Task_assign"]["role"] == "user:demo"
    assert activities["Task_approve"]["candidates"] == ["role:management", "role:accounting"]
    assert activities["Task_approve"]["due"] == "P7D"
    assert by_id(found["roles"])["user:demo"]["assignment_rule"] == "user:demo"
    assert by_id(found["gateways"])["Gateway_ok"] == {
        "id": "Gateway_ok", "name": "승인되었나?", "type": "exclusiveGateway", "default": "Flow_no",
    }  # fmt: skip
    assert by_id(found["transitions"])["Flow_yes"]["condition"] == "approved == true && amount < 10000"
    late = by_id(found["events"])["Boundary_late"]
    assert (late["attached_to"], late["interrupting"], late["timer"]) == ("Task_approve", False, {"duration": "P3D"})
    assert by_id(found["lanes"])["Lane_boss"]["elements"] == ["Task_approve"]
    assert found["description"] == "송장을 받아 검토하고 지급한다." and found["process_definition_name"] == "송장 처리"
    assert found["diagram"]["shapes"]["Gateway_ok"] == {"bounds": [615, 355, 50, 50], "marker": True,
                                                         "label": [609, 331, 63, 14]}  # fmt: skip
    assert found["diagram"]["edges"]["Flow_1"]["points"] == [[248, 380], [300, 380]]


UNTIL = (
    "fn.feel('numberOfCompletedInstances >= 2', {\"numberOfCompletedInstances\": numberOfCompletedInstances}) == true"
)


def test_several_instances_calls_and_feel() -> None:
    """P-X.25, P-X.4: multi-instance with its collection, a call by its process, conditions in FEEL."""
    found = data((ROOT / "tests/bpmn/camunda8.bpmn").read_bytes())
    activities = by_id(found["activities"])
    assert activities["pick"]["multi"] == {
        "mode": "parallel", "until": UNTIL, "items": "items", "item": "line",
        "collect": "picked", "output": "done",
    }  # fmt: skip
    assert activities["pick_task"]["parent"] == "pick" and activities["pick_task"]["due"] == "PT4H"
    assert activities["abroad"]["orchestration"] == {"sub_process": "ship-abroad", "output": {}}
    condition = compile_expression(by_id(found["transitions"])["f7"]["condition"], words=True)
    assert [
        condition.run({"country": country, "express": express})
        for country, express in (("US", False), ("KR", False), ("US", True), (5, False), (None, None))
    ] == [True, False, False, False, True]  # `not` of a comparison, with null as FEEL has it
    assert [one["name"] for one in found["pools"]] == ["쇼핑몰", "고객"]


def test_events_that_wait_and_compensation() -> None:
    """P-X.18: an association joins a compensation event with its handler; messages and errors by their names."""
    found = data((ROOT / "tests/bpmn/flowable.bpmn20.xml").read_bytes())
    assert by_id(found["events"])["undo_hotel_event"]["activity"] == "cancel_hotel"
    assert by_id(found["activities"])["cancel_hotel"]["is_for_compensation"] is True
    assert by_id(found["activities"])["fill"]["role"] == "initiator"
    found = data((ROOT / "tests/bpmn/signavio.bpmn").read_bytes())
    assert by_id(found["events"])["sid-paid"]["message"] == "payment.received"
    assert by_id(found["events"])["sid-broken"]["code"] == "OUT_OF_STOCK"
    assert by_id(found["gateways"])["sid-wait"]["type"] == "eventBasedGateway"


def test_a_task_receives_the_message_that_it_refers_to() -> None:
    """P-X.25: by the name of the message, not by its own; without a reference its own name is the message's."""
    message = '<bpmn:message id="m1" name="payment.received"/></bpmn:definitions>'
    tasks = '<bpmn:receiveTask id="a" name="Wait" messageRef="m1"/><bpmn:sendTask id="b" name="Tell"/>'
    activities = by_id(data(bpmn(tasks).replace(b"</bpmn:definitions>", message.encode()))["activities"])
    assert (activities["a"]["message"], activities["b"]["message"]) == ("payment.received", "Tell")


def test_elements_of_others_between_ours_hide_nothing() -> None:
    """P-X.25: what a modeler puts among the elements of a process is passed over, and what follows is read."""
    tasks = '<bpmn:task id="a"/><x:grid xmlns:x="urn:x" size="10"/><bpmn:task id="b"/>'
    assert list(by_id(data(bpmn(tasks))["activities"])) == ["a", "b"]


@pytest.mark.parametrize("element", ["group", "textAnnotation", "dataObject", "dataStoreReference", "property"])
def test_what_is_only_drawn_or_noted_goes_along(element: str) -> None:
    """P-X.25, P-2.3.1: it changes nothing in how a process runs, and stands in the file that is written."""
    read = data(bpmn(f'<bpmn:{element} id="note"/><bpmn:task id="a"/>'))
    assert "unsupported" not in read and f'<bpmn:{element} id="note"' in write_bpmn(read)


def test_a_compensation_that_names_its_activity_comes_back() -> None:
    """P-X.18, P-2.3.1: thrown for one activity and not for all; the file that is written says which."""
    inner = (
        '<bpmn:serviceTask id="book"/><bpmn:intermediateThrowEvent id="undo">'
        '<bpmn:compensateEventDefinition id="c" activityRef="book"/></bpmn:intermediateThrowEvent>'
    )
    read = data(bpmn(inner))
    assert by_id(read["events"])["undo"]["activity"] == "book"
    text = write_bpmn(read)
    assert 'activityRef="book"' in text and by_id(data(text.encode())["events"]) == by_id(read["events"])


def test_what_bpmn_has_a_place_for_is_written_there_only() -> None:
    """P-2.3.1: a lane that has nothing of ours gets no extension; one that has, gets that and nothing else."""
    lane = {"id": "l1", "name": "창구", "elements": ["receive"]}
    plain, _, rest = write_bpmn({**SEED, "lanes": [lane]}).partition("<bpmn:laneSet")[2].partition("</bpmn:laneSet>")
    assert rest and "l1" in plain and "extensionElements" not in plain
    written = write_bpmn({**SEED, "lanes": [{**lane, "color": "blue"}]})
    assert by_id(data(written.encode())["lanes"])["l1"] == {**lane, "color": "blue"}
    assert "extensionElements" in written.partition("<bpmn:laneSet")[2].partition("</bpmn:laneSet>")[0]


@pytest.mark.parametrize(("text", "read"), [
    ("${a == b}", "a == b"), ("#{ok}", "ok"), ("a > 1", "a > 1"), ("=ok", "ok == true"),
    ("=a.b", """fn.feel('a.b', {"a": a}) == true"""),
    ("= x = 1 and y = 2", """fn.feel('x = 1 and y = 2', {"x": x, "y": y}) == true"""),
    ('= name = "a and b = c" or not(ok)',
     """fn.feel('name = "a and b = c" or not(ok)', {"name": name, "ok": ok}) == true"""),
])  # fmt: skip
def test_expressions_of_other_modelers(text: str, read: str) -> None:
    """P-X.9: one expression language; what others wrap is unwrapped, FEEL is evaluated as FEEL, and a condition that is
    null is not met."""
    assert expression(text, condition=True) == read


def test_a_timer_may_be_an_expression() -> None:
    """P-X.25: a time is text, unless the file marks it as an expression; then it stays one."""
    inner = '<bpmn:startEvent id="s"/><bpmn:intermediateCatchEvent id="w"><bpmn:timerEventDefinition>'
    inner += "<bpmn:timeDuration>{}</bpmn:timeDuration></bpmn:timerEventDefinition></bpmn:intermediateCatchEvent>"
    for said, read in (("PT5M", "PT5M"), ("${wait}", "${wait}"), ("=wait", "${wait}")):
        assert by_id(data(bpmn(inner.replace("{}", said)))["events"])["w"]["timer"] == {"duration": read}


def test_a_script_is_python_or_nobodys() -> None:
    """P-X.25: the body of a scriptTask is python_code only when it says that it is Python."""
    inner = (
        '<bpmn:scriptTask id="s" name="S" scriptFormat="{}"><bpmn:script>result = {{}}</bpmn:script></bpmn:scriptTask>'
    )
    assert data(bpmn(inner.format("python")))["activities"][0]["python_code"] == "result = {}"
    found = check_document(bpmn(inner.format("groovy")), name="x.bpmn")[1]
    assert [one.rule for one in found if "groovy" in one.message] == ["bpmn_not_supported"]


@pytest.mark.parametrize(("element", "said"), [
    ('<bpmn:subChoreography id="x" name="섞임"/>', "choreography"),
    ('<bpmn:intermediateCatchEvent id="x" name="섞임"><bpmn:errorEventDefinition/></bpmn:intermediateCatchEvent>',
     "catch event with the trigger error"),
])  # fmt: skip
def test_what_is_not_run_is_refused_by_name(element: str, said: str) -> None:
    """P-X.25: only elements outside the list are a finding, which names the element and its line."""
    raw = bpmn(f'<bpmn:task id="a" name="A"/>\n{element}')
    found = [one for one in check_document(raw, name="x.bpmn")[1] if one.rule == "bpmn_not_supported"]
    assert len(found) == 1 and said in found[0].message and "섞임" in found[0].message and found[0].where.line == 2


# ---- what is written -------------------------------------------------------------------------------------------------

SEED = {
    "process_definition_id": "proc_data", "process_definition_name": "데이터 등록 접수", "version": 2,
    "tenant_id": "tenant_001", "type": "base",
    "roles": [{"id": "clerk", "name": "담당자", "assignment_rule": "round_robin"}],
    "data": [{"name": "records", "type": "sql", "source": "erp#SELECT 1", "fields": ["id"]}],
    "activities": [
        {"id": "receive", "name": "데이터 등록서 접수", "type": "humanTask", "role": "clerk", "instruction": "접수"},
        {"id": "verify", "name": "데이터 수치 검증", "type": "serviceTask", "agent_mode": "AUTONOMOUS", "agent": "echo",
         "compensation": {"tool": "delete_result"}, "orchestration": {"timeout_s": 60, "tools": ["erp/*"]}},
    ],
    "gateways": [{"id": "issue", "name": "이슈 있는가?", "type": "exclusiveGateway",
                  "conditions": {"yes": "has_issue == true", "no": "has_issue == false"}}],
    "transitions": [
        {"id": "t1", "source": "receive", "target": "verify"}, {"id": "t2", "source": "verify", "target": "issue"},
        {"id": "yes", "source": "issue", "target": "receive"},
    ],
}  # fmt: skip
STRANGE = {
    "process_definition_id": "프로세스 1", "process_definition_name": "<&\">'",
    "activities": [{"id": "가 나", "name": "a\"b<c>&", "type": "humanTask"},
                   {"id": "1x", "name": "y", "type": "scriptTask", "python_code": "result = {'a': 1 < 2 and ']]>'}"}],
    "transitions": [{"id": "→", "source": "가 나", "target": "1x", "condition": "a < 3 && b > \"x\""}],
}  # fmt: skip


@pytest.mark.parametrize("one", [SEED, STRANGE], ids=["seed", "strange"])
def test_a_definition_of_the_seed_as_bpmn(one: dict[str, Any]) -> None:
    """P-2.3.1, P-2.2.9: what BPMN has no element for goes along; ids and texts that XML cannot hold come back whole."""
    again = data(write_bpmn(one).encode())
    for name, value in one.items():
        if name != "activities":
            assert again[name] == value, name
    for mine in one["activities"]:
        assert mine.items() <= by_id(again["activities"])[mine["id"]].items()


def test_a_drawing_is_made_where_there_is_none() -> None:
    """P-2.3.1: every element has its place, sub-processes hold theirs, nothing lies on top of another."""
    drawn = data(write_bpmn(SEED).encode())["diagram"]
    assert set(drawn["shapes"]) == {"receive", "verify", "issue"} and set(drawn["edges"]) == {"t1", "t2", "yes"}
    boxes = [one["bounds"] for one in drawn["shapes"].values()]
    for n, a in enumerate(boxes):
        for b in boxes[n + 1 :]:
            assert a[0] + a[2] <= b[0] or b[0] + b[2] <= a[0] or a[1] + a[3] <= b[1] or b[1] + b[3] <= a[1]
    inside = {"process_definition_id": "p", "process_definition_name": "P", "activities": [
        {"id": "s", "name": "S", "type": "subProcess"},
        *({"id": id, "name": id, "type": "humanTask", "parent": "s"} for id in "ab"),
    ]}  # fmt: skip
    shapes = data(write_bpmn(inside).encode())["diagram"]["shapes"]
    outer, inner = shapes["s"]["bounds"], shapes["a"]["bounds"]
    assert shapes["s"]["expanded"] and outer[0] < inner[0] and inner[0] + inner[2] < outer[0] + outer[2]


TEXT = st.text(st.characters(exclude_categories=("Cs",), exclude_characters="\0"), max_size=20)


@settings(max_examples=150, deadline=None)
@given(st.lists(st.tuples(TEXT, st.sampled_from(["humanTask", "serviceTask"]), TEXT), min_size=1, max_size=5), TEXT)
def test_any_text_comes_back(entries: list[tuple[str, str, str]], name: str) -> None:
    """P-X.25: whatever people write in names and instructions; what XML cannot hold at all is left out."""
    activities = [
        {"id": f"a{n}", "name": title or "-", "type": kind, "instruction": text}
        for n, (title, kind, text) in enumerate(entries)
    ]
    one = {"process_definition_id": "p", "process_definition_name": name or "-", "activities": activities}
    again = by_id(data(write_bpmn(one).encode())["activities"])
    for mine in activities:
        assert again[mine["id"]].get("instruction", "") == mine["instruction"]


# ---- bad and hostile files -------------------------------------------------------------------------------------------

LAUGHS = (
    '<!DOCTYPE d [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;">]>'
    + HEAD
    + "<bpmn:process/></bpmn:definitions>"
)


@pytest.mark.parametrize(("raw", "why"), [
    (LAUGHS.encode(), "DOCTYPE"),
    (b'<!DOCTYPE x SYSTEM "file:///etc/passwd"><x/>', "DOCTYPE"),
    (b"<a>" * 10_000 + b"</a>" * 10_000, "deep"),
    (b"<a>" + b"<b/>" * 70_000 + b"</a>", "more than"),
    (b"<a " + b" ".join(b'x%d="1"' % n for n in range(300)) + b"/>", "attributes"),
    (b"<definitions/>", "not <definitions> of BPMN"),
    (b"<a><b></a>", "not well-formed"),
    ((HEAD + "</bpmn:definitions>").encode(), "no <process>"),
    ("<a>한글</a>".encode("euc-kr"), "UTF-8"),
    ("<a/>".encode("utf-16"), "UTF-16"),
    (bpmn("<bpmn:task id='a'><bpmn:extensionElements><s:settings xmlns:s='urn:penstock:bpmn:1'>{</s:settings>"
          "</bpmn:extensionElements></bpmn:task>"), "no JSON"),
])  # fmt: skip
def test_hostile_files_are_refused_with_their_place(raw: bytes, why: str) -> None:
    """P-X.25: entity expansion is off; depth, width and size are bounded; a reason and a place, never a traceback."""
    with pytest.raises(DocumentUnreadable) as refused:
        read_document(raw, name="x.bpmn")
    assert why in str(refused.value)


SETTINGS = "<bpmn:extensionElements><s:settings xmlns:s='urn:penstock:bpmn:1'>%s</s:settings></bpmn:extensionElements>"


@pytest.mark.parametrize(
    "text", ['{"a":' * 900 + "1" + "}" * 900, r'{"name": "x\u0000"}', r'{"id": "\ud800"}', "{", "NaN"]
)
def test_what_a_file_says_of_ours_is_read_as_strictly_as_json(text: str) -> None:
    """P-X.25, P-X.1: nothing comes in through an extension element that a JSON document could not bring."""
    _, found = check_document(bpmn(f'<bpmn:task id="A">{SETTINGS % text}</bpmn:task>'), name="file.bpmn")
    assert [one.rule for one in found] == ["PS-400-DOCUMENT"] and "penstock:settings" in found[0].message


@pytest.mark.parametrize(
    ("inner", "rule"),
    [
        (f"{SETTINGS % '{&quot;roles&quot;: [5]}'}<bpmn:task id='A' c:assignee='kim'/>", "wrong_type"),
        (f"<bpmn:task id='A'>{SETTINGS % '{&quot;id&quot;: [1]}'}</bpmn:task>", "bad_id"),
        (f"<bpmn:task id='A'><bpmn:standardLoopCharacteristics loopMaximum='{'9' * 5000}'/></bpmn:task>", "wrong_type"),
    ],
    ids=["roles", "id", "loopMaximum"],
)
def test_settings_of_any_shape(inner: str, rule: str) -> None:
    """P-X.25: told as in a JSON document, never raised."""
    raw = bpmn(inner).replace(b' id="d"', b' id="d" xmlns:c="http://camunda.org/schema/1.0/bpmn"', 1)
    assert rule in [one.rule for one in check_document(raw, name="file.bpmn")[1]]


def test_a_huge_file_is_not_looked_at() -> None:
    with pytest.raises(DocumentTooLarge):
        read_document(b"<a>" + b"x" * (50 * 1024 * 1024), name="x.bpmn")


@pytest.mark.parametrize(("inner", "rule"), [
    ('<bpmn:task id="a" name="A"/><bpmn:sequenceFlow id="f" sourceRef="a" targetRef="nowhere"/>', "flow_to_nowhere"),
    ('<bpmn:task id="a" name="A"/><bpmn:task id="a" name="B"/>', "duplicate_id"),
    ('<bpmn:task id="a" name="A"/><bpmn:sequenceFlow id="f" sourceRef="a" targetRef="a"/>', "no_start"),
    (('<bpmn:boundaryEvent id="b" attachedToRef="zzz"><bpmn:timerEventDefinition/></bpmn:boundaryEvent>'
     '<bpmn:task id="a"/>'), None),
    (('<bpmn:task id="a"/><bpmn:exclusiveGateway id="g"/><bpmn:task id="b"/><bpmn:task id="c"/>'
     '<bpmn:sequenceFlow id="1" sourceRef="a" targetRef="g"/><bpmn:sequenceFlow id="2" sourceRef="g" targetRef="b"/>'
     '<bpmn:sequenceFlow id="3" sourceRef="g" targetRef="c"/>'), None),
    ("", None),
])  # fmt: skip
def test_broken_processes_name_the_element(inner: str, rule: str | None) -> None:
    """P-X.35, P-X.10: unknown ids, flows to nowhere, doubled ids, gateways without conditions, no start at all."""
    findings = [one for one in check_document(bpmn(inner), name="x.bpmn")[1] if one.severity == "error"]
    assert findings and all(one.hint and one.where.line == 1 for one in findings)
    assert rule is None or rule in {one.rule for one in findings}, findings


def test_two_starts() -> None:
    """P-X.35: several activities without a way in begin side by side; two start events are told, both by name."""
    assert compile_document(bpmn('<bpmn:task id="a"/><bpmn:task id="b"/>'), name="x.bpmn").language == "process"
    inner = '<bpmn:startEvent id="s"/><bpmn:startEvent id="t"/><bpmn:task id="a"/>'
    for n, start in enumerate("st"):
        inner += f'<bpmn:sequenceFlow id="f{n}" sourceRef="{start}" targetRef="a"/>'
    (found,) = [one for one in check_document(bpmn(inner), name="x.bpmn")[1] if one.rule == "several_starts"]
    assert found.severity == "warning" and "«s», «t»" in found.message


def test_places_are_those_of_the_file() -> None:
    """P-X.25: a finding about a condition names the line on which the condition stands."""
    text = bpmn(
        '\n<bpmn:task id="a"/>\n<bpmn:exclusiveGateway id="g"/>\n<bpmn:task id="b"/>\n'
        '<bpmn:sequenceFlow id="1" sourceRef="a" targetRef="g"/>\n'
        '<bpmn:sequenceFlow id="2" sourceRef="g" targetRef="b">\n'
        "<bpmn:conditionExpression>x ==</bpmn:conditionExpression></bpmn:sequenceFlow>\n"
    )
    found = [one for one in check_document(text, name="x.bpmn")[1] if one.severity == "error"]
    assert found[0].where.line == 7
    value, mark = read_bpmn(text.decode())
    assert value["activities"][1]["id"] == "b" and mark.items["activities"][2].items[1].line == 4  # type: ignore[index,call-overload]
