"""The names in a log, each held once: a million events have few activities and people."""

from __future__ import annotations

from penstock.errors import EventLogTooLarge
from penstock.mining.event import AGENT_MODES, HUMAN_MODES
from penstock.mining.lifecycle import transition_of
from penstock.mining.map_counts import MAX_ACTIVITIES

MAX_NAME = 500  # characters; longer ones are texts
_REMEMBERED = 100_000


class Names:
    def __init__(self, log: str) -> None:
        self.log = log
        self._activities: dict[str, str] = {}
        self._resources: dict[str, str] = {"": ""}
        self._transitions: dict[str, str] = {"": "", "complete": ""}
        self._modes: dict[str, str] = {"": ""}

    def activity(self, name: str, line: int) -> str:
        known = self._activities.get(name)
        if known is not None:
            return known
        if len(self._activities) >= MAX_ACTIVITIES:
            raise EventLogTooLarge(what="activities", limit=MAX_ACTIVITIES, where=f"line {line}")
        if len(name) > MAX_NAME:
            raise EventLogTooLarge(what="characters in the name of an activity", limit=MAX_NAME, where=f"line {line}")
        return self._activities.setdefault(name, name)

    def resource(self, name: str) -> str:
        known = self._resources.get(name)
        if known is None:
            known = name[:MAX_NAME]
            if len(self._resources) < _REMEMBERED:
                self._resources[name] = known
        return known

    def transition(self, text: str) -> str:
        known = self._transitions.get(text)
        if known is None:
            known = transition_of(text)
            if len(self._transitions) < _REMEMBERED:
                self._transitions[text] = known
        return known

    def mode(self, text: str) -> str:
        known = self._modes.get(text)
        if known is None:
            mode = text.strip().upper()
            known = mode if mode in HUMAN_MODES | AGENT_MODES else ""
            if len(self._modes) < _REMEMBERED:
                self._modes[text] = known
        return known
