"""Who is not let in, who comes and who goes: held back by address, and in the audit."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import httpx2
import pytest

from penstock.api.account_tries import tries_of
from penstock.api.addresses import address_of
from penstock.api.auth_throttle import rate_of
from penstock.app.access.keys import RateLimits
from penstock.errors import BadInput, TooMany
from tests.api.places import in_force, settings
from tests.api.serving import Server, serving

TRIES = 8


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("guarded")
    settings(folder, f"[server]\nstrangers = {TRIES}\nproxies = ['127.0.0.1', '::1']\n")
    with serving(folder, "serve") as server:
        yield server


def admin_key(server: Server) -> str:
    return Path(server.store).with_name("penstock.db.admin-key").read_text().strip()


def coming(server: Server, address: str, key: str | None = None) -> httpx2.Client:
    """From an address, as a proxy on this machine says it."""
    client = server.client(key=key)
    client.headers["X-Forwarded-For"] = address
    return client


def wrong(key: str) -> str:
    """A key that there is, with another's secret."""
    return f"{key[:20]}{'A' * 43}"


def test_an_address_has_so_many_tries(guarded: Server) -> None:
    """Z17, Z20: whoever tries too often is told when to come back; others are not held up, nor is who has a key."""
    one = coming(guarded, "198.51.100.1", wrong(admin_key(guarded)))
    told = [one.get("/me") for _ in range(TRIES + 2)]
    assert [answer.status_code for answer in told[:TRIES]] == [401] * TRIES
    assert told[-1].status_code == 429 and int(told[-1].headers["Retry-After"]) >= 1
    assert told[-1].json()["code"] == "PS-429-RATE"
    assert coming(guarded, "198.51.100.1").get("/me").status_code == 429, "also who says nothing"
    assert coming(guarded, "198.51.100.1", admin_key(guarded)).get("/me").status_code == 200
    assert coming(guarded, "198.51.100.2").get("/me").status_code == 401
    asked = coming(guarded, "198.51.100.1").post("/session", json={"key": wrong(admin_key(guarded))})
    assert asked.status_code == 429


def test_nobody_but_a_proxy_says_where_somebody_is(tmp_path: Path) -> None:
    """Z20: without `proxies` a header gives nobody new tries, nor another address in the audit."""
    settings(tmp_path, f"[server]\nstrangers = {TRIES}\n")
    with serving(tmp_path, "serve") as server:
        key = wrong(admin_key(server))
        told = [coming(server, f"198.51.100.{n}", key).get("/me").status_code for n in range(TRIES + 2)]
        assert told == [401] * TRIES + [429] * 2
        assert {entry["body"]["from"] for entry in entries(server, "GET%20refused")} <= {"127.0.0.1", "::1"}


def test_an_account_has_so_many_tries_from_wherever_they_come(tmp_path: Path) -> None:
    """Z20: many addresses are no way around it, and they keep nobody out who has been in before."""
    settings(tmp_path, f"[server]\naccount_tries = {TRIES}\nproxies = ['127.0.0.1', '::1']\n")
    with serving(tmp_path, "serve") as server:
        key = admin_key(server)

        def login(address: str, secret: str, browser: httpx2.Client | None = None) -> httpx2.Response:
            client = browser or server.client()
            return client.post("/session", json={"key": secret}, headers={"X-Forwarded-For": address})

        browser = server.client()
        assert login("192.0.2.1", key, browser).status_code == 204
        told = [login(f"198.51.100.{n}", wrong(key)) for n in range(TRIES + 2)]
        assert [answer.status_code for answer in told] == [401] * TRIES + [429] * 2
        assert told[-1].json()["code"] == "PS-429-ACCOUNT" and int(told[-1].headers["Retry-After"]) >= 1
        assert login("198.51.100.200", key).status_code == 429, "a strange place, and no try is left"
        assert login("192.0.2.1", key).status_code == 204, "it has been in"
        assert login("203.0.113.9", key, browser).status_code == 204, "its address is new, the browser is not"
        assert coming(server, "198.51.100.201", key).get("/me").status_code == 200, "a program's key is no guess"
        assert coming(server, "198.51.100.202", wrong(key)).get("/me").status_code == 429


def test_a_session_that_was_ended_is_over_for_every_copy_of_its_cookie(tmp_path: Path) -> None:
    """Z23: on the server, and after its restart; another session of the same key goes on."""
    server = Server(tmp_path, "serve").start()
    try:
        key = admin_key(server)
        browser, other, thief = server.client(), server.client(), server.client()
        for one in (browser, other):
            assert one.post("/session", json={"key": key}).status_code == 204
        stolen = browser.cookies["penstock_session"]
        thief.cookies.set("penstock_session", stolen)
        assert thief.get("/me").status_code == 200
        assert browser.delete("/session").status_code == 204
        assert (thief.get("/me").status_code, other.get("/me").status_code) == (401, 200)
        assert server.stop() == 0
        server.start()
        assert (thief.get("/me").status_code, other.get("/me").status_code) == (401, 200)
    finally:
        server.stop()


