"""What people who draw ask of the door: a diagram has no approval, so what is kept is in force at once."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from penstock.app.language import AppLanguage, Door


class DiagramApp(AppLanguage):
    def release_file(self, door: Door, path: Path, *, by: str) -> Any:
        from penstock.app.diagram.releases import submit

        return submit(door, path, by=by)


APP = DiagramApp()
