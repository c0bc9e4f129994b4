"""What a move would do before it is made: which effects stay done, which are asked again, stopped or undone."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from penstock.app.runs.queries import Queries
from penstock.errors import BadInput
from penstock.kernel.fact_lines import FactLine, firing_of
from penstock.net.author import author
from penstock.net.compiled import Compiled

#: verbs of which it can be told
VERBS = ("fork", "restart", "retry", "cancel", "compensate")


class PreviewedEffect(msgspec.Struct):
    """An author's node whose effects meet one fate: `done` stays as it is, `again` is asked anew, `open` is on its way
    and will not be waited for, `undone` is taken back. `at` is when the last of them began."""

    node: str
    label: str
    type: str
    fate: str
    count: int
    at: int


class Preview(msgspec.Struct):
    verb: str
    fact: int
    of: int
    effects: list[PreviewedEffect]


class _Effect(msgspec.Struct):
    firing: str
    node: str
    seq: int
    at: int
    ended: int | None = None
    status: str = ""


def preview_of(door: Queries, run: str, verb: str, fact: int | None = None) -> Preview:
    """Costs one reading of the journal; nothing is changed. A fork stands at the end of the turn that holds the fact.
    Raises RunNotFound, BadInput."""
    reading = door.reading(run)
    if verb not in VERBS:
        raise BadInput(what="the verb", why=f"it is not one of {', '.join(VERBS)}")
    timeline = door.timeline(reading)
    of = timeline.count
    cut = timeline.turn_of(fact)[2] if verb == "fork" and fact is not None else of
    net, effects = reading.net, _effects(timeline.lines())
    if verb == "compensate":
        ledger = reading.state.ledger
        undone = [(_author(net, net.nodes[entry.node].id), entry.firing) for entry in ledger if _undoable(net, entry)]
        return Preview(verb, cut, of, _undone(net, effects, [node for node, _ in reversed(undone)]))
    fates = ((effect, _fate(effect, verb, cut)) for effect in effects)
    return Preview(verb, cut, of, _grouped(net, [(entry, fate) for entry, fate in fates if fate]))


def _effects(lines: Iterable[FactLine]) -> list[_Effect]:
    """One per firing that has asked for something; the last try counts."""
    effects: dict[str, _Effect] = {}
    for line in lines:
        if line.fact == "effect.asked":
            firing = str(line.data["key"]).split("/", 2)[2]
            was = effects.get(firing)
            if was is None:
                effects[firing] = _Effect(firing, line.node, line.seq, line.at)
            else:
                was.at, was.ended, was.status = line.at, None, ""
        elif line.fact in ("settled", "attempt.failed"):
            effect = effects.get(_of(line))
            if effect is not None:
                effect.ended = line.seq
                effect.status = "failed" if line.fact == "attempt.failed" else str(line.data.get("status"))
    return list(effects.values())


def _of(line: FactLine) -> str:
    return str(line.data["firing"]) if line.fact == "attempt.failed" else firing_of(line)


def _fate(effect: _Effect, verb: str, cut: int) -> str:
    finished = effect.ended is not None and effect.ended <= cut
    if verb == "fork":
        return "done" if finished and effect.status != "failed" else "again"
    if verb == "restart":
        return "again"
    if verb == "retry":
        return "again" if effect.status == "failed" else "done" if finished else ""
    return "done" if finished else "open"


def _undoable(net: Compiled, entry: Any) -> bool:
    node = net.nodes[entry.node]
    return entry.status in ("open", "FAILED") and bool(node.undo) and "manual" in node.spec.undo_on


def _undone(net: Compiled, effects: list[_Effect], order: list[str]) -> list[PreviewedEffect]:
    """The last that was done is the first that is taken back."""
    grouped = _grouped(
        net, [(effect, "undone" if _author(net, effect.node) in order else "done") for effect in effects]
    )
    place = {node: n for n, node in enumerate(dict.fromkeys(order))}
    return sorted(grouped, key=lambda previewed: (previewed.fate != "undone", place.get(previewed.node, 0)))


def _grouped(net: Compiled, fates: list[tuple[_Effect, str]]) -> list[PreviewedEffect]:
    groups: dict[tuple[str, str], PreviewedEffect] = {}
    for effect, fate in fates:
        node = _author(net, effect.node)
        drawn = net.by_id.get(node) or net.by_id[effect.node]
        group = groups.setdefault(
            (node, fate), PreviewedEffect(node, drawn.label or node, drawn.spec.type, fate, 0, effect.at)
        )
        group.count += effect.node == node  # what it fetches before is part of it
        group.at = max(group.at, effect.at)
    whole = {group.node for group in groups.values() if group.count}
    for group in groups.values():
        group.count = group.count or int(group.node not in whole)
    return [group for group in groups.values() if group.count]


def _author(net: Compiled, node: str) -> str:
    known = net.by_id.get(node)
    return author(known) if known is not None else node
