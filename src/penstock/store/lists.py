"""Lists and counts over rows, written once for both databases: `contract_lists.py` says what each costs."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from msgspec.structs import replace

from penstock.kernel.state import STATUS
from penstock.store.contract import RunRow
from penstock.store.contract_lists import (
    DoneRow,
    Gauges,
    GroupKey,
    ItemGroup,
    ItemRow,
    Rank,
    Ranking,
    RunFilter,
    WorkRow,
)
from penstock.store.reads import RUN
from penstock.store.sql import Sql

HOUR_MS = 3_600_000

_FILTERED = "no,id,tenant,net,key,status,priority,created_at,updated_at,parent"  # what a filter or a ranking looks at
#: statuses of a work item that waits for somebody; the partial index asks for all of them in this order
OPEN_ITEM = ("TODO", "IN_PROGRESS", "SUBMITTED", "REWORK")
_OPEN_ITEM = "i.status IN ('TODO','IN_PROGRESS','SUBMITTED','REWORK')"
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
    f" status IN ({','.join(str(one) for one in range(5, len(STATUS)))}) AND updated_at>=?"
)
_ENDED = 5  # statuses from here on are ends; «< 5» is what the partial indexes ask for

#: Counts by what an index begins with: from one group to the next by one look-up, and each group is counted inside the
#: index. To group what was read would read, and sort, every row.
_OPEN = "FROM run WHERE tenant=? AND status<5"
_OPEN_COUNTS = f"""
WITH RECURSIVE kind(status) AS (SELECT 0 UNION ALL SELECT status+1 FROM kind WHERE status<4),
of(net) AS (
  SELECT (SELECT net {_OPEN} ORDER BY net LIMIT 1)
  UNION ALL
  SELECT (SELECT net {_OPEN} AND net>of.net ORDER BY net LIMIT 1) FROM of WHERE of.net IS NOT NULL),
at(net, status, hour) AS (
  SELECT of.net, kind.status, (SELECT created_at/{HOUR_MS} {_OPEN} AND net=of.net AND status=kind.status
    AND created_at>=? ORDER BY created_at LIMIT 1) FROM of, kind WHERE of.net IS NOT NULL
  UNION ALL
  SELECT at.net, at.status, (SELECT created_at/{HOUR_MS} {_OPEN} AND net=at.net AND status=at.status
    AND created_at>=(at.hour+1)*{HOUR_MS} ORDER BY created_at LIMIT 1) FROM at WHERE at.hour IS NOT NULL)
SELECT at.status, at.net, at.hour, (SELECT count(*) {_OPEN} AND net=at.net AND status=at.status
  AND created_at>=at.hour*{HOUR_MS} AND created_at<(at.hour+1)*{HOUR_MS} AND created_at>=?)
  FROM at WHERE at.hour IS NOT NULL
UNION ALL
SELECT kind.status, of.net, 0, (SELECT count(*) {_OPEN} AND net=of.net AND status=kind.status AND created_at<?)
  FROM of, kind WHERE of.net IS NOT NULL"""
_OVER = "FROM run WHERE tenant=? AND status>=5 AND status="
_ENDED_COUNTS = f"""
WITH RECURSIVE kind(status) AS (SELECT 5 UNION ALL SELECT status+1 FROM kind WHERE status<{len(STATUS) - 1}),
at(status, hour) AS (
  SELECT kind.status, (SELECT updated_at/{HOUR_MS} {_OVER}kind.status AND updated_at>=?
    ORDER BY updated_at LIMIT 1) FROM kind
  UNION ALL
  SELECT at.status, (SELECT updated_at/{HOUR_MS} {_OVER}at.status AND updated_at>=(at.hour+1)*{HOUR_MS}
    ORDER BY updated_at LIMIT 1) FROM at WHERE at.hour IS NOT NULL)
