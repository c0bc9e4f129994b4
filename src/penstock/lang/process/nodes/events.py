"""Start, end, catch, throw and boundary events."""

from __future__ import annotations

from typing import Any

from penstock.expr.calendar import BadDate, moment_of
from penstock.expr.cron import zone_of
from penstock.lang.process.durations import cycle
from penstock.lang.process.fields import EventFields
from penstock.lang.process.lowering_context import LoweringContext, main_of, quoted
from penstock.lang.process.nodes.contract import KEPT, ElementType, Fragment, link, plain
from penstock.lang.process.nodes.messages import news_of, publish
from penstock.net.model import MERGE, Effect, Node, Trigger

#: How a terminate event ends a level whose scope is not the level itself.
TERMINATED = "PROCESS_TERMINATED"


def event_of(site: LoweringContext) -> EventFields:
    found = site.element.event
    assert found is not None, "an event is lowered as one"
    return found


def _base(site: LoweringContext, id: str = "") -> dict[str, Any]:
    f = event_of(site)
    own = {"id": id or site.id, "type": f"{f.position}Event", "label": f.name, "scope": site.scope, "join": MERGE}
    return {**own, "origin": site.id} if id else own


# ---- start and end ---------------------------------------------------------------------------------------------------


def lower_start(site: LoweringContext) -> Fragment:
    """P-X.8: at the top of a process what it is started with becomes its variables."""
    top = site.element.fields.parent == "" and site.scope == ""
    sets = KEPT if top else ()
    return plain(Node(**_base(site), kind="start", sets=sets))


def lower_end(site: LoweringContext) -> Fragment:
    f = event_of(site)
    if f.trigger in ("message", "signal", "compensation"):
        before = _thrown(site, f"{site.id}.throw")
        end = Node(**_base(site), kind="end")
        return Fragment((before, end), before.id, end.id, before.id, before.id, (link(before.id, end.id),))
    ends = {"none": "", "terminate": "terminate", "error": f"error:{code_of(site)}",
            "escalation": f"escalate:{code_of(site)}"}.get(f.trigger)  # fmt: skip
    if ends is None:
        _no_such(site, "end")
    if f.trigger == "terminate" and site.scope == main_of(site.element.fields.parent):
        ends = f"error:{TERMINATED}"
    return plain(Node(**_base(site), kind="end", ends=ends or ""))


# ---- catch and throw -------------------------------------------------------------------------------------------------


def lower_catch(site: LoweringContext) -> Fragment:
    """After an event-based gateway it has come already; else the run rests here until it does."""
    graph = site.shared.graph
    sources = [site.shared.definition.elements[f.fields.source].gateway for f in graph.ins[site.id]]
    if any(one is not None and one.type == "eventBasedGateway" for one in sources):
        return plain(Node(**_base(site)))
    if event_of(site).trigger not in ("timer", "message", "signal"):
        _no_such(site, "catch")
        return plain(Node(**_base(site)))
    return plain(Node(**_base(site), kind="wait", triggers=(trigger_of(site),), sets=KEPT))


def lower_throw(site: LoweringContext) -> Fragment:
    f = event_of(site)
    if f.trigger == "none":
        return plain(Node(**_base(site)))
    if f.trigger == "escalation":
        end = Node(**_base(site, f"{site.id}.throw"), kind="end", ends=f"escalate:{code_of(site)}")
        node = Node(**_base(site))
        return Fragment((node, end), node.id, node.id, node.id, node.id, (link(node.id, end.id),))
    if f.trigger not in ("message", "signal", "compensation"):
        _no_such(site, "throw")
        return plain(Node(**_base(site)))
    return plain(_thrown(site))


def _thrown(site: LoweringContext, id: str = "") -> Node:
    f = event_of(site)
    if f.trigger == "compensation":
        return Node(**_base(site, id), kind="undo", only=_only(site))
    name = name_of(site)
    effect: Effect = publish(site, f.trigger, name, f.payload)
    return Node(**_base(site, id), kind="task", effect=effect)


def _only(site: LoweringContext) -> tuple[str, ...]:
    from penstock.lang.process.nodes.parts import core_id

    f = event_of(site)
    if not f.activity:
        return ()
    target = site.shared.definition.elements.get(f.activity)
    if target is None or target.activity is None:
        hint = "Name an activity that has a compensation, or none: then everything is undone."
        site.error("compensation_target", f"There is no activity «{f.activity}» to undo.", "activity", hint=hint)
        return ()
    return (core_id(target),)


# ---- boundary --------------------------------------------------------------------------------------------------------


