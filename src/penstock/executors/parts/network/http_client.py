"""Outgoing HTTP: the one way in which an executor may reach a network.

A name is resolved once, every answer is checked, and the connection goes to a checked address while Host and SNI keep
the name: what the resolver says a moment later does not matter. Every redirect is a new call with the same check.
Proxies and certificates named by the environment are ignored. Bytes are counted while they arrive.
"""

from __future__ import annotations

import asyncio
import functools
import ipaddress
import re
import socket
import ssl
from collections.abc import Iterable, Mapping
from typing import Any

import httpcore2
import httpx2
import msgspec

from penstock.executors.parts.network.egress_policy import EgressPolicy
from penstock.executors.parts.network.http_call import CallRefused, HostUnresolved, HttpCall, HttpReply
from penstock.executors.parts.network.trace_context import traceparent

_HOPS = 5
_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+\Z")
_OURS = frozenset("host content-length transfer-encoding connection upgrade te trailer proxy-authorization".split())


async def send(call: HttpCall, egress: EgressPolicy) -> HttpReply:
    """The answer, whatever its status. Raises Refused, TimeoutError or ConnectionError; none of them tells a secret."""
    url = _url(call.url, call.params)
    headers = _checked_headers(call.headers)
    try:
        async with asyncio.timeout(call.timeout_s):
            for _ in range(_HOPS + 1):
                reply = await _request(call, url, headers, egress)
                target = reply.headers.get("location")
                safe = call.method in ("GET", "HEAD")
                if reply.status not in (301, 302, 303, 307, 308) or not (target and safe and call.redirects):
                    return reply
                onward = _url(_redirect_url(url, target), None)
                if (onward.scheme, onward.host, onward.port) != (url.scheme, url.host, url.port):
                    headers = []  # what was meant for one receiver is not for another
                if url.scheme == "https" and onward.scheme == "http":
                    raise CallRefused("HTTP_BLOCKED", "authorization", f"{url.host} redirects from https to http")
                url = onward
    except (httpcore2.TimeoutException, TimeoutError):
        raise TimeoutError(f"{url.host} did not answer within {call.timeout_s:g} s") from None
    except HostUnresolved:
        raise
    except (httpcore2.NetworkError, httpcore2.ProtocolError, OSError) as error:
        raise ConnectionError(f"the connection to {url.host} failed ({type(error).__name__})") from None
    raise CallRefused("HTTP_REDIRECT", "permanent", f"{url.host} redirects more than {_HOPS} times")


def _redirect_url(url: httpx2.URL, target: str) -> str:
    try:
        return str(url.join(target))
    except (httpx2.InvalidURL, ValueError):
        raise CallRefused("HTTP_REDIRECT", "permanent", f"{url.host} redirects to something that is no URL") from None


def _url(text: str, params: Mapping[str, Any] | None) -> httpx2.URL:
    try:
        url = httpx2.URL(text)
        if params:
            url = url.copy_merge_params({k: _param(v) for k, v in params.items() if v is not None})
    except (httpx2.InvalidURL, TypeError, ValueError):
        raise CallRefused("HTTP_URL", "validation", "the URL cannot be read") from None
    if url.scheme not in ("http", "https") or not url.host:
        raise CallRefused("HTTP_URL", "validation", "the URL must begin with http:// or https:// and name a host")
    if url.userinfo:
        raise CallRefused("HTTP_URL", "validation", "the URL holds credentials; put them into a header by reference")
    return url


def _param(value: Any) -> Any:
    if isinstance(value, list | tuple):
        return [_param(item) for item in value]
    return value if isinstance(value, str | int | float | bool) else msgspec.json.encode(value).decode()


def _checked_headers(headers: Iterable[tuple[str, str]]) -> list[tuple[bytes, bytes]]:
    out: list[tuple[bytes, bytes]] = []
    for name, value in headers:
        if not _TOKEN.match(name) or name.lower() in _OURS:
            raise CallRefused("INPUT_INVALID", "validation", f"«{name[:60]!r}» cannot be set as a header")
        if any(ord(c) < 32 and c != "\t" or ord(c) == 127 for c in value):
            raise CallRefused("INPUT_INVALID", "validation", f"the value of header «{name}» holds a control character")
        out.append((name.encode(), value.encode("utf-8", "surrogatepass")))
    return out


