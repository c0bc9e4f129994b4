"""Definitions in the browser: what an element says, who must decide about a model, how it is started and exported."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pytest

from tests.api.serving import Server, until
from tests.browser.conftest import Open
from tests.browser.processes import FILE, STORY, STUCK, TITLE, drafted, items, mined, received, undone
from tests.browser.runs import ADMIN, MANAGER, OPERATOR
from tests.browser.walking import look_at_dialog
from tests.conformance.process.http.world import World

expect = pytest.importorskip("playwright.sync_api").expect
pytestmark = pytest.mark.xdist_group("browser")

RICH: dict[str, Any] = {
    "process_definition_name": "환불 심사",
    "description": "환불을 받고 심사한다.",
    "roles": [{"id": "quality_manager", "name": "창구", "assignment_rule": "round_robin"}],
    "activities": [
        {
            "id": "take", "name": "환불 접수", "type": "humanTask", "role": "quality_manager",
            "instruction": "영수증을 확인하세요", "due": "PT2H", "escalate_to": ["role:manager"],
            "compensation": {"tool": "drop_refund", "timeout": 30},
            "form": {
                "type": "object", "required": ["amount"],
                "properties": {
                    "amount": {"type": "number", "title": "금액", "x-unit": "원"}, "note": {"type": "string"},
                },
            },
        },
        {
            "id": "judge", "name": "환불 심사", "type": "serviceTask", "agent_mode": "SUPERVISED", "agent": "judge",
            "orchestration": {"tools": ["ledger", "mail"], "timeout_s": 60, "tokens": 4000},
        },
        {"id": "pay", "name": "환불", "type": "humanTask"},
        {"id": "deny", "name": "거절", "type": "humanTask"},
    ],
    "gateways": [
        {
            "id": "fits", "name": "맞는가?", "type": "exclusiveGateway", "conditions": {"yes": "ok == true"},
            "default": "no",
        }
    ],
    "transitions": [
        {"id": "t1", "source": "take", "target": "judge"}, {"id": "t2", "source": "judge", "target": "fits"},
        {"id": "yes", "source": "fits", "target": "pay"}, {"id": "no", "source": "fits", "target": "deny"},
    ],
}  # fmt: skip


@pytest.fixture(scope="module")
def world(chromium: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    made = World(tmp_path_factory.mktemp("world"), None).start()
    made.echo("judge", result={"ok": True})
    made.tool("drop_refund")
    yield made
    made.close()


def _confirm(page: Any, name: str) -> None:
    page.get_by_role("dialog").get_by_role("button", name=name, exact=True).click()


def test_an_element_says_who_does_it_how_and_where_it_leads(world: World, window: Open) -> None:
    """P-2.2.5, P-2.2.6, P-2.2.7, P-X.9, P-X.13, P-X.18: role, mode, form, tools, undo, due and conditions of an element
    stand beside the drawing; a way leads to the next one."""
    id = world.defined(RICH)
    page = window(ADMIN, of=world.server)
    page.goto(f"/definitions/{id}")
    page.locator(".bpmn [data-node='take']").click()
    beside = page.get_by_role("complementary", name="환불 접수 자세히")
    for said in ("사람이 직접", "창구", "돌아가며 맡아요", "영수증을 확인하세요", "2시간", "금액", "drop_refund"):
        expect(beside).to_contain_text(said)
    beside.get_by_role("button", name="환불 심사").click()
    beside = page.get_by_role("complementary", name="환불 심사 자세히")
    for said in ("AI가 하고 사람이 확인", "ledger", "mail", "1분", "토큰 4,000", "되돌리는 방법이 없어요"):
        expect(beside).to_contain_text(said)
    beside.get_by_role("button", name="맞는가?").click()
    ways = page.get_by_role("complementary", name="맞는가? 자세히").locator(".inspect-ways").last
    expect(ways.locator("li", has_text="환불")).to_contain_text("ok == true")
    expect(ways.locator("li", has_text="거절")).to_contain_text("그 밖에는")
    expect(page).to_have_url(re.compile("node=fits"))


def test_a_file_is_inspected_while_it_is_written(server: Server, window: Open) -> None:
    """P-2.1.2: an element of BPMN that nobody has saved says the same, with the conditions of its ways."""
    page = window(ADMIN)
    page.goto("/definitions?new=")
    page.locator(".writing textarea").fill(FILE.read_text(encoding="utf-8"))
    page.locator(".bpmn [data-node='receive']").click()
    beside = page.get_by_role("complementary", name="데이터 등록서 접수 자세히")
    expect(beside).to_contain_text("자료 수")
    expect(beside).to_contain_text("delete_record")
    expect(beside.locator(".inspect-now")).to_have_count(0)
    page.locator(".bpmn [data-node='has_issue_gw']").click()
    expect(page.locator(".inspect-ways code").first).to_contain_text("has_issue")


def test_an_element_is_read_with_the_keyboard_and_in_the_list(world: World, window: Open) -> None:
    """The list goes as the work goes; Enter chooses, `i` leads into what is said, Esc back to the element."""
    id = world.defined(RICH)
    page = window(ADMIN, of=world.server, tongue="en")
    page.goto(f"/definitions/{id}?view=list")
    steps = page.locator(".net-step")
    expect(steps.nth(1)).to_contain_text("환불 접수")
    expect(steps.nth(3)).to_contain_text("맞는가?")
    steps.nth(1).focus()
    page.keyboard.press("Enter")
    beside = page.get_by_role("complementary", name="환불 접수 in detail")
    expect(beside).to_contain_text("everybody in turn")
    page.keyboard.press("i")
    expect(beside).to_be_focused()
    page.keyboard.press("Escape")
    expect(beside).to_have_count(0)
    expect(steps.nth(1)).to_be_focused()


def test_a_phone_shows_an_element_as_a_sheet(server: Server, window: Open) -> None:
    """The same on a phone, with what waits there now."""
    received(server)
    page = window(OPERATOR, phone=True)
    page.goto(f"/definitions/{STORY}")
    page.locator(".net-step", has_text="데이터 등록서 접수").click()
    sheet = page.get_by_role("dialog", name="데이터 등록서 접수 자세히")
    expect(sheet).to_contain_text("delete_record")
    expect(sheet.locator(".inspect-items")).to_contain_text("할 일")
    look_at_dialog(page)
    sheet.get_by_role("button", name="닫기").click()
    expect(sheet).to_have_count(0)


def test_what_waits_at_each_element_is_counted_on_the_drawing(world: World, window: Open) -> None:
    """P-X.28: open work items lie on the definition's drawing as they come and go, and lead to the inbox."""
    id = world.defined(RICH)
    first = world.begun(id)
    page = window(ADMIN, of=world.server)
    page.goto(f"/definitions/{id}?node=take")
    count = page.locator(".bpmn-mark", has=page.locator("[data-node='take']")).locator(".net-count")
    expect(count).to_have_text("1")
    world.begun(id)
    expect(count).to_have_text("2")
    first.submits("take", {"amount": 3})
    expect(count).to_have_text("1")
    expect(page.locator(".bpmn [data-node='judge']")).to_have_accessible_name(re.compile("1건"))
    page.locator(".inspect-items a").first.click()
    expect(page.get_by_role("heading", level=1)).to_have_text("환불 접수")


