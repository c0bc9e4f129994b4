"""Which secret is sent is the author's word, never that of data (C-63)."""

from __future__ import annotations

from typing import Any

import pytest

from tests.conformance.decision.make import document, found


def action(text: str) -> dict[str, Any]:
    channel = {"type": "webhook", "config": {"url": text}}
    return document([{"id": "action_x", "type": "ACTION", "channel": channel, "message": "hi"}])


@pytest.mark.parametrize("text", [
    "${secrets[input.x]}", "${secrets.${input.x}}", "${fn.get_secret(input.x)}", "${secrets}",
    "${secrets[fn.lower('A')]}",
    "${[secrets][0][input.x]}", "${fn.first(fn.map(input.names, n => secrets[n]))}",
    "${fn.first(fn.map(input.names, 'secrets[item]'))}", "https://x/${secrets[input.x]}",
])  # fmt: skip
def test_data_cannot_choose_a_secret(text: str) -> None:
    """C-63: an event that names a secret would have it delivered; refused with place and hint."""
    errors = [one for one in found(action(text)) if one.severity == "error"]
    assert {one.rule for one in errors} - {"address_outside"} == {"secret_not_allowed"}
    assert {one.where.pointer for one in errors} == {"/nodes/0/channel/config/url"} and all(one.hint for one in errors)


@pytest.mark.parametrize(
    "text", ["${secrets.hook}", "${secrets['hook']}", "${fn.get_secret('hook')}", "a/${secrets.hook}"]
)
def test_a_written_name_is_taken(text: str) -> None:
    """C-63."""
    assert [one for one in found(action(text)) if one.severity == "error"] == []
