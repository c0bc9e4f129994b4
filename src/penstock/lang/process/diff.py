"""The difference between two versions of a definition (P-X.8): added, removed and changed, per collection and id."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from penstock.lang.process.fields import COLLECTIONS

#: Collections whose entries have no id are known by their name.
_BY_NAME = ("data",)
#: Fields that say nothing about the process itself.
_IGNORED = ("diagram", "extensions", "version", "$schema")


def difference(before: Mapping[str, Any], after: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Per collection {added: {id: entry}, removed: {id: entry}, changed: {id: {field: [before, after]}}}; what is equal
    is left out. Fields of the definition itself are under `definition`."""
    changes: dict[str, dict[str, Any]] = {}
    top_changes = _changed(_top_fields(before), _top_fields(after))
    if top_changes:
        changes["definition"] = {"added": {}, "removed": {}, "changed": top_changes}
    for name in COLLECTIONS:
        was, now = _by_id(before.get(name), name), _by_id(after.get(name), name)
        part = {
            "added": {id: now[id] for id in now if id not in was},
            "removed": {id: was[id] for id in was if id not in now},
            "changed": {id: fields for id in was if id in now and (fields := _changed(was[id], now[id]))},
        }
        if any(part.values()):
            changes[name] = part
    return changes


def _top_fields(definition: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in definition.items() if name not in COLLECTIONS and name not in _IGNORED}


def _by_id(entries: Any, name: str) -> dict[str, Mapping[str, Any]]:
    key = "name" if name in _BY_NAME else "id"
    listed = entries if isinstance(entries, list) else []
    return {str(entry.get(key, i)): entry for i, entry in enumerate(listed) if isinstance(entry, Mapping)}


def _changed(before: Mapping[str, Any], after: Mapping[str, Any]) -> dict[str, list[Any]]:
    names = [*before, *(name for name in after if name not in before)]
    return {name: [before.get(name), after.get(name)] for name in names if before.get(name) != after.get(name)}
