"""Answers put into a definition: fields of its entries are set, and nothing else of it is touched."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from penstock.errors import Finding, Place, ProcessInvalid
from penstock.lang.process.drawing import Drawing
from penstock.lang.process.todos.contract import TodoPlace

_ELEMENTS = ("activities", "gateways", "events", "lanes", "transitions")


def entry_of(drawing: Drawing, at: TodoPlace) -> tuple[str, dict[str, Any]]:
    """The element that an answer is about, and the collection that it is in."""
    data = drawing.definition(at.process)
    for collection in _ELEMENTS:
        for entry in entries(data, collection):
            if entry.get("id") == at.element:
                return collection, entry
    raise refusal("todo_unknown", f"The drawing has no element «{at.element}».", "", "Look at its to-dos again.")


def with_fields(drawing: Drawing, at: TodoPlace, fields: Mapping[str, Any]) -> Drawing:
    """The drawing with these fields at one element; one that is None is taken away."""
    collection, entry = entry_of(drawing, at)
    data = drawing.definition(at.process)
    new = {name: value for name, value in {**entry, **fields}.items() if name not in fields or value is not None}
    listed = [new if old is entry else old for old in data[collection]]
    return drawing.changed(at.process, {**data, collection: listed})


def entries(data: Mapping[str, Any], collection: str) -> list[dict[str, Any]]:
    """The entries of a collection that are maps: a definition that somebody wrote may hold anything."""
    listed = data.get(collection)
    return [entry for entry in listed if isinstance(entry, dict)] if isinstance(listed, list) else []


def refusal(rule: str, message: str, pointer: str, hint: str) -> ProcessInvalid:
    """An answer that does not fit; `pointer` is a place in it."""
    return ProcessInvalid([Finding(rule, "error", message, Place(pointer), hint)])


def text_at(answer: Mapping[str, Any], name: str, hint: str) -> str:
    """A text that an answer must have."""
    value = answer.get(name)
    if not isinstance(value, str) or not value.strip():
        raise refusal("missing_field", f"«{name}» is missing.", f"/{name}", hint)
    return value.strip()


def known_members(answer: Mapping[str, Any], *known: str) -> None:
    """An answer has nothing but what its to-do asks for."""
    for name in answer:
        if name not in known:
            hint = f"Write {' or '.join(known)}."
            raise refusal("unknown_field", f"Nobody reads the field «{name}».", f"/{name}", hint)
