"""The operator at night: many executions, some dead by three causes; found by cause, one repaired, then all of them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.api.pipelines import FileSite, file_site
from tests.api.serving import until
from tests.app.pipelines import a_stage
from tests.browser.conftest import Open, listening

expect = pytest.importorskip("playwright.sync_api").expect
pytestmark = pytest.mark.xdist_group("browser")

OPERATOR = "operator@example.com"


class Night:
    """`good` files that completed, and `dead` ones: a service was down, a table breaks a rule, a picture is none."""

    def __init__(self, site: FileSite, good: int, dead: tuple[int, int, int]) -> None:
        self.site = site
        rule = {"type": "object", "required": ["rows"]}
        self.calls = site.pipeline(
            a_stage("sum", 1, stage_name="Checksum", processor_type="Checksum"),
            site.calls("send", 2, "erp", stage_name="Register", max_retries=0), pipeline_name="Orders",
        )  # fmt: skip
        self.rule = site.pipeline(
            a_stage("check", 1, stage_name="Check", processor_type="Checksum", output_validation=rule, max_retries=0),
            pipeline_name="Tables",
        )
        self.pictures = site.pipeline(
            a_stage("thumb", 1, stage_name="Thumbnail", processor_type="ImageThumbnail", max_retries=0),
            pipeline_name="Photos",
        )
        site.answers["erp"] = 503
        self.down = self._sent(self.calls, "down", dead[0])
        self.wrong = self._sent(self.rule, "wrong", dead[1])
        self.broken = self._sent(self.pictures, "broken", dead[2], mime="image/png")
        self._settled(sum(dead))
        site.answers.pop("erp")
        self._sent(self.calls, "good", good)
        self._settled(sum(dead) + good)

    def _sent(self, code: str, name: str, many: int, **more: Any) -> list[str]:
        for n in range(many):
            message = self.site.message(f"{code}/{name}-{n}.dat", f"{name} {n}".encode(), **more)
            sent = self.site.operator.post("/pipelines/ingest", params={"queue": True}, json=message)
            assert sent.status_code == 202, sent.text
        return [f"{name}-{n}.dat" for n in range(many)]

    def _settled(self, many: int) -> None:
        def ended() -> int:
            wanted = {"status": "COMPLETED,FAILED,TIMEOUT", "size": 1}
            return int(self.site.viewer.get("/pipelines/executions", params=wanted).json()["total"])

        assert until(ended, lambda total: total >= many, seconds=900) == many


@pytest.fixture(scope="module")
def night(chromium: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Night]:
    with file_site(tmp_path_factory.mktemp("night"), "sqlite") as site:
        yield Night(site, good=60, dead=(12, 6, 3))


def test_f_8_4_the_operator_at_night_repairs_by_cause(night: Night, window: Open) -> None:
    """The first look says what failed and why; a bar leads to the executions of a cause; one is repaired, then all of
    its cause at a chosen speed; the other causes say that trying again does not help."""
    site = night.site
    page = window(OPERATOR, of=site.server, tongue="en")
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url.removeprefix(site.server.url)))
    listening(page, "/pipelines")
    bars = page.get_by_role("region", name="At a glance").locator(".bars-failed a")
    expect(bars).to_have_count(3)
    expect(bars.first).to_contain_text("12")
    expect(page.locator(".pipe-spark svg").first).to_be_visible()
    shown = page.locator("a.exec-name").count()
    assert shown <= 100, f"{shown} rows, of whatever many there are"
    lists = [url for url in asked if "/pipelines/executions?" in url]
    assert len(lists) == len(set(lists)) == 4, lists
    bars.first.click()
    expect(page).to_have_url(f"{site.server.url}/pipelines?status=FAILED,TIMEOUT&q=HTTP_5XX")
    expect(page.get_by_role("searchbox")).to_have_value("HTTP_5XX")  # the box and the address say the same
    expect(page.locator("a.exec-name")).to_have_count(12)
    expect(page.locator(".exec-why").first).to_contain_text("Register")
    with page.expect_download() as saved:
        page.get_by_role("button", name="Get CSV").click()
    lines = saved.value.path().read_text(encoding="utf-8-sig").splitlines()
    assert len(lines) == 13 and all("HTTP_5XX" in line for line in lines[1:])
    page.locator("a.exec-name").nth(1).click()
    expect(page.locator(".walk-list")).to_contain_text("2 of 12 Failed · Timed out")
    expect(page.locator(".why")).to_contain_text("Register failed")
    page.get_by_role("button", name="Retry from this stage").click()
    page.get_by_role("dialog").get_by_role("button", name="Retry from this stage").click()
    expect(page.locator("h1 .badge")).to_have_text("Completed")
    listening(page, f"/ops/dead-letters?cause={night.calls}/send/HTTP_5XX")
    expect(page.locator("h1")).to_contain_text("20 letters")
    cause = page.locator(".cause-open")
    cause.get_by_role("button", name="Try this one").first.click()
    expect(cause.locator(".sample").get_by_text("Completed")).to_be_visible()
    bulk = page.get_by_role("complementary")
    bulk.get_by_role("button", name="100 per s").click()
    bulk.get_by_label("Type 10 to confirm").fill("10")
    bulk.get_by_role("button", name="Try 10 again").click()
    expect(page.locator("h1")).to_contain_text("9 letters")
    expect(page.locator(".cause", has_text="VALIDATION")).to_contain_text("mend it first")
    page.goto("/pipelines?status=FAILED,TIMEOUT")
    expect(page.locator("a.exec-name")).to_have_count(9)


def test_f_9_8_who_belongs_to_one_organisation_sees_their_list_alone(night: Night, window: Open) -> None:
    """F-6.6: their executions and those of nobody else, no sums over the tenant, and nothing that is refused."""
    site = night.site
    code = site.pipeline(a_stage("only", 1, stage_name="Only", processor_type="Checksum"), pipeline_name="Ours")
    for org in (7, 8):
        site.ended(site.begun(code, f"of-{org}.txt", organizationId=org))
    made = site.admin.put("/users/seven@x", json={"name": "Seven", "roles": ["author"], "organization_id": 7})
    assert made.status_code in (200, 201), made.text
    assert site.admin.get("/me").json()["organization_id"] is None
    page = window("seven@x", of=site.server, tongue="en")
    page.goto("/")  # they begin where their work is
    expect(page.locator("h1")).to_have_text("Executions")
    expect(page.locator("a.exec-name")).to_have_text(["of-7.txt"])
    expect(page.get_by_role("region", name="At a glance")).to_have_count(0)
    expect(page.get_by_role("navigation").first.get_by_role("link", name="Runs")).to_have_count(0)
    page.get_by_role("button", name="Completed", exact=True).click()
    expect(page.locator("a.exec-name")).to_have_text(["of-7.txt"])
    site.ended(site.begun(code, "later.txt", organizationId=7))
    expect(page.locator("a.exec-name")).to_have_text(["later.txt", "of-7.txt"])  # asked again after a while
    page.goto("/pipelines?q=of-8")
    expect(page.get_by_text("No execution matches")).to_be_visible()
    page.goto("/pipelines/usage")
    expect(page.locator("h1")).to_have_text("Executions")
    page.locator("a.exec-name", has_text="of-7.txt").click()
    expect(page.locator("h1 .badge")).to_have_text("Completed")
    expect(page.get_by_role("region", name="Only")).to_contain_text("Checksum")
    expect(page.get_by_role("region", name="Files")).to_contain_text("sha256")
