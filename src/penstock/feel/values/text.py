"""Values as text: what `string()` gives, and what the command line prints, which FEEL reads again."""

from __future__ import annotations

import re
from collections.abc import Callable
from decimal import Decimal
from typing import Any

from penstock.feel.evaluation import Exceeded, Where
from penstock.feel.names import PART, START
from penstock.feel.values.functions import Function
from penstock.feel.values.numbers import number_text
from penstock.feel.values.ranges import Range
from penstock.feel.values.temporal import Date, DateTime, DaysTime, Time, YearsMonths, text_of

_PLAIN_NAME = re.compile(f"[{START}][{PART}]*(?: [{PART}]+)*\\Z")
_ESCAPED = re.compile(r'["\\\x00-\x1f\ud800-\udfff]')
_ESCAPES = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t"}
_MOST = 1 << 20
#: lists and contexts inside each other, of a value that enters or leaves
DEEPEST = 100


def string_of(value: Any) -> str | None:
    """What `string(value)` is; a text inside a list or context stands in quotes."""
    if value is None:
        return None
    return value if type(value) is str else _text(value, literals=False)


def written(value: Any, source: str = "") -> str:
    """FEEL that gives the value, dates as `@"…"`. Raises FeelLimit, about the source, for what is too long or deep."""
    try:
        return _text(value, literals=True)
    except Exceeded as exceeded:
        exceeded.where = Where(source, 0)
        raise exceeded.error() from None


def _text(value: Any, *, literals: bool) -> str:
    parts: list[str] = []
    size = 0

    def put(text: str) -> None:
        nonlocal size
        size += len(text)
        if size > _MOST:
            raise Exceeded(f"a text of more than {_MOST:,} characters")
        parts.append(text)

    _write(value, put, literals, 0)
    return "".join(parts)


def _write(value: Any, put: Callable[[str], None], literals: bool, depth: int) -> None:
    kind = type(value)
    if depth > DEEPEST:
        raise Exceeded(f"a value nested more than {DEEPEST} deep")
    if kind is list:
        put("[")
        for index, item in enumerate(value):
            put(", " if index else "")
            _write(item, put, literals, depth + 1)
        put("]")
    elif kind is dict:
        put("{")
        for index, (key, item) in enumerate(value.items()):
            put((", " if index else "") + (key if _PLAIN_NAME.match(key) else _quoted(key)) + ": ")
            _write(item, put, literals, depth + 1)
        put("}")
    elif kind is Range:
        _write_range(value, put, literals, depth + 1)
    else:
        put(_scalar(value, literals))


def _write_range(value: Range, put: Callable[[str], None], literals: bool, depth: int) -> None:
    if value.low is None and value.high is not None:
        put("(<= " if value.high_closed else "(< ")
        _write(value.high, put, literals, depth)
        put(")")
    elif value.high is None and value.low is not None:
        put("(>= " if value.low_closed else "(> ")
        _write(value.low, put, literals, depth)
        put(")")
    else:
        put("[" if value.low_closed else "(")
        _write(value.low, put, literals, depth)
        put("..")
        _write(value.high, put, literals, depth)
        put("]" if value.high_closed else ")")


def _quoted(text: str) -> str:
    return '"' + _ESCAPED.sub(lambda match: _ESCAPES.get(match[0]) or f"\\u{ord(match[0]):04x}", text) + '"'


def _scalar(value: Any, literals: bool) -> str:
    kind = type(value)
    if value is None:
        return "null"
    if kind is str:
        return _quoted(value)
    if kind is bool:
        return "true" if value else "false"
    if kind is int or kind is Decimal:
        return number_text(value)
    if kind in (Date, Time, DateTime, DaysTime, YearsMonths):
        return f'@"{text_of(value)}"' if literals else text_of(value)
    if isinstance(value, Function):
        return repr(value)
    return str(value)
