"""Jobs for workers outside (P-X.25, P-X.28, P-X.38, P-X.39): made with the turn, taken by one, answered once."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from penstock.app.jobs.jobs import Asked
from penstock.app.penstock import Penstock
from penstock.app.registry.registry import known_to
from penstock.app.runs.waiting.environment import read_environment
from penstock.app.runs.waiting.open_jobs import SERVED_MS
from penstock.app.runs.waiting.wait_context import WaitReason
from penstock.app.runs.waiting.why import why
from penstock.errors import BadInput, JobLockLost, JobNotFound, JobOver
from penstock.host import loaded_runs
from penstock.kernel import command as C
from penstock.lang.compile import check_document
from tests.app.jobs import CHARGE, a_process, at, on_loop, released, take


@on_loop
async def test_a_job_is_done_outside_and_the_run_goes_on(door: Penstock) -> None:
    """P-X.28: variables in, the result out, headers and retries as the definition has them."""
    release = released(door, {**CHARGE, "job_headers": {"tier": "gold"}, "job_retries": 5, "priority": "high"})
    run = await door.start(release, {"amount": 3})
    (job,) = await take(door)
    assert (job.run, job.node, job.name, job.definition) == (run, "charge", "Charge the card", "order")
    assert (job.variables, job.headers, job.retries, job.attempt) == ({"amount": 3}, {"tier": "gold"}, 5, 1)
    assert job.priority < 1000 and job.key.endswith("charge@~0#1")
    done = await door.jobs.complete(job.id, job.lock_token, {"paid": True})
    assert done.state == "DONE"
    view = await door.wait(run, timeout=20)
    assert (view.status, view.variables) == ("COMPLETED", {"amount": 3, "paid": True})
    settled = next(each for each in door.store.journal(door.row(run).no) if b"worker" in each.body)
    assert settled is not None, "the journal says which worker it was"


@on_loop
async def test_params_outputs_and_computed_types(door: Penstock) -> None:
    """P-X.39: what a worker is given and what becomes of its result, in both kinds of expressions."""
    activity = {
        **CHARGE, "job": "${'charge-' + kind}", "job_retries": "= count", "params": {"sum": "${amount * 2}", "x": "y"},
        "outputs": {"paid": "${ok}", "both": "= ok and amount > 1", "note": "fixed", "amount": "${amount}"},
    }  # fmt: skip
    release = released(door, activity)
    run = await door.start(release, {"amount": 3, "kind": "card", "count": 2})
    (job,) = await take(door)
    assert (job.type, job.variables, job.retries) == ("charge-card", {"sum": 6, "x": "y"}, 2)
    await door.jobs.complete(job.id, job.lock_token, {"ok": True, "left": "out"})
    view = await door.wait(run, timeout=20)
    given = {"amount": 3, "kind": "card", "count": 2}
    assert view.variables == {**given, "paid": True, "both": True, "note": "fixed"}


@on_loop
async def test_a_job_of_which_is_said_that_it_is_given_nothing(door: Penstock) -> None:
    """P-X.39: empty params are nothing, and not everything."""
    await door.start(released(door, {**CHARGE, "params": {}}), {"amount": 3})
    (job,) = await take(door)
    assert job.variables == {}


@pytest.mark.parametrize(
    ("wrong", "code"),
    [
        ({"job": "${amount}"}, "JOB_TYPE"), ({"job": "${nothing}"}, "JOB_TYPE"),
        ({"job_retries": "${'x'}"}, "JOB_RETRIES"),
        ({"job_retries": "${digits}"}, "JOB_RETRIES"),
    ],
)  # fmt: skip
@on_loop
async def test_a_job_that_cannot_be_made_fails_its_activity(door: Penstock, wrong: dict[str, Any], code: str) -> None:
    """P-X.28: a type that is no text, retries that are no number, or one of more digits than Python reads."""
    run = await door.start(released(door, {**CHARGE, **wrong}), {"amount": 3, "digits": "9" * 5_000})
    view = await door.wait(run, timeout=20)
    assert view.failure is not None and view.failure["code"] == code
    assert door.jobs.find() == []


@on_loop
async def test_only_the_variables_that_are_asked_for(door: Penstock) -> None:
    """P-X.39: names that there are not are left out."""
    await door.start(released(door, CHARGE), {"amount": 3, "secretive": "x" * 10_000})
    (job,) = await take(door, variables=["amount", "nothing"])
    assert job.variables == {"amount": 3}


# ---- fences ----------------------------------------------------------------------------------------------------------


@on_loop
async def test_the_same_answer_again_is_the_same_also_when_the_run_has_gone_on(door: Penstock) -> None:
    """P-X.28: whoever did not hear that it was taken says it again."""
    run = await door.start(released(door, CHARGE), {})
    (job,) = await take(door)
    first = await door.jobs.complete(job.id, job.lock_token, {"paid": True})
    assert (await door.wait(run, timeout=20)).status == "COMPLETED"
    assert await door.jobs.complete(job.id, job.lock_token, {"paid": True}) == first
    with pytest.raises(JobOver, match="completed"):
        await door.jobs.complete(job.id, job.lock_token, {"paid": False})
    assert (await door.wait(run)).variables == {"paid": True}


@on_loop
async def test_two_workers_and_a_lock_that_was_over(door: Penstock) -> None:
    """P-X.28: the second has the job, and the first is refused by its token."""
    await door.start(released(door, CHARGE), {})
    (first,) = await take(door, lock_ms=1, worker="first")
    (second,) = await take(door, worker="second")
    assert second.id == first.id and second.attempt == first.attempt + 1 and second.key == first.key
    for late in (door.jobs.complete, door.jobs.unlock):
        with pytest.raises(JobLockLost, match="second has it"):
            await late(first.id, first.lock_token)
    with pytest.raises(JobLockLost):
        door.jobs.extend(first.id, first.lock_token, 1000)
    assert (await door.jobs.complete(second.id, second.lock_token)).state == "DONE"


@on_loop
async def test_two_hundred_at_once_get_every_job_once(door: Penstock) -> None:
    """P-X.28: no job twice and none left, however many ask."""
    release = released(door, CHARGE)
    await door.start_many(release, [{"n": n} for n in range(120)])
    workers = [take(door, wait_ms=300, worker=f"w{n}") for n in range(200)]
    given = Counter(job.id for jobs in await asyncio.gather(*workers) for job in jobs)
    assert len(given) == 120 and set(given.values()) == {1}


@on_loop
async def test_who_waits_is_woken_by_the_job_and_not_by_others(door: Penstock) -> None:
    """P-X.28: whoever waits gets the job with the turn that makes it; the one who waits for another type sleeps on."""
    release = released(door, CHARGE)
    waiting = asyncio.ensure_future(take(door, wait_ms=60_000))
    other = asyncio.ensure_future(take(door, "ship", wait_ms=60_000))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert set(door.host.jobs.waiting) == {("tenant_001", "charge-card"), ("tenant_001", "ship")}
    await door.start(release, {})
    (job,) = await waiting
    assert job.type == "charge-card" and not other.done()
    door.jobs.close()
    assert await other == [] and door.host.jobs.waiting == {}


@on_loop
async def test_a_worker_that_stops_waiting_leaves_the_job_to_the_next(door: Penstock) -> None:
    """P-X.28: cancelled between the bell and the look, or gone."""
    release = released(door, CHARGE)

    async def gone() -> bool:
        return True

    asked = Asked(types=["charge-card"], worker="gone", wait_ms=60_000)
    lost = asyncio.ensure_future(door.jobs.activate(asked, gone=gone))
    await asyncio.sleep(0)
    stopped = asyncio.ensure_future(take(door, wait_ms=60_000, worker="stopped"))
    await asyncio.sleep(0)
    here = asyncio.ensure_future(take(door, wait_ms=60_000, worker="here"))
    await asyncio.sleep(0)
    stopped.cancel()
    await door.start(release, {})
    (job,) = await here
    assert await lost == [] and job.type == "charge-card"
    with contextlib.suppress(asyncio.CancelledError):
        await stopped


@on_loop
async def test_who_waits_is_told_of_a_lock_that_began_meanwhile(door: Penstock) -> None:
    """P-X.28: the job is theirs when that lock is over, and not when their own time is."""
    release = released(door, CHARGE)
    first = asyncio.ensure_future(take(door, wait_ms=60_000, max_jobs=5, lock_ms=50, worker="first"))
    await asyncio.sleep(0)
    second = asyncio.ensure_future(take(door, wait_ms=60_000, worker="second"))
    await asyncio.sleep(0)
    run = await door.start(release, {})
    async with asyncio.timeout(20):
        assert [job.attempt for job in await first] == [1]
        assert [(job.run, job.attempt) for job in await second] == [(run, 2)]


@on_loop
async def test_who_waits_is_told_of_a_lock_that_was_shortened(door: Penstock) -> None:
    """P-X.28: and of one whose end only another one has waited for, who has gone."""
    await door.start(released(door, CHARGE), {})
    (job,) = await take(door, lock_ms=3_600_000)
    brief = asyncio.ensure_future(take(door, wait_ms=100, worker="brief"))
    await asyncio.sleep(0)
    patient = asyncio.ensure_future(take(door, wait_ms=60_000, worker="patient"))
    await asyncio.sleep(0)
    door.jobs.extend(job.id, job.lock_token, 300)
    async with asyncio.timeout(20):
        assert await brief == []
        assert [given.attempt for given in await patient] == [2]


@on_loop
async def test_who_waits_is_told_of_a_run_that_goes_on(door: Penstock) -> None:
    """P-X.38: its jobs were held while it was paused."""
    run = await door.start(released(door, CHARGE), {})
    await door.pause(run)
    waiting = asyncio.ensure_future(take(door, wait_ms=60_000))
    await asyncio.sleep(0)
    await door.resume(run)
    async with asyncio.timeout(20):
        assert [job.run for job in await waiting] == [run]


@on_loop
async def test_who_waits_is_told_of_a_job_that_is_given_back(door: Penstock) -> None:
    """P-X.28: and does not sit there until its own time is over."""
    await door.start(released(door, CHARGE), {})
    (job,) = await take(door, lock_ms=3_600_000)
    waiting = asyncio.ensure_future(take(door, wait_ms=60_000, worker="next"))
    while not door.host.jobs.waiting:
        await asyncio.sleep(0.01)
    await door.jobs.unlock(job.id, job.lock_token)
    (again,) = await asyncio.wait_for(waiting, 20)
    assert again.id == job.id and again.attempt == 2


@on_loop
async def test_a_job_given_back_and_one_that_failed_come_again(door: Penstock) -> None:
    """P-X.28: giving back costs no retry; a failure costs one, and waits for its delay."""
    await door.start(released(door, CHARGE), {})
    (job,) = await take(door)
    await door.jobs.unlock(job.id, job.lock_token)
    (job,) = await take(door)
    assert (job.retries, job.attempt) == (3, 2)
    failed = await door.jobs.fail(job.id, job.lock_token, "no network", backoff_ms=1)
    assert (failed.state, failed.retries, failed.message, failed.why) == ("DELAYED", 2, "no network", "delay")
    (job,) = await take(door)
    assert (job.retries, job.attempt) == (2, 3)


@on_loop
async def test_without_retries_the_run_is_stuck_until_an_operator_has_it_tried_again(door: Penstock) -> None:
    """P-X.28: the failure is the run's, with the worker's words, and the job is made anew."""
    run = await door.start(released(door, {**CHARGE, "job_retries": 1}), {})
    (job,) = await take(door)
    stuck = await door.jobs.fail(job.id, job.lock_token, "card service down", details={"http": 503})
    assert (stuck.state, stuck.why) == ("FAILED", "operator")
    view = await door.wait(run, timeout=20)
    assert view.failure is not None
    failure = view.failure
    assert (failure["code"], failure["message"], failure["node"]) == ("JOB_FAILED", "card service down", "charge")
    assert await door.jobs.fail(job.id, job.lock_token, "card service down", details={"http": 503}) == stuck
    await door.retry(run)
    (again,) = await take(door)
    assert (again.retries, again.run) == (1, run) and again.id != job.id and again.key == job.key
    await door.jobs.complete(again.id, again.lock_token, {"paid": True})
    assert (await door.wait(run, timeout=20)).status == "COMPLETED"


# ---- events at its border --------------------------------------------------------------------------------------------


@on_loop
async def test_a_business_error_goes_where_its_code_is_caught(door: Penstock) -> None:
    """P-X.28: with the variables that the worker sends."""
    events = (at("broke", "charge", "error", code="NO_MONEY"), at("other", "charge", "error", code="STOLEN"),
              {"id": "e1", "position": "end"}, {"id": "e2", "position": "end"})  # fmt: skip
    release = released(door, CHARGE, events=events, flows=(("broke", "e1"), ("other", "e2")))
    run = await door.start(release, {"amount": 3})
    (job,) = await take(door)
    assert (await door.jobs.error(job.id, job.lock_token, "NO_MONEY", "poor", {"balance": 1})).state == "ERROR"
    view = await door.wait(run, timeout=20)
    assert view.nodes["e1"] == "DONE" and view.nodes["e2"] != "DONE"
    assert view.variables == {"amount": 3, "balance": 1}


OUTER = {"id": "outer", "name": "Outer", "type": "subProcess"}
INNER = {"id": "inner", "name": "Inner", "type": "subProcess"}
HANDLER = {"id": "handler", "name": "Handler", "type": "subProcess", "triggered_by_event": True}
BEGUN = {"id": "begun", "position": "start", "trigger": "error", "code": "NO_MONEY", "parent": "handler"}
CAUGHT: dict[str, tuple[list[dict[str, Any]], list[dict[str, Any]]]] = {
    "at a sub-process": ([OUTER, {**CHARGE, "parent": "outer"}], [at("broke", "outer", "error")]),
    "at one around another": (
        [OUTER, {**INNER, "parent": "outer"}, {**CHARGE, "parent": "inner"}],
        [at("broke", "outer", "error", code="NO_MONEY"), at("other", "inner", "error", code="X", parent="outer")],
    ),
    "at one of several instances": ([{**CHARGE, "multi": {"count": 1}}], [at("broke", "charge", "error")]),
    "by an event sub-process": ([CHARGE, HANDLER], [BEGUN]),
}  # fmt: skip


@pytest.mark.parametrize("where", CAUGHT)
@on_loop
async def test_a_business_error_brings_its_variables_wherever_it_is_caught(door: Penstock, where: str) -> None:
    """P-X.28: the path that catches it is given them, at whatever level."""
    activities, events = CAUGHT[where]
    inside = {activity["id"]: activity.get("parent") for activity in activities}
    top = next(id for id, parent in inside.items() if parent is None)
    ways = [("s", top), (top, "e"), *((each["id"], "e") for each in events if each["id"] == "broke")]
    document = json.loads(a_process(*activities, events=tuple(events)))
    document["transitions"] = [{"id": f"t{n}", "source": a, "target": b} for n, (a, b) in enumerate(ways)]
    run = await door.start(door.release(json.dumps(document).encode(), name="order.json"), {"amount": 3})
    (job,) = await take(door)
    await door.jobs.error(job.id, job.lock_token, "NO_MONEY", "poor", {"balance": 1})
    view = await door.wait(run, timeout=20)
    assert (view.status, view.variables) == ("COMPLETED", {"amount": 3, "balance": 1})


@on_loop
async def test_a_business_error_that_nobody_catches_ends_the_run_with_it(door: Penstock) -> None:
    """P-X.28: as an error end event that nobody catches does."""
    run = await door.start(released(door, CHARGE), {})
    (job,) = await take(door)
    await door.jobs.error(job.id, job.lock_token, "NO_MONEY", "poor")
    view = await door.wait(run, timeout=20)
    assert view.failure is not None and (view.failure["code"], view.failure["category"]) == ("NO_MONEY", "business")


@on_loop
async def test_a_timer_at_the_border_withdraws_the_job(door: Penstock) -> None:
    """P-X.38: the run has gone another way, and the late answer is told so."""
    late = at("late", "charge", "timer", timer={"duration": "PT0.001S"})
    release = released(door, CHARGE, events=(late, {"id": "e1", "position": "end"}), flows=(("late", "e1"),))
    run = await door.start(release, {})
    view = await door.wait(run, timeout=20)
    assert view.nodes["e1"] == "DONE"
    (job,) = door.jobs.find()
    assert job.state == "WITHDRAWN" and await take(door, wait_ms=0) == []


@on_loop
async def test_a_time_limit_of_the_activity_fails_it(door: Penstock) -> None:
    """P-X.38: it is the run's own timer, and needs nobody who waits."""
    run = await door.start(released(door, {**CHARGE, "orchestration": {"timeout_s": 0.001}}), {})
    view = await door.wait(run, timeout=20)
    assert view.failure is not None and view.failure["code"] == "NODE_TIMEOUT"
    assert [job.state for job in door.jobs.find()] == ["WITHDRAWN"]


