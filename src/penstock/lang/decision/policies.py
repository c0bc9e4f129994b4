"""The net's retries (C-15), breakers (C-19) and idempotency (C-49), from the short and the full form of a policy."""

from __future__ import annotations

from typing import Any

from penstock.lang.decision.node_fields import Backoff, BreakerFields, IdempotencyFields, RetryPolicy
from penstock.net.model import Breaker, Dedupe, OnError, Retry

#: W-7.2.1: three attempts, where a policy does not say how many.
DEFAULT_RETRIES = 2
RETRYABLE = ("transient", "timeout", "external", "resource")
_DAY_MS = 86_400_000


def retry_of(f: RetryPolicy | None) -> Retry:
    """`max` counts retries, `max_attempts` attempts; where both forms are written the full one wins."""
    if f is None:
        return Retry()
    on = _categories(f)
    retries = f.max_attempts - 1 if f.max_attempts is not None else f.max if f.max is not None else DEFAULT_RETRIES
    b = f.backoff
    if b is None and f.max_attempts is not None and f.backoff_ms is None and f.backoff_type is None:
        b = Backoff()
    if b is not None:
        return Retry(
            max=retries, base_ms=b.initial_ms, kind=b.type, multiplier=b.multiplier, cap_ms=b.max_ms,
            jitter=b.jitter, on=on,
        )  # fmt: skip
    base = f.backoff_ms if f.backoff_ms is not None else 1000
    return Retry(max=retries, base_ms=base, kind=f.backoff_type or "fixed", cap_ms=max(30_000, base), on=on)


def _categories(f: RetryPolicy) -> tuple[str, ...]:
    categories = RETRYABLE if f.retryable_errors is None else tuple(f.retryable_errors)
    return tuple(category for category in categories if category not in (f.non_retryable_errors or ()))


def breaker_of(f: BreakerFields | None, name: str) -> Breaker | None:
    """The short form has no count of consecutive failures; the full one has five unless it states another."""
    if f is None or not f.enabled:
        return None
    short = any(value is not None for value in (f.fail_rate, f.window, f.cooldown_s))
    full = any(
        value is not None for value in (f.failure_threshold, f.failure_rate_threshold, f.window_size, f.cooldown_ms)
    )
    in_a_row = f.failure_threshold if f.failure_threshold is not None else 0 if short and not full else 5
    metrics = f.metrics
    return Breaker(
        name=name,
        failures=in_a_row,
        failure_rate=_first_given(f.failure_rate_threshold, f.fail_rate, 0.5),
        window=_first_given(f.window_size, f.window, 10),
        half_open_requests=f.half_open_requests,
        cooldown_ms=_first_given(f.cooldown_ms, f.cooldown_s * 1000 if f.cooldown_s is not None else None, 60_000),
        latency_ms=metrics.latency_threshold_ms if metrics is not None and metrics.track_latency else None,
    )


def _first_given(*values: Any) -> Any:
    return next(value for value in values if value is not None)


def on_open(f: BreakerFields | None, *, fallback: bool) -> tuple[OnError, ...]:
    """What a node does while its breaker is open: skip, or leave by the port of its fallback."""
    action = f.on_open.action if f is not None and f.enabled and f.on_open is not None else ""
    row = "skip" if action == "skip" else "port:fallback" if action == "fallback" and fallback else ""
    return (OnError(match="CIRCUIT_OPEN", action=row),) if row else ()


def dedupe_of(f: IdempotencyFields | None, key: Any) -> Dedupe | None:
    if f is None or not f.enabled:
        return None
    known: Any = {"skip": "skip", "return_cached": "answer", "fail": "fail"}[f.on_duplicate]
    return Dedupe(key=key, ttl_ms=max(1, int(f.ttl_hours * _DAY_MS / 24)), known=known)
