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
from penstock.executors.parts.exceptions import operator_secrets, scrub_failure, secrets_of
from penstock.executors.parts.json_values import NotJson, duration_ms, json_value
from penstock.executors.parts.llm.services import endpoint_of
from penstock.executors.parts.network.egress_policy import egress_policy_of
from penstock.executors.parts.network.http_call import HttpCall, HttpReply
from penstock.executors.parts.network.http_client import send
from penstock.executors.parts.network.http_failures import CALL_ERRORS, call_failure, status_failure
from penstock.executors.parts.secrets import Secrets

ChatMessage = dict[str, str]
#: of a conversation with tools: what a model says may be calls
ConversationEntry = dict[str, Any]


class ModelAnswer(msgspec.Struct, frozen=True):
    text: str
    usage: dict[str, int]
    model: str


class ToolCall(msgspec.Struct, frozen=True):
    """A model wants a tool to be called; `arguments` is its own JSON text."""

    id: str
    name: str
    arguments: str


class ConversationTurn(ModelAnswer, frozen=True):
    """One answer in a conversation with tools: a text, or calls, or both. `entry` goes into the conversation."""

    calls: list[ToolCall]
    entry: ConversationEntry


class NoAnswer(Exception):
    """The model gave none; `outcome` says why."""

    def __init__(self, outcome: Failed) -> None:
        self.outcome = outcome
        super().__init__(outcome.failure.message)


class Chat(msgspec.Struct, frozen=True):
    """The model behind a person, asked for one request. `turn` counts the calls of one attempt, so that a repair is not
    taken for a repetition."""

    person: Mapping[str, Any]
    request: Request
    services: Services

    async def complete(
        self, messages: list[ChatMessage], *, schema: Mapping[str, Any] | None = None, turn: int = 0
    ) -> ModelAnswer:
        """One answer. Raises NoAnswer."""
        shape = {"name": "answer", "schema": schema, "strict": True}
        more = {} if schema is None else {"response_format": {"type": "json_schema", "json_schema": shape}}
        reply, secrets = await self._reply(list(messages), more, turn)
        return _answer(reply, str(self.person.get("model") or ""), secrets)

    async def converse(
        self, entries: list[ConversationEntry], tools: list[ConversationEntry], *, turn: int = 0
    ) -> ConversationTurn:
        """What a model says next, where it may call tools. Raises NoAnswer."""
        more = {"tools": tools, "tool_choice": "auto"} if tools else {}
        reply, secrets = await self._reply(entries, more, turn)
        return _turn(reply, str(self.person.get("model") or ""), secrets)

    async def _reply(self, entries: list[Any], more: Mapping[str, Any], turn: int) -> tuple[HttpReply, Secrets]:
        theirs = self.person.get("base_url") or self.person.get("api_key")
        secrets = secrets_of(self.services) if theirs else operator_secrets(self.services)
        try:
            reply = await self._post(entries, more, turn, secrets)
        except CALL_ERRORS as error:
            raise NoAnswer(call_failure(error, secrets)) from None
        wrong = status_failure(reply)
        if wrong is not None:
            raise NoAnswer(scrub_failure(wrong, secrets))
        return reply, secrets

    async def _post(self, entries: list[Any], more: Mapping[str, Any], turn: int, secrets: Secrets) -> HttpReply:
        person, request, settings = self.person, self.request, self.services.settings
        endpoint = endpoint_of(person, settings)
        trusted = [urlsplit(endpoint.base_url).hostname or ""] if endpoint.trusted else []
        body: dict[str, Any] = {"model": endpoint.model, "messages": entries}
        body |= {name: person[name] for name in ("temperature", "max_tokens") if person.get(name) is not None}
        body |= more
        own_key = f"{request.key}#{turn}" if turn else request.key
        headers = [("Content-Type", "application/json"), ("Idempotency-Key", own_key)]
        if endpoint.key:
            headers.append(("Authorization", f"Bearer {secrets.fill(str(endpoint.key))}"))
        limit = min(duration_ms(person.get("timeout"), 120_000), request.timeout_ms or 86_400_000)
        call = HttpCall(
            method="POST",
            url=f"{endpoint.base_url}/chat/completions",
            headers=tuple(headers),
            content=msgspec.json.encode(body),
            timeout_s=limit / 1000,
            ca_file=settings.get("http.ca_file"),
        )
        return await send(call, egress_policy_of(settings, request.tenant, trusted))


class _Function(msgspec.Struct):
    name: str
    arguments: str = ""


class _Call(msgspec.Struct):
    id: str
    function: _Function


class _ReplyMessage(msgspec.Struct):
    content: str | None = None
    refusal: str | None = None
    tool_calls: list[_Call] | None = None


class _Choice(msgspec.Struct):
    message: _ReplyMessage
    finish_reason: str | None = None


class _Usage(msgspec.Struct):
    prompt_tokens: int = 0
    completion_tokens: int = 0
    total_tokens: int = 0


class _Completion(msgspec.Struct):
    choices: list[_Choice]
    model: str = ""
    usage: _Usage | None = None


def _answer(reply: HttpReply, model: str, secrets: Secrets) -> ModelAnswer:
    read, _, text = _read(reply)
    if not text.strip():
        finish = read.choices[0].finish_reason or ""
        raise NoAnswer(failed("LLM_ERROR", "external", "The model answered nothing.", {"finish": finish}))
    return ModelAnswer(secrets.scrub(text), _usage(read), read.model or model)


def _turn(reply: HttpReply, model: str, secrets: Secrets) -> ConversationTurn:
    read, message, text = _read(reply)
    text = secrets.scrub(text)
    calls = [
        ToolCall(call.id, call.function.name, secrets.scrub(call.function.arguments))
        for call in message.tool_calls or []
    ]
    entry: ConversationEntry = {"role": "assistant", "content": text or None}
    if calls:
        entry["tool_calls"] = [
            {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
            for call in calls
        ]
    return ConversationTurn(text, _usage(read), read.model or model, calls, entry)


def _read(reply: HttpReply) -> tuple[_Completion, _ReplyMessage, str]:
    try:
        read = msgspec.json.decode(reply.body, type=_Completion)
        answered, finish = read.choices[0].message, read.choices[0].finish_reason or ""
        text = json_value(answered.content or "")
    except (msgspec.MsgspecError, NotJson, RecursionError, IndexError):
        message = f"{reply.host} did not answer as a chat completion does"
        raise NoAnswer(failed("LLM_ERROR", "external", message)) from None
    if answered.refusal or finish == "content_filter":
        raise NoAnswer(failed("LLM_REFUSED", "business", "The model refused to answer.", {"finish": finish}))
    return read, answered, text


def _usage(read: _Completion) -> dict[str, int]:
    used = read.usage or _Usage()
    total = used.total_tokens or used.prompt_tokens + used.completion_tokens
    return {"input": used.prompt_tokens, "output": used.completion_tokens, "total": total}
