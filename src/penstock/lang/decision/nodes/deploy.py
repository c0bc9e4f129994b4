"""DEPLOY (4.11): puts a version of an artifact into an environment, at once or in stages."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal

import msgspec
from msgspec import Meta

from penstock.lang.decision import limits
from penstock.lang.decision.lowering_context import LoweringContext
from penstock.lang.decision.node_fields import GuardedFields, OpenFields, TemplatedFields
from penstock.lang.decision.nodes.contract import Fragment, NodeType
from penstock.lang.decision.nodes.fragments import (
    complete_fragment,
    idempotency,
    net_node,
    output_args,
    report_unused_fields,
)
from penstock.lang.decision.policies import retry_of
from penstock.lang.decision.shapes import closed, one_of
from penstock.lang.rollout_net import ENDED, ROLLOUT, ROLLOUT_HASH
from penstock.net.model import MERGE, Edge, Effect, Node, OnError, Poll, Trigger

#: A rollout tells its end; should that be missed, this is how often a node that waits for it looks by itself.
LOOK_MS = 900_000
#: How often one looks that was told of an end that was none.
DOUBT_MS = 60_000
#: C-57: how a rollout that did not succeed fails the node.
ROLLED_BACK = "DEPLOYMENT_ROLLED_BACK"
_TIMEOUT_MS = 30_000
_DEPLOYMENT = {"deployment_id": {"$expr": "default.input.deployment_id"}}
#: W-4.11.4: what the output has.
_RESULT = closed(
    "deployment_id", "deployed_version", "deployed_at", "affected_scope", "artifact_id", "artifact_type", "environment",
    "previous_version", "progress", "rollout_status", "percent", "reason", "to_version", "warnings",
    status=one_of("succeeded", "failed", "rolled_back"),
)  # fmt: skip
Percent = Annotated[int, Meta(ge=0, le=100)]
Share = Annotated[float, Meta(ge=0, le=1)]
Minutes = Annotated[float, Meta(ge=0, le=525_600)]


class ArtifactFields(TemplatedFields):
    type: Literal["rule_pack", "model", "prompt", "config"] | None = None
    id: str = ""
    version: Annotated[str | int | None, Meta(description="The newest that is approved, when absent.")] = None

    REQUIRED: ClassVar[tuple[str, ...]] = ("type", "id")


class DeployScope(OpenFields):
    tenant_ids: list[str] | None = None
    line_ids: list[str] | None = None


class DeployTarget(TemplatedFields):
    environment: Literal["staging", "production"] | None = None
    scope: DeployScope | None = None

    REQUIRED: ClassVar[tuple[str, ...]] = ("environment",)


class SuccessCriteria(OpenFields):
    error_rate_max: Share = 0.01
    latency_p99_max_ms: Annotated[float, Meta(ge=0, le=limits.MS)] = 500


class CanaryFields(OpenFields):
    initial_percent: Percent = 10
    increment_percent: Annotated[int, Meta(ge=1, le=100)] = 20
    interval_minutes: Minutes = 30
    success_criteria: SuccessCriteria | None = None


class RollingFields(OpenFields):
    batch_size: Annotated[int, Meta(ge=1, le=limits.COUNT, description="Lines that get it at once.")] = 1
    interval_minutes: Minutes = 30
    success_criteria: SuccessCriteria | None = None


class BlueGreenFields(OpenFields):
    warm_up_minutes: Annotated[float, Meta(ge=0, le=525_600, description="How long both stand before the switch.")] = 0
    success_criteria: SuccessCriteria | None = None


class DeployStrategy(TemplatedFields):
    type: Literal["immediate", "canary", "blue_green", "rolling"] | None = None
    canary: CanaryFields | None = None
    rolling: RollingFields | None = None
    blue_green: BlueGreenFields | None = None
    observe_minutes: Annotated[
        float, Meta(ge=0, le=525_600, description="How long the last stage is watched before it has succeeded.")
    ] = 0
    wait: Annotated[bool | None, Meta(description="Does the run wait for the end of the rollout (C-57)?")] = None

    REQUIRED: ClassVar[tuple[str, ...]] = ("type",)


class RollbackTrigger(OpenFields):
    error_rate: Share | None = None
    latency_p99_ms: Annotated[float, Meta(ge=0, le=limits.MS)] | None = None
    anomaly_score: Share | None = None


class DeployRollback(TemplatedFields):
    auto_rollback: bool = True
    trigger: RollbackTrigger | None = None
    to_version: Literal["previous", "specific"] = "previous"
    specific_version: str | int | None = None


class DeployFields(GuardedFields):
    artifact: ArtifactFields | None = None
    target: DeployTarget | None = None
    strategy: DeployStrategy | None = None
    rollback: DeployRollback | None = None
    on_rollback: Annotated[
        Literal["fail", "continue"], Meta(description="What a rollout that was taken back does to the run (C-57).")
    ] = "fail"
    reason: Annotated[str, Meta(description="Why it is deployed; shown with the deployment.")] = ""

    REQUIRED: ClassVar[tuple[str, ...]] = (*GuardedFields.REQUIRED, "artifact", "target", "strategy")


def lower(f: DeployFields, context: LoweringContext) -> Fragment:
    """`begin` makes the deployment and its first stage live; a rollout, a run of its own, moves it on from there. Where
    the node waits, it is for the end of that. The author's node is the last: it has the output, or fails with it."""
    report_unused_fields(f, context, "circuit_breaker")
    context.shared.children[ROLLOUT_HASH] = ROLLOUT
    begin, rollout, wait, look = (f"{context.id}.{part}" for part in ("begin", "rollout", "wait", "look"))
    nodes = [_begin(begin, f, context), _call(rollout, context)]
    waits = _waits(f)
    if waits is not False:
        nodes += [_wait(wait, context), _look(look, context)]
    nodes.append(_result(f, context, waits is not False))
    edges = [Edge(id=f"{a.id}>{b.id}", src=a.id, dst=b.id) for a, b in zip(nodes, nodes[1:], strict=False)]
    if waits is not False:
        edges[1:3] = [
            *_ways_from(rollout, f"nodes[\"{begin}\"].rollout_status == 'in_progress'", wait, context.core),
            *_ways_from(wait, "output.settled != true", look, context.core),
        ]
    ports = {"failed": tuple((node.id, "failed") for node in nodes)}
    if _takes_rollback(f, context):
        ports["rolled_back"] = ((context.core, "rolled_back"),)
    return complete_fragment(
        Fragment(tuple(nodes), begin, context.core, context.core, tuple(edges), ports, first=begin), f, context
    )


