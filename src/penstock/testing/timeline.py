"""The timeline of a run as stable text: virtual times, the author's nodes, what they waited for, what was sent."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from penstock.app.access.candidates import targets_of
from penstock.app.durations import duration_words
from penstock.app.runs.run_view import run_word
from penstock.dialects.net_nodes import is_companion, is_synthetic
from penstock.kernel.fact_lines import FactLine
from penstock.net.author import author
from penstock.net.compiled import Compiled

if TYPE_CHECKING:
    from penstock.testing.tested_run import TestedRun

_LONGEST = 100
_SETTLED = {"done": "done", "skipped": "skipped", "interrupted": "interrupted"}


class TimelineEntry(NamedTuple):
    """`at` in milliseconds since the test began; `what` in words."""

    at: int
    node: str
    what: str

    @property
    def time(self) -> str:
        return f"+{duration_words(self.at)}"


def timeline_of(run: TestedRun) -> list[TimelineEntry]:
    """Facts and messages by time; what was sent stands behind what happened at the same moment."""
    entries = list(_entries(run))
    entries += [
        TimelineEntry(message.at - run.began_at, message.node, _sent(message.channel, message.to, message.text))
        for message in run.messages
    ]
    return sorted(entries, key=lambda entry: entry.at)


def timeline_text(run: TestedRun) -> str:
    entries = timeline_of(run)
    times = max((len(entry.time) for entry in entries), default=0)
    nodes = max((len(entry.node) for entry in entries), default=0)
    lines = (f"{entry.time:>{times}}  {entry.node:<{nodes}}  {entry.what}" for entry in entries)
    text = "".join(f"{line.rstrip()}\n" for line in lines)
    for number, each in enumerate(run.siblings, 1):  # ids and folders are other ones each time
        text = text.replace(each.id, f"run-{number}")
    return text.replace(run.folder, "…")


def _entries(run: TestedRun) -> Iterator[TimelineEntry]:
    net = run.net
    for line in run.lines():
        tell = _WORDS.get(line.fact)
        what = tell(line, net, run) if tell is not None else None
        if what is not None:
            yield TimelineEntry(line.at - run.began_at, _node(line, net), what)


def _node(line: FactLine, net: Compiled) -> str:
    node = net.by_id.get(line.node)
    return line.node if node is None else author(node)


Tell = Callable[[FactLine, Compiled, Any], str | None]


def _started(line: FactLine, net: Compiled, run: TestedRun) -> str:
    return f"{net.net.name} starts with {_short(line.data.get('input'))}"


def _settled(line: FactLine, net: Compiled, run: TestedRun) -> str | None:
    node = net.by_id[line.node]
    if is_companion(node) or is_synthetic(node) or author(node) != line.node and node.effect is None:
        return None
    status, failure = line.data["status"], line.data.get("failure")
    if status != "failed":
        return _SETTLED.get(status, status) if author(node) == line.node or status != "done" else None
    return f"fails: {failure['code']}" if isinstance(failure, dict) else "fails"


def _asked(line: FactLine, net: Compiled, run: TestedRun) -> str | None:
    attempt = line.data.get("attempt", 1)
    return f"tries again ({attempt})" if attempt > 1 else None


def _phase(line: FactLine, net: Compiled, run: TestedRun) -> str | None:
    return "waits before it tries again" if line.data.get("phase") == "backoff" else None


def _work_opened(line: FactLine, net: Compiled, run: TestedRun) -> str:
    who = ", ".join(targets_of(line.data.get("candidates")))
    return f"waits for {who or 'somebody'}"


def _work_moved(line: FactLine, net: Compiled, run: TestedRun) -> str | None:
    by = f" by {line.data['by']}" if line.data.get("by") else ""
    return f"{line.data.get('event', '')}{by} → {line.data['to']}"


def _wait_opened(line: FactLine, net: Compiled, run: TestedRun) -> str:
    return f"waits for news «{line.data.get('name', '')}»"


def _timer_set(line: FactLine, net: Compiled, run: TestedRun) -> str | None:
    """Polls are many and all alike: their next moment is not told."""
    if not line.node or line.data.get("why") not in ("trigger", "retry"):
        return None
    at = f"+{duration_words(line.data['due'] - run.began_at)}"
    return f"tries again at {at}" if line.data["why"] == "retry" else f"timer until {at}"


def _moved(line: FactLine, net: Compiled, run: TestedRun) -> str | None:
    """That it goes on, or waits, is seen at its nodes."""
    if line.data["to"] in ("RUNNING", "WAITING"):
        return None
    failure = line.data.get("failure")
    why = f": {failure['code']}" if isinstance(failure, dict) else ""
    return f"run is {run_word(net.net.language, line.data['to'])}{why}"


def _undone(line: FactLine, net: Compiled, run: TestedRun) -> str | None:
    return f"undo {line.data.get('status', '').lower()}"


def _incident(line: FactLine, net: Compiled, run: TestedRun) -> str:
    return f"incident {line.data.get('code', '')}"


_WORDS: dict[str, Tell] = {
    "run.started": _started, "settled": _settled, "effect.asked": _asked, "phase": _phase,
    "work.opened": _work_opened, "work.moved": _work_moved, "wait.opened": _wait_opened, "timer.set": _timer_set,
    "run.moved": _moved, "undo.step": _undone, "incident": _incident,
}  # fmt: skip


def _sent(channel: str, to: list[str], text: str) -> str:
    return f"sends {channel} to {', '.join(to) or 'nobody'}: {_short(text)}"


def _short(value: Any) -> str:
    text = value if isinstance(value, str) else msgspec.json.encode(value, order="deterministic").decode()
    text = " ".join(text.split())
    return text if len(text) <= _LONGEST else text[: _LONGEST - 2] + " …"
