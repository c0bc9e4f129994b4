"""Files of a project: front matter is read with its lines, written back field by field, and made one document."""

from __future__ import annotations

import random
from typing import Any

import pytest

from penstock.errors import DocumentUnreadable
from penstock.lang.plan import front_matter
from penstock.lang.plan.front_matter import new_file, read_front_matter, write_front_matter
from penstock.lang.plan.plain_fields import plain_fields
from penstock.lang.plan.project_files import Folders, folders_of, is_plan_file, plan_document
from tests.conformance.plan.make import a_file, all_findings, project

FULL = """\
---
# made by hand
id: a            # the name of the file
title: "Make: the page"
status: pending  # of five
priority: 2
assigned_agent: ann
depends_on:
  - b
  - {id: c, optional: true, weight: 2}
references: [docs/notes.md]
success_criteria:
  - The page is there
  - file_exists: out/page.html
skill: writing
timeout_s: 60
created: 2026-11-18T00:00:00Z
owner: somebody
---

# Make the page

Text with --- inside.
---
and a line that looks like an end.
"""


def test_every_field_of_a_task_file_is_read_with_its_line() -> None:
    """T-X.8: the fields between the two lines ---, the description below; lines are those of the file."""
    read = read_front_matter(FULL.encode())
    assert read.fields == {
        "id": "a",
        "title": "Make: the page",
        "status": "pending",
        "priority": 2,
        "assigned_agent": "ann",
        "depends_on": ["b", {"id": "c", "optional": True, "weight": 2}],
        "references": ["docs/notes.md"],
        "success_criteria": ["The page is there", {"file_exists": "out/page.html"}],
        "skill": "writing",
        "timeout_s": 60,
        "created": "2026-11-18T00:00:00Z",
        "owner": "somebody",
    }
    assert read.body == "# Make the page\n\nText with --- inside.\n---\nand a line that looks like an end."
    assert read.lines["id"] == 3 and read.lines["depends_on"] == 8
    assert read.lines["depends_on/1"] == 10 and read.lines["success_criteria/0"] == 13 and read.lines["owner"] == 18
    assert "references/0" not in read.lines


def test_writing_changes_the_fields_that_are_asked_for_and_nothing_else() -> None:
    """T-X.8, T-10.1.2, T-10.1.3: status and updated; comments, order, own fields and the text stay as they are."""
    written = write_front_matter(FULL.encode(), {"status": "in_progress", "updated": "2026-11-18T01:02:03Z"}).decode()
    expected = FULL.replace("status: pending  # of five", "status: in_progress  # of five")
    expected = expected.replace("owner: somebody\n", "owner: somebody\nupdated: 2026-11-18T01:02:03Z\n")
    assert written == expected
    again = write_front_matter(written.encode(), {"status": "in_progress", "updated": "2026-11-18T01:02:03Z"})
    assert again.decode() == written


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("bom", ["", "\ufeff"])
def test_line_ends_and_a_byte_order_mark_stay(end: str, bom: str) -> None:
    """T-X.8: whatever editor a person has."""
    data = (bom + FULL.replace("\n", end)).encode()
    read = read_front_matter(data)
    assert read.fields["title"] == "Make: the page" and read.lines["owner"] == 18
    written = write_front_matter(data, {"status": "failed", "last_error": "exit code: 1 # bad", "retry_count": 3})
    text = written.decode()
    assert text.startswith(bom + "---") and text.count(end) == data.decode().count(end) + 2
    assert set(text.replace(end, "")) & {"\r", "\n"} == set()
    assert read_front_matter(written).fields == {
        **read.fields, "status": "failed", "last_error": "exit code: 1 # bad", "retry_count": 3,
    }  # fmt: skip
    gone = write_front_matter(written, {"status": "pending", "last_error": None, "retry_count": None})
    assert gone == data


