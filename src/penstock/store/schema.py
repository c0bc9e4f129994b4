"""SQLite's dialect of `tables.py`, and the steps that bring an older store up to it."""

from __future__ import annotations

from penstock.kernel.state import STATUS
from penstock.store.tables import (
    API_KEY,
    ARTIFACT,
    AUDIT,
    CHECKPOINT,
    DRAFT,
    EVENT,
    JUDGMENT,
    LETTER,
    MESSAGE,
    RELEASE,
    REMARK,
    REQUEST,
    RUN,
    SCHEDULE,
    TABLES,
    Table,
)

#: raised by one with every change of `tables.py` that a store on disk must follow
VERSION = 3
#: marks a file as ours in its header: "PNST"
APPLICATION_ID = 0x504E5354

_TYPE = {"int": "INTEGER", "text": "TEXT", "blob": "BLOB"}


def create(table: Table) -> list[str]:
    """DDL of one table. A lone integer key is SQLite's own row number."""
    keys = [c for c in table.columns if c.key]
    row_number = len(keys) == 1 and keys[0].type == "int" and not table.clustered
    columns = []
    for column in table.columns:
        rule = " PRIMARY KEY" if row_number and column.key else "" if column.null else " NOT NULL"
        columns.append(f'"{column.name}" {_TYPE[column.type]}{rule}')
    if not row_number:
        columns.append("PRIMARY KEY (" + ", ".join(f'"{c.name}"' for c in keys) + ")")
    end = " WITHOUT ROWID" if table.clustered else ""
    statements = [f'CREATE TABLE "{table.name}" ({", ".join(columns)}) STRICT{"," if end else ""}{end}']
    for index in table.indexes:
        unique = "UNIQUE " if index.unique else ""
        where = f" WHERE {index.where}" if index.where else ""
        names = ", ".join(f'"{n}"' for n in index.columns)
        statements.append(f'CREATE {unique}INDEX "{index.name}" ON "{table.name}" ({names}){where}')
    return statements


def _moment(column: str) -> str:
    return f"strftime('%Y-%m-%dT%H:%M:%fZ', {column}/1000.0, 'unixepoch') AS {column}"


_STATUSES = " ".join(f"WHEN {number} THEN '{name.lower()}'" for number, name in enumerate(STATUS))

#: what people read under the names that their documents give it
VIEWS: dict[str, str] = {
    "workflow_versions": (
        "SELECT id, name AS workflow_id, version, tenant AS tenant_id, CAST(document AS TEXT) AS dsl, hash AS dsl_hash,"
        f" status, created_by, {_moment('created_at')}, approved_by, {_moment('approved_at')},"
        f" {_moment('deprecated_at')}, change_summary FROM release"
    ),
    # the engine's own checkpoint stands in where a document has asked for none (C-84)
    "workflow_checkpoints": (
        "SELECT id, run AS instance_id, number AS checkpoint_number, node AS node_id, status,"
        " CAST(context AS TEXT) AS context_snapshot, CAST(outputs AS TEXT) AS node_outputs,"
        " CAST(pending AS TEXT) AS pending_events, strftime('%Y-%m-%dT%H:%M:%fZ', at / 1000.0, 'unixepoch')"
        " AS created_at FROM checkpoint UNION ALL"
        f" SELECT id || '/0', id, 0, '', CASE status {_STATUSES} END,"
        """ '{"facts": ' || checkpoint_seq || ', "bytes": ' || length(checkpoint) || '}', NULL, NULL,"""
        " strftime('%Y-%m-%dT%H:%M:%fZ', updated_at / 1000.0, 'unixepoch') FROM run"
        " WHERE checkpoint IS NOT NULL AND NOT EXISTS (SELECT 1 FROM checkpoint c WHERE c.run = run.id)"
    ),
}


def _view(name: str) -> str:
    return f'CREATE VIEW "{name}" AS {VIEWS[name]}'


def create_all() -> list[str]:
    return [*(statement for table in TABLES for statement in create(table)), *map(_view, VIEWS)]


def _index(table: Table, name: str) -> str:
    """An index that an older table gets."""
    return next(statement for statement in create(table) if f'INDEX "{name}"' in statement)


def _new(*tables: Table) -> tuple[str, ...]:
    return tuple(statement for table in tables for statement in create(table))


#: version → statements that lead from the version before to it
MIGRATIONS: dict[int, tuple[str, ...]] = {
    2: (
        *_new(ARTIFACT, RELEASE, MESSAGE, EVENT, SCHEDULE, LETTER, JUDGMENT, CHECKPOINT),
        _view("workflow_versions"),
        _view("workflow_checkpoints"),
    ),
    3: (*_new(API_KEY, AUDIT, REQUEST, DRAFT, REMARK), _index(RUN, "run_parent")),
}
