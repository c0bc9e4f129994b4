"""Drawings that cannot run yet: brought as a file, finished beside their picture, released, and run."""

from __future__ import annotations

import re
from contextlib import closing
from typing import Any

import pytest

from tests.api.serving import Server, until
from tests.browser.conftest import Open, Watch
from tests.browser.drafts import FILE, TITLE, brought, draft_of, invoice, number_of, purchase, stuck
from tests.browser.processes import look
from tests.browser.runs import ADMIN, MANAGER, OPERATOR
from tests.browser.walking import AXE, EYE, look_at_dialog

expect = pytest.importorskip("playwright.sync_api").expect
AUTHOR = "author@example.com"
pytestmark = pytest.mark.xdist_group("browser")


def _bring(page: Any, text: str | bytes) -> None:
    page.goto("/definitions")
    given = text.encode() if isinstance(text, str) else text
    page.locator("input[data-import]").set_input_files({"name": FILE.name, "mimeType": "text/xml", "buffer": given})
    page.wait_for_url(re.compile(r"/definitions/[\w-]+/v/1"))
    expect(page.get_by_role("heading", level=1)).to_contain_text("초안")


def _open(page: Any, draft: dict[str, Any], query: str = "") -> None:
    page.goto(f"/definitions/{draft['definitions'][0]['id']}/v/1{query}")
    expect(page.get_by_role("heading", level=1)).to_contain_text("초안")


def _card(page: Any, no: int) -> Any:
    return page.locator(f"#todo-{no}")


def _badge(page: Any, no: int) -> Any:
    return page.locator(f".draft-drawing [data-todo='{no}']")


def _said(page: Any, text: str) -> None:
    expect(page.locator(".toast")).to_contain_text(text)


def test_a_file_becomes_a_draft_is_finished_beside_its_picture_and_runs(server: Server, window: Open) -> None:
    """P-X.25: a drawing of two pools without conditions and times is brought, its to-dos are answered by proposals and
    by hand, both definitions are released at once, and somebody who did the step before chooses the way."""
    page = window(ADMIN)
    _bring(page, purchase("told"))
    expect(page.get_by_role("heading", level=1)).to_contain_text(TITLE)
    expect(page.locator(".draft-about")).to_contain_text("잃은 요소 0")
    expect(page.locator(".draft-about")).to_contain_text("풀 2 · 단계 10 · 흐름 16 · 메시지 2")
    expect(page.locator(".draft-why")).to_contain_text("2개는 제안을 받으면 끝나고, 타이머 ‘늦으면’은 값을 적")
    release = page.get_by_role("button", name="릴리스하기")
    expect(release).to_be_disabled()
    expect(page.locator(".todos-foot")).to_contain_text("할 일이 3개 남아 릴리스할 수 없어요. 끝나면 v1이 돼요.")
    expect(page.locator(".draft-choice")).to_have_text(["반려", "승인"])
    expect(page.locator(".draft-new")).to_contain_text("두 번째 정의가 돼요")
    _one_to_do(page)
    page.get_by_role("button", name="제안 2개 모두 받기").click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("그래도 1개는 직접 답해야 해요")
    expect(dialog.locator(".accept-rest")).to_contain_text("타이머 ‘늦으면’에 값이 없어요")
    look_at_dialog(page)
    dialog.get_by_role("button", name="모두 받기").click()
    _said(page, "제안 2개를 받았어요")
    expect(page.locator(".todos-done")).to_contain_text("제안 2 · 직접 0")
    card = _card(page, 2)
    card.get_by_label("얼마나").fill("3")
    card.get_by_label("단위").select_option("일")
    card.get_by_role("button", name="저장").click()
    expect(page.locator(".todos-done")).to_contain_text("값: 3일 뒤")
    expect(page.locator(".draft-sound")).to_contain_text("건전해요")
    release.click()
    expect(dialog).to_contain_text("정의 2개를 한 번에 릴리스해요")
    look_at_dialog(page)
    dialog.get_by_role("button", name="릴리스하기").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("정의 2개를 릴리스했어요")
    page.get_by_role("link", name=f"{TITLE} 열기").click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("운영 중")
    _runs_to_its_decision(server, page, window)


