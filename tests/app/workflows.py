"""Small workflows to release: one node, a trigger, and what a test wants changed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from penstock.app.penstock import Penstock


def workflow(id: str = "wf_small", **more: Any) -> dict[str, Any]:
    """It waits for a person's go, so that a run of it stays."""
    return {
        "id": id,
        "version": 1,
        "nodes": [
            {"id": "first", "type": "WAIT", "condition": {"type": "manual"}},
            {"id": "second", "type": "WAIT", "condition": {"type": "manual"}},
        ],
        "edges": [{"from": "first", "to": "second"}],
        **more,
    }


def scheduled(config: dict[str, Any], **more: Any) -> dict[str, Any]:
    return workflow(trigger={"type": "schedule", "config": {"cron": "0 8 * * *", **config}}, **more)


@contextmanager
def opened(folder: Path, **options: Any) -> Iterator[Penstock]:
    """A door that drives nothing."""
    door = Penstock(folder / "store.db", drive=False, **options).open()
    try:
        yield door
    finally:
        door.close()
