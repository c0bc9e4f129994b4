"""Explains a soundness verdict in sentences, with the names that the author knows."""

from __future__ import annotations

from collections.abc import Iterable

from penstock.net.model import Edge, Net, Node
from penstock.net.soundness.verdict import Verdict, WitnessStep

_SHOWN = 6  # names in a list; choices told, the last ones


def explain(net: Net, verdict: Verdict) -> str:
    """One or two sentences: which choices lead there, and what is wrong then."""
    if verdict.status == "sound":
        return "Every run can end, whatever its choices."
    if verdict.status == "undecided":
        return f"Whether every run can end was not decided ({verdict.why}); a run that cannot go on will say so itself."
    return _Explanation(net).unsound(verdict)


class _Explanation:
    def __init__(self, net: Net) -> None:
        self.nodes = {node.id: node for node in net.nodes}
        self.edges = {edge.id: edge for edge in net.edges}
        self.ins: dict[str, list[Edge]] = {}
        self.outs: dict[str, list[Edge]] = {}
        for edge in net.edges:
            self.ins.setdefault(edge.dst, []).append(edge)
            self.outs.setdefault(edge.src, []).append(edge)

    def unsound(self, verdict: Verdict) -> str:
        if verdict.why == "dead nodes":
            return f"{self._names(verdict.nodes)} can never run, whatever the choices."
        when = self._choices(verdict.trace)
        held = [self.edges[e] for e in verdict.held]
        at = self._names(dict.fromkeys(e.dst for e in held))
        match verdict.why:
            case "deadlock":
                wrong = self._stuck(held) or "a token is left that nothing can take"
            case "improper end":
                left = self._names(dict.fromkeys(e.dst for e in held if self.outs.get(e.dst)))
                wrong = (
                    f"the end is reached while something is still before {left}" if left else "the end is reached twice"
                )
            case "livelock":
                wrong = f"the run goes round for ever at {at or 'one place'}: no way leads to the end any more"
            case _:
                wrong = f"tokens pile up before {at or 'a node'} without end"
        text = f"{when}{wrong}."
        return text[0].upper() + text[1:]

    def _stuck(self, held: list[Edge]) -> str:
        parts = []
        for target in dict.fromkeys(e.dst for e in held):
            have = {e.id for e in held}
            missing = [e for e in self.ins.get(target, []) if e.id not in have]
            if missing:
                others = [e.src for e in missing if e.src != target]
                sources = self._names(dict.fromkeys(others)) or "itself"
                parts.append(f"{self._name(target)} waits for {sources}, which nothing can reach any more")
            else:
                parts.append(f"{self._name(target)} never gets all it waits for")
        return "; ".join(parts)

    def _choices(self, trace: tuple[WitnessStep, ...]) -> str:
        choices = [self._choice(step) for step in trace if self._chose(step)]
        if not choices:
            return ""
        more = "… then " if len(choices) > _SHOWN else ""
        return f"after {more}{', '.join(choices[-_SHOWN:])}, "

    def _chose(self, step: WitnessStep) -> bool:
        outs = self.outs.get(step.node, [])
        return bool(step.edges) and len(step.edges) < len(outs)

    def _choice(self, step: WitnessStep) -> str:
        return f"{self._name(step.node)} takes {' and '.join(self._way(self.edges[e]) for e in step.edges)}"

    def _way(self, edge: Edge) -> str:
        """What people see on the edge: its label, its port, or where it leads."""
        if edge.label:
            return f"«{edge.label}»"
        return f"«{edge.port}»" if edge.port != "done" else f"the way to {self._name(edge.dst)}"

    def _name(self, id: str) -> str:
        node: Node | None = self.nodes.get(id)
        return f"«{(node.label or node.origin or node.id) if node else id}»"

    def _names(self, ids: Iterable[str]) -> str:
        names = [self._name(id) for id in ids]
        if len(names) > _SHOWN:
            names = [*names[: _SHOWN - 1], f"{len(names) - _SHOWN + 1} more"]
        return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}" if names else ""
