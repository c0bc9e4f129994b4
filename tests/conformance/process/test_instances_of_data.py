"""Several instances of an activity from the data of a file, and what is collected of them (BPMN 2.0.2, 10.3.8)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from penstock.kernel import command as C
from penstock.lang.process.bpmn.reader import read_bpmn
from penstock.lang.process.bpmn.writer import write_bpmn
from penstock.net.soundness import verdicts
from tests.conformance.process.make import compiled, event, findings, process, rules, service, task
from tests.conformance.process.running import Office, awaited

HEAD = (
    '<?xml version="1.0"?><definitions xmlns="http://www.omg.org/spec/BPMN/20100524/MODEL" '
    'xmlns:zeebe="http://camunda.org/schema/zeebe/1.0" xmlns:camunda="http://camunda.org/schema/1.0/bpmn">'
)


def in_file(inside: str, more: str = "") -> dict[str, Any]:
    """What the task X of a file is read as."""
    text = f'{HEAD}<process id="p">{more}<userTask id="X">{inside}</userTask></process></definitions>'
    (activity,) = read_bpmn(text)[0]["activities"]
    return dict(activity)


def several(*inside: str) -> str:
    return f"<multiInstanceLoopCharacteristics>{''.join(inside)}</multiInstanceLoopCharacteristics>"


LIST, ITEM = "<loopDataInputRef>din</loopDataInputRef>", '<inputDataItem id="i1" name="order"/>'
INTO = "<dataInputAssociation><sourceRef>{}</sourceRef><targetRef>din</targetRef></dataInputAssociation>"
OUT = "<dataOutputAssociation><sourceRef>dout</sourceRef><targetRef>results</targetRef></dataOutputAssociation>"
NAMED = '<dataObject id="d0" name="orders" isCollection="true"/><dataObjectReference id="ref" dataObjectRef="d0"/>'
IN_A_FILE: dict[str, tuple[str, str, dict[str, Any]]] = {
    "an association with a property": (
        INTO.format("pr") + several(LIST, ITEM), '<property id="pr" name="orders"/>',
        {"items": "orders", "item": "order"}),
    "an association with a data object": (
        INTO.format("ref") + several(LIST, ITEM), NAMED, {"items": "orders", "item": "order"}),
    "the data object itself": (several("<loopDataInputRef>ref</loopDataInputRef>"), NAMED, {"items": "orders"}),
    "a name with a blank": (
        INTO.format("pr") + several(LIST), '<property id="pr" name="our orders"/>',
        {"items": "context.variables['our orders']"}),
    "a transformation": (
        "<dataInputAssociation><sourceRef>pr</sourceRef><targetRef>din</targetRef><transformation>a.b</transformation>"
        "</dataInputAssociation>" + several(LIST), "", {"items": "a.b"}),
    "an expression of an engine": (
        several("<loopDataInputRef>${orders}</loopDataInputRef>"), "", {"items": "orders"}),
    "a name alone": (several("<loopDataInputRef>orders</loopDataInputRef>"), "", {"items": "orders"}),
    "an item that only its id names": (
        several(LIST, '<inputDataItem id="each" name="each one"/>'), "", {"items": "din", "item": "each"}),
    "what is collected": (
        OUT + several(LIST, "<loopDataOutputRef>dout</loopDataOutputRef>", '<outputDataItem id="o" name="verdict"/>'),
        '<dataObjectReference id="results" name="verdicts"/>',
        {"items": "din", "collect": "verdicts", "output": "verdict"}),
    "Camunda 8": (
        several('<extensionElements><zeebe:loopCharacteristics inputCollection="=orders" inputElement="order" '
                'outputCollection="all" outputElement="=verdict"/></extensionElements>'), "",
        {"items": "orders", "item": "order", "collect": "all", "output": "verdict"}),
}  # fmt: skip


@pytest.mark.parametrize("name", IN_A_FILE)
def test_the_list_of_a_file_is_read(name: str) -> None:
    """P-X.25, BPMN 10.3.8: «loopDataInputRef … determine[s] the number of Activity instances, one for each item»; «the
    inputDataItem … is the target of an instance's item»; `loopDataOutputRef` and `outputDataItem` likewise."""
    inside, more, fields = IN_A_FILE[name]
    activity = in_file(inside, more)
    assert activity["multi"] == {"mode": "parallel", **fields}
    written = write_bpmn({"process_definition_id": "p", "process_definition_name": "p", "activities": [activity]})
    (again,) = read_bpmn(written)[0]["activities"]
    assert again["multi"] == activity["multi"]


