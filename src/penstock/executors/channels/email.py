"""email: one mail over SMTP, with a name of its own that every attempt repeats, so that a repetition is recognised."""

from __future__ import annotations

import asyncio
import base64
import binascii
import functools
import mimetypes
import re
import socket
import ssl
from collections.abc import Mapping
from email.message import EmailMessage
from email.policy import SMTP as POLICY
from email.utils import formataddr, formatdate, parseaddr
from typing import Any
from urllib.parse import urlsplit

import msgspec

from penstock.executors.channels.contract import (
    MAX_ATTACHED,
    OUTBOX,
    ChannelContext,
    OutgoingMessage,
    Sent,
    as_list,
    channel_extra_missing,
    header_text,
)
from penstock.executors.parts.network.egress_policy import EgressPolicy, egress_policy_of
from penstock.executors.parts.network.http_client import resolve
from penstock.executors.parts.notification import NotificationMessage, Unsendable

DEFAULT_SERVER = "default_smtp"
_PORTS = (25, 465, 587, 2525)
_ADDRESS = re.compile(r"[^\s@<>()\[\],;:\\\"]{1,64}@[^\s@<>()\[\],;:\\\"]{1,255}\Z")
_MEDIA = re.compile(r"[a-z0-9][a-z0-9.+-]*/[a-z0-9][a-z0-9.+-]*\Z")
_MOST = 100  # recipients
_BLOB = "$blob"


class EmailChannel:
    """Settings: to, cc, bcc (an address or a list), subject, from, reply_to, attachments, template, connection.

    The server is the connection `default_smtp` or the one named: {type: smtp, url: smtp://host:port | smtps://…,
    secret, options: {username, from, starttls: true|false}}. With a password the connection must become encrypted,
    unless `starttls` is false.

    An attachment is {name, content_type?, and one of: content (base64 or bytes), text, value}; `value` is whatever a
    node gave out (a large one is stored apart and comes back here): text and bytes as they are, the rest as JSON.
    """

    name = "email"
    required = ("to", "subject")

    def complete(self, config: dict[str, Any], message: NotificationMessage) -> None:
        config.setdefault("subject", message.subject)
        config.setdefault("message", message.text)

    def target(self, outgoing: OutgoingMessage, context: ChannelContext) -> str:
        kept = [str(address) for address in as_list(outgoing.config["to"]) if str(address).startswith(OUTBOX)]
        return kept[0] if kept else str(self._server(outgoing, context).get("url") or "")

    def _server(self, outgoing: OutgoingMessage, context: ChannelContext) -> dict[str, Any]:
        return context.connection(str(outgoing.config.get("connection") or DEFAULT_SERVER), "smtp")

    def content(self, outgoing: OutgoingMessage, context: ChannelContext) -> dict[str, Any]:
        config = outgoing.config
        people = {name: [_address(item, name) for item in as_list(config.get(name))] for name in ("to", "cc", "bcc")}
        if sum(map(len, people.values())) > _MOST:
            raise Unsendable("INPUT_INVALID", "validation", f"A mail goes to at most {_MOST} people.")
        sender = {name: _address(config[name], name) for name in ("from", "reply_to") if config.get(name)}
        attached = [_attachment(item, n) for n, item in enumerate(as_list(config.get("attachments")), 1)]
        most = int(context.settings.get("notify.max_attachment_bytes") or MAX_ATTACHED)
        if sum(len(item["content"]) for item in attached) > most:
            raise Unsendable("MESSAGE_TOO_LARGE", "validation", f"The attachments have more than {most:,} bytes.")
        subject = header_text(config["subject"], "subject")
        return {**people, **sender, "subject": subject, "text": str(config["message"]), "attachments": attached}

    async def send(self, outgoing: OutgoingMessage, content: Any, context: ChannelContext) -> Sent:
        try:
            import aiosmtplib
        except ImportError:
            raise channel_extra_missing("Mail needs", "notify") from None
        server = self._server(outgoing, context)
        sender = content.get("from") or server["options"].get("from")
        if not sender:
            detail = {"channel": self.name, "missing": ["from"]}
            why = "A mail needs «from»: in its settings or in the options of the connection."
            raise Unsendable("CHANNEL_CONFIG_MISSING", "validation", why, detail)
        sender = _address(sender, "from")
        mail = _mail(outgoing, content, sender)
        to = [parseaddr(address)[1] for name in ("to", "cc", "bcc") for address in content[name]]
        try:
            refused, greeting = await _deliver(server, outgoing, context, parseaddr(sender)[1], to, mail)
        except aiosmtplib.SMTPException as error:
            raise _unsendable(error, server) from None
        except (ssl.SSLError, OSError) as error:
            raise ConnectionError(f"the connection to the mail server failed ({type(error).__name__})") from None
        response: dict[str, Any] = {"accepted": [address for address in to if address not in refused]}
        if refused:
            response["refused"] = {who: answer.code for who, answer in refused.items()}
        return Sent(status_code=250, message_id=str(mail["Message-ID"]), response=response | {"server": greeting[:200]})


