"""Alarms (W-10.1.1, P-8): the seeds' thresholds, compared strictly; raised once, cleared once, and kept over a restart.

How the alarms of a tenant stand is one row of the store, written in the commit that also holds the message about it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import msgspec

from penstock.app.language import MetricThreshold
from penstock.app.metrics.collector import MetricsCollector
from penstock.app.metrics.readings import Readings
from penstock.dialects.notice import Notice
from penstock.store.run_store import Batch

if TYPE_CHECKING:
    from penstock.host.embedded import Host

EVERY_S = 15.0
#: an evaluation takes at most this part of the engine's time: where it is slow it comes more seldom
SHARE = 0.01
RECENT = 100
KEPT_MS = 400 * 86_400_000
_pack = msgspec.msgpack.Encoder().encode


RULES = (
    MetricThreshold("workflow_success_rate", True, 0.95, "ratio"),
    MetricThreshold("workflow_duration_seconds", False, 60, "s"),
    MetricThreshold("workflow_waiting_count", False, 100, "runs"),
    MetricThreshold("node_error_rate", False, 0.05, "ratio"),
    MetricThreshold("node_duration_seconds", False, 10, "s"),
    MetricThreshold("approval_pending_count", False, 50, "approvals"),
    MetricThreshold("approval_timeout_rate", False, 0.10, "ratio"),
    MetricThreshold("circuit_breaker_open_count", False, 0, "breakers"),
    MetricThreshold("dlq_message_count", False, 10, "letters"),
    MetricThreshold("checkpoint_size_bytes", False, 10 * 1024 * 1024, "bytes"),
)


class Alarm(msgspec.Struct, kw_only=True):
    """`value` is what it was raised at. Without `cleared_at` it is open."""

    id: str
    metric: str
    value: float
    threshold: float
    comparison: str
    unit: str
    detail: str = ""
    raised_at: int
    cleared_at: int | None = None


class AlarmState(msgspec.Struct):
    open: dict[str, Alarm] = {}
    recent: list[Alarm] = []  # cleared, the newest first


Told = Callable[[str, Alarm], None]


class Alarms:
    def __init__(self, meter: MetricsCollector, host: Host, notify: Told | None = None) -> None:
        self.meter, self.host, self.told = meter, host, notify
        self.stands: dict[str, AlarmState] = {}

    def of(self, tenant: str) -> AlarmState:
        state = self.stands.get(tenant)
        if state is None:
            row = self.host.store.memo(_key(tenant), self.host.clock.now())
            kept = row[0] if row is not None else None
            state = AlarmState() if kept is None else msgspec.msgpack.decode(kept, type=AlarmState)
            self.stands[tenant] = state
        return state

    def look(self) -> list[Alarm]:
        """Evaluate every rule for every tenant; the alarms raised or cleared. Costs one read of the gauges."""
        now = self.host.clock.now()
        self.meter.tick(now)
        gauges = self.meter.gauges()
        tenants = {*self.meter.of, *(row[0] for row in gauges.runs + gauges.versions)}
        tenants |= {row[0] for row in gauges.letters}
        changed: list[Alarm] = []
        for tenant in sorted(tenants):
            read = Readings(self.meter, tenant, now, gauges)
            changed += self._compared(tenant, measured(read) | measured_of_languages(read), now)
        return changed

    def _compared(self, tenant: str, measurements: Mapping[str, tuple[float, bool, str]], now: int) -> list[Alarm]:
        stand = self.of(tenant)
        open_, changed = dict(stand.open), list[Alarm]()
        for rule in (*RULES, *(line for figures in self.meter.figures for line in figures.thresholds)):
            value, raised, detail = measurements.get(rule.metric, (0.0, False, ""))
            held = open_.get(rule.metric)
            if raised and held is None:
                open_[rule.metric] = alarm = _raised(tenant, rule, value, detail, now)
                changed.append(alarm)
            elif not raised and held is not None:
                del open_[rule.metric]
                changed.append(msgspec.structs.replace(held, cleared_at=now))
        if changed:
            cleared = [alarm for alarm in changed if alarm.cleared_at is not None]
            self._keep(tenant, AlarmState(open_, [*cleared, *stand.recent][:RECENT]), changed, now)
        return changed

    def _keep(self, tenant: str, stand: AlarmState, changed: list[Alarm], now: int) -> None:
        """Commit the state and its messages together, so that what is kept and what is sent cannot differ."""
        batch = Batch()
        batch.memo.append((_key(tenant), _pack(stand), now + KEPT_MS))
        for alarm in changed if self._has_channel(tenant) else ():
            self.host.notices.write(_notice(tenant, alarm), 0, 0, batch)
        for alarm in changed:
            for number, channel in enumerate(self._channels(tenant, alarm.metric)):
                self.host.notices.write(_told_by(channel, _notice(tenant, alarm), number), 0, 0, batch)
        self.host.store.commit(batch)
        self.stands[tenant] = stand
        if self.host.notices.wrote:
            self.host.notices.kick()
        for alarm in changed if self.told is not None else ():
            assert self.told is not None
            self.told(tenant, alarm)

    def _channels(self, tenant: str, metric: str) -> list[Mapping[str, Any]]:
        """Those that the language of the metric names beside the tenant's own; a log hears of every alarm anyway."""
        mine = [each for each in self.meter.figures if any(line.metric == metric for line in each.thresholds)]
        return [channel for figures in mine for channel in figures.channels(tenant) if channel["type"] != "log"]

    def _has_channel(self, tenant: str) -> bool:
        """Whether the tenant has named channels for alarms; without one no message is written."""
        notification = (self.host.tenants(tenant).find("config", "tenant") or {}).get("notification")
        return isinstance(notification, Mapping) and bool(notification.get("escalation_channels"))


