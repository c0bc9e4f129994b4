"""Jobs in both databases (P-X.28): taken by one, answered once, back when a lock is over."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from penstock.kernel.state import COMPLETED, FAILED
from penstock.store.contract import Store
from penstock.store.jobs import ANSWERS_KEPT_MS, Activation, Answer, JobRow
from penstock.store.run_store import Batch
from tests.contract.store_suite import Capability, Kit, PostgresKit, a_batch, a_net, a_run, a_turn

pytestmark = pytest.mark.needs(Capability.DURABLE)
FREE = "WAITING"


def a_job(no: int, **given: Any) -> JobRow:
    row = JobRow(
        id=f"r{no}~2.1", tenant="t", run=no, run_id=f"r{no}", firing=2, attempt=1, type="pay", state=FREE,
        priority=1000, created_at=no, document="order", version=1, node="pay", name="Pay", key=f"t/r{no}/pay@~0#1",
        retries=3, fence=0, token=None, worker=None, due_at=None, body=b"x", message=None, answer=None, inbox=None,
        ended_at=None,
    )  # fmt: skip
    return msgspec.structs.replace(row, **given)


def opened(kit: Kit, *jobs: JobRow) -> Any:
    store = kit.open()
    a_net(store)
    numbers = sorted({job.run for job in jobs})
    store.commit(a_batch(new=[a_run(n) for n in numbers], journal=[a_turn(n, 1) for n in numbers]))
    batch = Batch()
    batch.job_new += [msgspec.structs.astuple(job) for job in jobs]
    store.commit(batch)
    return store


def take(store: Store, *types: str, tenant: str = "t", limit: int = 1, now: int = 100, lock: int = 50) -> list[JobRow]:
    return store.activate_jobs(Activation(tenant, types or ("pay",), "w", limit, lock, f"n{now}"), now)


def test_the_most_urgent_and_then_the_oldest_is_given_once(kit: Kit) -> None:
    """P-X.28: by priority and age, of one tenant and one type, and nobody else gets it."""
    jobs = [a_job(1), a_job(2), a_job(3, priority=500), a_job(4, type="ship"), a_job(5, tenant="u")]
    store = opened(kit, *jobs)
    assert [job.id for job in take(store, limit=2)] == ["r3~2.1", "r1~2.1"]
    assert [job.id for job in take(store, "pay", "ship", limit=5)] == ["r2~2.1", "r4~2.1"]
    assert take(store, limit=5) == [] and [job.id for job in take(store, tenant="u")] == ["r5~2.1"]
    held = store.job("t", "r3~2.1")
    assert (held.state, held.worker, held.due_at, held.fence) == ("LOCKED", "w", 150, 1) and held.token
    assert store.job("u", "r3~2.1") is None, "another tenant's"


def test_a_lock_that_is_over_gives_the_job_to_the_next_with_a_higher_fence(kit: Kit) -> None:
    """P-X.28: what the first one says afterwards changes nothing."""
    store = opened(kit, a_job(1))
    (first,) = take(store, now=100, lock=50)
    assert store.next_job_due(100) == 150 and take(store, now=149) == []
    assert store.extend_job("t", first.id, first.token, 300) == "taken" and take(store, now=299) == []
    (second,) = take(store, now=300)
    assert second.fence == first.fence + 1 and second.token != first.token
    late = Answer("t", first.id, first.token, "complete 1", "DONE", b"c")
    assert store.answer_job(late, 301)[0] == "stale" and store.extend_job("t", first.id, first.token, 900) == "stale"
    assert store.inbox() == [], "no command came of it"


def test_a_worker_that_is_late_but_alone_is_heard(kit: Kit) -> None:
    """P-X.28: its lock is over and nobody else has taken the job."""
    store = opened(kit, a_job(1), a_job(2, type="ship"))
    (job,) = take(store, now=100, lock=50)
    take(store, "ship", now=500)  # whoever asks for anything gives back what is over
    assert store.job("t", job.id).state == FREE
    assert store.answer_job(Answer("t", job.id, job.token, "complete 1", "DONE", b"c"), 501)[0] == "taken"


def test_an_answer_and_its_command_are_one_commit_and_the_same_again_is_the_same(kit: Kit) -> None:
    """P-X.28: exactly one command for the run, however often the answer comes."""
    store = opened(kit, a_job(1))
    (job,) = take(store)
    answer = Answer("t", job.id, job.token, "complete 1", "DONE", b"command")
    verdict, row = store.answer_job(answer, 110)
    assert verdict == "taken" and row is not None and row.state == "DONE"
    assert store.inbox() == [(row.inbox, 1, b"command")]
    assert store.answer_job(answer, 111) == ("same", row) and len(store.inbox()) == 1
    other = Answer("t", job.id, job.token, "complete 2", "DONE", b"other")
    assert store.answer_job(other, 112)[0] == "over" and len(store.inbox()) == 1
    assert store.answer_job(Answer("t", "r9~2.1", "x", "complete 1", "DONE", b"c"), 113) == ("missing", None)


def test_one_that_failed_comes_back_after_its_delay(kit: Kit) -> None:
    """P-X.28: with the retries that are left; without any it stays until an operator looks."""
    store = opened(kit, a_job(1))
    (job,) = take(store)
    again = Answer("t", job.id, job.token, "fail 1", FREE, None, 2, 1000, "no network")
    verdict, row = store.answer_job(again, 110)
    assert verdict == "taken" and row is not None and (row.state, row.retries, row.due_at) == ("DELAYED", 2, 1110)
    assert store.answer_job(again, 111)[0] == "same" and take(store, now=1109) == []
    (second,) = take(store, now=1110)
    assert (second.retries, second.message) == (2, "no network")
    last = Answer("t", job.id, second.token or "", "fail 2", "FAILED", b"c", 0, 0, "no network")
    assert store.answer_job(last, 1120)[0] == "taken"
    assert [row.state for row in store.jobs_of(1)] == ["FAILED"] and take(store, now=9999) == []


@pytest.mark.parametrize("delay", [0, 1000])
def test_whoever_gave_a_job_back_has_it_no_more(kit: Kit, delay: int) -> None:
    """P-X.28: its token is nobody's, also before somebody else has taken the job."""
    store = opened(kit, a_job(1))
    (job,) = take(store)
    assert store.answer_job(Answer("t", job.id, job.token, "back", FREE, None, None, delay), 110)[0] == "taken"
    assert store.answer_job(Answer("t", job.id, job.token, "complete 1", "DONE", b"c"), 111)[0] == "stale"
    assert store.extend_job("t", job.id, job.token, 900) == "stale" and store.inbox() == []


