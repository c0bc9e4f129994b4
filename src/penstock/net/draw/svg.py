"""Draws a net, and a run in it, as an SVG picture in the console's colours.

Every text comes from a document and is escaped; nothing in the picture is a link, a script or a reference to elsewhere.
"""

from __future__ import annotations

from html import escape

from penstock.net.draw.icons import ICONS
from penstock.net.draw.layout import Picture, Spot, Way, layout
from penstock.net.draw.marks import UNREACHED, Look, Marks, NodeMark, badge, look
from penstock.net.draw.measure import clean, cut, width
from penstock.net.draw.route import Point
from penstock.net.draw.shapes import PILL, SUB, TITLE
from penstock.net.draw.theme import FONT, THEMES, Ink, Theme, ThemeName
from penstock.net.facts import Facts
from penstock.net.model import Net

_MARGIN, _HEAD = 30.0, 54.0
_ROUND = 9.0  # corners of edges


def svg(net: Net, marks: Marks | None = None, theme: ThemeName = "light", title: str = "") -> str:
    """The whole picture as text; the same net and marks give the same bytes."""
    facts = Facts(net)
    return _Painter(facts, layout(facts), marks, THEMES[theme], clean(title)).paint()


class _Painter:
    def __init__(self, facts: Facts, picture: Picture, marks: Marks | None, theme: Theme, title: str) -> None:
        self.facts, self.picture, self.marks, self.theme, self.title = facts, picture, marks, theme, title
        self.out: list[str] = []

    def paint(self) -> str:
        head = _HEAD if self.title else 0.0
        wide = max(self.picture.width, width(self.title, 17, bold=True)) + 2 * _MARGIN
        high = self.picture.height + 2 * _MARGIN + head
        t = self.theme
        name = escape(self.title or clean(self.facts.net.name))
        self.out += [
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{_n(wide)}" height="{_n(high)}" '
            f'viewBox="0 0 {_n(wide)} {_n(high)}" role="img" aria-label="{name}" font-family="{FONT}">',
            f"<title>{name}</title>",
            "<style>.halo{animation:halo 2s ease-in-out infinite;transform-box:fill-box;transform-origin:center}"
            "@keyframes halo{50%{transform:scale(1.35);opacity:.1}}"
            "@media (prefers-reduced-motion:reduce){.halo{animation:none}}</style>",
            '<defs><pattern id="dots" width="18" height="18" patternUnits="userSpaceOnUse">'
            f'<circle cx="1.2" cy="1.2" r="1" fill="{t.dot}"/></pattern></defs>',
            f'<rect width="{_n(wide)}" height="{_n(high)}" rx="16" fill="{t.bg}"/>',
            f'<rect x=".5" y=".5" width="{_n(wide - 1)}" height="{_n(high - 1)}" rx="15.5" fill="url(#dots)" stroke="{t.line}"/>',
        ]
        if self.title:
            self._text(_MARGIN, 40, self.title, 17, t.text, weight=700)
        self.out.append(f'<g transform="translate({_n(_MARGIN)} {_n(_MARGIN + head)})">')
        spots = self.picture.spots
        order = sorted(spots, key=lambda v: (spots[v].depth, v))
        for v in order:
            if spots[v].form.shape == "frame":
                self._node(v)
        ways = sorted(self.picture.ways.items(), key=lambda item: (self._taken(item[0]), item[0]))
        for owner, hung in self.picture.hung:
            self._hang(spots[owner], spots[hung])
        for e, way in ways:
            self._way(e, way)
        for v in order:
            if spots[v].form.shape != "frame":
                self._node(v)
        for e, way in ways:
            self._pill(e, way)
        for e, way in ways:
            self._tokens(e, way)
        self.out += ["</g>", "</svg>", ""]
        return "\n".join(self.out)

    # ---- edges

    def _taken(self, e: int) -> bool:
        """Did something go this way? Told by the marks, or guessed: both ends were reached."""
        if self.marks is None:
            return False
        id = self.facts.graph.edges[e].id
        if self.marks.taken or self.marks.tokens.get(id):
            return bool(self.marks.taken.get(id) or self.marks.tokens.get(id))
        ends = (self.facts.graph.src[e], self.facts.graph.dst[e])
        return all(self._mark(v).status.lower() not in UNREACHED for v in ends)

    def _stroke(self, e: int) -> tuple[str, str, str]:
        """Colour of the line, colour of its text, and its dashes."""
        t = self.theme
        if self.marks is None:
            return t.line2, t.text2, ""
        if self._taken(e):
            return t.tones["done"].mark, t.tones["done"].ink, ""
        passed = self._mark(self.facts.graph.src[e]).status.lower() in ("completed", "succeeded", "done", "maxiter_reached")
        return t.tones["idle"].mark, t.tones["idle"].ink, ' stroke-dasharray="1.5 4"' if passed else ""

    def _way(self, e: int, way: Way) -> None:
        colour, _, dashes = self._stroke(e)
        thick = "2.2" if self._taken(e) else "1.6"
        points, tip = way.points, way.points[-1]
        before = points[-2]
        short = _toward(tip, before, 5)
        self.out.append(
            f'<path d="{_rounded([*points[:-1], short])}" fill="none" stroke="{colour}" stroke-width="{thick}"'
            f' stroke-linecap="round"{dashes}/>'
        )
        base, (dx, dy) = _toward(tip, before, 9), _direction(before, tip)
        left = f"{_n(base[0] - dy * 4.6)} {_n(base[1] + dx * 4.6)}"
        right = f"{_n(base[0] + dy * 4.6)} {_n(base[1] - dx * 4.6)}"
        self.out.append(
            f'<path d="M{_n(tip[0])} {_n(tip[1])}L{left}L{right}z" fill="{colour}" stroke="{colour}" stroke-linejoin="round"/>'
        )

    def _pill(self, e: int, way: Way) -> None:
        if not way.text:
            return
        colour, ink, _ = self._stroke(e)
        (x, y), wide = way.label, width(way.text, PILL) + 16
        self.out.append(
            f'<rect x="{_n(x - wide / 2)}" y="{_n(y - 10)}" width="{_n(wide)}" height="20" rx="10" '
            f'fill="{self.theme.surface}" stroke="{colour}" stroke-width="1.2"/>'
        )
        self._text(x, y + 4, way.text, PILL, ink, anchor="middle", weight=500)

    def _tokens(self, e: int, way: Way) -> None:
        count = self.marks.tokens.get(self.facts.graph.edges[e].id, 0) if self.marks else 0
        if count < 1:
            return
        (x, y), t = way.token, self.theme
        shown = str(count) if count < 100 else "99+"
        r = 7.0 if count == 1 else 9.0 if count < 10 else 12.0
        self.out.append(
            f'<g><title>{count} token{"s" if count > 1 else ""}</title>'
            f'<circle class="halo" cx="{_n(x)}" cy="{_n(y)}" r="{_n(r + 5)}" fill="{t.accent}" opacity=".22"/>'
            f'<circle cx="{_n(x)}" cy="{_n(y)}" r="{_n(r)}" fill="{t.accent}" stroke="{t.bg}" stroke-width="2"/>'
        )
        if count > 1:
            self._text(x, y + 3.8, shown, 10.5, t.on_accent, anchor="middle", weight=700)
        self.out.append("</g>")

    def _hang(self, owner: Spot, hung: Spot) -> None:
        self.out.append(
            f'<path d="M{_n(owner.middle)} {_n(owner.y + owner.height)}V{_n(hung.y)}" fill="none" '
            f'stroke="{self.theme.tones["undone"].mark}" stroke-width="1.5" stroke-dasharray="2 4" stroke-linecap="round"/>'
        )

    # ---- nodes

    def _mark(self, v: int) -> NodeMark:
        found = self.marks.nodes.get(self.facts.net.nodes[v].id) if self.marks else None
        return found or NodeMark()

    def _node(self, v: int) -> None:
        spot, mark = self.picture.spots[v], self._mark(v)
        shown = look(mark.status) if mark.status else None
        name = clean(self.facts.net.nodes[v].label or self.facts.net.nodes[v].id)
        told = f"{name} · {shown.word}" if shown else name
        self.out.append(f"<g><title>{escape(told)}</title>")
        border, fill, dashes, thick = self._paper(mark, shown)
        self._outline(spot, border, fill, dashes, thick)
        if spot.form.shape in ("circle", "ring"):
            self._icon(spot.form.icon, spot.middle, spot.line, 15, border)
            self._text(spot.middle, spot.line + 34, spot.form.title, SUB, self.theme.text2, anchor="middle", weight=500)
        elif spot.form.shape == "frame":
            self._header(spot, mark, shown, border)
        elif spot.form.shape != "bar":
            self._words(spot, mark, shown, border)
        if shown and mark.status.lower() not in UNREACHED:
            self._badge(spot, shown)
        if badge(mark):
            self._counter(spot, badge(mark), self._ink(shown))
        self.out.append("</g>")

    def _ink(self, shown: Look | None) -> Ink:
        return self.theme.tones[shown.tone if shown else "idle"]

    def _paper(self, mark: NodeMark, shown: Look | None) -> tuple[str, str, str, str]:
        """Border, fill, dashes and thickness: what was not reached is dashed, what was is drawn in its tone."""
        t = self.theme
        if self.marks is None:
            return t.line2, t.surface, "", "1.5"
        if mark.status.lower() in UNREACHED:
            return t.tones["idle"].mark, t.surface, ' stroke-dasharray="4 3.5"', "1.4"
        ink = self._ink(shown)
        return ink.mark, t.surface if shown and shown.tone == "done" else ink.tint, "", "1.8"

    def _outline(self, spot: Spot, border: str, fill: str, dashes: str, thick: str) -> None:
        x, y, w, h = spot.x, spot.y, spot.width, spot.height
        line = f'fill="{fill}" stroke="{border}" stroke-width="{thick}"{dashes}'
        match spot.form.shape:
            case "circle" | "ring":
                self.out.append(f'<circle cx="{_n(spot.middle)}" cy="{_n(spot.line)}" r="17.5" {line}/>')
                if spot.form.shape == "ring":
                    inner = f'fill="none" stroke="{border}" stroke-width="1.3"'
                    self.out.append(f'<circle cx="{_n(spot.middle)}" cy="{_n(spot.line)}" r="13.3" {inner}/>')
            case "hexagon":
                cut_by, mid = 19.0, spot.line
                points = f"M{_n(x)} {_n(mid)}L{_n(x + cut_by)} {_n(y)}H{_n(x + w - cut_by)}L{_n(x + w)} {_n(mid)}"
                points += f"L{_n(x + w - cut_by)} {_n(y + h)}H{_n(x + cut_by)}z"
                self.out.append(f'<path d="{points}" stroke-linejoin="round" {line}/>')
            case "bar":
                self.out.append(f'<rect x="{_n(x)}" y="{_n(y)}" width="{_n(w)}" height="{_n(h)}" rx="5" fill="{border}"/>')
            case "frame":
                tints = {ink.mark: ink.tint for ink in self.theme.tones.values()}
                ground = self.theme.sunken if dashes else tints.get(border, self.theme.sunken)
                frame = f'fill="{ground}" fill-opacity=".6" stroke="{border}" stroke-width="{thick}"{dashes}'
                self.out.append(_rect(x, y, w, h, 14, frame))
            case shape:
                if shape == "undo" and not dashes:
                    line += ' stroke-dasharray="6 3"'
                self.out.append(_rect(x, y, w, h, h / 2 if shape == "capsule" else 10, line))
                if shape == "work":
                    edge = f"M{_n(x + 10)} {_n(y)}h-1a9 9 0 0 0-9 9v{_n(h - 18)}a9 9 0 0 0 9 9h1"
                    self.out.append(f'<path d="{edge}a4 4 0 0 1-4-4v{_n(-(h - 8))}a4 4 0 0 1 4-4z" fill="{border}"/>')
                elif shape == "call":
                    inner = f'fill="none" stroke="{border}" stroke-width="1"{dashes}'
                    self.out.append(_rect(x + 3.5, y + 3.5, w - 7, h - 7, 7, inner))

    def _words(self, spot: Spot, mark: NodeMark, shown: Look | None, border: str) -> None:
        t, inset = self.theme, 27.0 if spot.form.shape == "hexagon" else 17.0
        faded = self.marks is not None and mark.status.lower() in UNREACHED
        self._icon(spot.form.icon, spot.x + inset + 6, spot.line, 17, border if not faded else t.tones["idle"].mark)
        x = spot.x + inset + 23
        room = spot.width - inset - 23 - (18 if spot.form.shape == "hexagon" else 8)
        self._text(x, spot.line - 3.5, spot.form.title, TITLE, t.text2 if faded else t.text, weight=600)
        if shown is None:
            self._text(x, spot.line + 13.5, cut(spot.form.word, room, SUB), SUB, t.text3)
            return
        note = f" · {clean(mark.note)}" if mark.note else ""
        line = cut(shown.word + note, room, SUB)
        ink = self._ink(shown).ink
        word, rest = line[: len(shown.word)], line[len(shown.word) :]
        more = f'<tspan fill="{t.text3}" font-weight="400">{escape(rest)}</tspan>' if rest else ""
        self.out.append(
            f'<text x="{_n(x)}" y="{_n(spot.line + 13.5)}" font-size="{_n(SUB)}" font-weight="500" fill="{ink}" '
            f'xml:space="preserve">{escape(word)}{more}</text>'
        )

    def _header(self, spot: Spot, mark: NodeMark, shown: Look | None, border: str) -> None:
        self._icon(spot.form.icon, spot.x + 24, spot.y + 21, 15, border)
        self._text(spot.x + 39, spot.y + 25.5, spot.form.title, TITLE, self.theme.text, weight=600)
        words = [shown.word if shown else spot.form.word, clean(mark.note)]
        room = spot.width - 39 - width(spot.form.title, TITLE, bold=True) - 26
        told = cut(" · ".join(w for w in words if w), max(room, 0), SUB)
        ink = self._ink(shown).ink if shown else self.theme.text3
        if told != "…":
            self._text(spot.x + spot.width - 20, spot.y + 25, told, SUB, ink, anchor="end")

    def _badge(self, spot: Spot, shown: Look) -> None:
        if spot.form.shape in ("circle", "ring"):
            x, y = spot.middle + 13.5, spot.line - 13.5
        elif spot.form.shape == "bar":
            x, y = spot.middle, spot.y - 3
        else:
            x, y = spot.x + spot.width - (20 if spot.form.shape == "hexagon" else 7), spot.y + 1
        ink = self._ink(shown)
        self.out.append(
            f'<circle cx="{_n(x)}" cy="{_n(y)}" r="9.5" fill="{ink.mark}" stroke="{self.theme.bg}" stroke-width="2"/>'
        )
        self._icon(shown.icon, x, y, 11, self.theme.on_mark, 2.4)

    def _counter(self, spot: Spot, text: str, ink: Ink) -> None:
        """How often, of how many times: on the lower border, where it covers nothing."""
        wide = width(text, 11, bold=True) + 30
        x, y = spot.x + spot.width - wide - 12, spot.y + spot.height - 9.5
        if spot.form.shape in ("circle", "ring", "bar"):
            x, y = spot.middle - wide / 2, spot.line - 34
        self.out.append(_rect(x, y, wide, 19, 9.5, f'fill="{self.theme.surface}" stroke="{ink.mark}" stroke-width="1.4"'))
        self._icon("rotate", x + 12.5, y + 9.5, 10, ink.ink, 2)
        self._text(x + 21, y + 13.4, text, 11, ink.ink, weight=700)

    # ---- small things

    def _text(self, x: float, y: float, text: str, size: float, fill: str, anchor: str = "", weight: int = 400) -> None:
        at = f' text-anchor="{anchor}"' if anchor else ""
        bold = f' font-weight="{weight}"' if weight != 400 else ""
        self.out.append(
            f'<text x="{_n(x)}" y="{_n(y)}" font-size="{_n(size)}"{at}{bold} fill="{fill}">{escape(text)}</text>'
        )

    def _icon(self, name: str, x: float, y: float, size: float, colour: str, stroke: float = 1.5) -> None:
        scale = size / 16
        self.out.append(
            f'<path d="{ICONS[name]}" transform="translate({_n(x - size / 2)} {_n(y - size / 2)}) scale({_n(scale, 3)})" '
            f'fill="none" stroke="{colour}" stroke-width="{_n(stroke)}" stroke-linecap="round" stroke-linejoin="round"/>'
        )


