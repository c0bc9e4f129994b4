"""The rooms of people who let agents work: projects, the board of one, a task with what its agent says and changes."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.api.plans import DONE, PlanSite, ProjectFolder, Registered, plan_site
from tests.api.serving import ROOT
from tests.browser.conftest import PHONE, Open, Watch, listening
from tests.browser.walking import look_at_dialog, walk

expect = pytest.importorskip("playwright.sync_api").expect
pytestmark = pytest.mark.xdist_group("browser")

ADMIN, OPERATOR, VIEWER = "admin@example.com", "operator@example.com", "viewer@example.com"
CRITERIA = [f"codes of part {number} are mapped" for number in range(1, 11)]


@pytest.fixture(scope="module")
def site(chromium: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[PlanSite]:
    with plan_site(tmp_path_factory.mktemp("plans"), "sqlite") as one:
        yield one


def result(*criteria: str, text: str = "done") -> dict[str, Any]:
    return {"event": {"type": "result", "result": text, "matched_criteria": list(criteria)}}


def column(page: Any, name: str) -> Any:
    return page.locator(f"[data-column={name}]")


def card(page: Any, task: str) -> Any:
    return page.locator(f".board [data-task={task}]")


def confirm(page: Any, button: str) -> None:
    """The button of the question that is open."""
    page.get_by_role("dialog").get_by_role("button", name=button, exact=True).click()


def doubtful(site: PlanSite) -> Registered:
    """A task whose result is doubtful, and whose changes are in a worktree."""
    files = site.project(merge="review")
    steps = [{"init": True}, {"say": "Seven of ten."}, {"edit": {"map.csv": "a,1\nb,2\n"}}, result(*CRITERIA[:7])]
    files.task("map", steps=steps, title="Map part codes", success_criteria=CRITERIA)
    files.task("report", steps=DONE, title="Write the report", depends_on=["map"])
    files.git()
    project = site.registered(files)
    project.done("/workflow:start", {})
    project.until("map", lambda task: task["reviewRequired"])
    return project


def failing(site: PlanSite) -> Registered:
    files = site.project(max_retries=1)
    bad = [{"init": True}, {"stderr": "no such table\n"}, {"exit": 3}]
    files.task("load", steps=files.attempts(bad, bad, [{"init": True}, result()]), title="Load the orders")
    project = site.registered(files)
    project.execute("load")
    project.ended("load")
    return project


def test_t_5_2_1_the_board_moves_while_a_plan_runs(site: PlanSite, window: Open) -> None:
    """T-7.1.1, T-7.1.5, T-10.1.4, T-10.2.3: cards go from column to column by themselves, with the last line."""
    files = site.project(title="자료 옮기기", max_concurrent=1)
    steps = [{"init": True}, {"progress": 40}, {"say": "Two foreign keys form a cycle."}, files.waits()]
    files.task("orders", steps=[*steps, result("it works")], title="Orders", success_criteria=["it works"], priority=1)
    files.task("stock", steps=DONE, title="Stock", depends_on=["orders"])
    project = site.registered(files)
    page = window(OPERATOR, of=site.server)
    page.goto("/plans")
    page.get_by_role("link", name="자료 옮기기", exact=True).click()
    expect(page).to_have_url(f"{site.server.url}/plans/{project.id}")
    listening(page, f"/plans/{project.id}")
    expect(column(page, "pending").locator("[data-task]")).to_have_count(2)
    expect(card(page, "stock")).to_contain_text(re.compile("막힘.*orders", re.DOTALL))
    expect(page.get_by_role("list", name="에이전트").locator("li", has_text="for-orders")).to_contain_text("쉬는 중")
    page.get_by_role("button", name="계획 돌리기").click()
    look_at_dialog(page)
    confirm(page, "계획 돌리기")
    working = column(page, "in_progress").locator("[data-task=orders]")
    expect(working).to_contain_text("Two foreign keys form a cycle.")
    expect(working).to_contain_text("40%")
    expect(column(page, "in_progress").locator("h2")).to_contain_text("1 / 1")
    busy = page.get_by_role("list", name="에이전트").locator("li", has_text="for-orders")
    expect(busy).to_contain_text("일하는 중")
    busy.get_by_role("button").click()
    expect(page).to_have_url(re.compile("task=orders"))
    live = page.get_by_role("log")
    expect(live).to_contain_text("Two foreign keys form a cycle.")
    files.let_go()
    expect(column(page, "finished").locator("[data-task]")).to_have_count(2)
    expect(column(page, "finished").locator("[data-task=orders] .badge")).to_have_text("완료")
    expect(page.locator("h1 .badge")).to_have_text("모두 끝남")
    expect(live).to_contain_text("여기까지예요")
    expect(page.get_by_role("region", name="누가 무엇을 했나").locator(".lane-bar")).to_have_count(2)


def test_t_x_14_a_doubtful_task_is_reviewed_with_its_diff(site: PlanSite, window: Open) -> None:
    """T-5.2.8, T-X.13: criteria beside the verdict, what was changed, and a decision; then its dependents go on."""
    project = doubtful(site)
    page = window(ADMIN, of=site.server, tongue="en")
    listening(page, f"/plans/{project.id}")
    waits = column(page, "review").locator("[data-task=map]")
    expect(waits).to_contain_text("Confidence 70 · 7 of 10 criteria")
    waits.get_by_role("button", name="Map part codes").click()
    expect(page.get_by_role("tab", selected=True)).to_contain_text("Criteria 7/10")
    criteria = page.get_by_role("region", name="Criteria")
    expect(criteria.locator(".criterion-said b")).to_have_text([*["Met"] * 7, *["Not met"] * 3])
    page.get_by_role("tab", name="Worktree").click()
    expect(page.locator(".work-file")).to_have_count(1)
    expect(page.locator(".work-file summary")).to_contain_text("map.csv")
    expect(page.locator(".work-new")).to_have_text([re.compile("a,1"), re.compile("b,2")])
    page.locator(".task-moves").get_by_role("button", name="Approve").click()
    look_at_dialog(page)
    page.get_by_label("Comment").fill("Seven are enough.")
    page.keyboard.press("Escape")
    page.locator(".task-moves").get_by_role("button", name="Approve").click()
    expect(page.get_by_label("Comment")).to_have_value("Seven are enough.")  # nothing typed is lost
    confirm(page, "Approve")
    expect(column(page, "finished").locator("[data-task=map]")).to_be_visible()
    expect(column(page, "finished").locator("[data-task=report]")).to_be_visible()
    assert project.task("map")["status"] == "completed"
    assert project.ended("report")["status"] == "completed"


def test_t_x_14_what_is_sent_back_is_tried_again_with_the_comment(site: PlanSite, window: Open) -> None:
    files = site.project()
    again = [{"init": True}, {"prompt": "asked.txt"}, {"shell": "cat asked.txt"}, result("all")]
    files.task("doc", steps=files.attempts([{"init": True}, result()], again), success_criteria=["all"])
    project = site.registered(files)
    project.done("/workflow:start", {})
    project.until("doc", lambda task: task["reviewRequired"])
    page = window(ADMIN, of=site.server)
    listening(page, f"/plans/{project.id}")
    card(page, "doc").get_by_role("button", name="돌려보내기").click()
    send = page.get_by_role("dialog").get_by_role("button", name="돌려보내기")
    expect(send).to_be_disabled()  # it needs words
    page.get_by_label("다음 시도에 줄 지시").fill("표도 넣어 주세요.")
    send.click()
    expect(column(page, "finished").locator("[data-task=doc]")).to_be_visible()
    assert len(project.executions("doc")) == 2


def test_t_5_1_12_a_failed_task_is_retried(site: PlanSite, window: Open) -> None:
    """T-X.15: every attempt is listed with its error; retrying puts it back, and it is done."""
    project = failing(site)
    page = window(OPERATOR, of=site.server, tongue="en")
    listening(page, f"/plans/{project.id}?task=load&tab=attempts")
    expect(card(page, "load").locator(".badge")).to_have_text("Failed")
    expect(page.locator("[data-session]")).to_have_count(2)
    expect(page.locator("[data-session]").first).to_contain_text("Exit code3")
    page.locator("[data-session]").first.get_by_role("button", name="See log").click()
    expect(page.get_by_role("log")).to_contain_text("no such table")
    page.locator(".task-moves").get_by_role("button", name="Retry").click()
    confirm(page, "Retry")
    expect(column(page, "pending").locator("[data-task=load]")).to_be_visible()
    card(page, "load").get_by_role("button", name="What can be done with load").click()
    page.get_by_role("dialog").get_by_role("button", name="Execute").click()
    confirm(page, "Execute")
    expect(column(page, "finished").locator("[data-task=load] .badge")).to_have_text("Completed")


def test_t_7_1_10_stop_and_resume(site: PlanSite, window: Open) -> None:
    """T-X.32: what runs may end, nothing new begins; resuming goes on."""
    files = site.project(max_concurrent=1)
    files.task("first", steps=[{"init": True}, files.waits(), result()], priority=1)
    files.task("second", steps=DONE)
    project = site.registered(files)
    project.done("/workflow:start", {})
    page = window(OPERATOR, of=site.server)
    listening(page, f"/plans/{project.id}")
    expect(column(page, "in_progress").locator("[data-task=first]")).to_be_visible()
    page.get_by_role("button", name="멈추기", exact=True).click()
    confirm(page, "멈추기")
    expect(page.get_by_text("하고 있는 1개가 끝나면 멈춰요")).to_be_visible()
    files.let_go()
    expect(page.locator("h1 .badge")).to_have_text("멈춤")
    expect(column(page, "finished").locator("[data-task]")).to_have_count(1)
    expect(column(page, "pending").locator("[data-task=second]")).to_be_visible()
    page.get_by_role("button", name="이어서 하기").click()
    confirm(page, "이어서 하기")
    expect(column(page, "finished").locator("[data-task]")).to_have_count(2)
    expect(page.locator("h1 .badge")).to_have_text("모두 끝남")


def test_a_card_goes_only_where_a_transition_leads(site: PlanSite, window: Open) -> None:
    """T-1.3.1, T-1.3.5: elsewhere it returns and says why; the menu does what dragging does."""
    files = site.project()
    files.task("over", steps=DONE)
    files.task("ready", steps=DONE)
    files.task("later", steps=DONE, depends_on=["ready"])
    project = site.registered(files)
    project.execute("over")
    project.ended("over")
    page = window(OPERATOR, of=site.server)
    listening(page, f"/plans/{project.id}")
    told = page.locator(".toast")
    card(page, "over").drag_to(column(page, "pending"))
    expect(told).to_contain_text("완료 상태는 바꿀 수 없어요")
    card(page, "later").drag_to(column(page, "in_progress"))
    expect(told).to_contain_text("(ready)")
    card(page, "ready").drag_to(column(page, "review"))
    expect(told).to_contain_text("저절로 와요")
    expect(column(page, "pending").locator("[data-task]")).to_have_count(2)
    card(page, "ready").drag_to(column(page, "in_progress"))
    confirm(page, "지금 하기")
    expect(column(page, "finished").locator("[data-task=ready]")).to_be_visible()
    card(page, "later").get_by_role("button", name="later 할 수 있는 일").press("Enter")
    page.get_by_role("dialog").get_by_role("button", name="작업 취소").press("Enter")
    confirm(page, "작업 취소")
    expect(card(page, "later").locator(".badge")).to_have_text("취소됨")
    assert project.task("later")["status"] == "cancelled"


def test_who_may_only_read_is_offered_nothing(site: PlanSite, window: Open) -> None:
    project = doubtful(site)
    page = window(VIEWER, of=site.server)
    page.goto(f"/plans/{project.id}?task=map")
    expect(page.get_by_role("tab", selected=True)).to_be_visible()
    expect(page.locator(".task-moves, .task-decide")).to_have_count(0)
    expect(page.get_by_role("button", name="계획 돌리기")).to_have_count(0)
    expect(page.get_by_role("button", name="파일과 맞추기")).to_have_count(0)


def test_the_example_is_run_watched_and_reviewed(chromium: Any, tmp_path: Path, window: Open, monkeypatch: Any) -> None:
    """Five tasks by a shell agent: one fails and is tried again, one is doubtful; merged, the project has its files."""
    monkeypatch.setenv("SITE_PAUSE", "0")
    with plan_site(tmp_path, "sqlite") as site:
        files = ProjectFolder(site.projects / "site")
        shutil.copytree(ROOT / "examples/plan/site", files.folder, dirs_exist_ok=True)
        files.git()
        project = site.registered(files, trusted=True)
        page = window(ADMIN, of=site.server)
        listening(page, f"/plans/{project.id}")
        page.get_by_role("button", name="계획 돌리기").click()
        confirm(page, "계획 돌리기")
        expect(column(page, "finished").locator("[data-task]")).to_have_count(4)
        column(page, "review").get_by_role("button", name="Proofread everything").click()
        expect(page.get_by_role("tab", selected=True)).to_contain_text("기준 7/10")
        page.get_by_role("tab", name="바뀐 파일").click()
        expect(page.locator(".work-file summary")).to_contain_text("public/report.txt")
        page.locator(".task-moves").get_by_role("button", name="승인").click()
        confirm(page, "승인")
        expect(page.locator("h1 .badge")).to_have_text("모두 끝남")
        card(page, "feed").get_by_role("button", name=project.task("feed")["title"]).click()
        page.get_by_role("tab", name="시도 2").click()
        expect(page.locator("[data-session] .badge")).to_have_text(["끝남", "실패"])
        page.get_by_role("button", name="의존", exact=True).click()
        expect(page.locator(".deps-node")).to_have_count(5)
        page.close()  # it would miss the server


@pytest.fixture(scope="module")
def routes(site: PlanSite) -> list[str]:
    """Every view, with something to show."""
    review, bad = doubtful(site), failing(site)
    cycle = site.project()
    cycle.task("a", depends_on=["b"])
    cycle.task("b", depends_on=["a"])
    loop = site.registered(cycle)
    empty = site.registered(ProjectFolder(site.projects / "empty"))
    run = review.get()["run"]
    return [
        "/plans", f"/plans/{review.id}", f"/plans/{review.id}?task=map", f"/plans/{review.id}?task=map&tab=diff",
        f"/plans/{review.id}?task=map&tab=live", f"/plans/{review.id}?task=report", f"/plans/{review.id}?view=graph",
        f"/plans/{review.id}?view=lanes", f"/plans/{review.id}?view=reports", f"/plans/{bad.id}?view=reports",
        f"/plans/{bad.id}?task=load&tab=attempts", f"/plans/{bad.id}?task=load&tab=live",
        f"/runs/{run}", f"/runs/{run}?node=map&tab=task", f"/inbox/{run}/map",
        f"/plans/{loop.id}?view=graph", f"/plans/{empty.id}", f"/plans/{empty.id}?view=graph",
    ]  # fmt: skip


@pytest.mark.parametrize(("tongue", "theme"), [("ko", "light"), ("en", "dark")])
def test_every_view_speaks_and_can_be_used_by_all(
    tongue: str, theme: str, site: PlanSite, routes: list[str], window: Open, watch: Watch
) -> None:
    page = window(ADMIN, of=site.server, tongue=tongue, theme=theme)
    walk(page, routes, watch.taken, cold=tongue == "ko")


def test_a_phone_shows_every_view_in_one_column(site: PlanSite, routes: list[str], window: Open, watch: Watch) -> None:
    page = window(ADMIN, of=site.server, phone=True)

    def look() -> list[str]:
        wide = page.evaluate("document.documentElement.scrollWidth")
        return [*watch.taken(), *([f"{wide} px wide"] if wide > PHONE["width"] else [])]

    walk(page, routes, look, cold=False, other_theme=False)
