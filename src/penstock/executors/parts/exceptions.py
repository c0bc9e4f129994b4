"""Turns an exception of a user's code into a failure: code, category and message, never a traceback."""

from __future__ import annotations

import re
from typing import Any

from penstock.executors.contract import Failed, Services, failed
from penstock.executors.parts.secrets import Secrets
from penstock.kernel.failure import Failure

CATEGORIES = frozenset(
    "transient permanent timeout validation authorization business external resource system refused".split()
)
_CODE = re.compile(r"[A-Za-z][A-Za-z0-9_.-]{0,63}\Z")
_MESSAGE_MAX = 2000


def secrets_of(services: Services) -> Secrets:
    return Secrets(services.settings.get("secrets"))


def operator_secrets(services: Services) -> Secrets:
    """For what the operator has set up for everybody; nothing of a document is filled with them."""
    return Secrets((services.settings if services.machine is None else services.machine).get("secrets"))


def exception_failure(error: BaseException, secrets: Secrets) -> Failed:
    """`.category` and `.code` of the exception are honoured where they are words of the house."""
    code, category = _kind(error)
    own_category, own_code = getattr(error, "category", None), getattr(error, "code", None)
    if isinstance(own_category, str) and own_category in CATEGORIES:
        category = own_category
    if isinstance(own_code, str) and _CODE.match(own_code):
        code = own_code
    message = secrets.scrub_message(str(error) or type(error).__name__)[:_MESSAGE_MAX]
    return failed(code, category, message, {"error": type(error).__name__})


def _kind(error: BaseException) -> tuple[str, str]:
    if isinstance(error, TimeoutError):
        return "NODE_TIMEOUT", "timeout"
    if isinstance(error, ConnectionError):
        return "CONNECTION_LOST", "transient"
    if isinstance(error, MemoryError):
        return "NODE_MEMORY", "resource"
    return "NODE_ERROR", "permanent"


def scrub_failure(outcome: Failed, secrets: Secrets) -> Failed:
    """The same failure without secrets in its message and detail."""
    old = outcome.failure
    detail: Any = secrets.scrub(old.detail)
    return Failed(Failure(old.code, old.category, secrets.scrub_message(old.message), old.node, detail))
