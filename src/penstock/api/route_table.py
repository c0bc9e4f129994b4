"""Every route of the API, by resource; the server and the process that reads long runs have the same."""

from __future__ import annotations

from penstock.api.language import language_routers
from penstock.api.routes import (
    admin,
    batch,
    configs,
    dead_letters,
    definitions,
    deployments,
    events,
    health,
    home,
    hooks,
    inbox,
    jobs,
    limits,
    live,
    me,
    metrics,
    migrations,
    proposals,
    registry,
    rollouts,
    run_views,
    runs,
    schedules,
    stand_ins,
    status_labels,
)

_LANGUAGES = language_routers()
ROUTES = (
    jobs.router,  # asked most often, and routes are looked through from the first on
    me.router, home.router, runs.router, run_views.router, migrations.router, batch.router, inbox.router,
    definitions.router, rollouts.router, deployments.router, hooks.router,
    *_LANGUAGES.documents, events.router, schedules.router, *_LANGUAGES.operations,
    stand_ins.router, configs.router, configs.proposed, *proposals.routers, *registry.routers,
    admin.router, limits.router, dead_letters.router, status_labels.router, live.router, health.router, metrics.router,
)  # fmt: skip
