"""Uses of deployed things: the version that applies to an attempt is found, and said to have been used (C-58, C-82)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from penstock.executors.contract import Request, Tenant


def in_use(
    tenant: Tenant, type: str, id: str, request: Request, version: str | None = None
) -> Mapping[str, Any] | None:
    """The body of the version that applies in the run's environment and line; None where there is none."""
    deployed = tenant.deployed(
        type, id, environment=request.environment, line=request.line, run=request.run, version=version
    )
    if deployed is None:  # a simulation has versions of its own
        return tenant.find(type, id, version)
    if deployed.layered:
        request.used.append(deployed.use())
    body: Mapping[str, Any] = deployed.body
    return body


def only_line(data: Any) -> str:
    """The line that all rows are of; "" where they name none, or several."""
    rows = data if isinstance(data, list) else [data]
    lines = {row.get("line_id") for row in rows if isinstance(row, Mapping)} - {None}
    line = next(iter(lines)) if len(lines) == 1 else None
    return line if isinstance(line, str) else ""
