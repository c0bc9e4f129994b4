"""`penstock process import` and what follows: a drawing that is not complete is answered and released at a terminal."""

from __future__ import annotations

import json
from pathlib import Path

from tests.cli.shell import Shell
from tests.conformance.process.drawings import calling, decided, waiting

CLAIM = Path(__file__).parents[1] / "conformance/process/modelers/camunda7_claim.bpmn"


def test_a_drawing_is_kept_with_what_is_missing(penstock: Shell) -> None:
    """P-X.25: exit 0, the to-do in the words of the drawing, Korean as it is; nothing runs before it is released."""
    penstock.write("주문.bpmn", decided())
    said = penstock("process", "import", "주문.bpmn").out
    assert "open, 1 to-do open  주문 처리  주문.bpmn" in said and "3 steps, 6 flows; 0 lost; sound with all" in said
    assert "1 open exclusive gateway ‘재고 있음?’" in said and "proposal: " in said and "«주문 확인»" in said
    assert penstock("process", "ls", "--json").json() == []
    (line,) = penstock("process", "drafts", "--json").json()
    assert (line["status"], line["open"], line["name"]) == ("open", 1, "주문 처리")
    draft = penstock("process", "draft", "order", "--json").json()
    assert draft["id"] == line["id"] == penstock("process", "draft", line["id"][:6], "--json").json()["id"]
    refused = penstock("process", "release", "order", "--json", code=2).error()
    assert refused["code"] == "PROC-422-DRAFT" and refused["findings"][0]["node"] == "stock"
    assert penstock("process", "import", "주문.bpmn", "--json").json() == draft, "the same file is the same draft"


def test_all_proposals_are_taken_and_it_runs(penstock: Shell) -> None:
    """P-X.25, P-X.8: --accept --release; the same again changes nothing."""
    penstock.write("order.bpmn", decided())
    done = penstock("process", "import", "order.bpmn", "--accept", "--release", "--by", "lee", "--json").json()
    assert (done["draft"]["status"], done["draft"]["todos"][0]["answered_by"]) == ("released", "lee")
    assert [(one["id"], one["version"], one["status"]) for one in done["definitions"]] == [("order", 1, "active")]
    again = penstock("process", "import", "order.bpmn", "--accept", "--release").out
    assert "order v1 approved  the same as before" in again
    penstock("process", "start", "order", "--by", "lee", code=4)
    (item,) = penstock("items", "ls", "--json").json()
    assert item["activity_id"] == "look"
    penstock("items", "submit", item["id"], "--by", "kim", code=4)
    waits = {one["activity_name"] for one in penstock("items", "ls", "--status", "TODO", "--json").json()}
    assert waits == {"재고 있음?"}, "whoever did the step before is asked"
    assert "  choice: " in penstock("inbox").out, "and is told what there is to choose from"


def test_what_is_told_of_a_drawing_names_no_line_of_another_text(penstock: Shell) -> None:
    """P-X.25: a finding is at an element; what was checked is the definition, whose lines are those of no file."""
    penstock.write("claim.bpmn", CLAIM.read_text(encoding="utf-8"))
    said = penstock("process", "import", "claim.bpmn").out
    assert "claim.bpmn warning left_out" in said and "taskListener" in said and "claim.bpmn:" not in said
    draft = penstock("process", "draft", "claim", "--json").json()
    assert [finding["where"] for finding in draft["findings"]] == ["/left_out/0"]


def test_to_dos_are_asked_one_by_one(penstock: Shell) -> None:
    """P-X.25: --ask works piped: what does not fit is asked again, s skips, Enter takes the proposal, and the end of
    the input leaves the rest open."""
    penstock.write("wait.bpmn", waiting())
    skipped = penstock("process", "import", "wait.bpmn", "--ask", input="s\n").out
    assert "1 to-do open" in skipped
    ended = penstock("process", "import", "wait.bpmn", "--ask", input="").out
    assert "1 to-do open" in ended
    said = penstock("process", "import", "wait.bpmn", "--ask", "--release", input="PT-nonsense\n{\nPT1H\n").out
    assert said.count("  no: ") == 2 and "answered by hand" in said and "wait v1 approved" in said
    penstock.write("order.bpmn", decided())
    said = penstock("process", "import", "order.bpmn", "--ask", input="5\n\n").out
    assert "  no: " in said and "proposal taken" in said and "release with penstock process release" in said
    refused = penstock("process", "import", "order.bpmn", "--ask", "--json", code=2).error()
    assert "--ask" in refused["message"]


