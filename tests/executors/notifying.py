"""What the tests of notifications share: a tenant with a registry, and one attempt at a time."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from penstock.executors.notify import NotifyExecutor
from penstock.kernel.failure import Failure
from tests.executors.desk import Desk

MARK = "§0123456789abcdef§"
KEY = "t/r/n/0/1"


def secret(name: str) -> str:
    """What the kernel makes of ${secrets.NAME}."""
    return f"{MARK}{name}{MARK}"


class PostDesk(Desk):
    """`names` are the run's names; everything on this machine may be reached unless a test says otherwise."""

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self.names: dict[str, Any] = {}
        self.settings["http.allow"] = ["127.0.0.1"]

    def put(self, type: str, id: str, body: dict[str, Any]) -> None:
        self.tenant.things.setdefault(type, {})[id] = body

    def _fields(self, fields: dict[str, Any]) -> dict[str, Any]:
        return {"mark": MARK, "names": self.names, **fields}

    def sent(self, args: dict[str, Any], **fields: Any) -> Any:
        """The output of a delivery that went well."""
        return self.done(NotifyExecutor(), args, **self._fields(fields)).body

    def refused(self, args: dict[str, Any], **fields: Any) -> Failure:
        failure: Failure = self.failed(NotifyExecutor(), args, **self._fields(fields))
        return failure
