"""Secrets: filled at the last moment, and scrubbed in every spelling."""

from __future__ import annotations

import base64
import json
import secrets as random_secrets
from urllib.parse import quote

import pytest

from penstock.executors.parts.secrets import SecretMissing, Secrets


def test_references_are_filled_and_others_are_not():
    known = Secrets({"A": "alpha-value", "B.c-d": "beta-value"})
    assert (
        known.fill("x ${secrets.A} ${secrets.B.c-d} ${input.A} $secrets.A")
        == "x alpha-value beta-value ${input.A} $secrets.A"
    )
    with pytest.raises(SecretMissing, match="«C»"):
        known.fill("${secrets.C}")
    with pytest.raises(SecretMissing):
        Secrets(None).fill("${secrets.A}")


def test_a_value_is_not_filled_again():
    assert Secrets({"A": "${secrets.B}", "B": "beta"}).fill("${secrets.A}") == "${secrets.B}"


@pytest.mark.parametrize("n", range(40))
def test_z10_forty_canaries_in_every_spelling(n):
    """Z10: plain, base64 at any offset, url, hex and JSON spellings of a secret are gone from everything."""
    secret = random_secrets.token_urlsafe(12 + n % 17) + '"/+ é'[: n % 6]
    known = Secrets(lambda name: secret)
    known.fill("${secrets.X}")
    raw = secret.encode()
    spelt = [
        secret,
        quote(secret),
        quote(secret, safe=""),
        raw.hex(),
        raw.hex().upper(),
        json.dumps(secret),
        *(base64.b64encode(b"x" * pad + raw + b"y" * tail).decode() for pad in range(4) for tail in range(3)),
        *(base64.urlsafe_b64encode(b"u:" + raw + b"z" * tail).decode() for tail in range(3)),
    ]
    out = known.scrub({"list": [f"<{s}>" for s in spelt], secret: 1, "bytes": b"-" + raw + b"-"})
    told = repr(out)
    core = base64.b64encode(raw).decode().rstrip("=")[:-1]
    for needle in (secret, quote(secret, safe=""), raw.hex(), core):
        assert needle not in told
    for text in out["list"][6:]:
        padded = text.strip("<>").replace("***", "")
        assert len(padded) < 16  # what is left is the padding around the secret


def test_short_texts_and_numbers_are_left_alone():
    known = Secrets({"A": "ab", "B": "1"})
    assert known.scrub({"a": "ab 1", "n": 1, "none": None}) == {"a": "ab 1", "n": 1, "none": None}


def test_a_message_loses_what_looks_like_credentials():
    known = Secrets(None)
    said = known.scrub_message("GET https://bob:pw@host/x failed with Bearer abcdef123456 and Basic dXNlcjpwdw==")
    assert said == "GET https://***@host/x failed with Bearer *** and Basic ***"
