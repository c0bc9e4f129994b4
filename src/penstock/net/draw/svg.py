"""Draws a net, and a run in it, as an SVG picture in the console's colours.

Every text comes from a document and is escaped; nothing in the picture is a link, a script or a reference to elsewhere.
"""

from __future__ import annotations

from penstock.net.analysis import NetAnalysis
from penstock.net.draw.edge_routing import Point
from penstock.net.draw.icons import ICONS
from penstock.net.draw.layout import Layout, PlacedNode, Route, layout
from penstock.net.draw.marks import UNREACHED, Marks, NodeMark, StatusStyle, badge, status_style
from penstock.net.draw.node_shapes import PILL, SUB, TITLE
from penstock.net.draw.text_width import clean, cut, width
from penstock.net.draw.theme import FONT, THEMES, Ink, Theme, ThemeName
from penstock.net.draw.xml import document, path, tag, text
from penstock.net.model import Net

_MARGIN, _HEAD = 30.0, 54.0
_ROUND = 9.0  # corners of edges
_ENDED = frozenset({"completed", "succeeded", "done", "maxiter_reached"})
_MOTION = (
    ".halo{animation:halo 2s ease-in-out infinite;transform-box:fill-box;transform-origin:center}"
    "@keyframes halo{50%{transform:scale(1.35);opacity:.1}}"
    "@media (prefers-reduced-motion:reduce){.halo{animation:none}}"
)


def svg(net: Net, marks: Marks | None = None, theme: ThemeName = "light", title: str = "") -> str:
    """The whole picture as text; the same net and marks give the same bytes."""
    analysis = NetAnalysis(net)
    return _Painter(analysis, layout(analysis), marks, THEMES[theme], clean(title)).paint()


class _Paper:
    """Border, fill, dashes and thickness of a node."""

    def __init__(self, border: str, fill: str, dashes: str = "", thick: float = 1.5) -> None:
        self.border, self.fill, self.dashes, self.thick = border, fill, dashes, thick


