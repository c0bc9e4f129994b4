"""What people who let agents work through plans ask of the door."""

from __future__ import annotations

from typing import Any

from penstock.app.language import AppLanguage, Background, Door, Tell
from penstock.app.plan.review_rules import ReviewRules
from penstock.errors import BadInput


class PlanApp(AppLanguage):
    """A project's folder is its document: the run is started once, and moved along when files change."""

    work_rules = ReviewRules()

    def submit(self, door: Door, data: dict[str, Any], source: bytes, *, by: str | None, about: str | None) -> Any:
        """A plan says which programs are started: it comes from a folder that was registered, and never by itself."""
        hint = "Put it into a folder, and register that: POST /projects, or `penstock plan run FOLDER`."
        raise BadInput(what="the document", why="a plan is a folder, and has no versions", hint=hint)

    def tell_news(self, door: Door, tell: Tell) -> None:
        """T-X.35: under the seed's names, to every listener of the server."""
        from penstock.app.plan.live_news import LiveNews

        LiveNews(door, tell)

    def background(self, door: Door) -> Background:
        from penstock.app.plan.background import PlanWork

        return PlanWork(door)


APP = PlanApp()
