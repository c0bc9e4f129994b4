"""The store's file is taken away under a running server: no start is acknowledged that nobody finds again.

It is deleted, replaced by a copy, overwritten, and its log is deleted, each under a server of its own.

    python -m tools.attacks.deleted_store
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from tools.attacks.contract import AttackResult
from tools.attacks.one_server import START, one_server

STARTS = 5


def _replaced(path: Path) -> None:
    copy = Path(shutil.copy(path, path.with_name("copy.db")))
    copy.replace(path)


def _overwritten(path: Path) -> None:
    with path.open("r+b") as file:
        file.write(os.urandom(4096))


WAYS: dict[str, Callable[[Path], object]] = {
    "deleted": lambda path: path.unlink(),
    "replaced": _replaced,
    "overwritten": _overwritten,
    "log deleted": lambda path: path.with_name(f"{path.name}-wal").unlink(),
}


def run(folder: Path | None = None) -> AttackResult:
    figures: dict[str, str | float] = {}
    notes = []
    with tempfile.TemporaryDirectory(dir=folder) as place:
        for name, take_away in WAYS.items():
            base = Path(place) / name
            base.mkdir()
            with one_server(base) as server, server.client() as client:
                assert client.post("/runs", json=START).status_code == 201
                take_away(server.store)
                answers = [client.post("/runs", json=START) for _ in range(STARTS)]
                ready = client.get("/ready")
            refused = sum(
                answer.status_code == 503 and answer.json().get("code") == "PS-503-STORE-GONE" for answer in answers
            )
            figures[f"{name}: refused"] = f"{refused} of {STARTS}"
            if refused != STARTS:
                notes.append(f"{name}: {sorted({answer.status_code for answer in answers})}")
            if ready.status_code != 503:
                notes.append(f"{name}: /ready says {ready.status_code}")
    return AttackResult("the deleted store", "bad" if notes else "ok", figures, "; ".join(notes))


if __name__ == "__main__":
    result = run()
    print(result.name, result.verdict, *(f"{key} {value}" for key, value in result.figures.items()), result.note)
    sys.exit(result.verdict == "bad")
