"""What a channel is: it takes a message whose settings are merged, checked and filled, and delivers it once."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import unquote, urlsplit

import msgspec

from penstock.executors.contract import Failed, Services, Tenant, failed
from penstock.executors.parts.connections import connection_of, password_of
from penstock.executors.parts.extras import extra_message
from penstock.executors.parts.files.path_policy import PathRefused
from penstock.executors.parts.network.egress_policy import egress_policy_of
from penstock.executors.parts.network.http_call import MAX_BYTES as MAX_ANSWER
from penstock.executors.parts.network.http_call import HttpCall, HttpReply
from penstock.executors.parts.network.http_failures import status_failure
from penstock.executors.parts.network.postgres import connection_parameters
from penstock.executors.parts.notification import NotificationMessage, Unsendable
from penstock.executors.parts.secrets import Secrets

OUTBOX = "outbox:"
MAX_BYTES = 1024 * 1024  # of a message; the setting notify.max_bytes changes it
MAX_ATTACHED = 20 * 1024 * 1024  # of all attachments; notify.max_attachment_bytes
_LONG = 16  # a part of a URL's path that is as long as this may be a token


class OutgoingMessage(msgspec.Struct, frozen=True, kw_only=True):
    """One message on its way. `key` is the same on every attempt. Secrets are filled in: nothing of it may be shown."""

    key: str
    run: str
    node: str
    tenant: str
    channel: str
    config: Mapping[str, Any]
    subject: str = ""
    body: Any = None
    text: str = ""
    params: Mapping[str, Any] = {}
    timeout_s: float = 30.0
    at: str = ""  # now, ISO 8601 in UTC

    @property
    def id(self) -> str:
        """A name for the message that every attempt gives it."""
        return hashlib.sha256(self.key.encode()).hexdigest()[:32]


class Sent(msgspec.Struct, frozen=True, kw_only=True):
    status: str = "sent"  # sent, kept (in the local outbox), duplicate (an earlier attempt had done it)
    status_code: int | None = None
    message_id: str = ""
    response: Any = None  # what the receiver said; an object becomes part of the output


class ChannelContext:
    """What a channel may use: the tenant's registry and secrets, and guarded calls to the outside."""

    def __init__(self, tenant: Tenant, services: Services, secrets: Secrets) -> None:
        self.tenant, self.settings, self.secrets = tenant, services.settings, secrets
        self._services = services
        self._hidden_parts: set[str] = set()  # addresses, and parts of them, that nobody may be told
        self._address_is_secret = False

    def connection(self, id: str, *types: str) -> dict[str, Any]:
        """A registered connection with its secrets filled; `password` is the value of the secret it names."""
        connection = connection_of({"connection": id}, self.tenant, id, types)
        filled: dict[str, Any] = self._filled(dict(connection.body))
        password = password_of(connection, self.secrets)
        more = {} if password is None else {"password": password}
        return filled | {"id": id, "type": connection.type, "options": self._filled(connection.options), **more}

    def sqlite_path(self, connection: Mapping[str, Any]) -> Path:
        """The file of a connection; one that is not absolute lies in `sql.root`, else in the input folder."""
        text = str(connection.get("path") or connection.get("url") or "")
        if text.startswith("sqlite:"):
            text = unquote(text.removeprefix("sqlite:").removeprefix("///"))
        if not text or "\0" in text:
            why = f"The connection «{connection['id']}» names no file."
            raise Unsendable("CONNECTION_NOT_FOUND", "validation", why)
        base = Path(self.settings.get("sql.root") or self._services.input_dir)
        try:
            return self._services.path_policy.database(text, base, str(connection["id"]))
        except PathRefused as error:
            raise Unsendable("PATH_REFUSED", "authorization", f"It is not written: {error}.") from None

    async def postgres(self, connection: Mapping[str, Any], **more: Any) -> dict[str, Any]:
        """What to connect to a PostgreSQL connection with."""
        url, password = str(connection.get("url") or ""), connection.get("password") or None
        id = str(connection["id"])
        if urlsplit(url).scheme not in ("postgresql", "postgres"):
            raise Unsendable("HTTP_URL", "validation", f"«{id}» must have postgresql://… as its url.")
        try:
            return await connection_parameters(url, password, self._services, self.tenant.id, id, **more)
        except ImportError:
            raise channel_extra_missing("PostgreSQL needs", "postgresql") from None

    def _filled(self, value: Any) -> Any:
        if isinstance(value, str):
            return self.secrets.fill(value)
        if isinstance(value, Mapping):
            return {key: self._filled(item) for key, item in value.items()}
        if isinstance(value, list | tuple):
            return [self._filled(item) for item in value]
        return value

    async def http(
        self,
        outgoing: OutgoingMessage,
        method: str,
        url: str,
        content: bytes,
        headers: Iterable[tuple[str, str]],
        key: str = "",
    ) -> HttpReply:
        """One guarded call that carries the key; Unsendable when the answer is not a success (W-4.5.8)."""
        self._hide_address(url)
        mine = (("Idempotency-Key", key or outgoing.key),)
        ours = tuple(pair for pair in headers if pair[0].lower() != "idempotency-key")
        call = HttpCall(
            method=method,
            url=url,
            headers=ours + mine,
            content=content,
            timeout_s=outgoing.timeout_s,
            max_bytes=int(self.settings.get("http.max_bytes") or MAX_ANSWER),
            redirects=False,
            ca_file=self.settings.get("http.ca_file"),
        )
        reply = await self._services.self_calls.send(
            outgoing.tenant, call, egress_policy_of(self.settings, outgoing.tenant)
        )
        wrong = status_failure(reply)
        if wrong is not None:
            failure = wrong.failure
            raise Unsendable(failure.code, failure.category, failure.message, failure.detail)
        return reply

    def _hide_address(self, url: str) -> None:
        """The address of a webhook is its key: neither the whole nor its telling parts may be repeated to anybody."""
        self._address_is_secret |= self.secrets.scrub(url) != url
        try:
            parts = urlsplit(url)
        except ValueError:
            self._hidden_parts.add(url)
            return
        path = parts.path + (f"?{parts.query}" if parts.query else "")
        self._hidden_parts |= {url, *([path] if len(path) >= _LONG else []), *([parts.query] if parts.query else [])}
        self._hidden_parts |= {part for part in parts.path.split("/") if len(part) >= _LONG}

    def scrubbed_failure(self, outcome: Failed) -> Failed:
        """The same failure without secrets, addresses and their parts."""
        old, places = outcome.failure, self._hidden()
        message = self.secrets.scrub_message(places.scrub(old.message))
        return failed(old.code, old.category, message, self.secrets.scrub(places.scrub(old.detail)))

    def scrubbed_answer(self, answer: Any) -> Any:
        """What a receiver answered, without secrets; and without its address where that was a secret."""
        return self.secrets.scrub(self._hidden().scrub(answer) if self._address_is_secret else answer)

    def _hidden(self) -> Secrets:
        return Secrets({str(n): place for n, place in enumerate(self._hidden_parts)})


