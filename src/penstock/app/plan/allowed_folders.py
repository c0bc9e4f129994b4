"""Which folders of the machine somebody may register as a project: whoever shares it, only where the operator says."""

from __future__ import annotations

import os
from pathlib import Path

from penstock.app.penstock import Penstock
from penstock.errors import BadInput
from penstock.host.tenants import listed_for

#: the setting: folders below which tenants that share the machine have their projects; `tenants.NAME.plans.roots` adds
ROOTS = "plans.roots"


def admit_folder(door: Penstock, path: str) -> Path:
    """The folder without links. Raises BadInput: for what is not there and for what is not theirs with the same words,
    so that nobody learns which folders the machine has."""
    if not Path(path).is_absolute() or "\0" in path:
        raise BadInput(what="«path»", why="it is not the whole path of a folder", hint="Begin it with «/».")
    folder = Path(os.path.realpath(path))
    if not _allowed(door, folder) or not folder.is_dir():
        hint = f"Where several share a machine, its operator lists the folders for projects as {ROOTS} in the settings."
        raise BadInput(what="«path»", why="no project of yours can be there", hint=hint)
    return folder


def _allowed(door: Penstock, folder: Path) -> bool:
    policy = door.host.dispatch.services.of(door.tenant).path_policy
    roots = [Path(os.path.realpath(root)) for root in listed_for(door.settings, door.tenant, ROOTS)]
    if policy.shared and not any(folder.is_relative_to(root) for root in roots):
        return False
    others = [Path(row.path) for row in door.store.every_project() if row.tenant != door.tenant]
    apart = not any(folder.is_relative_to(other) or other.is_relative_to(folder) for other in others)
    return apart and not policy.closed(folder)


def admit_trust(door: Penstock, trusted: bool | None) -> None:
    """A trusted project runs the commands among its success criteria, and those can be sent by HTTP. Whoever shares the
    machine with others does not decide about that. Raises BadInput."""
    if trusted and door.host.dispatch.services.of(door.tenant).path_policy.shared:
        hint = "The operator of the machine can, with `penstock plan`."
        raise BadInput(what="«trusted»", why="on a shared machine no tenant makes a project trusted", hint=hint)
