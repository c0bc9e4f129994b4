"""assign: who of a role gets a work item (P-X.13): one after another, or whoever has least to do."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from penstock.executors.contract import Done, Outcome, Request, Services, failed
from penstock.executors.parts.connections import tenant_of
from penstock.executors.parts.network.http_call import CallRefused

RULES = ("round_robin", "least_loaded")


class AssignExecutor:
    """args: rule, role (its id), role_name. The answer is {user}; null where nobody has the role, and then anybody who
    may do it can take it."""

    name = "assign"

    async def run(self, request: Request, services: Services) -> Outcome:
        args: Mapping[str, Any] = request.args if isinstance(request.args, Mapping) else {}
        rule = args.get("rule")
        if rule not in RULES:
            return failed("INPUT_INVALID", "validation", f"«rule» must be one of {', '.join(RULES)}.")
        try:
            tenant = tenant_of(request, services)
        except CallRefused as error:
            return failed(error.code, error.category, str(error))
        wanted = {str(args.get(name)) for name in ("role", "role_name") if args.get(name)}
        having = sorted(
            id
            for id, body in tenant.each("user").items()
            if body.get("active") is not False and wanted & {str(role) for role in body.get("roles") or ()}
        )
        if not having:
            return Done({"user": None, "rule": rule, "of": 0})
        if rule == "round_robin":
            chosen = tenant.turn(f"role:{args.get('role') or args.get('role_name')}", request.key, having)
        else:
            loads = tenant.loads()
            chosen = min(having, key=lambda user: (loads.get(user, 0), user))
        return Done({"user": chosen, "rule": rule, "of": len(having)})
