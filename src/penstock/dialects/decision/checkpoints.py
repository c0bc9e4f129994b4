"""Checkpoints that documents ask for (W-8.1, C-84): what of a run is written aside, when, where and for how long.

No run needs them: it goes on from its journal. They are for those who read `workflow_checkpoints`. A row is written in
the commit of the turn that it shows; contents that belong elsewhere are moved there afterwards, so that a turn never
waits for a network, and a row can always be read.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import logging
import uuid
from collections.abc import Callable, Mapping
from functools import lru_cache, partial
from pathlib import Path
from typing import Any, Literal

import msgspec

from penstock.dialects.contract import DocumentCheckpoint, LiveRun
from penstock.dialects.decision.checkpoint_keys import CheckpointKeys
from penstock.dialects.decision.checkpoint_places import PLACES, CheckpointPlace, place_of
from penstock.dialects.decision.dead_letters import DAY_MS, snapshot
from penstock.dialects.masking import mask_of
from penstock.errors import CheckpointKeyMissing, CheckpointPlaceMissing, StoreError
from penstock.executors.contract import Tenant
from penstock.kernel import fact as F
from penstock.kernel.flow import LAST_MOMENT
from penstock.kernel.run import Run
from penstock.kernel.state import COMPLETED, PHASE, STATUS, WAITING
from penstock.net.compiled import EPOCH, MOST, Compiled
from penstock.store.contract import Store
from penstock.store.document_checkpoints import CheckpointRow
from penstock.store.encryption import Damaged, cipher, opened, seal
from penstock.store.run_store import Batch

HOUR_MS = 3_600_000
RETRY_S = 5.0
#: nodes that no author has written
_INNER = ("CONTEXT", "OUTPUT")
_SUSPENDS = frozenset({F.WAIT_OPENED, F.WORK_OPENED})
_NAMESPACE = uuid.UUID("6f0c3b0e-6a53-5a6e-9b1b-8d7f4a1c2e90")
log = logging.getLogger("penstock")


class CheckpointContents(msgspec.Struct):
    context_variables: bool = True
    node_outputs: bool = True
    execution_position: bool = True
    pending_events: bool = True


class CheckpointStorage(msgspec.Struct):
    type: Literal["database", "s3", "redis"] = "database"
    compression: bool = True
    encryption: bool = True


class CheckpointRetention(msgspec.Struct):
    completed_hours: float = 24
    failed_days: float = 30
    running_days: float = 7


class CheckpointPolicy(msgspec.Struct):
    strategy: Literal["node_boundary", "time_interval", "explicit"] = "node_boundary"
    time_interval_ms: int = 60_000
    include: CheckpointContents | None = None
    storage: CheckpointStorage | None = None
    retention: CheckpointRetention | None = None


class CheckpointPlan:
    """What a net's document asks for: its policy, and the nodes that ask for one themselves, by number."""

    def __init__(self, net: Compiled, policy: CheckpointPolicy, explicit: set[str]) -> None:
        self.policy = policy
        self.include, self.storage = policy.include or CheckpointContents(), policy.storage or CheckpointStorage()
        self.retention = policy.retention or CheckpointRetention()
        mine = [n for n in net.nodes if n.spec.type not in _INNER]
        self.authored = frozenset(n.no for n in mine)
        self.explicit = frozenset(n.no for n in mine if (n.spec.origin or n.id) in explicit)


@lru_cache(1024)
def plan_of(net: Compiled) -> CheckpointPlan | None:
    """None where neither the document nor a node says anything about checkpoints."""
    policies = net.net.declares.policies
    stated = policies.get("checkpoint")
    asked = {id: about.get("checkpoint") for id, about in (policies.get("nodes") or {}).items()}
    asked = {id: asks for id, asks in asked.items() if asks and (asks is True or asks.get("save_context", True))}
    if stated is None and not asked:
        return None
    if stated is None:  # a node's own words about storage and the like hold for the rows that nodes ask for
        own: dict[str, Any] = next((asks for asks in asked.values() if isinstance(asks, dict)), {})
        stated = {**own, "strategy": "explicit"}
    return CheckpointPlan(net, msgspec.convert(stated, CheckpointPolicy), set(asked))


