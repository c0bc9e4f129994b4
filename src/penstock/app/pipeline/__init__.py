"""What people who process files ask of the door."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from penstock.app.language import AppLanguage, Background, Door, LanguageFigures
from penstock.errors import NotAllowed
from penstock.net.compiled import Compiled
from penstock.store.contract import Store
from penstock.store.releases import ReleaseRow
from penstock.store.run_store import RunRow

#: the permission to write definitions
ADMIN = "pipeline.admin"


class PipelineApp(AppLanguage):
    """A definition is in force as soon as it is kept, and messages are taken wherever a store is driven."""

    def admit_author(self, by: Any) -> None:
        """F-X.31: whichever way a definition comes."""
        permissions = getattr(by, "permissions", None)
        if permissions is not None and ADMIN not in permissions:
            raise NotAllowed(user=by.user, permission=ADMIN)

    def submit(self, door: Door, data: dict[str, Any], source: bytes, *, by: str | None, about: str | None) -> Any:
        from penstock.app.pipeline.definitions import define

        return define(door, source, by=by)

    def release_file(self, door: Door, path: Path, *, by: str) -> Any:
        from penstock.app.pipeline.definitions import define

        return define(door, path, by=by)

    async def start_test(self, door: Door, document: Path, input: Any, folder: Path) -> str | None:
        """An execution of the definition, for a file that the test tells of and that need not be there."""
        from penstock.app.pipeline.tested_starts import begin

        return await begin(door, document, input)

    def moved(self, door: Door, row: ReleaseRow) -> None:
        from penstock.app.pipeline.definition_rows import keep_rows

        keep_rows(door, row.tenant, row.name)

    def figures(self, store: Store, net_of: Callable[[str], Compiled], settings: Mapping[str, Any]) -> LanguageFigures:
        from penstock.app.pipeline.measures.metrics_across_tenants import PipelineFigures

        return PipelineFigures(store, settings)

    def withheld(self, status: int, settings: Mapping[str, Any]) -> frozenset[str]:
        from penstock.app.pipeline.steering import withheld

        return withheld(status, settings)

    async def cancel(self, door: Door, run: RunRow) -> bool:
        """F-2.6, F-X.8: at the end of the stage, whoever asks."""
        from penstock.app.pipeline.steering import cancel

        await cancel(door, run.id)
        return True

    async def retry(self, door: Door, run: RunRow, how: str) -> bool:
        """F-2.7, F-X.7: the same execution goes on at the stage that failed, when it is its turn."""
        from penstock.app.pipeline.steering import resume

        await resume(door, run, how)
        return True

    async def sample(self, door: Door) -> None:
        from penstock.app.pipeline.intake.sample import begin

        await begin(door)

    def background(self, door: Door) -> Background:
        from penstock.app.pipeline.background import Consuming

        return Consuming(door)


APP = PipelineApp()
