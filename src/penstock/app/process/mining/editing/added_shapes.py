"""Draws what a proposal has added into the drawing of its base: near what it lies between."""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from typing import Any

_SIZES = {"activities": (100.0, 80.0), "gateways": (50.0, 50.0), "events": (36.0, 36.0)}
_STEP = 20.0
_Box = list[float]


def with_added_shapes(definition: Mapping[str, Any], base: Mapping[str, Any]) -> dict[str, Any]:
    """The definition; where its base has no drawing it has none either, and is laid out as a whole."""
    drawn = base.get("diagram")
    if not isinstance(drawn, Mapping) or not drawn.get("shapes"):
        return {key: value for key, value in definition.items() if key != "diagram"}
    shapes: dict[str, Any] = deepcopy(dict(drawn["shapes"]))
    ids = {entry["id"]: size for name, size in _SIZES.items() for entry in definition.get(name) or ()}
    was = {entry["id"]: entry for entry in base.get("transitions") or ()}
    flows = list(definition.get("transitions") or ())
    gone = {entry["id"] for name in _SIZES for entry in base.get(name) or ()} - ids.keys()
    shapes = {id: shape for id, shape in shapes.items() if id not in gone}
    for id in [id for id in ids if id not in shapes]:
        near = [flow["source"] if flow["target"] == id else flow["target"] for flow in flows if id in _ends(flow)]
        boxes = [shapes[other]["bounds"] for other in near if other in shapes]
        shapes[id] = {"bounds": _place(boxes, ids[id], [shape["bounds"] for shape in shapes.values()])}
    edges = {id: edge for id, edge in (drawn.get("edges") or {}).items() if id in {flow["id"] for flow in flows}}
    for flow in flows:
        if (flow["id"] not in edges or _ends(was.get(flow["id"], {})) != _ends(flow)) and set(_ends(flow)) <= set(
            shapes
        ):
            edges[flow["id"]] = {"points": _way(*(shapes[end]["bounds"] for end in _ends(flow)))}
    return {**definition, "diagram": {**drawn, "shapes": shapes, "edges": edges}}


def _ends(flow: Mapping[str, Any]) -> tuple[str, str]:
    return flow.get("source", ""), flow.get("target", "")


def _place(near: list[_Box], size: tuple[float, float], taken: list[_Box]) -> _Box:
    """In the middle of what it lies between, moved down until nothing of its size is there."""
    wide, high = size
    x = sum(box[0] + box[2] / 2 for box in near) / len(near) if near else wide
    y = sum(box[1] + box[3] / 2 for box in near) / len(near) if near else high
    box = [x - wide / 2 + (wide if len(near) == 1 else 0), y - high / 2, wide, high]
    small = [other for other in taken if other[2] <= 200 and other[3] <= 200]  # not lanes, pools and sub-processes
    while any(_overlap(box, other) for other in small):
        box[1] += _STEP
    return box


def _overlap(a: _Box, b: _Box) -> bool:
    return a[0] < b[0] + b[2] and b[0] < a[0] + a[2] and a[1] < b[1] + b[3] and b[1] < a[1] + a[3]


def _way(a: _Box, b: _Box) -> list[_Box]:
    """At right angles, out on the right and in on the left; back above."""
    ay, by = a[1] + a[3] / 2, b[1] + b[3] / 2
    if b[0] >= a[0] + a[2]:
        middle = (a[0] + a[2] + b[0]) / 2
        return [[a[0] + a[2], ay], *([] if ay == by else [[middle, ay], [middle, by]]), [b[0], by]]
    top = min(a[1], b[1]) - _STEP
    return [[a[0] + a[2] / 2, a[1]], [a[0] + a[2] / 2, top], [b[0] + b[2] / 2, top], [b[0] + b[2] / 2, b[1]]]
