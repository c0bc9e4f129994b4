"""Rows of definitions and their stages for those who read them in the database (F-1.1, F-1.2, F-X.1, F-X.2)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from penstock.app.runs.queries import Queries
from penstock.dialects.pipeline.stage_rows import moment
from penstock.lang.contract import Setting
from penstock.lang.pipeline.definition import Definition, read
from penstock.lang.pipeline.keys import number_of
from penstock.lang.read import read_document
from penstock.lang.report import Report
from penstock.store.execution_tables import DEFINITION, STAGE
from penstock.store.releases import ReleaseRow

_JSON = (
    "trigger_conditions", "configuration", "default_params", "resource_requirements", "dependencies",
    "success_actions", "failure_actions", "notification_config",
)  # fmt: skip
_STAGE_JSON = (
    "processor_config", "input_validation", "output_validation", "condition", "resource_allocation", "metrics_config",
)  # fmt: skip
#: columns that are not null: what stands there where nothing is written
_EMPTY = {"configuration": "{}", "processor_config": "{}"}


def keep_rows(door: Queries, tenant: str, code: str) -> None:
    """As it is in force; what is out of force is switched off and stays (F-X.2)."""
    versions = door.store.releases(tenant, code)
    if not versions:
        return
    row = next((each for each in versions if each.status == "active"), versions[-1])
    document = read_document(row.document, name=f"{code}.json")
    definition = read(document, Report(document), Setting())
    definition_row = _definition(definition, row, versions[0])
    door.store.put_definition(definition_row, _stages(definition, row, versions[0]))


def _definition(definition: Definition, row: ReleaseRow, first: ReleaseRow) -> tuple[Any, ...]:
    top = definition.top
    values = {
        **{name: getattr(top, name, None) for name in DEFINITION.names},
        **{name: _json(definition.raw.get(name), name) for name in _JSON},
        "id": number_of(row.name), "tenant_id": row.tenant, "description": top.description or None,
        "is_active": int(row.status == "active" and bool(top.is_active)), "version": row.version,
        "created_at": moment(first.created_at), "updated_at": moment(row.created_at), "created_by": first.created_by,
    }  # fmt: skip
    return tuple(values[name] for name in DEFINITION.names)


def _stages(definition: Definition, row: ReleaseRow, first: ReleaseRow) -> list[tuple[Any, ...]]:
    return [
        _stage(stage.code, stage.fields, raw, row, first)
        for stage in definition.stages
        for raw in definition.raw.get("stages", ())
        if isinstance(raw, Mapping) and raw.get("stage_code") == stage.code
    ]


def _stage(code: str, fields: Any, raw: Mapping[str, Any], row: ReleaseRow, first: ReleaseRow) -> tuple[Any, ...]:
    values = {
        **{name: getattr(fields, name, None) for name in STAGE.names},
        **{name: _json(raw.get(name), name) for name in _STAGE_JSON},
        **{name: int(bool(getattr(fields, name))) for name in ("is_optional", "is_parallel", "is_active")},
        "id": number_of(row.name, code), "tenant_id": row.tenant, "pipeline_id": number_of(row.name),
        "description": fields.description or None, "created_at": moment(first.created_at),
        "updated_at": moment(row.created_at),
    }  # fmt: skip
    return tuple(values[name] for name in STAGE.names)


def _json(value: Any, name: str) -> str | None:
    if value in (None, {}, []):
        return _EMPTY.get(name)
    return msgspec.json.encode(value).decode()