def test_a_mined_model_says_where_it_comes_from_and_what_it_changes(server: Server, window: Open) -> None:
    """P-7.5.1, P-7.5.5, P-X.23: who handed it in, its log and fitness and the difference from what is in force are
    shown; an analyst approves it with a comment and makes it a version of that one, too."""
    id = mined(server, "approved")
    page = window(ADMIN)
    page.goto("/definitions")
    page.locator(".defs-waiting a", has_text=id).click()
    asked = page.locator(".def-pending")
    for said in ("관리자 님이 냈어요", "approved", "inductive", "91%", "1,204", f"{TITLE}와 다른 것"):
        expect(asked).to_contain_text(said)
    expect(asked.locator("[data-change=changed]")).to_contain_text("데이터 자동 분류")
    expect(page.get_by_role("button", name="시작", exact=True)).to_have_count(0)
    page.get_by_role("button", name="승인", exact=True).click()
    look_at_dialog(page)
    dialog = page.get_by_role("dialog")
    dialog.get_by_role("checkbox").check()
    dialog.get_by_role("textbox").fill("로그와 맞아요")
    _confirm(page, "승인")
    expect(page.get_by_role("heading", level=1)).to_contain_text("운영 중")
    page.goto(f"/definitions/{STORY}")
    expect(page.locator(".def-activities")).to_contain_text("데이터 자동 분류")