class Channel(Protocol):
    """`required` is checked after `complete` has let the message stand in for what C-27 lets it stand in for."""

    @property
    def name(self) -> str: ...

    @property
    def required(self) -> tuple[str, ...]: ...

    def complete(self, config: dict[str, Any], message: NotificationMessage) -> None: ...

    def target(self, outgoing: OutgoingMessage, context: ChannelContext) -> str:
        """Where it goes; a target that begins with `outbox:` is kept in the house."""
        ...

    def content(self, outgoing: OutgoingMessage, context: ChannelContext) -> Any:
        """What will go out, checked, as a value; this is also what the outbox keeps."""
        ...

    async def send(self, outgoing: OutgoingMessage, content: Any, context: ChannelContext) -> Sent: ...


def channel_extra_missing(who_needs: str, extra: str) -> Unsendable:
    return Unsendable("EXTRA_MISSING", "permanent", extra_message(who_needs, extra), {"extra": extra})


def as_list(value: Any) -> list[Any]:
    if value is None or value == "":
        return []
    return list(value) if isinstance(value, list | tuple) else [value]


def header_text(value: Any, name: str, most: int = 1000) -> str:
    """A text that becomes part of a header or an address: no control character gets in."""
    text = value if isinstance(value, str) else str(value)
    if len(text) > most:
        raise Unsendable("INPUT_INVALID", "validation", f"«{name}» is longer than {most} characters.")
    if any(ord(c) < 32 or 127 <= ord(c) < 160 or c in "\u2028\u2029" or 0xD800 <= ord(c) < 0xE000 for c in text):
        raise Unsendable("INPUT_INVALID", "validation", f"«{name}» holds a line break or another control character.")
    return text


def reply_json(reply: HttpReply) -> Any:
    """The answer as a value: JSON where it is JSON, else its text; None where there is none."""
    if not reply.body:
        return None
    try:
        return msgspec.json.decode(reply.body)
    except (msgspec.DecodeError, RecursionError):
        return reply.body.decode(errors="replace")
