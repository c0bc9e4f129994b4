"""Times in response bodies: milliseconds inside, ISO 8601 outside."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BeforeValidator, Field

from penstock.app.timestamps import iso, moment

__all__ = ["Moment", "iso", "moment"]


def _iso(value: Any) -> Any:
    return iso(value) if type(value) is int else value


#: a time as it is sent
Moment = Annotated[str, BeforeValidator(_iso), Field(json_schema_extra={"format": "date-time"})]
