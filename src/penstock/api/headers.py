"""The middleware around every request: trace id, size limit, host name, and security headers."""

from __future__ import annotations

import re
import secrets
from typing import Any

from starlette.datastructures import MutableHeaders
from starlette.requests import ClientDisconnect, Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from penstock.api.host_names import is_ours
from penstock.api.locale import korean, set_languages
from penstock.api.options import Options
from penstock.api.problems import of_bug, problem
from penstock.app.metrics.logs import TRACE
from penstock.errors.korean import problem_text

_TRACEPARENT = re.compile(r"^00-([0-9a-f]{32})-([0-9a-f]{16})-[0-9a-f]{2}$")
_HOST = re.compile(r"(?P<name>\[[0-9A-Fa-f:.]+\]|[^:\[\]@/\s]+)(?::\d{1,5})?")
_REQUEST_ID = re.compile(r"^[\w.:-]{1,128}$", re.ASCII)
_POLICY = (
    "default-src 'self'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; font-src 'self'; "
    "connect-src 'self'; worker-src 'self' blob:; frame-ancestors 'none'; base-uri 'none'; form-action 'self'"
)
SECURITY = {
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), microphone=(), geolocation=()",
    "Content-Security-Policy": _POLICY,
}
#: where documents are sent to; what a run is given goes to other addresses below the same resources
_DOCUMENT = re.compile(
    r"definitions(/check|/inspect)?|diagrams(:validate)?|workflows(/validate)?|drafts/[^/]*"
    r"|processes/definitions(/[^/]*)?(:[a-z-]+)?"
)
#: the rendered API page brings its own script, which is served from here too
DOCS = "/api/docs"


class EdgeMiddleware:
    """Plain ASGI, so that streams are not buffered."""

    def __init__(self, app: ASGIApp, options: Options) -> None:
        self.app, self.options = app, options

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        request = Request(scope)
        trace = _trace_id(request)
        request.state.trace_id = trace
        TRACE.set(trace)  # what it starts belongs to it, too
        set_languages(request.headers.get("accept-language"))
        refusal = self._refusal(request)
        if refusal is not None:
            await refusal(scope, receive, _with_headers(send, trace, self.options))
            return
        largest = body_limit(scope["path"], self.options)
        limit = _LimitedReceiver(receive, largest)
        request_id = request.headers.get("x-request-id") or ""
        send = _with_request_id(send, request_id) if _REQUEST_ID.match(request_id) else send
        out = _Sender(_with_headers(send, trace, self.options), head=scope["method"] == "HEAD")
        inner = {**scope, "method": "GET"} if out.head else scope
        try:
            await self.app(inner, limit, out)
        except BodyTooLarge:
            await _too_large(request, largest)(scope, receive, out)
        except ClientDisconnect:  # nobody is there to be answered
            return
        except Exception as error:
            if out.done:  # of a HEAD nothing more is wanted
                return
            if out.begun:
                raise
            await of_bug(request, error)(scope, receive, out)
        finally:
            scope.update({name: inner[name] for name in ("route", "endpoint") if name in inner})

    def _refusal(self, request: Request) -> Any:
        named = _HOST.fullmatch(request.headers.get("host") or "")
        host = (named["name"] if named is not None else "").strip("[]").lower()
        if not is_ours(host, self.options.hosts):
            # a page that has its own name point here must not be taken for ours
            hint = "Name it with --name or in [server] allowed_hosts, or call the server by its own name."
            return problem(request, 400, "PS-400-HOST", f"This server is not called «{host}».", hint=hint)
        if "\0" in request.scope["path"] or b"%00" in request.scope["query_string"]:
            return problem(request, 400, "PS-400-PATH", "The address holds the character NUL.")
        length = request.headers.get("content-length")
        if length is not None and "transfer-encoding" in request.headers:  # a proxy may see another end of it
            why, close = "The body's length is told in two ways.", {"Connection": "close"}
            return problem(request, 400, "PS-400-LENGTH", why, headers=close)
        largest = body_limit(request.scope["path"], self.options)
        if length is not None and (not length.isdecimal() or len(length) > 18 or int(length) > largest):
            return _too_large(request, largest)
        return None


def body_limit(path: str, options: Options) -> int:
    """Documents may be larger than what a run is given; as texts in JSON they are larger than they are."""
    _, _, rest = path.partition("/api/")
    is_document = _DOCUMENT.fullmatch(rest.removeprefix("v1/").rstrip("/")) is not None
    return max(options.body_limit, options.document_limit * 3 // 2) if is_document else options.body_limit


class BodyTooLarge(Exception):
    pass


class _HeadDone(Exception):
    """The headers of a HEAD request are sent; nothing more is wanted."""


class _Sender:
    """Sends the response and knows how far it has got. A HEAD is done as a GET, and its body is left out."""

    def __init__(self, send: Send, *, head: bool) -> None:
        self.send, self.head = send, head
        self.begun = self.done = False

    async def __call__(self, message: Message) -> None:
        if self.done:
            raise _HeadDone
        self.begun = True
        if not self.head or message["type"] != "http.response.body":
            await self.send(message)
            return
        self.done = True
        await self.send({"type": "http.response.body", "body": b"", "more_body": False})


class _LimitedReceiver:
    def __init__(self, receive: Receive, limit: int) -> None:
        self.receive, self.left = receive, limit

    async def __call__(self) -> Message:
        message = await self.receive()
        self.left -= len(message.get("body") or b"")
        if self.left < 0:
            raise BodyTooLarge
        return message


def _too_large(request: Request, limit: int) -> Any:
    detail = f"The body has more than {limit} bytes."
    hint = (
        "Put large values into a file or an object store, and send where they are; give a large document to the "
        "command line, or raise `sizes.body_bytes`."
    )
    if korean():
        detail, hint = problem_text("PS-413-BODY", detail, hint)
    return problem(request, 413, "PS-413-BODY", detail, hint=hint)


def _trace_id(request: Request) -> str:
    """The caller's trace goes on; else a new one begins."""
    parent = _TRACEPARENT.match(request.headers.get("traceparent") or "")
    return parent.group(1) if parent else secrets.token_hex(16)


def _with_request_id(send: Send, request_id: str) -> Send:
    """Sends back the caller's X-Request-Id, for its own logs."""

    async def sent(message: Message) -> None:
        if message["type"] == "http.response.start":
            MutableHeaders(scope=message)["X-Request-Id"] = request_id
        await send(message)

    return sent


def _with_headers(send: Send, trace: str, options: Options) -> Send:
    async def sent(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            for name, value in SECURITY.items():
                headers.setdefault(name, value)
            headers.setdefault("Cache-Control", "no-store")
            headers["X-Trace-Id"] = trace
            if options.secure:
                headers["Strict-Transport-Security"] = "max-age=31536000"
        await send(message)

    return sent
