"""Retention: the audit, drafts, remarks, simulations and uses are kept as long as the settings say."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any, Protocol

from penstock.errors import BadInput
from penstock.store.access import AccessStore
from penstock.store.deployments import DeploymentStore
from penstock.store.document_drafts import DocumentDraftStore
from penstock.store.drafts import DraftStore
from penstock.store.simulations import SimulationStore

log = logging.getLogger("penstock.keeping")

DAY_MS = 86_400_000
#: days; 0 is for ever
AUDIT_DAYS, DRAFT_DAYS, REMARK_DAYS, SIMULATION_DAYS, USE_DAYS = 1095, 90, 365, 365, 365


class RetentionStore(AccessStore, DraftStore, DocumentDraftStore, SimulationStore, DeploymentStore, Protocol):
    """What retention needs of a store."""


class Retention:
    """Of the audit a beginning is taken away, and its last hash stays in the chain: what is left can be verified."""

    def __init__(self, store: RetentionStore, settings: Mapping[str, Any]) -> None:
        self.store = store
        self.audit_ms = _ms("audit.keep_days", settings.get("audit.keep_days", AUDIT_DAYS))
        self.drafts_ms = _ms("drafts.keep_days", settings.get("drafts.keep_days", DRAFT_DAYS))
        self.remarks_ms = _ms("remarks.keep_days", settings.get("remarks.keep_days", REMARK_DAYS))
        self.simulations_ms = _ms("simulations.keep_days", settings.get("simulations.keep_days", SIMULATION_DAYS))
        self.uses_ms = _ms("uses.keep_days", settings.get("uses.keep_days", USE_DAYS))
        self._uses_at: int | None = None

    def forget_old(self, now: int) -> None:
        if self.drafts_ms:
            self.store.forget_drafts(now - self.drafts_ms)
            self.store.forget_document_drafts(now - self.drafts_ms)
        if self.remarks_ms:
            self.store.forget_remarks(now - self.remarks_ms)
        if self.simulations_ms:
            self.store.forget_simulations(now - self.simulations_ms)
        if self.uses_ms and (self._uses_at is None or now >= self._uses_at + DAY_MS):  # it looks at all of them
            self._uses_at = now
            self.store.forget_uses(now - self.uses_ms)
        if self.audit_ms:
            for tenant in self.store.audit_tenants():
                self._prune(tenant, now)

    def _prune(self, tenant: str, now: int) -> None:
        """At most once a day: what is written about it is a row, too, and would be followed by another for ever."""
        before = now - self.audit_ms
        oldest = self.store.audit_chain(tenant, limit=1)
        if oldest and oldest[0].at < before - DAY_MS and (row := self.store.prune_audit(tenant, before, now)):
            log.info("the audit of %s begins after %s", tenant, row.body.decode())


def _ms(name: str, days: Any) -> int:
    if isinstance(days, bool) or not isinstance(days, int | float) or not 0 <= days <= 36_500:
        raise BadInput(what=f"the setting {name}", why="it is a number of days; 0 is for ever")
    return int(days * DAY_MS)
