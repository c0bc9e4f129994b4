"""Coming in: with a key, with a token of the company's own sign-in, and at addresses that mean nothing."""

from __future__ import annotations

import gzip
import json
import re
import time
from pathlib import Path
from typing import Any

import httpx2
import pytest

from tests.api.serving import Server, serving
from tests.browser.conftest import CONSOLE, Open, Watch
from tests.browser.runs import ADMIN

jwt = pytest.importorskip("jwt")
expect = pytest.importorskip("playwright.sync_api").expect
pytestmark = pytest.mark.xdist_group("browser")


def test_people_sign_in_with_a_token_of_their_company(chromium: Any, tmp_path: Path, watch: Watch) -> None:
    """C-66: the page knows a token from a key by itself; a wrong one is told, and what was typed stays."""
    from cryptography.hazmat.primitives.asymmetric import ec

    key = ec.generate_private_key(ec.SECP256R1())
    public = json.loads(jwt.algorithms.ECAlgorithm.to_jwk(key.public_key()))
    (tmp_path / "s").mkdir()
    (tmp_path / "s" / "keys.json").write_text(json.dumps({"keys": [{**public, "kid": "k1", "use": "sig"}]}))
    said = '[jwt]\nissuer = "https://id.example.com"\naudience = "penstock"\njwks = "keys.json"\n'
    (tmp_path / "s" / "settings.toml").write_text(said)
    claims: dict[str, Any] = {
        "iss": "https://id.example.com", "aud": "penstock", "sub": "kim", "tenant": "tenant_001",
        "roles": ["operator"], "exp": int(time.time()) + 600,
    }  # fmt: skip
    good, other = (
        jwt.encode({**claims, "aud": audience}, key, algorithm="ES256", headers={"kid": "k1"})
        for audience in ("penstock", "somebody else")
    )
    with serving(tmp_path, "serve") as server:
        context = chromium.new_context(base_url=server.url, locale="ko-KR")
        page = context.new_page()
        watch.look(page)
        watch.excuse("401", "404")
        page.goto("/runs")
        expect(page.get_by_role("heading", level=1)).to_have_text("로그인이 필요해요")
        expect(page.get_by_role("button", name="API 키")).to_have_attribute("aria-pressed", "true")
        page.get_by_label("API 키", exact=True).last.fill(other)
        expect(page.get_by_role("button", name="토큰 (JWT)")).to_have_attribute("aria-pressed", "true")
        page.get_by_role("button", name="들어가기").click()
        expect(page.get_by_role("alert")).to_be_visible()
        field = page.locator("#credential")
        expect(field).to_have_value(other)
        field.fill(good)
        page.get_by_role("button", name="들어가기").click()
        expect(page.get_by_role("navigation", name="주 메뉴").first).to_contain_text("kim")
        expect(page).to_have_url(re.compile("/runs$"))
        context.close()
    assert watch.left() == []


@pytest.mark.parametrize("path", ["/runs/%E0%A4%A", "/inbox/%", "/%FF/x"])
def test_an_address_that_cannot_be_read_is_not_found(path: str, window: Open) -> None:
    """The frame stays, and leads back."""
    page = window(ADMIN)
    page.goto(path)
    expect(page.get_by_role("heading", level=1)).to_have_text("찾을 수 없어요")
    page.get_by_role("main").get_by_role("link", name="홈").click()
    expect(page).to_have_url(re.compile(r"/$"))
    expect(page.get_by_role("heading", level=1)).not_to_have_text("찾을 수 없어요")


def test_files_of_the_console_come_packed_and_are_kept(server: Server) -> None:
    """Brotli, gzip or as they are, whatever the browser takes, under one name that is kept for a year."""
    index = (CONSOLE / "index.html").read_text(encoding="utf-8")
    script = re.findall(r'src="/(assets/[^"]+\.js)"', index)[0]
    plain = (CONSOLE / script).read_bytes()
    sizes = {}
    for asked, coding in {"gzip, deflate, br": "br", "gzip": "gzip", "br;q=0, gzip": "gzip", "identity": None}.items():
        with httpx2.stream("GET", f"{server.url}/{script}", headers={"Accept-Encoding": asked}, timeout=60) as answer:
            body = b"".join(answer.iter_raw())
        sizes[coding] = len(body)
        assert answer.headers.get("content-encoding") == coding, asked
        assert answer.headers["vary"] == "Accept-Encoding" and "javascript" in answer.headers["content-type"]
        assert answer.headers["cache-control"] == "public, max-age=31536000, immutable"
        if coding != "br":
            assert (gzip.decompress(body) if coding else body) == plain
    assert sizes["br"] < sizes["gzip"] < 180 * 1024 < len(plain) == sizes[None]
    view = httpx2.get(f"{server.url}/runs", timeout=60)
    assert view.headers["cache-control"] == "no-cache" and view.text == index
    assert httpx2.get(f"{server.url}/assets/nothing.js", timeout=60).status_code == 404
