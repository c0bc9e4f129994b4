"""What lies in a queue becomes files: three shapes, their attributes, and everything that can be wrong with them."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest

from penstock.errors import MessageInvalid
from penstock.lang.pipeline.messages import MOST_BYTES, FileMessage, messages_of

#: F-3.7, word for word
SEED = {
    "type": "s3.object.created", "bucket": "bkt", "key": "path/to/object", "size": 123456, "mime": "image/png",
    "tenantId": "tnt_demo", "organizationId": 123, "uploaderUserContextId": 9001, "traceId": "abc123",
    "occurredAt": "2025-10-22T10:20:30Z",
}  # fmt: skip


def record(key: str = "tenants/t1/orgs/7/in/a.png", **more: Any) -> dict[str, Any]:
    """As the documentation of S3 shows it."""
    return {
        "eventVersion": "2.1", "eventSource": "aws:s3", "awsRegion": "us-west-2",
        "eventTime": "1970-01-01T00:00:00.000Z", "eventName": "ObjectCreated:Put",
        "s3": {
            "s3SchemaVersion": "1.0", "configurationId": "testConfigRule",
            "bucket": {"name": "amzn-s3-demo-bucket", "arn": "arn:aws:s3:::amzn-s3-demo-bucket"},
            "object": {
                "key": key, "size": 1024, "eTag": "d41d8cd98f00b204e9800998ecf8427e",
                "versionId": "096fKKXTRTtl3on89fVO.nfljtsv6qko", "sequencer": "0055AED6DCD90281E5",
            },
        },
        **more,
    }  # fmt: skip


def bridge(**more: Any) -> dict[str, Any]:
    """As the documentation of EventBridge shows it."""
    return {
        "version": "0", "id": "17793124-05d4-b198-2fde-7ededc63b103", "detail-type": "Object Created",
        "source": "aws.s3", "account": "111122223333", "time": "2021-11-12T00:00:00Z", "region": "ca-central-1",
        "detail": {
            "version": "0", "bucket": {"name": "example-bucket"},
            "object": {
                "key": "tenants/t1/orgs/7/a+b%20c.pdf", "size": 5, "etag": "b1946ac92492d2347c6235b4d2611184",
                "version-id": "IYV3p45BT0ac8hjHg1houSdS1a.Mro8e", "sequencer": "617f08299329d189",
            },
            "reason": "PutObject",
        },
        **more,
    }  # fmt: skip


def only(body: Any, attributes: dict[str, str] | None = None) -> FileMessage:
    (message,) = messages_of(json.dumps(body).encode(), attributes or {})
    return message


def wrong(body: Any, attributes: dict[str, str] | None = None) -> dict[str, str]:
    """The problems by pointer."""
    with pytest.raises(MessageInvalid) as refused:
        messages_of(body if isinstance(body, bytes) else json.dumps(body).encode(), attributes or {})
    assert refused.value.code == "PP-400-JSON" and refused.value.http == 400 and refused.value.hint
    assert all(what in str(refused.value) and (at or "/") in str(refused.value) for at, what in refused.value.problems)
    return dict(refused.value.problems)


def test_f_3_7_the_message_of_the_seed_is_accepted() -> None:
    assert only(SEED) == FileMessage(
        "bkt", "path/to/object", 123456, "image/png", "tnt_demo", 123, "abc123", "2025-10-22T10:20:30.000Z",
        event_name="s3.object.created", uploader=9001,
    )  # fmt: skip


@pytest.mark.parametrize("form", [json.dumps(SEED), json.dumps(SEED).encode(), SEED], ids=["text", "bytes", "map"])
def test_f_3_7_it_comes_as_text_bytes_or_map(form: Any) -> None:
    assert messages_of(form) == [only(SEED)]


def test_f_x_17_every_s3_notification() -> None:
    message = only({"Records": [record()]})
    assert (message.bucket, message.key, message.size) == ("amzn-s3-demo-bucket", "tenants/t1/orgs/7/in/a.png", 1024)
    assert (message.tenant_id, message.organization_id) == ("t1", 7)
    assert message.mime == "image/png" and message.event_name == "ObjectCreated:Put"
    assert message.etag == "d41d8cd98f00b204e9800998ecf8427e" and message.sequencer == "0055AED6DCD90281E5"
    assert message.version_id == "096fKKXTRTtl3on89fVO.nfljtsv6qko"
    assert message.occurred_at.startswith("1970-01-01T00:00:00")
    assert len(message.trace_id) == 32 and int(message.trace_id, 16) >= 0


@pytest.mark.parametrize(
    ("written", "key"),
    [
        ("tenants/t/a+b.png", "tenants/t/a b.png"), ("tenants/t/a%2Bb.png", "tenants/t/a+b.png"),
        ("tenants/t/%EA%B0%80.png", "tenants/t/가.png"), ("tenants/t/100%25.png", "tenants/t/100%.png"),
        ("tenants/t/%zz.png", "tenants/t/%zz.png"), ("tenants%2Ft%2Fx.png", "tenants/t/x.png"),
        ("tenants/t/%ff.png", "tenants/t/%ff.png"),
    ],
)  # fmt: skip
def test_f_x_17_keys_of_a_notification_are_decoded(written: str, key: str) -> None:
    message = only({"Records": [record(written)]})
    assert message.key == key and message.tenant_id == "t"


def test_f_x_17_every_eventbridge_event_whose_key_is_as_it_is() -> None:
    message = only(bridge())
    assert message.key == "tenants/t1/orgs/7/a+b%20c.pdf" and message.mime == "application/pdf"
    assert (message.bucket, message.size, message.tenant_id) == ("example-bucket", 5, "t1")
    assert message.version_id == "IYV3p45BT0ac8hjHg1houSdS1a.Mro8e" and message.event_name == "PutObject"


def test_f_x_17_several_records_are_several_files() -> None:
    messages = messages_of({"Records": [record(), record("tenants/t2/b.csv")]})
    assert [(m.tenant_id, m.organization_id, m.mime) for m in messages] == [
        ("t1", 7, "image/png"),
        ("t2", None, "text/csv"),
    ]


@pytest.mark.parametrize(
    "body",
    [
        {"Service": "Amazon S3", "Event": "s3:TestEvent", "Time": "2014-10-13T15:57:02.089Z", "Bucket": "b"},
        {"Records": [record(eventName="ObjectRemoved:Delete")]},
        {**bridge(), "detail-type": "Object Deleted"},
        {"Records": [{**record(), "s3": {"bucket": {"name": "b"}, "object": {"key": "tenants/t/dir/", "size": 0}}}]},
    ],
    ids=["test", "removed", "deleted", "folder"],
)
def test_f_x_17_what_tells_of_no_upload_is_no_file(body: dict[str, Any]) -> None:
    assert messages_of(body) == []


def test_f_3_1_every_finished_multipart_upload_is_an_upload() -> None:
    body = {"Records": [record(eventName="ObjectCreated:CompleteMultipartUpload")]}
    assert only(body).event_name == "ObjectCreated:CompleteMultipartUpload"


def test_f_3_2_attributes_say_what_the_message_does_not() -> None:
    attributes = {
        "tenantId": "t9", "organizationId": "12", "traceId": "tr1", "bucket": "b", "key": "k.html", "size": "5",
        "mime": "text/html; charset=utf-8", "eventName": "ObjectCreated:Put", "occurredAt": "2025-10-22T10:20:30Z",
    }  # fmt: skip
    message = only({}, attributes)
    assert message == FileMessage(
        "b", "k.html", 5, "text/html", "t9", 12, "tr1", "2025-10-22T10:20:30.000Z", event_name="ObjectCreated:Put"
    )
    assert only({"Records": [record("in/a.png")]}, {"tenantId": "t9"}).tenant_id == "t9"


def test_f_x_17_metadata_of_the_object_names_the_tenant() -> None:
    body = record("in/a.png")
    body["s3"]["object"]["metadata"] = {"tenant-id": "t5", "organization-id": "3"}
    message = only({"Records": [body]})
    assert (message.tenant_id, message.organization_id) == ("t5", 3)


@pytest.mark.parametrize("name", ["bucket", "key", "size", "occurredAt", "tenantId"])
def test_f_x_17_what_is_required_is_named_with_its_place(name: str) -> None:
    problems = wrong({key: value for key, value in SEED.items() if key != name})
    assert list(problems) == [f"/{name}"] and "is missing" in problems[f"/{name}"]


def test_f_10_1_everything_wrong_is_told_at_once() -> None:
    assert set(wrong({"type": "s3.object.created"})) == {"/bucket", "/key", "/size", "/occurredAt", "/tenantId"}
    body = record("in/a.png")
    del body["s3"]["bucket"]["name"], body["s3"]["object"]["size"]
    where = {"/Records/1/s3/bucket/name", "/Records/1/s3/object/size", "/tenantId"}
    assert set(wrong({"Records": [record(), body]})) == where


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("size", -1), ("size", "12a"), ("size", True), ("size", 1.5), ("size", 2**63), ("bucket", ""),
        ("bucket", "../etc"), ("bucket", "a#b"), ("bucket", 7), ("key", "a\x00b"), ("key", "x" * 1025),
        ("key", "가" * 342), ("key", ["a"]), ("occurredAt", "yesterday"), ("occurredAt", 5),
        ("occurredAt", "2025-13-01T00:00:00Z"), ("tenantId", "a b"), ("tenantId", "x" * 51), ("tenantId", {"a": 1}),
        ("organizationId", "abc"), ("organizationId", -4), ("traceId", "no blanks"), ("traceId", "x" * 65),
        ("type", "s3.object.removed"), ("uploaderUserContextId", "x"),
    ],
)  # fmt: skip
def test_f_10_1_every_wrong_value_is_refused_at_its_place(name: str, value: Any) -> None:
    assert list(wrong({**SEED, name: value})) == [f"/{name}"]


@pytest.mark.parametrize(
    "body",
    [b"", b"{", b"[]", b"null", b"\xff\xfe", b'"text"', b"[" * 100_000, b'{"Records": {}}', b'{"Records": []}',
     b'{"Records": [1]}', b'{"detail": 3}', b'{"detail": {}}'],
)  # fmt: skip
def test_f_10_1_what_is_no_message_is_refused(body: bytes) -> None:
    assert wrong(body)


def test_f_10_1_every_oversized_message_is_refused() -> None:
    assert "larger" in wrong(json.dumps({**SEED, "more": "x" * MOST_BYTES}).encode())[""]


@pytest.mark.parametrize(
    ("body", "attributes"),
    [
        ({**SEED, "key": "tenants/other/orgs/123/a.png"}, {}),
        (SEED, {"tenantId": "other"}),
        ({"Records": [record()]}, {"tenantId": "other"}),
        (bridge(), {"tenantId": "other"}),
    ],
)
def test_f_1_0_2_who_names_another_tenant_than_the_key_is_refused(
    body: dict[str, Any], attributes: dict[str, str]
) -> None:
    problems = wrong(body, attributes)
    assert list(problems) == ["/tenantId"] and "differs" in problems["/tenantId"]


def test_f_1_0_2_who_names_another_organisation_than_the_key_is_refused() -> None:
    assert list(wrong({"Records": [record()]}, {"organizationId": "8"})) == ["/organizationId"]
    assert only({"Records": [record()]}, {"organizationId": "7", "tenantId": "t1"}).organization_id == 7


def test_f_x_17_every_trace_is_made_once_for_what_is_told_twice() -> None:
    first, second = only({"Records": [record()]}), only({"Records": [record()]})
    assert first.trace_id == second.trace_id != only(bridge()).trace_id
    assert only({**SEED, "traceId": ""}).trace_id != "abc123"


def test_the_version_of_a_bucket_without_versions_is_none() -> None:
    body = record()
    body["s3"]["object"]["versionId"] = "null"
    assert only({"Records": [body]}).version_id == ""
    assert msgspec.json.encode(only(SEED))


def test_f_x_30_moments_are_in_utc_to_the_millisecond() -> None:
    assert only({**SEED, "occurredAt": "2025-10-22T19:20:30.123456+09:00"}).occurred_at == "2025-10-22T10:20:30.123Z"