def test_the_selected_mark_is_seen_where_its_place_is_no_element(server: Server, window: Open) -> None:
    """P-X.25: a lane and a pool have no frame of their own: the number of the to-do that is selected has one."""
    page = window(ADMIN)
    _open(page, brought(server, purchase("selected", lanes=True)), "?todo=2")
    expect(_badge(page, 2)).to_have_attribute("aria-pressed", "true")
    plain, framed = (_badge(page, no).evaluate("one => getComputedStyle(one).boxShadow") for no in (1, 2))
    assert framed.count("px 0px") > plain.count("px 0px"), framed


def _one_to_do(page: Any) -> None:
    """A mark and its card are selected together; what is accepted can be undone."""
    _badge(page, 1).click()
    expect(page).to_have_url(re.compile(r"todo=1"))
    card = _card(page, 1)
    expect(card).to_contain_text("갈림길 ‘승인?’에 조건이 없어요")
    expect(card).to_contain_text("이 갈림길은 앞 단계 담당자에게 묻기: 반려 / 승인")
    expect(card).to_contain_text("‘요청 검토’를 끝낸 사람이 고르면 그 길로 가요.")
    expect(card.locator(".todo-choices li")).to_have_text(["반려반려됨", "승인발주서 작성"])
    card.get_by_role("button", name="제안 받기").click()
    _said(page, "‘승인?’: 제안을 받았어요")
    expect(_badge(page, 1)).to_have_class(re.compile("draft-no-done"))
    expect(page.locator(".draft-choice")).to_have_count(0)
    expect(page).to_have_url(re.compile(r"todo=2"))  # the next one
    page.locator(".toast").get_by_role("button", name="되돌리기").click()
    _said(page, "되돌렸어요")
    expect(page.locator(".draft-choice")).to_have_count(2)
    page.locator("#todo-1 .todo-title").click()
    expect(_badge(page, 1)).to_have_attribute("aria-pressed", "true")


def _runs_to_its_decision(server: Server, page: Any, window: Open) -> None:
    page.get_by_role("button", name="시작", exact=True).click()
    page.get_by_role("dialog").get_by_role("button", name="시작", exact=True).click()
    page.wait_for_url("**/runs/*")
    run = page.url.rsplit("/", 1)[1]
    for step, who in (("write_request", OPERATOR), ("review_request", MANAGER)):
        work = until(lambda step=step: _work(server, run, step), bool)
        client = server.client(who)
        assert client.post(f"/processes/workitems/{work['id']}:submit", json={"result_data": {}}).status_code == 200
        client.close()
    until(lambda: _work(server, run, "approved"), bool)
    boss = window(MANAGER)
    boss.goto(f"/inbox/{run}/approved")
    expect(boss.get_by_role("heading", level=1)).to_have_text("승인?")
    expect(boss.locator("[data-field=choice] .label").first).to_contain_text("승인?")
    boss.locator("[data-field=choice]").get_by_text("승인", exact=True).click()
    boss.locator("button.yes").click()
    boss.get_by_role("dialog").get_by_role("button", name="내기", exact=True).click()
    expect(boss.locator(".toast")).to_have_text("냈어요")
    until(lambda: _work(server, run, "write_order"), bool)


def _work(server: Server, run: str, step: str) -> Any:
    items = look(server, run)["workitems"]
    return next((item for item in items if item["activity_id"] == step and item["status"] == "TODO"), None)


