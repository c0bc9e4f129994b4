"""Penstock: one durable orchestration engine. Documents are lowered to a net, and a pure token kernel runs it."""

from __future__ import annotations

import warnings
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from penstock.app.blocking import Blocking
    from penstock.app.penstock import Penstock, Release
    from penstock.app.runs.run_view import RunView
    from penstock.dialects.token_events import Event
    from penstock.errors import Finding, PenstockError
    from penstock.executors.contract import Done, Executor, Failed, Request, Services, Skipped
    from penstock.kernel.failure import Failure
    from penstock.net.model import Body, Branch, Edge, Effect, Join, Net, Node, OnError, Poll, Retry, Set, Trigger, Work

    Look = RunView  # deprecated

__version__ = "0.1.0"
__all__ = [
    "Blocking", "Body", "Branch", "Done", "Edge", "Effect", "Event", "Executor", "Failed", "Failure", "Finding",
    "Join", "Net", "Node", "OnError", "Penstock", "PenstockError", "Poll", "Release", "Request", "Retry",
    "RunView", "Services", "Set", "Skipped", "Trigger", "Work",
]  # fmt: skip

#: Where each name is kept; imported when it is first used, so that a command that needs little starts quickly.
_KEPT = {
    "app.blocking": ("Blocking",),
    "dialects.token_events": ("Event",),
    "app.runs.run_view": ("RunView",),
    "app.penstock": ("Penstock", "Release"),
    "errors": ("Finding", "PenstockError"),
    "executors.contract": ("Done", "Executor", "Failed", "Request", "Services", "Skipped"),
    "kernel.failure": ("Failure",),
    "net.model": (
        "Body", "Branch", "Edge", "Effect", "Join", "Net", "Node", "OnError", "Poll", "Retry", "Set", "Trigger", "Work",
    ),
}  # fmt: skip
_HOME = {name: module for module, names in _KEPT.items() for name in names}
#: Names that were replaced: each still works, with a warning.
_DEPRECATED = {"Look": "RunView"}


def __getattr__(name: str) -> Any:
    if name in _DEPRECATED:
        new = _DEPRECATED[name]
        warnings.warn(f"penstock.{name} is called {new} now", DeprecationWarning, stacklevel=2)
        return getattr(import_module(__name__), new)
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = globals()[name] = getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
