"""What a person reads: letters that are there, statuses that are true, a line of steps that can be read to its end."""

from __future__ import annotations

import re

import pytest

from tests.api.serving import Server
from tests.browser.conftest import Open
from tests.browser.drafts import brought, number_of, purchase
from tests.browser.processes import received
from tests.browser.runs import ADMIN, failed, read, waiting
from tests.browser.walking import AXE

expect = pytest.importorskip("playwright.sync_api").expect
pytestmark = pytest.mark.xdist_group("browser")

#: how wide a text is in the face of an element, and whether two letters look different: boxes all look the same
_FACE = """
async ([selector, sample]) => {
  const style = getComputedStyle(document.querySelector(selector));
  const font = `${style.fontSize} ${style.fontFamily}`;
  await document.fonts.load(font, sample);
  const canvas = Object.assign(document.createElement("canvas"), { width: 40, height: 40 });
  const pen = canvas.getContext("2d");
  pen.font = font;
  const inked = (letter) => {
    pen.clearRect(0, 0, 40, 40);
    pen.fillText(letter, 4, 28);
    return [...pen.getImageData(0, 0, 40, 40).data].join();
  };
  const letters = new Set([...sample].map(inked));
  const wide = (text) => pen.measureText(text).width;
  return { different: letters.size, latin: wide("a".repeat(20)), hangul: wide(sample) };
}
"""
SAMPLE = "가온힣뷁글름정표맞춤"


def test_hangul_has_letters_in_the_mono_face_two_columns_wide(server: Server, window: Open) -> None:
    """CONSOLE 7: a document with Korean names is read as it is written, and its columns stand under each other."""
    page = window(ADMIN)
    page.goto("/definitions?new=")
    page.locator(".writing textarea").fill('{"name": "' + SAMPLE + '"}')
    face = page.evaluate(_FACE, [".writing textarea", SAMPLE])
    assert face["different"] == len(SAMPLE), "letters that look the same are boxes"
    assert face["hangul"] == pytest.approx(face["latin"], rel=0.01)
    loaded = page.evaluate("performance.getEntriesByType('resource').map(one => new URL(one.name).origin)")
    assert set(loaded) == {page.evaluate("location.origin")}  # no font comes from elsewhere


def test_a_run_that_waits_is_nowhere_said_to_run(server: Server, window: Open) -> None:
    """P-X.30 calls a process that waits RUNNING; people read one word, in the list, on its page and in Ctrl K."""
    run = received(server)
    found = read(server, f"/runs/{run}")
    assert (found["state"], found["status"]) == ("WAITING", "RUNNING")
    page = window(ADMIN)
    page.goto(f"/runs?q={run}")
    expect(page.locator(".runs-table tbody .badge")).to_have_text("대기 중")
    expect(page.get_by_role("button", name="대기 중", exact=True)).to_be_visible()  # the filter has the same word
    page.goto(f"/runs/{run}")
    expect(page.get_by_role("heading", level=1).locator(".badge")).to_have_text("대기 중")
    expect(page.locator(".panel-body .badge").first).to_have_text("대기 중")
    page.keyboard.press("Control+k")
    page.get_by_role("combobox").fill(run)
    expect(page.get_by_role("option").first.locator(".badge")).to_have_text("대기 중")
    assert read(server, "/words?locale=ko")["languages"]["process"]["run"]["WAITING"] == "대기 중"


def test_findings_and_errors_are_read_in_the_readers_tongue(server: Server, window: Open) -> None:
    """What the server says is Korean where the page is, and changes with it; codes and values stay."""
    run = failed(server)
    page = window(ADMIN)
    page.goto(f"/runs/{run}")
    bar, failure = page.locator(".why"), page.locator(".failure").first
    expect(bar).to_contain_text("파일이 없어요: «orders.csv»")
    expect(failure).to_contain_text("그대로 다시 시도해도 소용없어요")
    page.get_by_role("button", name="English로 보기").click()
    expect(bar).to_contain_text("There is no file «orders.csv».")
    page.get_by_role("button", name="한국어로 보기").click()
    page.goto("/definitions?new=")
    page.locator(".writing textarea").fill('{"id": "wf_x", "nodes": [], "edges": []}')
    findings = page.get_by_role("region", name="검사 결과")
    expect(findings).to_contain_text("«version» 칸이 빠졌어요.")
    expect(findings).to_contain_text("missing_field")


def test_the_steps_of_an_item_are_read_to_their_end_in_any_face(server: Server, window: Open) -> None:
    """With wide letters they wrap: nothing of them scrolls, so nobody needs a pointer for it."""
    run = waiting(server)
    page = window()
    page.goto(f"/inbox/{run}/request_approval")
    steps = page.locator("ol.steps")
    expect(steps).to_be_visible()
    page.evaluate("document.documentElement.style.setProperty('--font', 'monospace')")
    page.evaluate("document.documentElement.style.letterSpacing = '4px'")
    assert steps.evaluate("one => one.scrollWidth <= one.clientWidth")
    page.evaluate(AXE.read_text(encoding="utf-8"))
    only = {"runOnly": ["scrollable-region-focusable"]}
    faults = page.evaluate("async (only) => (await axe.run('ol.steps', only)).violations.map(one => one.id)", only)
    assert faults == []
    expect(steps.locator("li").last).to_have_text(re.compile("끝"))


def test_a_draft_is_told_in_the_readers_tongue_and_in_the_words_of_the_drawing(server: Server, window: Open) -> None:
    """CONSOLE 14.2: names stay as they are drawn, with the right particle; the sentences around them change."""
    draft = brought(server, purchase("words"))
    page = window(ADMIN)
    page.goto(f"/definitions/purchase_request_words/v/1?todo={number_of(draft, 'gateway_conditions')}")
    card, bar = page.locator(".todo-on"), page.locator(".draft-why")
    expect(card).to_contain_text("‘요청 검토’를 끝낸 사람이 고르면 그 길로 가요.")
    expect(page.locator(".todo[data-kind=pool]")).to_contain_text("사람이나 API가 공급사로 답하기")
    expect(bar).to_contain_text("타이머 ‘늦으면’은 값을 적어야 해요.")
    page.get_by_role("button", name="English로 보기").click()
    expect(card).to_contain_text("Gateway ‘승인?’ has no conditions")
    expect(bar).to_contain_text("3 to-dos left. 2 are finished by their proposals. Timer ‘늦으면’ needs a value.")
