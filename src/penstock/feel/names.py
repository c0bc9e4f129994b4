"""Names with blanks and signs: where an expression may be cut in several ways, the longest name that is known wins.

A name is a letter followed by letters and digits, and in FEEL it may also have blanks and the signs . / - ' + * in it.
`loan-to-value` is a name where it is known and a subtraction where it is not. A sign inside a name must be written as
the name has it: `a - b` is never the name `a-b`. Any run of blanks is one blank.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import chain
from typing import NamedTuple

START = (
    "A-Z_a-z\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u02ff\u0370-\u037d\u037f-\u167f\u1681-\u1fff\u200c-\u200d\u2070-\u218f"
    "\u2c00-\u2fef\u3001-\ud7ff\uf900-\ufdcf\ufdf0-\ufefe\uff00-\ufffd\U00010000-\U000effff"
)
PART = START + "0-9\u00b7\u0300-\u036f\u203f-\u2040"
_PLAIN = re.compile(f"[{START}][{PART}]*\\Z")
_FIRST = re.compile(f"[{START}][{PART}]*")
_BLANK = re.compile(r"\s+")
_UNEVEN = re.compile(r"\s\s|[^\S ]")  # blanks that are not one space
_RUN = re.compile(r"(\s+)|\S+")
_PARTS = re.compile(f"[{PART}]")
LONGEST = 500


def normal(name: str) -> str:
    """The name as it is kept: one blank between words."""
    return _BLANK.sub(" ", name.strip())


class _Group(NamedTuple):
    """The names that begin with one word, and how long they are, longest first."""

    names: frozenset[str]
    lengths: tuple[int, ...]


class _Layer:
    """Names by their first word; never changed."""

    __slots__ = ("count", "groups")

    def __init__(self, names: Iterable[str]) -> None:
        by_word: dict[str, set[str]] = {}
        for name in names:
            first = _FIRST.match(name)
            if first is not None:
                by_word.setdefault(first[0], set()).add(name)
        self.groups = {
            word: _Group(frozenset(group), tuple(sorted({len(name) for name in group}, reverse=True)))
            for word, group in by_word.items()
        }
        self.count = sum(len(group) for group in by_word.values())

    def names(self) -> Iterator[str]:
        return chain.from_iterable(group.names for group in self.groups.values())


class KnownNames:
    """The names that the plain rule would cut apart. Scopes share layers of them: most names are those of the document,
    and each scope adds few. A layer is at least twice as large as the next, so there are few."""

    __slots__ = ("_layers",)

    def __init__(self, names: Iterable[str] = (), inherited: KnownNames | None = None) -> None:
        self._layers: tuple[_Layer, ...] = inherited._layers if inherited else ()
        self.add(names)

    def add(self, names: Iterable[str]) -> None:
        even = {normal(name) for name in names}
        more = [name for name in even if not _PLAIN.match(name) and len(name) <= LONGEST]
        if not more:
            return
        layer, below = _Layer(more), self._layers
        while below and below[-1].count < 2 * layer.count:
            layer, below = _Layer(chain(below[-1].names(), layer.names())), below[:-1]
        self._layers = (*below, layer)

    def plus(self, names: Iterable[str] | KnownNames) -> KnownNames:
        """These and more, for a scope inside this one."""
        if isinstance(names, KnownNames):
            return self.with_all(names)
        long = [name for name in names if not _PLAIN.match(name)]
        return KnownNames(long, self) if long else self

    def with_all(self, other: KnownNames) -> KnownNames:
        more = tuple(layer for layer in other._layers if layer not in self._layers)
        if not more:
            return self
        both = KnownNames()
        both._layers = (*more, *self._layers)
        return both

    def match(self, word: str, source: str, at: int) -> tuple[str, int] | None:
        """The longest known name that begins at a place with this word, and where it ends."""
        groups = [layer.groups[word] for layer in self._layers if word in layer.groups]
        if not groups:
            return None
        text, origins = _even(source)
        begin = at if origins is None else bisect_left(origins, at)
        name = max((_longest(group, text, begin) for group in groups), key=len)
        if not name:
            return None
        end = begin + len(name)
        return name, end if origins is None else origins[end - 1] + 1


def _longest(group: _Group, text: str, begin: int) -> str:
    """The longest name of a group that stands at a place, or nothing."""
    for length in group.lengths:
        name = text[begin : begin + length]
        if len(name) == length and name in group.names and not _PARTS.match(text, begin + length):
            return name
    return ""


@lru_cache(maxsize=16)
def _even(source: str) -> tuple[str, list[int] | None]:
    """The text with one blank for each run of them, and where each of its characters stands in the source; None for
    that where nothing differs."""
    if _UNEVEN.search(source) is None:
        return source, None
    origins: list[int] = []
    for run in _RUN.finditer(source):
        origins.extend(range(run.start(), run.end()) if run[1] is None else [run.start()])
    return _BLANK.sub(" ", source), origins
