"""Alerts of processes: people are told when something could not be undone, and has to be seen to by hand (P-5.3.6)."""

from __future__ import annotations

from penstock.dialects.contract import HostServices, LiveRun
from penstock.dialects.masking import mask_of
from penstock.dialects.notice import Notice
from penstock.kernel import fact as F
from penstock.kernel.run import Run
from penstock.net.author import author
from penstock.store.run_store import Batch

STEP_FAILED = "COMPENSATION_STEP_FAILED"


def write_alerts(services: HostServices, live: LiveRun, run: Run, facts: list[F.Fact], batch: Batch) -> None:
    """In the commit of the step that failed; every try is told of."""
    for seq, f in enumerate(facts, run.st.n - len(facts) + 1):
        if f[0] != F.INCIDENT or f[1] != STEP_FAILED:
            continue
        mask, node = mask_of(services.tenant(live.tenant), run), run.net.by_id.get(str(f[2]))
        label = f"«{node.label}» ({author(node)})" if node is not None else str(f[2])
        why = (f[3] or {}).get("message") or (f[3] or {}).get("code") or ""
        notice = Notice(
            key=f"{live.tenant}/{live.id}/undo/{seq}", tenant=live.tenant, run=live.id,
            subject=mask(f"{run.net.net.name}: {label} could not be undone"),
            text=mask(f"Instance {live.id} of {run.net.net.name}: undoing {label} has failed: {why} "
                      f"Somebody has to see to it by hand."),
            escalates=True,
        )  # fmt: skip
        services.notify(notice, live.no, run.st.n, batch)