@on_loop
async def test_a_person_may_do_it_instead_and_a_cancel_withdraws_it(door: Penstock) -> None:
    """P-X.40: the item of the activity is done by hand, and the worker is refused."""
    release = released(door, CHARGE)
    run = await door.start(release, {})
    (job,) = await take(door)
    await door.respond(run, "charge", {"paid": "in cash"})
    assert (await door.wait(run, timeout=20)).variables == {"paid": "in cash"}
    with pytest.raises(JobOver, match="does not need it"):
        await door.jobs.complete(job.id, job.lock_token)
    other = await door.start(release, {})
    (job,) = await take(door)
    await door.cancel(other)
    with pytest.raises(JobOver):
        await door.jobs.fail(job.id, job.lock_token, "late")


@on_loop
async def test_a_paused_run_gives_no_jobs(door: Penstock) -> None:
    """P-X.38: until it goes on."""
    run = await door.start(released(door, CHARGE), {})
    await door.pause(run)
    assert await take(door, wait_ms=0) == [] and [job.why for job in door.jobs.find()] == ["pause"]
    await door.resume(run)
    assert len(await take(door)) == 1


@on_loop
async def test_a_job_that_comes_back_to_a_paused_run_is_given_to_nobody(door: Penstock) -> None:
    """P-X.38: whoever has it may end it; one whose lock is over, or that was given back, rests with its run."""
    release = released(door, CHARGE)
    over, back = [await door.start(release, {}) for _ in range(2)]
    await take(door, lock_ms=1)
    (second,) = await take(door, worker="second", lock_ms=3_600_000)
    for run in (over, back):
        await door.pause(run)
    await door.jobs.unlock(second.id, second.lock_token)
    assert await take(door, wait_ms=50, max_jobs=5) == []
    assert [job.why for job in door.jobs.find()] == ["pause", "pause"]
    for run in (over, back):
        await door.resume(run)
    assert len(await take(door, max_jobs=5)) == 2