def test_what_the_proposals_add_is_seen_before_they_are_taken(server: Server, window: Open) -> None:
    """CONSOLE 14.2, 14.3: the result is looked at, and nothing has changed."""
    draft = brought(server, purchase("seen"))
    page = window(ADMIN)
    _open(page, draft)
    page.get_by_role("button", name="받은 뒤 모습 보기").click()
    expect(page).to_have_url(re.compile("look=after"))
    expect(page.locator(".draft-why")).to_contain_text("아직 아무것도 바꾸지 않았어요")
    expect(_badge(page, 1)).to_have_class(re.compile("draft-no-done"))
    expect(_badge(page, 2)).not_to_have_class(re.compile("draft-no-done"))
    assert draft_of(server, draft["id"])["number"] == draft["number"]
    page.get_by_role("button", name="지금 모습 보기").click()
    expect(_badge(page, 1)).not_to_have_class(re.compile("draft-no-done"))
    page.get_by_role("button", name="남은 3").click()
    expect(page.locator(".draft-drawing [data-todo]")).to_have_count(3)
    page.get_by_role("button", name="목록").click()
    expect(page.get_by_role("region", name="공급사")).to_contain_text("출하 준비")
    page.get_by_role("button", name="그물").click()
    expect(page.locator(".draft-nonet")).to_contain_text("아직 그물로 그릴 수 없어요")  # its timer has no time
    page.get_by_role("button", name="공급", exact=True).click()
    expect(page.locator(".net-node").first).to_be_visible()


def test_a_draft_is_finished_with_keys_alone(server: Server, window: Open) -> None:
    """CONSOLE 14.1: j and k move, a accepts, Enter leads into a card, z takes back; none of them acts while typing."""
    draft = brought(server, purchase("keys"))
    page = window(ADMIN)
    _open(page, draft)
    expect(_badge(page, 1)).to_be_visible()
    page.keyboard.press("j")
    page.keyboard.press("j")
    expect(_badge(page, 2)).to_have_attribute("aria-pressed", "true")
    page.keyboard.press("k")
    expect(_badge(page, 1)).to_have_attribute("aria-pressed", "true")
    page.keyboard.press("a")
    _said(page, "제안을 받았어요")
    expect(_badge(page, 2)).to_have_attribute("aria-pressed", "true")
    page.keyboard.press("Enter")
    expect(_card(page, 2).get_by_label("얼마나")).to_be_focused()
    page.keyboard.type("3")
    page.keyboard.press("Enter")
    _said(page, "답을 저장했어요")
    page.evaluate("document.activeElement.blur()")
    page.keyboard.press("a")  # the last one is selected by now
    expect(page.locator(".draft-why")).to_contain_text("할 일을 모두 마쳤어요")
    page.keyboard.press("z")
    expect(page.locator(".draft-why")).to_contain_text("할 일 1개가 남았어요")
    page.keyboard.press("y")
    expect(page.locator(".draft-why")).to_contain_text("할 일을 모두 마쳤어요")
    expect(page.locator(".todos-done")).to_contain_text("제안 2 · 직접 1")


def test_who_was_slower_sees_what_the_other_did_and_keeps_the_text(server: Server, window: Open, watch: Watch) -> None:
    """CONSOLE law 6, 3: two have the same draft open; the second is told who answered what, and nothing is lost."""
    watch.excuse("409")
    draft = brought(server, purchase("two"))
    first, second = window(ADMIN), window(AUTHOR)
    for page in (first, second):
        _open(page, draft, "?todo=2")
        expect(_card(page, 2)).to_be_visible()
    second.locator("#todo-2").get_by_label("얼마나").fill("5")
    first.locator("#todo-1 .todo-title").click()
    _card(first, 1).get_by_role("button", name="제안 받기").click()
    _said(first, "제안을 받았어요")
    second.locator("#todo-2").get_by_role("button", name="저장").click()
    notice = second.locator(".todos-conflict")
    expect(notice).to_contain_text("그사이에 다른 사람이 이 초안을 고쳤어요")
    expect(notice).to_contain_text("‘승인?’에 답했어요: 앞 단계 담당자")
    expect(second.locator("#todo-2").get_by_label("얼마나")).to_have_value("5")
    second.reload()
    expect(second.locator("#todo-2").get_by_label("얼마나")).to_have_value("5")  # on this device, until it is sent
    second.locator("#todo-2").get_by_role("button", name="저장").click()
    _said(second, "답을 저장했어요")
    by_no = {todo["no"]: todo for todo in draft_of(server, draft["id"])["todos"]}
    assert by_no[1]["by_proposal"] and by_no[1]["answered_by"] == ADMIN
    assert by_no[2]["answer"] == {"kind": "duration", "value": "P5D"} and by_no[2]["answered_by"] == AUTHOR


