"""A git worktree of its own for each task, outside the project's folder; its diff; merge, keep, discard.

An agent may write to the repository's `.git`, so its settings are not trusted afterwards: hooks never run, and settings
that start programs (filters, drivers, …) and were not there before the agent ran are switched off.
All functions block; call them in a thread.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import stat
import subprocess
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Literal

import msgspec

#: in the project's folder: whoever runs the tasks writes these, an agent never does
NEVER_IN_DIFF = ("tasks", ".workflow-state.json")
FILE = "worktree.json"  # in the session's folder
DIFF_BYTES = 32 * 1024 * 1024
SECONDS = 300
_LOCKED_TRIES = 20
_SAFE = {
    "core.hooksPath": "/dev/null", "core.fsmonitor": "false", "commit.gpgSign": "false", "merge.gpgSign": "false",
    "gc.auto": "0", "maintenance.auto": "false", "core.quotePath": "false", "submodule.recurse": "false",
    "user.name": "Penstock", "user.email": "penstock@localhost", "merge.renormalize": "false",
    "core.untrackedCache": "false", "merge.verifySignatures": "false", "rerere.enabled": "false",
}  # fmt: skip
#: settings that can start a program
_RUNS = re.compile(
    r"filter\..*|diff\.external|diff\..*\.(textconv|command)|merge\..*\.driver|gpg\..*|credential\..*|"
    r"core\.(sshcommand|pager|editor|attributesfile|alternaterefscommand|askpass|gitproxy|worktree)|"
    r"uploadpack\..*|merge\.tool|sequence\.editor|pager\..*",
    re.I,
)
_locks: dict[Path, threading.RLock] = {}


class GitFailed(Exception):
    """git did not do what it was asked for; says why."""


class Worktree(msgspec.Struct, frozen=True):
    """`path` is the worktree, `folder` the project in it. `settings` are those that start programs, as they were."""

    project: str
    repository: str  # the top of the checkout that the project is in
    common: str  # its .git
    path: str
    folder: str
    branch: str
    base: str  # the commit that the task began with
    git_dir: str = ""  # the worktree's own part of .git; a `.git` that the agent puts into its folder is not asked
    settings: dict[str, str] = {}


class Change(msgspec.Struct, frozen=True):
    """What the task has changed, committed to its branch; no `commit`: nothing."""

    commit: str | None
    files: int = 0
    added: int = 0
    removed: int = 0

    @property
    def stat(self) -> dict[str, int]:
        return {"files": self.files, "added": self.added, "removed": self.removed}


class MergeEnd(msgspec.Struct, frozen=True):
    merge: Literal["merged", "kept", "conflict", "none"]
    note: str = ""


def worktree_place(root: Path, project: Path, run: str, session: str) -> Path:
    """Outside the project's folder, also where `root` is inside it."""
    place = (root / "worktrees").resolve()
    if place.is_relative_to(project.resolve()):
        place = Path(tempfile.gettempdir()) / f"penstock-worktrees-{os.getuid()}"
        place.mkdir(mode=0o700, exist_ok=True)
        about = place.lstat()
        if about.st_uid != os.getuid() or stat.S_ISLNK(about.st_mode) or about.st_mode & 0o022:
            raise GitFailed(f"others can write to «{place}»")  # everybody can make a folder of that name there
    return place / run / session


def open_worktree(project: Path, place: Path, branch: str) -> Worktree | None:
    """A new one on a new branch from the commit that is checked out; a repository of the project's own that has none
    yet gets its first. None: the project is in no git repository, or in one that does not know its files; the agent
    works in the folder itself."""
    if shutil.which("git") is None:
        return None
    top, common = _repository(project)
    if top is None or common is None:
        return None
    inside = project.resolve().relative_to(top)
    base = _first_commit(top, inside, common)
    if not base or inside.parts and not _git(top, "ls-tree", "--name-only", base, f"{inside.as_posix()}/"):
        return None
    with _lock(common):
        if not (place / ".git").exists():
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.rmtree(place, ignore_errors=True)
            _git(top, "worktree", "prune")
            _git(top, "worktree", "add", "-q", "-B", branch, str(place), base)
        settings = _program_settings(place)
        git_dir = _git(place, "rev-parse", "--absolute-git-dir").strip()
    (place / inside).mkdir(parents=True, exist_ok=True)
    return Worktree(
        str(project), str(top), str(common), str(place), str(place / inside), branch, base, git_dir, settings
    )


def _first_commit(top: Path, inside: Path, common: Path) -> str:
    """The commit that is checked out; "" where there is none, and it is not the project's own repository."""
    with _lock(common):
        base = _git(top, "rev-parse", "--verify", "-q", "HEAD^{commit}", may_fail=True).strip()
        if base or inside.parts:
            return base
        _git(top, "add", "-A", "--", ".")
        _git(top, "commit", "-q", "--no-verify", "--allow-empty", "-m", "The project before its plan")
        return _git(top, "rev-parse", "HEAD").strip()


