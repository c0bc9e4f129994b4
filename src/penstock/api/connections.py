"""Connections: how many there may be, how long one may take its time, and what becomes of those that are too many.

Who has to send something and does not is let go: a request's head has some seconds in all, its body may rest for some.
Where there is no room for a new connection, the one that has waited longest for its other side makes room, first of the
same address; where all of them are at work, the new one is refused. Floods have one line in the log, once a minute.
"""

from __future__ import annotations

import asyncio
import functools
import ipaddress
import logging
from collections.abc import Callable
from typing import Any, Literal

import h11
import msgspec
from uvicorn.protocols.http.flow_control import CLOSE_HEADER
from uvicorn.protocols.http.h11_impl import H11Protocol

from penstock.api.addresses import network_of
from penstock.app.access.connection_limits import ConnectionLimits

log = logging.getLogger("penstock.connections")
#: sockets that are taken from the system at a time. It takes asyncio three more laps to look at them and to close what
#: makes room for them, so four times as many may be open beyond the limit: half of the reserve
AT_ONCE = 8
#: connections that the system keeps for us meanwhile
BACKLOG = 4096
_MINUTE_S = 60.0
_FIRST_S = 1.0  # what comes together stands in one line
_MOST = 1_000  # addresses that are counted by themselves

Kind = Literal["address", "total", "evicted", "header", "body", "unread", "invalid"]
_WORDS: dict[Kind, str] = {
    "address": "refused, too many at once from one address",
    "total": "refused, too many at once in all",
    "evicted": "closed to make room, their request was not complete",
    "header": "closed, no complete request in time",
    "body": "closed, the rest of a body did not come",
    "unread": "closed, what was sent was not read",
    "invalid": "answered with 400, what they sent is not HTTP",
}


def _answer(status: str, code: str, detail: str, retry_s: int) -> bytes:
    number, _, title = status.partition(" ")
    body = msgspec.json.encode(
        {"type": "about:blank", "title": title, "status": int(number), "code": code, "detail": detail}
    )
    head = (
        f"HTTP/1.1 {status}\r\ncontent-type: application/problem+json\r\ncontent-length: {len(body)}\r\n"
        f"retry-after: {retry_s}\r\nconnection: close\r\n\r\n"
    )
    return head.encode() + body


_LATE = _answer("408 Request Timeout", "PS-408-REQUEST", "The request did not come in time.", 1)
_FROM_HERE = _answer(
    "429 Too Many Requests", "PS-429-CONNECTIONS", "Too many connections at once come from this address.", 5
)
_IN_ALL = _answer("503 Service Unavailable", "PS-503-CONNECTIONS", "The server has no room for more connections.", 5)


class FloodLog:
    """Counts what would fill the log, and says it once a minute."""

    def __init__(self) -> None:
        self._counts: dict[Kind, dict[str, int]] = {}
        self._timer: asyncio.TimerHandle | None = None
        self._last = -_MINUTE_S

    def note(self, kind: Kind, address: str) -> None:
        counts = self._counts.setdefault(kind, {})
        name = address if address in counts or len(counts) < _MOST else "others"
        counts[name] = counts.get(name, 0) + 1
        if self._timer is None:
            loop = asyncio.get_running_loop()
            self._timer = loop.call_later(max(_FIRST_S, self._last + _MINUTE_S - loop.time()), self.flush)

    def flush(self) -> None:
        counted, self._counts, self._timer = self._counts, {}, None
        self._last = asyncio.get_running_loop().time()
        parts = []
        for kind, counts in counted.items():
            address, most = max(counts.items(), key=lambda pair: pair[1])
            parts.append(f"{sum(counts.values())} {_WORDS[kind]} ({most} of {address})")
        if parts:
            log.warning("connections: %s", "; ".join(parts))


class Connections:
    """All connections of a server. Those that wait for their other side stand in order, the longest wait first."""

    def __init__(self, limits: ConnectionLimits, total: int, handles: int) -> None:
        self.limits, self.total = limits, total
        self.highest = handles - limits.reserve  # the number of a handle says how many are in use
        self.floods = FloodLog()
        self.open = 0
        self._waiting: dict[Connection, None] = {}
        self._of: dict[str, dict[Connection, bool]] = {}  # address → its connections, and whether they wait
        self._proxies = tuple(ipaddress.ip_network(proxy) for proxy in limits.proxies)
        self._trusted = functools.lru_cache(1024)(self._is_proxy)

    def protocol(self) -> Callable[..., Connection]:
        """What uvicorn makes a connection with."""
        return functools.partial(Connection, self)

    def admit(self, connection: Connection, handle: int) -> Kind | None:
        """Why there is no room for it; None when there is."""
        address = connection.address
        mine = self._of.setdefault(address, {})
        if len(mine) >= self.limits.per_address and not self._trusted(connection.peer):
            longest = next((other for other, waits in mine.items() if waits), None)
            if longest is None:
                return "address"
            longest.make_room()
        elif self.open >= self.total or handle >= self.highest:
            longest = next(iter(self._waiting), None)
            if longest is None:
                self._forget(address)
                return "total"
            longest.make_room()
        mine = self._of.setdefault(address, {})
        mine[connection] = True
        self._waiting[connection] = None
        self.open += 1
        return None

    def waits(self, connection: Connection, waits: bool) -> None:
        """It has to send something, from now on, or it is at work."""
        mine = self._of.get(connection.address)
        if mine is None or connection not in mine:
            return
        del mine[connection]  # the order is that of waiting
        mine[connection] = waits
        self._waiting.pop(connection, None)
        if waits:
            self._waiting[connection] = None

    def gone(self, connection: Connection) -> None:
        mine = self._of.get(connection.address)
        if mine is not None and mine.pop(connection, None) is not None:
            self.open -= 1
            self._waiting.pop(connection, None)
        self._forget(connection.address)

    def _forget(self, address: str) -> None:
        if not self._of.get(address, True):
            del self._of[address]

    def _is_proxy(self, peer: str) -> bool:
        try:
            address = ipaddress.ip_address(peer)
        except ValueError:
            return False
        return any(address in proxy for proxy in self._proxies)


