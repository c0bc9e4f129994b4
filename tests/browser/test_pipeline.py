"""The rooms of people who process files: executions, one of them with its files, dead letters, usage."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest

from tests.api.pipelines import FileSite, file_site
from tests.api.serving import until
from tests.browser.conftest import PHONE, Open, Watch, listening
from tests.browser.pipelines import PICTURES, Scene
from tests.browser.walking import look_at_dialog, walk
from tests.executors.pipeline_bench import pdf

expect = pytest.importorskip("playwright.sync_api").expect
pytestmark = pytest.mark.xdist_group("browser")

OPERATOR, VIEWER = "operator@example.com", "viewer@example.com"


@pytest.fixture(scope="module")
def scene(chromium: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scene]:
    with file_site(tmp_path_factory.mktemp("files"), "sqlite", "[pipelines.rates]\ncpu_ms = 1\n") as site:
        yield Scene(site)


@pytest.fixture
def site(scene: Scene) -> FileSite:
    return scene.site


def test_f_6_1_the_list_tells_what_failed_runs_and_waits(scene: Scene, site: FileSite, window: Open) -> None:
    """Live: a file that comes is in the list without a reload, and moves on by itself."""
    page = window(OPERATOR, of=site.server)
    listening(page, "/pipelines")
    failed = page.locator("tbody", has_text="실패").locator("tr", has_text="L03_weld_140736.png")
    expect(failed).to_contain_text("품질 시스템 등록")
    expect(failed.locator(".stage-group i")).to_have_count(2)  # side by side
    expect(failed.locator(".stage-failed")).to_have_count(1)
    expect(failed.locator("img")).to_be_visible()
    stages = failed.locator(".stages")
    expect(stages.locator(".stages-list")).to_be_hidden()
    for look in (stages.hover, lambda: (page.mouse.move(0, 0), page.keyboard.press("Tab"), stages.focus())):
        look()
        expect(stages.locator(".stages-list > span")).to_have_count(5)
        expect(stages.locator(".stages-list")).to_be_visible()
        expect(stages.locator(".stages-list > span").first).to_contain_text(re.compile("체크섬완료.*(초|ms)"))
    page.mouse.move(0, 0)
    held = scene.hold()
    execution = scene.picture("L04_cam1_142127.png")
    row = page.locator("tr", has_text="L04_cam1_142127.png")
    expect(row.locator(".badge")).to_have_text("실행 중")
    expect(row.locator(".stages-text")).to_have_text("4/5 · 품질 시스템 등록")
    expect(page.locator("h1")).to_contain_text("1건을 처리")
    held.set()
    expect(row.locator(".badge")).to_have_text("완료")
    assert site.ended(execution)["status"] == "COMPLETED"
    page.locator("tr", has_text="L03_weld").locator("a.exec-name").click()
    expect(page).to_have_url(f"{site.server.url}/pipelines/{scene.failed}")


def test_f_4_1_rows_that_wait_say_why_and_stay_under_the_pointer(scene: Scene, site: FileSite, window: Open) -> None:
    """F-4.4, F-X.20: which limit has no place, in the list and on the execution; a pill counts what came meanwhile."""
    held = scene.hold("slow")
    stage = site.calls("ask", 1, "slow", stage_name="묻기")
    code = site.pipeline(stage, pipeline_name="느린 것", configuration={"max_executions": 1})
    first, second = site.begun(code, "first.txt"), site.begun(code, "second.txt")
    site.running(first, "ask")
    page = window(OPERATOR, of=site.server)
    listening(page, "/pipelines")
    waiting = page.locator("tr", has_text="second.txt")
    expect(waiting.locator(".exec-why")).to_contain_text("느린 것 자리 1/1이 차서 기다려요")
    ways = page.get_by_role("region", name="들어오는 길")
    expect(ways).to_contain_text("오늘 거른 중복")
    waiting.hover()
    third = site.begun(code, "third.txt")
    pill = page.get_by_role("button", name="새로 바뀐 1건")
    expect(pill).to_be_visible()
    expect(page.locator("tr", has_text="third.txt")).to_have_count(0)
    pill.click()
    expect(page.locator("tr", has_text="third.txt")).to_be_visible()
    page.goto(f"/pipelines/{second}")
    expect(page.locator(".why")).to_contain_text("느린 것 자리 1/1이 차서 기다려요")
    held.set()
    assert [site.ended(each)["status"] for each in (first, second, third)] == ["COMPLETED"] * 3


def test_f_6_1_the_list_is_narrowed_by_status_pipeline_and_text(scene: Scene, site: FileSite, window: Open) -> None:
    page = window(VIEWER, of=site.server, tongue="en")
    page.goto("/pipelines")
    page.get_by_role("button", name="Failed 1").click()
    expect(page).to_have_url(f"{site.server.url}/pipelines?status=FAILED")
    expect(page.locator("a.exec-name")).to_have_text(["L03_weld_140736.png"])
    page.goto("/pipelines?status=COMPLETED")
    page.get_by_label("Pipeline", exact=True).select_option("XLS_ORDER")
    expect(page.locator("a.exec-name")).to_have_text(["발주서_2026-11.csv"])
    page.goto("/pipelines?status=COMPLETED&q=L01_cam3")
    expect(page.locator("a.exec-name")).to_have_text(["L01_cam3_142133.png"])
    page.goto("/pipelines?q=there-is-no-such-file")
    expect(page.get_by_text("No execution matches")).to_be_visible()
    page.keyboard.press("/")
    expect(page.get_by_placeholder("Find by file, code, id")).to_be_focused()


def test_f_6_2_one_execution_shows_its_stages_and_files(scene: Scene, site: FileSite, window: Open) -> None:
    """F-4.3: pictures as pictures, tables as tables, small outputs field by field."""
    page = window(VIEWER, of=site.server)
    page.goto(f"/pipelines/{scene.done}")
    expect(page.locator("h1")).to_contain_text("L01_cam3_142133.png")
    expect(page.locator(".net-node [data-node=small]")).to_be_visible()
    expect(page.locator(".net-frame-head b")).to_have_text("나란히")
    log = page.get_by_role("region", name="단계 기록")
    expect(log.get_by_role("button", name="나란히", exact=True)).to_be_visible()
    expect(log.get_by_role("button", name="group", exact=True)).to_have_count(0)
    files = page.get_by_role("region", name="파일")
    for alt in ("L01_cam3_142133.png 그림", "썸네일 200 그림", "썸네일 800 그림"):
        shown = files.get_by_alt_text(alt)
        expect(shown).to_be_visible()
        until(lambda shown=shown: shown.evaluate("image => image.naturalWidth"), lambda width: width > 0)
    expect(files.locator(".fields dt", has_text="sha256")).to_be_visible()
    files.get_by_role("button", name="썸네일 800").click()
    expect(page.locator(".file-card[data-here=true]")).to_contain_text("썸네일 800")
    page.get_by_role("tab", name="설정").click()
    expect(page.get_by_role("tabpanel")).to_contain_text("ImageThumbnail")

    page.goto(f"/pipelines/{scene.warned}")
    expect(page.locator(".why")).to_contain_text("알림")
    expect(page.locator(".file-table .preview-rows td").first).to_have_text("K7412")


def test_f_5_1_what_a_stage_extracted_stands_at_its_foot(scene: Scene, site: FileSite, window: Open) -> None:
    """F-X.24: the event, that it was published, and how sure the stage was."""
    read = {"stage_code": "read", "stage_name": "Read", "sequence_order": 1, "processor_type": "TextExtractor"}
    execution = site.begun(site.pipeline(read), "note.txt", b"heat K7412 is good")
    assert site.ended(execution)["status"] == "COMPLETED"
    told = until(lambda: site.look(execution)["stages"][0]["extraction"], lambda extraction: extraction["published"])
    assert (told["extractionType"], told["confidence"]) == ("text", 1.0)
    page = window(VIEWER, of=site.server, tongue="en")
    page.goto(f"/pipelines/{execution}?node=read&tab=stage")
    expect(page.locator(".net-note")).to_have_text("extraction.completed · sent")
    expect(page.get_by_role("tabpanel")).to_contain_text("text ·")


def test_f_2_7_failed_ones_open_at_their_stage_and_are_resumed(scene: Scene, site: FileSite, window: Open) -> None:
    """F-6.5, F-X.7: it says why, what was kept, and what would happen; then it goes on from that stage."""
    site.answers["qms"] = 503
    execution = scene.picture("L05_cam2_second.png")
    site.ended(execution)
    page = window(OPERATOR, of=site.server)
    page.goto(f"/pipelines/{execution}")
    expect(page.locator(".why")).to_contain_text("품질 시스템 등록이 2번 모두 실패했어요")
    expect(page.locator(".why")).to_contain_text("끝난 4단계와 그 파일은 그대로 있어요")
    expect(page.get_by_role("tab", selected=True)).to_contain_text("시도")
    expect(page.get_by_role("button", name="취소", exact=True)).to_be_disabled()
    site.answers.pop("qms")
    page.get_by_role("button", name="이 단계부터 다시").click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("끝난 4단계는 다시 하지 않고")
    expect(dialog.get_by_role("button").first).to_be_focused()  # the safe one
    look_at_dialog(page)
    dialog.get_by_role("button", name="이 단계부터 다시").click()
    expect(page.locator("h1 .badge")).to_have_text("완료")
    body = site.ended(execution)
    assert [stage["attempt"] for stage in body["stages"]].count(1) == 4, "only the failed stage was done again"


def test_f_2_8_reruns_are_new_executions_that_are_linked(scene: Scene, site: FileSite, window: Open) -> None:
    page = window(OPERATOR, of=site.server, tongue="en")
    page.goto(f"/pipelines/{scene.failed}")
    page.get_by_role("button", name="Re-run").click()
    told = page.get_by_role("dialog").locator(".effects li", has_text="Last time 4 of 5 stages used: CPU time")
    cost = sum(stage["usage"].get("cpu_ms", 0) for stage in site.look(scene.failed)["stages"])
    expect(told).to_contain_text(f"Cost {cost:,}")  # F-8.3, F-X.35: before it is done
    page.get_by_role("dialog").get_by_role("button", name="Re-run").click()
    page.get_by_role("button", name="Open it").click()
    expect(page.locator("h1 .badge")).to_have_text("Completed")
    page.get_by_role("link", name="the one before").click()
    expect(page).to_have_url(f"{site.server.url}/pipelines/{scene.failed}")
    expect(page.locator("h1 .badge")).to_have_text("Failed")


def test_f_2_6_cancels_wait_for_the_end_of_the_stage(scene: Scene, site: FileSite, window: Open) -> None:
    """F-X.8: accepted at once, told as under way, and CANCELLED when the stage has ended."""
    held = scene.hold()
    execution = scene.picture("gray.png")
    site.running(execution, "register")
    page = window(OPERATOR, of=site.server, tongue="en")
    listening(page, f"/pipelines/{execution}")
    page.get_by_role("button", name="Cancel", exact=True).click()
    expect(page.get_by_role("dialog")).to_contain_text("goes to its end, and no other stage begins")
    page.get_by_role("dialog").get_by_role("button", name="Cancel it").click()
    expect(page.locator("h1 .badge")).to_have_text("Cancelling")
    expect(page.get_by_role("button", name="Cancelling")).to_be_disabled()
    held.set()
    expect(page.locator("h1 .badge")).to_have_text("Cancelled")
    assert site.ended(execution)["status"] == "CANCELLED"


def test_f_6_6_who_may_only_read_is_offered_no_moves(scene: Scene, site: FileSite, window: Open) -> None:
    page = window(VIEWER, of=site.server, tongue="en")
    page.goto(f"/pipelines/{scene.failed}")
    expect(page.locator(".why")).to_contain_text("failed after 2 tries")
    expect(page.get_by_role("button", name="Re-run")).to_have_count(0)
    expect(page.get_by_role("button", name="Cancel", exact=True)).to_be_disabled()


def test_f_7_4_files_that_would_run_something_are_shown_as_text(scene: Scene, site: FileSite, window: Open) -> None:
    """A file is what somebody uploaded: nothing in it is run, in the page or when it is opened by itself."""
    code = site.pipeline({"stage_code": "keep", "stage_name": "Keep", "sequence_order": 1, "processor_type": "Copy"})
    data = b"<!doctype html><script>document.title='taken over'</script><h1>hello</h1>"
    execution = site.begun(code, "규격_KS-D-3503.html", data, mime="text/html")
    site.ended(execution)
    page = window(VIEWER, of=site.server, tongue="en")
    page.goto(f"/pipelines/{execution}")
    expect(page.locator(".file-card pre").first).to_contain_text("<script>")
    page.goto(f"/api/v1/pipelines/executions/{execution}/file")
    expect(page.locator("body")).to_contain_text("<script>")
    assert page.title() != "taken over"


def test_f_4_3_pdfs_show_a_picture_of_their_first_page(scene: Scene, site: FileSite, window: Open) -> None:
    """Drawn by the server; what is no PDF behind its name has an icon, and the page goes on."""
    pytest.importorskip("pypdfium2")
    code = site.pipeline({"stage_code": "keep", "stage_name": "Keep", "sequence_order": 1, "processor_type": "Copy"})
    made = pdf("Inspection certificate", "Second page")
    good = site.begun(code, "mill-cert.pdf", made, mime="application/pdf")
    bad = site.begun(code, "not-one.pdf", b"<script>document.title='taken over'</script>", mime="application/pdf")
    for execution in (good, bad):
        site.ended(execution)
    page = window(VIEWER, of=site.server, tongue="en")
    page.goto(f"/pipelines/{good}")
    shown = page.get_by_role("region", name="Files").get_by_alt_text("mill-cert.pdf")
    until(lambda: shown.evaluate("image => image.naturalWidth"), lambda width: width == 640)
    expect(page.locator(".file-foot").first).to_contain_text("first page")
    client = site.server.client(VIEWER)
    answer = client.get(f"/pipelines/executions/{good}/file", params={"page": True})
    assert answer.headers["content-type"] == "image/png" and answer.content.startswith(b"\x89PNG")
    assert client.get(f"/pipelines/executions/{bad}/file", params={"page": True}).status_code == 404
    assert client.get(f"/pipelines/executions/{scene.done}/file", params={"page": True}).status_code == 404


def test_f_8_4_dead_letters_by_cause_are_tried_one_then_all(scene: Scene, site: FileSite, window: Open) -> None:
    """A sample, one of it, then all after a dry run and a typed count; the numbers fall."""
    site.answers["qms"] = 500
    made = [scene.picture(f"dead{n}.png") for n in range(3)]
    for execution in made:
        assert site.ended(execution)["status"] == "FAILED"
    site.answers.pop("qms")
    page = window(OPERATOR, of=site.server, tongue="en")
    listening(page, "/ops/dead-letters")
    badge = page.get_by_role("navigation").first.get_by_role("img", name="to look at")
    expect(badge).to_have_text("1")  # causes, not letters
    cause = page.locator(".cause", has_text="HTTP_5XX")
    expect(cause).to_contain_text("검사 사진")
    expect(cause.locator(".cause-count b")).to_have_text("4")
    cause.get_by_role("button").first.click()
    expect(cause.locator(".sample li")).to_have_count(4)
    bulk = page.get_by_role("complementary")
    expect(bulk.get_by_role("textbox")).to_be_disabled()  # one comes first
    expect(bulk.get_by_text("when more than 5 of 100 fail")).to_be_visible()
    cause.get_by_role("button", name="Try this one").first.click()
    expect(cause.locator(".sample").get_by_text("Completed")).to_be_visible()
    assert site.ended(made[-1])["status"] == "COMPLETED"
    expect(cause.locator(".cause-count b")).to_have_text("3")
    page.reload()
    cause.get_by_role("button", name="Try this one").first.wait_for()
    expect(bulk.get_by_role("button", name="Never mind")).to_be_focused()  # the safe one
    bulk.get_by_label("Type 3 to confirm").fill("3")  # that one completed is remembered
    bulk.get_by_role("button", name="Try 3 again").click()
    expect(page.locator("h1")).to_have_text("No dead letters")
    expect(badge).to_have_count(0)
    for execution in made:
        assert site.ended(execution)["status"] == "COMPLETED"


def test_f_8_4_bulk_stops_by_itself_is_paused_and_goes_on(
    chromium: Any, tmp_path_factory: pytest.TempPathFactory, window: Open
) -> None:
    """What it calls is down again: after a few it stops by itself; when that is mended it goes on, at the chosen speed,
    so that it can be paused; it outlives a reload, and its numbers add up."""
    with file_site(tmp_path_factory.mktemp("many"), "sqlite") as site:
        site.answers["erp"] = 500
        code = site.pipeline(site.calls("send", 1, "erp", stage_name="Send", max_retries=0))
        made = [site.begun(code, f"{n}.txt") for n in range(40)]
        for execution in made:
            assert site.ended(execution)["status"] == "FAILED"
        site.answers.pop("erp")
        page = window(OPERATOR, of=site.server, tongue="en")
        listening(page, f"/ops/dead-letters?cause={code}/send/HTTP_5XX")
        bulk = page.get_by_role("complementary")
        expect(bulk.get_by_role("textbox")).to_be_disabled()  # one comes first
        page.get_by_role("button", name="Try this one").first.click()
        expect(page.locator(".sample").get_by_text("Completed")).to_be_visible()
        site.answers["erp"] = 500
        bulk.get_by_role("button", name="10 per s").click()
        bulk.get_by_label("Type 39 to confirm").fill("39")
        bulk.get_by_role("button", name="Try 39 again").click()
        job = page.get_by_role("region", name="Batches")
        expect(job.get_by_text("More than 5 of the last 100 failed again")).to_be_visible()
        page.reload()
        site.answers.pop("erp")
        job.get_by_role("button", name="Go on").click()
        job.get_by_role("button", name="Pause").click()
        expect(job.locator(".badge")).to_have_text("Paused")
        counts = job.locator(".batch-counts")
        sums = until(
            lambda: [int(each) for each in counts.locator("b").all_inner_texts()],
            lambda parts: not any(site.look(each)["status"] in ("PENDING", "RUNNING") for each in made),
        )
        assert sum(sums) == 39 and sums[2] > 5 and sums[3] > 0, sums
        look = page.request.get("/api/v1/batches").json()["items"][0]
        assert (look["state"], look["care"]["per_second"]) == ("paused", 10)
        job.get_by_role("button", name="Go on").click()
        expect(job.locator(".badge")).to_have_text("Done")
        done = [site.look(each)["status"] for each in made]
        assert done.count("FAILED") == look["back"] and done.count("COMPLETED") == 40 - look["back"]
        expect(page.locator("h1")).to_contain_text(f"{look['back']} letters")  # those that failed while it was down
        page.goto("about:blank")  # its server ends before it


def test_f_8_4_many_dead_letters_go_a_hundred_first(
    chromium: Any, tmp_path_factory: pytest.TempPathFactory, window: Open
) -> None:
    """The rest waits for what becomes of them; the count that is typed is that of all."""
    with file_site(tmp_path_factory.mktemp("hundred"), "sqlite") as site:
        rule = {"type": "object", "required": ["never"]}
        stage = {"stage_code": "check", "stage_name": "Check", "sequence_order": 1, "processor_type": "Checksum"}
        code = site.pipeline({**stage, "output_validation": rule, "max_retries": 0})
        made = [site.begun(code, f"{n}.txt") for n in range(102)]
        for execution in made:
            assert site.ended(execution)["status"] == "FAILED"
        page = window(OPERATOR, of=site.server, tongue="en")
        cause = f"{code}/check/VALIDATION"
        known = f"sessionStorage.setItem('ps.tried', JSON.stringify(['{cause}']))"  # as if one had come through
        page.add_init_script(f"if (location.protocol === 'http:') {known}")
        listening(page, f"/ops/dead-letters?cause={cause}")
        bulk = page.get_by_role("complementary")
        expect(bulk).to_contain_text("They will fail for the same reason")
        expect(bulk.get_by_label("100 first, the rest after a look at their results")).to_be_checked()
        bulk.get_by_label("Type 102 to confirm").fill("102")
        bulk.get_by_role("button", name="Try 102 again").click()
        expect(page.get_by_text("More than 5 of the last 100 failed again")).to_be_visible()
        again = [len(site.look(execution)["attempts"]) for execution in made]
        assert again[:2] == [1, 1], "the newest go first"
        page.goto("about:blank")  # its server ends before it


def test_f_8_3_usage_is_told_per_tenant_and_day(scene: Scene, site: FileSite, window: Open) -> None:
    page = window(VIEWER, of=site.server, tongue="en")
    page.goto("/pipelines")
    expect(page.get_by_role("region", name="At a glance")).to_be_visible()
    expect(page.get_by_text("Used today")).to_have_count(0)  # F-A.16: nothing to compare one tenant with
    day = {**site.viewer.get("/pipelines/usage").json()["items"][-1], "day": datetime.now(UTC).strftime("%Y-%m-%d")}
    both = {"items": [day, {**day, "tenantId": "tenant_002"}]}
    page.route("**/api/v1/pipelines/usage", lambda asked: asked.fulfill(json=both))
    page.reload()
    expect(page.locator(".pipe-usage li")).to_have_count(2)
    page.unroute("**/api/v1/pipelines/usage")
    page.get_by_role("link", name="Usage", exact=True).click()
    expect(page.locator("h1")).to_have_text("Usage per tenant")
    row = page.locator(".usage-table tbody tr").first
    expect(row).to_contain_text("tenant_001")
    with page.expect_download() as saved:
        page.get_by_role("button", name="Get CSV").click()
    text = saved.value.path().read_text(encoding="utf-8-sig")
    assert text.startswith("day,tenantId,executions,") and ",tenant_001," in text


ROUTES = (
    "/pipelines", "/pipelines?status=FAILED", "/pipelines?q=there-is-no-such-file", "/pipelines/usage",
    "/pipelines/{done}", "/pipelines/{failed}", "/pipelines/{failed}?node=small&tab=stage", "/pipelines/{warned}?node=",
    "/pipelines/{failed}?view=list&tab=settings&node=large", "/ops/dead-letters", f"/definitions/{PICTURES}?node=small",
)  # fmt: skip


def _routes(scene: Scene) -> list[str]:
    return [route.format(done=scene.done, failed=scene.failed, warned=scene.warned) for route in ROUTES]


@pytest.mark.parametrize(("tongue", "theme"), [("ko", "light"), ("en", "dark")])
def test_every_view_of_files_speaks_and_can_be_used_by_all(
    tongue: str, theme: str, scene: Scene, site: FileSite, window: Open, watch: Watch
) -> None:
    page = window(OPERATOR, of=site.server, tongue=tongue, theme=theme)
    walk(page, _routes(scene), watch.taken, cold=tongue == "ko")


def test_phones_show_files_in_one_column(scene: Scene, site: FileSite, window: Open, watch: Watch) -> None:
    page = window(OPERATOR, of=site.server, phone=True)

    def look() -> list[str]:
        wide = page.evaluate("document.documentElement.scrollWidth")
        return [*watch.taken(), *([f"{wide} px wide"] if wide > PHONE["width"] else [])]

    walk(page, _routes(scene), look, cold=False, other_theme=False)
