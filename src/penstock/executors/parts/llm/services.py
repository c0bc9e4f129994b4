"""The services that speak the chat protocol: where each is reached, and whose key it gets."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

BASE_URL = "https://api.openai.com/v1"
OLLAMA_URL = "http://localhost:11434/v1"
MODEL, OLLAMA_MODEL = "gpt-4.1-mini", "llama3.2"
#: the makers' own endpoints for this protocol
_MAKERS = {
    "anthropic": "https://api.anthropic.com/v1",
    "google": "https://generativelanguage.googleapis.com/v1beta/openai",
    "gemini": "https://generativelanguage.googleapis.com/v1beta/openai",
}
CHAT_SERVICES = ("openai", "ollama", *_MAKERS)
CLAUDE_CODE = "claude-code"
#: those behind which a model answers: an answer may have to be asked for again
MODEL_SERVICES = (*CHAT_SERVICES, CLAUDE_CODE)


class Endpoint(msgspec.Struct, frozen=True):
    """`trusted`: the operator has named the place, so it is reached wherever it lies."""

    base_url: str
    key: Any
    model: str
    trusted: bool


def endpoint_of(person: Mapping[str, Any], settings: Mapping[str, Any]) -> Endpoint:
    """The operator's key goes to the operator's endpoint only, never to one that a document names."""
    service, own = str(person.get("service") or "openai"), person.get("base_url")
    if own:
        return Endpoint(_base(own), person.get("api_key"), _model(person, settings), False)
    if service == "ollama":
        base = settings.get("llm.ollama_url", OLLAMA_URL)
        return Endpoint(_base(base), None, str(person.get("model") or OLLAMA_MODEL), True)
    if service in _MAKERS:
        return Endpoint(_MAKERS[service], person.get("api_key"), _model(person, settings), False)
    base = settings.get("llm.base_url")
    key = person.get("api_key") or settings.get("llm.api_key")
    return Endpoint(_base(base or BASE_URL), key, _model(person, settings), bool(base))


def _base(url: Any) -> str:
    return str(url or "").rstrip("/")


def _model(person: Mapping[str, Any], settings: Mapping[str, Any]) -> str:
    return str(person.get("model") or settings.get("llm.model") or MODEL)