def _waits(f: DeployFields) -> bool | None:
    """C-57: does the node wait for the end of its rollout? None: its strategy is a template, and the run will know."""
    strategy = f.strategy or DeployStrategy()
    if strategy.wait is not None:
        return strategy.wait
    if f.rollback is not None and f.rollback.auto_rollback:
        return True
    kind = strategy.type or ""
    return None if "${" in kind else kind in ("immediate", "blue_green")


def _takes_rollback(f: DeployFields, context: LoweringContext) -> bool:
    """Does an edge take a rollout that was rolled back? With `on_rollback: continue` the node has succeeded all the
    same."""
    edges = context.workflow.edges if f.on_rollback == "fail" else ()
    return any(edge.src == context.node.id and edge.fields.when == "rolled_back" for edge in edges)


def _ways_from(src: str, condition: str, waits: str, goes_on: str) -> list[Edge]:
    """What has ended before it could be waited for is not waited for."""
    return [
        Edge(id=f"{src}>{waits}", src=src, dst=waits, guard=condition),
        Edge(id=f"{src}>{goes_on}", src=src, dst=goes_on, guard=f"!({condition})"),
    ]


# ---- the parts -------------------------------------------------------------------------------------------------------


def _begin(id: str, f: DeployFields, context: LoweringContext) -> Node:
    args = {"op": "begin", "request": _request(f, context)}
    gates = idempotency(f, context, args)
    if "once" in gates:
        gates["dedupe"] = gates.pop("once")
    return net_node(
        f, context, kind="task", id=id, origin=context.node.id, out=(), sets=(), result=None,
        effect=Effect(executor="rollout", args=args, **gates), timeout_ms=f.timeout_ms or _TIMEOUT_MS,
        retry=retry_of(f.retry if f.retry is not None else context.workflow.policies.retry),
    )  # fmt: skip


