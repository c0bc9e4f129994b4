"""Events of an instance for subscribers: each tells of a move of the instance or of a node (W-2.2, W-2.3)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from penstock.dialects.decision.history import InstanceHistory
from penstock.dialects.decision.words import EVENTS
from penstock.dialects.net_nodes import is_companion, is_synthetic
from penstock.dialects.token_events import Event
from penstock.dialects.transitions import Transition
from penstock.kernel import fact as F
from penstock.kernel.fact_lines import failure_dict
from penstock.kernel.state import State
from penstock.net.author import author
from penstock.net.compiled import Compiled

_ENDS = ("succeeded", "failed", "skipped")
_ENDED = ("completed", "failed", "cancelled", "compensated")


class InstanceEvents:
    """An execution of an author's node is told when somebody has begun it, and once when it has ended."""

    def __init__(self, net_of: Callable[[str], Compiled], run_id: str) -> None:
        self.net_of, self.run_id = net_of, run_id
        self.history: InstanceHistory | None = None
        self.seq = 0
        self.reported: set[str] = set()  # the author's nodes that something was told of

    def turn(self, at: int, facts: list[Any]) -> Iterator[Event]:
        if self.history is None:
            self.history = InstanceHistory(self.net_of, at)
        self.history.turn(at, facts)
        moves = list(self.history.log.transitions)
        self.history.log.clear()
        failures = self._failures(facts)
        for i, move in enumerate(moves):
            if move.of == "node":
                yield from self._node(at, move, moves[i + 1 :], failures)
            elif move.of == "instance" and move.event != "node_complete":
                yield from self._instance(at, move)

    def _node(
        self, at: int, move: Transition, later: list[Transition], failures: dict[str, dict[str, Any]]
    ) -> Iterator[Event]:
        node = move.node_id or ""
        more: dict[str, Any] = {}
        if move.from_ == "queued" and move.to == "running":
            name = "node.started"
        elif move.to in _ENDS and move.from_ != "compensating" and not _ends_later(move, later):
            name = f"node.{move.to}"
            if move.to == "failed" and node in failures:
                more["failure"] = failures[node]
            elif move.to == "skipped":
                more["skip_reason"] = move.event
        else:
            return
        self.reported.add(node)
        visit = (move.execution or "").rpartition("#")[2].partition("!")[0]
        yield self._event(name, at, node, int(visit) if visit.isdecimal() else None, more)

    def _instance(self, at: int, move: Transition) -> Iterator[Event]:
        """What was never begun was skipped, when the end has come."""
        name = f"instance.{move.to}"
        more: dict[str, Any] = {}
        if name not in EVENTS:
            return
        if move.to in _ENDED:
            for node in self._authored():
                if node not in self.reported:
                    self.reported.add(node)
                    yield self._event("node.skipped", at, node, None, {"skip_reason": "no_token"})
            if move.to != "completed" and (failure := self._st.failure) is not None:
                more["failure"] = self._shown(failure)
        for field in ("node_id", "reason", "by"):
            if getattr(move, field) is not None:
                more[field] = getattr(move, field)
        yield self._event(name, at, "", None, more)

    def _authored(self) -> dict[str, None]:
        written = (node for node in self._net.nodes if not is_companion(node) and not is_synthetic(node))
        return dict.fromkeys(author(node) for node in written)

    def _failures(self, facts: list[Any]) -> dict[str, dict[str, Any]]:
        nodes = self._net.nodes
        failed = [f for f in facts if f[0] == F.SETTLED and f[10] is not None and f[4] < len(nodes)]
        return {author(nodes[f[4]]): self._shown(f[10]) for f in failed}

    def _shown(self, failure: Any) -> dict[str, Any]:
        shown = failure_dict(failure) or {}
        node = self._net.by_id.get(shown.get("node") or "")
        return shown if node is None else {**shown, "node": author(node)}

    def _event(self, name: str, at: int, node: str, visit: int | None, data: dict[str, Any]) -> Event:
        self.seq += 1
        return Event(name, self.run_id, self.seq, self._st.trace, at, node, 0, iteration=visit, data=data)

    @property
    def _st(self) -> State:
        assert self.history is not None
        return self.history.reader.st

    @property
    def _net(self) -> Compiled:
        assert self.history is not None and self.history.reader.net is not None, "a run begins with its net"
        return self.history.reader.net


def _ends_later(move: Transition, later: list[Transition]) -> bool:
    """W-2.3.2: what failed and is skipped for it has one end."""
    return any(other.execution == move.execution and other.to == "skipped" for other in later if other.of == "node")
