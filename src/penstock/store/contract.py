"""What a store is: a run store and the repositories beside it. One suite holds every implementation to it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Protocol

from penstock.store.access import AccessStore
from penstock.store.artifacts import ArtifactStore
from penstock.store.autonomy import AutonomyStore
from penstock.store.batches import BatchStore
from penstock.store.dead_letters import DeadLetterStore
from penstock.store.deployments import DeploymentStore
from penstock.store.document_checkpoints import CheckpointStore
from penstock.store.document_drafts import DocumentDraftStore
from penstock.store.drafts import DraftStore
from penstock.store.event_logs import EventLogStore
from penstock.store.events import EventStore
from penstock.store.execution_lists import ExecutionListStore
from penstock.store.execution_series import ExecutionSeriesStore
from penstock.store.executions import ExecutionStore
from penstock.store.file_assets import FileAssetStore
from penstock.store.file_schedules import FileScheduleStore
from penstock.store.follow_ups import FollowUpStore
from penstock.store.jobs import JobStore
from penstock.store.judgments import JudgmentStore
from penstock.store.messages import MessageStore
from penstock.store.projects import ProjectStore
from penstock.store.queues import QueueStore
from penstock.store.releases import ReleaseStore
from penstock.store.reports import ReportStore
from penstock.store.run_fits import RunFitStore
from penstock.store.run_lists import RunListStore
from penstock.store.run_store import Batch, JournalRow, RunRow, RunStore
from penstock.store.schedules import ScheduleStore
from penstock.store.simulations import SimulationStore
from penstock.store.table_shape import Table
from penstock.store.tasks import TaskStore
from penstock.store.work_items import WorkItemStore


class Store(
    RunStore, RunListStore, WorkItemStore, ArtifactStore, ReleaseStore, ScheduleStore, EventStore, MessageStore,
    JobStore, JudgmentStore, DeadLetterStore, CheckpointStore, AccessStore, DraftStore, DocumentDraftStore,
    BatchStore, FileAssetStore, QueueStore, FileScheduleStore, FollowUpStore, ExecutionStore, ExecutionListStore,
    ExecutionSeriesStore, ProjectStore, TaskStore, ReportStore, SimulationStore,
    DeploymentStore, AutonomyStore, EventLogStore, RunFitStore,
    Protocol,
):  # fmt: skip
    """Who needs part of it asks for that part."""

    def tidy(self, now: int) -> None:
        """Forget what has served: memos, letters and checkpoints out of time, batches of long ago, answers that
        nobody fetched, intents of ended runs."""
        ...

    def rebuild(self, project: Callable[[RunRow, Iterator[JournalRow], Batch], None]) -> int:
        """Drop every projection and fold it again; the number of runs folded."""
        ...

    def projected(self, table: Table, run: int | str | None = None) -> list[tuple[Any, ...]]:
        """The rows that a projection has, of a run or all, in the order of their columns."""
        ...

    def every_tenant(self) -> list[str]:
        """Who is named anywhere in it."""
        ...

    def blob_names(self, after: str = "", limit: int = 1000) -> list[str]:
        """In their order, from one on."""
        ...

    def size(self) -> int:
        """Bytes that it takes."""
        ...

    def damage(self, *, quick: bool = False) -> Iterator[str]:
        """What the database itself finds wrong with its pages, rows and indexes; `quick` is bounded, whatever its
        size."""
        ...

    def still_there(self) -> None:
        """Raises StoreGone where what was opened is not there any more, as far as that is known without asking a
        server. Each commit asks this by itself."""
        ...

    def close(self) -> None: ...