class _Painter:
    def __init__(self, analysis: NetAnalysis, picture: Layout, marks: Marks | None, theme: Theme, title: str) -> None:
        self.analysis, self.picture, self.marks, self.theme, self.title = analysis, picture, marks, theme, title

    def paint(self) -> str:
        head = _HEAD if self.title else 0.0
        wide = max(self.picture.width, width(self.title, 17, bold=True)) + 2 * _MARGIN
        high = self.picture.height + 2 * _MARGIN + head
        scene = tag("g", "\n", *(f"{part}\n" for part in self._scene()), transform=_move(_MARGIN, _MARGIN + head))
        name = self.title or clean(self.analysis.net.name)
        return document(wide, high, name, FONT, [tag("style", _MOTION), *self._ground(wide, high), scene])

    def _ground(self, wide: float, high: float) -> list[str]:
        t = self.theme
        dot = tag("circle", cx=1.2, cy=1.2, r=1.0, fill=t.dot)
        elements = [
            tag("defs", tag("pattern", dot, id="dots", width=18.0, height=18.0, patternUnits="userSpaceOnUse")),
            tag("rect", width=wide, height=high, rx=16.0, fill=t.bg),
            tag("rect", x=0.5, y=0.5, width=wide - 1, height=high - 1, rx=15.5, fill="url(#dots)", stroke=t.line),
        ]
        if self.title:
            elements.append(_text(_MARGIN, 40, self.title, 17, t.text, weight=700))
        return elements

    def _scene(self) -> list[str]:
        """From the back to the front: frames, edges, nodes, what is written on edges, tokens."""
        spots = self.picture.spots
        order = sorted(spots, key=lambda v: (spots[v].depth, v))
        ways = sorted(self.picture.routes.items(), key=lambda item: (self._taken(item[0]), item[0]))
        scene = [self._node(v) for v in order if spots[v].form.shape == "frame"]
        scene += [self._hang(spots[owner], spots[hung]) for owner, hung in self.picture.hung]
        scene += [self._route(e, way) for e, way in ways]
        scene += [self._node(v) for v in order if spots[v].form.shape != "frame"]
        scene += [self._pill(e, way) for e, way in ways if way.text]
        return scene + [drawn for e, way in ways if (drawn := self._tokens(e, way))]

    # ---- edges

    def _taken(self, e: int) -> bool:
        """Did something go this way? Told by the marks, or guessed: both ends were reached."""
        if self.marks is None:
            return False
        id = self.analysis.graph.edges[e].id
        if self.marks.taken or self.marks.tokens.get(id):
            return bool(self.marks.taken.get(id) or self.marks.tokens.get(id))
        ends = (self.analysis.graph.src[e], self.analysis.graph.dst[e])
        return all(self._mark(v).status.lower() not in UNREACHED for v in ends)

    def _stroke(self, e: int) -> tuple[str, str, str]:
        """Colour of the line, colour of its text, and its dashes: dotted is what was decided against."""
        t = self.theme
        if self.marks is None:
            return t.line2, t.text2, ""
        if self._taken(e):
            return t.tones["done"].mark, t.tones["done"].ink, ""
        passed = self._mark(self.analysis.graph.src[e]).status.lower() in _ENDED
        return t.tones["idle"].mark, t.tones["idle"].ink, "1.5 4" if passed else ""

    def _route(self, e: int, way: Route) -> str:
        colour, _, dashes = self._stroke(e)
        tip, before = way.points[-1], way.points[-2]
        line = tag(
            "path",
            d=_rounded([*way.points[:-1], _toward(tip, before, 5)]),
            fill="none",
            stroke=colour,
            stroke_width=2.2 if self._taken(e) else 1.6,
            stroke_linecap="round",
            stroke_dasharray=dashes,
        )
        (x, y), (dx, dy) = _toward(tip, before, 9), _direction(before, tip)
        head = path("M", *tip, "L", x - dy * 4.6, y + dx * 4.6, "L", x + dy * 4.6, y - dx * 4.6, "z")
        return line + tag("path", d=head, fill=colour, stroke=colour, stroke_linejoin="round")

    def _pill(self, e: int, way: Route) -> str:
        colour, ink, _ = self._stroke(e)
        (x, y), wide = way.label, width(way.text, PILL) + 16
        pill = _rect(x - wide / 2, y - 10, wide, 20, 10, fill=self.theme.surface, stroke=colour, stroke_width=1.2)
        return pill + _text(x, y + 4, way.text, PILL, ink, anchor="middle", weight=500)

    def _tokens(self, e: int, way: Route) -> str:
        count = self.marks.tokens.get(self.analysis.graph.edges[e].id, 0) if self.marks else 0
        if count < 1:
            return ""
        (x, y), t = way.token, self.theme
        r = 7.0 if count == 1 else 9.0 if count < 10 else 12.0
        parts = [
            tag("title", "1 token" if count == 1 else f"{count} tokens"),
            tag("circle", class_="halo", cx=x, cy=y, r=r + 5, fill=t.accent, opacity=0.22),
            tag("circle", cx=x, cy=y, r=r, fill=t.accent, stroke=t.bg, stroke_width=2.0),
        ]
        if count > 1:
            shown = str(count) if count < 100 else "99+"
            parts.append(_text(x, y + 3.8, shown, 10.5, t.on_accent, anchor="middle", weight=700))
        return tag("g", *parts)

    def _hang(self, owner: PlacedNode, hung: PlacedNode) -> str:
        return tag(
            "path",
            d=path("M", owner.middle, owner.y + owner.height, "V", hung.y),
            fill="none",
            stroke=self.theme.tones["undone"].mark,
            stroke_width=1.5,
            stroke_dasharray="2 4",
            stroke_linecap="round",
        )

    # ---- nodes

    def _mark(self, v: int) -> NodeMark:
        mark = self.marks.nodes.get(self.analysis.net.nodes[v].id) if self.marks else None
        return mark or NodeMark()

    def _ink(self, shown: StatusStyle | None) -> Ink:
        return self.theme.tones[shown.tone if shown else "idle"]

    def _node(self, v: int) -> str:
        spot, mark, node = self.picture.spots[v], self._mark(v), self.analysis.net.nodes[v]
        shown = status_style(mark.status) if mark.status else None
        name, paper = clean(node.label or node.id), self._paper(mark, shown)
        parts = [tag("title", text(f"{name} · {shown.word}" if shown else name)), *self._outline(spot, paper)]
        if spot.form.shape in ("circle", "ring"):
            parts.append(_icon(spot.form.icon, spot.middle, spot.line, 15, paper.border))
            if spot.form.title:
                ink = self.theme.text2
                parts.append(_text(spot.middle, spot.line + 34, spot.form.title, SUB, ink, anchor="middle", weight=500))
        elif spot.form.shape == "frame":
            parts += self._header(spot, mark, shown, paper.border)
        elif spot.form.shape != "bar":
            parts += self._words(spot, mark, shown, paper.border)
        if shown and mark.status.lower() not in UNREACHED:
            parts += self._badge(spot, shown)
        if badge(mark):
            parts += self._counter(spot, badge(mark), self._ink(shown))
        return tag("g", *parts)

    def _paper(self, mark: NodeMark, shown: StatusStyle | None) -> _Paper:
        """What was not reached is dashed, what was is drawn in its tone."""
        t = self.theme
        if self.marks is None:
            return _Paper(t.line2, t.surface)
        if mark.status.lower() in UNREACHED:
            return _Paper(t.tones["idle"].mark, t.surface, "4 3.5", 1.4)
        ink = self._ink(shown)
        return _Paper(ink.mark, t.surface if shown and shown.tone == "done" else ink.tint, "", 1.8)

    def _outline(self, spot: PlacedNode, paper: _Paper) -> list[str]:
        x, y, w, h, mid = spot.x, spot.y, spot.width, spot.height, spot.line
        line: dict[str, str | float] = {"fill": paper.fill, "stroke": paper.border, "stroke_width": paper.thick}
        line["stroke_dasharray"] = paper.dashes
        match spot.form.shape:
            case "circle":
                return [tag("circle", cx=spot.middle, cy=mid, r=17.5, **line)]
            case "ring":
                inner = {**line, "fill": "none", "stroke_width": 1.3, "stroke_dasharray": ""}
                rings = ((17.5, line), (13.3, inner))
                return [tag("circle", cx=spot.middle, cy=mid, r=r, **drawn) for r, drawn in rings]
            case "hexagon":
                left, right = x + 19, x + w - 19
                upper, lower = ("M", x, mid, "L", left, y, "H", right), ("L", x + w, mid, "L", right, y + h, "H", left)
                return [tag("path", d=path(*upper, *lower, "z"), stroke_linejoin="round", **line)]
            case "bar":
                return [_rect(x, y, w, h, 5, fill=paper.border)]
            case "frame":
                tints = {ink.mark: ink.tint for ink in self.theme.tones.values()}
                ground = self.theme.sunken if paper.dashes else tints.get(paper.border, self.theme.sunken)
                return [_rect(x, y, w, h, 14, **{**line, "fill": ground, "fill_opacity": 0.6})]
            case "capsule":
                return [_rect(x, y, w, h, h / 2, **line)]
            case "call":
                inset = {**line, "fill": "none", "stroke_width": 1.0}
                return [_rect(x, y, w, h, 10, **line), _rect(x + 3.5, y + 3.5, w - 7, h - 7, 7, **inset)]
            case "undo":
                return [_rect(x, y, w, h, 10, **{**line, "stroke_dasharray": paper.dashes or "6 3"})]
            case "work":
                side = ("M", x + 10, y, "h -1 a 9 9 0 0 0 -9 9 v", h - 18, "a 9 9 0 0 0 9 9 h 1")
                bar = path(*side, "a 4 4 0 0 1 -4 -4 v", 8 - h, "a 4 4 0 0 1 4 -4 z")
                return [_rect(x, y, w, h, 10, **line), tag("path", d=bar, fill=paper.border)]
        return [_rect(x, y, w, h, 10, **line)]

    def _words(self, spot: PlacedNode, mark: NodeMark, shown: StatusStyle | None, border: str) -> list[str]:
        t, inset, right = self.theme, *((27.0, 18.0) if spot.form.shape == "hexagon" else (17.0, 8.0))
        faded = self.marks is not None and mark.status.lower() in UNREACHED
        x, below = spot.x + inset + 23, spot.line + 13.5
        room = spot.width - inset - 23 - right
        parts = [
            _icon(spot.form.icon, spot.x + inset + 6, spot.line, 17, border),
            _text(x, spot.line - 3.5, spot.form.title, TITLE, t.text2 if faded else t.text, weight=600),
        ]
        if shown is None:
            return [*parts, _text(x, below, cut(spot.form.word, room, SUB), SUB, t.text3)]
        line = cut(f"{shown.word} · {mark.note}" if mark.note else shown.word, room, SUB)
        word, note = line[: len(shown.word)], line[len(shown.word) :]
        rest = [tag("tspan", text(note), fill=t.text3, font_weight=400.0)] if note else []
        ink = self._ink(shown).ink
        return [*parts, tag("text", text(word), *rest, x=x, y=below, font_size=SUB, font_weight=500.0, fill=ink)]

    def _header(self, spot: PlacedNode, mark: NodeMark, shown: StatusStyle | None, border: str) -> list[str]:
        words = [shown.word if shown else spot.form.word, clean(mark.note)]
        room = spot.width - width(spot.form.title, TITLE, bold=True) - 65
        status = cut(" · ".join(w for w in words if w), max(room, 0), SUB)
        ink = self._ink(shown).ink if shown else self.theme.text3
        parts = [
            _icon(spot.form.icon, spot.x + 24, spot.y + 21, 15, border),
            _text(spot.x + 39, spot.y + 25.5, spot.form.title, TITLE, self.theme.text, weight=600),
        ]
        if status != "…":
            parts.append(_text(spot.x + spot.width - 20, spot.y + 25, status, SUB, ink, anchor="end"))
        return parts

    def _badge(self, spot: PlacedNode, shown: StatusStyle) -> list[str]:
        """The status as an icon on the upper right corner."""
        if spot.form.shape in ("circle", "ring"):
            x, y = spot.middle + 13.5, spot.line - 13.5
        elif spot.form.shape == "bar":
            x, y = spot.middle, spot.y - 3
        else:
            x, y = spot.x + spot.width - (20 if spot.form.shape == "hexagon" else 7), spot.y + 1
        seal = tag("circle", cx=x, cy=y, r=9.5, fill=self._ink(shown).mark, stroke=self.theme.bg, stroke_width=2.0)
        return [seal, _icon(shown.icon, x, y, 11, self.theme.on_mark, 2.4)]

    def _counter(self, spot: PlacedNode, count: str, ink: Ink) -> list[str]:
        """How often, of how many times: on the lower border, where it covers nothing."""
        wide = width(count, 11, bold=True) + 30
        x, y = spot.x + spot.width - wide - 12, spot.y + spot.height - 7
        if spot.form.shape in ("circle", "ring", "bar"):
            x, y = spot.middle - wide / 2, spot.line - 44
        return [
            _rect(x, y, wide, 19, 9.5, fill=self.theme.surface, stroke=ink.mark, stroke_width=1.4),
            _icon("rotate", x + 12.5, y + 9.5, 10, ink.ink, 2),
            _text(x + 21, y + 13.4, count, 11, ink.ink, weight=700),
        ]


