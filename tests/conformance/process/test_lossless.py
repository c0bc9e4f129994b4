"""A changed definition in the text of its file: the change at its place, everything else byte for byte."""

from __future__ import annotations

import copy
import difflib
import random
from pathlib import Path
from typing import Any

import msgspec
import pytest

from penstock.app.process.definitions import Processes
from penstock.lang.process.bpmn.writer import write_bpmn
from penstock.lang.process.drawing import Drawing, read_drawing, write_drawing
from tests.conformance.process.running import Office, awaited

ROOT = Path(__file__).resolve().parents[3]
FILES = sorted((ROOT / "tests/bpmn").glob("*.*"))
SPACES = (
    'xmlns="http://www.omg.org/spec/BPMN/20100524/MODEL" xmlns:di="http://www.omg.org/spec/BPMN/20100524/DI" '
    'xmlns:dc="http://www.omg.org/spec/DD/20100524/DC" xmlns:omg="http://www.omg.org/spec/DD/20100524/DI" '
    'xmlns:v="urn:vendor"'
)
SETTINGS = '<penstock:settings xmlns:penstock="urn:penstock:bpmn:1">'
SOURCE = f"""\ufeff<?xml version='1.0' encoding='utf-8' standalone="no"?>
<?tool keep="this"?>
<!-- drawn & kept -->
<definitions targetNamespace='t'   {SPACES}
    id="d">
  <import importType="x" location="y" namespace="z"/>
  <itemDefinition id="item" structureRef="xs:string"/>
  <dataStore id="store" name="Files"/>
  <category id="cat"><categoryValue id="cv" value="slow"/></category>
  <process id="p" name="Order" v:color='red'>
    <!-- the first -->
    <ioSpecification id="io"><inputSet/><outputSet/></ioSpecification>
    <property id="prop"/>
    <startEvent name="Start" id="s"><outgoing>f1</outgoing></startEvent>
    <task v:rank="1" id="a" name="Look &#38; see"><documentation><![CDATA[a < b]]></documentation>
      <extensionElements><v:size w="2.50"/></extensionElements>
      <incoming>f1</incoming><outgoing>f2</outgoing></task>
    <exclusiveGateway id="g" name="Fine?" />
    <intermediateCatchEvent id="w"><timerEventDefinition id="td"/></intermediateCatchEvent>
    <endEvent id="e"/>
    <sequenceFlow id="f1" sourceRef="s" targetRef="a"/>
    <sequenceFlow id="f2" sourceRef="a" targetRef="g"/>
    <sequenceFlow id="yes" name="yes" sourceRef="g" targetRef="w">
      <conditionExpression><![CDATA[amount < 5]]></conditionExpression>
    </sequenceFlow>
    <sequenceFlow id="no" sourceRef="g" targetRef="e"/>
    <sequenceFlow id="f3" sourceRef="w" targetRef="e"/>
    <dataObjectReference id="dor" dataObjectRef="do"/><dataObject id="do"/>
    <textAnnotation id="note"><text>as it is</text></textAnnotation>
    <association id="as" sourceRef="a" targetRef="note"/>
  </process>
  <di:BPMNDiagram id="one"><di:BPMNPlane bpmnElement="p">
    <di:BPMNShape bpmnElement="a" id="a_di"><dc:Bounds x="100.50" y="1e2" width="100" height="80"/></di:BPMNShape>
    <di:BPMNShape bpmnElement="g"><dc:Bounds x="0" y="0" width="50" height="50"/></di:BPMNShape>
    <di:BPMNEdge bpmnElement="f2"><omg:waypoint x="1" y="2"/><omg:waypoint x="3" y="4.250"/>
      <di:BPMNLabel labelStyle="ls"/></di:BPMNEdge>
  </di:BPMNPlane><di:BPMNLabelStyle id="ls"><dc:Font name="Arial" size="11.00"/></di:BPMNLabelStyle></di:BPMNDiagram>
</definitions>
""".replace("\n", "\r\n")


def read(text: str = SOURCE) -> Drawing:
    return read_drawing(text, "p.bpmn")


def edited(drawing: Drawing, changes: Any) -> Drawing:
    definitions = copy.deepcopy(drawing.definitions)
    changes(definitions[0])
    return msgspec.structs.replace(drawing, definitions=definitions)


def by_id(data: dict[str, Any], collection: str) -> dict[str, dict[str, Any]]:
    return {entry["id"]: entry for entry in data[collection]}


def content(data: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in data.items() if name != "extensions"}


