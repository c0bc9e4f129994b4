"""Events and gateways of a file that change: written into the file as BPMN says it, and else as our own setting."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from penstock.lang.process.drawing import read_drawing, write_drawing

HEAD = '<?xml version="1.0"?><definitions xmlns="http://www.omg.org/spec/BPMN/20100524/MODEL" targetNamespace="t">'
FILE = f"""{HEAD}<process id="p" name="P"><startEvent id="S"/>
<intermediateCatchEvent id="C"><conditionalEventDefinition id="d"/></intermediateCatchEvent>
<intermediateCatchEvent id="M"><messageEventDefinition/><timerEventDefinition/></intermediateCatchEvent>
<intermediateThrowEvent id="L"><linkEventDefinition name="x"/></intermediateThrowEvent>
<intermediateThrowEvent id="U"><compensateEventDefinition/></intermediateThrowEvent>
<complexGateway id="G"/><eventBasedGateway id="E"/><receiveTask id="R"/>
<sequenceFlow id="f" sourceRef="S" targetRef="C"/></process></definitions>"""
SEVERAL = [{"trigger": "message", "message": "paid"}, {"trigger": "timer", "timer": {"duration": "PT1H"}}]
#: element → its new fields, and what stands in the file then
CHANGES: dict[str, tuple[dict[str, Any], str]] = {
    "C": ({"condition": "amount > 3"}, "amount &gt; 3</condition>"),
    "M": ({"triggers": SEVERAL}, "settings"),
    "L": ({"link": "y"}, "settings"),
    "U": ({"wait_for_completion": False}, "settings"),
    "G": ({"activation": "activationCount >= 2"}, "activationCount &gt;= 2</activationCondition>"),
    "E": ({"instantiate": True, "all_events": True}, 'instantiate="true" eventGatewayType="Parallel"'),
    "R": ({"instantiate": True}, '<receiveTask id="R" instantiate="true"'),
}


@pytest.mark.parametrize("id", CHANGES)
def test_what_changes_is_written_into_the_file(id: str) -> None:
    """P-X.25, P-X.6: all else stays byte for byte, and what is read again is what was changed."""
    fields, written = CHANGES[id]
    drawing = read_drawing(FILE, "x.bpmn")
    data = copy.deepcopy(drawing.definitions[0])
    (entry,) = [
        entry for name in ("events", "gateways", "activities") for entry in data.get(name, ()) if entry["id"] == id
    ]
    entry |= fields
    text = write_drawing(drawing.changed("p", data))
    assert written in text and ("settings" in written or "settings" not in text)
    assert all(line in text for line in FILE.splitlines() if f'id="{id}"' not in line)
    again = read_drawing(text, "x.bpmn")
    assert again.definitions[0] == data and write_drawing(again) == text
