"""Moves: what may be done with a run now. The tables of lifecycle/ and the state decide, then what the caller may."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any

import msgspec

from penstock.app.language import app_language
from penstock.app.runs.reading import RunReading
from penstock.kernel.state import BACKOFF, COMPLETED, EFFECT, RUNNING, STATUS, SUSPENDED, WAITING, Firing, State
from penstock.lifecycle.run import RUN
from penstock.lifecycle.work_item import WORK_ITEM
from penstock.net.author import author
from penstock.net.compiled import CNode, Compiled

#: What a caller must be allowed to, by verb.
PERMISSIONS = {
    "signal": "run.steer", "pause": "run.steer", "resume": "run.steer", "retry": "run.steer", "restart": "run.steer",
    "cancel": "run.steer", "cancel_boundary": "run.steer", "compensate": "run.steer", "fork": "run.start",
    "migrate": "run.edit", "undo_migration": "run.edit",
    "resolve": "run.edit", "skip": "run.edit", "edit_variable": "run.edit", "approve": "inbox.decide",
    "reject": "inbox.decide", "judge": "inbox.decide", "respond": "inbox.decide",
}  # fmt: skip
#: A: harmless, and can be taken back. B: changes a run. (C is for many runs at once: none of these.)
_CONFIRM = {"pause": "A", "resume": "A"}
_NEEDS = {
    "signal": ["name", "input"], "resolve": ["output", "reason"], "skip": ["reason"], "edit_variable": ["name", "value",
    "reason"], "cancel": ["reason"], "cancel_boundary": ["reason"], "compensate": ["reason"], "fork": ["fact"],
    "reject": ["reason"], "judge": ["decision"], "respond": ["input"],
}  # fmt: skip


class Move(msgspec.Struct, kw_only=True):
    """`target` is the author's node that it is about; None: the run. `needs` is what must be said with it."""

    verb: str
    label_key: str
    confirm: str
    effect_key: str
    needs: list[str] = []
    target: str | None = None
    allowed: bool = True


def moves(
    reading: RunReading, *, permissions: Collection[str] | None = None, settings: Mapping[str, Any] | None = None
) -> list[Move]:
    """Only what neither the kernel nor the language would refuse now, and the caller may do; None: everything. Costs
    the open firings."""
    withheld = app_language(reading.net.net.language).withheld(reading.state.status, settings or {})
    offered = moves_of(reading.state, reading.net, permissions=permissions)
    return [move for move in offered if move.verb not in withheld] if withheld else offered


def moves_of(st: State, net: Compiled, *, permissions: Collection[str] | None = None) -> list[Move]:
    """The same of a folded state."""
    return [
        _move(verb, target)
        for verb, target in dict.fromkeys((*_of_run(st, net), *_of_firings(st, net)))
        if permissions is None or PERMISSIONS[verb] in permissions
    ]


def _move(verb: str, target: str | None) -> Move:
    return Move(
        verb=verb, label_key=f"move.{verb}", confirm=_CONFIRM.get(verb, "B"), effect_key=f"move.{verb}.effect",
        needs=_NEEDS.get(verb, []), target=target,
    )  # fmt: skip


Asked = tuple[str, str | None]


def _of_run(st: State, net: Compiled) -> Iterator[Asked]:
    status = STATUS[st.status]
    open_ = st.status < COMPLETED
    if open_ and st.n:
        yield ("resume", None) if st.paused else ("pause", None)
    yield from _again(st, status)
    undoing = st.undo is not None and st.undo.then != "firing"
    if RUN.allows(status, "cancel_requested") and not undoing and st.draining not in ("boundary", "now"):
        yield "cancel", None
        if st.asked:
            yield "cancel_boundary", None
    if RUN.allows(status, "compensate") and st.undo is None and _undoable(st, net):
        yield "compensate", None
    if open_ and st.n:
        yield "edit_variable", None
    if st.n:
        yield "fork", None


def _again(st: State, status: str) -> Iterator[Asked]:
    blocked = any(firing.blocked for firing in st.firings.values())
    if RUN.allows(status, "operator_retry") and st.reopen is not None:
        yield "retry", None
        yield "restart", None
    elif blocked and st.status < COMPLETED:
        yield "retry", None


def _undoable(st: State, net: Compiled) -> bool:
    """Is there work that may be undone by hand? A condition of its own may still say no."""
    nodes = ((entry, net.nodes[entry.node]) for entry in st.ledger if entry.status in ("open", "FAILED"))
    return any(node.undo and "manual" in node.spec.undo_on for _, node in nodes)


def _of_firings(st: State, net: Compiled) -> Iterator[Asked]:
    if st.status >= COMPLETED:
        return
    for no, firing in st.firings.items():
        node = net.nodes[firing.node]
        target = author(node)
        if firing.waits and firing.phase == SUSPENDED:
            yield "signal", target
        if no in st.items:
            yield from ((verb, target) for verb in _of_item(node, st.items[no].status, firing))
        if firing.blocked or firing.phase in (EFFECT, BACKOFF) or firing.phase == SUSPENDED and no not in st.items:
            yield "resolve", target
        if firing.blocked or firing.phase == BACKOFF or firing.phase == SUSPENDED and no not in st.items:
            yield "skip", target
    if st.status in (RUNNING, WAITING) and not st.draining:
        yield from (("retry", author(net.nodes[was.node])) for was in st.parked.values())


def _of_item(node: CNode, status: str, firing: Firing) -> Iterator[str]:
    work = node.spec.work
    if work is None or firing.phase != SUSPENDED:
        return
    if node.spec.type == "REVIEW":
        yield from ("judge",) if WORK_ITEM.allows(status, "submit") else ()
    elif node.spec.type == "APPROVAL" or work.quorum or work.all_of:
        yield from ("approve", "reject") if WORK_ITEM.allows(status, "vote") else ()
    elif WORK_ITEM.allows(status, "approve"):
        yield from ("approve", "reject")
    elif WORK_ITEM.allows(status, "submit"):
        yield "respond"