def _part(id: str, context: LoweringContext, **parts: Any) -> Node:
    """A node between the first and the author's; a deployment that was not begun skips it."""
    return Node(
        id=id, type=context.node.type.name, origin=context.node.id, scope=context.scope, join=MERGE,
        only_if="default != null", **parts,
    )  # fmt: skip


def _call(id: str, context: LoweringContext) -> Node:
    deployment = {"deployment_id": {"$expr": "default.deployment_id"}}
    args = {"net": ROLLOUT_HASH, "name": ROLLOUT.name, "input": deployment, "detached": True}
    return _part(id, context, kind="call", effect=Effect(executor="call", args=args))


def _wait(id: str, context: LoweringContext) -> Node:
    """C-57: the run is WAITING while the rollout goes on. It hears of its end, and looks now and then by itself."""
    ended = Trigger(
        kind="signal", name=ENDED, filter=_DEPLOYMENT, match="fn.matches_filter(event, filter)", action="value",
        value={"settled": False, "input": _DEPLOYMENT},
    )  # fmt: skip
    return _look(id, context, LOOK_MS, ended)


def _look(id: str, context: LoweringContext, every_ms: int = DOUBT_MS, *triggers: Trigger) -> Node:
    """Whoever can send an event can say that a rollout has ended, so what was heard is looked at; and where it is not
    so, it is looked at until it is, for the run would hear the same event again."""
    return _part(
        id, context, kind="task", effect=Effect(executor="rollout", args={"op": "look", **_DEPLOYMENT}),
        poll=Poll(every_ms=every_ms, until="response.settled", max_errors=100), triggers=triggers,
        timeout_ms=_TIMEOUT_MS,
    )  # fmt: skip


def _result(f: DeployFields, context: LoweringContext, waited: bool) -> Node:
    args: dict[str, Any] = {
        "op": "result", "deployment_id": {"$expr": "default.input.deployment_id"}, "waited": waited,
        "on_rollback": f.on_rollback, **output_args(f),
    }  # fmt: skip
    rows = (OnError(match=ROLLED_BACK, action="port:rolled_back"),) if _takes_rollback(f, context) else ()
    if f.skip_on_error:
        rows = (*rows, OnError(match="*", action="skip"))
    return net_node(
        f, context, kind="task", join=MERGE, only_if="default != null", effect=Effect(executor="rollout", args=args),
        on_error=rows, keeps_output=True, timeout_ms=_TIMEOUT_MS,
        retry=retry_of(f.retry if f.retry is not None else context.workflow.policies.retry),
    )  # fmt: skip


# ---- what is asked for -----------------------------------------------------------------------------------------------


def _request(f: DeployFields, context: LoweringContext) -> dict[str, Any]:
    request: dict[str, Any] = {
        "artifact": artifact_tree(f.artifact or ArtifactFields(), context),
        "target": _target(f.target or DeployTarget(), context),
        "strategy": _strategy(f.strategy or DeployStrategy(), context),
    }
    if f.rollback is not None:
        request["rollback"] = _rollback(f.rollback, context)
    notification = notification_settings(f, context, "on_start", "on_complete", "on_rollback")
    if notification:
        request["notification"] = notification
    if f.reason:
        request["reason"] = context.template_tree(f.reason, "reason")
    return request


def artifact_tree(artifact: ArtifactFields, context: LoweringContext) -> dict[str, Any]:
    tree = {
        "type": context.template_tree(artifact.type, "artifact/type"),
        "id": context.template_tree(artifact.id, "artifact/id"),
    }
    if artifact.version is not None:
        tree["version"] = context.template_tree(artifact.version, "artifact/version")
    if artifact.type is not None and "${" not in artifact.type:
        context.depend(artifact.type, artifact.id, "artifact/id")
    return tree


