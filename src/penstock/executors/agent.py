"""agent: an AI agent does an activity (P-4.3): the program's own, a registered one, or the house's own."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

import msgspec

from penstock.executors.agents import AGENTS
from penstock.executors.agents.contract import STEPS, TOKENS, AgentAnswer, AgentFailed, AgentTask, shorten_transcript
from penstock.executors.contract import Done, Failed, Outcome, Request, Services, failed
from penstock.executors.parts.json_values import NotJson, json_value
from penstock.executors.parts.llm.answer_schema import answer_mismatch
from penstock.executors.parts.tools import Toolbox
from penstock.kernel.failure import Failure

SECONDS = 300  # P-X.39
_ITS_OWN = ("model", "temperature", "max_tokens", "system", "result", "fails")
#: bytes of a result as JSON; what is larger belongs into a store of its own, with a reference to it as the result
MOST_BYTES = 10 * 1024 * 1024


class AgentExecutor:
    """args: agent, instruction, input_data, tools, schema, remarks, draft, orchestration {timeout_s, steps, tokens, …}.

    `agent:ID` is a function or graph that the program has registered; else ID is an artifact of type agent with a
    `kind` of its own (echo, http, model, process); no ID means the house's own agent. A result is an object; another
    value becomes {"result": value}. The transcript and what was spent are kept with the outcome.
    """

    name = "agent"

    async def run(self, request: Request, services: Services) -> Outcome:
        args: Mapping[str, Any] = request.args if isinstance(request.args, Mapping) else {}
        task = _task(args, services, request)
        if isinstance(task, Failed):
            return task
        try:
            async with asyncio.timeout(task.seconds):
                answer = await _run_agent(task, request, services)
            result = json_value(answer.result)
        except AgentFailed as error:
            return _failure_with_transcript(error)
        except TimeoutError:
            message = f"The agent «{task.agent}» had no result within {task.seconds:g} s."
            return failed("AGENT_TIMEOUT", "timeout", message)
        except NotJson as error:
            return failed("OUTPUT_INVALID", "permanent", f"The agent's result is no value that JSON can hold: {error}.")
        result = result if isinstance(result, dict) else {} if result is None else {"result": result}
        if wrong := answer_mismatch(result, task.schema, "the result"):
            return failed("OUTPUT_SCHEMA", "validation", f"The agent's result cannot be used: {wrong}.")
        if len(msgspec.json.encode(result)) > MOST_BYTES:
            return failed("OUTPUT_TOO_LARGE", "resource", f"The agent's result is larger than {MOST_BYTES} bytes.")
        meta: dict[str, Any] = {"agent": task.agent, "transcript": shorten_transcript(answer.transcript)}
        if answer.usage:
            meta |= {"token_usage": answer.usage}
        if answer.model:
            meta |= {"model": answer.model}
        return Done(result, meta)


async def _run_agent(task: AgentTask, request: Request, services: Services) -> AgentAnswer:
    own = services.executors.get(f"agent:{task.agent}")
    if own is not None:
        given = msgspec.to_builtins({"instruction": task.instruction, "tools": task.tools, "remarks": task.remarks})
        given |= {"input_data": task.input_data, "schema": task.schema, "draft": task.draft, "agent": task.agent}
        asked = msgspec.structs.replace(request, args=given, inputs=(), executor=f"agent:{task.agent}")
        outcome = await own.run(asked, services)
        if isinstance(outcome, Failed):
            raise AgentFailed(outcome)
        body, meta = (outcome.body, outcome.meta or {}) if isinstance(outcome, Done) else (None, {})
        exchange = [{"role": "user", "content": task.instruction}, {"role": "assistant", "content": body}]
        usage = meta.get("token_usage") if isinstance(meta.get("token_usage"), dict) else {}
        transcript = meta.get("transcript") if isinstance(meta.get("transcript"), list) else exchange
        return AgentAnswer(
            result=body, usage=usage or {}, model=str(meta.get("model") or ""), transcript=transcript or exchange
        )
    kind = AGENTS.get(str(task.settings.get("kind") or "model"))
    if kind is None:
        message = f"«{str(task.settings.get('kind'))[:40]}» is no kind of agent; there are {', '.join(AGENTS)}."
        raise AgentFailed(failed("AGENT_UNKNOWN", "validation", message))
    async with Toolbox(request, services) as box:
        return await kind.act(task, request, services, box)


def _task(args: Mapping[str, Any], services: Services, request: Request) -> AgentTask | Failed:
    name = str(args.get("agent") or "")
    asked = args.get("orchestration")
    more: Mapping[str, Any] = asked if isinstance(asked, Mapping) else {}
    body: Mapping[str, Any] = {}
    if name and f"agent:{name}" not in services.executors:
        tenant = services.tenant(request.tenant) if services.tenant is not None else None
        registered = tenant.find("agent", name) if tenant is not None else None
        if registered is None and name not in AGENTS:
            return failed("AGENT_UNKNOWN", "validation", f"There is no agent «{name[:80]}».")
        body = registered if registered is not None else {"kind": name}
    tools = args.get("tools") or more.get("tools") or []
    if not isinstance(tools, list | tuple) or not all(isinstance(tool, str) for tool in tools):
        return failed("INPUT_INVALID", "validation", "«tools» must be a list of names.")
    own = body.get("tools")
    if isinstance(own, list):  # an agent never has more than it was registered with
        tools = [tool for tool in tools if tool in own] if tools else own
    schema = args.get("schema")
    return AgentTask(
        agent=name or "model", instruction=str(args.get("instruction") or ""), input_data=args.get("input_data"),
        tools=[str(tool) for tool in tools], schema=schema if isinstance(schema, Mapping) else None,
        remarks=str(args.get("remarks") or ""), draft=args.get("draft"),
        steps=_number(more.get("steps"), STEPS), tokens=_number(more.get("tokens"), TOKENS),
        seconds=_seconds(more.get("timeout_s"), request), settings={**body, **_activity_settings(more)},
    )  # fmt: skip


def _activity_settings(more: Mapping[str, Any]) -> dict[str, Any]:
    """What an activity may say about its agent: what it is asked with, never where it lives."""
    return {name: more[name] for name in _ITS_OWN if name in more}


def _number(value: Any, otherwise: int) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else otherwise


def _seconds(value: Any, request: Request) -> float:
    given = isinstance(value, int | float) and not isinstance(value, bool) and value > 0
    wanted = float(value) if given else SECONDS
    return min(wanted, request.timeout_ms / 1000) if request.timeout_ms else wanted


def _failure_with_transcript(error: AgentFailed) -> Failed:
    old = error.outcome.failure
    if not error.transcript:
        return error.outcome
    detail = {
        "transcript": shorten_transcript(error.transcript),
        **(old.detail if isinstance(old.detail, dict) else {}),
    }
    return Failed(Failure(old.code, old.category, old.message, old.node, detail))