def test_an_answer_of_ones_own_and_somebody_else_to_ask(server: Server, window: Open, watch: Watch) -> None:
    """P-X.25: conditions are written instead of a proposal, a refusal keeps them, and another person can be asked."""
    watch.excuse(r"answer: 4\d\d", "status of 4")
    draft = brought(server, purchase("own"))
    page = window(ADMIN)
    _open(page, draft, "?todo=1")
    card = _card(page, 1)
    card.get_by_role("button", name="조건 직접 쓰기").click()
    first, last = card.locator("[data-field^='conditions.'] :is(input, textarea)").all()
    last.fill("amount >")
    first.fill("amount > 100")
    card.get_by_role("button", name="저장").click()
    expect(card.get_by_role("alert")).to_be_visible()
    expect(last).to_have_value("amount >")
    last.fill("amount <= 100")
    card.get_by_role("button", name="저장").click()
    expect(page.locator(".todos-done")).to_contain_text("제안 0 · 직접 1")
    page.locator(".toast").get_by_role("button", name="되돌리기").click()
    page.locator("#todo-1 .todo-title").click()
    card.get_by_role("button", name="다른 사람에게 묻기").click()
    card.get_by_label("누구에게 물을까요?").select_option("역할")
    card.get_by_label("역할 이름").fill("manager")
    card.get_by_role("button", name="이 사람에게 묻기").click()
    _said(page, "답을 저장했어요")
    answered = next(todo for todo in draft_of(server, draft["id"])["todos"] if todo["no"] == 1)
    assert answered["answer"]["ask"]["who"] == "role:manager"


def test_what_the_tool_wrote_is_shown_in_its_own_words(server: Server, window: Open) -> None:
    """P-X.25: an element shows its vendor's attributes as the file has them; its definition keeps its own id."""
    draft = brought(server, invoice("invoice_words"))
    page = window(ADMIN)
    _open(page, draft)
    page.locator(".draft-drawing [data-node='pay']").click()
    shown = page.get_by_role("region", name="고른 요소")
    expect(shown).to_contain_text("camunda:topic")
    expect(shown).to_contain_text("pay-invoice")
    page.locator(".draft-drawing [data-node='look']").press("Enter")
    expect(page.locator(".draft-panel")).to_contain_text("camunda:assignee")
    expect(page.locator(".draft-panel")).to_contain_text("${initiator}")


def test_a_lane_says_who_does_its_work(server: Server, window: Open) -> None:
    """P-X.13, P-X.25: who does what lies in a lane is asked; its name is proposed as the role, another can be named."""
    draft = brought(server, purchase("lanes", lanes=True))
    page = window(ADMIN)
    no = number_of(draft, "lane_role")
    _open(page, draft, f"?todo={no}")
    card = _card(page, no)
    expect(card).to_contain_text("레인 ‘요청자’의 일을 할 사람이 없어요")
    expect(card).to_contain_text("‘요청자’는 이 일을 하는 역할")
    card.get_by_role("button", name="직접 쓰기").click()
    card.get_by_label("누가 하나요?").select_option("그룹")
    card.get_by_label("그룹 이름").fill("line_a")
    card.get_by_role("button", name="이 사람으로 정하기").click()
    _said(page, "답을 저장했어요")
    expect(page.locator(".todos-done")).to_contain_text("담당: line_a 그룹")


