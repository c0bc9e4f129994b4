"""The two ends of a run: the assets fetched before its first node, and the check of its output after its last."""

from __future__ import annotations

from typing import Any

from penstock.lang.decision.lowering_context import LoweringContext, SharedContext
from penstock.lang.decision.nodes.fragments import accepts_anything
from penstock.lang.decision.policies import retry_of
from penstock.lang.decision.workflow import Workflow
from penstock.lang.document import child_pointer
from penstock.net.model import INCLUSIVE, Edge, Effect, Node

#: The most documents that one search gives.
_MOST_FOUND = 1000
#: `context` is a reserved root, so no node of an author has these ids.
PREFETCH, OUTPUT = "context.prefetch", "context.output"


def prefetch_node(workflow: Workflow, shared: SharedContext) -> Node | None:
    """A node that fetches the assets of the context before anything else starts; None when it names none (C-64)."""
    assets: list[Any] = []
    for i, entry in enumerate(workflow.context.aas_context):
        at = child_pointer("/context/aas_context", i)
        name = entry
        if isinstance(entry, dict) and isinstance(entry.get("type"), str) and isinstance(entry.get("id"), str):
            name = f"{entry['type']}.{entry['id']}"
        if not isinstance(name, str) or "." not in name:
            hint = 'Write "line.L01", or {"type": "line", "id": "L01"}.'
            shared.report.error("aas_context", "This does not name an asset.", at, hint=hint)
            continue
        assets.append(_template(name, at, workflow, shared))
    for i, entry in enumerate(workflow.context.rag_context):
        named = entry.get("name") if isinstance(entry, dict) else entry
        if not isinstance(named, str) or not named:
            hint = 'Write "similar_cases", or {"name": …, "query": …, "top_k": 5}.'
            at = child_pointer("/context/rag_context", i)
            shared.report.error("rag_context", "This does not name a collection.", at, hint=hint)
        elif isinstance(entry, dict):
            _check_search(entry, child_pointer("/context/rag_context", i), workflow, shared)
    assets = [asset for asset in assets if asset is not None]
    if not assets:
        return None
    shared.prefetched += assets
    return Node(
        id=PREFETCH, kind="task", type="CONTEXT", effect=Effect(executor="context", args={"aas": assets}),
        timeout_ms=30_000, retry=retry_of(workflow.policies.retry), out=(PREFETCH,),
    )  # fmt: skip


def _check_search(search: dict[str, Any], at: str, workflow: Workflow, shared: SharedContext) -> None:
    query, count = search.get("query", ""), search.get("top_k", 5)
    if isinstance(query, str):
        _template(query, f"{at}/query", workflow, shared)
    else:
        hint = 'Write `"query": "${input.text}"`.'
        shared.report.error("rag_context", "«query» must be a text.", f"{at}/query", hint=hint)
    if not isinstance(count, int) or isinstance(count, bool) or not 1 <= count <= _MOST_FOUND:
        hint = f"Write a number from 1 to {_MOST_FOUND}."
        shared.report.error("rag_context", f"«top_k» must be from 1 to {_MOST_FOUND}.", f"{at}/top_k", hint=hint)


def _template(text: str, at: str, workflow: Workflow, shared: SharedContext) -> Any:
    """A template of the context. It belongs to no node, so the first node's context reads it."""
    if "${" not in text or not workflow.nodes:
        return text
    return LoweringContext(next(iter(workflow.nodes.values())), shared).template_at(text, at)


def output_check(
    workflow: Workflow, shared: SharedContext, exits: list[tuple[str, str]]
) -> tuple[list[Node], list[Edge]]:
    """The nodes that check a run's output against `output_schema` when nothing else can move (C-67).

    An inclusive join behind every exit fires once, at the end. A schema that every value fits needs no check."""
    schema = workflow.top.output_schema
    if not isinstance(schema, dict | bool) or accepts_anything(schema) or not exits:
        return [], []
    properties = schema.get("properties") if isinstance(schema, dict) else None
    names = list(properties) if isinstance(properties, dict) else []
    outputs = {name for name in shared.symbols.outputs.values() if name}
    known = {*outputs, *shared.symbols.variables}
    for name in names:
        if name not in known:
            at = child_pointer("/output_schema/properties", name)
            hint = "Name an output of a node so (output.variable), or a context variable."
            shared.report.warning("output_unresolved", f"Nothing gives out «{name}».", at, hint=hint, key=True)
    value = {name: {"$expr": name} for name in (names or sorted(outputs)) if name in known}
    check = Node(
        id=OUTPUT, kind="task", type="OUTPUT", join=INCLUSIVE, timeout_ms=30_000,
        effect=Effect(executor="shape", args={"value": value, "without_null": True, "output": {"schema": schema}}),
    )  # fmt: skip
    nodes = [check]
    nodes += [
        Node(id=f"{OUTPUT}.{name}", type="OUTPUT", origin=OUTPUT, value={"$expr": name}, result=name)
        for name in names if name in shared.symbols.variables and name not in outputs
    ]  # fmt: skip
    edges = [
        Edge(id=f"{src}{'' if port == 'done' else ':' + port}>{OUTPUT}", src=src, port=port, dst=OUTPUT)
        for src, port in dict.fromkeys(exits)
    ]
    edges += [
        Edge(id=f"{before.id}>{after.id}", src=before.id, dst=after.id)
        for before, after in zip(nodes, nodes[1:], strict=False)
    ]
    return nodes, edges
