"""http: an agent behind an address. It gets the task as JSON and answers with its result."""

from __future__ import annotations

import msgspec

from penstock.executors.agents.contract import AgentAnswer, AgentFailed, AgentTask
from penstock.executors.contract import Request, Services
from penstock.executors.parts.exceptions import scrub_failure
from penstock.executors.parts.mcp.calls import json_or_text
from penstock.executors.parts.network.egress_policy import egress_policy_of
from penstock.executors.parts.network.http_call import HttpCall
from penstock.executors.parts.network.http_client import send
from penstock.executors.parts.network.http_failures import CALL_ERRORS, call_failure, status_failure
from penstock.executors.parts.tools import Toolbox


class HttpAgent:
    """settings: url, secret (a bearer). Sent are instruction, input_data, tools, schema, remarks, draft and the key."""

    async def act(self, task: AgentTask, request: Request, services: Services, box: Toolbox) -> AgentAnswer:
        payload = {
            "instruction": task.instruction, "input_data": task.input_data, "tools": task.tools, "schema": task.schema,
            "remarks": task.remarks, "draft": task.draft, "key": request.key, "activity": request.node,
        }  # fmt: skip
        headers = [("Content-Type", "application/json"), ("Idempotency-Key", request.key)]
        secrets, settings = box.secrets, services.settings
        try:
            if task.settings.get("secret"):
                headers.append(("Authorization", f"Bearer {secrets.get(str(task.settings['secret']))}"))
            call = HttpCall(
                method="POST", url=str(task.settings.get("url") or ""), headers=tuple(headers),
                content=msgspec.json.encode(payload), timeout_s=task.seconds, ca_file=settings.get("http.ca_file"),
            )  # fmt: skip
            reply = await send(call, egress_policy_of(settings, request.tenant))
        except CALL_ERRORS as error:
            raise AgentFailed(call_failure(error, secrets, "AGENT_TIMEOUT")) from None
        if (wrong := status_failure(reply)) is not None:
            raise AgentFailed(scrub_failure(wrong, secrets))
        result = secrets.scrub(json_or_text(reply.body.decode(errors="replace")))
        transcript = [{"role": "user", "content": task.instruction}, {"role": "assistant", "content": result}]
        return AgentAnswer(result=result, model=str(task.settings.get("model") or "http"), transcript=transcript)
