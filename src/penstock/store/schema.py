"""SQLite's dialect of `tables.py`, and the steps that bring an older store up to it."""

from __future__ import annotations

from msgspec.structs import replace

from penstock.kernel.state import STATUS
from penstock.store.autonomy_tables import AUTONOMY_TABLES
from penstock.store.deployment_tables import DEPLOYMENT_TABLES
from penstock.store.event_log_tables import EVENT_LOG_TABLES
from penstock.store.execution_tables import DEFINITION, EXECUTION, INGEST, STAGE, STAGE_LOG, USAGE
from penstock.store.file_tables import FILE_ASSET, FILE_SCHEDULE, QUEUE_MESSAGE
from penstock.store.file_views import FILE_VIEWS, file_views
from penstock.store.job_tables import JOB_TABLES
from penstock.store.run_fit_tables import RUN_FIT_TABLES
from penstock.store.run_tables import CAUSE, JOURNAL, OUTBOX, RUN, WAITING, WORK
from penstock.store.simulation_tables import SIMULATION_TABLES
from penstock.store.table_shape import Column, Table, check_of
from penstock.store.tables import (
    API_KEY,
    ARTIFACT,
    AUDIT,
    BATCH,
    CHECKPOINT,
    DOCUMENT_DRAFT,
    DRAFT,
    ENDED_SESSION,
    EVENT,
    JUDGMENT,
    LETTER,
    MESSAGE,
    RELEASE,
    REMARK,
    REQUEST,
    SCHEDULE,
    TABLES,
)
from penstock.store.task_tables import TASK_TABLES

#: raised by one with every change of `tables.py` that a store on disk must follow
VERSION = 8
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
        columns.append(f'"{column.name}" {_TYPE[column.type]}{rule}{check_of(column)}')
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


def _moment(column: str, name: str = "") -> str:
    return f"strftime('%Y-%m-%dT%H:%M:%fZ', {column}/1000.0, 'unixepoch') AS {name or column}"


_STATUSES = " ".join(f"WHEN {number} THEN '{name.lower()}'" for number, name in enumerate(STATUS))

_SAME = "WHERE o.tenant = r.tenant AND o.name = r.name"
#: of a process `r`: the version that is in force, else the newest
IN_FORCE = (
    f"coalesce((SELECT max(o.version) FROM release o {_SAME} AND o.status = 'active'),"
    f" (SELECT max(o.version) FROM release o {_SAME}))"
)


def first_of(column: str) -> str:
    """Of its first version."""
    return f"(SELECT o.{column} FROM release o {_SAME} ORDER BY o.version LIMIT 1)"


def _of(column: str, member: str) -> str:
    return f"json_extract(CAST(r.{column} AS TEXT), '$.{member}')"


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
    # a process is known by the id of its first version, and shown as it is in force
    "proc_def": (
        f"SELECT {first_of('id')} AS id, coalesce({_of('document', 'process_definition_name')}, r.name) AS name,"
        " CAST(r.bpmn AS TEXT) AS bpmn, CAST(r.document AS TEXT) AS definition, r.kind AS type,"
        f" r.tenant AS tenant_id, {_moment(first_of('created_at'), 'created_at')},"
        f" {_moment('r.created_at', 'updated_at')}, {_of('document', 'parent_id')} AS parent_id,"
        f" {_of('document', 'source_event_log_id')} AS source_event_log_id, CAST(r.dmn AS TEXT) AS dmn"
        f" FROM release r WHERE r.kind IS NOT NULL AND r.version = {IN_FORCE}"
    ),
    "proc_def_version": (
        f"SELECT r.id, {first_of('id')} AS proc_def_id, r.version, CAST(r.document AS TEXT) AS snapshot,"
        f" CAST(r.diff AS TEXT) AS diff, {_moment('r.created_at', 'created_at')} FROM release r"
        " WHERE r.kind IS NOT NULL"
    ),
    "proc_def_mining_link": (
        f"SELECT {first_of('id')} AS proc_def_id, {_of('origin', 'event_log_id')} AS event_log_id,"
        f" {_of('origin', 'fitness')} AS fitness, {_of('origin', 'precision')} AS precision FROM release r"
        f" WHERE r.kind IS NOT NULL AND {_of('origin', 'event_log_id')} IS NOT NULL"
    ),
    **file_views(lambda column: column, _moment),
}


