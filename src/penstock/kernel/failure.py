"""Failure: a value in the journal that says what went wrong in a run."""

from __future__ import annotations

from typing import Any

import msgspec

#: W-7.1, C-19: categories that say something about the one who was called; breakers count them
OUTAGE = frozenset({"transient", "timeout", "external", "resource"})


class Failure(msgspec.Struct, array_like=True, gc=False):
    """`category` decides about retries (W-7.1): transient, permanent, timeout, validation, authorization, business,
    external, resource, system, refused."""

    code: str
    category: str
    message: str = ""
    node: str = ""
    detail: Any = None


def kept_output(failure: Failure) -> tuple[Any, Failure]:
    """The output that a failure has brought in its detail, and the failure without it."""
    detail = failure.detail
    if type(detail) is not dict or "output" not in detail:
        return None, failure
    rest = {name: value for name, value in detail.items() if name != "output"}
    return detail["output"], Failure(failure.code, failure.category, failure.message, failure.node, rest or None)


def with_output(failure: Failure, output: Any) -> Failure:
    """A failure that brings an output to whoever handles it."""
    detail = failure.detail if type(failure.detail) is dict else {}
    return Failure(failure.code, failure.category, failure.message, failure.node, {**detail, "output": output})
