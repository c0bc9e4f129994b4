"""The gate: may this effect go out now? Concurrency, rate, dedupe, cache and breaker, all durable.

The kernel only sees the gate's answer: an outcome (`failed CIRCUIT_OPEN`, `skipped deduplicated`, `done` from the cache), or
nothing while an effect waits for room. What must survive a crash is written with the next batch, in its transaction.
"""

from __future__ import annotations

import hashlib
from collections import deque
from typing import Any, Literal

import msgspec

from penstock.executors.contract import Done, Outcome, Skipped, failed
from penstock.net.model import Breaker, Cache, Concurrency, Dedupe, Rate
from penstock.store.contract import Batch, Store

_pack = msgspec.msgpack.Encoder().encode


class BreakerState(msgspec.Struct, array_like=True):
    """closed → open when too much fails → half_open after the cooldown → closed or open again (lifecycle: breaker)."""

    status: Literal["closed", "open", "half_open"] = "closed"
    in_a_row: int = 0
    window: list[int] = []  # 1 = failed, oldest first
    opened_at: int = 0
    trying: int = 0  # calls let through while half open


class RateState(msgspec.Struct, array_like=True):
    """A bucket of calls that refills evenly."""

    left: float = 0.0
    at: int = 0


class Wait(msgspec.Struct):
    """The effect may not go out yet; ask again at this time, or when another effect of the group has ended."""

    until: int | None


Verdict = Literal["go"] | Outcome | Wait


class Gate:
    def __init__(self, store: Store) -> None:
        self.store = store
        self.running: dict[str, int] = {}
        self.breakers: dict[str, BreakerState] = {}
        self.rates: dict[str, RateState] = {}
        self.dirty: set[str] = set()
        self.memos: list[tuple[str, Any, int]] = []
        self.fresh: dict[str, tuple[Any, int]] = {}  # memos not yet committed
        for name, body in store.gates():
            kind, _, rest = name.partition(":")
            if kind == "breaker":
                self.breakers[rest] = msgspec.msgpack.decode(body, type=BreakerState)
            else:
                self.rates[rest] = msgspec.msgpack.decode(body, type=RateState)

    # -- asked before an effect goes out -------------------------------------------------------------------------------

    def admit(
        self, now: int, *, concurrency: Concurrency | None = None, rate: Rate | None = None, breaker: Breaker | None = None,
        cache: tuple[Cache, str] | None = None, dedupe: tuple[Dedupe, str] | None = None,
    ) -> Verdict:  # fmt: skip
        if cache is not None:
            kept = self._memo(f"cache:{cache[1]}", now)
            if kept is not None:
                return Done(kept[0], {"cached": True}, kept[1])
        if dedupe is not None and self._memo(f"dedupe:{dedupe[1]}", now) is not None:
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
            self.dirty.add(f"breaker:{breaker.name}")
        if dedupe is not None:
            self._remember(f"dedupe:{dedupe[1]}", True, now + dedupe[0].ttl_ms)
        return "go"

    def _closed(self, spec: Breaker, now: int) -> bool:
        state = self.breakers.setdefault(spec.name, BreakerState())
        if state.status == "open" and now >= state.opened_at + spec.cooldown_ms:
            state.status, state.trying = "half_open", 0
            self.dirty.add(f"breaker:{spec.name}")
        if state.status == "half_open":
            return state.trying < spec.half_open_requests
        return state.status == "closed"

    def _draw(self, spec: Rate, now: int) -> int | None:
        """None when a call may go; else when to ask again."""
        state = self.rates.get(spec.name)
        if state is None:
            state = self.rates[spec.name] = RateState(float(spec.limit), now)
        refill = (now - state.at) * spec.limit / spec.per_ms
        state.left, state.at = min(float(spec.limit), state.left + max(refill, 0.0)), max(now, state.at)
        self.dirty.add(f"rate:{spec.name}")
        if state.left >= 1.0:
            state.left -= 1.0
            return None
        return now + max(1, int((1.0 - state.left) * spec.per_ms / spec.limit) + 1)

    # -- told after an effect has ended --------------------------------------------------------------------------------

    def ended(
        self, now: int, ok: bool, took_ms: int, *, concurrency: Concurrency | None = None, breaker: Breaker | None = None,
        cache: tuple[Cache, str] | None = None, dedupe: tuple[Dedupe, str] | None = None, body: Any = None, content_type: str | None = None,
    ) -> None:  # fmt: skip
        if concurrency is not None:
            self.running[concurrency.name] -= 1
        if breaker is not None:
            self._count(breaker, ok and (breaker.latency_ms is None or took_ms <= breaker.latency_ms), now)
        if cache is not None and ok:
            self._remember(f"cache:{cache[1]}", [body, content_type], now + cache[0].ttl_ms)
        if dedupe is not None and not ok:
            self._remember(f"dedupe:{dedupe[1]}", True, now)

    def _count(self, spec: Breaker, ok: bool, now: int) -> None:
        state = self.breakers.setdefault(spec.name, BreakerState())
        self.dirty.add(f"breaker:{spec.name}")
        if state.status == "half_open":
            if not ok:
                state.status, state.opened_at, state.window, state.in_a_row = "open", now, [], 0
            else:
                state.in_a_row += 1
                if state.in_a_row >= spec.half_open_requests:
                    state.status, state.in_a_row, state.window = "closed", 0, []
            return
        state.window = [*state.window, 0 if ok else 1][-spec.window :]
        state.in_a_row = 0 if ok else state.in_a_row + 1
        full = len(state.window) >= spec.window
        if state.in_a_row >= spec.failures or full and sum(state.window) / spec.window >= spec.failure_rate:
            state.status, state.opened_at, state.in_a_row, state.window = "open", now, 0, []

    # -- what survives -------------------------------------------------------------------------------------------------

    def _memo(self, key: str, now: int) -> Any:
        hashed = _short(key)
        held = self.fresh.get(hashed)
        if held is not None and held[1] > now:
            return held[0]
        if held is not None:
            return None
        found = self.store.memo(hashed, now)
        return None if found is None else msgspec.msgpack.decode(found[0]) if found[0] is not None else True

    def _remember(self, key: str, value: Any, until: int) -> None:
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
        for key, value, until in self.memos:
            batch.memo.append((key, _pack(value), until))
        self.memos.clear()
        if len(self.fresh) > 10_000:
            self.fresh.clear()


def _short(key: str) -> str:
    return key if len(key) <= 120 else f"{key.partition(':')[0]}:{hashlib.sha256(key.encode()).hexdigest()}"


class Parked:
    """Effects that wait for the gate, oldest first, per name they wait for."""

    def __init__(self) -> None:
        self.queues: dict[str, deque[Any]] = {}
        self.timed: list[tuple[int, int, Any]] = []
        self.count = 0

    def add(self, name: str, what: Any, until: int | None) -> None:
        if until is None:
            self.queues.setdefault(name, deque()).append(what)
        else:
            self.count += 1
            self.timed.append((until, self.count, what))
            self.timed.sort(key=lambda t: t[:2])

    def released(self, name: str) -> list[Any]:
        """One place is free: the oldest that waits for it."""
        queue = self.queues.get(name)
        return [queue.popleft()] if queue else []

    def due(self, now: int) -> list[Any]:
        out = [what for until, _, what in self.timed if until <= now]
        if out:
            self.timed = [t for t in self.timed if t[0] > now]
        return out

    def next_due(self) -> int | None:
        return self.timed[0][0] if self.timed else None
