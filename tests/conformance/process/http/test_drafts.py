"""Drafts of drawings over HTTP: brought, answered, undone, released, with everything that can be wrong."""

from __future__ import annotations

import itertools
from typing import Any

import httpx2

from tests.conformance.process.drawings import calling, decided, waiting
from tests.conformance.process.http.world import World

_numbers = itertools.count(1)


def _id() -> str:
    return f"drawn{next(_numbers)}"


def _brought(office: World, text: str, status: int = 201, **more: Any) -> dict[str, Any]:
    answer = office.admin.post("/processes/drafts", json={"name": "주문.bpmn", "text": text, **more})
    assert answer.status_code == status, answer.text
    draft: dict[str, Any] = answer.json()
    return draft


def _post(office: World, draft: dict[str, Any], verb: str, status: int = 200, **body: Any) -> dict[str, Any]:
    body.setdefault("number", draft["number"])
    answer = office.admin.post(f"/processes/drafts/{draft['id']}:{verb}", json=body)
    assert answer.status_code == status, answer.text
    done: dict[str, Any] = answer.json()
    return done


def test_a_drawing_is_brought_answered_and_released(office: World) -> None:
    """P-X.25, P-X.28: a gateway without conditions is a to-do in the words of the drawing; its proposal finishes it."""
    id = _id()
    draft = _brought(office, decided(id))
    assert (draft["status"], draft["version"], draft["name"], draft["file"]) == ("open", 1, "주문 처리", "주문.bpmn")
    assert draft["counts"] == {"pools": 0, "steps": 3, "flows": 6, "messages": 0, "lost": 0}
    (todo,) = draft["todos"]
    assert (todo["no"], todo["kind"], todo["state"]) == (1, "gateway_conditions", "open")
    assert (todo["element"], todo["element_type"], todo["name"]) == ("stock", "exclusiveGateway", "재고 있음?")
    assert todo["proposals"] and draft["soundness"]["status"] == "sound" and draft["soundness"]["with_proposals"]
    assert draft["moves"] == ["answer", "accept", "replace", "discard"]
    done = _post(office, draft, "answer", answers=[{"key": todo["key"], "proposal": 0}])
    assert (done["status"], done["number"], done["by_proposal"], done["by_hand"]) == ("finished", 2, 1, 0)
    assert [(one["no"], one["state"], one["by_proposal"]) for one in done["todos"]] == [(1, "done", True)]
    assert done["todos"][0]["answered_by"] == "admin@example.com" and done["todos"][0]["answered_at"]
    told = _post(office, done, "release")
    assert [(one["id"], one["version"], one["new"]) for one in told["definitions"]] == [(id, 1, True)]
    assert (told["draft"]["status"], told["draft"]["moves"]) == ("released", ["discard"])
    definition = office.admin.get(f"/processes/definitions/{id}").json()
    assert definition["origin"] == {"source": "drawing", "draft": draft["id"], "file": "주문.bpmn"}
    text = office.admin.get(f"/processes/definitions/{id}/bpmn").text
    assert text == office.admin.get(f"/processes/drafts/{draft['id']}/bpmn").text != decided(id)
    case = office.begun(id)
    assert case.until(look="TODO")


def test_the_file_comes_back_byte_for_byte(office: World) -> None:
    """P-X.25: where nothing was answered; with all proposals taken it is another text, and the draft is the same."""
    text = decided(_id())
    draft = _brought(office, text)
    path = f"/processes/drafts/{draft['id']}"
    assert office.admin.get(f"{path}/bpmn").text == text
    taken = office.admin.get(f"{path}/bpmn", params={"accepted": True}).text
    assert taken != text and office.admin.get(path).json() == draft
    shown = _post(office, draft, "accept", dry_run=True)
    assert (shown["status"], shown["number"]) == ("finished", 1) and office.admin.get(path).json() == draft
    done = _post(office, draft, "accept")
    assert (done["status"], done["number"]) == ("finished", 2)
    assert office.admin.get(f"{path}/bpmn").text == taken


