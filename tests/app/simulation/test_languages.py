"""Every language's documents are dry-run and forecast, in a world that refuses writes, connections and programs."""

from __future__ import annotations

import hashlib
import os
import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from penstock.app.penstock import Penstock
from penstock.app.simulation import replay_release, simulate_release
from penstock.app.simulation.report import SimulationReport, simulate
from penstock.app.simulation.subject import of_document, of_run
from penstock.errors import BadInput
from tests.app.simulation.scenes import NAME, with_runs
from tests.app.workflows import opened

ROOT = Path(__file__).parents[3]
EXAMPLES = ROOT / "examples"
#: what Python tells before it does something to the world
_REFUSED = (
    "socket.connect", "socket.bind", "socket.sendto", "subprocess.Popen", "os.system", "os.exec", "os.posix_spawn",
    "os.fork", "os.remove", "os.rename", "os.mkdir", "os.rmdir", "os.truncate", "os.link", "os.symlink",
    "shutil.rmtree",
)  # fmt: skip


class RefusedEffect(BaseException):
    """Something would have been changed; no handler of the engine may swallow it."""


class _Watch:
    on = False
    seen: list[str] = []


def _refuse(event: str, args: tuple[Any, ...]) -> None:
    if not _Watch.on:
        return
    writes = event == "open" and isinstance(args[2], int) and args[2] & (os.O_WRONLY | os.O_RDWR | os.O_CREAT)
    if event in _REFUSED or writes:
        _Watch.seen.append(f"{event} {args[0]!r}")
        raise RefusedEffect(event, args)


sys.addaudithook(_refuse)


@contextmanager
def refusing_world(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Whatever would write a file, open a connection or start a program raises; Python's own cache files, too."""
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    _Watch.on, _Watch.seen = True, []
    try:
        yield
    finally:
        _Watch.on = False
    assert _Watch.seen == []


def test_the_world_refuses(tmp_path: Path) -> None:
    """Or the tests below would prove nothing."""
    for attempt in (
        lambda: (tmp_path / "a.txt").write_text("x"),
        lambda: socket.create_connection(("127.0.0.1", 9), 0.1),
        lambda: os.system("true"),
    ):
        _Watch.on = True
        try:
            with pytest.raises(RefusedEffect):
                attempt()
        finally:
            _Watch.on = False
    assert not (tmp_path / "a.txt").exists()


DOCUMENTS = [
    ("decision", "decision/defect_alert.json", {"line_id": "L1"}),
    ("process", "process/data_registration.json", None),
    ("process", "process/saga.json", None),
    ("process", "process/fork_join.json", {"amount": 100}),
    ("diagram", "diagram/judge.yaml", None),
    ("diagram", "diagram/loop.yaml", None),
    ("diagram", "diagram/ask.yaml", None),
    ("plan", "plan/site", None),
    ("pipeline", "pipeline/documents.json", None),
    ("pipeline", "pipeline/images.json", None),
]


@pytest.mark.parametrize(("language", "path", "input"), DOCUMENTS, ids=[path for _, path, _ in DOCUMENTS])
def test_a_document_of_every_language(
    language: str, path: str, input: Any, monkeypatch: pytest.MonkeyPatch
) -> None:  # fmt: skip
    """Dry run and Monte Carlo in the same kernel, without any side effect."""
    simulate(of_document(EXAMPLES / path, None, input=input), runs=1, variations=1)  # modules are read before
    with refusing_world(monkeypatch):
        report = simulate(of_document(EXAMPLES / path, None, input=input), runs=200, due_ms=86_400_000)
    assert report.language == language
    dry, forecast = report.dry_run, report.monte_carlo
    assert dry is not None
    assert dry.status == "COMPLETED" and dry.unresolved == [], dry.failure
    assert dry.unreached == [] or path == "diagram/loop.yaml"
    assert sum(dry.refused.values()) > 0
    assert forecast is not None and forecast.runs == 200 and forecast.paths[0].nodes
    assert sum(each.count for each in forecast.outcomes) == 200
    assert forecast.due is not None and 0 <= forecast.due.low <= forecast.due.odds <= forecast.due.high <= 1
    assert forecast.assumptions != [] and "NO_HISTORY" in report.warnings
    for locale in ("en", "ko"):
        assert report.as_html(locale).startswith("<!doctype html>")


def test_roles_and_agents_have_a_load() -> None:
    """People of a process by their names, agents of a plan by theirs."""
    close = loads(simulate(of_document(EXAMPLES / "process/fork_join.json", None, input={"amount": 1}), runs=50))
    assert close["lead"] == 2.0 and close["accounting"] == close["회계"] == 1.0
    site = loads(simulate(of_document(EXAMPLES / "plan/site", None), runs=50))
    assert set(site) == {"ann", "ben", "cho"} and sum(site.values()) == pytest.approx(5.0)


def loads(report: SimulationReport) -> dict[str, float]:
    assert report.monte_carlo is not None
    return {load.role: load.items_per_run for load in report.monte_carlo.roles}


def test_a_store_that_refuses_writes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """W-4.13.2, W-9.4.2: simulation and replay leave every byte of the store as it was, and need no right to write."""
    with_runs(tmp_path / "store.db", ["critical", "warning", "normal"])
    with opened(tmp_path) as door:
        refuse_writes(door, monkeypatch)
        run = door.store.runs(limit=1, tenant=door.tenant)[0].id
        before = content(tmp_path)
        with refusing_world(monkeypatch):
            report = simulate_release(door, NAME, 1, runs=100)
            replayed = replay_release(door, NAME, 1)
            rest = simulate(of_run(door, run), runs=20)
        assert content(tmp_path) == before
        assert len(door.store.runs(limit=50, tenant=door.tenant)) == 3
    assert report.ok and replayed.same == 3 and rest.dry_run is not None


def refuse_writes(door: Penstock, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every method of the store that changes something raises."""
    changing = ("commit", "put_", "add_", "move_", "tidy", "rebuild", "outbox_moved", "delete_", "remove_", "drop_")
    store = door.store
    for name in dir(store):
        if name.startswith(changing) and callable(getattr(store, name)):

            def refused(*args: Any, _name: str = name, **more: Any) -> None:
                raise RefusedEffect(_name)

            monkeypatch.setattr(store, name, refused, raising=False)


def content(folder: Path) -> dict[str, str]:
    files = [file for file in sorted(folder.rglob("*")) if file.is_file() and not file.name.endswith("-shm")]
    return {file.name: hashlib.sha256(file.read_bytes()).hexdigest() for file in files}


def test_a_folder_without_a_document(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="folder without a document"):
        of_document(tmp_path, None)


@pytest.mark.parametrize("runs", [-1, 1_000_001])
def test_so_many_runs_are_refused(runs: int) -> None:
    with pytest.raises(BadInput, match="the number of runs"):
        simulate(of_document(EXAMPLES / "diagram/loop.yaml", None), runs=runs)


def test_a_due_time_lies_ahead() -> None:
    with pytest.raises(BadInput, match="the due time"):
        simulate(of_document(EXAMPLES / "diagram/loop.yaml", None), due_ms=0)
