"""Browser sessions: a signed cookie that says who, until when.

It survives a restart; the store keeps only which were ended before their time.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import os
import secrets
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

import msgspec

COOKIE = "penstock_session"
#: left by a login: this browser has been let in with that key
DEVICE_COOKIE = "penstock_device"
DEVICE_LASTS_S = 365 * 24 * 3600
LASTS_S = 12 * 3600
#: a page of another site cannot set it, so a request with a cookie and without it is not the console's
HEADER = "x-penstock"


class Session(msgspec.Struct, array_like=True, frozen=True):
    """`key` is the id of the API key that it was opened with; it ends with that key. In dev there is none. One that
    was opened with a token of the company's sign-in has the roles of that, and ends with it. `nonce` makes two of them
    two."""

    tenant: str
    user: str
    key: str
    until: int
    token: bool = False
    roles: tuple[str, ...] = ()
    scopes: tuple[str, ...] | None = None
    nonce: str = ""
    organization: int | None = None


def signing_key(path: Path) -> bytes:
    """Made once and kept beside the store, readable by its owner only."""
    try:
        key = path.read_bytes()
        if len(key) >= 32:
            return key
    except FileNotFoundError:
        pass
    path.parent.mkdir(parents=True, exist_ok=True)
    key = secrets.token_bytes(32)
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
        file.write(key)
    return key


class Sessions:
    def __init__(self, key: bytes, ended: Mapping[str, int] = MappingProxyType({})) -> None:
        self._key = key
        self._ended = dict(ended)  # id → when it would have ended by itself

    def encode(self, session: Session) -> str:
        body = base64.urlsafe_b64encode(msgspec.msgpack.encode(session)).decode()
        return f"{body}.{self._signature(body)}"

    def read(self, cookie: str, now: int) -> Session | None:
        """None when the signature is wrong or the session is over."""
        body, _, signature = cookie.partition(".")
        if not hmac.compare_digest(signature.encode(), self._signature(body).encode()):
            return None
        try:
            session = msgspec.msgpack.decode(base64.urlsafe_b64decode(body), type=Session)
        except (ValueError, msgspec.MsgspecError):
            return None
        return session if session.until > now and session_id(cookie) not in self._ended else None

    def ended(self, cookie: str, until: int, now: int) -> None:
        """Its cookie, and any copy of it, opens nothing from now on."""
        self._ended = {id: over for id, over in self._ended.items() if over > now}
        self._ended[session_id(cookie)] = until

    def device(self, account: str) -> str:
        """The mark of a browser that was let in with this key."""
        return self._signature(f"device {account}")

    def is_device(self, mark: str, account: str) -> bool:
        return hmac.compare_digest(mark.encode(), self.device(account).encode())

    def _signature(self, body: str) -> str:
        return hmac.new(self._key, body.encode(), hashlib.sha256).hexdigest()


def session_id(cookie: str) -> str:
    """What a session is known by; nobody can make its cookie from it."""
    return hashlib.sha256(cookie.encode()).hexdigest()[:32]