def written(changes: Any, source: str = SOURCE) -> tuple[list[str], list[str]]:
    """The lines that are gone and those that are new, after what is read again was compared with what was changed."""
    changed = edited(read(source), changes)
    text = write_drawing(changed)
    again = read(text)
    assert [content(data) for data in again.definitions] == [content(data) for data in changed.definitions]
    assert write_drawing(again) == text
    lines = list(difflib.ndiff(source.splitlines(keepends=True), text.splitlines(keepends=True)))
    gone, new = ([line[2:] for line in lines if line.startswith(mark)] for mark in "-+")
    assert all(line.endswith("\r\n") for line in [*gone, *new])
    return [line.strip() for line in gone], [line.strip() for line in new]


def change(collection: str, id: str, **fields: Any) -> Any:
    return lambda data: by_id(data, collection)[id].update(fields)


def test_only_a_condition_changes() -> None:
    """P-X.25, P-2.3.1: where it stands; of a flow that has none, inside it, in the words of the file."""
    assert written(change("transitions", "yes", condition="amount < 10")) == (
        ["<conditionExpression><![CDATA[amount < 5]]></conditionExpression>"],
        ["<conditionExpression><![CDATA[amount < 10]]></conditionExpression>"],
    )
    gone, new = written(change("transitions", "no", condition='amount >= 5 && "a"'))
    assert gone == ['<sequenceFlow id="no" sourceRef="g" targetRef="e"/>']
    xsi = 'xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" xsi:type="tFormalExpression"'
    assert new == [
        '<sequenceFlow id="no" sourceRef="g" targetRef="e">',
        f'<conditionExpression {xsi}>amount &gt;= 5 &amp;&amp; "a"</conditionExpression>', "</sequenceFlow>",
    ]  # fmt: skip
    assert written(lambda data: by_id(data, "transitions")["yes"].pop("condition")) == (
        ["<conditionExpression><![CDATA[amount < 5]]></conditionExpression>"], [],
    )  # fmt: skip


def test_a_default_and_names_are_attributes() -> None:
    """P-X.9, P-X.25: set where there was none, at its place where there was one."""
    assert written(change("gateways", "g", default="no")) == (
        ['<exclusiveGateway id="g" name="Fine?" />'], ['<exclusiveGateway id="g" name="Fine?" default="no" />'],
    )  # fmt: skip
    assert written(change("events", "s", name='"Go" & <on>'))[1] == [
        """<startEvent name='"Go" &amp; &lt;on&gt;' id="s"><outgoing>f1</outgoing></startEvent>"""
    ]
    assert written(lambda data: data.update(process_definition_name="주문"))[1] == [
        """<process id="p" name="주문" v:color='red'>"""
    ]


def test_a_gateway_becomes_another() -> None:
    """P-2.2.7, P-2.3.1: an element of that name, which other tools draw as it is run."""
    assert written(change("gateways", "g", type="parallelGateway")) == (
        ['<exclusiveGateway id="g" name="Fine?" />'], ['<parallelGateway id="g" name="Fine?" />'],
    )  # fmt: skip
    chosen = SOURCE.replace('name="Fine?" />', 'name="Fine?" default="no"><outgoing>no</outgoing></exclusiveGateway>')
    _, new = written(change("gateways", "g", type="inclusiveGateway", default="yes"), chosen)
    assert new == ['<inclusiveGateway id="g" name="Fine?" default="yes"><outgoing>no</outgoing></inclusiveGateway>']
    _, new = written(change("gateways", "g", type="parallelGateway"), chosen)
    assert new[0].startswith('<parallelGateway id="g" name="Fine?"><extensionElements>') and '"default": "no"' in new[0]
    _, new = written(change("gateways", "g", type="inclusiveGateway", ask={"who": "initiator"}))
    assert new[0] == '<inclusiveGateway id="g" name="Fine?">' and new[-1] == "</inclusiveGateway>"


def test_a_task_becomes_another() -> None:
    """P-X.25, P-2.3.1: where it has nothing that only one kind of task has."""
    source = SOURCE.replace("</process>", '<serviceTask id="x" name="X" operationRef="o"/><sendTask id="y"/></process>')
    both = {"bpmn": "userTask", "type": "humanTask"}
    _, new = written(lambda data: [by_id(data, "activities")[id].update(both) for id in "axy"], source)
    assert new[0].startswith('<userTask v:rank="1" id="a" name="Look &#38; see"><documentation><![CDATA[a < b]]>')
    assert '<serviceTask id="x" name="X" operationRef="o">' in "".join(new) and '<userTask id="y"' in "".join(new)


