"""notify over HTTP: slack, webhook, sms and pagerduty, as a real receiver sees them."""

from __future__ import annotations

import base64
import hashlib
import json
import socket
import time
from urllib.parse import parse_qs

import pytest

from penstock.executors import notify
from penstock.executors.channels.signature import BadSignature, sign, verify
from tests.executors.bench import as_json
from tests.executors.notifying import KEY, PostDesk, secret

ID = hashlib.sha256(KEY.encode()).hexdigest()[:32]


@pytest.fixture
def desk(tmp_path):
    return PostDesk(tmp_path)


@pytest.fixture
def server(serve):
    return serve(lambda seen: as_json({"id": "S-1", "seen": len(seen.body)}))


def test_slack_as_slack_sees_it(desk, serve):
    """W-4.5.4, W-4.5.9: text with its mentions in front, channel, attachments passed through; W-4.5.8: the key."""
    server = serve(lambda seen: (200, {"Content-Type": "text/html"}, b"ok"))
    desk.tenant.secrets["slack_webhook"] = server.url + "/services/T0/B0/XYZ"
    desk.put("template", "defect_alert_v2", {"body": "불량률 ${rate}"})
    config = {
        "webhook_url": secret("slack_webhook"),
        "channel": "#quality-alerts",
        "mention": ["@quality-team", "@here", "U0123ABCD"],
        "attachments": [{"color": "danger", "fields": [{"title": "Line", "value": "L01"}]}],
    }
    out = desk.sent(
        {
            "channel": "slack",
            "config": {"slack": config},
            "template": {"id": "defect_alert_v2", "params": {"rate": 0.07}},
        }
    )
    [seen] = server.seen
    assert (seen.method, seen.path) == ("POST", "/services/T0/B0/XYZ")
    assert seen.headers["content-type"].startswith("application/json")
    assert seen.headers["idempotency-key"] == KEY
    assert seen.json == {
        "text": "@quality-team <!here> <@U0123ABCD> 불량률 0.07",
        "link_names": True,
        "channel": "#quality-alerts",
        "attachments": config["attachments"],
    }
    delivery = out["_delivery"]
    assert out == {"_delivery": delivery}
    assert set(delivery) == {"channel", "status", "status_code", "message_id", "sent_at"}
    assert (delivery["channel"], delivery["status"], delivery["status_code"]) == ("slack", "sent", 200)


def test_slack_takes_forty_thousand_characters(desk, server):
    """W-4.5.4: so many and no more; what is longer is refused and not sent."""
    config = {"slack": {"webhook_url": server.url}}
    desk.sent({"channel": "slack", "config": config, "message": "x" * 40_000})
    assert len(server.seen) == 1 and len(server.seen[0].json["text"]) == 40_000
    failure = desk.refused({"channel": "slack", "config": config, "message": "x" * 40_001})
    assert (failure.code, failure.category) == ("MESSAGE_TOO_LARGE", "validation") and len(server.seen) == 1


def test_half_a_minute_unless_the_node_says_otherwise():
    """C-44: ACTION 30000."""
    assert notify.TIMEOUT_MS == 30_000


def test_webhook_gives_the_answer(desk, server):
    """W-4.5.6: the response JSON itself plus _delivery, so that ${sample_request.id} works; method defaults to POST."""
    desk.put(
        "template",
        "lab_sample_request",
        {
            "channel": "webhook",
            "body": {"line": "${input.line_id}", "n": "${fn.abs(-3)}", "say": 'a "${input.line_id}"'},
            "channel_config": {"url": server.url + "/lab?x=1", "headers": {"X-Line": "${input.line_id}"}},
        },
    )
    desk.names = {"input": {"line_id": 'L"1'}}
    out = desk.sent({"channel": "webhook", "template": {"id": "lab_sample_request"}})
    assert out["id"] == "S-1"
    assert (out["_delivery"]["status_code"], out["_delivery"]["message_id"]) == (200, "S-1")
    [seen] = server.seen
    assert (seen.method, seen.path, seen.headers["x-line"]) == ("POST", "/lab?x=1", 'L"1')
    assert seen.json == {"line": 'L"1', "n": 3, "say": 'a "L"1"'}
    assert seen.headers["content-type"] == "application/json"


