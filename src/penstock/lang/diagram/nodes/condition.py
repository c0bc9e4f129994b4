"""condition (seed section 4): evaluates to true or false and publishes on condtrue or condfalse only.

What was decided never depends on what the target is waiting for (D-X.3): the port is an expression over this node's
inputs and the run's counters, and every edge of that port gets one token.
"""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal

from msgspec import Meta

from penstock.lang.diagram.lowering_context import LoweringContext, quoted
from penstock.lang.diagram.nodes.contract import (
    ANY,
    GROUP,
    Fragment,
    NodeFields,
    NodeType,
    Remembered,
    RetryFields,
    Seconds,
    join_of,
    milliseconds,
    node_of,
    plain,
    retry_of,
    without_defaults,
)
from penstock.lang.report import did_you_mean
from penstock.net.model import MERGE, Edge, Effect, Node, Set

#: What counts as yes at the beginning of a person's answer. Everything else is no.
YES = "'^[^a-z]*(yes|y|true|valid|approved?|accept(ed)?|correct|pass(ed)?)([^a-z]|$)'"
#: Fields that only one condition_type reads.
_OWNED = {"expression": "custom", "node_indices": "nodes_executed"} | dict.fromkeys(
    ("person", "judge_by", "judge_by_file", "memorize_to", "at_most", "retry", "timeout"), "llm_decision"
)
_LONGEST = 3500  # characters of a conjunction; an expression has at most 4096


class ConditionFields(NodeFields):
    condition_type: Annotated[
        Literal["detect_max_iterations", "nodes_executed", "check_nodes_executed", "custom", "llm_decision"] | None,
        Meta(description="What is asked. Without it an expression is custom."),
    ] = None
    expression: Annotated[
        str, Meta(description="custom: over labelled inputs, epoch, counters.<label> and branches.<label>.")
    ] = ""
    skippable: Annotated[bool, Meta(description="Nodes after it wait for it only if they have nothing else.")] = False
    loop_controller: Annotated[bool, Meta(description="Ways back into its loop begin a new epoch.")] = False
    node_indices: Annotated[
        list[str | int], Meta(description="nodes_executed: labels of the nodes, or their numbers from 0.")
    ] = []
    person: Annotated[str, Meta(description="llm_decision: who answers yes or no.")] = ""
    judge_by: Annotated[str, Meta(description="llm_decision: the question.")] = ""
    judge_by_file: Annotated[str, Meta(description="llm_decision: a file with the question.")] = ""
    memorize_to: Annotated[str, Meta(description="llm_decision: GOLDFISH forgets everything between decisions.")] = ""
    at_most: Annotated[Remembered | None, Meta(description="llm_decision: remember so many messages.")] = None
    retry: RetryFields | None = None
    timeout: Annotated[Seconds | None, Meta(description="llm_decision: seconds to wait for the answer.")] = None

    ALIASES: ClassVar[dict[str, str]] = {"nodes": "node_indices", "memory_profile": "memorize_to"}


def lower(f: ConditionFields, site: LoweringContext) -> Fragment:
    kind = f.condition_type or ("custom" if f.expression else None)
    for idle, owner in _OWNED.items():
        if getattr(f, idle) and kind is not None and kind.removeprefix("check_") != owner:
            hint = f"Remove it, or write `condition_type: {owner}`."
            site.warning("idle_field", f"«{idle}» is used only by `condition_type: {owner}`.", idle, hint=hint)
    if kind == "llm_decision":
        return _asked(f, site)
    if kind == "detect_max_iterations":
        holds = _at_limits(site)
    elif kind in ("nodes_executed", "check_nodes_executed"):
        holds = _executed(f, site)
    elif kind == "custom":
        holds = _custom(f, site)
    else:
        if "condition_type" not in site.where:
            site.error("missing_field", "A condition needs «condition_type».", hint="Write `condition_type: custom`.")
        holds = "false"
    return plain(node_of(f, site, kind="route", port=_port(f, holds), join=join_of(f, site, ANY)))


def _port(f: ConditionFields, holds: str) -> str:
    """`flipped: true` swaps the handles (D-X.16); a list of two belongs to the drawing."""
    yes, no = ("'condfalse'", "'condtrue'") if f.flipped is True else ("'condtrue'", "'condfalse'")
    return f"fn.if({holds}, {yes}, {no})"