async def _deliver(
    server: Mapping[str, Any],
    outgoing: OutgoingMessage,
    context: ChannelContext,
    sender: str,
    to: list[str],
    mail: EmailMessage,
) -> tuple[dict[str, Any], str]:
    import aiosmtplib

    options, password = server["options"], server.get("password")
    place = urlsplit(str(server.get("url") or ""))
    if place.scheme not in ("smtp", "smtps") or not place.hostname:
        raise Unsendable("HTTP_URL", "validation", f"The connection «{server['id']}» must have smtp://host as its url.")
    tls = place.scheme == "smtps"
    port = place.port or (465 if tls else 587 if password else 25)
    start: bool | None = None if options.get("starttls") is None else bool(options["starttls"])
    egress = egress_policy_of(context.settings, outgoing.tenant)
    sock = await _connected(place.hostname, port, EgressPolicy(egress.rules, egress.ports + _PORTS))
    client = aiosmtplib.SMTP(
        hostname=place.hostname,
        sock=sock,
        use_tls=tls,
        start_tls=False if tls else True if password and start is None else start,
        tls_context=_tls(context.settings.get("http.ca_file")),
        username=str(options.get("username") or "") if password else None,
        password=str(password) if password else None,
        local_hostname=str(options.get("hello") or "penstock.localdomain"),
        timeout=outgoing.timeout_s,
    )
    try:
        async with client:
            return await client.sendmail(sender, to, mail.as_bytes(policy=POLICY))
    finally:
        sock.close()


@functools.lru_cache(maxsize=8)
def _tls(ca_file: str | None) -> ssl.SSLContext:
    return ssl.create_default_context(cafile=ca_file)


async def _connected(host: str, port: int, egress: EgressPolicy) -> socket.socket:
    """A socket to a checked address: what the name means a moment later does not matter."""
    addresses = await resolve(host, port, egress)
    for position, address in enumerate(addresses):
        sock = socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET, socket.SOCK_STREAM)
        sock.setblocking(False)
        try:
            await asyncio.get_running_loop().sock_connect(sock, (address, port))
            return sock
        except BaseException as error:
            sock.close()
            if not isinstance(error, OSError) or position + 1 == len(addresses):
                raise
    raise ConnectionError(f"{host} has no address")


def _mail(outgoing: OutgoingMessage, content: Mapping[str, Any], sender: str) -> EmailMessage:
    mail = EmailMessage(policy=POLICY)
    domain = parseaddr(sender)[1].rpartition("@")[2] or "penstock.invalid"
    mail["From"] = sender
    mail["To"] = ", ".join(content["to"])
    if content["cc"]:
        mail["Cc"] = ", ".join(content["cc"])
    if content.get("reply_to"):
        mail["Reply-To"] = content["reply_to"]
    mail["Subject"] = content["subject"]
    mail["Date"] = formatdate(localtime=False)
    mail["Message-ID"] = f"<{outgoing.id}@{domain}>"
    mail["X-Penstock-Run"] = re.sub(r"[^\w./:-]", "_", outgoing.run, flags=re.ASCII)[:200]
    mail.set_content(content["text"])
    for attachment in content["attachments"]:
        main, _, sub = attachment["content_type"].partition("/")
        mail.add_attachment(attachment["content"], maintype=main, subtype=sub, filename=attachment["name"])
    return mail


