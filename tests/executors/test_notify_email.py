"""notify by mail: what a real SMTP server takes, and what never gets to it."""

from __future__ import annotations

import base64
import sys

import pytest

from tests.executors.notifying import PostDesk, secret
from tests.servers.certificate import Certificate
from tests.servers.smtp import SmtpServer


@pytest.fixture
def smtp():
    server = SmtpServer()
    yield server
    server.close()


@pytest.fixture
def desk(tmp_path, smtp):
    desk = PostDesk(tmp_path)
    _use(desk, smtp)
    return desk


def _use(desk, server, **fields):
    options = {"from": "Penstock <engine@example.com>", **fields.pop("options", {})}
    desk.put("connection", "default_smtp", {"type": "smtp", "url": server.url, "options": options, **fields})


def test_a_mail_as_its_readers_get_it(desk, smtp):
    """W-4.5.4, W-4.5.9: to, cc, bcc, subject, attachments as MIME parts, template."""
    desk.names = {"input": {"line": "L01"}, "report": "a;b\n1;2\n"}
    desk.put("template", "ccp_report", {"subject": "보고서 ${input.line}", "body": "본문: ${lab_result.value}\n"})
    config = {
        "to": ["Kim <kim@example.com>", "lee@example.com"],
        "cc": "boss@example.com",
        "bcc": ["audit@example.com"],
        "reply_to": "qa@example.com",
        "attachments": [
            {"name": "lab.csv", "text": desk.names["report"]},
            {"name": "raw.bin", "content": base64.b64encode(b"\x00\x01\xff").decode()},
            {"name": "보고.json", "value": {"pass": True}},
            {"rows": [1, 2]},
        ],
    }
    template = {"id": "ccp_report", "params": {"lab_result": {"value": 7}}}
    out = desk.sent({"channel": "email", "config": config, "template": template})
    [mail] = smtp.mails
    assert mail.sender == "engine@example.com"
    assert mail.to == ["kim@example.com", "lee@example.com", "boss@example.com", "audit@example.com"]
    message = mail.message
    assert (message["Subject"], message["From"]) == ("보고서 L01", "Penstock <engine@example.com>")
    assert (message["To"], message["Cc"]) == ("Kim <kim@example.com>, lee@example.com", "boss@example.com")
    assert message["Bcc"] is None and b"audit@" not in mail.raw
    assert message["Reply-To"] == "qa@example.com"
    assert message.get_body().get_content().strip() == "본문: 7"
    parts = {part.get_filename(): part for part in message.iter_attachments()}
    assert list(parts) == ["lab.csv", "raw.bin", "보고.json", "attachment-4.json"]
    assert parts["lab.csv"].get_content().replace("\r\n", "\n") == desk.names["report"]
    assert parts["lab.csv"].get_content_type() == "text/csv"
    assert parts["raw.bin"].get_content() == b"\x00\x01\xff"
    assert parts["보고.json"].get_payload(decode=True) == b'{"pass":true}'
    assert parts["attachment-4.json"].get_payload(decode=True) == b'{"rows":[1,2]}'
    assert out["_delivery"]["message_id"] == message["Message-ID"]
    assert (out["_delivery"]["status_code"], out["accepted"]) == (250, mail.to)


def test_a_mail_goes_to_a_hundred_people_and_no_more(desk, smtp):
    """W-4.5.4: counted over all kinds of readers."""
    some = [f"p{n}@example.com" for n in range(50)]
    config = {"to": some, "cc": [f"c{one}" for one in some], "subject": "s", "body": "b"}
    desk.sent({"channel": "email", "config": config, "message": "m"})
    failure = desk.refused({"channel": "email", "config": {**config, "bcc": ["x@example.com"]}, "message": "m"})
    assert (failure.code, failure.category) == ("INPUT_INVALID", "validation") and "100" in failure.message


def test_every_attempt_is_the_same_mail(desk, smtp):
    """W-4.5.8: the Message-ID comes from the key, so that a reader's server drops what it has."""
    args = {"channel": "email", "config": {"to": "a@example.com", "subject": "s"}, "message": "m"}
    desk.sent(args)
    desk.sent(args, attempt=2)
    desk.sent(args, key="t/r/n/0/2")
    first, second, other = (mail.message["Message-ID"] for mail in smtp.mails)
    assert first == second != other
    assert first.endswith("@example.com>")


