"""Lists and counts of runs for people: bounded, over rows and indexes. No journal is read for them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Literal, Protocol

import msgspec
from msgspec.structs import replace

from penstock.kernel.state import FAILURE, STATUS
from penstock.store.run_store import RUN, RunRow
from penstock.store.sql import HOUR_MS, Sql, is_in, marks
from penstock.store.work_items import OPEN_ITEM_SQL

#: by what a list of runs may be ranked besides their numbers
Rank = Literal["updated_at", "priority"]


_KEYS_AT_ONCE = 500  # keys of one statement
_ENDED = 5  # statuses from here on are ends; «< 5» is what the partial indexes ask for


class RunFilter(msgspec.Struct, frozen=True, kw_only=True):
    """`below` and `floor` bound the run numbers that are looked at: numbers grow with the time of creation. `text` is
    the beginning of an id, a part of a key, of what it failed with or of who has to do with it, or the name of one of
    `text_nets` or people `text_people`. `ended` is from when on it ended, `node_failed` from when on a node of it
    failed; `letter`: it has left a dead letter; `code` and `cause_node` are what it ended badly with, and where."""

    tenant: str
    below: int
    floor: int = 0
    status: tuple[int, ...] | None = None
    nets: tuple[int, ...] | None = None
    since: int | None = None
    until: int | None = None
    parent: str | None = None
    text: str = ""
    text_nets: tuple[int, ...] = ()
    text_people: tuple[str, ...] = ()
    ended: int | None = None
    node_failed: int | None = None
    letter: bool = False
    code: str | None = None
    cause_node: str | None = None

    @property
    def by_index(self) -> bool:
        """An index leads to the runs that are meant: called ones, open ones, or those that have left a letter."""
        return self.parent is not None or self.letter or self.open_only

    @property
    def open_only(self) -> bool:
        return self.status is not None and all(status < _ENDED for status in self.status)


class Ranking(msgspec.Struct, frozen=True, kw_only=True):
    """`after` is the place of the run after which the list goes on, its value and its number, which parts equals."""

    by: Rank
    falling: bool = False
    after: tuple[int, int] | None = None


class Cause(msgspec.Struct, frozen=True):
    """Runs that failed for one reason: how many, since when, until when, and the last of them."""

    net: int
    node: str
    code: str
    count: int
    first_at: int
    last_at: int
    last_run: int


class Gauges(msgspec.Struct, frozen=True):
    """Of all tenants: open runs by status, open work items by node, dead letters, versions of documents by status."""

    runs: list[tuple[str, int, int]]  # tenant, status, count
    items: list[tuple[str, int, int, int]]  # tenant, net, node, count
    letters: list[tuple[str, int]]
    versions: list[tuple[str, str, int]]  # tenant, status, count


class RunListStore(Protocol):
    def runs(self, *, status: Iterable[int] | None = None, limit: int = 50, tenant: str | None = None) -> list[RunRow]:
        """Newest first; of all tenants, or of one."""
        ...

    def next_wake(self) -> int | None: ...

    def find_runs(self, wanted: RunFilter, limit: int, *, oldest: bool = False) -> list[RunRow]:
        """Newest first, or oldest first. Costs the runs between `floor` and `below`; where all statuses are open ones,
        the open runs."""
        ...

    def ranked_runs(
        self, wanted: RunFilter, ranking: Ranking, limit: int, window: int
    ) -> tuple[list[RunRow], tuple[int, int] | None]:
        """In the order of a value; where fewer than `limit` fit, they are those among the next `window` of all runs.
        With the place from which the list goes on, None at its end. Where an index leads to the runs that are meant,
        all of these are sorted instead, and there is no window."""
        ...

    def first_run_at(self, at: int) -> int:
        """The number from which on runs were created at this time or later. Some twenty reads by key."""
        ...

    def nets(self) -> list[tuple[int, str, str, str]]:
        """Number, hash, name and language of every net, without bodies."""
        ...

    def open_counts(self, tenant: str, since: int) -> list[tuple[int, int, int, int]]:
        """Runs that have not ended: status, net, hour of creation (0: before `since`), count. Costs the open runs,
        of which only the index is read."""
        ...

    def ended_counts(self, tenant: str, since: int) -> list[tuple[int, int, int]]:
        """Runs that ended after `since`: hour of the end, status, count. Costs those, of which only the index is
        read."""
        ...

    def ended_runs(self, tenant: str, status: int, since: int, limit: int) -> list[RunRow]:
        """Runs that ended so after `since`, the last one first."""
        ...

    def count_runs(self, wanted: RunFilter) -> int:
        """How many `find_runs` would find. Costs those."""
        ...

    def causes(self, tenant: str, status: int, since: int) -> list[Cause]:
        """Why runs ended so after `since`, but for those whose dead letter was replayed. Costs those runs, of which
        only the index is read."""
        ...

    def count_causes(self, tenant: str, status: int, since: int) -> int:
        """How many runs that ended so after `since` have a cause, replayed or not."""
        ...

    def cause_pieces(self, tenant: str, status: int, since: int, piece_ms: int) -> list[tuple[int, str, str, int, int]]:
        """Net, node, code, piece of time after `since`, and how many runs ended so in it."""
        ...

    def open_runs(self, tenant: str, limit: int, *, soonest: bool) -> list[int]:
        """Runs that have not ended: whose timer rings soonest, or which were touched longest ago."""
        ...

    def open_keyed(self, tenant: str, prefix: str) -> list[tuple[int, str]]:
        """Runs that have not ended and whose key begins so: number, id."""
        ...

    def ids_by_key(self, tenant: str, keys: Sequence[str]) -> dict[str, str]:
        """The ids of the runs that have these keys, by key."""
        ...

    def run_statuses(self, numbers: Sequence[int]) -> dict[int, int]:
        """How these runs stand, by their numbers; those that are forgotten are missing."""
        ...

    def open_called(self, parent: str, limit: int) -> list[tuple[int, str]]:
        """Runs that another one has called and that have not ended: number, id."""
        ...

    def firings_since(self, tenant: str, floor: int, since: int, limit: int) -> list[tuple[int, ...]]:
        """Firings of runs from number `floor` on that settled after `since`, those of the newest runs first: net, node,
        status, attempts, started, ended."""
        ...

    def count_failed_in(self, tenant: str, floor: int, since: int) -> int:
        """Runs from number `floor` on of which a firing failed after `since`. Costs the firings of those from there."""
        ...

    def incident_runs(self, tenant: str, code: str, limit: int) -> list[int]:
        """Runs that have not ended and have such an incident. Costs the incidents."""
        ...

    def gauges(self) -> Gauges:
        """What a collector of metrics asks for. Costs the open runs, the open items, the letters and the versions."""
        ...

    def tenants(self) -> list[str]:
        """Who has registered something, released something, or has a run that has not ended."""
        ...


_FILTERED = "no,id,tenant,net,key,status,priority,created_at,updated_at,parent"  # what a filter or a ranking looks at
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
_ENDED_RUNS = "FROM run WHERE tenant=? AND status>=5 AND status="
_ENDED_COUNTS = f"""
WITH RECURSIVE kind(status) AS (SELECT 5 UNION ALL SELECT status+1 FROM kind WHERE status<{len(STATUS) - 1}),
at(status, hour) AS (
  SELECT kind.status, (SELECT updated_at/{HOUR_MS} {_ENDED_RUNS}kind.status AND updated_at>=?
    ORDER BY updated_at LIMIT 1) FROM kind
  UNION ALL
  SELECT at.status, (SELECT updated_at/{HOUR_MS} {_ENDED_RUNS}at.status AND updated_at>=(at.hour+1)*{HOUR_MS}
    ORDER BY updated_at LIMIT 1) FROM at WHERE at.hour IS NOT NULL)
