"""Address functions: url_encode, path_segment. What a value becomes when it is written into an address."""

from __future__ import annotations

from typing import Any

from penstock.errors import ExprTypeError
from penstock.expr.functions.contract import Function, family
from penstock.expr.limits import View, bounded_text
from penstock.expr.values import named, text_in

_KEPT = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")


def _url_encode(view: View, value: Any) -> str:
    octets = text_in(view, value).encode("utf-8", "replace")
    return bounded_text(view, "".join(chr(octet) if octet in _KEPT else f"%{octet:02X}" for octet in octets))


def _path_segment(view: View, value: Any) -> str:
    """C-28: the value stays inside its segment of a path. Dots alone would lead out of it, even encoded, and nothing
    would let the next segment take its place."""
    if value is None or isinstance(value, (list, tuple, dict)):
        raise ExprTypeError(why=f"fn.path_segment needs a text or a number, not {named(value)}")
    text = text_in(view, value)
    if not text.strip("."):
        raise ExprTypeError(why="fn.path_segment: an empty text, or one of dots alone, would lead elsewhere")
    return _url_encode(view, text)


ADDRESS = family(
    "address",
    Function(
        "url_encode",
        "(value) -> string",
        "The value as it stands in an address: everything but letters, digits and - . _ ~ is percent-encoded.",
        _url_encode,
        sees_view=True,
    ),
    Function(
        "path_segment",
        "(value) -> string",
        "The value as one segment of a path; null, an empty text and dots alone are refused.",
        _path_segment,
        sees_view=True,
    ),
)
