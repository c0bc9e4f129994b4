"""The circuit breaker between the host and one receiver."""

from __future__ import annotations

from penstock.lifecycle.contract import Machine, T, each

BREAKER = Machine(
    "breaker",
    "closed",
    (
        T("closed", "call", "closed", "W-7.3.2"),
        T("closed", "trip", "open", "W-7.3.2"),
        T("open", "cool_down", "half_open", "W-7.3.2"),
        T("half_open", "probe_ok", "half_open", "C-19: not yet all of half_open_requests"),
        T("half_open", "probes_passed", "closed", "W-7.3.2, C-19"),
        T("half_open", "probe_failed", "open", "W-7.3.2"),
        *each(("open", "half_open"), "reset", "closed", "by hand"),
    ),
    terminal=(),
)