SELECT at.hour, at.status, (SELECT count(*) {_ENDED_RUNS}at.status AND updated_at>=at.hour*{HOUR_MS}
  AND updated_at<(at.hour+1)*{HOUR_MS} AND updated_at>=?) FROM at WHERE at.hour IS NOT NULL"""


class SqlRunLists(Sql):
    def runs(self, *, status: Iterable[int] | None = None, limit: int = 50, tenant: str | None = None) -> list[RunRow]:
        where, values = list[str](), list[Any]()
        if status is not None:
            values += status
            where.append(f"status IN ({marks(values)})" if values else "1=0")
        if tenant is not None:
            where.append("tenant=?")
            values.append(tenant)
        those = f" WHERE {' AND '.join(where)}" if where else ""
        rows = self._read(f"SELECT {RUN} FROM run{those} ORDER BY no DESC LIMIT ?", (*values, limit))
        return [RunRow(*r) for r in rows]

    def next_wake(self) -> int | None:
        at: int | None = self._one("SELECT min(wake_at) FROM run WHERE wake_at IS NOT NULL")
        return at

    def find_runs(self, wanted: RunFilter, limit: int, *, oldest: bool = False) -> list[RunRow]:
        where, values = self._where(wanted)
        order = "ASC" if oldest else "DESC"
        sql = f"SELECT {RUN} FROM run WHERE {where} ORDER BY no {order} LIMIT ?"
        return [RunRow(*row) for row in self._rows(sql, (*values, limit))]

    def count_runs(self, wanted: RunFilter) -> int:
        where, values = self._where(wanted)
        return int(self._one(f"SELECT count(*) FROM run WHERE {where}", values))

    def causes(self, tenant: str, status: int, since: int) -> list[Cause]:
        replayed = "SELECT r.no FROM letter l JOIN run r ON r.id=l.run WHERE l.tenant=? AND l.at>=? AND l.replays>0"
        sql = (
            "SELECT net, node, code, count(*), min(at), max(at), max(run) FROM cause WHERE tenant=? AND status=?"
            f" AND at>=? AND run NOT IN ({replayed}) GROUP BY net, node, code"
        )
        return [Cause(*row) for row in self._rows(sql, (tenant, status, since, tenant, since))]

    def ranked_runs(
        self, wanted: RunFilter, ranking: Ranking, limit: int, window: int
    ) -> tuple[list[RunRow], tuple[int, int] | None]:
        by, order, by_index = ranking.by, "DESC" if ranking.falling else "ASC", wanted.by_index
        rank = f"{by}+0" if by_index else by  # what is computed has no index: what is meant is found by its own
        after = "" if ranking.after is None else f"({rank},no){'<' if ranking.falling else '>'}(?,?)"
        values, (where, wants) = ranking.after or (), self._where(wanted)
        ends = f"ORDER BY {rank} {order}, no {order}"
        behind = f"FROM run{f' WHERE {after}' if after else ''} {ends}"
        if by_index:
            meant, given = f"run WHERE {where}{f' AND {after}' if after else ''}", (*wants, *values, limit)
        else:
            meant = f"(SELECT {_FILTERED} {behind} LIMIT ?) AS run WHERE {where}"
            given = (*values, window, *wants, limit)
        rows = self._by_number(by, self._rows(f"SELECT no, {by} FROM {meant} {ends} LIMIT ?", given))
        if len(rows) == limit:
            return rows, (getattr(rows[-1], by), rows[-1].no)
        if by_index:
            return rows, None
        last = self._rows(f"SELECT {by}, no {behind} LIMIT 1 OFFSET ?", (*values, window - 1))
        return rows, (int(last[0][0]), int(last[0][1])) if last else None

    def first_run_at(self, at: int) -> int:
        low, high = 1, int(self._one("SELECT coalesce(max(no),0) FROM run")) + 1
        while low < high:
            middle = (low + high) // 2
            row = self._rows("SELECT no, created_at FROM run WHERE no>=? ORDER BY no LIMIT 1", (middle,))
            if not row or row[0][1] >= at:
                high = middle
            else:
                low = int(row[0][0]) + 1
        return low

    def open_called(self, parent: str, limit: int) -> list[tuple[int, str]]:
        return self._rows(
            f"SELECT no, id FROM run WHERE parent=? AND {self.PLAIN}status<{_ENDED} LIMIT ?", (parent, limit)
        )

    def nets(self) -> list[tuple[int, str, str, str]]:
        return self._rows("SELECT no, hash, name, language FROM net ORDER BY no")

    def open_counts(self, tenant: str, since: int) -> list[tuple[int, int, int, int]]:
        values = (tenant, tenant, tenant, since, tenant, tenant, since, tenant, since)
        return [row for row in self._rows(_OPEN_COUNTS, values) if row[3]]

    def ended_counts(self, tenant: str, since: int) -> list[tuple[int, int, int]]:
        return self._rows(_ENDED_COUNTS, (tenant, since, tenant, tenant, since))

    def count_causes(self, tenant: str, status: int, since: int) -> int:
        return int(
            self._one("SELECT count(*) FROM cause WHERE tenant=? AND status=? AND at>=?", (tenant, status, since))
        )

    def cause_pieces(self, tenant: str, status: int, since: int, piece_ms: int) -> list[tuple[int, str, str, int, int]]:
        sql = (
            f"SELECT net, node, code, (at-{int(since)})/{int(piece_ms)} AS piece, count(*) FROM cause"
            " WHERE tenant=? AND status=? AND at>=? GROUP BY net, node, code, piece"
        )
        return self._rows(sql, (tenant, status, since))

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

    def open_keyed(self, tenant: str, prefix: str) -> list[tuple[int, str]]:
        sql = "SELECT no,id FROM run WHERE tenant=? AND key>=? AND key<? AND status<5 ORDER BY no"
        return self._read(sql, (tenant, prefix, prefix + "\x7f")).fetchall()

    def ids_by_key(self, tenant: str, keys: Sequence[str]) -> dict[str, str]:
        ids: dict[str, str] = {}
        for first in range(0, len(keys), _KEYS_AT_ONCE):
            some = keys[first : first + _KEYS_AT_ONCE]
            sql = f"SELECT key,id FROM run WHERE tenant=? AND {is_in('key', some)}"
            ids.update(self._rows(sql, (tenant, *some)))
        return ids

    def run_statuses(self, numbers: Sequence[int]) -> dict[int, int]:
        statuses: dict[int, int] = {}
        for first in range(0, len(numbers), _KEYS_AT_ONCE):
            some = numbers[first : first + _KEYS_AT_ONCE]
            statuses.update(self._rows(f"SELECT no,status FROM run WHERE {is_in('no', some)}", tuple(some)))
        return statuses

    def firings_since(self, tenant: str, floor: int, since: int, limit: int) -> list[tuple[int, ...]]:
        sql = (
            "SELECT r.net, f.node, f.status, f.attempt, f.started_at, f.ended_at FROM firing f JOIN run r ON r.no=f.run"
            " WHERE f.run>=? AND f.ended_at>=? AND r.tenant=? ORDER BY f.run DESC LIMIT ?"
        )
        return self._rows(sql, (floor, since, tenant, limit))

    def count_failed_in(self, tenant: str, floor: int, since: int) -> int:
        sql = (
            f"SELECT count(DISTINCT f.run) FROM firing f JOIN run r ON r.no=f.run WHERE f.run>=? AND f.status={FAILURE}"
            " AND f.ended_at>=? AND r.tenant=?"
        )
        return int(self._one(sql, (floor, since, tenant)))

    def incident_runs(self, tenant: str, code: str, limit: int) -> list[int]:
        sql = (
            f"SELECT DISTINCT i.run FROM incident i JOIN run r ON r.no=i.run WHERE i.code=? AND {self.PLAIN}r.status<5"
            f" AND {self.PLAIN}r.tenant=? LIMIT ?"
        )
        return [row[0] for row in self._rows(sql, (code, tenant, limit))]

    def gauges(self) -> Gauges:
        items = (
            f"SELECT r.tenant, r.net, i.node, count(*) FROM item i JOIN run r ON r.no=i.run WHERE {OPEN_ITEM_SQL}"
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

    def _by_number(self, by: Rank, ranked: list[Any]) -> list[RunRow]:
        """Whole rows, with the value by which they were ranked: one that changes in between keeps its place."""
        numbers = tuple(no for no, _ in ranked)
        rows = self._rows(f"SELECT {RUN} FROM run WHERE {is_in('no', numbers)}", numbers) if numbers else []
        known = {row[0]: RunRow(*row) for row in rows}
        return [replace(known[no], **{by: value}) for no, value in ranked if no in known]

    def _where(self, wanted: RunFilter) -> tuple[str, list[Any]]:
        where, values = ["tenant=?", "no<?", "no>=?"], list[Any]([wanted.tenant, wanted.below, wanted.floor])
        for column, ones in (("status", wanted.status), ("net", wanted.nets)):
            if ones is not None:
                where.append(is_in(column, ones))
                values += ones
        if wanted.open_only:
            where.append("status<5")
        elif wanted.ended is not None:
            where.append("status>=5")
        for condition, value in (
            ("created_at>=?", wanted.since), ("created_at<?", wanted.until), ("parent=?", wanted.parent),
            ("updated_at>=?", wanted.ended),
            (f"EXISTS(SELECT 1 FROM firing f WHERE f.run=run.no AND f.status={FAILURE} AND f.ended_at>=?)",
             wanted.node_failed),
        ):  # fmt: skip
            if value is not None:
                where.append(condition)
                values.append(value)
        if wanted.letter:
            where.append("id IN (SELECT l.run FROM letter l WHERE l.tenant=?)")
            values.append(wanted.tenant)
        for column, value in (("code", wanted.code), ("node", wanted.cause_node)):
            if value is not None:
                where.append(f"EXISTS(SELECT 1 FROM cause c WHERE c.run=run.no AND c.{column}=?)")
                values.append(value)
        if wanted.text:
            self._about(wanted, where, values)
        return " AND ".join(where), values

    def _about(self, wanted: RunFilter, where: list[str], values: list[Any]) -> None:
        """By what a run's page shows of it: its id, its key, its document, what it failed with, and who has it."""
        plain = wanted.text.lower().replace("~", "~~").replace("%", "~%").replace("_", "~_")
        part = "LIKE ? ESCAPE '~'"
        people = " OR " + is_in('i."by"', wanted.text_people) + f" OR {self.HOLDS}" * len(wanted.text_people)
        where.append(
            f"(id {part} OR lower(key) {part} OR {is_in('net', wanted.text_nets)}"
            f" OR EXISTS(SELECT 1 FROM cause c WHERE c.run=run.no AND"
            f" (lower(c.code) {part} OR lower(c.message) {part} OR lower(c.node) {part}))"
            f' OR EXISTS(SELECT 1 FROM item i WHERE i.run=run.no AND (lower(i."by") {part}{people})))'
        )
        inside = f"%{plain}%"
        values += [f"{plain}%", inside, *wanted.text_nets, inside, inside, inside, inside, *wanted.text_people]
        values += [person.encode() for person in wanted.text_people]