def test_a_timer_gets_its_value() -> None:
    """P-X.25: as the element that BPMN has for it."""
    gone, new = written(change("events", "w", timer={"duration": "PT5M"}))
    assert len(gone) == 1 and new[0].startswith(
        '<intermediateCatchEvent id="w"><timerEventDefinition id="td"><timeDuration xmlns:xsi='
    )
    assert ">PT5M</timeDuration></timerEventDefinition></intermediateCatchEvent>" in new[-1]


def test_other_fields_go_into_the_extension_of_the_element() -> None:
    """P-2.3.1: added to a modeler's own, created where there is none, replaced the next time."""
    assert written(change("activities", "a", role="clerk")) == (
        ['<extensionElements><v:size w="2.50"/></extensionElements>'],
        [f'<extensionElements><v:size w="2.50"/>{SETTINGS}{{"role": "clerk"}}</penstock:settings></extensionElements>'],
    )
    _, new = written(change("gateways", "g", ask={"who": "initiator", "choices": {"yes": "예\x01"}}))
    assert new == [
        '<exclusiveGateway id="g" name="Fine?">', "<extensionElements>",
        f'{SETTINGS}{{"ask": {{"choices": {{"yes": "예\\u0001"}}, "who": "initiator"}}}}</penstock:settings>',
        "</extensionElements>", "</exclusiveGateway>",
    ]  # fmt: skip
    documented = 'name="Fine?"><documentation>Or not</documentation></exclusiveGateway>'
    described = SOURCE.replace('name="Fine?" />', documented)
    _, new = written(change("gateways", "g", ask={"who": "initiator"}), described)
    assert "</documentation><extensionElements>" in new[0], "the order of the standard's schema"
    first = write_drawing(edited(read(), change("activities", "a", role="clerk", form={"type": "object"})))
    second = write_drawing(edited(read(first), change("activities", "a", role="boss")))
    assert second == first.replace("clerk", "boss")
    third = write_drawing(edited(read(second), lambda data: by_id(data, "activities")["a"].pop("role")))
    assert "boss" not in third and "role" not in by_id(read(third).definitions[0], "activities")["a"]


def test_top_level_fields_go_into_the_extension_of_the_process() -> None:
    """P-2.2.9, P-2.3.1: roles, who may start it, another id."""

    def changes(data: dict[str, Any]) -> None:
        data |= {"roles": [{"id": "r", "name": "R"}], "process_definition_id": "주문 1", "description": "Long."}
        data["diagram"]["element"] = "주문 1"  # the plane shows the process

    _, new = written(changes)
    assert new[0] == "<documentation>Long.</documentation>"
    assert new[2].startswith(f'{SETTINGS}{{"id": "주문 1", "roles": [') and len(new) == 4


def test_what_is_removed_is_cut_with_its_shape() -> None:
    """P-2.3.1: and with whatever would refer to nothing."""

    def without_task(data: dict[str, Any]) -> None:
        data["activities"].clear()
        data["transitions"] = [flow for flow in data["transitions"] if flow["id"] not in ("f1", "f2")]
        del data["activities"], data["diagram"]

    text = write_drawing(edited(read(), without_task))
    assert 'id="a"' not in text and '"f2"' not in text and "<outgoing>" not in text and 'id="as"' not in text
    assert "as it is" in text and 'bpmnElement="g"' in text and "<!-- the first -->" in text
    assert write_drawing(read(text)) == text


def test_what_is_added_stands_among_the_elements() -> None:
    """P-2.3.1: before annotations, inside its sub-process, with its shape where the diagram has one."""

    def with_block(data: dict[str, Any]) -> None:
        data["activities"] += [
            {"id": "sub", "name": "Sub", "type": "subProcess", "bpmn": "subProcess"},
            {"id": "in", "name": "In", "type": "humanTask", "bpmn": "userTask", "parent": "sub", "role": "clerk"},
        ]
        data["transitions"].append({"id": "f4", "source": "a", "target": "sub"})
        data["diagram"]["shapes"]["sub"] = {"bounds": [1.5, 2, 30, 40], "expanded": True}

    gone, new = written(with_block)
    assert not gone and new[:2] == ['<subProcess id="sub" name="Sub">', '<userTask id="in" name="In">']
    assert '<sequenceFlow id="f4" sourceRef="a" targetRef="sub" />' in new
    assert '<di:BPMNShape id="sub_di" bpmnElement="sub" isExpanded="true">' in new
    assert '<dc:Bounds x="1.5" y="2" width="30" height="40" />' in new
    text = write_drawing(edited(read(), with_block))
    assert text.index('id="f4"') < text.index("<textAnnotation")


