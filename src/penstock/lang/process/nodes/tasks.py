"""humanTask and serviceTask: the mode decides whether a person or an agent does it (P-3.1.2, P-4.2)."""

from __future__ import annotations

from typing import Any

from penstock.lang.process.lowering_context import LoweringContext
from penstock.lang.process.nodes.contract import ElementType, Fragment
from penstock.lang.process.nodes.parts import VARIABLES, activity_of, work_of
from penstock.net.model import Effect


def lower(site: LoweringContext) -> Fragment:
    """Every item carries its agent, so that its mode can be switched (P-X.40)."""
    f = activity_of(site)
    if f.python_code is not None:
        hint = "Make it a scriptTask, or remove the code."
        site.warning("idle_field", "«python_code» is run only by a scriptTask.", "python_code", hint=hint)
    again = {"remarks": {"$expr": "feedback"}, "draft": {"$expr": "draft"}}  # what a person has said of its last draft
    effect = Effect(executor="agent", args={**agent_args(site), **again})
    return work_of(site, effect, agent=f.agent_mode != "MANUAL", approve=f.agent_mode == "SUPERVISED", modes=True)


def agent_args(site: LoweringContext) -> dict[str, Any]:
    """P-4.3.4: the instruction, the data and the tools; and the agent's own settings."""
    f, orchestration = activity_of(site), site.element.orchestration
    if f.agent:
        site.shared.depends.append(("agent", f.agent, site.at("agent")))
    for i, tool in enumerate(orchestration.tools):
        site.shared.depends.append(("tool", tool, site.at(f"orchestration/tools/{i}")))
    settings = {**site.literal(site.element.settings, "orchestration"), "timeout_s": orchestration.timeout_s}
    if orchestration.tokens is not None:
        settings["tokens"] = orchestration.tokens
    return {
        "agent": f.agent,
        "activity_id": site.id,
        "activity_name": f.name,
        "instruction": f.instruction,
        "input_data": {"$expr": "input_data"} if f.input_data else VARIABLES,
        "variables": VARIABLES,
        "tools": list(orchestration.tools),
        "schema": site.literal(f.form, "form"),
        "orchestration": settings,
    }


HUMAN_TASK = ElementType("humanTask", lower, "A person does it, or an agent in the person's place.", work=True)
SERVICE_TASK = ElementType("serviceTask", lower, "A system or an agent does it, or a person.", work=True)
