"""Context functions: get_variable, get_secret, get_config, get_tenant_config."""

from __future__ import annotations

import re
from typing import Any

from penstock.errors import ExprSecretMissing, ExprTypeError
from penstock.expr.functions.contract import Function, family, text_from
from penstock.expr.limits import View, host_value
from penstock.expr.root_names import RESERVED_ROOTS
from penstock.expr.values import member, walk

_SECRET_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]{0,199}")


def _get_variable(view: View, name: Any) -> Any:
    """A context variable, else a node's output variable; no name in data reaches a reserved root such as secrets."""
    path = text_from("get_variable", name)
    try:
        context = host_value(view, "context")
    except KeyError:
        context = None
    in_context = _named(context, path)
    if in_context is not None:
        return in_context
    root, _, rest = path.partition(".")
    if root in RESERVED_ROOTS or root.startswith("$"):
        return None
    try:
        value = host_value(view, root)
    except KeyError:
        return None
    return walk(value, rest) if rest else value


def _get_secret(view: View, name: Any) -> Any:
    """What `secrets.NAME` gives, which in a run is a reference and never the value. The name may come from data, so it
    is a name only: never a place such as env:HOME, nor a text that cannot be told from what stands around it."""
    path = text_from("get_secret", name)
    if _SECRET_NAME.fullmatch(path) is None:
        raise ExprTypeError(why="fn.get_secret: a secret's name has letters, digits, _ . - only")
    try:
        secret = _named(host_value(view, "secrets"), path)
    except KeyError:
        raise ExprTypeError(why="fn.get_secret: there are no secrets here") from None
    if secret is None:
        raise ExprSecretMissing(name=path)
    return secret


def _get_config(view: View, key: Any) -> Any:
    return _setting(view, "$config", text_from("get_config", key))


def _get_tenant_config(view: View, key: Any) -> Any:
    return _setting(view, "$tenant_config", text_from("get_tenant_config", key))


def _setting(view: View, root: str, key: str) -> Any:
    try:
        return _named(host_value(view, root), key)
    except KeyError:
        return None


def _named(value: Any, path: str) -> Any:
    """The member of exactly this name, else the one that the dotted path leads to; null when there is neither."""
    direct = member(value, path)
    return walk(value, path) if direct is None else direct


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
    Function(
        "get_secret",
        "(name) -> any",
        "The secret of that name, as `secrets.NAME` gives it: a reference that is filled just before a call.",
        _get_secret,
        sees_view=True,
        reads=("secrets",),
    ),
    Function(
        "get_config",
        "(key) -> any",
        "The setting of the workflow's service under that key, which may be a dotted path; null when there is none.",
        _get_config,
        sees_view=True,
        reads=("$config",),
    ),
    Function(
        "get_tenant_config",
        "(key) -> any",
        "The tenant's own setting under that key, which may be a dotted path; null when there is none.",
        _get_tenant_config,
        sees_view=True,
        reads=("$tenant_config",),
    ),
)
