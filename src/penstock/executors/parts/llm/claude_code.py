"""A person that is the program Claude Code: the conversation on its input, and the result that it streams.

A document names the program and never brings one. It is started only where the operator says so, by the setting
`llm.claude_code` (true, or its command line), in an empty folder, without a shell, and ends with whoever asked.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import tempfile
from collections.abc import Mapping
from typing import Any

from penstock.executors.contract import Request, Services, failed
from penstock.executors.parts.agent_streams.claude import CLAUDE
from penstock.executors.parts.agent_streams.contract import StreamSummary
from penstock.executors.parts.agent_streams.parser import StreamParser
from penstock.executors.parts.exceptions import secrets_of
from penstock.executors.parts.json_values import duration_ms
from penstock.executors.parts.llm.chat import ChatMessage, ModelAnswer, NoAnswer
from penstock.executors.parts.processes.child_process import bound_to_parent, kill_process_group
from penstock.executors.parts.tasks.attempt_setup import base_environment

SETTING = "llm.claude_code"
TIMEOUT_MS, MOST_BYTES = 600_000, 64 * 1024 * 1024
_MODEL = re.compile(r"[A-Za-z0-9][\w.:\[\]-]{0,99}\Z")
_ERROR_MAX = 500


async def ask_claude_code(
    person: Mapping[str, Any], messages: list[ChatMessage], request: Request, services: Services
) -> ModelAnswer:
    """What the program answers to a conversation. Raises NoAnswer."""
    line = _command(person, request, services.settings)
    limit = min(duration_ms(person.get("timeout"), TIMEOUT_MS), request.timeout_ms or 86_400_000) / 1000
    try:
        async with asyncio.timeout(limit):
            prompt = _conversation(messages).encode(errors="replace")
            summary, status, errors = await _run(line, prompt, _environment(services.settings))
    except TimeoutError:
        raise NoAnswer(failed("LLM_TIMEOUT", "timeout", f"Claude Code did not answer within {limit:g} s.")) from None
    scrub = secrets_of(services).scrub_message
    text = summary.result or summary.said
    if summary.has_error or summary.result_is_error or status:
        said = summary.error or summary.result or errors
        message = f"Claude Code ended with {status}: {scrub(said)[-_ERROR_MAX:] or 'it says nothing'}"
        raise NoAnswer(failed("LLM_ERROR", "external", message))
    if not text.strip():
        raise NoAnswer(failed("LLM_ERROR", "external", "Claude Code answered nothing."))
    usage = {"input": summary.tokens_in, "output": summary.tokens_out, "total": summary.tokens_in + summary.tokens_out}
    return ModelAnswer(secrets_of(services).scrub(text), usage, summary.model or "claude-code")


def _command(person: Mapping[str, Any], request: Request, settings: Mapping[str, Any]) -> list[str]:
    allowed = settings.get(SETTING)
    if allowed is True:
        line = list(CLAUDE.command)
    elif isinstance(allowed, list | tuple) and allowed and all(isinstance(word, str) for word in allowed):
        line = list(allowed)
    else:
        message = "Claude Code is not allowed here; the operator may allow it: claude_code = true under [llm]."
        raise NoAnswer(failed("PERSON_SERVICE", "authorization", message))
    turns = request.args.get("max_turns") if isinstance(request.args, Mapping) else None
    line += ["--max-turns", str(turns if isinstance(turns, int) and turns > 0 else 1)]
    model = str(person.get("model") or "")
    if model and model != "claude-code":
        if not _MODEL.match(model):
            raise NoAnswer(failed("INPUT_INVALID", "validation", "«model» is not the name of a model."))
        line += ["--model", model]
    return line


def _environment(settings: Mapping[str, Any]) -> dict[str, str]:
    """A few names, and those that the operator lists for agents: a key, for one."""
    listed = settings.get("agents.env")
    names = [name for name in listed if isinstance(name, str)] if isinstance(listed, list | tuple) else []
    return base_environment() | {name: os.environ[name] for name in names if name in os.environ}


def _conversation(messages: list[ChatMessage]) -> str:
    """Instructions, what was said before, and the prompt. A single prompt stands alone."""
    system = "\n\n".join(message["content"] for message in messages if message["role"] == "system")
    said = [message for message in messages if message["role"] != "system"]
    before = [f"{message['role'].capitalize()}: {message['content']}" for message in said[:-1]]
    prompt = said[-1]["content"] if said else ""
    return "\n\n".join(part for part in (system, *before, prompt) if part)


async def _run(line: list[str], prompt: bytes, environment: dict[str, str]) -> tuple[StreamSummary, int, str]:
    pipe = asyncio.subprocess.PIPE
    with tempfile.TemporaryDirectory(prefix="penstock-claude-") as folder:
        try:
            process = await asyncio.create_subprocess_exec(
                *bound_to_parent(line), stdin=pipe, stdout=pipe, stderr=pipe, env=environment, cwd=folder,
                start_new_session=True,
            )  # fmt: skip
        except OSError as error:
            message = f"«{line[0][:80]}» cannot be started: {error.strerror}."
            raise NoAnswer(failed("COMMAND_NOT_FOUND", "permanent", message)) from None
        parser = StreamParser(CLAUDE)
        try:
            reading = asyncio.gather(_stream(process.stdout, parser), _errors(process.stderr), _say(process, prompt))
            _, errors, _ = await reading
            status = await process.wait()
        finally:
            await kill_process_group(process)
    parser.close()
    return parser.summary, status, errors


async def _say(process: asyncio.subprocess.Process, prompt: bytes) -> None:
    assert process.stdin is not None
    with contextlib.suppress(ConnectionError):
        process.stdin.write(prompt)
        await process.stdin.drain()
        process.stdin.close()


async def _stream(stream: Any, parser: StreamParser) -> None:
    size = 0
    while chunk := await stream.read(65_536):
        size += len(chunk)
        if size > MOST_BYTES:
            raise NoAnswer(failed("LLM_ERROR", "external", f"Claude Code says more than {MOST_BYTES} bytes."))
        parser.feed(chunk)


async def _errors(stream: Any) -> str:
    kept = b""
    while chunk := await stream.read(65_536):
        kept = (kept + chunk)[-4096:]
    return kept.decode(errors="replace")
