"""Spans for OpenTelemetry (W-10.2): made of committed turns, sent in batches as OTLP over HTTP in its JSON form.

The form is small enough to be written here, so no SDK is needed. A collector that does not answer costs spans and
nothing else: they are dropped when too many wait.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections import deque
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import httpx2
import msgspec

from penstock.app.metrics.tiles import type_of
from penstock.dialects import dialect_of
from penstock.dialects.net_nodes import is_companion, is_synthetic
from penstock.executors.parts.network.trace_context import hexed, span_id, trace_id
from penstock.kernel import fact as F
from penstock.kernel.state import COMPLETED, FAILURE, SETTLED, STATUS
from penstock.net.author import author

if TYPE_CHECKING:
    from penstock.host.embedded import Host
    from penstock.host.loaded_run import LoadedRun
    from penstock.kernel.run import Run

MOST = 20_000  # spans that wait
BATCH = 512
EVERY_S = 2.0
TIMEOUT_S = 5.0
_INTERNAL, _OK, _ERROR = 1, 1, 2
log = logging.getLogger("penstock.otel")


class Spans:
    """`endpoint` is the collector's, without /v1/traces. It is the operator's word, so it is trusted."""

    def __init__(self, endpoint: str, *, service: str = "penstock", headers: Mapping[str, str] | None = None) -> None:
        self.url = endpoint.rstrip("/") + "/v1/traces"
        self.service, self.headers = service, dict(headers or {})
        self.waiting: deque[dict[str, Any]] = deque()
        self.dropped = self.sent = 0
        self._task: asyncio.Task[None] | None = None

    def attach(self, host: Host) -> None:
        host.turns.on_facts.append(self._turn)
        host.turns.on_end.append(self._end)

    # -- made ----------------------------------------------------------------------------------------------------------

    def _turn(self, live: LoadedRun, facts: list[F.Fact], n: int, now: int) -> None:
        run = live.run
        if run is None or not run.ended:
            return
        answers = {fact[1]: fact[7] for fact in facts if fact[0] == F.SETTLED}
        dialect = dialect_of(run.net.net.language)
        for firing, how in run.ended:
            node = run.net.nodes[firing.node]
            if is_companion(node) or is_synthetic(node):
                continue
            attributes: dict[str, Any] = {
                "penstock.node": author(node), "penstock.node_type": type_of(node), "penstock.outcome": SETTLED[how],
                "penstock.attempt": firing.attempt,
            }  # fmt: skip
            answer = answers.get(firing.no)
            attributes |= dialect.span_attributes(answer) if isinstance(answer, Mapping) else {}
            self._put(
                run, author(node), span_id(run.effect_key(firing)), firing.at, now, how == FAILURE, attributes, True
            )

    def _end(self, live: LoadedRun) -> None:
        run = live.run
        if run is None:
            return
        st = run.st
        attributes: dict[str, Any] = {
            "penstock.workflow": run.net.net.name, "penstock.status": STATUS[st.status].lower(),
            "penstock.active_ms": st.active_ms,
        }  # fmt: skip
        if st.failure is not None:
            attributes["penstock.code"] = st.failure.code
        self._put(run, run.net.net.name, _root(run), live.started_at, st.at, st.status != COMPLETED, attributes, False)

    def _put(
        self,
        run: Run,
        name: str,
        span: str,
        began: int,
        ended: int,
        failed: bool,
        attributes: dict[str, Any],
        inner: bool,
    ) -> None:
        if len(self.waiting) >= MOST:
            self.dropped += 1
            return
        attributes |= {"penstock.run": run.st.run, "penstock.tenant": run.st.tenant}
        record: dict[str, Any] = {
            "traceId": trace_id(run.st.trace or run.st.run), "spanId": span, "name": name, "kind": _INTERNAL,
            "startTimeUnixNano": str(began * 1_000_000), "endTimeUnixNano": str(ended * 1_000_000),
            "attributes": [_attribute(key, value) for key, value in attributes.items()],
            "status": {"code": _ERROR if failed else _OK},
        }  # fmt: skip
        if inner:
            record["parentSpanId"] = _root(run)
        self.waiting.append(record)

    # -- sent ----------------------------------------------------------------------------------------------------------

    def begin(self) -> None:
        self._task = asyncio.ensure_future(self._run())

    async def _run(self) -> None:
        async with httpx2.AsyncClient(timeout=TIMEOUT_S, trust_env=False, headers=self.headers) as client:
            while True:
                await asyncio.sleep(EVERY_S)
                await self._send(client)

    async def _send(self, client: httpx2.AsyncClient) -> None:
        while self.waiting:
            batch = [self.waiting.popleft() for _ in range(min(BATCH, len(self.waiting)))]
            body = msgspec.json.encode(_request(self.service, batch))
            try:
                answer = await client.post(self.url, content=body, headers={"content-type": "application/json"})
                taken = answer.status_code < 400
            except httpx2.HTTPError as error:
                log.warning("spans were not taken: %s", type(error).__name__)
                taken = False
            if not taken:
                self.waiting.extendleft(reversed(batch))
                return
            self.sent += len(batch)

    async def close(self) -> None:
        """Send the waiting spans a last time."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
        with contextlib.suppress(Exception):
            async with httpx2.AsyncClient(timeout=TIMEOUT_S, trust_env=False, headers=self.headers) as client:
                await self._send(client)


def _root(run: Run) -> str:
    """The span of a run, as its trace names it."""
    return hexed(f"{run.st.tenant}/{run.st.run}", 16)


def _attribute(key: str, value: Any) -> dict[str, Any]:
    typed: dict[str, Any] = {"intValue": str(value)} if isinstance(value, int) else {"stringValue": str(value)}
    if isinstance(value, float):
        typed = {"doubleValue": value}
    return {"key": key, "value": typed}


def _request(service: str, spans: list[dict[str, Any]]) -> dict[str, Any]:
    resource = {"attributes": [_attribute("service.name", service)]}
    return {"resourceSpans": [{"resource": resource, "scopeSpans": [{"scope": {"name": "penstock"}, "spans": spans}]}]}


def of_settings(settings: Mapping[str, Any]) -> Spans:
    """`otel.endpoint`, `otel.service`; `otel.headers.NAME` for a collector that asks for a key."""
    prefix = "otel.headers."
    headers = {name.removeprefix(prefix): str(value) for name, value in settings.items() if name.startswith(prefix)}
    return Spans(
        str(settings["otel.endpoint"]), service=str(settings.get("otel.service") or "penstock"), headers=headers
    )
