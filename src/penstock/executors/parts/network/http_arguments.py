"""Reads the arguments of an HTTP request: its method, its body, and what must be an object."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from penstock.executors.parts.network.http_call import CallRefused

METHODS = frozenset("GET HEAD POST PUT PATCH DELETE OPTIONS".split())


def method_argument(args: Mapping[str, Any]) -> str:
    """Raises CallRefused."""
    method = str(args.get("method") or "GET").upper()
    if method not in METHODS:
        raise CallRefused("INPUT_INVALID", "validation", f"the method «{method[:20]}» is not known")
    return method


def object_argument(value: Any, name: str) -> Mapping[str, Any]:
    """An argument that is an object or left out. Raises CallRefused."""
    if value is None or value == "":
        return {}
    if not isinstance(value, Mapping):
        raise CallRefused("INPUT_INVALID", "validation", f"«{name}» must be an object")
    return value


def header_text(value: Any) -> str:
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


def encode_body(body: Any, as_json: Callable[[Any], Any]) -> tuple[bytes, str]:
    """The bytes of a request's body and their media type; `as_json` prepares what is neither text nor bytes."""
    if body is None:
        return b"", ""
    if isinstance(body, str):
        return body.encode("utf-8", "replace"), "text/plain; charset=utf-8"
    if isinstance(body, bytes):
        return body, "application/octet-stream"
    return msgspec.json.encode(as_json(body)), "application/json"
