"""The routes of people who write workflows, in the order of the API's description."""

from __future__ import annotations

from penstock.api.decision import approvals, dead_letters, instances, judgments, rule_bench, simulations, workflows
from penstock.api.language import LanguageRouters

ROUTERS = LanguageRouters(
    documents=(workflows.router, instances.router, approvals.router),
    operations=(dead_letters.router, judgments.router, simulations.router, rule_bench.router),
)
