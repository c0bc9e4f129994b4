"""Start a run of a release by its name: here, or in the process that drives the store."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from penstock.app.access.candidates import Who
from penstock.app.access.starters import check_may_start
from penstock.app.language import app_language
from penstock.app.releases.releases import Releases
from penstock.app.releases.rolled_out import RolledOut, rolled_out
from penstock.app.releases.triggers import active_release
from penstock.app.runs.runs import Runs
from penstock.errors import ReleaseNotFound
from penstock.host.start_requests import new_id
from penstock.store.releases import ReleaseRow


class Chosen(msgspec.Struct, frozen=True):
    """The version that a run is of; `run` and `used` where one is rolled out, for then its id decides which."""

    row: ReleaseRow
    run: str = ""
    used: list[dict[str, str]] = []


async def start(
    door: Runs, name: str, input: Any = None, *, version: int | None = None, key: str | None = None,
    trigger: Mapping[str, Any] | None = None, parent: str = "", priority: int = 1000, by: Who | None = None,
    environment: str = "",
) -> str:  # fmt: skip
    """Start the active version of a workflow, the one that is rolled out over it, or the one that is named; the run's
    id. C-18: `parent` is the run that asks for it. `by`: the person who starts it; raises StarterDenied where its
    document names others."""
    row = (
        active_release(door.store, door.tenant, name)
        if version is None
        else door.store.release(door.tenant, name, version)
    )
    if row is None:
        raise ReleaseNotFound(name=name, version=version)
    chosen = Chosen(row) if version is not None else choose(door, row, key, environment)
    Releases(door).refuse_unseen(chosen.row)
    await door.nets.prepare(chosen.row.net)
    net = door.net_of(door.hash_of(chosen.row.net)).net
    check_may_start(door, net, by)
    trigger = app_language(net.language).start_trigger(chosen.row, trigger)
    more: dict[str, Any] = {"trigger": trigger, "parent": parent, "priority": priority, "environment": environment}
    return await _begin(door, chosen, input, key=key, **more)


def choose(door: Runs, row: ReleaseRow, key: str | None, environment: str = "") -> Chosen:
    """The version of a new run where the active one is this: another, while one is rolled out (W-9.4). The same key
    again is the version of the run that has it."""
    known = door.store.run_by_key(door.tenant, key) if key is not None else None
    if known is not None:
        same = (release for release in door.store.releases(door.tenant, row.name) if release.net == known.net)
        return Chosen(next(same, row))
    run = new_id(door.now())
    picked: RolledOut | None = rolled_out(door.stored_tenant, door.store, row, run, environment)
    return Chosen(row) if picked is None else Chosen(picked.row, run, [picked.use])


async def begin(
    door: Runs, row: ReleaseRow, input: Any, *, key: str | None = None, trigger: Mapping[str, Any] | None = None,
    parent: str = "", priority: int = 1000,
) -> str:  # fmt: skip
    """A run of an active release, or of what is rolled out over it: here, or in the process that drives the store."""
    chosen = choose(door, row, key)
    return await _begin(door, chosen, input, key=key, trigger=trigger, parent=parent, priority=priority)


async def _begin(
    door: Runs, chosen: Chosen, input: Any, *, key: str | None, trigger: Mapping[str, Any] | None, parent: str,
    priority: int, environment: str = "",
) -> str:  # fmt: skip
    hash = door.store.net(chosen.row.net).hash
    more: dict[str, Any] = {
        "key": key, "trigger": trigger, "parent": parent, "environment": environment, "id": chosen.run,
        "used": chosen.used,
    }  # fmt: skip
    if not door.drives:
        return await door.hand_in(hash, input, **more)
    return await door.start(hash, input, **more, priority=priority)
