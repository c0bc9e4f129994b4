"""Dead letters and judgments at the edge."""

from __future__ import annotations

from pydantic import Field

from penstock.api.bodies import RequestBody, ResponseBody
from penstock.app.decision.dead_letters import DeadLetter
from penstock.app.decision.judgments import Judgment


class LetterOut(ResponseBody, of=DeadLetter, defaults=True):
    pass


class LetterPage(ResponseBody):
    items: list[LetterOut]
    next: str | None


class BulkReplayAsked(RequestBody):
    runs: list[str] = Field(min_length=1, max_length=1000)
    dry_run: bool = True


class BulkReplayOut(ResponseBody):
    count: int
    replayed: dict[str, str]
    refused: dict[str, str]
    dry_run: bool


class Replayed(ResponseBody):
    run: str
    of: str


class JudgmentOut(ResponseBody, of=Judgment, omit=("firing",), defaults=True):
    pass


class JudgmentPage(ResponseBody):
    items: list[JudgmentOut]
    next: str | None
