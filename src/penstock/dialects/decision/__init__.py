"""Workflows while they live: judgments, notifications, dead letters, checkpoints (seed 000)."""

from __future__ import annotations

from penstock.dialects.contract import Dialect, HostServices, ProjectedRun, Runtime
from penstock.dialects.decision.words import WORDS
from penstock.errors import IllegalTransition, PenstockError, StatusConflict
from penstock.store.projection import Projector


class Decision(Dialect):
    name = "decision"
    words = WORDS
    loads_sample = True

    def runtime(self, services: HostServices) -> Runtime:
        from penstock.dialects.decision.runtime import DecisionRuntime

        return DecisionRuntime(services)

    def projector(self, of: ProjectedRun) -> Projector | None:
        from penstock.dialects.decision.judgments import Judgments, judges

        return Judgments(of) if judges(of.net) else None

    def error(self, error: PenstockError) -> PenstockError:
        """W-2.2.2, C-80: what the table of an instance's states does not name has a code of its own."""
        return IllegalTransition(**error.facts) if type(error) is StatusConflict else error


DIALECT = Decision()
