"""What a stub does when it is asked: answer, fail, never answer, call a function, or let the real executor do it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import msgspec

from penstock.app.durations import read_duration
from penstock.errors import BadInput

#: what effects do
EFFECTS = ("read", "send", "write", "ask", "run", "deploy", "compute", "call")
#: the categories of failures that decide about retries
CATEGORIES = (
    "transient", "permanent", "timeout", "validation", "authorization", "business", "external", "resource", "system",
    "refused",
)  # fmt: skip


class Behaviour(msgspec.Struct, frozen=True, kw_only=True):
    """`takes_ms` of virtual time pass before it ends so."""

    kind: Literal["answer", "fails", "never", "real", "call"]
    value: Any = None
    code: str = ""
    category: str = ""
    message: str = ""
    takes_ms: int = 0
    function: Callable[..., Any] | None = None


def answer(value: Any = None, *, takes: str = "0s") -> Behaviour:
    """Succeed with a value, after some virtual time."""
    return Behaviour(kind="answer", value=value, takes_ms=read_duration(takes))


def fails(code: str, message: str = "", *, category: str = "external", takes: str = "0s") -> Behaviour:
    """Fail with a code; the category decides about retries: transient, timeout, external and resource are tried
    again."""
    if category not in CATEGORIES:
        raise BadInput(what=f"the category «{category}»", why=f"it is one of {', '.join(CATEGORIES)}")
    text = message or f"the stub fails with {code}"
    return Behaviour(kind="fails", code=code, category=category, message=text, takes_ms=read_duration(takes))


def never() -> Behaviour:
    """Never answer: only the node's own timeout, or the end of its run, ends it."""
    return Behaviour(kind="never")


def real() -> Behaviour:
    """Let the real executor do it: it reaches the world."""
    return Behaviour(kind="real")


def call(function: Callable[..., Any], *, takes: str = "0s") -> Behaviour:
    """Ask a function, with the inputs and arguments that it names, or with `request`; what it raises is a failure."""
    return Behaviour(kind="call", function=function, takes_ms=read_duration(takes))


def as_behaviour(given: Any) -> Behaviour:
    """A behaviour itself, a function, or a value that is the answer."""
    if isinstance(given, Behaviour):
        return given
    return call(given) if callable(given) else answer(given)


class Stub:
    """Behaviours one after the other; the last one stays. `undo`: what stands in for the node's way back."""

    def __init__(self, behaviours: tuple[Behaviour, ...], undo: tuple[Behaviour, ...] = ()) -> None:
        self.behaviours, self.asked = behaviours, 0
        self.undo = Stub(undo) if undo else None

    @property
    def was_asked(self) -> bool:
        return self.asked > 0 or self.undo is not None and self.undo.asked > 0

    def next(self) -> Behaviour:
        self.asked += 1
        return self.behaviours[min(self.asked, len(self.behaviours)) - 1]
