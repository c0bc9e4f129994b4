"""The policies of a workflow that the host carries out while a run lives, as data of the net."""

from __future__ import annotations

from typing import Any

import msgspec

from penstock.lang.decision.nodes.approval import ApprovalFields
from penstock.lang.decision.nodes.compensation import CompensationFields
from penstock.lang.decision.nodes.fragments import output_schema_of
from penstock.lang.decision.workflow import Workflow


def _answer_schema(f: ApprovalFields) -> Any:
    """The schema that a decision is checked against when it is posted; none when the output is made from it later."""
    reshaped = f.output is not None and (f.output.expression is not None or f.output.transform is not None)
    return None if reshaped else output_schema_of(f)


def host_policies(workflow: Workflow) -> dict[str, Any]:
    """What the host does for a run, as data: only what the document states (C-84), with its defaults filled in."""
    policies = workflow.policies
    stated: dict[str, Any] = {}
    if workflow.top.tenant_id:
        stated["tenant"] = workflow.top.tenant_id
    for name in ("checkpoint", "dlq", "compensation"):
        policy = getattr(policies, name)
        if policy is not None:
            stated[name] = msgspec.to_builtins(policy)
    nodes: dict[str, dict[str, Any]] = {}
    for id, node in workflow.nodes.items():
        node_policies: dict[str, Any] = {}
        if node.fields.checkpoint is not None:
            node_policies["checkpoint"] = msgspec.to_builtins(node.fields.checkpoint)
        if node.fields.audit is not None:
            node_policies["audit"] = msgspec.to_builtins(node.fields.audit)
        if isinstance(node.fields, CompensationFields):
            retry = node.fields.retry
            node_policies["on_failure"] = (retry.on_failure if retry is not None else None) or "alert_and_manual"
            node_policies.setdefault("audit", {"log_reason": True, "log_result": True})
        if isinstance(node.fields, ApprovalFields) and (schema := _answer_schema(node.fields)) is not None:
            node_policies["answer"] = schema
        if node_policies:
            nodes[id] = node_policies
    if nodes:
        stated["nodes"] = nodes
    return stated
