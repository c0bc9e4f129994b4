"""What the dialects do beside this engine: one runtime per language, made when it is first needed."""

from __future__ import annotations

from penstock.dialects import dialect_of
from penstock.dialects.contract import HostServices, Runtime
from penstock.languages import HOUSE
from penstock.store.run_store import Batch


class Runtimes(dict[str, Runtime | None]):
    """By language; None of one that has nothing to do. Without services nobody has."""

    def __init__(self, services: HostServices | None = None) -> None:
        super().__init__()
        self.services = services
        self.working: list[Runtime] = []
        self.wrote = False  # something that may be to be done beside the turns
        for language in HOUSE if services is not None else ():
            self[language]

    def __missing__(self, language: str) -> Runtime | None:
        made = None if self.services is None else dialect_of(language).runtime(self.services)
        if made is not None:
            self.working.append(made)
        self[language] = made
        return made

    def kick(self, *, always: bool = False) -> None:
        """Let them do what is to be done beside the turns."""
        self.wrote = False
        for runtime in self.working:
            if always or runtime.wrote:
                runtime.kick()

    def rolled_back(self, batch: Batch) -> None:
        for runtime in self.working:
            runtime.rolled_back(batch)

    def tidy(self) -> None:
        self.wrote = True
        for runtime in self.working:
            runtime.tidy()

    async def close(self) -> None:
        for runtime in self.working:
            await runtime.close()