def _at_limits(site: LoweringContext) -> str:
    limits = site.limits()
    if limits is None:
        message = "The diagram is too large to find what leads to each of its detect_max_iterations."
        site.error("condition_too_long", message, "condition_type", hint="Write `counters.Label >= 3` instead.")
        return "false"
    if not limits:
        site.error(
            "no_max_iteration",
            f"«{site.label}» looks for person_jobs at their limit, but none with max_iteration leads to it.",
            "condition_type",
            hint="Give the person_job in this loop a `max_iteration`.",
        )
        return "false"
    return _conjunction([f"counters[{quoted(label)}] >= {most}" for label, most in limits], site)


def _executed(f: ConditionFields, site: LoweringContext) -> str:
    wanted: list[str] = []
    for one in f.node_indices:
        if isinstance(one, int) and 0 <= one < len(site.labels):
            wanted.append(site.labels[one])
        elif isinstance(one, str) and one in site.labels:
            wanted.append(one)
        else:
            hint = did_you_mean(str(one), site.labels, "Name nodes by their label, or by their number from 0.")
            site.error("unknown_node", f"There is no node «{one}».", "node_indices", hint=hint)
    if not f.node_indices:
        site.error("missing_field", "`nodes_executed` needs «node_indices».", hint="Write `node_indices: [Label]`.")
    return _conjunction([f"nodes[{quoted(label)}].status != null" for label in wanted] or ["false"], site)


def _conjunction(parts: list[str], site: LoweringContext) -> str:
    text = " && ".join(parts)
    if len(text) > _LONGEST:
        hint = "Ask in several conditions."
        site.error("condition_too_long", f"«{site.label}» asks for {len(parts)} nodes at once.", hint=hint)
        return "false"
    return text


def _custom(f: ConditionFields, site: LoweringContext) -> str:
    """Only true is true: null and anything else count as false, so that a condition always decides."""
    if not f.expression.strip():
        hint = "Write `expression: score > 80`."
        site.error("missing_field", "`condition_type: custom` needs «expression».", hint=hint)
        return "false"
    used = site.expression(f.expression, "expression")
    if used is None:
        return "false"
    if f.join_policy is None and len(used & site.names) > 1:
        message = f"«{site.label}» decides when the first input comes, but its expression uses several."
        site.warning("condition_takes_any", message, "expression", hint="Write `join_policy: all` to wait for all.")
    return f"({f.expression}) == true"


def _asked(f: ConditionFields, site: LoweringContext) -> Fragment:
    """A person decides: one task that asks, then the condition itself, which reads the answer and hands on what was
    judged. The task leaves that in a variable; the condition fires before anything else can write it."""
    question = site.file(f.judge_by_file, "judge_by_file") if f.judge_by_file else f.judge_by
    if not f.person:
        site.error("missing_field", "`llm_decision` needs «person».", hint="Write `person: Name`.")
    if not question and not f.judge_by_file:
        site.error("missing_field", "`llm_decision` needs «judge_by».", hint="Write the question into `judge_by`.")
    args: dict[str, Any] = {"person": site.person(f.person), "prompt": question, "answer": "yes_no"}
    args |= without_defaults(f, "memorize_to", "at_most")
    parts: dict[str, Any] = {} if f.timeout is None else {"timeout_ms": milliseconds(f.timeout)}
    if f.retry is not None:
        parts["retry"] = retry_of(f.retry)
    kept = f"{site.label}.judged"
    asks = node_of(
        f, site, id=f"{site.label}.ask", origin=site.label, kind="task", group=GROUP, join=join_of(f, site, ANY),
        sets=(Set(name=kept, expr="default"),),
        effect=Effect(executor="llm", args=args), **parts,
    )  # fmt: skip
    holds = f"fn.regex_match(fn.lower(fn.trim(fn.concat(default))), {YES})"
    judged = {"$expr": f"context[{quoted(kept)}]"}
    decides = Node(id=site.label, kind="route", type=site.type, port=_port(f, holds), join=MERGE, value=judged)
    edge = Edge(id=f"{asks.id}>{decides.id}", src=asks.id, dst=decides.id, var="answer")
    return Fragment((asks, decides), asks.id, decides.id, (edge,))


CONDITION = NodeType("condition", ConditionFields, lower, "Publishes on condtrue or on condfalse.")
