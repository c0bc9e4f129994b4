"""What a new version of a definition changes (P-X.8): added, removed, changed, per collection and by id."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from penstock.lang.process.fields import COLLECTIONS

#: Collections whose entries have no id are known by their name.
_BY_NAME = ("data",)
#: What says nothing about the process itself: where it is drawn, and its number.
_BESIDE = ("diagram", "extensions", "version", "$schema")


def difference(before: Mapping[str, Any], after: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Per collection {added: {id: entry}, removed: {id: entry}, changed: {id: {field: [before, after]}}}; what is equal
    is not there. Fields of the definition itself are under `definition`."""
    found: dict[str, dict[str, Any]] = {}
    own = _changed(_own(before), _own(after))
    if own:
        found["definition"] = {"added": {}, "removed": {}, "changed": own}
    for name in COLLECTIONS:
        was, now = _by_id(before.get(name), name), _by_id(after.get(name), name)
        part = {
            "added": {id: now[id] for id in now if id not in was},
            "removed": {id: was[id] for id in was if id not in now},
            "changed": {id: fields for id in was if id in now and (fields := _changed(was[id], now[id]))},
        }
        if any(part.values()):
            found[name] = part
    return found


def _own(definition: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in definition.items() if name not in COLLECTIONS and name not in _BESIDE}


def _by_id(entries: Any, name: str) -> dict[str, Mapping[str, Any]]:
    key = "name" if name in _BY_NAME else "id"
    listed = entries if isinstance(entries, list) else []
    return {str(one.get(key, i)): one for i, one in enumerate(listed) if isinstance(one, Mapping)}


def _changed(before: Mapping[str, Any], after: Mapping[str, Any]) -> dict[str, list[Any]]:
    names = [*before, *(name for name in after if name not in before)]
    return {name: [before.get(name), after.get(name)] for name in names if before.get(name) != after.get(name)}