async def _request(
    call: HttpCall, url: httpx2.URL, headers: list[tuple[bytes, bytes]], egress: EgressPolicy
) -> HttpReply:
    given = {name.lower() for name, _ in headers}
    own = [(b"Host", url.netloc), (b"User-Agent", b"penstock"), (b"Accept", b"*/*"), (b"Accept-Encoding", b"identity")]
    if call.content or call.method in ("POST", "PUT", "PATCH"):
        own.append((b"Content-Length", str(len(call.content)).encode()))
    trace = traceparent()
    if trace is not None:
        own.append((b"traceparent", trace.encode()))
    every = [pair for pair in own if pair[0].lower() not in given] + headers
    target = httpcore2.URL(scheme=url.raw_scheme, host=url.raw_host, port=url.port, target=url.raw_path)
    limits = dict.fromkeys(("connect", "read", "write", "pool"), call.timeout_s)
    context = tls_context(call.ca_file) if url.scheme == "https" else None
    backend = CheckedBackend(egress)
    async with httpcore2.AsyncConnectionPool(context, max_keepalive_connections=0, network_backend=backend) as pool:
        async with pool.stream(
            call.method, target, headers=every, content=call.content or None, extensions={"timeout": limits}
        ) as answer:
            headers_read = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in answer.headers}
            if headers_read.get("content-encoding", "identity").lower() != "identity":
                raise CallRefused("HTTP_BODY", "external", f"{url.host} answered with an encoding nobody has asked for")
            return HttpReply(answer.status, headers_read, await _body(answer, headers_read, call, url.host), url.host)


async def _body(answer: httpcore2.Response, headers: Mapping[str, str], call: HttpCall, host: str) -> bytes:
    too_large = CallRefused(
        "HTTP_TOO_LARGE", "permanent", f"the answer of {host} is larger than {call.max_bytes} bytes"
    )
    length = headers.get("content-length", "")
    if length.isascii() and length.isdigit() and int(length) > call.max_bytes and call.method != "HEAD":
        raise too_large
    parts, size = [], 0
    async for part in answer.aiter_stream():
        size += len(part)
        if size > call.max_bytes:
            raise too_large
        parts.append(part)
    return b"".join(parts)


class CheckedBackend(httpcore2.AsyncNetworkBackend):
    """Opens connections to checked addresses only. It lives for one call: nothing is checked now and used later."""

    def __init__(self, egress: EgressPolicy) -> None:
        self._egress = egress
        self._network = httpcore2.AnyIOBackend()

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Any = None,
    ) -> httpcore2.AsyncNetworkStream:
        addresses = await resolve(host, port, self._egress)
        for position, address in enumerate(addresses):
            try:
                return await self._network.connect_tcp(address, port, timeout, local_address, socket_options)
            except httpcore2.ConnectError:
                if position + 1 == len(addresses):
                    raise
        raise httpcore2.ConnectError("no address")

    async def connect_unix_socket(self, path: str, timeout: float | None = None, socket_options: Any = None) -> Any:
        raise CallRefused("HTTP_BLOCKED", "authorization", "unix sockets are not reached from here")


async def resolve(host: str, port: int, egress: EgressPolicy) -> list[str]:
    """The addresses of a host. One forbidden answer forbids them all: a name is either outside or it is not."""
    try:
        answers = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        raise HostUnresolved(f"{host} cannot be resolved") from None
    return _checked_addresses(answers, host, port, egress)


def resolve_blocking(host: str, port: int, egress: EgressPolicy) -> list[str]:
    """The same in a thread that may wait."""
    try:
        answers = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        raise HostUnresolved(f"{host} cannot be resolved") from None
    return _checked_addresses(answers, host, port, egress)


def _checked_addresses(answers: list[Any], host: str, port: int, egress: EgressPolicy) -> list[str]:
    addresses = list(dict.fromkeys(str(entry[4][0]).partition("%")[0] for entry in answers))
    for address in addresses:
        if not egress.allows(host, port, ipaddress.ip_address(address)):
            # The address itself is not told: that would make this a resolver of internal names.
            named = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
            wrong = f"{host} is no public address" if port in egress.ports else f"port {port} is not in «http.ports»"
            wrong = f"{wrong}, and {named} is not in «http.allow»"
            why = f'{wrong}; to allow it, write allow = ["{named}"] under [http] in settings.toml'
            raise CallRefused("HTTP_BLOCKED", "authorization", why)
    return addresses


@functools.lru_cache(maxsize=8)
def tls_context(ca_file: str | None) -> ssl.SSLContext:
    context = httpx2.create_ssl_context(trust_env=False)
    if ca_file:
        context.load_verify_locations(ca_file)
    return context