class Checkpoints:
    def __init__(
        self, store: Store, now: Callable[[], int], tenant: Callable[[str], Tenant], settings: Mapping[str, Any],
        operators: Callable[[str], str | None] | None = None,
    ) -> None:  # fmt: skip
        self.store, self.now, self.tenant, self.settings = store, now, tenant, settings
        file = settings.get("checkpoint.key_file")
        self.dev = file is not None
        self.keys = CheckpointKeys(tenant, Path(file) if file is not None else None, operators)
        self.last: dict[int, tuple[int, int]] = {}  # run → number and time of its newest one
        self.wrote = False  # something that is to be moved
        self._places: dict[str, CheckpointPlace | None] = {}
        self._told: set[str] = set()
        self._task: asyncio.Task[None] | None = None

    @property
    def elsewhere(self) -> bool:
        """May there be contents that do not lie in the database?"""
        return any(self.settings.get(f"checkpoint.{kind}") for kind in PLACES)

    # -- before anything runs ------------------------------------------------------------------------------------------

    def check(self, net: Compiled, tenant: str) -> None:
        """Raises where a document asks for what this host cannot do: it is told at release, not at three at night."""
        plan = plan_of(net)
        if plan is None:
            return
        if plan.storage.encryption:
            key = self.keys.current(tenant)
            if key is None:
                raise CheckpointKeyMissing(name=net.net.name)
            cipher(key)
        if plan.storage.type != "database" and self._place(plan.storage.type) is None and not self.dev:
            raise CheckpointPlaceMissing(name=net.net.name, place=plan.storage.type)

    def _place(self, kind: str) -> CheckpointPlace | None:
        if kind not in self._places:
            self._places[kind] = place_of(kind, self.settings)
        return self._places[kind]

    # -- writing -------------------------------------------------------------------------------------------------------

    def write(self, live: LiveRun, run: Run, facts: list[F.Fact], was: int, now: int, batch: Batch) -> None:
        plan = plan_of(run.net)
        if plan is None:
            return
        node = self._due(plan, live, run, facts, was, now)
        if node is not None:
            self._add(plan, live, run, node, now, batch)
        if run.st.status >= COMPLETED:
            kept = plan.retention
            good = STATUS[run.st.status] == "COMPLETED"
            keep_ms = kept.completed_hours * HOUR_MS if good else kept.failed_days * DAY_MS
            batch.checkpoint_until.append((min(now + int(keep_ms), LAST_MOMENT), live.id))
            self.last.pop(live.no, None)

    def _due(
        self, plan: CheckpointPlan, live: LiveRun, run: Run, facts: list[F.Fact], was: int, now: int
    ) -> int | None:
        """The node that one is written for; None when none is due. Whoever suspends always gets one (W-8.1.5)."""
        over = [n for f in facts if (n := _node_of(f)) is not None and n in plan.authored]
        waiting = run.st.status == WAITING and (was != WAITING or any(f[0] in _SUSPENDS for f in facts))
        if waiting:
            rests = [firing.node for firing in run.st.firings.values() if firing.node in plan.authored]
            return rests[-1] if rests else over[-1] if over else None
        mine = [n for n in over if n in plan.explicit]
        if mine:
            return mine[-1]
        if not over or plan.policy.strategy == "explicit":
            return None
        if plan.policy.strategy == "time_interval":
            number, since = self._last(live)
            if not since:  # it counts from when the run was first seen
                self.last[live.no] = (number, now)
            return over[-1] if since and now - since >= plan.policy.time_interval_ms else None
        return over[-1]

    def _last(self, live: LiveRun) -> tuple[int, int]:
        last = self.last.get(live.no)
        if last is None:
            if len(self.last) > 50_000:
                self.last.clear()
            last = (self.store.last_checkpoint(live.id) if live.in_store else None) or (0, 0)
            self.last[live.no] = last
        return last

    def _add(self, plan: CheckpointPlan, live: LiveRun, run: Run, node: int, now: int, batch: Batch) -> None:
        key = self.keys.current(live.tenant) if plan.storage.encryption else None
        if plan.storage.encryption and key is None:
            if live.tenant not in self._told:
                self._told.add(live.tenant)
                log.error("%s", CheckpointKeyMissing(name=run.net.net.name))
            return  # nothing is written that should have been encrypted
        number = self._last(live)[0] + 1
        mask = mask_of(self.tenant(live.tenant), run)
        columns: dict[str, bytes | None] = {}
        size = 0
        for name, value in contents(plan.include, run).items():
            columns[name] = None
            if value is not None:
                packed, took = seal(
                    mask(value), f"{live.id}/{number}/{name}", compress=plan.storage.compression, key=key
                )
                columns[name], size = packed, size + took
        kind = plan.storage.type if self._place(plan.storage.type) is not None else "database"
        spec = run.net.nodes[node].spec
        batch.checkpoint.append((
            live.id, number, str(uuid.uuid5(_NAMESPACE, f"{live.id}/{number}")), spec.origin or spec.id,
            STATUS[run.st.status].lower(), columns["context"], columns["outputs"], columns["pending"], size, kind,
            int(kind == "database"), now, min(now + int(plan.retention.running_days * DAY_MS), LAST_MOMENT),
        ))  # fmt: skip
        self.last[live.no] = (number, now)
        self.wrote = self.wrote or kind != "database"

    def rolled_back(self, batch: Batch) -> None:
        """The commit has failed: numbers are asked of the store again."""
        if batch.checkpoint:
            self.last.clear()

    # -- reading -------------------------------------------------------------------------------------------------------

    async def read(self, tenant: str, run: str, number: int | None = None) -> DocumentCheckpoint | None:
        """The newest one that can be read, not newer than `number`; a damaged one gives way to the one before it."""
        damaged: list[int] = []
        for row in self.store.checkpoints(run):
            if number is not None and row.number > number:
                continue
            try:
                return await self._opened(tenant, row, damaged)
            except Damaged as why:
                log.warning("checkpoint %s of run %s cannot be read: %s", row.number, run, why)
                damaged.append(row.number)
        return None

    async def _opened(self, tenant: str, row: CheckpointRow, damaged: list[int]) -> DocumentCheckpoint:
        columns: dict[str, Any] = {}
        key_of = partial(self.keys.by_id, tenant)
        for name in ("context", "outputs", "pending"):
            column: bytes | None = getattr(row, name)
            if column is None:
                columns[name] = None
                continue
            if row.storage != "database" and row.moved:
                column = await self._fetched(row, column)
            columns[name] = opened(column, f"{row.run}/{row.number}/{name}", key_of)
        return DocumentCheckpoint(
            run=row.run, number=row.number, node=row.node, status=row.status, context_snapshot=columns["context"],
            node_outputs=columns["outputs"], pending_events=columns["pending"], at=row.at, size=row.size,
            damaged=damaged,
        )  # fmt: skip

    async def _fetched(self, row: CheckpointRow, column: bytes) -> bytes:
        place = self._place(row.storage)
        pointer = msgspec.json.decode(column)
        if place is None:
            raise Damaged(f"nobody here knows the way to {row.storage}")
        try:
            data = await place.get(str(pointer["ref"]))
        except Exception as error:
            raise Damaged(f"{type(error).__name__}: {error}") from error
        if data is None or hashlib.sha256(data).hexdigest() != pointer["sha256"]:
            raise Damaged("what lies there is not what was written")
        return data

    # -- moving and purging --------------------------------------------------------------------------------------------

    def kick(self) -> None:
        """There may be something to move or to purge."""
        self.wrote = False
        if self._task is None or self._task.done():
            self._task = asyncio.ensure_future(self._run())

    async def _run(self) -> None:
        while True:
            try:
                if not await self.move() and not await self.purge():
                    return
            except StoreError as error:
                if not error.passing:
                    return
                await asyncio.sleep(RETRY_S)
            except Exception as error:  # whatever a client of a storage raises: the rows are whole, and it comes again
                log.warning("checkpoints could not be moved: %s: %s", type(error).__name__, error)
                await asyncio.sleep(RETRY_S)

    async def move(self, most: int = 16) -> int:
        """Put contents where they belong, and references in their place."""
        rows = self.store.checkpoints_to_move(most)
        moved = 0
        for row in rows:
            place = self._place(row.storage)
            if place is None:
                continue
            pointers: dict[str, bytes] = {}
            for name in ("context", "outputs", "pending"):
                column: bytes | None = getattr(row, name)
                if column is not None:
                    ref = await place.put(f"{row.run}/{row.number}/{name}", column)
                    pointer = {"ref": ref, "sha256": hashlib.sha256(column).hexdigest()}
                    pointers[name] = msgspec.json.encode(pointer)
            self.store.checkpoint_moved(msgspec.structs.replace(row, **pointers))
            moved += 1
        return moved

    async def purge(self, most: int = 64) -> int:
        """What is over and lies elsewhere: the contents first, then the row that knows of them."""
        gone = 0
        for row in self.store.checkpoints_over(self.now(), most):
            place = self._place(row.storage)
            if place is None:
                continue
            for column in (row.context, row.outputs, row.pending):
                if column is not None:
                    await place.delete(str(msgspec.json.decode(column)["ref"]))
            self.store.drop_checkpoint(row.run, row.number)
            gone += 1
        return gone

    async def close(self) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
        for place in self._places.values():
            if place is not None:
                with contextlib.suppress(Exception):
                    await place.close()


