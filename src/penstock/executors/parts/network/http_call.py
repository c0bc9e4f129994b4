"""An outgoing HTTP request and its answer, as values, and why a request may not go out."""

from __future__ import annotations

from collections.abc import Mapping
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

    @property
    def media_type(self) -> str:
        return self.headers.get("content-type", "").split(";")[0].strip().lower()

    @property
    def is_json(self) -> bool:
        """Does it say so?"""
        return self.media_type == "application/json" or self.media_type.endswith("+json")

    def meta(self) -> dict[str, Any]:
        """What is noted beside the answer."""
        return {"status": self.status, "media_type": self.media_type, "bytes": len(self.body)}


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
