"""Bad input: broken files and documents are told with file, line and what to do; never with a traceback."""

from __future__ import annotations

import json
from typing import Any

import pytest

from penstock.errors import DocumentInvalid, DocumentUnreadable, Finding
from penstock.errors.korean import finding_text
from penstock.lang.compile import check_document, compile_document
from penstock.lang.plan.front_matter import LARGEST, read_front_matter, write_front_matter
from penstock.lang.plan.project_files import plan_document
from tests.conformance.plan.make import a_file, all_findings, findings, lowered, plan, project, rules, task


def errors(some: list[Finding]) -> list[Finding]:
    return [finding for finding in some if finding.severity == "error"]


@pytest.mark.parametrize(
    ("data", "line", "why"),
    [
        (b"", 1, "no front matter"),
        (b"# Only text\n", 1, "no front matter"),
        (b"\n---\nid: a\n---\n", 1, "no front matter"),
        (b"---\nid: a\n", 1, "has no end"),
        (b"---", 1, "has no end"),
        (b"---\nid: a\ntitle: [x\n---\n", 4, "expected"),
        (b"---\nid: a\n\ttitle: x\n---\n", 3, "tab"),
        (b"---\nid: a\nid: b\n---\n", 3, "stands twice"),
        (b"---\n- a\n- b\n---\n", 2, "no list of fields"),
        (b"---\njust words\n---\n", 2, "no list of fields"),
        (b"---\nid: !!python/object:os.system x\n---\n", 2, "tags"),
        (b"---\nid: *nowhere\n---\n", 2, "no anchor"),
        (b"---\nid: .nan\n---\n", 2, "not-a-number"),
        (b"---\nid: 99999999999999999999999\n---\n", 2, "64 bits"),
        (b"---\nid: a\ntitle: \xff\n---\n", 3, "not UTF-8"),
        (b"---\nid: a\x00b\n---\n", 2, "NUL"),
        ("---\nid: a\n---\n".encode("utf-16"), 1, "UTF-8"),
        (b"---\n" + b"a: [" * 300 + b"\n---\n", 2, "deeper"),
        (b"---\nid: a\n---\n" + b"x" * LARGEST, 1, "larger"),
    ],
)
def test_broken_front_matter_is_told_with_its_line(data: bytes, line: int, why: str) -> None:
    """T-X.8: by reading and by writing, and as a finding about the project."""
    with pytest.raises(DocumentUnreadable) as refused:
        read_front_matter(data)
    assert refused.value.facts["where"].line == line and why in str(refused.value)
    with pytest.raises(DocumentUnreadable):
        write_front_matter(data, {"status": "failed"})
    read = plan_document({"tasks/a.md": data, "tasks/b.md": a_file(id="b")}, name="site")
    (finding,) = read.findings
    assert (finding.rule, finding.severity, finding.where.line) == ("front_matter", "error", line)
    assert finding.message.startswith(f"tasks/a.md:{line} ") and why in finding.message and finding.hint
    assert [one["id"] for one in read.document["tasks"]] == ["b"] and read.broken


def test_an_alias_bomb_is_refused() -> None:
    """T-X.8: before anything is built."""
    bomb = "---\na: &a [x, x, x, x, x, x, x, x, x]\n"
    bomb += "".join(f"{c}: &{c} [{', '.join([f'*{b}'] * 9)}]\n" for b, c in zip("abcdefg", "bcdefgh", strict=True))
    with pytest.raises(DocumentUnreadable, match="aliases"):
        read_front_matter((bomb + "---\n").encode())


