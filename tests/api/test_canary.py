"""A canary: a secret that is used everywhere and must be found nowhere, byte by byte."""

from __future__ import annotations

import base64
import contextlib
import json
import re
import secrets
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx2
import pytest

from tests.api.places import ADMIN, MANAGER, in_force, place
from tests.api.serving import Server, serving, until
from tests.api.sites import STORES
from tests.executors.bench import as_json
from tests.servers import postgres

TOKEN = "the-scrapers-token"


class Search:
    """Counts what was looked through, and keeps every place where the canary sings."""

    def __init__(self, canary: str) -> None:
        raw = canary.encode()
        shifted = [base64.b64encode(b"x" * i + raw)[4 if i else 0 : -4] for i in range(3)]
        self.forms = [raw, raw.hex().encode(), quote(canary).encode(), raw[::-1], *shifted]
        self.bytes = 0
        self.places: dict[str, int] = {}
        self.hits: list[str] = []

    def look(self, where: str, data: bytes | str) -> None:
        found = data.encode() if isinstance(data, str) else data
        kind = where.partition(" ")[0]
        self.bytes += len(found)
        self.places[kind] = self.places.get(kind, 0) + len(found)
        for form in self.forms:
            at = found.find(form)
            if at >= 0:
                self.hits.append(f"{where} at {at}: …{found[max(at - 40, 0) : at + 8]!r}")
                break


def document(hook: str) -> dict[str, Any]:
    header = {"X-Token": "${secrets.canary}"}
    return {
        "id": "wf_canary", "version": 1,
        "nodes": [
            {"id": "fetch", "type": "DATA", "source": {"type": "api", "connection": "feed", "query": "/feed"}},
            {"id": "rows", "type": "DATA", "source": {"type": "sql", "connection": "plant", "query": "SELECT 1 AS n"}},
            {"id": "judge", "type": "JUDGMENT", "policy": {"type": "LLM_ONLY"}, "input": {"data": "${fetch}"}},
            {"id": "tell", "type": "ACTION", "message": "hello",
             "channel": {"type": "webhook", "config": {"url": f"{hook}/hook", "headers": header}}},
            {"id": "fails", "type": "ACTION", "message": "hello",
             "channel": {"type": "webhook", "config": {"url": f"{hook}/wrong", "headers": header}}},
        ],
        "edges": [{"from": a, "to": b} for a, b in (("fetch", "rows"), ("rows", "judge"), ("judge", "tell"),
                                                     ("tell", "fails"))],
    }  # fmt: skip


def echo(status: int = 200) -> Any:
    """A receiver that sends back what it was given, headers and all."""
    return lambda seen: as_json({"you_sent": dict(seen.headers)}, status)


def model(seen: Any) -> Any:
    said = {"decision": "ok", "confidence": 0.9, "reasoning": f"your key is {seen.headers['authorization']}",
            "recommendations": []}  # fmt: skip
    choice = {"message": {"role": "assistant", "content": json.dumps(said)}, "finish_reason": "stop"}
    return as_json({"model": "m", "choices": [choice], "usage": {"total_tokens": 3}})


@pytest.fixture
def canary() -> str:
    return f"canary-{secrets.token_hex(20)}"


