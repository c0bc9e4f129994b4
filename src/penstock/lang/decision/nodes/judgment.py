"""JUDGMENT (4.3): a verdict by rules, by a model, by both, or by a person."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal

from msgspec import Meta

from penstock.expr import compile_expression
from penstock.lang.decision import limits
from penstock.lang.decision.lowering_context import LoweringContext
from penstock.lang.decision.node_fields import GuardedFields, OpenFields, TemplatedFields
from penstock.lang.decision.nodes.approval import candidate, prefixed
from penstock.lang.decision.nodes.contract import Fragment, NodeType
from penstock.lang.decision.nodes.fragments import (
    HOUR,
    complete_fragment,
    notification_node,
    port_edge,
    task_fragment,
)
from penstock.lang.decision.shapes import closed, one_of
from penstock.net.model import MERGE, Edge, Node, Trigger, Work

#: Names that `human_review_if` reads: the fields of the verdict.
RESULT = ("decision", "confidence", "reasoning", "matched_rules", "recommendations", "needs_review", "decided_by")
#: W-4.3: what a verdict has besides, where there is something to say.
_DECISION = one_of("normal", "warning", "critical", "unknown")
_VERDICT = closed(*RESULT, "outputs", "rule_pack", "escalate", "llm_error", "rule_error", decision=_DECISION)
#: C-52: the role that reviews when no role is named.
_REVIEWER = "fn.coalesce(fn.get_tenant_config('judgment.reviewer_role'), 'quality_manager')"
#: The verdict made from what a person posts.
_HUMAN_VERDICT = (
    "{\"decision\": fn.if(fn.contains(['normal', 'warning', 'critical', 'unknown'], body.decision), "
    "body.decision, 'unknown'), \"confidence\": fn.coalesce(body.confidence, 1.0), "
    "\"reasoning\": fn.coalesce(body.comment, body.reasoning, ''), "
    '"matched_rules": fn.coalesce(body.matched_rules, []), '
    '"recommendations": fn.coalesce(body.recommendations, []), "needs_review": false, "decided_by": \'human\'}'
)


class JudgmentRouting(TemplatedFields):
    confidence_threshold: Annotated[float, Meta(ge=0, le=1)] = 0.85
    conflict_resolution: Literal["rule_priority", "llm_priority", "human_escalate"] = "rule_priority"
    fallback: Literal["ESCALATE"] | None = None
    reviewer_role: Annotated[str, Meta(description="Who reviews; by default whom the tenant has named.")] = ""


class LlmConfig(OpenFields):
    model: str = "gpt-4o"
    temperature: Annotated[float, Meta(ge=0, le=2)] = 0.1
    max_tokens: Annotated[int, Meta(ge=1, le=limits.COUNT)] = 1000


class JudgmentPolicy(TemplatedFields):
    type: Literal["RULE_ONLY", "LLM_ONLY", "HYBRID", "ESCALATE"] | None = None
    rule_pack_id: str = ""
    rule_pack_version: str | int | None = None
    llm_config: LlmConfig | None = None
    routing: JudgmentRouting | None = None
    prompt_id: str = ""

    REQUIRED: ClassVar[tuple[str, ...]] = ("type",)


class JudgmentInput(OpenFields):
    line_id: Annotated[str, Meta(description="The line that is judged, where rules differ by line.")] = ""
    data: Any = None
    context: dict[str, Any] = {}


class JudgmentAudit(OpenFields):
    log_input: bool = True
    log_reasoning: bool = True
    human_review_if: str | None = None


class JudgmentFields(GuardedFields):
    policy: JudgmentPolicy | None = None
    input: JudgmentInput | None = None
    audit: JudgmentAudit | None = None

    REQUIRED: ClassVar[tuple[str, ...]] = (*GuardedFields.REQUIRED, "policy", "input")


def lower(f: JudgmentFields, context: LoweringContext) -> Fragment:
    policy, input, audit = f.policy or JudgmentPolicy(), f.input or JudgmentInput(), f.audit or JudgmentAudit()
    if policy.type in ("RULE_ONLY", "HYBRID") and not policy.rule_pack_id:
        hint = 'Write `"rule_pack_id": "…"`.'
        context.error("judgment_settings", f"{policy.type} needs «rule_pack_id».", "policy", hint=hint)
    args = {
        "policy": _policy(policy, context),
        "data": context.template_tree(input.data, "input/data"),
        "context": context.template_tree(input.context, "input/context"),
        "audit": {
            "log_input": audit.log_input, "log_reasoning": audit.log_reasoning,
            "human_review_if": audit.human_review_if,
        },
    }  # fmt: skip
    if input.line_id:
        args["line"] = context.template_tree(input.line_id, "input/line_id")
    context.depend("rule_pack", policy.rule_pack_id, "policy/rule_pack_id")
    context.depend("prompt", policy.prompt_id, "policy/prompt_id")
    review = context.expression(audit.human_review_if, "audit/human_review_if", *RESULT, shapes={"decision": _DECISION})
    sees = review is not None and not compile_expression(review, words=True).roots <= {*RESULT}
    judgment = task_fragment(f, context, "judgment", args, sees_run=sees)
    return complete_fragment(_with_review(f, judgment, args, context) if _escalates(f) else judgment, f, context)


def _escalates(f: JudgmentFields) -> bool:
    """Can the verdict go to a person? With `routing`, with ESCALATE, and with a type that only a run knows (C-51)."""
    policy = f.policy or JudgmentPolicy()
    return policy.routing is not None or policy.type == "ESCALATE" or "${" in (policy.type or "")


def _policy(policy: JudgmentPolicy, context: LoweringContext) -> dict[str, Any]:
    lowered: dict[str, Any] = {"type": context.template_tree(policy.type, "policy/type")}
    if policy.rule_pack_id:
        lowered["rule_pack_id"] = context.template_tree(policy.rule_pack_id, "policy/rule_pack_id")
    if policy.rule_pack_version is not None:
        lowered["rule_pack_version"] = context.template_tree(str(policy.rule_pack_version), "policy/rule_pack_version")
    if policy.llm_config is not None:
        llm = policy.llm_config
        model = context.template_tree(llm.model, "policy/llm_config/model")
        lowered["llm_config"] = {"model": model, "temperature": llm.temperature, "max_tokens": llm.max_tokens}
    if policy.routing is not None:
        routing = policy.routing
        lowered["routing"] = {
            "confidence_threshold": routing.confidence_threshold,
            "conflict_resolution": context.template_tree(
                routing.conflict_resolution, "policy/routing/conflict_resolution"
            ),
            "fallback": context.template_tree(routing.fallback or "ESCALATE", "policy/routing/fallback"),
        }  # fmt: skip
    if policy.prompt_id:
        lowered["prompt_id"] = context.template_tree(policy.prompt_id, "policy/prompt_id")
    return lowered


def _with_review(f: JudgmentFields, judgment: Fragment, args: dict[str, Any], context: LoweringContext) -> Fragment:
    """C-52: an escalated verdict goes to a reviewer, whose verdict becomes the node's. Reviewers are notified, and
    reminded by escalation, as approvers are."""
    routing = f.policy.routing if f.policy is not None else None
    named = routing.reviewer_role if routing is not None else ""
    if named:
        role = candidate(named, "role", context, "policy/routing/reviewer_role")
    else:
        context.shared.carried.add("tenant_config")
        role = {"$expr": f"fn.first({prefixed(f'[{_REVIEWER}]', 'role')})"}
    review = f"{context.id}.review"
    prompt = {
        "kind": "review",
        "title": f.name or context.node.id,
        "data": {"data": args["data"], "context": args["context"], "verdict": {"$expr": "default"}},
    }
    params = {"title": prompt["title"], "node_id": context.node.id, "approvers": [role]}
    notifier = notification_node({}, params, context, template="judgment_review_v1")
    value = {"event": "requested", "escalation_level": {"$expr": "escalation_level"}}
    person = Node(
        id=review, kind="work", type="REVIEW", origin=context.node.id, scope=context.scope, join=MERGE, label=f.name,
        work=Work(prompt=prompt, candidates={"type": "role", "targets": [role], "min_approvals": 1}),
        triggers=(
            Trigger(after_ms=0, interrupting=False, port="notify", action="value", value=value),
            Trigger(after_ms=24 * HOUR, action="reopen", times=3, code="APPROVAL_TIMEOUT",
                    value={"type": "role", "targets": ["role:admin"], "min_approvals": 1}),
        ),
    )  # fmt: skip
    out = Node(id=f"{context.id}.judged", type="JUDGMENT", origin=context.node.id, scope=context.scope, join=MERGE)
    edges = (
        Edge(
            id=f"{context.core}>{review}",
            src=context.core,
            dst=review,
            guard="output != null && output.escalate != null",
        ),
        Edge(
            id=f"{context.core}>{out.id}",
            src=context.core,
            dst=out.id,
            guard="output == null || output.escalate == null",
        ),
        Edge(id=f"{review}>{out.id}", src=review, dst=out.id, transform=_HUMAN_VERDICT),
        port_edge(review, "notify", notifier.id),
    )
    ports = {"failed": (*judgment.ports["failed"], (review, "failed"))}
    nodes = (*judgment.nodes, person, notifier, out)
    return Fragment(nodes, judgment.entry, out.id, judgment.core, edges, ports)


JUDGMENT = NodeType(
    "JUDGMENT", JudgmentFields, "Judges data by rules, a model or a person.", lower=lower,
    alias=lambda node: "judgment_result", timeout_ms=60_000, wrapped=_escalates, shapes_output=lambda f: True,
    output_shape=lambda f: _VERDICT,
)  # fmt: skip
