"""Wiring: the parts of an engine, constructed in the order of their needs and connected with each other."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from penstock.dialects.contract import HostServices
from penstock.errors import StoreError
from penstock.executors.contract import Executor, Services
from penstock.host.admission import Admission, slots_of
from penstock.host.blobs import Blobs
from penstock.host.children import Children
from penstock.host.clock import Clock, SpeedClock, SystemClock
from penstock.host.command_inbox import Inbox
from penstock.host.dispatch import Dispatch
from penstock.host.gate import Gate
from penstock.host.intake import KEEP_HOURS, Intake
from penstock.host.jobs import Jobs
from penstock.host.limits import Limits
from penstock.host.loaded_run import Ask
from penstock.host.nets import Nets
from penstock.host.notices import Notices
from penstock.host.outbox import Outbox
from penstock.host.outcomes import Outcomes
from penstock.host.recovery import Recovery
from penstock.host.retention import Retention
from penstock.host.run_ids import RANDOM_BITS, run_id
from penstock.host.runtimes import Runtimes
from penstock.host.schedules import Schedules
from penstock.host.secrets import places_of
from penstock.host.sizes import sizes_of
from penstock.host.start_limits import StartLimits
from penstock.host.starter import Starter
from penstock.host.tenants import Installation, Tenants, TenantServices
from penstock.host.timers import Timers
from penstock.host.turn import Turns
from penstock.host.worker_limits import Workers
from penstock.store.contract import Store


def _already_loaded(no: int) -> None:
    """An engine that drives all runs of its store has a run that can go on in memory already."""


class EngineParts:
    """`serve=True` also takes commands that other processes leave in the store's inbox; `alone=True` leaves runs alone
    that nobody has started here, resumed or sent a command; `patient=False` stops at the first commit that fails, where
    it would wait until the store takes turns again."""

    def __init__(
        self,
        store: Store,
        executors: Mapping[str, Executor],
        *,
        clock: Clock | None = None,
        output_dir: Path = Path("penstock-output"),
        input_dir: Path = Path(),
        settings: Mapping[str, Any] | None = None,
        seed: int | None = None,
        width: int = 256,
        batch: int = 512,
        serve: bool = True,
        alone: bool = False,
        patient: bool = True,
        publish: bool = False,
        installation: Installation = Installation(),  # noqa: B008 (it is frozen)
    ) -> None:
        settings = settings or {}
        self.store = store
        self.serve, self.alone, self.patient = serve, alone, patient
        self.clock: Clock = clock or SystemClock(store.newest_time())
        self._random = random.Random(seed)  # noqa: S311 (ids, not secrets)
        self.nets = Nets(store)
        self.limits = Limits(settings)
        self.turns = Turns(store, self.nets, self.clock, batch=batch)
        self.turns.caps = self.limits.caps
        self.turns.ready.weight = self.limits.share
        self.start_limits = StartLimits(self.limits, store, self.clock.now, lambda tenant: self.turns.unborn[tenant])
        self.gate = Gate(store, Workers(settings))
        self.blobs = Blobs(store, sizes_of(settings).inline_bytes)
        self.outcomes = Outcomes(store, self.turns, self.blobs, self.gate, self.clock)
        secret_places = places_of(settings, installation.secret_grants(settings))
        self.tenants = Tenants(store, secret_places, self.clock.now, settings)
        services = TenantServices(
            installation,
            Services(
                output_dir=output_dir, input_dir=input_dir, settings=settings, tenant=self.tenants, executors=executors
            ),
        ).base
        self.dispatch = Dispatch(
            store, executors, services, self.gate, self.blobs, self.outcomes.answer, self._call, self.wake_up,
            self.clock.now, width=width, share=self.limits.share,
        )  # fmt: skip
        self.timers = Timers(store, self.turns, self.clock, all_runs=not alone)
        self.children = Children(
            store, self.nets, self.turns, self.blobs, self.outcomes.answer, self.resume_run, self.dispatch.named,
            self.clock.now, self.start_limits,
        )  # fmt: skip
        self.jobs = Jobs(store, self.outcomes.answer, self.clock.now)
        self.admission = Admission(store, self.turns, self.nets, self.limits, slots_of(settings), self.wake_up)
        self.starter = Starter(store, self.turns, self.new_id, self.resume_run, self.start_limits)
        self.intake = Intake(
            store, self.turns, self.starter, self.tenants, self.clock.now,
            self.resume_run if alone else _already_loaded, self.blobs.shelve,
            float(settings.get("events.keep_hours") or KEEP_HOURS),
        )  # fmt: skip
        self.inbox = Inbox(store, self.turns, self.blobs.shelve, self.resume_run if alone else None)
        self.recovery = Recovery(
            store, self.turns, self.timers, self.outcomes, self.dispatch, self.children, self.intake
        )
        self.schedules = Schedules(store, self.starter, self.intake.warnings.warn, on=not alone)
        self.retention = Retention(store, settings)
        self.outbox = Outbox(store, self.clock, publish=publish)
        self.notices = Notices(store, self.clock, executors, services)
        handed = HostServices(
            store, self.clock.now, self.tenants, self.notices.write, self.nets.of, self.blobs.of, settings,
            secret_places.own,
        )  # fmt: skip
        self.runtimes = Runtimes(handed)
        self.on_trouble: list[Callable[[StoreError | None], None]] = []
        self._connect()

    def _connect(self) -> None:
        turns = self.turns
        turns.resolve_blob = self.blobs.of
        turns.wake_up = self.wake_up
        turns.on_start = self.start_limits.runs.added
        turns.rows.on_work_opened = self.start_limits.items.added
        turns.before_commit.append(self.outcomes.before_commit)
        turns.on_rollback += [self.outcomes.on_rollback, self.runtimes.rolled_back]
        if isinstance(self.clock, SpeedClock):
            self.clock.busy = lambda: self.dispatch.working() > 0
        if self.serve:
            self.outcomes.on_told = self.intake.on_told
        turns.rows.outbox = self.outbox
        if not self.dispatch.performs_jobs:
            turns.rows.jobs = self.jobs
            self.jobs.on_facts = turns.on_facts
        turns.rows.runtimes = self.outbox.runtimes = self.runtimes
        waiting = self.dispatch.waiting
        self.timers.on_clock_back += [
            self.gate.clock_went_back, waiting.clock_went_back, self.children.clock_went_back,
            self.start_limits.clock_went_back,
        ]  # fmt: skip

    def new_id(self) -> str:
        return run_id(self.clock.now(), self._random.getrandbits(RANDOM_BITS))

    def resume_run(self, no: int) -> None:
        """Load a run from the store and drive it here; nothing when it is in memory already."""
        self.recovery.resume_run(no)

    def _call(self, ask: Ask) -> None:
        run = ask.loaded.run
        if run is not None and run.net.nodes[ask.firing.node].job:
            self.jobs.asked(ask)
        else:
            self.children.call(ask)

    def wake_up(self) -> None:
        """There may be something to do: whoever drives the parts looks again."""
        raise NotImplementedError
