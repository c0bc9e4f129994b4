"""Reads the JSON of a model's answer, also where the model wrote it into a fenced block."""

from __future__ import annotations

import re
from typing import Any

import msgspec

from penstock.executors.parts.json_values import NotJson, json_value

_FENCE = re.compile(r"\A\s*```(?:json)?\s*\n(.*?)\n\s*```\s*\Z", re.S)


def answer_json(text: str) -> Any:
    """Raises NotJson."""
    fenced = _FENCE.match(text)
    try:
        return json_value(msgspec.json.decode(fenced[1] if fenced else text))
    except (msgspec.DecodeError, RecursionError):
        raise NotJson("it is not JSON") from None
