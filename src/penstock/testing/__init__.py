"""Test workflows in virtual time: the real engine, a clock in your hand, stubs for the world, people who are scripted.

    with BlockingVirtualPenstock() as penstock:
        penstock.stub("load", [{"rate": 0.08}])
        run = penstock.start("alert.json", {"line": "L01"})
        penstock.advance("2h")
        assert run.status == "escalated"

In pytest the fixture `penstock_test` is such a one. `penstock test FILE.scenario.yaml` plays the same from YAML.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from penstock.host.clock import ManualClock
    from penstock.testing.behaviours import answer, call, fails, never, real
    from penstock.testing.blocking import BlockingPerson, BlockingVirtualPenstock
    from penstock.testing.expectations import Mismatch
    from penstock.testing.messages import SentMessage
    from penstock.testing.people import Person
    from penstock.testing.snapshots import SnapshotChanged
    from penstock.testing.tested_run import OpenWait, TestedRun
    from penstock.testing.virtual_penstock import VirtualPenstock

_KEPT = {
    "penstock.host.clock": ("ManualClock",),
    "penstock.testing.behaviours": ("answer", "call", "fails", "never", "real"),
    "penstock.testing.blocking": ("BlockingPerson", "BlockingVirtualPenstock"),
    "penstock.testing.expectations": ("Mismatch",),
    "penstock.testing.messages": ("SentMessage",),
    "penstock.testing.people": ("Person",),
    "penstock.testing.snapshots": ("SnapshotChanged",),
    "penstock.testing.tested_run": ("OpenWait", "TestedRun"),
    "penstock.testing.virtual_penstock": ("VirtualPenstock",),
}
_HOME = {name: module for module, names in _KEPT.items() for name in names}
__all__ = [
    "BlockingPerson", "BlockingVirtualPenstock", "ManualClock", "Mismatch", "OpenWait", "Person", "SentMessage",
    "SnapshotChanged", "TestedRun", "VirtualPenstock", "answer", "call", "fails", "never", "real",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    """Imported when it is first used: pytest loads the plugin for every test suite."""
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(_HOME[name]), name)
    return value
