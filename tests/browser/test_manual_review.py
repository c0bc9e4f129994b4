"""A manual beside the process that was read from it: sentences and elements, what is doubtful, and what it becomes."""

from __future__ import annotations

import re
from contextlib import closing
from typing import Any

import pytest

from tests.api.serving import Server
from tests.browser.conftest import Open, Watch
from tests.browser.manuals import FAULTS, PAGES, RETURNS, invented, kept_manual, pdf
from tests.browser.runs import ADMIN, MANAGER
from tests.browser.walking import AXE, EYE, look_at_dialog

expect = pytest.importorskip("playwright.sync_api").expect
pytestmark = pytest.mark.xdist_group("browser")
VIEWER, OWNER = "viewer@example.com", "owner@example.com"


def _pick(page: Any, name: str, source: bytes) -> None:
    page.goto("/manuals")
    page.locator("input[data-manual]").set_input_files({"name": name, "mimeType": "", "buffer": source})


def _paste(page: Any, text: str) -> None:
    page.goto("/manuals")
    page.locator(".manual-paste textarea").fill(text)
    page.locator(".manual-paste [type=submit]").click()
    expect(page.locator(".manual-view")).to_be_visible()


def _sentence(page: Any, text: str) -> Any:
    return page.locator("[data-sentence]", has_text=text)


def _node(page: Any, name: str) -> Any:
    return page.locator(".manual-drawing [data-node]", has_text=name)


def _lit(page: Any) -> Any:
    return page.locator(".manual-text .manual-lit")


def test_p_6_1_7_text_and_drawing_light_each_other(server: Server, window: Open) -> None:
    """P-6.1.1, P-6.1.7: a PDF is brought; its pages stand beside its drawing; an element leads to the sentences that it
    came from, and a sentence to its elements."""
    page = window(ADMIN)
    _pick(page, "구매_절차.pdf", pdf(PAGES))
    page.wait_for_url("**/manuals/new")
    expect(page.get_by_role("heading", level=1)).to_contain_text("저장 전")
    expect(page.locator(".draft-about")).to_contain_text("구매_절차.pdf")
    expect(page.locator(".draft-about")).to_contain_text("2쪽")
    expect(page.locator(".manual-page-no")).to_have_text(["1쪽", "2쪽"])
    _node(page, "주문").click()
    expect(page).to_have_url(re.compile(r"node=activities\."))
    expect(_lit(page)).to_have_text([re.compile("담당자: 물품을 주문한다")])
    shown = page.get_by_role("region", name="고른 것의 근거")
    expect(shown).to_contain_text("2쪽")
    expect(shown).to_contain_text(re.compile(r"\d+%"))
    order = _sentence(page, "팀장이 결재한다")
    order.click()
    expect(order).to_have_attribute("aria-pressed", "true")
    expect(_node(page, "결재한다")).to_have_class(re.compile("draft-selected"))
    expect(_node(page, "주문")).not_to_have_class(re.compile("draft-selected"))
    shown.get_by_role("button", name="팀장").click()
    expect(_lit(page)).to_have_count(1)
    expect(shown).to_contain_text("역할")
    page.keyboard.press("Escape")
    expect(_lit(page)).to_have_count(0)


def test_p_6_1_3_the_sentence_of_an_element_is_scrolled_into_view(server: Server, window: Open) -> None:
    """P-6.1.3: in a manual longer than the screen, both sides show what is selected."""
    steps = "\n".join(f"{n}. 담당자: {n}번 서류를 확인한다." for n in range(1, 61))
    page = window(ADMIN)
    _paste(page, f"# 긴 절차\n\n{steps}\n")
    last = _sentence(page, "60번 서류를 확인한다")
    expect(last).not_to_be_in_viewport()
    page.keyboard.press("k")  # the last one along the flow, or what is not drawn
    page.locator("[data-node='a60']").evaluate("one => one.click()")
    expect(last).to_be_in_viewport()
    _sentence(page, "담당자: 1번 서류를 확인한다").evaluate("one => one.click()")
    expect(page.locator("[data-node='a1']")).to_be_in_viewport()


