"""Unmasking of a body that is sent back: *** stands for the stored secret, unless the address changed."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from penstock.app.access.audit import masked, words_of
from penstock.errors import BadInput
from penstock.executors.parts.secrets import MASK

#: names of members that say where a secret is sent
_ADDRESS = re.compile(r"(^|_)(url|uri|hosts?|hostname|servers?|endpoint|address|broker|dsn|domain|proxy|issuer|port)$")
_HINT = "Send the secret again with it, instead of ***."


def unmasked(what: str, new: dict[str, Any], old: Any) -> dict[str, Any]:
    """The new body with the stored secrets. Raises BadInput where they would be sent to another address."""
    shown = masked(old)
    body: dict[str, Any] = _restore(what, new, old, shown)
    if _has_masked(new, shown, old) and list(_addresses(body)) != list(_addresses(old)):
        raise BadInput(what=what, why="its address is another one, and its secret was not sent", hint=_HINT)
    return body


def _restore(what: str, new: Any, old: Any, shown: Any) -> Any:
    if isinstance(new, dict) and isinstance(old, dict):
        return {name: _restore(what, part, old.get(name), shown.get(name)) for name, part in new.items()}
    if isinstance(new, list) and isinstance(old, list) and len(new) == len(old):
        return [_restore(what, *parts) for parts in zip(new, old, shown, strict=True)]
    if not isinstance(new, str) or not isinstance(old, str) or shown == old or MASK not in new:
        return new
    if new not in (shown, MASK):
        raise BadInput(what=what, why="a text in which a secret was masked is another one", hint=_HINT)
    return old


def _has_masked(new: Any, shown: Any, old: Any) -> bool:
    """Whether any secret comes back masked."""
    if isinstance(new, dict) and isinstance(old, dict):
        return any(_has_masked(part, shown.get(name), old.get(name)) for name, part in new.items())
    if isinstance(new, list) and isinstance(old, list) and len(new) == len(old):
        return any(_has_masked(*parts) for parts in zip(new, shown, old, strict=True))
    return isinstance(new, str) and isinstance(old, str) and shown != old and MASK in new


def _addresses(value: Any, name: str = "", at: str = "") -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict):
        for key in sorted(value, key=str):
            yield from _addresses(value[key], words_of(str(key)), f"{at}/{key}")
    elif isinstance(value, list):
        for i, part in enumerate(value):
            yield from _addresses(part, name, f"{at}/{i}")
    elif isinstance(value, str) and "://" in value or _ADDRESS.search(name):
        yield at, value
