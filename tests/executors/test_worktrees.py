"""A worktree for each task, with a real git: what is in its diff, merging, conflicts, agents that tamper with git."""

from __future__ import annotations

import subprocess
import tempfile
import threading
from pathlib import Path

import pytest

from penstock.executors.parts.tasks import worktrees
from penstock.executors.parts.tasks.worktrees import (
    Change,
    GitFailed,
    Worktree,
    branch_name,
    commit_changes,
    merge,
    open_worktree,
    remove_worktree,
    worktree_place,
)
from tests.executors.git_project import GitProject


@pytest.fixture
def project(tmp_path: Path) -> GitProject:
    return GitProject(tmp_path / "project")


def opened(project: GitProject, session: str = "s00000001", folder: str = "") -> Worktree:
    below = project.path / folder
    place = worktree_place(project.path.parent / "out", below, "run1", session)
    made = open_worktree(below, place, branch_name("t1", session))
    assert made is not None
    return made


def committed(worktree: Worktree, tmp_path: Path) -> tuple[Change, str]:
    change = commit_changes(worktree, "The task", tmp_path / "diff.patch")
    return change, (tmp_path / "diff.patch").read_text()


def test_a_task_works_outside_the_project_and_comes_back_by_merge(project: GitProject, tmp_path: Path) -> None:
    """New branch, its diff, one merge commit; afterwards nothing is left."""
    worktree = opened(project)
    folder = Path(worktree.folder)
    assert not folder.is_relative_to(project.path)
    (folder / "a.txt").write_text("one\n2\n")
    (folder / "sub").mkdir()
    (folder / "sub/new.txt").write_text("new\n")
    change, diff = committed(worktree, tmp_path)
    assert change.stat == {"files": 2, "added": 2, "removed": 1}
    assert "+2" in diff
    assert "sub/new.txt" in diff
    assert (project.path / "a.txt").read_text() == "one\ntwo\n"
    assert merge(worktree, "Merge it").merge == "merged"
    assert (project.path / "a.txt").read_text() == "one\n2\n"
    assert project.git("log", "--merges", "--format=%s") == "Merge it"
    assert merge(worktree, "Merge it").merge == "merged", "once more changes nothing"
    remove_worktree(worktree)
    assert (project.branches(), project.worktrees(), folder.exists()) == (["main"], 0, False)
    assert merge(worktree, "Merge it").merge == "none"


def test_tasks_and_state_are_never_in_the_diff(project: GitProject, tmp_path: Path) -> None:
    """T-X.8, T-X.38: whatever the agent does to them, committed or not, a merge leaves them as they are."""
    worktree = opened(project)
    folder = Path(worktree.folder)
    (folder / "tasks/t1.md").write_text("status: completed\n")
    (folder / "tasks/t2.md").write_text("mine\n")
    project.commit("by the agent", cwd=folder)
    (folder / ".workflow-state.json").write_text("{}")
    (folder / "b.txt").write_text("b\n")
    (project.path / "tasks/t1.md").write_text("written by the engine meanwhile\n")
    change, diff = committed(worktree, tmp_path)
    assert change.stat == {"files": 1, "added": 1, "removed": 0}
    assert "tasks" not in diff
    assert merge(worktree, "m").merge == "merged"
    assert (project.path / "tasks/t1.md").read_text() == "written by the engine meanwhile\n"
    assert sorted(path.name for path in project.path.iterdir()) == [".git", "a.txt", "b.txt", "tasks"]
    assert [path.name for path in (project.path / "tasks").iterdir()] == ["t1.md"]


def test_nothing_changed(project: GitProject, tmp_path: Path) -> None:
    worktree = opened(project)
    (Path(worktree.folder) / "tasks/t1.md").write_text("only this\n")
    change, diff = committed(worktree, tmp_path)
    assert (change.commit, change.files, diff) == (None, 0, "")


def test_a_conflict_leaves_the_project_as_it_was(project: GitProject, tmp_path: Path) -> None:
    """T-X.14: a person looks at it; branch and worktree stay."""
    worktree = opened(project)
    (Path(worktree.folder) / "a.txt").write_text("agent\n")
    committed(worktree, tmp_path)
    (project.path / "a.txt").write_text("person\n")
    project.commit("by a person")
    before = project.git("rev-parse", "HEAD")
    end = merge(worktree, "m")
    assert (end.merge, end.note) == ("conflict", "conflicts in a.txt")
    assert (project.git("rev-parse", "HEAD"), project.git("status", "--porcelain")) == (before, "")
    assert (project.path / "a.txt").read_text() == "person\n"
    assert (worktree.branch in project.branches(), Path(worktree.path).is_dir()) == (True, True)