def test_p_x_22_what_is_doubtful_is_amber_and_is_gone_through(server: Server, window: Open) -> None:
    """P-X.22: each element says how sure it is; those below 80% are marked, counted, and reached one after another."""
    page = window(ADMIN)
    _paste(page, FAULTS.format("확인"))
    expect(page.locator(".draft-why")).to_contain_text(re.compile(r"\d+% 확실해요. 저장하면 바로 시작할 수 있어요."))
    low = page.locator(".manual-drawing .manual-sure-low")
    expect(low).to_have_count(4)  # the gateway whose condition was made up, and the flows around it
    expect(low.first).to_have_text("70%")
    expect(page.locator(".manual-drawing .manual-sure:not(.manual-sure-low)").first).to_have_text("100%")
    expect(page.locator("g.manual-low")).to_be_visible()  # its border in the drawing itself
    expect(_sentence(page, "부품이 낡았으면").locator(".manual-count")).to_have_class(re.compile("tone-held"))
    page.get_by_role("button", name="확인할 요소 4").click()
    expect(_lit(page)).to_have_count(2)
    expect(_lit(page).last).to_contain_text("부품이 낡았으면")
    for _ in range(3):
        page.keyboard.press("n")
    expect(_lit(page)).to_have_text([re.compile("그렇지 않으면")])
    page.get_by_role("button", name="살펴볼 것").click()
    page.get_by_role("button", name="문장 보기").first.click()
    expect(_lit(page)).to_have_count(1)


def test_p_6_1_5_decision_tables_are_tables(server: Server, window: Open) -> None:
    """P-6.1.5: conditions on the left, what follows on the right, and the sentences of the table in the manual."""
    page = window(ADMIN)
    _paste(page, FAULTS.format("표"))
    page.get_by_role("button", name="결정표 1").click()
    table = page.locator(".manual-tables table")
    expect(table.locator("thead tr").last.locator("th")).to_have_text(["#", "긴급도", "핵심 설비", "처리 등급"])
    expect(table.locator("tbody tr")).to_have_count(3)
    expect(table.locator("tbody tr").first.locator("td")).to_have_text(['"높음"', "true", '"즉시"'])
    expect(table.locator("tbody tr").last.locator("td").nth(1)).to_have_text("무엇이든")
    page.get_by_role("button", name="처리 등급", exact=True).click()
    expect(_lit(page)).to_have_count(4)


def test_p_6_1_6_what_is_sure_is_saved_and_may_be_begun(server: Server, window: Open) -> None:
    """P-6.1.6: at 80% and more it is approved by itself; its review stays with it, and its definition leads back."""
    page = window(ADMIN)
    _paste(page, FAULTS.format("저장"))
    page.get_by_role("button", name="저장", exact=True).click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("바로 시작할 수 있어요")
    look_at_dialog(page)
    dialog.get_by_label("아이디").fill("faults_saved")
    dialog.get_by_role("button", name="저장", exact=True).click()
    page.wait_for_url("**/manuals/faults_saved/v/1")
    expect(page.locator(".toast")).to_contain_text("v1로 저장했어요")
    expect(page.locator(".draft-why")).to_contain_text("바로 시작할 수 있어요")
    expect(_sentence(page, "고장을 접수한다")).to_be_visible()
    page.get_by_role("link", name="정의 열기").click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("운영 중")
    page.get_by_role("button", name="시작", exact=True).click()
    page.get_by_role("dialog").get_by_role("button", name="시작", exact=True).click()
    page.wait_for_url("**/runs/*")
    page.goto("/definitions/faults_saved")
    page.get_by_role("link", name="매뉴얼과 나란히 보기").click()
    page.wait_for_url("**/manuals/faults_saved/v/1")
    page.goto("/manuals")
    expect(page.locator(".manual-drop")).to_be_visible()
    expect(page.locator(".manual-kept")).to_have_count(0)  # it is saved: nothing is left to go on with


def test_p_x_23_what_is_not_sure_waits_for_somebody_who_may(server: Server, window: Open) -> None:
    """P-6.1.6, P-X.23: below 80% it is saved as pending and says why; who lacks the permission reads its name; who has
    it rejects with a comment or approves."""
    page = window(ADMIN)
    _paste(page, RETURNS.format("doubt"))
    expect(page.locator(".draft-why")).to_contain_text("66% 확실해요. 단계(0%), 갈림길의 조건(66%)이 확실하지 않아서")
    expect(page.locator(".draft-why")).to_contain_text("사람이 먼저 봐야 해요")
    page.get_by_role("button", name="저장", exact=True).click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("사람이 승인해야 시작할 수 있어요")
    dialog.get_by_label("아이디").fill("returns_doubt")
    dialog.get_by_role("button", name="저장", exact=True).click()
    page.wait_for_url("**/manuals/returns_doubt/v/1")
    expect(page.get_by_role("heading", level=1)).to_contain_text("승인 대기")
    looker = window(VIEWER, tongue="en")
    looker.goto("/manuals/returns_doubt/v/1")
    expect(looker.locator(".manual-locked")).to_have_text("You need the right process.model.approve")
    expect(looker.get_by_role("button", name="Approve")).to_have_count(0)
    owner = window(OWNER)
    owner.goto("/manuals/returns_doubt/v/1")
    owner.get_by_role("button", name="승인", exact=True).click()
    look_at_dialog(owner)
    owner.get_by_role("dialog").get_by_role("button", name="승인", exact=True).click()
    expect(owner.get_by_role("heading", level=1)).to_contain_text("운영 중")
    expect(owner.locator(".draft-why")).to_contain_text("사람이 승인해서 시작할 수 있어요")
    assert _status(server, "returns_doubt") == "approved"


