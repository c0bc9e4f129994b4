"""command: a program of this machine that the operator has listed (a diagram's hook). Off unless one is."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Mapping
from typing import Any

import msgspec

from penstock.executors.contract import Done, Outcome, Request, Services, failed
from penstock.executors.parts.exceptions import secrets_of
from penstock.executors.parts.mcp.calls import json_or_text
from penstock.executors.parts.processes.child_process import bound_to_parent, kill_process_group
from penstock.executors.parts.tasks.attempt_setup import base_environment
from penstock.executors.parts.templates import TemplateError, render
from penstock.executors.parts.variables import given_names

SETTING = "hooks.commands"
TIMEOUT_MS, MOST_BYTES, WORDS = 30_000, 4 * 1024 * 1024, 100
_ERROR_MAX = 500


class _TooMuch(Exception):
    """The program says more than is read."""


class CommandExecutor:
    """args: command, a list: the program and its arguments, in which `{{name}}` stands for an input.

    The setting `hooks.commands` lists the programs that may be started. There is no shell: an argument stays one,
    whatever is filled into it. The program works in the input folder, sees a few names of the environment, gets the
    inputs as JSON, and what it prints is the result. It is killed, with all it has started, when its time is over."""

    name = "command"

    async def run(self, request: Request, services: Services) -> Outcome:
        args: Mapping[str, Any] = request.args if isinstance(request.args, Mapping) else {}
        line = args.get("command")
        if not isinstance(line, list | tuple) or not line or len(line) > WORDS:
            return failed("INPUT_INVALID", "validation", "«command» must be a list: the program and its arguments")
        allowed = services.settings.get(SETTING)
        listed = [allowed] if isinstance(allowed, str) else allowed if isinstance(allowed, list | tuple) else []
        if str(line[0]) not in listed:
            message = f"«{str(line[0])[:100]}» may not be started here; the operator lists programs in «{SETTING}»."
            return failed("COMMAND_DISABLED", "authorization", message)
        names = given_names(request)
        try:
            words = [str(line[0]), *(render(str(word), names) for word in line[1:])]
        except TemplateError as error:
            return failed("TEMPLATE", "validation", f"The command cannot be filled in: {error}.")
        if any("\0" in word for word in words):
            return failed("INPUT_INVALID", "validation", "an argument holds a null character")
        return await _outcome(words, request, services)


async def _outcome(words: list[str], request: Request, services: Services) -> Outcome:
    scrub = secrets_of(services).scrub_message
    limit = (request.timeout_ms or TIMEOUT_MS) / 1000
    payload = msgspec.json.encode({"inputs": request.named(), "node_id": request.node})
    try:
        async with asyncio.timeout(limit):
            printed, status, errors = await _run(words, payload, services)
    except TimeoutError:
        return failed("PROGRAM_TIMEOUT", "timeout", f"The program took longer than {limit:g} s.")
    except _TooMuch:
        return failed("RESOURCE_LIMIT", "resource", f"The program printed more than {MOST_BYTES} bytes.")
    except OSError as error:
        message = f"«{words[0][:100]}» cannot be started: {(error.strerror or str(error)).lower()}."
        return failed("PROGRAM_MISSING", "permanent", message)
    if status == 127:
        return failed("PROGRAM_MISSING", "permanent", f"There is no program «{words[0][:100]}».")
    if status:
        said = scrub(errors.strip())[-_ERROR_MAX:] or "it says nothing"
        return failed("PROGRAM_FAILED", "external", f"The program ended with {status}: {said}", {"status": status})
    return Done(secrets_of(services).scrub(json_or_text(printed)), {"status": status})


async def _run(words: list[str], payload: bytes, services: Services) -> tuple[str, int, str]:
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(
        *bound_to_parent(words), stdin=pipe, stdout=pipe, stderr=pipe, env=base_environment(), cwd=services.input_dir,
        start_new_session=True,
    )  # fmt: skip
    try:
        reading = asyncio.gather(_read(process.stdout), _read(process.stderr), _write(process.stdin, payload))
        printed, errors, _ = await reading
        return printed, await process.wait(), errors
    finally:
        await kill_process_group(process)


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
            raise _TooMuch
    return output.decode(errors="replace")
