"""Connections: who takes its time is let go, who comes too often is refused, and the log stays small."""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import socket
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from penstock.api.connections import Connections, FloodLog
from penstock.api.host_names import hosts_of, is_ours
from penstock.app.access.connection_limits import ConnectionLimits, connection_limits, total_of
from penstock.errors import BadInput
from tests.api.places import settings
from tests.api.serving import Server, serving, until

PATIENCE_S = 60
HERE = 12
HEAD = b"GET /api/v1/health HTTP/1.1\r\nHost: localhost\r\n"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("connections")
    limits = (
        f"header_s = 1\nbody_idle_s = 1\nkeep_alive_s = 1\nkeep_alive_requests = 3\nconnections_per_address = {HERE}"
    )
    settings(folder, f"[server]\n{limits}\n")
    with serving(folder, "dev", "--quiet") as server:
        yield server


@contextlib.contextmanager
def connected(server: Server, *said: bytes) -> Iterator[socket.socket]:
    with socket.create_connection(("127.0.0.1", server.port), PATIENCE_S) as line:
        for part in said:
            line.sendall(part)
        yield line


def heard(line: socket.socket) -> bytes:
    """All of it, until the other side closes."""
    parts = []
    with contextlib.suppress(ConnectionResetError):
        while part := line.recv(65536):
            parts.append(part)
    return b"".join(parts)


def code_of(answer: bytes) -> str:
    return str(json.loads(answer.partition(b"\r\n\r\n")[2])["code"])


@pytest.mark.parametrize(
    "said",
    [
        b"", b"GET /api", HEAD,
        b"POST /api/v1/session HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n{",
        b"POST /api/v1/session HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n{",
    ],
    ids=["nothing", "a part", "no end", "a part of a body", "a part of a chunk"],
)  # fmt: skip
def test_a_request_that_does_not_come_is_not_waited_for(server: Server, said: bytes) -> None:
    """It is told so, and closed; no error of the server's own is in the log."""
    with connected(server, said) as line:
        answer = heard(line)
    assert answer.startswith(b"HTTP/1.1 408 ") and code_of(answer) == "PS-408-REQUEST"
    with connected(server, HEAD + b"Connection: close\r\n\r\n") as line:
        assert heard(line)
    assert "Traceback" not in server.logged() and "unexpected error" not in server.logged()


def test_a_head_that_comes_in_drops_gets_no_more_time(server: Server) -> None:
    """The time is that of the whole head, not of the pauses in it."""
    with connected(server, HEAD) as line:
        line.settimeout(0.1)
        end, answer = time.monotonic() + PATIENCE_S, b""
        while time.monotonic() < end and not answer:
            with contextlib.suppress(TimeoutError):
                line.sendall(b"x")
                answer = line.recv(65536)
    assert answer.startswith(b"HTTP/1.1 408 ")


def test_a_connection_has_so_many_requests_and_does_not_rest_for_ever(server: Server) -> None:
    """The last answer says that it is the last; a connection that rests is closed without a word."""
    with connected(server) as line:
        file = line.makefile("rb")
        closes = []
        for _ in range(3):
            line.sendall(HEAD + b"\r\n")
            head = b"".join(iter(file.readline, b"\r\n")).lower()
            assert head.startswith(b"http/1.1 200 ")
            file.read(int(head.partition(b"content-length: ")[2].split()[0]))
            closes.append(b"connection: close" in head)
        assert closes == [False, False, True] and file.read() == b""
    with connected(server, HEAD + b"\r\n") as line:
        assert heard(line).count(b"HTTP/1.1") == 1


def test_half_sent_requests_make_room_for_whole_ones(server: Server) -> None:
    """Ten times as many as an address may have: whoever sends a whole request is answered all the same."""
    with contextlib.ExitStack() as held:
        lines = [held.enter_context(connected(server, HEAD)) for _ in range(10 * HERE)]
        for _ in range(5):
            with connected(server, HEAD + b"Connection: close\r\n\r\n") as line:
                assert heard(line).startswith(b"HTTP/1.1 200 ")
        assert heard(lines[0]).startswith(b"HTTP/1.1 408 ")
    until(server.logged, lambda log: "closed to make room" in log)
    lines_of_it = [line for line in server.logged().splitlines() if "connections:" in line]
    assert len(lines_of_it) <= 2 and len(server.logged()) < 20_000


def test_connections_at_work_are_not_taken_away(server: Server) -> None:
    """Live streams go on, longer than any request may take; one more connection is refused and told why."""
    client = server.client("operator@example.com")
    cookie = f"penstock_session={client.cookies['penstock_session']}".encode()
    client.close()
    ask = b"GET /api/v1/stream HTTP/1.1\r\nHost: localhost\r\nCookie: " + cookie + b"\r\n\r\n"

    def full() -> bytes:
        with connected(server, HEAD + b"Connection: close\r\n\r\n") as line:
            return heard(line)

    with contextlib.ExitStack() as held:
        streams = [held.enter_context(connected(server, ask)) for _ in range(HERE)]
        for stream in streams:
            assert b"200" in stream.recv(12)
        refused = until(full, lambda answer: answer.startswith(b"HTTP/1.1 429 "))
        assert code_of(refused) == "PS-429-CONNECTIONS" and b"retry-after: 5" in refused
        for stream in streams:  # a ping comes after ten seconds
            file = stream.makefile("rb")
            assert any(b"event: ping" in line for line in file)
    until(full, lambda answer: answer.startswith(b"HTTP/1.1 200 "))


