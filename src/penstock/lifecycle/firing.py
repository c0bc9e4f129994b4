"""The phases of a firing: a node working once. Any live phase may be ended from outside."""

from __future__ import annotations

from penstock.lifecycle.contract import Machine, T, each

LIVE = ("run", "effect", "backoff", "suspended", "scope", "undo", "queue")
_ENDINGS = (
    ("settle", "done", "KERNEL 2 settled"),
    ("fail", "failed", "KERNEL 6"),
    ("skip", "skipped", "KERNEL 6 on_error skip"),
    ("interrupt", "interrupted", "KERNEL 1 interrupting trigger"),
    ("sweep", "swept", "KERNEL 5"),
)

FIRING = Machine(
    "firing",
    "run",
    (
        T("run", "ask", "effect", "KERNEL 2 effect.asked"),
        T("effect", "answer", "run", "KERNEL 2 effect.answered"),
        *each(("run", "effect"), "back_off", "backoff", "KERNEL 6 attempt.failed"),
        T("backoff", "ask", "effect", "KERNEL 6 retry timer"),
        T("run", "suspend", "suspended", "KERNEL 1 wait, work"),
        T("effect", "suspend", "suspended", "KERNEL 1 poll, agent draft"),
        T("suspended", "resume", "run", "KERNEL 2"),
        T("suspended", "ask", "effect", "KERNEL 4 poll, rework of an agent"),
        *each(("run", "backoff", "suspended"), "wait_for_place", "queue", "KERNEL 4 plan: agent pool"),
        T("queue", "ask", "effect", "KERNEL 4 plan: queued until started"),
        T("run", "open", "scope", "KERNEL 5"),
        T("run", "undo", "undo", "KERNEL 6"),
        *(T(phase, event, end, source) for phase in LIVE for event, end, source in _ENDINGS),
        T("failed", "revive", "run", "KERNEL 7: a retry by hand keeps the firing and its key"),
    ),
    terminal=("done", "failed", "skipped", "interrupted", "swept"),
)

# P-X.30: the one vocabulary for units of work that the languages' words are mapped from.
UNIT_WORDS = {
    "run": "RUNNING",
    "effect": "RUNNING",
    "scope": "RUNNING",
    "undo": "RUNNING",
    "backoff": "RETRYING",
    "queue": "QUEUED",
    "suspended": "WAITING",
    "done": "SUCCEEDED",
    "failed": "FAILED",
    "skipped": "SKIPPED",
    "interrupted": "CANCELLED",
    "swept": "CANCELLED",
}
