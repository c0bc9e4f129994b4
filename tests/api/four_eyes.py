"""A tenant that asks for four eyes, on a real server: its people, their keys, and what was brought in force before."""

from __future__ import annotations

import contextlib
import io
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple
from unittest import mock

import httpx2
import pytest

from penstock.app.access.keys import ApiKeys
from penstock.app.penstock import Penstock
from penstock.cli.main import main
from tests.api.serving import Server, serving
from tests.cli.shell import Said

TENANT = "tenant_001"
#: authors with everything that could be used against four eyes: the more they may, the harder it is to hold them
AUTHORS = {
    "kim": ["admin"],
    "한별": ["process_owner", "it_manager"],
    "moẹ": ["author", "approver", "analyst", "it_manager"],
}
#: the second person, and a third who has nothing to do with it
SECOND, THIRD = "lee", "ria"
FOUR_EYES = {"release": {"four_eyes": True}}


class Thing(NamedTuple):
    """What was brought: a version of a document, or something registered."""

    kind: str
    name: str
    version: int = 0


class House:
    """The server, its store at the command line, and everybody's keys."""

    def __init__(self, folder: Path, server: Server, keys: dict[str, str]) -> None:
        self.folder, self.server, self.keys = folder, server, keys
        self.clients: dict[str, httpx2.Client] = {}

    def client(self, key: str) -> httpx2.Client:
        if key not in self.clients:
            self.clients[key] = self.server.client(key=key)
        return self.clients[key]

    def of(self, user: str) -> httpx2.Client:
        return self.client(self.keys[user])

    def cli(self, *words: str, key: str | None = None) -> Said:
        """The command line on the server's store, while that runs."""
        env = {name: value for name, value in os.environ.items() if not name.startswith("PENSTOCK_")}
        out, err = (io.TextIOWrapper(io.BytesIO(), "utf-8", write_through=True) for _ in range(2))
        with (
            mock.patch.dict(os.environ, {**env, **({"PENSTOCK_KEY": key} if key else {})}, clear=True),
            contextlib.redirect_stdout(out), contextlib.redirect_stderr(err), pytest.raises(SystemExit) as ended,
        ):  # fmt: skip
            main([*words, "--json", "--store", self.server.store])
        printed, told = (stream.buffer.getvalue().decode() for stream in (out, err))
        assert "Traceback" not in printed + told, told
        return Said(int(ended.value.code or 0), printed, told)

    def write(self, name: str, text: str | dict[str, Any]) -> str:
        path = self.folder / name
        path.write_text(text if isinstance(text, str) else json.dumps(text), encoding="utf-8")
        return str(path)

    def in_force(self, thing: Thing) -> Any:
        """The version in force, or the body of what is registered; None where there is none."""
        client = self.of(THIRD)
        if thing.kind == "release":
            answer = client.get(f"/definitions/{thing.name}/versions")
            versions = answer.json()["items"] if answer.status_code == 200 else []
            return next((row["version"] for row in versions if row["status"] == "active"), None)
        answer = client.get(f"/{thing.kind}/{thing.name}")
        return answer.json()["body"] if answer.status_code == 200 else None


@contextlib.contextmanager
def house(folder: Path) -> Iterator[House]:
    """Production, with keys only; four eyes are asked for from the beginning."""
    (folder / "s").mkdir()
    keys: dict[str, str] = {}
    door = Penstock(folder / "s" / "penstock.db", drive=False, profile="production").open()
    try:
        for user, roles in {**AUTHORS, SECOND: ["admin"], THIRD: ["admin"]}.items():
            door.register("user", user, {"name": user, "roles": roles, "email": f"{user}@example.com"})
            keys[user] = ApiKeys(door).create("own", user=user, by=user)[1]
        door.register("config", "tenant", {**FOUR_EYES, "name": "Four eyes"})
    finally:
        door.close()
    with serving(folder, "serve", "--profile", "production") as server:
        yield House(folder, server, keys)
