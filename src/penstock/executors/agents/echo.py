"""echo: gives back what it was given, or what it is told to; for trying a process out, and for working offline."""

from __future__ import annotations

from collections.abc import Mapping

from penstock.executors.agents.contract import AgentAnswer, AgentFailed, AgentTask
from penstock.executors.contract import Request, Services, failed
from penstock.executors.parts.tools import Toolbox


class EchoAgent:
    """settings: result (what it answers; without it, its input data), fails (why it answers nothing)."""

    async def act(self, task: AgentTask, request: Request, services: Services, box: Toolbox) -> AgentAnswer:
        if task.settings.get("fails"):
            why = str(task.settings["fails"])[:500]
            heard = [{"role": "user", "content": task.instruction}, {"role": "assistant", "content": why}]
            raise AgentFailed(failed("AGENT_ERROR", "external", why), heard)
        given = task.input_data if isinstance(task.input_data, Mapping) else {"value": task.input_data}
        result = task.settings["result"] if "result" in task.settings else dict(given)
        transcript = [{"role": "user", "content": task.instruction}, {"role": "assistant", "content": result}]
        return AgentAnswer(result=result, model="echo", transcript=transcript)
