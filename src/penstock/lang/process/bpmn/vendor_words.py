"""The attributes and extension elements of modelers, whichever of the related namespaces they are in."""

from __future__ import annotations

from penstock.lang.process.bpmn.vocabulary import BPMN, CAMUNDA, ZEEBE
from penstock.lang.process.bpmn.xml_tree import XmlElement

VENDORS = (ZEEBE, *CAMUNDA)


def attribute(node: XmlElement, name: str) -> str:
    """An attribute of Camunda 7 or one of its relatives."""
    return next((node.get(name, space=space) for space in CAMUNDA if node.get(name, space=space)), "")


def extensions(node: XmlElement, name: str, spaces: tuple[str, ...] = CAMUNDA) -> list[XmlElement]:
    """The extension elements of that name."""
    extension = node.first("extensionElements", BPMN)
    inside = extension.children if extension is not None else []
    return [child for child in inside if child.name == name and child.space in spaces]


def zeebe(node: XmlElement, name: str) -> list[XmlElement]:
    return extensions(node, name, (ZEEBE,))


def vendor_children(node: XmlElement, name: str) -> list[XmlElement]:
    return [child for child in node.children if child.name == name and child.space in VENDORS]
