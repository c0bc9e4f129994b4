"""From the files of a project to one plan document: tasks/*.md, agents/*.md, skills/*.md and plan.yaml.

Nothing is read from disk here: whoever calls has the bytes. Each part keeps the name of its file and the lines of its
fields, so that whatever is found later is told there. A file that cannot be read is a finding and hides no other.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import msgspec

from penstock.errors import DocumentUnreadable, Finding, Place
from penstock.lang.fields import Fields
from penstock.lang.files import LIMIT
from penstock.lang.plan.fields import AgentFields, TaskFields
from penstock.lang.plan.front_matter import FrontMatter, has_front_matter, read_front_matter
from penstock.lang.read_yaml import parse_yaml
from penstock.lang.report import MOST, did_you_mean

PLAN_FILES = ("plan.yaml", "plan.yml")
#: what the engine writes into task files while it runs: no part of the plan
WRITTEN: dict[str, type] = {"updated": str, "retry_count": int, "last_error": str, "review_required": bool}
_ALSO_WRITTEN = (
    "agent", "progress", "confidence", "completed_by_recovery", "completed_at", "started_at", "review_notes",
    "removed_dependencies", "reason", "trigger",
)  # fmt: skip
_FOLDERS = {"tasks_dir": "tasks", "agents_dir": "agents", "skills_dir": "skills"}
_FOLDER = re.compile(r"(?!\.\.?(?:/|\Z))[^/\\\x00]+(?:/(?!\.\.?(?:/|\Z))[^/\\\x00]+)*\Z")
_HEADING = re.compile(r"(?m)^#+ +(.+?)[ #]*$")
_TASK_NAMES = frozenset(TaskFields.__struct_fields__) - {"description", "file", "lines", *WRITTEN, "trigger"}
_AGENT_NAMES = frozenset(AgentFields.__struct_fields__) - {"instructions", "file", "lines"}


class Folders(msgspec.Struct, frozen=True):
    """Where a project keeps its files, below its own folder."""

    tasks: str = "tasks"
    agents: str = "agents"
    skills: str = "skills"


FOLDERS = Folders()


class ProjectDocument(msgspec.Struct):
    """The one document of a project, what is wrong with its files, and the file of each task."""

    document: dict[str, Any]
    findings: list[Finding]
    files: dict[str, str]
    statuses: dict[str, str] = {}

    @property
    def broken(self) -> bool:
        return any(finding.severity == "error" for finding in self.findings)

    def bytes(self) -> bytes:
        """What is compiled and released."""
        return msgspec.json.encode(self.document)


def folders_of(plan: bytes | None) -> Folders:
    """The folders that plan.yaml names; what it says wrongly is told when the document is made."""
    try:
        data = parse_yaml(plan.decode())[0] if plan else None
    except (DocumentUnreadable, UnicodeDecodeError):
        data = None
    settings = data.get("plan") if isinstance(data, dict) else None
    given = settings if isinstance(settings, dict) else {}
    named = {name: given.get(key) for key, name in _FOLDERS.items()}
    return Folders(**{name: path for name, path in named.items() if isinstance(path, str) and _FOLDER.match(path)})


def is_plan_file(path: str, folders: Folders = FOLDERS) -> bool:
    """Is a path below the project's folder one that a plan is made of?"""
    return path in PLAN_FILES or _part_of(path, folders) is not None


def plan_document(
    files: Mapping[str, bytes], *, name: str = "", statuses: Mapping[str, str] | None = None
) -> ProjectDocument:
    """`name` is the plan's where plan.yaml gives none. `statuses` stand instead of those in the files: a run that goes
    on keeps the ones with which it began."""
    return _Project(files, name, statuses).read()


