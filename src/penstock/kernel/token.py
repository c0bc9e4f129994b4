"""Token and envelope: the only things that drive a run.

A token is identified by (edge, scope, epoch, seq); people see (edge, epoch, seq). The first three are where it lies,
so the token itself holds only its number, what it carries, and where it has been.
"""

from __future__ import annotations

from typing import Any

import msgspec

#: Which fork and which of its branches, outermost first: [[firing, branch], …].
Path = list[list[Any]]
#: Absorbing joins this token has passed: node key → visit. In a run that tracks origins also the finished work that it
#: was made of: -firing → SOLE, or SHARED where something else was needed for it, too.
Passed = dict[int, int]
SOLE, SHARED = 1, 2


class Envelope(msgspec.Struct, array_like=True, gc=False):
    """What travels: the body, and who made it. `meta` has duration, model tokens used and the like."""

    body: Any
    node: int = -1
    firing: int = 0
    visit: int = 0
    at: int = 0
    content_type: str | None = None
    meta: Any = None


class Token(msgspec.Struct, array_like=True, gc=False):
    seq: int
    envelope: Envelope
    path: Path | None = None
    passed: Passed | None = None
    born: int = 0  # number of the fact that put it: older tokens go first


class Taken(msgspec.Struct, array_like=True, gc=False):
    """A token after it was taken, as the firing that took it keeps it."""

    edge: int
    seq: int
    envelope: Envelope


EMPTY = Envelope(None)


def content_type_of(body: Any) -> str:
    if type(body) is str:
        return "raw_text"
    if type(body) is bytes:
        return "binary"
    return "object"


def common(paths: list[Path | None]) -> Path | None:
    """The longest common beginning: what lies before every fork that the taken tokens came through."""
    first = paths[0]
    for other in paths[1:]:
        if not first or not other:
            return None
        n = 0
        while n < len(first) and n < len(other) and first[n] == other[n]:
            n += 1
        first = first[:n]
    return first or None


def merged(passed: list[Passed | None]) -> Passed | None:
    if len(passed) == 1:
        return passed[0]
    out: Passed = {}
    for history in passed:
        for key, visit in (history or {}).items():
            out[key] = max(out.get(key, 0), visit)
    if out and min(out) < 0:
        out.update({key: SHARED for key in out if key < 0 and any(key not in (history or ()) for history in passed)})
    return out or None
