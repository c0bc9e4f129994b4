"""The life of a version of a workflow (W-9.3)."""

from __future__ import annotations

from penstock.lifecycle.contract import Machine, T

RELEASE = Machine(
    "release",
    "draft",
    (
        T("draft", "submit", "pending_approval", "W-9.3.2"),
        T("pending_approval", "approve", "approved", "W-9.3.2"),
        T("pending_approval", "reject", "draft", "W-9.3.2: with feedback"),
        T("approved", "activate", "active", "W-9.3.2"),
        T("active", "deprecate", "deprecated", "W-9.3.2: by hand, or by a version that takes its place"),
        T("deprecated", "activate", "active", "W-9.3.2: a rollback"),
        T("approved", "deprecate", "deprecated", "W-9.3.2"),
    ),
    terminal=(),
)
