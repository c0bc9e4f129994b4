"""Automatic layout of a definition without a drawing: ranks from left to right, sub-processes around their elements."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from penstock.lang.process.bpmn.clear_routes import ClearRoutes
from penstock.lang.process.bpmn.flow_labels import label_of

_SIZES = {"activities": (100, 80), "gateways": (50, 50), "events": (36, 36)}
_GAP_X, _GAP_Y, _EDGE, _PAD = 60, 40, 160, 40
_LABEL_GAP = 60  # added where a flow has a label
_EARLY = 20
_MOST_CLEARED = 400  # elements of a drawing whose flows look for a way around the others
_Box = list[float]


def auto_layout(definition: Mapping[str, Any]) -> dict[str, Any]:
    """{shapes, edges}, in the form that the diagram interchange has."""
    layout = _Layout(definition)
    layout.level("", _EDGE, _EDGE / 2)
    layout.boundaries()
    return {"shapes": layout.shapes, "edges": layout.routes()}


class _Layout:
    def __init__(self, definition: Mapping[str, Any]) -> None:
        self.size: dict[str, tuple[float, float]] = {}
        self.inside: dict[str, list[str]] = {}
        self.attached: list[tuple[str, str]] = []
        for collection, size in _SIZES.items():
            for entry in definition.get(collection) or []:
                self.size[entry["id"]] = size
                if entry.get("attached_to"):
                    self.attached.append((entry["id"], entry["attached_to"]))
                else:
                    self.inside.setdefault(entry.get("parent") or "", []).append(entry["id"])
        self.flows = [
            (flow["id"], flow["source"], flow["target"]) for flow in definition.get("transitions") or []
            if flow["source"] in self.size and flow["target"] in self.size
        ]  # fmt: skip
        self.names = {flow["id"]: str(flow["name"]) for flow in definition.get("transitions") or [] if flow.get("name")}
        self.with_labels = {source for id, source, _ in self.flows if id in self.names}
        self.host = dict(self.attached)
        self.shapes: dict[str, Any] = {}

    def level(self, parent: str, x: float, y: float) -> tuple[float, float]:
        """Places the elements of a sub-process; returns the size that they take."""
        members = self.inside.get(parent, [])
        ranks = self._ranks(members)
        right, bottom, at = 0.0, 0.0, x
        for rank in ranks:
            wide, top = 0.0, y
            for id in rank:
                width, height = self.size[id]
                if id in self.inside:  # a sub-process is as large as what it holds
                    inner = self.level(id, at + _PAD, top + _PAD)
                    width, height = max(width, inner[0] + 2 * _PAD), max(height, inner[1] + 2 * _PAD)
                    self.shapes[id] = {"bounds": [at, top, width, height], "expanded": True}
                else:
                    self.shapes[id] = {"bounds": [at, top, width, height]}
                wide, top = max(wide, width), top + height + _GAP_Y
            self._center(rank, at, wide)
            right, bottom = max(right, at + wide - x), max(bottom, top - _GAP_Y - y)
            at += wide + _GAP_X + (_LABEL_GAP if self.with_labels.intersection(rank) else 0)
        for rank in ranks:
            low = max(self.shapes[id]["bounds"][1] + self.shapes[id]["bounds"][3] for id in rank)
            for id in rank:
                self._shift_down(id, (y + bottom - low) / 2)
        return right, bottom

    def _shift_down(self, id: str, by: float) -> None:
        """Moves an element down with everything in it, so that all ranks share one middle line."""
        self.shapes[id]["bounds"][1] += by
        for inner in self.inside.get(id, []):
            self._shift_down(inner, by)

    def _center(self, rank: list[str], at: float, wide: float) -> None:
        for id in rank:
            if id not in self.inside:
                self.shapes[id]["bounds"][0] = at + (wide - self.shapes[id]["bounds"][2]) / 2

    def _ranks(self, members: list[str]) -> list[list[str]]:
        """Ranks by the longest path from a start; flows that lead back are not followed."""
        member_set = set(members)
        ends = [(self.host.get(s, s), self.host.get(t, t)) for _, s, t in self.flows]
        outs: dict[str, list[str]] = {id: [] for id in members}
        for source, target in ends:
            if source in member_set and target in member_set and source != target:
                outs[source].append(target)
        rank = dict.fromkeys(members, 0)
        order = _topological_order(members, outs)
        place = {id: n for n, id in enumerate(order)}
        for id in order:
            for target in outs[id]:
                if place[target] > place[id]:
                    rank[target] = max(rank[target], rank[id] + 1)
        ranked: list[list[str]] = [[] for _ in range(max(rank.values(), default=-1) + 1)]
        for id in members:
            ranked[rank[id]].append(id)
        return ranked

    def boundaries(self) -> None:
        used: dict[str, int] = {}
        for id, host in self.attached:
            box = self.shapes.get(host, {}).get("bounds")
            if box is None:
                continue
            n = used[host] = used.get(host, 0) + 1
            self.shapes[id] = {"bounds": [box[0] + box[2] - 18 - 40 * (n - 1) - 10, box[1] + box[3] - 18, 36, 36]}

    def routes(self) -> dict[str, Any]:
        flows = [flow for flow in self.flows if flow[1] in self.shapes and flow[2] in self.shapes]
        level = {id: parent for parent, members in self.inside.items() for id in members}
        clear = ClearRoutes()
        routes: dict[str, Any] = {}
        for id, source, target in flows:
            a, b = self.shapes[source]["bounds"], self.shapes[target]["bounds"]
            points = _route(a, b, source in self.host, early=source in self.with_labels)
            if len(self.shapes) <= _MOST_CLEARED and level.get(source, "-") == level.get(target, "+"):
                others = [
                    self.shapes[each]["bounds"] for each in self.inside[level[source]] if each not in (source, target)
                ]
                points = clear.of(points, a, b, others)
            routes[id] = {"points": points} | label_of(points, self.names.get(id, ""))
        return routes


def _topological_order(members: list[str], outs: Mapping[str, list[str]]) -> list[str]:
    """An order in which every flow that closes no cycle leads forward; without recursion."""
    done: dict[str, bool] = {}
    order: list[str] = []
    for start in members:
        stack = [(start, iter(outs[start]))] if start not in done else []
        if stack:
            done[start] = True
        while stack:
            id, rest = stack[-1]
            following = next((target for target in rest if target not in done), None)
            if following is None:
                order.append(id)
                stack.pop()
            else:
                done[following] = True
                stack.append((following, iter(outs[following])))
    return order[::-1]


def _route(a: _Box, b: _Box, below: bool, *, early: bool = False) -> list[_Box]:
    """The waypoints of a flow at right angles: out on the right, in on the left; back underneath. `early`: what follows
    the bend is long enough for a label."""
    ay, by = a[1] + a[3] / 2, b[1] + b[3] / 2
    if below:
        start = [a[0] + a[2] / 2, a[1] + a[3]]
        return [start, [start[0], by], [b[0], by]] if by > start[1] else [start, [start[0], start[1] + 20],
                [b[0] - 20, start[1] + 20], [b[0] - 20, by], [b[0], by]]  # fmt: skip
    if b[0] >= a[0] + a[2]:
        middle = min((a[0] + a[2] + b[0]) / 2, a[0] + a[2] + (_EARLY if early else b[0]))
        bends = [] if ay == by else [[middle, ay], [middle, by]]
        return [[a[0] + a[2], ay], *bends, [b[0], by]]
    low = max(a[1] + a[3], b[1] + b[3]) + 30
    return [
        [a[0] + a[2] / 2, a[1] + a[3]],
        [a[0] + a[2] / 2, low],
        [b[0] + b[2] / 2, low],
        [b[0] + b[2] / 2, b[1] + b[3]],
    ]
