"""Masking: what is written beside the journal holds no secret, however it came in (W-8.1.6)."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from penstock.executors.contract import Tenant
from penstock.executors.parts.secrets import Secrets
from penstock.kernel.run import Run
from penstock.kernel.view import secret_mark

Mask = Callable[[Any], Any]


def mask_of(tenant: Tenant, run: Run) -> Mask:
    """Known values become ***, and the run's own marks become the references that they are."""
    wanted = {*tenant.each("secret"), *run.net.net.declares.secrets, *run.net.net.declares.secrets.values()}
    values = {name: value for name in wanted if (value := tenant.secret(name))}
    secrets = Secrets(values)
    mark = secret_mark(run)
    marked = re.compile(f"{re.escape(mark)}([^§]+){re.escape(mark)}")

    def mask(value: Any) -> Any:
        return _unmarked(secrets.scrub(value) if values else value, mark, marked)

    return mask


def _unmarked(value: Any, mark: str, marked: re.Pattern[str]) -> Any:
    if isinstance(value, str):
        return marked.sub(r"${secrets.\1}", value) if mark in value else value
    if isinstance(value, Mapping):
        return {name: _unmarked(part, mark, marked) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [_unmarked(part, mark, marked) for part in value]
    return value
