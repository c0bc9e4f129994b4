"""The rooms of whoever lets a change out: deployments, one rollout with its moves, and the simulation beside it."""

from __future__ import annotations

import re
from typing import Any

import pytest

from tests.api.serving import Server, until
from tests.browser import deployments as seen
from tests.browser.conftest import PHONE, Open, Watch
from tests.browser.documents import judged, simulated
from tests.browser.runs import ADMIN, read
from tests.browser.walking import look_at_dialog, walk

expect = pytest.importorskip("playwright.sync_api").expect
pytestmark = pytest.mark.xdist_group("browser")

IT, MANAGER, VIEWER = "it@example.com", "manager@example.com", "viewer@example.com"
PAGE, REPORT_PAGE = f"/ops/deployments/{seen.ID}", f"/ops/simulations/{seen.REPORT}"
PACK = "quality_rules_v2"


def told(page: Any, rollout: dict[str, Any], report: dict[str, Any] | None = None) -> None:
    """The server tells of this rollout, which would take hours to come."""
    shown = report or seen.report()

    def answer(route: Any) -> None:
        url = route.request.url
        listed = re.search(r"/deploy(\?|$)", url)
        body = {"items": [rollout], "next": None, "total": 1} if listed else rollout
        if "/simulations/" in url:
            body = seen.judgments() if "/judgments" in url else shown
        route.fulfill(json=body)

    page.route(re.compile(r"/api/v1/(deploy|simulations)\b"), answer)


def canary(server: Server, **more: Any) -> str:
    """The id of a canary of the sample tenant's newer rules, at 10 %."""
    criteria = {"error_rate_max": 0.01, "latency_p99_max_ms": 500}
    steps = {"initial_percent": 10, "increment_percent": 30, "interval_minutes": 60, "success_criteria": criteria}
    asked = {
        "artifact": {"type": "rule_pack", "id": PACK, "version": "2.1.0"}, "environment": "production",
        "strategy": {"type": "canary", "canary": steps},
        "rollback": {"auto_rollback": True, "trigger": {"error_rate": 0.05}}, **more,
    }  # fmt: skip
    answer = server.client(ADMIN).post("/deploy", json=asked)
    assert answer.status_code == 201, answer.text
    return str(answer.json()["deployment_id"])


def confirm(page: Any, button: str) -> None:
    page.get_by_role("dialog").get_by_role("button", name=button, exact=True).click()


def row(page: Any, metric: str) -> Any:
    return page.locator(f"[data-metric={metric}]")


def test_a_rollout_is_a_sentence_then_stages_then_numbers(window: Open) -> None:
    """CONSOLE 14.10: where it is and whether that is good, each stage with its count and the numbers it passed with,
    old and new beside both limits, and the real split against the target."""
    page = window(ADMIN)
    told(page, seen.rollout())
    page.goto(PAGE)
    expect(page.locator("h1")).to_have_text("새 룰이 40 %에서 기준 안에 있어요")
    stages = page.locator(".stage")
    expect(stages).to_have_count(4)
    expect(stages.nth(0)).to_contain_text("6,128건 가운데 611건")
    expect(stages.nth(0)).to_contain_text("오류율 0.5 %, p99 421 ms로 통과")
    expect(stages.nth(1)).to_contain_text("60분 가운데 32분 지남")
    expect(stages.nth(2)).to_contain_text("28분 뒤")
    expect(stages.nth(3)).to_contain_text("2.3.1은 되돌릴 수 있게 남아요")
    errors = row(page, "error_rate")
    expect(errors).to_contain_text("10 / 1,975")
    expect(errors).to_contain_text("올림 ≤ 1.0 %")
    expect(errors).to_contain_text("되돌림 > 5.0 %")
    for metric in ("error_rate", "latency_p99_ms", "anomaly_score"):
        expect(row(page, metric).locator(".badge")).to_have_text("기준 안")
        expect(row(page, metric).locator(".metric-chart polyline")).to_have_count(2)
    expect(row(page, "samples")).to_contain_text("40.3 %")
    expect(row(page, "samples").locator(".badge")).to_have_text("고르게")
    expect(page.locator(".automatic-steps")).to_contain_text("기준 안이면 70 %로 올려요")
    expect(page.locator(".automatic-steps")).to_contain_text("하나라도 넘으면 바로 2.3.1로 돌아가요")
    page.get_by_role("button", name="처음부터").click()
    expect(page).to_have_url(re.compile("since=start"))
    expect(row(page, "samples")).to_contain_text("7,492")


