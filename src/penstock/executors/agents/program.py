"""process: an agent that is a program of the operator's: the task as JSON on its input, the result on its output."""

from __future__ import annotations

import asyncio
import contextlib
from typing import Any

import msgspec

from penstock.executors.agents.contract import AgentAnswer, AgentFailed, AgentTask
from penstock.executors.contract import Request, Services, failed
from penstock.executors.parts.mcp.calls import json_or_text
from penstock.executors.parts.processes.child_process import bound_to_parent, kill_process_group
from penstock.executors.parts.tools import Toolbox

MOST_BYTES = 4 * 1024 * 1024


class ProgramAgent:
    """settings: command (the name of one of the operator's programs, setting `agent.commands.NAME`: a list of texts).

    A document names a program and never brings one. The program sees no environment but its key; it is killed,
    with everything it has started, when its time is over or nobody wants the result any more."""

    async def act(self, task: AgentTask, request: Request, services: Services, box: Toolbox) -> AgentAnswer:
        line = services.settings.get(f"agent.commands.{task.settings.get('command')}")
        if not isinstance(line, list | tuple) or not line or not all(isinstance(part, str) for part in line):
            named = str(task.settings.get("command"))[:80]
            raise AgentFailed(
                failed("AGENT_COMMAND", "authorization", f"«{named}» does not stand in «agent.commands».")
            )
        payload = msgspec.json.encode({
            "instruction": task.instruction, "input_data": task.input_data, "tools": task.tools, "schema": task.schema,
            "remarks": task.remarks, "draft": task.draft, "key": request.key, "activity": request.node,
        })  # fmt: skip
        out, status, errors = await _run_program(list(line), payload, request)
        if status != 0:
            message = (
                f"The program ended with {status}: {box.secrets.scrub_message(errors)[-500:] or 'it says nothing'}"
            )
            raise AgentFailed(failed("AGENT_ERROR", "external", message))
        result = json_or_text(out)
        transcript = [{"role": "user", "content": task.instruction}, {"role": "assistant", "content": result}]
        return AgentAnswer(result=result, model=str(task.settings.get("command")), transcript=transcript)


async def _run_program(line: list[str], payload: bytes, request: Request) -> tuple[str, int, str]:
    env = {"PENSTOCK_KEY": request.key}
    pipe = asyncio.subprocess.PIPE
    try:
        process = await asyncio.create_subprocess_exec(
            *bound_to_parent(line), stdin=pipe, stdout=pipe, stderr=pipe, env=env, start_new_session=True
        )
    except OSError as error:
        raise AgentFailed(
            failed("AGENT_ERROR", "external", f"The program cannot be started: {error.strerror}.")
        ) from None
    try:
        reading = asyncio.gather(_read(process.stdout), _read(process.stderr), _write(process.stdin, payload))
        out, errors, _ = await reading
        status = await process.wait()
    finally:
        await kill_process_group(process)
    return out, status, errors


async def _write(stream: Any, payload: bytes) -> None:
    with contextlib.suppress(ConnectionError):  # a program need not read what it is told
        stream.write(payload)
        await stream.drain()
        stream.close()


async def _read(stream: Any) -> str:
    output = bytearray()
    while chunk := await stream.read(65_536):
        output += chunk
        if len(output) > MOST_BYTES:
            raise AgentFailed(failed("AGENT_ERROR", "resource", f"The program says more than {MOST_BYTES} bytes."))
    return output.decode(errors="replace")
