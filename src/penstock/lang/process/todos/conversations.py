"""Message flows put into definitions: who sends which message, who waits for it, and by what they know each other."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from penstock.lang.process.drawing import Drawing

#: The variable that goes with every message between the pools of a drawing.
CONVERSATION = "conversation"
_SAME = {CONVERSATION: f"${{{CONVERSATION}}}"}
_SENDS, _WAITS = ("throw", "end"), ("start", "catch", "boundary")
_NODES = ("activities", "events")


class Pool(msgspec.Struct, frozen=True):
    """`process` is the id of its definition; "" of a pool of which only the border is drawn."""

    id: str
    name: str
    process: str = ""


class MessageFlow(msgspec.Struct, frozen=True):
    """`source` and `target` are ids of elements, or of pools; `of` and `to` the pools that they lie in."""

    id: str
    name: str
    message: str
    source: str
    target: str
    of: Pool
    to: Pool


def pools_of(drawing: Drawing) -> list[Pool]:
    if not drawing.pools:
        return []
    by_process = {_file_id(data): str(data["process_definition_id"]) for data in drawing.definitions}
    return [
        Pool(pool.get("id", ""), pool.get("name") or pool.get("id", ""), by_process.get(pool.get("process", ""), ""))
        for pool in drawing.pools
    ]


def _file_id(data: Mapping[str, Any]) -> str:
    file = (data.get("extensions") or {}).get("file") or {}
    return str(file.get("process") or data["process_definition_id"])


def flows_of(drawing: Drawing, pools: list[Pool]) -> list[MessageFlow]:
    """The message flows whose ends are known."""
    if not drawing.message_flows:
        return []
    place = {pool.id: pool for pool in pools}
    by_process = {pool.process: pool for pool in pools if pool.process}
    for data in drawing.definitions:
        pool = by_process.get(str(data["process_definition_id"]))
        if pool is not None:
            place |= {str(entry.get("id")): pool for name in (*_NODES, "gateways") for entry in data.get(name) or ()}
    flows = []
    for flow in drawing.message_flows:
        source, target = flow.get("source", ""), flow.get("target", "")
        if source in place and target in place and place[source] is not place[target]:
            words = (flow.get("id", ""), flow.get("name", ""), flow.get("message", ""))
            flows.append(MessageFlow(*words, source, target, place[source], place[target]))
    return flows


# ---- what is decided about a pool ------------------------------------------------------------------------------------


def decided(drawing: Drawing, pool: Pool) -> bool:
    return any(entry.get("id") == pool.id and entry.get("part") for entry in _pool_entries(drawing))


def _pool_entries(drawing: Drawing) -> Iterator[Mapping[str, Any]]:
    for data in drawing.definitions:
        yield from data.get("pools") or ()


def with_part(drawing: Drawing, pool: Pool, fields: Mapping[str, Any]) -> Drawing:
    """The drawing in which it is said what the pool is: in every definition that shows it."""
    for data in drawing.definitions:
        entries = [{**entry, **fields} if entry.get("id") == pool.id else entry for entry in data.get("pools") or ()]
        drawing = drawing.changed(str(data["process_definition_id"]), {**data, "pools": entries})
    return drawing


# ---- connecting ------------------------------------------------------------------------------------------------------


class Connection:
    """Definitions of a drawing while their message flows become messages."""

    def __init__(self, drawing: Drawing) -> None:
        self.drawing = drawing
        self.pools = pools_of(drawing)
        self.flows = flows_of(drawing, self.pools)
        self.data = {str(data["process_definition_id"]): dict(data) for data in drawing.definitions}

    def result(self) -> Drawing:
        for id, data in self.data.items():
            self.drawing = self.drawing.changed(id, data)
        return self.drawing

    def between(self, flow: MessageFlow) -> None:
        """Both ends have a definition: the one sends, the other waits, in one conversation."""
        name = self._name(flow)
        self._send(flow, name)
        self._wait(flow, name, _SAME if self._knows_it(flow) else None, [])
        for pool in (flow.of, flow.to):
            self.data[pool.process].setdefault(CONVERSATION, CONVERSATION)

    def outward(self, flow: MessageFlow) -> None:
        """Somebody outside gets it: only what sends by itself sends it."""
        if (entry := self.entry(flow.of, flow.source)) is not None and _by_itself(entry):
            self._send(flow, self._name(flow))

    def inward(self, flow: MessageFlow, who: list[str]) -> None:
        """Somebody outside gives it. A step that people do waits for nobody, as they know themselves what has come, and
        a plain start is begun by hand."""
        if waits_by_itself(self.entry(flow.to, flow.target)):
            self._wait(flow, self._name(flow), None, who)

    def _name(self, flow: MessageFlow) -> str:
        """What is waited for keeps its name, as others may send it, too; else the flow's name, else an end's name."""
        source, target = self.entry(flow.of, flow.source), self.entry(flow.to, flow.target)
        named = [_message(target), flow.message, _message(source), flow.name, _drawn(source), _drawn(target)]
        return next((name for name in named if name), f"{flow.of.name} → {flow.to.name}")

    def _send(self, flow: MessageFlow, name: str) -> None:
        entry = self.entry(flow.of, flow.source)
        if entry is None:
            return
        if "position" in entry:
            if entry["position"] in _SENDS and entry.get("trigger", "none") in ("none", "message"):
                self._set(flow.of, flow.source, trigger="message", message=name, name_ref=None)
        elif entry.get("bpmn") == "sendTask":
            self._set(flow.of, flow.source, message=name)
        elif name not in entry.get("sends", ()):
            self._set(flow.of, flow.source, sends=[*entry.get("sends", ()), name])

    def _wait(self, flow: MessageFlow, name: str, same: Mapping[str, Any] | None, who: list[str]) -> None:
        target = flow.target if flow.target != flow.to.id else self._only_start(flow.to)
        entry = self.entry(flow.to, target)
        if entry is None:
            return
        fields: dict[str, Any] = {} if entry.get("correlation") or same is None else {"correlation": dict(same)}
        if "position" in entry:
            if entry["position"] in _WAITS and entry.get("trigger", "none") in ("none", "message"):
                top_start = entry["position"] == "start" and not entry.get("parent")
                more: dict[str, Any] = {} if top_start else fields
                more |= {"answered_by": who} if who and entry["position"] == "catch" else {}
                self._set(flow.to, target, trigger="message", message=name, name_ref=None, **more)
        elif entry.get("bpmn") == "receiveTask":
            self._set(flow.to, target, message=name, **fields, **({"answered_by": who} if who else {}))
        else:
            asks_first = self._asks_first(flow, target)
            field = "replies" if asks_first else "receives"
            if name not in entry.get(field, ()):
                self._set(flow.to, target, **{field: [*entry.get(field, ()), name]}, **fields)

    def _asks_first(self, flow: MessageFlow, target: str) -> bool:
        """A step that sends to the same pool, too: it asks where its pool has the first word."""
        sends = any(other.source == target and other.to is flow.of for other in self.flows)
        return sends and self._has_first_word(flow.to, flow.of)

    def _knows_it(self, flow: MessageFlow) -> bool:
        """Does the one that waits know the conversation? It has begun it, or was begun by it; else it takes any
        message, and its conversation with it."""
        return self._begun_by(flow.to, flow.of) or self._has_first_word(flow.to, flow.of)

    def _has_first_word(self, pool: Pool, other: Pool) -> bool:
        """Where neither pool begins the other, the first message flow on the drawing is the first word."""
        if self._begun_by(other, pool) or self._begun_by(pool, other):
            return self._begun_by(other, pool)
        between = (flow for flow in self.flows if {flow.of.id, flow.to.id} == {pool.id, other.id})
        return next(between).of is pool

    def _begun_by(self, pool: Pool, other: Pool) -> bool:
        starts = {entry["id"] for entry in self.data[pool.process].get("events") or () if _top_start(entry)}
        return any(flow.of is other and flow.to is pool and flow.target in {*starts, pool.id} for flow in self.flows)

    def _only_start(self, pool: Pool) -> str:
        """Where a message to the pool as a whole arrives."""
        starts = [entry for entry in self.data[pool.process].get("events") or () if _top_start(entry)]
        plain = [entry for entry in starts if entry.get("trigger", "none") in ("none", "message")]
        return str(plain[0]["id"]) if len(starts) == len(plain) == 1 else ""

    def entry(self, pool: Pool, id: str) -> dict[str, Any] | None:
        for name in _NODES if pool.process else ():
            for entry in self.data[pool.process].get(name) or ():
                if entry.get("id") == id:
                    return dict(entry)
        return None

    def _set(self, pool: Pool, id: str, **fields: Any) -> None:
        data = self.data[pool.process]
        for name in _NODES:
            if any(entry.get("id") == id for entry in data.get(name) or ()):
                changed = [_with(entry, fields) if entry.get("id") == id else entry for entry in data[name]]
                data[name] = changed


def _with(entry: Mapping[str, Any], fields: Mapping[str, Any]) -> dict[str, Any]:
    """None takes a field away."""
    changed = {**entry, **fields}
    return {name: value for name, value in changed.items() if name not in fields or value is not None}


def _by_itself(entry: Mapping[str, Any]) -> bool:
    """Is it an event, or a task that only sends or receives?"""
    return "position" in entry or entry.get("bpmn") in ("sendTask", "receiveTask")


def waits_by_itself(entry: Mapping[str, Any] | None) -> bool:
    return entry is not None and _by_itself(entry) and not (_top_start(entry) and entry.get("trigger") != "message")


def _top_start(entry: Mapping[str, Any]) -> bool:
    return entry.get("position") == "start" and not entry.get("parent")


def _message(entry: Mapping[str, Any] | None) -> str:
    """The message that an end of a flow names itself; a task that has none is read with its own name."""
    name = str(entry.get("message") or "") if entry is not None else ""
    return "" if entry is not None and "position" not in entry and name == entry.get("name") else name


def _drawn(entry: Mapping[str, Any] | None) -> str:
    name = str(entry.get("name") or "") if entry is not None else ""
    return "" if entry is not None and name == entry.get("id") else name
