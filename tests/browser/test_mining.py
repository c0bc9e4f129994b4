"""What really happened, as a map: what it shows, what hides and what never changes, with made answers."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from tests.browser import mining_answers as answers
from tests.browser.conftest import Open, Watch
from tests.browser.runs import ADMIN
from tests.browser.walking import look_at_dialog, walk

expect = pytest.importorskip("playwright.sync_api").expect
pytestmark = pytest.mark.xdist_group("browser")
MAP = f"/mining/{answers.ID}"


def fulfilled(body: Any, status: int = 200) -> Callable[[Any], None]:
    return lambda route: route.fulfill(status=status, content_type="application/json", body=json.dumps(body))


def answered(page: Any, **given: Any) -> Any:
    """A page whose mining is made: the list, the map, the difference, and no logs."""
    replies = {
        r"/processes/mining\?": {"items": [answers.line()], "next": None}, r"/mining/logs": {"items": [], "next": None},
        rf"/processes/mining/{answers.ID}(\?.*)?$": given.get("map", answers.mined_map()),
        rf"/processes/mining/{answers.ID}/diff/": given.get("diff", answers.diff()),
    }  # fmt: skip
    for address, body in replies.items():
        page.route(re.compile(address), fulfilled(body))
    return page


def _way(page: Any, source: str, target: str) -> Any:
    return page.locator(f"[data-flow='{json.dumps([source, target], ensure_ascii=False, separators=(',', ':'))}']")


def test_the_menu_leads_to_the_list_and_the_list_to_a_map(window: Open) -> None:
    """P-7.1.1: processes with a history, how they fit and where they wait."""
    page = answered(window(ADMIN))
    page.goto("/")
    page.get_by_role("link", name="프로세스 마이닝").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("프로세스 마이닝")
    row = page.get_by_role("row", name=re.compile("고객 클레임 처리"))
    expect(row).to_contain_text("1,260")
    expect(row).to_contain_text("92.4 %")
    expect(row).to_contain_text("보상 승인 · 1일 7시간")
    expect(row).to_contain_text("찾은 모델이 승인을 기다려요")
    row.get_by_role("link", name="고객 클레임 처리").click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("운영 중 v3")


def test_every_number_is_the_logs_and_goes_in_as_it_goes_out(window: Open) -> None:
    """P-7.2.2, CONSOLE 14.5: the paths of the map, counted anew from the variants; as many cases begin as end."""
    page = answered(window(ADMIN))
    page.goto(f"{MAP}?paths=16")
    ways = page.locator(".mine-way")
    expect(ways).to_have_count(16)
    planted: Counter[tuple[str, str]] = Counter()
    for steps, cases, _, _ in answers.VARIANTS:
        for pair in zip(("", *steps), (*steps, ""), strict=True):
            planted[pair] += cases
    shown = dict(zip(
        [tuple(json.loads(flow)) for flow in ways.evaluate_all("all => all.map(one => one.dataset.flow)")],
        ways.locator("path").evaluate_all("all => all.map(one => Number(one.getAttribute('stroke-width')))"),
        strict=True,
    ))  # fmt: skip
    assert set(shown) == set(planted)
    by_width = sorted(shown, key=lambda pair: shown[pair])
    assert [planted[pair] for pair in by_width] == sorted(planted.values()), "a wider path was taken less often"
    assert (min(shown.values()) >= 1.5, max(shown.values())) == (True, 8.5)
    numbers = Counter(int(text.replace(",", "")) for text in page.locator(".mine-count").all_text_contents())
    assert numbers == Counter(planted.values())
    begun = sum(count for (source, _), count in planted.items() if not source)
    assert begun == sum(count for (_, target), count in planted.items() if not target) == answers.CASES
    expect(page.get_by_role("button", name="내용 분류 1,260회 · 일 11초 , AI가 함")).to_be_visible()
    cut = page.locator(".mine-step-text > span")
    assert all(cut.nth(at).evaluate("text => text.scrollWidth <= text.clientWidth") for at in range(cut.count()))


def test_waits_are_in_five_steps_and_the_modes_only_recolour(window: Open) -> None:
    """CONSOLE 14.5, 14.6: below 1 h, 6 h, 12 h, a day, more; Count and Human and AI change no number and no place."""
    page = answered(window(ADMIN))
    page.goto(MAP)
    for target, step in (
        (answers.CLASSIFY, 1),
        (answers.INSPECT, 3),
        (answers.FIND, 3),
        (answers.JUDGE, 4),
        (answers.APPROVE, 5),
    ):
        source = answers.STEPS[answers.STEPS.index(target) - 1]
        expect(_way(page, source, target)).to_have_class(re.compile(f"mine-wait-{step}"))
    colour = _way(page, answers.FIND, answers.JUDGE).locator("path")
    look = """() => [...document.querySelectorAll('.mine-map text, .mine-step')]
        .map(one => one.textContent + (one.getAttribute('style') ?? '') + one.getAttribute('x'))"""
    before, brown = page.evaluate(look), colour.evaluate("one => getComputedStyle(one).stroke")
    assert brown == "rgb(135, 72, 5)"
    for mode in ("횟수", "사람과 AI"):
        page.get_by_role("button", name=mode, exact=True).click()
        assert page.evaluate(look) == before
        assert colour.evaluate("one => getComputedStyle(one).stroke") != brown
    strip = page.locator(f"[data-step='{answers.CLASSIFY}'] > i")
    expect(strip).to_have_attribute("style", re.compile(r"agent\) 100%"))


def test_the_most_frequent_path_is_a_straight_spine(window: Open) -> None:
    """CONSOLE 14.5: down in one column; skips at the right or far left of it, returns at its left."""
    page = answered(window(ADMIN))
    page.goto(f"{MAP}?paths=16")
    boxes = [page.locator(f"[data-step='{step}']").bounding_box() for step in answers.STEPS]
    assert len({round(box["x"]) for box in boxes}) == 1
    assert [box["y"] for box in boxes] == sorted(box["y"] for box in boxes)
    left, right = boxes[0]["x"], boxes[0]["x"] + boxes[0]["width"]
    for source, target, at_the_left in ((answers.JUDGE, answers.FIND, True), (answers.CLASSIFY, answers.FIND, False)):
        box = _way(page, source, target).bounding_box()
        assert box["x"] < left - 20 if at_the_left else box["x"] + box["width"] > right + 20


def test_sliders_hide_and_say_what_is_seen(window: Open) -> None:
    """CONSOLE 14.6: the layout is still until the slider is let go; a sentence says what is seen."""
    page = answered(window(ADMIN))
    page.goto(f"{MAP}?paths=14")
    keys = page.locator(".mine-sliders")
    expect(keys).to_contain_text("실행 1,252건(99.4 %)의 길이 보여요. 8건만 지난 경로 2개는 숨겼어요.")
    slider = page.get_by_role("slider", name="경로")
    expect(slider).to_have_attribute("aria-valuetext", "14 / 16")
    numbers = page.locator(".mine-count").all_text_contents()
    place = page.locator(f"[data-step='{answers.NOTIFY}']").bounding_box()
    slider.focus()
    page.keyboard.down("ArrowLeft")  # held: nothing is let go yet
    expect(page.locator(".mine-way.mine-off")).to_have_count(1)
    assert page.locator(f"[data-step='{answers.NOTIFY}']").bounding_box() == place
    page.keyboard.up("ArrowLeft")
    expect(page).to_have_url(re.compile("paths=13"))
    expect(page.locator(".mine-way")).to_have_count(13)
    assert set(page.locator(".mine-count").all_text_contents()) <= set(numbers)
    keys.get_by_role("button", name="보기").click()
    expect(page.locator(".mine-way")).to_have_count(16)
    expect(keys).to_contain_text("실행 1,260건(100 %)의 길이 보여요.")


def test_hidden_activities_are_counted_in_the_sentence(window: Open) -> None:
    """CONSOLE 14.6: an activity that is hidden takes its paths with it; what cases it leaves whole is said."""
    page = answered(window(ADMIN), map=answers.mined_map())
    page.goto(f"{MAP}?steps=7&paths=16")
    expect(page.locator(".mine-step")).to_have_count(7)
    expect(page.locator(f"[data-step='{answers.INSPECT}']")).to_have_count(0)
    without = sum(cases for steps, cases, _, _ in answers.VARIANTS if answers.INSPECT not in steps)
    expect(page.locator(".mine-sliders")).to_contain_text(f"실행 {without}건")
    expect(page.locator(".mine-sliders")).to_contain_text("단계 1개는 숨겼어요")


def test_deviations_and_variants_lead_to_runs(window: Open) -> None:
    """P-7.2.2, CONSOLE 14.7: how cases deviate, whether the new model has it, and the runs behind it."""
    page = answered(window(ADMIN))
    page.goto(MAP)
    fits = page.get_by_role("region", name="모델과 얼마나 맞나요")
    expect(fits).to_contain_text("1,260건 가운데 1,164건이 맞아요")
    expect(fits).to_contain_text("96건이 어긋나요 · 정밀도 0.91")
    skipped = fits.get_by_role("button", name="현품 확인을 건너뜀")
    expect(skipped).to_contain_text("56건")
    expect(skipped).to_contain_text("새 모델도 어긋남")
    expect(fits.get_by_role("button", name="원인 조사로 되돌아감")).to_contain_text("새 모델에 있음")
    variants = page.get_by_role("region", name="변형")
    first = variants.locator("[data-variant='1']")
    letters = first.locator(".mine-letters i").all_inner_texts()
    assert len(set(letters)) == len(answers.STEPS), "two steps of one letter"
    returned = variants.locator("[data-variant='6']")
    expect(returned.locator(".mine-letters .mine-bad")).to_have_count(2)
    expect(returned).to_have_accessible_name(re.compile("어긋난 단계: 원인 조사, 책임 판정"))
    returned.hover()
    expect(_way(page, answers.JUDGE, answers.FIND)).to_have_class(re.compile("mine-on"))
    expect(_way(page, answers.CLASSIFY, answers.APPROVE)).to_have_class(re.compile("mine-off"))
    skipped.click()
    expect(page).to_have_url(re.compile("deviation=1"))
    expect(variants.locator("[data-variant]")).to_have_count(2)
    expect(variants.locator(".mine-chosen a").first).to_have_attribute("href", "/runs/r5case0")
    page.get_by_role("button", name="거르기 지우기").click()
    expect(variants.locator("[data-variant]")).to_have_count(8)
    variants.get_by_role("button", name="1개 더 보기 (8건)").click()
    expect(variants.locator("[data-variant]")).to_have_count(9)


def test_the_bottleneck_has_one_callout(window: Open) -> None:
    """CONSOLE 14.7: the step before which most time is lost, the runs that wait there, and one person more."""
    page = answered(window(ADMIN))
    page.goto(MAP)
    card = page.get_by_role("region", name="병목")
    for text in ("보상 승인을 1일 7시간 기다려요", "39 %", "3일 2시간", "12건", "2명"):
        expect(card).to_contain_text(text)
    expect(card.get_by_role("link", name="기다리는 실행 보기")).to_have_attribute(
        "href", f"/runs?name={answers.ID}&node=step_6"
    )
    card.get_by_role("button", name="한 명 늘리면").click()
    expect(card).to_contain_text("약 20시간 40분 기다려요")  # 31 h × 2 / 3
    card.get_by_role("button", name="닫기").click()
    expect(card).to_have_count(0)
    page.get_by_role("button", name="병목 보기").click()
    expect(card).to_be_visible()


def test_the_list_says_the_same_as_the_map(window: Open) -> None:
    """CONSOLE 9: every path and activity as a table for readers; what the sliders hide is told there."""
    page = answered(window(ADMIN, tongue="en"))
    page.goto(f"{MAP}?paths=14")
    page.get_by_role("button", name="List", exact=True).click()
    paths = page.get_by_role("table", name=re.compile("^Paths 16"))
    expect(paths.get_by_role("row")).to_have_count(17)
    expect(paths.get_by_role("row", name=re.compile(f"{answers.NOTIFY} {answers.PAY} 8 8"))).to_contain_text(
        "hidden on the map"
    )
    page.get_by_role("button", name="Full screen").click()
    expect(page.locator(".mine-full")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.locator(".mine-full")).to_have_count(0)


def test_the_map_is_walked_by_keyboard(window: Open) -> None:
    """CONSOLE 9: arrows follow the most frequent path; Enter leaves only the paths of a step."""
    page = answered(window(ADMIN))
    page.goto(f"{MAP}?paths=16")
    page.locator(f"[data-step='{answers.RECEIVE}']").focus()
    page.keyboard.press("ArrowDown")
    expect(page.locator(f"[data-step='{answers.CLASSIFY}']")).to_be_focused()
    page.keyboard.press("ArrowDown")
    expect(page.locator(f"[data-step='{answers.INSPECT}']")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator(".mine-way:not(.mine-off)")).to_have_count(2)


def test_the_replay_respects_reduced_motion(window: Open) -> None:
    """CONSOLE 5: the history goes along the map; whoever wants no motion sees one token appear step by step."""
    page = answered(window(ADMIN))
    page.goto(f"{MAP}?paths=16")
    page.get_by_role("button", name="다시 돌려 보기").click()
    expect(page.locator(".mine-drop")).to_have_count(1)
    expect(page.locator(".mine-playing")).to_contain_text("지금: 내용 분류")
    assert page.locator(".mine-drop").evaluate("one => getComputedStyle(one).animationName") == "none"
    page.get_by_role("button", name="멈추기").click()
    expect(page.locator(".mine-drop")).to_have_count(0)


@pytest.mark.parametrize(
    ("tongue", "title", "how"),
    [("ko", "아직 볼 기록이 없어요", "기록 가져오기"), ("en", "There is no history yet", "Import a log")],
)
def test_without_history_it_says_how_to_get_one(tongue: str, title: str, how: str, window: Open) -> None:
    """CONSOLE 3: an empty list and an empty map have a sentence, a button and a command."""
    page = answered(
        window(ADMIN, tongue=tongue),
        map=answers.mined_map(
            cases=0, activities=[], flows=[], variants=[], bottleneck=None, conformance=None, discovered=None
        ),
    )
    page.route(re.compile(r"/processes/mining\?"), fulfilled({"items": [], "next": None}))
    page.goto("/mining")
    expect(page.get_by_text(title)).to_be_visible()
    expect(page.get_by_role("button", name=how)).to_have_count(2)
    page.goto(MAP)
    expect(page.get_by_role("button", name=re.compile(f"penstock mine {answers.ID}"))).to_be_visible()
    expect(page.get_by_role("button", name=how)).to_be_visible()


def test_what_is_refused_is_told(window: Open, watch: Watch) -> None:
    """A log of 10,000 activities is no process: the refusal is shown with its code, and nothing was kept."""
    watch.excuse("422", "Unprocessable")
    refusal = {
        "code": "PROC-422-LOG",
        "title": "The log is refused.",
        "detail": "It has 10,000 activities; a map shows at most 1,000.",
        "hint": "Give the column that names the step.",
    }
    page = answered(window(ADMIN, tongue="en"))
    page.route(re.compile(r"/mining/logs$"), fulfilled(refusal, 422))
    page.goto("/mining")
    page.locator("input[data-log]").set_input_files(
        {"name": "many.csv", "mimeType": "text/csv", "buffer": b"case,activity\n1,a\n"}
    )
    dialog = page.get_by_role("dialog", name="The log could not be imported")
    expect(dialog).to_contain_text("10,000 activities")
    expect(dialog).to_contain_text("Give the column")
    look_at_dialog(page)
    page.route(re.compile(rf"/processes/mining/{answers.ID}(\?.*)?$"), fulfilled(refusal, 422))
    page.goto(MAP)
    expect(page.get_by_role("alert")).to_contain_text("10,000 activities")
    expect(page.get_by_role("alert")).to_contain_text("PROC-422-LOG")


DIFF = f"{MAP}/diff/{answers.MODEL}"
VIEWS = [
    "/mining", MAP, f"{MAP}?mode=count&paths=9", f"{MAP}?mode=people&variant=6", f"{MAP}?view=list",
    f"{MAP}?deviation=2&view=map", DIFF, f"{DIFF}?change=2&over=counts", f"{DIFF}?look=model", f"{DIFF}?view=list",
]  # fmt: skip


@pytest.mark.parametrize(("tongue", "theme"), [("ko", "light"), ("en", "dark")])
def test_every_view_of_mining_can_be_used_by_all(tongue: str, theme: str, window: Open, watch: Watch) -> None:
    """Both tongues and themes: no missing word, no empty panel, nothing serious from axe."""
    page = answered(window(ADMIN, tongue=tongue, theme=theme))
    walk(page, VIEWS, watch.taken, cold=tongue == "ko")


def test_a_phone_shows_mining_in_one_column(window: Open, watch: Watch) -> None:
    """Nothing is wider than the screen; the map is a list there."""
    page = answered(window(ADMIN, phone=True))

    def look() -> list[str]:
        wide = page.evaluate("document.documentElement.scrollWidth")
        return [*watch.taken(), *([f"{wide} px wide"] if wide > 390 else [])]

    walk(page, VIEWS, look, cold=False, other_theme=False)
