"""The JSON Schema of a pipeline definition, for editors; made from the same types that the reader uses.

`python -m penstock.lang.pipeline.editor_schema` prints it. `pipeline.schema.json` beside this file is a copy that
editors can point at, and a test keeps the two equal.
"""

from __future__ import annotations

from typing import Any

from penstock.lang.editors import properties_of, text_of
from penstock.lang.fields import Fields
from penstock.lang.pipeline.conditions import OPERATORS
from penstock.lang.pipeline.fields import (
    Action,
    Channel,
    Configuration,
    Dependencies,
    Metrics,
    Notifications,
    PipelineFields,
    Resources,
    StageFields,
)
from penstock.lang.pipeline.processors import PROCESSORS

_PARTS = (Action, Channel, Configuration, Dependencies, Metrics, Notifications, Resources)


def editor_schema() -> dict[str, Any]:
    """Conditions nest, so they have a definition of their own."""
    condition = {"$ref": "#/$defs/condition"}
    top, stage = _fields(PipelineFields), _fields(StageFields)
    top["properties"]["trigger_conditions"] = stage["properties"]["condition"] = {
        "anyOf": [condition, {"type": "null"}]
    }
    top["properties"]["configuration"]["default"] = {}
    stage["properties"]["processor_type"] = {
        "description": "What it does: the name of a processor.",
        "anyOf": [{"enum": list(PROCESSORS)}, {"type": "string"}],
    }
    top["properties"] = {
        "$schema": {"type": "string"},
        **top["properties"],
        "stages": {"type": "array", "minItems": 1, "items": {"$ref": "#/$defs/stage"}},
    }
    top["required"] = [*top["required"], "stages"]
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Penstock pipeline",
        **top,
        "$defs": {"stage": stage, "condition": _condition(condition), **{p.__name__: _fields(p) for p in _PARTS}},
    }


def _condition(condition: dict[str, str]) -> dict[str, Any]:
    some = {"type": "array", "minItems": 1, "items": condition}
    leaf = {"field": {"type": "string"}, "op": {"enum": list(OPERATORS)}, "value": True}
    return {
        "anyOf": [
            _map({"all": some}, "all"),
            _map({"any": some}, "any"),
            _map({"not": condition}, "not"),
            _map({"expr": {"type": "string"}}, "expr"),
            _map(leaf, "field", "op"),
        ]
    }


def _map(properties: dict[str, Any], *required: str) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(required),
        "additionalProperties": False,
    }


def _fields(kind: type[Fields]) -> dict[str, Any]:
    made: dict[str, Any] = {"type": "object", "properties": properties_of(kind), "additionalProperties": kind.OPEN}
    return {**made, "required": list(kind.REQUIRED)} if kind.REQUIRED else made


def editor_schema_text() -> str:
    return text_of(editor_schema())


if __name__ == "__main__":
    print(editor_schema_text(), end="")
