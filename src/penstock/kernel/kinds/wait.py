"""wait: rests until one of its triggers comes true. It costs nothing meanwhile."""

from __future__ import annotations

from penstock.kernel import fact as F
from penstock.kernel.run import Run
from penstock.kernel.state import Firing
from penstock.net.compiled import CNode


def fire(r: Run, node: CNode, firing: Firing) -> None:
    r.record((F.PHASE, firing.no, "suspended"))
