"""http: which places it may reach (Z1). An internal listener counts every connection; none may arrive."""

from __future__ import annotations

import asyncio
import http.server
import ipaddress
import shutil
import socket
import ssl
import subprocess
import threading

import pytest

from penstock.executors.http import HttpExecutor
from penstock.executors.parts.network.egress_policy import egress_policy_of, is_public
from penstock.executors.parts.network.http_call import CallRefused
from penstock.executors.parts.network.http_client import resolve
from tests.executors.bench import as_json

HTTP = HttpExecutor()

#: PORT stands for the internal listener's port.
INTERNAL = [
    "http://127.0.0.1:PORT/",
    "http://127.0.0.1.:PORT/",
    "http://localhost:PORT/",
    "http://LOCALHOST:PORT/",
    "http://localhost.:PORT/",
    "http://2130706433:PORT/",
    "http://0x7f000001:PORT/",
    "http://0x7f.0.0.1:PORT/",
    "http://017700000001:PORT/",
    "http://0177.0.0.1:PORT/",
    "http://127.1:PORT/",
    "http://127.0.1:PORT/",
    "http://127.127.127.127:PORT/",
    "http://0:PORT/",
    "http://0.0.0.0:PORT/",
    "http://[::]:PORT/",
    "http://[::1]:PORT/",
    "http://[0:0:0:0:0:0:0:1]:PORT/",
    "http://[::ffff:127.0.0.1]:PORT/",
    "http://[::ffff:7f00:1]:PORT/",
    "http://[::127.0.0.1]:PORT/",
    "http://[64:ff9b::127.0.0.1]:PORT/",
    "http://[64:ff9b:1::127.0.0.1]:PORT/",
    "http://[2002:7f00:1::]:PORT/",
    "http://[2001:0:7f00:1::]:PORT/",
    "http://[fe80::1]:PORT/",
    "http://[fe80::1%25lo]:PORT/",
    "http://[fec0::1]:PORT/",
    "http://[fc00::1]:PORT/",
    "http://[fd00:ec2::254]:PORT/",
    "http://[ff02::1]:PORT/",
    "http://[2001:db8::1]:PORT/",
    "http://169.254.169.254/latest/meta-data/",
    "http://169.254.169.254.:80/",
    "http://0xa9fea9fe/",
    "http://2852039166/",
    "http://10.0.0.1/",
    "http://10.1:80/",
    "http://172.16.0.1/",
    "http://172.31.255.255/",
    "http://192.168.0.1/",
    "http://100.64.0.1/",
    "http://192.0.0.1/",
    "http://192.0.2.1/",
    "http://198.18.0.1/",
    "http://198.51.100.1/",
    "http://203.0.113.1/",
    "http://224.0.0.1/",
    "http://240.0.0.1/",
    "http://255.255.255.255/",
    "http://user:pw@127.0.0.1:PORT/",
    "http://example.com@127.0.0.1:PORT/",
    "http://127.0.0.1:PORT#@example.com/",
    "http://127.0.0.1:PORT\\@example.com/",
    "http://127。0。0。1:PORT/",
    "http://①②⑦.0.0.1:PORT/",
    "//127.0.0.1:PORT/",
    "ftp://127.0.0.1:PORT/",
    "file:///etc/passwd",
    "gopher://127.0.0.1:PORT/_x",
    "unix:///var/run/docker.sock",
    "http://",
    "http:///x",
    "javascript:alert(1)",
    "http://127.0.0.1:PORT/\r\nHost: example.com",
]


@pytest.fixture
def internal(serve):
    return serve(lambda seen: as_json({"internal": True}))


@pytest.mark.parametrize("url", INTERNAL)
def test_internal_addresses_are_not_reached(bench, internal, url):
    bench.settings["http.ports"] = [80, 443, internal.port]  # the port is no excuse: the address alone must be refused
    failure = bench.failed(HTTP, {"url": url.replace("PORT", str(internal.port)), "timeout": 5})
    assert failure.code in ("HTTP_BLOCKED", "HTTP_URL") or "cannot be resolved" in failure.message, failure
    assert internal.seen == []


def test_the_list_of_cases_is_long_enough():
    assert len(INTERNAL) >= 60


def test_a_blocked_call_does_not_tell_what_a_name_resolves_to(bench):
    failure = bench.failed(HTTP, {"url": "http://localhost/"})
    assert (failure.code, failure.category) == ("HTTP_BLOCKED", "authorization")
    assert "127.0.0.1" not in failure.message
    assert "http.allow" in failure.message


