"""Lays a net out from left to right: columns by longest path, straight main line, nested scopes, loops led around.

It looks at the net alone, never at a run, so that a picture does not jump while tokens move.
"""

from __future__ import annotations

from typing import NamedTuple

from penstock.net.analysis import NetAnalysis
from penstock.net.draw import layers
from penstock.net.draw.edge_routing import Channel, Hop, Lanes, Point, channel, straighten
from penstock.net.draw.heights import rows_to_heights
from penstock.net.draw.node_shapes import PILL, TITLE, NodeShape, edge_text, node_shape
from penstock.net.draw.text_width import width
from penstock.net.model import Net

_GAP, _THIN = 26.0, 12.0  # between two nodes of a column; beside a passing edge
_HEADER, _PAD = 40.0, 18.0  # of a scope's frame
_MOST_BENDS = 20_000  # passing places for long edges; beyond that they run under the nodes between


class PlacedNode(NamedTuple):
    """A node's place; `line` is the height at which edges arrive and leave."""

    form: NodeShape
    x: float
    y: float
    width: float
    height: float
    line: float
    depth: int

    @property
    def middle(self) -> float:
        return self.x + self.width / 2


class Route(NamedTuple):
    """An edge's path, and where its label and its tokens are drawn."""

    points: list[Point]
    text: str
    label: Point
    token: Point
    back: bool


class Layout(NamedTuple):
    spots: dict[int, PlacedNode]  # by number of the node
    routes: dict[int, Route]  # by number of the edge in Facts.graph
    hung: list[tuple[int, int]]  # (node, undo node drawn below it)
    width: float
    height: float


def layout(analysis: NetAnalysis) -> Layout:
    """The innermost scopes first, each then one large node of the level around it."""
    nodes, number = analysis.net.nodes, analysis.graph.number
    depth = _depths(analysis.net, number)
    inside: dict[str, list[int]] = {}
    for v, node in enumerate(nodes):
        inside.setdefault(node.scope if node.scope in number else "", []).append(v)
    forms = [node_shape(analysis, v) for v in range(len(nodes))]
    plans: dict[int, _Plan] = {}
    for v in sorted((v for v, node in enumerate(nodes) if node.kind == "scope"), key=lambda v: (-depth[v], v)):
        plans[v] = plan = _level(analysis, inside.get(nodes[v].id, []), forms)
        wide = max(plan.width + 2 * _PAD, width(forms[v].title, TITLE, bold=True) + 206)
        half = (plan.height + _HEADER + _PAD) / 2
        forms[v] = forms[v]._replace(width=wide, up=half, down=half)
    root = _level(analysis, inside.get("", []), forms)
    whole = Layout({}, {}, [], root.width, root.height)
    todo = [(root, 0.0, 0.0, 0)]
    while todo:
        plan, dx, dy, level = todo.pop()
        for v, spot in plan.spots.items():
            moved = spot._replace(x=spot.x + dx, y=spot.y + dy, line=spot.line + dy, depth=level)
            whole.spots[v] = moved
            if v in plans:
                free = (moved.width - 2 * _PAD - plans[v].width) / 2
                todo.append((plans[v], moved.x + _PAD + free, moved.y + _HEADER, level + 1))
        for e, way in plan.routes.items():
            points = [(x + dx, y + dy) for x, y in way.points]
            label, token = (way.label[0] + dx, way.label[1] + dy), (way.token[0] + dx, way.token[1] + dy)
            whole.routes[e] = Route(points, way.text, label, token, way.back)
        whole.hung.extend(plan.hung)
    return whole


def _depths(net: Net, number: dict[str, int]) -> list[int]:
    """How deep each node lies; a scope that lies in itself counts as very deep, and is drawn all the same."""
    depth = []
    for node in net.nodes:
        d, scope = 0, node.scope
        while scope in number and d <= len(number):
            d, scope = d + 1, net.nodes[number[scope]].scope
        depth.append(d)
    return depth


class _Plan(NamedTuple):
    spots: dict[int, PlacedNode]
    routes: dict[int, Route]
    hung: list[tuple[int, int]]
    width: float
    height: float


def _level(analysis: NetAnalysis, members: list[int], forms: list[NodeShape]) -> _Plan:
    return _Level(analysis, members, forms).plan() if members else _Plan({}, {}, [], 0, 0)


