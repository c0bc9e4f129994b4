"""subProcess: drawn inside (a scope), or called (another definition, an instance of its own; P-X.4)."""

from __future__ import annotations

from typing import Any

import msgspec

from penstock.errors import Place
from penstock.lang.contract import Lowered
from penstock.lang.process.lowering_context import LoweringContext
from penstock.lang.process.nodes.contract import ElementType, Fragment, plain
from penstock.lang.process.nodes.parts import VARIABLES, activity_of, body_of, scope_of, work_of
from penstock.lang.process.schema import Element
from penstock.net.codec import content_hash
from penstock.net.model import Body, Effect, Set


def lower_embedded(site: LoweringContext) -> Fragment:
    """What lies in it is lowered by itself; it begins at `entry_of` its level."""
    f = activity_of(site)
    entry = begin_of(site.id) if site.shared.graph.event_handlers(site.id) else entry_of(site.id)
    body = Body(mode="one", entry=entry) if f.multi is None else body_of(f.multi, entry, site)
    sets = (Set(name=f.multi.collect, expr="output"),) if f.multi is not None and f.multi.collect else ()
    return plain(scope_of(site, body, sets))


def entry_of(level: str) -> str:
    """The node at which a level begins when nothing of the author's is."""
    return f"{level}.start"


def begin_of(level: str) -> str:
    """The node before what runs while a level listens for events."""
    return f"{level}.begin"


def named_item(element: Element) -> tuple[Set, ...]:
    """What an instance of a sub-process keeps of its item: the name its author has given it."""
    multi = element.activity.multi if element.activity is not None else None
    named = multi is not None and multi.item not in ("", "item")
    return (Set(name=multi.item, expr="item"),) if named and multi is not None else ()


def lower_call(site: LoweringContext) -> Fragment:
    """The item stays IN_PROGRESS until the child instance ends; a child that is TERMINATED is a failure."""
    f, given = activity_of(site), site.element.orchestration
    child = _child(site)
    args: dict[str, Any] = {
        "net": content_hash(child.net) if child is not None else "",
        "name": given.sub_process or "",
        "input": VARIABLES if given.input is None else site.value(given.input, "orchestration/input"),
    }
    if given.output:
        args["variables"] = dict(given.output)
    fragment = work_of(site, Effect(executor="call", args=args), agent=True)
    limited = "timeout_s" in (f.orchestration or {})
    return fragment if limited else fragment.changed(fragment.core, timeout_ms=None)


def _child(site: LoweringContext) -> Lowered | None:
    given, call = site.element.orchestration, site.shared.setting.call
    if not given.sub_process:
        hint = 'Write `"orchestration": {"sub_process": "…"}`, or draw elements whose `parent` it is.'
        site.error("sub_process_missing", f"«{site.element.name}» calls nothing and holds nothing.", hint=hint)
        return None
    if call is None:
        return None
    wanted = given.sub_process if given.version is None else f"{given.sub_process}@{given.version}"
    lowered, found = call(wanted)
    place = site.shared.report.document.place(site.at("orchestration/sub_process"))
    for one in found:
        if one.rule == "file_not_found":
            hint = "Release the called process first, or correct its id."
            message = f"There is no process «{wanted}» to call."
            site.error("sub_process_unknown", message, "orchestration/sub_process", hint=hint)
            continue
        inside = f"In «{wanted}» at {one.where}: {one.message}" if one.where != Place() else one.message
        site.shared.report.findings.append(msgspec.structs.replace(one, message=inside, where=place, node=site.id))
    if lowered is not None:
        site.shared.children |= {**lowered.children, content_hash(lowered.net): lowered.net}
    return lowered


EMBEDDED = ElementType("subProcess", lower_embedded, "Holds elements of its own.")
CALL_ACTIVITY = ElementType("callActivity", lower_call, "Calls another process.", work=True)
