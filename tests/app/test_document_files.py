"""Files that documents name: found from their folder up to a root, and never outside it."""

from __future__ import annotations

from pathlib import Path

import pytest

from penstock.app.releases.document_files import DocumentFiles, input_folder, root_of
from penstock.errors import BadInput


@pytest.fixture
def project(tmp_path: Path) -> Path:
    for name in ("project/files/prompts/p.txt", "project/work/deep/near.txt", "project/work/up.txt", "outside.txt",
                 "project/.env", "project/work/deep/.own"):  # fmt: skip
        file = tmp_path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(name)
    return tmp_path / "project"


def test_a_root_is_found_upwards(project: Path) -> None:
    """D-X.14: the nearest folder with .git or files/, else with prompts/, else the document's own."""
    document = project / "work" / "deep" / "d.yaml"
    assert root_of(document) == project
    (project / "work" / "prompts").mkdir()
    assert root_of(document) == project
    (project / "work" / ".git").write_text("gitdir: elsewhere")
    assert root_of(document) == project / "work"
    alone = project.parent / "alone" / "d.yaml"
    (alone.parent / "prompts").mkdir(parents=True)
    assert root_of(alone) == alone.parent


def test_the_home_folder_is_no_root(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(project))
    document = project / "work" / "deep" / "d.yaml"
    assert root_of(document) == document.parent


def test_files_are_looked_for_from_the_folder_up_to_the_root(project: Path) -> None:
    """D-X.14: the nearest of one name counts; paths from the root are found, too."""
    read = DocumentFiles(project / "work" / "deep" / "d.yaml")
    assert read("near.txt") == b"project/work/deep/near.txt"
    assert read("up.txt") == b"project/work/up.txt"
    assert read("work/up.txt") == b"project/work/up.txt"
    assert read("../up.txt") == b"project/work/up.txt"
    assert read("files/prompts/p.txt") == b"project/files/prompts/p.txt"
    assert read(".own") == b"project/work/deep/.own"


@pytest.mark.parametrize(
    "name", ["../../../outside.txt", "/etc/hostname", "link.txt", "folder/outside.txt", "gone.txt", "a\0b"]
)
def test_nothing_outside_the_root_is_read(project: Path, name: str) -> None:
    """D-X.19: by no path and by no link."""
    folder = project / "work" / "deep"
    (folder / "link.txt").symlink_to(project.parent / "outside.txt")
    (folder / "folder").symlink_to(project.parent)
    with pytest.raises(BadInput):
        DocumentFiles(folder / "d.yaml")(name)


def test_hidden_files_above_the_document_are_not_read(project: Path) -> None:
    with pytest.raises(BadInput, match="hidden"):
        DocumentFiles(project / "work" / "deep" / "d.yaml")(".env")


def test_a_root_that_is_given_is_the_only_one(project: Path) -> None:
    """D-X.14: also for a document that lies elsewhere; what is no folder is refused."""
    elsewhere = project.parent / "d.yaml"
    assert DocumentFiles(elsewhere, project)("work/up.txt") == b"project/work/up.txt"
    with pytest.raises(BadInput):
        DocumentFiles(elsewhere, project)("outside.txt")
    narrow = DocumentFiles(project / "work" / "deep" / "d.yaml", project / "work" / "deep")
    with pytest.raises(BadInput):
        narrow("up.txt")
    with pytest.raises(BadInput, match="not a folder"):
        DocumentFiles(elsewhere, project / "gone")


def test_where_a_run_reads_its_files(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """D-X.15: the given root; else where the program was started, or the root when that is elsewhere."""
    document = project / "work" / "d.yaml"
    monkeypatch.chdir(project / "work")
    assert input_folder(document) == Path()
    assert input_folder(document, project) == project
    monkeypatch.chdir(project.parent)
    assert input_folder(document) == project
    assert input_folder(project.parent / "d.yaml") == Path()
