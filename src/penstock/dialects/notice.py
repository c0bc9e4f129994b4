"""A notice: a message to people that no node sends (C-46), written with the facts it is about."""

from __future__ import annotations

from typing import Any

import msgspec


class Notice(msgspec.Struct, kw_only=True):
    """`channels` None: the tenant's own. `escalates`: those that it keeps for trouble, where it has some. `args` is
    what is sent instead of the text, and `names` is what its template may read of the run."""

    key: str
    tenant: str
    run: str
    subject: str
    text: str
    channels: list[str] | None = None
    escalates: bool = False
    node: str = ""
    args: dict[str, Any] | None = None
    names: dict[str, Any] = {}
