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
    """The differences, nodes, edges and policies first; removals come last in their part. The version is none."""
    differences: list[Change] = []
    for part in dict.fromkeys([*_FIRST, *new, *old]):
        if part == "version" or part not in old and part not in new:
            continue
        before, after = old.get(part), new.get(part)
        if part in ("nodes", "edges") and isinstance(before, list) and isinstance(after, list):
            differences += _listed(part, before, after)
        else:
            differences += _differences(part, f"/{part}", part in old, part in new, before, after)
    return differences


def _listed(part: str, old: list[Any], new: list[Any]) -> Iterator[Change]:
    before, after = _named(old), _named(new)
    for name, (i, item) in after.items():
        if name not in before:
            yield Change(part, "added", f"/{part}/{i}", name, after=item)
        else:
            for change in _differences(part, f"/{part}/{i}", True, True, before[name][1], item):
                yield msgspec.structs.replace(change, what=name)
    for name, (i, item) in before.items():
        if name not in after:
            yield Change(part, "removed", f"/{part}/{i}", name, before=item)


def _named(items: list[Any]) -> dict[str, tuple[int, Any]]:
    by_name: dict[str, tuple[int, Any]] = {}
    for i, item in enumerate(items):
        name = _name(item, i)
        while name in by_name:  # two ways between the same two nodes
            name += "'"
        by_name[name] = (i, item)
    return by_name


def _name(item: Any, i: int) -> str:
    if not isinstance(item, Mapping):
        return str(i)
    if "from" in item:
        return f"{item['from']} → {item.get('to')}"
    return str(item.get("id", i))


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
    """A change summary in one line, for a version whose author has written none."""
    if old is None:
        parts = ("nodes", "edges") if "activities" not in new else ("activities", "transitions")
        return f"First version: {', '.join(_count(new, part) for part in parts)}."
    differences = changes(old, new)
    if not differences:
        return "No change."
    texts = dict.fromkeys(_change_text(change) for change in differences)
    more = f" and {len(texts) - _MOST} more" if len(texts) > _MOST else ""
    text = ", ".join(list(texts)[:_MOST]) + more
    return text[:1].upper() + text[1:] + "."


def _change_text(change: Change) -> str:
    if change.part in ("nodes", "edges"):
        return f"{change.change} {change.part[:-1]} {change.what}"
    return f"{change.change} {change.pointer}"


def _count(document: Mapping[str, Any], part: str) -> str:
    items = document.get(part)
    n = len(items) if isinstance(items, list) else 0
    return f"{n} {part if n != 1 else part.removesuffix('ies') + 'y' if part.endswith('ies') else part[:-1]}"
