"""The names that a text of an author may use: inputs by name, members of unnamed inputs, variables of the run.

`shared` and `spread` are arguments that a language sets where a text names what no connection brings by that name:
values of the run, and the inputs whose members are names. A name that a connection brings wins over both.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from penstock.executors.contract import Request


def given_names(request: Request) -> dict[str, Any]:
    """The newest body per name, and below them what is shared."""
    return with_shared(request.args, request.named())


def with_shared(args: Any, named: Mapping[str, Any]) -> dict[str, Any]:
    if not isinstance(args, Mapping) or ("shared" not in args and "spread" not in args):
        return dict(named)
    names: dict[str, Any] = {}
    for name in args.get("spread") or ():
        value = named.get(name)
        if isinstance(value, Mapping):
            names |= {str(key): member for key, member in value.items() if str(key) not in names}
    shared = args.get("shared")
    if isinstance(shared, Mapping):
        names |= {str(name): value for name, value in shared.items() if value is not None}
    return {**names, **named}