def test_where_a_run_would_not_end_is_played_and_mended(server: Server, window: Open) -> None:
    """CONSOLE 14.4: a file without a picture is laid out; the token rests before the join that waits in vain, the
    author may release it by saying so, and the proposal mends it."""
    draft = brought(server, stuck("stuck_draft"))
    page = window(ADMIN)
    _open(page, draft, f"?todo={number_of(draft, 'gateway_conditions')}")
    page.keyboard.press("a")
    _said(page, "제안을 받았어요")
    strip = page.locator(".draft-sound")
    expect(strip).to_contain_text("제안을 받으면 건전해요")
    strip.get_by_role("button", name="토큰으로 보기").click()
    for _ in range(6):
        onward = page.get_by_role("button", name="다음 걸음")
        if onward.is_enabled():
            onward.click()
    expect(page.locator(".bpmn .net-token")).to_have_count(1)
    strip.get_by_role("button", name="그만 보기").click()
    page.get_by_role("button", name="릴리스하기").click()
    dialog = page.get_by_role("dialog")
    expect(dialog.get_by_role("button", name="릴리스하기")).to_be_disabled()
    expect(dialog).to_contain_text("끝나지 못할 수 있다는 것을 알고 릴리스해요")
    dialog.get_by_role("button", name="아직 아니에요").click()
    card = page.locator(".todo", has_text="‘함께’에서 끝나지 못할 수 있어요")
    card.get_by_role("button", name="받기").click()
    _said(page, "제안을 받았어요")
    expect(strip).to_contain_text("건전해요")
    expect(page.locator(".draft-why")).to_contain_text("할 일을 모두 마쳤어요")


def test_a_file_in_the_place_of_another_keeps_the_answers_that_fit(server: Server, window: Open) -> None:
    """P-X.28: the file is mended in a modeler and brought again; what was answered stays, what is drawn now is gone."""
    text = purchase("again")
    draft = brought(server, text)
    page = window(ADMIN)
    _open(page, draft, f"?todo={number_of(draft, 'gateway_conditions')}")
    page.keyboard.press("a")
    _said(page, "제안을 받았어요")
    mended = text.replace('id="late_timer" />', 'id="late_timer"><bpmn:timeDuration>P2D</bpmn:timeDuration></bpmn:timerEventDefinition>')  # noqa: E501
    page.locator("input[data-replace]").set_input_files(
        {"name": "mended.bpmn", "mimeType": "text/xml", "buffer": mended.encode()}
    )
    _said(page, "파일을 바꿨어요")
    expect(page.locator(".draft-about")).to_contain_text("mended.bpmn")
    expect(page.locator(".todo[data-kind=timer_value]")).to_have_count(0)
    expect(page.locator(".todos-done")).to_contain_text("제안 1 · 직접 0")


def test_drafts_are_listed_and_deleted(server: Server, window: Open) -> None:
    """Above the definitions stand the drafts with what is left of them; a reader brings and answers nothing."""
    draft = brought(server, invoice("invoice_list"))
    page = window(ADMIN)
    page.goto("/definitions")
    line = page.locator(".drafts li", has_text="송장 확인").filter(has=page.locator("[href*=invoice_list]"))
    expect(line).to_contain_text(re.compile(r"할 일 \d+개 가운데 \d+개 남음"))
    line.get_by_role("link").click()
    expect(page).to_have_url(re.compile("/definitions/invoice_list/v/1"))
    viewer = window("viewer@example.com")
    viewer.goto("/definitions")
    expect(viewer.locator(".drafts")).to_contain_text("송장 확인")
    expect(viewer.get_by_role("button", name="BPMN 파일 가져오기")).to_have_count(0)
    no = number_of(draft, "gateway_conditions")
    _open(viewer, draft, f"?todo={no}")
    expect(_card(viewer, no).get_by_role("button", name="제안 받기")).to_be_disabled()
    expect(viewer.locator(".todos-foot")).to_contain_text("definition.write 권한이 있어야 해요")
    page.get_by_role("button", name="그 밖에").click()
    page.get_by_role("button", name="초안 지우기").click()
    look_at_dialog(page)
    page.get_by_role("dialog").get_by_role("button", name="초안 지우기").click()
    _said(page, "초안을 지웠어요")
    expect(page.locator(".drafts [href*=invoice_list]")).to_have_count(0)


