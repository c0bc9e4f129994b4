"""Which definitions a file is for: type, size and conditions, of what lowering has kept in the net (F-X.9, F-S.1)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from penstock.errors import ExprError
from penstock.lang.pipeline.conditions import compiled_condition
from penstock.lang.pipeline.messages import FileMessage
from penstock.lang.pipeline.mime import file_type_of

#: why a definition does not take a file; "": it does
Mismatch = Literal["", "inactive", "scheduled", "dependent", "file_type", "max_file_size", "trigger_conditions"]


def mismatch(about: Mapping[str, Any], message: FileMessage) -> Mismatch:
    """`about` is `policies["pipeline"]` of the definition's net. F-X.12, F-X.15: one that waits for other pipelines, or
    for a schedule, is never begun by an upload."""
    if about.get("is_active", True):
        if about.get("pipeline_type") == "SCHEDULED":
            return "scheduled"
        if (about.get("dependencies") or {}).get("after"):
            return "dependent"
    return unfit(about, message)


def unfit(about: Mapping[str, Any], message: FileMessage) -> Mismatch:
    """The same, whatever begins it: F-X.31: conditions also say which tenants a definition is for."""
    if not about.get("is_active", True):
        return "inactive"
    wanted = about.get("file_type")
    if wanted != "ANY" and wanted != file_type_of(message.mime):
        return "file_type"
    most = about.get("max_file_size")
    if most is not None and message.size > most:
        return "max_file_size"
    condition = about.get("trigger")
    return "trigger_conditions" if condition is not None and not _holds(condition, about, message) else ""


def _holds(condition: str, about: Mapping[str, Any], message: FileMessage) -> bool:
    try:
        return compiled_condition(condition)(run_input(message, params=about.get("default_params")))
    except ExprError:  # an author's expression over a file that it did not think of
        return False


def run_input(message: FileMessage, *, file_id: int = 0, params: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """The input of an execution: what stages and conditions read of its file."""
    own = {"bucket": message.bucket, "key": message.key, "size": message.size, "mime": message.mime}
    file = {"id": file_id, **own, "etag": message.etag, "version_id": message.version_id}
    return {
        "file": file,
        "params": dict(params or {}),
        "tenantId": message.tenant_id,
        "organizationId": message.organization_id,
        **own,
    }