def test_each_move_shows_its_right_and_one_that_i_lack_can_be_asked_for(window: Open) -> None:
    """CONSOLE 14.11: a check and the permission, or a lock, the missing permission and how to ask."""
    page = window(ADMIN)
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    told(page, seen.rollout())
    page.goto(PAGE)
    moves = page.locator(".deploy-move")
    expect(moves).to_have_count(3)
    expect(moves.nth(0)).to_contain_text("deploy.pause")
    expect(page.get_by_role("button", name="지금 70 %로")).to_be_disabled()
    expect(moves.nth(1)).to_contain_text("deploy.promote 없음")
    moves.nth(1).get_by_role("button", name="부탁하기").click()
    expect(page.locator(".toast")).to_contain_text("복사했어요")
    copied = page.evaluate("navigator.clipboard.readText()")
    assert "deploy.promote" in copied and PAGE in copied


@pytest.mark.parametrize(
    ("rollout", "sentence", "also"),
    [
        (seen.paused, "새 룰이 40 %에서 멈춰 있어요", "멈춰 있는 동안에는 올라가지 않아요"),
        (seen.rolled_back, "오류율 6.2 %가 기준 5.0 %를 넘어 2.3.1로 스스로 되돌아갔어요", "오지 않았어요"),
        (seen.without_samples, "새 룰이 40 %에 있지만 아직 표본이 없어요", "시간만 보고 올려요"),
    ],
)
def test_a_rollout_that_stands_says_why(window: Open, rollout: Any, sentence: str, also: str) -> None:
    """CONSOLE 14.11: paused, taken back by itself with metric, value and limit, and nothing to judge by."""
    page = window(ADMIN)
    told(page, rollout())
    page.goto(PAGE)
    expect(page.locator("h1")).to_have_text(sentence)
    expect(page.locator("#main")).to_contain_text(also)


def test_the_report_tells_real_from_large(window: Open) -> None:
    """CONSOLE 14.12: one sentence, three numbers, what becomes what, people's labels, and the new misses."""
    page = window(ADMIN)
    told(page, seen.rollout())
    page.goto(PAGE)
    report = page.get_by_role("region", name="모의 실행 보고서")
    expect(report).to_contain_text("차이는 우연이 아니지만 작아요.")
    expect(report).to_contain_text("놓친 불량은 절반 넘게 줄어요.")
    expect(report).to_contain_text("< 0.001")
    expect(report).to_contain_text("94.2 → 96.1 %")
    expect(report.get_by_role("link", name="PDF")).to_have_attribute("href", f"/api/v1{REPORT_PAGE[4:]}/report.pdf")
    report.get_by_role("button", name=re.compile("236 ?건, normal에서 warning")).click()
    expect(page.get_by_role("dialog")).to_contain_text("normal → warning")
    expect(page.get_by_role("dialog").locator("tbody tr")).to_have_count(4)
    look_at_dialog(page)
    page.keyboard.press("Escape")
    report.get_by_role("button", name="보기").click()
    expect(page.get_by_role("dialog")).to_contain_text("새로 놓친 불량")


def test_a_report_claims_no_more_than_it_knows(window: Open) -> None:
    """CONSOLE 14.12: with p >= 0.05 the difference may be chance; without labels there is no accuracy; without samples
    nothing is compared."""
    chance = {
        "test": {"name": "chi_square", "statistic": 1.2, "p_value": 0.27, "confidence_level": 0.95,
                 "significant": False, "effect_size": {"name": "Cramér's V", "value": 0.01, "magnitude": "negligible"}},
        "labelled": 0,
    }  # fmt: skip
    page = window(ADMIN)
    told(page, seen.rollout(), seen.report(**chance))
    page.goto(REPORT_PAGE)
    expect(page.locator("h1")).to_have_text("차이가 우연일 수 있어요.")
    expect(page.locator(".report")).to_contain_text("사람이 매긴 답이 없어서")
    expect(page.locator(".dumbbells")).to_have_count(0)
    empty = seen.report()["result"]
    empty["summary"]["total_samples"] = 0
    page = window(ADMIN, tongue="en")
    told(page, seen.rollout(), seen.report(**empty | {"recommendation": "insufficient_data"}))
    page.goto(REPORT_PAGE)
    expect(page.locator("h1")).to_have_text("There are no stored judgments in this period to compare.")
    expect(page.locator(".report")).to_contain_text("Not enough data")


@pytest.mark.parametrize("tongue", ["ko", "en"])
@pytest.mark.parametrize("rollout", [seen.rollout, seen.paused, seen.rolled_back, seen.without_samples])
def test_every_state_reads_well_in_both_themes(window: Open, watch: Watch, tongue: str, rollout: Any) -> None:
    """CONSOLE 9: words, headings, contrast."""
    page = window(ADMIN, tongue=tongue)
    told(page, rollout())
    walk(page, [PAGE, REPORT_PAGE, "/ops/deployments"], watch.taken, cold=True)


def test_a_phone_has_it_in_one_column(window: Open) -> None:
    page = window(ADMIN, phone=True)
    told(page, seen.rollout())
    for path in (PAGE, REPORT_PAGE, "/ops/deployments"):
        page.goto(path)
        expect(page.locator("h1")).to_be_visible()
        assert page.evaluate("document.querySelector('main').scrollWidth") <= PHONE["width"]
    page.goto(PAGE)
    expect(page.get_by_role("button", name="2.3.1로 되돌리기")).to_be_visible()


