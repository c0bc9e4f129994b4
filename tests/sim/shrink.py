"""A failing seed made small: fewer runs and fewer kinds of faults, as long as the same law is broken."""

from __future__ import annotations

from typing import Any

from tests.sim.sim import Sim


def check_of(violation: str | None) -> str | None:
    return None if violation is None else violation.partition(":")[0]


def shrink(seed: int, **options: Any) -> dict[str, Any]:
    """Options under which the seed still breaks the same law; the seed must break one."""
    first = Sim(seed, **options)
    check = check_of(first.run().violation)
    assert check is not None, f"seed {seed} breaks no law"
    found: dict[str, Any] = {**options, "keep": tuple(range(len(first.works))), "plan": dict(first.plan.on)}
    if not _still(seed, check, found):
        return options
    smaller = True
    while smaller:
        smaller = False
        for candidate in _candidates(found):
            if _still(seed, check, candidate):
                found, smaller = candidate, True
                break
    return found


def _still(seed: int, check: str, options: dict[str, Any]) -> bool:
    return check_of(Sim(seed, **options).run().violation) == check


def _candidates(found: dict[str, Any]) -> list[dict[str, Any]]:
    keep, plan = found["keep"], found["plan"]
    fewer = [{**found, "keep": tuple(k for k in keep if k != one)} for one in keep if len(keep) > 1]
    return fewer + [{**found, "plan": {f: s for f, s in plan.items() if f != one}} for one in plan]
