"""Lists and counts over rows, written once for both databases: `contract_lists.py` says what each costs."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from penstock.store.contract import RunRow
from penstock.store.contract_lists import Gauges, ItemRow, RunFilter

HOUR_MS = 3_600_000
_RUN = "no,id,tenant,net,key,status,priority,created_at,updated_at,wake_at,parent,checkpoint_seq,checkpoint"
_OPEN_ITEM = "i.status IN ('TODO','IN_PROGRESS','SUBMITTED','REWORK')"
_ENDED = 5  # statuses from here on are ends; «< 5» is what the partial indexes ask for


class Lists:
    """`MARK` is what stands for a value in a statement."""

    MARK = "?"

    def _read(self, sql: str, values: Iterable[Any] = ()) -> Any:
        raise NotImplementedError

    def last_run(self) -> int:
        raise NotImplementedError

    def _rows(self, sql: str, values: Iterable[Any] = ()) -> list[Any]:
        found: list[Any] = self._read(sql.replace("?", self.MARK), values).fetchall()
        return found

    # -- runs ----------------------------------------------------------------------------------------------------------

    def find_runs(self, wanted: RunFilter, limit: int) -> list[RunRow]:
        where, values = ["tenant=?", "no<?", "no>=?"], [wanted.tenant, wanted.below, wanted.floor]
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
        sql = f"SELECT {_RUN} FROM run WHERE {' AND '.join(where)} ORDER BY no DESC LIMIT ?"
        return [RunRow(*row) for row in self._rows(sql, (*values, limit))]

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
        hour = f"CASE WHEN created_at<? THEN 0 ELSE created_at/{HOUR_MS} END"
        sql = f"SELECT status, net, {hour}, count(*) FROM run WHERE status<5 AND tenant=? GROUP BY 1, 2, 3"
        return self._rows(sql, (since, tenant))

    def ended_counts(self, tenant: str, floor: int, since: int) -> list[tuple[int, int, int, int]]:
        sql = (
            f"SELECT updated_at/{HOUR_MS}, status, net, count(*) FROM run WHERE no>=? AND status>=5 AND tenant=?"
            " AND updated_at>=? GROUP BY 1, 2, 3"
        )
        return self._rows(sql, (floor, tenant, since))

    def open_runs(self, tenant: str, limit: int, *, soonest: bool) -> list[int]:
        if soonest:
            sql = "SELECT no FROM run WHERE wake_at IS NOT NULL AND status<5 AND tenant=? ORDER BY wake_at LIMIT ?"
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
            "SELECT DISTINCT i.run FROM incident i JOIN run r ON r.no=i.run WHERE i.code=? AND r.status<5"
            " AND r.tenant=? LIMIT ?"
        )
        return [row[0] for row in self._rows(sql, (code, tenant, limit))]

    def open_items(self, tenant: str, limit: int) -> list[ItemRow]:
        sql = (
            "SELECT i.run, r.id, r.net, i.firing, i.node, i.status, i.prompt, i.candidates, i.opened_at FROM item i"
            f" JOIN run r ON r.no=i.run WHERE {_OPEN_ITEM} AND r.tenant=? ORDER BY i.opened_at LIMIT ?"
        )
        return [ItemRow(*row) for row in self._rows(sql, (tenant, limit))]

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


def _in(column: str, ones: tuple[int, ...]) -> str:
    return f"{column} IN ({','.join('?' * len(ones))})" if ones else "1=0"
