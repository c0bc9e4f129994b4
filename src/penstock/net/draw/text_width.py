"""How wide a text is, without a font at hand: in terminal cells, and estimated in units of the font size."""

from __future__ import annotations

import unicodedata

_NARROW = frozenset("iIlj.,:;'|!()[]{}`")
_SLIM = frozenset('frt-"/\\ *')
_BROAD = frozenset("mwMW@%—…")


def cells(text: str) -> int:
    """Columns in a terminal: Korean, Chinese and Japanese letters take two, combining marks none."""
    return sum(_cells(c) for c in text)


def _cells(c: str) -> int:
    if c < "\u0300":
        return 1
    if unicodedata.combining(c) or unicodedata.category(c) in ("Cf", "Mn", "Me"):
        return 0
    return 2 if unicodedata.east_asian_width(c) in "WF" else 1


def width(text: str, size: float, bold: bool = False) -> float:
    """Pixels of a text in a sans-serif face of this size, rather too many than too few."""
    total = 0.0
    for c in text:
        if _cells(c) != 1:
            total += 0.5 * _cells(c)
        elif c in _NARROW:
            total += 0.3
        elif c in _SLIM:
            total += 0.38
        elif c in _BROAD:
            total += 0.9
        elif c.isupper():
            total += 0.68
        else:
            total += 0.57
    return round(total * size * (1.05 if bold else 1.0), 1)


def cut(text: str, most: float, size: float, bold: bool = False) -> str:
    """The text, or as much of it as fits, with an ellipsis."""
    text = clean(text)
    if width(text, size, bold) <= most:
        return text
    room = most - width("…", size, bold)
    kept = 0
    for c in text:
        room -= width(c, size, bold)
        if room < 0:
            break
        kept += 1
    return text[:kept].rstrip() + "…"


def cut_cells(text: str, most: int) -> str:
    """The same in terminal cells."""
    text = clean(text)
    if cells(text) <= most:
        return text
    kept, room = 0, most - 1
    for c in text:
        room -= _cells(c)
        if room < 0:
            break
        kept += 1
    return text[:kept] + "…"


def clean(text: str) -> str:
    """One line, without control characters: a label comes from a stranger and may hold anything."""
    if text.isprintable():
        return text
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())
