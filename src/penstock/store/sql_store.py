"""The SQL of every repository, for both databases; what they do not share is in `sqlite.py` and `postgres/`."""

from __future__ import annotations

from typing import Any

from penstock.store.access import FORGET_REQUESTS, FORGET_SESSIONS, SqlAccess
from penstock.store.artifacts import SqlArtifacts
from penstock.store.autonomy import SqlAutonomy
from penstock.store.batches import FORGET_BATCHES, SqlBatches
from penstock.store.dead_letters import FORGET_LETTERS, SqlDeadLetters
from penstock.store.deployments import SqlDeployments
from penstock.store.document_checkpoints import FORGET_CHECKPOINTS, SqlCheckpoints
from penstock.store.document_drafts import SqlDocumentDrafts
from penstock.store.drafts import SqlDrafts
from penstock.store.event_logs import SqlEventLogs
from penstock.store.events import SqlEvents
from penstock.store.execution_lists import SqlExecutionLists
from penstock.store.execution_series import SqlExecutionSeries
from penstock.store.executions import SqlExecutions
from penstock.store.file_assets import SqlFileAssets
from penstock.store.file_schedules import SqlFileSchedules
from penstock.store.follow_ups import SqlFollowUps
from penstock.store.jobs import FORGET_JOBS, FORGET_WORKERS, SqlJobs
from penstock.store.judgments import SqlJudgments
from penstock.store.messages import SqlMessages
from penstock.store.projects import SqlProjects
from penstock.store.queues import FORGET_DEAD_MESSAGES, SqlQueues
from penstock.store.releases import SqlReleases
from penstock.store.reports import SqlReports
from penstock.store.run_fits import SqlRunFits
from penstock.store.run_lists import SqlRunLists
from penstock.store.run_store import SqlRuns
from penstock.store.schedules import SqlSchedules
from penstock.store.simulations import SqlSimulations
from penstock.store.table_shape import Table
from penstock.store.tables import TABLES
from penstock.store.tasks import FORGET_TASK_SESSIONS, SqlTasks
from penstock.store.work_items import SqlWorkItems

INBOX_KEPT_MS = 3_600_000  # how long an answer waits for whoever asked


class SqlStore(
    SqlRuns, SqlRunLists, SqlWorkItems, SqlArtifacts, SqlReleases, SqlSchedules, SqlEvents, SqlMessages, SqlJudgments,
    SqlDeadLetters, SqlCheckpoints, SqlAutonomy, SqlAccess, SqlDrafts, SqlDocumentDrafts, SqlBatches, SqlFileAssets,
    SqlQueues, SqlFileSchedules, SqlFollowUps, SqlExecutions, SqlExecutionLists, SqlExecutionSeries, SqlProjects,
    SqlTasks, SqlReports, SqlSimulations, SqlDeployments, SqlJobs, SqlEventLogs, SqlRunFits,
):  # fmt: skip
    def projected(self, table: Table, run: int | str | None = None) -> list[tuple[Any, ...]]:
        names = ",".join(f'"{name}"' for name in table.names)
        sql = f'SELECT {names} FROM "{table.name}"'
        return self._read(sql).fetchall() if run is None else self._read(f"{sql} WHERE run=?", (run,)).fetchall()

    def every_tenant(self) -> list[str]:
        tables = [table.name for table in TABLES if "tenant" in table.names]
        return sorted(row[0] for row in self._read(" UNION ".join(f'SELECT tenant FROM "{name}"' for name in tables)))

    def blob_names(self, after: str = "", limit: int = 1000) -> list[str]:
        return [
            row[0] for row in self._read("SELECT hash FROM blob WHERE hash>? ORDER BY hash LIMIT ?", (after, limit))
        ]

    def tidy(self, now: int) -> None:
        with self.transaction():
            for statement in (
                "DELETE FROM memo WHERE until<=?", FORGET_LETTERS, FORGET_CHECKPOINTS, FORGET_REQUESTS, FORGET_SESSIONS,
                FORGET_BATCHES, FORGET_DEAD_MESSAGES, FORGET_TASK_SESSIONS, FORGET_JOBS, FORGET_WORKERS,
            ):  # fmt: skip
                self._execute(statement, (now,))
            self._execute("DELETE FROM inbox WHERE answer IS NOT NULL AND at<?", (now - INBOX_KEPT_MS,))
            ended = "SELECT 1 FROM run WHERE no=intent.run AND status>=5"
            self._execute(f"DELETE FROM intent WHERE EXISTS ({ended})")
