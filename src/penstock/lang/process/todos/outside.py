"""Who answers for a pool, as an answer names them."""

from __future__ import annotations

from typing import Any

from penstock.lang.process.nodes.candidates import is_target
from penstock.lang.process.todos.edit import refusal


def who_answers(given: dict[str, Any], otherwise: str) -> list[str]:
    """Targets; none means that only programs answer. Nothing said means `otherwise`."""
    who = given.get("who", [otherwise])
    hint = "Write user:ID, role:NAME or group:NAME."
    if not isinstance(who, list):
        raise refusal("wrong_type", "«who» is a list.", "/who", hint)
    for n, target in enumerate(who):
        if not isinstance(target, str) or not is_target(target):
            raise refusal("bad_target", f"«{target}» names nobody.", f"/who/{n}", hint)
    return list(who)
