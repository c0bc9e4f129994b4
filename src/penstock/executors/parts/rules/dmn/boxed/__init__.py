"""The boxed expressions of DMN 1.5 (10.2), one file each: how it is read from its element, and how it is compiled."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from penstock.executors.parts.rules.dmn.boxed import (
    conditional,
    context,
    filtering,
    function,
    invocation,
    iterator,
    listing,
    literal,
    relation,
    table,
)
from penstock.executors.parts.rules.dmn.boxed.contract import Box, ReadBox, Value
from penstock.executors.parts.rules.dmn.xml import Element, local_name

Read = Callable[[Element, ReadBox], Box]
Compile = Callable[..., Value]  # (box of its kind, compiler, names, spot)

#: What reads an element, by its local name.
READERS: dict[str, Read] = {
    "literalExpression": literal.read,
    "decisionTable": table.read,
    "context": context.read,
    "functionDefinition": function.read,
    "invocation": invocation.read,
    "relation": relation.read,
    "list": listing.read,
    "conditional": conditional.read,
    "filter": filtering.read,
    "for": iterator.read,
    "some": iterator.read,
    "every": iterator.read,
}

#: What compiles a box, by its kind.
COMPILERS: dict[type[Any], Compile] = {
    literal.LiteralBox: literal.compile,
    table.TableBox: table.compile,
    context.ContextBox: context.compile,
    function.FunctionBox: function.compile,
    invocation.InvocationBox: invocation.compile,
    relation.RelationBox: relation.compile,
    listing.ListBox: listing.compile,
    conditional.ConditionalBox: conditional.compile,
    filtering.FilterBox: filtering.compile,
    iterator.IteratorBox: iterator.compile,
}


def read_box(element: Element) -> Box | None:
    """The boxed expression that an element is; None for an element that is none."""
    read = READERS.get(local_name(element))
    return read(element, read_box) if read is not None else None