def test_the_same_file_again_is_the_same_draft(office: World) -> None:
    """P-X.25: another text of the same process takes its place, and what was answered stays where it is still asked."""
    id = _id()
    draft = _brought(office, decided(id))
    assert _brought(office, decided(id), 200) == draft
    done = _post(office, draft, "accept")
    renamed = _brought(office, decided(id, name="Orders"), 200)
    assert (renamed["id"], renamed["name"], renamed["status"], renamed["number"]) == (
        draft["id"], "Orders", "finished", done["number"] + 1
    )  # fmt: skip
    other = _brought(office, decided(id, gateway="other"), 200)
    assert [(one["no"], one["element"], one["state"]) for one in other["todos"]] == [(2, "other", "open")]
    answer = office.admin.put(
        f"/processes/drafts/{draft['id']}", json={"number": other["number"], "text": decided(id)}
    )  # fmt: skip
    assert answer.status_code == 200 and [one["no"] for one in answer.json()["todos"]] == [1]


def test_what_was_released_stays_and_the_next_begins(office: World) -> None:
    """P-X.8: a released draft is not changed any more; its file again begins the next version, with its answers."""
    id = _id()
    first = _post(office, _brought(office, decided(id), accept=True), "release")["draft"]
    refused = _post(office, first, "undo", 409)
    assert refused["code"] == "PROC-409-STATE" and "is released" in refused["detail"]
    again = _brought(office, decided(id, name="Next"))
    assert again["id"] != first["id"] and (again["version"], again["status"]) == (2, "finished")
    (saved,) = _post(office, again, "release")["definitions"]
    assert (saved["version"], saved["new"]) == (2, True)
    same = _post(office, _brought(office, decided(id, name="Next")), "release")
    assert [(one["version"], one["new"]) for one in same["definitions"]] == [(2, False)]
    listed = office.admin.get("/processes/drafts").json()["items"]
    assert [one["released"] for one in listed if one["definitions"][0]["id"] == id] == [
        [{"id": id, "version": 2}], [{"id": id, "version": 2}], [{"id": id, "version": 1}]
    ]  # fmt: skip


def test_who_comes_second_sees_the_present_number(office: World) -> None:
    """P-2.3.5, P-X.28: two windows do not overwrite each other."""
    draft = _brought(office, decided(_id()))
    _post(office, draft, "accept")
    for verb, more in (("accept", {}), ("undo", {}), ("release", {}), ("answer", {"answers": [{"key": "x"}]})):
        refused = _post(office, draft, verb, 409, **more)
        assert (refused["code"], refused["number"]) == ("PROC-409-DRAFT", 2), verb
    path = f"/processes/drafts/{draft['id']}"
    assert office.admin.put(path, json={"number": 1, "text": decided("x")}).status_code == 409
    assert office.admin.delete(path, params={"number": 1}).status_code == 409
    assert office.admin.delete(path, params={"number": 2}).status_code == 204
    gone = office.admin.get(path)
    assert (gone.status_code, gone.json()["code"]) == (404, "PROC-404")


def test_an_unfinished_draft_is_not_released(office: World) -> None:
    """P-X.11: the open to-dos are named, each with its element; nothing is saved."""
    id = _id()
    draft = _brought(office, waiting(id))
    refused = _post(office, draft, "release", 422)
    assert refused["code"] == "PROC-422-DRAFT" and "Waiting" in refused["detail"]
    (finding,) = refused["findings"]
    assert finding["node"] == "later" and finding["where"]["pointer"].startswith("/events/") and finding["hint"]
    assert office.admin.get(f"/processes/definitions/{id}").status_code == 404
    (todo,) = draft["todos"]
    assert todo["proposals"] == [] and todo["form"]
    assert _post(office, draft, "accept")["number"] == 1, "nothing is proposed"


def test_an_answer_that_does_not_fit_changes_nothing(office: World) -> None:
    """P-X.28: a to-do that is none, a proposal that is none, an answer of another form; all answers or none."""
    draft = _brought(office, decided(_id()))
    (todo,) = draft["todos"]
    good = {"key": todo["key"], "proposal": 0}
    wrong: list[tuple[dict[str, Any], int]] = [
        ({"key": "gateway_conditions:nothing:here", "proposal": 0}, 404), ({"key": todo["key"], "proposal": 7}, 400),
        ({"key": todo["key"]}, 400), ({**good, "answer": {"ask": {}}}, 400), ({"key": todo["key"], "answer": {}}, 400),
        ({"key": todo["key"], "answer": {"nonsense": 1}}, 400),
    ]  # fmt: skip
    for reply, status in wrong:
        for answers in ([reply], [good, reply]):
            refused = _post(office, draft, "answer", status, answers=answers)
            assert refused["code"].startswith(("PROC-4", "PS-4")) and refused["detail"]
    assert office.admin.get(f"/processes/drafts/{draft['id']}").json() == draft


