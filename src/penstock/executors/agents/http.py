"""http: an agent behind an address. It gets the task as JSON and answers with its result."""

from __future__ import annotations

import msgspec

from penstock.executors.agents.contract import AgentFailed, Answer, Task
from penstock.executors.contract import Request, Services, failed
from penstock.executors.parts.addresses import reach_of
from penstock.executors.parts.mcp_calls import parsed
from penstock.executors.parts.outbound import Call, Refused, failure_of, send
from penstock.executors.parts.raised import scrubbed
from penstock.executors.parts.secret import SecretMissing
from penstock.executors.parts.tools import Toolbox


class HttpAgent:
    """settings: url, secret (a bearer). Sent are instruction, input_data, tools, schema, remarks, draft and the key."""

    async def act(self, task: Task, request: Request, services: Services, box: Toolbox) -> Answer:
        said = {
            "instruction": task.instruction, "input_data": task.input_data, "tools": task.tools, "schema": task.schema,
            "remarks": task.remarks, "draft": task.draft, "key": request.key, "activity": request.node,
        }  # fmt: skip
        headers = [("Content-Type", "application/json"), ("Idempotency-Key", request.key)]
        secrets, settings = box.secrets, services.settings
        try:
            if task.settings.get("secret"):
                headers.append(("Authorization", f"Bearer {secrets.get(str(task.settings['secret']))}"))
            call = Call(
                method="POST", url=str(task.settings.get("url") or ""), headers=tuple(headers),
                content=msgspec.json.encode(said), timeout_s=task.seconds, ca_file=settings.get("http.ca_file"),
            )  # fmt: skip
            reply = await send(call, reach_of(settings, request.tenant))
        except SecretMissing as error:
            raise AgentFailed(failed("SECRET_NOT_FOUND", "authorization", str(error))) from None
        except Refused as error:
            raise AgentFailed(failed(error.code, error.category, secrets.scrub_message(str(error)))) from None
        except TimeoutError as error:
            raise AgentFailed(failed("AGENT_TIMEOUT", "timeout", secrets.scrub_message(str(error)))) from None
        except ConnectionError as error:
            raise AgentFailed(failed("CONNECTION_LOST", "transient", secrets.scrub_message(str(error)))) from None
        if (wrong := failure_of(reply)) is not None:
            raise AgentFailed(scrubbed(wrong, secrets))
        result = secrets.scrub(parsed(reply.body.decode(errors="replace")))
        transcript = [{"role": "user", "content": task.instruction}, {"role": "assistant", "content": result}]
        return Answer(result=result, model=str(task.settings.get("model") or "http"), transcript=transcript)
