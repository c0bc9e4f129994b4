"""http: requests over real sockets, and what an answer means."""

from __future__ import annotations

import json
import time

import pytest

from penstock.executors.http import HttpExecutor
from tests.executors.bench import as_json

HTTP = HttpExecutor()


@pytest.fixture
def local(bench):
    bench.settings["http.allow"] = ["127.0.0.1"]
    return bench


def test_api_job_sends_what_it_is_told(local, serve):
    """D-X.15: api_job; {{name}} stands for an input, and the key goes along so that a repetition is recognised."""
    server = serve(lambda seen: as_json({"ok": True}))
    args = {
        "method": "post",
        "url": server.url + "/items/{{id}}",
        "params": {"q": "{{word}}", "n": 3},
        "headers": {"X-Word": "a {{word}}"},
        "body": {"list": "{{list}}", "text": "is {{word}}"},
    }
    done = local.done(HTTP, args, {"id": 7, "word": "näher & {{id}}", "list": [1, 2]})
    seen = server.seen[0]
    assert done.body == {"ok": True}
    assert (done.content_type, done.meta["status"]) == ("object", 200)
    assert seen.method == "POST"
    assert seen.path.startswith("/items/7?q=n%C3%A4her")
    assert seen.path.endswith("n=3")
    assert seen.json == {"list": [1, 2], "text": "is näher & {{id}}"}
    assert seen.headers["content-type"] == "application/json"
    assert seen.headers["idempotency-key"] == "t/r/n/0/1"
    assert seen.headers["host"] == f"127.0.0.1:{server.port}"


@pytest.mark.parametrize(
    ("media", "raw", "body", "kind"),
    [
        ("application/json; charset=utf-8", b'{"a": [1]}', {"a": [1]}, "object"),
        ("application/problem+json", b"[1]", [1], "object"),
        ("text/plain", "grüß".encode(), "grüß", "raw_text"),
        ("text/plain", b"\xff\xfe\x00", b"\xff\xfe\x00", "binary"),
        ("image/png", b"\x89PNG", b"\x89PNG", "binary"),
        ("", b"plain", "plain", "raw_text"),
    ],
)
def test_answers_are_text_json_or_binary(local, serve, media, raw, body, kind):
    """D-2.3.3."""
    server = serve(lambda seen: (200, {"Content-Type": media} if media else {}, raw))
    done = local.done(HTTP, {"url": server.url})
    assert (done.body, done.content_type) == (body, kind)


@pytest.mark.parametrize(
    "raw", [b'{"half": ', b"<html>", b"[" * 100_000, b"1e999"], ids=["half", "html", "deep", "big"]
)
def test_a_body_that_is_not_the_json_it_claims_to_be(local, serve, raw):
    server = serve(lambda seen: (200, {"Content-Type": "application/json"}, raw))
    failure = local.failed(HTTP, {"url": server.url})
    assert (failure.code, failure.category) == ("HTTP_BODY", "external")


@pytest.mark.parametrize(
    ("status", "code", "category"),
    [
        (500, "HTTP_5XX", "external"),
        (503, "HTTP_5XX", "external"),
        (429, "HTTP_429", "transient"),
        (400, "HTTP_4XX", "permanent"),
        (404, "HTTP_4XX", "permanent"),
        (401, "HTTP_401_403", "authorization"),
        (403, "HTTP_401_403", "authorization"),
    ],
)
def test_a_status_says_whether_to_try_again(local, serve, status, code, category):
    """C-80: the codes and categories of an HTTP failure."""
    server = serve(lambda seen: as_json({"why": "because"}, status, **{"Retry-After": "7"}))
    failure = local.failed(HTTP, {"url": server.url})
    assert (failure.code, failure.category) == (code, category)
    assert failure.detail["status"] == status
    assert "because" in failure.detail["body"]
    if status == 429:
        assert failure.detail["retry_after_s"] == 7


def test_a_204_is_no_value(local, serve):
    server = serve(lambda seen: (204, {}, b""))
    assert local.done(HTTP, {"method": "DELETE", "url": server.url}).body is None


def test_a_slow_answer_is_a_timeout(local, serve):
    server = serve(lambda seen: time.sleep(3) or (200, {}, b"late"))
    failure = local.failed(HTTP, {"url": server.url, "timeout": 0.3})
    assert (failure.code, failure.category) == ("NODE_TIMEOUT", "timeout")


def test_a_body_that_drips_is_a_timeout_too(local, serve):
    """A receiver that sends one byte at a time keeps every single read alive; the whole call has one limit."""

    def drip(wfile, connection):
        wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n")
        for _ in range(100):
            wfile.write(b"x")
            wfile.flush()
            time.sleep(0.1)

    server = serve(lambda seen: drip)
    failure = local.failed(HTTP, {"url": server.url, "timeout": 0.5})
    assert failure.code == "NODE_TIMEOUT"