def lower_boundary(site: LoweringContext) -> Fragment:
    """The event itself is a place to pass; what makes it come true belongs to the activity."""
    f = event_of(site)
    sets = KEPT if f.trigger in ("message", "signal") else ()
    return plain(Node(**_base(site), sets=sets))


# ---- what makes an event come true -----------------------------------------------------------------------------------


def trigger_of(site: LoweringContext, **parts: Any) -> Trigger:
    """The timer, message, signal or escalation of an event as a trigger of the net."""
    f = event_of(site)
    if f.trigger == "timer":
        return _timer(site, parts)
    if f.trigger == "escalation":
        return Trigger(kind="escalation", name=code_of(site), **parts)
    return news_of(site, name_of(site), f.correlation, one=f.trigger == "message", **parts)


def _timer(site: LoweringContext, parts: dict[str, Any]) -> Trigger:
    """A catch event yields nothing when its time has come; others only leave by their port."""
    f = event_of(site)
    timer = f.timer
    given = [one for one in ("date", "duration", "cycle") if timer is not None and getattr(timer, one) is not None]
    if f.position == "catch":
        parts = {"action": "value", **parts}
    if timer is None or len(given) != 1:
        hint = 'Write `"timer": {"duration": "PT1H"}`.'
        site.error("missing_field", "A timer has one of «date», «duration» and «cycle».", hint=hint)
        return Trigger(**parts)
    if timer.cycle is not None:
        return _cycle(site, timer.cycle, parts)
    if timer.date is not None:
        return Trigger(at=_moment(site, timer.date), **parts)
    assert timer.duration is not None
    after, moment = site.duration(timer.duration, "timer/duration")
    return Trigger(after_ms=after, at=moment, **parts)


def _cycle(site: LoweringContext, text: str, parts: dict[str, Any]) -> Trigger:
    found = cycle(text)
    if found is None:
        hint = "Write R3/PT10M: every ten minutes, three times; R/PT10M has no end."
        site.error("bad_duration", f"«{text}» is not a cycle.", "timer/cycle", hint=hint)
        return Trigger(**parts)
    times, each = found
    if parts.get("interrupting", True) or event_of(site).position == "catch":
        return Trigger(after_ms=each, **parts)
    return Trigger(after_ms=each, repeat_ms=each, times=times, **parts)


def _moment(site: LoweringContext, text: str) -> str:
    if text.strip().startswith("${"):
        moment = site.expression(text, "timer/date") or "null"
    else:
        try:
            zone = zone_of("UTC")
            assert zone is not None, "UTC is in every table"
            moment_of(text, zone)
        except BadDate as wrong:
            hint = "Write 2026-11-15T09:00:00, with an offset or in the tenant's time zone, or ${…}."
            site.error("bad_duration", f"«{text}» is not a date: {wrong}.", "timer/date", hint=hint)
        moment = quoted(text)
    site.shared.carried.add("calendar")
    return f"fn.round(fn.date_diff({moment}, '1970-01-01T00:00:00Z', 'second') * 1000)"


def name_of(site: LoweringContext) -> str:
    """The name of the message or signal, written or by the id of its declaration."""
    f = event_of(site)
    news = site.shared.definition.news.get("signals" if f.trigger == "signal" else "messages", {})
    name = (f.signal or f.message) if f.trigger == "signal" else (f.message or f.signal)
    name = news.get(f.name_ref, name) if f.name_ref else news.get(name, name)
    if not name:
        hint = f'Write `"{f.trigger}": "…"`.'
        site.error("missing_field", f"The event «{site.element.name}» does not say which {f.trigger}.", hint=hint)
    return name


def code_of(site: LoweringContext) -> str:
    f = event_of(site)
    known = site.shared.definition.news.get("errors" if f.trigger == "error" else "escalations", {})
    code = known.get(f.name_ref, f.code) if f.name_ref else known.get(f.code, f.code)
    if not code and f.position in ("end", "throw") and f.trigger in ("error", "escalation"):
        return "ERROR" if f.trigger == "error" else "ESCALATION"
    return code


def _no_such(site: LoweringContext, position: str) -> None:
    f = event_of(site)
    message = f"«{site.element.name}» is a {position} event with the trigger {f.trigger}, which is not run here."
    hint = "Use another trigger, or remove it."
    site.error("bpmn_not_supported", message, "trigger", hint=hint)


START = ElementType("startEvent", lower_start, "Where a process or sub-process begins.")
END = ElementType("endEvent", lower_end, "Where a path ends; it may end more than its path.")
CATCH = ElementType("catchEvent", lower_catch, "Waits for a moment, a message or a signal.")
THROW = ElementType("throwEvent", lower_throw, "Sends, escalates or undoes, and goes on.")
BOUNDARY = ElementType("boundaryEvent", lower_boundary, "Comes true while its activity is open.")
