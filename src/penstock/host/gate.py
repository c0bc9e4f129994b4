"""The gate: may this effect go out now? Concurrency, rate, dedupe, cache and breaker, all durable.

The kernel only sees the gate's answer: an outcome (`failed CIRCUIT_OPEN`, `skipped duplicate`, `done` from the cache),
or nothing while an effect waits for room. What must survive a crash is written with the next batch, in its transaction.
Names are a tenant's own: of breakers, rates and places. What holds for everybody are `workers.*` and an executor's
width.
"""

from __future__ import annotations

import hashlib
import heapq
from collections import deque
from collections.abc import Sequence
from typing import Any, Literal

import msgspec

from penstock.executors.contract import Done, Failed, Outcome, Skipped, failed
from penstock.host.worker_limits import QUEUE, Workers
from penstock.kernel.failure import OUTAGE
from penstock.kernel.flow import LAST_MOMENT
from penstock.net.model import Breaker, Cache, Concurrency, Dedupe, Rate
from penstock.store.run_store import Batch, RunStore

_pack = msgspec.msgpack.Encoder().encode
_unpack = msgspec.msgpack.decode


class BreakerState(msgspec.Struct, array_like=True):
    """closed, open when too much fails, half_open after the cooldown, closed or open again (lifecycle: breaker)."""

    status: Literal["closed", "open", "half_open"] = "closed"
    in_a_row: int = 0  # failures while closed, successes while half open
    window: list[int] = []  # 1 = failed, oldest first
    opened_at: int = 0
    trying: int = 0  # calls let through while half open


class RateState(msgspec.Struct, array_like=True):
    """A bucket of calls that refills evenly. Below zero: that many calls have a place in the queue."""

    left: float = 0.0
    at: int = 0
    times: list[int] = []  # of a rolling one: when calls have succeeded, oldest first


class Wait(msgspec.Struct):
    """The effect may not go out yet. With a time, it asks again then; `drawn` says that it has its place in the rate's
    queue and need not draw again. Without one, it waits until another effect of the queue `on` has ended; `place` says
    that it waits for the place of any of them."""

    until: int | None
    drawn: bool = False
    on: str = ""
    place: bool = False


#: with tenant and name behind it: the queue of a limit
PLACES = "places:"
Verdict = Literal["go"] | Outcome | Wait
#: what a dedupe asks for, and the key it is about
DedupeKey = tuple[Dedupe, str]
_POLL_MS = 50  # how soon a call asks again when all that holds it up are calls in flight