def test_an_element_goes_as_it_is_into_another_sub_process() -> None:
    """P-2.3.1: with all that its modeler has put into it."""

    def into_block(data: dict[str, Any]) -> None:
        data["activities"].append({"id": "sub", "name": "Sub", "type": "subProcess", "bpmn": "subProcess"})
        by_id(data, "activities")["a"]["parent"] = "sub"

    text = write_drawing(edited(read(), into_block))
    task = SOURCE[SOURCE.index("<task") : SOURCE.index("</task>") + 7]
    assert task in text[text.index("<subProcess") : text.index("</subProcess>")] and text.count(task) == 1
    assert by_id(read(text).definitions[0], "activities")["a"]["parent"] == "sub"


def test_a_flow_that_is_led_elsewhere_leaves_its_ends() -> None:
    """P-X.25, P-2.3.1: the elements that it has joined do not name it any more; the others keep their lines."""
    gone, new = written(change("transitions", "f2", source="s", target="w"))
    assert "<incoming>f1</incoming></task>" in new and "<outgoing>f2</outgoing>" not in "".join(new)
    assert '<sequenceFlow id="f2" sourceRef="s" targetRef="w"/>' in new and len(gone) == 2


def test_only_the_numbers_of_what_is_moved_change() -> None:
    """P-2.3.1: others keep their digits."""

    def moved(data: dict[str, Any]) -> None:
        data["diagram"]["shapes"]["a"]["bounds"] = [100.5, 120.125, 100, 80]
        data["diagram"]["edges"]["f2"]["points"] = [[1, 2], [3, 4.25], [5, 6]]

    gone, new = written(moved)
    assert new[0] == '<di:BPMNShape bpmnElement="a" id="a_di"><dc:Bounds x="100.50" y="120.125" width="100" height="80"/></di:BPMNShape>'  # noqa: E501
    assert '<omg:waypoint x="5" y="6" />' in "".join(new) and len(gone) <= 2


def test_another_order_is_kept() -> None:
    """P-X.9: the order of flows is the order in which they are asked."""
    gone, new = written(lambda data: data["transitions"].reverse())
    assert not gone and '"$order": {"transitions": ["f3", "no", "yes", "f2", "f1"]}' in "".join(new)


def test_processes_that_did_not_change_stay() -> None:
    """P-X.6: one of two."""
    second = '  <process id="q"><task id="b" name="B"/></process>\r\n</definitions>'
    source = SOURCE.replace("</definitions>", second)
    drawing = read(source)
    text = write_drawing(edited(drawing, change("activities", "a", name="New")))
    assert text == source.replace('name="Look &#38; see"', 'name="New"')
    other = drawing.definitions[1] | {"process_definition_name": "Q"}
    text = write_drawing(msgspec.structs.replace(drawing, definitions=(drawing.definitions[0], other)))
    assert text == source.replace('<process id="q">', '<process id="q" name="Q">')


def test_two_processes_add_the_same_message() -> None:
    """P-X.6: it is declared once, and both send and receive it."""
    event = '<endEvent id="{}"><messageEventDefinition/></endEvent>'
    second = f'<process id="q">{event.format("q1")}</process>\r\n</definitions>'
    drawing = read(SOURCE.replace("  </process>", f"{event.format('p1')}</process>").replace("</definitions>", second))
    definitions = copy.deepcopy(drawing.definitions)
    for data in definitions:
        data["messages"] = [{"id": "m", "name": "Paid"}]
        data["events"][-1]["name_ref"] = "m"
        data["events"].append({"id": f"new_{data['process_definition_id']}", "name": "", "position": "throw",
                               "trigger": "message", "message": "Paid"})  # fmt: skip
    text = write_drawing(msgspec.structs.replace(drawing, definitions=definitions))
    again = read(text)
    assert [content(data) for data in again.definitions] == [content(data) for data in definitions]
    assert text.count("<message ") == 1 and write_drawing(again) == text


NAMES = ("a", 'x > 3 && b == "q"', "한글 <&>", "  pad ", "${x}", "=a.b", "two\nlines", "tab\t", "]]>", "\x01", "'\"")


