"""Parts of entries as they are read from elements: a modeler's own words, what our settings change, and the places."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from penstock.lang.document import Mark
from penstock.lang.process.bpmn.vocabulary import BPMN, PENSTOCK, STANDARD
from penstock.lang.process.bpmn.xml_tree import XmlElement, mark_of, to_xml

Collections = dict[str, list[tuple[dict[str, Any], XmlElement]]]


def kept_extensions(node: XmlElement, prefixes: Mapping[str, str]) -> dict[str, Any]:
    """A modeler's own attributes and extension elements as they were."""
    attributes = {
        f"{prefixes[space]}:{name}": value for (space, name), value in node.attributes.items()
        if space and space not in STANDARD and space in prefixes
    }  # fmt: skip
    extension = node.first("extensionElements", BPMN)
    children = extension.children if extension is not None else []
    inner = "".join(to_xml(child, dict(prefixes)) for child in children if child.space != PENSTOCK)
    return ({"attributes": attributes} if attributes else {}) | ({"elements": inner} if inner else {})


def reorder(collections: Collections, order: Any) -> None:
    """Entries as their author ordered them, where the file has them in another order."""
    for name, ids in order.items() if isinstance(order, dict) else ():
        places = {id: n for n, id in enumerate(ids) if isinstance(id, str)} if isinstance(ids, list) else {}
        collections.get(name, []).sort(key=lambda item: places.get(str(item[0].get("id")), len(places)))


def remove(entry: dict[str, Any], settings: dict[str, Any]) -> dict[str, Any]:
    """Takes away what an element still says and its author does not."""
    without = settings.get("$without")
    for name in without if isinstance(without, list) else ():
        entry.pop(str(name), None)
    return entry


def described(node: XmlElement, parent: str) -> dict[str, Any]:
    """The sub-process that an element lies in, and its documentation."""
    found = {"parent": parent} if parent else {}
    if text := node.child_text("documentation", BPMN):
        found["documentation"] = text
    return found


# ---- places ----------------------------------------------------------------------------------------------------------


def mark(entry: dict[str, Any], node: XmlElement) -> Mark:
    """The place of an entry: its fields have the place of the XML element, a condition its own."""
    spots = {}
    for name in entry:
        at = node
        if name == "condition":
            at = node.first("conditionExpression", BPMN) or node
        spots[name] = (at.line, at.column, mark_of(at))
    return Mark(node.line, node.column, spots)


def marks(top: dict[str, Any], node: XmlElement) -> dict[str, Mark]:
    return {name: mark_of(node) for name in top}