@on_loop
async def test_a_fork_of_a_paused_run_gives_no_jobs_either(door: Penstock) -> None:
    """P-X.38: it is paused as the one it comes from."""
    run = await door.start(released(door, CHARGE), {})
    await door.pause(run)
    forked = door.fork(run, door.view(run).facts)
    assert await take(door, wait_ms=50, max_jobs=5) == []
    await door.resume(forked)
    assert [job.run for job in await take(door, max_jobs=5)] == [forked]


@on_loop
async def test_a_job_for_every_item(door: Penstock) -> None:
    """P-X.28: of a list, each with its item, and the results in their order."""
    multi = {"items": "${cards}", "item": "card", "collect": "receipts"}
    run = await door.start(released(door, {**CHARGE, "multi": multi, "params": {"card": "${card}"}}), {"cards": [3, 4]})
    jobs = await take(door, max_jobs=5)
    assert sorted(job.variables["card"] for job in jobs) == [3, 4] and len({job.key for job in jobs}) == 2
    for job in jobs:
        await door.jobs.complete(job.id, job.lock_token, {"paid": job.variables["card"]})
    view = await door.wait(run, timeout=20)
    assert view.variables["receipts"] == [{"paid": 3}, {"paid": 4}]


@on_loop
async def test_what_a_job_has_done_is_undone_by_a_job(door: Penstock) -> None:
    """P-X.18: a handler that is a job is given what it is to undo."""
    refund = {**CHARGE, "id": "refund", "name": "Refund", "job": "refund", "is_for_compensation": True}
    broken = {"id": "broken", "name": "Broken", "type": "serviceTask", "job": "break", "job_retries": 0}
    run = await door.start(released(door, {**CHARGE, "compensation": "refund"}, broken, refund), {"amount": 3})
    (job,) = await take(door)
    await door.jobs.complete(job.id, job.lock_token, {"receipt": 7})
    (job,) = await take(door, "break")
    await door.jobs.fail(job.id, job.lock_token, "broken")
    (job,) = await take(door, "refund")
    assert job.variables["undone"] == {"receipt": 7} and job.variables["variables"]["amount"] == 3
    await door.jobs.complete(job.id, job.lock_token)
    assert "refund" not in (await door.wait(run, timeout=20)).failure["code"]