def test_the_nodes_own_limit_goes_before_the_documents(local, serve):
    server = serve(lambda seen: time.sleep(3) or (200, {}, b"late"))
    failure = local.failed(HTTP, {"url": server.url, "timeout": 60}, timeout_ms=200)
    assert failure.code == "NODE_TIMEOUT"


def test_a_receiver_that_hangs_up_is_a_lost_connection(local, serve):
    def hang_up(wfile, connection):
        wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\nhalf")
        wfile.flush()

    server = serve(lambda seen: hang_up)
    failure = local.failed(HTTP, {"method": "POST", "url": server.url, "body": "x"})
    assert (failure.code, failure.category) == ("CONNECTION_LOST", "transient")


def test_nobody_listening_is_a_lost_connection(local, serve):
    server = serve(lambda seen: (200, {}, b""))
    server.close()
    assert local.failed(HTTP, {"url": server.url}).code == "CONNECTION_LOST"


def test_something_that_is_not_http_is_a_lost_connection(local, serve):
    server = serve(lambda seen: lambda wfile, connection: wfile.write(b"SSH-2.0-nonsense\r\n" * 10))
    assert local.failed(HTTP, {"url": server.url}).code == "CONNECTION_LOST"


@pytest.mark.parametrize("honest", [True, False])
def test_a_huge_answer_is_cut_off(local, serve, honest):
    """The limit holds for an announced length before anything is read, and for an endless stream while it is read."""

    def pour(wfile, connection):
        head = b"Content-Length: 5000000000\r\n" if honest else b"Transfer-Encoding: chunked\r\n"
        wfile.write(b"HTTP/1.1 200 OK\r\n" + head + b"\r\n")
        for _ in range(4000):
            wfile.write(b"10000\r\n" + b"x" * 65536 + b"\r\n" if not honest else b"x" * 65536)

    local.settings["http.max_bytes"] = 1_000_000
    server = serve(lambda seen: pour)
    failure = local.failed(HTTP, {"url": server.url})
    assert failure.code == "HTTP_TOO_LARGE"


def test_an_encoding_nobody_asked_for_is_refused(local, serve):
    """A compressed bomb is never unpacked: plain bytes are asked for, and anything else is refused."""
    server = serve(lambda seen: (200, {"Content-Encoding": "gzip"}, b"\x1f\x8b" + b"\0" * 100))
    assert local.failed(HTTP, {"url": server.url}).code == "HTTP_BODY"
    assert server.seen[0].headers["accept-encoding"] == "identity"


def test_a_redirect_is_followed_for_get_only(local, serve):
    server = serve(lambda seen: (302, {"Location": "/two"}, b"") if seen.path == "/one" else as_json({"at": seen.path}))
    assert local.done(HTTP, {"url": server.url + "/one"}).body == {"at": "/two"}
    assert local.failed(HTTP, {"method": "POST", "url": server.url + "/one", "body": "x"}).code == "HTTP_REDIRECT"
    assert local.failed(HTTP, {"url": server.url + "/one", "follow_redirects": False}).code == "HTTP_REDIRECT"


def test_a_redirect_loop_ends(local, serve):
    server = serve(lambda seen: (302, {"Location": "/again"}, b""))
    assert local.failed(HTTP, {"url": server.url}).code == "HTTP_REDIRECT"
    assert len(server.seen) == 6


def test_credentials_do_not_follow_a_redirect_to_another_receiver(local, serve):
    other = serve(lambda seen: as_json("other"))
    server = serve(lambda seen: (302, {"Location": other.url + "/x"}, b""))
    local.settings["secrets"] = {"T": "tok-en-value-1"}
    local.done(HTTP, {"url": server.url, "headers": {"Authorization": "Bearer ${secrets.T}", "X-Mine": "1"}})
    assert server.seen[0].headers["authorization"] == "Bearer tok-en-value-1"
    assert "authorization" not in other.seen[0].headers
    assert "x-mine" not in other.seen[0].headers


@pytest.mark.parametrize(
    "headers",
    [
        {"X-A": "one\r\nX-B: two"},
        {"X-A\r\nX-B": "two"},
        {"X A": "two"},
        {"Host": "elsewhere.example"},
        {"Transfer-Encoding": "chunked"},
        {"Content-Length": "0"},
        {"X-A": "nul\x00"},
    ],
)
def test_headers_cannot_be_smuggled(local, serve, headers):
    server = serve(lambda seen: as_json({}))
    failure = local.failed(HTTP, {"url": server.url, "headers": headers})
    assert (failure.code, failure.category) == ("INPUT_INVALID", "validation")
    assert server.seen == []


def test_data_cannot_smuggle_a_header(local, serve):
    server = serve(lambda seen: as_json({}))
    failure = local.failed(HTTP, {"url": server.url, "headers": {"X-A": "is {{x}}"}}, {"x": "1\r\nX-B: 2"})
    assert failure.code == "INPUT_INVALID"
    assert server.seen == []