def test_what_cannot_be_read_is_kept_nowhere(office: World) -> None:
    """P-X.25: neither XML of another kind, nor half a file, nor nothing; a typed message, and no draft."""
    before = office.admin.get("/processes/drafts").json()
    bomb = '<!DOCTYPE x [<!ENTITY a "aaaa">]><definitions>&a;</definitions>'
    for text in ("x", "{}", "[]", "<a/>", decided()[:-40], bomb, '{"process_definition_id": 7}', "\n"):
        answer = office.admin.post("/processes/drafts", json={"text": text})
        assert answer.status_code in (400, 413, 422), (text, answer.text)
        assert answer.json()["code"].startswith(("PROC-4", "PS-4")) and answer.json()["detail"], text
    assert office.admin.get("/processes/drafts").json() == before


def test_several_definitions_are_released_together(office: World) -> None:
    """P-X.4, P-X.8: the called one first; when only that changes, whoever calls it is a new version, too."""
    outer, inner = _id(), _id()
    draft = _brought(office, calling(outer, inner))
    assert draft["status"] == "finished" and [one["id"] for one in draft["definitions"]] == [outer, inner]
    done = _post(office, draft, "release")
    assert [(one["id"], one["version"], one["new"]) for one in done["definitions"]] == [
        (outer, 1, True), (inner, 1, True)
    ]  # fmt: skip
    again = _post(office, _brought(office, calling(outer, inner, step="Else")), "release")
    assert [(one["id"], one["version"], one["new"]) for one in again["definitions"]] == [
        (outer, 2, True), (inner, 2, True)
    ]  # fmt: skip
    case = office.begun(outer)
    assert case.until(call="IN_PROGRESS")


def test_a_viewer_looks_and_another_tenant_sees_nothing(office: World) -> None:
    """P-X.28, C-66: drafts are their tenant's; whoever may not write definitions only reads."""
    draft = _brought(office, decided(_id()))
    path = f"/processes/drafts/{draft['id']}"
    name = f"tenant-{draft['id']}"
    made = office.admin.post("/tenants", json={"id": name, "name": "Other", "admin": f"boss@{name}"})
    other: httpx2.Client = office.server.client(key=made.json()["token"])
    assert other.get("/processes/drafts").json()["items"] == [] and other.get(path).status_code == 404
    assert other.post(f"{path}:accept", json={"number": 1}).status_code == 404
    assert other.delete(path).status_code == 404
    theirs = other.post("/processes/drafts", json={"text": decided(draft["definitions"][0]["id"])})
    assert theirs.status_code == 201 and theirs.json()["id"] != draft["id"]
    assert office.operator.get(path).status_code == 200
    assert office.admin.get(path).json() == draft


def test_its_definitions_are_seen_with_all_proposals_taken(office: World) -> None:
    """P-X.25: as they are now a way has no condition; with the proposals somebody is asked, and the draft stays."""
    draft = _brought(office, decided(_id()))
    path = f"/processes/drafts/{draft['id']}"
    (now,) = office.admin.get(f"{path}/definitions").json()["definitions"]
    (taken,) = office.admin.get(f"{path}/definitions", params={"accepted": True}).json()["definitions"]
    assert now["process_definition_id"] == taken["process_definition_id"] == draft["definitions"][0]["id"]
    asked = [[gateway["id"] for gateway in data["gateways"] if gateway.get("ask")] for data in (now, taken)]
    assert asked == [[], ["stock"]]
    assert office.admin.get(path).json() == draft


def test_findings_of_a_draft_are_read_in_the_readers_language(office: World) -> None:
    """P-X.25: the same draft, in English and in Korean."""
    id = _id()
    trigger = "<conditionalEventDefinition><condition>stock &lt; 10</condition></conditionalEventDefinition>"
    text = decided(id).replace('<startEvent id="s"/>', f'<startEvent id="s">{trigger}</startEvent>')
    draft = _brought(office, text)
    said = {
        language: office.admin.get(f"/processes/drafts/{draft['id']}", headers={"Accept-Language": language}).json()
        for language in ("en", "ko")
    }
    messages = {
        language: next(one["message"] for one in body["findings"] if one["rule"] == "start_by_hand")
        for language, body in said.items()
    }
    assert "only people start this process" in messages["en"]
    assert "사람만 시작할 수 있어요" in messages["ko"]
