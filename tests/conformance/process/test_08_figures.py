"""8, when to think again: seven figures, each a metric by its name, a row, and an alarm at its threshold."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from penstock.app.metrics.alarms import Alarms
from penstock.app.metrics.collector import MetricsCollector
from penstock.app.metrics.series import exposed
from penstock.app.process import figures
from penstock.app.process.definitions import Processes
from penstock.app.process.event_log import exported, remember, wanted, written
from penstock.app.process.models import extracted, import_discovered
from penstock.app.process.reevaluation import reevaluation
from penstock.app.process.thresholds import THRESHOLDS
from penstock.app.process.work_items import WorkItems
from penstock.host.clock import SystemClock
from penstock.kernel.state import CANCELLED, WAITING
from tests.conformance.process.http.test_models import BPMN
from tests.conformance.process.make import process, service, task
from tests.conformance.process.running import Failing, Instance, Office, awaited
from tests.contract.store_suite import a_batch, a_run

DAY_MS = 86_400_000
UNDOING = process([service("A", compensation="undo_a"), service("C")], ["A>C"])


class Later(SystemClock):
    """Some time after now."""

    by = 0

    def now(self) -> int:
        return super().now() + self.by


class Watch:
    """What somebody sees of one figure: its series, its row, and whether its alarm is open."""

    def __init__(self, office: Office) -> None:
        self.p, self.clock = office.p, Later()
        office.p.host.clock = self.clock
        self.meter = MetricsCollector(office.p.store)
        self.meter.attach(office.p.host)
        self.alarms = Alarms(self.meter, office.p.host)

    def look(self, metric: str) -> tuple[float | None, bool]:
        self.alarms.look()
        (line,) = (one for one in THRESHOLDS if one.metric == metric)
        (row,) = (one for one in reevaluation(self.p) if one.id == line.id)
        for tenant in (self.p.tenant, None):
            found = dict(
                one.rpartition(" ")[::2] for one in exposed(self.meter, tenant, self.p.now()).splitlines()
                if not one.startswith("#")
            )  # fmt: skip
            value = float(found[metric])
            assert value == row.value or (row.value is None and value != value)
        raised = metric in self.alarms.of(self.p.tenant).open
        assert row.exceeded is raised, "the row, the metric and the alarm say the same"
        return row.value, raised


@asynccontextmanager
async def watching(folder: Path, **more: Any) -> AsyncIterator[tuple[Office, Watch]]:
    async with Office(folder, **more) as office:
        yield office, Watch(office)


async def mined(office: Office, id: str, fitness: float | None = 0.9) -> str:
    about = {"algorithm": "inductive", "case_count": 3} | ({} if fitness is None else {"fitness": fitness})
    done = await import_discovered(office.p, f"log-{id}", BPMN.format(id=id), about, by="kim")
    return done.release.name


@awaited
async def test_more_than_a_hundred_definitions(tmp_path: Path) -> None:
    """P-8.1, P-X.27: a hundred are none too many; versions do not count."""
    async with watching(tmp_path) as (office, watch):
        held = Processes(office.p)
        assert watch.look("process_definitions") == (0, False)
        for n in range(100):
            await held.define({**process([task("A")], []), "process_definition_id": f"n{n}"}, by="kim")
        await held.define({**process([task("B")], []), "process_definition_id": "n0"}, by="kim")
        assert watch.look("process_definitions") == (100, False)
        await held.define({**process([task("A")], []), "process_definition_id": "one_more"}, by="kim")
        assert watch.look("process_definitions") == (101, True)


@awaited
async def test_more_than_five_hundred_running_instances(tmp_path: Path) -> None:
    """P-8.2, P-X.27: those that have not ended, of processes only."""
    async with watching(tmp_path) as (office, watch):
        done = await Processes(office.p).define(process([task("A")], []), by="kim")
        run = await WorkItems(office.p).initiate("p", by="kim")
        assert watch.look("process_running_instances") == (1, False)
        more = [a_run(900 + n, tenant=office.p.tenant, net=done.release.net, status=WAITING) for n in range(500)]
        office.p.store.commit(a_batch(new=more[:499]))
        assert watch.look("process_running_instances") == (500, False)
        office.p.store.commit(a_batch(new=more[499:]))
        assert watch.look("process_running_instances") == (501, True)
        await WorkItems(office.p).terminate(run)
        await Instance(office, run).rest()
        assert watch.look("process_running_instances") == (500, False)
        assert office.p.store.run_by_id(run).status == CANCELLED


@awaited
async def test_more_than_one_in_twenty_cannot_be_undone(tmp_path: Path) -> None:
    """P-8.3, P-X.27: of the instances that were undone, those in which a step has failed; others do not count."""
    async with watching(tmp_path, agents={"C": Failing("broken")}, tools={"undo_a": Failing("no such record")}) as (
        office,
        watch,
    ):
        assert watch.look("process_compensation_failure_rate") == (None, False)
        await office.start(process([service("C")], []))  # it fails, and there is nothing to undo
        assert watch.look("process_compensation_failure_rate") == (None, False)
        bad = await office.start(UNDOING)
        assert watch.look("process_compensation_failure_rate") == (1.0, True)
        office.tools["undo_a"] = {}
        for _ in range(18):
            await office.start(UNDOING)
        value, raised = watch.look("process_compensation_failure_rate")
        assert (value, raised) == (1 / 19, True)
        await office.start(UNDOING)
        assert watch.look("process_compensation_failure_rate") == (0.05, False), "exactly at it there is none"
        await bad.p.compensate(bad.id)
        await bad.rest()
        assert watch.look("process_compensation_failure_rate") == (0.0, False), "it was undone in the end"


@awaited
async def test_a_reading_folds_no_more_than_a_slice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """P-8.3, C-78: what one reading has not looked at, the next ones do, also where one journal is longer than that."""
    monkeypatch.setattr(figures, "SLICE", 10)
    folded, plain = [0], figures.F.decode_facts

    def decoded(body: bytes) -> Any:
        facts = plain(body)
        folded[0] += len(facts)
        return facts

    async with Office(tmp_path, agents={"C": Failing("x")}, tools={"undo_a": Failing("x")}) as office:
        runs = [await office.start(UNDOING) for _ in range(3)]
        store = office.p.store
        turns = [turn for run in runs for turn in store.journal(office.p.row(run.id).no)]
        largest = max(turn.seq_to - turn.seq_from + 1 for turn in turns)
        assert turns[-1].seq_to > 10 + largest, "each is longer than a slice"
        monkeypatch.setattr(figures.F, "decode_facts", decoded)
        made, seen = figures.Figures(store, office.p.nets.of), list[tuple[int, int]]()
        for _ in range(100):
            folded[0] = 0
            seen.append(made.read({office.p.tenant: None, "another": None}, 0).not_undone)
            assert folded[0] <= 10 + largest
        assert seen[0] == (0, 0) and seen == sorted(seen) and seen[-1] == (3, 3) and folded[0] == 0


@awaited
async def test_less_than_seventy_percent_of_what_was_read_is_kept(tmp_path: Path) -> None:
    """P-8.4, P-X.22, P-X.43: elements that were approved as they were read, of all that were read; what waits for an
    approval does not count."""
    async with watching(tmp_path) as (office, watch):
        held = Processes(office.p)
        done = await extracted(office.p, "1. 접수\n2. 검토", id="vague", by="kim")
        assert done.approval_status == "pending" and watch.look("process_extraction_accuracy") == (None, False)
        edited = dict(done.definition)
        edited["activities"] = [{**one, "name": f"{one['name']} 담당"} for one in edited["activities"]]
        await held.update("vague", edited, by="kim")
        assert watch.look("process_extraction_accuracy") == (None, False)
        await held.approve("vague", by="lee")
        read = sum(len(done.definition.get(name) or ()) for name in ("activities", "transitions", "roles", "events"))
        share = (read - 2) / read
        assert share < 0.7 and watch.look("process_extraction_accuracy") == (share, True)
        sure = await extracted(
            office.p, "# 자료 접수\n1. 담당자: 등록서를 접수한다\n2. 검토자: 내용을 검토한다\n", id="sure", by="kim"
        )
        assert sure.approval_status == "approved"
        more = sum(len(sure.definition.get(name) or ()) for name in ("activities", "transitions", "roles", "events"))
        share = (read + more - 2) / (read + more)
        assert share >= 0.7 and watch.look("process_extraction_accuracy") == (share, False)


@awaited
async def test_a_mined_model_that_does_not_fit(tmp_path: Path) -> None:
    """P-8.5, P-X.27: of the models that nobody has rejected, the one that fits its log least."""
    async with watching(tmp_path) as (office, watch):
        await mined(office, "untold", None)
        assert watch.look("process_discovered_fitness") == (None, False)
        await mined(office, "fits", 0.7)
        assert watch.look("process_discovered_fitness") == (0.7, False), "exactly at it there is none"
        await mined(office, "poor", 0.69)
        assert watch.look("process_discovered_fitness") == (0.69, True)
        Processes(office.p).reject("poor", by="lee", comment="잡음")
        assert watch.look("process_discovered_fitness") == (0.7, False)


@awaited
async def test_an_export_of_more_than_a_hundred_thousand(tmp_path: Path) -> None:
    """P-8.6, P-X.27: the largest of a day, in events; all of them are counted."""
    async with watching(tmp_path) as (office, watch):
        await Processes(office.p).define(process([task("A"), task("B")], ["A>B"]), by="kim")
        run = Instance(office, await WorkItems(office.p).initiate("p", by="kim"))
        await run.submit("A")
        assert watch.look("process_log_export_records") == (0, False)
        for _ in range(2):
            b"".join(written(office.p, await wanted(office.p, "p", full=True), "json"))
        assert watch.look("process_log_export_records") == (2, False)
        assert (exported(office.p).total, exported(office.p).exports) == (4, 2)
        remember(office.p, 100_000)
        assert watch.look("process_log_export_records") == (100_000, False)
        remember(office.p, 100_001)
        remember(office.p, 1)
        assert watch.look("process_log_export_records") == (100_001, True)
        assert "process_log_events_exported_total 200006" in exposed(watch.meter, None, office.p.now())
        watch.clock.by = DAY_MS + 1000
        assert watch.look("process_log_export_records") == (0, False)


@awaited
async def test_fewer_than_half_of_the_mined_models_are_approved(tmp_path: Path) -> None:
    """P-8.7, P-X.43: approved / (approved + rejected); what waits does not count."""
    async with watching(tmp_path) as (office, watch):
        held = Processes(office.p)
        for id in ("one", "two", "three"):
            await mined(office, id)
        assert watch.look("process_discovered_approval_rate") == (None, False)
        held.reject("one", by="lee", comment="잡음")
        assert watch.look("process_discovered_approval_rate") == (0.0, True)
        await held.approve("two", by="lee")
        assert watch.look("process_discovered_approval_rate") == (0.5, False), "exactly at it there is none"
        held.reject("three", by="lee", comment="잡음")
        assert watch.look("process_discovered_approval_rate") == (1 / 3, True)
