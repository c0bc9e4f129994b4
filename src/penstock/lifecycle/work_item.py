"""The life of a work item: what a person or an agent must do.

`submit` ends the item at once (a person, an autonomous agent); `submit_for_approval` stops where somebody must approve.
A vote that does not decide keeps the item open; the one that does is followed by `decide`.
"""

from __future__ import annotations

from penstock.lifecycle.contract import Machine, T, each

WORK_ITEM = Machine(
    "work_item",
    "TODO",
    (
        T("TODO", "start", "IN_PROGRESS", "P-4.1.2"),
        *each(("TODO", "IN_PROGRESS"), "submit", "DONE", "P-4.1.5"),
        T("IN_PROGRESS", "submit_for_approval", "SUBMITTED", "P-4.1.3"),
        T("SUBMITTED", "approve", "DONE", "P-4.1.4, P-X.14"),
        T("SUBMITTED", "reject", "REWORK", "P-X.14"),
        T("SUBMITTED", "rework", "REWORK", "P-4.1.6"),
        T("DONE", "rework", "REWORK", "P-4.1.6, P-X.15"),
        T("REWORK", "redo", "TODO", "P-4.1.7"),
        *each(("TODO", "IN_PROGRESS"), "vote", "IN_PROGRESS", "W-4.6.4"),
        T("IN_PROGRESS", "decide", "DONE", "W-4.6.4: the quorum is there, or it cannot be any more"),
        T("IN_PROGRESS", "take_over", "IN_PROGRESS", "P-X.40"),
        T("TODO", "set_mode", "TODO", "P-X.40"),
        T("IN_PROGRESS", "block", "IN_PROGRESS", "P-X.11: no branch takes what its agent has said"),
        T("IN_PROGRESS", "retry", "IN_PROGRESS", "P-X.11: the agent is asked again"),
        T("TODO", "reassign", "TODO", "W-4.6.1, P-X.13"),
        T("IN_PROGRESS", "reassign", "TODO", "W-4.6.1: the new person has not started"),
        *each(("TODO", "IN_PROGRESS"), "escalate", "TODO", "W-4.6.1, C-34: to others, who have not begun"),
        T("SUBMITTED", "escalate", "SUBMITTED", "C-34: the draft waits for others"),
        T("TODO", "cancel", "CANCELLED", "P-4.1.8"),
        T("IN_PROGRESS", "cancel", "CANCELLED", "P-4.1.9"),
        T("REWORK", "cancel", "CANCELLED", "KERNEL 5"),
        *each(("SUBMITTED", "DONE"), "compensate", "COMPENSATED", "P-4.1.10"),
    ),
    terminal=("DONE", "CANCELLED", "COMPENSATED"),
)