def test_jobs_go_and_rest_with_their_run(kit: Kit) -> None:
    """P-X.38: dropped effects withdraw them, a pause holds them, and both are in the commit of the turn."""
    store = opened(kit, a_job(1), a_job(2), a_job(3))
    (job,) = take(store)
    batch = Batch()
    batch.job_gone += [(200, 1, 2)]
    batch.job_paused += [(1, 2)]
    store.commit(batch)
    assert [store.job("t", f"r{n}~2.1").state for n in (1, 2, 3)] == ["WITHDRAWN", "HELD", FREE]
    assert store.answer_job(Answer("t", job.id, job.token, "complete 1", "DONE", b"c"), 201)[0] == "over"
    batch = Batch()
    batch.job_paused += [(0, 2)]
    store.commit(batch)
    assert [row.id for row in take(store, limit=5)] == ["r2~2.1", "r3~2.1"]


def test_a_job_that_waits_for_its_delay_rests_with_its_run(kit: Kit) -> None:
    """P-X.38: the delay is over while the run is paused, and nobody gets the job before it goes on."""
    store = opened(kit, a_job(1))
    (job,) = take(store)
    store.answer_job(Answer("t", job.id, job.token, "fail 1", FREE, None, 2, 1000), 110)
    batch = Batch()
    batch.job_paused += [(1, 1)]
    store.commit(batch)
    assert take(store, now=1200) == [] and store.next_job_due(1200) is None
    batch = Batch()
    batch.job_paused += [(0, 1)]
    store.commit(batch)
    assert [row.id for row in take(store, now=1300)] == [job.id]


@pytest.mark.parametrize("back", ["lock over", "unlock", "delay"])
def test_a_job_that_comes_back_while_its_run_is_paused_rests_too(kit: Kit, back: str) -> None:
    """P-X.38: its worker was heard or was not; nobody else gets it before the run goes on."""
    store = opened(kit, a_job(1))
    (job,) = take(store, now=100, lock=50)
    batch = Batch()
    batch.job_paused += [(1, 1)]
    store.commit(batch)
    assert store.job("t", job.id).state == "LOCKED", "whoever has it may end it"
    if back != "lock over":
        store.answer_job(Answer("t", job.id, job.token, back, FREE, None, 2, 10 if back == "delay" else 0), 110)
    assert take(store, now=500) == [] and store.job("t", job.id).state == "HELD"
    batch = Batch()
    batch.job_paused += [(0, 1)]
    store.commit(batch)
    assert [row.id for row in take(store, now=600)] == [job.id]


def test_a_run_that_goes_on_and_is_paused_again_in_one_commit(kit: Kit) -> None:
    """P-X.38: what was said last holds."""
    store = opened(kit, a_job(1))
    for said, given in (([1, 0, 1], 0), ([0, 1, 0], 1)):
        batch = Batch()
        batch.job_paused += [(paused, 1) for paused in said]
        store.commit(batch)
        assert len(take(store)) == given


