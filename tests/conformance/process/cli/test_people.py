"""People and work items from the command line on either store: who may, who has it, which version, switching modes."""

from __future__ import annotations

from tests.api.places import MANAGER, OPERATOR
from tests.conformance.process.cli.desk import DONE, FAILED, KIM, WAITS, Desk
from tests.conformance.process.make import process, service, task

FORM = {"type": "object", "required": ["n"], "properties": {"n": {"type": "integer"}}}


def test_whoever_begins_has_it(office: Desk) -> None:
    """P-X.13, P-4.1.2: claiming sets the assignee; another person does not submit it, but may take it over."""
    case = office.begins(process([task("A")], []))
    case.verb("A", "start", by=OPERATOR)
    assert (case.item("A")["status"], case.item("A")["assignee"]) == ("IN_PROGRESS", OPERATOR)
    assert [one["id"] for one in office("items", "ls", "--assignee", OPERATOR)] == [f"{case.id}~2"]
    refused = case.refuses("A", "submit", by=MANAGER)
    assert refused["code"] == "PROC-409-STATE" and OPERATOR in refused["message"]
    assert office.wrong("respond", case.id, "A", "{}", "--by", MANAGER)["code"] == "PROC-409-STATE"
    case.verb("A", "take-over", by=MANAGER)
    assert case.hands_in("A", by=MANAGER, code=DONE) == []
    assert case.item("A")["assignee"] == MANAGER


def test_it_is_for_those_it_is_for(office: Desk) -> None:
    """P-X.13: a named user; others are refused by every command, and a delegate may instead of them."""
    roles = [{"id": "r", "name": "R", "assignment_rule": f"user:{OPERATOR}"}]
    case = office.begins(process([task("A", role="r", form=FORM)], [], roles=roles))
    before = case.look()
    for words in (("items", "submit", f"{case.id}/A"), ("respond", case.id, "A", '{"n": 1}')):
        refused = office.wrong(*words, "--by", MANAGER)
        assert refused["code"] == "PROC-403-SCOPE" and MANAGER in refused["message"]
    assert case.refuses("A", "start", by=MANAGER)["code"] == "PROC-403-SCOPE"
    assert case.look() == before
    assert case.refuses("A", "delegate", "user:nobody", by=OPERATOR)["code"] == "PS-422-TARGET"
    case.verb("A", "delegate", f"user:{MANAGER}", "-m", "대신 부탁해요", by=OPERATOR)
    item = office("items", "show", f"{case.id}/A")
    assert (item["assignee"], item["status"]) == (MANAGER, "TODO")
    assert [one["text"] for one in item["comments"]] == ["대신 부탁해요"]
    office("respond", case.id, "A", '{"n": 1}', "--by", MANAGER, code=DONE)
    assert (case.item("A")["assignee"], case.item("A")["result"]) == (MANAGER, {"n": 1})
    own = [{"id": "r", "name": "R", "assignment_rule": "initiator"}]
    begun = office.begins(process([task("A", role="r")], [], roles=own), "--initiator", OPERATOR)
    assert begun.item("A")["assignee"] == OPERATOR and begun.look()["initiator_id"] == OPERATOR


def test_a_result_fits_its_form(office: Desk) -> None:
    """P-X.14: by `items submit` and by `respond`; nothing is changed, and without --by somebody who may does it."""
    case = office.begins(process([task("A", form=FORM)], []))
    before = case.look()
    assert case.refuses("A", "submit", "--result", '{"n": "x"}')["code"] == "OUTPUT_SCHEMA"
    assert office.wrong("respond", case.id, "A", "{}")["code"] == "OUTPUT_SCHEMA"
    assert case.refuses("A", "submit", "--result", "[1]")["code"] == "PS-400-INPUT"
    assert case.look() == before
    assert office("respond", case.id, "A", '{"n": 3}', code=DONE)["status"] == "COMPLETED"
    assert case.item("A")["assignee"]
    assert office.wrong("respond", case.id, "A", '{"n": 3}')["code"] == "PS-409-STATUS"
    assert office.wrong("approve", case.id)["code"] == "PS-409-STATUS"


def test_comments_stay_with_the_item(office: Desk) -> None:
    """P-X.28: what was said is readable, by whom and when; what is closed is not spoken of any more."""
    case = office.begins(process([task("A")], []))
    (said,) = office("items", "comment", f"{case.id}/A", "서류가 더 필요해요", "--by", OPERATOR)
    assert (said["by"], said["text"]) == (OPERATOR, "서류가 더 필요해요")
    assert f"{OPERATOR}: 서류가 더 필요해요" in office.says("items", "show", f"{case.id}/A")
    case.hands_in("A", code=DONE)
    assert case.refuses("A", "comment", "zu spät")["code"] == "PROC-409-STATE"


def test_what_has_changed_is_looked_at_again(office: Desk) -> None:
    """P-X.1, P-2.3.5: --version that is not the newest is PROC-409-VERSION, for every verb."""
    agent = office.echo("scribe", result={"text": "draft"})
    case = office.begins(process([service("W", "SUPERVISED", agent=agent), task("N")], ["W>N"]))
    seen = str(case.item("W")["version"])
    case.verb("W", "reject", "-m", "다시", "--version", seen)
    for verb, *words in (
        ("approve",), ("reject", "-m", "x"), ("take-over",), ("rework",), ("delegate", f"user:{MANAGER}"), ("submit",),
        ("start",), ("set-mode", "MANUAL"),
    ):  # fmt: skip
        assert case.refuses("W", verb, *words, "--version", seen)["code"] == "PROC-409-VERSION", verb
    now = str(case.item("W")["version"])
    assert int(now) > int(seen)
    assert case.verb("W", "approve", "--version", now)["next_nodes"] == ["N"]


