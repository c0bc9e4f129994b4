"""A drawing as it was brought: one file with the definitions that it holds, one for each process with elements."""

from __future__ import annotations

from typing import Any

import msgspec


class Drawing(msgspec.Struct, frozen=True):
    """`definitions` are ProcessDefinitions as the language reads them. An answer makes a new drawing."""

    definitions: tuple[dict[str, Any], ...]

    def definition(self, id: str) -> dict[str, Any]:
        return next(data for data in self.definitions if data.get("process_definition_id") == id)

    def changed(self, id: str, data: dict[str, Any]) -> Drawing:
        """The same drawing with one definition in another form."""
        return Drawing(tuple(data if old.get("process_definition_id") == id else old for old in self.definitions))
