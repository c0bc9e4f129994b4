"""Penstock: one durable orchestration engine. Documents are lowered to a net, and a pure token kernel runs it."""

from __future__ import annotations

from penstock.app.blocking import Blocking
from penstock.app.events import Event
from penstock.app.look import Look
from penstock.app.penstock import Penstock, Release
from penstock.errors import Finding, PenstockError
from penstock.executors.contract import Done, Executor, Failed, Request, Services, Skipped
from penstock.kernel.failure import Failure
from penstock.net.model import Body, Branch, Edge, Effect, Join, Net, Node, OnError, Poll, Retry, Set, Trigger, Work

__version__ = "0.1.0"
__all__ = [
    "Blocking", "Body", "Branch", "Done", "Edge", "Effect", "Event", "Executor", "Failed", "Failure", "Finding",
    "Join", "Look", "Net",
    "Node", "OnError", "Penstock", "PenstockError", "Poll", "Release", "Request", "Retry", "Services", "Set",
    "Skipped", "Trigger",
    "Work",
]  # fmt: skip
