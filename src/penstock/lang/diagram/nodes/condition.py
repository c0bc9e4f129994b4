"""condition (seed section 4): evaluates to true or false and publishes on condtrue or condfalse only.

What was decided never depends on what the target is waiting for (D-X.3): the port is an expression over this node's
inputs and the run's counters, and every edge of that port gets one token.
"""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal

from msgspec import Meta

from penstock.lang.diagram.lowering_context import ROOTS, LoweringContext, quoted
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
    net_node,
    retry_of,
    single_node,
    without_defaults,
)
from penstock.lang.diagram.statements import check_statements
from penstock.lang.report import did_you_mean
from penstock.net.model import MERGE, Edge, Effect, Node, Set

#: What counts as yes at the beginning of a person's answer; everything else is no.
YES = "'^[^a-z]*(yes|y|true|valid|approved?|accept(ed)?|correct|pass(ed)?)([^a-z]|$)'"
#: Fields that only one condition_type reads.
_FIELD_OWNERS = {"expression": "custom", "node_indices": "nodes_executed"} | dict.fromkeys(
    ("person", "judge_by", "judge_by_file", "memorize_to", "at_most", "retry", "timeout"), "llm_decision"
)
_MAX_LENGTH = 3500  # characters of a conjunction; an expression has at most 4096


class ConditionFields(NodeFields):
    condition_type: Annotated[
        Literal["detect_max_iterations", "nodes_executed", "check_nodes_executed", "custom", "llm_decision"] | None,
        Meta(description="What is asked. Without it an expression is custom."),
    ] = None
    expression: Annotated[
        str, Meta(description="custom: over labelled inputs, epoch, counters.<label> and branches.<label>.")
    ] = ""
    skippable: Annotated[bool, Meta(description="Nodes after it wait for it only if they have nothing else.")] = False
    negate: Annotated[
        bool, Meta(description="The branches change places; in the light form `flipped: true` says it, too.")
    ] = False
    loop_controller: Annotated[bool, Meta(description="Ways back into its loop begin a new epoch.")] = False
    expose_index_as: Annotated[
        str, Meta(max_length=200, description="A variable that counts its executions from 0, for every node to read.")
    ] = ""
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


def lower(f: ConditionFields, context: LoweringContext) -> Fragment:
    kind = f.condition_type or ("custom" if f.expression else None)
    for field, owner in _FIELD_OWNERS.items():
        if getattr(f, field) and kind is not None and kind.removeprefix("check_") != owner:
            hint = f"Remove it, or write `condition_type: {owner}`."
            context.warning("idle_field", f"«{field}» is used only by `condition_type: {owner}`.", field, hint=hint)
    if kind == "llm_decision":
        return _llm_decision(f, context)
    if kind == "detect_max_iterations":
        condition = _max_iterations_reached(context)
    elif kind in ("nodes_executed", "check_nodes_executed"):
        condition = _nodes_executed(f, context)
    elif kind == "custom":
        condition = _custom(f, context)
    else:
        if "condition_type" not in context.where:
            context.error(
                "missing_field", "A condition needs «condition_type».", hint="Write `condition_type: custom`."
            )
        condition = "false"
    parts = {"kind": "route", "port": _port(f, condition), "join": join_of(f, context, ANY)}
    return single_node(net_node(f, context, **parts, **_counts(f, context)))


def _counts(f: ConditionFields, context: LoweringContext) -> dict[str, Any]:
    """Its executions so far in this epoch, as a variable of the run, set before it decides."""
    if not f.expose_index_as:
        return {}
    if not f.expose_index_as.isidentifier() or f.expose_index_as in (*ROOTS, *context.names):
        message = f"«{f.expose_index_as}» cannot be the name of a variable here."
        hint = "Use letters, digits and underscores, and no name that a connection brings."
        context.error("bad_variable", message, "expose_index_as", hint=hint)
        return {}
    return {"sets": (Set(name=f.expose_index_as, expr="visit - 1"),)}


def _port(f: ConditionFields, condition: str) -> str:
    """`flipped: true` swaps the handles (D-X.16), as `negate` does; a list of two belongs to the drawing."""
    swapped = (f.flipped is True) != f.negate
    yes, no = ("'condfalse'", "'condtrue'") if swapped else ("'condtrue'", "'condfalse'")
    return f"fn.if({condition}, {yes}, {no})"


