"""What activities share: the work item with its data, its candidates and its time, and several instances of one."""

from __future__ import annotations

import re
from typing import Any

import msgspec

from penstock.lang.process.fields import ActivityFields, DataUse, Multi, ProcessData, ProcessRole
from penstock.lang.process.lowering_context import LoweringContext
from penstock.lang.process.names import COUNTS
from penstock.lang.process.nodes.contract import KEPT, Fragment, link
from penstock.lang.process.schema import Element
from penstock.net.model import ALL, MERGE, Body, Edge, Effect, Node, Set, Trigger, Work

#: P-X.13
RULES = ("round_robin", "least_loaded", "initiator")
CHOSEN = ("round_robin", "least_loaded")
#: how often an item that is due goes to others: as long as it is open
ALWAYS = 1_000_000
VARIABLES = {"$expr": "context.variables"}
_TARGET = re.compile(r"(user|role|group):\S")
#: so many instances a count may ask for
_DIGITS = "0" * 1000
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")


def activity_of(site: LoweringContext) -> ActivityFields:
    found = site.element.activity
    assert found is not None, "an activity is lowered as one"
    return found


# ---- the work item ---------------------------------------------------------------------------------------------------


def work_of(
    site: LoweringContext, effect: Effect, *, agent: bool, approve: bool = False, modes: bool = False
) -> Fragment:
    """The activity's work item: what is read before it, who may do it, how long, and what is written after it."""
    f, orchestration = activity_of(site), site.element.orchestration
    id = core_id(site.element)
    chosen, candidates = _candidates(f, site)
    data = {"$expr": "input_data"} if f.input_data else {}
    prompt: dict[str, Any] = {
        "kind": "work",
        "title": site.element.name,
        "instruction": f.instruction,
        "form": site.literal(f.form, "form"),
        "data": data,
        "activity_id": site.id,
        "activity_type": f.type,
        "agent_mode": f.agent_mode,
        "agent": f.agent,
        "role": f.role,
        "priority": f.priority,
        "due": _due(f, site),
        "approvers": _targets(orchestration.approvers, "orchestration/approvers", site),
    }
    if f.multi is not None:
        prompt["item"] = {"$expr": "item"}
    node = Node(
        **base_of(site, id), kind="work", effect=effect, timeout_ms=max(1, round(orchestration.timeout_s * 1000)),
        work=Work(agent=agent, approve=approve, modes=modes, candidates=candidates, prompt=prompt),
        triggers=_escalation(f, site), sets=KEPT,
    )  # fmt: skip
    return repeated(_around(node, f, site, chosen), f, site)


def core_id(element: Element) -> str:
    """An activity of several instances is a scope; what is done for each of them lies in it."""
    f = element.activity
    return f"{element.id}.each" if f is not None and f.multi is not None else element.id


def base_of(site: LoweringContext, id: str) -> dict[str, Any]:
    """What every node of an activity has."""
    f = activity_of(site)
    own = {"id": id, "type": f.bpmn or f.type or "", "label": f.name, "join": MERGE}
    own["scope"] = site.id if f.multi is not None and id != site.id else site.scope
    return own if id == site.id else {**own, "origin": site.id}


def _around(node: Node, f: ActivityFields, site: LoweringContext, chosen: Node | None) -> Fragment:
    """P-X.42: data is read before the work, by whom it is done is chosen beside that, and results are written after."""
    before = [one for one in (_reading(f, site, node), chosen) if one is not None]
    nodes: list[Node] = [*before, node]
    edges: list[Edge] = []
    entry, exit = node.id, node.id
    if len(before) == 2:
        entry = f"{node.id}.before"
        nodes.insert(0, Node(**{**base_of(site, entry), "type": ""}))
        edges += [link(entry, one.id) for one in before]
        nodes[-1] = msgspec.structs.replace(node, join=ALL)
    elif before:
        entry = before[0].id
    edges += [link(one.id, node.id, var="input_data" if one.id.endswith(".in") else "assigned") for one in before]
    if f.output_data:
        args = {
            "op": "write", "data": data_of(f.output_data, "output_data", site), "result": {"$expr": "default"},
            "variables": VARIABLES,
        }  # fmt: skip
        written = Node(
            **base_of(site, f"{node.id}.out"), kind="task", effect=Effect(executor="process_data", args=args)
        )
        nodes.append(written)
        edges.append(link(node.id, written.id))
        exit = written.id
    return Fragment(tuple(nodes), entry, exit, node.id, node.id, tuple(edges))


