"""The example pipelines: each is well written, and does to real files what it says."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from penstock.lang.compile import check_document
from tests.executors.pipeline_bench import pdf, png, xlsx
from tests.house.files import ROOT

FOLDER = ROOT / "examples/pipeline"
EXAMPLES = sorted(FOLDER.glob("*.json"))
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(ROOT / "src"), "NO_COLOR": "1"}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "inbox").mkdir()
    return tmp_path


def penstock(folder: Path, *arguments: str) -> Any:
    line = [sys.executable, "-m", "penstock", *arguments, "--json"]
    done = subprocess.run(line, cwd=folder, env=ENVIRONMENT, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
    return json.loads(done.stdout)


def watched(folder: Path, *names: str) -> list[Any]:
    definitions = [word for name in names for word in ("--definition", str(FOLDER / f"{name}.json"))]
    return list(penstock(folder, "pipeline", "watch", "inbox", "--once", *definitions)["ended"])


def stages(folder: Path, execution: str) -> dict[str, str | None]:
    look = penstock(folder, "pipeline", "show", execution)
    return {stage["stageCode"]: stage["status"] for stage in look["stages"]}


@pytest.mark.parametrize("file", EXAMPLES, ids=lambda file: file.stem)
def test_an_example_is_well_written(file: Path) -> None:
    language, findings = check_document(file.read_bytes(), name=file.stem)
    wrong = [finding for finding in findings if finding.rule != "missing_dependency"]
    assert (language, wrong) == ("pipeline", [])


def test_every_example_is_in_the_list() -> None:
    text = (ROOT / "examples/README.md").read_text(encoding="utf-8")
    assert [file.name for file in EXAMPLES if f"`{file.name}`" not in text] == []


def test_pictures(folder: Path) -> None:
    (folder / "inbox/red.png").write_bytes(png(1600, 900))
    (ended,) = watched(folder, "images")
    assert set(stages(folder, ended["executionId"]).values()) == {"COMPLETED"}
    made = {file.name for file in (folder / "inbox/red.png.results").iterdir()}
    assert {"3-small.png", "3-large.png", "4-describe.json", "IMAGES.json"} <= made


def test_documents(folder: Path) -> None:
    """The text and a picture side by side; the letters are read only where there is no text."""
    (folder / "inbox/written.pdf").write_bytes(pdf("Invoice 4711 of the plant"))
    (ended,) = watched(folder, "documents")
    assert stages(folder, ended["executionId"]) == {
        "checksum": "COMPLETED", "text": "COMPLETED", "preview": "COMPLETED", "letters": "SKIPPED",
    }  # fmt: skip
    results = folder / "inbox/written.pdf.results"
    assert "Invoice 4711" in (results / "2-text.txt").read_text()
    assert (results / "2-preview.png").read_bytes().startswith(b"\x89PNG")


def test_documents_that_are_scanned(folder: Path) -> None:
    """Without the program that reads letters the stage fails, and the execution goes on without it."""
    (folder / "inbox/scanned.pdf").write_bytes(pdf(""))
    (ended,) = watched(folder, "documents")
    assert ended["status"] == "COMPLETED"
    has = "COMPLETED" if shutil.which("tesseract") else "FAILED"
    assert stages(folder, ended["executionId"])["letters"] == has


def test_tables_and_what_follows_them(folder: Path) -> None:
    """F-X.12: rows of both kinds of table; packed when they have completed, and never before."""
    (folder / "inbox/plan.xlsx").write_bytes(xlsx(["line", "count"], ["L01", 3], ["L02", 5]))
    (folder / "inbox/more.csv").write_text("line,count\nL03,7\n")
    (folder / "inbox/none.csv").write_text("line,count\n")
    for name in ("tables", "packed"):
        penstock(folder, "pipeline", "define", str(FOLDER / f"{name}.json"))
    line = [sys.executable, "-m", "penstock", "pipeline", "watch", "inbox", "--once"]
    done = subprocess.run(line, cwd=folder, env=ENVIRONMENT, capture_output=True, text=True, timeout=120)
    assert done.returncode == 3, "a table without rows is not valid"
    lines = (folder / "inbox/plan.xlsx.results/TABLES-1-rows.ndjson").read_text().splitlines()
    assert [json.loads(line) for line in lines] == [{"line": "L01", "count": 3}, {"line": "L02", "count": 5}]
    assert json.loads((folder / "inbox/more.csv.results/TABLES-1-rows.ndjson").read_text()) == {
        "line": "L03", "count": 7,
    }  # fmt: skip
    listed = penstock(folder, "pipeline", "ls")
    ends = sorted((each["pipelineCode"], each["status"]) for each in listed)
    assert ends == [
        ("PACKED", "COMPLETED"), ("PACKED", "COMPLETED"), ("TABLES", "COMPLETED"), ("TABLES", "COMPLETED"),
        ("TABLES", "FAILED"),
    ]  # fmt: skip
