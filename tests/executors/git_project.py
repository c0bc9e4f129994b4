"""A project in a git repository of its own, for tests."""

from __future__ import annotations

import subprocess
from pathlib import Path


class GitProject:
    def __init__(self, path: Path) -> None:
        self.path = path
        (path / "tasks").mkdir(parents=True)
        (path / "a.txt").write_text("one\ntwo\n")
        (path / "tasks/t1.md").write_text("---\nid: t1\n---\n")
        self.git("init", "-q", "-b", "main")
        self.commit("begin")

    def git(self, *args: str, cwd: Path | None = None) -> str:
        line = ["git", "-c", "user.name=Person", "-c", "user.email=person@localhost", *args]
        done = subprocess.run(line, cwd=cwd or self.path, check=True, capture_output=True, text=True)
        return done.stdout.strip()

    def commit(self, message: str, cwd: Path | None = None) -> None:
        self.git("add", "-A", cwd=cwd)
        self.git("commit", "-q", "-m", message, cwd=cwd)

    def branches(self) -> list[str]:
        return self.git("branch", "--format=%(refname:short)").splitlines()

    def worktrees(self) -> int:
        """Beside the project's own folder."""
        return len(self.git("worktree", "list").splitlines()) - 1
