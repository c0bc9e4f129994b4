"""undo: compensates what its scope has done so far, then goes on."""

from __future__ import annotations

from penstock.kernel.flow import PLAN_UNDO
from penstock.kernel.run import Run
from penstock.kernel.state import Firing
from penstock.net.compiled import CNode


def fire(r: Run, node: CNode, firing: Firing) -> None:
    r.hold(firing, "undo")
    r.deferred.append((PLAN_UNDO, firing.no))
