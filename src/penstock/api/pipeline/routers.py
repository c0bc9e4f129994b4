"""The routes of people who process files, in the order of the API's description."""

from __future__ import annotations

from penstock.api.language import LanguageRouters
from penstock.api.pipeline import definitions, executions, files, messages, metrics, overview, schedules, traces

ROUTERS = LanguageRouters(
    documents=(definitions.router,),
    operations=(
        overview.router, executions.router, files.router, messages.router, schedules.router, metrics.router,
        traces.router,
    ),
)  # fmt: skip
