"""Can every run of a document end? Told in the author's own names, with the way that shows it (KERNEL.md 8)."""

from __future__ import annotations

from penstock.errors import Finding, Place
from penstock.net.model import Net
from penstock.net.soundness import BUDGET, Verdict, explain, verdicts

UNSOUND, UNDECIDED = "unsound", "soundness_undecided"
_HINTS = {
    "deadlock": "Let the ways that a join waits for be taken together, or join them with the kind of gateway that "
    "divides them.",
    "improper end": "Join what runs side by side before the end.",
    "livelock": "Give the loop a way out.",
    "unbounded": "Join what the loop divides before it goes round again.",
    "dead nodes": "Lead a way to it, or remove it.",
}


def soundness(net: Net, severity: str, *, budget: int = BUDGET) -> list[Finding]:
    """What is wrong with it, one finding per level; none of a sound net."""
    found = []
    for scope, one in verdicts(net, budget=budget).items():
        if one.status == "sound":
            continue
        node = _blamed(net, scope, one)
        where = net.source_map.get(node, Place())
        text = explain(net, one)
        if one.status == "undecided":
            hint = f"It was looked at for {budget} markings; divide it into sub-processes to have it decided."
            found.append(Finding(UNDECIDED, "warning", text, where, hint, node))
        else:
            found.append(Finding(UNSOUND, severity, text, where, _HINTS.get(one.why, ""), node))
    return found


def _blamed(net: Net, scope: str, one: Verdict) -> str:
    """Where an author looks first: the node that waits, that is dead, or around which it happens."""
    if one.nodes:
        return one.nodes[0]
    by_id = {edge.id: edge for edge in net.edges}
    held = [by_id[id].dst for id in one.held if id in by_id]
    named = [node for node in held if node in net.source_map]
    return named[0] if named else held[0] if held else scope
