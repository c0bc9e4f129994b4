"""Rollouts that a simulation assumes: nothing is deployed, every stage takes the time that the document gives it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from penstock.executors.parts.rollout.model import Strategy
from penstock.executors.parts.rollout.stages import stages_of

_BEGIN_MS, _MINUTE_MS = 1_000, 60_000


class AssumedRollouts:
    """The rollouts of one virtual run, by the ids that it gave them; all succeed."""

    def __init__(self) -> None:
        self.ends: dict[str, int] = {}

    def answer(self, args: Any, now: int) -> tuple[int, Any]:
        """How long an effect of the executor `rollout` takes, and what it answers. Whoever looks is told when it is
        over."""
        given: Mapping[str, Any] = args if isinstance(args, Mapping) else {}
        if given.get("op") == "begin":
            return _BEGIN_MS, self._begun(given.get("request"), now)
        id = str(given.get("deployment_id") or "")
        after = max(self.ends.get(id, now) - now, 0) if given.get("op") == "look" else _BEGIN_MS
        ended = {"status": "succeeded", "rollout_status": "succeeded", "progress": 100, "percent": 100}
        body = {"deployment_id": id, "settled": True, "input": {"deployment_id": id}, "warnings": [], "reason": None}
        return after, {**body, **ended}

    def _begun(self, request: Any, now: int) -> dict[str, Any]:
        wanted: Mapping[str, Any] = request if isinstance(request, Mapping) else {}
        id = f"simulated-{len(self.ends) + 1}"
        self.ends[id] = now + _BEGIN_MS + _length_ms(wanted)
        artifact = wanted.get("artifact")
        named = {"artifact_type": artifact.get("type"), "artifact_id": artifact.get("id")} if artifact else {}
        return {"deployment_id": id, "status": "in_progress", **named}


def _length_ms(request: Mapping[str, Any]) -> int:
    """All stages one after another; 0 where the strategy cannot be read, which the document's check has said."""
    target = request.get("target")
    scope = target.get("scope") if isinstance(target, Mapping) else None
    lines = scope.get("line_ids") if isinstance(scope, Mapping) else None
    try:
        strategy = msgspec.convert(request.get("strategy") or {}, Strategy, strict=False)
        stages = stages_of(strategy, lines if isinstance(lines, list) else [])
    except (msgspec.ValidationError, ValueError, TypeError):
        return 0
    return round(sum(stage.minutes for stage in stages) * _MINUTE_MS)
