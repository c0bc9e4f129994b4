"""Workflows while they live: judgments, notifications, dead letters, checkpoints (seed 000)."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from penstock.dialects.contract import Dialect, HostServices, ProjectedRun, RunEvents, Runtime
from penstock.dialects.decision.words import WORDS
from penstock.errors import IllegalTransition, PenstockError, StatusConflict
from penstock.net.compiled import Compiled
from penstock.store.projection import Projector

if TYPE_CHECKING:
    from penstock.dialects.transitions import RunHistory


class Decision(Dialect):
    name = "decision"
    words = WORDS
    loads_sample = True
    companion_types = frozenset({"NOTIFY", "END", "OUTPUT"})
    synthetic_types = companion_types | {"CONTEXT"}
    fetching_types = frozenset({"CONTEXT"})

    def runtime(self, services: HostServices) -> Runtime:
        from penstock.dialects.decision.runtime import DecisionRuntime

        return DecisionRuntime(services)

    def projector(self, of: ProjectedRun) -> Projector | None:
        from penstock.dialects.decision.judgments import Judgments, judges

        return Judgments(of) if judges(of.net) else None

    def error(self, error: PenstockError) -> PenstockError:
        """W-2.2.2, C-80: what the table of an instance's states does not name has a code of its own."""
        return IllegalTransition(**error.facts) if type(error) is StatusConflict else error

    def events(self, net_of: Callable[[str], Compiled], run_id: str) -> RunEvents:
        from penstock.dialects.decision.instance_events import InstanceEvents

        return InstanceEvents(net_of, run_id)

    def history(self, net_of: Callable[[str], Compiled], created_at: int) -> RunHistory:
        from penstock.dialects.decision.history import InstanceHistory

        return InstanceHistory(net_of, created_at)


DIALECT = Decision()
