"""What people who let agents work through plans ask of the door."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from penstock.app.language import AppLanguage, Background, Door, Tell
from penstock.app.plan.review_rules import ReviewRules
from penstock.errors import BadInput
from penstock.lang.plan.project_files import PLAN_FILES


class PlanApp(AppLanguage):
    """A project's folder is its document: the run is started once, and moved along when files change."""

    work_rules = ReviewRules()

    def submit(self, door: Door, data: dict[str, Any], source: bytes, *, by: str | None, about: str | None) -> Any:
        """A plan says which programs are started: it comes from a folder that was registered, and never by itself."""
        hint = "Put it into a folder, and register that: POST /projects, or `penstock plan run FOLDER`."
        raise BadInput(what="the document", why="a plan is a folder, and has no versions", hint=hint)

    def read_folder(self, folder: Path, settings: Mapping[str, Any]) -> bytes | None:
        """T-X.1: a folder with plan.yaml, as one document."""
        if not any((folder / name).is_file() for name in PLAN_FILES):
            return None
        from penstock.app.plan.files.project_folder import checked_folder
        from penstock.app.plan.projects import read_project

        return read_project(checked_folder(folder), settings).bytes()

    async def start_test(self, door: Door, document: Path, input: Any, folder: Path) -> str | None:
        """A copy of the project's folder is registered, and its workflow started: agents of a test write nothing into
        the author's own."""
        from penstock.app.plan.plans import Plans

        copy = await asyncio.to_thread(_copied, document, folder / "projects" / document.name)
        plans = Plans(door)
        project = await plans.register(copy, trusted=True)
        most = input.get("max_concurrent") if isinstance(input, Mapping) else None
        await plans.start(project.id, force=True, max_concurrent=most)
        return plans.project(project.id).run

    def tell_news(self, door: Door, tell: Tell) -> None:
        """T-X.35: under the seed's names, to every listener of the server."""
        from penstock.app.plan.live_news import LiveNews

        LiveNews(door, tell)

    def background(self, door: Door) -> Background:
        from penstock.app.plan.background import PlanWork

        return PlanWork(door)


def _copied(document: Path, copy: Path) -> Path:
    shutil.copytree(document, copy, ignore=shutil.ignore_patterns(".git", ".penstock"))
    return copy


APP = PlanApp()
