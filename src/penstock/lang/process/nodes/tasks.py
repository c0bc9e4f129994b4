"""humanTask and serviceTask: the mode decides whether a person or an agent does it (P-3.1.2, P-4.2)."""

from __future__ import annotations

from typing import Any

from penstock.lang.process.lowering_context import LoweringContext
from penstock.lang.process.nodes.activities import VARIABLES, work_item_fragment
from penstock.lang.process.nodes.contract import ElementType, Fragment, activity_fields
from penstock.lang.process.nodes.job_task import lower_job
from penstock.net.model import Effect


def lower(context: LoweringContext) -> Fragment:
    """Every item carries its agent, so that its mode can be switched (P-X.40). What a tool does, nobody else does, nor
    what a worker outside does."""
    f = activity_fields(context)
    if f.job and f.type != "humanTask":
        return lower_job(context)
    if f.tool:
        return work_item_fragment(context, Effect(executor="tool", args=tool_args(context)), agent=True)
    if f.python_code is not None:
        hint = "Make it a scriptTask, or remove the code."
        context.warning("idle_field", "«python_code» is run only by a scriptTask.", "python_code", hint=hint)
    revision = {
        "remarks": {"$expr": "feedback"},
        "draft": {"$expr": "draft"},
    }  # what a person said of the agent's last draft
    effect = Effect(executor="agent", args={**agent_args(context), **revision})
    return work_item_fragment(
        context, effect, agent=f.agent_mode != "MANUAL", approve=f.agent_mode == "SUPERVISED", modes=True
    )


def tool_args(context: LoweringContext) -> dict[str, Any]:
    """The tool by its name, and what it is given."""
    f = activity_fields(context)
    context.shared.dependencies.append(("tool", f.tool, context.at("tool")))
    args: dict[str, Any] = {"tool": f.tool, "data": VARIABLES, "activity_id": context.id}
    if f.params is not None:
        args["params"] = context.value(f.params, "params")
    return {**args, "timeout_s": context.element.orchestration.timeout_s}


def agent_args(context: LoweringContext) -> dict[str, Any]:
    """P-4.3.4: the instruction, the data and the tools; and the agent's own settings."""
    f, orchestration = activity_fields(context), context.element.orchestration
    if f.agent:
        context.shared.dependencies.append(("agent", f.agent, context.at("agent")))
    for i, tool in enumerate(orchestration.tools):
        context.shared.dependencies.append(("tool", tool, context.at(f"orchestration/tools/{i}")))
    settings = {**context.literal(context.element.settings, "orchestration"), "timeout_s": orchestration.timeout_s}
    if orchestration.tokens is not None:
        settings["tokens"] = orchestration.tokens
    return {
        "agent": f.agent,
        "activity_id": context.id,
        "activity_name": f.name,
        "instruction": f.instruction,
        "input_data": {"$expr": "input_data"} if f.input_data else VARIABLES,
        "variables": VARIABLES,
        "tools": list(orchestration.tools),
        "schema": context.literal(f.form, "form"),
        "orchestration": settings,
    }


HUMAN_TASK = ElementType("humanTask", lower, "A person does it, or an agent in the person's place.", work=True)
SERVICE_TASK = ElementType("serviceTask", lower, "A system or an agent does it, or a person.", work=True)
