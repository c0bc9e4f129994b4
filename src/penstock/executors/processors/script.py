"""Script: a few lines of Python in the sandbox of the house; no files, no network, no clock."""

from __future__ import annotations

from typing import Any

from penstock.executors.contract import Request, Services
from penstock.executors.parts.threads import in_thread
from penstock.executors.processors.contract import Output, ProcessorContext, ProcessorError
from penstock.executors.processors.lent_executor import about, ask_executor
from penstock.executors.processors.texts import read_text

_TEXT_MAX = 4 * 1024 * 1024


async def run(context: ProcessorContext, request: Request, services: Services) -> Output:
    """config: code, function, timeout (s), text (the file's text is the variable `text`; default false). Variables:
    file, params, input, stage; what the script returns is the output."""
    code = context.config.get("code")
    if not isinstance(code, str) or not code.strip():
        raise ProcessorError("CONFIG_INVALID", "«code» must be a text")
    known = about(context)
    inputs: dict[str, Any] = {name: known[name] for name in ("file", "params", "input", "stage")}
    warned: list[str] = []
    if context.flag("text"):
        if context.size > _TEXT_MAX:
            raise ProcessorError("FILE_LIMIT", f"the file has more than {_TEXT_MAX} bytes; a script reads no more")
        inputs["text"] = await in_thread(read_text, context, warned)
    args = {"code": code, "inputs": inputs}
    args |= {name: context.config[name] for name in ("function", "timeout") if name in context.config}
    done = await ask_executor("code", args, request, services)
    if isinstance(done.body, bytes):
        return Output(data=done.body, mime="application/octet-stream", warnings=warned)
    return Output(output=done.body, warnings=warned)
