"""JUDGMENT (4.3): a verdict by rules, by a model, by both, or by a person."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal

from msgspec import Meta

from penstock.expr import compile_expression
from penstock.lang.decision import bounds
from penstock.lang.decision.lowering_context import LoweringContext
from penstock.lang.decision.nodes.approval import prefixed, target
from penstock.lang.decision.nodes.contract import Choosing, Fragment, GuardedFields, NodeType, Part
from penstock.lang.decision.nodes.parts import HOUR, completed, task_of, tell, told_by
from penstock.net.model import MERGE, Edge, Node, Trigger, Work

#: Names that `human_review_if` reads: the fields of the verdict.
RESULT = ("decision", "confidence", "reasoning", "matched_rules", "recommendations", "needs_review", "decided_by")
#: C-52: who judges when a person must.
_REVIEWER = "fn.coalesce(fn.get_tenant_config('judgment.reviewer_role'), 'quality_manager')"
#: What a person posts becomes a verdict.
_BY_PERSON = (
    "{\"decision\": fn.if(fn.contains(['normal', 'warning', 'critical', 'unknown'], body.decision), "
    "body.decision, 'unknown'), \"confidence\": fn.coalesce(body.confidence, 1.0), "
    "\"reasoning\": fn.coalesce(body.comment, body.reasoning, ''), "
    '"matched_rules": fn.coalesce(body.matched_rules, []), '
    '"recommendations": fn.coalesce(body.recommendations, []), "needs_review": false, "decided_by": \'human\'}'
)


class Routing(Choosing):
    confidence_threshold: Annotated[float, Meta(ge=0, le=1)] = 0.85
    conflict_resolution: Literal["rule_priority", "llm_priority", "human_escalate"] = "rule_priority"
    fallback: Literal["ESCALATE"] | None = None
    reviewer_role: Annotated[str, Meta(description="Who reviews; by default whom the tenant has named.")] = ""


class LlmConfig(Part):
    model: str = "gpt-4o"
    temperature: Annotated[float, Meta(ge=0, le=2)] = 0.1
    max_tokens: Annotated[int, Meta(ge=1, le=bounds.COUNT)] = 1000


class Policy(Choosing):
    type: Literal["RULE_ONLY", "LLM_ONLY", "HYBRID", "ESCALATE"] | None = None
    rule_pack_id: str = ""
    rule_pack_version: str | int | None = None
    llm_config: LlmConfig | None = None
    routing: Routing | None = None
    prompt_id: str = ""

    REQUIRED: ClassVar[tuple[str, ...]] = ("type",)


class JudgmentInput(Part):
    data: Any = None
    context: dict[str, Any] = {}


class Audit(Part):
    log_input: bool = True
    log_reasoning: bool = True
    human_review_if: str | None = None


class JudgmentFields(GuardedFields):
    policy: Policy | None = None
    input: JudgmentInput | None = None
    audit: Audit | None = None

    REQUIRED: ClassVar[tuple[str, ...]] = (*GuardedFields.REQUIRED, "policy", "input")


def lower(f: JudgmentFields, site: LoweringContext) -> Fragment:
    policy, given, audit = f.policy or Policy(), f.input or JudgmentInput(), f.audit or Audit()
    if policy.type in ("RULE_ONLY", "HYBRID") and not policy.rule_pack_id:
        hint = 'Write `"rule_pack_id": "…"`.'
        site.error("judgment_settings", f"{policy.type} needs «rule_pack_id».", "policy", hint=hint)
    args = {
        "policy": _policy(policy, site),
        "data": site.tree(given.data, "input/data"),
        "context": site.tree(given.context, "input/context"),
        "audit": {
            "log_input": audit.log_input, "log_reasoning": audit.log_reasoning,
            "human_review_if": audit.human_review_if,
        },
    }  # fmt: skip
    site.depend("rule_pack", policy.rule_pack_id, "policy/rule_pack_id")
    site.depend("prompt", policy.prompt_id, "policy/prompt_id")
    review = site.expression(audit.human_review_if, "audit/human_review_if", *RESULT)
    sees = review is not None and not compile_expression(review, words=True).roots <= {*RESULT}
    judged = task_of(f, site, "judgment", args, sees_run=sees)
    return completed(_reviewed(f, judged, args, site) if _escalates(f) else judged, f, site)


def _escalates(f: JudgmentFields) -> bool:
    """C-51: only with `routing` does a low confidence go to a person; a type that only a run knows may, too."""
    policy = f.policy or Policy()
    return policy.routing is not None or policy.type == "ESCALATE" or "${" in (policy.type or "")


def _policy(policy: Policy, site: LoweringContext) -> dict[str, Any]:
    found: dict[str, Any] = {"type": site.tree(policy.type, "policy/type")}
    if policy.rule_pack_id:
        found["rule_pack_id"] = site.tree(policy.rule_pack_id, "policy/rule_pack_id")
    if policy.rule_pack_version is not None:
        found["rule_pack_version"] = site.tree(str(policy.rule_pack_version), "policy/rule_pack_version")
    if policy.llm_config is not None:
        one = policy.llm_config
        model = site.tree(one.model, "policy/llm_config/model")
        found["llm_config"] = {"model": model, "temperature": one.temperature, "max_tokens": one.max_tokens}
    if policy.routing is not None:
        way = policy.routing
        found["routing"] = {
            "confidence_threshold": way.confidence_threshold,
            "conflict_resolution": site.tree(way.conflict_resolution, "policy/routing/conflict_resolution"),
            "fallback": site.tree(way.fallback or "ESCALATE", "policy/routing/fallback"),
        }  # fmt: skip
    if policy.prompt_id:
        found["prompt_id"] = site.tree(policy.prompt_id, "policy/prompt_id")
    return found


def _reviewed(f: JudgmentFields, judged: Fragment, args: dict[str, Any], site: LoweringContext) -> Fragment:
    """C-52: a verdict that must be a person's goes to one, and theirs is the node's. They are told and waited for as
    those who approve are."""
    routing = f.policy.routing if f.policy is not None else None
    named = routing.reviewer_role if routing is not None else ""
    if named:
        role = target(named, "role", site, "policy/routing/reviewer_role")
    else:
        site.shared.carried.add("tenant_config")
        role = {"$expr": f"fn.first({prefixed(f'[{_REVIEWER}]', 'role')})"}
    review = f"{site.id}.review"
    prompt = {
        "kind": "review",
        "title": f.name or site.step.id,
        "data": {"data": args["data"], "context": args["context"], "verdict": {"$expr": "default"}},
    }
    tellers = tell({}, {"title": prompt["title"], "node_id": site.step.id, "approvers": [role]}, site,
                   template="judgment_review_v1")  # fmt: skip
    value = {"event": "requested", "escalation_level": {"$expr": "escalation_level"}}
    person = Node(
        id=review, kind="work", type="REVIEW", origin=site.step.id, scope=site.scope, join=MERGE, label=f.name,
        work=Work(prompt=prompt, candidates={"type": "role", "targets": [role], "min_approvals": 1}),
        triggers=(
            Trigger(after_ms=0, interrupting=False, port="notify", action="value", value=value),
            Trigger(after_ms=24 * HOUR, action="reopen", times=3, code="APPROVAL_TIMEOUT",
                    value={"type": "role", "targets": ["role:admin"], "min_approvals": 1}),
        ),
    )  # fmt: skip
    out = Node(id=f"{site.id}.judged", type="JUDGMENT", origin=site.step.id, scope=site.scope, join=MERGE)
    edges = (
        Edge(id=f"{site.core}>{review}", src=site.core, dst=review, guard="output != null && output.escalate != null"),
        Edge(id=f"{site.core}>{out.id}", src=site.core, dst=out.id, guard="output == null || output.escalate == null"),
        Edge(id=f"{review}>{out.id}", src=review, dst=out.id, transform=_BY_PERSON),
        *told_by(review, "notify", tellers, site),
    )
    ports = {"failed": (*judged.ports["failed"], (review, "failed"))}
    nodes = (*judged.nodes, person, *tellers, out)
    return Fragment(nodes, judged.entry, out.id, judged.core, edges, ports)


JUDGMENT = NodeType(
    "JUDGMENT", JudgmentFields, lower, "Judges data by rules, a model or a person.",
    lambda node: "judgment_result", 60_000, framed=_escalates, finishes=lambda f: True,
)  # fmt: skip
