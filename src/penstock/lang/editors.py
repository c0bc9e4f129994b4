"""What the editor schemas of the languages share: the properties of a struct, and the JSON text of a schema."""

from __future__ import annotations

import json
from typing import Any, get_type_hints

import msgspec

from penstock.lang.fields import Fields

#: The reference to the schema of a named part.
REF = "#/$defs/{name}"


def properties_of(kind: type[Fields]) -> dict[str, Any]:
    """The properties of a struct with their defaults; an alias has the same schema as its field."""
    hints = get_type_hints(kind, include_extras=True)
    defaults = kind()
    properties: dict[str, Any] = {}
    for field in msgspec.structs.fields(kind):
        (shape,), _ = msgspec.json.schema_components([hints[field.name]], ref_template=REF)
        if getattr(defaults, field.name) not in (None, "", [], {}):
            shape = {**shape, "default": getattr(defaults, field.name)}
        properties[field.encode_name] = shape
    for other, name in kind.ALIASES.items():
        properties[other] = {**properties[name], "description": f"The same as {name}."}
    return properties


def text_of(schema: dict[str, Any]) -> str:
    return json.dumps(schema, indent=2, ensure_ascii=False) + "\n"
