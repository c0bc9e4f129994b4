"""How a response is written: a body made of what the app computed, as JSON."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar
from urllib.parse import quote

import msgspec
from pydantic import BaseModel
from starlette.responses import Response

M = TypeVar("M", bound=BaseModel)


def reply(
    model: type[M], content: Any, *, status: int = 200, headers: Mapping[str, str] | None = None
) -> Response:  # fmt: skip
    """The response, written here and not by the framework, which would validate it a second time. `Location` is given
    unescaped: names in it may have any letters, and a header may not."""
    body = content if isinstance(content, model) else model.model_validate(msgspec.to_builtins(content))
    text = body.model_dump_json(by_alias=True).encode()
    escaped = {name: quote(value, safe="/") if name == "Location" else value for name, value in (headers or {}).items()}
    return Response(text, status, headers=escaped, media_type="application/json")
