"""What process owners ask of the door: definitions, work items, discovered models, figures."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from penstock.app.language import AppLanguage, Background, Door, LanguageFigures
from penstock.app.process.work_rules import ProcessWorkRules
from penstock.dialects.process.words import PROCESS_DISCOVERED
from penstock.net.compiled import Compiled
from penstock.store.contract import Store
from penstock.store.releases import ReleaseRow


class ProcessApp(AppLanguage):
    work_rules = ProcessWorkRules()

    def submit(self, door: Door, data: dict[str, Any], source: bytes, *, by: str | None, about: str | None) -> Any:
        from penstock.app.process.definitions import Processes

        return Processes(door).hand_in(data, source, by=by, about=about)

    def start_trigger(self, row: ReleaseRow, trigger: Mapping[str, Any] | None) -> Mapping[str, Any]:
        """P-X.4, P-X.23: containers and what is not approved cannot be begun; whoever begins it is its initiator."""
        from penstock.app.process.definitions import startable

        startable(row)
        given = trigger or {}
        return {"initiator": str(given.get("source") or "").partition(":")[2] or None, **given}

    def brings(self, source: str) -> bool:
        return source == PROCESS_DISCOVERED

    async def received(self, door: Door, source: str, payload: Any, by: Any = None) -> list[str]:
        from penstock.app.process.models import discovered

        return [(await discovered(door, payload, by)).release.name]

    async def sample(self, door: Door) -> None:
        from penstock.app.process.mining.histories.sample import begin

        await begin(door)

    def background(self, door: Door) -> Background:
        from penstock.app.process.mining.live.followers import Followers

        return Followers(door)

    def figures(self, store: Store, net_of: Callable[[str], Compiled], settings: Mapping[str, Any]) -> LanguageFigures:
        from penstock.app.process.figures import Figures

        return Figures(store, net_of)


APP = ProcessApp()
