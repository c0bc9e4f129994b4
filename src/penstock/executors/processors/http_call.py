"""HttpCall: tells a service about the file, or sends it; the answer is the stage's output."""

from __future__ import annotations

from typing import Any

from penstock.executors.contract import Request, Services
from penstock.executors.parts.threads import in_thread
from penstock.executors.processors.contract import Output, ProcessorContext, ProcessorError, beyond_limit
from penstock.executors.processors.lent_executor import about, ask_executor

_SENT_MAX = 32 * 1024 * 1024
_HANDED = ("method", "url", "headers", "params", "auth_type", "auth_config", "timeout", "follow_redirects")


async def run(context: ProcessorContext, request: Request, services: Services) -> Output:
    """config: url, method (POST), headers, params, auth_type, auth_config, timeout (s); send: about (default: JSON of
    stage, file and parameters), file (its bytes) or nothing. Only places that the egress policy allows are reached;
    `${secrets.NAME}` in url, headers, params and auth is filled at the last moment."""
    sent = context.text("send", "about", ("about", "file", "nothing"))
    args: dict[str, Any] = {name: context.config[name] for name in _HANDED if name in context.config}
    args |= {"method": args.get("method") or "POST", "render": False}
    if sent == "about":
        args["body"] = about(context)
    elif sent == "file":
        most = context.bound("max_sent_bytes", _SENT_MAX)
        if context.size > most:
            raise beyond_limit(f"the file has {context.size} bytes; at most {most} are sent")
        headers = args.get("headers") or {}
        if not isinstance(headers, dict):
            raise ProcessorError("CONFIG_INVALID", "«headers» must be an object")
        args["headers"] = {"Content-Type": context.mime or "application/octet-stream", **headers}
        args["body"] = await in_thread(context.file.read_bytes)
    done = await ask_executor("http", args, request, services)
    meta = done.meta or {}
    if isinstance(done.body, bytes | str):
        data = done.body.encode() if isinstance(done.body, str) else done.body
        return Output(
            output={"status": meta.get("status")}, data=data, mime=str(meta.get("media_type") or "text/plain")
        )
    return Output(output={"status": meta.get("status"), "answer": done.body})
