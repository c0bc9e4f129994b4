"""Persons answer prompts: mock, echo and script by themselves (D-X.17), models over a network, or a program."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Mapping
from typing import Any

import msgspec

from penstock.executors.contract import Input, Request, Services, failed
from penstock.executors.parts.json_values import NotJson, as_text, json_value
from penstock.executors.parts.llm.chat import Chat, ChatMessage, NoAnswer
from penstock.executors.parts.llm.claude_code import ask_claude_code
from penstock.executors.parts.llm.services import CHAT_SERVICES, CLAUDE_CODE, MODEL_SERVICES
from penstock.executors.parts.variables import with_shared

SERVICES = ("mock", "echo", "script", *MODEL_SERVICES)
CONVERSATION = "conversation_state"
#: How many of the messages before are remembered; names of memory profiles (D-X.14).
MEMORY = {"FULL": 1000, "FOCUSED": 40, "MINIMAL": 5, "GOLDFISH": 0}


class PersonAnswer(msgspec.Struct, frozen=True):
    """What a person answered; a script may answer with data instead of text."""

    value: Any
    usage: dict[str, int]
    model: str


async def ask_person(
    person: Mapping[str, Any],
    messages: list[ChatMessage],
    request: Request,
    services: Services,
    *,
    schema: Mapping[str, Any] | None = None,
    turn: int = 0,
) -> PersonAnswer:
    """The person's answer to the last message. Raises NoAnswer."""
    service = str(person.get("service") or "mock")
    delay = person.get("delay_ms") or 0
    if isinstance(delay, int | float) and delay > 0:
        await asyncio.sleep(delay / 1000)
    prompt = messages[-1]["content"] if messages else ""
    if service == CLAUDE_CODE:
        answer = await ask_claude_code(person, messages, request, services)
        return PersonAnswer(answer.text, answer.usage, answer.model)
    if service in CHAT_SERVICES:
        answer = await Chat(person, request, services).complete(messages, schema=schema, turn=turn)
        return PersonAnswer(answer.text, answer.usage, answer.model)
    if service == "mock":
        return _counted(_mock(str(person.get("name") or "mock"), prompt, request.visit), messages, "mock")
    if service == "echo":
        return _counted(prompt, messages, "echo")
    if service == "script":
        answers = person.get("answers")
        if not isinstance(answers, list | tuple) or not answers:
            raise NoAnswer(failed("PERSON_SCRIPT", "validation", "A scripted person needs a list of answers."))
        try:
            return _counted(json_value(answers[min(request.visit, len(answers)) - 1]), messages, "script")
        except NotJson as error:
            raise NoAnswer(failed("PERSON_SCRIPT", "validation", f"The answer is no value: {error}.")) from None
    message = f"The service «{service[:40]}» is not known; known are {', '.join(SERVICES)}."
    raise NoAnswer(failed("PERSON_SERVICE", "validation", message))


def _mock(name: str, prompt: str, visit: int) -> str:
    """The same for the same prompt and iteration, and different for different ones."""
    mark = hashlib.sha256(f"{name}\0{visit}\0{prompt}".encode(errors="surrogatepass")).hexdigest()[:8]
    return f"{name} answers ({visit}, {mark}): {prompt[:200]}"


def _counted(value: Any, messages: list[ChatMessage], model: str) -> PersonAnswer:
    asked = sum(len(message["content"].split()) for message in messages)
    answered = len(as_text(value).split())
    return PersonAnswer(value, {"input": asked, "output": answered, "total": asked + answered}, model)


def remembered_messages(inputs: tuple[Input, ...], profile: Any, at_most: Any = None) -> list[ChatMessage]:
    """The messages of the newest conversation among the inputs, as many as the memory holds."""
    keep = MEMORY.get(str(profile or "FULL").upper(), MEMORY["FULL"])
    if isinstance(at_most, int) and not isinstance(at_most, bool):
        keep = min(keep, max(0, at_most))
    messages: list[ChatMessage] = []
    for input in inputs:
        if (conversation := _conversation(input)) is not None:
            messages = [
                {"role": str(message["role"]), "content": as_text(message.get("content"))}
                for message in conversation
                if message.get("role") in ("user", "assistant")
            ]
    return messages[-keep:] if keep else []


def prompt_variables(request: Request) -> dict[str, Any]:
    """The inputs by name, for a prompt. A conversation stands for its last message."""
    values = request.named()
    for position, input in enumerate(request.inputs):
        if (conversation := _conversation(input)) is not None:
            last = as_text(conversation[-1].get("content")) if conversation else ""
            for name in (input.var, "" if position else "default"):
                if name:
                    values[name] = last
    return with_shared(request.args, values)


def is_conversation(input: Input) -> bool:
    return input.content_types[-1:] == (CONVERSATION,)


def _conversation(input: Input) -> list[Mapping[str, Any]] | None:
    """The messages of an input that is a conversation; what is no message in it is left out."""
    if not is_conversation(input):
        return None
    messages = input.body.get("messages") if isinstance(input.body, Mapping) else None
    return [message for message in messages if isinstance(message, Mapping)] if isinstance(messages, list) else []
