"""An outgoing HTTP request and its answer, as values, and why a request may not go out."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import msgspec

MAX_BYTES = 10 * 1024 * 1024


class CallRefused(Exception):
    """A call that does not leave the house: `code` and the text say why."""

    def __init__(self, code: str, category: str, why: str) -> None:
        self.code, self.category = code, category
        super().__init__(why)


class HostUnresolved(ConnectionError):
    """No address for a name; it may be there tomorrow."""


class HttpReply(msgspec.Struct, frozen=True):
    status: int
    headers: dict[str, str]  # lower-case names
    body: bytes
    host: str


class HttpCall(msgspec.Struct, frozen=True, kw_only=True):
    """One request, ready to go: secrets are filled in, nothing of it may be shown."""

    method: str
    url: str
    headers: tuple[tuple[str, str], ...] = ()
    params: Mapping[str, Any] | None = None
    content: bytes = b""
    timeout_s: float = 30.0
    max_bytes: int = MAX_BYTES
    redirects: bool = True
    ca_file: str | None = None


def encode_body(body: Any, as_json: Callable[[Any], Any]) -> tuple[bytes, str]:
    """The bytes of a request's body and their media type; `as_json` prepares what is neither text nor bytes."""
    if body is None:
        return b"", ""
    if isinstance(body, str):
        return body.encode("utf-8", "replace"), "text/plain; charset=utf-8"
    if isinstance(body, bytes):
        return body, "application/octet-stream"
    return msgspec.json.encode(as_json(body)), "application/json"


def object_argument(value: Any, name: str) -> Mapping[str, Any]:
    """An argument that is an object or left out. Raises CallRefused."""
    if value is None or value == "":
        return {}
    if not isinstance(value, Mapping):
        raise CallRefused("INPUT_INVALID", "validation", f"«{name}» must be an object")
    return value
