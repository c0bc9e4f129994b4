"""A simulation as it is kept for people: its subject, its result with all samples, and the report asked for."""

from __future__ import annotations

from typing import Any

import msgspec


class SimulationRecord(msgspec.Struct, frozen=True, kw_only=True):
    id: str
    run: str
    node: str
    document: str
    artifact_type: str
    artifact_id: str
    candidate: str | None
    baseline: str | None
    mode: str
    created_at: int
    result: dict[str, Any]
    format: str | None = None
    report: bytes | None = None
