"""A tenant that means ill, on a server that it shares with others: one document per executor, and it gets nothing."""

from __future__ import annotations

import json
import socket
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import httpx2
import pytest

from tests.api.serving import Server, serving, until

CANARY = "canary-7a31"
ENDED = ("COMPLETED", "FAILED")


class Prey:
    """A server with its operator and a neighbour; the canary is in what the neighbour has no business with."""

    def __init__(self, server: Server, folder: Path) -> None:
        self.server, self.folder, self.store = server, folder, Path(server.store)
        self.keys = [self.store.with_name(f"penstock.db.{kind}-key") for kind in ("admin", "session")]
        self.operator = server.client(key=self.keys[0].read_text().strip())
        self.boss = self._neighbour("other")
        (folder / "private.csv").write_text(f"word\n{CANARY}\n")
        (folder / "private.json").write_text(json.dumps({"word": CANARY}))
        with closing(sqlite3.connect(folder / "private.db")) as base:
            base.execute("CREATE TABLE words (word TEXT)")
            base.execute("INSERT INTO words VALUES (?)", (CANARY,))
            base.commit()

    def _neighbour(self, id: str) -> httpx2.Client:
        made = self.operator.post("/tenants", json={"id": id, "name": id, "admin": f"boss@{id}"})
        assert made.status_code == 201, made.text
        return self.server.client(key=made.json()["token"])

    def workflow(self, id: str, node: dict[str, Any], who: httpx2.Client | None = None) -> dict[str, Any]:
        """The end of a run of one node."""
        boss = who or self.boss
        document = {"id": id, "version": 1, "nodes": [{"id": "n", **node}], "edges": []}
        made = boss.post("/definitions", json={"document": json.dumps(document)})
        assert made.status_code == 201, made.text
        for step in ("approve", "activate"):
            assert boss.post(f"/definitions/{id}/versions/1/{step}").status_code == 200
        begun = boss.post("/runs", json={"definition": id, "input": {}})
        assert begun.status_code == 201, begun.text
        return self._end(begun.json()["id"], boss)

    def diagram(self, name: str, node: dict[str, Any], who: httpx2.Client | None = None) -> dict[str, Any]:
        boss = who or self.boss
        nodes = [{"label": "Start", "type": "start"}, {"label": "N", **node}, {"label": "End", "type": "endpoint"}]
        edges = [{"from": "Start", "to": "N"}, {"from": "N", "to": "End"}]
        document = {"version": "light", "name": name, "nodes": nodes, "connections": edges}
        made = boss.post("/diagrams", json={"document": document})
        assert made.status_code == 201, made.text
        return self._end(boss.post(f"/diagrams/{name}/runs", json={}).json()["run_id"], boss)

    def _end(self, run: str, boss: httpx2.Client) -> dict[str, Any]:
        look: dict[str, Any] = until(lambda: boss.get(f"/runs/{run}").json(), lambda one: one["state"] in ENDED)
        said = json.dumps(look) + boss.get(f"/runs/{run}/facts").text
        for word in (CANARY, *(key.read_bytes().hex()[:24] for key in self.keys), self.keys[0].read_text().strip()):
            assert word not in said
        return look

    def put(self, path: str, body: dict[str, Any]) -> None:
        done = self.boss.put(path, json=body)
        assert done.status_code == 200, done.text


@pytest.fixture(scope="module")
def prey(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Prey]:
    folder = tmp_path_factory.mktemp("prey")
    with serving(folder, "serve", env={"PGPASSWORD": CANARY, "PGHOST": "127.0.0.1"}) as server:
        yield Prey(server, folder)


def code(look: dict[str, Any]) -> str:
    assert look["state"] == "FAILED", look
    return str(look["failure"]["code"])


def test_no_tenant_starts_a_program(prey: Prey) -> None:
    """C-66: an MCP server is a command; on a shared server only the operator says which commands there are."""
    owned = prey.folder / "owned"
    command = ["/bin/sh", "-c", f"touch {owned}"]
    prey.put("/mcp-servers/evil", {"transport": "stdio", "command": command, "version": "1.0.0"})
    node = {"type": "MCP", "server": {"id": "evil", "version": "1.0.0"}, "operation": {"type": "tool", "name": "x"}}
    assert code(prey.workflow("w_mcp", node)) == "MCP_COMMAND"
    assert not owned.exists()


@pytest.mark.parametrize(
    "path",
    ["s/penstock.db.admin-key", "penstock.db.admin-key", "s/penstock.db.session-key", "s/penstock.db", "private.json",
     "input/penstock.db.admin-key", "s/settings.toml"],
)  # fmt: skip
def test_no_diagram_reads_the_engines_files(prey: Prey, path: str) -> None:
    """C-66: the keys, the store, and whatever else lies where the server was started."""
    name = "d" + "".join(c for c in path if c.isalnum())
    look = prey.diagram(name, {"type": "db", "operation": "read", "file": path, "format": "binary"})
    assert code(look) in ("FILE_NOT_FOUND", "PATH_REFUSED")


