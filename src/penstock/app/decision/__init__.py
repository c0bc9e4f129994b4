"""What people who write workflows ask of the door: judgments, dead letters."""

from __future__ import annotations

from penstock.app.language import AppLanguage, Door
from penstock.store.releases import ReleaseRow


class DecisionApp(AppLanguage):
    def activated(self, door: Door, row: ReleaseRow) -> list[str]:
        """W-7.5.4: dead letters that ask for it are replayed with the version that mends them."""
        from penstock.app.decision.dead_letters import replay_with

        return replay_with(door, row)


APP = DecisionApp()