class _Level:
    """One level by local numbers: first the members, then passing places of long edges."""

    def __init__(self, analysis: NetAnalysis, members: list[int], forms: list[NodeShape]) -> None:
        self.analysis, self.members = analysis, members
        self.forms = [forms[v] for v in members]
        local = {v: i for i, v in enumerate(members)}
        graph = analysis.graph
        numbers = [e for v in members for e in graph.outs[v] if graph.dst[e] in local]
        pairs = [(local[graph.src[e]], local[graph.dst[e]]) for e in numbers]
        back = layers.backward(len(members), pairs)
        self.back = [(numbers[i], *pairs[i]) for i in sorted(back)]
        self.forward = [(numbers[i], *pair) for i, pair in enumerate(pairs) if i not in back]
        self.owner = self._hang(local)
        self._columns()

    def _hang(self, local: dict[int, int]) -> dict[int, int]:
        """Undo nodes without ways of their own hang below the first node that names them."""
        owner: dict[int, int] = {}
        busy = {v for _, a, b in (*self.forward, *self.back) for v in (a, b)}
        for i, v in enumerate(self.members):
            for id in self.analysis.net.nodes[v].undo:
                at = local.get(self.analysis.graph.number.get(id, -1), i)
                if at != i and at not in busy and at not in owner:
                    owner[at] = i
        return owner

    def _columns(self) -> None:
        n = len(self.members)
        pairs = [(a, b) for _, a, b in self.forward]
        nodes = self.analysis.net.nodes
        fixed = [nodes[v].kind == "start" for v in self.members]
        layer = layers.layering(n, pairs, fixed)
        for hung, owner in self.owner.items():
            layer[hung] = layer[owner]
        self.chains: list[list[int]] = []
        bends = sum(layer[b] - layer[a] - 1 for a, b in pairs)
        for a, b in pairs:
            chain = [a]
            if bends <= _MOST_BENDS:
                for column in range(layer[a] + 1, layer[b]):
                    chain.append(len(layer))
                    layer.append(column)
            self.chains.append([*chain, b])
        self.layer = layer
        succ: list[list[int]] = [[] for _ in layer]
        pred: list[list[int]] = [[] for _ in layer]
        for chain in self.chains:
            for a, b in zip(chain, chain[1:], strict=False):
                succ[a].append(b)
                pred[b].append(a)
        rows: list[list[int]] = [[] for _ in range(max(layer) + 1)]
        for v in self._first_order(succ):
            if v not in self.owner:
                rows[layer[v]].append(v)
        rows = layers.order_rows(rows, succ, pred)
        for row in rows:
            for owner in [v for v in row if v in self.owner.values()]:
                at = row.index(owner) + 1
                row[at:at] = [h for h, o in self.owner.items() if o == owner]
        self.rows = rows

    def _first_order(self, succ: list[list[int]]) -> list[int]:
        """Depth first in declaration order: what belongs together starts together."""
        order: list[int] = []
        seen = [False] * len(succ)
        for root in range(len(self.members)):
            todo = [root]
            while todo:
                v = todo.pop()
                if not seen[v]:
                    seen[v] = True
                    order.append(v)
                    todo.extend(reversed(succ[v]))
        return order

    def _apart(self, above: int, below: int) -> float:
        n = len(self.members)
        down = self.forms[above].down if above < n else 0.0
        up = self.forms[below].up if below < n else 0.0
        if below in self.owner:
            return down + up + 18
        return down + up + (_GAP if above < n and below < n else _THIN if above < n or below < n else 16.0)

    def _heights(self) -> dict[int, float]:
        """The main line is heaviest, then long edges; what a parallel split parts and a join unites stays even."""
        pairs = [(a, b) for _, a, b in self.forward]
        line = layers.main_line(len(self.members), pairs)
        outs: dict[int, int] = {}
        for a, _ in pairs:
            outs[a] = outs.get(a, 0) + 1
        pred: list[list[tuple[int, float]]] = [[] for _ in self.layer]
        succ: list[list[tuple[int, float]]] = [[] for _ in self.layer]
        beside: dict[int, int] = {}
        for (_, b), chain in zip(pairs, self.chains, strict=True):
            beside[b] = beside.get(b, 0) + (len(chain) == 2)
        parts = [outs.get(v, 0) > 1 and not self.analysis.chooses(self.members[v]) for v in range(len(self.members))]
        local = {v: i for i, v in enumerate(self.members)}
        for i, ((a, b), chain) in enumerate(zip(pairs, self.chains, strict=True)):
            even, split = parts[a], local.get(self.analysis.graph.idom[self.members[b]])
            joins = beside[b] > 1 and split is not None and parts[split]
            for k, (v, w) in enumerate(zip(chain, chain[1:], strict=False)):
                weight = 1.0
                if i in line and not (even and k == 0) and not (joins and k == len(chain) - 2):
                    weight = 12.0
                elif len(chain) > 2 and 0 < k < len(chain) - 2:
                    weight = 6.0
                pred[w].append((v, weight))
                succ[v].append((w, weight))
        for hung, owner in self.owner.items():
            pred[hung].append((owner, 1.0))
        return rows_to_heights(self.rows, pred, succ, self._apart)

    def plan(self) -> _Plan:
        y = self._heights()
        n = len(self.members)
        top = min(y[v] - (self.forms[v].up if v < n else 0) for row in self.rows for v in row)
        y = {v: round(at - top, 1) for v, at in y.items()}
        channels = self._channels(y)
        left, x = [], 0.0
        wide = [max((self.forms[v].width for v in row if v < n), default=0.0) for row in self.rows]
        for column, room in enumerate(wide):
            left.append(x)
            x += room + (channels[column].width if column < len(channels) else 0)
        spots = {}
        for i, f in enumerate(self.forms):
            column = self.layer[i]
            at = left[column] + (wide[column] - f.width) / 2
            spots[i] = PlacedNode(f, round(at, 1), y[i] - f.up, f.width, f.up + f.down, y[i], 0)
        ways = self._forward_routes(spots, y, left, wide, channels)
        loops = self._back_routes(spots, left, wide)
        return self._trim(spots, ways | loops)

    def _channels(self, y: dict[int, float]) -> list[Channel]:
        hops: list[list[Hop]] = [[] for _ in range(len(self.rows) - 1)]
        for (e, _, _), chain in zip(self.forward, self.chains, strict=True):
            text = edge_text(self.analysis.graph.edges[e])
            for k, (v, w) in enumerate(zip(chain, chain[1:], strict=False)):
                label = width(text, PILL) + 16 if text and k == 0 else 0.0
                hops[self.layer[v]].append(Hop(e, v, w, y[v], y[w], label))
        return [channel(between) for between in hops]

    def _forward_routes(
        self,
        spots: dict[int, PlacedNode],
        y: dict[int, float],
        left: list[float],
        wide: list[float],
        channels: list[Channel],
    ) -> dict[int, Route]:
        routes: dict[int, Route] = {}
        pills: set[tuple[float, float]] = set()
        outs: dict[int, int] = {}
        ins: dict[int, int] = {}
        for _, a, b in self.forward:
            outs[a], ins[b] = outs.get(a, 0) + 1, ins.get(b, 0) + 1
        for (e, a, b), chain in zip(self.forward, self.chains, strict=True):
            points: list[Point] = [(_right(spots[a]), y[a])]
            for v, w in zip(chain, chain[1:], strict=False):
                column = self.layer[v]
                start, room = left[column] + wide[column], channels[column]
                if e in room.track and abs(y[v] - y[w]) >= 0.5:
                    track = start + room.track[e]
                    points += [(track, y[v]), (track, y[w])]
            points.append((_left(spots[b]), y[b]))
            text = edge_text(self.analysis.graph.edges[e])
            column = self.layer[a]
            start, room = left[column] + wide[column], channels[column]
            end = left[column + 1] - 28 if len(chain) > 2 or spots[b].width == wide[column + 1] else points[-1][0] - 28
            label = ((start + room.labels + end) / 2, y[chain[1]])
            if text and label in pills and e in room.track:
                label = (start + room.track[e], (y[a] + y[chain[1]]) / 2)
            pills.add(label)
            routes[e] = Route(straighten(points), text, label, _rest(points, outs[a], ins[b]), False)
        return routes

    def _back_routes(self, spots: dict[int, PlacedNode], left: list[float], wide: list[float]) -> dict[int, Route]:
        bottoms = [max((spots[v].y + spots[v].height for v in row if v in spots), default=0.0) for row in self.rows]
        lanes, routes = Lanes(bottoms), {}
        loops = sorted(self.back, key=lambda loop: (abs(self.layer[loop[1]] - self.layer[loop[2]]), loop[0]))
        doors = _doors([(a, b) for _, a, b in loops])
        for i, (e, a, b) in enumerate(loops):
            first, last = sorted((self.layer[a], self.layer[b]))
            lane = lanes.take(first, last)
            out, into = spots[a], spots[b]
            text = edge_text(self.analysis.graph.edges[e])
            half = width(text, PILL) / 2 + 24 if a == b else 0.0
            leave, enter = _door(out, doors[i][0] + half), _door(into, doors[i][1] - half)
            points: list[Point] = [(leave, _bottom(out))]
            if not self._lowest(a, spots):
                aside = left[self.layer[a]] + wide[self.layer[a]] + 9
                points += [(leave, _bottom(out) + 12), (aside, _bottom(out) + 12), (aside, lane)]
            else:
                points.append((leave, lane))
            if not self._lowest(b, spots):
                aside = left[self.layer[b]] - 11
                points += [(aside, lane), (aside, _bottom(into) + 12), (enter, _bottom(into) + 12)]
            else:
                points.append((enter, lane))
            points.append((enter, _bottom(into)))
            ends = [x for x, y in points if y == lane]
            label = ((min(ends) + max(ends)) / 2, lane)
            up = next(x for x, y in reversed(points) if y == lane)
            token = (up, (lane + _bottom(into)) / 2 + 2)
            routes[e] = Route(straighten(points), text, label, token, True)
        return routes

    def _lowest(self, v: int, spots: dict[int, PlacedNode]) -> bool:
        return not any(spots[w].y > spots[v].y for w in self.rows[self.layer[v]] if w in spots and w != v)

    def _trim(self, spots: dict[int, PlacedNode], ways: dict[int, Route]) -> _Plan:
        """Moves everything to the corner, and gives the members their numbers back."""
        xs = [p[0] for way in ways.values() for p in way.points] + [s.x for s in spots.values()]
        ys = [p[1] for way in ways.values() for p in way.points] + [s.y for s in spots.values()]
        xs += [s.x + s.width for s in spots.values()]
        ys += [s.y + s.height for s in spots.values()]
        ys += [way.label[1] + 11 for way in ways.values() if way.text]
        dx, dy = -min(xs), -min(ys)
        moved = {self.members[i]: s._replace(x=s.x + dx, y=s.y + dy, line=s.line + dy) for i, s in spots.items()}
        shifted = {
            e: Route(
                [(x + dx, y + dy) for x, y in way.points],
                way.text,
                (way.label[0] + dx, way.label[1] + dy),
                (way.token[0] + dx, way.token[1] + dy),
                way.back,
            )
            for e, way in ways.items()
        }
        hung = [(self.members[owner], self.members[v]) for v, owner in self.owner.items()]
        return _Plan(moved, shifted, hung, max(xs) + dx, max(ys) + dy)