def _address(value: Any, name: str) -> str:
    """One address, as it stands in a header. A text is one address, never several: data cannot add recipients."""
    text = header_text(value, name, 320).strip()
    if name == "to" and text.startswith(OUTBOX):
        return text
    shown, address = parseaddr(text)
    if not _ADDRESS.match(address) or ("," in text and "<" not in text):
        why = f"«{name}»: «{text[:80]}» is no mail address; several stand in a list."
        raise Unsendable("INPUT_INVALID", "validation", why)
    return formataddr((shown, address)) if shown else address


def _attachment(value: Any, n: int) -> dict[str, Any]:
    described = isinstance(value, Mapping) and {"content", "text", "value", _BLOB} & set(value)
    given: Mapping[str, Any] = value if described else {"value": value}
    if _BLOB in given or isinstance(given.get("value"), Mapping) and _BLOB in given["value"]:
        why = "An attachment is a reference that nobody has resolved; put it as an expression, such as ${report}."
        raise Unsendable("INPUT_INVALID", "validation", why)
    content, media = _bytes(given)
    name = header_text(given.get("name") or f"attachment-{n}{_ENDING.get(media, '')}", "attachments.name", 200)
    name = name.replace("/", "_").replace("\\", "_")
    kind = str(given.get("content_type") or mimetypes.guess_type(name)[0] or media).lower()
    if not _MEDIA.match(kind):
        raise Unsendable("INPUT_INVALID", "validation", "«attachments.content_type» is not like text/csv.")
    return {"name": name, "content_type": kind, "content": content}


_ENDING = {"text/plain": ".txt", "application/json": ".json", "application/octet-stream": ".bin"}


def _bytes(given: Mapping[str, Any]) -> tuple[bytes, str]:
    if isinstance(given.get("content"), str):
        try:
            return base64.b64decode(given["content"], validate=True), "application/octet-stream"
        except (binascii.Error, ValueError):
            why = "«attachments.content» must be base64; a plain text stands under «text»."
            raise Unsendable("INPUT_INVALID", "validation", why) from None
    for name in ("content", "text", "value"):
        value = given.get(name)
        if isinstance(value, bytes):
            return value, "application/octet-stream"
        if isinstance(value, str):
            return value.encode("utf-8", "replace"), "text/plain"
    return msgspec.json.encode(given.get("value")), "application/json"


def _unsendable(error: Any, server: Mapping[str, Any]) -> Unsendable | ConnectionError | TimeoutError:
    """4xx may pass by itself, 5xx will not. What the server wrote is not repeated: it may name anything."""
    import aiosmtplib as S

    if isinstance(error, S.SMTPTimeoutError):
        return TimeoutError("the mail server did not answer in time")
    refused = [recipient.code for recipient in error.recipients] if isinstance(error, S.SMTPRecipientsRefused) else []
    code = min(refused) if refused else getattr(error, "code", None)
    answered = f"The mail server of «{server['id']}» answered {code}"
    detail = {"smtp_code": code}
    if isinstance(error, S.SMTPAuthenticationError) or code in (530, 534, 535):
        return Unsendable("SMTP_DENIED", "authorization", f"{answered}: it does not let us in.", detail)
    if isinstance(error, ConnectionError) or code is not None and code < 0:
        return ConnectionError(f"the connection to the mail server failed ({type(error).__name__})")
    if code is None:
        why = f"The mail server of «{server['id']}» does not offer what is needed: {error.message[:80]}"
        return Unsendable("SMTP_REFUSED", "permanent", why)
    if 400 <= code < 500:
        return Unsendable("SMTP_BUSY", "transient", f"{answered}; it may take the mail later.", detail)
    return Unsendable("SMTP_REFUSED", "permanent", f"{answered}; it does not take this mail.", detail)