#: what releases have since version 4
RELEASED_LATER = ("kind", "bpmn", "dmn", "diff", "origin")
#: what keys have since version 5
KEYS_LATER = ("approves",)


def _view(name: str) -> str:
    return f'CREATE VIEW "{name}" AS {VIEWS[name]}'


def create_all() -> list[str]:
    return [*(statement for table in TABLES for statement in create(table)), *map(_view, VIEWS)]


def _index(table: Table, name: str) -> str:
    """An index that an older table gets."""
    return next(statement for statement in create(table) if f'INDEX "{name}"' in statement)


def _later(table: Table, name: str) -> str:
    """An index that a table got later: whoever comes from a version before it has got it with the table."""
    return _index(table, name).replace("INDEX", "INDEX IF NOT EXISTS", 1)


def _new(*tables: Table) -> tuple[str, ...]:
    return tuple(statement for table in tables for statement in create(table))


def before(table: Table, later: tuple[str, ...]) -> Table:
    """A table as it was, without the columns that it got later and the indexes on them."""
    kept = tuple(column for column in table.columns if column.name not in later)
    indexes = tuple(index for index in table.indexes if not set(index.columns) & set(later))
    return replace(table, columns=kept, indexes=indexes)


def _added(table: Table, names: tuple[str, ...]) -> tuple[str, ...]:
    """Columns that an older table gets."""

    def added(column: Column) -> str:
        return f'ALTER TABLE "{table.name}" ADD COLUMN "{column.name}" {_TYPE[column.type]}'

    return tuple(added(column) for column in table.columns if column.name in names)


def waits_of_tenants(new: list[str]) -> tuple[str, ...]:
    """Waits lie by tenant: each is the tenant's whose run waits."""
    return (
        'ALTER TABLE "waiting" RENAME TO "waiting_4"',
        *new,
        "INSERT INTO waiting SELECT r.tenant, w.name, w.run, w.wait FROM waiting_4 w JOIN run r ON r.no = w.run",
        'DROP TABLE "waiting_4"',
    )


#: version → statements that lead from the version before to it
MIGRATIONS: dict[int, tuple[str, ...]] = {
    2: (
        *_new(ARTIFACT, before(RELEASE, RELEASED_LATER), MESSAGE, EVENT, SCHEDULE, LETTER, JUDGMENT, CHECKPOINT),
        _view("workflow_versions"),
        _view("workflow_checkpoints"),
    ),
    3: (*_new(before(API_KEY, KEYS_LATER), AUDIT, REQUEST, DRAFT, REMARK), _index(RUN, "run_parent")),
    4: (
        *(
            _index(RUN, name)
            for name in ("run_updated", "run_priority", "run_open", "run_quiet", "run_live", "run_ended")
        ),
        *(_later(table, f"{table.name}_at") for table in (DRAFT, REMARK)),
        *_added(RELEASE, RELEASED_LATER),
        _index(RELEASE, "release_kind"),
        *_new(WORK),
        *map(_view, ("proc_def", "proc_def_version", "proc_def_mining_link")),
    ),
    5: (
        *_added(JOURNAL, ("checksum",)),
        *_new(ENDED_SESSION, CAUSE, BATCH, FILE_ASSET, QUEUE_MESSAGE, FILE_SCHEDULE),
        *_new(EXECUTION, STAGE_LOG, USAGE, INGEST, DEFINITION, STAGE),
        *map(_view, FILE_VIEWS),
        _index(RUN, "run_pending"),
        _later(LETTER, "letter_replayed"),
        _later(OUTBOX, "outbox_topic"),
        'DROP INDEX IF EXISTS "event_open"',
        _index(EVENT, "event_open"),
        *_added(API_KEY, KEYS_LATER),
        *waits_of_tenants(create(WAITING)),
    ),
    6: _new(*TASK_TABLES),
    7: _new(*DEPLOYMENT_TABLES, *SIMULATION_TABLES),
    8: _new(DOCUMENT_DRAFT, *JOB_TABLES, *AUTONOMY_TABLES, *EVENT_LOG_TABLES, *RUN_FIT_TABLES),
}