def test_a_mined_model_is_sent_back_with_a_reason(server: Server, window: Open) -> None:
    """P-X.43: without a comment nothing is sent; with one it is kept, and says why. Who may not decide is not asked."""
    id = mined(server, "rejected")
    page = window(MANAGER)
    page.goto(f"/definitions/{id}")
    expect(page.locator(".def-pending")).to_be_visible()
    expect(page.get_by_role("button", name="승인", exact=True)).to_have_count(0)
    page = window(ADMIN)
    page.goto(f"/definitions/{id}")
    page.get_by_role("button", name="돌려보내기").click()
    _confirm(page, "돌려보내기")
    expect(page.get_by_role("dialog").get_by_role("alert")).to_be_visible()
    page.get_by_role("dialog").get_by_role("textbox").fill("사례가 모자라요")
    _confirm(page, "돌려보내기")
    expect(page.locator(".def-head")).to_contain_text("사례가 모자라요")


def test_any_two_versions_are_compared(world: World, window: Open) -> None:
    """P-X.8: what differs is said by element, against whichever version is chosen."""
    id = world.defined(RICH)
    for name in ("환불 지급", "환불 송금"):
        tasks = [{**one, "name": name} if one["id"] == "pay" else one for one in RICH["activities"]]
        body = {**RICH, "activities": tasks, "process_definition_id": id}
        assert world.admin.put(f"/processes/definitions/{id}", json=body).status_code == 200
    page = window(ADMIN, of=world.server)
    page.goto(f"/definitions/{id}?tab=diff")
    changed = page.locator(".def-differences [data-change=changed]")
    expect(changed.locator("del")).to_have_text("환불 지급")
    page.get_by_label("견줄 버전").select_option("1")
    expect(changed.locator("del")).to_have_text("환불")
    expect(changed.locator("ins")).to_have_text("환불 송금")


def test_who_does_what_is_chosen_at_the_start(world: World, window: Open) -> None:
    """P-X.40: an activity is given to a person for this instance only."""
    id = world.defined(RICH)
    page = window(ADMIN, of=world.server)
    page.goto(f"/definitions/{id}")
    page.get_by_role("button", name="시작", exact=True).click()
    dialog = page.get_by_role("dialog")
    dialog.locator("summary").click()
    dialog.get_by_label("환불 심사").select_option("MANUAL")
    look_at_dialog(page)
    _confirm(page, "시작")
    expect(page).to_have_url(re.compile("/runs/"))
    run = page.url.rsplit("/", 1)[1]
    receipt = until(lambda: _look(world, run), lambda one: one["workitems"])["workitems"][0]
    world.manager.post(f"/processes/workitems/{receipt['id']}:submit", json={"result_data": {"amount": 3}})
    found = until(lambda: _look(world, run), lambda one: len(one["workitems"]) == 2)
    assert found["workitems"][1]["agent_mode"] == "MANUAL"


def _look(world: World, run: str) -> dict[str, Any]:
    found: dict[str, Any] = world.admin.get(f"/processes/instances/{run}").json()
    return found


def test_what_happened_and_the_drawing_are_downloaded(server: Server, window: Open) -> None:
    """P-7.5.4: the event log of a definition comes as XES, with who did what; the drawing as BPMN."""
    undone(server)
    page = window(ADMIN)
    page.goto(f"/definitions/{STORY}")
    got = {}
    for name in ("그림 (BPMN)", "일어난 일 (XES)", "일어난 일 (JSON)"):
        page.get_by_role("button", name="내려받기").click()
        with page.expect_download() as taken:
            page.get_by_role("dialog").get_by_role("link", name=name).click()
        got[taken.value.suggested_filename] = taken.value.path().read_text(encoding="utf-8")
    assert any(text.lstrip().startswith("<?xml") and "bpmn" in text.lower() for text in got.values())
    assert any("<log" in text and "agent_mode" in text for text in got.values())


def test_containers_lead_to_what_they_hold(server: Server, window: Open) -> None:
    """P-2.1.1, P-X.4: a mega process is a map of its major ones, and cannot be started."""
    with closing(server.client(ADMIN)) as admin:
        for id, type_, above in (("all_of_it", "mega", ""), ("half_of_it", "major", "all_of_it")):
            body = {
                "process_definition_id": id,
                "process_definition_name": f"묶음 {id}",
                "type": type_,
                "parent_id": above,
            }
            assert admin.post("/processes/definitions", json=body).status_code in (200, 201)
    page = window(ADMIN)
    page.goto("/definitions/all_of_it")
    expect(page.locator(".def-overview")).to_contain_text("메가 프로세스")
    expect(page.get_by_role("button", name="시작", exact=True)).to_have_count(0)
    page.locator(".def-map a").click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("묶음 half_of_it")
    expect(page.locator(".def-overview").get_by_role("link", name="all_of_it")).to_be_visible()


