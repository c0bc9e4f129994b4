"""The JSON Schema of workflows (W-12.1.1), made from the same types that the reader uses.

`python -m penstock.lang.decision.editor_schema` prints it. `workflow-dsl-v2.json` beside this file is a copy, and a
test keeps the two equal; `workflow-dsl-v2.strict.json` is the seed's own, as printed.
"""

from __future__ import annotations

import types
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

import msgspec

from penstock.lang.decision.node_fields import (
    Backoff,
    BreakerFields,
    BreakerMetrics,
    Checkpoint,
    CheckpointInclude,
    CheckpointRetention,
    CheckpointStorage,
    IdempotencyFields,
    NodeFields,
    OnOpen,
    OutputFields,
    RetryFields,
    RetryPolicy,
    SideEffects,
    Transform,
)
from penstock.lang.decision.nodes import NODE_TYPES
from penstock.lang.decision.workflow import SCHEMA, EdgeFields, TopFields
from penstock.lang.editors import text_of
from penstock.lang.fields import Fields

DRAFT = "http://json-schema.org/draft-07/schema#"
ID_PATTERN = "^[a-z][a-z0-9_]*$"
_UUID = "^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$"
_PLAIN: dict[Any, str] = {str: "string", int: "integer", float: "number", bool: "boolean"}
_BOUNDS = {
    "ge": "minimum", "gt": "exclusiveMinimum", "le": "maximum", "lt": "exclusiveMaximum", "max_length": "maxLength",
    "description": "description",
}  # fmt: skip
#: parts that many nodes have
_SHARED = (
    Backoff, RetryPolicy, RetryFields, OnOpen, BreakerMetrics, BreakerFields, IdempotencyFields, CheckpointInclude,
    CheckpointStorage, CheckpointRetention, Checkpoint, Transform, OutputFields, SideEffects,
)  # fmt: skip
#: fields that hold a schema themselves
_SCHEMAS = ("schema", "input_schema", "output_schema")


def editor_schema() -> dict[str, Any]:
    """C-01 to C-04, C-69: outputs are optional, a WAIT's condition is a map, ids may be UUIDs, tenants slugs."""
    top = _fields(TopFields)
    known = top["properties"]
    known["id"] |= {"anyOf": [{"pattern": ID_PATTERN}, {"pattern": _UUID}]}
    known["tenant_id"]["pattern"] = "^[A-Za-z0-9_-]{1,50}$"
    del known["schema"], known["tenant_id"]["maxLength"]
    for name in ("created_at", "updated_at"):
        known["metadata"]["properties"][name]["format"] = "date-time"
    return {
        "$schema": DRAFT,
        "$id": SCHEMA,
        "title": "Workflow DSL Schema",
        "type": "object",
        "required": [*TopFields.REQUIRED, "nodes", "edges"],
        "properties": {
            "$schema": {"type": "string"},
            **known,
            "nodes": {"type": "array", "items": {"$ref": "#/definitions/node"}},
            "edges": {"type": "array", "items": _fields(EdgeFields)},
        },
        "definitions": {
            "node": _node(),
            **{name: _fields(kind.fields) for name, kind in NODE_TYPES.items()},
            **{kind.__name__: _fields(kind) for kind in _SHARED},
        },
    }


def _node() -> dict[str, Any]:
    common_fields = _fields(NodeFields)["properties"]
    return {
        "type": "object",
        "required": list(NodeFields.REQUIRED),
        "properties": {
            "id": {"type": "string", "pattern": ID_PATTERN, "maxLength": 100},
            "type": {"enum": [*NODE_TYPES]},
            **{name: common_fields[name] for name in ("name", "description", "retry", "timeout_ms")},
        },
        "allOf": [
            {"if": {"properties": {"type": {"const": name}}, "required": ["type"]},
             "then": {"$ref": f"#/definitions/{name}"}}
            for name in NODE_TYPES
        ],
    }  # fmt: skip


def _fields(kind: type[Fields]) -> dict[str, Any]:
    """An open map: what is not listed is allowed (W-3.1.2); another name of a field has the same shape."""
    hints = get_type_hints(kind, include_extras=True)
    properties: dict[str, Any] = {}
    required = list(kind.REQUIRED)
    for field in msgspec.structs.fields(kind):
        shape = _shape(hints[field.name], kind.TEMPLATED)
        if field.name in _SCHEMAS:
            shape = {"$ref": DRAFT}
        if field.encode_name in required and shape.get("type") == "string":
            shape = {**shape, "minLength": 1}
        properties[field.encode_name] = shape
    for other, name in kind.ALIASES.items():
        if not other.startswith("$"):
            properties[other] = {**properties[name], "description": f"The same as {name}."}
    return {"type": "object", **({"required": required} if required else {}), "properties": properties}


def _shape(hint: Any, templated: bool) -> dict[str, Any]:
    origin = get_origin(hint)
    if origin is Annotated:
        inner, *notes = get_args(hint)
        shape = _shape(inner, templated)
        return shape if "$ref" in shape else {**shape, **_notes(notes)}
    if origin in (Union, types.UnionType):
        parts = [_shape(part, templated) for part in get_args(hint) if part is not type(None)]
        return parts[0] if len(parts) == 1 else {"anyOf": parts}
    if origin is Literal:
        choices = {"enum": list(get_args(hint))}
        return {"anyOf": [choices, {"type": "string", "pattern": r"\$\{"}]} if templated else choices
    if origin is list:
        return {"type": "array", "items": _shape(get_args(hint)[0], templated)}
    if origin is dict:
        return {"type": "object"}
    if isinstance(hint, type) and issubclass(hint, Fields):
        return {"$ref": f"#/definitions/{hint.__name__}"} if hint.__module__ == NodeFields.__module__ else _fields(hint)
    return {"type": _PLAIN[hint]} if hint in _PLAIN else {}


def _notes(notes: list[Any]) -> dict[str, Any]:
    keywords: dict[str, Any] = {}
    for note in notes:
        for name, word in _BOUNDS.items():
            value = getattr(note, name, None)
            if value is not None:
                keywords[word] = value
    return keywords


def editor_schema_text() -> str:
    return text_of(editor_schema())


if __name__ == "__main__":
    print(editor_schema_text(), end="")
