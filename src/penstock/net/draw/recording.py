"""A terminal recording as one animated SVG: CSS moves a strip of frames behind a window, no script is needed.

Frames may hold ANSI colours (SGR); every other control sequence is dropped. Lines that several frames share are written
once.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from penstock.net.draw.marks import Tone
from penstock.net.draw.text_width import cells, clean
from penstock.net.draw.theme import MONO, THEMES, Theme, ThemeName
from penstock.net.draw.xml import document, number, path, tag, text

_SIZE, _CELL, _LINE = 14.0, 8.43, 20.0
_PAD, _BAR = 18.0, 38.0
_SGR = re.compile(r"\x1b\[([\d;]*)m")
_PIECE = re.compile(r"[!-~]+(?: [!-~]+)*|[^ -~]+(?: [^ -~]+)*")  # plain letters, or others; never two spaces
_OTHER = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\-_])")


class _Style(NamedTuple):
    colour: str = ""
    bold: bool = False
    dim: bool = False
    italic: bool = False


def recording(
    frames: Sequence[str], title: str = "", *, frame_ms: int | Sequence[int] = 800, theme: ThemeName = "dark"
) -> str:
    """Plays the frames for ever, each for its time; who wants less motion sees the last one."""
    assert frames, "a recording has at least one frame"
    times = [frame_ms] * len(frames) if isinstance(frame_ms, int) else list(frame_ms)
    assert len(times) == len(frames), "every frame has its time"
    screens = [
        [list(_styled_runs(line, THEMES[theme])) for line in frame.expandtabs(4).split("\n")] for frame in frames
    ]
    columns = max(cells(title) + 16, 40, *(sum(cells(w) for w, _ in line) for screen in screens for line in screen))
    rows = max(len(screen) for screen in screens)
    wide, high = columns * _CELL + 2 * _PAD, rows * _LINE + _BAR + _PAD + 6
    step = wide + 20
    t = THEMES[theme]
    lines = _Lines()
    strip = []
    for i, screen in enumerate(screens):
        used = [tag("use", href=f"#{lines.id(_markup(line))}", y=k * _LINE) for k, line in enumerate(screen) if line]
        strip.append(tag("g", *used, "\n", transform=f"translate({number(i * step)})"))
    window = tag("g", "\n", *strip, class_="strip", fill=t.text)
    parts = [
        tag("style", _motion(times, step)),
        tag("defs", *lines.defined()),
        *_window(wide, high, clean(title), t),
        tag("svg", window, x=_PAD, y=_BAR + 8, width=wide - _PAD, height=rows * _LINE),
    ]
    return document(wide, high, clean(title) or "Terminal recording", MONO, parts, font_size=_SIZE)


def _window(wide: float, high: float, title: str, t: Theme) -> Iterator[str]:
    yield tag("rect", x=0.5, y=0.5, width=wide - 1, height=high - 1, rx=12.0, fill=t.surface, stroke=t.line)
    yield tag("path", d=path("M", 0.5, _BAR, "H", wide - 0.5), stroke=t.line)
    lights: tuple[Tone, ...] = ("failed", "held", "done")
    for i, tone in enumerate(lights):
        yield tag("circle", cx=_PAD + 4 + i * 18, cy=_BAR / 2, r=5.5, fill=t.tones[tone].mark)
    if title:
        x, y = wide / 2, _BAR / 2 + 4.5
        yield tag("text", text(title), x=x, y=y, font_size=12.5, text_anchor="middle", fill=t.text2)


def _motion(times: list[int], step: float) -> str:
    """One jump per frame, at its share of the whole time."""
    total, at = max(sum(times), 1), 0
    jumps = []
    for i, time in enumerate(times):
        jumps.append(f"{at * 100 / total:.3f}%{{transform:translateX({number(-i * step)}px)}}")
        at += time
    last = number(-(len(times) - 1) * step)
    return (
        f"@keyframes play{{{''.join(jumps)}100%{{transform:translateX({last}px)}}}}"
        f".strip{{animation:play {total}ms step-end infinite}}"
        f"@media (prefers-reduced-motion:reduce){{.strip{{animation:none;transform:translateX({last}px)}}}}"
    )


class _Lines:
    """Lines by their text, each written once."""

    def __init__(self) -> None:
        self._known: dict[str, str] = {}

    def id(self, markup: str) -> str:
        return self._known.setdefault(markup, f"l{len(self._known)}")

    def defined(self) -> list[str]:
        return [tag("g", markup, "\n", id=id) for markup, id in self._known.items()]


def _markup(line: list[tuple[str, _Style]]) -> str:
    """Every piece begins at its own column and has its own length: columns stand whatever the reader's font is."""
    parts, column = [], 0
    for words, style in line:
        for piece in _PIECE.finditer(words):
            narrow = cells(piece[0]) == len(piece[0]) > 1  # wide letters keep their own spacing
            long = len(piece[0]) * _CELL if narrow else None
            parts.append(
                tag(
                    "text",
                    text(piece[0]),
                    x=(column + cells(words[: piece.start()])) * _CELL,
                    y=14.5,
                    fill=style.colour,
                    font_weight=700.0 if style.bold else None,
                    font_style="italic" if style.italic else None,
                    opacity=0.6 if style.dim else None,
                    textLength=long,
                    lengthAdjust="spacing" if long else None,
                )
            )
        column += cells(words)
    return "".join(parts)