@pytest.mark.parametrize(
    "args",
    [
        None,
        [],
        {},
        {"url": 5},
        {"url": "x", "method": "BREW"},
        {"url": "http://a", "headers": []},
        {"url": "http://[::"},
    ],
)
def test_bad_arguments_are_a_failure_and_nothing_else(local, args):
    failure = local.failed(HTTP, args)
    assert failure.category == "validation"


@pytest.mark.parametrize(
    ("auth", "name", "value"),
    [
        ({"auth_type": "bearer", "auth_config": {"token": "${secrets.T}"}}, "authorization", "Bearer s3cr3t-s3cr3t"),
        (
            {"auth_type": "basic", "auth_config": {"username": "u", "password": "${secrets.T}"}},
            "authorization",
            "Basic dTpzM2NyM3QtczNjcjN0",
        ),
        ({"auth_type": "api_key", "auth_config": {"key": "${secrets.T}"}}, "x-api-key", "s3cr3t-s3cr3t"),
    ],
)
def test_secrets_arrive_and_do_not_come_back(local, serve, auth, name, value):
    """Z10: what the receiver echoes is scrubbed of the secret in every spelling that it may use."""
    local.settings["secrets"] = {"T": "s3cr3t-s3cr3t"}
    server = serve(lambda seen: as_json({"you sent": seen.headers, "hex": b"s3cr3t-s3cr3t".hex()}))
    done = local.done(HTTP, {"url": server.url, **auth})
    assert server.seen[0].headers[name] == value
    told = json.dumps(done.body)
    assert "s3cr3t" not in told
    assert b"s3cr3t".hex() not in told
    assert "czNjcjN0" not in told  # in base64


def test_a_failure_does_not_tell_the_secret_or_the_secret_address(local, serve):
    server = serve(lambda seen: (500, {}, f"no: {seen.path} {seen.headers}".encode()))
    local.settings["secrets"] = {"HOOK": server.url + "/hooks/AAA/BBB", "T": "tok-en-value-1"}.get
    args = {"method": "POST", "url": "${secrets.HOOK}", "headers": {"X-T": "${secrets.T}"}, "body": "x"}
    failure = local.failed(HTTP, args)
    assert failure.code == "HTTP_5XX"
    assert "hooks/AAA" not in failure.message
    assert "tok-en-value-1" not in repr(failure)


def test_a_secret_that_is_not_there_is_named(local):
    local.settings["secrets"] = {}
    failure = local.failed(HTTP, {"url": "http://127.0.0.1:1/", "headers": {"A": "${secrets.NOPE}"}})
    assert (failure.code, failure.category) == ("SECRET_NOT_FOUND", "authorization")
    assert "NOPE" in failure.message


def test_data_that_looks_like_a_reference_fetches_no_secret(local, serve):
    """Z3, Z10: an input is data. It is put in after references are filled, and never looked at again."""
    local.settings["secrets"] = {"T": "tok-en-value-1"}
    server = serve(lambda seen: as_json({}))
    evil = "${secrets.T}"
    args = {
        "method": "POST",
        "url": server.url + "/{{x}}",
        "headers": {"X-A": "{{x}}", "X-B": "a{{x}}"},
        "body": "{{x}} b",
    }
    local.done(HTTP, args, {"x": evil})
    local.done(HTTP, {"method": "POST", "url": server.url, "body": {"a": evil}, "render": False})
    assert all("tok-en" not in seen.path + str(seen.headers) + seen.body.decode() for seen in server.seen)
    assert server.seen[0].body == b"${secrets.T} b"


def test_segments_of_a_path_stay_in_their_place(local, serve):
    """Whatever an input holds, it is one segment; an empty one, or one that leads up, is refused."""
    server = serve(lambda seen: as_json({}))
    args = {"url": server.url + "/api/", "path": ["repos", "{{owner}}", "issues", "{{n}}"]}
    local.done(HTTP, args, {"owner": "a/../b?x#y é", "n": 7})
    assert server.seen[0].path == "/api/repos/a%2F..%2Fb%3Fx%23y%20%C3%A9/issues/7"
    for owner in ("", "..", "."):
        assert local.failed(HTTP, args, {"owner": owner, "n": 1}).code == "INPUT_INVALID"


def test_an_answer_that_says_no_inside_is_a_failure(local, serve):
    """Some services answer 200 and say inside that it went wrong."""
    server = serve(lambda seen: as_json({"ok": False, "error": "channel_not_found"}))
    failure = local.failed(HTTP, {"url": server.url, "holds": "ok"})
    assert (failure.code, "channel_not_found" in failure.message) == ("HTTP_REFUSED", True)
    assert local.done(HTTP, {"url": server.url}).body["ok"] is False
