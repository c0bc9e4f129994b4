"""Rows: what a step of a run adds to its batch, and when a checkpoint is due."""

from __future__ import annotations

from collections.abc import Callable

from penstock.host.jobs import Jobs
from penstock.host.loaded_run import LoadedRun
from penstock.host.nets import Nets
from penstock.host.outbox import Outbox
from penstock.host.runtimes import Runtimes
from penstock.kernel import fact as F
from penstock.kernel.run import Run
from penstock.kernel.state import COMPLETED, PENDING, WAITING, State, encode_state
from penstock.store.projection import WATCHED, firing_row, project, project_cause, sweep_waits
from penstock.store.run_store import Batch
from penstock.store.use_projection import USED, project_run_uses, project_uses

CHECKPOINT_EVERY = 50


class Rows:
    def __init__(
        self, nets: Nets, made: Callable[[Run, str], Run], *, checkpoint_every: int = CHECKPOINT_EVERY
    ) -> None:
        self.nets, self.made, self.checkpoint_every = nets, made, checkpoint_every
        self.outbox: Outbox | None = None
        self.jobs: Jobs | None = None  # None: executors perform them
        self.runtimes = Runtimes()  # what the languages of documents add
        self.on_work_opened: Callable[[str, int], None] = lambda tenant, count: None
        self.on_language_rows: list[Callable[[LoadedRun, int, Batch], None]] = []  # told when a language has added rows

    def write(
        self, live: LoadedRun, run: Run, facts: list[F.Fact], body: bytes, was: int, before: int, now: int, batch: Batch
    ) -> None:
        if not facts:  # nothing happened, so there is nothing to save
            return
        # a firing that settles has used what was deployed, or has failed and may say so in its failure
        uses = bool(run.ended) and any(
            f[0] == F.SETTLED and (f[10] is not None or type(f[9]) is dict and USED in f[9]) for f in facts
        )
        st = run.st
        no, seq, status = live.no, st.n, st.status
        batch.journal.append((no, before + 1, seq, now, bytearray(body)))
        outbox = self.outbox
        if outbox is not None and (outbox.sinks or outbox.publish):
            outbox.write(live, facts, before + 1, now, batch)
        for firing, ending in run.ended:
            batch.firing.append(firing_row(no, firing, ending, now))
        if uses:
            project_uses(batch, live.tenant, live.id, facts, now)
        runtime = self.runtimes[run.net.net.language]
        if runtime is not None:
            runtime.write(live, run, facts, was, now, batch)
            self.runtimes.wrote = True
            for listen in self.on_language_rows:
                listen(live, now, batch)
        if self.jobs is not None and run.net.has_jobs:
            self.jobs.write(live, run, facts, now, batch)
        migrated = run.net.hash != st.net and bool(st.net)
        if migrated:
            self._migrated(live, run)
        for f in facts:
            if f[0] in WATCHED:
                opened = sum(fact[0] == F.WORK_OPENED for fact in facts)
                if opened:
                    self.on_work_opened(live.tenant, opened)
                project(batch, live.tenant, no, facts, before + 1, now, live.wait_names)
                if live.wait_names:
                    sweep_waits(batch, live.tenant, no, st.waits, live.wait_names)
                break
        if migrated:  # after what the turn itself has said of its items
            batch.item_renumbered += [(st.firings[item].node, no, item) for item in st.items]
        if status != was and (status > COMPLETED or was > COMPLETED):
            project_cause(batch, (no, live.tenant, live.net_no), st, now)
        if status != was and status >= COMPLETED and USED in st.options:
            project_run_uses(batch, st, live.started_at if live.in_store else now, now)
        wake = run.wake_at() if run.due and not st.paused else None
        live.unsaved_bytes += len(body)
        if not live.in_store:
            kept = status in (WAITING, PENDING)
            checkpoint = self._checkpoint(live, st) if kept else None
            live.wake_at, live.started_at = wake, now
            batch.new.append((
                no, live.id, live.tenant, live.net_no, live.key, status, live.priority, now, now, wake, live.parent,
                live.checkpoint_seq, checkpoint,
            ))  # fmt: skip
        # a checkpoint is due after enough turns, and never costs more than the journal it saves from folding
        elif (
            status != was or wake != live.wake_at or migrated
            or seq - live.checkpoint_seq >= self.checkpoint_every * 4 and live.unsaved_bytes >= live.checkpoint_size
        ):  # fmt: skip
            live.wake_at = wake
            if status >= COMPLETED:
                batch.ended.append((status, now, live.net_no, no))
            else:
                checkpoint = self._checkpoint(live, st)
                batch.moved.append((status, now, wake, seq, checkpoint, live.net_no, no))

    def _checkpoint(self, live: LoadedRun, st: State) -> bytearray:
        body = bytearray(encode_state(st))
        live.checkpoint_seq, live.checkpoint_size, live.unsaved_bytes = st.n, len(body), 0
        return body

    def _migrated(self, live: LoadedRun, run: Run) -> None:
        released = self.nets.by_hash(run.st.net)
        assert released is not None, "a run moves only to a released net"
        live.net_no, net = released
        moved = self.made(Run.load(net, run.st), live.tenant)
        moved.facts, moved.asks, moved.stops, moved.ended = run.facts, run.asks, run.stops, run.ended
        moved.tells = run.tells
        live.run = moved
