"""Every state machine of the house, one line each."""

from __future__ import annotations

from penstock.lifecycle.approval import APPROVAL
from penstock.lifecycle.autonomy_proposal import AUTONOMY_PROPOSAL
from penstock.lifecycle.breaker import BREAKER
from penstock.lifecycle.contract import Machine, T
from penstock.lifecycle.decision_node import DECISION_NODE
from penstock.lifecycle.decision_run import DECISION_RUN
from penstock.lifecycle.deployment import DEPLOYMENT
from penstock.lifecycle.diagram_node import DIAGRAM_NODE
from penstock.lifecycle.diagram_run import DIAGRAM_RUN
from penstock.lifecycle.effect import EFFECT
from penstock.lifecycle.firing import FIRING
from penstock.lifecycle.pipeline_run import PIPELINE_RUN
from penstock.lifecycle.pipeline_stage import PIPELINE_STAGE
from penstock.lifecycle.plan_agent import PLAN_AGENT
from penstock.lifecycle.process_run import PROCESS_RUN
from penstock.lifecycle.project_health import PROJECT_HEALTH
from penstock.lifecycle.release import RELEASE
from penstock.lifecycle.run import RUN
from penstock.lifecycle.task import TASK
from penstock.lifecycle.task_execution import TASK_EXECUTION
from penstock.lifecycle.timer import TIMER
from penstock.lifecycle.work_item import WORK_ITEM

MACHINES: dict[str, Machine] = {
    "run": RUN,
    "firing": FIRING,
    "effect": EFFECT,
    "timer": TIMER,
    "work_item": WORK_ITEM,
    "diagram_run": DIAGRAM_RUN,
    "diagram_node": DIAGRAM_NODE,
    "breaker": BREAKER,
    "decision_run": DECISION_RUN,
    "decision_node": DECISION_NODE,
    "approval": APPROVAL,
    "process_run": PROCESS_RUN,
    "pipeline_run": PIPELINE_RUN,
    "pipeline_stage": PIPELINE_STAGE,
    "task": TASK,
    "plan_agent": PLAN_AGENT,
    "task_execution": TASK_EXECUTION,
    "project_health": PROJECT_HEALTH,
    "release": RELEASE,
    "deployment": DEPLOYMENT,
    "autonomy_proposal": AUTONOMY_PROPOSAL,
}

__all__ = ["MACHINES", "Machine", "T"]
