"""A workflow as its facts tell it: its tasks, its agents and the attempts at them (T-1 to T-3, T-5, T-X.14, T-X.15).

What a fact costs does not grow with the plan: only what it touches is written again. Statuses move by the tables in
`lifecycle/`; a move that they do not name is a bug, and parks the run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from copy import copy
from typing import Any, NamedTuple

from penstock.dialects.plan.attempt_ends import ADMIN, ended_status, error_of, note_decision
from penstock.dialects.plan.known_plan import KnownPlan, known_plan
from penstock.dialects.plan.task_states import Agent, Execution, Task, failure_of, long_text, text, told_by
from penstock.dialects.plan.words import workflow_status
from penstock.executors.parts.sessions.session_id import session_id
from penstock.kernel import fact as F
from penstock.kernel.failure import Failure
from penstock.kernel.state import DONE, FAILURE
from penstock.lifecycle import MACHINES
from penstock.net.compiled import Compiled

#: how an attempt ended that did not fail by itself (T-X.3, T-X.32)
_ENDED_BY_HAND = {"cancel": "cancelled", "put_back": "stopped"}


class Change(NamedTuple):
    """T-10.1.4: a task's status has moved; `seq` is the number of the fact that moved it."""

    seq: int
    task: str
    was: str
    to: str
    agent: str | None


