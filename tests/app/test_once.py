"""Idempotency keys: the same again gets the same answer, and it is done once."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from penstock.app.access.idempotency import LEASE_MS, IdempotencyKeys, StoredResponse, Ticket, fingerprint
from penstock.errors import BadInput, IdempotencyConflict, RequestRunning
from penstock.host.clock import ManualClock
from penstock.store.access import REQUESTS_KEPT_MS
from penstock.store.sqlite import Sqlite

ANSWER = StoredResponse(201, {"location": "/api/v1/runs/r1"}, b'{"id":"r1"}')
PRINT = fingerprint("kim", "post", "/runs", b"{}")


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Sqlite]:
    one = Sqlite(tmp_path / "store.db")
    yield one
    one.close()


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(1_700_000_000_000)


def test_the_same_again_gets_the_same_answer(store: Sqlite, clock: ManualClock) -> None:
    once = IdempotencyKeys(store, clock)
    ticket = once.begin("t", "k", PRINT)
    assert isinstance(ticket, Ticket)
    ticket.done(ANSWER)
    assert once.begin("t", "k", PRINT) == ANSWER == IdempotencyKeys(store, clock).begin("t", "k", PRINT)
    assert isinstance(once.begin("u", "k", PRINT), Ticket), "another tenant's key is another key"


def test_another_request_with_the_same_key_is_refused(store: Sqlite, clock: ManualClock) -> None:
    """Z11: also the same request of somebody else, who would see another's answer."""
    once = IdempotencyKeys(store, clock)
    ticket = once.begin("t", "k", PRINT)
    assert isinstance(ticket, Ticket)
    others = [("lee", "POST", "/runs", b"{}"), ("kim", "PUT", "/runs", b"{}"), ("kim", "POST", "/x", b"{}")]
    for one in [*others, ("kim", "POST", "/runs", b"{ }")]:
        with pytest.raises(IdempotencyConflict) as refused:
            once.begin("t", "k", fingerprint(*one))
        assert refused.value.code == "PS-409-IDEMPOTENCY"
    ticket.done(ANSWER)
    with pytest.raises(IdempotencyConflict):
        once.begin("t", "k", fingerprint(*others[0]))


def test_while_it_is_worked_on_it_is_not_done_twice(store: Sqlite, clock: ManualClock) -> None:
    once = IdempotencyKeys(store, clock)
    first = once.begin("t", "k", PRINT)
    assert isinstance(first, Ticket)
    with pytest.raises(RequestRunning) as refused:
        once.begin("t", "k", PRINT)
    assert refused.value.http == 409 and refused.value.facts["retry_s"] == 1
    first.dropped()
    assert isinstance(once.begin("t", "k", PRINT), Ticket), "nothing came of it"


def test_what_a_dead_process_has_left_is_taken_over(store: Sqlite, clock: ManualClock) -> None:
    """After kill -9 the caller need not wait a day; the dead one's late word counts for nothing."""
    dead = IdempotencyKeys(store, clock).begin("t", "k", PRINT)
    assert isinstance(dead, Ticket)
    many = IdempotencyKeys(store, clock, alone=False)
    with pytest.raises(RequestRunning):
        many.begin("t", "k", PRINT)
    alone = IdempotencyKeys(store, clock)
    taken = alone.begin("t", "k", PRINT)
    assert isinstance(taken, Ticket)
    dead.done(StoredResponse(500, {}, b""))
    dead.dropped()
    taken.done(ANSWER)
    assert alone.begin("t", "k", PRINT) == ANSWER


def test_without_an_answer_it_is_free_after_a_minute(store: Sqlite, clock: ManualClock) -> None:
    assert isinstance(IdempotencyKeys(store, clock).begin("t", "k", PRINT), Ticket)
    clock.at += LEASE_MS
    assert isinstance(IdempotencyKeys(store, clock, alone=False).begin("t", "k", PRINT), Ticket)


def test_after_a_day_a_key_is_new(store: Sqlite, clock: ManualClock) -> None:
    once = IdempotencyKeys(store, clock)
    ticket = once.begin("t", "k", PRINT)
    assert isinstance(ticket, Ticket)
    ticket.done(ANSWER)
    clock.at += REQUESTS_KEPT_MS - 1
    assert once.begin("t", "k", PRINT) == ANSWER
    clock.at += 1
    again = once.begin("t", "k", fingerprint("lee", "POST", "/other", b""))
    assert isinstance(again, Ticket)
    again.done(ANSWER)


@pytest.mark.parametrize("key", ["", "x" * 201, "a\nb", "가"])
def test_a_key_that_is_none_is_refused(store: Sqlite, key: str) -> None:
    with pytest.raises(BadInput, match="Idempotency-Key"):
        IdempotencyKeys(store).begin("t", key, PRINT)
