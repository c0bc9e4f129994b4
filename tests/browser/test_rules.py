"""The test bench: an input, the decision with its rules, the difference to what is in force; and FEEL by itself."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from tests.api.serving import Server
from tests.browser.conftest import PHONE, Open, Watch
from tests.browser.runs import ADMIN, read
from tests.browser.walking import walk

expect = pytest.importorskip("playwright.sync_api").expect
pytestmark = pytest.mark.xdist_group("browser")

VIEWER = "viewer@example.com"
PACK = "defect_rules_v3"  # of the sample tenant; nobody deploys it
TWO = "quality_rules_v2"  # two versions: 0.05 and 0.04
PAGE, FEEL = f"/ops/rules/{PACK}", "/ops/rules?tab=feel"
BELOW, OVER = '[{"defect_rate": 0.001, "defect_count": 0}]', '[{"defect_rate": 0.08, "defect_count": 50}]'


def run(page: Any, name: str = "판정해 보기") -> None:
    page.get_by_role("button", name=name).click()


def test_a_pack_is_found_tried_and_its_matched_rules_are_marked(window: Open) -> None:
    """CONSOLE 4, operations: from the sidebar to the list to one pack; input → decision, matched rules."""
    page = window(VIEWER)
    page.goto("/")
    page.get_by_role("navigation").get_by_role("link", name="룰 팩").first.click()
    expect(page.locator("h1")).to_contain_text("판정을 내려요")
    row = page.get_by_role("row").filter(has_text=PACK)
    expect(row).to_contain_text("3.0.0")
    row.get_by_role("link").click()
    expect(page).to_have_url(re.compile(f"{PAGE}$"))
    expect(page.get_by_label("입력 데이터")).to_have_value(re.compile("0.08"))
    expect(page.locator(".bench-out")).to_contain_text("아직 판정하지 않았어요")
    run(page)
    expect(page.locator(".trial-said")).to_contain_text("판정은 critical")
    marked = page.locator("[data-rule=defect_rate_critical]")
    expect(marked).to_have_attribute("data-matched", "true")
    expect(marked).to_contain_text("맞음")
    expect(page.locator(".trial-rules")).to_contain_text("0.08")
    expect(page.locator(".trial-against")).to_contain_text("지금 사용 중인 버전이에요")
    expect(page.locator(".trial-tests .badge")).to_have_text("4개 가운데 4개 통과")
    page.get_by_label("입력 데이터").fill(BELOW)
    expect(page.locator(".bench-stale")).to_be_visible()
    page.get_by_label("입력 데이터").press("Control+Enter")
    expect(page.locator(".trial-said")).to_contain_text("판정은 normal")
    expect(page.locator("[data-matched]")).to_have_count(0)
    page.reload()
    expect(page.get_by_label("입력 데이터")).to_have_value(BELOW)  # nothing typed is lost
    page.get_by_role("button", name="처음 입력으로").click()
    expect(page.get_by_label("입력 데이터")).to_have_value(re.compile("0.08"))


def test_another_version_shows_what_it_changes(server: Server, window: Open) -> None:
    """C-53: the same input against the version in force, and what is different."""
    used = next(pack for pack in read(server, "/rule-bench")["items"] if pack["id"] == TWO)["in_force"]
    other, data = ("2.1.0", 0.045) if used == "2.0.0" else ("2.0.0", 0.045)
    page = window(VIEWER, tongue="en")
    page.goto(f"/ops/rules/{TWO}")
    page.get_by_label("Version").select_option(other)
    expect(page).to_have_url(re.compile(f"version={other}"))
    page.get_by_label("Input data").fill(json.dumps([{"line_id": "L01", "defect_rate": data}]))
    run(page, "Run")
    against = page.locator(".trial-against")
    expect(against).to_contain_text(f"Against {used}, in force")
    expect(against).to_contain_text("The version in force says")
    expect(against.locator("del").first).to_have_text("warning" if used == "2.0.0" else "critical")
    expect(against.locator("ins").first).to_have_text("critical" if used == "2.0.0" else "warning")


def test_nothing_is_tried_while_another_version_is_on_its_way(window: Open) -> None:
    """A trial of the version that is left would vanish with it, and nobody would see why."""
    page = window(VIEWER)
    page.goto(f"/ops/rules/{TWO}")
    button = page.get_by_role("button", name="판정해 보기")
    expect(button).to_be_enabled()
    shown = page.locator(".pack-version select").input_value()
    other = "2.0.0" if shown == "2.1.0" else "2.1.0"
    held: list[Any] = []

    def hold(route: Any) -> None:
        held.append(route)

    page.route(re.compile(rf"/rule-bench/{TWO}\?version={re.escape(other)}"), hold)
    page.locator(".pack-version select").select_option(other)
    expect(button).to_be_disabled()
    held.pop().continue_()
    button.click()
    expect(page.locator(".trial-said")).to_be_visible()
    expect(page.locator(".pack-version select")).to_have_value(other)


def test_a_draft_is_tried_and_what_is_wrong_is_told(server: Server, window: Open, watch: Watch) -> None:
    """A draft is not saved; a mistake in its JSON has its line, one in its rules its place."""
    watch.excuse("/test", "status of 422")
    before = read(server, f"/rule-packs/{PACK}")
    page = window(ADMIN)
    page.goto(PAGE)
    page.get_by_role("button", name="초안 고쳐 보기").click()
    draft = page.get_by_label("룰 팩 초안")
    draft.fill('{\n  "rules": [\n}')
    expect(page.locator(".bad")).to_contain_text("번째 줄을 읽지 못해요")
    expect(page.get_by_role("button", name="판정해 보기")).to_be_disabled()
    rule = {"id": "mine", "name": "내 룰", "when": "data[0].defect_rate >", "decision": "warning"}
    draft.fill(json.dumps({"version": "9", "rules": [rule]}))
    run(page)
    expect(page.locator(".rules-findings")).to_contain_text("/rules/0/when")
    rule["when"] = "data[0].defect_rate > 0.01"
    tests = [{"name": "낮으면", "input": {"data": [{"defect_rate": 0}]}, "expected": {"decision": "critical"}}]
    draft.fill(json.dumps({"version": "9", "rules": [rule], "tests": tests}))
    expect(page.locator("[data-rule=mine]")).to_contain_text("내 룰")
    run(page)
    expect(page.locator("[data-rule=mine]")).to_have_attribute("data-matched", "true")
    expect(page.locator(".trial-against")).to_contain_text("critical → warning")
    expect(page.locator(".trial-tests")).to_contain_text("1개 가운데 0개 통과")
    expect(page.locator(".trial-tests")).to_contain_text("expected critical")
    assert read(server, f"/rule-packs/{PACK}") == before


def test_feel_has_a_value_a_type_and_its_warnings_marked(window: Open, watch: Watch) -> None:
    """The issue: FEEL in the test bench; null with a warning that says where, and strict mode fails."""
    watch.excuse("/feel", "status of 422")
    page = window(VIEWER)
    page.goto(FEEL)
    expect(page.locator("h1")).to_have_text("FEEL 식을 계산해 보세요")
    run(page, "계산하기")
    expect(page.locator(".feel-value")).to_have_text("[0.1, 0.2, 0.3]")
    text = page.locator(".feel textarea").first
    text.fill('1 + ("이름" * 2)')
    text.press("Control+Enter")
    expect(page.locator(".feel-value")).to_have_text("null")
    expect(page.locator(".feel-warnings .feel-place").first).to_contain_text('1 + ("이름" * 2)')
    expect(page.locator(".feel-warnings mark").first).to_be_visible()
    page.get_by_label("엄격하게").check()
    run(page, "계산하기")
    expect(page.get_by_role("alert")).to_contain_text("FEEL_EVALUATION")
    expect(page.get_by_role("alert").locator("mark")).to_be_visible()
    text.fill("1 +")
    run(page, "계산하기")
    expect(page.get_by_role("alert")).to_contain_text("FEEL_SYNTAX")
    page.get_by_role("button", name="단항 테스트").click()
    page.locator(".feel textarea").first.fill("< 5, [10..20)")
    page.get_by_label("시험할 값").fill("12")
    run(page, "계산하기")
    expect(page.locator(".feel-value")).to_have_text("true")


def test_a_pack_that_is_not_there_says_so(window: Open, watch: Watch) -> None:
    watch.excuse("/rule-bench/nothing", "status of 404")
    page = window(VIEWER)
    page.goto("/ops/rules/nothing")
    expect(page.locator("h1")).to_have_text("찾을 수 없어요")
    expect(page.get_by_role("alert")).to_contain_text("PS-404-THING")


@pytest.mark.parametrize("tongue", ["ko", "en"])
def test_the_bench_reads_well_in_both_themes(window: Open, watch: Watch, tongue: str) -> None:
    """CONSOLE 9: words, headings, contrast."""
    walk(window(VIEWER, tongue=tongue), ["/ops/rules", PAGE, FEEL], watch.taken, cold=True)


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_results_have_no_serious_axe_finding(window: Open, watch: Watch, theme: str) -> None:
    """CONSOLE 9: with a verdict, a difference, own tests and marked rows on the page."""
    from tests.browser.walking import AXE, EYE

    page = window(VIEWER, theme=theme)
    for path, button in ((f"/ops/rules/{TWO}?version=2.1.0", "판정해 보기"), (FEEL, "계산하기")):
        page.goto(path)
        if path == FEEL:
            page.locator(".feel textarea").first.fill('[1, "a" + 1]')
        run(page, button)
        expect(page.locator(".trial").first).to_be_visible()
        page.evaluate(EYE.read_text(encoding="utf-8"))
        page.evaluate(AXE.read_text(encoding="utf-8"))
        page.evaluate("eye.still()")
        assert page.evaluate("eye.axe()") == []


def test_a_phone_has_it_in_one_column(window: Open) -> None:
    page = window(VIEWER, phone=True)
    for path in ("/ops/rules", PAGE, FEEL):
        page.goto(path)
        expect(page.locator("h1")).to_be_visible()
        assert page.evaluate("document.querySelector('main').scrollWidth") <= PHONE["width"]
    page.goto(PAGE)
    run(page)
    expect(page.locator(".trial-said")).to_contain_text("critical")
    assert page.evaluate("document.querySelector('main').scrollWidth") <= PHONE["width"]
