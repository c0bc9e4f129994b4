"""Multi-instance activities and loops: the scope in which an activity is done for every item, or again and again."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

from penstock.expr import compile_expression
from penstock.lang.process.expression_names import COUNTS, INSTANCE, SHORT, instance_variables, quoted, replaced_names
from penstock.lang.process.fields import Multi
from penstock.lang.process.lowering_context import LoweringContext
from penstock.lang.process.nodes.asking import COUNT, MOST_INSTANCES
from penstock.lang.process.nodes.contract import Fragment, activity_fields, link
from penstock.net.model import MERGE, Body, Node, Set

#: A count of instances becomes a list of that length, cut out of this text: so many are possible.
_DIGITS = "0" * MOST_INSTANCES
#: How many rounds there have been: before the first one none.
_ROUNDS = "(loopRound + 1)"
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")


def with_instances(inner: Fragment, context: LoweringContext) -> Fragment:
    """The fragment itself, or of a multi-instance activity a scope in which it runs for every item or as a loop."""
    multi = activity_fields(context).multi
    if multi is None:
        return inner
    inner = _with_output(inner, multi, context)
    scope = scope_node(context, instance_body(multi, inner.entry, context), _collected_results(multi))
    return Fragment((scope, *inner.nodes), scope.id, scope.id, inner.core, scope.id, inner.edges)


def _with_output(inner: Fragment, multi: Multi, context: LoweringContext) -> Fragment:
    """What is collected of an instance stands at its end: of its result, and where that has no such name, of the
    instance's variables."""
    node = output_node(multi, context.id, context)
    if node is None:
        return inner
    return replace(
        inner, nodes=(*inner.nodes, node), exit=node.id, edges=(*inner.edges, link(inner.exit, node.id))
    )  # fmt: skip


def output_node(multi: Multi, scope: str, context: LoweringContext) -> Node | None:
    if multi.output is None:
        return None
    text = context.expression(multi.output, "multi/output", multi.item or "item", *INSTANCE)
    roots = instance_variables(compile_expression(text, words=True).roots) if text is not None else set()
    own = {name: f"fn.coalesce(default[{quoted(name)}], {name})" for name in roots}
    value = replaced_names(text, own) if text is not None and own else text or "null"
    return Node(id=f"{context.id}.result", scope=scope, origin=context.id, join=MERGE, value={"$expr": value})


def scope_node(context: LoweringContext, body: Body, sets: tuple[Set, ...] = ()) -> Node:
    f = activity_fields(context)
    type = f.bpmn or f.type or ""
    return Node(
        id=context.id, kind="scope", type=type, label=f.name, join=MERGE, scope=context.scope, body=body, sets=sets
    )  # fmt: skip


def instance_body(multi: Multi, entry: str, context: LoweringContext) -> Body:
    if multi.item and not _NAME.match(multi.item):
        hint = "Use letters, digits and _, not beginning with a digit."
        context.error("bad_name", f"No expression can read «{multi.item}».", "multi/item", hint=hint)
    if multi.mode == "loop":
        return _loop_body(multi, entry, context)
    until = None if multi.until is None else _condition(multi.until, "multi/until", context, "loopRound")
    mode: Any = "each" if multi.mode == "parallel" else "each_seq"
    item = multi.item or "item"
    return Body(
        mode=mode, entry=entry, items=_items(multi, context), until=until, collect="outputs", locals=(item,),
        fail_fast=True,
        names={item: "item", **INSTANCE, **_counts(until)},
    )  # fmt: skip


def _loop_body(multi: Multi, entry: str, context: LoweringContext) -> Body:
    """BPMN 10.3.8: `most` is a cap on the rounds; without a condition nobody has said when the loop ends."""
    again = "true" if multi.again is None else _condition(multi.again, "multi/again", context, _ROUNDS)
    if multi.again is None and (multi.most is None or multi.test_before):
        hint = "Write `again: …`, an expression that holds as long as there is another round."
        context.error("missing_field", "A loop must say when it ends.", "multi", hint=hint)
    elif multi.again is None:
        message = f"No condition says when this loop ends: it is done {multi.most} times."
        hint = "Write `again: …` where it may end earlier."
        context.warning("loop_by_count", message, "multi", hint=hint)
    limit = f"{_ROUNDS} < {multi.most} && " if multi.most is not None else ""
    text = f"{limit}({again or 'false'})"
    return Body(
        mode="loop", entry=entry, again=text, collect="outputs", before=multi.test_before,
        names={**INSTANCE, **_counts(text)},
    )  # fmt: skip


def _condition(text: str, path: str, context: LoweringContext, counter: str) -> str | None:
    """A condition of several instances. Where a variable has the name of a count, the variable is meant (P-X.8)."""
    variables = {short: f"fn.coalesce(context.variables['{short}'], {name})" for short, name in SHORT.items()}
    inner = context.expression(text, path, "loopCounter", *COUNTS, *SHORT)
    if inner is None:
        return None
    return replaced_names(inner, {**variables, "loopCounter": counter})


def _counts(text: str | None) -> dict[str, str]:
    """The counts that a condition reads; a name that is not read hides nothing."""
    return {name: value for name, value in COUNTS.items() if text and replaced_names(text, {name: ""}) != text}


def _items(multi: Multi, context: LoweringContext) -> str:
    if multi.ask and multi.items is None and multi.count is None:
        return _list_of_length(f"fn.round(default.{COUNT})")
    if (multi.items is None) == (multi.count is None):
        hint = "Write `items: orders`, or `count: 3`."
        context.error("missing_field", "Several instances have either «items» or «count».", "multi", hint=hint)
        return "[]"
    if multi.items is not None:
        return context.expression(multi.items, "multi/items") or "[]"
    if isinstance(multi.count, int):
        if not 0 <= multi.count <= len(_DIGITS):
            hint = f"Write a number from 0 to {len(_DIGITS)}, or a list under `items`."
            context.error("wrong_type", f"{multi.count} instances are not run.", "multi/count", hint=hint)
        return _list_of_length(str(multi.count))
    count = context.expression(str(multi.count), "multi/count") or "0"
    known = f"fn.type_of({count}) == 'integer' && ({count}) >= 0 && ({count}) <= {len(_DIGITS)}"
    return f"fn.if({known}, {_list_of_length(count)}, null)"  # no list: the activity fails


def _list_of_length(count: str) -> str:
    return f"fn.map(fn.split(fn.substring('{_DIGITS}', 0, {count}), ''), 'index')"


def _collected_results(multi: Multi) -> tuple[Set, ...]:
    return (Set(name=multi.collect, expr="output"),) if multi.collect else ()