def writable_paths(worktree: Worktree) -> list[Path]:
    """What an agent needs to work and to commit. Not all of `.git`: its settings and hooks start programs."""
    common = Path(worktree.common)
    (common / "logs").mkdir(exist_ok=True)
    return [Path(worktree.path), Path(worktree.git_dir), *(common / name for name in ("objects", "refs", "logs"))]


def commit_changes(worktree: Worktree, message: str, diff: Path, never: Sequence[str] = NEVER_IN_DIFF) -> Change:
    """Commits what the agent has left, without what is `never` in it, and writes the diff since the beginning."""
    path = Path(worktree.path)
    if not path.is_dir() or not Path(worktree.git_dir).is_dir():
        raise GitFailed("the worktree is gone")
    _check_common(worktree)
    changed = _changed_settings(worktree.settings, path, worktree.git_dir)
    git = partial(_git, path, settings=changed, git_dir=worktree.git_dir)
    inside = Path(worktree.folder).relative_to(worktree.path)
    kept = [str(inside / name) for name in never]
    with _lock(Path(worktree.common)):
        Path(worktree.git_dir, "index.lock").unlink(missing_ok=True)  # of a git of the agent's that was killed
        git("add", "-A", "--", ".")
        git("reset", "-q", worktree.base, "--", *kept)
        if git("diff", "--cached", "--name-only", "HEAD"):
            git("commit", "-q", "--no-verify", "-m", message)
        commit = git("rev-parse", "HEAD").strip()
        git("update-ref", f"refs/heads/{worktree.branch}", commit)
    span = ("--no-ext-diff", "--no-textconv", "--no-color", worktree.base, commit, "--", ".",
            *(f":(exclude,top){name}" for name in kept))  # fmt: skip
    numbers = git("diff", "--numstat", "-z", "--no-renames", *span)
    files, added, removed = _numbers(numbers)
    with diff.open("wb") as file:
        git("diff", *span, out=file)
    if diff.stat().st_size > DIFF_BYTES:
        os.truncate(diff, DIFF_BYTES)
    return Change(commit if files else None, files, added, removed)


def _check_common(worktree: Worktree) -> None:
    """The agent may write to its part of `.git`, which names the folder that settings come from."""
    try:
        named = Path(worktree.git_dir, Path(worktree.git_dir, "commondir").read_text().strip()).resolve()
    except (OSError, ValueError):
        named = None
    if named != Path(worktree.common):
        raise GitFailed("the agent has made its worktree that of another repository")


def merge(worktree: Worktree, message: str) -> MergeEnd:
    """Into the branch that is checked out in the project's folder; a conflict leaves that folder as it was. Merging
    once more changes nothing."""
    top, branch = Path(worktree.repository), worktree.branch
    changed = _changed_settings(worktree.settings, top)
    with _lock(Path(worktree.common)):
        if not _git(top, "rev-parse", "--verify", "-q", f"refs/heads/{branch}", may_fail=True, settings=changed):
            return MergeEnd("none", f"there is no branch {branch}")
        if not _git(top, "symbolic-ref", "-q", "HEAD", may_fail=True):
            return MergeEnd("conflict", "no branch is checked out in the project's folder")
        if _merging(top):
            return MergeEnd("conflict", "another merge is under way in the project's folder")
        try:
            _git(top, "merge", "--no-ff", "--no-edit", "--no-verify", "-q", "-m", message, branch, settings=changed)
        except GitFailed as failed:
            if not _merging(top):
                return MergeEnd("conflict", str(failed))
            names = _git(top, "diff", "--name-only", "--diff-filter=U", "-z", settings=changed).split("\0")
            _git(top, "merge", "--abort", settings=changed)
            return MergeEnd("conflict", "conflicts in " + ", ".join(name for name in names[:20] if name))
    return MergeEnd("merged")


def remove_worktree(worktree: Worktree, *, branch: bool = True) -> None:
    """Also half of one, and one that is gone. With `branch`, what was not merged is gone for good."""
    top, path = Path(worktree.repository), Path(worktree.path)
    with _lock(Path(worktree.common)):
        _remove_folder(path)
        if top.is_dir():
            with contextlib.suppress(GitFailed):
                _git(top, "worktree", "prune")
                if branch:
                    _git(top, "branch", "-q", "-D", "--", worktree.branch, may_fail=True)
    with contextlib.suppress(OSError):
        path.parent.rmdir()  # of the run, when it was the last


def _remove_folder(path: Path) -> None:
    """Also with folders that may not be written: some tools keep what they have fetched in such."""
    shutil.rmtree(path, ignore_errors=True)
    if path.is_dir():
        for folder, names, _ in os.walk(path):
            for inner in (Path(folder, name) for name in (".", *names)):
                with contextlib.suppress(OSError):
                    if not inner.is_symlink():
                        inner.chmod(0o700)
        shutil.rmtree(path, ignore_errors=True)


