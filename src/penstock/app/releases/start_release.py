"""Start a run of a release by its name: here, or in the process that drives the store."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from penstock.app.access.candidates import Who
from penstock.app.access.starters import check_may_start
from penstock.app.language import app_language
from penstock.app.releases.releases import Releases
from penstock.app.releases.triggers import active_release
from penstock.app.runs.runs import Runs
from penstock.errors import ReleaseNotFound
from penstock.store.releases import ReleaseRow


async def start(
    door: Runs, name: str, input: Any = None, *, version: int | None = None, key: str | None = None,
    trigger: Mapping[str, Any] | None = None, parent: str = "", priority: int = 1000, by: Who | None = None,
) -> str:  # fmt: skip
    """Start the active version of a workflow, or the one that is named; the run's id. C-18: `parent` is the run that
    asks for it. `by`: the person who starts it; raises StarterDenied where its document names others."""
    row = (
        active_release(door.store, door.tenant, name)
        if version is None
        else door.store.release(door.tenant, name, version)
    )
    if row is None:
        raise ReleaseNotFound(name=name, version=version)
    Releases(door).refuse_unseen(row)
    await door.nets.prepare(row.net)
    net = door.net_of(door.hash_of(row.net)).net
    check_may_start(door, net, by)
    trigger = app_language(net.language).start_trigger(row, trigger)
    return await begin(door, row, input, key=key, trigger=trigger, parent=parent, priority=priority)


async def begin(
    door: Runs, row: ReleaseRow, input: Any, *, key: str | None = None, trigger: Mapping[str, Any] | None = None,
    parent: str = "", priority: int = 1000,
) -> str:  # fmt: skip
    """A run of a release: here, or in the process that drives the store."""
    hash = door.store.net(row.net).hash
    if not door.drives:
        return await door.hand_in(hash, input, key=key, trigger=trigger, parent=parent)
    return await door.start(hash, input, key=key, trigger=trigger, parent=parent, priority=priority)
