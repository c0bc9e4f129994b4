"""Drawings that nobody has finished, as files and as drafts of a server."""

from __future__ import annotations

import re
from contextlib import closing
from typing import Any

from tests.api.serving import ROOT, Server
from tests.browser.runs import ADMIN

#: two pools, a gateway without conditions, a timer without a value
FILE = ROOT / "examples/process/purchase_request.bpmn"
TITLE = "구매 요청 처리"
IDS = ("purchase_request", "supply", "purchase_and_supply")

VENDOR = """<?xml version="1.0" encoding="UTF-8"?>
<definitions xmlns="http://www.omg.org/spec/BPMN/20100524/MODEL" xmlns:camunda="http://camunda.org/schema/1.0/bpmn"
  xmlns:bpmndi="http://www.omg.org/spec/BPMN/20100524/DI" xmlns:dc="http://www.omg.org/spec/DD/20100524/DC"
  xmlns:di="http://www.omg.org/spec/DD/20100524/DI" targetNamespace="urn:example" id="d">
  <process id="NAME" name="송장 확인" isExecutable="true">
    <startEvent id="s"/>
    <userTask id="look" name="송장 보기" camunda:assignee="${initiator}" camunda:formKey="embedded:app:forms/invoice.html"/>
    <exclusiveGateway id="right" name="맞나요?"/>
    <serviceTask id="pay" name="송금" camunda:type="external" camunda:topic="pay-invoice"/>
    <endEvent id="paid"/><endEvent id="sent_back"/>
    <sequenceFlow id="f1" sourceRef="s" targetRef="look"/><sequenceFlow id="f2" sourceRef="look" targetRef="right"/>
    <sequenceFlow id="f3" name="네" sourceRef="right" targetRef="pay"/>
    <sequenceFlow id="f4" name="아니요" sourceRef="right" targetRef="sent_back"/>
    <sequenceFlow id="f5" sourceRef="pay" targetRef="paid"/>
  </process>
  <bpmndi:BPMNDiagram id="diagram"><bpmndi:BPMNPlane id="plane" bpmnElement="NAME">SHAPES</bpmndi:BPMNPlane></bpmndi:BPMNDiagram>
</definitions>
"""  # noqa: E501 - a file as a modeler writes it
_PLACES = {
    "s": (100, 102, 36, 36), "look": (180, 80, 100, 80), "right": (330, 95, 50, 50), "pay": (430, 80, 100, 80),
    "paid": (580, 102, 36, 36), "sent_back": (337, 200, 36, 36),
}  # fmt: skip
_FLOWS = {
    "f1": ((136, 120), (180, 120)), "f2": ((280, 120), (330, 120)), "f3": ((380, 120), (430, 120)),
    "f4": ((355, 145), (355, 200)), "f5": ((530, 120), (580, 120)),
}  # fmt: skip


def purchase(name: str, *, lanes: bool = False) -> str:
    """The file of two pools, whose processes no other story has; `lanes`: with those that say who does what."""
    text = FILE.read_text(encoding="utf-8")
    if not lanes:
        text = re.sub(r"    <bpmn:laneSet.*?</bpmn:laneSet>\n", "", text, flags=re.S)
        text = re.sub(r' {6}<bpmndi:BPMNShape id="Lane_.*?</bpmndi:BPMNShape>\n', "", text, flags=re.S)
    for id in IDS:
        text = text.replace(f'"{id}"', f'"{id}_{name}"')
    return text


def invoice(name: str) -> str:
    """The file of a tool with words of its own."""
    shapes = "".join(
        f'<bpmndi:BPMNShape id="{id}_di" bpmnElement="{id}">'
        f'<dc:Bounds x="{x}" y="{y}" width="{w}" height="{h}"/></bpmndi:BPMNShape>'
        for id, (x, y, w, h) in _PLACES.items()
    )
    edges = "".join(
        f'<bpmndi:BPMNEdge id="{id}_di" bpmnElement="{id}">'
        + "".join(f'<di:waypoint x="{x}" y="{y}"/>' for x, y in points)
        + "</bpmndi:BPMNEdge>"
        for id, points in _FLOWS.items()
    )
    return VENDOR.replace("NAME", name).replace("SHAPES", shapes + edges)


def brought(server: Server, text: str, *, accept: bool = False) -> dict[str, Any]:
    """The draft that a file has become."""
    with closing(server.client(ADMIN)) as admin:
        answer = admin.post("/processes/drafts", json={"name": "drawing.bpmn", "text": text, "accept": accept})
        assert answer.status_code in (200, 201), answer.text
        draft: dict[str, Any] = answer.json()
        return draft


def draft_of(server: Server, id: str) -> dict[str, Any]:
    with closing(server.client(ADMIN)) as admin:
        answer = admin.get(f"/processes/drafts/{id}")
        assert answer.status_code == 200, answer.text
        draft: dict[str, Any] = answer.json()
        return draft


def number_of(draft: dict[str, Any], kind: str) -> int:
    """The number of its first to-do of a kind."""
    return next(int(todo["no"]) for todo in draft["todos"] if todo["kind"] == kind)


def stuck(name: str) -> str:
    """A file without a picture, in which a join waits for a way that was not taken."""
    flows = ["s a", "a g", "g b", "g c", "b j", "c j", "j e"]
    drawn = "".join(
        f'<sequenceFlow id="f{n}" sourceRef="{flow[0]}" targetRef="{flow[2]}"/>' for n, flow in enumerate(flows)
    )
    return (
        '<definitions xmlns="http://www.omg.org/spec/BPMN/20100524/MODEL" targetNamespace="urn:example" id="d">'
        f'<process id="{name}" name="막히는 접수"><startEvent id="s"/><userTask id="a" name="살펴보기"/>'
        '<exclusiveGateway id="g" name="충분한가?"/><userTask id="b" name="검토"/><userTask id="c" name="보완"/>'
        f'<parallelGateway id="j" name="함께"/><endEvent id="e"/>{drawn}</process></definitions>'
    )
