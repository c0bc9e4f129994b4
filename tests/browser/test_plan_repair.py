"""Plans that do not run as they should: cycles, ill health, files that were edited, agents and servers that die."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.api.plans import DONE, PlanSite, Registered, plan_site
from tests.browser.conftest import Open, listening
from tests.browser.test_plan import ADMIN, OPERATOR, card, column, confirm, result
from tests.browser.walking import look_at_dialog

expect = pytest.importorskip("playwright.sync_api").expect
pytestmark = pytest.mark.xdist_group("browser")


@pytest.fixture(scope="module")
def site(chromium: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[PlanSite]:
    with plan_site(tmp_path_factory.mktemp("plans"), "sqlite") as one:
        yield one


def in_a_cycle(site: PlanSite) -> Registered:
    files = site.project()
    files.task("a", steps=DONE, title="Read", depends_on=["b"])
    files.task("b", steps=DONE, title="Write", depends_on=["a"])
    project = site.registered(files)
    project.done("/workflow:start", {})
    project.until_state("paused")
    return project


def test_a_cycle_is_drawn_and_one_task_is_completed_by_hand(site: PlanSite, window: Open) -> None:
    """T-A.14, T-8.3.4, T-8.3.5, T-X.30: the plan says why it stands still; after the repair it goes on."""
    project = in_a_cycle(site)
    page = window(ADMIN, of=site.server)
    listening(page, f"/plans/{project.id}")
    expect(page.get_by_text("작업들이 서로 기다려서 멈췄어요")).to_be_visible()
    page.get_by_role("button", name="고리 보기").click()
    expect(page).to_have_url(re.compile("view=graph"))
    expect(page.locator(".deps-in-cycle")).to_have_count(2)
    expect(page.locator(".deps-edge.deps-cyclic")).to_have_count(2)
    ways = page.get_by_role("group", name="푸는 길")
    expect(ways.get_by_role("button")).to_have_text(["의존 고치기", "하나를 강제로 완료", "하나를 취소"])
    ways.get_by_role("button", name="하나를 강제로 완료").click()
    page.get_by_role("dialog").get_by_role("button", name="a Read").click()
    look_at_dialog(page)
    send = page.get_by_role("dialog").get_by_role("button", name="강제로 완료")
    expect(send).to_be_disabled()
    page.get_by_label("이유", exact=True).fill("손으로 했어요")
    send.click()
    expect(page.locator(".deps-in-cycle")).to_have_count(0)
    page.get_by_role("button", name="이어서 하기").click()
    confirm(page, "이어서 하기")
    expect(page.locator("h1 .badge")).to_have_text("모두 끝남")
    assert project.task("a")["agent"] == "admin" and project.ended("b")["status"] == "completed"


def test_t_8_3_5_a_dependency_is_modified(site: PlanSite, window: Open) -> None:
    """The server writes the file; the run is not started anew."""
    project = in_a_cycle(site)
    before = project.get()["run"]
    page = window(ADMIN, of=site.server, tongue="en")
    listening(page, f"/plans/{project.id}?view=graph")
    page.get_by_role("button", name="Modify a dependency").click()
    look_at_dialog(page)
    page.get_by_role("radio", name="a → b").check()
    confirm(page, "Remove it")
    expect(page.locator(".deps-in-cycle")).to_have_count(0)
    assert project.files.front("a").get("depends_on", []) == []
    page.get_by_role("button", name="Resume").click()
    confirm(page, "Resume")
    expect(page.locator("h1 .badge")).to_have_text("Completed")
    assert project.get()["run"] == before


def test_t_x_31_ill_health_is_told_and_starting_needs_a_second_word(site: PlanSite, window: Open) -> None:
    """T-4.2.3, T-7.1.3: the cause by name, what happens by itself, and the question before a start."""
    files = site.project(critical_files=["CLAUDE.md"])
    files.task("one", steps=DONE)
    project = site.registered(files)
    page = window(OPERATOR, of=site.server)
    listening(page, f"/plans/{project.id}")
    health = page.get_by_role("region", name="건강")
    expect(health).to_contain_text("아직 살펴보지 않았어요")
    page.get_by_role("button", name="지금 살펴보기").click()
    expect(health).to_contain_text("나쁨 (70점)")
    expect(health).to_contain_text("CLAUDE.md 파일이 없어요")
    page.get_by_role("button", name="계획 돌리기").click()
    expect(page.get_by_role("dialog")).to_contain_text("그래도 돌릴까요?")
    expect(page.get_by_role("dialog")).to_contain_text("CLAUDE.md 파일이 없어요")
    look_at_dialog(page)
    confirm(page, "그래도 돌리기")
    expect(column(page, "finished").locator("[data-task=one]")).to_be_visible()
    (files.folder / "CLAUDE.md").write_text("Be kind.")
    page.get_by_role("button", name="지금 살펴보기").click()
    expect(health).to_contain_text("좋음 (100점)")


def test_t_x_8_edited_files_are_shown_and_taken_over_while_the_plan_runs(site: PlanSite, window: Open) -> None:
    files = site.project()
    files.task("long", steps=[{"init": True}, files.waits(), result()])
    project = site.registered(files)
    project.done("/workflow:start", {})
    page = window(OPERATOR, of=site.server)
    listening(page, f"/plans/{project.id}")
    expect(column(page, "in_progress").locator("[data-task=long]")).to_be_visible()
    files.task("extra", steps=DONE, depends_on=["long"])
    page.get_by_role("button", name="파일과 맞추기").click()
    expect(page.get_by_role("dialog")).to_contain_text(re.compile("새 작업 1.*extra", re.DOTALL))
    look_at_dialog(page)
    confirm(page, "맞추기")
    expect(column(page, "pending").locator("[data-task=extra]")).to_contain_text("막힘")
    page.get_by_role("button", name="작업 더하기").click()
    look_at_dialog(page)
    page.get_by_label("번호").fill("hand")
    page.get_by_label("제목").fill("손으로 더한 것")
    page.get_by_label("완료 기준").fill("있어요")
    page.get_by_label("기다릴 작업").select_option("long")
    confirm(page, "더하기")
    expect(card(page, "hand")).to_contain_text("손으로 더한 것")
    assert files.front("hand")["success_criteria"] == ["있어요"]
    page.get_by_role("button", name="파일과 맞추기").click()
    expect(page.get_by_role("dialog")).to_contain_text("파일과 계획이 같아요")
    page.keyboard.press("Escape")
    files.let_go()
    expect(column(page, "finished").locator("[data-task=extra]")).to_be_visible()


def test_t_x_20_what_was_completed_by_recovery_is_marked(site: PlanSite, window: Open) -> None:
    """T-A.9, T-8.1.7: on the board, in its panel, and with an incident report that can be read."""
    files = site.project()
    files.task("crash", steps=[{"init": True}, {"progress": 85}, {"die": "KILL"}], success_criteria=["all of it"])
    project = site.registered(files)
    project.execute("crash")
    assert project.ended("crash")["completedByRecovery"]
    page = window(OPERATOR, of=site.server, tongue="en")
    listening(page, f"/plans/{project.id}?task=crash")
    expect(card(page, "crash").locator(".badge")).to_have_text(["Completed", "After a crash"])
    expect(page.get_by_role("complementary", name="Task in detail")).to_contain_text("Look at the result")
    page.get_by_role("button", name="Reports").click()
    page.get_by_role("button", name="Incident", exact=True).click()
    expect(page.get_by_role("article", name="Incident report")).to_contain_text("crash")


def test_t_9_2_5_after_a_crash_of_the_server_the_plan_asks_to_be_resumed(
    chromium: Any, tmp_path: Path, window: Open
) -> None:
    """T-A.17: the agent that lived on is adopted; its task is done once."""
    with plan_site(tmp_path, "sqlite") as site:
        files = site.project(max_concurrent=1)
        steps = files.attempts([{"init": True}, {"say": "Still here."}, files.waits(), result()])
        files.task("long", steps=steps, priority=1)
        files.task("next", steps=DONE)
        project = site.registered(files)
        project.done("/workflow:start", {})
        files.begun(1, 1)
        project.until("long", lambda task: task["lastLine"])
        site.server.kill()
        site.server.start()
        page = window(OPERATOR, of=site.server)
        listening(page, f"/plans/{project.id}")
        expect(page.get_by_text("서버가 다시 켜졌어요")).to_be_visible()
        expect(page.locator("h1 .badge")).to_have_text("멈춤")
        page.get_by_role("button", name="이어서 하기").click()
        confirm(page, "이어서 하기")
        files.let_go()
        expect(column(page, "finished").locator("[data-task]")).to_have_count(2)
        assert (files.folder / "counted-1").read_text().count("\n") == 1
        page.close()  # it would miss the server
