"""person: asks a person and gives out the answer (a diagram's person_job, D-X.15, D-X.17)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from penstock.executors.contract import Done, Outcome, Request, Services, failed
from penstock.executors.parts.jinja import filled_in
from penstock.executors.parts.json_values import as_text
from penstock.executors.parts.llm.chat import NoAnswer
from penstock.executors.parts.llm.persons import (
    CONVERSATION,
    ask_person,
    is_conversation,
    prompt_variables,
    remembered_messages,
)
from penstock.executors.parts.templates import TemplateError


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
            text = as_text(first or args.get("default_prompt"))
            prompt = await filled_in(text, prompt_variables(request), missing=missing)
        except TemplateError as error:
            return failed("TEMPLATE", "validation", f"The prompt cannot be rendered: {error}.")
        before = remembered_messages(request.inputs, args.get("memorize_to"), args.get("at_most"))
        instructions = as_text(person.get("system_prompt"))
        system = [{"role": "system", "content": instructions}] if instructions else []
        now = [*before, {"role": "user", "content": prompt}]
        try:
            answer = await ask_person(person, [*system, *now], request, services)
        except NoAnswer as none:
            return none.outcome
        meta: dict[str, Any] = {
            "token_usage": answer.usage,
            "model": answer.model,
            "person": str(person.get("name") or ""),
        }
        if missing:
            meta["missing"] = missing
        if args.get("conversation") or any(map(is_conversation, request.inputs)):
            messages = [*now, {"role": "assistant", "content": as_text(answer.value)}]
            return Done({"messages": messages}, meta, CONVERSATION)
        return Done(answer.value, meta)
