"""Answers: a model of the resource, filled from what the door gives, written once."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar
from urllib.parse import quote

import msgspec
from pydantic import BaseModel, ConfigDict
from starlette.responses import Response

M = TypeVar("M", bound=BaseModel)


class ResponseBody(BaseModel):
    """An answer. It is filled from what the app computes, by the names of its fields. Each is always written, also one
    that has a default, and the description of the API says so."""

    model_config = ConfigDict(populate_by_name=True, json_schema_serialization_defaults_required=True)


class RequestBody(BaseModel):
    """A request body: what is not known is refused, so that a slip of the pen is not taken for a default."""

    model_config = ConfigDict(extra="forbid")


def shown(
    model: type[M], value: Any, *, status: int = 200, headers: Mapping[str, str] | None = None
) -> Response:  # fmt: skip
    """Written by hand, and not by the framework, which would check it a second time. A Location is given as it reads:
    names in it may have any letters, and a header may not."""
    made = value if isinstance(value, model) else model.model_validate(msgspec.to_builtins(value))
    body = made.model_dump_json(by_alias=True).encode()
    named = {name: quote(one, safe="/") if name == "Location" else one for name, one in (headers or {}).items()}
    return Response(body, status, headers=named, media_type="application/json")