def test_a_template_can_be_named_among_the_settings(desk, smtp):
    """W-4.5.9: email.template = template.id."""
    desk.put("template", "ccp_report", {"subject": "s", "body": "from the template"})
    desk.sent({"channel": "email", "config": {"email": {"to": "a@example.com", "template": "ccp_report"}}})
    assert smtp.mails[0].message.get_content().strip() == "from the template"


def test_a_large_value_is_attached_whole(desk, smtp):
    """W-4.5.9: a value that the run stores apart arrives as it was."""
    large = "0123456789" * 100_000
    config = {"to": "a@example.com", "subject": "s", "attachments": [{"name": "big.txt", "value": large}]}
    desk.sent({"channel": "email", "config": config})
    [part] = smtp.mails[0].message.iter_attachments()
    assert part.get_content() == large


@pytest.mark.parametrize(
    ("config", "word"),
    [
        ({"subject": "s\r\nBcc: evil@example.com"}, "subject"),
        ({"subject": "s\nX: y"}, "subject"),
        ({"subject": "s\u2028X"}, "subject"),
        ({"to": "a@example.com\r\nBcc: evil@example.com"}, "to"),
        ({"to": "a@example.com>\nRCPT TO:<evil@example.com"}, "to"),
        ({"to": "a@example.com, evil@example.com"}, "to"),
        ({"to": ["not an address"]}, "to"),
        ({"to": "<script>@x"}, "to"),
        ({"cc": "a@b\x00.com"}, "cc"),
        ({"bcc": ["outbox:x"]}, "bcc"),
        ({"from": "x@example.com\nEvil: 1"}, "from"),
        ({"reply_to": "x\ny@example.com"}, "reply_to"),
        ({"attachments": [{"name": "a\r\nX: y", "text": "t"}]}, "attachments.name"),
        ({"attachments": [{"name": "a", "content": "not base64!"}]}, "attachments.content"),
        ({"attachments": [{"name": "a", "text": "t", "content_type": "text/html\r\nX: y"}]}, "content_type"),
        ({"attachments": [{"$blob": "0" * 64, "size": 9}]}, "reference"),
        ({"to": [f"a{n}@example.com" for n in range(200)]}, "people"),
    ],
)
def test_nothing_gets_into_a_header(desk, smtp, config, word):
    """W-4.5.9: refused before anybody is spoken to."""
    base = {"to": "a@example.com", "subject": "s"}
    failure = desk.refused({"channel": "email", "config": {**base, **config}, "message": "m"})
    assert (failure.code, failure.category) == ("INPUT_INVALID", "validation")
    assert word in failure.message
    assert smtp.mails == [] and smtp.connections == 0


def test_a_template_cannot_be_used_to_inject(desk, smtp):
    """C-55: data in a subject."""
    desk.put("template", "t", {"subject": "about ${word}", "body": "b"})
    template = {"id": "t", "params": {"word": "x\r\nBcc: evil@example.com"}}
    assert desk.refused({"channel": "email", "config": {"to": "a@b.example"}, "template": template}).code == (
        "INPUT_INVALID"
    )
    assert smtp.connections == 0


@pytest.mark.parametrize(
    ("answer", "code", "category"),
    [
        ("450 later", "SMTP_BUSY", "transient"),
        ("421 going away", "SMTP_BUSY", "transient"),
        ("550 no such user", "SMTP_REFUSED", "permanent"),
        ("530 login first", "SMTP_DENIED", "authorization"),
    ],
)
@pytest.mark.parametrize("stage", ["RCPT", "DATA"])
def test_what_a_server_says_means(desk, stage, answer, code, category):
    """W-4.5.8 for mail: 4xx may pass, 5xx will not."""
    server = SmtpServer(refuse=lambda at, value: answer if at == stage else None)
    try:
        _use(desk, server)
        failure = desk.refused({"channel": "email", "config": {"to": "a@example.com", "subject": "s"}})
    finally:
        server.close()
    assert (failure.code, failure.category) == (code, category)
    assert failure.detail["smtp_code"] == int(answer[:3])
    assert server.mails == []