def test_p_x_23_what_is_rejected_says_so(server: Server, window: Open) -> None:
    """P-X.23: a rejection asks for its comment, which stays with the version."""
    path = kept_manual(server, RETURNS.format("no"), "returns_no")
    owner = window(OWNER)
    owner.goto(path)
    owner.get_by_role("button", name="돌려보내기", exact=True).click()
    dialog = owner.get_by_role("dialog")
    dialog.get_by_role("button", name="돌려보내기", exact=True).click()
    expect(dialog.get_by_role("alert")).to_be_visible()
    dialog.get_by_role("textbox").fill("누가 하는지 없어요")
    dialog.get_by_role("button", name="돌려보내기", exact=True).click()
    expect(dialog).to_have_count(0)
    expect(owner.locator(".draft-title")).to_contain_text("누가 하는지 없어요")
    expect(owner.locator(".draft-why")).to_contain_text("돌려보냈어요")
    expect(owner.get_by_role("button", name="승인", exact=True)).to_have_count(0)
    assert _status(server, "returns_no") == "rejected"


def _status(server: Server, id: str) -> str:
    with closing(server.client(ADMIN)) as admin:
        return str(admin.get(f"/processes/definitions/{id}").json()["approval_status"])


def test_p_x_3_what_a_model_has_invented_is_listed_with_its_reason(server: Server, window: Open) -> None:
    """P-X.3, P-6.1.3: claims that the manual does not hold are no elements; they are told with their reasons;
    the chunks that the model has read are seen in the text."""
    answer = invented(server, "manual_invented")
    page = window(ADMIN)
    page.route("**/definitions:extract", lambda route: route.fulfill(json=answer))
    _pick(page, "고장.docx", b"PK\x03\x04")
    expect(page.locator(".draft-about")).to_contain_text("버린 것 2")
    expect(page.locator(".draft-about")).to_contain_text("test-model 모델이 읽음")
    expect(page.locator(".draft-why")).to_contain_text("72% 확실해요. 갈림길의 조건(40%)이 확실하지 않아서")
    expect(page.locator(".manual-chunk")).to_have_text(["조각 1 · 토큰 142", "조각 2 · 토큰 187"])
    expect(_node(page, "보험사에 알림")).to_have_count(0)
    expect(page.locator(".manual-drawing .manual-sure-low")).to_have_text(["62%", "55%", re.compile("70%")])
    page.get_by_role("button", name="버린 것 2").click()
    first = page.locator(".manual-dropped li").first
    expect(first).to_contain_text("보험사에 알림")
    expect(first).to_contain_text("이 말은 매뉴얼에 없어요.")
    expect(first).to_contain_text("보험사에 고장을 알린다")


def test_it_is_finished_as_a_draft_and_that_can_be_undone(server: Server, window: Open) -> None:
    """CONSOLE 3: opening it in the room of drafts is done at once and taken back with one button."""
    path = kept_manual(server, FAULTS.format("초안"), "faults_draft")
    page = window(ADMIN)
    page.goto(path)
    page.get_by_role("button", name="초안으로 열기").click()
    page.wait_for_url(re.compile(r"/definitions/faults_draft/v/\d+"))
    expect(page.get_by_role("heading", level=1)).to_contain_text("초안")
    page.locator(".toast").get_by_role("button", name="되돌리기").click()
    page.wait_for_url(f"**{path}")
    expect(page.locator(".toast")).to_contain_text("초안을 지웠어요")
    with closing(server.client(ADMIN)) as admin:
        drafts = admin.get("/processes/drafts?limit=200").json()["items"]
    assert not [
        draft for draft in drafts if draft["definitions"][0]["id"] == "faults_draft" and draft["status"] == "open"
    ]


