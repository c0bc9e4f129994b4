"""Signed webhooks: how a receiver knows who has sent a request, that nobody has changed it, and that it is not old.

The headers are those of the Standard Webhooks convention, so that its libraries verify them too:

    webhook-id         names the message; the same on every attempt, so a receiver can drop what it has seen
    webhook-timestamp  when it was signed, in seconds since the epoch
    webhook-signature  v1,<base64 of HMAC-SHA256 over "id.timestamp.body">; several, with a space between them, are
                       possible while keys change
    webhook-key-id     which of the receiver's keys (only when the sender's settings name one)

A secret that begins with `whsec_` is the rest of it read as base64; any other is used as it is, in UTF-8.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
from collections.abc import Mapping

TOLERANCE_S = 300


class BadSignature(ValueError):
    """The request is not what it claims to be; the text says why."""


def sign(id: str, timestamp: int, body: bytes, secret: str, key_id: str = "") -> dict[str, str]:
    """The headers to send along."""
    headers = {
        "webhook-id": id,
        "webhook-timestamp": str(timestamp),
        "webhook-signature": "v1," + _signature(id, str(timestamp), body, secret),
    }
    return headers | ({"webhook-key-id": key_id} if key_id else {})


def verify(
    headers: Mapping[str, str],
    body: bytes,
    keys: Mapping[str, str] | str,
    now_s: float,
    tolerance_s: int = TOLERANCE_S,
) -> str:
    """The message's id when one of the signatures is right, else BadSignature. `keys` is one secret, or secrets by
    key id; `body` are the bytes as they came, not parsed and written again."""
    given = {name.lower(): value for name, value in headers.items()}
    id, stamp, signatures = (given.get(f"webhook-{name}", "") for name in ("id", "timestamp", "signature"))
    if not (id and stamp and signatures):
        raise BadSignature("the request is not signed")
    if not (stamp.isascii() and stamp.isdigit() and len(stamp) < 13):
        raise BadSignature("the timestamp is no number")
    if abs(now_s - int(stamp)) > tolerance_s:
        raise BadSignature("the request is too old or comes from the future")
    secret = keys if isinstance(keys, str) else keys.get(given.get("webhook-key-id", ""))
    if secret is None:
        raise BadSignature("the key is not known")
    wanted = _signature(id, stamp, body, secret)
    for signature in signatures.split(" ")[:10]:
        version, _, value = signature.partition(",")
        if version == "v1" and hmac.compare_digest(value.encode(), wanted.encode()):
            return id
    raise BadSignature("no signature fits")


def _signature(id: str, stamp: str, body: bytes, secret: str) -> str:
    key = secret.encode()
    if secret.startswith("whsec_"):
        try:
            key = base64.b64decode(secret.removeprefix("whsec_"), validate=True)
        except binascii.Error:
            raise BadSignature("the secret begins with whsec_ but is no base64") from None
    signed = b".".join([id.encode(), stamp.encode(), body])
    return base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest()).decode()
