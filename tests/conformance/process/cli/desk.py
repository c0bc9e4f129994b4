"""Processes from the command line on either store: what is typed, what is printed, and the exit code.

Agents and tools are a place of the test's. No engine runs beside: every command drives what it moves, unless a test
starts `penstock work`.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.api.sites import database
from tests.cli.shell import Said, Shell, Zygote
from tests.conformance.process.http.world import Case, World

DONE, WRONG, FAILED, WAITS = 0, 2, 3, 4
KIM, LEE = "kim@example.com", "lee@example.com"
_numbers = itertools.count(1)


class Desk(World):
    """The same agents and tools as over HTTP, but nothing is served."""

    def __init__(self, folder: Path, store: str | None, zygote: Zygote) -> None:
        super().__init__(folder, store)
        self.shell = Shell(folder, zygote)

    def close(self) -> None:
        self.going.set()
        self.closing.set()
        self.place.close()

    @property
    def kind(self) -> str:
        return self.server.kind

    def typed(self, *words: str | Path) -> list[str]:
        return [*map(str, words), "--store", self.server.store]

    def __call__(self, *words: str | Path, code: int = DONE, zygote: Zygote | None = None) -> Any:
        """What the command prints for programs."""
        shell = self.shell if zygote is None else Shell(_own_folder(self.shell.folder, zygote), zygote)
        return shell(*self.typed(*words), "--json", code=code).json()

    def says(self, *words: str | Path, code: int = DONE) -> str:
        """What it prints for people."""
        said = self.shell(*self.typed(*words), code=code)
        return said.out if code != WRONG else said.err

    def wrong(self, *words: str | Path) -> dict[str, Any]:
        """What it says when it cannot do it: exit code 2, and the error as JSON."""
        return self.shell(*self.typed(*words), "--json", code=WRONG).error()

    def alone(self, *words: str | Path, code: int = DONE) -> Said:
        """In a process of its very own."""
        return self.shell.alone(*self.typed(*words), code=code)

    def beside(self, *words: str | Path) -> subprocess.Popen[str]:
        return self.shell.start(*self.typed(*words))

    # -- agents and tools ----------------------------------------------------------------------------------------------

    def agent(self, name: str, says: Any = None) -> str:
        self.answers[name] = {} if says is None else says
        return self.put("agent", name, {"kind": "http", "url": f"{self.place.url}/{name}"})

    def echo(self, name: str, **settings: Any) -> str:
        return self.put("agent", name, {"kind": "echo", **settings})

    def tool(self, name: str, says: Any = None) -> str:
        self.answers[name] = {"ok": True} if says is None else says
        return self.put("tool", name, {"type": "http", "url": f"{self.place.url}/{name}", "method": "POST"})

    def put(self, type: str, name: str, body: dict[str, Any]) -> str:
        self("registry", "put", type, name, json.dumps(body))
        return name

    # -- processes -----------------------------------------------------------------------------------------------------

    def file(self, document: dict[str, Any] | str) -> Path:
        text = document if isinstance(document, str) else json.dumps(document, ensure_ascii=False)
        return self.shell.write("process.json" if text.startswith("{") else "process.bpmn", text)

    def defined(self, document: dict[str, Any]) -> str:
        """Under an id of its own; the same test on the same store does not meet what another one has left."""
        document = {**document, "process_definition_id": f"p{next(_numbers)}"}
        made = self("process", "define", self.file(document), "--by", LEE)
        assert (made["version"], made["new"]) == (1, True)
        return str(made["id"])

    def begins(self, document: dict[str, Any] | str, *words: str, given: Any = None, code: int = WAITS) -> Desked:
        """Begun, and driven until it ends or waits: the exit code says which."""
        id = document if isinstance(document, str) else self.defined(document)
        more = ["--input", json.dumps(given)] if given is not None else []
        made = self("process", "start", id, "--by", LEE, *more, *words, code=code)
        return Desked(self, str(made["run_id"]), id)

    def told(self, event: str | None = None, run: str | None = None) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self(
            "process", "events", *([run] if run else []), *(["--event", event] if event else [])
        )
        return found


class Desked(Case):
    """One instance, looked at and moved by commands."""

    def __init__(self, desk: Desk, id: str, definition: str) -> None:
        super().__init__(desk, id, definition)
        self.desk = desk

    def look(self) -> dict[str, Any]:
        found: dict[str, Any] = self.desk("process", "instance", self.id)
        return found

    def verb(self, activity: str, verb: str, *words: str, by: str = KIM, code: int = WAITS) -> dict[str, Any]:
        """On the item of the activity: the one that is open, else the last."""
        found: dict[str, Any] = self.desk("items", verb, f"{self.id}/{activity}", *words, "--by", by, code=code)
        return found

    def hands_in(self, activity: str, result: Any = None, **more: Any) -> list[str]:
        """What comes next."""
        words = [] if result is None else ["--result", json.dumps(result)]
        found: list[str] = self.verb(activity, "submit", *words, **more)["next_nodes"]
        return found

    def refuses(self, activity: str, verb: str, *words: str, by: str = KIM) -> dict[str, Any]:
        return self.desk.wrong("items", verb, f"{self.id}/{activity}", *words, "--by", by)

    def told(self, event: str | None = None) -> list[dict[str, Any]]:
        return self.desk.told(event, self.id)


def _own_folder(folder: Path, zygote: Zygote) -> Path:
    """What two commands at once print does not go into the same file."""
    own = folder / f"zygote_{zygote.process.pid}"
    if not own.exists():
        own.mkdir()
        (own / ".penstock").symlink_to(folder / ".penstock")
    return own


@contextlib.contextmanager
def desk(name: str, folder: Path, zygote: Zygote) -> Iterator[Desk]:
    with database() if name == "postgresql" else contextlib.nullcontext(None) as store:
        one = Desk(folder, store, zygote)
        try:
            yield one
        finally:
            one.close()
