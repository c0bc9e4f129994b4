"""Telemetry of the server: counts and log lines per request, alarms checked every few seconds, spans."""

from __future__ import annotations

import asyncio
import hmac
import logging
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from penstock.api.stream import EventHub
from penstock.app.metrics.alarms import EVERY_S, SHARE, Alarm, Alarms
from penstock.app.metrics.collector import MetricsCollector
from penstock.app.metrics.logs import fields
from penstock.app.penstock import Penstock
from penstock.errors import PenstockError
from penstock.executors.parts.network.trace_context import trace_id
from penstock.host.loaded_run import LoadedRun
from penstock.kernel.state import STATUS

if TYPE_CHECKING:
    from penstock.app.metrics.otel import Spans

#: how long effects on their way have to end when the server stops
EFFECTS_S = 10.0
log = logging.getLogger("penstock.http")
runs = logging.getLogger("penstock.runs")
watch = logging.getLogger("penstock.alarms")


class Telemetry:
    """Made when the door is open and before the engine's first turn."""

    def __init__(self, door: Penstock, hub: EventHub) -> None:
        self.hub = hub
        self.meter = MetricsCollector(door.store)
        self.meter.attach(door.host)
        self.alarms = Alarms(self.meter, door.host, self._alarm_changed)
        self.token = str(door.settings.get("metrics.token") or "")
        self.spans: Spans | None = None
        if door.settings.get("otel.endpoint"):
            from penstock.app.metrics import otel  # only where it is asked for

            self.spans = otel.of_settings(door.settings)
            self.spans.attach(door.host)
            self.spans.begin()
        if runs.isEnabledFor(logging.INFO):
            door.host.turns.on_end.append(_log_end)
        self._task = asyncio.ensure_future(self._check_alarms())

    async def _check_alarms(self) -> None:
        while True:
            began = time.monotonic()
            try:
                self.alarms.look()
            except PenstockError as error:  # the store has trouble, which is reported elsewhere; it is tried again
                watch.warning("alarms could not be looked at: %s", error.code)
            took = time.monotonic() - began
            await asyncio.sleep(max(EVERY_S, took / SHARE))

    def _alarm_changed(self, tenant: str, alarm: Alarm) -> None:
        raised = alarm.cleared_at is None
        record = fields(tenant=tenant, metric=alarm.metric, value=alarm.value)
        watch.warning("alarm %s: %s of %s", "raised" if raised else "cleared", alarm.metric, tenant, extra=record)
        state = "raised" if raised else "cleared"
        data = {"id": alarm.id, "metric": alarm.metric, "state": state, "value": alarm.value}
        self.hub.publish(tenant, "alarm", {**data, "at": alarm.raised_at if raised else alarm.cleared_at})

    def is_scraper(self, given: str) -> bool:
        """Whether this is the scraper's token."""
        return bool(self.token) and hmac.compare_digest(given.encode(), self.token.encode())

    async def close(self) -> None:
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)
        if self.spans is not None:
            await self.spans.close()


def _log_end(loaded: LoadedRun) -> None:
    run = loaded.run
    if run is None:
        return
    st, net = run.st, run.net.net
    record = fields(
        event="run", run=loaded.id, name=net.name, language=net.language, status=STATUS[st.status].lower(),
        tenant=loaded.tenant, active_ms=st.active_ms, facts=st.n, trace=trace_id(st.trace or st.run),
        code=st.failure.code if st.failure is not None else None,
    )  # fmt: skip
    runs.info("run ended", extra=record)


class RequestTelemetry:
    """The outermost middleware: counts and logs every response, also those that no route has given."""

    def __init__(self, app: ASGIApp, telemetry: Callable[[], Telemetry | None]) -> None:
        self.app, self.telemetry = app, telemetry

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        began, status = time.perf_counter(), 500

        async def sent(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            await self.app(scope, receive, sent)
        finally:
            self._record(scope, status, (time.perf_counter() - began) * 1000)

    def _record(self, scope: Scope, status: int, ms: float) -> None:
        route, method = _route_pattern(scope), str(scope["method"])
        method = method if method in _METHODS else "other"
        telemetry = self.telemetry()
        if telemetry is not None:
            telemetry.meter.requested(method, route, status, ms)
        if log.isEnabledFor(logging.INFO):
            state = scope.get("state") or {}
            who = state.get("caller")
            record = fields(
                event="request", method=method, route=route, status=status, ms=round(ms, 2),
                tenant=who.tenant if who is not None else None, user=who.user if who is not None else None,
                trace=state.get("trace_id"),
            )  # fmt: skip
            log.info("%s %s %d", method, route, status, extra=record)


_METHODS = frozenset({"GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"})


def _route_pattern(scope: Scope) -> str:
    """The route's pattern, never the path: that may hold what somebody typed."""
    route = str(getattr(scope.get("route"), "path", "") or "")
    if not route:
        return "none"
    if str(scope["path"]).startswith("/api/") and not route.startswith("/api/"):
        return f"/api/v1{route}"
    return route