def _target(target: DeployTarget, context: LoweringContext) -> dict[str, Any]:
    tree: dict[str, Any] = {"environment": context.template_tree(target.environment, "target/environment")}
    if target.scope is not None:
        scope = {name: ids for name, ids in msgspec.to_builtins(target.scope).items() if ids is not None}
        tree["scope"] = context.template_tree(scope, "target/scope")
    return tree


def _strategy(strategy: DeployStrategy, context: LoweringContext) -> dict[str, Any]:
    """The strategy with the block of its type; the blocks of others are reported, for nobody reads them."""
    tree: dict[str, Any] = {"type": context.template_tree(strategy.type, "strategy/type")}
    for name in ("canary", "rolling", "blue_green"):
        block = getattr(strategy, name)
        if block is None:
            continue
        if strategy.type in (name, None) or "${" in strategy.type:
            tree[name] = present_members(block)
        else:
            message = f"«{name}» changes nothing in a deployment of the type {strategy.type}."
            context.info("idle_setting", message, f"strategy/{name}", hint=f"Write `type: {name}`, or leave it out.")
    if strategy.observe_minutes:
        tree["observe_minutes"] = strategy.observe_minutes
    if strategy.wait is not None:
        tree["wait"] = strategy.wait
    return tree


def _rollback(rollback: DeployRollback, context: LoweringContext) -> dict[str, Any]:
    check_specific(rollback.to_version, rollback.specific_version, "rollback", "to_version", context)
    tree: dict[str, Any] = {
        "auto_rollback": rollback.auto_rollback,
        "to_version": context.template_tree(rollback.to_version, "rollback/to_version"),
    }
    if rollback.trigger is not None:
        tree["trigger"] = present_members(rollback.trigger)
    if rollback.specific_version is not None:
        tree["specific_version"] = context.template_tree(rollback.specific_version, "rollback/specific_version")
    return tree


def check_specific(strategy: str, version: Any, path: str, name: str, context: LoweringContext) -> None:
    """W-4.11.2, W-4.12.1: a rollback to a specific version must name it."""
    if strategy == "specific" and version in (None, ""):
        hint = 'Write `"specific_version": "2.0.0"` beside it.'
        message = f"«{name}» is «specific», and «specific_version» is missing."
        context.error("missing_field", message, path, hint=hint)


def notification_settings(f: DeployFields, context: LoweringContext, *switches: str) -> dict[str, Any]:
    """The node's `notification` block, checked: its switches are true or false, its channels a list of names."""
    block = f.notification or {}
    for name in switches:
        if not isinstance(block.get(name, False), bool):
            message = f"«{name}» must be true or false."
            context.error("wrong_type", message, f"notification/{name}", hint="Write true or false here.")
    channels = block.get("channels")
    if channels is not None and not _are_names(channels):
        hint = 'Write `"channels": ["slack", "email"]`.'
        context.error("wrong_type", "«channels» must be a list of channels.", "notification/channels", hint=hint)
        channels = None
    for i, channel in enumerate(channels or ()):
        context.depend("channel", channel, f"notification/channels/{i}")
    tree = context.template_tree(block, "notification")
    return tree if isinstance(tree, dict) else {}


def _are_names(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(name, str) for name in value)


def present_members(block: OpenFields) -> dict[str, Any]:
    """The members of a block that are there, blocks in it included."""
    tree: dict[str, Any] = msgspec.to_builtins(block)
    return {
        name: {inner: part for inner, part in value.items() if part is not None} if isinstance(value, dict) else value
        for name, value in tree.items()
        if value is not None
    }


DEPLOY = NodeType(
    "DEPLOY", DeployFields, "Deploys a version of an artifact, at once or in stages.", lower=lower,
    alias=lambda node: "deploy_result", effect=False, shapes_output=lambda f: True, output_shape=lambda f: _RESULT,
)  # fmt: skip
