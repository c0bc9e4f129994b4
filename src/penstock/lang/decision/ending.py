"""What surrounds a run: what is fetched before it starts, checked when it ends, and done for it by the host."""

from __future__ import annotations

from typing import Any

import msgspec

from penstock.lang.decision.lowering_context import LoweringContext, Shared
from penstock.lang.decision.nodes.approval import ApprovalFields
from penstock.lang.decision.nodes.compensation import CompensationFields
from penstock.lang.decision.nodes.parts import anything, schema_of
from penstock.lang.decision.policies import retry_of
from penstock.lang.decision.schema import Workflow
from penstock.lang.document import step
from penstock.net.model import INCLUSIVE, Edge, Effect, Node

#: `context` is a reserved root, so no node of an author has these ids.
#: the most documents that one search gives
_MOST_FOUND = 1000
PREFETCH, OUTPUT = "context.prefetch", "context.output"


def context_ahead(workflow: Workflow, shared: Shared) -> Node | None:
    """C-64: the assets that the context names are fetched first; what a node reads of them is there already."""
    wanted: list[Any] = []
    for i, one in enumerate(workflow.context.aas_context):
        at = step("/context/aas_context", i)
        name = one
        if isinstance(one, dict) and isinstance(one.get("type"), str) and isinstance(one.get("id"), str):
            name = f"{one['type']}.{one['id']}"
        if not isinstance(name, str) or "." not in name:
            hint = 'Write "line.L01", or {"type": "line", "id": "L01"}.'
            shared.report.error("aas_context", "This does not name an asset.", at, hint=hint)
            continue
        wanted.append(_template(name, at, workflow, shared))
    for i, one in enumerate(workflow.context.rag_context):
        named = one.get("name") if isinstance(one, dict) else one
        if not isinstance(named, str) or not named:
            hint = 'Write "similar_cases", or {"name": …, "query": …, "top_k": 5}.'
            at = step("/context/rag_context", i)
            shared.report.error("rag_context", "This does not name a collection.", at, hint=hint)
        elif isinstance(one, dict):
            _search(one, step("/context/rag_context", i), workflow, shared)
    wanted = [one for one in wanted if one is not None]
    if not wanted:
        return None
    shared.prefetched += wanted
    return Node(
        id=PREFETCH, kind="task", type="CONTEXT", effect=Effect(executor="context", args={"aas": wanted}),
        timeout_ms=30_000, retry=retry_of(workflow.policies.retry), out=(PREFETCH,),
    )  # fmt: skip


def _search(one: dict[str, Any], at: str, workflow: Workflow, shared: Shared) -> None:
    query, count = one.get("query", ""), one.get("top_k", 5)
    if isinstance(query, str):
        _template(query, f"{at}/query", workflow, shared)
    else:
        hint = 'Write `"query": "${input.text}"`.'
        shared.report.error("rag_context", "«query» must be a text.", f"{at}/query", hint=hint)
    if not isinstance(count, int) or isinstance(count, bool) or not 1 <= count <= _MOST_FOUND:
        hint = f"Write a number from 1 to {_MOST_FOUND}."
        shared.report.error("rag_context", f"«top_k» must be from 1 to {_MOST_FOUND}.", f"{at}/top_k", hint=hint)


def _template(text: str, at: str, workflow: Workflow, shared: Shared) -> Any:
    """Read as any text of the document is; there is no node yet whose it were."""
    if "${" not in text or not workflow.nodes:
        return text
    return LoweringContext(next(iter(workflow.nodes.values())), shared).text_at(text, at)


def ending(workflow: Workflow, shared: Shared, leaving: list[tuple[str, str]]) -> tuple[list[Node], list[Edge]]:
    """C-67: when nothing else can move, the outputs are put together and held against the schema. An inclusive join
    behind every node fires once, at the end: that is the end. A schema that anything fits needs none."""
    schema = workflow.top.output_schema
    if not isinstance(schema, dict | bool) or anything(schema) or not leaving:
        return [], []
    properties = schema.get("properties") if isinstance(schema, dict) else None
    names = list(properties) if isinstance(properties, dict) else []
    outputs = {name for name in shared.names.out.values() if name}
    known = {*outputs, *shared.names.variables}
    for name in names:
        if name not in known:
            at = step("/output_schema/properties", name)
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
        for name in names if name in shared.names.variables and name not in outputs
    ]  # fmt: skip
    edges = [
        Edge(id=f"{src}{'' if port == 'done' else ':' + port}>{OUTPUT}", src=src, port=port, dst=OUTPUT)
        for src, port in dict.fromkeys(leaving)
    ]
    edges += [
        Edge(id=f"{one.id}>{after.id}", src=one.id, dst=after.id) for one, after in zip(nodes, nodes[1:], strict=False)
    ]
    return nodes, edges


def _asked(f: ApprovalFields) -> Any:
    """What a decision is held against before it is one. What is made of it first cannot be known by then."""
    made = f.output is not None and (f.output.expression is not None or f.output.transform is not None)
    return None if made else schema_of(f)


def policies_of(workflow: Workflow) -> dict[str, Any]:
    """What the host does for a run, as data: only what the document states (C-84), with its defaults filled in."""
    policies = workflow.policies
    stated: dict[str, Any] = {}
    if workflow.top.tenant_id:
        stated["tenant"] = workflow.top.tenant_id
    for name in ("checkpoint", "dlq", "compensation"):
        given = getattr(policies, name)
        if given is not None:
            stated[name] = msgspec.to_builtins(given)
    nodes: dict[str, dict[str, Any]] = {}
    for id, one in workflow.nodes.items():
        about: dict[str, Any] = {}
        if one.fields.checkpoint is not None:
            about["checkpoint"] = msgspec.to_builtins(one.fields.checkpoint)
        if one.fields.audit is not None:
            about["audit"] = msgspec.to_builtins(one.fields.audit)
        if isinstance(one.fields, CompensationFields):
            retry = one.fields.retry
            about["on_failure"] = (retry.on_failure if retry is not None else None) or "alert_and_manual"
            about.setdefault("audit", {"log_reason": True, "log_result": True})
        if isinstance(one.fields, ApprovalFields) and (schema := _asked(one.fields)) is not None:
            about["answer"] = schema
        if about:
            nodes[id] = about
    if nodes:
        stated["nodes"] = nodes
    return stated