@pytest.mark.parametrize(
    ("before", "changes", "after"),
    [
        ("last_error:\n", {"last_error": "x"}, "last_error: x\n"),
        ("last_error: |\n  one\n  two\n\nz: 1\n", {"last_error": "x"}, "last_error: x\n\nz: 1\n"),
        ("last_error: |\n  one\n  two\nz: 1\n", {"last_error": None}, "z: 1\n"),
        ("a: 1\nlast_error: >-\n  one\n  two\n", {"last_error": None}, "a: 1\n"),
        ("depends_on:\n- b\n- c\n# end\nz: 1\n", {"depends_on": ["c"]}, "depends_on:\n  [c]\n# end\nz: 1\n"),
        ("depends_on: # why\n  - b\n", {"depends_on": []}, "depends_on: # why\n  []\n"),
        ("depends_on: [b, c]\n", {"depends_on": ["c"]}, "depends_on: [c]\n"),
        ("depends_on:\n  - b\n\nz: 1\n", {"depends_on": None}, "\nz: 1\n"),
        ("s: 'a'' b'\n", {"s": "c"}, "s: c\n"),
        ("  s: a\n  t: b\n", {"u": "c"}, "  s: a\n  t: b\n  u: c\n"),
        ("{id: a, s: b}\n", {"s": "c", "n": 1}, "{id: a, s: c, n: 1}\n"),
        ("{id: a, s: b}\n", {"s": None}, "{id: a, s: null}\n"),
        ("", {"s": "c"}, "s: c\n"),
        ("# nothing yet\n", {"s": "c"}, "# nothing yet\ns: c\n"),
        ("s: &x a\n", {"s": "b"}, "s: b\n"),
        ("s: 한글\n", {"s": "다 된 것"}, 's: "다 된 것"\n'),
    ],
)
def test_odd_shapes_are_changed_in_place(before: str, changes: dict[str, Any], after: str) -> None:
    """T-X.8: only the value's own characters."""
    data = f"---\n{before}---\nbody\n".encode()
    assert write_front_matter(data, changes).decode() == f"---\n{after}---\nbody\n"


def test_a_file_that_cannot_be_changed_alone_is_refused_whole() -> None:
    """T-X.8: a value that another one refers to is not pulled away from under it."""
    with pytest.raises(DocumentUnreadable):
        write_front_matter(b"---\nstatus: &s pending\nwas: *s\n---\n", {"status": "failed"})


@pytest.mark.parametrize(
    "value",
    ["plain", "two words", "", " ", "true", "No", "null", "1", "1.5", "-", "- a", "a: b", "a #b", "#", '"', "'", "\\",
     "\t", "a\nb", "\x1b[31m", "\x85", "\u2028", "😀", "한글: 값", "[a]", "{a}", "&a", "*a", "!t", "%", "@", "`",
     "2026-11-18", "x" * 5000, True, False, 0, -3, 1.5, [], ["a", "b: c"], {"id": "a", "x": True}, [{"id": "x"}]],
)  # fmt: skip
def test_every_value_comes_back_as_it_was_written(value: Any) -> None:
    """T-X.8: an agent's last words may be anything."""
    written = write_front_matter(FULL.encode(), {"last_error": value, "status": value})
    read = read_front_matter(written)
    assert read.fields["last_error"] == value and read.fields["status"] == value
    assert read.body == read_front_matter(FULL.encode()).body
    fresh = read_front_matter(new_file({"id": "a", "x": value}, "text"))
    assert fresh.fields == {"id": "a", "x": value} and fresh.body == "text"


_VALUES = (
    "a", "a b", "1", "01", "1.5", "1e5", "true", "null", "~", "'x'", '"x y"', '"x\\n"', "[a, b]", "[]", "[ a , b ]",
    "[1, true]", "{id: b, optional: true}", "x: y", "x #c", "x#c", "a:", "a:b", "- b", "2026-11-18", "3 things", "-1",
    "2026-11-18T01:02:03Z", "|", ">", "*a", "&a", "!x", "한글 제목", "it's", "a, b", "a [b]", "", "  ", "0x1", "yes",
    "a\tb", "a\u2028b", "😀 x", "x😀", "%x", "@x", "a\\b", "_", "<<", "[1.5]", "[01]", "{a: 1, a: 2}", "? a", "a - b",
    "'it''s'", '""', "1_000", "1:30", "2026-11-18 10:00", "nan", "a ' b", 'a " b', "{a: 1.5}", "[a,b]", "=",
)  # fmt: skip


def test_plain_front_matter_is_read_as_yaml_reads_it() -> None:
    """T-X.8: what is read without a YAML parser is what the parser would have read, values and lines."""
    chance, plain = random.Random(13), 0
    for _ in range(20_000):
        lines = [_line(chance) + chance.choice(["\n", "\n", "\r\n"]) for _ in range(chance.randint(0, 5))]
        head = "---\n" + "".join(lines)
        fast = plain_fields(head)
        if fast is None:
            continue
        plain += 1
        value, mark = front_matter._fields(head)
        assert (value, front_matter._lines(mark)) == fast, head
        assert repr(value) == repr(fast[0]), head
    assert plain > 2000


