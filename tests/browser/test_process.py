"""Business processes in the browser: a file becomes a process, people and agents work, and a failure is undone."""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Iterator
from typing import Any

import pytest

from tests.api.serving import Server, until
from tests.browser.conftest import Open, Watch
from tests.browser.processes import FILE, PLAIN, STORY, STUCK, TITLE, drafted, items, look, received, there
from tests.browser.runs import ADMIN, MANAGER, OPERATOR
from tests.browser.walking import look_at_dialog
from tests.conformance.process.http.world import World

expect = pytest.importorskip("playwright.sync_api").expect
pytestmark = pytest.mark.xdist_group("browser")

_numbers = itertools.count(1)
TASK = {"id": "count", "name": "재고 세기", "type": "humanTask"}


@pytest.fixture(scope="module")
def world(chromium: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """A server whose agents are the test's own."""
    made = World(tmp_path_factory.mktemp("world"), None).start()
    yield made
    made.close()


def _confirm(page: Any, name: str) -> None:
    page.get_by_role("dialog").get_by_role("button", name=name, exact=True).click()


def _node(page: Any, id: str) -> Any:
    return page.locator(f".bpmn [data-node='{id}']")


def test_a_bpmn_file_is_started_worked_on_approved_and_undone_in_reverse(server: Server, window: Open) -> None:
    """P-2.1.2, P-3.1.1, P-4.1.5, P-4.2.2, P-5.2.2, P-X.14, P-X.32: the file is uploaded and started in the browser, a
    person submits, an agent drafts, a manager approves with an edit, the last step fails and is undone in reverse."""
    page = window(ADMIN)
    page.goto("/definitions")
    page.get_by_role("link", name="새 정의").click()
    own = FILE.read_bytes().replace(STORY.encode(), b"uploaded_story")  # no other story has put it in force
    page.locator("input[type=file]").set_input_files({"name": FILE.name, "mimeType": "text/xml", "buffer": own})
    expect(page.locator(".findings")).to_contain_text("언제나 끝나요")
    expect(_node(page, "classify")).to_have_count(1)
    page.get_by_role("button", name="내기").click()
    expect(page.get_by_role("heading", level=1)).to_contain_text(TITLE)
    expect(page.get_by_role("button", name="시작", exact=True)).to_have_count(0)  # to submit is not to activate
    made = "/definitions/uploaded_story/versions/1"
    assert server.client(MANAGER).post(f"{made}/approve").status_code == 200
    assert server.client(ADMIN).post(f"{made}/activate").status_code == 200
    page.reload()
    page.get_by_role("button", name="시작", exact=True).click()
    _confirm(page, "시작")
    expect(_node(page, "receive")).to_have_attribute("data-state", "TODO")
    expect(page.locator(".bpmn .net-token")).to_have_count(1)
    run = page.url.rsplit("/", 1)[1]
    worker = window(OPERATOR)
    worker.goto(f"/inbox/{run}/receive")
    worker.get_by_role("button", name="시작하기").click()
    expect(_node(page, "receive")).to_have_attribute("data-state", "IN_PROGRESS")
    worker.locator("[data-field=document] input").fill("11월 등록서")
    worker.locator("button.yes").click()
    expect(worker.locator("[data-field=rows]")).to_contain_text("꼭 필요해요")
    worker.locator("[data-field=rows] input").fill("120")
    worker.locator("button.yes").click()
    _confirm(worker, "내기")
    expect(worker.locator(".toast")).to_have_text("냈어요")
    expect(_node(page, "classify")).to_have_attribute("data-state", "SUBMITTED")
    expect(_node(page, "verify")).to_have_attribute("data-state", "DONE")
    boss = window(MANAGER)
    boss.goto("/inbox")
    boss.locator(f"a.inbox-item[href='/inbox/{run}/classify']").click()
    expect(boss.get_by_role("heading", level=1)).to_have_text("데이터 분류")
    category = boss.locator("[data-field=category]")
    expect(category.locator("input")).to_have_value("핵심")
    category.locator("input").fill("우선")
    expect(category).to_contain_text("고침")
    boss.locator(".transcript summary").click()
    expect(boss.locator(".transcript")).to_contain_text("핵심")
    boss.locator("button.yes").click()
    expect(boss.get_by_role("dialog")).to_contain_text("고친 1곳")
    _confirm(boss, "승인")
    expect(page.get_by_role("heading", level=1).locator(".badge")).to_have_text("종료됨")
    steps = page.locator(".undo-step")
    expect(steps).to_have_count(3)
    expect(steps.nth(0)).to_contain_text("데이터 수치 검증")
    expect(steps.nth(1)).to_contain_text("데이터 등록서 접수")
    expect(steps.nth(2)).to_have_attribute("data-status", "SKIPPED")
    expect(_node(page, "receive")).to_have_attribute("data-state", "COMPENSATED")
    ended = look(server, run)
    assert (ended["status"], ended["compensation_status"]) == ("TERMINATED", "COMPLETE")
    assert ended["variables"]["category"] == "우선"


def test_time_travel_moves_the_tokens_on_the_bpmn(server: Server, window: Open) -> None:
    """The drawing is the same at every fact; the token lies where it lay then, and the net is one press away."""
    run = drafted(server)
    page = window(MANAGER)
    page.goto(f"/runs/{run}")
    expect(_node(page, "classify")).to_have_attribute("data-state", "SUBMITTED")
    facts = [one for one in _facts(server, run) if one["fact"] == "work.opened"]
    page.goto(f"/runs/{run}?at={facts[0]['seq']}")
    expect(_node(page, "receive")).to_have_attribute("data-state", "TODO")
    expect(_node(page, "classify")).not_to_have_attribute("data-state", re.compile(".*"))
    page.get_by_role("button", name="그물").click()
    expect(page.locator(".net-node [data-node='classify']")).to_be_visible()
    expect(page.locator(".bpmn")).to_have_count(0)


def _facts(server: Server, run: str) -> list[dict[str, Any]]:
    client = server.client(ADMIN)
    found: list[dict[str, Any]] = client.get(f"/runs/{run}/facts?limit=200").json()["items"]
    client.close()
    return found


def test_a_draft_that_is_sent_back_comes_again_with_the_reason(server: Server, window: Open) -> None:
    """P-X.14, P-A.9: without a comment nothing is sent; with one the draft is REWORK, then TODO, and it is readable."""
    run = drafted(server)
    page = window(MANAGER)
    page.goto(f"/inbox/{run}/classify")
    expect(page.locator("button.no")).to_be_enabled()
    page.keyboard.press("r")
    dialog = page.get_by_role("dialog")
    _confirm(page, "반려")
    expect(dialog.get_by_role("alert")).to_be_visible()
    look_at_dialog(page)
    dialog.get_by_role("textbox").fill("핵심이 아니에요")
    _confirm(page, "반려")
    expect(page.locator(".toast")).to_have_text("반려했어요")
    until(lambda: items(server, run), lambda one: one["classify"] == "SUBMITTED")
    page.goto(f"/inbox/{run}/classify")
    expect(page.locator(".work-history")).to_contain_text("핵심이 아니에요")
    expect(page.locator(".work-history")).to_contain_text("재작업")


def test_who_was_late_keeps_what_they_typed(server: Server, window: Open, watch: Watch) -> None:
    """P-X.12: two have the same item open; the second is told that it changed, and the text stays."""
    watch.excuse("409")
    run = received(server)
    first, second = window(OPERATOR), window(MANAGER)
    for page in (first, second):
        page.goto(f"/inbox/{run}/receive")
        page.locator("[data-field=document] input").fill("내가 적은 등록서")
        page.locator("[data-field=rows] input").fill("7")
    second.locator("button.yes").click()
    expect(second.get_by_role("dialog")).to_be_visible()
    first.locator("button.yes").click()
    _confirm(first, "내기")
    expect(first.locator(".toast")).to_have_text("냈어요")
    _confirm(second, "내기")
    expect(second.locator(".notice").first).to_contain_text("적은 내용은 그대로")
    expect(second.locator("[data-field=document] input")).to_have_value("내가 적은 등록서")


def test_a_person_takes_over_from_an_agent_that_works(world: World, window: Open) -> None:
    """P-X.40: the agent is stopped, the mode is MANUAL, and the person who took it over submits it."""
    world.agent("slow", "waits")
    task = {"id": "count", "name": "재고 세기", "type": "serviceTask", "agent_mode": "AUTONOMOUS", "agent": "slow"}
    case = world.begun({"process_definition_name": "재고", "activities": [task], "transitions": []})
    case.until(count="IN_PROGRESS")
    page = window(OPERATOR, of=world.server)
    page.goto(f"/inbox/{case.id}/count?tab=team")
    expect(page.locator(".notice")).to_contain_text("에이전트가 일하고 있어요")
    page.get_by_role("button", name="내가 이어받기").click()
    _confirm(page, "내가 이어받기")
    expect(page.locator(".toast")).to_contain_text("이어받았어요")
    page.get_by_label("결과 (JSON)", exact=False).fill('{"counted": 12}')
    page.locator("button.yes").click()
    _confirm(page, "내기")
    expect(page.locator(".toast")).to_have_text("냈어요")
    item = case.until(status="COMPLETED")["workitems"][0]
    assert (item["agent_mode"], item["assignee"], item["result"]) == ("MANUAL", OPERATOR, {"counted": 12})


def test_who_does_it_is_changed_before_it_begins(world: World, window: Open) -> None:
    """P-X.40: a person's work is given to an agent while it is TODO."""
    world.echo("quick", result={"done": True})
    task = {"id": "count", "name": "재고 세기", "type": "humanTask", "agent": "quick"}
    case = world.begun({"process_definition_name": "재고", "activities": [task], "transitions": []})
    case.until(count="TODO")
    page = window(OPERATOR, of=world.server)
    page.goto(f"/inbox/{case.id}/count")
    page.get_by_role("button", name="누가 할지 바꾸기").click()
    look_at_dialog(page)
    _confirm(page, "AI가 하고 사람이 확인")
    assert case.until(count="SUBMITTED")["workitems"][0]["draft"] == {"done": True}


def test_a_broken_file_is_told_where_it_is_wrong(server: Server, window: Open) -> None:
    """P-X.25: findings stand at their lines, the last good picture stays grey, and it cannot be handed in."""
    page = window(ADMIN)
    page.goto("/definitions?new=")
    text = FILE.read_text(encoding="utf-8")
    paper = page.locator(".writing textarea")
    paper.fill(text)
    expect(_node(page, "classify")).to_have_count(1)
    broken = text.replace('targetRef="verify"', 'targetRef="nobody"')
    paper.fill(broken)
    line = next(n for n, one in enumerate(broken.splitlines(), 1) if 'targetRef="nobody"' in one)
    finding = page.locator(".finding").filter(has_text="nobody").first
    expect(finding).to_contain_text(f"{line}번째 줄")
    expect(page.locator(".writing-bad", has_text=str(line)).first).to_be_visible()
    expect(page.locator(".def-old")).to_be_visible()
    expect(page.get_by_role("button", name="내기")).to_be_disabled()
    finding.click()
    page.wait_for_function(
        "(() => { const a = document.activeElement; return a.value?.slice(a.selectionStart, a.selectionEnd) })()"
        ".includes('nobody')"
    )
    page.reload()
    expect(paper).to_have_value(broken)


def test_a_way_that_cannot_end_is_played_with_tokens(server: Server, window: Open) -> None:
    """KERNEL 8: the verdict names the join, and its way is shown step by step on the drawing."""
    page = window(ADMIN, tongue="en")
    page.goto("/definitions?new=")
    page.locator(".writing textarea").fill(json.dumps(STUCK, ensure_ascii=False, indent=1))
    expect(page.locator(".findings")).to_contain_text("A run may never end")
    expect(page.locator(".way")).to_contain_text("함께")
    page.get_by_role("button", name="Show with tokens").click()
    expect(page.locator(".def-way")).to_contain_text("Step 4 of 4")
    expect(page.locator(".bpmn-on-way[data-edge='f3'], .bpmn-on-way[data-edge='f4']")).to_have_count(1)
    page.get_by_role("button", name="Previous step").click()
    expect(page.locator(".def-way")).to_contain_text("Step 3 of 4")


def test_plain_words_become_a_process_that_somebody_accepts(server: Server, window: Open) -> None:
    """P-X.2: what was read is shown as a difference, and only what is accepted is written."""
    page = window(ADMIN)
    page.goto("/definitions?new=&tab=plain")
    page.get_by_label("어떻게 일하나요?", exact=False).fill(PLAIN)
    page.get_by_role("button", name="읽어 보기").click()
    expect(page.locator(".def-proposal")).to_contain_text("확신")
    expect(page.locator(".def-proposal [data-change=added]").first).to_be_visible()
    page.get_by_role("button", name="받아들이기").click()
    expect(page.locator(".findings")).to_contain_text("언제나 끝나요")
    expect(page.locator(".writing textarea")).to_have_value(re.compile("등록서를 접수"))


def test_a_new_version_shows_what_it_changes_before_and_after(server: Server, window: Open) -> None:
    """P-X.8: the difference is shown before it is handed in and between versions; `g d` leads to the list."""
    there(server)
    page = window(ADMIN)
    page.goto("/definitions/data_registration_story")
    page.get_by_role("link", name="새 버전").click()
    paper = page.locator(".writing textarea")
    expect(paper).not_to_have_value("")
    paper.fill(paper.input_value().replace("이슈 처리", "이슈 처리와 회신"))
    page.get_by_role("button", name="바뀐 것").click()
    expect(page.locator(".code-new").first).to_contain_text("이슈 처리와 회신")
    expect(page.get_by_role("button", name="내기")).to_be_enabled()
    page.get_by_role("button", name="내기").click()
    expect(page.locator(".toast")).to_contain_text("냈어요")
    page.get_by_role("button", name="바뀐 것").click()
    expect(page.locator(".code-gone").first).to_be_visible()
    page.keyboard.press("g")
    page.keyboard.press("d")
    row = page.locator("tr", has=page.locator("a[href='/definitions/data_registration_story']"))
    expect(row).to_contain_text(TITLE)
    expect(row).to_contain_text("운영 중")
    versions = server.client(ADMIN).get("/definitions/data_registration_story/versions").json()["items"]
    assert [row["status"] for row in versions][:2] == ["pending_approval", "active"], "to submit is not to activate"


def test_work_is_given_to_somebody_else(world: World, window: Open) -> None:
    """P-X.13: what the operator passes on is the manager's, with what was said."""
    case = world.begun({"process_definition_name": "재고", "activities": [TASK], "transitions": []})
    page = window(OPERATOR, of=world.server)
    page.goto(f"/inbox/{case.id}/count")
    page.get_by_role("button", name="맡기기").click()
    page.get_by_role("dialog").locator("label", has_text="김품질").first.click()
    page.get_by_role("dialog").get_by_role("textbox").last.fill("부탁해요")
    _confirm(page, "맡기기")
    expect(page.locator(".toast")).to_have_text("맡겼어요")
    assert until(lambda: case.item("count"), lambda one: one["assignee"])["assignee"] == MANAGER


def test_what_is_opened_stays_open_when_the_language_is_known(server: Server, window: Open) -> None:
    """W-9.3.2: nothing is offered before the page knows which language it shows, and then nothing is closed again."""
    id = f"wf_shelf_{next(_numbers)}"
    node = {"id": "log", "type": "ACTION", "channel": {"type": "slack"}, "message": "hello"}
    document = {"id": id, "name": "선반의 문서", "version": 1, "edges": [], "nodes": [node]}
    client = server.client(ADMIN)
    assert client.post("/definitions", json={"document": document}).status_code == 201
    client.close()
    page, held = window(MANAGER), {}
    page.route("**/api/v1/definitions/inspect", lambda route: held.update(inspect=route))
    page.route("**/api/v1/definitions?limit=200", lambda route: held.update(list=route))
    page.goto(f"/definitions/{id}")
    approve = page.get_by_role("button", name="승인", exact=True)
    while len(held) < 2:
        page.wait_for_timeout(20)
    expect(page.locator(".skeletons").first).to_be_attached()
    expect(approve).to_have_count(0)
    held["list"].continue_()
    approve.click()
    held["inspect"].continue_()
    expect(page.locator(".findings")).to_contain_text("언제나 끝나요")
    _confirm(page, "승인")
    expect(page.get_by_role("heading", level=1)).to_contain_text("승인됨")


def test_a_version_is_approved_and_put_in_force(server: Server, window: Open) -> None:
    """W-9.3.2: who may approves, who may puts it in force and types its number; nobody else is offered it."""
    id = f"wf_shelf_{next(_numbers)}"
    document = {
        "id": id, "name": "선반의 문서", "version": 1, "edges": [],
        "nodes": [{"id": "log", "type": "ACTION", "channel": {"type": "slack"}, "message": "hello"}],
    }  # fmt: skip
    client = server.client(ADMIN)
    assert client.post("/definitions", json={"document": document}).status_code == 201
    client.close()
    page = window(MANAGER)
    page.goto(f"/definitions/{id}")
    expect(page.get_by_role("heading", level=1)).to_contain_text("승인 대기")
    page.get_by_role("button", name="승인", exact=True).click()
    _confirm(page, "승인")
    expect(page.get_by_role("heading", level=1)).to_contain_text("승인됨")
    expect(page.get_by_role("button", name="운영 시작")).to_have_count(0)
    page = window(ADMIN)
    page.goto(f"/definitions/{id}/versions/1")
    page.get_by_role("button", name="운영 시작").click()
    look_at_dialog(page)
    _confirm(page, "운영 시작")
    expect(page.get_by_role("dialog").get_by_role("alert")).to_be_visible()
    page.get_by_role("dialog").get_by_role("textbox").fill("1")
    _confirm(page, "운영 시작")
    expect(page.get_by_role("heading", level=1)).to_contain_text("운영 중")