class TaskFold:
    """Of one run, turn by turn. What it has heard so far is all that it knows: whoever loads a run again lets it hear
    the journal first. `fresh_…` and `changes` are those of the last turn."""

    def __init__(self, net: Compiled, tenant: str, run: str, resolve: Callable[[Any], Any]) -> None:
        self.tenant, self.run, self.resolve = tenant, run, resolve
        self.nets = {net.hash: net}
        self.known: KnownPlan = known_plan(net)
        self.project = net.net.name
        self.tasks: dict[str, Task] = {}
        self.agents: dict[str, Agent] = {}
        self.firings: dict[int, tuple[str, str]] = {}  # the task, and the key of its effect
        self.open: dict[int, Execution] = {}
        self.stopping: dict[int, str] = {}
        self.resumes: set[str] = set()  # tasks whose next attempt goes on where the last one ended (T-X.21)
        self.status, self.stopped = "CREATED", dict[str, str]()
        self._begin()

    def _begin(self) -> None:
        self.seq = self.at = 0
        self.began = False
        self.changes: list[Change] = []
        self.fresh_tasks: dict[str, Task] = {}
        self.fresh_agents: dict[str, Agent] = {}
        self.fresh_executions: dict[str, Execution] = {}

    def follow(self, net: Compiled) -> None:
        """A net that a fact of the next turn goes over to."""
        self.nets[net.hash] = net

    def hear(self, facts: Iterable[Any], first: int, at: int) -> None:
        """The facts of a turn; `first` is the number of the first."""
        self._begin()
        self.at = at
        for self.seq, fact in enumerate(facts, first):
            hear = _HEARD.get(fact[0])
            if hear is not None:
                hear(self, fact)

    @property
    def workflow(self) -> tuple[str, str | None]:
        """T-9.1.7: its status, and why it is paused."""
        why = next(iter(self.stopped.values()), None)
        status = workflow_status(self.status, why)
        return status, why if status == "paused" else None

    # -- the run -------------------------------------------------------------------------------------------------------

    def _started(self, f: Any) -> None:
        given, options = self._value(f[7]), f[8] if isinstance(f[8], Mapping) else {}
        self.project = text(given.get("project_id")) or self.project
        self.status, self.began = "RUNNING", True
        for pool, most in (options.get("pools") or {}).items():
            if not most:
                self.stopped[pool] = "idle"
        self._written()

    def _migrated(self, f: Any) -> None:
        """T-X.8: a document that was edited while the plan runs."""
        self.known = known_plan(self.nets[f[1]])
        self._written()

    def _written(self) -> None:
        """What the document says of tasks and agents, where it is new; what it does not have any more is put aside."""
        where = (self.tenant, self.project)
        for id, known in self.known.tasks.items():
            task = self.tasks.get(id)
            if task is None:
                trigger = "scheduled" if id in self.known.scheduled else "auto"
                task = Task(self.run, id, *where, trigger=trigger, updated_at=self.at)
                task.status = known.get("status") or MACHINES["task"].initial
                self.tasks[id] = task
                before = None
            else:
                before = copy(task)
            task.written(known)
            if task != before:
                self.fresh_tasks[id] = task
        for name in self.known.agents:
            if name not in self.agents or self.agents[name].removed:
                self._agent(name).removed = 0
        for id in self.tasks.keys() - self.known.tasks.keys():
            if not self.tasks[id].removed:
                self._touched(id).removed = 1
        for name in self.agents.keys() - {*self.known.agents}:
            if not self.agents[name].removed:
                self._agent(name).removed = 1

    def _moved(self, f: Any) -> None:
        self.status = f[1]

    def _limited(self, f: Any) -> None:
        _, pool, most, why = f
        if most:
            self.stopped.pop(pool, None)
        else:
            self.stopped[pool] = why

    def _wanted(self, f: Any) -> None:
        """T-5.2.1: somebody has asked for it."""
        id = self.known.nodes.get(f[1])
        if id is not None and f[2] and self.tasks[id].trigger != "manual":
            self._touched(id).trigger = "manual"

    # -- attempts ------------------------------------------------------------------------------------------------------

    def _fired(self, f: Any) -> None:
        id = self.known.nodes.get(f[2])
        if id is not None:
            self.firings[f[1]] = id, f"{self.tenant}/{self.run}/{id}@~{f[4]}#{f[5]}"

    def _asked(self, f: Any) -> None:
        """T-5.2.5: task and agent begin together."""
        found = self.firings.get(f[1])
        if found is None:
            return
        id, key = found
        attempt, agent = f[2], self._agent(f[5] if len(f) > 5 else "default")
        task = self._touched(id)
        self._move(task, "start_task", agent.name)
        task.session, task.attempt, task.started_at = session_id(key, attempt), attempt, self.at
        task.next_attempt_at = task.completed_at = task.confidence = task.reason = None
        task.progress, task.matched, task.review_required, task.completed_by_recovery = 0, "[]", 0, 0
        agent.status = MACHINES["plan_agent"].next(agent.status, "assign_task")
        agent.current_task, agent.last_used = id, self.at
        execution = Execution(
            self.run, task.session, self.tenant, self.project, id, agent.name, attempt,
            MACHINES["task_execution"].initial, self.at, trigger=task.trigger, resume=int(id in self.resumes),
        )  # fmt: skip
        self.resumes.discard(id)
        self.open[f[1]] = self.fresh_executions[execution.session] = execution

    def _answered(self, f: Any) -> None:
        """What was done is told with what becomes of it; that anything else has ended is known now."""
        firing, how, failure = f[1], f[4], failure_of(f[6])
        if how == "done":
            return
        stopped = _ENDED_BY_HAND.get(self.stopping.pop(firing, ""))
        if stopped is not None:
            self._end(firing, told_by(failure), error=stopped, code="STOPPED")
        elif failure is not None:
            self._end_badly(firing, failure)
        elif how == "returned":
            self._end(firing, {}, error="lost", code="RETURNED")
        elif how != "in_doubt":
            self._end(firing, {}, error=how, code="STOPPED")

    def _stopping(self, f: Any) -> None:
        self.stopping[f[1]] = f[2]

    def _attempt_failed(self, f: Any) -> None:
        """T-X.15: pending again before each retry."""
        if f[1] in self.firings:
            task = self._touched(self.firings[f[1]][0])
            self._move(task, "recover")
            task.retry_count += 1
            task.next_attempt_at = f[4]
            task.reason = "retry"

    def _queued(self, f: Any) -> None:
        """T-1.3.6: given back, refused or lost: it waits for an agent again."""
        found = self.firings.get(f[1])
        if found is None:
            return
        self._end(f[1], {}, error="lost", code="RETURNED")
        task = self.tasks[found[0]]
        if task.status == "in_progress":
            task = self._touched(task.id)
            self._move(task, "recover")
            task.review_required, task.reason = 0, text(f[4])

    # -- the end of an attempt -----------------------------------------------------------------------------------------

    def _settled(self, f: Any) -> None:
        _, firing, status, _port, _node, _attempt, _began, body, _type, meta, failure, *_ = f
        found = self.firings.get(firing)
        if found is None:
            return
        self.stopping.pop(firing, None)
        task = self._touched(found[0])
        if status == DONE:
            self._done(firing, task, self._value(body), meta if isinstance(meta, Mapping) else {})
        elif status == FAILURE:
            self._failed(firing, task, failure_of(failure))
        else:
            self._end(firing, {}, error="cancelled", code="STOPPED")
            task.review_required, task.next_attempt_at, task.reason = 0, None, "cancelled"
            self._move(task, "cancel")

    def _done(self, firing: int, task: Task, body: Mapping[str, Any], meta: Mapping[str, Any]) -> None:
        """T-5.2.9, T-X.17: task and agent end together."""
        by_hand = bool(meta.get("resolved"))
        if not by_hand:
            self._end_well(firing, task, body)
        else:
            self._end(firing, {}, error="taken over", code="STOPPED")
        if task.status == "pending":  # T-X.30: through in_progress all the same
            self._move(task, "start_task", ADMIN)
            task.started_at, task.trigger = self.at, "manual"
        if by_hand or meta.get("by"):
            note_decision(task, body, meta)
        task.review_required, task.next_attempt_at, task.completed_at = 0, None, self.at
        self._move(task, "complete_task")

    def _failed(self, firing: int, task: Task, failure: Failure | None) -> None:
        """T-X.1: retries are exhausted, or it was fatal."""
        self._end_badly(firing, failure)
        if task.status == "pending":
            self._move(task, "start_task")
        task.last_error, task.next_attempt_at = error_of(failure)[0], None
        task.reason, task.review_required = None if failure is None else failure.code, 0
        self._move(task, "fail_task")

    def _work_moved(self, f: Any) -> None:
        _, firing, to, event, by, draft, *more = f
        found = self.firings.get(firing)
        if found is None:
            return
        if to == "SUBMITTED":  # T-X.14: done, and doubtful
            task = self._touched(found[0])
            self._end_well(firing, task, self._value(draft))
            task.review_required, task.updated_at = 1, self.at
        elif event in ("reject", "rework"):
            task = self._touched(found[0])
            comment = more[1] if len(more) > 1 else None
            task.review_notes = long_text(f"rejected by {by}: {comment or ''}".rstrip(": "))

    def _swept(self, f: Any) -> None:
        """What was under way is dropped: an effect alone, or with it everything that the run has to do."""
        why, firings, effects = f[2], f[3], f[7]
        for firing in effects:
            self._end(firing, {}, error=_ENDED_BY_HAND.get(why, str(why)), code="STOPPED")
        for firing in firings:
            found = self.firings.get(firing)
            if found is not None:
                self._end(firing, {}, error="cancelled", code="STOPPED")
                task = self.tasks[found[0]]
                if task.status == "in_progress":
                    task = self._touched(task.id)
                    self._move(task, "recover")
                    task.review_required, task.reason = 0, text(str(why))

    def _revived(self, f: Any) -> None:
        """T-X.1: a person tries it again, and retries count anew."""
        found = self.firings.get(f[1])
        if found is not None:
            task = self._touched(found[0])
            task.retry_count, task.reason, task.completed_at = 0, None, None
            task.trigger = "manual"
            self._move(task, "retry")

    # -- executions and agents -----------------------------------------------------------------------------------------

    def _end_well(self, firing: int, task: Task, body: Mapping[str, Any]) -> None:
        """T-3.2.2. T-X.20: what crashed when it was nearly done counts as done, and its execution has failed."""
        if firing not in self.open:
            return
        task.found(body)
        task.review_notes = long_text(body.get("review_notes"))
        task.completed_by_recovery = int(bool(body.get("completed_by_recovery")))
        exit_code = body.get("exit_code")
        if task.completed_by_recovery or exit_code not in (0, None):
            self._end(firing, body, error=f"crashed at {task.progress}%", code="AGENT_CRASHED", counts=True)
        else:
            self._end(firing, body)

    def _end_badly(self, firing: int, failure: Failure | None) -> None:
        if firing not in self.open:
            return
        told, (error, code) = told_by(failure), error_of(failure)
        task = self._touched(self.open[firing].task)
        task.found(told)
        task.last_error = error
        if told.get("resume"):
            self.resumes.add(task.id)
        self._end(firing, told, error=error, code=code, counts=True)

    def _end(
        self, firing: int, told: Mapping[str, Any], *, error: str | None = None, code: str | None = None,
        counts: bool = False,
    ) -> None:  # fmt: skip
        """An attempt is over, and its agent is free. `counts`: it is the agent's failure."""
        execution = self.open.pop(firing, None)
        if execution is None:
            return
        execution.found(told, self.at)
        execution.error, execution.code = error, code
        execution.status = ended_status(execution)
        self.fresh_executions[execution.session] = execution
        agent = self._agent(execution.agent)
        freed = "task_complete" if error is None else "recover" if code == "RETURNED" else "task_failed"
        agent.status = MACHINES["plan_agent"].next(agent.status, freed)
        agent.current_task = None
        if error is None:
            agent.done += 1
        else:
            agent.failed += counts
            agent.last_error = error

    # -- helpers -------------------------------------------------------------------------------------------------------

    def _move(self, task: Task, event: str, agent: str | None = None) -> None:
        was, task.status = task.status, MACHINES["task"].next(task.status, event)
        task.updated_at, task.agent = self.at, agent or task.agent
        if self.changes and self.changes[-1].seq == self.seq:  # two moves in one fact: each is told under its number
            self.changes[-1] = self.changes[-1]._replace(seq=self.seq - 1)
        self.changes.append(Change(self.seq, task.id, was, task.status, task.agent))

    def _touched(self, id: str) -> Task:
        task = self.fresh_tasks[id] = self.tasks[id]
        return task

    def _agent(self, name: str) -> Agent:
        agent = self.agents.get(name)
        if agent is None:
            agent = self.agents[name] = Agent(self.run, name, self.tenant, self.project)
        self.fresh_agents[name] = agent
        return agent

    def _value(self, body: Any) -> Mapping[str, Any]:
        value = self.resolve(body) if body is not None else None
        return value if isinstance(value, Mapping) else {}


_HEARD: dict[int, Callable[[TaskFold, Any], None]] = {
    F.STARTED: TaskFold._started, F.FIRED: TaskFold._fired, F.FIRED_VIA: TaskFold._fired, F.ASKED: TaskFold._asked,
    F.ANSWERED: TaskFold._answered, F.ATTEMPT_FAILED: TaskFold._attempt_failed, F.SETTLED: TaskFold._settled,
    F.WORK_MOVED: TaskFold._work_moved, F.SWEPT: TaskFold._swept, F.REVIVED: TaskFold._revived,
    F.MOVED: TaskFold._moved, F.MIGRATED: TaskFold._migrated, F.QUEUED: TaskFold._queued,
    F.LIMITED: TaskFold._limited, F.WANTED: TaskFold._wanted, F.STOPPING: TaskFold._stopping,
}  # fmt: skip
