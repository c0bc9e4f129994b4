"""The values of the language: their kinds, members, texts and equality."""

from __future__ import annotations

from json.encoder import encode_basestring
from typing import Any

from penstock.errors import ExprLimit, ExprTypeError
from penstock.expr.limits import (
    CONTAINERS,
    MAX_NESTING,
    MAX_TEXT,
    STEP_MEMBERS,
    STEP_TEXT,
    Meter,
    View,
    bounded_text,
    check_text_size,
    meter_of,
)

_KINDS: dict[type, str] = {
    type(None): "null",
    bool: "boolean",
    int: "integer",
    float: "float",
    str: "string",
    list: "array",
    tuple: "array",
    dict: "object",
}


_INDEX_BITS = 64  # a longer integer is no key that a document has written


def kind_of(value: Any) -> str:
    """null, boolean, integer, float, string, array or object; «unreadable» for what no document can hold."""
    kind = _KINDS.get(type(value))
    if kind is None:
        kind = next((_KINDS[base] for base in type(value).__mro__ if base in _KINDS), "unreadable")
    return kind


def member(value: Any, key: Any) -> Any:
    """`value.key` or `value[key]`; what is not there is null. Only objects and arrays have members."""
    kind = type(key)
    if key is None:
        return None
    if kind is not str and kind is not int and kind_of(key) not in ("string", "integer"):
        raise ExprTypeError(why=f"an index is an integer or a string, not {named(key)}")
    if isinstance(value, dict):
        try:
            return value[key]
        except KeyError:
            return value.get(f"{key}") if kind is int and key.bit_length() <= _INDEX_BITS else None
    if isinstance(value, list | tuple) and isinstance(key, int):
        return value[key] if -len(value) <= key < len(value) else None
    return None


def walk(value: Any, path: str) -> Any:
    """The member that a dotted path names; data, so it is never read as an expression."""
    for key in path.split("."):
        value = member(value, key)
    return value


def named(value: Any) -> str:
    """The value's kind with its article, for a sentence."""
    kind = kind_of(value)
    if kind == "null":
        return kind
    if kind == "unreadable":
        return "a value that is not data"
    return f"{'an' if kind[0] in 'aeiou' else 'a'} {kind}"


# ---- text ------------------------------------------------------------------------------------------------------------


def text_of(value: Any) -> str:
    """The value as text: null is empty, objects and arrays are JSON."""
    return text_in({}, value)


def text_in(view: View, value: Any) -> str:
    """`text_of`, paid for by the evaluation that `view` belongs to."""
    if isinstance(value, str):
        return value
    if value is None:
        return ""
    if isinstance(value, CONTAINERS):
        writer = _Writer(meter_of(view))
        writer.write(value, 0)
        return bounded_text(view, "".join(writer.parts))
    return _scalar(value)


def _scalar(value: Any) -> str:
    if value is True:
        return "true"
    if value is False:
        return "false"
    if isinstance(value, int):
        try:
            return int.__repr__(value)
        except ValueError:
            raise ExprLimit(why="an integer of more than 4,300 digits") from None
    if isinstance(value, float):
        if value - value != 0.0:
            raise ExprTypeError(why="the number is not finite and has no text")
        return float.__repr__(value)
    raise ExprTypeError(why="this value is not data and has no text")


class _Writer:
    """JSON, compact; it stops where the text gets too long, not after."""

    __slots__ = ("meter", "parts", "room")

    def __init__(self, meter: Meter) -> None:
        self.meter = meter
        self.parts: list[str] = []
        self.room = MAX_TEXT

    def write(self, value: Any, depth: int) -> None:
        if isinstance(value, CONTAINERS):
            _deeper(depth)
            self.meter.spend(1 + (len(value) >> STEP_MEMBERS))
            if isinstance(value, dict):
                self.write_object(value, depth)
            else:
                self.write_array(value, depth)
        elif isinstance(value, str):
            self.put(value if len(value) > self.room else encode_basestring(value))
        else:
            self.put("null" if value is None else _scalar(value))

    def write_object(self, value: dict[Any, Any], depth: int) -> None:
        mark = "{"
        for key, item in value.items():
            self.put(f"{mark}{encode_basestring(key if isinstance(key, str) else text_of(key))}:")
            self.write(item, depth + 1)
            mark = ","
        self.put("}" if value else "{}")

    def write_array(self, value: Any, depth: int) -> None:
        mark = "["
        for item in value:
            self.put(mark)
            self.write(item, depth + 1)
            mark = ","
        self.put("]" if value else "[]")

    def put(self, text: str) -> None:
        self.room -= len(text)
        check_text_size(MAX_TEXT - self.room)
        self.parts.append(text)


def _deeper(depth: int) -> None:
    if depth >= MAX_NESTING:
        raise ExprLimit(why=f"data nested more than {MAX_NESTING} deep")


# ---- equality --------------------------------------------------------------------------------------------------------


def equal(left: Any, right: Any) -> bool:
    """Deep equality, strict by type; an integer equals the float of the same number, null only null."""
    return _equal(left, right, Meter(), 0)


def equal_in(view: View, left: Any, right: Any) -> bool:
    """`equal`, paid for by the evaluation that `view` belongs to."""
    return _equal(left, right, meter_of(view), 0)


def _equal(left: Any, right: Any, meter: Meter, depth: int) -> bool:
    if left is None or right is None or isinstance(left, bool) or isinstance(right, bool):
        return left is right
    if isinstance(left, str):
        return isinstance(right, str) and left == right
    if isinstance(left, int | float):
        return isinstance(right, int | float) and left == right
    if isinstance(left, dict):
        return isinstance(right, dict) and _equal_objects(left, right, meter, depth)
    if isinstance(left, list | tuple):
        return isinstance(right, list | tuple) and _equal_arrays(left, right, meter, depth)
    return left is right


def _equal_objects(left: dict[Any, Any], right: dict[Any, Any], meter: Meter, depth: int) -> bool:
    _deeper(depth)
    if len(left) != len(right):
        return False
    meter.spend(1 + (len(left) >> STEP_MEMBERS))
    return all(key in right and _equal(item, right[key], meter, depth + 1) for key, item in left.items())


def _equal_arrays(
    left: list[Any] | tuple[Any, ...], right: list[Any] | tuple[Any, ...], meter: Meter, depth: int
) -> bool:
    _deeper(depth)
    if len(left) != len(right):
        return False
    meter.spend(1 + (len(left) >> STEP_MEMBERS))
    return all(_equal(item, other, meter, depth + 1) for item, other in zip(left, right, strict=True))


def identity(view: View, value: Any) -> Any:
    """A hashable stand-in: two values have the same one exactly when they are `equal`."""
    return _identity(value, meter_of(view), 0)


def _identity(value: Any, meter: Meter, depth: int) -> Any:
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, bool):
        return (value, "boolean")
    if isinstance(value, int | float):
        return value
    if isinstance(value, dict):
        _deeper(depth)
        meter.spend(1 + (len(value) >> STEP_MEMBERS))
        return frozenset((key, _identity(item, meter, depth + 1)) for key, item in value.items())
    if isinstance(value, list | tuple):
        _deeper(depth)
        meter.spend(1 + (len(value) >> STEP_MEMBERS))
        return ("array", *(_identity(item, meter, depth + 1) for item in value))
    raise ExprTypeError(why="this value is not data and cannot be compared")


def text_steps(*texts: str) -> int:
    """The steps that reading these texts costs."""
    return sum(map(len, texts)) >> STEP_TEXT