def _door(spot: PlacedNode, offset: float) -> float:
    """A place on the lower border, not too near to its corners."""
    reach = max(spot.width / 2 - 14, spot.width / 4)
    return spot.middle + min(max(offset, -reach), reach)


def _doors(loops: list[tuple[int, int]]) -> list[tuple[float, float]]:
    """Where loops leave and enter, beside the middle of their nodes, so that inner ones stay within outer ones.

    They come from the shortest to the longest: the longer, the further left it enters and the further right it leaves.
    """
    at: dict[int, list[tuple[int, int]]] = {}  # node -> (loop, 0 leaves | 1 enters), from left to right
    for i, (a, b) in enumerate(loops):
        at.setdefault(b, []).insert(0, (i, 1))
        at.setdefault(a, []).append((i, 0))
    offsets: dict[tuple[int, int], float] = {}
    for doors in at.values():
        for k, door in enumerate(doors):
            offsets[door] = (k - (len(doors) - 1) / 2) * 17.0
    return [(offsets[i, 0], offsets[i, 1]) for i in range(len(loops))]


def _rest(points: list[Point], outs: int, ins: int) -> Point:
    """Where a token rests: before its target, or, when others end there too, on a piece that is the edge's own."""
    (x, y), (end, target) = points[0], points[-1]
    if ins == 1:
        return end - 19, target
    if outs == 1:
        return x + 15, y
    bend = next((p for p in points[1:-1] if p[1] != y), None)
    return (bend[0], (y + bend[1]) / 2) if bend else ((x + end) / 2, y)


def _right(spot: PlacedNode) -> float:
    return spot.middle + 18 if spot.form.shape in ("circle", "ring") else spot.x + spot.width


def _left(spot: PlacedNode) -> float:
    return spot.middle - 18 if spot.form.shape in ("circle", "ring") else spot.x


def _bottom(spot: PlacedNode) -> float:
    return spot.y + spot.height
