"""Work items: what waits for a person or an agent, and what they have done."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Protocol

import msgspec

from penstock.kernel.state import STATUS
from penstock.store.sql import HOUR_MS, Sql, is_in

#: in the place of an assignee: the agent that the item names
AGENT = "*"
#: the net, the node, the status and the candidates of work items
GroupKey = tuple[int, int, str, bytes | None]


class ItemKey(msgspec.Struct, frozen=True):
    """Which work item a row is about, and how it stands."""

    run: int
    run_id: str
    net: int
    firing: int
    node: int
    status: str


class ItemRow(ItemKey, frozen=True):
    prompt: bytes
    candidates: bytes | None
    opened_at: int


class ItemGroup(msgspec.Struct, frozen=True):
    """So many open work items of one node, for the same people, that were opened in the same hour (0: before)."""

    net: int
    node: int
    status: str
    candidates: bytes | None
    hour: int
    count: int
    oldest: int

    @property
    def key(self) -> GroupKey:
        return (self.net, self.node, self.status, self.candidates)


class WorkRow(ItemKey, frozen=True):
    """A work item of a process."""

    assignee: str | None
    mode: str | None
    version: int
    prompt: bytes
    candidates: bytes | None
    opened_at: int
    moved_at: int


class DoneRow(msgspec.Struct, frozen=True):
    """A work item of a process that somebody has done; `moved_at` is when, unless it was undone since."""

    run: int
    run_id: str
    firing: int
    status: str
    assignee: str | None
    mode: str | None
    prompt: bytes
    moved_at: int


#: status, and the time of opening: from, and before
ItemWindow = tuple[str, int, int]
_LAST = 2**62


class WorkItemStore(Protocol):
    def items(self, *, open_only: bool = True, run: int | None = None) -> list[tuple[Any, ...]]: ...

    def open_items(
        self, tenant: str, limit: int, *, of: Iterable[GroupKey] | None = None, spoken: bool = False
    ) -> list[ItemRow]:
        """Work items that wait for somebody, oldest first; `of` some groups; `spoken`: of runs about whose items
        something else than a comment was said. Costs the page, and what is older and not meant."""
        ...

    def open_groups(self, tenant: str, since: int, window: ItemWindow | None = None) -> list[ItemGroup]:
        """The same counted, by hours after `since`; of one window if asked for. Costs the open items of all tenants in
        it, of which nobody reads what is asked."""
        ...

    def item_windows(self, size: int) -> Iterator[ItemWindow]:
        """The open items of all tenants in windows of about so many. Each costs as many entries of an index."""
        ...

    def work_items(
        self, tenant: str, statuses: Iterable[str], *, assignee: str | None = None, after: tuple[int, int] = (0, 0),
        limit: int = 50,
    ) -> list[WorkRow]:  # fmt: skip
        """Of processes, in the order of their runs: those after a run and a firing. Costs the page, by an index."""
        ...

    def work_of(self, run: int, firing: int | None = None) -> list[WorkRow]:
        """Of one run, also those that are closed."""
        ...

    def done_items(
        self, tenant: str, nets: Iterable[int], statuses: Iterable[str], *, since: int | None = None,
        after: tuple[int, int] = (0, 0), limit: int = 500,
    ) -> list[DoneRow]:  # fmt: skip
        """Of the runs of some nets, in the order of their runs: those after a run and a firing, `since`: that moved at
        this time or later. Costs what the tenant has in these statuses; with `since` only its open runs, and those that
        have ended since."""
        ...


#: statuses of a work item that waits for somebody; the partial index asks for all of them in this order
OPEN_ITEM = ("TODO", "IN_PROGRESS", "SUBMITTED", "REWORK")
OPEN_ITEM_SQL = "i.status IN ('TODO','IN_PROGRESS','SUBMITTED','REWORK')"
_ITEM = "i.run, r.id, r.net, i.firing, i.node, i.status, i.prompt, i.candidates, i.opened_at"
_OLDEST = "i.opened_at, i.run, i.firing"
#: a remark's item is RUN/NODE, and «0» follows «/»
_SPOKEN = (
    " AND EXISTS (SELECT 1 FROM remark m WHERE m.tenant=r.tenant AND m.item>=r.id||'/' AND m.item<r.id||'0'"
    " AND m.kind<>'comment')"
)
_WORK = (
    "SELECT w.run, r.id, r.net, w.firing, i.node, w.status, w.assignee, w.mode, w.version, i.prompt, i.candidates,"
    " i.opened_at, i.moved_at FROM work w JOIN item i ON i.run=w.run AND i.firing=w.firing JOIN run r ON r.no=w.run"
)
_DONE = (
    "SELECT w.run, r.id, w.firing, w.status, w.assignee, w.mode, i.prompt, i.moved_at FROM work w"
    " JOIN item i ON i.run=w.run AND i.firing=w.firing JOIN run r ON r.no=w.run"
)
#: runs in which something may have been done since: an end is the last that is done in a run
_TOUCHED = (
    "SELECT no FROM run WHERE tenant=? AND status<5 UNION ALL SELECT no FROM run WHERE tenant=? AND status>=5 AND"
    f" status IN ({','.join(str(status) for status in range(5, len(STATUS)))}) AND updated_at>=?"
)


class SqlWorkItems(Sql):
    def items(self, *, open_only: bool = True, run: int | None = None) -> list[tuple[Any, ...]]:
        where = ["status IN ('TODO','IN_PROGRESS','SUBMITTED','REWORK')"] if open_only else []
        values: list[Any] = []
        if run is not None:
            where.append("run=?")
            values.append(run)
        sql = 'SELECT run,firing,node,status,prompt,candidates,"by",opened_at,moved_at FROM item'
        return self._read(
            f"{sql}{' WHERE ' + ' AND '.join(where) if where else ''} ORDER BY opened_at", values
        ).fetchall()

    def open_items(
        self, tenant: str, limit: int, *, of: Iterable[GroupKey] | None = None, spoken: bool = False
    ) -> list[ItemRow]:
        meant, values = _meant(of, spoken)
        # one status after the other, each in the order of the index: to sort them together would read all of them
        here = f"SELECT {_ITEM} FROM item i {self.ITS_RUN} WHERE {OPEN_ITEM_SQL} AND {self.PLAIN}r.tenant=?{meant}"
        each = (
            f"SELECT * FROM ({here} AND i.status='{status}' ORDER BY {_OLDEST} LIMIT ?) AS {status}"
            for status in OPEN_ITEM
        )
        given = (tenant, *values, limit) * len(OPEN_ITEM)
        sql = f"{' UNION ALL '.join(each)} ORDER BY 9, 1, 4 LIMIT ?"
        return [ItemRow(*row) for row in self._rows(sql, (*given, limit))]

    def open_groups(self, tenant: str, since: int, window: ItemWindow | None = None) -> list[ItemGroup]:
        inside = "" if window is None else " AND i.status=? AND i.opened_at>=? AND i.opened_at<?"
        sql = (
            f"SELECT r.net, i.node, i.status, i.candidates, CASE WHEN i.opened_at>=? THEN i.opened_at/{HOUR_MS} ELSE 0"
            f" END, count(*), min(i.opened_at) FROM item i {self.ITS_RUN} WHERE {OPEN_ITEM_SQL} AND"
            f" {self.PLAIN}r.tenant=?{inside} GROUP BY 1, 2, 3, 4, 5"
        )
        return [ItemGroup(*row) for row in self._rows(sql, (since, tenant, *(window or ())))]

    def item_windows(self, size: int) -> Iterator[ItemWindow]:
        sql = f"SELECT i.opened_at FROM item i WHERE {OPEN_ITEM_SQL} AND i.status=? AND i.opened_at>=? ORDER BY 1"
        for status in OPEN_ITEM:
            begin: int | None = 0
            while begin is not None:
                end: int | None = self._one(f"{sql} LIMIT 1 OFFSET ?", (status, begin, size))
                if end is not None and end <= begin:
                    end = begin + 1  # so many were opened in one moment
                yield status, begin, _LAST if end is None else end
                begin = end

    def work_items(
        self, tenant: str, statuses: Iterable[str], *, assignee: str | None = None, after: tuple[int, int] = (0, 0),
        limit: int = 50,
    ) -> list[WorkRow]:  # fmt: skip
        mine = "w.tenant=? AND w.status=?" if assignee is None else "w.tenant=? AND w.assignee=? AND w.status=?"
        sql = f"{_WORK} WHERE {mine} AND (w.run,w.firing)>(?,?) ORDER BY w.run,w.firing LIMIT ?"
        who = (tenant,) if assignee is None else (tenant, assignee)
        rows = [WorkRow(*row) for status in statuses for row in self._rows(sql, (*who, status, *after, limit))]
        return sorted(rows, key=lambda row: (row.run, row.firing))[:limit]

    def work_of(self, run: int, firing: int | None = None) -> list[WorkRow]:
        if firing is not None:
            return [WorkRow(*row) for row in self._rows(f"{_WORK} WHERE w.run=? AND w.firing=?", (run, firing))]
        return [WorkRow(*row) for row in self._rows(f"{_WORK} WHERE w.run=? ORDER BY w.firing", (run,))]

    def done_items(
        self, tenant: str, nets: Iterable[int], statuses: Iterable[str], *, since: int | None = None,
        after: tuple[int, int] = (0, 0), limit: int = 500,
    ) -> list[DoneRow]:  # fmt: skip
        of = tuple(nets)
        late = "" if since is None else f" AND i.moved_at>=? AND w.run IN ({_TOUCHED})"
        sql = (
            f"{_DONE} WHERE w.tenant=? AND w.status=? AND (w.run,w.firing)>(?,?) AND {is_in(f'{self.PLAIN}r.net', of)}"
            f"{late} ORDER BY w.run,w.firing LIMIT ?"
        )
        more = () if since is None else (since, tenant, tenant, since)
        rows = [row for status in statuses for row in self._rows(sql, (tenant, status, *after, *of, *more, limit))]
        return [DoneRow(*row) for row in sorted(rows, key=lambda row: (row[0], row[2]))[:limit]]


def _meant(of: Iterable[GroupKey] | None, spoken: bool) -> tuple[str, list[Any]]:
    """Which open work items, beside their tenant."""
    where, values = _SPOKEN if spoken else "", list[Any]()
    if of is not None:
        groups = list[str]()
        for net, node, status, packed in of:
            whose = "IS NULL" if packed is None else "=?"
            groups.append(f"r.net=? AND i.node=? AND i.status=? AND i.candidates {whose}")
            values += (net, node, status) if packed is None else (net, node, status, packed)
        where += f" AND ({' OR '.join(groups) or '1=0'})"
    return where, values
