"""Blobs: a body over 64 KiB leaves the row; the token carries a reference, and executors get the value back."""

from __future__ import annotations

import hashlib
from typing import Any

import msgspec

from penstock.errors import StoreError
from penstock.store.contract import Batch, Store

LIMIT = 64 * 1024
REF = "$blob"
_pack = msgspec.msgpack.Encoder().encode


class Blobs:
    def __init__(self, store: Store) -> None:
        self.store = store
        self.pending: list[tuple[str, int, bytes]] = []
        self.fresh: dict[str, Any] = {}

    def shelve(self, body: Any) -> Any:
        """The body itself when it is small, else a reference to it. What only looks like one is wrapped in one."""
        kind = type(body)
        if kind in (str, bytes):
            if len(body) <= LIMIT // 4 or len(body) <= LIMIT and kind is bytes:
                return body
        elif kind not in (dict, list):
            return body
        try:
            packed = _pack(body)
        except (TypeError, OverflowError, ValueError, RecursionError):
            return body  # it cannot be stored: the turn that tries says so, with the name of the node
        if len(packed) <= LIMIT and not (kind is dict and REF in body):
            return body
        digest = hashlib.sha256(packed).hexdigest()
        self.pending.append((digest, len(packed), packed))
        self.fresh[digest] = body
        return {REF: digest, "size": len(packed)}

    def write(self, batch: Batch) -> None:
        if self.pending:
            batch.blobs += self.pending
            self.pending = []
            if len(self.fresh) > 64:
                self.fresh.clear()

    def give_back(self, batch: Batch) -> None:
        """The commit of what `write` has added has failed, and commands that wait for their turn may speak of it."""
        self.pending[:0] = batch.blobs
        self.fresh.update({digest: msgspec.msgpack.decode(packed) for digest, _, packed in batch.blobs})

    def resolve(self, body: Any) -> Any:
        if type(body) is dict and REF in body and len(body) == 2:
            digest = body[REF]
            if digest in self.fresh:
                return self.fresh[digest]
            packed = self.store.blob(digest)
            if packed is None:
                raise StoreError(why=f"blob {digest} is missing")
            return msgspec.msgpack.decode(packed)
        return body
