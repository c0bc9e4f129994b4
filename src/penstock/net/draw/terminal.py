"""Draws a net for a terminal: a line per node in the order of the layers, edges as lanes beside them, tokens as ●.

The lines have the same number and the same width whatever the marks say, so that a live view only changes in place.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from penstock.net.analysis import NetAnalysis
from penstock.net.draw import layers
from penstock.net.draw.marks import Marks, NodeMark, badge, status_style
from penstock.net.draw.node_shapes import edge_text, node_shape
from penstock.net.draw.text_width import cells, clean, cut_cells
from penstock.net.model import Net

_LANES = 16  # more at once are not drawn but named
_TITLE = 34  # most cells of a name
_SYMBOLS = {
    "dot": "○", "skip": "◌", "stop": "■", "play": "▶", "hourglass": "◔", "rotate": "↻", "pause": "‖", "cross": "✗",
    "check": "✓", "undo": "↶",
}  # fmt: skip


class StyledSpan(NamedTuple):
    """Characters from `start` to `end` are shown in `style`: a tone, or token, label, lane, title, dim."""

    start: int
    end: int
    style: str


class TextLine(NamedTuple):
    text: str
    spans: tuple[StyledSpan, ...] = ()

    def __str__(self) -> str:
        return self.text


def terminal(net: Net, marks: Marks | None = None) -> list[TextLine]:
    """The picture, top to bottom; plain text with the places of its styles."""
    analysis = NetAnalysis(net)
    rows = _Rows(analysis, marks)
    rows.draw()
    gutter = max((cells(row.gutter) for row in rows.rows), default=0)
    title = max((cells(row.title) for row in rows.rows), default=0)
    return [_line(row, gutter, title) for row in rows.rows]


class _Row(NamedTuple):
    gutter: str
    title: str
    parts: tuple[tuple[str, str], ...]  # (text, style)
    tone: str


def _line(row: _Row, gutter: int, title: int) -> TextLine:
    text = row.gutter + " " * (gutter - cells(row.gutter) + 2)
    spans = [StyledSpan(0, len(row.gutter), "lane")] if row.gutter else []
    symbol = next((i for i, c in enumerate(row.gutter) if c in _SYMBOLS.values()), None)
    if symbol is not None and row.title:
        spans = [
            StyledSpan(0, symbol, "lane"),
            StyledSpan(symbol, symbol + 1, row.tone),
            StyledSpan(symbol + 1, len(row.gutter), "lane"),
        ]
    if row.title:
        spans.append(StyledSpan(len(text), len(text) + len(row.title), "title"))
        text += row.title + " " * (title - cells(row.title) + 2)
    for part, style in row.parts:
        spans.append(StyledSpan(len(text), len(text) + len(part), style))
        text += part
    text = text.rstrip()
    return TextLine(
        text,
        tuple(StyledSpan(s.start, min(s.end, len(text)), s.style) for s in spans if s.start < min(s.end, len(text))),
    )


class _Rows:
    def __init__(self, analysis: NetAnalysis, marks: Marks | None) -> None:
        self.analysis, self.marks = analysis, marks or Marks()
        self.inside: dict[str, list[int]] = {}
        for v, node in enumerate(analysis.net.nodes):
            self.inside.setdefault(node.scope if node.scope in analysis.graph.number else "", []).append(v)
        self.rows: list[_Row] = []
        self.open: set[str] = set()

    def draw(self) -> None:
        """Level within level, on a stack of its own: scopes nest as deeply as their author could bear."""
        stack = [self._level("", "")]
        while stack:
            inner = next(stack[-1], None)
            if inner is None:
                stack.pop()
            elif inner[0] not in self.open:
                stack.append(self._level(*inner))

    def _level(self, scope: str, before: str) -> Iterator[tuple[str, str]]:
        """One scope level, with `before` left of all its rows; yields the scopes to be drawn in between."""
        self.open.add(scope)
        members = self.inside.get(scope, [])
        graph = self.analysis.graph
        local = {v: i for i, v in enumerate(members)}
        numbers = [e for v in members for e in graph.outs[v] if graph.dst[e] in local]
        pairs = [(local[graph.src[e]], local[graph.dst[e]]) for e in numbers]
        closing = layers.backward(len(members), pairs)
        back = {numbers[i] for i in closing}
        forward = [pair for i, pair in enumerate(pairs) if i not in closing]
        layer = layers.layering(len(members), forward, [False] * len(members))
        for i, v in enumerate(members):  # an undo node stands after the node it undoes
            for undo in self.analysis.net.nodes[v].undo:
                at = local.get(graph.number.get(undo, -1), i)
                layer[at] = max(layer[at], layer[i])
        lanes = _Lanes(before, graph.dst)
        for i in sorted(range(len(members)), key=lambda i: (layer[i], i)):
            yield from self._node(members[i], lanes, back)

    def _node(self, v: int, lanes: _Lanes, back: set[int]) -> Iterator[tuple[str, str]]:
        node, outs = self.analysis.net.nodes[v], self.analysis.graph.outs[v]
        mark = self.marks.nodes.get(node.id) or NodeMark()
        shown = status_style(mark.status or "pending")
        merge = lanes.enter(v)
        if merge:
            self.rows.append(_Row(merge, "", (), "idle"))
        title = cut_cells(node.label or node.id, _TITLE)
        self.rows.append(_Row(lanes.node(_SYMBOLS[shown.icon]), title, self._status(v, mark), shown.tone))
        if node.kind == "scope":
            yield node.id, lanes.node("┆")
        ways = [e for e in outs if e not in back]
        loops = [e for e in outs if e in back]
        if ways or loops:
            named = not lanes.room(len(ways))
            gutter = lanes.leave([] if named else ways, bool(loops))
            parts = [self._way(e, arrow=named) for e in ways] + [self._loop(e) for e in loops]
            joined = tuple(
                p for i, texts in enumerate(p for p in parts if p) for p in ([("  ", "dim")] if i else []) + texts
            )
            self.rows.append(_Row(gutter, "", joined, "idle"))
        else:
            lanes.leave([], False)

    def _status(self, v: int, mark: NodeMark) -> tuple[tuple[str, str], ...]:
        if not mark.status:
            return ((node_shape(self.analysis, v).word, "dim"),)
        shown = status_style(mark.status)
        parts: list[tuple[str, str]] = [(shown.word, shown.tone)]
        if badge(mark):
            parts += [("  ", "dim"), (f"↻ {badge(mark)}", shown.tone)]
        if mark.note:
            parts += [("  ", "dim"), (clean(mark.note), "dim")]
        return tuple(parts)

    def _way(self, e: int, arrow: bool) -> list[tuple[str, str]]:
        text = edge_text(self.analysis.graph.edges[e])
        parts = [(text, "label")] if text else []
        if arrow:
            parts.append((f"{' ' if text else ''}→ {self._name(self.analysis.graph.dst[e])}", "label"))
        return self._with_tokens(e, parts)

    def _loop(self, e: int) -> list[tuple[str, str]]:
        text = edge_text(self.analysis.graph.edges[e])
        name = self._name(self.analysis.graph.dst[e])
        return self._with_tokens(e, [(f"↺ {text} → {name}" if text else f"↺ {name}", "label")])

    def _with_tokens(self, e: int, parts: list[tuple[str, str]]) -> list[tuple[str, str]]:
        count = self.marks.tokens.get(self.analysis.graph.edges[e].id, 0)
        if count:
            parts += [(" ", "dim")] if parts else []
            parts.append(("●" if count == 1 else f"●{count}", "token"))
        return parts

    def _name(self, v: int) -> str:
        node = self.analysis.net.nodes[v]
        return cut_cells(node.label or node.id, _TITLE)


class _Lanes:
    """Columns of edges on their way down; a node takes the leftmost of those that lead to it."""

    def __init__(self, before: str, dst: list[int]) -> None:
        self.before, self.dst = before, dst
        self.lanes: list[int | None] = []
        self.at = 0

    def enter(self, v: int) -> str:
        """Takes a column for the node, and gives the row in which several edges come together, if they do."""
        mine = [c for c, e in enumerate(self.lanes) if e is not None and self.dst[e] == v]
        if not mine:
            self.at = next((c for c, e in enumerate(self.lanes) if e is None), len(self.lanes))
            if self.at == len(self.lanes):
                self.lanes.append(None)
            return ""
        self.at = mine[0]
        row = self._across(self.at, mine[1:], "╯", "┴") if len(mine) > 1 else ""
        for c in mine[1:]:
            self.lanes[c] = None
        self._trim()
        return row

    def node(self, symbol: str) -> str:
        return self.before + "".join(
            f"{symbol} " if c == self.at else "│ " if e is not None else "  " for c, e in enumerate(self.lanes)
        )

    def room(self, more: int) -> bool:
        return sum(e is not None for e in self.lanes) + more <= _LANES

    def leave(self, ways: list[int], loops: bool) -> str:
        self.lanes[self.at] = ways[0] if ways else None
        taken = []
        for e in ways[1:]:
            c = next((c for c, lane in enumerate(self.lanes) if lane is None), len(self.lanes))
            if c == len(self.lanes):
                self.lanes.append(None)
            self.lanes[c] = e
            taken.append(c)
        if taken:
            row = self._across(self.at, taken, "╮", "┬")
        else:
            row = self.node("│" if ways else "╵" if loops else " ")
        self._trim()
        return row

    def _across(self, start: int, ends: list[int], corner: str, between: str) -> str:
        """A row in which one column reaches over to others: to its right, and for new edges also to its left."""
        low, high = min(start, *ends), max(start, *ends)
        row = ""
        for c, e in enumerate(self.lanes):
            inside = low < c < high
            if c == start:
                sign = "├" if low == start else "┤" if high == start else "┼"
            elif c in ends:
                sign = between if inside else corner if c == high else "╭"
            elif e is not None:
                sign = "┼" if inside else "│"
            else:
                sign = "─" if inside else " "
            row += sign + ("─" if low <= c < high else " ")
        return self.before + row

    def _trim(self) -> None:
        while len(self.lanes) > self.at + 1 and self.lanes[-1] is None:
            self.lanes.pop()
