"""The open jobs of a tenant's runs, and whether anybody serves their types."""

from __future__ import annotations

from penstock.app.runs.queries import Queries
from penstock.store.jobs import JobRow

#: whoever serves a type asks again at least this often: a request waits for a minute at most
SERVED_MS = 120_000


class OpenJobs:
    """The open jobs of a tenant's runs, and who has asked for their types; each is read when it is first needed."""

    def __init__(self, door: Queries) -> None:
        self.door, self.now = door, door.now()
        self._runs: dict[int, dict[int, JobRow]] = {}
        self._asked: dict[str, int | None] = {}

    def of(self, run: int, firing: int) -> JobRow | None:
        if run not in self._runs:
            self._runs[run] = {row.firing: row for row in self.door.store.jobs_of(run)}
        return self._runs[run].get(firing)

    def asked_at(self, type: str) -> int | None:
        """When a worker has asked for such jobs last; None: never."""
        host = self.door.host_here
        if host is not None and host.jobs.waiting.get((self.door.tenant, type)):
            return self.now
        if type not in self._asked:
            workers = self.door.store.job_workers(self.door.tenant, type)
            self._asked[type] = max((worker.at for worker in workers), default=None)
        return self._asked[type]

    def served(self, type: str) -> bool:
        at = self.asked_at(type)
        return at is not None and at > self.now - SERVED_MS