def _styled_runs(line: str, t: Theme) -> Iterator[tuple[str, _Style]]:
    """The line cut where the style changes."""
    style, at = _Style(), 0
    for match in _SGR.finditer(line):
        if words := _plain(line[at : match.start()]):
            yield words, style
        style, at = _after(style, match[1], t), match.end()
    if words := _plain(line[at:]):
        yield words, style


def _plain(words: str) -> str:
    return "".join(c for c in _OTHER.sub("", words) if c.isprintable())


def _after(style: _Style, codes: str, t: Theme) -> _Style:
    numbers = [int(code or 0) for code in codes.split(";")] or [0]
    i = 0
    while i < len(numbers):
        code = numbers[i]
        if code == 0:
            style = _Style()
        elif code in (1, 2, 3):
            style = style._replace(
                bold=code == 1 or style.bold, dim=code == 2 or style.dim, italic=code == 3 or style.italic
            )
        elif code == 22:
            style = style._replace(bold=False, dim=False)
        elif code == 23:
            style = style._replace(italic=False)
        elif code == 39:
            style = style._replace(colour="")
        elif 30 <= code <= 37 or 90 <= code <= 97:
            style = style._replace(colour=_ansi(code % 10, t))
        elif code in (38, 48) and i + 1 < len(numbers):
            wide = 5 if numbers[i + 1] == 2 else 3
            if code == 38:
                style = style._replace(colour=_extended(numbers[i + 1 : i + wide], t))
            i += wide - 1
        i += 1
    return style


def _ansi(n: int, t: Theme) -> str:
    tones = t.tones
    return (
        t.text3, tones["failed"].ink, tones["done"].ink, tones["held"].ink, tones["moving"].ink, tones["undone"].ink,
        t.accent, t.text,
    )[n]  # fmt: skip


def _extended(numbers: list[int], t: Theme) -> str:
    """38;5;n and 38;2;r;g;b."""
    if numbers[:1] == [2] and len(numbers) == 4:
        r, g, b = (min(max(n, 0), 255) for n in numbers[1:])
        return f"#{r:02x}{g:02x}{b:02x}"
    n = numbers[1] if len(numbers) > 1 else 7
    if n < 16:
        return _ansi(n % 8, t)
    if n < 232:
        r, g, b = ((n - 16) // 36, (n - 16) // 6 % 6, (n - 16) % 6)
        return f"#{_level(r):02x}{_level(g):02x}{_level(b):02x}"
    grey = 8 + 10 * (min(n, 255) - 232)
    return f"#{grey:02x}{grey:02x}{grey:02x}"


def _level(n: int) -> int:
    return 0 if n == 0 else 55 + 40 * n