def test_a_blocked_call_says_how_it_is_allowed(bench, internal):
    """What an operator writes into the settings, word for word; a port is told from an address."""
    host, port = f"127.0.0.1:{internal.port}", internal.port
    failure = bench.failed(HTTP, {"url": internal.url})
    assert failure.message.startswith(f"port {port} is not in «http.ports»")
    assert f'write allow = ["{host}"] under [http] in settings.toml' in failure.message
    bench.settings["http.ports"] = [port]
    assert bench.failed(HTTP, {"url": internal.url}).message.startswith("127.0.0.1 is no public address")
    bench.settings["http.allow"] = [host]
    bench.done(HTTP, {"url": internal.url})
    assert len(internal.seen) == 1
    six = bench.failed(HTTP, {"url": "http://[::1]:81/"}).message
    assert 'allow = ["[::1]:81"]' in six


def test_an_address_out_of_data_is_checked_like_any_other(bench, internal):
    failure = bench.failed(HTTP, {"url": "{{where}}"}, {"where": internal.url})
    assert failure.code == "HTTP_BLOCKED"
    assert internal.seen == []


@pytest.mark.parametrize(
    "hop", ["http://127.0.0.1:{port}/", "http://localhost:{port}/", "http://0x7f.1:{port}/", "file:///etc/passwd"]
)
def test_a_redirect_to_an_internal_address_is_refused(bench, serve, internal, hop):
    outside = serve(lambda seen: (302, {"Location": hop.format(port=internal.port)}, b""))
    bench.settings["http.allow"] = [f"127.0.0.1:{outside.port}"]
    failure = bench.failed(HTTP, {"url": outside.url})
    assert failure.code in ("HTTP_BLOCKED", "HTTP_URL")
    assert len(outside.seen) == 1
    assert internal.seen == []


def test_a_chain_of_redirects_is_checked_at_every_hop(bench, serve, internal):
    def answer(seen):
        step = int(seen.path.strip("/") or 0)
        return 302, {"Location": f"/{step + 1}" if step < 3 else internal.url}, b""

    outside = serve(answer)
    bench.settings["http.allow"] = [f"127.0.0.1:{outside.port}"]
    assert bench.failed(HTTP, {"url": outside.url}).code == "HTTP_BLOCKED"
    assert [seen.path for seen in outside.seen] == ["/", "/1", "/2", "/3"]
    assert internal.seen == []


class Resolver:
    """The system's resolver with answers of our own for some names, one list per question."""

    def __init__(self, monkeypatch, **answers):
        self.asked = []
        self.answers = {name.replace("_", "."): list(lists) for name, lists in answers.items()}
        real = socket.getaddrinfo

        def look(host, port, *args, **kwargs):
            name = host.decode() if isinstance(host, bytes) else host
            if name not in self.answers:
                return real(host, port, *args, **kwargs)
            self.asked.append(name)
            answers = self.answers[name]
            found = answers.pop(0) if len(answers) > 1 else answers[0]
            return [
                (socket.AF_INET6 if ":" in one else socket.AF_INET, socket.SOCK_STREAM, 6, "", (one, port))
                for one in found
            ]

        monkeypatch.setattr(socket, "getaddrinfo", look)


def test_rebinding_finds_nothing_to_rebind(bench, internal, monkeypatch):
    """The name answers an outside address first and an internal one ever after: it is asked once per call, and the
    connection goes to the address that was checked."""
    resolver = Resolver(monkeypatch, rebind_test=[["127.0.0.2"], ["127.0.0.1"]])
    bench.settings |= {"http.allow": ["127.0.0.2"], "http.ports": [internal.port]}
    first = bench.failed(HTTP, {"url": f"http://rebind.test:{internal.port}/"})
    assert first.code == "CONNECTION_LOST"  # nobody listens at the address that was checked
    assert resolver.asked == ["rebind.test"]
    second = bench.failed(HTTP, {"url": f"http://rebind.test:{internal.port}/"})
    assert second.code == "HTTP_BLOCKED"
    assert internal.seen == []


def test_one_internal_answer_among_public_ones_forbids_the_name(bench, internal, monkeypatch):
    Resolver(monkeypatch, mixed_test=[["93.184.216.34", "127.0.0.1"]])
    bench.settings["http.ports"] = [internal.port]
    assert bench.failed(HTTP, {"url": f"http://mixed.test:{internal.port}/"}).code == "HTTP_BLOCKED"
    assert internal.seen == []


def test_the_name_stays_in_the_host_header(bench, internal, monkeypatch):
    Resolver(monkeypatch, named_test=[["127.0.0.1"]])
    bench.settings["http.allow"] = ["named.test"]
    assert bench.done(HTTP, {"url": f"http://named.test:{internal.port}/"}).body == {"internal": True}
    assert internal.seen[0].headers["host"] == f"named.test:{internal.port}"


def test_the_next_checked_address_is_tried_when_one_does_not_answer(bench, internal, monkeypatch):
    Resolver(monkeypatch, two_test=[["127.0.0.3", "127.0.0.1"]])
    bench.settings["http.allow"] = ["127.0.0.0/8"]
    assert bench.done(HTTP, {"url": f"http://two.test:{internal.port}/"}).body == {"internal": True}