def _line(chance: random.Random) -> str:
    key, value = chance.choice(["id", "title", "a-b", "x_1", "null", "1a", "a b", "<<"]), chance.choice(_VALUES)
    return chance.choice(
        [f"{key}: {value}", f"{key}:{value}", f"{key}:  {value}", f"  - {value}", f"- {value}", f"  - {key}: {value}",
         "", "# c", " x: 1", f"{key}:"]
    )  # fmt: skip


def test_a_project_is_one_document() -> None:
    """T-X.8, T-X.9, T-X.11: tasks, agents and skills of their folders, and the settings of plan.yaml."""
    read = project(
        plan="plan:\n  max_concurrent: 2\n",
        tasks__a=FULL,
        tasks__b=a_file("# A heading\n\ntext", depends_on=[]),
        agents__ann=a_file("Be careful.", name="ann", command="sh agent.sh", skills=["writing"]),
        agents__bob="Only instructions.",
        skills__writing=a_file("Write well.", id="writing"),
        tasks__README="no task",
        notes__x="not read",
    )
    assert read.findings == []
    document = read.document
    assert document["plan"]["name"] == "site" and document["plan"]["max_concurrent"] == 2
    assert [one["id"] for one in document["tasks"]] == ["a", "b"]
    assert document["tasks"][0]["file"] == "tasks/a.md" and document["tasks"][0]["lines"]["title"] == 4
    assert "owner" not in document["tasks"][0]
    assert document["tasks"][1]["title"] == "A heading"
    assert [(one["name"], one["instructions"]) for one in document["agents"]] == [
        ("ann", "Be careful."), ("bob", "Only instructions."),
    ]  # fmt: skip
    assert [(one["id"], one["text"]) for one in document["skills"]] == [("writing", "Write well.")]
    assert read.files == {"a": "tasks/a.md", "b": "tasks/b.md"}


def test_what_the_engine_writes_into_a_file_does_not_change_the_plan() -> None:
    """T-X.8, T-X.38: a run goes on with the statuses it began with; a new one takes those of the files."""
    before = project(tasks__a=a_file(id="a", status="pending"))
    data = a_file(
        id="a", status="completed", updated="2026-11-18T00:00:00Z", retry_count=2, last_error="x", agent="ann"
    )
    files = {"tasks/a.md": data}
    same = plan_document(files, name="site", statuses={"a": "pending"})
    assert same.document["tasks"][0] | {"lines": 0} == before.document["tasks"][0] | {"lines": 0}
    assert same.statuses == {"a": "completed"}
    assert plan_document(files, name="site").document["tasks"][0]["status"] == "completed"
    assert "status" not in plan_document(files, name="site", statuses={}).document["tasks"][0]


def test_folders_can_have_other_names() -> None:
    """T-X.8: the directory is configurable; it stays inside the project."""
    text = b"plan:\n  name: x\n  tasks_dir: work/items\n  agents_dir: ../out\n"
    assert folders_of(text) == Folders(tasks="work/items")
    read = plan_document({"plan.yaml": text, "work/items/a.md": a_file(id="a"), "tasks/b.md": a_file(id="b")})
    assert [one["id"] for one in read.document["tasks"]] == ["a"]
    assert [f.rule for f in all_findings(read) if f.severity == "error"] == ["path_outside"]
    assert folders_of(None) == Folders() and folders_of(b"\xff: [") == Folders()
    assert is_plan_file("tasks/a.md") and is_plan_file("plan.yaml") and not is_plan_file("tasks/x/a.md")
    assert not is_plan_file("tasks/a.txt") and not is_plan_file("tasks/.a.md") and not is_plan_file("a.md")


def test_a_field_that_looks_like_one_of_ours_is_told_once() -> None:
    """T-X.8: a person's own fields are theirs; a slip of the pen is not."""
    read = project(
        tasks__a=a_file(id="a", depend_on=["b"], owner="me"), tasks__b=a_file(id="b", depend_on=[], owner="me")
    )
    assert [(f.rule, f.severity, f.message) for f in read.findings] == [
        ("unknown_field", "warning", "tasks/a.md:3 Nobody reads the field «depend_on». So do 1 other files.")
    ]
    assert "depends_on" in read.findings[0].hint
