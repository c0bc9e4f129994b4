"""Idempotency keys: told again they are the same, uploaded again they differ, and none is longer than its column."""

from __future__ import annotations

import hashlib

import msgspec
import pytest

from penstock.lang.pipeline import keys
from penstock.lang.pipeline.messages import FileMessage

FILE = FileMessage("bkt", "in/a.png", 12, "image/png", "t1", None, "tr", "2025-10-22T10:20:30Z")


@pytest.mark.parametrize(
    ("given", "which"),
    [
        ({"version_id": "v1", "etag": "e1", "sequencer": "s1"}, "v1"),
        ({"etag": "e1", "sequencer": "s1"}, "e1+12"),
        ({"sequencer": "s1"}, "s1"),
        ({}, "2025-10-22T10:20:30Z"),
    ],
)
def test_f_x_18_the_first_that_is_present_tells_uploads_apart(given: dict[str, str], which: str) -> None:
    message = msgspec.structs.replace(FILE, **given)
    assert keys.upload_key(message, "IMG_BASIC") == f"s3Event#bkt#in/a.png#IMG_BASIC#{which}"


def test_f_x_18_every_redelivery_keeps_the_key_and_a_new_upload_changes_it() -> None:
    first = msgspec.structs.replace(FILE, etag="e1")
    again = msgspec.structs.replace(first, trace_id="other", occurred_at="2025-10-22T10:21:00Z")
    assert keys.upload_key(first, "P") == keys.upload_key(again, "P")
    assert keys.upload_key(first, "P") != keys.upload_key(msgspec.structs.replace(first, etag="e2"), "P")
    assert keys.upload_key(first, "P") != keys.upload_key(msgspec.structs.replace(first, size=13), "P")
    assert keys.upload_key(first, "P") != keys.upload_key(first, "Q")


def test_f_1_3_20_every_long_key_is_a_digest() -> None:
    message = msgspec.structs.replace(FILE, key="k" * 1024)
    plain = f"s3Event#bkt#{'k' * 1024}#IMG#2025-10-22T10:20:30Z"
    assert keys.upload_key(message, "IMG") == f"s3Event#sha256:{hashlib.sha256(plain.encode()).hexdigest()}#IMG"
    exact = 150 - len("s3Event#bkt##IMG#2025-10-22T10:20:30Z")
    for more, digest in ((0, False), (1, True)):
        message = msgspec.structs.replace(FILE, key="k" * (exact + more))
        assert ("sha256:" in keys.upload_key(message, "IMG")) is digest
        assert len(keys.upload_key(message, "C" * 50)) <= 150


def test_f_x_7_every_rerun_has_a_key_of_its_own() -> None:
    assert keys.retry_key("s3Event#b#k#P#v", 2) == "s3Event#b#k#P#v#retry#2"
    assert len(keys.retry_key("x" * 150, 1)) <= 150
    assert keys.retry_key("x" * 150, 1) != keys.retry_key("y" * 150, 1)


def test_f_x_11_f_x_12_f_x_19_other_triggers() -> None:
    assert keys.schedule_key(4, "2026-03-08T07:00:00Z", 17) == "schedule#4#2026-03-08T07:00:00Z#17"
    assert keys.manual_key("e1") == "manual#e1"
    assert keys.dependency_key("P", 17, ["b", "a"]) == keys.dependency_key("P", 17, ["a", "b"])
    assert keys.dependency_key("P", 17, ["a"]).startswith("dep#P#17#")
    assert keys.dependency_key("P", 17, ["a"]) != keys.dependency_key("P", 17, ["b"])
