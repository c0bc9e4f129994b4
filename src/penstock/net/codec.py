"""The canonical form of a net and its content hash."""

from __future__ import annotations

import hashlib

import msgspec

from penstock.net.model import Net

_encoder = msgspec.json.Encoder(order="deterministic")
_decoder = msgspec.json.Decoder(Net)


class NetHead(msgspec.Struct):
    """What is asked of a net before any of its runs moves; reading it does not read the nodes."""

    name: str = ""
    queued: bool = False
    limits: dict[str, int] = {}


_head_decoder = msgspec.json.Decoder(NetHead)


def encode(net: Net) -> bytes:
    """The whole net, source map included, with sorted keys: equal nets give equal bytes."""
    return _encoder.encode(net)


def decode(data: bytes) -> Net:
    return _decoder.decode(data)


def decode_head(data: bytes) -> NetHead:
    return _head_decoder.decode(data)


def content_hash(net: Net) -> str:
    """sha256 of the canonical form without the source map: moving a line in the document changes nothing."""
    return hashlib.sha256(_encoder.encode(msgspec.structs.replace(net, source_map={}))).hexdigest()
