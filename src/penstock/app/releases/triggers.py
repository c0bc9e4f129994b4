"""What starts runs: events, webhooks, schedules and people; what is wrong with a trigger, and what it registers."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import msgspec

from penstock.app.runs.start_input import (
    checked_input,
    checked_tenant,
    deployed_options,
    run_options,
    with_defaults,
    with_used,
    zone_of_tenant,
)
from penstock.dialects import dialect_of
from penstock.errors import BadInput, Finding, Place, ProcessState
from penstock.host.artifact_versions import registered
from penstock.host.event_delivery import Reached
from penstock.host.nets import Nets
from penstock.host.schedules import next_time
from penstock.host.starter import Prepare
from penstock.host.tenants import Tenants
from penstock.net.model import Net
from penstock.store.contract import Store
from penstock.store.events import EventRow
from penstock.store.releases import SEVERAL_NAMES, ReleaseRow
from penstock.store.schedules import ScheduleRow

#: W-3.2.4: where a workflow is started from outside, unless its trigger says otherwise.
WEBHOOK_PATH = "/api/v1/workflows/{workflow_id}/trigger"
_LONGEST = 200  # of an event's id and source
_AT = "/trigger/config"
_pack = msgspec.msgpack.Encoder().encode
_unjson = msgspec.json.decode


# ---- events ----------------------------------------------------------------------------------------------------------


class EventReceipt(msgspec.Struct, frozen=True):
    """What became of an event. `new` is false when one with its id had come before; `resumed` and `started` are ids of
    runs, complete when it is delivered; `imported` are the models that it has brought."""

    number: int
    id: str
    new: bool
    delivered: bool
    resumed: list[str] = []
    started: list[str] = []
    warnings: list[str] = []
    imported: list[str] = []


def event_row(tenant: str, source: str, payload: Any, id: str | None, now: int) -> EventRow:
    """An event as it is kept. Without an id it gets one that no other has."""
    for what, text in (("the source", source), ("the id", "-" if id is None else id)):
        if not text.strip() or len(text) > _LONGEST:
            raise BadInput(what=what, why=f"it has 1 to {_LONGEST} letters")
    try:
        body = _pack(payload)
    except (TypeError, OverflowError, ValueError, RecursionError) as error:
        raise BadInput(what="the payload", why=str(error)) from error
    return EventRow(tenant, f"evt_{secrets.token_hex(12)}" if id is None else id, source, body, now)


def receipt_of(store: Store, event: EventRow, new: bool) -> EventReceipt:
    row = store.event(event.tenant, event.id)
    assert row is not None, "an event stays for a while"
    reached = Reached() if row.answer is None else msgspec.msgpack.decode(row.answer, type=Reached)
    return EventReceipt(
        row.no, row.id, new, row.answer is not None, reached.resumed, reached.started, reached.warnings
    )  # fmt: skip


def prepare_with(store: Store, nets: Nets, tenants: Tenants) -> Prepare:
    """Checks the input of runs that the host starts by itself, and gives them the tenant's settings."""

    def prepare(tenant: str, net: int, given: Any, run: str) -> tuple[Any, dict[str, Any]]:
        compiled = nets.get(net)
        checked_tenant(compiled.net, store, tenant)
        input, options = checked_input(compiled, given), run_options(compiled, store, tenant)
        return input, with_used(options, deployed_options(compiled, tenants.of(tenant), input, run))

    return prepare


# ---- releases --------------------------------------------------------------------------------------------------------


def active_release(store: Store, tenant: str, name: str) -> ReleaseRow | None:
    """The active version of a workflow."""
    return next(iter(store.releases(tenant, name, status="active")), None)


# ---- what a document's trigger says ----------------------------------------------------------------------------------


def trigger_of(document: Mapping[str, Any]) -> tuple[str, Mapping[str, Any]]:
    """The type and the config of a document's trigger; without one it is manual (W-3.1.3)."""
    trigger = document.get("trigger")
    if not isinstance(trigger, Mapping):
        return "manual", {}
    config = trigger.get("config")
    return str(trigger.get("type", "manual")), config if isinstance(config, Mapping) else {}


def listens_to(document: Mapping[str, Any]) -> str | None:
    """The source of the events that start it."""
    kind, config = trigger_of(document)
    return str(config["source"]) if kind == "event" and isinstance(config.get("source"), str) else None


def trigger_findings(language: str, document: Mapping[str, Any]) -> list[Finding]:
    """The findings about a trigger when it is registered; its form was checked by its language."""
    problems = dialect_of(language).trigger_problems(*trigger_of(document))
    return [_error(rule, message, at) for rule, message, at in problems]


def _error(rule: str, message: str, at: str) -> Finding:
    return Finding(rule, "error", message, Place(_AT + at), "Correct the trigger's config.", category="semantic")


