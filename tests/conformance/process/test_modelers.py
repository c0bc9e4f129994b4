"""Exports of twelve modelers: each becomes a drawing, is written as it was, and loses nothing when it is changed."""

from __future__ import annotations

import copy
import random
from collections import Counter
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import msgspec
import pytest

from penstock.lang.compile import check_document
from penstock.lang.process.drawing import Drawing, read_drawing, write_drawing
from tests.conformance.process.moddle import moddle_warnings
from tests.conformance.process.modelers import CONTENTS, MODELERS, exports

EXPORTS = dict(exports())
EACH = pytest.mark.parametrize("name", EXPORTS)
SETTINGS = "{urn:penstock:bpmn:1}settings"
BPMN = "{http://www.omg.org/spec/BPMN/20100524/MODEL}"


def counts(text: str) -> Counter[str]:
    """Elements by name, and attributes by the name of their element and their own; what is ours is not counted."""
    found: Counter[str] = Counter()
    for element in ElementTree.fromstring(text.removeprefix("\ufeff").encode()).iter():
        if element.tag != SETTINGS:
            found[element.tag] += 1
            found.update(f"{element.tag} {name}" for name in element.attrib)
            found[f"{element.tag}={(element.text or '').strip()}"] += 1
    return found


def alike(text: str, other: str) -> int:
    """How many characters two texts begin with alike."""
    pairs = enumerate(zip(text, other, strict=False))
    return next((n for n, (mine, yours) in pairs if mine != yours), min(len(text), len(other)))


def changed(drawing: Drawing, changes: Any) -> Drawing:
    definitions = copy.deepcopy(drawing.definitions)
    for data in definitions:
        changes(data)
    return msgspec.structs.replace(drawing, definitions=definitions)


def answered(data: dict[str, Any]) -> None:
    """What somebody says who finishes the drawing."""
    flows = data["transitions"]
    for gateway in data.get("gateways", ()):
        ways = [flow["id"] for flow in flows if flow["source"] == gateway["id"]]
        gateway["ask"] = {"who": "previous", "choices": {id: f"way {n}" for n, id in enumerate(ways)}}
        gateway["default"] = ways[-1]
    for event in data.get("events", ()):
        if event.get("trigger") == "timer" and not event.get("timer"):
            event["timer"] = {"duration": "P3D"}
        elif event.get("trigger") in ("message", "signal"):
            event.setdefault(event["trigger"], event["name"] or "news")
    for activity in data.get("activities", ()):
        activity["role"] = "clerk"
    data["roles"] = [{"id": "clerk", "name": "Clerk"}]
    flows[0]["condition"] = "a < b && c"


def test_there_are_enough_of_them() -> None:
    """P-X.25: twelve modelers, twelve things that people draw, no two files alike."""
    assert len(MODELERS) == len(CONTENTS) == 12 and len(EXPORTS) == len(set(EXPORTS.values())) == 144


@EACH
def test_an_export_is_a_drawing_and_stays_as_it_is(name: str) -> None:
    """P-X.25, P-X.6, P-2.3.1: every process with elements is a definition that can be looked at, and the text of an
    unchanged one is the file's own, byte for byte."""
    drawing = read_drawing(EXPORTS[name], f"{name}.bpmn")
    drawn = ElementTree.fromstring(EXPORTS[name].encode())
    names = [element.tag.removeprefix(BPMN) for element in drawn.iter() if element.tag.startswith(BPMN)]
    tasks = [name for name in names if name.endswith(("Task", "task", "callActivity"))]
    assert sum(data["bpmn"].endswith(("ask", "callActivity")) for read in drawing.definitions
               for data in read.get("activities", ())) == len(tasks)  # fmt: skip
    for data in drawing.definitions:
        language, findings = check_document(msgspec.json.encode(data), name="p.json")
        assert language == "process" and all(finding.hint for finding in findings)
    assert write_drawing(drawing) == EXPORTS[name]


@EACH
def test_a_change_loses_nothing_and_is_read_again(name: str) -> None:
    """P-X.25, P-2.3.1: elements, attributes and texts are counted by another reader; only what was said is more. The
    second writing is byte-equal to the first."""
    source = EXPORTS[name]
    finished = changed(read_drawing(source, "p.bpmn"), answered)
    text = write_drawing(finished)
    again = read_drawing(text, "p.bpmn")
    wanted = [{**data, "extensions": 0} for data in finished.definitions]
    assert [{**data, "extensions": 0} for data in again.definitions] == wanted
    assert write_drawing(again) == write_drawing(finished) == text
    before, after = counts(source), counts(text)
    lost = {what: count - after[what] for what, count in before.items() if after[what] < count}
    assert all(what.endswith(("conditionExpression=", "timeDuration=")) or "${" in what for what in lost), lost
    ours = {"extensionElements", "conditionExpression", "timeDuration"}
    more = {what.partition("}")[2].partition("=")[0].partition(" ")[0] for what in after - before}
    assert more <= ours | {node.tag.partition("}")[2] for node in ElementTree.fromstring(text.encode()).iter()
                           if node.get("default")}  # fmt: skip


@EACH
def test_one_condition_changes_one_place(name: str) -> None:
    """P-X.9, P-2.3.1: the rest is byte for byte as it was."""
    source, dice = EXPORTS[name], random.Random(name)
    drawing = read_drawing(source, "p.bpmn")
    data = dice.choice(drawing.definitions)
    number = dice.randrange(len(data["transitions"]))
    flow = data["transitions"][number]

    def change(other: dict[str, Any]) -> None:
        if other["process_definition_id"] == data["process_definition_id"]:
            other["transitions"][number]["condition"] = "amount >= 7"

    text = write_drawing(changed(drawing, change))
    before = alike(source, text)
    after = alike(source[before:][::-1], text[before:][::-1])
    at = source.index(f'id="{flow["id"]}"')
    assert before > at - 400 and len(source) - after < at + 900 and "amount &gt;= 7" in text


def test_all_of_them_open_in_bpmn_moddle(tmp_path: Path) -> None:
    """P-2.3.1: as they are, and finished, with 0 warnings."""
    finished = {f"{name} finished": write_drawing(changed(read_drawing(text, "p.bpmn"), answered))
                for name, text in EXPORTS.items()}  # fmt: skip
    warnings = moddle_warnings(tmp_path, EXPORTS | finished)
    assert len(warnings) == 288 and not any(warnings.values()), {k: v for k, v in warnings.items() if v}