class Gate:
    """`owner` is the effect's key: the same effect asked again, after a crash too, is not a stranger to itself."""

    def __init__(self, store: RunStore, workers: Workers | None = None) -> None:
        self.store = store
        self.workers = workers or Workers()
        self.running: dict[str, int] = {}  # tenant and name of a limit → effects on their way
        self.breakers: dict[str, BreakerState] = {}
        self.rates: dict[str, RateState] = {}
        self.trials: set[tuple[str, str]] = set()  # breaker, owner: calls that decide about a half-open breaker
        self.reserved: dict[str, set[str]] = {}  # rolling rate → owners of calls in flight, which may succeed
        self.doing: dict[str, str] = {}  # key of a dedupe → the owner who is at it
        self.dirty: set[str] = set()
        self.written: set[str] = set()  # with the last batch
        self.memos: list[tuple[str, bytes, int]] = []
        self.fresh: dict[str, tuple[bytes, int]] = {}  # memos not yet committed
        for name, body in store.gates():
            kind, _, rest = name.partition(":")
            if kind == "breaker":
                state = self.breakers[rest] = msgspec.msgpack.decode(body, type=BreakerState)
                # trial calls in flight died with the process; they are asked again and may be let through again
                state.trying = state.in_a_row if state.status == "half_open" else 0
            else:
                rate = self.rates[rest] = msgspec.msgpack.decode(body, type=RateState)
                rate.left = max(rate.left, 0.0)  # so are calls that stood in the queue

    # -- asked before an effect goes out -------------------------------------------------------------------------------

    def admit(
        self, now: int, owner: str, *, tenant: str = "", concurrency: Concurrency | None = None,
        rate: Rate | None = None, breaker: Breaker | None = None, cache: tuple[Cache, str] | None = None,
        dedupe: Sequence[DedupeKey] = (),
    ) -> Verdict:  # fmt: skip
        if cache is not None:
            kept = self._memo(f"cache:{cache[1]}", now)
            if kept is not None:
                return Done(kept[0], {"cache_hit": True}, kept[1])
        for once in dedupe:
            known = self._known(once, owner, now)
            if known is not None:
                return known
        if breaker is not None and not self._closed(breaker, _of(tenant, breaker.name), now):
            return failed("CIRCUIT_OPEN", "external", f"the breaker «{breaker.name}» is open")
        if concurrency is not None and self.running.get(_of(tenant, concurrency.name), 0) >= concurrency.limit:
            return Wait(None, on=place_queue(tenant, concurrency), place=True)
        if self.workers.limited and self.workers.full(tenant):
            return Wait(None, on=QUEUE + tenant, place=True)
        if rate is not None:
            held = self._roll(rate, tenant, owner, now) if rate.rolling else self._draw(rate, tenant, now)
            if held is not None:
                return held
        self._take(owner, now, tenant, concurrency, breaker, dedupe)
        return "go"

    def _take(
        self, owner: str, now: int, tenant: str, concurrency: Concurrency | None, breaker: Breaker | None,
        dedupe: Sequence[DedupeKey],
    ) -> None:  # fmt: skip
        """The effect goes: what it holds until it has ended."""
        self.workers.take(tenant)
        if concurrency is not None:
            at = _of(tenant, concurrency.name)
            self.running[at] = self.running.get(at, 0) + 1
        if breaker is not None:
            name = _of(tenant, breaker.name)
            if self.breakers[name].status == "half_open":
                self.breakers[name].trying += 1
                self.trials.add((name, owner))
                self.dirty.add(f"breaker:{name}")
        for spec, key in dedupe:
            self.doing[key] = owner
            self._remember(f"dedupe:{key}", _pack([owner]), now + spec.ttl_ms)

    def _known(self, once: DedupeKey, owner: str, now: int) -> Verdict | None:
        """What becomes of an effect whose key is known; None when it is new, or nobody else's (C-49)."""
        spec, key = once
        at = self.doing.get(key)
        kept = self._memo(f"dedupe:{key}", now)
        if kept is None or owner in (kept[0], at):
            return None
        if spec.known == "answer":
            if at is not None:
                return Wait(None, on=f"dedupe:{key}")
            # whoever was at it is not there any more: this one is the first
            return Done(kept[1], {"deduplicated": True}, kept[2]) if len(kept) > 1 else None
        if spec.known == "skip":
            return Skipped("duplicate")
        return failed("DUPLICATE_EXECUTION", "permanent", "the same has been done, or is being done", {"by": kept[0]})

    def _closed(self, spec: Breaker, name: str, now: int) -> bool:
        state = self.breakers.setdefault(name, BreakerState())
        if state.status == "open" and now >= state.opened_at + spec.cooldown_ms:
            state.status, state.trying, state.in_a_row = "half_open", 0, 0
            self.dirty.add(f"breaker:{name}")
        if state.status == "half_open":
            return state.trying < spec.half_open_requests
        return state.status == "closed"

    def _draw(self, spec: Rate, tenant: str, now: int) -> Verdict | None:
        """None when a call may go; else its place is kept, so that nobody has to ask twice."""
        name = _of(tenant, spec.name)
        state = self.rates.get(name)
        if state is None:
            state = self.rates[name] = RateState(float(spec.limit), now)
        refill = (now - state.at) * spec.limit / spec.per_ms
        state.left, state.at = min(float(spec.limit), state.left + max(refill, 0.0)), max(now, state.at)
        self.dirty.add(f"rate:{name}")
        if state.left >= 1.0:
            state.left -= 1.0
            return None
        if spec.over == "skip":
            return Skipped("rate_limited")
        until = now + max(1, int((1.0 - state.left) * spec.per_ms / spec.limit) + 1)
        state.left -= 1.0
        return Wait(until, drawn=True)

    def _roll(self, spec: Rate, tenant: str, owner: str, now: int) -> Verdict | None:
        """W-4.5.2: calls that have succeeded in the last while count, and those in flight, which may."""
        name = _of(tenant, spec.name)
        state = self.rates.setdefault(name, RateState())
        state.times = [at for at in state.times if at > now - spec.per_ms]
        flying = self.reserved.setdefault(name, set())
        if len(state.times) + len(flying - {owner}) < spec.limit:
            flying.add(owner)
            return None
        if spec.over == "skip":
            return Skipped("rate_limited")
        return Wait(state.times[0] + spec.per_ms if len(state.times) >= spec.limit else now + _POLL_MS)

    # -- told after an effect has ended --------------------------------------------------------------------------------

    def ended(
        self, now: int, owner: str, outcome: Outcome | None, took_ms: int, *, tenant: str = "",
        concurrency: Concurrency | None = None, rate: Rate | None = None, breaker: Breaker | None = None,
        cache: tuple[Cache, str] | None = None, dedupe: Sequence[DedupeKey] = (),
    ) -> None:  # fmt: skip
        """`outcome` None: the run has dropped the effect, which says nothing about the one who was called."""
        self.workers.leave(tenant)
        if concurrency is not None:
            at = _of(tenant, concurrency.name)
            self.running[at] -= 1
            if not self.running[at]:
                del self.running[at]
        if breaker is not None:
            slow = outcome is not None and breaker.latency_ms is not None and took_ms > breaker.latency_ms
            self._count(breaker, _of(tenant, breaker.name), owner, False if slow else _says(outcome), now)
        done = outcome if isinstance(outcome, Done) else None
        if rate is not None and rate.rolling:
            self._rolled(rate, _of(tenant, rate.name), owner, done is not None, now)
        if cache is not None and done is not None:
            packed = _packed([done.body, done.content_type])
            if packed is not None:
                self._remember(f"cache:{cache[1]}", packed, now + cache[0].ttl_ms)
        for once in dedupe:
            self._did(once, owner, done, now)

    def _did(self, once: DedupeKey, owner: str, done: Done | None, now: int) -> None:
        """Only what has succeeded is known; what has failed may be done by the next."""
        spec, key = once
        if self.doing.get(key) == owner:
            del self.doing[key]
        if done is None:
            self._remember(f"dedupe:{key}", _pack(None), now)
            return
        answer = [done.body, done.content_type] if spec.known == "answer" else []
        self._remember(f"dedupe:{key}", _packed([owner, *answer]) or _pack(None), now + spec.ttl_ms)

    def _rolled(self, spec: Rate, name: str, owner: str, ok: bool, now: int) -> None:
        self.reserved.get(name, set()).discard(owner)
        if ok:
            state = self.rates.setdefault(name, RateState())
            state.times = [*state.times, now][-spec.limit :]
            self.dirty.add(f"rate:{name}")

    def _count(self, spec: Breaker, name: str, owner: str, ok: bool | None, now: int) -> None:
        state = self.breakers.setdefault(name, BreakerState())
        trial = (name, owner) in self.trials
        self.trials.discard((name, owner))
        if state.status == "closed" and ok is not None:
            state.window = [*state.window, 0 if ok else 1][-spec.window :]
            state.in_a_row = 0 if ok else state.in_a_row + 1
            full = len(state.window) >= spec.window
            if 0 < spec.failures <= state.in_a_row or full and sum(state.window) / spec.window >= spec.failure_rate:
                _open(state, now)
        elif state.status == "half_open" and trial:
            if ok is None:
                state.trying -= 1
            elif not ok:
                _open(state, now)
            else:
                state.in_a_row += 1
                if state.in_a_row >= spec.half_open_requests:
                    state.status, state.in_a_row, state.window = "closed", 0, []
        else:
            return  # it went out before the breaker opened: old news
        self.dirty.add(f"breaker:{name}")

    # -- breakers, looked at and reset ---------------------------------------------------------------------------------

    def is_open(self, breaker: Breaker, tenant: str) -> bool:
        state = self.breakers.get(_of(tenant, breaker.name))
        return state is not None and state.status == "open"

    def reset(self, tenant: str, name: str) -> bool:
        """By hand: closed, and nothing counted. False when there is no such breaker."""
        at = _of(tenant, name)
        if at not in self.breakers:
            return False
        self.breakers[at] = BreakerState()
        self.trials = {trial for trial in self.trials if trial[0] != at}
        self.dirty.add(f"breaker:{at}")
        return True

    # -- what survives -------------------------------------------------------------------------------------------------

    def _memo(self, key: str, now: int) -> Any:
        hashed = _short(key)
        held = self.fresh.get(hashed)
        if held is not None:
            return _unpack(held[0]) if held[1] > now else None
        row = self.store.memo(hashed, now)
        return None if row is None or row[0] is None else _unpack(row[0])

    def _remember(self, key: str, value: bytes, until: int) -> None:
        hashed, until = _short(key), min(until, LAST_MOMENT)
        self.fresh[hashed] = (value, until)
        self.memos.append((hashed, value, until))

    def write(self, batch: Batch, now: int) -> None:
        """Add what changed to a batch; called once per turn, before its commit."""
        for name in self.dirty:
            kind, _, rest = name.partition(":")
            state: Any = self.breakers[rest] if kind == "breaker" else self.rates[rest]
            batch.gate.append((name, _pack(state), now))
        self.written, self.dirty = self.dirty, set()
        batch.memo += self.memos
        self.memos.clear()
        if len(self.fresh) > 10_000:
            self.fresh.clear()

    def clock_went_back(self, by: int) -> None:
        """The clock went back by so much."""
        for rate in self.rates.values():
            rate.at -= by
            rate.times = [at - by for at in rate.times]
        for breaker in self.breakers.values():
            breaker.opened_at -= by

    def on_rollback(self, batch: Batch) -> None:
        """The commit of what `write` has added has failed."""
        self.dirty |= self.written
        self.memos[:0] = batch.memo
        self.fresh.update({key: (value, until) for key, value, until in self.memos})


