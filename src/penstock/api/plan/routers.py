"""The routes of people who let agents work through plans, in the order of the API's description."""

from __future__ import annotations

from penstock.api.language import LanguageRouters
from penstock.api.plan import executions, projects, reports, tasks, workflow

ROUTERS = LanguageRouters(
    operations=(projects.router, tasks.router, executions.router, workflow.router, reports.router),
)