def test_w_4_11_1_a_canary_is_paused_resumed_and_promoted_by_hand(server: Server, window: Open) -> None:
    """W-4.11.1: begun over HTTP, seen in the list, stopped, let go and sent to its next stage before its time."""
    id = canary(server)
    page = window(IT)
    page.goto("/ops/deployments")
    expect(page.get_by_role("link", name=PACK).first).to_be_visible()
    page.goto(f"/ops/deployments/{id}")
    expect(page.locator("h1")).to_contain_text("10 %")
    expect(page.locator(".stage")).to_have_count(4)
    page.get_by_role("button", name="일시 정지").click()
    look_at_dialog(page)
    confirm(page, "일시 정지")
    expect(page.locator("h1")).to_contain_text("멈춰 있어요")
    assert read(server, f"/deploy/{id}")["status"] == "paused"
    page.get_by_role("button", name="다시 진행").click()
    confirm(page, "다시 진행")
    expect(page.locator("h1")).not_to_contain_text("멈춰 있어요")
    page.get_by_role("button", name="지금 40 %로").click()
    confirm(page, "지금 40 %로")
    expect(page.locator("h1")).to_contain_text("40 %")
    expect(page.locator(".history")).to_contain_text("40 %로 올림")
    assert read(server, f"/deploy/{id}")["percent"] == 40


def test_w_4_11_2_a_roll_back_asks_for_the_version_to_be_typed(server: Server, window: Open) -> None:
    """W-4.11.2, CONSOLE 3 class C: it says what stays, wants the version typed, and is done once."""
    id = canary(server)
    back = read(server, f"/deploy/{id}")["to_version"]
    page = window(IT, tongue="en")
    page.goto(f"/ops/deployments/{id}")
    page.get_by_role("button", name=f"Roll back to {back}").click()
    dialog = page.get_by_role("dialog")
    look_at_dialog(page)
    expect(dialog.get_by_role("button", name="Roll back")).to_be_disabled()
    dialog.get_by_label("Reason").fill("too strict on the night shift")
    dialog.get_by_label(f"Type {back} to confirm").fill(back)
    dialog.get_by_role("button", name="Roll back").click()
    expect(page.locator("h1")).to_contain_text(f"Rolled back to {back}")
    expect(page.get_by_role("button", name="Pause")).to_have_count(0)
    assert read(server, f"/deploy/{id}")["status"] == "rolled_back"


def test_c_58_what_the_new_version_judges_is_counted_while_one_looks(server: Server, window: Open) -> None:
    """C-58: a run that the canary takes shows up in the numbers without a reload."""
    id = canary(server, strategy={"type": "canary", "canary": {"initial_percent": 99, "interval_minutes": 60}})
    page = window(VIEWER)
    page.goto(f"/ops/deployments/{id}")
    expect(row(page, "samples").locator("td").nth(1)).to_contain_text("0")
    expect(page.get_by_role("button", name="일시 정지")).to_be_disabled()
    for _ in range(2):  # one of a hundred stays with the old version
        judged(server, PACK)
    until(lambda: read(server, f"/deploy/{id}"), lambda one: one["versions"][-1]["samples"] > 0)
    expect(row(page, "samples").locator("td").nth(1)).to_contain_text(re.compile("50|100 %"))


def test_w_4_13_1_the_report_of_a_real_replay_is_shown(server: Server, window: Open) -> None:
    """W-4.13.1, W-4.13.3: a run replays the last week; its report says the same numbers on its page and as files."""
    run = simulated(server, PACK, "2.1.0")
    kept = read(server, "/simulations")["items"]
    id = next(each["simulation_id"] for each in kept if each["run_id"] == run)
    result = read(server, f"/simulations/{id}")["result"]
    page = window(ADMIN, tongue="en")
    page.goto(f"/ops/simulations/{id}")
    expect(page.locator(".report")).to_contain_text(f"{result['summary']['total_samples']:,} judgments")
    changed = result["risk_assessment"]["changed_decisions"]
    expect(page.locator(".report-three")).to_contain_text(f"{changed:,} judgment")
    cells = page.locator(".matrix button")
    assert sum(int(re.sub(r"\D", "", text)) for text in cells.all_inner_texts()) == result["summary"]["total_samples"]
    page.locator(".cell-changed").first.click()
    expect(page.get_by_role("dialog").locator("tbody tr").first).to_be_visible()
    page.keyboard.press("Escape")
    for name in page.locator(".report-files a").all_inner_texts():
        link = page.get_by_role("link", name=name, exact=True)
        answer = page.request.get(str(link.get_attribute("href")))
        assert answer.status == 200 and len(answer.body()) > 200, name
