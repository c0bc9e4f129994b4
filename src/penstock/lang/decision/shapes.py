"""The shapes of outputs, as far as they are known for certain: their members, and the values a member may have.

A shape comes from the node's type (a verdict has a decision), from `output.schema`, or from an object that the author
writes out. Where nothing is known there is no shape, and nothing is said.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from penstock.errors import PenstockError
from penstock.expr import compile_expression
from penstock.expr.nodes import Node, Object

#: Words of JSON Schema after which the properties do not say everything.
_UNCERTAIN = ("$ref", "allOf", "anyOf", "oneOf", "not", "if", "patternProperties")


@dataclass(frozen=True)
class Shape:
    """`closed`: it has no other members; `values`: it is one of these; `items`: the shape of a list's items."""

    fields: Mapping[str, Shape | None] = field(default_factory=dict)
    closed: bool = False
    values: tuple[Any, ...] = ()
    items: Shape | None = None


def closed(*names: str, **known: Shape | None) -> Shape:
    """A shape with these members and no others."""
    return Shape({**dict.fromkeys(names), **known}, closed=True)


def one_of(*values: Any) -> Shape:
    return Shape(values=values)


def schema_shape(schema: Any) -> Shape | None:
    """What a JSON Schema says for certain."""
    if not isinstance(schema, Mapping) or any(word in schema for word in _UNCERTAIN):
        return None
    values = schema.get("enum")
    if isinstance(values, list) and values:
        plain = all(value is None or isinstance(value, str | int | float) for value in values)
        return Shape(values=tuple(values)) if plain else None
    if isinstance(schema.get("items"), Mapping):
        return Shape(items=schema_shape(schema["items"]))
    properties = schema.get("properties")
    if not isinstance(properties, Mapping):
        return None
    fields = {str(name): schema_shape(part) for name, part in properties.items()}
    return Shape(fields, closed=schema.get("additionalProperties") is False)


def expression_shape(text: str | None) -> Shape | None:
    """The shape of an object that is written out in an expression."""
    if text is None:
        return None
    try:
        return _tree_shape(compile_expression(text, words=True).tree)
    except PenstockError:
        return None  # reported where the text is read


def _tree_shape(node: Node) -> Shape | None:
    if not isinstance(node, Object):
        return None
    return Shape(dict(zip(node.keys, map(_tree_shape, node.children), strict=True)), closed=True)


def both(first: Shape | None, second: Shape | None) -> Shape | None:
    """What holds of two descriptions of one output."""
    if first is None or second is None:
        return first or second
    fields = {name: both(first.fields.get(name), second.fields.get(name)) for name in {**first.fields, **second.fields}}
    values = tuple(dict.fromkeys((*first.values, *second.values)))
    return Shape(fields, first.closed or second.closed, values, first.items or second.items)


def either(shapes: Iterable[Shape | None]) -> Shape | None:
    """What holds of an output that several nodes may give; nothing where one of them is unknown."""
    result: Shape | None = None
    for index, shape in enumerate(shapes):
        if shape is None:
            return None
        if index == 0 or result is None:
            result = shape
            continue
        fields = {
            **result.fields,
            **{name: None for name in shape.fields if shape.fields[name] != result.fields.get(name)},
        }
        certain = bool(result.values and shape.values)
        values = tuple(dict.fromkeys((*result.values, *shape.values))) if certain else ()
        items = result.items if result.items == shape.items else None
        result = Shape(fields, result.closed and shape.closed, values, items)
    return result