@pytest.mark.parametrize(
    ("config", "message", "body", "media"),
    [
        ({"body": {"a": [1]}}, None, b'{"a":[1]}', "application/json"),
        ({"body": "plain"}, None, b"plain", "text/plain; charset=utf-8"),
        ({"body": "<a/>", "headers": {"content-type": "application/xml"}}, None, b"<a/>", "application/xml"),
        ({}, "hello", b'{"text":"hello"}', "application/json"),
        ({}, None, b"", None),
    ],
)
def test_what_a_webhook_sends(desk, server, config, message, body, media):
    """W-4.5.9: webhook headers and body."""
    desk.sent({"channel": "webhook", "config": {"url": server.url, **config}, "message": message})
    assert server.seen[0].body == body
    assert server.seen[0].headers.get("content-type") == media


@pytest.mark.parametrize("method", [None, "GET", "put", "PATCH", "DELETE"])
def test_the_method_of_a_webhook(desk, server, method):
    """C-27: method is a setting, and POST where nobody has set it."""
    named = {} if method is None else {"method": method}
    desk.sent({"channel": "webhook", "config": {"url": server.url, "body": {"a": 1}, **named}})
    assert server.seen[0].method == (method or "POST").upper()
    assert server.seen[0].body == (b"" if method == "GET" else b'{"a":1}')


@pytest.mark.parametrize(
    ("auth", "header"),
    [
        ({"type": "bearer"}, "Bearer s3cr3t-value"),
        ({"type": "basic", "username": "bob"}, "Basic " + base64.b64encode(b"bob:s3cr3t-value").decode()),
        ({"type": "basic"}, "Basic " + base64.b64encode(b"s3cr3t-value").decode()),
    ],
)
def test_a_webhook_authenticates(desk, server, auth, header):
    """W-4.5.9: auth bearer and basic, the secret by reference."""
    desk.tenant.secrets["token"] = "s3cr3t-value"
    desk.sent({"channel": "webhook", "config": {"url": server.url, "auth": {**auth, "secret": secret("token")}}})
    assert server.seen[0].headers["authorization"] == header


@pytest.mark.parametrize("key", ["plain-secret", "whsec_" + base64.b64encode(b"0123456789abcdef").decode()])
def test_a_signed_webhook_can_be_verified(desk, server, key):
    """W-4.5.9: auth hmac, with a timestamp and the key's id; a receiver checks it with `verify`."""
    desk.tenant.secrets["token"] = key
    auth = {"type": "hmac", "secret": secret("token"), "key_id": "k2"}
    config = {"url": server.url, "auth": auth, "body": {"a": 1}, "headers": {"Webhook-Id": "not mine to say"}}
    desk.sent({"channel": "webhook", "config": config})
    [seen] = server.seen
    assert seen.headers["webhook-key-id"] == "k2"
    assert verify(seen.headers, seen.body, {"k1": "old", "k2": key}, time.time()) == ID
    assert verify(seen.headers, seen.body, key, time.time()) == ID
    for headers, body, keys, now in [
        (seen.headers, seen.body + b" ", key, time.time()),
        (seen.headers, seen.body, "another", time.time()),
        (seen.headers, seen.body, {"k1": key}, time.time()),
        (seen.headers, seen.body, key, time.time() + 301),
        ({**seen.headers, "webhook-id": "x"}, seen.body, key, time.time()),
        ({**seen.headers, "webhook-timestamp": "now"}, seen.body, key, time.time()),
        ({}, seen.body, key, time.time()),
    ]:
        with pytest.raises(BadSignature):
            verify(headers, body, keys, now)


def test_a_known_signature():
    """The Standard Webhooks convention: the example of its specification."""
    key, body = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", b'{"test": 2432232314}'
    headers = sign("msg_p5jXN8AQM9LWM0D4loKWxJek", 1614265330, body, key)
    assert headers["webhook-signature"] == "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="


def test_a_relative_url_belongs_to_the_own_api(desk, server):
    """C-28: joined to default_api, with the service's token; nothing else gets that token."""
    desk.tenant.secrets["service"] = "service-token"
    desk.put("connection", "default_api", {"type": "http", "base_url": server.url + "/", "secret": "service"})
    out = desk.sent({"channel": "webhook", "config": {"url": "/api/reserve?x=1"}})
    assert (out["id"], server.seen[0].path) == ("S-1", "/api/reserve?x=1")
    assert server.seen[0].headers["authorization"] == "Bearer service-token"
    desk.sent({"channel": "webhook", "config": {"url": server.url}})
    assert "authorization" not in server.seen[1].headers
    desk.sent({"channel": "webhook", "config": {"url": "//evil.example/x"}})
    assert server.seen[2].headers["host"] == f"127.0.0.1:{server.port}"
    failure = desk.refused({"channel": "webhook", "config": {"url": "/api/%2e%2e/admin"}})
    assert (failure.code, len(server.seen)) == ("INPUT_INVALID", 3)