# ---- the host --------------------------------------------------------------------------------------------------------


@on_loop
async def test_runs_that_wait_for_jobs_leave_memory(door: Penstock, monkeypatch: pytest.MonkeyPatch) -> None:
    """P-X.28: they take no slot, and no memory beyond those that moved last; their answers find them."""
    monkeypatch.setattr(loaded_runs, "WITH_JOBS", 3)
    runs = await door.start_many(released(door, CHARGE), [{"n": n} for n in range(10)])
    jobs = await take(door, max_jobs=20)
    assert len(jobs) == 10 and len(door.host.turns.runs) <= 3 and not door.host.dispatch.queues
    for job in jobs:
        await door.jobs.complete(job.id, job.lock_token, {"paid": True})
    assert [(await door.wait(run, timeout=20)).status for run in runs] == ["COMPLETED"] * 10


@on_loop
async def test_after_a_restart_jobs_stand_and_a_fork_has_its_own(tmp_path: Path) -> None:
    """P-X.28: what was asked for is there, and a run that was forked asks for its own."""
    async with Penstock(tmp_path / "s.db") as door:
        run = await door.start(released(door, CHARGE), {})
        (job,) = await take(door)
    async with Penstock(tmp_path / "s.db") as door:
        await door.jobs.complete(job.id, job.lock_token, {"paid": True})
        assert (await door.wait(run, timeout=20)).status == "COMPLETED"
        other = await door.start(released(door, CHARGE), {})
        (own,) = await take(door)
        forked = door.fork(other, door.view(other).facts)
        (copied,) = await take(door)
        assert (own.run, copied.run) == (other, forked) and own.key != copied.key


