"""The JSON Schema of the light form, for editors; made from the same types that the reader uses.

`python -m penstock.lang.diagram.editor_schema` prints it. `diagram.schema.json` beside this file is a copy that editors
can point at, and a test keeps the two equal.
"""

from __future__ import annotations

from typing import Any

from penstock.lang.diagram.nodes import NODE_TYPES, NodeType
from penstock.lang.diagram.nodes.contract import NodeFields, RetryFields
from penstock.lang.diagram.persons import Person
from penstock.lang.diagram.schema import ConnectionFields, TopFields
from penstock.lang.editors import REF, properties_of, text_of
from penstock.lang.fields import Fields


def editor_schema() -> dict[str, Any]:
    """Node fields may stand beside the label or under `props`, so both places know the fields of the node's type."""
    top = _fields(TopFields)
    top["properties"] = {
        "$schema": {"type": "string"},
        **top["properties"],
        "persons": {
            "description": "Who answers in a person_job, by name.",
            "type": "object",
            "additionalProperties": {
                "anyOf": [{"$ref": "#/$defs/person"}, {"type": "string", "description": "service, or service/model"}]
            },
        },
        "nodes": {"type": "array", "items": {"$ref": "#/$defs/node"}},
        "connections": {"type": "array", "items": {"$ref": "#/$defs/connection"}},
    }
    node = {
        "type": "object",
        "required": ["label", "type"],
        "properties": {
            **_fields(NodeFields)["properties"],
            "type": {
                "description": "What the node does.",
                "anyOf": [{"const": name, "description": kind.doc} for name, kind in NODE_TYPES.items()]
                + [{"type": "string"}],
            },
            "props": {"type": "object"},
        },
        "allOf": [
            {"if": {"properties": {"type": {"const": name}}, "required": ["type"]}, "then": _node(name)}
            for name in NODE_TYPES
        ],
    }
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Penstock diagram, light form",
        **top,
        "required": ["nodes"],
        "$defs": {
            "person": _fields(Person),
            "connection": {**_fields(ConnectionFields), "required": list(ConnectionFields.REQUIRED)},
            "node": node,
            **{name: _fields_of(kind) for name, kind in NODE_TYPES.items()},
            RetryFields.__name__: _fields(RetryFields),
        },
    }


def _node(name: str) -> dict[str, Any]:
    """A node of one type: nothing but its fields, here or under `props`."""
    known = REF.format(name=name)
    own = list(_fields(NODE_TYPES[name].fields)["properties"])
    more: dict[str, Any] = {"person": _PERSON} if "person" in own else {}
    properties = {
        **{field: {"$ref": f"{known}/properties/{field}"} for field in own if field != "type"},
        "type": True,
        "props": {"$ref": known},
        **more,
    }
    return {"properties": properties, **({} if NODE_TYPES[name].open else {"additionalProperties": False})}


#: A person by name, or written at its node.
_PERSON = {"anyOf": [{"type": "string"}, {"$ref": "#/$defs/person"}]}


def _fields_of(kind: NodeType) -> dict[str, Any]:
    fields = _fields(kind.fields)
    if kind.open:
        del fields["additionalProperties"]
    if "person" in fields["properties"]:
        fields["properties"]["person"] = _PERSON
    return fields


def _fields(kind: type[Fields]) -> dict[str, Any]:
    """Every field, and under the other names that it is read by as well."""
    properties = properties_of(kind)
    for other, name in kind.ALIASES.items():
        properties.setdefault(other, {**properties[name], "description": f"The same as `{name}`."})
    return {"type": "object", "properties": properties, "additionalProperties": False}


def editor_schema_text() -> str:
    return text_of(editor_schema())


if __name__ == "__main__":
    print(editor_schema_text(), end="")
