"""The routes of process owners, in the order of the API's description."""

from __future__ import annotations

from penstock.api.language import LanguageRouters
from penstock.api.process import autonomy, conformance, definitions, drafts, event_log, mining, work_items

ROUTERS = LanguageRouters(
    documents=(
        definitions.router,
        drafts.router,
        work_items.router,
        event_log.router,
        conformance.router,
        autonomy.router,
        mining.router,
    )
)