class _Project:
    def __init__(self, files: Mapping[str, bytes], name: str, statuses: Mapping[str, str] | None) -> None:
        self.files, self.name, self.statuses = files, name, statuses
        self.findings: list[Finding] = []
        self.document: dict[str, Any] = {"plan": {}, "agents": [], "skills": [], "tasks": []}
        self.found: dict[str, str] = {}
        self.written: dict[str, str] = {}
        self.unknown: dict[str, tuple[str, int, int]] = {}

    def read(self) -> ProjectDocument:
        plan = next((path for path in PLAN_FILES if path in self.files), None)
        self._plan(plan)
        folders = folders_of(self.files[plan] if plan else None)
        makers = {"tasks": self._task, "agents": self._agent, "skills": self._skill}
        for path in sorted(self.files):
            part = _part_of(path, folders)
            if part is not None:
                self._one(path, self.files[path], makers[part])
        self._tell_unknown()
        made = ProjectDocument(self.document, self.findings[:MOST], self.found, self.written)
        size = len(made.bytes())
        if size > LIMIT:
            message = f"The files of the plan make {size} bytes; at most {LIMIT} are read."
            hint = "Divide the plan, or move long texts into references."
            made.findings.append(Finding("too_large", "error", message, Place("", 1, 1), hint))
        return made

    def _plan(self, path: str | None) -> None:
        settings: dict[str, Any] = {}
        if path is not None:
            try:
                data, mark = parse_yaml(self.files[path].decode("utf-8-sig"))
            except (DocumentUnreadable, UnicodeDecodeError) as error:
                return self._unreadable(path, error)
            if not isinstance(data, dict) or not isinstance(data.get("plan"), dict):
                hint = "Write `plan:` and its settings below, such as `name: site`."
                self._add("wrong_type", "error", f"{path}:1 has no settings under `plan`.", path, 1, hint)
                data = {}
            settings = data.get("plan") or {}
            for part in ("agents", "skills", "tasks"):
                if isinstance(data.get(part), list):
                    self.document[part] += data[part]
            for extra in data.keys() - {"plan", "agents", "skills", "tasks", "$schema"}:
                self.document[extra] = data[extra]
            inner = mark.items["plan"][2].items if isinstance(mark.items, dict) and "plan" in mark.items else None
            lines = {key: line for key, (line, _, _) in inner.items()} if isinstance(inner, dict) else {}
            settings = {**settings, "file": path, "lines": lines}
        if not settings.get("name") and self.name:
            settings = {**settings, "name": self.name}
        self.document["plan"] = settings
        return None

    def _one(self, path: str, data: bytes, make: Any) -> None:
        stem = path.rsplit("/", 1)[1].removesuffix(".md")
        try:
            make(path, stem, data)
        except DocumentUnreadable as error:
            self._unreadable(path, error)

    def _task(self, path: str, stem: str, data: bytes) -> None:
        read = read_front_matter(data)
        fields = self._known(path, read, TaskFields, _TASK_NAMES)
        for name, kind in WRITTEN.items():
            value = read.fields.get(name)
            if value is not None and type(value) is not kind:
                message = f"«{name}» cannot be {value!r:.60}."
                hint = "The engine writes this field: remove it, and it is written again."
                self._add("wrong_type", "warning", message, path, read.lines.get(name, 1), hint)
        id = fields.setdefault("id", stem)
        if isinstance(id, str):
            if id != stem:
                message = f"The id «{id}» is not the name of its file."
                hint = f"Call the file {id}.md, or write `id: {stem}`."
                self._add("id_and_file", "warning", message, path, read.lines.get("id", 1), hint)
            self.found.setdefault(id, path)
            self.written[id] = fields.get("status", "pending")
            if self.statuses is not None:
                fields.pop("status", None)
                fields |= {"status": self.statuses[id]} if id in self.statuses else {}
        heading = _HEADING.search(read.body)
        fields.setdefault("title", heading[1][:500] if heading else str(id))
        self.document["tasks"].append({**fields, "description": read.body, "file": path, "lines": read.lines})

    def _agent(self, path: str, stem: str, data: bytes) -> None:
        read = read_front_matter(data) if has_front_matter(data) else _text_only(data)
        fields = self._known(path, read, AgentFields, _AGENT_NAMES)
        fields.setdefault("name", stem)
        self.document["agents"].append({**fields, "instructions": read.body, "file": path, "lines": read.lines})

    def _skill(self, path: str, stem: str, data: bytes) -> None:
        read = read_front_matter(data) if has_front_matter(data) else _text_only(data)
        id = read.fields.get("id") or stem
        self.document["skills"].append({"id": id, "text": read.body, "file": path, "lines": read.lines})

    def _known(self, path: str, read: FrontMatter, kind: type[Fields], names: frozenset[str]) -> dict[str, Any]:
        """A person's own fields are kept in the file and are no part of the plan; one that looks like ours is told."""
        fields = {}
        for name, value in read.fields.items():
            if name in names:
                if value is not None:
                    fields[name] = value
            elif name not in WRITTEN and name not in _ALSO_WRITTEN:
                first = self.unknown.get(name, (path, read.lines.get(name, 1), 0))
                self.unknown[name] = (first[0], first[1], first[2] + 1)
        return fields

    def _tell_unknown(self) -> None:
        for name, (path, line, count) in self.unknown.items():
            hint = did_you_mean(name, _TASK_NAMES | _AGENT_NAMES, "")
            if hint.startswith("Did"):
                more = f" So do {count - 1} other files." if count > 1 else ""
                message = f"Nobody reads the field «{name}».{more}"
                self._add("unknown_field", "warning", message, path, line, hint)

    def _unreadable(self, path: str, error: DocumentUnreadable | UnicodeDecodeError) -> None:
        if isinstance(error, DocumentUnreadable):
            where, why = error.facts.get("where"), str(error.facts.get("why") or error)
            line = where.line if isinstance(where, Place) else 1
        else:
            line, why = error.object[: error.start].count(b"\n") + 1, "it is not UTF-8"
        message = f"The file cannot be read: {why}."
        hint = "Front matter stands between two lines ---, one field per line."
        self._add("front_matter" if path.endswith(".md") else "unreadable", "error", message, path, line, hint)

    def _add(self, rule: str, severity: str, message: str, path: str, line: int, hint: str) -> None:
        if path and not message.startswith(f"{path}:"):
            message = f"{path}:{line} {message}"
        self.findings.append(Finding(rule, severity, message, Place("", line, 1), hint))


def _part_of(path: str, folders: Folders) -> str | None:
    """tasks, agents or skills, for the files directly in one of these folders; README.md is for people."""
    folder, _, file = path.rpartition("/")
    if not file.endswith(".md") or file.startswith(".") or file.lower() == "readme.md":
        return None
    return {folders.tasks: "tasks", folders.agents: "agents", folders.skills: "skills"}.get(folder)


def _text_only(data: bytes) -> FrontMatter:
    """An agent or a skill may be a text without fields."""
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as broken:
        line = data[: broken.start].count(b"\n") + 1
        raise DocumentUnreadable(why="it is not UTF-8", where=Place("", line, 1)) from None
    if "\x00" in text:
        raise DocumentUnreadable(why="it holds a NUL byte", where=Place("", 1, 1))
    return FrontMatter({}, text.replace("\r\n", "\n").strip("\n"), {})
