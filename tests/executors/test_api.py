"""api: requests to named connections, over real sockets."""

from __future__ import annotations

import pytest

from penstock.executors.api import ApiExecutor
from tests.executors.bench import as_json
from tests.executors.desk import Desk

API = ApiExecutor()


@pytest.fixture
def desk(tmp_path):
    made = Desk(tmp_path)
    made.settings["http.allow"] = ["127.0.0.1"]
    return made


@pytest.fixture
def server(serve, desk):
    made = serve(lambda seen: as_json({"ok": True, "path": seen.path}))
    desk.register("connection", "default_api", type="http", base_url=made.url + "/v1/")
    return made


def test_a_path_is_joined_to_the_base_url(desk, server):
    """W-4.1.3, C-28: GET unless it says otherwise, params in the query string, JSON answered."""
    done = desk.done(API, {"path": "/api/lab/samples/a%2Fb", "params": {"limit": 3, "q": "ä b", "no": None}})
    assert done.body == {"ok": True, "path": "/v1/api/lab/samples/a%2Fb?limit=3&q=%C3%A4+b"}
    assert (done.meta["status"], server.seen[0].method) == (200, "GET")


def test_method_headers_body_and_the_key(desk, server):
    """W-4.5.8: every call carries the key under which a repetition is recognised."""
    args = {"method": "post", "path": "items", "headers": {"X-Line": "L01"}, "body": {"n": 1}}
    desk.done(API, args)
    seen = server.seen[0]
    assert (seen.method, seen.path, seen.json) == ("POST", "/v1/items", {"n": 1})
    assert (seen.headers["x-line"], seen.headers["idempotency-key"]) == ("L01", "t/r/n/0/1")
    desk.done(API, {"path": "items"})
    assert server.seen[1].headers["idempotency-key"] == "t/r/n/0/1"


@pytest.mark.parametrize(
    ("options", "header", "value"),
    [
        ({}, "authorization", "Bearer user:word-1234"),
        ({"auth": "basic"}, "authorization", "Basic dXNlcjp3b3JkLTEyMzQ="),
        ({"auth": "api_key"}, "x-api-key", "user:word-1234"),
        ({"auth": "api_key", "header": "X-Own"}, "x-own", "user:word-1234"),
    ],
)
def test_the_connections_secret_goes_along(desk, serve, options, header, value):
    """C-24: a connection refers to a secret; what echoes it is scrubbed."""
    server = serve(lambda seen: as_json({"echo": seen.headers}))
    desk.register("connection", "lab", type="http", base_url=server.url, secret="lab_key", options=options)
    failure = desk.failed(API, {"connection": "lab", "path": "/x"})
    assert (failure.code, failure.category) == ("SECRET_NOT_FOUND", "authorization")
    desk.tenant.secrets["lab_key"] = "user:word-1234"
    done = desk.done(API, {"connection": "lab", "path": "/x"})
    assert server.seen[0].headers[header] == value
    assert "word-1234" not in str(done)
    assert "dXNlcjp3" not in str(done)


def test_marked_secrets_are_filled_and_others_are_data(desk, server):
    desk.tenant.secrets["token"] = "long-secret-word"
    args = {"path": "/x", "headers": {"X-T": "§mtoken§m"}, "body": {"text": "${secrets.token}"}, "method": "PUT"}
    desk.done(API, args, mark="§m")
    assert server.seen[0].headers["x-t"] == "long-secret-word"
    assert server.seen[0].json == {"text": "${secrets.token}"}


