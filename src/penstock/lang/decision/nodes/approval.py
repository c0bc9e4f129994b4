"""APPROVAL (4.6): people decide; nobody decides twice, and time has an answer of its own."""

from __future__ import annotations

import re
from typing import Annotated, Any, ClassVar, Literal

from msgspec import Meta

from penstock.lang.decision import bounds
from penstock.lang.decision.lowering_context import LoweringContext
from penstock.lang.decision.nodes.contract import Choosing, Fragment, GuardedFields, NodeType, Part
from penstock.lang.decision.nodes.parts import HOUR, completed, duration_of, idle, node_of, tell, told_by
from penstock.lang.decision.texts import text_literal
from penstock.net.model import Trigger, Work

#: W-4.6.6: what an approval without `timeout` has.
DEFAULT_MS = 24 * HOUR
#: C-34: how often an approval goes to others before its time is over.
LEVELS = 3
_TYPES = ("user", "role", "group")
_PREFIX = re.compile("^(user|role|group):")


class Approvers(Part):
    type: Literal["user", "role", "group", "any_of", "all_of"] | None = None
    targets: list[str] = []
    min_approvals: Annotated[int, Meta(ge=1, le=bounds.COUNT)] | None = None
    allow_self_approval: bool = True

    REQUIRED: ClassVar[tuple[str, ...]] = ("type", "targets")


class Ask(Choosing):
    title: str = ""
    description: str = ""
    priority: Literal["high", "normal", "low"] = "normal"
    approvers: Approvers | None = None
    data: Annotated[Any, Meta(description="Shown to those who decide.")] = None

    REQUIRED: ClassVar[tuple[str, ...]] = ("approvers",)


class Timeout(Part):
    on_timeout: Literal["reject", "escalate", "auto_approve"] = "reject"
    reminder_intervals: list[Annotated[float, Meta(ge=0, le=bounds.HOURS)]] = []
    escalate_to: list[str] = []
    duration_ms: Any = None
    duration_seconds: Any = None
    duration_minutes: Any = None
    duration_hours: Any = None
    duration_days: Any = None


#: Where the form is broken, which has been told.
_NOBODY = Approvers(targets=["role:nobody"])


class ApprovalFields(GuardedFields):
    request: Ask | None = None
    timeout: Timeout | None = None
    on_reject: Literal["cancel", "continue"] = "cancel"

    REQUIRED: ClassVar[tuple[str, ...]] = (*GuardedFields.REQUIRED, "request")


def lower(f: ApprovalFields, site: LoweringContext) -> Fragment:
    asked, timeout = f.request or Ask(approvers=_NOBODY), f.timeout or Timeout()
    who = asked.approvers or _NOBODY
    candidates = {
        "type": who.type,
        "targets": [target(one, str(who.type), site, f"request/approvers/targets/{i}")
                    for i, one in enumerate(who.targets)],
        "allow_self_approval": who.allow_self_approval,
    }  # fmt: skip
    if not who.targets and site.step.raw["request"]["approvers"].get("targets") == []:
        hint = 'Write `"targets": ["role:quality_manager"]`.'
        site.error("missing_field", "Nobody may decide: «targets» is empty.", "request/approvers", hint=hint)
    prompt = {
        "kind": "approval",
        "title": site.tree(asked.title, "request/title") or f.name or site.step.id,
        "description": site.tree(asked.description, "request/description"),
        "priority": site.tree(asked.priority, "request/priority"),
        "data": site.tree(asked.data, "request/data"),
    }
    block = (site.step.raw.get("timeout") or {}) if isinstance(site.step.raw.get("timeout"), dict) else {}
    after = duration_of(block, site, "timeout")
    after = DEFAULT_MS if after is None else after
    everybody = who.type == "all_of"
    idle(f, site, "retry", "timeout_ms", "circuit_breaker", "idempotency")
    name = site.shared.names.out[site.step.id]
    node = node_of(
        f, site, kind="work", out=(name,) if name else (),
        work=Work(quorum=who.min_approvals or (0 if everybody else 1), all_of=everybody, candidates=candidates,
                  prompt=prompt),
        triggers=(_tell(), *_reminders(timeout, after), _too_late(timeout, after, who, site)),
    )  # fmt: skip
    said = f.notification if isinstance(f.notification, dict) else {}
    about = {name: value for name, value in prompt.items() if name != "kind"}
    about |= {"approvers": candidates["targets"], "node_id": site.step.id}
    tellers = tell(said, about, site, template="approval_request_v1")
    edges = (*told_by(node.id, "notify", tellers, site), *told_by(node.id, "remind", tellers, site))
    if not timeout.reminder_intervals:
        edges = tuple(edge for edge in edges if edge.port != "remind")
    ports = {"failed": ((node.id, "failed"),), "rejected": ((node.id, "rejected"),), "timeout": ((node.id, "timeout"),)}
    return completed(Fragment((node, *tellers), node.id, node.id, node.id, edges, ports), f, site)


