"""What is expected of a run, held against how it stands: one function per word of a scenario's `then`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import msgspec

from penstock.app.durations import duration_words, read_duration, read_moment
from penstock.errors import BadInput, PenstockError
from penstock.expr.compile import compile_expression
from penstock.lang.report import did_you_mean
from penstock.testing.contract import Scene
from penstock.testing.tested_run import OpenWait, TestedRun

_LONGEST = 2_000
#: words that list nodes, and those that would be true of a node that there is not
_LISTS, _ABSENT = ("path", "passes", "not_reached", "compensated"), ("not_reached", "visits")


class Mismatch(msgspec.Struct, frozen=True):
    """One thing that is not as expected; `at` is the path below `then`."""

    at: str
    expected: Any
    actual: Any
    why: str = ""

    def text(self) -> str:
        because = f"\n    {self.why}" if self.why else ""
        lines = (self.at.replace("/", "."), f"expected {_shown(self.expected)}", f"but was  {_shown(self.actual)}")
        return "\n    ".join(lines) + because


def differences(scene: Scene, run: TestedRun, then: Mapping[str, Any], since: int = 0) -> list[Mismatch]:
    """Everything that is not as `then` says; `since` is how many messages of the run were looked at before. Raises
    BadInput for a word, or a node, that there is not."""
    mismatches: list[Mismatch] = []
    for word, expected in then.items():
        check = CHECKS.get(word)
        if check is None:
            raise BadInput(what=f"«{word}»", why=f"what is expected is one of {', '.join(CHECKS)}")
        if word in _LISTS and (isinstance(expected, str) or not isinstance(expected, Iterable)):
            raise BadInput(what=f"«{word}»", why="it is a list of nodes", hint=f"Write {word}=[{expected!r}].")
        if word in _ABSENT:
            _check_names(word, expected, run)
        mismatches += check(scene, run, expected, since)
    return mismatches


def _check_names(word: str, names: Iterable[str], run: TestedRun) -> None:
    """A node that there is not is never reached: to expect so would say nothing. Raises BadInput."""
    known = {*run.node_ids, *run.path}
    for name in names:
        if name not in known:
            hint = did_you_mean(str(name), known, "`penstock draw` shows the nodes of the document.")
            raise BadInput(what=f"«{word}»", why=f"the document of the run has no node «{name}»", hint=hint)


def report(mismatches: list[Mismatch], run: TestedRun) -> str:
    """Everything that differs, and how it came about."""
    parts = "\n  ".join(mismatch.text() for mismatch in mismatches)
    return f"the run is not as expected:\n  {parts}\n\n  timeline\n{indented(run.timeline())}"


def indented(text: str) -> str:
    return "\n".join(f"    {line}" for line in text.splitlines())


def _shown(value: Any) -> str:
    text = value if isinstance(value, str) else msgspec.json.encode(value, enc_hook=str).decode()
    return text if len(text) <= _LONGEST else text[:_LONGEST] + " …"


def _equal(word: str, actual: Callable[[TestedRun], Any]) -> Any:
    def check(scene: Scene, run: TestedRun, expected: Any, since: int) -> list[Mismatch]:
        value = actual(run)
        return [] if json_equal(value, expected) else [Mismatch(word, expected, value)]

    return check


def json_equal(a: Any, b: Any) -> bool:
    """As in JSON: true is not 1, 1 is 1.0, and a tuple is a list."""
    if isinstance(a, bool) or isinstance(b, bool):
        return a is b
    if isinstance(a, Mapping) and isinstance(b, Mapping):
        return a.keys() == b.keys() and all(json_equal(value, b[name]) for name, value in a.items())
    if isinstance(a, list | tuple) and isinstance(b, list | tuple):
        return len(a) == len(b) and all(map(json_equal, a, b))
    return bool(a == b)


def _partly(word: str, actual: Callable[[TestedRun], Any]) -> Any:
    """Maps may have more members than are expected."""

    def check(scene: Scene, run: TestedRun, expected: Any, since: int) -> list[Mismatch]:
        return list(part_mismatches(word, expected, actual(run)))

    return check


def part_mismatches(at: str, expected: Any, actual: Any) -> list[Mismatch]:
    """A map matches one that has at least its members; everything else must be equal."""
    if isinstance(expected, Mapping) and isinstance(actual, Mapping):
        return [
            mismatch
            for name, value in expected.items()
            for mismatch in (
                part_mismatches(f"{at}/{name}", value, actual[name])
                if name in actual
                else [Mismatch(f"{at}/{name}", value, "nothing of this name")]
            )
        ]
    if isinstance(expected, list | tuple) and isinstance(actual, list | tuple) and len(expected) == len(actual):
        pairs = enumerate(zip(expected, actual, strict=True))
        return [mismatch for i, (want, have) in pairs for mismatch in part_mismatches(f"{at}/{i}", want, have)]
    return [] if json_equal(expected, actual) else [Mismatch(at, expected, actual)]


def _status(scene: Scene, run: TestedRun, expected: Any, since: int) -> list[Mismatch]:
    view = run.view
    return [] if expected in (view.status, view.internal_status) else [Mismatch("status", expected, view.status)]


def _passes(scene: Scene, run: TestedRun, expected: Any, since: int) -> list[Mismatch]:
    """In this order; others may come between."""
    left = iter(run.path)
    missing = next((node for node in expected if not any(node == each for each in left)), None)
    return (
        [] if missing is None else [Mismatch("passes", expected, run.path, f"«{missing}» is not there, or too early")]
    )


def _not_reached(scene: Scene, run: TestedRun, expected: Any, since: int) -> list[Mismatch]:
    reached = [node for node in expected if node in run.path]
    return [Mismatch("not_reached", expected, f"it has passed {', '.join(reached)}")] if reached else []


def _visits(scene: Scene, run: TestedRun, expected: Any, since: int) -> list[Mismatch]:
    path = run.path
    counts = {node: path.count(node) for node in expected}
    return [] if json_equal(counts, expected) else [Mismatch("visits", expected, counts)]


def _waits(scene: Scene, run: TestedRun, expected: Any, since: int) -> list[Mismatch]:
    """By node, what it waits for: a kind, a span until which, or {for, until, who, then}; nothing: for nothing."""
    waits = [] if run.ended else run.waits
    actual = {wait.node: _wait_words(wait, scene) for wait in waits}
    if not expected:
        return [Mismatch("waits", "nothing", actual)] if actual else []
    mismatches: list[Mismatch] = []
    for node, wanted in expected.items():
        here = [wait for wait in waits if wait.node == node]
        if not here:
            mismatches.append(Mismatch(f"waits/{node}", wanted, actual or "nothing waits"))
        elif not any(_wait_fits(wait, wanted, scene) for wait in here):
            mismatches.append(Mismatch(f"waits/{node}", wanted, _wait_words(here[0], scene)))
    return mismatches


def _wait_words(wait: OpenWait, scene: Scene) -> dict[str, Any]:
    until = None if wait.until is None else f"+{duration_words(wait.until - scene.began_at)}"
    words = {"for": wait.for_, "what": wait.what, "who": wait.who, "until": until, "then": wait.then}
    return {name: value for name, value in words.items() if value}


def _wait_fits(wait: OpenWait, wanted: Any, scene: Scene) -> bool:
    if wanted is None:
        return True
    if isinstance(wanted, str):
        return wanted in (wait.for_, wait.what)
    who = wanted.get("who", [])
    names = {each.partition(":")[2] or each for each in wait.who} | set(wait.who)
    return (
        wanted.get("for", wait.for_) == wait.for_
        and wanted.get("what", wait.what) == wait.what
        and wanted.get("then", wait.then) == wait.then
        and all(each in names for each in ([who] if isinstance(who, str) else who))
        and ("until" not in wanted or wait.until == moment_of(wanted["until"], scene))
    )


def moment_of(text: str, scene: Scene) -> int:
    """A moment of ISO 8601; +2h since the beginning; 2h from now on. Raises BadInput."""
    if text.startswith("+"):
        return scene.began_at + read_duration(text[1:])
    try:
        return scene.now + read_duration(text)
    except BadInput:
        return read_moment(text)


def _messages(scene: Scene, run: TestedRun, expected: Any, since: int) -> list[Mismatch]:
    """Each of them was sent, in this order; others may have been, too. None expected: none was sent."""
    sent = run.messages[since:]
    shown = [{"channel": each.channel, "to": each.to, "text": each.text} for each in sent]
    if not expected:
        return [Mismatch("messages", "none", shown)] if sent else []
    left = iter(sent)
    for i, wanted in enumerate(expected):
        if not any(_message_fits(message, wanted) for message in left):
            return [Mismatch(f"messages/{i}", wanted, shown or "nothing was sent", "none of them is so, in this order")]
    return []


def _message_fits(message: Any, wanted: Any) -> bool:
    """A text is mismatches in the message; a receiver is one of its receivers."""
    receivers = wanted.get("to", [])
    return (
        wanted.get("channel", message.channel) == message.channel
        and wanted.get("node", message.node) == message.node
        and str(wanted.get("text", "")) in message.text
        and str(wanted.get("subject", "")) in message.subject
        and all(each in message.to for each in ([receivers] if isinstance(receivers, str) else receivers))
    )


def _failure(scene: Scene, run: TestedRun, expected: Any, since: int) -> list[Mismatch]:
    actual = run.failure
    if expected is None or isinstance(expected, str):
        code = None if actual is None else actual["code"]
        return [] if code == expected else [Mismatch("failure", expected, code)]
    return part_mismatches("failure", expected, actual or {})


def _holds(scene: Scene, run: TestedRun, expected: Any, since: int) -> list[Mismatch]:
    """Expressions over the run: status, output, variables, failure, path, and the variables themselves."""
    view = run.view
    names = {
        **view.variables, "status": view.status, "output": view.output, "variables": view.variables,
        "failure": view.failure, "path": run.path, "messages": msgspec.to_builtins(run.messages),
    }  # fmt: skip
    mismatches = []
    for text in [expected] if isinstance(expected, str) else expected:
        try:
            value = compile_expression(text)(names)
        except PenstockError as error:
            value = f"{error.code} {error}"
        if value is not True:
            mismatches.append(Mismatch("holds", text, value))
    return mismatches


def _took(scene: Scene, run: TestedRun, expected: Any, since: int) -> list[Mismatch]:
    view = run.view
    took = (view.updated_at if run.ended else scene.now) - view.created_at
    return [] if took == read_duration(expected) else [Mismatch("took", expected, duration_words(took))]


def _runs(scene: Scene, run: TestedRun, expected: Any, since: int) -> list[Mismatch]:
    count = len(scene.runs)
    return [] if json_equal(count, expected) else [Mismatch("runs", expected, count)]


#: a word of `then` → how it is looked at
CHECKS: dict[str, Callable[[Any, Any, Any, int], list[Mismatch]]] = {
    "status": _status,
    "path": _equal("path", lambda run: run.path),
    "passes": _passes,
    "not_reached": _not_reached,
    "visits": _visits,
    "waits": _waits,
    "messages": _messages,
    "compensated": _equal("compensated", lambda run: run.compensated),
    "variables": _partly("variables", lambda run: run.variables),
    "output": _partly("output", lambda run: run.output),
    "nodes": _partly("nodes", lambda run: run.nodes),
    "failure": _failure,
    "holds": _holds,
    "took": _took,
    "runs": _runs,
}