@pytest.mark.parametrize(
    ("raw", "media", "rest"),
    [
        (b"[1, 2]", "application/json", {"response": [1, 2]}),
        (b"fine", "text/plain", {"response": "fine"}),
        (b"", "text/plain", {}),
        (b'{"_delivery": "mine", "a": 1}', "application/json", {"a": 1}),
    ],
)
def test_answers_that_are_no_objects(desk, serve, raw, media, rest):
    """W-4.5.6."""
    server = serve(lambda seen: (201, {"Content-Type": media}, raw))
    out = desk.sent({"channel": "webhook", "config": {"url": server.url}})
    assert out.pop("_delivery")["status_code"] == 201
    assert out == rest


@pytest.mark.parametrize(
    ("status", "code", "category"),
    [
        (408, "HTTP_408", "transient"),
        (429, "HTTP_429", "transient"),
        (500, "HTTP_5XX", "external"),
        (503, "HTTP_5XX", "external"),
        (401, "HTTP_401_403", "authorization"),
        (403, "HTTP_401_403", "authorization"),
        (400, "HTTP_4XX", "permanent"),
        (404, "HTTP_4XX", "permanent"),
        (302, "HTTP_REDIRECT", "permanent"),
    ],
)
@pytest.mark.parametrize("channel", ["slack", "webhook", "sms", "pagerduty"])
def test_what_a_status_means(desk, serve, channel, status, code, category):
    """W-4.5.8: one attempt, one outcome; a redirect of a POST is not followed."""
    elsewhere = serve(lambda seen: as_json({}))
    server = serve(lambda seen: (status, {"Location": elsewhere.url, "Retry-After": "7"}, b"no"))
    config = {"webhook_url": server.url, "url": server.url, "to": "0101234", "routing_key": "k", "provider": "p"}
    desk.put("connection", "p", {"type": "http", "url": server.url})
    failure = desk.refused({"channel": channel, "config": config, "message": "m"})
    assert (failure.code, failure.category) == (code, category)
    assert len(server.seen) == 1 and elsewhere.seen == []


def test_nobody_there_and_nobody_answering(desk, serve):
    """W-4.5.8: a connection error is transient, silence is a time-out."""
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{closed.getsockname()[1]}"
        failure = desk.refused({"channel": "webhook", "config": {"url": url}})
    assert (failure.code, failure.category) == ("CONNECTION_LOST", "transient")
    slow = serve(lambda seen: lambda out, connection: time.sleep(1))
    failure = desk.refused({"channel": "webhook", "config": {"url": slow.url}}, timeout_ms=200)
    assert (failure.code, failure.category) == ("NODE_TIMEOUT", "timeout")


@pytest.mark.parametrize("channel", ["slack", "webhook", "sms", "pagerduty"])
def test_the_key_is_the_same_on_every_attempt(desk, server, channel):
    """W-4.5.8: Idempotency-Key; an author's header of that name does not hide it."""
    desk.put("connection", "default_sms", {"type": "http", "url": server.url})
    config = {"webhook_url": server.url, "url": server.url, "to": "0101234", "routing_key": "k"}
    config |= {"headers": {"idempotency-key": "mine"}} if channel == "webhook" else {}
    for attempt in (1, 2):
        desk.sent({"channel": channel, "config": config, "message": "m"}, attempt=attempt)
    assert [seen.headers["idempotency-key"] for seen in server.seen] == [KEY, KEY]
    other = desk.sent({"channel": channel, "config": config, "message": "m"}, key="t/r/n/0/2")
    assert server.seen[2].headers["idempotency-key"] == "t/r/n/0/2"
    assert other["_delivery"]["status"] == "sent"


