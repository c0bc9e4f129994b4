"""The JSON Schema of process definitions, for editors; made from the same types that the reader uses.

`python -m penstock.lang.process.editor_schema` prints it. `process.schema.json` beside this file is a copy that editors
can point at, and a test keeps the two equal.
"""

from __future__ import annotations

import json
from typing import Any, get_type_hints

import msgspec

from penstock.lang.fields import Fields
from penstock.lang.process.fields import (
    COLLECTIONS,
    ActivityFields,
    Compensation,
    Multi,
    Orchestration,
    ProcessData,
    TimerFields,
    TopFields,
)

_REF = "#/$defs/{name}"
_PARTS: tuple[type[Fields], ...] = (ProcessData, Compensation, Multi, Orchestration, TimerFields)
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
    return {**described, "type": "array", "items": {"$ref": _REF.format(name=kind.__name__)}}


def _fields(kind: type[Fields]) -> dict[str, Any]:
    """The properties of a struct; what must be there, and what is there when nothing is written."""
    hints = get_type_hints(kind, include_extras=True)
    usual = kind()
    properties: dict[str, Any] = {}
    for field in msgspec.structs.fields(kind):
        (shape,), _ = msgspec.json.schema_components([hints[field.name]], ref_template=_REF)
        if getattr(usual, field.name) not in (None, "", [], {}):
            shape = {**shape, "default": getattr(usual, field.name)}
        properties[field.encode_name] = shape
    for other, name in kind.ALIASES.items():
        properties[other] = {**properties[name], "description": f"The same as {name}."}
    if kind is ActivityFields:
        properties["orchestration"] = {"anyOf": [{"$ref": _REF.format(name="Orchestration")}, {"type": "null"}]}
        properties["compensation"] = {
            "description": "What undoes it: an activity's id, a tool, or {tool, params}.",
            "anyOf": [{"type": "string"}, {"$ref": _REF.format(name="Compensation")}, {"type": "null"}],
        }
    required = {"required": list(kind.REQUIRED)} if kind.REQUIRED else {}
    return {"type": "object", **required, "properties": properties, "additionalProperties": kind.OPEN}


def editor_schema_text() -> str:
    return json.dumps(editor_schema(), indent=2, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    print(editor_schema_text(), end="")
