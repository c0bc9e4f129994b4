"""Values that the journal gives back as plain lists, as their types."""

from __future__ import annotations

from typing import Any

from penstock.kernel.failure import Failure


def as_failure(raw: Any) -> Failure | None:
    return raw if raw is None or type(raw) is Failure else Failure(*raw)