def target(text: str, type: str, site: LoweringContext, path: str) -> Any:
    """C-32: with a prefix; of one without, the type tells, or an @ does. What only a run knows gets its own there."""
    if "${" in text:
        return {"$expr": f"fn.first({prefixed(f'[{site.moment(text, path)}]', type)})"}
    if _PREFIX.match(text):
        return text
    kind = type if type in _TYPES else "user" if "@" in text else "role"
    return f"{kind}:{text}"


def prefixed(targets: str, type: str = "") -> str:
    """C-32 as an expression over a list of targets."""
    kind = text_literal(type) if type in _TYPES else "fn.if(fn.contains(t, '@'), 'user', 'role')"
    known = f"fn.type_of(t) != 'string' || fn.regex_match(t, {text_literal(_PREFIX.pattern)})"
    return f"fn.map({targets}, t => fn.if({known}, t, fn.concat({kind}, ':', t)))"


def _tell() -> Trigger:
    """Those who may decide hear of it when it opens, and again when it goes to others."""
    value = {"event": "requested", "escalation_level": {"$expr": "escalation_level"}}
    return Trigger(kind="opened", interrupting=False, port="notify", action="value", value=value)


def _reminders(timeout: Timeout, after: int) -> list[Trigger]:
    """W-4.6.3, C-33: hours since the request, each once; what is not before the end is left out."""
    found = []
    for hours in timeout.reminder_intervals:
        if 0 < hours * HOUR < after:
            at = round(hours * HOUR)
            value = {"event": "reminder", "after_hours": hours, "escalation_level": {"$expr": "escalation_level"}}
            found.append(Trigger(after_ms=at, interrupting=False, port="remind", action="value", value=value))
    return found


def _too_late(timeout: Timeout, after: int, who: Approvers, site: LoweringContext) -> Trigger:
    if timeout.on_timeout == "escalate":
        targets = [target(one, "", site, f"timeout/escalate_to/{i}") for i, one in enumerate(timeout.escalate_to)]
        if not targets:
            site.shared.carried.add("tenant_config")
        others = {
            "type": "any_of", "targets": targets or {"$expr": _ESCALATION},
            "allow_self_approval": who.allow_self_approval,
        }  # fmt: skip
        return Trigger(
            after_ms=after, action="reopen", times=LEVELS, value=others, code="APPROVAL_TIMEOUT", port="timeout"
        )
    approved = timeout.on_timeout == "auto_approve"
    decided = {
        "status": "approved" if approved else "rejected",
        "approver": None,
        "comment": None,
        "approved_at": {"$expr": "fn.now()"} if approved else None,
        "approvals": {"$expr": "approvals"},
        "timed_out": True,
        "escalation_level": {"$expr": "escalation_level"},
        "request_id": {"$expr": "request_id"},
    }
    return Trigger(after_ms=after, action="value", value=decided, port="done" if approved else "rejected")


#: C-34: the tenant's escalation targets, else the role admin; an empty list names nobody and is as good as none.
_OTHERS = "fn.get_tenant_config('approval.escalation_targets')"
_LISTED = f"fn.if(fn.type_of({_OTHERS}) == 'array', {_OTHERS}, [{_OTHERS}])"
_ESCALATION = f"fn.if(fn.is_empty({_OTHERS}), ['role:admin'], {prefixed(_LISTED)})"


APPROVAL = NodeType(
    "APPROVAL", ApprovalFields, lower, "Asks people to decide.", lambda node: "approval_result", effect=False
)