@pytest.mark.parametrize("how", ["token", "signature"])
def test_a_webhooks_secret_is_not_guessed(guarded: Server, how: str) -> None:
    """Z2, Z20: people choose it, so that where no try is left not even the right one is compared."""
    admin, secret = guarded.client(key=admin_key(guarded)), "hunter2"
    assert admin.put("/secrets/webhook", json={"value": secret}).status_code == 204
    node = {"id": "wait_go", "type": "WAIT", "condition": {"type": "manual"}}
    trigger = {"type": "webhook", "config": {"auth": "bearer_token"}}
    name = in_force(
        admin, admin, {"id": f"w_{how}", "version": 1, "trigger": trigger, "nodes": [node], "edges": []}
    )  # fmt: skip
    address = {"token": "203.0.113.7", "signature": "2001:db8:1:2::7"}[how]

    def tried(word: str) -> int:
        client = coming(guarded, address)
        said = {"Authorization": f"Bearer {word}"} if how == "token" else {"X-Signature": f"sha256={word}"}
        more = {"X-Timestamp": "1"} if how == "signature" else {}
        return client.post(f"/workflows/{name}/trigger", json={}, headers={**said, **more}).status_code

    assert [tried(f"word{n}") for n in range(TRIES)] == [401] * TRIES
    assert tried(secret) == 429
    good = coming(guarded, "203.0.113.8")
    good.headers["Authorization"] = f"Bearer {secret}"
    assert good.post(f"/workflows/{name}/trigger", json={}).status_code == 202
    key = coming(guarded, address, admin_key(guarded))
    assert key.post(f"/workflows/{name}/trigger", json={}).status_code == 202, "a key is no guess"


def entries(server: Server, action: str) -> list[dict[str, Any]]:
    found = server.client(key=admin_key(server)).get(f"/audit?action={action}&limit=200")
    assert found.status_code == 200, found.text
    items: list[dict[str, Any]] = found.json()["items"]
    return items


def test_who_comes_and_goes_is_in_the_audit(guarded: Server) -> None:
    """C-66, Z23: sessions that are opened and ended, with the key and from where; not what is no session."""
    key, browser = admin_key(guarded), coming(guarded, "192.0.2.9")
    assert browser.post("/session", json={"key": key}).status_code == 204
    assert browser.delete("/session").status_code == 204
    forged = coming(guarded, "192.0.2.9")
    forged.cookies.set("penstock_session", "forged.0")
    assert forged.delete("/session").status_code == 204
    for action in ("POST%20/session", "DELETE%20/session"):
        (entry,) = entries(guarded, action)
        assert (entry["actor"], entry["target"]) == ("admin", "session")
        assert entry["body"] == {"from": "192.0.2.9", "with": key.split("_")[1]}


def test_a_key_that_is_not_taken_is_in_the_audit(guarded: Server) -> None:
    """C-66, Z23: once a minute for an address and a key, however often it comes, and never with the secret."""
    key, admin = admin_key(guarded), guarded.client(key=admin_key(guarded))
    made = admin.post("/keys", json={"name": "short", "user": "mes", "roles": ["viewer"]}).json()
    assert admin.delete(f"/keys/{made['id']}").status_code == 204
    for _ in range(3):
        assert coming(guarded, "192.0.2.77", made["token"]).get("/me").status_code == 401
        assert coming(guarded, "192.0.2.77", wrong(key)).get("/me").status_code == 401
    mine = [one for one in entries(guarded, "GET%20refused") if one["body"]["from"] == "192.0.2.77"]
    assert {(one["actor"], one["target"], one["body"]["refused"]) for one in mine} == {
        ("nobody", f"keys/{made['id']}", "PS-401-KEY-REVOKED"), ("nobody", f"keys/{key.split('_')[1]}", "PS-401-KEY"),
    }  # fmt: skip
    assert len(mine) == 2
    assert made["token"] not in admin.get("/audit?limit=200").text
    assert admin.get("/audit/verify").json()["ok"]


def test_another_tenants_key_is_in_its_own_audit(guarded: Server) -> None:
    """Z11: who guesses at a tenant's key is that tenant's business, and no other one reads of it."""
    admin = guarded.client(key=admin_key(guarded))
    token = admin.post("/tenants", json={"id": "other", "name": "Other", "admin": "boss@other"}).json()["token"]
    assert coming(guarded, "192.0.2.78", wrong(token)).get("/me").status_code == 401
    id = token.split("_")[1]
    assert f"keys/{id}" in guarded.client(key=token).get("/audit").text
    assert f"keys/{id}" not in admin.get("/audit?limit=200").text


# ---- how they are counted --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("said", "known"),
    [
        ("192.0.2.1", "192.0.2.1"), ("::ffff:192.0.2.1", "192.0.2.1"), ("2001:db8::1", "2001:db8::/64"),
        ("2001:db8::ffff:1", "2001:db8::/64"), ("fe80::1%eth0", "fe80::/64"), ("", "unknown"), ("x" * 100, "x" * 64),
    ],
)  # fmt: skip
def test_an_address_is_known_again(said: str, known: str) -> None:
    """Z20: of IPv6 a host has as many as it likes."""
    assert address_of(SimpleNamespace(client=SimpleNamespace(host=said))) == known  # type: ignore[arg-type]
    assert address_of(SimpleNamespace(client=None)) == "unknown"  # type: ignore[arg-type]


def test_many_addresses_fill_no_memory() -> None:
    """Z20: those who have all their tries again are forgotten; where all are in use, the oldest is."""
    rates = RateLimits()
    for n in range(30_000):
        rates.take(f"a{n}", "it", 1, now=0)
    assert len(rates._left) <= 10_000
    with pytest.raises(TooMany):
        rates.take("a29999", "it", 1, now=1)
    for n in range(10_000):
        rates.take(f"b{n}", "it", 1, now=60_001)
    assert not any(name.startswith("a") for name in rates._left)


def test_how_many_tries_the_settings_give() -> None:
    """Z24: what is not understood is refused at the start."""
    assert (rate_of({}), rate_of({"server.strangers": 0}), rate_of({"server.strangers": 5})) == (300, None, 5)
    for said in (-1, "5", True, 1.5):
        with pytest.raises(BadInput):
            rate_of({"server.strangers": said})
        with pytest.raises(BadInput):
            tries_of({"server.account_tries": said})