def test_what_one_tenant_writes_no_other_reads(prey: Prey) -> None:
    """C-66: each tenant has an output folder of its own."""
    text = {"type": "template_job", "template": "their own", "output_path": "plan.txt"}
    operator, mine = prey.operator, {"type": "db", "operation": "read", "file": "plan.txt"}
    assert prey.diagram("d_write", text, operator)["state"] == "COMPLETED"
    assert prey.diagram("d_own", mine, operator)["output"] == {"End": "their own"}
    assert code(prey.diagram("d_theirs", mine)) == "FILE_NOT_FOUND"
    assert prey.diagram("d_mine", {**text, "template": "ours"})["state"] == "COMPLETED"
    assert (prey.store.parent / "tenants" / "other" / "output" / "plan.txt").read_text() == "ours"
    assert prey.diagram("d_again", mine, operator)["output"] == {"End": "their own"}


@pytest.mark.parametrize("place", ["s/penstock.db", "private.db", "s/../s/penstock.db", "s/sample.db"])
def test_no_connection_reads_a_database_of_others(prey: Prey, place: str) -> None:
    """C-24, C-66: not the engine's store, not another's file, by whatever path."""
    for number, path in enumerate((str(prey.folder / place), f"sqlite:///{prey.folder / place}")):
        id = f"c{number}" + "".join(c for c in place if c.isalnum())
        prey.put(f"/connections/{id}", {"type": "sqlite", "path": path})
        source = {"type": "sql", "connection": id, "query": "SELECT * FROM sqlite_master"}
        node = {"type": "DATA", "source": source, "output": {"variable": "rows"}}
        assert code(prey.workflow(f"w_{id}", node)) == "PATH_REFUSED"


def test_no_connection_writes_the_store(prey: Prey) -> None:
    """C-66: an ACTION into the engine's own tables."""
    before = prey.operator.get("/tenants").json()
    prey.put("/connections/engine", {"type": "sqlite", "path": str(prey.store), "options": {"tables": ["meta"]}})
    config = {"connection": "engine", "table": "meta", "operation": "insert", "values": {"a": 1}}
    node = {"type": "ACTION", "channel": {"type": "database", "config": config}, "message": "x"}
    assert code(prey.workflow("w_write", node)) == "PATH_REFUSED"
    with closing(sqlite3.connect(f"file:{prey.store}?mode=ro", uri=True)) as base:
        assert not base.execute("SELECT 1 FROM sqlite_master WHERE name = 'penstock_deliveries'").fetchall()
    assert prey.operator.get("/tenants").json() == before


@pytest.mark.parametrize("root", ["", "s", "/"])
def test_no_connection_reads_a_folder_of_others(prey: Prey, root: str) -> None:
    """C-24, C-66: the root of a file connection is a folder of the tenant's own."""
    id = f"f{len(root)}{root.strip('/')}"
    prey.put(f"/connections/{id}", {"type": "file", "root": root if root == "/" else str(prey.folder / root)})
    path = str(prey.folder / "private.csv").lstrip("/") if root == "/" else "private.csv"
    node = {"type": "DATA", "source": {"type": "file", "connection": id, "query": path}, "output": {"variable": "rows"}}
    assert code(prey.workflow(f"w_{id}", node)) == "PATH_REFUSED"


@pytest.mark.parametrize("kind", ["sql", "stream", "database"])
def test_no_connection_reaches_inside(prey: Prey, kind: str) -> None:
    """C-66: a PostgreSQL connection is guarded like a call over HTTP; nobody is even knocked at."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        listening.settimeout(0.3)
        url = f"postgresql://u@127.0.0.1:{listening.getsockname()[1]}/x"
        prey.put(f"/connections/in_{kind}", {"type": "postgresql", "url": url, "options": {"tables": ["t"]}})
        node: dict[str, Any] = {"type": "DATA", "output": {"variable": "rows"}}
        if kind == "sql":
            node["source"] = {"type": "sql", "connection": "in_sql", "query": "SELECT 1"}
        elif kind == "stream":
            node["source"] = {"type": "stream", "connection": "in_stream", "query": "news"}
        else:
            config = {"connection": "in_database", "table": "t", "operation": "insert", "values": {"a": 1}}
            node = {"type": "ACTION", "channel": {"type": "database", "config": config}, "message": "x"}
        assert code(prey.workflow(f"w_in_{kind}", node)) == "HTTP_BLOCKED"
        with pytest.raises(TimeoutError):
            listening.accept()


def test_the_tenants_own_files_are_read(prey: Prey) -> None:
    """C-24: what the operator drops into a tenant's folder is the tenant's; the sample stays the first tenant's."""
    own = prey.store.parent / "tenants" / "other" / "files"
    own.mkdir(parents=True, exist_ok=True)
    (own / "own.csv").write_text("a\n1\n")
    with closing(sqlite3.connect(own / "own.db")) as base:
        base.execute("CREATE TABLE t (a)")
        base.commit()
    prey.put("/connections/dropped", {"type": "file", "root": "files"})
    prey.put("/connections/owned", {"type": "sqlite", "path": "own.db"})
    out = {"output": {"variable": "rows"}}
    rows = {"type": "DATA", "source": {"type": "file", "connection": "dropped", "query": "own.csv"}, **out}
    assert prey.workflow("w_dropped", rows)["variables"]["rows"] == [{"a": "1"}]
    rows = {"type": "DATA", "source": {"type": "sql", "connection": "owned", "query": "SELECT * FROM t"}, **out}
    assert prey.workflow("w_owned", rows)["variables"]["rows"] == []
