"""What lies in a queue, as files: the seed's own shape, an EventBridge event, an S3 notification (F-3.7, F-X.17).

Everything that is wrong with a message is told at once, each with its place. Whoever sends decides nothing about the
tenant alone: where attributes, metadata, the message and the key's prefix each name one, they must agree.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from typing import Any

import msgspec

from penstock.errors import MessageInvalid
from penstock.expr.calendar import BadDate, moment_of, text_of_moment
from penstock.expr.cron import zone_of
from penstock.lang.fields import TENANT
from penstock.lang.pipeline.fields import BIGINT
from penstock.lang.pipeline.mime import mime_of, plain_mime

#: the most that SQS carries
MOST_BYTES = 1024 * 1024
#: S3's own limits
MOST_KEY_BYTES, MOST_RECORDS = 1024, 1000
CREATED = "s3.object.created"
_BUCKET = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,254}\Z", re.ASCII)
_TRACE = re.compile(r"[A-Za-z0-9_-]{1,64}\Z", re.ASCII)
_PREFIX = re.compile(r"tenants/([^/]+)/(?:orgs/([^/]+)/)?")
_DIGITS = re.compile(r"[0-9]{1,19}\Z", re.ASCII)
_HEX = re.compile(rb"%([0-9A-Fa-f]{2})")
#: how the metadata of an object names them
_META = {"tenantId": ("tenantId", "tenantid", "tenant-id", "tenant_id")}
_META["organizationId"] = ("organizationId", "organizationid", "organization-id", "organization_id")


class FileMessage(msgspec.Struct, frozen=True):
    """A file that has come, whatever told of it."""

    bucket: str
    key: str
    size: int
    mime: str
    tenant_id: str
    organization_id: int | None
    trace_id: str
    occurred_at: str
    etag: str = ""
    version_id: str = ""
    sequencer: str = ""
    event_name: str = ""
    uploader: int | None = None


def messages_of(
    body: bytes | str | Mapping[str, Any], attributes: Mapping[str, str] | None = None
) -> list[FileMessage]:
    """The files that a message tells of; none, where it is S3's test or tells of something else than an upload. Raises
    MessageInvalid with all that is missing or wrong."""
    data = _decoded(body)
    given = dict(attributes or {})
    if data.get("Event") == "s3:TestEvent":
        return []
    problems: list[tuple[str, str]] = []
    if "Records" in data:
        read = _records(data["Records"], problems)
    elif "detail" in data:
        read = _event(data, problems)
    else:
        read = _own(data, problems)
    messages = [_message(raw, given, problems) for raw in read]
    if problems:
        raise MessageInvalid(problems)
    return [message for message in messages if message is not None]


def body_of(message: FileMessage) -> bytes:
    """The same in the seed's own shape (F-3.7): whoever reads it again has the same file under the same keys."""
    named = {
        "type": CREATED, "bucket": message.bucket, "key": message.key, "size": message.size, "mime": message.mime,
        "tenantId": message.tenant_id, "organizationId": message.organization_id,
        "uploaderUserContextId": message.uploader, "traceId": message.trace_id, "occurredAt": message.occurred_at,
        "eventName": message.event_name, "etag": message.etag, "versionId": message.version_id,
        "sequencer": message.sequencer,
    }  # fmt: skip
    return msgspec.json.encode({name: value for name, value in named.items() if value not in (None, "")})


def _decoded(body: bytes | str | Mapping[str, Any]) -> Mapping[str, Any]:
    if isinstance(body, bytes | str):
        if len(body) > MOST_BYTES:
            raise MessageInvalid([("", f"it is larger than {MOST_BYTES} bytes")])
        try:
            body = msgspec.json.decode(body)
        except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
            raise MessageInvalid([("", f"it is not JSON: {error}")]) from None
    if not isinstance(body, Mapping):
        raise MessageInvalid([("", "it is not a map")])
    return body


# ---- the three shapes ------------------------------------------------------------------------------------------------


class _Raw(msgspec.Struct, frozen=True):
    """What one shape says, before it is checked; `at` has the pointer of each value."""

    values: dict[str, Any]
    at: dict[str, str]
    metadata: Any = None


def _own(data: Mapping[str, Any], problems: list[tuple[str, str]]) -> list[_Raw]:
    """F-3.7."""
    kind = data.get("type")
    if kind is not None and kind != CREATED:
        problems.append(("/type", f"«{str(kind)[:100]}» is not {CREATED}"))
    names = (
        "bucket", "key", "size", "mime", "tenantId", "organizationId", "traceId", "occurredAt", "eventName",
        "etag", "versionId", "sequencer", "uploaderUserContextId",
    )  # fmt: skip
    values = {name: data.get(name) for name in names}
    values["eventName"] = values["eventName"] or kind
    return [_Raw(values, {name: f"/{name}" for name in names}, data.get("metadata"))]