@on_loop
async def test_an_answer_reaches_the_run_through_another_process(tmp_path: Path) -> None:
    """P-X.28: whoever does not drive the store leaves it in the inbox, with the same fence."""
    async with Penstock(tmp_path / "s.db") as driver:
        run = await driver.start(released(driver, CHARGE), {})
        with contextlib.ExitStack() as stack:
            looker = Penstock(tmp_path / "s.db", drive=False).open()
            stack.callback(looker.close)
            (job,) = await take(looker)
            assert await take(driver, wait_ms=0) == []
            await looker.jobs.complete(job.id, job.lock_token, {"paid": True})
            assert (await driver.wait(run, timeout=20)).variables == {"paid": True}


@on_loop
async def test_an_answer_that_its_run_did_not_take_is_asked_for_again(tmp_path: Path) -> None:
    """P-X.28: at least once, where a run could not be folded when the answer came."""
    async with Penstock(tmp_path / "s.db") as door:
        run = await door.start(released(door, CHARGE), {})
        (job,) = await take(door)
        row, loaded = door.row(run), door.host.turns.runs
        door.host.turns.park(loaded[row.no], AssertionError("a bug"))
        await door.jobs.complete(job.id, job.lock_token, {"paid": True})
    async with Penstock(tmp_path / "s.db") as door:
        (again,) = await take(door)
        assert again.id == job.id and again.attempt == 2
        await door.jobs.complete(again.id, again.lock_token, {"paid": True})
        assert (await door.wait(run, timeout=20)).status == "COMPLETED"


