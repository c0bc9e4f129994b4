"""The life of an approval request (W-4.6)."""

from __future__ import annotations

from penstock.lifecycle.contract import Machine, T

APPROVAL = Machine(
    "approval",
    "REQUESTED",
    (
        T("REQUESTED", "notify_approvers", "PENDING", "W-4.6"),
        T("PENDING", "approve_action", "APPROVED", "W-4.6"),
        T("PENDING", "reject_action", "REJECTED", "W-4.6"),
        T("PENDING", "escalate_action", "ESCALATED", "W-4.6"),
        T("PENDING", "timeout_reached", "TIMEOUT", "W-4.6"),
        T("TIMEOUT", "on_timeout=reject", "REJECTED", "W-4.6"),
        T("TIMEOUT", "on_timeout=escalate", "ESCALATED", "W-4.6"),
        T("TIMEOUT", "on_timeout=auto_approve", "APPROVED", "W-4.6"),
        T("ESCALATED", "reassign_approvers", "PENDING", "W-4.6.1"),
    ),
    terminal=("APPROVED", "REJECTED"),
)