def _event(data: Mapping[str, Any], problems: list[tuple[str, str]]) -> list[_Raw]:
    """EventBridge. Its keys are written as they are."""
    kind = data.get("detail-type")
    if kind is not None and kind != "Object Created":
        return []
    detail = _map(data, "detail", "", problems)
    bucket, thing = _map(detail, "bucket", "/detail", problems), _map(detail, "object", "/detail", problems)
    values = {
        "bucket": bucket.get("name"), "key": thing.get("key"), "size": thing.get("size"),
        "occurredAt": data.get("time"), "etag": thing.get("etag"), "versionId": thing.get("version-id"),
        "sequencer": thing.get("sequencer"),
        "eventName": detail.get("reason") or kind,
    }  # fmt: skip
    at = {name: f"/detail/object/{name}" for name in ("key", "size", "etag", "sequencer")}
    at |= {"bucket": "/detail/bucket/name", "occurredAt": "/time", "versionId": "/detail/object/version-id"}
    at["eventName"] = "/detail/reason"
    return [] if _is_folder(values) else [_Raw(values, at, thing.get("metadata"))]


def _records(records: Any, problems: list[tuple[str, str]]) -> list[_Raw]:
    """An S3 notification. Its keys are encoded as in the query of an address."""
    if not isinstance(records, list) or not records or len(records) > MOST_RECORDS:
        problems.append(("/Records", f"it must be a list of 1 to {MOST_RECORDS} records"))
        return []
    read = []
    for number, record in enumerate(records):
        base = f"/Records/{number}"
        if not isinstance(record, Mapping):
            problems.append((base, "it is not a map"))
            continue
        name = str(record.get("eventName") or "").removeprefix("s3:")
        if name and not name.startswith(("ObjectCreated", "CompleteMultipartUpload")):
            continue
        storage = _map(record, "s3", base, problems)
        bucket = _map(storage, "bucket", f"{base}/s3", problems)
        thing = _map(storage, "object", f"{base}/s3", problems)
        key = thing.get("key")
        values = {
            "bucket": bucket.get("name"), "key": decoded_key(key) if isinstance(key, str) else key,
            "size": thing.get("size"), "etag": thing.get("eTag"), "versionId": thing.get("versionId"),
            "sequencer": thing.get("sequencer"), "occurredAt": record.get("eventTime"), "eventName": name,
        }  # fmt: skip
        at = {name: f"{base}/s3/object/{name}" for name in ("key", "size", "versionId", "sequencer")}
        at |= {"bucket": f"{base}/s3/bucket/name", "etag": f"{base}/s3/object/eTag"}
        at |= {"occurredAt": f"{base}/eventTime", "eventName": f"{base}/eventName"}
        if not _is_folder(values):
            read.append(_Raw(values, at, thing.get("metadata")))
    return read


def _is_folder(values: Mapping[str, Any]) -> bool:
    """A store's console makes an empty object for every folder."""
    key = values.get("key")
    return isinstance(key, str) and key.endswith("/") and values.get("size") == 0


def _map(data: Mapping[str, Any], name: str, at: str, problems: list[tuple[str, str]]) -> Mapping[str, Any]:
    value = data.get(name)
    if isinstance(value, Mapping):
        return value
    if data:
        problems.append((f"{at}/{name}", f"«{name}» is missing" if value is None else f"«{name}» must be a map"))
    return {}


def decoded_key(key: str) -> str:
    """A key of an S3 notification: + is a blank, %XX a byte. What is no UTF-8 then keeps its signs."""
    raw = key.replace("+", " ").encode("utf-8", "surrogatepass")
    try:
        return _HEX.sub(lambda match: bytes([int(match[1], 16)]), raw).decode()
    except UnicodeDecodeError:
        return key


# ---- one file --------------------------------------------------------------------------------------------------------