def test_p_6_1_1_a_scanned_manual_says_what_to_do(server: Server, window: Open, watch: Watch) -> None:
    """P-6.1.1: a PDF that holds pictures of pages, and a file that is none, are refused with a hint; what was pasted
    before is still there."""
    watch.excuse(r"answer: 4\d\d", "status of 4")
    page = window(ADMIN)
    page.goto("/manuals")
    page.locator(".manual-paste textarea").fill("1. 담당자: 접수한다.")
    for name, source in (("스캔.pdf", pdf(((), ()))), ("사진.pdf", b"GIF89a")):
        _pick(page, name, source)
        expect(page.get_by_role("heading", level=1)).to_have_text(f"‘{name}’을(를) 읽지 못했어요")
        expect(page.locator(".failed-box")).to_contain_text("PS-400-INPUT")
        expect(page.locator(".manual-failed")).to_contain_text("글자를 고를 수 있는 파일인지")
        page.get_by_role("link", name="다른 매뉴얼").click()
        expect(page.locator(".manual-paste textarea")).to_have_value("1. 담당자: 접수한다.")
    _pick(page, "빈.txt", b"")
    expect(page.get_by_role("alert")).to_have_text("‘빈.txt’은(는) 빈 파일이에요.")


def test_a_manual_that_is_too_large_is_told_so(server: Server, window: Open, watch: Watch) -> None:
    """CONSOLE 3: the server's limit is said, and not that the connection was lost."""
    watch.excuse("413")
    page = window(ADMIN)
    _pick(page, "큰.txt", "1. 담당자: 접수한다.\n".encode() * 400_000)
    expect(page.locator(".failed-box")).to_contain_text("PS-413")


def test_what_is_not_saved_is_kept_in_this_browser(server: Server, window: Open) -> None:
    """CONSOLE law 6: a reload loses nothing; what is discarded comes back with Undo."""
    page = window(ADMIN)
    _pick(page, "절차.md", FAULTS.format("남김").encode())
    expect(_node(page, "고장을 접수한다")).to_be_visible()
    page.goto("/manuals/new?node=activities.a1")
    expect(_lit(page)).to_have_text([re.compile("고장을 접수한다")])
    page.goto("/manuals")
    kept = page.get_by_role("region", name="읽다 만 매뉴얼이 있어요")
    expect(kept).to_contain_text("절차.md")
    kept.get_by_role("button", name="버리기").click()
    expect(kept).to_have_count(0)
    page.locator(".toast").get_by_role("button", name="되돌리기").click()
    kept.get_by_role("link", name="이어서 보기").click()
    expect(_node(page, "고장을 접수한다")).to_be_visible()
    page.goto("/manuals")
    kept.get_by_role("button", name="버리기").click()
    expect(page.locator(".toast")).to_contain_text("버렸어요")
    page.goto("/manuals/new")
    expect(page.get_by_role("heading", level=1)).to_have_text("보고 있던 매뉴얼이 없어요")


def test_a_slow_reading_can_be_stopped(server: Server, window: Open) -> None:
    """CONSOLE 3: while it is read the page says so, and leaves a way out."""
    held: list[Any] = []
    page = window(ADMIN)
    page.route("**/definitions:extract", lambda route: held.append(route))  # noqa: PLW0108 (playwright marks functions)
    _pick(page, "느린.md", b"1. a: does it.\n")
    expect(page.get_by_role("heading", level=1)).to_have_text("‘느린.md’을(를) 읽고 있어요")
    page.get_by_role("button", name="그만두기").click()
    page.unroute("**/definitions:extract")
    page.get_by_role("button", name="다시 읽기").click()
    expect(page.locator(".manual-drawing [data-node]").first).to_be_visible()


def test_the_review_is_used_with_keys_alone(server: Server, window: Open) -> None:
    """CONSOLE 9: j and k go along the flow, n to what is doubtful, arrows from element to element, Enter selects."""
    page = window(ADMIN)
    page.goto(kept_manual(server, FAULTS.format("글쇠"), "faults_keys"))
    expect(_node(page, "고장을 접수한다")).to_be_visible()
    page.keyboard.press("j")
    expect(_lit(page)).to_have_text([re.compile("작업자: 고장을 접수한다")])
    page.keyboard.press("j")
    page.keyboard.press("k")
    expect(_lit(page)).to_have_text([re.compile("작업자: 고장을 접수한다")])
    page.keyboard.press("n")
    expect(_lit(page)).to_have_count(2)
    page.keyboard.press("Escape")
    expect(_lit(page)).to_have_count(0)
    _node(page, "고장을 접수한다").focus()
    page.keyboard.press("ArrowRight")
    expect(_node(page, "설비를 점검한다")).to_be_focused()
    page.keyboard.press("Enter")
    expect(_lit(page)).to_have_text([re.compile("설비를 점검한다")])
    _sentence(page, "수리 결과를 기록한다").focus()
    page.keyboard.press("Enter")
    expect(_node(page, "기록한다")).to_have_class(re.compile("draft-selected"))


