"""The drawing of a BPMN file: bounds of shapes, ways of edges, labels. Kept as it is, written as it was."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from penstock.lang.process.bpmn.names import DC, DD, DI
from penstock.lang.process.bpmn.tree import Node

FLAGS = {"isExpanded": "expanded", "isHorizontal": "horizontal", "isMarkerVisible": "marker"}


def read(root: Node, own: Callable[[str], str]) -> dict[str, Any]:
    """{shapes, edges} of the first plane; further planes (collapsed sub-processes) under `more`."""
    planes = [plane for one in root.all("BPMNDiagram", DI) for plane in one.all("BPMNPlane", DI)]
    found = [{"element": own(plane.get("bpmnElement")), **_plane(plane, own)} for plane in planes]
    if not found:
        return {}
    return {**found[0], "more": found[1:]} if len(found) > 1 else found[0]


def _plane(plane: Node, own: Callable[[str], str]) -> dict[str, Any]:
    shapes: dict[str, Any] = {}
    edges: dict[str, Any] = {}
    for one in plane.children:
        if one.space != DI or not one.get("bpmnElement"):
            continue
        label = _label(one)
        if one.name == "BPMNShape":
            shape: dict[str, Any] = {"bounds": _bounds(one.first("Bounds", DC))}
            for name, word in (
                ("isExpanded", "expanded"),
                ("isHorizontal", "horizontal"),
                ("isMarkerVisible", "marker"),
            ):
                if one.get(name):
                    shape[word] = one.get(name) == "true"
            shapes[own(one.get("bpmnElement"))] = shape | label
        elif one.name == "BPMNEdge":
            points = [[_number(p.get("x")), _number(p.get("y"))] for p in one.all("waypoint", DD)]
            edges[own(one.get("bpmnElement"))] = {"points": points} | label
    return {"shapes": shapes, "edges": edges}


def _label(one: Node) -> dict[str, Any]:
    held = one.first("BPMNLabel", DI)
    bounds = held.first("Bounds", DC) if held is not None else None
    return {"label": _bounds(bounds)} if bounds is not None else {}


def _bounds(node: Node | None) -> list[float]:
    return [_number(node.get(name)) if node is not None else 0 for name in ("x", "y", "width", "height")]


def _number(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        return 0
    if not math.isfinite(value):
        return 0
    return int(value) if value == int(value) else value
