"""task: asks for one effect."""

from __future__ import annotations

from penstock.kernel.flow import ask
from penstock.kernel.run import Run
from penstock.kernel.state import Firing
from penstock.net.compiled import CNode


def fire(r: Run, node: CNode, firing: Firing) -> None:
    ask(r, firing, firing.attempt)
