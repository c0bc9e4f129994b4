"""What a BPMN file costs: read as a drawing, its definitions checked, written as it was and with a change.

    python -m bench.drawing [--activities 1000]

Prints one line of JSON. `tenth` is the same with a tenth of the activities: what grows faster than the file is not.
"""

from __future__ import annotations

import argparse
import copy
import json
import time
from collections.abc import Callable
from typing import Any

import msgspec

from penstock.lang.compile import check_document
from penstock.lang.process.drawing import read_drawing, write_drawing

HEAD = (
    '<?xml version="1.0" encoding="UTF-8"?>\n<bpmn:definitions xmlns:bpmn="http://www.omg.org/spec/BPMN/20100524/MODEL"'
    ' xmlns:bpmndi="http://www.omg.org/spec/BPMN/20100524/DI" xmlns:dc="http://www.omg.org/spec/DD/20100524/DC"'
    ' xmlns:di="http://www.omg.org/spec/DD/20100524/DI" xmlns:camunda="http://camunda.org/schema/1.0/bpmn"'
    ' id="d" targetNamespace="t">\n  <bpmn:process id="p" isExecutable="true">\n'
)
EXTENSION = '<camunda:properties><camunda:property name="x" value="y" /></camunda:properties>'


def chain(count: int) -> str:
    """One step after the other, as Camunda's modeler writes it, with its drawing."""
    parts = ['    <bpmn:startEvent id="a0" />']
    drawn = []
    for n in range(1, count + 1):
        parts += [
            f'    <bpmn:userTask id="a{n}" name="Step {n}" camunda:candidateGroups="group{n % 7}">',
            f"      <bpmn:documentation>What is to be done in step {n}.</bpmn:documentation>",
            f"      <bpmn:extensionElements>{EXTENSION}</bpmn:extensionElements>",
            f"      <bpmn:incoming>f{n}</bpmn:incoming>", "    </bpmn:userTask>",
            f'    <bpmn:sequenceFlow id="f{n}" sourceRef="a{n - 1}" targetRef="a{n}" />',
        ]  # fmt: skip
        drawn += [
            f'      <bpmndi:BPMNShape id="a{n}_di" bpmnElement="a{n}">',
            f'        <dc:Bounds x="{n * 150}" y="80.5" width="100" height="80" />', "      </bpmndi:BPMNShape>",
            f'      <bpmndi:BPMNEdge id="f{n}_di" bpmnElement="f{n}">',
            f'        <di:waypoint x="{n * 150}" y="120" />',
            f'        <di:waypoint x="{n * 150 + 50}" y="120" />', "      </bpmndi:BPMNEdge>",
        ]  # fmt: skip
    plane = ['  <bpmndi:BPMNDiagram id="di"><bpmndi:BPMNPlane id="plane" bpmnElement="p">', *drawn]
    return HEAD + "\n".join(
        [*parts, "  </bpmn:process>", *plane, "  </bpmndi:BPMNPlane></bpmndi:BPMNDiagram>", "</bpmn:definitions>\n"]
    )


def best(call: Callable[[], Any], times: int = 3) -> float:
    spent = []
    for _ in range(times):
        began = time.perf_counter()
        call()
        spent.append(time.perf_counter() - began)
    return round(min(spent) * 1000, 1)


def costs(count: int) -> dict[str, Any]:
    text = chain(count)
    drawing = read_drawing(text, "chain.bpmn")
    document = msgspec.json.encode(drawing.definitions[0])
    definitions = copy.deepcopy(drawing.definitions)
    definitions[0]["activities"][count // 2] |= {"name": "Another name", "role": "clerk"}
    changed = msgspec.structs.replace(drawing, definitions=definitions)
    return {
        "activities": count, "bytes": len(text), "read_ms": best(lambda: read_drawing(text, "chain.bpmn")),
        "check_ms": best(lambda: check_document(document, name="chain.json")),
        "write_ms": best(lambda: write_drawing(drawing)), "write_changed_ms": best(lambda: write_drawing(changed)),
    }  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--activities", type=int, default=1000)
    asked = parser.parse_args()
    print(json.dumps({**costs(asked.activities), "tenth": costs(max(1, asked.activities // 10))}))


if __name__ == "__main__":
    main()
