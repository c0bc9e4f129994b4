"""Workflows while they live: judgments, notifications, dead letters, checkpoints (seed 000)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import msgspec

from penstock.dialects.contract import Dialect, HostServices, ProjectedRun, RunEvents, Runtime
from penstock.dialects.decision.labels import LABELS
from penstock.dialects.decision.words import WORDS
from penstock.errors import IllegalTransition
from penstock.net.compiled import Compiled
from penstock.net.model import Net
from penstock.store.projection import Projector

if TYPE_CHECKING:
    from penstock.dialects.transitions import RunHistory


class Decision(Dialect):
    name = "decision"
    words = WORDS
    labels = LABELS
    #: W-2.2.2, C-80: what the table of an instance's states does not name has a code of its own
    conflict = IllegalTransition
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

    def trigger_problems(self, kind: str, config: Mapping[str, Any]) -> list[tuple[str, str, str]]:
        from penstock.lang.decision.triggers import trigger_problems

        return list(trigger_problems(kind, config))

    def title(self, net: Net, source: Callable[[], bytes | None]) -> str:
        text = source()
        try:
            document = msgspec.json.decode(text) if text else None
        except (msgspec.DecodeError, UnicodeDecodeError):
            return ""
        name = document.get("name") if isinstance(document, dict) else None
        return name if isinstance(name, str) else ""

    def events(self, net_of: Callable[[str], Compiled], run_id: str) -> RunEvents:
        from penstock.dialects.decision.instance_events import InstanceEvents

        return InstanceEvents(net_of, run_id)

    def history(self, net_of: Callable[[str], Compiled], created_at: int) -> RunHistory:
        from penstock.dialects.decision.history import InstanceHistory

        return InstanceHistory(net_of, created_at)


DIALECT = Decision()
