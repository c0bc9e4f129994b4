"""person: asks a person and gives out the answer (a diagram's person_job, D-X.15, D-X.17)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from penstock.executors.contract import Done, Outcome, Request, Services, failed
from penstock.executors.parts.chat import NoAnswer
from penstock.executors.parts.persons import CONVERSATION, ask, is_conversation, remembered, variables
from penstock.executors.parts.templates import TemplateError, render
from penstock.executors.parts.values import as_text


class PersonExecutor:
    """args: person, default_prompt, first_only_prompt, memorize_to, at_most, conversation.

    When an input is a conversation, or `conversation` is set, the answer is one too: what was said before, the prompt
    and the answer. The person's instructions never hold data: they are the system message, as the author wrote them.
    """

    name = "person"

    async def run(self, request: Request, services: Services) -> Outcome:
        args: Mapping[str, Any] = request.args if isinstance(request.args, Mapping) else {}
        person = args.get("person")
        if not isinstance(person, Mapping):
            return failed("INPUT_INVALID", "validation", "«person» must be an object with «service»")
        first = args.get("first_only_prompt") if request.visit == 1 else None
        missing: list[str] = []
        try:
            prompt = render(as_text(first or args.get("default_prompt")), variables(request), missing=missing)
        except TemplateError as error:
            return failed("TEMPLATE", "validation", f"The prompt cannot be rendered: {error}.")
        before = remembered(request.inputs, args.get("memorize_to"), args.get("at_most"))
        instructions = as_text(person.get("system_prompt"))
        system = [{"role": "system", "content": instructions}] if instructions else []
        now = [*before, {"role": "user", "content": prompt}]
        try:
            said = await ask(person, [*system, *now], request, services)
        except NoAnswer as none:
            return none.outcome
        meta: dict[str, Any] = {"token_usage": said.usage, "model": said.model, "person": str(person.get("name") or "")}
        if missing:
            meta["missing"] = missing
        if args.get("conversation") or any(map(is_conversation, request.inputs)):
            messages = [*now, {"role": "assistant", "content": as_text(said.value)}]
            return Done({"messages": messages}, meta, CONVERSATION)
        return Done(said.value, meta)
