"""What a server under test is surrounded by: settings beside its store, a place that it calls, a workflow that does."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import httpx2

from tests.executors.bench import Seen, Server, as_json

ADMIN, MANAGER, OPERATOR, VIEWER = (f"{name}@example.com" for name in ("admin", "manager", "operator", "viewer"))


def settings(folder: Path, text: str) -> None:
    (folder / "s").mkdir(exist_ok=True)
    (folder / "s" / "settings.toml").write_text(text)


def in_force(admin: httpx2.Client, manager: httpx2.Client, document: dict[str, Any]) -> str:
    """Submitted by one, approved by another, active."""
    done = admin.post("/definitions", json={"document": json.dumps(document)})
    assert done.status_code in (200, 201), done.text
    at = f"/definitions/{document['id']}/versions/{document['version']}"
    assert manager.post(f"{at}/approve").status_code == 200
    assert admin.post(f"{at}/activate").status_code == 200
    return str(document["id"])


def calling(url: str, id: str = "wf_calling", **more: Any) -> dict[str, Any]:
    """A workflow that sends one webhook."""
    channel = {"type": "webhook", "config": {"url": f"{url}/hook", **more}}
    return {
        "id": id, "version": 1,
        "nodes": [{"id": "call", "type": "ACTION", "channel": channel, "message": "hello"}],
        "edges": [],
    }  # fmt: skip


def looping(rounds: int) -> dict[str, Any]:
    """A diagram that waits for an answer beside a loop of many rounds."""
    work = {"type": "person_job", "person": "Writer", "default_prompt": "x", "max_iteration": rounds}
    return {
        "version": "light", "name": "long",
        "persons": {"Writer": {"service": "echo"}},
        "nodes": [
            {"label": "Start", "type": "start"},
            {"label": "Ask", "type": "user_response", "prompt": "?"},
            {"label": "Work", **work},
            {"label": "Enough", "type": "condition", "condition_type": "detect_max_iterations"},
            {"label": "End", "type": "endpoint"}, {"label": "Told", "type": "endpoint"},
        ],
        "connections": [
            {"from": "Start", "to": "Ask"}, {"from": "Ask", "to": "Told"},
            {"from": "Start", "to": "Work"}, {"from": "Work", "to": "Enough"},
            {"from": "Enough[condfalse]", "to": "Work"}, {"from": "Enough[condtrue]", "to": "End"},
        ],
    }  # fmt: skip


def place(answers: dict[str, Any] | None = None) -> Server:
    """Answers {"ok": true} everywhere but where it is told otherwise."""

    def answer(seen: Seen) -> Any:
        said = (answers or {}).get(seen.path.partition("?")[0])
        if callable(said):
            return said(seen)
        return as_json(said if said is not None else {"ok": True})

    return Server(answer)
