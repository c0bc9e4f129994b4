"""Definitions that a rollout puts in force: whoever keeps the releases says how."""

from __future__ import annotations

from collections.abc import Callable

#: tenant, name of the definition, version
DefinitionSwitch = Callable[[str, str, str], None]


class Definitions:
    """W-9.4.1: the active version of a workflow follows its rollout. Where nobody keeps releases, nothing is moved: the
    deployment alone says which version applies."""

    def __init__(self) -> None:
        self.switch: DefinitionSwitch | None = None

    def put_in_force(self, tenant: str, name: str, version: str) -> None:
        """Again, it changes nothing. Raises what the lifecycle of releases and the four eyes refuse."""
        if self.switch is not None:
            self.switch(tenant, name, version)