# ---- messages --------------------------------------------------------------------------------------------------------


def begins_of(net: Net) -> Sequence[Mapping[str, Any]]:
    """What starts a run without a call, as the net declares it: timers, messages and signals."""
    return dialect_of(net.language).begins(net)


def listens_by(net: Net) -> str | None:
    """P-X.25: the message or signal that begins a process, or that there are several of them."""
    names = {str(begins["name"]) for begins in begins_of(net) if begins.get("name")}
    return SEVERAL_NAMES if len(names) > 1 else next(iter(names), None)


def refuse_message(
    store: Store, tenant: str, name: str, net: Net, net_of: Callable[[int], Net], others: Iterable[ReleaseRow] = ()
) -> None:
    """Raises ProcessState where the same message begins another process in force: it could begin only one. Signals
    begin all that listen, and messages may be told apart by what is in them. `others` come in force with it."""
    for begins in begins_of(net):
        if begins.get("trigger") != "message":
            continue
        for row in (*store.releases(tenant, status="active", listens=str(begins["name"])), *others):
            same = any(_same_message(begins, other) for other in begins_of(net_of(row.net)))
            if row.name != name and row.kind is not None and same:
                why = f"The message «{begins['name']}» begins «{row.name}» already: give one of the two a correlation"
                raise ProcessState(why=why)


def _same_message(begins: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    return all(other.get(name) == begins.get(name) for name in ("trigger", "name", "correlation"))


# ---- webhooks --------------------------------------------------------------------------------------------------------


class RateLimit(msgspec.Struct, frozen=True):
    """So many requests in a window of time."""

    requests: int
    window_sec: float


class Webhook(msgspec.Struct, frozen=True):
    """Where an active workflow is started from outside, for whoever serves HTTP."""

    name: str
    version: int
    net: int
    method: str
    path: str
    auth: str
    rate: RateLimit | None = None


def webhook_of(row: ReleaseRow) -> Webhook | None:
    kind, config = trigger_of(_unjson(row.document))
    if kind != "webhook":
        return None
    rate = config.get("rate_limit")
    limit = RateLimit(rate.get("requests", 100), rate.get("window_sec", 60)) if rate else None
    path = str(config.get("path") or WEBHOOK_PATH).replace("{workflow_id}", row.name)
    return Webhook(
        row.name, row.version, row.net, str(config.get("method") or "POST").upper(), path,
        str(config.get("auth") or "bearer_token"), limit,
    )  # fmt: skip


def webhooks(store: Store, tenant: str) -> list[Webhook]:
    """W-3.2.4, W-3.2.8: every path that is registered now."""
    return [hook for row in store.releases(tenant, status="active") if (hook := webhook_of(row)) is not None]


# ---- schedules -------------------------------------------------------------------------------------------------------


def schedule_of(store: Store, row: ReleaseRow, net: Net, now: int, former: ScheduleRow | None) -> ScheduleRow | None:
    """The schedule that activating a release registers; a paused one stays paused."""
    document = _unjson(row.document)
    kind, config = trigger_of(document)
    timer = next((begins["timer"] for begins in begins_of(net) if begins.get("timer") is not None), None)
    if timer is not None:
        kind, config = "schedule", timer
    if kind != "schedule":
        return None
    zone = str(config.get("timezone") or zone_of_tenant(store, row.tenant))
    cron = str(config["cron"]) if timer is None else dialect_of(net.language).schedule_text(timer, zone, now)
    schedule = ScheduleRow(
        row.tenant, row.name, row.version, cron, zone, _pack(_inputs(store, row, config, document)),
        str(config.get("overlap", "allow")), str(config.get("catch_up", "one")),
        former.paused if former is not None else 0, former.last_at if former is not None else None, None,
    )  # fmt: skip
    return msgspec.structs.replace(schedule, next_at=next_time(schedule, now))


def _inputs(store: Store, row: ReleaseRow, config: Mapping[str, Any], document: Mapping[str, Any]) -> list[Any]:
    """The inputs of a schedule (C-31): the trigger's, else the tenant's, else the defaults of the input schema."""
    if config.get("inputs"):
        return list(config["inputs"])
    if "input" in config:
        return [config["input"]]
    given = _setting(store, row.tenant, "config", "tenant").get("schedule_inputs")
    own = given.get(row.name) if isinstance(given, Mapping) else None
    if own:
        return list(own) if isinstance(own, list) else [own]
    return [with_defaults({}, document.get("input_schema"))]


def _setting(store: Store, tenant: str, type: str, id: str) -> Mapping[str, Any]:
    body = registered(store, tenant, type, id)
    return body if isinstance(body, Mapping) else {}