def _node_of(f: F.Fact) -> int | None:
    """The node that a fact ends the work of."""
    return f[4] if f[0] == F.SETTLED else f[2] if f[0] == F.PASSED else None


def contents(include: CheckpointContents, run: Run) -> dict[str, Any]:
    """The three columns of W-8.2.1; the position has no column of its own and is part of the context."""
    st, net = run.st, run.net
    known = snapshot(run)
    context: dict[str, Any] = {}
    if include.context_variables:
        context |= {"variables": known["variables"], "input": st.input}
    if include.execution_position:
        context["execution_position"] = position(run)
    outputs = {"outputs": known["outputs"], "nodes": known["nodes"]} if include.node_outputs else None
    pending = None
    if include.pending_events:
        node = {no: net.nodes[firing.node] for no, firing in st.firings.items()}
        named = {no: (n.spec.origin or n.id) for no, n in node.items()}
        pending = {
            "waits": [{"node_id": named.get(w.firing), "name": w.name, "filter": w.filter} for w in st.waits.values()],
            "timers": [{"node_id": named.get(t.firing), "why": t.why, "due_at": t.due} for t in st.timers.values()],
            "items": [{"node_id": named.get(no), "status": item.status} for no, item in st.items.items()],
            "signals": [{"id": id, "name": kept[0], "payload": kept[1]} for id, kept in st.signals.items()],
        }
    return {"context": context, "outputs": outputs, "pending": pending}


def position(run: Run) -> dict[str, Any]:
    """Where its tokens lie and what its firings do; `fact` names the same moment in the journal."""
    st, net = run.st, run.net
    tokens = [
        {"edge": net.edges[place & (MOST - 1)].id, "epoch": place >> EPOCH, "scope": scope.no}
        for scope in st.scopes.values()
        for place in scope.tokens
    ]
    firings = [
        {"node_id": net.nodes[f.node].id, "phase": PHASE[f.phase], "attempt": f.attempt} for f in st.firings.values()
    ]
    return {"fact": st.n, "tokens": tokens, "firings": firings}
