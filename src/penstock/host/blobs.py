"""Blobs: a body over 64 KiB leaves the row; the token carries a reference, and executors get the value back."""

from __future__ import annotations

import functools
import hashlib
import re
from collections.abc import Callable, Iterable
from typing import Any

import msgspec

from penstock.errors import StoreError
from penstock.store.run_store import Batch, RunStore

LIMIT = 64 * 1024
REF = "$blob"
_NAME = re.compile(r"[0-9a-f]{64}\Z")
_pack = msgspec.msgpack.Encoder().encode


class Blobs:
    """The name of a blob says whose it is: a reference that somebody has written into a document or an answer gives
    nobody another tenant's value."""

    def __init__(self, store: RunStore, inline: int = LIMIT) -> None:
        self.store, self.inline = store, inline
        self.pending: list[tuple[str, int, bytes]] = []
        self.fresh: dict[tuple[str, str], Any] = {}
        self.uncommitted: dict[str, bytes] = {}  # their commit has failed

    def of(self, tenant: str) -> Callable[[Any], Any]:
        return functools.partial(self.resolve, tenant)

    def shelve(self, tenant: str, body: Any) -> Any:
        """The body itself when it is small, else a reference to it. What only looks like one is wrapped in one."""
        kind = type(body)
        if kind in (str, bytes):
            if len(body) <= self.inline // 4 or len(body) <= self.inline and kind is bytes:
                return body
        elif kind not in (dict, list):
            return body
        try:
            packed = _pack(body)
        except (TypeError, OverflowError, ValueError, RecursionError):
            return body  # it cannot be stored: the turn that tries says so, with the name of the node
        if len(packed) <= self.inline and not (kind is dict and REF in body):
            return body
        digest = _named(tenant, packed)
        self.pending.append((digest, len(packed), packed))
        self.fresh[tenant, digest] = body
        return {REF: digest, "size": len(packed)}

    def write(self, batch: Batch) -> None:
        batch.blobs += self.pending
        self.pending = []
        if len(self.fresh) > 64:
            self.fresh.clear()
        if len(self.uncommitted) > 64:
            self.uncommitted.clear()

    def on_rollback(self, batch: Batch) -> None:
        """The commit of what `write` has added has failed, and commands that wait for their turn may speak of it."""
        self.pending[:0] = batch.blobs
        self.uncommitted.update({digest: packed for digest, _, packed in batch.blobs})

    def resolve(self, tenant: str, body: Any) -> Any:
        """The value of a reference. What only looks like one, or like one of another tenant, is a value itself."""
        if type(body) is dict and REF in body and len(body) == 2:
            digest = body[REF]
            if type(digest) is not str or not _NAME.match(digest):
                return body
            if (tenant, digest) in self.fresh:
                return self.fresh[tenant, digest]
            packed = self.uncommitted.get(digest) or self.store.blob(digest)
            if packed is None:
                raise StoreError(why=f"blob {digest} is missing")
            # before names said whose it is, they were the hash of the value alone
            if digest not in (_named(tenant, packed), hashlib.sha256(packed).hexdigest()):
                return body
            return msgspec.msgpack.decode(packed)
        return body


def is_named(name: str, packed: bytes, tenants: Iterable[str]) -> bool:
    """Whether it is the name of this value, for one of these tenants or as older stores have it."""
    return name == hashlib.sha256(packed).hexdigest() or any(name == _named(tenant, packed) for tenant in tenants)


def _named(tenant: str, packed: bytes) -> str:
    whose = hashlib.sha256(tenant.encode("utf-8", "surrogatepass")).digest()
    return hashlib.sha256(whose + packed).hexdigest()
