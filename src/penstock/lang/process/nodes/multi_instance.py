"""Multi-instance activities and loops: the scope in which an activity is done for every item, or again and again."""

from __future__ import annotations

import re
from typing import Any

from penstock.lang.process.expression_names import COUNTS
from penstock.lang.process.fields import Multi
from penstock.lang.process.lowering_context import LoweringContext
from penstock.lang.process.nodes.contract import Fragment, activity_fields, link, node_base
from penstock.net.model import MERGE, Body, Node, Set

#: A count of instances becomes a list of that length, cut out of this text: so many are possible.
_DIGITS = "0" * 1000
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")


def with_instances(inner: Fragment, context: LoweringContext) -> Fragment:
    """The fragment itself, or of a multi-instance activity a scope in which it runs for every item or as a loop."""
    multi = activity_fields(context).multi
    if multi is None:
        return inner
    nodes, edges, entry = list(inner.nodes), list(inner.edges), inner.entry
    if multi.item and multi.item != "item":
        name = f"{context.id}.item"
        sets = (Set(name=multi.item, expr="item"),)
        nodes.insert(0, Node(**{**node_base(context, name), "type": ""}, value={"$expr": "item"}, sets=sets))
        edges.insert(0, link(name, entry))
        entry = name
    scope = scope_node(context, instance_body(multi, entry, context), _collected_results(multi))
    return Fragment((scope, *nodes), scope.id, scope.id, inner.core, scope.id, tuple(edges))


def scope_node(context: LoweringContext, body: Body, sets: tuple[Set, ...] = ()) -> Node:
    f = activity_fields(context)
    type = f.bpmn or f.type or ""
    return Node(
        id=context.id, kind="scope", type=type, label=f.name, join=MERGE, scope=context.scope, body=body, sets=sets
    )  # fmt: skip


def instance_body(multi: Multi, entry: str, context: LoweringContext) -> Body:
    local = (multi.item or "item",)
    if multi.item and not _NAME.match(multi.item):
        hint = "Use letters, digits and _, not beginning with a digit."
        context.error("bad_name", f"No expression can read «{multi.item}».", "multi/item", hint=hint)
    if multi.mode == "loop":
        again = context.expression(multi.again, "multi/again", "round", "last") if multi.again else "true"
        if multi.again is None and multi.most is None:
            hint = "Write `again: …` or `most: 10`."
            context.error("missing_field", "A loop must say when it ends.", "multi", hint=hint)
        limit = f"round + 1 < {multi.most} && " if multi.most is not None else ""
        return Body(mode="loop", entry=entry, again=f"{limit}({again or 'false'})", collect="outputs", locals=local)
    until = None
    if multi.until is not None:
        until = context.expression(
            with_count_names(multi.until), "multi/until", "done", "failed", "open", "total", "last", "round"
        )
    mode: Any = "each" if multi.mode == "parallel" else "each_seq"
    return Body(mode=mode, entry=entry, items=_items(multi, context), until=until, collect="outputs", locals=local)


def with_count_names(text: str) -> str:
    """A completion condition in which BPMN's names for counts are replaced by ours."""
    return re.sub(r"[A-Za-z]\w*", lambda match: COUNTS.get(match[0], match[0]), text)


def _items(multi: Multi, context: LoweringContext) -> str:
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