def test_changes_that_nobody_has_committed_are_not_overwritten(project: GitProject, tmp_path: Path) -> None:
    """T-X.14: nor is a merge of somebody else's taken away."""
    worktree = opened(project)
    (Path(worktree.folder) / "a.txt").write_text("agent\n")
    committed(worktree, tmp_path)
    (project.path / "a.txt").write_text("half done\n")
    assert merge(worktree, "m").merge == "conflict"
    assert (project.path / "a.txt").read_text() == "half done\n"
    project.commit("p")
    with pytest.raises(subprocess.CalledProcessError):
        project.git("merge", worktree.branch)
    assert merge(worktree, "m").note == "another merge is under way in the project's folder"
    assert "MERGE_HEAD" in [path.name for path in (project.path / ".git").iterdir()]


def test_no_branch_is_checked_out(project: GitProject, tmp_path: Path) -> None:
    worktree = opened(project)
    (Path(worktree.folder) / "b.txt").write_text("b\n")
    committed(worktree, tmp_path)
    project.git("checkout", "-q", "--detach")
    assert merge(worktree, "m").merge == "conflict"


def test_what_an_agent_plants_into_git_is_not_run(project: GitProject, tmp_path: Path) -> None:
    """Hooks, filters and drivers of the agent's; a repository of its own in its folder."""
    worktree, fired = opened(project), tmp_path / "fired"
    folder, line = Path(worktree.folder), f"touch {tmp_path / 'fired'}; cat"
    for hook in ("pre-commit", "post-commit", "post-merge", "reference-transaction"):
        (project.path / ".git/hooks").mkdir(exist_ok=True)
        file = project.path / ".git/hooks" / hook
        file.write_text(f"#!/bin/sh\ntouch {fired}\n")
        file.chmod(0o755)
    project.git("config", "filter.a=b.clean", line)
    project.git("config", "filter.a=b.smudge", line)
    project.git("config", "filter.a=b.required", "true")
    project.git("config", "diff.x.textconv", line)
    project.git("config", "merge.x.driver", f"touch {fired}")
    project.git("config", "core.fsmonitor", f"touch {fired}")
    (folder / ".gitattributes").write_text("* filter=a=b diff=x merge=x\n")
    (folder / "a.txt").write_text("agent\ntwo\n")
    (folder / ".git").unlink()
    subprocess.run(["git", "init", "-q"], cwd=folder, check=True)
    (project.path / "a.txt").write_text("one\nperson\n")
    project.git("-c", "core.fsmonitor=", "-c", "core.hooksPath=/dev/null", "commit", "-qam", "p")
    fired.unlink(missing_ok=True)
    change, _ = committed(worktree, tmp_path)
    assert change.files == 2
    merge(worktree, "m")
    remove_worktree(worktree)
    assert not fired.exists()


def test_settings_of_the_person_stay_in_force(project: GitProject, tmp_path: Path) -> None:
    project.git("config", "filter.up.clean", "tr a-z A-Z")
    (project.path / ".gitattributes").write_text("*.up filter=up\n")
    project.commit("attributes")
    worktree = opened(project)
    (Path(worktree.folder) / "x.up").write_text("small\n")
    _, diff = committed(worktree, tmp_path)
    assert "+SMALL" in diff


def test_a_project_that_is_a_folder_of_a_repository(project: GitProject, tmp_path: Path) -> None:
    """T-X.8: the tasks are those of the project's folder."""
    (project.path / "sub/tasks").mkdir(parents=True)
    (project.path / "sub/tasks/t.md").write_text("t\n")
    project.commit("sub")
    worktree = opened(project, folder="sub")
    folder = Path(worktree.folder)
    assert folder.name == "sub"
    (folder / "tasks/t.md").write_text("changed\n")
    (folder.parent / "tasks/other.md").write_text("not the project's tasks\n")
    (folder / "b.txt").write_text("b\n")
    change, diff = committed(worktree, tmp_path)
    assert change.files == 2
    assert "sub/tasks" not in diff


def test_an_agent_that_leaves_git_in_a_mess(project: GitProject, tmp_path: Path) -> None:
    """T-8.2.5: a lock of a git that was killed, another branch, a detached head."""
    worktree = opened(project)
    folder = Path(worktree.folder)
    project.git("checkout", "-q", "--detach", cwd=folder)
    (folder / "b.txt").write_text("b\n")
    project.commit("detached", cwd=folder)
    (Path(worktree.git_dir) / "index.lock").write_text("")
    (folder / "c.txt").write_text("c\n")
    assert committed(worktree, tmp_path)[0].files == 2
    assert merge(worktree, "m").merge == "merged"
    assert (project.path / "c.txt").exists()


def test_a_worktree_that_is_gone(project: GitProject, tmp_path: Path) -> None:
    worktree = opened(project)
    remove_worktree(worktree)
    remove_worktree(worktree)
    with pytest.raises(GitFailed, match="gone"):
        committed(worktree, tmp_path)


def test_where_there_is_no_repository_the_folder_itself_is_used(tmp_path: Path) -> None:
    """No git, or a folder in somebody's repository that does not know it: nothing is committed there."""
    (tmp_path / "plain").mkdir()
    assert open_worktree(tmp_path / "plain", tmp_path / "w", "b") is None
    around = GitProject(tmp_path / "around")
    (around.path / "copied").mkdir()
    (around.path / "copied/plan.yaml").write_text("plan: {}\n")
    assert open_worktree(around.path / "copied", tmp_path / "w", "b") is None
    around.commit("now it is known")
    assert open_worktree(around.path / "copied", tmp_path / "w", "b") is not None


