"""Keys, audit, answered requests, drafts, remarks and batches in the store of dicts: the same promises as a file's."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import TYPE_CHECKING, Any

from msgspec.structs import astuple, replace

from penstock.store.access import PRUNED_AT_ONCE, REQUESTS_KEPT_MS, KeyRow, RequestRow
from penstock.store.audit_chain import FIRST, AuditRow, by_tenant, linked, old_of, pruned
from penstock.store.audit_key import AuditKeys
from penstock.store.batches import KEPT_MS, BatchRow
from penstock.store.drafts import DraftRow, RemarkRow

if TYPE_CHECKING:
    from tests.sim.store import Disk

Row = tuple[Any, ...]


class SimAdmin:
    disk: Disk
    audit_keys = AuditKeys()

    def _put_new(self, table: str, key: Any, row: Any) -> bool:
        rows = self.disk.tables[table]
        if key in rows:
            return False
        rows[key] = astuple(row)
        return True

    # -- keys ---------------------------------------------------------------------------------------------------------

    def add_key(self, row: KeyRow) -> bool:
        return self._put_new("api_key", row.id, row)

    def key(self, id: str) -> KeyRow | None:
        row = self.disk.tables["api_key"].get(id)
        return None if row is None else KeyRow(*row)

    def keys(self, tenant: str) -> list[KeyRow]:
        found = [KeyRow(*row) for row in self.disk.tables["api_key"].values()]
        return sorted((one for one in found if one.tenant == tenant), key=lambda k: (k.created_at, k.id))

    def has_keys(self) -> bool:
        return bool(self.disk.tables["api_key"])

    def revoke_key(self, tenant: str, id: str, at: int) -> bool:
        found = self.key(id)
        if found is None or found.tenant != tenant or found.revoked_at is not None:
            return False
        self.disk.tables["api_key"][id] = astuple(replace(found, revoked_at=at))
        return True

    def key_used(self, id: str, at: int, before: int) -> None:
        found = self.key(id)
        if found is not None and (found.last_used_at or 0) < before:
            self.disk.tables["api_key"][id] = astuple(replace(found, last_used_at=at))

    def end_session(self, id: str, until: int) -> None:
        self.disk.tables["ended_session"].setdefault(id, (id, until))

    def ended_sessions(self, now: int) -> dict[str, int]:
        return {id: until for id, until in self.disk.tables["ended_session"].values() if until > now}

    # -- audit --------------------------------------------------------------------------------------------------------

    def append_audit(self, rows: Iterable[AuditRow]) -> list[AuditRow]:
        found: list[AuditRow] = []
        for tenant, those in by_tenant(rows):
            last = self.audit_last(tenant)
            before = self.disk.tables["audit"].get((tenant, last))
            found += linked(those, last, FIRST if before is None else before[-1], self.audit_keys.current(dict))
            self.disk.last[f"audit:{tenant}"] = last + len(those)
        for row in found:
            self.disk.tables["audit"][row.tenant, row.no] = astuple(row)
        return found

    def audit(
        self, tenant: str, *, before: int | None = None, limit: int = 100, actor: str | None = None,
        action: str | None = None, target: str | None = None,
    ) -> list[AuditRow]:  # fmt: skip
        found = [
            one
            for one in reversed(self.audit_chain(tenant, limit=10**9))
            if (before is None or one.no < before)
            and actor in (None, one.actor)
            and action in (None, one.action)
            and target in (None, one.target)
        ]
        return found[:limit]

    def audit_chain(self, tenant: str, after: int = 0, limit: int = 1000) -> list[AuditRow]:
        rows = [AuditRow(*row) for row in self.disk.tables["audit"].values()]
        return sorted((r for r in rows if r.tenant == tenant and r.no > after), key=lambda r: r.no)[:limit]

    def audit_last(self, tenant: str) -> int:
        return self.disk.last.get(f"audit:{tenant}", 0)

    def audit_tenants(self) -> list[str]:
        marked = {name.partition(":")[2] for name in self.disk.last if name.startswith("audit:")}
        return sorted(marked | {tenant for tenant, _ in self.disk.tables["audit"]})

    def prune_audit(self, tenant: str, before: int, at: int) -> AuditRow | None:
        rows = self.audit_chain(tenant, limit=PRUNED_AT_ONCE)
        old = old_of([(row.no, row.at, row.hash) for row in rows], before)
        if old is None:
            return None
        (said,) = self.append_audit([pruned(tenant, at, old)])
        for no in range(old[0], old[1] + 1):
            self.disk.tables["audit"].pop((tenant, no), None)
        return said

    # -- requests -----------------------------------------------------------------------------------------------------

    def _request(self, tenant: str, key: str) -> RequestRow | None:
        row = self.disk.tables["request"].get((tenant, key))
        return None if row is None else RequestRow(*row)

    def put_request(self, row: RequestRow) -> RequestRow | None:
        return None if self._put_new("request", (row.tenant, row.key), row) else self._request(row.tenant, row.key)

    def take_request(self, row: RequestRow, seen: RequestRow) -> bool:
        there = self._request(seen.tenant, seen.key)
        if there is None or astuple(there)[:6] != astuple(seen)[:6]:
            return False
        new = replace(there, fingerprint=row.fingerprint, holder=row.holder, at=row.at)
        self.disk.tables["request"][seen.tenant, seen.key] = astuple(replace(new, status=None, headers=None, body=None))
        return True

    def answer_request(self, row: RequestRow) -> bool:
        there = self._request(row.tenant, row.key)
        if there is None or there.status is not None or astuple(there)[:4] != astuple(row)[:4]:
            return False
        answered = replace(there, status=row.status, headers=row.headers, body=row.body)
        self.disk.tables["request"][row.tenant, row.key] = astuple(answered)
        return True

    def drop_request(self, tenant: str, key: str, holder: str) -> bool:
        there = self._request(tenant, key)
        if there is None or there.holder != holder or there.status is not None:
            return False
        del self.disk.tables["request"][tenant, key]
        return True

    def tidy_requests(self, now: int) -> None:
        rows = self.disk.tables["request"]
        for key in [key for key, row in rows.items() if row[4] <= now - REQUESTS_KEPT_MS]:
            del rows[key]

    # -- drafts -------------------------------------------------------------------------------------------------------

    def put_draft(self, row: DraftRow, was: int | None) -> bool:
        key = (row.tenant, row.user, row.key)
        if was is None:
            return self._put_new("draft", key, row)
        there = self.draft(*key)
        if there is None or there.number != was:
            return False
        self.disk.tables["draft"][key] = astuple(row)
        return True

    def draft(self, tenant: str, user: str, key: str) -> DraftRow | None:
        row = self.disk.tables["draft"].get((tenant, user, key))
        return None if row is None else DraftRow(*row)

    def drafts(self, tenant: str, user: str) -> list[DraftRow]:
        rows = self.disk.tables["draft"]
        return [DraftRow(*rows[key]) for key in sorted(rows) if key[:2] == (tenant, user)]

    def drop_draft(self, tenant: str, user: str, key: str) -> bool:
        return self.disk.tables["draft"].pop((tenant, user, key), None) is not None

    def forget_drafts(self, before: int) -> int:
        return self._forget("draft", [key for key, row in self.disk.tables["draft"].items() if row[5] < before])

    def _forget(self, table: str, keys: list[Any]) -> int:
        for key in keys:
            del self.disk.tables[table][key]
        return len(keys)

    # -- remarks ------------------------------------------------------------------------------------------------------

    def add_remark(self, row: RemarkRow) -> bool:
        return self._put_new("remark", (row.tenant, row.item, row.no), row)

    def remarks(self, tenant: str, items: Iterable[str]) -> list[RemarkRow]:
        rows, asked = self.disk.tables["remark"], set(items)
        return [RemarkRow(*rows[key]) for key in sorted(rows) if key[0] == tenant and key[1] in asked]

    def forget_remarks(self, before: int) -> int:
        running = {row[1] for row in self.disk.tables["run"].values() if row[5] < 5}
        rows = self.disk.tables["remark"].items()
        old = [key for key, row in rows if row[4] < before and row[1].partition("/")[0] not in running]
        return self._forget("remark", old)

    # -- batches ------------------------------------------------------------------------------------------------------

    def _batches(self) -> list[BatchRow]:
        rows = [BatchRow(*row) for row in self.disk.tables["batch"].values()]
        return sorted(rows, key=lambda row: (row.started_at, row.id))

    def add_batch(self, row: BatchRow, most: int) -> bool:
        if sum(batch.tenant == row.tenant for batch in self.open_batches()) >= most:
            return False
        return self._put_new("batch", (row.tenant, row.id), row)

    def batch(self, tenant: str, id: str) -> BatchRow | None:
        return next((row for row in self._batches() if (row.tenant, row.id) == (tenant, id)), None)

    def batches(
        self, tenant: str, *, before: tuple[int, str] | None = None, limit: int = 50
    ) -> list[BatchRow]:  # fmt: skip
        rows = [row for row in reversed(self._batches()) if row.tenant == tenant]
        return [row for row in rows if before is None or (row.started_at, row.id) < before][:limit]

    def open_batches(self) -> list[BatchRow]:
        return [row for row in self._batches() if row.state == "running"]

    def move_batch(self, row: BatchRow) -> bool:
        there = self.batch(row.tenant, row.id)
        if there is None or there.state != "running":
            return False
        self.disk.tables["batch"][row.tenant, row.id] = astuple(row)
        return True

    def count_batch(self, row: BatchRow) -> None:
        there = self.batch(row.tenant, row.id)
        if there is not None:
            counted = replace(
                there, place=row.place, slice=row.slice, looked=row.looked, done=row.done, refused=row.refused,
                refusals=row.refusals, through=row.through, back=row.back, watched=row.watched,
            )  # fmt: skip
            self.disk.tables["batch"][row.tenant, row.id] = astuple(counted)

    def turn_batch(self, tenant: str, id: str, state: str, ended_at: int | None, of: Collection[str]) -> bool:
        there = self.batch(tenant, id)
        if there is None or there.state not in of:
            return False
        turned = replace(there, state=state, ended_at=ended_at, code=None, message=None)
        self.disk.tables["batch"][tenant, id] = astuple(turned)
        return True

    def tidy_batches(self, now: int) -> None:
        old = [row for row in self._batches() if row.ended_at is not None and row.ended_at + KEPT_MS < now]
        self._forget("batch", [(row.tenant, row.id) for row in old])
