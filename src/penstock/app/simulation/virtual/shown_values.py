"""Values as a report shows them: small, without secrets, and references to secrets as the author wrote them."""

from __future__ import annotations

import re
from typing import Any

import msgspec

from penstock.app.access.audit import masked
from penstock.kernel.run import Run
from penstock.kernel.view import secret_mark


class ShownValues:
    """Of virtual runs that have the same name: they write references to secrets alike."""

    def __init__(self, run: Run, longest: int) -> None:
        mark = re.escape(secret_mark(run))
        self._marked, self._longest = re.compile(f"{mark}([^§]+){mark}"), longest

    def __call__(self, value: Any) -> Any:
        """The value itself where it is small, else the beginning of its JSON."""
        try:
            text = msgspec.json.encode(masked(value)).decode()
        except (TypeError, ValueError, OverflowError, RecursionError):
            return f"<{type(value).__name__}>"
        text = self._marked.sub(r"${secrets.\1}", text)
        return msgspec.json.decode(text) if len(text) <= self._longest else f"{text[: self._longest - 1]}…"