def _message(raw: _Raw, attributes: Mapping[str, str], problems: list[tuple[str, str]]) -> FileMessage | None:
    read = _Reading(raw, attributes)
    bucket = read.text("bucket", 255, required=True)
    if bucket and not _BUCKET.match(bucket):
        read.wrong("bucket", "it is no name of a bucket")
    key = read.text("key", MOST_KEY_BYTES, required=True)
    if any(ord(char) < 32 or ord(char) == 127 for char in key):
        read.wrong("key", "it has control characters")
    size = read.number("size", required=True)
    occurred_at = read.moment("occurredAt")
    tenant = read.agreed("tenantId", key)
    if tenant is None and not read.problems.get("tenantId"):
        read.wrong("tenantId", "«tenantId» is missing: neither attributes nor metadata nor the key's prefix has it")
    elif tenant is not None and not TENANT.match(tenant):
        read.wrong("tenantId", "it is no id of a tenant")
    organization = read.agreed("organizationId", key)
    if organization is not None and not _fits(organization):
        read.wrong("organizationId", "it must be a whole number, at least 0")
    trace = read.text("traceId", 64)
    if trace and not _TRACE.match(trace):
        read.wrong("traceId", "it must be letters, digits, - and _, at most 64")
    mime = plain_mime(read.text("mime", 255)) or mime_of(key)
    etag, version = read.text("etag", 255).strip('"'), read.text("versionId", 1024)
    uploader = read.number("uploaderUserContextId")
    sequencer, event = read.text("sequencer", 255), read.text("eventName", 255)
    if read.problems:
        problems += [(raw.at.get(name, f"/{name}"), what) for name, what in read.problems.items()]
        return None
    version = "" if version == "null" else version  # S3's word for an object of a bucket without versions
    return FileMessage(
        bucket, key, size or 0, mime, tenant or "", None if organization is None else int(organization),
        trace or _trace_of(bucket, key, etag, version, sequencer, occurred_at), occurred_at, etag, version, sequencer,
        event, uploader,
    )  # fmt: skip


class _Reading:
    """The values of one file, and what is wrong with them: one problem for each name."""

    def __init__(self, raw: _Raw, attributes: Mapping[str, str]) -> None:
        self.raw, self.attributes = raw, attributes
        self.problems: dict[str, str] = {}

    def wrong(self, name: str, what: str) -> None:
        self.problems.setdefault(name, what if "«" in what else f"«{name}»: {what}")

    def _value(self, name: str) -> Any:
        """F-3.2: what the message itself does not say may stand in its attributes."""
        value = self.raw.values.get(name)
        return self.attributes.get(name) if value is None or value == "" else value

    def text(self, name: str, most: int, *, required: bool = False) -> str:
        value = self._value(name)
        if value is None or value == "":
            if required:
                self.wrong(name, f"«{name}» is missing")
            return ""
        if not isinstance(value, str):
            self.wrong(name, "it must be a text")
            return ""
        try:
            if len(value.encode()) <= most:
                return value
            self.wrong(name, f"it is longer than {most} bytes")
        except UnicodeError:
            self.wrong(name, "it is no Unicode text")
        return ""

    def number(self, name: str, *, required: bool = False) -> int | None:
        value = self._value(name)
        if value is None:
            if required:
                self.wrong(name, f"«{name}» is missing")
            return None
        if isinstance(value, str) and _DIGITS.match(value):  # an attribute of a message is a text
            value = int(value)
        if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= BIGINT:
            self.wrong(name, "it must be a whole number, at least 0")
            return None
        return value

    def moment(self, name: str) -> str:
        text = self.text(name, 64, required=True)
        if not text:
            return ""
        zone = zone_of("UTC")
        assert zone is not None, "UTC is in every table"
        try:
            return text_of_moment(moment_of(text, zone).astimezone(zone))
        except (BadDate, ValueError, OverflowError):
            self.wrong(name, "it is no moment such as 2025-10-22T10:20:30Z")
            return ""

    def agreed(self, name: str, key: str) -> str | None:
        """F-X.17: the tenant or the organisation, of which all that name one must name the same."""
        prefix = _PREFIX.match(key)
        metadata = self.raw.metadata if isinstance(self.raw.metadata, Mapping) else {}
        named = [
            ("the message", self.raw.values.get(name)),
            ("an attribute", self.attributes.get(name)),
            ("the metadata", next((metadata[word] for word in _META[name] if metadata.get(word) is not None), None)),
            ("the key's prefix", prefix[1 if name == "tenantId" else 2] if prefix else None),
        ]
        given = [(who, value) for who, value in named if value is not None and value != ""]
        if any(isinstance(value, bool) or not isinstance(value, str | int) for _, value in given):
            self.wrong(name, "it must be a text or a number")
            return None
        texts = {str(value): who for who, value in reversed(given)}
        if len(texts) > 1:
            self.wrong(name, "it differs between " + " and ".join(sorted(texts.values())))
            return None
        return next(iter(texts), None)


def _fits(digits: str) -> bool:
    return bool(_DIGITS.match(digits)) and int(digits) <= BIGINT


def _trace_of(*parts: str) -> str:
    """F-X.17: 32 hexadecimal digits where nobody gave a trace; the same for a message that is told again."""
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:32]