SELECT at.hour, at.status, (SELECT count(*) {_OVER}at.status AND updated_at>=at.hour*{HOUR_MS}
  AND updated_at<(at.hour+1)*{HOUR_MS} AND updated_at>=?) FROM at WHERE at.hour IS NOT NULL"""


class Lists(Sql):
    def last_run(self) -> int:
        raise NotImplementedError

    def _rows(self, sql: str, values: Iterable[Any] = ()) -> list[Any]:
        return self._read(sql, values).fetchall()

    # -- runs ----------------------------------------------------------------------------------------------------------

    def find_runs(self, wanted: RunFilter, limit: int, *, oldest: bool = False) -> list[RunRow]:
        where, values = _where(wanted)
        order = "ASC" if oldest else "DESC"
        sql = f"SELECT {RUN} FROM run WHERE {where} ORDER BY no {order} LIMIT ?"
        return [RunRow(*row) for row in self._rows(sql, (*values, limit))]

    def ranked_runs(
        self, wanted: RunFilter, ranking: Ranking, limit: int, window: int
    ) -> tuple[list[RunRow], tuple[int, int] | None]:
        by, order, by_index = ranking.by, "DESC" if ranking.falling else "ASC", wanted.by_index
        rank = f"{by}+0" if by_index else by  # what is computed has no index: what is meant is found by its own
        after = "" if ranking.after is None else f"({rank},no){'<' if ranking.falling else '>'}(?,?)"
        values, (where, wants) = ranking.after or (), _where(wanted)
        ends = f"ORDER BY {rank} {order}, no {order}"
        behind = f"FROM run{f' WHERE {after}' if after else ''} {ends}"
        if by_index:
            meant, given = f"run WHERE {where}{f' AND {after}' if after else ''}", (*wants, *values, limit)
        else:
            meant = f"(SELECT {_FILTERED} {behind} LIMIT ?) AS near WHERE {where}"
            given = (*values, window, *wants, limit)
        rows = self._by_number(by, self._rows(f"SELECT no, {by} FROM {meant} {ends} LIMIT ?", given))
        if len(rows) == limit:
            return rows, (getattr(rows[-1], by), rows[-1].no)
        if by_index:
            return rows, None
        last = self._rows(f"SELECT {by}, no {behind} LIMIT 1 OFFSET ?", (*values, window - 1))
        return rows, (int(last[0][0]), int(last[0][1])) if last else None

    def _by_number(self, by: Rank, ranked: list[Any]) -> list[RunRow]:
        """Whole rows, with the value by which they were ranked: one that changes in between keeps its place."""
        numbers = tuple(no for no, _ in ranked)
        found = self._rows(f"SELECT {RUN} FROM run WHERE {_in('no', numbers)}", numbers) if numbers else []
        known = {row[0]: RunRow(*row) for row in found}
        return [replace(known[no], **{by: value}) for no, value in ranked if no in known]

    def first_run_at(self, at: int) -> int:
        low, high = 1, self.last_run() + 1
        while low < high:
            middle = (low + high) // 2
            row = self._rows("SELECT no, created_at FROM run WHERE no>=? ORDER BY no LIMIT 1", (middle,))
            if not row or row[0][1] >= at:
                high = middle
            else:
                low = int(row[0][0]) + 1
        return low

    def nets(self) -> list[tuple[int, str, str, str]]:
        return self._rows("SELECT no, hash, name, language FROM net ORDER BY no")

    def open_counts(self, tenant: str, since: int) -> list[tuple[int, int, int, int]]:
        values = (tenant, tenant, tenant, since, tenant, tenant, since, tenant, since)
        return [row for row in self._rows(_OPEN_COUNTS, values) if row[3]]

    def ended_counts(self, tenant: str, since: int) -> list[tuple[int, int, int]]:
        return self._rows(_ENDED_COUNTS, (tenant, since, tenant, tenant, since))

    def ended_runs(self, tenant: str, status: int, since: int, limit: int) -> list[RunRow]:
        sql = (
            f"SELECT {RUN} FROM run WHERE tenant=? AND status=? AND status>=5 AND updated_at>=?"
            " ORDER BY updated_at DESC LIMIT ?"
        )
        return [RunRow(*row) for row in self._rows(sql, (tenant, status, since, limit))]

    def open_runs(self, tenant: str, limit: int, *, soonest: bool) -> list[int]:
        if soonest:
            mine = f"status<5 AND {self.PLAIN}tenant=?"
            sql = f"SELECT no FROM run WHERE wake_at IS NOT NULL AND {mine} ORDER BY wake_at LIMIT ?"
        else:
            sql = "SELECT no FROM run WHERE status<5 AND tenant=? ORDER BY updated_at LIMIT ?"
        return [row[0] for row in self._rows(sql, (tenant, limit))]

    # -- beside runs ---------------------------------------------------------------------------------------------------

    def firings_since(self, tenant: str, floor: int, since: int, limit: int) -> list[tuple[int, ...]]:
        sql = (
            "SELECT r.net, f.node, f.status, f.attempt, f.started_at, f.ended_at FROM firing f JOIN run r ON r.no=f.run"
            " WHERE f.run>=? AND f.ended_at>=? AND r.tenant=? ORDER BY f.run DESC LIMIT ?"
        )
        return self._rows(sql, (floor, since, tenant, limit))

    def incident_runs(self, tenant: str, code: str, limit: int) -> list[int]:
        sql = (
            f"SELECT DISTINCT i.run FROM incident i JOIN run r ON r.no=i.run WHERE i.code=? AND {self.PLAIN}r.status<5"
            f" AND {self.PLAIN}r.tenant=? LIMIT ?"
        )
        return [row[0] for row in self._rows(sql, (code, tenant, limit))]

    def open_items(
        self, tenant: str, limit: int, *, of: Iterable[GroupKey] | None = None, spoken: bool = False
    ) -> list[ItemRow]:
        meant, values = _meant(of, spoken)
        # one status after the other, each in the order of the index: to sort them together would read all of them
        here = f"SELECT {_ITEM} FROM item i {self.ITS_RUN} WHERE {_OPEN_ITEM} AND {self.PLAIN}r.tenant=?{meant}"
        each = (f"SELECT * FROM ({here} AND i.status='{one}' ORDER BY {_OLDEST} LIMIT ?) AS {one}" for one in OPEN_ITEM)
        given = (tenant, *values, limit) * len(OPEN_ITEM)
        sql = f"{' UNION ALL '.join(each)} ORDER BY 9, 1, 4 LIMIT ?"
        return [ItemRow(*row) for row in self._rows(sql, (*given, limit))]

    def open_groups(self, tenant: str, since: int) -> list[ItemGroup]:
        sql = (
            f"SELECT r.net, i.node, i.status, i.candidates, CASE WHEN i.opened_at>=? THEN i.opened_at/{HOUR_MS} ELSE 0"
            f" END, count(*), min(i.opened_at) FROM item i {self.ITS_RUN} WHERE {_OPEN_ITEM} AND"
            f" {self.PLAIN}r.tenant=? GROUP BY 1, 2, 3, 4, 5"
        )
        return [ItemGroup(*row) for row in self._rows(sql, (since, tenant))]

    def work_items(
        self, tenant: str, statuses: Iterable[str], *, assignee: str | None = None, after: tuple[int, int] = (0, 0),
        limit: int = 50,
    ) -> list[WorkRow]:  # fmt: skip
        mine = "w.tenant=? AND w.status=?" if assignee is None else "w.tenant=? AND w.assignee=? AND w.status=?"
        sql = f"{_WORK} WHERE {mine} AND (w.run,w.firing)>(?,?) ORDER BY w.run,w.firing LIMIT ?"
        who = (tenant,) if assignee is None else (tenant, assignee)
        found = [WorkRow(*row) for one in statuses for row in self._rows(sql, (*who, one, *after, limit))]
        return sorted(found, key=lambda row: (row.run, row.firing))[:limit]

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
            f"{_DONE} WHERE w.tenant=? AND w.status=? AND (w.run,w.firing)>(?,?) AND {_in(f'{self.PLAIN}r.net', of)}"
            f"{late} ORDER BY w.run,w.firing LIMIT ?"
        )
        more = () if since is None else (since, tenant, tenant, since)
        found = [row for one in statuses for row in self._rows(sql, (tenant, one, *after, *of, *more, limit))]
        return [DoneRow(*row) for row in sorted(found, key=lambda row: (row[0], row[2]))[:limit]]

    def letter_counts(self, tenant: str, since: int) -> tuple[int, list[tuple[int, int]]]:
        ((total,),) = self._rows("SELECT count(*) FROM letter WHERE tenant=?", (tenant,))
        sql = f"SELECT at/{HOUR_MS}, count(*) FROM letter WHERE tenant=? AND at>=? GROUP BY 1"
        return int(total), self._rows(sql, (tenant, since))

    # -- of all tenants ------------------------------------------------------------------------------------------------

    def gauges(self) -> Gauges:
        items = (
            f"SELECT r.tenant, r.net, i.node, count(*) FROM item i JOIN run r ON r.no=i.run WHERE {_OPEN_ITEM}"
            " GROUP BY 1, 2, 3"
        )
        return Gauges(
            runs=self._rows("SELECT tenant, status, count(*) FROM run WHERE status<5 GROUP BY 1, 2"),
            items=self._rows(items), letters=self._rows("SELECT tenant, count(*) FROM letter GROUP BY 1"),
            versions=self._rows("SELECT tenant, status, count(*) FROM release GROUP BY 1, 2"),
        )  # fmt: skip

    def tenants(self) -> list[str]:
        sql = "SELECT tenant FROM artifact UNION SELECT tenant FROM release UNION SELECT tenant FROM run WHERE status<5"
        return sorted(row[0] for row in self._rows(sql))

    def largest_checkpoints(self, most: int) -> list[tuple[str, int]]:
        ((count,),) = self._rows("SELECT count(*) FROM checkpoint")
        sql = "SELECT r.tenant, max(c.size) FROM checkpoint c JOIN run r ON r.id=c.run GROUP BY 1"
        return self._rows(sql) if count <= most else []


def _where(wanted: RunFilter) -> tuple[str, list[Any]]:
    where, values = ["tenant=?", "no<?", "no>=?"], list[Any]([wanted.tenant, wanted.below, wanted.floor])
    for column, ones in (("status", wanted.status), ("net", wanted.nets)):
        if ones is not None:
            where.append(_in(column, ones))
            values += ones
    if wanted.status is not None and all(one < _ENDED for one in wanted.status):
        where.append("status<5")
    for condition, value in (
        ("created_at>=?", wanted.since), ("created_at<?", wanted.until), ("parent=?", wanted.parent)
    ):  # fmt: skip
        if value is not None:
            where.append(condition)
            values.append(value)
    if wanted.text:
        plain = wanted.text.lower().replace("~", "~~").replace("%", "~%").replace("_", "~_")
        where.append(f"(id LIKE ? ESCAPE '~' OR lower(key) LIKE ? ESCAPE '~' OR {_in('net', wanted.text_nets)})")
        values += [f"{plain}%", f"%{plain}%", *wanted.text_nets]
    return " AND ".join(where), values


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


def _in(column: str, ones: tuple[int, ...]) -> str:
    return f"{column} IN ({','.join('?' * len(ones))})" if ones else "1=0"