def test_ids_that_stand_twice_are_told_with_both_files() -> None:
    """T-X.8: also where only large and small letters differ, because a file system may not see that."""
    read = project(tasks__a=a_file(id="same"), tasks__b=a_file(id="same"), tasks__c=a_file(id="SAME"))
    found = all_findings(read)
    assert [(f.rule, f.message.split(" ")[0]) for f in errors(found)] == [
        ("duplicate_id", "tasks/b.md:2"), ("duplicate_id", "tasks/c.md:2"),
    ]  # fmt: skip
    assert all("tasks/a.md" in f.message for f in errors(found))
    assert [f.rule for f in found if f.severity == "warning"] == ["id_and_file"] * 3
    doubled = plan(task("a"), task("a"), agents=["ann", "ann"])
    assert rules(doubled) == [("duplicate_id", "/agents/1/name"), ("duplicate_id", "/tasks/1/id")]


def test_self_and_unknown_dependencies_are_errors_with_file_and_line() -> None:
    """T-X.29: errors at load, at the entry's own line."""
    read = project(
        tasks__a=a_file(id="a", depends_on=["b", "a"]), tasks__b=a_file(id="b", depends_on=["aa", {"id": "nobody"}]),
    )  # fmt: skip
    found = errors(all_findings(read))
    assert [(f.rule, f.message.split(" ")[0], f.where.line) for f in found] == [
        ("unknown_dependency", "tasks/b.md:4", 4),
        ("self_dependency", "tasks/a.md:5", 5),
        ("unknown_dependency", "tasks/b.md:5", 5),
    ]
    with pytest.raises(DocumentInvalid):
        compile_document(read.bytes(), name="plan.json")


@pytest.mark.parametrize(
    "entry",
    [{"optional": True}, {"id": ""}, {"id": 3}, {"id": "b", "optional": "yes"}, {"id": "b", "weight": "1"},
     {"id": "b", "weight": True}, {"id": "b", "weight": 1.5}],
)  # fmt: skip
def test_a_dependency_of_another_shape_is_an_error(entry: Any) -> None:
    """T-X.29: {id, optional: bool, weight: int}."""
    assert [(f.severity, f.where.pointer) for f in findings(plan(task("a", entry), task("b")))] == [
        ("error", "/tasks/0/depends_on/0")
    ]
    assert rules(plan(task("a", {"id": "b", "wait": 1}), task("b"))) == [("unknown_field", "/tasks/0/depends_on/0")]
    assert rules(plan(task("a", "b", "b"), task("b"))) == [("duplicate_dependency", "/tasks/0/depends_on/1")]


def test_circles_with_and_without_optional_edges() -> None:
    """T-8.3.1, T-X.29: both are warnings with a line; the plan can be released."""
    read = project(
        tasks__a=a_file(id="a", depends_on=["b"]),
        tasks__b=a_file(id="b", depends_on=[{"id": "a", "optional": True}]),
        tasks__c=a_file(id="c", depends_on=["d"]),
        tasks__d=a_file(id="d", depends_on=["c"]),
    )
    found = all_findings(read)
    assert [(f.rule, f.severity, f.message.split(" ")[0]) for f in sorted(found, key=lambda f: f.message)] == [
        ("dependency_removed", "warning", "tasks/b.md:4"),
        ("dependency_cycle", "warning", "tasks/c.md:4"),
    ]
    assert compile_document(read.bytes(), name="plan.json").net.name == "site"


@pytest.mark.parametrize(
    "id",
    [
        "",
        ".",
        "..",
        "a/b",
        "../a",
        "a b",
        "-a",
        ".a",
        "a..b",
        "a.",
        "a.lock",
        "a\nb",
        "한글",
        "a" * 101,
        "a\\b",
        3,
        None,
    ],
)
def test_an_id_that_is_no_file_name(id: Any) -> None:
    """T-X.8: an id is a file, a folder and a branch: it leaves none of them."""
    for part, name in (("tasks", "id"), ("agents", "name"), ("skills", "id")):
        document = plan(task("a"))
        document[part] = [{name: id}]
        assert errors(findings(document)), part
        with pytest.raises(DocumentInvalid):
            lowered(document)