def any_change(dice: random.Random, data: dict[str, Any]) -> None:
    """One change of any kind, sensible or not."""
    collections = [name for name in ("activities", "gateways", "events", "transitions") if data.get(name)]
    collection = dice.choice(collections)
    entry = dice.choice(data[collection])
    ends = [end["id"] for name in collections if name != "transitions" for end in data[name]]
    kind = dice.randrange(10)
    if kind == 0:
        entry[dice.choice(("name", "documentation", "role", "strange"))] = dice.choice((*NAMES, None, [1], {"a": 2.5}))
    elif kind == 1:
        entry.pop(dice.choice([name for name in entry if name != "id"]), None)
    elif kind == 2:
        data[collection].remove(entry)
        if not data[collection]:
            del data[collection]
    elif kind == 3:
        data.setdefault("activities", []).append({"id": f"n{dice.random()}", "name": "N", "type": "humanTask"})
    elif kind == 4 and ends:
        flow = {"id": f"새 {dice.random()}", "source": dice.choice(ends), "target": dice.choice(ends)}
        data.setdefault("transitions", []).append(flow | {"condition": dice.choice(NAMES)})
    elif kind == 5:
        dice.shuffle(data[collection])
    elif kind == 6:
        data[dice.choice(("roles", "description", "strange", "pools", "messages"))] = [dice.choice(NAMES)]
    elif kind == 8 and data.get("gateways"):
        kinds = ("exclusiveGateway", "inclusiveGateway", "parallelGateway", "eventBasedGateway")
        dice.choice(data["gateways"])["type"] = dice.choice(kinds)
    elif kind == 7 and data.get("activities"):
        block = {"id": f"b{dice.random()}", "name": "B", "type": "subProcess"}
        dice.choice(data["activities"])["parent"] = block["id"]
        data["activities"].append(block)
    else:
        entry["timer"] = {dice.choice(("duration", "cycle", "date")): dice.choice(NAMES)}


@pytest.mark.parametrize("file", FILES, ids=[file.name for file in FILES])
@pytest.mark.parametrize("seed", range(12))
def test_any_change_is_read_as_it_was_made(file: Path, seed: int) -> None:
    """P-X.25, P-2.3.1: whatever is changed, the text says it, and a second writing is byte-equal to the first."""
    dice, drawing = random.Random(f"{file.name} {seed}"), read_drawing(file.read_bytes(), file.name)

    def changes(data: dict[str, Any]) -> None:
        for _ in range(3):
            any_change(dice, data)

    changed = edited(drawing, changes)
    for data in changed.definitions:
        data.pop("diagram", None)
    text = write_drawing(changed)
    again = read_drawing(text, file.name)
    for new, wanted in zip(again.definitions, changed.definitions, strict=True):
        new.pop("diagram", None)
        assert content(new) == content(wanted)
    assert write_drawing(again) == write_drawing(changed) == text


@awaited
async def test_a_new_version_changes_the_file_of_the_one_before(tmp_path: Path) -> None:
    """P-2.3.1: a definition that is changed as JSON keeps the file that it was brought as."""
    source = (ROOT / "tests/bpmn/camunda7.bpmn").read_bytes()
    async with Office(tmp_path) as office:
        held = Processes(office.p)
        first = (await held.define(b"\xef\xbb\xbf" + source, by="kim")).release
        assert first.bpmn == b"\xef\xbb\xbf" + source
        document = msgspec.json.decode(first.document)
        by_id(document, "transitions")["Flow_yes"]["condition"] = "approved == true && amount < 20000"
        second = (await held.update(first.name, document, by="kim")).release
        before = b"${approved == true &amp;&amp; amount &lt; 10000}"
        after = b"approved == true &amp;&amp; amount &lt; 20000"
        assert second.version == 2 and before in first.bpmn and second.bpmn == first.bpmn.replace(before, after)
        made = {"process_definition_id": "own", "process_definition_name": "Own", "activities": [
            {"id": "a", "name": "A", "type": "humanTask"}]}  # fmt: skip
        own = (await held.define(made, by="kim")).release
        assert own.bpmn == write_bpmn(msgspec.json.decode(own.document)).encode()


def test_definitions_without_a_file_become_one() -> None:
    """P-2.3.1: several of JSON are the processes of one file, read again as they are."""
    first = {"process_definition_id": "a", "process_definition_name": "A",
             "activities": [{"id": "x", "name": "X", "type": "humanTask", "bpmn": "userTask"}]}  # fmt: skip
    second = {"process_definition_id": "둘 째", "process_definition_name": "B", "activities": [
        {"id": "y z", "name": "Y", "type": "humanTask", "bpmn": "userTask", "role": "clerk"}]}  # fmt: skip
    drawing = read_drawing(msgspec.json.encode([first, second]), "both.json")
    assert drawing.source == "" and drawing.definitions == (first, second)
    text = write_drawing(drawing)
    again = read(text).definitions
    assert [{name: data[name] for name in first} for data in again] == [first, second]
    assert write_drawing(read(text)) == text
