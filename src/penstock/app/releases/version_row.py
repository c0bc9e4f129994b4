"""A release as a row of workflow_versions (W-9.3.1): the names that HTTP and the command line print."""

from __future__ import annotations

from typing import Any

from penstock.store.releases import ReleaseRow


def version_row(row: ReleaseRow) -> dict[str, Any]:
    return {
        "id": row.id, "workflow_id": row.name, "version": row.version, "tenant_id": row.tenant, "dsl_hash": row.hash,
        "status": row.status, "created_by": row.created_by, "created_at": row.created_at,
        "approved_by": row.approved_by, "approved_at": row.approved_at, "deprecated_at": row.deprecated_at,
        "change_summary": row.change_summary, "feedback": row.feedback,
    }  # fmt: skip