class Connection(H11Protocol):
    """One connection. A single timer looks at it now and then; what comes in only notes the time."""

    def __init__(self, all_of_them: Connections, **given: Any) -> None:
        super().__init__(**given)
        self.all, self.limits = all_of_them, all_of_them.limits
        self.timeout_keep_alive = self.limits.keep_alive_s  # type: ignore[assignment]  # a part of a second will do
        self.address = self.peer = ""
        self.requests = 0
        self._began = self._heard = 0.0
        self._blocked: float | None = None
        self._closing: float | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._admitted = False
        self._waits = True
        limits = self.limits
        self._interval = min(limits.header_s, limits.body_idle_s, limits.body_s, limits.write_idle_s)

    # -- uvicorn's side ------------------------------------------------------------------------------------------------

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._began = self._heard = self.loop.time()
        self.peer = self.client[0] if self.client else ""
        self.address = network_of(self.peer)
        socket = transport.get_extra_info("socket")
        refused = self.all.admit(self, socket.fileno() if socket is not None else 0)
        self._timer = self.loop.call_later(self._interval, self._look)
        if refused is None:
            self._admitted = True
            return
        self.all.floods.note(refused, self.address)
        self._close_with(_FROM_HERE if refused == "address" else _IN_ALL)

    def connection_lost(self, exc: Exception | None) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._unset_keepalive_if_required()
        self.all.gone(self)
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if not self._admitted or self.transport.is_closing():
            return
        self._heard = self.loop.time()
        if self.timeout_keep_alive_task is not None:
            self._began = self._heard  # the first byte of the next request
        super().data_received(data)
        self._note(heard=True)

    def handle_events(self) -> None:
        before = self.cycle
        super().handle_events()
        if self.cycle is not before:
            self.requests += 1
            if self.requests >= self.limits.keep_alive_requests:
                self.cycle.scope["headers"] = [*self.cycle.scope["headers"], CLOSE_HEADER]

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self._note()

    def send_400_response(self, msg: str) -> None:
        self.all.floods.note("invalid", self.address)
        super().send_400_response(msg)

    def _should_upgrade(self) -> bool:
        """Nothing here speaks anything but HTTP; the wish is passed over."""
        return False

    def pause_writing(self) -> None:
        self._blocked = self.loop.time()
        super().pause_writing()

    def resume_writing(self) -> None:
        self._blocked = None
        super().resume_writing()

    # -- waiting -------------------------------------------------------------------------------------------------------

    def _note(self, heard: bool = False) -> None:
        """Whether the other side has to send something now. The head of a request gets no younger by coming in
        drops."""
        their = self.conn.their_state
        waits = their is h11.IDLE or their is h11.SEND_BODY
        if waits is not self._waits or heard and their is h11.SEND_BODY:
            self._waits = waits
            self.all.waits(self, waits)

    def _look(self) -> None:
        now, limits = self.loop.time(), self.limits
        kind, until = self._due(now, limits)
        if kind is not None and now >= until:
            self._timer = None
            self._end(kind)
            return
        self._timer = self.loop.call_later(max(until - now, 0.001) if kind else self._interval, self._look)

    def _due(self, now: float, limits: ConnectionLimits) -> tuple[Kind | None, float]:
        """Until when it may go on as it is, and what it would be closed for then."""
        if self.transport.is_closing():
            self._closing = self._closing or now
            return "unread", self._closing + limits.write_idle_s
        if self._blocked is not None:
            return "unread", self._blocked + limits.write_idle_s
        their = self.conn.their_state
        if their is h11.IDLE and self.timeout_keep_alive_task is None:
            return "header", self._began + limits.header_s
        if their is h11.SEND_BODY:
            if self.flow.read_paused:  # it is we who do not read
                self._heard = now
            return "body", min(self._heard + limits.body_idle_s, self._began + limits.body_s)
        return None, 0.0

    def make_room(self) -> None:
        """Others need its place."""
        if self.timeout_keep_alive_task is None:  # one that rests between two requests is nothing to speak of
            self.all.floods.note("evicted", self.address)
        self.all.gone(self)
        self._close_with(b"" if self.timeout_keep_alive_task is not None else _LATE)

    def _end(self, kind: Kind) -> None:
        self.all.floods.note(kind, self.address)
        if kind == "unread":
            self.transport.abort()
        else:
            self._close_with(_LATE)

    def _close_with(self, answer: bytes) -> None:
        """Say why, where no answer has begun, and close."""
        if self.transport.is_closing():
            return
        answered = self.conn.their_state is not h11.IDLE and self.cycle.response_started
        if answer and not answered:
            self.transport.write(answer)
        self.transport.close()
        if self._timer is None:
            self._timer = self.loop.call_later(self._interval, self._look)


class OnlyOnce(logging.Filter):
    """What uvicorn would say of every bad request is counted by the flood's line."""

    def filter(self, record: logging.LogRecord) -> bool:
        return record.getMessage() != "Invalid HTTP request received."
