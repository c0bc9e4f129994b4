"""A bench with a tenant: connections, secrets and what else is registered."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from penstock.executors.contract import Services
from tests.executors.bench import Bench
from tests.executors.tenant import KeptTenant


class Desk(Bench):
    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self.tenant = KeptTenant()

    @property
    def services(self) -> Services:
        return Services(
            output_dir=self.output_dir,
            input_dir=self.input_dir,
            settings=self.settings,
            tenant=lambda who: self.tenant if who == "t" else KeptTenant(who),
        )

    def register(self, kind: str, id: str, /, **body: Any) -> None:
        self.tenant.things.setdefault(kind, {})[id] = body
