"""Functions of contexts."""

from __future__ import annotations

from typing import Any

from penstock.feel.evaluation import Evaluation, Fault
from penstock.feel.functions.signature import declare, family

_DEEPEST = 100


def _get_value(context: dict[str, Any], key: str) -> Any:
    return context.get(key)


def _get_value_by_path(context: dict[str, Any], keys: list[Any]) -> Any:
    value: Any = context
    for key in keys:
        if type(key) is not str or type(value) is not dict:
            return None
        value = value.get(key)
    return value


def _get_entries(context: dict[str, Any]) -> list[dict[str, Any]]:
    return [{"key": key, "value": value} for key, value in context.items()]


def _context(entries: list[Any]) -> dict[str, Any]:
    """`context([{key: "a", value: 1}])`"""
    made: dict[str, Any] = {}
    for entry in entries:
        if type(entry) is not dict or type(entry.get("key")) is not str or "value" not in entry:
            raise Fault("context: an entry has a key, which is a string, and a value")
        if entry["key"] in made:
            raise Fault(f"context: two entries have the key «{entry['key'][:60]}»")
        made[entry["key"]] = entry["value"]
    return made


def _put(evaluation: Evaluation, context: dict[str, Any], key: str, value: Any) -> dict[str, Any]:
    evaluation.spend(1 + len(context))
    return {**context, key: value}


def _put_by_path(evaluation: Evaluation, context: dict[str, Any], keys: list[Any], value: Any) -> dict[str, Any]:
    if not keys or len(keys) > _DEEPEST:
        raise Fault("context put: the list of keys is empty or too long")
    head = keys[0]
    if type(head) is not str:
        raise Fault("context put: a key is a string")
    if len(keys) == 1:
        return _put(evaluation, context, head, value)
    inner = context.get(head)
    if type(inner) is not dict:
        raise Fault(f"context put: there is no context at «{head[:60]}»")
    return _put(evaluation, context, head, _put_by_path(evaluation, inner, keys[1:], value))


def _merge(evaluation: Evaluation, contexts: list[Any]) -> dict[str, Any]:
    merged: dict[str, Any] = {}
    for context in contexts:
        if type(context) is not dict:
            raise Fault("context merge: the list has something else than contexts in it")
        evaluation.spend(1 + len(context))
        merged.update(context)
    return merged


FUNCTIONS = family(
    "context",
    declare("get value(context: context, key: string)", _get_value),
    declare("get value(m: context, key: string)", _get_value),
    declare("get value(context: context, keys: list)", _get_value_by_path),
    declare("get entries(context: context)", _get_entries),
    declare("get entries(m: context)", _get_entries),
    declare("context(entries: list)", _context),
    declare("context put(context: context, key: string, value: Any)", _put, evaluates=True),
    declare("context put(context: context, keys: list, value: Any)", _put_by_path, evaluates=True),
    declare("context merge(contexts: list)", _merge, evaluates=True),
)