def test_a_repository_without_a_commit_gets_its_first(tmp_path: Path) -> None:
    new = tmp_path / "new"
    new.mkdir()
    (new / "plan.yaml").write_text("plan: {}\n")
    subprocess.run(["git", "init", "-q"], cwd=new, check=True)
    made = open_worktree(new, tmp_path / "w", "b")
    assert made is not None and (Path(made.folder) / "plan.yaml").is_file()
    assert open_worktree(new, tmp_path / "w2", "b2") is not None
    log = subprocess.run(["git", "log", "--format=%s"], cwd=new, check=True, capture_output=True, text=True).stdout
    assert log.splitlines() == ["The project before its plan"]


def test_the_place_is_outside_even_if_results_are_inside(tmp_path: Path) -> None:
    inside = worktree_place(tmp_path / ".penstock", tmp_path, "r", "s")
    assert not inside.is_relative_to(tmp_path)
    assert worktree_place(tmp_path / "out", tmp_path / "project", "r", "s") == tmp_path / "out/worktrees/r/s"


@pytest.mark.parametrize("task", ["a/b", "../x", "-x", "한국어", "a..b.lock", "", "@{", "x" * 300])
def test_branch_names_are_names_that_git_takes(project: GitProject, task: str) -> None:
    name = branch_name(task, "s0123456789abcdef")
    project.git("check-ref-format", "--branch", name)
    assert len(name) < 100


def test_many_tasks_end_at_once(project: GitProject, tmp_path: Path) -> None:
    """T-7.2.3: git would refuse one of them."""
    trees = [opened(project, f"s0000000{no}") for no in range(4)]
    ends: list[str] = []

    def end(no: int, worktree: Worktree) -> None:
        (Path(worktree.folder) / f"n{no}.txt").write_text("n\n")
        commit_changes(worktree, "m", tmp_path / f"{no}.patch")
        ends.append(merge(worktree, "m").merge)
        remove_worktree(worktree)

    threads = [threading.Thread(target=end, args=item) for item in enumerate(trees)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert ends == ["merged"] * 4
    assert sorted(path.name for path in project.path.glob("n*.txt")) == ["n0.txt", "n1.txt", "n2.txt", "n3.txt"]
    assert (project.branches(), project.worktrees()) == (["main"], 0)


def test_a_large_diff_is_cut(project: GitProject, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worktrees, "DIFF_BYTES", 1000)
    worktree = opened(project)
    (Path(worktree.folder) / "big.txt").write_text("line\n" * 10_000)
    change, diff = committed(worktree, tmp_path)
    assert (change.added, len(diff)) == (10_000, 1000)


def test_an_agent_that_makes_its_worktree_that_of_another_repository(project: GitProject, tmp_path: Path) -> None:
    """Its settings could name a program that git starts, outside of everything that holds the agent back."""
    worktree = opened(project)
    other, ran = Path(worktree.path) / "other", tmp_path / "ran"
    other.mkdir()
    program = other / "program"
    program.write_text(f"#!/bin/sh\ntouch {ran}\n")
    program.chmod(0o755)
    for name in ("objects", "refs"):
        (other / name).symlink_to(Path(worktree.common, name))
    (other / "HEAD").write_text("ref: refs/heads/main\n")
    (other / "config").write_text(
        "[core]\n repositoryformatversion = 1\n[extensions]\n partialClone = origin\n"
        f'[remote "origin"]\n promisor = true\n url = {project.path}\n uploadpack = {program}\n'
    )
    missing = f"tree {'12' * 20}\nauthor a <a@b> 1 +0000\ncommitter a <a@b> 1 +0000\n\nm\n"
    line = ["git", "hash-object", "-w", "-t", "commit", "--stdin", "--literally"]
    commit = subprocess.run(line, cwd=project.path, input=missing, capture_output=True, text=True, check=True).stdout
    Path(worktree.git_dir, "HEAD").write_text(commit)
    Path(worktree.git_dir, "commondir").write_text(f"{other}\n")
    with pytest.raises(GitFailed, match="another repository"):
        committed(worktree, tmp_path)
    assert not ran.exists()


def test_a_place_that_others_can_write_to_is_not_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In the folder for temporary files everybody can make a folder of that name before us."""
    (tmp_path / "p").mkdir()
    (tmp_path / "tmp").mkdir()
    monkeypatch.setattr(tempfile, "gettempdir", lambda: str(tmp_path / "tmp"))
    place = worktree_place(tmp_path / "p/out", tmp_path / "p", "r", "s")
    assert place.parent.parent.stat().st_mode & 0o777 == 0o700
    place.parent.parent.chmod(0o777)
    with pytest.raises(GitFailed, match="others can write"):
        worktree_place(tmp_path / "p/out", tmp_path / "p", "r", "s")