def branch_name(task: str, session: str) -> str:
    """Of letters that git takes in any position."""
    return f"penstock/{re.sub(r'[^A-Za-z0-9]+', '-', task).strip('-')[:60] or 'task'}-{session[-8:]}"


def _repository(project: Path) -> tuple[Path | None, Path | None]:
    try:
        found = _git(project, "rev-parse", "--show-toplevel", "--path-format=absolute", "--git-common-dir")
    except GitFailed as failed:
        if "not a git repository" in str(failed) or "must be run in a work tree" in str(failed):
            return None, None
        raise
    top, _, common = found.strip().partition("\n")
    return Path(top).resolve(), Path(common).resolve()


def _merging(top: Path) -> bool:
    return bool(_git(top, "rev-parse", "--verify", "-q", "MERGE_HEAD", may_fail=True))


def _numbers(text: str) -> tuple[int, int, int]:
    files = added = removed = 0
    for line in text.split("\0"):
        parts = line.split("\t")
        if len(parts) == 3:
            files += 1
            added += int(parts[0]) if parts[0].isdigit() else 0  # "-": a binary file
            removed += int(parts[1]) if parts[1].isdigit() else 0
    return files, added, removed


def _program_settings(path: Path, git_dir: str = "") -> dict[str, str]:
    found: dict[str, str] = {}
    for entry in _git(path, "config", "--list", "-z", may_fail=True, git_dir=git_dir, safe=False).split("\0"):
        name, _, value = entry.partition("\n")
        if _RUNS.fullmatch(name):
            found[name] = value
    return found


def _changed_settings(before: Mapping[str, str], path: Path, git_dir: str = "") -> dict[str, str]:
    """What switches those off that the agent may have set."""
    off: dict[str, str] = {}
    for name, value in _program_settings(path, git_dir).items():
        if before.get(name) != value:
            off[name] = "false" if name.endswith(".required") else ""
    return off


def _git(
    cwd: Path, *args: str, may_fail: bool = False, settings: Mapping[str, str] | None = None, git_dir: str = "",
    out: Any = None, safe: bool = True,
) -> str:  # fmt: skip
    """`may_fail`: then the answer is empty. Where another git holds a lock it is tried for some seconds."""
    given = {**(settings or {}), **(_SAFE if safe else {})}
    environment = _environment(given)
    if git_dir:
        # nothing is fetched: what the agent has put there could name the program that does it
        environment |= {"GIT_DIR": git_dir, "GIT_WORK_TREE": str(cwd), "GIT_ALLOW_PROTOCOL": ""}
    program = shutil.which("git") or "git"
    for tries in range(_LOCKED_TRIES):
        try:
            done = subprocess.run(
                [program, *args], cwd=cwd, env=environment, stdin=subprocess.DEVNULL,
                stdout=out or subprocess.PIPE, stderr=subprocess.PIPE, timeout=SECONDS, check=False,
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            raise GitFailed(f"git {args[0]} took longer than {SECONDS} s") from None
        except OSError as error:
            raise GitFailed(f"git {args[0]}: {error.strerror}") from None
        if done.returncode == 0:
            return (done.stdout or b"").decode(errors="surrogateescape")
        said = done.stderr.decode(errors="replace").strip()
        if "index.lock" not in said and "could not lock" not in said:
            break
        time.sleep(0.1 * min(tries + 1, 5))
    if may_fail:
        return ""
    raise GitFailed(f"git {args[0]}: {said[-500:] or done.returncode}")


def _environment(settings: Mapping[str, str]) -> dict[str, str]:
    """Settings by the environment: a name may hold any character there."""
    environment = {name: os.environ[name] for name in ("PATH", "HOME", "USER") if name in os.environ}
    environment |= {
        "LC_ALL": "C", "GIT_TERMINAL_PROMPT": "0", "GIT_EDITOR": "true", "GIT_PAGER": "cat", "GIT_ASKPASS": "true",
        "GIT_CONFIG_COUNT": str(len(settings)), "GIT_MERGE_AUTOEDIT": "no",
    }  # fmt: skip
    for no, (name, value) in enumerate(settings.items()):
        environment |= {f"GIT_CONFIG_KEY_{no}": name, f"GIT_CONFIG_VALUE_{no}": value}
    return environment


def _lock(common: Path) -> threading.RLock:
    """Two tasks of a repository end at once: git would refuse one of them."""
    return _locks.setdefault(common, threading.RLock())


def worktree_of(session: Path) -> Worktree | None:
    """Of the session in that folder."""
    with contextlib.suppress(OSError, msgspec.DecodeError):
        return msgspec.json.decode((session / FILE).read_bytes(), type=Worktree)
    return None
