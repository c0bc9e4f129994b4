"""What people who let agents work through plans ask of the door."""

from __future__ import annotations

from penstock.app.language import AppLanguage, Background, Door, Tell


class PlanApp(AppLanguage):
    """A project's folder is its document: the run is started once, and moved along when files change."""

    def tell_news(self, door: Door, tell: Tell) -> None:
        """T-X.35: under the seed's names, to every listener of the server."""
        from penstock.app.plan.live_news import LiveNews

        LiveNews(door, tell)

    def background(self, door: Door) -> Background:
        from penstock.app.plan.background import PlanWork

        return PlanWork(door)


APP = PlanApp()