def place_queue(tenant: str, limit: Concurrency) -> str:
    """In which effects wait for a place."""
    return PLACES + _of(tenant, limit.name)


def _of(tenant: str, name: str) -> str:
    return f"{tenant}/{name}" if tenant else name


def _says(outcome: Outcome | None) -> bool | None:
    """Does it speak for the one who was called, against them, or neither (C-19)?"""
    if isinstance(outcome, Done):
        return True
    return False if isinstance(outcome, Failed) and outcome.failure.category in OUTAGE else None


def _packed(value: Any) -> bytes | None:
    """None for what cannot be stored: it will be refused as an answer, too."""
    try:
        return _pack(value)
    except (TypeError, OverflowError, ValueError, RecursionError):
        return None


def _open(state: BreakerState, now: int) -> None:
    state.status, state.opened_at, state.window, state.in_a_row, state.trying = "open", now, [], 0, 0


def _short(key: str) -> str:
    return key if len(key) <= 120 else f"{key.partition(':')[0]}:{hashlib.sha256(key.encode()).hexdigest()}"


class WaitingEffects:
    """Effects that wait for the gate, oldest first, per name they wait for."""

    def __init__(self) -> None:
        self.queues: dict[str, deque[Any]] = {}
        self.timed: list[tuple[int, int, Any]] = []
        self.count = 0

    def add(self, name: str, what: Any, until: int | None, *, first: bool = False) -> None:
        if until is not None:
            self.count += 1
            heapq.heappush(self.timed, (until, self.count, what))
        elif first:
            self.queues.setdefault(name, deque()).appendleft(what)
        else:
            self.queues.setdefault(name, deque()).append(what)

    def released(self, name: str) -> Any:
        """One place is free: the oldest that waits for it, or None."""
        queue = self.queues.get(name)
        if not queue:
            return None
        what = queue.popleft()
        if not queue:
            del self.queues[name]
        return what

    def waiting_in(self, prefix: str) -> list[str]:
        """Queues that somebody waits in; the one that was served last comes last."""
        return [name for name in self.queues if name.startswith(prefix)]

    def served(self, name: str) -> None:
        if name in self.queues:
            self.queues[name] = self.queues.pop(name)

    def all_of(self, name: str) -> list[Any]:
        """Everybody who waits for it, oldest first; they wait no more."""
        return list(self.queues.pop(name, ()))

    def due(self, now: int) -> list[Any]:
        out = []
        while self.timed and self.timed[0][0] <= now:
            out.append(heapq.heappop(self.timed)[2])
        return out

    def next_due(self) -> int | None:
        return self.timed[0][0] if self.timed else None

    def clock_went_back(self, by: int) -> None:
        self.timed = [(until - by, count, what) for until, count, what in self.timed]
