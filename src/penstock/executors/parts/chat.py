"""A conversation with a model behind any OpenAI-compatible endpoint (POST …/chat/completions).

The key is filled in from its reference just before the call and taken out of everything that comes back. An endpoint
that a document names is reached like any other place. One that the operator has set is trusted, with the operator's
key, which for that reason never goes to an endpoint that a document names.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

import msgspec

from penstock.executors.contract import Failed, Request, Services, failed
from penstock.executors.parts.addresses import reach_of
from penstock.executors.parts.outbound import Call, Refused, Reply, failure_of, send
from penstock.executors.parts.raised import operators_secrets, scrubbed, secrets_of
from penstock.executors.parts.secret import SecretMissing, Secrets
from penstock.executors.parts.values import NotPlain, duration_ms, plain

BASE_URL = "https://api.openai.com/v1"
MODEL = "gpt-4.1-mini"
Message = dict[str, str]
#: of a conversation with tools: what a model says may be calls
Entry = dict[str, Any]


class Answer(msgspec.Struct, frozen=True):
    text: str
    usage: dict[str, int]
    model: str


class ToolCall(msgspec.Struct, frozen=True):
    """A model wants a tool to be called; `arguments` is its own JSON text."""

    id: str
    name: str
    arguments: str


class Turn(msgspec.Struct, frozen=True):
    """One answer in a conversation with tools: a text, or calls, or both. `entry` goes into the conversation."""

    text: str
    calls: list[ToolCall]
    entry: Entry
    usage: dict[str, int]
    model: str


class NoAnswer(Exception):
    """The model gave none; `outcome` says why."""

    def __init__(self, outcome: Failed) -> None:
        self.outcome = outcome
        super().__init__(outcome.failure.message)


async def complete(
    person: Mapping[str, Any],
    messages: list[Message],
    request: Request,
    services: Services,
    *,
    schema: Mapping[str, Any] | None = None,
    turn: int = 0,
) -> Answer:
    """One answer. `turn` counts the calls of one attempt, so that a repair is not taken for a repetition."""
    shape = {"name": "answer", "schema": schema, "strict": True}
    more = {} if schema is None else {"response_format": {"type": "json_schema", "json_schema": shape}}
    reply, secrets = await _replied(person, list(messages), request, services, more, turn)
    return _answer(reply, str(person.get("model") or ""), secrets)


async def converse(
    person: Mapping[str, Any],
    entries: list[Entry],
    tools: list[Entry],
    request: Request,
    services: Services,
    *,
    turn: int = 0,
) -> Turn:
    """What a model says next, where it may call tools. Raises NoAnswer."""
    more = {"tools": tools, "tool_choice": "auto"} if tools else {}
    reply, secrets = await _replied(person, entries, request, services, more, turn)
    return _turn(reply, str(person.get("model") or ""), secrets)


async def _replied(
    person: Mapping[str, Any],
    entries: list[Any],
    request: Request,
    services: Services,
    more: Mapping[str, Any],
    turn: int,
) -> tuple[Reply, Secrets]:
    theirs = person.get("base_url") or person.get("api_key")
    secrets = secrets_of(services) if theirs else operators_secrets(services)
    try:
        reply = await _ask(person, entries, request, services, secrets, more, turn)
    except SecretMissing as error:
        raise NoAnswer(failed("SECRET_NOT_FOUND", "authorization", str(error))) from None
    except Refused as error:
        raise NoAnswer(failed(error.code, error.category, secrets.scrub_message(str(error)))) from None
    except TimeoutError as error:
        raise NoAnswer(failed("NODE_TIMEOUT", "timeout", secrets.scrub_message(str(error)))) from None
    except ConnectionError as error:
        raise NoAnswer(failed("CONNECTION_LOST", "transient", secrets.scrub_message(str(error)))) from None
    wrong = failure_of(reply)
    if wrong is not None:
        raise NoAnswer(scrubbed(wrong, secrets))
    return reply, secrets


async def _ask(
    person: Mapping[str, Any],
    entries: list[Any],
    request: Request,
    services: Services,
    secrets: Secrets,
    more: Mapping[str, Any],
    turn: int,
) -> Reply:
    settings = services.settings
    own = person.get("base_url")
    base = str(own or settings.get("llm.base_url") or BASE_URL).rstrip("/")
    key = person.get("api_key") or (None if own else settings.get("llm.api_key"))
    trusted = [urlsplit(base).hostname or ""] if not own and settings.get("llm.base_url") else []
    body: dict[str, Any] = {"model": person.get("model") or settings.get("llm.model") or MODEL, "messages": entries}
    body |= {name: person[name] for name in ("temperature", "max_tokens") if person.get(name) is not None}
    body |= more
    own_key = f"{request.key}#{turn}" if turn else request.key
    headers = [("Content-Type", "application/json"), ("Idempotency-Key", own_key)]
    if key:
        headers.append(("Authorization", f"Bearer {secrets.fill(str(key))}"))
    limit = min(duration_ms(person.get("timeout"), 120_000), request.timeout_ms or 86_400_000)
    call = Call(
        method="POST",
        url=f"{base}/chat/completions",
        headers=tuple(headers),
        content=msgspec.json.encode(body),
        timeout_s=limit / 1000,
        ca_file=settings.get("http.ca_file"),
    )
    return await send(call, reach_of(settings, request.tenant, trusted))


class _Function(msgspec.Struct):
    name: str
    arguments: str = ""


class _Call(msgspec.Struct):
    id: str
    function: _Function


class _Said(msgspec.Struct):
    content: str | None = None
    refusal: str | None = None
    tool_calls: list[_Call] | None = None


class _Choice(msgspec.Struct):
    message: _Said
    finish_reason: str | None = None


class _Usage(msgspec.Struct):
    prompt_tokens: int = 0
    completion_tokens: int = 0
    total_tokens: int = 0


class _Completion(msgspec.Struct):
    choices: list[_Choice]
    model: str = ""
    usage: _Usage | None = None


def _answer(reply: Reply, model: str, secrets: Secrets) -> Answer:
    read, _, text = _read(reply)
    if not text.strip():
        finish = read.choices[0].finish_reason or ""
        raise NoAnswer(failed("LLM_ERROR", "external", "The model answered nothing.", {"finish": finish}))
    return Answer(secrets.scrub(text), _usage(read), read.model or model)


def _turn(reply: Reply, model: str, secrets: Secrets) -> Turn:
    read, said, text = _read(reply)
    text = secrets.scrub(text)
    calls = [
        ToolCall(one.id, one.function.name, secrets.scrub(one.function.arguments)) for one in said.tool_calls or []
    ]
    entry: Entry = {"role": "assistant", "content": text or None}
    if calls:
        entry["tool_calls"] = [
            {"id": one.id, "type": "function", "function": {"name": one.name, "arguments": one.arguments}}
            for one in calls
        ]
    return Turn(text, calls, entry, _usage(read), read.model or model)


def _read(reply: Reply) -> tuple[_Completion, _Said, str]:
    try:
        read = msgspec.json.decode(reply.body, type=_Completion)
        said, finish = read.choices[0].message, read.choices[0].finish_reason or ""
        text = plain(said.content or "")
    except (msgspec.MsgspecError, NotPlain, RecursionError, IndexError):
        message = f"{reply.host} did not answer as a chat completion does"
        raise NoAnswer(failed("LLM_ERROR", "external", message)) from None
    if said.refusal or finish == "content_filter":
        raise NoAnswer(failed("LLM_REFUSED", "business", "The model refused to answer.", {"finish": finish}))
    return read, said, text


def _usage(read: _Completion) -> dict[str, int]:
    used = read.usage or _Usage()
    total = used.total_tokens or used.prompt_tokens + used.completion_tokens
    return {"input": used.prompt_tokens, "output": used.completion_tokens, "total": total}