@on_loop
async def test_large_results_leave_the_row(door: Penstock) -> None:
    """P-X.39: and come back whole."""
    run = await door.start(released(door, CHARGE), {})
    (job,) = await take(door)
    await door.jobs.complete(job.id, job.lock_token, {"file": "x" * 300_000})
    assert len((await door.wait(run, timeout=20)).variables["file"]) == 300_000
    assert door.store.blob_names()


# ---- why -------------------------------------------------------------------------------------------------------------


def why_of(door: Penstock, run: str) -> WaitReason:
    (reason,) = why(door, door.reading(run), read_environment(door))
    return reason


@on_loop
async def test_a_run_says_that_nobody_serves_the_type_of_its_job(door: Penstock) -> None:
    """P-X.28: gravely while nobody asks, and as a plain wait when somebody does; who has it is named."""
    run = await door.start(released(door, {**CHARGE, "job_retries": 5}), {})
    assert (await door.wait(run, until_waiting=True, timeout=20)).waiting[0].name == "charge-card"
    alone = why_of(door, run)
    assert (alone.rank, alone.kind, alone.what, alone.node) == (3, "no_worker", "charge-card", "charge")
    assert alone.since == door.jobs.find()[0].created_at
    (job,) = await take(door, lock_ms=3_600_000)
    taken = why_of(door, run)
    assert (taken.rank, taken.kind, taken.who, taken.attempt) == (9, "job", ["w"], 1)
    assert taken.until == job.locked_until
    await door.jobs.fail(job.id, job.lock_token, "no network", backoff_ms=3_600_000)
    delayed = why_of(door, run)
    assert (delayed.kind, delayed.message, delayed.code) == ("backoff", "no network", "JOB_FAILED") and delayed.until


