"""The gate: may this effect go out now? Concurrency, rate, dedupe, cache and breaker, all durable.

The kernel only sees the gate's answer: an outcome (`failed CIRCUIT_OPEN`, `skipped deduplicated`, `done` from the
cache), or nothing while an effect waits for room. What must survive a crash is written with the next batch, in its
transaction.
"""

from __future__ import annotations

import hashlib
import heapq
from collections import deque
from typing import Any, Literal

import msgspec

from penstock.executors.contract import Done, Outcome, Skipped, failed
from penstock.net.model import Breaker, Cache, Concurrency, Dedupe, Rate
from penstock.store.contract import Batch, Store

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


class Wait(msgspec.Struct):
    """The effect may not go out yet. With a time, it has its place in the rate's queue and need not draw again; without
    one, it waits until another effect of its group has ended."""

    until: int | None


Verdict = Literal["go"] | Outcome | Wait


class Gate:
    """`owner` is the effect's key: the same effect asked again, after a crash too, is not a stranger to itself."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.running: dict[str, int] = {}
        self.breakers: dict[str, BreakerState] = {}
        self.rates: dict[str, RateState] = {}
        self.trials: set[tuple[str, str]] = set()  # breaker, owner: calls that decide about a half-open breaker
        self.dirty: set[str] = set()
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
        self, now: int, owner: str, *, concurrency: Concurrency | None = None, rate: Rate | None = None,
        breaker: Breaker | None = None, cache: tuple[Cache, str] | None = None,
        dedupe: tuple[Dedupe, str] | None = None,
    ) -> Verdict:  # fmt: skip
        if cache is not None:
            kept = self._memo(f"cache:{cache[1]}", now)
            if kept is not None:
                return Done(kept[0], {"cached": True}, kept[1])
        if dedupe is not None and self._memo(f"dedupe:{dedupe[1]}", now) not in (None, owner):
            return Skipped("deduplicated")
        if breaker is not None and not self._closed(breaker, now):
            return failed("CIRCUIT_OPEN", "refused", f"the breaker «{breaker.name}» is open")
        if concurrency is not None and self.running.get(concurrency.name, 0) >= concurrency.limit:
            return Wait(None)
        if rate is not None:
            until = self._draw(rate, now)
            if until is not None:
                return Skipped("rate_limited") if rate.over == "skip" else Wait(until)
        if concurrency is not None:
            self.running[concurrency.name] = self.running.get(concurrency.name, 0) + 1
        if breaker is not None and self.breakers[breaker.name].status == "half_open":
            self.breakers[breaker.name].trying += 1
            self.trials.add((breaker.name, owner))
            self.dirty.add(f"breaker:{breaker.name}")
        if dedupe is not None:
            self._remember(f"dedupe:{dedupe[1]}", _pack(owner), now + dedupe[0].ttl_ms)
        return "go"

    def _closed(self, spec: Breaker, now: int) -> bool:
        state = self.breakers.setdefault(spec.name, BreakerState())
        if state.status == "open" and now >= state.opened_at + spec.cooldown_ms:
            state.status, state.trying, state.in_a_row = "half_open", 0, 0
            self.dirty.add(f"breaker:{spec.name}")
        if state.status == "half_open":
            return state.trying < spec.half_open_requests
        return state.status == "closed"

    def _draw(self, spec: Rate, now: int) -> int | None:
        """None when a call may go; else when it may: its place is kept, so that nobody has to ask twice."""
        state = self.rates.get(spec.name)
        if state is None:
            state = self.rates[spec.name] = RateState(float(spec.limit), now)
        refill = (now - state.at) * spec.limit / spec.per_ms
        state.left, state.at = min(float(spec.limit), state.left + max(refill, 0.0)), max(now, state.at)
        self.dirty.add(f"rate:{spec.name}")
        if state.left >= 1.0:
            state.left -= 1.0
            return None
        until = now + max(1, int((1.0 - state.left) * spec.per_ms / spec.limit) + 1)
        if spec.over == "wait":
            state.left -= 1.0
        return until

    # -- told after an effect has ended --------------------------------------------------------------------------------

    def ended(
        self, now: int, owner: str, ok: bool | None, took_ms: int, *, concurrency: Concurrency | None = None,
        breaker: Breaker | None = None, cache: tuple[Cache, str] | None = None,
        dedupe: tuple[Dedupe, str] | None = None, body: Any = None, content_type: str | None = None,
    ) -> None:  # fmt: skip
        """`ok` None: the run has dropped the effect, which says nothing about the one who was called."""
        if concurrency is not None:
            self.running[concurrency.name] -= 1
        if breaker is not None:
            slow = breaker.latency_ms is not None and took_ms > breaker.latency_ms
            self._count(breaker, owner, ok and not slow if ok is not None else None, now)
        if cache is not None and ok:
            try:
                packed = _pack([body, content_type])
            except (TypeError, OverflowError, ValueError, RecursionError):
                pass  # it will be refused as an answer, too
            else:
                self._remember(f"cache:{cache[1]}", packed, now + cache[0].ttl_ms)
        if dedupe is not None and not ok:
            self._remember(f"dedupe:{dedupe[1]}", _pack(None), now)

    def _count(self, spec: Breaker, owner: str, ok: bool | None, now: int) -> None:
        state = self.breakers.setdefault(spec.name, BreakerState())
        trial = (spec.name, owner) in self.trials
        self.trials.discard((spec.name, owner))
        if state.status == "closed" and ok is not None:
            state.window = [*state.window, 0 if ok else 1][-spec.window :]
            state.in_a_row = 0 if ok else state.in_a_row + 1
            full = len(state.window) >= spec.window
            if state.in_a_row >= spec.failures or full and sum(state.window) / spec.window >= spec.failure_rate:
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
        self.dirty.add(f"breaker:{spec.name}")

    # -- what survives -------------------------------------------------------------------------------------------------

    def _memo(self, key: str, now: int) -> Any:
        hashed = _short(key)
        held = self.fresh.get(hashed)
        if held is not None:
            return _unpack(held[0]) if held[1] > now else None
        found = self.store.memo(hashed, now)
        return None if found is None or found[0] is None else _unpack(found[0])

    def _remember(self, key: str, value: bytes, until: int) -> None:
        hashed = _short(key)
        self.fresh[hashed] = (value, until)
        self.memos.append((hashed, value, until))

    def write(self, batch: Batch, now: int) -> None:
        """Add what changed to a batch; called once per turn, before its commit."""
        for name in self.dirty:
            kind, _, rest = name.partition(":")
            state: Any = self.breakers[rest] if kind == "breaker" else self.rates[rest]
            batch.gate.append((name, _pack(state), now))
        self.dirty.clear()
        batch.memo += self.memos
        self.memos.clear()
        if len(self.fresh) > 10_000:
            self.fresh.clear()


def _open(state: BreakerState, now: int) -> None:
    state.status, state.opened_at, state.window, state.in_a_row, state.trying = "open", now, [], 0, 0


def _short(key: str) -> str:
    return key if len(key) <= 120 else f"{key.partition(':')[0]}:{hashlib.sha256(key.encode()).hexdigest()}"


class Parked:
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

    def due(self, now: int) -> list[Any]:
        out = []
        while self.timed and self.timed[0][0] <= now:
            out.append(heapq.heappop(self.timed)[2])
        return out

    def next_due(self) -> int | None:
        return self.timed[0][0] if self.timed else None