class Held:
    """Where a server keeps its things: a file in its folder, or a database with its own cluster."""

    def __init__(self, folder: Path, kind: str) -> None:
        self.folder, self.cluster = folder, None
        self.beside = folder / ("s" if kind == "sqlite" else ".penstock")
        self.store: str | None = None
        if kind == "postgresql":
            # every statement with its values: the worst that an administrator can ask for
            self.cluster = postgres.own("-c", "log_statement=all", "-c", "log_min_error_statement=debug1")
            self.store = self.cluster.database("canary")

    def look(self, search: Search, when: str) -> set[str]:
        """Everything that is on the disk: files, log files, write-ahead log; and every value of every table."""
        files = [file for file in sorted(self.folder.rglob("*")) if file.is_file() and file.name != "server.log"]
        for file in files:
            search.look(f"files {when} {file.relative_to(self.folder)}", file.read_bytes())
        found = {file.name for file in files}
        if self.cluster is not None:
            for file in sorted(self.cluster.home.rglob("*")):
                if file.is_file() and (file.name == "log" or file.is_relative_to(self.cluster.data)):
                    with contextlib.suppress(FileNotFoundError):  # a server at work takes files away
                        kind = "cluster-log" if file.name == "log" else "cluster"
                        search.look(f"{kind} {when} {file.relative_to(self.cluster.home)}", file.read_bytes())
            found |= self._tables(search, when)
        return found

    def _tables(self, search: Search, when: str) -> set[str]:
        """As a dump has them: compressed values are shown as they are."""
        import psycopg

        assert self.store is not None
        with psycopg.connect(self.store) as c:
            names = [row[0] for row in c.execute("SELECT tablename FROM pg_tables WHERE schemaname='public'")]
            for name in names:
                for row in c.execute(f'SELECT * FROM "{name}"'.encode()):
                    for value in row:
                        data = value if isinstance(value, bytes) else str(value).encode()
                        search.look(f"tables {when} {name}", data)
        return set(names)

    def close(self) -> None:
        if self.cluster is not None:
            self.cluster.stop()


@pytest.fixture(params=STORES)
def held(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Held]:
    one = Held(tmp_path, request.param)
    yield one
    one.close()


