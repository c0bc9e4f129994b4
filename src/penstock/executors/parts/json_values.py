"""Values that may leave an executor: what JSON can hold, or bytes."""

from __future__ import annotations

import base64
from typing import Any

import msgspec


class NotJson(ValueError):
    """A value that the journal cannot hold; the text says why."""


def json_value(value: Any) -> Any:
    """The value as JSON would hold it: tuples and sets become lists, dates text, NaN null. Bytes stay bytes.

    The way there and back is what makes a live run and its replay see the same value.
    """
    if value is None or type(value) is bool:
        return value
    if isinstance(value, bytes | bytearray | memoryview):
        return bytes(value)
    try:
        out = msgspec.json.decode(msgspec.json.encode(value))
        msgspec.msgpack.encode(out)  # refuses integers beyond 64 bits, which the journal cannot hold
    except RecursionError:
        raise NotJson("it is nested too deeply or contains itself") from None
    except UnicodeEncodeError:
        raise NotJson("a text in it holds half of a surrogate pair") from None
    except OverflowError:
        raise NotJson("a number in it needs more than 64 bits") from None
    except (TypeError, ValueError, msgspec.MsgspecError) as error:
        raise NotJson(str(error)[:300]) from None
    return out


def as_text(value: Any) -> str:
    """A value as a person reads it: text stays text, bytes are read as UTF-8 or shown as base64, the rest is JSON."""
    if isinstance(value, str):
        return value
    if isinstance(value, bytes):
        try:
            return value.decode()
        except UnicodeDecodeError:
            return base64.b64encode(value).decode()
    if value is None:
        return ""
    return msgspec.json.encode(value).decode()


def duration_ms(seconds: Any, otherwise: int) -> int:
    """A number of seconds out of a document, in milliseconds; what is not a positive number is `otherwise`."""
    if isinstance(seconds, bool) or not isinstance(seconds, int | float) or not 0 < seconds < 86_400:
        return otherwise
    return max(1, int(seconds * 1000))