@on_loop
async def test_a_type_is_served_as_long_as_somebody_asks(door: Penstock, monkeypatch: pytest.MonkeyPatch) -> None:
    """P-X.28: two minutes after the last question nobody serves it, unless somebody waits right now."""
    release = released(door, CHARGE)
    await take(door, wait_ms=0)
    run = await door.start(release, {})
    assert why_of(door, run).kind == "job"
    asked_at, real = door.jobs.types()[0].last_asked_at, door.host.clock.now
    monkeypatch.setattr(door.host.clock, "now", lambda: real() + SERVED_MS + 1)
    assert (why_of(door, run).kind, why_of(door, run).since) == ("no_worker", asked_at)
    waiting = asyncio.ensure_future(take(door, "ship", "charge-card", wait_ms=60_000))
    assert len(await waiting) == 1


# ---- who may, and what is said ---------------------------------------------------------------------------------------


@on_loop
async def test_tenants_do_not_see_each_others_jobs(door: Penstock) -> None:
    """P-X.28: not by type, not by id."""
    await door.start(released(door, CHARGE), {})
    other = door.of("tenant_002")
    assert await take(other, wait_ms=0) == [] and other.jobs.find() == []
    assert [kind.waiting for kind in other.jobs.types()] == [0], "only that it has asked itself"
    (job,) = await take(door)
    for refused in (other.jobs.complete(job.id, job.lock_token), other.jobs.unlock(job.id, job.lock_token)):
        with pytest.raises(JobNotFound):
            await refused