def test_what_is_missing_is_said_where_it_cannot_be_released(penstock: Shell) -> None:
    """P-X.25: exit 2, with the to-do; the draft is kept."""
    penstock.write("wait.bpmn", waiting())
    said = penstock("process", "import", "wait.bpmn", "--release", code=2)
    assert "«Later» is a timer" in said.err and "wait.bpmn" in said.err and "PROC-422-DRAFT" in said.err
    assert penstock("process", "drafts").out.count("1 to-do open") == 1
    assert penstock("process", "ls", "--json").json() == []


def test_answers_are_given_changed_and_taken_back(penstock: Shell) -> None:
    """P-X.25, P-X.28: by number or key, by proposal or by hand, and anew; a to-do keeps its number."""
    penstock.write("order.bpmn", decided())
    penstock("process", "import", "order.bpmn")
    done = penstock("process", "answer", "order", "1", "--json").json()
    assert [(one["no"], one["state"], one["by_proposal"]) for one in done["todos"]] == [(1, "done", True)]
    own = {"conditions": {"f3": "stock > 0"}, "default": "f4"}
    key = done["todos"][0]["key"]
    again = penstock("process", "answer", "order", key, "--answer", json.dumps(own), "--json").json()
    assert [(one["no"], one["answer"], one["by_proposal"]) for one in again["todos"]] == [(1, own, False)]
    assert (again["by_proposal"], again["by_hand"], again["number"]) == (0, 1, 3)
    assert penstock("process", "undo", "order", "--json").json()["status"] == "open"
    penstock("process", "accept", "order")
    assert penstock("process", "undo", "order", "1", "--json").json()["todos"][0]["state"] == "open"
    for wrong in (["9"], ["1", "--proposal", "9"], ["1", "--answer", "null"], ["1", "--answer", "[1]"]):
        assert penstock("process", "answer", "order", *wrong, "--json", code=2).error()["message"]
    assert "nothing" not in penstock("process", "undo", "order", "--json", code=2).error()["code"]
    penstock("process", "discard", "order")
    assert "There is no draft" in penstock("process", "drafts").out
    assert penstock("process", "draft", "order", "--json", code=2).error()["code"] == "PROC-404"


def test_two_processes_of_one_file(penstock: Shell) -> None:
    """P-X.4: released together; a changed file is the next version of both."""
    penstock.write("both.bpmn", calling())
    said = penstock("process", "import", "both.bpmn", "--release").out
    assert "outer v1 approved" in said and "inner v1 approved" in said
    penstock.write("both.bpmn", calling(step="다른 일"))
    said = penstock("process", "import", "both.bpmn", "--release").out
    assert "outer v2 approved" in said and "inner v2 approved" in said


def test_what_is_no_drawing_is_refused(penstock: Shell) -> None:
    """P-X.25: with its place; no draft, no traceback."""
    for name, text in (("a.bpmn", "<a/>"), ("b.bpmn", decided()[:-30]), ("c.json", "{}"), ("d.txt", "x"), ("e", "")):
        penstock.write(name, text)
        assert penstock("process", "import", name, "--json", code=2).error()["message"], name
    assert penstock("process", "import", "nowhere.bpmn", "--json", code=2).error()["message"]
    Path(penstock.folder / "utf16.bpmn").write_bytes(decided().replace("UTF-8", "UTF-16").encode("utf-16"))
    assert penstock("process", "import", "utf16.bpmn", "--json").json()["name"] == "주문 처리"