def _reading(f: ActivityFields, site: LoweringContext, node: Node) -> Node | None:
    if not f.input_data:
        return None
    args = {"op": "read", "data": data_of(f.input_data, "input_data", site), "variables": VARIABLES}
    return Node(**base_of(site, f"{node.id}.in"), kind="task", effect=Effect(executor="process_data", args=args))


def data_of(given: list[DataUse], path: str, site: LoweringContext) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    for i, one in enumerate(given):
        shared = site.shared.definition.data.get(one.name)
        whole: ProcessData = one if one.source or one.type or shared is None else shared
        for name in ("type", "source"):
            if not getattr(whole, name):
                hint = f"Write `{name}: …` here, or name a source of the process's `data`."
                site.error("missing_field", f"«{name}» is missing.", f"{path}/{i}", hint=hint)
        connection, mark, _ = whole.source.partition("#")
        if mark and connection.strip():
            site.shared.depends.append(("connection", connection.strip(), site.at(f"{path}/{i}/source")))
        fields = list(one.fields or whole.fields)
        found.append({"name": one.name, "type": whole.type, "source": whole.source, "fields": fields})
    return found


# ---- who -------------------------------------------------------------------------------------------------------------


def role_of(f: ActivityFields, site: LoweringContext) -> ProcessRole | None:
    """The role by its id, its name or a lane; a lane gives its role to what lies in it."""
    definition = site.shared.definition
    wanted = f.role or definition.laned.get(site.id)
    if not wanted:
        return None
    lanes = {lane.id: lane.role or lane.name for lane in definition.lanes}
    for name in (wanted, lanes.get(wanted, "")):
        if name in definition.roles:
            return definition.roles[name]
        by_name = [role for role in definition.roles.values() if role.name == name]
        if by_name:
            return by_name[0]
    return None


def _candidates(f: ActivityFields, site: LoweringContext) -> tuple[Node | None, Any]:
    """P-X.13: nobody in particular, a person, the one who has begun it, or one of a role whom the host chooses."""
    role = role_of(f, site)
    rule = role.assignment_rule if role is not None else None
    if role is None or not rule:
        return None, None
    if rule == "initiator":
        return None, _user("sys.trigger.initiator")
    if rule in CHOSEN:
        args = {"rule": rule, "role": role.id, "role_name": role.name, "activity_id": site.id}
        id = f"{core_id(site.element)}.assign"
        chosen = Node(**base_of(site, id), kind="task", effect=Effect(executor="assign", args=args))
        return chosen, _user("assigned.user")
    return None, {"type": "any_of", "targets": [rule]}


def _user(expr: str) -> dict[str, Any]:
    """One person, if there is one; else anybody who may."""
    who = f"{{'type': 'any_of', 'targets': [fn.concat('user:', {expr})]}}"
    return {"$expr": f"fn.if(fn.is_null({expr}), null, {who})"}


def _targets(given: list[str], path: str, site: LoweringContext) -> list[str]:
    for i, one in enumerate(given):
        if not _TARGET.match(one):
            hint = "Write user:ID, role:NAME or group:NAME."
            site.error("bad_target", f"«{one}» names nobody.", f"{path}/{i}", hint=hint)
    return list(given)


# ---- how long --------------------------------------------------------------------------------------------------------


def _due(f: ActivityFields, site: LoweringContext) -> Any:
    if f.due is None:
        return None
    after, moment = site.duration(f.due, "due")
    return {"$expr": moment or f"sys.now + {after}"}


def _escalation(f: ActivityFields, site: LoweringContext) -> tuple[Trigger, ...]:
    """An item that is due goes to others, who have the same time again."""
    targets = _targets(f.escalate_to, "escalate_to", site)
    if f.escalate_to and f.due is None:
        hint = "Write `due: PT8H` beside it."
        site.warning("idle_field", "«escalate_to» is used only with «due».", "escalate_to", hint=hint)
    if f.due is None or not targets:
        return ()
    after, moment = site.duration(f.due, "due")
    others = {"type": "any_of", "targets": targets}
    return (Trigger(after_ms=after, at=moment, action="reopen", times=ALWAYS, value=others, code="DUE"),)


