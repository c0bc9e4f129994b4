"""Transports to an MCP server: a child process that ends with its call, or HTTP to checked addresses."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any

import httpcore2
import httpx2

from penstock.executors.parts.network.egress_policy import EgressPolicy
from penstock.executors.parts.network.http_call import CallRefused
from penstock.executors.parts.network.http_client import CheckedBackend, tls_context
from penstock.executors.parts.network.trace_context import traceparent
from penstock.executors.parts.processes.child_process import kill_process_group

MAX_BYTES = 10 * 1024 * 1024
_GRACE_S = 1.0


@contextlib.asynccontextmanager
async def stdio_streams(command: Sequence[str], env: Mapping[str, str]) -> AsyncIterator[tuple[Any, Any]]:
    """Streams to a server on its stdin and stdout. Its environment is what was registered and nothing else.

    The SDK's own way hands on PATH, HOME and more, and its gentle shutdown can be cut short by a cancel; here the whole
    process group is killed whatever happens.
    """
    import anyio

    process = await asyncio.create_subprocess_exec(
        *command,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
        env=dict(env),
        start_new_session=True,
        limit=MAX_BYTES,
    )
    pumps: list[asyncio.Task[None]] = []
    try:
        received, incoming = anyio.create_memory_object_stream[Any](16)
        outgoing, sent = anyio.create_memory_object_stream[Any](16)
        pumps = [asyncio.create_task(_listen(process, received)), asyncio.create_task(_speak(process, sent))]
        yield incoming, outgoing
        assert process.stdin is not None
        process.stdin.close()
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(process.wait(), _GRACE_S)
    finally:
        for pump in pumps:
            pump.cancel()
        await kill_process_group(process)
        await asyncio.gather(*pumps, return_exceptions=True)


async def _listen(process: asyncio.subprocess.Process, received: Any) -> None:
    import anyio
    from mcp.shared.message import SessionMessage
    from mcp_types import jsonrpc_message_adapter

    assert process.stdout is not None
    async with received:
        with contextlib.suppress(ValueError, OSError, anyio.BrokenResourceError, anyio.ClosedResourceError):
            async for line in process.stdout:  # ValueError: a line longer than the limit
                try:
                    message: Any = SessionMessage(jsonrpc_message_adapter.validate_json(line, by_name=False))
                except ValueError:
                    continue  # what a server prints besides its protocol is no message
                await received.send(message)


async def _speak(process: asyncio.subprocess.Process, sent: Any) -> None:
    assert process.stdin is not None
    async with sent:
        with contextlib.suppress(OSError):
            async for message in sent:
                text = message.message.model_dump_json(by_alias=True, exclude_unset=True)
                process.stdin.write(text.encode() + b"\n")
                await process.stdin.drain()


def http_client(
    egress: EgressPolicy, headers: Mapping[str, str], timeout_s: float, ca_file: str | None
) -> httpx2.AsyncClient:
    """A client whose every connection goes to a checked address, and whose answers have a limit."""
    transport, trace = _Checked(egress, ca_file), traceparent()
    every = {**headers, "traceparent": trace} if trace is not None else dict(headers)
    return httpx2.AsyncClient(transport=transport, headers=every, timeout=timeout_s, trust_env=False)


class _Checked(httpx2.AsyncBaseTransport):
    def __init__(self, egress: EgressPolicy, ca_file: str | None) -> None:
        self._pool = httpcore2.AsyncConnectionPool(tls_context(ca_file), network_backend=CheckedBackend(egress))

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        url = request.url
        if url.userinfo:
            raise CallRefused("HTTP_URL", "validation", "the URL holds credentials; register them as a secret")
        target = httpcore2.URL(scheme=url.raw_scheme, host=url.raw_host, port=url.port, target=url.raw_path)
        request.headers["Accept-Encoding"] = "identity"
        try:
            answer = await self._pool.handle_async_request(
                httpcore2.Request(
                    request.method,
                    target,
                    headers=request.headers.raw,
                    content=request.stream,
                    extensions=request.extensions,
                )
            )
        except httpcore2.TimeoutException as error:
            raise httpx2.ReadTimeout(str(error), request=request) from None
        except (httpcore2.NetworkError, httpcore2.ProtocolError) as error:
            raise httpx2.ConnectError(str(error), request=request) from None
        return httpx2.Response(answer.status, headers=answer.headers, stream=_Limited(answer))

    async def aclose(self) -> None:
        await self._pool.aclose()


class _Limited(httpx2.AsyncByteStream):
    def __init__(self, answer: httpcore2.Response) -> None:
        self._answer, self._left = answer, MAX_BYTES

    async def __aiter__(self) -> AsyncIterator[bytes]:
        try:
            async for part in self._answer.aiter_stream():
                self._left -= len(part)
                if self._left < 0:
                    raise httpx2.ReadError(f"the answer is larger than {MAX_BYTES} bytes")
                yield part
        except (httpcore2.NetworkError, httpcore2.ProtocolError, httpcore2.TimeoutException) as error:
            raise httpx2.ReadError(str(error)) from None

    async def aclose(self) -> None:
        await self._answer.aclose()
