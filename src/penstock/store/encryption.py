"""Values encrypted at rest (C-79): plain JSON, or an envelope, compressed and encrypted."""

from __future__ import annotations

import base64
import binascii
import gzip
import hashlib
import os
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec

from penstock.errors import ExtraMissing

MOST_BYTES = 512 * 1024 * 1024  # unpacked: more is damage
_NONCE = 12
_SEALED = ("enc", "z")


class Damaged(Exception):
    """It is not what was written, or nobody here can read it."""


def key_in(file: Path) -> bytes:
    """The key that a file holds; it is made where there is none."""
    try:
        handle = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    except FileExistsError:
        return key_from(file.read_text("ascii").strip())
    except FileNotFoundError:
        file.parent.mkdir(parents=True, exist_ok=True)
        return key_in(file)
    with os.fdopen(handle, "w", encoding="ascii") as out:
        made = base64.b64encode(os.urandom(32)).decode()
        out.write(made)
        out.flush()
        os.fsync(out.fileno())
    return key_from(made)


def key_from(secret: str) -> bytes:
    """Base64 of 32 bytes is the key itself; any other text is hashed to one."""
    try:
        raw = base64.b64decode(secret, validate=True)
    except (binascii.Error, ValueError):
        raw = b""
    return raw if len(raw) == 32 else hashlib.sha256(b"penstock checkpoint\0" + secret.encode()).digest()


def kid_of(key: bytes) -> str:
    return hashlib.sha256(b"kid\0" + key).hexdigest()[:16]


def cipher(key: bytes) -> Any:
    try:
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM
    except ImportError:
        raise ExtraMissing(extra="checkpoint") from None
    return AESGCM(key)


def seal(value: Any, name: str, *, compress: bool, key: bytes | None) -> tuple[bytes, int]:
    """What stands in the column, and its size after compression. `name` belongs to the contents: moved to another row
    or column they cannot be read."""
    data = msgspec.json.encode(value)
    if not compress and key is None:
        return data, len(data)
    envelope: dict[str, Any] = {}
    if compress:
        data, envelope["z"] = gzip.compress(data, 6, mtime=0), "gzip"
    size = len(data)
    if key is not None:
        nonce = os.urandom(_NONCE)
        data = nonce + cipher(key).encrypt(nonce, data, name.encode())
        envelope |= {"enc": "aes-gcm", "kid": kid_of(key)}
    return msgspec.json.encode({**envelope, "data": base64.b64encode(data).decode()}), size


def opened(column: bytes, name: str, key_of: Callable[[str], bytes]) -> Any:
    """The value again. Raises Damaged."""
    try:
        found = msgspec.json.decode(column)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise Damaged(str(error)) from error
    if not isinstance(found, dict) or "data" not in found or not any(word in found for word in _SEALED):
        return found
    try:
        data = base64.b64decode(found["data"], validate=True)
        if found.get("enc") is not None:
            data = _decrypted(found, data, name, key_of)
        if found.get("z") is not None:
            data = _unpacked(data)
        return msgspec.json.decode(data)
    except (binascii.Error, ValueError, TypeError, OSError, EOFError, zlib.error, msgspec.MsgspecError) as error:
        raise Damaged(f"{type(error).__name__}: {error}") from error


def _decrypted(envelope: dict[str, Any], data: bytes, name: str, key_of: Callable[[str], bytes]) -> bytes:
    key = key_of(str(envelope.get("kid")))
    box = cipher(key)
    from cryptography.exceptions import InvalidTag

    try:
        plain: bytes = box.decrypt(data[:_NONCE], data[_NONCE:], name.encode())
    except InvalidTag as error:
        raise Damaged("its tag does not fit") from error
    return plain


def _unpacked(data: bytes) -> bytes:
    reader = zlib.decompressobj(31)
    out = reader.decompress(data, MOST_BYTES)
    if reader.unconsumed_tail or not reader.eof:
        raise Damaged("it is cut off, or far too large")
    return out
