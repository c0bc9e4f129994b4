"""What differs between two versions of a document: nodes by their id, edges by their ends, the rest by pointer."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Literal

import msgspec

from penstock.expr.values import equal
from penstock.lang.document import child_pointer

_FIRST = ("nodes", "edges", "policies")
_MOST = 6  # changes that a summary names


class Change(msgspec.Struct, frozen=True, omit_defaults=True):
    """`part` is nodes, edges, policies, or another key of the document; `pointer` leads into the newer version, or into
    the older one where something is gone."""

    part: str
    change: Literal["added", "removed", "changed"]
    pointer: str
    what: str
    before: Any = None
    after: Any = None


def changes(old: Mapping[str, Any], new: Mapping[str, Any]) -> list[Change]:
    """Nodes, edges and policies first; what is gone comes last in its part. The version itself is no change."""
    found: list[Change] = []
    for part in dict.fromkeys([*_FIRST, *new, *old]):
        if part == "version" or part not in old and part not in new:
            continue
        before, after = old.get(part), new.get(part)
        if part in ("nodes", "edges") and isinstance(before, list) and isinstance(after, list):
            found += _listed(part, before, after)
        else:
            found += _differences(part, f"/{part}", part in old, part in new, before, after)
    return found


def _listed(part: str, old: list[Any], new: list[Any]) -> Iterator[Change]:
    before, after = _named(old), _named(new)
    for name, (i, one) in after.items():
        if name not in before:
            yield Change(part, "added", f"/{part}/{i}", name, after=one)
        else:
            for change in _differences(part, f"/{part}/{i}", True, True, before[name][1], one):
                yield msgspec.structs.replace(change, what=name)
    for name, (i, one) in before.items():
        if name not in after:
            yield Change(part, "removed", f"/{part}/{i}", name, before=one)


def _named(items: list[Any]) -> dict[str, tuple[int, Any]]:
    found: dict[str, tuple[int, Any]] = {}
    for i, one in enumerate(items):
        name = _name(one, i)
        while name in found:  # two ways between the same two nodes
            name += "'"
        found[name] = (i, one)
    return found


def _name(one: Any, i: int) -> str:
    if not isinstance(one, Mapping):
        return str(i)
    if "from" in one:
        return f"{one['from']} → {one.get('to')}"
    return str(one.get("id", i))


def _differences(part: str, at: str, was: bool, there: bool, old: Any, new: Any) -> Iterator[Change]:
    if not was or not there:
        yield Change(part, "added" if there else "removed", at, at, before=old, after=new)
    elif isinstance(old, Mapping) and isinstance(new, Mapping):
        for name in dict.fromkeys([*new, *old]):
            yield from _differences(
                part, child_pointer(at, name), name in old, name in new, old.get(name), new.get(name)
            )
    elif isinstance(old, list) and isinstance(new, list):
        for i in range(max(len(old), len(new))):
            before, after = (side[i] if i < len(side) else None for side in (old, new))
            yield from _differences(part, child_pointer(at, i), i < len(old), i < len(new), before, after)
    elif not equal(old, new):
        yield Change(part, "changed", at, at, before=old, after=new)


def summary(old: Mapping[str, Any] | None, new: Mapping[str, Any]) -> str:
    """One line for people, where the author has written none."""
    if old is None:
        parts = ("nodes", "edges") if "activities" not in new else ("activities", "transitions")
        return f"First version: {', '.join(_count(new, part) for part in parts)}."
    found = changes(old, new)
    if not found:
        return "No change."
    told = dict.fromkeys(_change_text(one) for one in found)
    more = f" and {len(told) - _MOST} more" if len(told) > _MOST else ""
    text = ", ".join(list(told)[:_MOST]) + more
    return text[:1].upper() + text[1:] + "."


def _change_text(one: Change) -> str:
    if one.part in ("nodes", "edges"):
        return f"{one.change} {one.part[:-1]} {one.what}"
    return f"{one.change} {one.pointer}"


def _count(document: Mapping[str, Any], part: str) -> str:
    items = document.get(part)
    n = len(items) if isinstance(items, list) else 0
    return f"{n} {part if n != 1 else part.removesuffix('ies') + 'y' if part.endswith('ies') else part[:-1]}"