def test_a_secret_is_used_and_found_nowhere(
    tmp_path: Path, held: Held, canary: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """W-8.1.6, C-63, Z6, Z10: store, logs, metrics, traces, prompts, answers, streams, audit: 0 hits; on PostgreSQL
    also every value of every table, the files of the cluster and its log of all statements."""
    wire = place({"/feed": echo(), "/hook": echo(), "/wrong": echo(422), "/v1/chat/completions": model})
    collector = place()
    held.beside.mkdir(exist_ok=True)
    (held.beside / "settings.toml").write_text(
        f'[http]\nallow = ["127.0.0.1"]\n[otel]\nendpoint = "{collector.url}"\n[metrics]\ntoken = "{TOKEN}"\n'
    )
    search = Search(canary)
    with serving(tmp_path, "dev", "--quiet", store=held.store, env={"PENSTOCK_LOG": "json"}) as server:
        admin, manager = server.client(ADMIN), server.client(MANAGER)
        run, heard = _used(admin, manager, wire, canary)
        for name, answer in _answers(server, admin, run):
            search.look(f"answers {name}", answer.content + repr(sorted(answer.headers.items())).encode())
        search.look("metrics", httpx2.get(f"{server.url}/metrics", timeout=60).content)
        search.look("metrics", httpx2.get(f"{server.url}/metrics/detail", timeout=60).content)
        until(lambda: len(collector.seen), lambda count: count > 0)
        held.look(search, "at work")  # with the log that the database writes before it writes
        server.stop()
        for stream in heard:
            search.look("streams", "\n".join(stream))
    for seen in collector.seen:
        search.look("traces", seen.body)
    prompts = [seen.body for seen in wire.seen if seen.path == "/v1/chat/completions"]
    assert prompts, "the model was asked"
    for seen in wire.seen:
        search.look("prompts" if seen.path == "/v1/chat/completions" else "calls", seen.body + seen.path.encode())
    search.look("logs", server.logged())
    names = held.look(search, "at rest")
    with capsys.disabled():
        print(f"\ncanary on {server.kind}: {search.bytes} bytes searched ({search.places}), {len(search.hits)} hits")
    assert search.hits == [], search.hits
    assert {"answers", "metrics", "streams", "traces", "prompts", "logs", "files"} <= set(search.places)
    assert names >= ({"penstock.db"} if held.store is None else {"journal", "artifact", "audit"})
    assert held.store is None or {"cluster", "cluster-log", "tables"} <= set(search.places)
    assert search.bytes > 200_000
    (key,) = held.beside.glob("*.secret-key")
    assert key.stat().st_mode & 0o077 == 0, "what opens it is for its owner only"
    wire.close()
    collector.close()


def test_the_search_would_find_it(canary: str) -> None:
    """Z10: as it is, encoded as in a header, in the middle of something else."""
    said = [canary, f"user:{canary}", f"é{canary}x"]
    forms = [one.encode() for one in said] + [base64.b64encode(one.encode()) for one in said] + [canary.encode().hex()]
    for form in forms:
        search = Search(canary)
        search.look("files x", form)
        assert len(search.hits) == 1, form


def _used(admin: httpx2.Client, manager: httpx2.Client, wire: Any, canary: str) -> tuple[str, list[list[str]]]:
    """Given to the tenant, and used in a header, a connection to a database, and as a model's key."""
    assert admin.put("/secrets/canary", json={"value": canary}).status_code == 204
    for name, body in {
        "feed": {"type": "http", "base_url": wire.url, "secret": "canary", "options": {"auth": "bearer"}},
        "plant": {"type": "postgresql", "url": postgres.database(), "secret": "canary"},
        "default_llm": {"type": "openai", "base_url": f"{wire.url}/v1", "secret": "canary"},
    }.items():
        put = admin.put(f"/connections/{name}", json=body)
        assert put.status_code == 200, put.text
    in_force(admin, manager, document(wire.url))
    heard: list[list[str]] = [[], []]
    _listening(admin, "/stream", heard[0])
    made = admin.post("/runs", json={"definition": "wf_canary", "input": {}})
    assert made.status_code == 201, made.text
    run = str(made.json()["id"])
    _listening(admin, f"/runs/{run}/events", heard[1])
    ended = until(lambda: admin.get(f"/runs/{run}").json(), lambda one: one["ended_at"] is not None)
    used = [seen.headers.get("authorization") or seen.headers.get("x-token") for seen in wire.seen]
    assert used.count(f"Bearer {canary}") >= 2 and used.count(canary) >= 2, (used, ended["failure"])
    assert ended["failure"]["node"] == "fails", ended["failure"]
    until(lambda: heard[0] and heard[1], bool)
    return run, heard


def _listening(client: httpx2.Client, path: str, heard: list[str]) -> None:
    def slowly() -> None:
        try:
            with client.stream("GET", path, timeout=60) as answer:
                for line in answer.iter_lines():  # one by one: the stream does not end
                    heard.append(line)  # noqa: PERF402
        except httpx2.HTTPError:
            return

    threading.Thread(target=slowly, daemon=True).start()


def _answers(server: Server, admin: httpx2.Client, run: str) -> Iterator[tuple[str, httpx2.Response]]:
    """Every GET that the API describes, with what is there put into its path; and what is refused."""
    spec = admin.get("/openapi.json").json()
    known = {
        "run": run, "id": run, "name": "wf_canary", "workflow": "wf_canary", "version": "1", "node": "fails",
        "key": "x", "user": ADMIN, "tenant": "tenant_001", "number": "1", "item": "x", "instance": run,
    }  # fmt: skip
    special = {"/workflows": "wf_canary", "/connections": "feed", "/users": ADMIN, "/templates": "emergency_alert"}
    asked = 0
    for path, ways in spec["paths"].items():
        if "get" not in ways or "text/event-stream" in json.dumps(ways["get"]["responses"]) or path.endswith("/stream"):
            continue
        short = path.removeprefix("/api/v1")
        first = "/" + short.strip("/").partition("/")[0]
        filled = re.sub(
            r"\{(\w+)[^}]*\}",
            lambda found: special.get(first, known.get(found.group(1), "x")) if found.group(1) == "id"  # noqa: B023
            else known.get(found.group(1), "x"), short,
        )  # fmt: skip
        asked += 1
        answer = admin.get(filled)
        assert answer.status_code < 500, (filled, answer.text)
        yield filled, answer
    assert asked > 40, asked
    yield "/secrets", admin.get("/secrets")
    yield "a wrong secret", admin.put("/secrets/canary", json={"value": 5})
    yield "audit", admin.get("/audit?limit=200")
