"""Files of a project: read below its folder only, written back without losing what a person has written."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from penstock.app.plan.files import project_folder
from penstock.app.plan.files.project_folder import FileMark, read_file, read_plan_files, replace_file
from penstock.app.plan.files.task_files import change_task_file
from penstock.errors import BadInput, DocumentInvalid
from tests.app.plans import a_project, driven, ended, fields_of, one, played, until, write_task

TEXT = b"""---
# mine
id: a
title: "A task"   # with a remark
owner: kim
status: pending
---

Do it.
"""


def test_only_the_fields_of_the_engine_change(tmp_path: Path) -> None:
    """T-X.8, T-10.1.2, T-10.1.3: comments, own fields and the text stay as a person has written them."""
    (tmp_path / "tasks").mkdir()
    path = tmp_path / "tasks" / "a.md"
    path.write_bytes(TEXT)
    assert change_task_file(tmp_path, "tasks/a.md", {"status": "in_progress", "updated": "2026-01-01T00:00:00Z"})
    text = path.read_text()
    assert "# mine\n" in text
    assert 'title: "A task"   # with a remark\n' in text
    assert "owner: kim\n" in text
    assert text.endswith("---\n\nDo it.\n")
    assert "status: in_progress\n" in text
    assert [name.name for name in (tmp_path / "tasks").iterdir()] == ["a.md"]


def test_what_somebody_writes_at_the_same_moment_is_not_lost(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """T-X.8: the file is read again when it is not the one that was read any more."""
    (tmp_path / "tasks").mkdir()
    path = tmp_path / "tasks" / "a.md"
    path.write_bytes(TEXT)
    edits = iter([TEXT.replace(b"Do it.", b"Do it well."), TEXT.replace(b"Do it.", b"Do it very well.")])
    write = project_folder._put

    def meanwhile(handle: int, data: bytes, sync: bool) -> None:
        write(handle, data, sync)
        edit = next(edits, None)
        if edit is not None:
            path.write_bytes(edit)

    monkeypatch.setattr(project_folder, "_put", meanwhile)
    assert change_task_file(tmp_path, "tasks/a.md", {"status": "completed"})
    assert "Do it very well." in path.read_text()
    assert "status: completed" in path.read_text()


def test_a_file_that_is_broken_or_gone_is_left_alone(tmp_path: Path) -> None:
    """T-X.8: it is not made anew and not damaged; it is written with the next transition."""
    (tmp_path / "tasks").mkdir()
    path = tmp_path / "tasks" / "a.md"
    assert not change_task_file(tmp_path, "tasks/a.md", {"status": "completed"})
    assert not path.exists()
    path.write_bytes(b"---\nstatus: [pending\n---\n")
    assert not change_task_file(tmp_path, "tasks/a.md", {"status": "completed"})
    assert path.read_bytes() == b"---\nstatus: [pending\n---\n"


def test_a_replaced_file_is_whole_or_the_old_one(tmp_path: Path) -> None:
    """T-X.8: temp and rename; a mark that does not fit any more writes nothing."""
    (tmp_path / "tasks").mkdir()
    assert replace_file(tmp_path, "tasks/a.md", b"one", None)
    found = read_file(tmp_path, "tasks/a.md")
    assert found is not None
    assert not replace_file(tmp_path, "tasks/a.md", b"two", None)
    assert not replace_file(tmp_path, "tasks/a.md", b"two", FileMark(1, 2, 3))
    assert replace_file(tmp_path, "tasks/a.md", b"three", found[1])
    assert [(path.name, path.read_bytes()) for path in (tmp_path / "tasks").iterdir()] == [("a.md", b"three")]


@pytest.mark.parametrize("what", ["file", "folder", "settings"])
def test_a_link_does_not_lead_out_of_the_project(tmp_path: Path, what: str) -> None:
    """T-X.8: a task file, a folder and the settings behind a link are refused, and named."""
    outside = tmp_path / "outside"
    (outside / "tasks").mkdir(parents=True)
    (outside / "tasks" / "a.md").write_bytes(TEXT)
    (outside / "plan.yaml").write_text("plan: {name: x}")
    project = a_project(tmp_path / "p", {})
    if what == "file":
        (project / "tasks" / "a.md").symlink_to(outside / "tasks" / "a.md")
    elif what == "folder":
        (project / "tasks").rmdir()
        (project / "tasks").symlink_to(outside / "tasks")
    else:
        (project / "plan.yaml").unlink()
        (project / "plan.yaml").symlink_to(outside / "plan.yaml")
    with pytest.raises(BadInput, match="link"):
        read_plan_files(project)


def test_too_much_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """T-X.8: sizes and numbers of files have an end."""
    project = a_project(tmp_path / "p", {"a": {}, "b": {}})
    (project / "tasks" / "pipe.md").unlink(missing_ok=True)
    monkeypatch.setattr(project_folder, "MOST_FILES", 3)
    with pytest.raises(BadInput, match="more than 3"):
        read_plan_files(project)
    monkeypatch.undo()
    (project / "tasks" / "large.md").write_bytes(b"x" * (1024 * 1024 + 1))
    with pytest.raises(BadInput, match="bytes"):
        read_plan_files(project)
    (project / "tasks" / "large.md").unlink()
    os.mkfifo(project / "tasks" / "pipe.md")
    with pytest.raises(BadInput, match="plain file"):
        read_plan_files(project)
    with pytest.raises(BadInput, match="no such file"):
        read_plan_files(tmp_path / "gone")


@played
async def test_broken_files_are_told_with_their_lines_and_start_nothing(tmp_path: Path) -> None:
    """T-X.29, T-X.8: self and unknown dependencies, broken front matter: all at once, and no project is kept."""
    folder = a_project(tmp_path / "p", {"a": {"depends_on": ["a"]}, "b": {"depends_on": ["nobody"]}})
    (folder / "tasks" / "c.md").write_text("---\nid: c\ntitle: [\n---\n")
    async with driven(tmp_path / "s.db") as plans:
        with pytest.raises(DocumentInvalid) as broken:
            await plans.register(folder)
        assert any("tasks/c.md" in finding.message for finding in broken.value.findings)
        (folder / "tasks" / "c.md").unlink()
        with pytest.raises(DocumentInvalid) as wrong:
            await plans.register(folder)
        told = " ".join(finding.message for finding in wrong.value.findings)
        assert "tasks/a.md" in told
        assert "nobody" in told
        assert plans.projects() == []


@played
async def test_a_task_file_that_is_edited_while_it_runs_keeps_the_edit(tmp_path: Path) -> None:
    """T-X.8, T-10.1.2: what a person writes into a running task's file stays, and its status is the engine's."""
    gate = tmp_path / "go"
    waits = [{"init": True}, {"wait_for": str(gate)}, {"result": "done"}]
    folder = a_project(tmp_path / "p", {"a": {}}, scenarios={"a": waits})
    async with driven(tmp_path / "s.db") as plans:
        await plans.register(folder)
        await plans.execute("p", "a")
        await until(lambda: fields_of(folder, "a").get("status") == "in_progress")
        path = folder / "tasks" / "a.md"
        path.write_text(
            path.read_text().replace("Do it.", "Do it, and say so.").replace("---\n", "---\nnote: mine\n", 1)
        )
        gate.touch()
        await ended(plans, "p", "a")
        await until(lambda: fields_of(folder, "a").get("status") == "completed")
        assert fields_of(folder, "a")["note"] == "mine"
        assert "Do it, and say so." in path.read_text()


@played
async def test_a_folder_that_vanishes_is_told(tmp_path: Path) -> None:
    """T-X.18: project path missing is fatal; the project is shown as missing, and nothing breaks."""
    folder = a_project(tmp_path / "p", {"a": {}, "b": {"depends_on": ["a"]}})
    async with driven(tmp_path / "s.db") as plans:
        await plans.register(folder)
        folder.rename(tmp_path / "elsewhere")
        assert plans.project("p").missing
        await plans.start("p", force=True)
        await until(lambda: plans.project("p").status == "paused")
        assert (one(plans, "p", "a").status, plans.state("p").why) == ("failed", "fatal")
        with pytest.raises(BadInput):
            await plans.sync("p")


@played
async def test_the_folder_of_tasks_can_be_another(tmp_path: Path) -> None:
    """T-X.8: «directory configurable»."""
    folder = a_project(tmp_path / "p", {}, tasks_dir="work/items")
    (folder / "work" / "items").mkdir(parents=True)
    (folder / "work" / "items" / "a.md").write_bytes(write_task(folder, "a").read_bytes())
    async with driven(tmp_path / "s.db") as plans:
        await plans.register(folder)
        await plans.add_task("p", {"id": "b", "title": "Second"})
        assert one(plans, "p", "b").file == "work/items/b.md"
        await plans.start("p")
        await until(lambda: plans.project("p").status == "completed")
        await until(lambda: "status: completed" in (folder / "work" / "items" / "a.md").read_text())
