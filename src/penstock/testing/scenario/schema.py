"""The JSON Schema of scenario files, for editors that complete and check YAML."""

from __future__ import annotations

from typing import Any

from penstock.lang.editors import properties_of, text_of
from penstock.lang.fields import Fields
from penstock.testing.scenario.form import (
    FailsFields,
    FileFields,
    GivenFields,
    MessageFields,
    ScenarioFields,
    StepFields,
    StubFields,
    StubsFields,
    ThenFields,
    WaitFields,
    WhenFields,
)  # fmt: skip

#: a form's name in the schema
_PARTS: dict[str, type[Fields]] = {
    "given": GivenFields, "stubs": StubsFields, "stub": StubFields, "fails": FailsFields, "scenario": ScenarioFields,
    "step": StepFields, "when": WhenFields, "then": ThenFields, "wait": WaitFields, "message": MessageFields,
}  # fmt: skip
#: fields that hold another form
_HELD: dict[tuple[str, str], Any] = {
    ("file", "given"): "given", ("file", "scenarios"): ["scenario"], ("file", "steps"): ["step"],
    ("scenario", "given"): "given", ("scenario", "steps"): ["step"], ("given", "stubs"): "stubs",
    ("stubs", "nodes"): {"stub"}, ("stubs", "executors"): {"stub"}, ("stubs", "effects"): {"stub"},
    ("stub", "in_turn"): ["stub"], ("stub", "undo"): "stub", ("stub", "fails"): ("fails", "string"),
    ("step", "when"): "when", ("step", "then"): "then", ("then", "messages"): ["message"],
    ("then", "waits"): {("wait", "string", "null")},
}  # fmt: skip


def schema() -> dict[str, Any]:
    top = _form("file", FileFields)
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Penstock scenarios",
        **top,
        "$defs": {name: _form(name, kind) for name, kind in _PARTS.items()},
    }


def schema_text() -> str:
    return text_of(schema())


def _form(name: str, kind: type[Fields]) -> dict[str, Any]:
    properties = properties_of(kind)
    for field in properties:
        held = _HELD.get((name, field))
        if held is not None:
            properties[field] = {"description": properties[field].get("description", ""), **_shape(held)}
    form = {
        "type": "object", "description": (kind.__doc__ or "").split("\n")[0], "properties": properties,
        "additionalProperties": False,
    }  # fmt: skip
    return {**form, "required": list(kind.REQUIRED)} if kind.REQUIRED else form


def _shape(held: Any) -> dict[str, Any]:
    """A name is a form, a list one of each, a set a map of them, a tuple one of several."""
    if isinstance(held, list):
        return {"type": "array", "items": _shape(held[0])}
    if isinstance(held, set):
        return {"type": "object", "additionalProperties": _shape(next(iter(held)))}
    if isinstance(held, tuple):
        return {"anyOf": [_shape(each) for each in held]}
    return {"type": held} if held in ("string", "null") else {"$ref": f"#/$defs/{held}"}
