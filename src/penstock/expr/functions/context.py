"""Context functions: get_variable."""

from __future__ import annotations

from typing import Any

from penstock.expr.functions.contract import Function, family, text_from
from penstock.expr.limits import View, host_value
from penstock.expr.roots import RESERVED_ROOTS
from penstock.expr.values import member, walk


def _get_variable(view: View, name: Any) -> Any:
    """A context variable, else a node's output variable; no name in data reaches a reserved root such as secrets."""
    path = text_from("get_variable", name)
    try:
        context = host_value(view, "context")
    except KeyError:
        context = None
    for found in (member(context, path), walk(context, path)):
        if found is not None:
            return found
    root, _, rest = path.partition(".")
    if root in RESERVED_ROOTS or root.startswith("$"):
        return None
    try:
        value = host_value(view, root)
    except KeyError:
        return None
    return walk(value, rest) if rest else value


CONTEXT = family(
    "context",
    Function(
        "get_variable",
        "(name) -> any",
        "The variable of that name, which may be a dotted path; null when there is none.",
        _get_variable,
        sees_view=True,
        reads=("context",),
    ),
)
