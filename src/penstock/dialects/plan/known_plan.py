"""What lowering has kept of a plan in its net: its tasks, its agents, and which node is which task."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from penstock.net.compiled import Compiled
from penstock.net.model import Net

#: T-X.40: a task that was made of one with a schedule
_FIRED = re.compile(r"(.+)-\d{8}T\d{4}\Z")
POOL = "agents"


def about(net: Net) -> Mapping[str, Any]:
    kept = net.declares.policies.get("plan")
    return kept if isinstance(kept, Mapping) else {}


class KnownPlan:
    """Of one net. `tasks` has no templates: what has a schedule is never done itself."""

    def __init__(self, net: Compiled) -> None:
        known = about(net.net)
        written: Mapping[str, Mapping[str, Any]] = known.get("tasks") or {}
        templates = {id for id, task in written.items() if task.get("schedule")}
        self.tasks = {id: task for id, task in written.items() if id not in templates}
        self.scheduled = {id for id in self.tasks if (made := _FIRED.match(id)) is not None and made[1] in templates}
        pool = net.net.pools.get(POOL)
        self.agents: tuple[str, ...] = pool.places if pool is not None else tuple(known.get("agents") or ())
        #: by the number of their nodes; what was over before the run began is nobody's work
        self.nodes = {node.no: node.id for node in net.nodes if node.pool}


@lru_cache(64)
def known_plan(net: Compiled) -> KnownPlan:
    return KnownPlan(net)
