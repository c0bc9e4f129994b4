"""Lowers a plan to a net: a work node for each task, an edge for each dependency, a pool of agents for all of them.

A task waits for the start and for every task it depends on. It fires once: later tokens vanish. An optional dependency
passes by whichever way the other task ends. A task that is over when the plan is released is a route that passes on
what it ended with, so that statuses in files survive a lost database (T-X.38). A task with a schedule is a template
and has no node: each of its times is a task of its own (T-X.40).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from penstock.errors import Place
from penstock.lang.contract import Lowered, Setting
from penstock.lang.plan.checks import Checked, check_plan
from penstock.lang.plan.definition import DEFAULT_AGENT, Part, Plan
from penstock.lang.plan.dependencies import OVER, Dependency, order_key
from penstock.lang.plan.fields import AgentFields, PlanFields, TaskFields
from penstock.lang.report import Report
from penstock.net.model import MERGE, Declares, Edge, Effect, Net, Node, OnError, Pool, Retry, Work

POOL, EXECUTOR, TASK, START = "agents", "cli_agent", "task", "start"
#: the ports by which a task ends otherwise than completed
FAILED, CANCELLED = "failed", "cancelled"
_ON_ERROR = (OnError(match="fatal", action=f"halt:{FAILED}"), OnError(match="*", action=f"park:{FAILED}"))
_LIMITS = (
    "timeout_s", "heartbeat_s", "term_s", "kill_s", "review_below", "recovery_complete_at", "merge", "env",
    "criterion_timeout_s", "tasks_dir",
)  # fmt: skip
#: what every attempt is told beside its task; the agent is the place that it got
_AROUND: dict[str, Any] = {
    "project": {"$expr": "input.project"},
    "project_id": {"$expr": "input.project_id"},
    "trusted": {"$expr": "input.trusted"},
    "agent": {"$expr": "config.agents[place]"},
    "feedback": {"$expr": "feedback"},
}


def lower(plan: Plan, report: Report, setting: Setting) -> Lowered | None:
    checked = check_plan(plan)
    if not plan.complete or any(finding.severity == "error" for finding in report.findings):
        return None
    lowering = _Lowering(plan, checked)
    lowering.build()
    settings = plan.settings
    agents = _agents(plan)
    config = {
        "agents": agents,
        "skills": {part.fields.id: part.fields.text for part in plan.skills},
        "limits": _limits(settings),
    }
    net = Net(
        name=settings.name, language="plan", nodes=tuple(lowering.nodes), edges=tuple(lowering.edges),
        pools={POOL: Pool(places=tuple(sorted(agents)), most=settings.max_concurrent)}, on_stuck="stop",
        declares=Declares(config=config, policies={"plan": _about(plan, checked, agents)}),
        source_map=lowering.places,
    )  # fmt: skip
    return Lowered(net)


class _Lowering:
    def __init__(self, plan: Plan, checked: Checked) -> None:
        self.plan, self.checked = plan, checked
        self.tasks = {part.fields.id: part for part in plan.tasks if not part.fields.schedule}
        self.start = START if START not in self.tasks else f".{START}"
        self.nodes: list[Node] = []
        self.edges: list[Edge] = []
        self.places: dict[str, Place] = {}
        self.at: dict[str, Place] = {}  # the places of parts, by pointer
        settings = plan.settings
        delays = tuple(round(seconds * 1000) for seconds in settings.retry_delays_s) or (0,)
        self.retry = Retry(max=settings.max_retries, delays_ms=delays)
        doubtful = f"draft.confidence < {settings.review_below} && !draft.completed_by_recovery"
        reviewers = [each if ":" in each else f"user:{each}" for each in settings.reviewers or ()]
        about = {"data": {"project": {"$expr": "input.project_id"}}}
        self.work = Work(agent=True, approve_if=doubtful, alone=True, candidates=reviewers or None, prompt=about)

    def build(self) -> None:
        self.nodes.append(Node(id=self.start, kind="start", type="start"))
        created = self.checked.created
        parts = list(self.tasks.values())
        parts.sort(key=lambda part: order_key(part.fields.priority, created[part.fields.id], part.fields.id))
        for rank, part in enumerate(parts):
            self._task(part, rank)
        for part in parts:
            if part.fields.status not in OVER:
                for dependency in self.checked.depends_on[part.fields.id]:
                    self._dependency(part, dependency)

    def _task(self, part: Part, rank: int) -> None:
        task: TaskFields = part.fields
        common: dict[str, Any] = {"id": task.id, "type": TASK, "label": task.title or task.id, "priority": rank}
        if task.status in OVER:
            port = None if task.status == "completed" else f"'{task.status}'"
            self._add(Node(kind="route", port=port, **common), part)
        else:
            node = Node(
                kind="work", pool=POOL, place=task.assigned_agent or "", max_iter=1, at_max="absorb",
                effect=Effect(executor=EXECUTOR, args=self._args(task)), retry=self.retry, on_error=_ON_ERROR,
                work=self.work, **common,
            )  # fmt: skip
            self._add(node, part)
        self._link(self.start, task.id, part)

    def _dependency(self, part: Part, dependency: Dependency) -> None:
        """T-X.29: resolved is completed; an optional one, whatever it ended with."""
        other, task = dependency.id, part.fields.id
        if not dependency.optional:
            return self._link(other, task, part)
        merge = f".{other}>{task}"
        self._add(Node(id=merge, type="merge", origin=task, join=MERGE, max_iter=1, at_max="absorb"), part)
        for port in ("done", FAILED, CANCELLED):
            self._link(other, merge, part, port=port)
        return self._link(merge, task, part)

    def _args(self, task: TaskFields) -> dict[str, Any]:
        about: dict[str, Any] = {
            "id": task.id,
            "title": task.title or task.id,
            "description": task.description,
            "references": task.references,
            "success_criteria": task.success_criteria,
            "file": task.file,
            **({"skill": task.skill} if task.skill else {}),
        }
        if task.skill and any(part.fields.id == task.skill for part in self.plan.skills):
            about["skill_text"] = {"$expr": f"config.skills['{task.skill}']"}
        own = None if task.timeout_s is None else {**_limits(self.plan.settings), "timeout_s": task.timeout_s}
        return {**_AROUND, "task": about, "limits": own or {"$expr": "config.limits"}}

    def _add(self, node: Node, part: Part) -> None:
        self.nodes.append(node)
        self.places[node.id] = self._place(part)

    def _link(self, src: str, dst: str, part: Part, *, port: str = "done") -> None:
        edge = Edge(id=f"{src}{'' if port == 'done' else ':' + port}>{dst}", src=src, dst=dst, port=port)
        self.edges.append(edge)
        self.places[edge.id] = self._place(part)

    def _place(self, part: Part) -> Place:
        place = self.at.get(part.pointer)
        if place is None:
            place = self.at[part.pointer] = self.plan.report.place(f"{part.pointer}/id")
        return place


def _agents(plan: Plan) -> dict[str, dict[str, Any]]:
    """T-X.9: those of the plan, and the implicit one."""
    agents: dict[str, dict[str, Any]] = {}
    parts: list[AgentFields] = [part.fields for part in plan.agents]
    if not any(agent.name == DEFAULT_AGENT for agent in parts):
        parts.append(AgentFields(name=DEFAULT_AGENT))
    texts = {part.fields.id: part.fields.text for part in plan.skills}
    for agent in parts:
        preset, command = agent.preset, agent.command
        if preset is None and command is None:
            preset, command = plan.settings.preset, plan.settings.command
        agents[agent.name] = {
            "name": agent.name,
            **({"preset": preset} if preset else {}),
            **({"command": command} if command else {}),
            "skills": agent.skills,
            "instructions": _instructions(agent, texts),
            "env": agent.env,
        }
    return agents


def _instructions(agent: AgentFields, texts: Mapping[str, str]) -> str:
    """The skills that an agent always has stand below what it is told."""
    return "\n\n".join(text for text in (agent.instructions, *(texts.get(id, "") for id in agent.skills)) if text)


def _limits(settings: PlanFields) -> dict[str, Any]:
    budget = {} if settings.budget is None else _given(settings.budget)
    return {**{name: getattr(settings, name) for name in _LIMITS}, "budget": budget}


def _given(part: Any) -> dict[str, Any]:
    values: dict[str, Any] = msgspec.to_builtins(part)
    return {name: value for name, value in values.items() if value is not None}


def _about(plan: Plan, checked: Checked, agents: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """What rows, views and the board read of a plan, without reading its document again."""
    settings = {name: value for name, value in _given(plan.settings).items() if name not in ("file", "lines", "name")}
    return {
        "name": plan.settings.name,
        "settings": settings,
        "tasks": {part.fields.id: _about_task(part.fields) for part in plan.tasks},
        "agents": {
            name: {key: agent[key] for key in ("preset", "command", "skills") if key in agent}
            for name, agent in sorted(agents.items())
        },
        "removed": [{"task": r.task, "on": r.on, "weight": r.weight} for r in checked.removed],
    }


def _about_task(task: TaskFields) -> dict[str, Any]:
    return {
        "title": task.title or task.id,
        "file": task.file,
        "depends_on": task.depends_on,
        "priority": task.priority,
        "assigned_agent": task.assigned_agent,
        "created": task.created,
        "criteria": len(task.success_criteria),
        **({"schedule": task.schedule} if task.schedule else {}),
        **({"status": task.status} if task.status in OVER else {}),
    }