@pytest.mark.parametrize("mode", ["parallel", "sequential"])
@awaited
async def test_what_is_collected_is_what_the_expression_gives_of_each(tmp_path: Path, mode: str) -> None:
    """P-X.25, BPMN 10.3.8: «outputDataItem»: of the instance's own result, else of its variables; in the order of the
    list, whoever was ready first."""
    multi = {"mode": mode, "items": "orders", "item": "order", "collect": "all",
             "output": "{'order': order, 'ok': verdict == 'yes', 'by': clerk}"}  # fmt: skip
    document = process([task("X", multi=multi), task("Z")], ["X>Z"])
    assert findings(document) == []
    async with Office(tmp_path) as office:
        run = await office.start(document, {"orders": ["a", "b"], "clerk": "lee"})
        for _ in range(2):
            item = next(each for each in reversed(run.items()) if each.status == "TODO")
            answer = {"verdict": "yes" if item.prompt["item"] == "a" else "no", "more": 1}
            await run.p.command(run.id, C.work(item.no, "submit", "kim", answer, None))
            await run.rest()
        assert run.open() == ["Z"] and run.look.variables["all"] == [
            {"order": "a", "ok": True, "by": "lee"}, {"order": "b", "ok": False, "by": "lee"}
        ]  # fmt: skip


OTHERS: dict[str, dict[str, Any]] = {
    "a sub-process": {}, "a transaction": {"bpmn": "transaction"}, "an ad-hoc sub-process": {"ad_hoc": {}},
    "one that listens": {},
}  # fmt: skip


@pytest.mark.parametrize("name", OTHERS)
@awaited
async def test_of_a_sub_process_it_is_read_when_it_ends(tmp_path: Path, name: str) -> None:
    """P-X.25, BPMN 10.3.8: each instance of a sub-process gives something of its own, too; its events still listen."""
    multi = {"mode": "sequential", "items": "['x', 'y']", "item": "of", "collect": "all", "output": "fn.concat(of, n)"}
    elements = [task("S", type="subProcess", multi=multi, **OTHERS[name]), service("A", parent="S"),
                service("B", parent="S"), task("Z")]  # fmt: skip
    ways = ["A>B", "S>Z"]
    if name == "one that listens":
        elements += [task("H", type="subProcess", triggered_by_event=True, parent="S"),
                     event("HS", "start", "signal", signal="news", parent="H"), task("N", parent="H")]  # fmt: skip
        ways.append("HS>N")
    document = process(elements, ways)
    assert rules(document) == []
    assert {each.status for each in verdicts(compiled(document).net, each=True).values()} == {"sound"}
    async with Office(tmp_path, agents={"A": {"n": "1"}, "B": {"n": "2"}}) as office:
        run = await office.start(document)
        while run.open() == ["S.choice"]:
            await run.submit("S.choice", {"choice": ["A"], "finished": True})
        assert run.open() == ["Z"] and run.look.variables["all"] == ["x2", "y2"]


def test_what_cannot_be_read_of_it_is_told() -> None:
    """P-X.25: an expression that is none, and events that are thrown for instances, each with what to write."""
    document = process([task("X", multi={"count": 2, "output": "1 +"})], [])
    assert [(each.rule, each.where.pointer) for each in findings(document)] == [
        ("expression_syntax", "/activities/0/multi/output")
    ]
    text = f'{HEAD}<process id="p"><userTask id="X"><multiInstanceLoopCharacteristics behavior="{{}}"/></userTask>'
    for behavior in ("None", "One", "Complex"):
        data, _ = read_bpmn(text.format(behavior) + "</process></definitions>")
        (told,) = findings(data)
        assert told.rule == "bpmn_not_supported" and "in it the task, and behind the task a throw event" in told.hint