def test_whole_urls_only_to_listed_hosts(desk, server, serve):
    """C-28: an absolute URL is reached only where the operator has said so, and without the connection's secret."""
    other = serve(lambda seen: as_json("there"))
    desk.register("connection", "default_api", type="http", base_url=server.url, secret="s")
    desk.tenant.secrets["s"] = "secret-word"
    assert desk.done(API, {"path": other.url + "/y"}).body == "there"
    assert "authorization" not in other.seen[0].headers
    desk.done(API, {"path": server.url + "/z"})
    assert server.seen[0].headers["authorization"] == "Bearer secret-word"
    failure = desk.failed(API, {"path": "https://example.com/x"})
    assert (failure.code, failure.category) == ("HTTP_BLOCKED", "authorization")
    desk.settings["http.allow"] = []
    assert desk.failed(API, {"path": other.url}).code == "HTTP_BLOCKED"
    assert desk.failed(API, {"path": "/x"}).code == "HTTP_BLOCKED"  # a private address is no public one
    assert len(other.seen) == 1


@pytest.mark.parametrize("path", ["/a/../b", "/a/%2e%2e/b", "..", "/a\\..\\b", "", None, 5, "file:///etc/passwd"])
def test_paths_that_lead_elsewhere(desk, server, path):
    failure = desk.failed(API, {"path": path})
    assert failure.category in ("validation", "authorization")
    assert server.seen == []


def test_two_slashes_name_no_host(desk, server):
    desk.done(API, {"path": "//example.com/x"})
    assert server.seen[0].path == "/v1/example.com/x"


def test_without_a_base_url_it_is_said_clearly(desk):
    """C-28: nothing is configured."""
    failure = desk.failed(API, {"path": "/x"})
    assert (failure.code, failure.category) == ("CONNECTION_NOT_FOUND", "validation")
    assert "default_api" in failure.message
    desk.register("connection", "default_api", type="http")
    assert "base_url" in desk.failed(API, {"path": "/x"}).message
    desk.register("connection", "default_api", type="sqlite")
    assert "sqlite" in desk.failed(API, {"path": "/x"}).message


@pytest.mark.parametrize(
    ("status", "code", "category"),
    [
        (500, "HTTP_5XX", "external"),
        (429, "HTTP_429", "transient"),
        (404, "HTTP_4XX", "permanent"),
        (403, "HTTP_401_403", "authorization"),
    ],
)
def test_a_status_is_a_code(desk, serve, status, code, category):
    """C-80."""
    server = serve(lambda seen: as_json({"why": 1}, status))
    desk.register("connection", "default_api", type="http", base_url=server.url)
    failure = desk.failed(API, {"path": "/x"})
    assert (failure.code, failure.category) == (code, category)


@pytest.mark.parametrize(
    ("media", "raw", "body"),
    [
        ("text/plain", b"12", "12"),
        ("text/plain", b'{"a": 1}', {"a": 1}),
        ("application/json", b"12", 12),
        ("application/pdf", b"\xff\x00", "/wA="),
        ("application/json", b"", None),
    ],
)
def test_answers(desk, serve, media, raw, body):
    server = serve(lambda seen: (200, {"Content-Type": media}, raw))
    desk.register("connection", "default_api", type="http", base_url=server.url)
    assert desk.done(API, {"path": "/x"}).body == body


def test_an_answer_that_lies_or_is_too_large(desk, serve):
    server = serve(lambda seen: (200, {"Content-Type": "application/json"}, b"<html>" + b"x" * 1000))
    desk.register("connection", "default_api", type="http", base_url=server.url)
    assert desk.failed(API, {"path": "/x"}).code == "HTTP_BODY"
    desk.register("connection", "default_api", type="http", base_url=server.url, options={"max_bytes": 100})
    assert desk.failed(API, {"path": "/x"}).code == "HTTP_TOO_LARGE"


def test_nobody_answers(desk, server):
    """C-80, W-4.1.8."""
    server.close()
    failure = desk.failed(API, {"path": "/x"}, timeout_ms=2000)
    assert (failure.code, failure.category) in [("CONNECTION_LOST", "transient"), ("NODE_TIMEOUT", "timeout")]


def test_output_is_transformed_and_checked(desk, server):
    """W-4.1.6, W-4.4.2."""
    output = {"transform": {"type": "jq", "expression": ".path"}, "schema": {"type": "string"}}
    assert desk.done(API, {"path": "/x", "output": output}).body == "/v1/x"
