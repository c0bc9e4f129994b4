"""notify and bad input: a code, a sentence, and nothing sent."""

from __future__ import annotations

import pytest

from tests.executors.bench import as_json
from tests.executors.notifying import PostDesk, secret


@pytest.fixture
def desk(tmp_path):
    return PostDesk(tmp_path)


@pytest.fixture
def internal(serve):
    return serve(lambda seen: as_json({}))


@pytest.mark.parametrize("channel", ["slack", "webhook", "sms", "pagerduty"])
@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "0x7f000001", "[::ffff:127.0.0.1]", "169.254.169.254"])
def test_a_private_address_is_not_reached(desk, internal, channel, host):
    """W-4.5.9: the guard stands before every channel that has an address."""
    desk.settings["http.allow"] = []
    url = f"http://{host}:{internal.port}/hook"
    desk.put("connection", "default_sms", {"type": "http", "url": url})
    config = {"webhook_url": url, "url": url, "to": "0101234", "routing_key": "k"}
    failure = desk.refused({"channel": channel, "config": config, "message": "m"})
    assert (failure.code, failure.category) == ("HTTP_BLOCKED", "authorization")
    assert "/hook" not in failure.message
    assert internal.seen == []


@pytest.mark.parametrize("url", ["ftp://example.com/x", "file:///etc/passwd", "not a url", "http://", "http://u:p@h/"])
def test_what_is_no_address(desk, url):
    failure = desk.refused({"channel": "webhook", "config": {"url": url}})
    assert (failure.code, failure.category) == ("HTTP_URL", "validation")
    assert "passwd" not in failure.message


@pytest.mark.parametrize(
    "config",
    [
        {"headers": {"X-A": "v\r\nX-Evil: 1"}},
        {"headers": {"X-A\r\nX-Evil": "v"}},
        {"headers": {"Host": "elsewhere"}},
        {"headers": {"Content-Length": "0"}},
        {"headers": ["not", "an", "object"]},
        {"method": "TRACE"},
        {"method": "POST / HTTP/1.1\r\nX: y"},
        {"auth": "bearer x"},
        {"auth": {"type": "magic", "secret": "s"}},
        {"auth": {"type": "bearer", "secret": "a\nb"}},
        {"auth": {"type": "hmac", "secret": "whsec_!!"}},
    ],
)
def test_a_webhook_that_is_no_request(desk, internal, config):
    """W-4.5.9."""
    failure = desk.refused({"channel": "webhook", "config": {"url": internal.url, **config}})
    assert (failure.code, failure.category) == ("INPUT_INVALID", "validation")
    assert internal.seen == []


@pytest.mark.parametrize(
    ("channel", "args"),
    [
        ("webhook", {"config": {"body": "x" * 10_000_000}}),
        ("webhook", {"config": {"body": {"deep": ["x" * 1000] * 10_000}}}),
        ("webhook", {"config": {"headers": {"X": "x" * 10_000_000}}}),
        ("slack", {"message": "x" * 10_000_000}),
        ("slack", {"message": "x" * 50_000}),
        ("sms", {"message": "x" * 10_000_000}),
        ("sms", {"message": "x" * 2000}),
        ("pagerduty", {"message": "x" * 10_000_000}),
    ],
)
def test_ten_megabytes(desk, internal, channel, args):
    """W-4.5.9: too large is said before anybody is called."""
    desk.put("connection", "default_sms", {"type": "http", "url": internal.url})
    config = {"webhook_url": internal.url, "url": internal.url, "to": "0101234", "routing_key": "k"}
    failure = desk.refused({"channel": channel, **args, "config": {**config, **args.get("config", {})}})
    assert (failure.code, failure.category) == ("MESSAGE_TOO_LARGE", "validation")
    assert len(failure.message) < 300
    assert internal.seen == []


@pytest.mark.parametrize(
    "body",
    [
        "${fn.join(fn.map(rows, r => fn.join(fn.map(rows, s => fn.join(fn.map(rows, t => 'x'), '')), '')), '')}",
        "${big}${big}${big}${big}",
        ["${big}"] * 100,
        {"a": {str(n): "${big}" for n in range(100)}},
        "x" * 3_000_000,
        "${" + "(" * 5000 + "1" + ")" * 5000 + "}",
    ],
)
def test_a_template_bomb(desk, internal, body):
    """C-55: the limits of the language, and one budget for the whole template."""
    desk.names = {"rows": list(range(1000)), "big": "x" * 600_000}
    desk.put("template", "bomb", {"body": body})
    failure = desk.refused({"channel": "webhook", "config": {"url": internal.url}, "template": "bomb"})
    assert (failure.code, failure.category) == ("EXPR_LIMIT", "validation")
    assert internal.seen == []


def test_a_template_nested_without_end(desk, internal):
    """C-55."""
    body = "x"
    for _ in range(60):
        body = [body]
    desk.put("template", "deep", {"body": body})
    args = {"channel": "webhook", "config": {"url": internal.url}, "template": "deep"}
    assert desk.refused(args).code == "EXPR_LIMIT"
    assert internal.seen == []


@pytest.mark.parametrize(
    "args",
    [
        None,
        [],
        {},
        {"channel": 7},
        {"channel": ["slack"]},
        {"channel": "slack", "config": "webhook_url"},
        {"channel": "slack", "template": {"params": {}}},
        {"channel": "slack", "template": 7},
        {"channel": "slack", "template": {"id": "t", "params": [1]}},
    ],
)
def test_arguments_that_are_none(desk, args):
    desk.put("template", "t", {"body": "b"})
    failure = desk.refused(args)
    assert (failure.code, failure.category) == ("INPUT_INVALID", "validation")


@pytest.mark.parametrize("to", ["", "abc", "010\r\n1", "+", "1;DROP", "0" * 60, "٣٣٣٣", {"a": 1}])
def test_what_is_no_number(desk, internal, to):
    """W-4.5.9: sms.to."""
    desk.put("connection", "default_sms", {"type": "http", "url": internal.url})
    failure = desk.refused({"channel": "sms", "config": {"to": to, "message": "m"}})
    assert failure.code in ("INPUT_INVALID", "CHANNEL_CONFIG_MISSING")
    assert internal.seen == []


def test_nobody_is_told_an_address(desk):
    """C-63: a webhook's address is a secret, whatever goes wrong."""
    token = "abcdefghijklmnopqrstuvwx"
    for url in [f"http://127.0.0.1:9/services/{token}", f"ftp://x/{token}", f"http://no-such-host.invalid/{token}?k=v"]:
        desk.tenant.secrets["hook"] = url
        config = {"webhook_url": secret("hook")}
        assert token not in repr(desk.refused({"channel": "slack", "config": config, "message": "m"}))


@pytest.mark.parametrize("channel", ["slack", "webhook", "sms", "pagerduty"])
def test_half_a_surrogate_pair(desk, internal, channel):
    desk.put("connection", "default_sms", {"type": "http", "url": internal.url})
    config = {"webhook_url": internal.url, "url": internal.url, "to": "0101234", "routing_key": "k"}
    failure = desk.refused({"channel": channel, "config": config, "message": "a \ud800"})
    assert (failure.code, internal.seen) == ("INPUT_INVALID", [])


def test_without_tenants_there_is_nothing(bench):
    from penstock.executors.notify import NotifyExecutor

    assert bench.failed(NotifyExecutor(), {"channel": "slack"}).code == "TENANT_MISSING"