def test_what_a_failed_agent_did_can_be_read(server: Server, window: Open) -> None:
    """P-X.16: beside what was undone stands the record of the agent that failed, and in its work item."""
    run = undone(server)
    page = window(MANAGER)
    page.goto(f"/runs/{run}")
    record = page.locator(".undoing .record")
    record.locator("summary").click()
    expect(record.locator(".said-assistant")).to_contain_text("연결된 시스템이 응답하지 않습니다")
    page.goto(f"/runs/{run}?node=register&tab=work")
    expect(page.locator(".work-list .said-assistant")).to_contain_text("연결된 시스템이 응답하지 않습니다")
    page.goto(f"/runs/{run}?node=verify&tab=work")
    page.locator(".work-list .record summary").click()
    expect(page.locator(".work-list .work-history")).to_contain_text("보상됨")


def test_a_phone_changes_who_does_it(world: World, window: Open) -> None:
    """P-X.40: the menu of an item has it where there is no room for a button."""
    world.echo("quick", result={"done": True})
    task = {"id": "count", "name": "재고 세기", "type": "humanTask", "agent": "quick"}
    case = world.begun({"process_definition_name": "재고", "activities": [task], "transitions": []})
    case.until(count="TODO")
    page = window(OPERATOR, of=world.server, phone=True)
    page.goto(f"/inbox/{case.id}/count")
    page.locator(".item-menu").click()
    page.get_by_role("dialog").get_by_role("button", name="누가 할지 바꾸기").click()
    look_at_dialog(page)
    _confirm(page, "AI가 하고 사람이 확인")
    assert case.until(count="SUBMITTED")["workitems"][0]["draft"] == {"done": True}


def test_who_may_work_is_led_to_the_item(server: Server, window: Open) -> None:
    """P-X.28: an operator, who decides nothing else, opens the work that holds an instance, and no draft."""
    run = received(server)
    page = window(OPERATOR)
    page.goto(f"/runs/{run}")
    page.locator(".why").get_by_role("link", name="답하기 열기").click()
    expect(page).to_have_url(re.compile(f"/inbox/{run}/receive"))
    run = drafted(server)
    page.goto(f"/runs/{run}")
    expect(page.locator(".why")).to_contain_text("승인")
    expect(page.locator(".why").get_by_role("link")).to_have_count(0)
    boss = window(MANAGER)
    boss.goto(f"/runs/{run}")
    boss.locator(".why").get_by_role("link", name="승인 열기").click()
    expect(boss.get_by_role("heading", level=1)).to_have_text("데이터 분류")
    assert items(server, run)["classify"] == "SUBMITTED"


def test_a_proposal_is_drawn_before_it_is_accepted(server: Server, window: Open) -> None:
    """P-X.2, P-X.22: what a text was read as is drawn and checked, each element with the words it came from; it is
    saved only when somebody accepts it and hands it in."""
    page = window(ADMIN)
    page.goto("/definitions?new=&tab=plain")
    said = "# 반품 절차\n1. 담당자: 반품을 접수한다\n2. 검토자: 물건을 검사한다\n"
    page.get_by_label("어떻게 일하나요?", exact=False).fill(said)
    page.get_by_role("button", name="읽어 보기").click()
    made = page.locator(".def-proposal")
    expect(made.locator("[data-change=added]").first).to_contain_text("반품")
    expect(made.locator(".def-evidence")).to_contain_text("물건을 검사한다")
    expect(page.locator(".bpmn [data-node]").first).to_be_attached()
    expect(page.locator(".findings")).to_contain_text("언제나 끝나요")
    expect(page.get_by_role("button", name="내기", exact=True)).to_be_disabled()
    page.get_by_role("button", name="받아들이기").click()
    expect(page.locator(".writing textarea")).to_have_value(re.compile("물건을 검사한다"))
    page.get_by_role("button", name="내기", exact=True).click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("반품 절차")


def test_each_step_of_a_way_that_cannot_end_is_gone_to(server: Server, window: Open) -> None:
    """KERNEL 8: where it stops is said in the reader's tongue, and a step of the way moves the token there."""
    page = window(ADMIN)
    page.goto("/definitions?new=")
    page.locator(".writing textarea").fill(json.dumps(STUCK, ensure_ascii=False, indent=1))
    way = page.locator(".way")
    expect(way).to_contain_text("함께에서 다른 길이 오기를 기다리며 멈춰요")
    way.get_by_role("button", name="충분한가?").click()
    expect(page.locator(".bpmn-on-way")).to_have_attribute("data-edge", re.compile("f[12]"))
    expect(way.locator("[aria-current=step]")).to_have_text("충분한가?")
