"""The life of a timer: it comes due once or it is taken away."""

from __future__ import annotations

from penstock.lifecycle.contract import Machine, T

TIMER = Machine(
    "timer",
    "set",
    (
        T("set", "fire", "fired", "KERNEL 2 tick"),
        T("set", "remove", "gone", "KERNEL 2 timer.gone"),
    ),
    terminal=("fired", "gone"),
)
