"""One drawing for two models of a process: what was there keeps its place, and what is new is placed beside it.

The drawings of both models and of both together have each element at the same place, so that a look goes from one to
the other without a shape that moves.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from penstock.lang.process.bpmn.layout import auto_layout
from penstock.lang.process.bpmn.writer import write_bpmn

_NODES = {"activities": (100.0, 80.0), "gateways": (50.0, 50.0), "events": (36.0, 36.0)}
_GAP, _STEP, _ROWS = 50.0, 20.0, 60
_Bounds = list[float]
_Point = list[float]


class Drawings(msgspec.Struct, frozen=True):
    """BPMN XML. `merged` has the elements of both."""

    base: str
    model: str
    merged: str


def merged_drawings(base: Mapping[str, Any], model: Mapping[str, Any]) -> Drawings:
    both = _merged(base, model)
    own = base.get("diagram")
    drawn = _placed(both, own) if isinstance(own, Mapping) and own.get("shapes") else auto_layout(both)
    return Drawings(*(write_bpmn(_with(each, drawn)) for each in (base, model, both)))


def _merged(base: Mapping[str, Any], model: Mapping[str, Any]) -> dict[str, Any]:
    """The elements of both, those of the base where both have one of an id."""
    both = {name: value for name, value in base.items() if name != "extensions"}
    for collection in (*_NODES, "transitions"):
        known = {str(entry["id"]) for entry in _entries(base, collection)}
        new = [entry for entry in _entries(model, collection) if str(entry["id"]) not in known]
        both[collection] = [*_entries(base, collection), *new]
    there = {str(entry["id"]) for collection in _NODES for entry in _entries(both, collection)}
    both["transitions"] = [
        flow for flow in both["transitions"] if str(flow.get("source")) in there and str(flow.get("target")) in there
    ]
    return both


def _with(definition: Mapping[str, Any], drawn: Mapping[str, Any]) -> dict[str, Any]:
    """The definition with the places of its own elements."""
    ids = {str(entry["id"]) for collection in (*_NODES, "lanes", "pools") for entry in _entries(definition, collection)}
    flows = {str(entry["id"]): entry for entry in _entries(definition, "transitions")}
    shapes = {id: shape for id, shape in drawn["shapes"].items() if id in ids}
    edges = {
        id: edge if _fits(edge, shapes, flow) else {"points": _way(shapes, flow)}
        for id, flow in flows.items()
        if str(flow.get("source")) in shapes and str(flow.get("target")) in shapes
        for edge in [drawn["edges"].get(id)]
    }
    diagram = {**drawn, "shapes": shapes, "edges": edges}
    return {**{name: value for name, value in definition.items() if name != "extensions"}, "diagram": diagram}


def _placed(both: Mapping[str, Any], own: Mapping[str, Any]) -> dict[str, Any]:
    """What the base has drawn, and what is new at a free place near what it follows."""
    shapes = dict(own.get("shapes") or {})
    flows = _entries(both, "transitions")
    waiting = [
        (str(entry["id"]), size) for collection, size in _NODES.items() for entry in _entries(both, collection)
        if str(entry["id"]) not in shapes
    ]  # fmt: skip
    while waiting:
        ready = [each for each in waiting if _near(each[0], flows, shapes)] or waiting[:1]
        for id, size in ready:
            shapes[id] = {"bounds": _free(_wish(_near(id, flows, shapes), size), shapes)}
        waiting = [each for each in waiting if each not in ready]
    return {**own, "shapes": shapes, "edges": dict(own.get("edges") or {})}


def _near(id: str, flows: Iterable[Mapping[str, Any]], shapes: Mapping[str, Any]) -> list[_Bounds]:
    """The shapes that are drawn already and have a flow from or to it."""
    ends = [(str(flow.get("source")), str(flow.get("target"))) for flow in flows]
    others = [source if target == id else target for source, target in ends if id in (source, target)]
    return [_bounds(shapes[other]) for other in others if other in shapes]


def _wish(near: list[_Bounds], size: tuple[float, float]) -> _Bounds:
    wide, high = size
    if not near:
        return [0.0, 0.0, wide, high]
    x = sum(box[0] + box[2] / 2 for box in near) / len(near)
    y = sum(box[1] + box[3] / 2 for box in near) / len(near)
    return [x - wide / 2 + (wide / 2 + _GAP if len(near) == 1 else 0), y - high / 2, wide, high]


def _free(wish: _Bounds, shapes: Mapping[str, Any]) -> _Bounds:
    """The nearest place above or below that no other shape takes; frames hold others and take none."""
    taken = [_bounds(shape) for shape in shapes.values() if not _is_frame(shape)]
    x, y, wide, high = wish
    for row in range(_ROWS):
        for dy in {row * _STEP, -row * _STEP}:
            if not any(_overlap([x, y + dy, wide, high], box) for box in taken):
                return [x, y + dy, wide, high]
    return wish


def _is_frame(shape: Any) -> bool:
    return isinstance(shape, Mapping) and bool(shape.get("expanded") or "horizontal" in shape)


def _overlap(a: _Bounds, b: _Bounds) -> bool:
    return (
        a[0] < b[0] + b[2] + _STEP and b[0] < a[0] + a[2] + _STEP
        and a[1] < b[1] + b[3] + _STEP and b[1] < a[1] + a[3] + _STEP
    )  # fmt: skip


def _fits(edge: Any, shapes: Mapping[str, Any], flow: Mapping[str, Any]) -> bool:
    """Whether a drawn flow still goes from the shape to the shape that it goes between."""
    points = edge.get("points") if isinstance(edge, Mapping) else edge
    if not isinstance(points, list) or len(points) < 2:
        return False
    ends = ((points[0], str(flow.get("source"))), (points[-1], str(flow.get("target"))))
    return all(_touches(point, _bounds(shapes[id])) for point, id in ends)


def _touches(point: _Point, box: _Bounds) -> bool:
    x, y = point
    return box[0] - 2 <= x <= box[0] + box[2] + 2 and box[1] - 2 <= y <= box[1] + box[3] + 2


def _way(shapes: Mapping[str, Any], flow: Mapping[str, Any]) -> list[_Point]:
    """At right angles: out on the right, in on the left; straight to what stands above or below, around the corner to
    what stands behind and above or below, and back underneath in one row."""
    a, b = _bounds(shapes[str(flow.get("source"))]), _bounds(shapes[str(flow.get("target"))])
    begin, end = [a[0] + a[2], a[1] + a[3] / 2], [b[0], b[1] + b[3] / 2]
    if b[1] + b[3] <= a[1] or a[1] + a[3] <= b[1]:
        to_above = b[1] + b[3] <= a[1]
        a_side, b_side = (a[1], b[1] + b[3]) if to_above else (a[1] + a[3], b[1])
        left, right = max(a[0], b[0]), min(a[0] + a[2], b[0] + b[2])
        if left + 2 <= right:
            return [[(left + right) / 2, a_side], [(left + right) / 2, b_side]]
        if begin[0] > end[0]:
            return [[a[0], begin[1]], [b[0] + b[2] / 2, begin[1]], [b[0] + b[2] / 2, b_side]]
    if begin[0] <= end[0]:
        middle = (begin[0] + end[0]) / 2
        return [begin, [middle, begin[1]], [middle, end[1]], end]
    low = max(a[1] + a[3], b[1] + b[3]) + _GAP / 2
    below = [a[0] + a[2] / 2, a[1] + a[3]], [b[0] + b[2] / 2, b[1] + b[3]]
    return [below[0], [below[0][0], low], [below[1][0], low], below[1]]


def _bounds(shape: Any) -> _Bounds:
    bounds = shape.get("bounds") if isinstance(shape, Mapping) else shape
    return [float(value) for value in bounds or (0, 0, 0, 0)]


def _entries(definition: Mapping[str, Any], collection: str) -> list[Mapping[str, Any]]:
    entries = definition.get(collection)
    return [entry for entry in entries if isinstance(entry, Mapping)] if isinstance(entries, list) else []