def test_a_job_is_added_once_and_reopened_only_when_its_answer_is_lost(kit: Kit) -> None:
    """P-X.28: a fork, or an answer whose run could not take it."""
    store = opened(kit, a_job(1))
    store.add_job(a_job(1, type="other"))
    (job,) = take(store)
    assert job.type == "pay"
    _, row = store.answer_job(Answer("t", job.id, job.token, "complete 1", "DONE", b"c"), 110)
    store.reopen_job(job.id)
    assert store.job("t", job.id).state == "DONE", "its command is on its way"
    batch = Batch()
    batch.inbox_answered.append((b"refused", row.inbox))
    store.commit(batch)
    store.reopen_job(job.id)
    assert store.job("t", job.id).state == FREE


def test_what_is_told_of_types_and_workers(kit: Kit) -> None:
    """P-X.28: open jobs by state, the oldest of each, and who has asked when."""
    store = opened(kit, a_job(1), a_job(2), a_job(3, type="ship"), a_job(4, tenant="u"))
    take(store)
    assert [(c.type, c.state, c.count, c.oldest) for c in store.job_counts("t")] == [
        ("pay", "LOCKED", 1, 1), ("pay", FREE, 1, 2), ("ship", FREE, 1, 3),
    ]  # fmt: skip
    assert sum(c.count for c in store.job_counts(None)) == 4
    store.put_job_workers([("t", "pay", "w", 5), ("u", "pay", "v", 6)])
    store.put_job_workers([("t", "pay", "w", 9)])
    assert [(w.type, w.worker, w.since, w.at) for w in store.job_workers("t", "pay")] == [("pay", "w", 5, 9)]
    assert [row.id for row in store.find_jobs("t", type=None, state=None, after=(1, "r1~2.1"), limit=1)] == ["r2~2.1"]
    assert [row.id for row in store.find_jobs("t", type="ship", state=FREE, after=(0, ""), limit=9)] == ["r3~2.1"]


def test_old_answers_are_forgotten_and_open_jobs_are_not(kit: Kit) -> None:
    """P-X.28: a day after it was answered nobody asks for it any more."""
    store = opened(kit, a_job(1), a_job(2))
    (job,) = take(store)
    store.answer_job(Answer("t", job.id, job.token, "complete 1", "DONE", b"c"), 110)
    store.tidy(110 + ANSWERS_KEPT_MS)
    assert store.job("t", job.id) is not None
    store.tidy(111 + ANSWERS_KEPT_MS)
    assert store.job("t", job.id) is None and store.job("t", "r2~2.1").state == FREE


@pytest.mark.parametrize(("status", "kept"), [(FAILED, True), (COMPLETED, False)])
def test_one_that_has_failed_is_kept_as_long_as_its_run_is_stuck(kit: Kit, status: int, kept: bool) -> None:
    """P-X.28: an operator sees years later which worker said what."""
    store = kit.open()
    a_net(store)
    batch = a_batch(new=[a_run(1, status=status)], journal=[a_turn(1, 1)])
    batch.job_new.append(msgspec.structs.astuple(a_job(1, state="FAILED", ended_at=110, message="no network")))
    store.commit(batch)
    store.tidy(111 + ANSWERS_KEPT_MS)
    assert (store.job("t", "r1~2.1") is not None) is kept


ASKED: dict[str, tuple[Callable[[Any], Any], str]] = {
    "taken": (
        lambda kit: "SELECT id FROM job WHERE tenant='t' AND type='pay' AND state='WAITING'"
        " ORDER BY priority,created_at,id LIMIT 10",
        "job_next",
    ),
    "due": (lambda kit: "UPDATE job SET state='WAITING' WHERE due_at IS NOT NULL AND due_at<=100", "job_due"),
    "of a run": (lambda kit: "SELECT id FROM job WHERE run=7 AND firing=2", "job_run"),
    "listed": (
        lambda kit: "SELECT id FROM job WHERE tenant='t' AND (created_at,id)>(5,'a') ORDER BY created_at,id LIMIT 9",
        "job_list",
    ),
}


@pytest.mark.parametrize("asked", ASKED)
def test_the_next_jobs_lie_in_an_index(kit: Kit, asked: str) -> None:
    """P-X.28: however many wait, whoever asks costs what is given."""
    store = opened(kit, a_job(1))
    types = ("pay", "ship", "mail", "print")
    for first in range(2, 4002, 500):
        batch = Batch()
        numbers = range(first, first + 500)
        jobs = [a_job(n, type=types[n % 4], due_at=10**9 if n % 100 == 0 else None) for n in numbers]
        batch.job_new += [msgspec.structs.astuple(job) for job in jobs]
        store.commit(batch)
    sql, index = ASKED[asked][0](kit), ASKED[asked][1]
    if isinstance(kit, PostgresKit):
        kit.ask("ANALYZE job")
        plan = [line[0] for line in kit.ask(f"EXPLAIN {sql}")]
        assert any(index in line for line in plan) and not any("Sort" in line for line in plan), plan
    else:
        plan = [line[3] for line in store.c.execute(f"EXPLAIN QUERY PLAN {sql}")]
        assert any(index in line for line in plan) and not any("TEMP B-TREE" in line for line in plan), plan
