"""rollout: begins a deployment, moves it on when it is due, and says how it has ended (W-4.11, C-57, C-58).

One attempt is one look at one deployment. What lasts between two looks is a timer of the run that asks, and the row of
the deployment, which is moved by compare-and-set: the same look again, after a crash or by a retry, changes nothing.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, NamedTuple

import msgspec

from penstock.errors import DeploymentError, PenstockError, StatusConflict
from penstock.executors.contract import Deployments, Done, News, Outcome, Request, Services, Tenant, failed
from penstock.executors.parts.node_output import finish_output
from penstock.executors.parts.notice_templates import DEPLOYMENT_NOTICE
from penstock.executors.parts.rollout.model import Deployment, DeploymentRequest
from penstock.executors.parts.rollout.verification import check_health, problems_of
from penstock.lang.rollout_net import ENDED

#: A deployment that waits for a person is looked at so often all the same.
_IDLE_MS = 24 * 3_600_000
#: W-4.11: what a document may deploy, and where.
ARTIFACTS, ENVIRONMENTS = ("rule_pack", "model", "prompt", "config"), ("staging", "production")
_BEGIN = ".begin"  # ends the name of the part of a node that begins a deployment


class _Look(NamedTuple):
    """What one attempt looks at."""

    request: Request
    services: Services
    tenant: Tenant

    @property
    def args(self) -> Mapping[str, Any]:
        args: Mapping[str, Any] = self.request.args
        return args

    @property
    def deployments(self) -> Deployments:
        return self.tenant.deployments

    @property
    def deployment(self) -> Deployment:
        return self.deployments.get(str(self.args.get("deployment_id")))


class RolloutExecutor:
    """args: op, and `request` (begin) or `deployment_id`; result: waited, on_rollback, output."""

    name = "rollout"

    async def run(self, request: Request, services: Services) -> Outcome:
        args = request.args if isinstance(request.args, Mapping) else {}
        op = _OPS.get(str(args.get("op")))
        if op is None:
            return failed("INPUT_INVALID", "validation", f"«op» must be one of {', '.join(_OPS)}.")
        if services.tenant is None:
            return failed("TENANT_MISSING", "system", "This host has no tenants, so nothing can be deployed.")
        try:
            return await op(_Look(request, services, services.tenant(request.tenant)))
        except msgspec.ValidationError as wrong:
            return failed("INPUT_INVALID", "validation", f"The deployment cannot be read: {wrong}.")
        except DeploymentError as error:
            return failed(error.code, error.category, str(error), {"hint": error.hint})
        except StatusConflict as error:
            return failed(error.code, "permanent", str(error), {"hint": error.hint})


# ---- the node that deploys -------------------------------------------------------------------------------------------


async def _begin(look: _Look) -> Outcome:
    request = look.request
    asked = msgspec.convert(look.args.get("request"), DeploymentRequest)
    for what, value, known in (
        ("environment", asked.target.environment, ENVIRONMENTS), ("artifact.type", asked.artifact.type, ARTIFACTS),
    ):  # fmt: skip
        if value not in known:  # C-69: a template that only the run knows
            message = f"«{what}» is «{value}»; it can be {', '.join(known)}."
            return failed("INPUT_INVALID", "validation", message)
    node = request.node.removesuffix(_BEGIN)
    deployment = look.deployments.begin(asked, key=request.key, at=request.at, run=request.run, node=node)
    if asked.strategy.type == "immediate":  # there is nothing to wait for before its only stage is looked at
        deployment = look.deployments.advance(deployment.id, at=request.at)
    return Done(look.deployments.output(deployment))


async def _look(look: _Look) -> Outcome:
    """`settled`: nobody has to wait for it any more."""
    deployment = look.deployment
    settled = deployment.ended or not waits(deployment.request)
    body = {"settled": settled, "status": deployment.status, "percent": deployment.percent}
    return Done({**body, "input": {"deployment_id": deployment.id}})


def waits(asked: DeploymentRequest) -> bool:
    """C-57: does whoever deploys wait for the end of the rollout?"""
    if asked.strategy.wait is not None:
        return asked.strategy.wait
    automatic = asked.rollback is not None and asked.rollback.auto_rollback
    return automatic or asked.strategy.type in ("immediate", "blue_green")


async def _result(look: _Look) -> Outcome:
    """The node's output. A rollout that was waited for and did not succeed fails the node, and its output is kept."""
    deployment = look.deployment
    output = look.deployments.output(deployment)
    goes_on = deployment.status == "rolled_back" and look.args.get("on_rollback") == "continue"
    waited = look.args.get("waited") is True and waits(deployment.request)
    if not waited or goes_on or deployment.status not in ("failed", "rolled_back"):
        return await finish_output(look.request, output)
    what = f"{deployment.artifact_type} «{deployment.artifact_id}» {deployment.version}"
    why = deployment.reason or "no reason was given"
    hint = (
        "The deployment shows its stages and what was measured; take the outcome with an edge, or correct the version."
    )
    if deployment.status == "failed":
        message = f"The deployment of {what} failed: {why}"
        return failed("DEPLOYMENT_FAILED", "permanent", message, {"output": output, "hint": hint})
    message = f"{what} was rolled back to {deployment.to_version or 'what was there before'}: {why}"
    return failed("DEPLOYMENT_ROLLED_BACK", "permanent", message, {"output": output, "hint": hint})