def test_proxies_of_the_environment_are_ignored(bench, serve, internal, monkeypatch):
    proxy = serve(lambda seen: as_json({"proxied": True}))
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "HTTPS_PROXY"):
        monkeypatch.setenv(name, proxy.url)
    bench.settings["http.allow"] = ["127.0.0.1"]
    assert bench.done(HTTP, {"url": internal.url}).body == {"internal": True}
    assert proxy.seen == []


def test_the_list_of_the_operator_is_per_tenant(bench, internal):
    bench.settings["http.allow"] = {"*": [], "a": [f"127.0.0.1:{internal.port}"]}
    assert bench.done(HTTP, {"url": internal.url}, tenant="a").body == {"internal": True}
    assert bench.failed(HTTP, {"url": internal.url}, tenant="b").code == "HTTP_BLOCKED"


def test_a_public_address_is_reached_on_listed_ports_only():
    reach = egress_policy_of({})
    public = ipaddress.ip_address("93.184.216.34")
    assert reach.allows("example.com", 443, public)
    assert not reach.allows("example.com", 22, public)
    assert not reach.allows("example.com", 6379, public)
    assert egress_policy_of({"http.ports": [22]}).allows("example.com", 22, public)


@pytest.mark.parametrize(
    ("line", "host", "port", "address", "allowed"),
    [
        ("*.corp.example", "a.corp.example", 8000, "10.0.0.1", True),
        ("*.corp.example", "corp.example.evil.test", 8000, "10.0.0.1", False),
        ("*.corp.example", "evilcorp.example", 8000, "10.0.0.1", False),
        ("db.local:8000", "db.local", 8000, "10.0.0.1", True),
        ("db.local:8000", "db.local", 8001, "10.0.0.1", False),
        ("10.0.0.0/8", "x", 80, "10.9.9.9", True),
        ("10.0.0.0/8", "x", 80, "::ffff:10.9.9.9", True),
        ("10.0.0.0/8", "x", 80, "11.0.0.1", True),
        ("10.0.0.0/8", "x", 80, "192.168.0.1", False),
        ("[::1]:8000", "x", 8000, "::1", True),
        ("::1", "x", 8000, "::1", True),
    ],
)
def test_lines_of_the_list(line, host, port, address, allowed):
    assert egress_policy_of({"http.allow": [line]}).allows(host, port, ipaddress.ip_address(address)) is allowed


@pytest.mark.parametrize(
    "address", ["8.8.8.8", "93.184.216.34", "2606:4700:4700::1111", "::ffff:8.8.8.8", "64:ff9b::808:808"]
)
def test_public_addresses_are_public(address):
    assert is_public(ipaddress.ip_address(address))


def test_every_answer_is_looked_at(monkeypatch):
    Resolver(monkeypatch, many_test=[["93.184.216.34", "2606:4700::1", "169.254.169.254"]])
    with pytest.raises(CallRefused):
        asyncio.run(resolve("many.test", 443, egress_policy_of({})))


@pytest.mark.skipif(shutil.which("openssl") is None, reason="needs the openssl command to make a certificate")
def test_over_tls_the_name_is_verified_and_the_checked_address_is_used(bench, tmp_path, monkeypatch):
    """SNI and the certificate's name are those of the URL although the connection goes to an address."""
    cert, key = tmp_path / "cert.pem", tmp_path / "key.pem"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
         "-keyout", str(key), "-out", str(cert), "-subj", "/CN=tls.test", "-addext", "subjectAltName=DNS:tls.test"],
        check=True, capture_output=True,
    )  # fmt: skip
    names: list[str | None] = []
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(cert, key)
    context.sni_callback = lambda sock, name, ctx: names.append(name)

    class Quiet(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(200)
            self.send_header("Content-Length", "2")
            self.end_headers()
            self.wfile.write(b"ok")

        def log_message(self, *args):
            pass

    class Server(http.server.ThreadingHTTPServer):
        def handle_error(self, request, address):
            pass

    server = Server(("127.0.0.1", 0), Quiet)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
    try:
        port = server.server_address[1]
        Resolver(monkeypatch, tls_test=[["127.0.0.1"]], other_test=[["127.0.0.1"]])
        bench.settings["http.allow"] = ["127.0.0.1"]
        untrusted = bench.failed(HTTP, {"url": f"https://tls.test:{port}/"})
        assert untrusted.code == "CONNECTION_LOST"
        bench.settings["http.ca_file"] = str(cert)
        assert bench.done(HTTP, {"url": f"https://tls.test:{port}/"}).body == "ok"
        assert names[-1] == "tls.test"
        assert bench.failed(HTTP, {"url": f"https://other.test:{port}/"}).code == "CONNECTION_LOST"
    finally:
        server.shutdown()
        server.server_close()