@pytest.mark.parametrize(
    "wrong",
    [
        {"types": ()}, {"types": ("",)}, {"types": ("x" * 201,)}, {"worker": " "}, {"max_jobs": 0}, {"lock_ms": 0},
        {"wait_ms": 60_001},
    ],
)  # fmt: skip
@on_loop
async def test_what_cannot_be_asked_for(door: Penstock, wrong: dict[str, Any]) -> None:
    """P-X.28: by name, and nothing is taken."""
    await door.start(released(door, CHARGE), {})
    with pytest.raises(BadInput):
        await door.jobs.activate(Asked(**{"types": ("charge-card",), "worker": "w", **wrong}))
    assert [job.state for job in door.jobs.find()] == ["WAITING"]


@on_loop
async def test_what_is_told_of_types(door: Penstock) -> None:
    """P-X.28: how many wait, since when, who has asked, and who waits now."""
    await door.start_many(released(door, CHARGE), [{}, {}])
    await take(door)
    waiting = asyncio.ensure_future(take(door, "ship", wait_ms=60_000))
    await asyncio.sleep(0)
    charge, ship = door.jobs.types()
    assert (charge.type, charge.waiting, charge.locked, charge.waits) == ("charge-card", 1, 1, False)
    assert [worker.worker for worker in charge.workers] == ["w"] and charge.oldest_at and charge.last_asked_at
    assert (ship.type, ship.waiting, ship.waits, ship.oldest_at) == ("ship", 0, True, None)
    waiting.cancel()


def test_a_job_takes_the_place_of_a_tool_and_says_which_fields_are_idle() -> None:
    """P-X.25: at a human task it changes nothing, and is told."""
    human = {**CHARGE, "type": "humanTask", "job_headers": {"a": "b"}}
    found = {(f.rule, f.where.pointer) for f in check_document(a_process(human), name="order")[1]}
    assert {("idle_field", "/activities/0/job"), ("idle_field", "/activities/0/job_headers")} <= found
    both = {**CHARGE, "tool": "t", "agent": "a"}
    found = {(f.rule, f.where.pointer) for f in check_document(a_process(both), name="order")[1]}
    assert {("idle_field", "/activities/0/tool"), ("idle_field", "/activities/0/agent")} <= found


@on_loop
async def test_the_command_of_another_version_is_refused(door: Penstock) -> None:
    """P-X.28: what lies in the inbox and is no answer of a job reaches no run."""
    run = await door.start(released(door, CHARGE), {})
    row = door.row(run)
    for body in (b"\x91\xa7Unknown", b"\x93\xabAnswerOfJob\xa1t\xa1x"):
        number = door.store.put_inbox(row.no, body, 1)
        door.host.inbox.poll()
        assert door.store.inbox_answer(number) is not None
    assert C.OUTCOME == 1 and door.view(run).status == "RUNNING"


@on_loop
async def test_a_type_that_nobody_has_asked_for_is_told_when_a_document_is_checked(door: Penstock) -> None:
    """P-X.28: as a warning with its place; a computed type is not known before."""
    document = a_process(CHARGE, {**CHARGE, "id": "other", "job": "${kind}"})

    def found() -> list[tuple[str, str]]:
        findings = check_document(document, name="order", registered=known_to(door.store, door.tenant))[1]
        return [(f.rule, f.where.pointer) for f in findings if f.rule == "job_unserved"]

    assert found() == [("job_unserved", "/activities/0/job")]
    await take(door, wait_ms=0)
    assert found() == []
    assert check_document(document, name="order", registered=known_to(None))[1] == []


@on_loop
async def test_who_waits_is_let_go_when_the_engine_ends(tmp_path: Path) -> None:
    """P-X.28: with nothing, and at once."""
    door = Penstock(tmp_path / "s.db")
    await door.__aenter__()
    waiting = asyncio.ensure_future(take(door, wait_ms=60_000))
    await asyncio.sleep(0)
    await door.aclose()
    assert await waiting == []
