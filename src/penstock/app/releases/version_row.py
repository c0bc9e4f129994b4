"""A release as a row of workflow_versions (W-9.3.1): the names that HTTP and the command line print."""

from __future__ import annotations

from typing import Any

from penstock.store.releases import ReleaseRow

#: W-9.4.1: what its author is told, by its status
_MESSAGES = {
    "draft": "Not submitted", "pending_approval": "Approval requested", "approved": "Approved",
    "active": "Workflow activated", "deprecated": "Out of force",
}  # fmt: skip
REJECTED = "Approval rejected with feedback"


def message_of(row: ReleaseRow) -> str:
    return REJECTED if row.status == "draft" and row.feedback else _MESSAGES[row.status]


def version_row(row: ReleaseRow) -> dict[str, Any]:
    return {
        "id": row.id, "workflow_id": row.name, "version": row.version, "tenant_id": row.tenant, "dsl_hash": row.hash,
        "status": row.status, "created_by": row.created_by, "created_at": row.created_at,
        "approved_by": row.approved_by, "approved_at": row.approved_at, "deprecated_at": row.deprecated_at,
        "change_summary": row.change_summary, "feedback": row.feedback, "message": message_of(row),
    }  # fmt: skip