def test_sms_as_json(desk, serve):
    """W-4.5.9: the provider is a connection; the generic form, with fields renamed."""
    server = serve(lambda seen: as_json({"message_id": "m-7"}, 202))
    desk.tenant.secrets["sms"] = "sms-token-value"
    options = {"from": "0212345678", "fields": {"to": "recipient", "message": "text"}}
    desk.put("connection", "acme", {"type": "http", "url": server.url, "secret": "sms", "options": options})
    config = {"to": "+82 10-1234-5678", "message": "긴급 정지", "provider": "acme"}
    out = desk.sent({"channel": "sms", "config": config})
    [seen] = server.seen
    assert seen.json == {"recipient": "+82 10-1234-5678", "text": "긴급 정지", "from": "0212345678"}
    assert seen.headers["authorization"] == "Bearer sms-token-value"
    assert (out["message_id"], out["_delivery"]["message_id"], out["_delivery"]["status_code"]) == ("m-7", "m-7", 202)


def test_sms_as_a_form(desk, serve):
    """W-4.5.9: the wire format of Twilio; the message from a template (C-27)."""
    server = serve(lambda seen: as_json({"sid": "SM123"}, 201))
    desk.tenant.secrets["sms"] = "auth-token-value"
    options = {"format": "twilio", "username": "AC1", "from": "+15550001"}
    desk.put("connection", "default_sms", {"type": "http", "url": server.url, "secret": "sms", "options": options})
    desk.put("template", "sms_emergency", {"body": "비상: ${line}", "channel_config": {"to": ["0101", "0102"]}})
    out = desk.sent({"channel": "sms", "template": {"id": "sms_emergency", "params": {"line": "L01 & co"}}})
    first, second = server.seen
    assert parse_qs(first.body.decode()) == {"To": ["0101"], "From": ["+15550001"], "Body": ["비상: L01 & co"]}
    assert parse_qs(second.body.decode())["To"] == ["0102"]
    assert first.headers["content-type"] == "application/x-www-form-urlencoded"
    assert first.headers["authorization"] == "Basic " + base64.b64encode(b"AC1:auth-token-value").decode()
    assert [one.headers["idempotency-key"] for one in server.seen] == [f"{KEY}/1", f"{KEY}/2"]
    assert len(out["responses"]) == 2 and out["_delivery"]["message_id"] == "SM123"


def test_pagerduty_event(desk, serve):
    """C-68: Events API v2, with a key that makes one incident of all attempts."""
    server = serve(lambda seen: as_json({"status": "success", "dedup_key": seen.json["dedup_key"]}, 202))
    desk.tenant.secrets["pd"] = "routing-key-value"
    desk.put("channel", "pagerduty", {"routing_key": "${secrets.pd}", "url": server.url + "/v2/enqueue"})
    desk.put("template", "emergency_alert", {"subject": "Line ${line}\ndown", "body": "rate 7 %"})
    template = {"id": "emergency_alert", "params": {"line": "L01", "severity": "critical"}}
    out = desk.sent({"channel": "pagerduty", "template": template, "config": {"component": "press"}})
    sent = server.seen[0].json
    assert (server.seen[0].path, sent["routing_key"], sent["event_action"]) == (
        "/v2/enqueue", "routing-key-value", "trigger",
    )  # fmt: skip
    assert sent["dedup_key"] == ID == out["dedup_key"]
    payload = sent["payload"]
    assert (payload["summary"], payload["severity"], payload["source"]) == ("Line L01 down", "critical", "t/n")
    assert (payload["component"], payload["custom_details"]["message"]) == ("press", "rate 7 %")
    config = {"event_action": "resolve", "dedup_key": "line-L01"}
    desk.sent({"channel": "pagerduty", "config": config})
    resolved = server.seen[1].json
    assert (resolved["event_action"], resolved["dedup_key"], "payload" in resolved) == ("resolve", "line-L01", False)


@pytest.mark.parametrize("status", [200, 500])
def test_an_address_is_a_secret(desk, serve, status):
    """C-63: neither a failure nor an answer repeats the webhook's address or what it was given."""

    def echo(seen):
        said = json.dumps({"path": seen.path, "auth": seen.headers["authorization"]})
        return status, {"Content-Type": "application/json"}, said.encode()

    server = serve(echo)
    desk.tenant.secrets |= {"hook": server.url + "/services/T00/B00/abcdefghijklmnop1234", "token": "token-value-1"}
    auth = {"type": "bearer", "secret": secret("token")}
    args = {"channel": "webhook", "config": {"url": secret("hook"), "auth": auth}}
    told = repr(desk.sent(args) if status == 200 else desk.refused(args))
    assert "token-value-1" not in told
    assert "services/T00" not in told and "abcdefghijklmnop1234" not in told
