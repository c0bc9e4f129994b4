"""work: opens a work item for a person; an agent begins at once."""

from __future__ import annotations

from penstock.kernel.run import Run
from penstock.kernel.state import Firing
from penstock.kernel.work_item import open_item
from penstock.net.compiled import CNode


def fire(r: Run, node: CNode, firing: Firing) -> None:
    open_item(r, node, firing, firing.attempt)
