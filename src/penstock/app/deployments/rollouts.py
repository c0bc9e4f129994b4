"""Rollouts that are missing: a deployment that has not ended is moved on by a run, and where there is none it gets one.

Its run may never have come about (killed between the two, or one run too many), or it was ended by somebody. Without it
the share of a version would stay as it is, and nobody would take it back.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from penstock.errors import RolloutLive, RunNotFound
from penstock.kernel.state import COMPLETED
from penstock.lang.rollout_net import ROLLOUT

if TYPE_CHECKING:
    from penstock.host.embedded import Host
    from penstock.store.contract import Store
    from penstock.store.deployments import DeploymentRow
    from penstock.store.run_store import RunRow

#: A run that deploys starts the rollout itself, right after it has begun the deployment: so long it is left to it.
_GRACE_MS = 900_000


class Missing(NamedTuple):
    """How the run that is missing is started; the same key again is the same run."""

    key: str
    given: dict[str, Any]


def key_of(deployment: str) -> str:
    return f"deployment:{deployment}"


def missing_rollout(store: Store, row: DeploymentRow, now: int) -> Missing | None:
    """None where a run moves it on, or soon will."""
    key, given = key_of(row.id), {"deployment_id": row.id}
    run = _run(store, row.tenant, row.rollout) if row.rollout is not None else store.run_by_key(row.tenant, key)
    if run is not None and run.status < COMPLETED:
        return None
    if row.rollout is not None or run is not None:
        over = row.rollout if row.rollout is not None else run.id if run is not None else ""
        return Missing(f"{key}/{over}", {**given, "again": True})
    begun_by = _run(store, row.tenant, row.run) if row.run is not None else None
    if begun_by is not None and begun_by.status < COMPLETED and now - row.began_at < _GRACE_MS:
        return None
    return Missing(key, given)


def _run(store: Store, tenant: str, id: str) -> RunRow | None:
    try:
        return store.run_by_id(id, tenant=tenant)
    except RunNotFound:
        return None


def start_missing(host: Host, now: int) -> None:
    """Those of all tenants. No limit of runs applies: what is live must be watched."""
    for row in host.store.live_deployments():
        missing = missing_rollout(host.store, row, now)
        if missing is not None and (row.tenant, missing.key) not in host.turns.starting:
            if host.store.run_by_key(row.tenant, missing.key) is None:
                host.start(host.release(ROLLOUT), missing.given, tenant=row.tenant, key=missing.key)


def refuse_live(store: Store, run: RunRow) -> None:
    """Raises RolloutLive: a rollout is not ended while its deployment goes on."""
    for row in store.live_deployments():
        if row.tenant == run.tenant and row.rollout == run.id:
            raise RolloutLive(run=run.id, id=row.id)