def measured(read: Readings) -> dict[str, tuple[float, bool, str]]:
    """By metric: its value, whether it is beyond the threshold, and a detail. A metric without a value is left out."""
    run, node = read.duration(60_000), read.node_duration(10_000)
    values: dict[str, float | None] = {
        "workflow_success_rate": read.success_rate(), "workflow_waiting_count": read.waiting(),
        "node_error_rate": read.node_error_rate(), "approval_pending_count": read.pending_approvals(),
        "approval_timeout_rate": read.timeout_rate(), "circuit_breaker_open_count": read.breakers(),
        "dlq_message_count": read.letters(), "checkpoint_size_bytes": read.checkpoint(),
    }  # fmt: skip
    measurements = {
        rule.metric: (float(value), rule.beyond(value), "")
        for rule in RULES
        if (value := values.get(rule.metric)) is not None
    }
    if run.ms is not None:
        measurements["workflow_duration_seconds"] = (run.ms / 1000, run.beyond, "p99")
    if node.ms is not None:
        measurements["node_duration_seconds"] = (node.ms / 1000, node.beyond, f"p99 {node.type}")
    return measurements


def measured_of_languages(read: Readings) -> dict[str, tuple[float, bool, str]]:
    """The same for the thresholds that the languages define."""
    return {
        line.metric: (float(value), line.beyond(value), "")
        for figures, numbers in read.of_languages()
        for line in figures.thresholds
        if (value := numbers.values()[line.metric]) is not None
    }


def _raised(tenant: str, rule: MetricThreshold, value: float, detail: str, now: int) -> Alarm:
    return Alarm(
        id=f"{rule.metric}-{now}", metric=rule.metric, value=round(value, 6), threshold=rule.threshold,
        comparison="<" if rule.below else ">", unit=rule.unit, detail=detail, raised_at=now,
    )  # fmt: skip


def _notice(tenant: str, alarm: Alarm) -> Notice:
    word = "raised" if alarm.cleared_at is None else "cleared"
    text = f"Alarm {word}: {alarm.metric} {alarm.comparison} {alarm.threshold:g} {alarm.unit} (was {alarm.value:g})"
    key = f"alarm/{tenant}/{alarm.id}/{word}"
    return Notice(
        key=key, tenant=tenant, run="", subject=f"[Penstock] {alarm.metric} {word}", text=text, escalates=True
    )


def _told_by(channel: Mapping[str, Any], notice: Notice, number: int) -> Notice:
    to = {name: value for name, value in channel.items() if name != "type"}
    config = {**to, "subject": notice.subject} if "url" not in to else {**to, "body": {"alarm": notice.text}}
    args = {"channel": channel["type"], "config": config, "message": notice.text}
    key = f"{notice.key}/{number}"
    return Notice(key=key, tenant=notice.tenant, run="", subject=notice.subject, text=notice.text, args=args)


def _key(tenant: str) -> str:
    return f"alarms:{tenant}"
