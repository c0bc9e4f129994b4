"""Can every run of a document end? The verdicts of the net as findings at the author's nodes (KERNEL.md 8)."""

from __future__ import annotations

from penstock.errors import Finding, Place
from penstock.lang.contract import languages
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


def ends_each(net: Net) -> bool:
    """May several tokens of a net reach one end, each by itself? Its language says so."""
    return any(language.ends_each for language in languages() if language.name == net.language)


def soundness(net: Net, severity: str, *, budget: int = BUDGET) -> list[Finding]:
    """One finding per scope that is not sound, or that could not be decided."""
    return findings_of(net, verdicts(net, budget=budget, each=ends_each(net)), severity, budget=budget)


def findings_of(net: Net, levels: dict[str, Verdict], severity: str, *, budget: int = BUDGET) -> list[Finding]:
    findings = []
    for scope, verdict in levels.items():
        if verdict.status == "sound":
            continue
        node = _node_to_show(net, scope, verdict)
        where = net.source_map.get(node, Place())
        text = explain(net, verdict)
        if verdict.status == "undecided":
            hint = f"It was looked at for {budget} markings; divide it into sub-processes to have it decided."
            findings.append(Finding(UNDECIDED, "warning", text, where, hint, node))
        else:
            findings.append(Finding(UNSOUND, severity, text, where, _HINTS.get(verdict.why, ""), node))
    return findings


def _node_to_show(net: Net, scope: str, verdict: Verdict) -> str:
    """The node that an author looks at first: the one that waits, the dead one, or the scope."""
    if verdict.nodes:
        return verdict.nodes[0]
    by_id = {edge.id: edge for edge in net.edges}
    targets = [by_id[id].dst for id in verdict.held if id in by_id]
    named = [node for node in targets if node in net.source_map]
    return named[0] if named else targets[0] if targets else scope
