"""Times in what is sent: models take the house's milliseconds."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BeforeValidator, Field

from penstock.app.times import iso, moment

__all__ = ["Moment", "iso", "moment"]


def _told(value: Any) -> Any:
    return iso(value) if type(value) is int else value


#: a moment as it is sent
Moment = Annotated[str, BeforeValidator(_told), Field(json_schema_extra={"format": "date-time"})]
