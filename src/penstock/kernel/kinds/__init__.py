"""The nine kinds, one file each. Adding one needs an ADR: a new node type of a language almost never does."""

from __future__ import annotations

from collections.abc import Callable

from penstock.kernel.kinds import call, end, route, scope, start, task, undo, wait, work
from penstock.kernel.run import Run
from penstock.kernel.state import Firing
from penstock.net.compiled import CNode

Fire = Callable[[Run, CNode, Firing], None]

#: by number: start end route task work wait call scope undo
FIRE: tuple[Fire, ...] = (
    start.fire, end.fire, route.fire, task.fire, work.fire, wait.fire, call.fire, scope.fire, undo.fire,
)  # fmt: skip