def _n(value: float, places: int = 1) -> str:
    """A number as short as it can be written."""
    text = f"{value:.{places}f}".rstrip("0").rstrip(".") if places else f"{value:.0f}"
    return "0" if text in ("-0", "") else text


def _rect(x: float, y: float, w: float, h: float, r: float, rest: str) -> str:
    return f'<rect x="{_n(x)}" y="{_n(y)}" width="{_n(w)}" height="{_n(h)}" rx="{_n(r)}" {rest}/>'


def _direction(a: Point, b: Point) -> Point:
    """The unit vector from a to b; ways have right angles only, but a test may not."""
    length = max(((b[0] - a[0]) ** 2 + (b[1] - a[1]) ** 2) ** 0.5, 0.001)
    return (b[0] - a[0]) / length, (b[1] - a[1]) / length


def _toward(a: Point, b: Point, by: float) -> Point:
    dx, dy = _direction(a, b)
    return a[0] + dx * by, a[1] + dy * by


def _rounded(points: list[Point]) -> str:
    """A path with soft corners."""
    parts = [f"M{_n(points[0][0])} {_n(points[0][1])}"]
    for before, at, after in zip(points, points[1:], points[2:], strict=False):
        room = min(
            _ROUND,
            (abs(before[0] - at[0]) + abs(before[1] - at[1])) / 2,
            (abs(after[0] - at[0]) + abs(after[1] - at[1])) / 2,
        )
        start, end = _toward(at, before, room), _toward(at, after, room)
        parts.append(f"L{_n(start[0])} {_n(start[1])}Q{_n(at[0])} {_n(at[1])} {_n(end[0])} {_n(end[1])}")
    parts.append(f"L{_n(points[-1][0])} {_n(points[-1][1])}")
    return "".join(parts)