def test_some_readers_are_refused(desk):
    """The others get it; the output says who did not."""
    server = SmtpServer(refuse=lambda at, value: "550 no" if value.startswith("gone") else None)
    try:
        _use(desk, server)
        to = ["gone@example.com", "here@example.com"]
        out = desk.sent({"channel": "email", "config": {"to": to, "subject": "s"}})
    finally:
        server.close()
    assert (out["accepted"], out["refused"]) == (["here@example.com"], {"gone@example.com": 550})


@pytest.mark.filterwarnings("ignore:Requiring AUTH")
def test_login_and_password(desk):
    """C-63: the password is the connection's secret; without encryption it is not told unless that is allowed."""
    server = SmtpServer(login=("bob", "pass-word-1"))
    try:
        desk.tenant.secrets["mail"] = "pass-word-1"
        args = {"channel": "email", "config": {"to": "a@example.com", "subject": "s"}}
        _use(desk, server, secret="mail", options={"username": "bob"})
        failure = desk.refused(args)
        assert (failure.code, server.mails) == ("SMTP_REFUSED", [])
        _use(desk, server, secret="mail", options={"username": "bob", "starttls": False})
        desk.sent(args)
        assert server.mails[0].user == "bob"
        desk.tenant.secrets["mail"] = "wrong-password"
        failure = desk.refused(args)
    finally:
        server.close()
    assert (failure.code, failure.category) == ("SMTP_DENIED", "authorization")
    assert "wrong-password" not in repr(failure)


@pytest.mark.filterwarnings("ignore:Requiring AUTH")
@pytest.mark.parametrize("starttls", [True, False], ids=["starttls", "smtps"])
def test_a_password_goes_over_tls(desk, tmp_path, starttls):
    """W-4.5.9: STARTTLS and smtps://, with a certificate that is checked."""
    known = Certificate(tmp_path)
    server = SmtpServer(login=("bob", "pass-word-1"), tls=known.context(), starttls=starttls)
    args = {"channel": "email", "config": {"to": "a@example.com", "subject": "s"}}
    try:
        desk.tenant.secrets["mail"] = "pass-word-1"
        _use(desk, server, secret="mail", options={"username": "bob"})
        failure = desk.refused(args)
        assert (failure.code, failure.category) == ("CONNECTION_LOST", "transient")
        assert server.mails == []
        desk.settings["http.ca_file"] = str(known.certificate)
        desk.sent(args)
    finally:
        server.close()
    assert server.mails[0].user == "bob"


def test_mail_servers_are_guarded_too(desk, smtp):
    """A private address that nobody has listed is not spoken to."""
    desk.settings["http.allow"] = []
    failure = desk.refused({"channel": "email", "config": {"to": "a@example.com", "subject": "s"}})
    assert (failure.code, failure.category) == ("HTTP_BLOCKED", "authorization")
    assert smtp.connections == 0


def test_no_server_and_no_sender(desk, smtp):
    args = {"channel": "email", "config": {"to": "a@example.com", "subject": "s"}}
    desk.put("connection", "default_smtp", {"type": "smtp", "url": smtp.url})
    failure = desk.refused(args)
    assert (failure.code, failure.detail["missing"]) == ("CHANNEL_CONFIG_MISSING", ["from"])
    desk.tenant.things["connection"].clear()
    assert desk.refused(args).code == "CONNECTION_NOT_FOUND"
    desk.put("connection", "default_smtp", {"type": "http", "url": smtp.url})
    assert desk.refused(args).code == "CONNECTION_NOT_FOUND"
    assert smtp.mails == []


def test_the_secret_is_not_in_the_mail(desk, smtp):
    """C-63."""
    desk.tenant.secrets["token"] = "never-to-be-seen"
    config = {"to": "a@example.com", "subject": f"s {secret('token')}"}
    assert desk.refused({"channel": "email", "config": config}).code == "SECRET_NOT_ALLOWED"
    assert smtp.connections == 0


def test_without_the_package(desk, smtp, monkeypatch):
    """The extra is named."""
    monkeypatch.setitem(sys.modules, "aiosmtplib", None)
    failure = desk.refused({"channel": "email", "config": {"to": "a@example.com", "subject": "s"}})
    assert (failure.code, failure.category) == ("EXTRA_MISSING", "permanent")
    assert "penstock[notify]" in failure.message