@pytest.mark.parametrize("id", ["input", "config", "place", "feedback", "draft"])
def test_an_id_that_expressions_read(id: str) -> None:
    """T-X.8: a task of that name would hide what every attempt is told."""
    assert rules(plan(task(id))) == [("reserved_name", "/tasks/0/id")]


def test_nobody_is_called_admin() -> None:
    """T-X.30: the agent that stands for people."""
    assert rules(plan(task("a"), agents=["admin"])) == [("reserved_name", "/agents/0/name")]


@pytest.mark.parametrize(
    ("text", "line", "rule"),
    [
        (b"plan: [", 2, "unreadable"),
        (b"name: site\n", 1, "wrong_type"),
        (b"- a\n", 1, "wrong_type"),
        (b"plan:\n  name: \xff\n", 2, "unreadable"),
        (b"plan:\n  name: a\n  name: b\n", 3, "unreadable"),
    ],
)
def test_a_broken_plan_yaml_is_told_with_its_line(text: bytes, line: int, rule: str) -> None:
    """T-X.8: the tasks are read all the same."""
    read = plan_document({"plan.yaml": text, "tasks/a.md": a_file(id="a")}, name="site")
    assert [(f.rule, f.severity, f.where.line) for f in read.findings] == [(rule, "error", line)]
    assert read.findings[0].message.startswith(f"plan.yaml:{line} ")
    assert [one["id"] for one in read.document["tasks"]] == ["a"]


def test_settings_of_plan_yaml_are_told_with_their_lines() -> None:
    """T-X.34: file and line, also in Korean."""
    read = project(plan="plan:\n  name: x\n\n  max_concurrent: many\n")
    finding = next(f for f in all_findings(read) if f.severity == "error")
    assert finding.message.startswith("plan.yaml:4 ") and finding.where.line == 4
    assert finding_text(finding).message.startswith("plan.yaml:4 «max_concurrent»")


@pytest.mark.parametrize(
    "document",
    [
        None, 3, "x", [], {}, {"plan": None}, {"plan": {}}, {"plan": {"name": "a b"}},
        {"plan": {"name": "x"}, "tasks": {}}, {"plan": {"name": "x"}, "tasks": [3, None, {}]},
        {"plan": {"name": "x"}, "agents": "ann"}, {"plan": {"name": "x"}, "other": 1},
        {"plan": {"name": "x"}, "tasks": [{"id": "a", "lines": 3, "file": 4}]},
        {"plan": {"name": "x"}, "tasks": [{"id": "a", "lines": {"id": "x"}, "file": "f", "status": 3}]},
    ],
)  # fmt: skip
def test_any_document_ends_in_findings(document: Any) -> None:
    """T-X.8: never in a traceback."""
    _, found = check_document(json.dumps(document).encode(), name="plan.json", language="plan")
    assert errors(found)


def test_a_plan_without_tasks_is_a_warning() -> None:
    """T-5.2.2: there is nothing to do yet."""
    assert [(f.rule, f.severity) for f in findings(plan())] == [("no_tasks", "warning")]
    assert [n.id for n in lowered(plan()).nodes] == ["start"]


def test_a_project_that_is_too_large_is_told() -> None:
    """T-X.8: as a finding, before it is compiled."""
    files = {f"tasks/t{n}.md": a_file("x" * 900_000, id=f"t{n}") for n in range(6)}
    assert [f.rule for f in plan_document(files, name="site").findings] == ["too_large"]


def test_thousands_of_broken_files_are_a_bounded_report() -> None:
    """T-X.8: the first thousand are enough."""
    read = plan_document({f"tasks/t{n}.md": b"no" for n in range(3000)}, name="site")
    assert len(read.findings) == 1000


def test_what_the_engine_wrote_and_somebody_broke_is_a_warning() -> None:
    """T-X.8: it will be written again."""
    read = project(tasks__a=a_file(id="a", retry_count="many", review_required="yes", updated=3))
    assert [(f.rule, f.severity) for f in read.findings] == [("wrong_type", "warning")] * 3