def _text(x: float, y: float, words: str, size: float, fill: str, anchor: str = "", weight: float = 400) -> str:
    bold = None if weight == 400 else weight
    return tag("text", text(words), x=x, y=y, font_size=size, text_anchor=anchor, font_weight=bold, fill=fill)


def _icon(name: str, x: float, y: float, size: float, colour: str, stroke: float = 1.5) -> str:
    return tag(
        "path",
        d=ICONS[name],
        transform=f"{_move(x - size / 2, y - size / 2)} scale({size / 16:.3f})",
        fill="none",
        stroke=colour,
        stroke_width=stroke,
        stroke_linecap="round",
        stroke_linejoin="round",
    )


def _rect(x: float, y: float, w: float, h: float, r: float, **rest: str | float) -> str:
    return tag("rect", x=x, y=y, width=w, height=h, rx=r, **rest)


def _move(x: float, y: float) -> str:
    return f"translate({path(x, y)})"


def _direction(a: Point, b: Point) -> Point:
    """The unit vector from a to b."""
    length = max(((b[0] - a[0]) ** 2 + (b[1] - a[1]) ** 2) ** 0.5, 0.001)
    return (b[0] - a[0]) / length, (b[1] - a[1]) / length


def _toward(a: Point, b: Point, by: float) -> Point:
    dx, dy = _direction(a, b)
    return a[0] + dx * by, a[1] + dy * by


def _rounded(points: list[Point]) -> str:
    """A path with soft corners."""
    parts: list[str | float] = ["M", *points[0]]
    for before, at, after in zip(points, points[1:], points[2:], strict=False):
        room = min(_ROUND, _far(before, at) / 2, _far(at, after) / 2)
        parts += ["L", *_toward(at, before, room), "Q", *at, *_toward(at, after, room)]
    return path(*parts, "L", *points[-1])


def _far(a: Point, b: Point) -> float:
    return abs(a[0] - b[0]) + abs(a[1] - b[1])