@pytest.mark.parametrize("encoding", ["euc-kr", "utf-16"])
def test_a_file_of_another_encoding_keeps_its_names(encoding: str, server: Server, window: Open) -> None:
    """P-X.25: as its first line or its first bytes say, also where the browser reads it."""
    page = window(ADMIN)
    name = f"in_{encoding.replace('-', '_')}"
    _bring(page, invoice(name).replace('encoding="UTF-8"', f'encoding="{encoding.upper()}"').encode(encoding))
    expect(page.get_by_role("heading", level=1)).to_contain_text("송장 확인")
    with closing(server.client(ADMIN)) as admin:
        kept = admin.get(f"/processes/drafts/{name}/bpmn").text
    assert kept.removeprefix("\ufeff") == invoice(name)


def test_a_file_that_is_not_in_its_encoding_is_refused(window: Open) -> None:
    """P-X.25: no name is kept with other letters than it has."""
    page = window(ADMIN)
    page.goto("/definitions")
    page.locator("input[data-import]").set_input_files(
        {"name": "x.bpmn", "mimeType": "text/xml", "buffer": invoice("letters").encode("euc-kr")}
    )
    expect(page.get_by_role("alert")).to_contain_text("UTF-8 인코딩으로 읽히지 않아요")


def test_a_file_that_is_no_drawing_is_refused_where_it_was_brought(window: Open, watch: Watch) -> None:
    """P-X.28: what is wrong is said on the screen, and nothing is kept."""
    watch.excuse(r"answer: 4\d\d", "status of 4")
    page = window(ADMIN)
    page.goto("/definitions")
    page.locator("input[data-import]").set_input_files(
        {"name": "x.bpmn", "mimeType": "text/xml", "buffer": b"<definitions"}
    )
    expect(page.get_by_role("alert")).to_contain_text("가져오지 못했어요")
    expect(page).to_have_url(re.compile("/definitions$"))


@pytest.mark.parametrize(("tongue", "theme"), [("ko", "light"), ("en", "dark")])
def test_a_draft_is_read_by_all(tongue: str, theme: str, server: Server, window: Open) -> None:
    """CONSOLE 9: axe finds nothing serious in an open card, in a form, and in the list; names keep their language."""
    draft = brought(server, purchase(f"read_{tongue}"))
    page = window(ADMIN, tongue=tongue, theme=theme)
    page.goto(f"/definitions/{draft['definitions'][0]['id']}/v/1?todo=1")
    expect(_badge(page, 1)).to_be_visible()
    page.evaluate(EYE.read_text(encoding="utf-8"))
    page.evaluate(AXE.read_text(encoding="utf-8"))
    faults = page.evaluate("eye.axe()")
    _card(page, 1).locator(".todo-acts button").nth(1).click()
    faults += page.evaluate("eye.axe()") + page.evaluate("eye.words()")
    assert faults == []


def test_on_a_phone_the_to_dos_come_first_and_the_drawing_is_a_list(server: Server, window: Open) -> None:
    """CONSOLE 2: one column, nothing wider than the screen, buttons for thumbs."""
    draft = brought(server, purchase("phone"))
    page = window(ADMIN, phone=True)
    _open(page, draft, "?todo=1")
    expect(page.locator(".draft-list")).to_contain_text("발주서 작성")
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    button = _card(page, 1).get_by_role("button", name="제안 받기")
    box = button.bounding_box()
    assert box is not None and box["height"] >= 44
    button.click()
    _said(page, "제안을 받았어요")
    expect(page.locator(".draft-list [data-node='approved'] .draft-no-done")).to_be_visible()
