"""Filters of events (W-3.2.2, C-30): fields and what is wanted of them; severities go by rank, not as text."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from penstock.errors import ExprError, ExtraMissing
from penstock.expr.functions.string import compiled_pattern
from penstock.expr.values import equal, walk

#: C-30: per field name the rank of every word; a tenant may bring its own.
SCALES: Mapping[str, Mapping[str, float]] = {
    "severity": {
        "normal": 0, "info": 10, "low": 20, "minor": 20, "warning": 30, "medium": 30, "major": 40, "high": 40,
        "critical": 50, "emergency": 60,
    },
    "priority": {"low": 1, "normal": 2, "high": 3},
}  # fmt: skip
_ORDER = ("$gt", "$gte", "$lt", "$lte")
_OF_FIELDS = ("$eq", "$ne", *_ORDER, "$in", "$nin", "$exists", "$regex", "$not")
OPERATORS = (*_OF_FIELDS, "$and", "$or")


def matches(payload: Any, wanted: Any, scales: Mapping[str, Mapping[str, float]] = SCALES) -> bool:
    """Does the payload have everything that the filter wants? All fields must match; none wanted matches all."""
    if not isinstance(wanted, dict):
        return wanted is None
    return all(_field(payload, str(name), condition, scales) for name, condition in wanted.items())


def _field(payload: Any, name: str, wanted: Any, scales: Mapping[str, Mapping[str, float]]) -> bool:
    if name == "$and":
        return isinstance(wanted, list) and all(matches(payload, condition, scales) for condition in wanted)
    if name == "$or":
        return isinstance(wanted, list) and any(matches(payload, condition, scales) for condition in wanted)
    if name == "$not":
        return not matches(payload, wanted, scales)
    actual = payload.get(name) if isinstance(payload, dict) and name in payload else walk(payload, name)
    scale = scales.get(name.rpartition(".")[2])
    if isinstance(wanted, dict) and wanted and all(str(key).startswith("$") for key in wanted):
        return all(_operator(actual, str(op), value, scale, scales) for op, value in wanted.items())
    return _same(actual, wanted, scale)


def _operator(
    actual: Any, op: str, wanted: Any, scale: Mapping[str, float] | None, scales: Mapping[str, Mapping[str, float]]
) -> bool:
    if op == "$eq":
        return _same(actual, wanted, scale)
    if op == "$ne":
        return not _same(actual, wanted, scale)
    if op in ("$in", "$nin"):
        among = isinstance(wanted, list) and any(_same(actual, candidate, scale) for candidate in wanted)
        return among == (op == "$in")
    if op == "$exists":
        return (actual is not None) == (wanted is not False)
    if op == "$regex":
        return isinstance(actual, str) and isinstance(wanted, str) and _search(actual, wanted)
    if op == "$not":
        return not (isinstance(wanted, dict) and all(_operator(actual, k, v, scale, scales) for k, v in wanted.items()))
    return op in _ORDER and _ordered(actual, op, wanted, scale)


def _search(text: str, pattern: str) -> bool:
    try:
        return compiled_pattern("regex_match", pattern).search(text) is not None
    except ExprError:
        return False


def _ordered(actual: Any, op: str, wanted: Any, scale: Mapping[str, float] | None) -> bool:
    left, right = _rank(actual, scale), _rank(wanted, scale)
    numbers = isinstance(left, int | float) and isinstance(right, int | float)
    texts = scale is None and isinstance(left, str) and isinstance(right, str)
    if not (numbers or texts) or isinstance(left, bool) or isinstance(right, bool):
        return False
    if op == "$gt":
        return bool(left > right)
    if op == "$gte":
        return bool(left >= right)
    return bool(left < right) if op == "$lt" else bool(left <= right)


def _rank(value: Any, scale: Mapping[str, float] | None) -> Any:
    """A word of a scale is its rank; a word that is not on it is nothing."""
    if scale is None or not isinstance(value, str):
        return value
    return scale.get(value.strip().lower())


def _same(actual: Any, wanted: Any, scale: Mapping[str, float] | None) -> bool:
    if scale is not None and isinstance(actual, str) and isinstance(wanted, str):
        return actual.strip().lower() == wanted.strip().lower()
    return equal(actual, wanted)


def problems(wanted: Any, at: str = "") -> list[tuple[str, str]]:
    """What in a filter can never be meant: (pointer below the filter, why). Values may be templates still."""
    if not isinstance(wanted, dict):
        return [(at, "a filter is a map of fields")]
    wrong: list[tuple[str, str]] = []
    for name, condition in wanted.items():
        here = f"{at}/{str(name).replace('~', '~0').replace('/', '~1')}"
        if name in ("$and", "$or"):
            if not isinstance(condition, list):
                wrong.append((here, f"{name} takes a list of filters"))
            else:
                wrong += [p for i, part in enumerate(condition) for p in problems(part, f"{here}/{i}")]
        elif name == "$not":
            wrong += problems(condition, here)
        elif str(name).startswith("$"):
            wrong.append((here, f"{name} stands below a field, not beside one"))
        elif isinstance(condition, dict) and any(str(key).startswith("$") for key in condition):
            wrong += _operators(condition, here)
    return wrong


def _operators(wanted: dict[str, Any], at: str) -> list[tuple[str, str]]:
    wrong: list[tuple[str, str]] = []
    for op, value in wanted.items():
        here = f"{at}/{op}"
        if op not in _OF_FIELDS:
            wrong.append((here, f"there is no operator «{op}»; there are {', '.join(_OF_FIELDS)}"))
        elif op in ("$in", "$nin") and not isinstance(value, (list, str)):
            wrong.append((here, f"{op} takes a list"))
        elif op == "$regex":
            wrong += [(here, why)] if (why := _bad_pattern(value)) else []
        elif op == "$not":
            wrong += _operators(value, here) if isinstance(value, dict) else [(here, "$not takes operators")]
    return wrong


def _bad_pattern(value: Any) -> str | None:
    if not isinstance(value, str):
        return "$regex takes a text"
    if "${" in value:
        return None
    try:
        compiled_pattern("regex_match", value)
    except ExprError as wrong:
        return str(wrong.facts.get("why", wrong)).removeprefix("fn.regex_match: ")
    except ExtraMissing:
        return None  # told when it is used
    return None


def unranked(wanted: Any, at: str = "") -> list[tuple[str, str]]:
    """Words that are compared by rank and have none on the usual scales: (pointer below the filter, why)."""
    wrong: list[tuple[str, str]] = []
    for name, condition in wanted.items() if isinstance(wanted, dict) else ():
        here = f"{at}/{str(name).replace('~', '~0').replace('/', '~1')}"
        if name in ("$and", "$or"):
            each = condition if isinstance(condition, list) else ()
            wrong += [problem for i, part in enumerate(each) for problem in unranked(part, f"{here}/{i}")]
        elif name == "$not":
            wrong += unranked(condition, here)
        elif isinstance(condition, dict):
            scale = SCALES.get(str(name).rpartition(".")[2])
            wrong += [
                (f"{here}/{op}", f"«{value}» has no rank among {', '.join(scale)}, so nothing compares with it")
                for op, value in condition.items()
                if scale and op in _ORDER and isinstance(value, str) and "${" not in value
                if _rank(value, scale) is None
            ]
    return wrong


def off_scale(payload: Any, wanted: Any, scales: Mapping[str, Mapping[str, float]] = SCALES) -> list[str]:
    """Fields that are compared by rank and whose value has none: worth a warning, for they never match."""
    names = []
    for name, condition in wanted.items() if isinstance(wanted, dict) else ():
        scale = scales.get(str(name).rpartition(".")[2])
        ordered = isinstance(condition, dict) and any(op in _ORDER for op in condition)
        value = walk(payload, str(name)) if isinstance(payload, dict) else None
        if scale is not None and ordered and isinstance(value, str) and _rank(value, scale) is None:
            names.append(str(name))
    return names