# ---- several instances -----------------------------------------------------------------------------------------------


def repeated(inner: Fragment, f: ActivityFields, site: LoweringContext) -> Fragment:
    """The activity itself, or a scope in which it is done for every item, so many times, or again and again."""
    multi = f.multi
    if multi is None:
        return inner
    nodes, edges, entry = list(inner.nodes), list(inner.edges), inner.entry
    if multi.item and multi.item != "item":
        name = f"{site.id}.item"
        sets = (Set(name=multi.item, expr="item"),)
        nodes.insert(0, Node(**{**base_of(site, name), "type": ""}, value={"$expr": "item"}, sets=sets))
        edges.insert(0, link(name, entry))
        entry = name
    scope = scope_of(site, body_of(multi, entry, site), _collected(multi))
    return Fragment((scope, *nodes), scope.id, scope.id, inner.core, scope.id, tuple(edges))


def scope_of(site: LoweringContext, body: Body, sets: tuple[Set, ...] = ()) -> Node:
    f = activity_of(site)
    type = f.bpmn or f.type or ""
    return Node(
        id=site.id, kind="scope", type=type, label=f.name, join=MERGE, scope=site.scope, body=body, sets=sets
    )  # fmt: skip


def body_of(multi: Multi, entry: str, site: LoweringContext) -> Body:
    local = (multi.item or "item",)
    if multi.item and not _NAME.match(multi.item):
        hint = "Use letters, digits and _, not beginning with a digit."
        site.error("bad_name", f"No expression can read «{multi.item}».", "multi/item", hint=hint)
    if multi.mode == "loop":
        again = site.expression(multi.again, "multi/again", "round", "last") if multi.again else "true"
        if multi.again is None and multi.most is None:
            hint = "Write `again: …` or `most: 10`."
            site.error("missing_field", "A loop must say when it ends.", "multi", hint=hint)
        most = f"round + 1 < {multi.most} && " if multi.most is not None else ""
        return Body(mode="loop", entry=entry, again=f"{most}({again or 'false'})", collect="outputs", locals=local)
    until = None
    if multi.until is not None:
        until = site.expression(counted(multi.until), "multi/until", "done", "failed", "open", "total", "last", "round")
    mode: Any = "each" if multi.mode == "parallel" else "each_seq"
    return Body(mode=mode, entry=entry, items=_items(multi, site), until=until, collect="outputs", locals=local)


def counted(text: str) -> str:
    """BPMN's names of what a completion condition counts."""
    return re.sub(r"[A-Za-z]\w*", lambda found: COUNTS.get(found[0], found[0]), text)


def _items(multi: Multi, site: LoweringContext) -> str:
    if (multi.items is None) == (multi.count is None):
        hint = "Write `items: orders`, or `count: 3`."
        site.error("missing_field", "Several instances have either «items» or «count».", "multi", hint=hint)
        return "[]"
    if multi.items is not None:
        return site.expression(multi.items, "multi/items") or "[]"
    if isinstance(multi.count, int):
        if not 0 <= multi.count <= len(_DIGITS):
            hint = f"Write a number from 0 to {len(_DIGITS)}, or a list under `items`."
            site.error("wrong_type", f"{multi.count} instances are not run.", "multi/count", hint=hint)
        return _so_many(str(multi.count))
    count = site.expression(str(multi.count), "multi/count") or "0"
    known = f"fn.type_of({count}) == 'integer' && ({count}) >= 0 && ({count}) <= {len(_DIGITS)}"
    return f"fn.if({known}, {_so_many(count)}, null)"  # no list: the activity fails


def _so_many(count: str) -> str:
    return f"fn.map(fn.split(fn.substring('{_DIGITS}', 0, {count}), ''), 'index')"


def _collected(multi: Multi) -> tuple[Set, ...]:
    return (Set(name=multi.collect, expr="output"),) if multi.collect else ()