def test_who_may_not_write_brings_nothing(server: Server, window: Open) -> None:
    """P-X.28: a reader sees a saved reading, and is told what bringing one takes; other addresses are none."""
    path = kept_manual(server, FAULTS.format("열람"), "faults_read")
    page = window(VIEWER)
    page.goto("/manuals")
    expect(page.get_by_role("heading", level=1)).to_contain_text("definition.write")
    expect(page.get_by_role("link", name="정의", exact=True)).to_be_visible()
    expect(page.get_by_role("link", name="매뉴얼", exact=True)).to_have_count(0)  # nothing leads to what is refused
    page.goto(path)
    expect(_sentence(page, "고장을 접수한다")).to_be_visible()
    expect(page.get_by_role("button", name="초안으로 열기")).to_have_count(0)
    page.goto("/manuals/faults_read/v/1/more")
    expect(page.get_by_role("heading", level=1)).to_have_text("찾을 수 없어요")


def test_a_definition_that_was_drawn_has_no_manual(server: Server, window: Open, watch: Watch) -> None:
    """CONSOLE 3: the empty state says why it is empty and leads on."""
    watch.excuse("404")
    with closing(server.client(ADMIN)) as admin:
        drawn = {"process_definition_id": "drawn_only", "process_definition_name": "그린 것", "transitions": [],
                 "activities": [{"id": "a", "name": "접수", "type": "humanTask"}]}  # fmt: skip
        assert admin.post("/processes/definitions", json=drawn).status_code == 201
    page = window(MANAGER)
    page.goto("/manuals/drawn_only/v/1")
    expect(page.get_by_role("heading", level=1)).to_have_text("매뉴얼에서 읽은 정의가 아니에요")
    page.get_by_role("link", name="정의 열기").click()
    page.wait_for_url("**/definitions/drawn_only/versions/1")


@pytest.mark.parametrize(("tongue", "theme"), [("ko", "light"), ("en", "dark")])
def test_every_view_of_it_can_be_read_by_all(tongue: str, theme: str, server: Server, window: Open) -> None:
    """CONSOLE 9: axe finds nothing serious in any view, in both tongues and themes; no word is missing."""
    answer = invented(server, f"manual_axe_{tongue}")
    page = window(ADMIN, tongue=tongue, theme=theme)
    page.route("**/definitions:extract", lambda route: route.fulfill(json=answer))
    _pick(page, "고장.docx", b"PK\x03\x04")
    page.wait_for_url("**/manuals/new")
    found = []
    views = (
        "",
        "?node=gateways.cost",
        "?sentence=s2.3",
        "?view=list&node=roles.worker",
        "?view=tables",
        "?view=dropped",
    )
    for view in views:
        page.goto(f"/manuals/new{view}")
        expect(page.locator(".manual-view > *").first).to_be_visible()
        expect(page.locator("[aria-busy=true]")).to_have_count(0)
        page.evaluate(EYE.read_text(encoding="utf-8"))
        page.evaluate(AXE.read_text(encoding="utf-8"))
        page.evaluate("eye.still()")
        found += [f"{view}: {fault}" for fault in page.evaluate("eye.axe()") + page.evaluate("eye.words()")]
    assert found == []


def test_on_a_phone_it_is_one_column(server: Server, window: Open) -> None:
    """CONSOLE 2: the drawing is a list whose rows open to their sentences; the text is a view of its own."""
    path = kept_manual(server, FAULTS.format("전화"), "faults_phone")
    page = window(ADMIN, phone=True)
    page.goto(path)
    row = page.locator("[data-element='activities.a1']")
    row.click()
    quote = page.locator(".manual-list .manual-quotes button")
    expect(quote).to_contain_text("고장을 접수한다")
    box = quote.bounding_box()
    assert box is not None and box["height"] >= 44
    quote.click()
    expect(page).to_have_url(re.compile("view=text"))
    expect(_lit(page)).to_be_in_viewport()
    page.locator(".manual-chip", has_text="고장을 접수한다").first.click()
    expect(row).to_have_attribute("aria-pressed", "true")
    for view in ("", "?view=tables", "?view=text"):
        page.goto(path + view)
        expect(page.locator(".manual-view > *").first).to_be_visible()
        assert page.evaluate("document.documentElement.scrollWidth") <= 390