# ---- the run that moves it on ----------------------------------------------------------------------------------------


async def _attach(look: _Look) -> Outcome:
    """The first run that attaches moves the deployment; another one has nothing to do, but for one that was started
    because the run before it is over: that takes its place, and nobody is told of a start."""
    deployment, run, again = look.deployment, look.request.run, look.args.get("again") is True
    if deployment.rollout not in (None, run) and not again:
        return Done({"ended": True, "attached": False, "notice": None})
    look.deployments.attach(deployment.id, run)
    notice = _notice(deployment, "started", look) if _is_told(deployment, "on_start") and not again else None
    return Done({**_state(deployment, look.request.at), "attached": True, "notice": notice})


async def _advance(look: _Look) -> Outcome:
    at = look.request.at
    deployment = look.deployments.advance(look.deployment.id, at=at)
    if deployment.needs_check:
        probes = await check_health(deployment, look.tenant, at)
        problems = problems_of(probes)
        deployment = look.deployments.advance(deployment.id, at=at, healthy=not problems, problems=problems)
    return Done(_state(deployment, at))


async def _give_up(look: _Look) -> Outcome:
    """The rollout itself cannot go on: its deployment stays as it is and has failed."""
    deployment = look.deployment
    if not deployment.ended:
        reason = f"The rollout {look.request.run} could not go on; its run shows why."
        deployment = look.deployments.fail(deployment.id, at=look.request.at, reason=reason)
    return Done(_state(deployment, look.request.at))


async def _finish(look: _Look) -> Outcome:
    """What its end means elsewhere is done, and everybody who waits for it is told."""
    deployment = look.deployment
    look.deployments.record(deployment, look.request.at)
    if _comes_in_force(deployment, look):
        definitions, name = look.services.definitions, deployment.artifact_id
        try:
            definitions.put_in_force(look.request.tenant, name, deployment.version)
        except PenstockError as error:
            return failed(error.code, "permanent", str(error), {"hint": error.hint})
    output = look.deployments.output(deployment)
    taken_back = deployment.status == "rolled_back"
    tells = _is_told(deployment, "on_rollback" if taken_back else "on_complete")
    notice = _notice(deployment, deployment.status, look) if tells else None
    news = News(f"{ENDED}:{look.request.key}", ENDED, output)
    return Done({**output, "notice": notice}, told=news)


def _comes_in_force(deployment: Deployment, look: _Look) -> bool:
    """W-9.4.1: does the active version of a definition follow? Not where it was rolled out elsewhere or to a part, nor
    where something newer has covered it."""
    whole = deployment.environment == look.tenant.environment and deployment.lines is None
    succeeded = deployment.artifact_type == "workflow" and deployment.status == "succeeded"
    return succeeded and whole and look.deployments.is_top(deployment)


def _state(deployment: Deployment, at: int) -> dict[str, Any]:
    """What the net of a rollout reads: whether it goes on, and when it is looked at next."""
    return {
        "status": deployment.status, "percent": deployment.percent, "ended": deployment.ended,
        "next_at": deployment.next_at if deployment.next_at is not None else at + _IDLE_MS,
    }  # fmt: skip


# ---- notices ---------------------------------------------------------------------------------------------------------


def _is_told(deployment: Deployment, switch: str) -> bool:
    return deployment.request.notification.get(switch) is True


def _notice(deployment: Deployment, event: str, look: _Look) -> dict[str, Any]:
    """W-4.11.3: to the node's channels, or the tenant's own where it names none."""
    wanted = deployment.request.notification
    template = wanted.get("template")
    id = template.get("id") if isinstance(template, Mapping) else template
    given = template.get("params") if isinstance(template, Mapping) else None
    params = {
        **(given if isinstance(given, Mapping) else {}), "event": event, "reason": deployment.reason or "",
        "node_id": deployment.node or "", "output": look.deployments.output(deployment),
    }  # fmt: skip
    return {"channels": wanted.get("channels"), "template": {"id": id or DEPLOYMENT_NOTICE, "params": params}}


_OPS: dict[str, Callable[[_Look], Awaitable[Outcome]]] = {
    "begin": _begin, "look": _look, "result": _result, "attach": _attach, "advance": _advance, "give_up": _give_up,
    "finish": _finish,
}  # fmt: skip
