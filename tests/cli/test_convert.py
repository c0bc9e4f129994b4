"""`penstock convert`, and `--root` of the commands that read documents."""

from __future__ import annotations

import importlib
import json
from pathlib import Path

import pytest

from penstock.lang.diagram.convert import Converted
from tests.cli.shell import Shell

LOOP = """\
version: light
name: loop
persons: {P: mock}
nodes:
  - {label: Start, type: start}
  - {label: Ask, type: person_job, person: P, prompt_file: ask, max_iteration: 2}
  - {label: Over, type: condition, condition_type: detect_max_iterations}
  - {label: End, type: endpoint}
connections:
  - {from: Start, to: Ask}
  - {from: Ask, to: Over}
  - {from: "Over[condfalse]", to: Ask}
  - {from: "Over[condtrue]", to: End}
"""


def write(penstock: Shell, name: str, text: str) -> None:
    """A file in a folder of its own."""
    (penstock.folder / name).parent.mkdir(parents=True, exist_ok=True)
    penstock.write(name, text)


def test_convert_writes_every_form(penstock: Shell) -> None:
    """D-X.14: to a file or to the screen; what is not kept is told beside it."""
    penstock.write("loop.yaml", LOOP)
    write(penstock, "prompts/ask.txt", "go on")
    told = penstock("convert", "loop.yaml", "--to", "native", "-o", "made/loop.json")
    assert "wrote made/loop.json (native)" in told.out
    assert "not kept: comments" in told.out
    native = json.loads((penstock.folder / "made/loop.json").read_text())
    assert native["nodes"]["node_1"]["data"]["label"] == "Ask"
    screen = penstock("convert", "made/loop.json", "--to", "readable")
    assert screen.out.startswith("version: readable\nname: loop\n")
    assert "not kept: the ids" in screen.err
    asked = penstock("convert", "loop.yaml", "--to", "light", "--json").json()
    assert (asked["ok"], asked["form"], asked["file"]) == (True, "light", None)
    assert asked["document"].startswith("version: light\n")


def test_convert_refuses_what_it_cannot_read(penstock: Shell) -> None:
    """D-X.29: with findings and exit 2; another language, an unknown form and a file that is not there, too."""
    penstock.write("broken.yaml", LOOP.replace("to: End}", "to: Edn}"))
    told = penstock("convert", "broken.yaml", "--to", "native", code=2)
    assert told.out == "" and "dangling_edge" in told.err and "cannot be converted" in told.err
    found = penstock("convert", "broken.yaml", "--to", "native", "--json", code=2).json()
    assert (found["ok"], found["findings"][0]["rule"]) == (False, "dangling_edge")
    penstock.write("pipeline.json", '{"pipeline_code": "p", "stages": []}')
    assert "Only diagrams" in penstock("convert", "pipeline.json", "--to", "light", code=2).err
    penstock("convert", "broken.yaml", "--to", "picture", code=2)
    penstock("convert", "gone.yaml", "--to", "light", code=2)


OTHERS = {
    "another limit": LOOP.replace("max_iteration: 2", "max_iteration: 3"),
    "a hole": LOOP.replace("to: End}", "to: Edn}"),
    "no document": "- {",
}


@pytest.mark.parametrize("name", OTHERS)
def test_convert_compares_before_it_writes(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """D-X.14: a result that is another diagram, or none, is not written; the exit code says so. No diagram is known
    that comes to this, so the converter is another one here."""
    (tmp_path / "prompts").mkdir()
    (tmp_path / "prompts/ask.txt").write_text("go on")
    (tmp_path / "loop.yaml").write_text(LOOP)
    module = importlib.import_module("penstock.cli.diagram.convert")
    monkeypatch.setattr(module, "converted", lambda *given: Converted("light", OTHERS[name], []))
    assert module.convert(tmp_path / "loop.yaml", "light", tmp_path / "made.yaml") == 2
    told = capsys.readouterr()
    assert told.out == "" and "would not run as before" in told.err
    assert module.convert(tmp_path / "loop.yaml", "light", tmp_path / "made.yaml", json=True) == 2
    assert json.loads(capsys.readouterr().out)["ok"] is False
    assert not (tmp_path / "made.yaml").exists()


def test_convert_says_when_nothing_can_be_compared(penstock: Shell) -> None:
    """D-X.14: a diagram whose files are elsewhere is converted; that it does not compile is told."""
    penstock.write("loop.yaml", LOOP)
    told = penstock("convert", "loop.yaml", "--to", "native", "-o", "made.json")
    assert "it does not compile" in told.out and "file_not_found" in told.out
    assert (penstock.folder / "made.json").exists()
    write(penstock, "other/prompts/ask.txt", "go on")
    assert "compile" not in penstock("convert", "loop.yaml", "--to", "native", "-o", "x.json", "--root", "other").out


def test_paths_begin_at_the_root(penstock: Shell) -> None:
    """D-X.14: `--root`, and without it the folder that is found upwards."""
    write(penstock, "site/files/prompts/ask.md", "go on")
    write(penstock, "site/work/loop.yaml", LOOP)
    penstock("check", "site/work/loop.yaml")
    penstock("run", "site/work/loop.yaml")
    penstock("check", "site/work/loop.yaml", "--root", "site")
    told = penstock("check", "site/work/loop.yaml", "--root", "site/work", code=2)
    assert "file_not_found" in told.out + told.err
    assert "is not a folder" in penstock("check", "site/work/loop.yaml", "--root", "nowhere", code=2).err


def test_a_run_reads_its_files_from_the_root(penstock: Shell) -> None:
    """D-X.15: a db node finds what lies below the root that is given."""
    write(penstock, "site/files/topic.txt", "belts")
    write(
        penstock,
        "elsewhere/read.yaml",
        """\
version: light
nodes:
  - {label: Start, type: start}
  - {label: Read, type: db, operation: read, file: files/topic.txt}
  - {label: End, type: endpoint}
connections: [{from: Start, to: Read}, {from: Read, to: End}]
""",
    )
    ran = penstock("run", "elsewhere/read.yaml", "--root", "site", "--json").json()
    assert ran["outputs"] == {"End": "belts"}
    assert penstock("run", "elsewhere/read.yaml", code=3)
