"""The health of a project: each check computes the level anew, and may move between any two (T-4, T-X.4)."""

from __future__ import annotations

from penstock.lifecycle.contract import Machine, T, each

_CHECKED = ("healthy", "warning", "error")

PROJECT_HEALTH = Machine(
    "project_health",
    "unknown",
    (
        T("unknown", "checked_healthy", "healthy", "T-4.1.1"),
        T("warning", "checked_healthy", "healthy", "T-4.1.3: the warning is resolved"),
        T("error", "checked_healthy", "healthy", "T-4.1.5: the error is resolved"),
        T("healthy", "checked_warning", "warning", "T-4.1.2: a warning is detected"),
        T("warning", "checked_error", "error", "T-4.1.4: an error is detected"),
        *each(("unknown", "error"), "checked_warning", "warning", "T-X.4"),
        *each(("unknown", "healthy"), "checked_error", "error", "T-X.4"),
        *(T(level, f"checked_{level}", level, "T-X.4: as before") for level in _CHECKED),
    ),
    terminal=(),
)
