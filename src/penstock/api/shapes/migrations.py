"""Moves of runs to another version, at the edge."""

from __future__ import annotations

from pydantic import Field

from penstock.api.bodies import RequestBody, ResponseBody
from penstock.app.runs.commands.migration import Migration


class MigrateAsked(RequestBody):
    """`nodes` are ids, old to new, of those that have another id in the new version."""

    name: str = Field(max_length=200)
    version: int | None = Field(default=None, ge=1, lt=2**31, description="None: the one in force, else the newest.")
    nodes: dict[str, str] = Field(default={}, max_length=1000)
    dry_run: bool = False


class MigrationOut(ResponseBody, of=Migration):
    pass
