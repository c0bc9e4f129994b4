"""What an agent is: one activity in, one result out, with a transcript of how it came about."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

import msgspec

from penstock.executors.contract import Failed, Request, Services
from penstock.executors.parts.tools import Toolbox

#: what an activity may spend unless it says otherwise
STEPS, TOKENS = 16, 200_000
#: characters of one entry of a transcript, and how many entries are kept
LONGEST, KEPT = 8_000, 200


def shorten_transcript(transcript: list[Any]) -> list[Any]:
    """What is kept of a conversation: its newest entries, and of a long text its beginning."""
    return [_short(entry) for entry in transcript[-KEPT:]]


def _short(value: Any, deep: int = 0) -> Any:
    """Texts are cut, and what is not one text but many is kept as the beginning of its JSON."""
    if isinstance(value, str):
        return f"{value[:LONGEST]}…" if len(value) > LONGEST else value
    if isinstance(value, Mapping) and deep == 0:
        return {str(name): _short(item, 1) for name, item in value.items()}
    if isinstance(value, Mapping | list | tuple):
        try:
            text = msgspec.json.encode(value).decode(errors="replace")
        except (RecursionError, TypeError, ValueError, msgspec.MsgspecError):
            return "…"
        return value if len(text) <= LONGEST else f"{text[:LONGEST]}…"
    return value


class AgentTask(msgspec.Struct, frozen=True, kw_only=True):
    """What is to be done. `settings` is how the agent was registered, with the activity's own on top. `remarks` is why
    an earlier result was sent back."""

    agent: str
    instruction: str = ""
    input_data: Any = None
    tools: list[str] = []
    schema: Mapping[str, Any] | None = None
    remarks: str = ""
    draft: Any = None
    steps: int = STEPS
    tokens: int = TOKENS
    seconds: float = 300.0
    settings: Mapping[str, Any] = {}


class AgentAnswer(msgspec.Struct, frozen=True, kw_only=True):
    result: Any = None
    usage: dict[str, int] = {}
    model: str = ""
    transcript: list[Any] = []


class AgentFailed(Exception):
    """No result. `outcome` says why; what was said until then is kept."""

    def __init__(self, outcome: Failed, transcript: list[Any] | None = None) -> None:
        self.outcome, self.transcript = outcome, transcript or []
        super().__init__(outcome.failure.message)


class Agent(Protocol):
    """A cancelled `act` leaves nothing running."""

    async def act(self, task: AgentTask, request: Request, services: Services, box: Toolbox) -> AgentAnswer: ...
