"""scriptTask (P-X.17): Python in the sandbox, always by the engine; variables in, the dict `result` out."""

from __future__ import annotations

import ast
from typing import Any

from penstock.lang.process.fields import TopFields
from penstock.lang.process.lowering_context import LoweringContext
from penstock.lang.process.nodes.activities import VARIABLES, work_item_fragment
from penstock.lang.process.nodes.contract import (
    ElementType,
    Fragment,
    activity_fields,
    core_id,
    node_base,
    single_node,
)
from penstock.lang.process.nodes.multi_instance import with_instances
from penstock.net.model import Effect, Node, Set

_ASKS_FOR_ALL = frozenset({"locals", "globals", "vars", "eval", "exec", "dir"})
#: Seconds that a script may take.
TIME_LIMIT = 30


def lower(context: LoweringContext) -> Fragment:
    computes = activity_fields(context).computes
    if computes is not None:
        return _computed(context, computes)
    return work_item_fragment(context, Effect(executor="code", args=code_args(context)), agent=True)


def _computed(context: LoweringContext, computes: dict[str, Any]) -> Fragment:
    """Variables that expressions give: nobody works, and nothing is called."""
    sets = tuple(
        Set(name=name, expr=context.expression(value, f"computes/{name}") or "null")
        if isinstance(value, str) and value.strip().startswith(("${", "="))
        else Set(name=name, value=context.value(value, f"computes/{name}"))
        for name, value in computes.items()
    )
    node = Node(**node_base(context, core_id(context.element)), sets=sets)
    return with_instances(single_node(node), context)


def code_args(context: LoweringContext) -> dict[str, Any]:
    f = activity_fields(context)
    if not (f.python_code or "").strip() and (format := script_format(context.id, context.shared.definition.top)):
        message = f"«{context.element.name}» has a script in {format[:40]}, which is not run here."
        context.error("bpmn_not_supported", message, hint="Write it in Python, or let a person do it.")
    elif not (f.python_code or "").strip():
        hint = 'Write `"python_code": "result = {\'total\': amount * 2}"`.'
        context.error("missing_field", "A scriptTask needs «python_code».", hint=hint)
    states_timeout = "timeout_s" in (f.orchestration or {})
    limit = context.element.orchestration.timeout_s if states_timeout else TIME_LIMIT
    code = f.python_code or ""
    return {"language": "python", "code": code, "timeout": limit, "inputs": _inputs(code)}


def script_format(id: str, top: TopFields) -> str:
    """The language of a script that a BPMN file has, and that is not run."""
    kept = top.extensions.get("script")
    script = kept.get(id) if isinstance(kept, dict) else None
    return str(script.get("format") or "") if isinstance(script, dict) and script.get("text") else ""


def _inputs(code: str) -> dict[str, Any]:
    """The variables that the script names: where many are made side by side, what they do not need would be kept as
    often as there are scripts. A script that asks for all names, or that cannot be read, gets them all."""
    try:
        names = {node.id for node in ast.walk(ast.parse(code)) if isinstance(node, ast.Name)}
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return VARIABLES
    return VARIABLES if names & _ASKS_FOR_ALL else {**VARIABLES, "$only": sorted(names)}


SCRIPT_TASK = ElementType("scriptTask", lower, "Runs Python in the sandbox.", work=True)