def _max_iterations_reached(context: LoweringContext) -> str:
    limits = context.limits()
    if limits is None:
        message = "The diagram is too large to find what leads to each of its detect_max_iterations."
        context.error("condition_too_long", message, "condition_type", hint="Write `counters.Label >= 3` instead.")
        return "false"
    if not limits:
        context.error(
            "no_max_iteration",
            f"«{context.label}» looks for person_jobs at their limit, but none with max_iteration leads to it.",
            "condition_type",
            hint="Give the person_job in this loop a `max_iteration`.",
        )
        return "false"
    return _conjunction([f"counters[{quoted(label)}] >= {most}" for label, most in limits], context)


def _nodes_executed(f: ConditionFields, context: LoweringContext) -> str:
    labels: list[str] = []
    for index in f.node_indices:
        if isinstance(index, int) and 0 <= index < len(context.labels):
            labels.append(context.labels[index])
        elif isinstance(index, str) and index in context.labels:
            labels.append(index)
        else:
            hint = did_you_mean(str(index), context.labels, "Name nodes by their label, or by their number from 0.")
            context.error("unknown_node", f"There is no node «{index}».", "node_indices", hint=hint)
    if not f.node_indices:
        context.error("missing_field", "`nodes_executed` needs «node_indices».", hint="Write `node_indices: [Label]`.")
    return _conjunction([f"nodes[{quoted(label)}].status != null" for label in labels] or ["false"], context)


def _conjunction(parts: list[str], context: LoweringContext) -> str:
    text = " && ".join(parts)
    if len(text) > _MAX_LENGTH:
        hint = "Ask in several conditions."
        context.error("condition_too_long", f"«{context.label}» asks for {len(parts)} nodes at once.", hint=hint)
        return "false"
    return text


def _custom(f: ConditionFields, context: LoweringContext) -> str:
    """Only true is true: null and anything else count as false, so that a condition always decides."""
    if not f.expression.strip():
        hint = "Write `expression: score > 80`."
        context.error("missing_field", "`condition_type: custom` needs «expression».", hint=hint)
        return "false"
    read = context.expression(f.expression, "expression", f.expose_index_as)
    if read is None:
        return "false"
    expression, names_used = read
    if f.join_policy is None and len(names_used & context.names) > 1:
        message = f"«{context.label}» decides when the first input comes, but its expression uses several."
        context.warning("condition_takes_any", message, "expression", hint="Write `join_policy: all` to wait for all.")
    return f"({expression}) == true"


def _llm_decision(f: ConditionFields, context: LoweringContext) -> Fragment:
    """A person decides: a task asks, then the condition reads the answer and passes on what was judged.

    The task keeps that in a variable; the condition fires before anything else can write it."""
    question = context.prompt(f.judge_by_file, "judge_by_file") if f.judge_by_file else f.judge_by
    if not f.person:
        context.error("missing_field", "`llm_decision` needs «person».", hint="Write `person: Name`.")
    if not question and not f.judge_by_file:
        context.error("missing_field", "`llm_decision` needs «judge_by».", hint="Write the question into `judge_by`.")
    check_statements(question, "judge_by_file" if f.judge_by_file else "judge_by", context)
    args: dict[str, Any] = {"person": context.person(f.person), "prompt": question, "answer": "yes_no"}
    args |= without_defaults(f, "memorize_to", "at_most") | context.variables(question)
    parts: dict[str, Any] = {} if f.timeout is None else {"timeout_ms": milliseconds(f.timeout)}
    if f.retry is not None:
        parts["retry"] = retry_of(f.retry)
    variable = f"{context.label}.judged"
    ask = net_node(
        f, context, id=f"{context.label}.ask", origin=context.label, kind="task", group=GROUP,
        join=join_of(f, context, ANY), sets=(Set(name=variable, expr="default"),),
        effect=Effect(executor="llm", args=args), **parts,
    )  # fmt: skip
    condition = f"fn.regex_match(fn.lower(fn.trim(fn.concat(default))), {YES})"
    judged_value = {"$expr": f"context[{quoted(variable)}]"}
    decide = Node(
        id=context.label, kind="route", type=context.type, port=_port(f, condition), join=MERGE, value=judged_value,
        **_counts(f, context),
    )  # fmt: skip
    edge = Edge(id=f"{ask.id}>{decide.id}", src=ask.id, dst=decide.id, var="answer")
    return Fragment((ask, decide), ask.id, decide.id, (edge,))


CONDITION = NodeType("condition", ConditionFields, lower, "Publishes on condtrue or on condfalse.")