def test_who_approves(office: Desk) -> None:
    """P-X.14: only those whom the activity names, by either command; nobody else is guessed."""
    agent = office.echo("scribe", result={"text": "draft"})
    step = service("W", "SUPERVISED", agent=agent, orchestration={"approvers": [f"user:{MANAGER}"]}, form=FORM)
    office.echo("scribe", result={"n": 1})
    case = office.begins(process([step], []))
    assert case.refuses("W", "approve", by=OPERATOR)["code"] == "PROC-403-SCOPE"
    assert office.wrong("approve", case.id, "--by", OPERATOR)["code"] == "PROC-403-SCOPE"
    assert office.wrong("reject", case.id, "--by", OPERATOR, "-m", "no")["code"] == "PROC-403-SCOPE"
    assert case.refuses("W", "approve", "--result", '{"n": "x"}', by=MANAGER)["code"] == "OUTPUT_SCHEMA"
    assert case.states() == {"W": "SUBMITTED"}
    office("approve", case.id, code=DONE)
    assert case.history("W")[-1] == "DONE"


def test_finished_work_is_done_again(office: Desk) -> None:
    """P-X.15, P-4.1.6: while what came of it is untouched; what was opened since is cancelled with the exact reason."""
    case = office.begins(process([task("A"), task("B"), task("C")], ["A>B", "B>C"]))
    case.hands_in("A", {"n": 1})
    case.verb("A", "rework", "-m", "다시")
    assert case.history("A")[-2:] == ["REWORK", "TODO"]
    (gone,) = case.items("B")
    assert (gone["status"], gone["cancel_reason"]) == ("CANCELLED", "superseded by rework")
    case.hands_in("A", {"n": 2})
    case.verb("B", "start")
    assert case.refuses("A", "rework")["code"] == "PROC-409-STATE"
    assert case.look()["variables"]["n"] == 2


def test_modes_are_switched(office: Desk) -> None:
    """P-X.40: at the start, while it is TODO, and from an agent that works; all of it is in the history."""
    agent = office.agent("slowly", "waits")
    made = office.defined(process([service("W", "SUPERVISED", agent=agent)], []))
    case = office.begins(made, "--mode", "W=MANUAL")
    assert (case.item("W")["status"], case.item("W")["agent_mode"]) == ("TODO", "MANUAL")
    driver = office.beside("items", "set-mode", f"{case.id}/W", "AUTONOMOUS", "--by", KIM)
    try:
        case.until(W="IN_PROGRESS")
        assert (case.item("W")["agent_mode"], case.item("W")["assignee"]) == ("AUTONOMOUS", "slowly")
        taken = case.verb("W", "take-over", by=MANAGER)
        assert taken["status"] == "RUNNING"
        driver.communicate(timeout=60)
    finally:
        office.going.set()
        driver.kill()
    assert driver.returncode == WAITS
    assert (case.item("W")["agent_mode"], case.item("W")["assignee"]) == ("MANUAL", MANAGER)
    case.hands_in("W", {"by": "hand"}, by=MANAGER, code=DONE)
    events = [one["event"] for one in office("items", "history", f"{case.id}/W")]
    assert events == ["create", "set_mode", "start", "take_over", "submit"]
    for mode, code in (("nowhere=MANUAL", "PROC-400-SCHEMA"), ("W=OFTEN", "PROC-400-SCHEMA"), ("W", "PS-400-INPUT")):
        assert office.wrong("process", "start", made, "--mode", mode)["code"] == code


def test_what_an_agent_has_said_is_kept(office: Desk) -> None:
    """P-X.3, P-4.3.5: the transcript of a draft; of an agent that failed, how far it came."""
    agent = office.agent("speaks", {"text": "hello"})
    case = office.begins(process([service("W", "SUPERVISED", agent=agent, instruction="Greet.")], []))
    item = office("items", "show", f"{case.id}/W")
    assert [one["content"] for one in item["transcript"]] == ["Greet.", {"text": "hello"}]
    shown = office.says("items", "show", f"{case.id}/W")
    assert "transcript" in shown and "user      Greet." in shown
    office.put("connection", "mind", {"type": "openai", "base_url": f"{office.place.url}/llm"})
    office.put("agent", "muddled", {"kind": "model", "connection": "mind"})
    said = {"choices": [{"message": {"role": "assistant", "content": "perhaps"}}]}
    office.answers["llm/chat/completions"] = said
    lost = office.begins(process([service("W", agent="muddled", form=FORM)], []), code=FAILED)
    item = office("items", "show", f"{lost.id}/W")
    assert (item["status"], item["cancel_reason"]) == ("CANCELLED", "execution failed")
    assert item["error"].startswith("OUTPUT_SCHEMA: ") and office.calls("llm/chat/completions")
    assert [one["content"] for one in item["transcript"] if one["role"] == "assistant"] == ["perhaps", "perhaps"]
    shown = office.says("items", "show", f"{lost.id}/W")
    assert shown.count("assistant perhaps") == 2 and "execution failed" in shown
