"""A new version of what is released opens as its author has written it; nothing is changed before somebody does."""

from __future__ import annotations

import json
import re
from contextlib import closing
from typing import Any

import pytest

from tests.api.places import in_force
from tests.api.serving import Server
from tests.browser.conftest import Open
from tests.browser.runs import ADMIN, MANAGER

expect = pytest.importorskip("playwright.sync_api").expect
pytestmark = pytest.mark.xdist_group("browser")

#: keys in an order that no alphabet has
WRITTEN: dict[str, Any] = {
    "version": 1, "name": "온도 확인", "id": "wf_as_written",
    "metadata": {"owner": "품질팀", "approval_status": "draft", "author": "최설계"},
    "nodes": [
        {"type": "ACTION", "id": "tell", "message": "온도가 높아요", "channel": {"type": "slack"}},
        {"type": "ACTION", "id": "again", "message": "다시 확인해요", "channel": {"type": "slack"}},
    ],
    "edges": [{"to": "again", "from": "tell"}],
}  # fmt: skip


def _released(server: Server) -> str:
    with closing(server.client(ADMIN)) as admin, closing(server.client(MANAGER)) as manager:
        if admin.get(f"/definitions/{WRITTEN['id']}/versions").status_code == 200:
            return str(WRITTEN["id"])
        return in_force(admin, manager, WRITTEN)


def test_a_new_version_opens_clean_and_in_its_authors_order(server: Server, window: Open) -> None:
    """No finding, no difference, the author's keys in the author's order; there is nothing to hand in yet."""
    id = _released(server)
    page = window(ADMIN)
    page.goto(f"/definitions?new={id}")
    text = page.locator(".writing textarea")
    expect(text).to_have_value(re.compile("wf_as_written"))
    shown = json.loads(text.input_value())
    assert list(shown) == list(WRITTEN)
    assert [list(node) for node in shown["nodes"]] == [list(node) for node in WRITTEN["nodes"]]
    assert shown["version"] == 2  # the number that it will have
    findings = page.get_by_role("region", name="검사 결과")
    expect(findings).to_contain_text("고칠 것이 없어요")
    expect(findings.locator(".finding.tone-failed")).to_have_count(0)
    expect(page.get_by_role("button", name="내기", exact=True)).to_be_disabled()
    page.get_by_role("button", name="바뀐 것").click()
    expect(page.get_by_text("바뀐 것이 없어요").first).to_be_visible()


def test_only_what_the_author_changes_is_a_change(server: Server, window: Open) -> None:
    """One word is changed, so one line differs, here and in the version that is handed in."""
    id = _released(server)
    page = window(ADMIN)
    page.goto(f"/definitions?new={id}")
    text = page.locator(".writing textarea")
    expect(text).to_have_value(re.compile("wf_as_written"))
    text.fill(text.input_value().replace("온도가 높아요", "온도가 아주 높아요"))
    page.get_by_role("button", name="바뀐 것").click()
    expect(page.locator(".def-counts")).to_have_text(re.compile(r"^\+1 −1"))
    page.get_by_role("button", name="내기", exact=True).click()
    expect(page).to_have_url(re.compile(f"/definitions/{id}/versions/2$"))
    with closing(server.client(ADMIN)) as client:
        changes = client.get(f"/definitions/{id}/diff?from=1&to=2").json()["changes"]
        assert [change["pointer"] for change in changes] == ["/nodes/0/message"]
        assert list(client.get(f"/definitions/{id}/versions/2").json()["document"]) == list(WRITTEN)
