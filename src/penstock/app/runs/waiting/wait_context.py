"""What the explanation of a wait needs: state, net, environment, and the past attempts where they are known."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from penstock.app.runs.attempts import Attempt
from penstock.app.runs.waiting.environment import Environment
from penstock.kernel.state import Firing, State
from penstock.net.author import author
from penstock.net.compiled import CNode, Compiled

if TYPE_CHECKING:
    from penstock.app.runs.run_view import RunFold

#: So many reasons of a run are told.
MOST = 100


class Followup(msgspec.Struct, frozen=True, omit_defaults=True):
    """What happens by itself: escalate, fail, continue, retry, or path, which leads to a node."""

    kind: str
    to: str | None = None


class WaitReason(msgspec.Struct, kw_only=True):
    """One reason why a run rests. `who` are those who can move it on; `what` names what is awaited: a breaker, an
    executor, a branch, a limit, a title, an event, a run. `move` is the best of the moves. `run` is the called run that
    it is about."""

    rank: int
    kind: str
    node: str | None = None
    label: str | None = None
    who: list[str] = []
    what: str | None = None
    since: int | None = None
    until: int | None = None
    then: Followup | None = None
    attempt: int | None = None
    of: int | None = None
    code: str | None = None
    message: str | None = None
    move: str | None = None
    run: str | None = None


class WaitContext:
    """`fold` is None where only the state is known; `no` is the run's number in its store."""

    def __init__(
        self, st: State, net: Compiled, no: int, environment: Environment, fold: RunFold | None = None,
        ended_at: int | None = None,
    ) -> None:  # fmt: skip
        self.st, self.net, self.no, self.environment, self.fold = st, net, no, environment, fold
        self.ended_at = ended_at

    def author(self, node: CNode | None) -> str | None:
        return None if node is None else author(node)

    def label(self, node: CNode | None) -> str | None:
        """Of the author's node."""
        return None if node is None else self.net.by_id.get(author(node), node).label

    def id_of(self, firing: Firing) -> str | None:
        return None if self.fold is None else self.fold.reader.firing_id(firing)

    def since(self, firing: Firing) -> int:
        """Since when it is as it is now; the firing itself is older, where the past is not known."""
        id = self.id_of(firing)
        if self.fold is None or id is None:
            return firing.at
        rested = self.fold.attempt_history.since(id)
        if rested is not None:
            return rested
        tried = self.fold.attempt_history.attempts.get(id)
        return tried[-1].started_at if tried and tried[-1].ended_at is None else firing.at

    def failed(self, firing: Firing) -> Attempt | None:
        """What its last attempt has failed with."""
        id = self.id_of(firing)
        return None if self.fold is None or id is None else self.fold.attempt_history.failed(id)

    def tries(self, node: CNode) -> int | None:
        """How many attempts of a node there were, where the last of them failed."""
        past = self.fold.attempt_history.attempts if self.fold is not None else {}
        tried = [all_[-1] for id, all_ in past.items() if id.startswith(f"{node.id}@")]
        return tried[-1].n if tried and tried[-1].outcome == "failed" else None

    def moved_at(self) -> int | None:
        """When the run came into its status."""
        at = self.fold.attempt_history.moved_at if self.fold is not None else 0
        return at or self.ended_at