def test_what_is_not_http_is_counted_and_not_repeated_in_the_log(server: Server) -> None:
    before = server.logged().count("\n")
    for _ in range(50):
        with connected(server, b"\x16\x03\x01\x02\x00\x01\xfc\x03\x03 hello\r\n\r\n") as line:
            assert heard(line).startswith(b"HTTP/1.1 400 ")
    assert server.logged().count("\n") - before <= 2


# ---- how they are counted --------------------------------------------------------------------------------------------


class Line:
    """A connection as the table sees it."""

    def __init__(self, table: Connections, address: str) -> None:
        self.table, self.address, self.peer = table, address, address
        self.closed = False

    def make_room(self) -> None:
        self.closed = True
        self.table.gone(self)  # type: ignore[arg-type]


def come(table: Connections, address: str, handle: int = 10) -> tuple[Any, str | None]:
    line: Any = Line(table, address)
    return line, table.admit(line, handle)


def test_the_one_that_waited_longest_makes_room() -> None:
    table = Connections(ConnectionLimits(per_address=2), 3, 1000)
    (a, _), (b, _), (c, _) = come(table, "a"), come(table, "a"), come(table, "b")
    table.waits(a, False)
    table.waits(a, True)  # it was at work in between
    d, refused = come(table, "a")
    assert refused is None and (a.closed, b.closed, c.closed) == (False, True, False)
    e, refused = come(table, "e")
    assert refused is None and c.closed and table.open == 3
    for line in (a, d, e):
        table.waits(line, False)
    assert come(table, "a")[1] == "address" and come(table, "f")[1] == "total"
    for line in (a, d, e):
        table.gone(line)
        table.gone(line)
    assert table.open == 0 and not table._of and not table._waiting


def test_a_proxy_is_many_people_and_handles_are_left_for_the_engine() -> None:
    limits = connection_limits({"server.connections_per_address": 1, "server.proxies": ["10.0.0.0/8"]})
    table = Connections(limits, 100, 1000)
    assert [come(table, "10.1.2.3")[1] for _ in range(5)] == [None] * 5
    lines = [come(table, f"192.0.2.{n}") for n in range(3)]
    assert [refused for _, refused in lines] == [None] * 3
    for line in [*table._waiting]:
        table.waits(line, False)
    assert come(table, "198.51.100.1", handle=1000 - 64)[1] == "total"
    assert come(table, "198.51.100.1", handle=1000 - 65)[1] is None
    assert total_of(ConnectionLimits(), 1024) == 960 and total_of(ConnectionLimits(total=10), 1024) == 10


def test_a_flood_has_one_line_a_minute(caplog: pytest.LogCaptureFixture) -> None:
    async def scene() -> None:
        floods = FloodLog()
        for n in range(5_000):
            floods.note("address", f"a{n % 2_000}")
            floods.note("header", "b")
        floods.flush()
        floods.note("header", "b")
        assert floods._timer is not None
        assert floods._timer.when() - asyncio.get_running_loop().time() > 50
        floods._timer.cancel()

    with caplog.at_level(logging.WARNING):
        asyncio.run(scene())
    (line,) = [record.getMessage() for record in caplog.records]
    assert "5000 refused" in line and "5000 closed, no complete request in time (5000 of b)" in line


@pytest.mark.parametrize(
    "said",
    [
        {"header_s": "10"}, {"header_s": 0}, {"connections": -1}, {"connections_per_address": 0}, {"body_s": True},
        {"keep_alive_requests": 1.5}, {"proxies": "127.0.0.1"}, {"proxies": ["proxy.example.com"]}, {"proxies": [1]},
    ],
    ids=str,
)  # fmt: skip
def test_a_limit_that_is_none_is_refused_at_the_start(said: dict[str, Any]) -> None:
    with pytest.raises(BadInput, match=rf"\[server\] {next(iter(said))}"):
        connection_limits({f"server.{name}": value for name, value in said.items()})


# ---- names -----------------------------------------------------------------------------------------------------------


def test_beyond_loopback_the_server_is_called_by_its_names(tmp_path: Path) -> None:
    """A page whose own name was made to point here is refused; addresses and the names of the settings are not."""
    with serving(tmp_path, "serve", "--host", "0.0.0.0") as server:
        client = server.client()

        def called(name: str) -> int:
            return client.get("/health", headers={"Host": name}).status_code

        assert [called(name) for name in ("localhost", f"127.0.0.1:{server.port}", "[::1]", socket.gethostname())] == [
            200, 200, 200, 200,
        ]  # fmt: skip
        assert [called(name) for name in ("evil.example.net", "127.0.0.1.evil.example.net", "")] == [400, 400, 400]


@pytest.mark.parametrize(
    ("allowed", "host", "names", "good", "bad"),
    [
        ([], "127.0.0.1", (), ["any.example.com"], []),
        ([], "0.0.0.0", (), ["localhost", "192.0.2.1"], ["flows.example.com", "1.2.3"]),
        ([], "0.0.0.0", ("flows.example.com",), ["flows.example.com", "flows.example.com."], ["192.0.2.1"]),
        (["*.example.com"], "127.0.0.1", (), ["a.example.com", "127.0.0.1"], ["example.com", "aexample.com"]),
        (["*"], "0.0.0.0", (), ["any.example.net"], []),
    ],
)  # fmt: skip
def test_which_names_are_ours(
    allowed: list[str], host: str, names: tuple[str, ...], good: list[str], bad: list[str]
) -> None:
    hosts = hosts_of({"server.allowed_hosts": allowed}, host, names)
    assert [name for name in good if not is_ours(name, hosts)] == []
    assert [name for name in bad if is_ours(name, hosts)] == []


def test_names_that_are_no_list_are_refused() -> None:
    for said in ("flows.example.com", [""], [1]):
        with pytest.raises(BadInput):
            hosts_of({"server.allowed_hosts": said}, "127.0.0.1")
