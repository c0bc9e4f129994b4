"""ROLLBACK (4.12): returns a deployed artifact to an earlier version, and verifies that it works."""

from __future__ import annotations

import dataclasses
from typing import Annotated, Any, ClassVar, Literal

import msgspec
from msgspec import Meta

from penstock.lang.decision import limits
from penstock.lang.decision.lowering_context import LoweringContext
from penstock.lang.decision.node_fields import GuardedFields, OpenFields, TemplatedFields
from penstock.lang.decision.nodes.contract import Fragment, NodeType
from penstock.lang.decision.nodes.deploy import (
    ArtifactFields,
    Share,
    artifact_tree,
    check_specific,
    present_members,
)
from penstock.lang.decision.nodes.fragments import complete_fragment, notification_node, task_fragment
from penstock.lang.decision.shapes import closed, one_of
from penstock.net.model import Edge

#: The template of notices about deployments; one without a template of this name gets the built-in text.
NOTICE = "deployment_notice_v1"
#: What a switch may take besides the verification.
_SWITCH_MS = 30_000
#: W-4.12.5: what the output has.
_RESULT = closed(
    "artifact_id", "artifact_type", "from_version", "to_version", "rolled_back_at", "verification", "reason",
    "environment", "affected_scope", "deployment_id", status=one_of("succeeded", "failed"),
)  # fmt: skip


class StableCriteria(OpenFields):
    min_uptime_hours: Annotated[float, Meta(ge=0, le=limits.HOURS)] = 24
    max_error_rate: Share = 0.01


class TargetVersion(TemplatedFields):
    strategy: Literal["previous", "specific", "last_stable"] = "previous"
    specific_version: str | int | None = None
    last_stable_criteria: StableCriteria | None = None


class ScopeOverride(TemplatedFields):
    environment: Literal["staging", "production"] | None = None
    tenant_ids: list[str] | None = None
    line_ids: list[str] | None = None


class RollbackScope(OpenFields):
    match_deploy: Annotated[bool, Meta(description="The scope of the deployment that is taken back.")] = True
    override: Annotated[ScopeOverride | None, Meta(description="Another scope instead.")] = None


class Verification(OpenFields):
    health_check: bool = True
    smoke_test: bool = True
    timeout_ms: Annotated[int, Meta(ge=1, le=limits.MS)] = 60_000


class RollbackFields(GuardedFields):
    artifact: ArtifactFields | None = None
    target_version: TargetVersion | None = None
    scope: RollbackScope | None = None
    verification: Verification | None = None
    reason: Annotated[str, Meta(description="Why; by default what the deployment itself says.")] = ""

    REQUIRED: ClassVar[tuple[str, ...]] = (*GuardedFields.REQUIRED, "artifact")


def lower(f: RollbackFields, context: LoweringContext) -> Fragment:
    target, verification = f.target_version or TargetVersion(), f.verification or Verification()
    check_specific(target.strategy, target.specific_version, "target_version", "strategy", context)
    args: dict[str, Any] = {
        "artifact": artifact_tree(f.artifact or ArtifactFields(), context),
        "target_version": context.template_tree(present_members(target), "target_version"),
        "scope": context.template_tree(_scope(f.scope or RollbackScope(), context), "scope"),
        "verification": msgspec.to_builtins(verification),
    }
    if f.reason:
        args["reason"] = context.template_tree(f.reason, "reason")
    limit = f.timeout_ms or verification.timeout_ms + _SWITCH_MS
    fragment = task_fragment(f, context, "rollback", args, timeout_ms=limit, keeps_output=True)
    return complete_fragment(_with_notice(fragment, f, context), f, context)


def _scope(scope: RollbackScope, context: LoweringContext) -> dict[str, Any]:
    if not scope.match_deploy and scope.override is None:
        hint = 'Write `"override": {"line_ids": ["L01"]}`, or `"match_deploy": true`.'
        message = "Without the scope of the deployment another one must be given."
        context.error("missing_field", message, "scope", hint=hint)
    return present_members(scope)


def _with_notice(fragment: Fragment, f: RollbackFields, context: LoweringContext) -> Fragment:
    """W-4.12.4: who is told of a rollback also hears why, where `include_reason` says so."""
    block = f.notification
    if not isinstance(block, dict) or not block:
        return fragment
    includes = block.get("include_reason", True)
    if not isinstance(includes, bool):
        message = "«include_reason» must be true or false."
        context.error("wrong_type", message, "notification/include_reason", hint="Write true or false here.")
    reason = {"$expr": "default.output.reason"} if includes is True else ""
    params = {"node_id": context.node.id, "reason": reason}
    notifier = notification_node(block, params, context, template=NOTICE, built_in=True)
    edge = Edge(
        id=f"{fragment.exit}>{notifier.id}", src=fragment.exit, dst=notifier.id, guard="output != null",
        transform='{"event": "rolled_back", "output": body}',
    )  # fmt: skip
    return dataclasses.replace(fragment, nodes=(*fragment.nodes, notifier), edges=(*fragment.edges, edge))


ROLLBACK = NodeType(
    "ROLLBACK", RollbackFields, "Returns an artifact to an earlier version.", lower=lower,
    alias=lambda node: "rollback_result", timeout_ms=90_000, shapes_output=lambda f: True,
    output_shape=lambda f: _RESULT,
)  # fmt: skip
