"""The JSON Schema of process definitions, for editors; made from the same types that the reader uses.

`python -m penstock.lang.process.editor_schema` prints it. `process.schema.json` beside this file is a copy that editors
can point at, and a test keeps the two equal.
"""

from __future__ import annotations

from typing import Any

from penstock.lang.editors import REF, properties_of, text_of
from penstock.lang.fields import Fields
from penstock.lang.process.fields import (
    COLLECTIONS,
    ActivityFields,
    AdHoc,
    Ask,
    Compensation,
    DataUse,
    EventTriggerFields,
    Multi,
    Orchestration,
    ProcessData,
    TimerFields,
    TopFields,
)

_PARTS: tuple[type[Fields], ...] = (
    ProcessData, DataUse, Compensation, Multi, AdHoc, Orchestration, TimerFields, Ask, EventTriggerFields,
)  # fmt: skip
_WORDS = {
    "data": "Sources of data that the process uses.",
    "roles": "Who takes part, and how work is assigned.",
    "activities": "What is done.",
    "gateways": "Where ways part and meet.",
    "transitions": "What comes after what.",
    "events": "Where it begins and ends, and what happens meanwhile.",
}


def editor_schema() -> dict[str, Any]:
    top = _fields(TopFields)
    known = {name: part for name, part in top["properties"].items() if name != "schema"}
    kinds: dict[str, type[Fields]] = {kind.__name__: kind for kind in (*COLLECTIONS.values(), *_PARTS)}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Penstock process definition",
        "type": "object",
        "required": list(TopFields.REQUIRED),
        "properties": {**known, **{name: _listed(name, kind) for name, kind in COLLECTIONS.items()}},
        "additionalProperties": False,
        "$defs": {name: _fields(kind) for name, kind in kinds.items()},
    }


def _listed(name: str, kind: type[Fields]) -> dict[str, Any]:
    described = {"description": _WORDS[name]} if name in _WORDS else {}
    return {**described, "type": "array", "items": {"$ref": REF.format(name=kind.__name__)}}


def _fields(kind: type[Fields]) -> dict[str, Any]:
    """What must be there, too."""
    properties = properties_of(kind)
    if kind is ActivityFields:
        properties["orchestration"] = {"anyOf": [{"$ref": REF.format(name="Orchestration")}, {"type": "null"}]}
        properties["compensation"] = {
            "description": "What undoes it: an activity's id, a tool, or {tool, params}.",
            "anyOf": [{"type": "string"}, {"$ref": REF.format(name="Compensation")}, {"type": "null"}],
        }
    required = {"required": list(kind.REQUIRED)} if kind.REQUIRED else {}
    return {"type": "object", **required, "properties": properties, "additionalProperties": kind.OPEN}


def editor_schema_text() -> str:
    return text_of(editor_schema())


if __name__ == "__main__":
    print(editor_schema_text(), end="")
