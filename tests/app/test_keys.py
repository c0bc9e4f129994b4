"""API keys: made once, kept as a hash, refused for a reason that has a name."""

from __future__ import annotations

import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from penstock.app.access.keys import ApiKeys, RateLimits, first_key
from penstock.app.penstock import Penstock
from penstock.errors import BadInput, KeyExpired, KeyInvalid, KeyNotFound, KeyRevoked, PenstockError, TooMany
from penstock.host.clock import ManualClock
from tests.app.workflows import opened

MINUTE = 60_000


@pytest.fixture
def door(tmp_path: Path) -> Iterator[Penstock]:
    with opened(tmp_path) as one:
        yield one


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(1_700_000_000_000)


@pytest.fixture
def keys(door: Penstock, clock: ManualClock) -> ApiKeys:
    return ApiKeys(door, clock)


def test_z17_a_key_opens_and_says_whose_it_is(keys: ApiKeys, door: Penstock) -> None:
    """Z17: the token says the tenant, also to a door of another one; what it may is narrowed by its scopes."""
    made, token = keys.create("line 1", user="kim", by="lee", roles=["viewer"], scopes=["run.read", "pipeline.retry"])
    assert token.startswith(f"ps_{made.id}_")
    found = ApiKeys(door.of("other"), keys.clock).verified(token)
    assert (found.tenant, found.user, found.created_by, found.roles) == (door.tenant, "kim", "lee", ("viewer",))
    assert found.scopes == {"run.read", "pipeline.retry"}
    assert [one.id for one in keys.each()] == [made.id] and ApiKeys(door.of("other")).each() == []


def test_z17_the_secret_is_nowhere_in_the_store(keys: ApiKeys, door: Penstock, tmp_path: Path) -> None:
    """Z17, Z10: only its hash."""
    _, token = keys.create("line 1", user="kim", by="lee")
    secret = token.split("_", 2)[2].encode()[-30:]
    door.store.c.execute("PRAGMA wal_checkpoint(TRUNCATE)")  # type: ignore[attr-defined]
    kept = b"".join(file.read_bytes() for file in tmp_path.iterdir() if file.is_file())
    assert b"line 1" in kept and secret not in kept


def code_of(keys: ApiKeys, token: str) -> str:
    with pytest.raises(PenstockError) as refused:
        keys.verified(token)
    assert refused.value.http == 401 and (refused.value.hint or refused.value.facts.get("hint"))
    return refused.value.code


def test_z17_what_is_no_key_is_refused(keys: ApiKeys) -> None:
    """Z17: a wrong secret, another's secret, a stranger's id, and what is no key at all, all alike."""
    one, token = keys.create("a", user="kim", by="lee")
    _, other = keys.create("b", user="kim", by="lee")
    begin, secret = token[:20], token[20:]
    wrong = ("A" if secret[0] != "A" else "B") + secret[1:]
    bad = [
        begin + wrong, begin + other[20:], f"ps_{'0' * 16}_{secret}", token[:-1], token + "A", f" {token}",
        token.upper(), "", "ps_", "ps__", f"ps_{one.id}_", "ps_" + "é" * 60, f"{token}\n", "Bearer " + token,
    ]  # fmt: skip
    assert {code_of(keys, text) for text in bad} == {"PS-401-KEY"}
    assert keys.verified(token).id == one.id


def test_z17_expired_and_revoked_keys_say_so(keys: ApiKeys, clock: ManualClock, door: Penstock) -> None:
    """Z17: distinct codes, and a session that was opened with the key ends with it."""
    made, token = keys.create("a", user="kim", by="lee", expires_at=clock.now() + 10)
    assert keys.still(made.id).id == keys.verified(token).id
    clock.at += 10
    assert code_of(keys, token) == "PS-401-KEY-EXPIRED"
    with pytest.raises(KeyExpired):
        keys.still(made.id)
    gone, token = keys.create("b", user="kim", by="lee")
    with pytest.raises(KeyNotFound):
        ApiKeys(door.of("other"), clock).revoke(gone.id)
    assert keys.verified(token)
    assert keys.revoke(gone.id).revoked_at == clock.now()
    clock.at += 5
    assert keys.revoke(gone.id).revoked_at == clock.now() - 5, "again changes nothing"
    assert code_of(keys, token) == "PS-401-KEY-REVOKED"
    with pytest.raises(KeyRevoked):
        keys.still(gone.id)
    with pytest.raises(KeyInvalid):
        keys.still("nobody")


def test_the_last_use_is_written_once_a_minute(keys: ApiKeys, clock: ManualClock) -> None:
    _, token = keys.create("a", user="kim", by="lee")
    began = clock.now()
    for passed, noted in ((0, 0), (30_000, 0), (MINUTE, MINUTE), (MINUTE + 1, MINUTE)):
        clock.at = began + passed
        keys.verified(token)
        assert keys.each()[0].last_used_at == began + noted


def test_z20_a_key_has_a_rate(keys: ApiKeys, clock: ManualClock) -> None:
    """Z20: so many per minute, and it says when there is one more."""
    _, token = keys.create("a", user="kim", by="lee", rate=2)
    keys.verified(token)
    keys.verified(token)
    with pytest.raises(TooMany) as refused:
        keys.verified(token)
    assert refused.value.http == 429 and refused.value.facts["retry_s"] == 30
    clock.at += 29_000
    with pytest.raises(TooMany):
        keys.verified(token)
    clock.at += 1000
    keys.verified(token)
    with pytest.raises(TooMany):
        keys.verified(token)


def test_rates_fill_evenly_and_not_beyond_a_minute() -> None:
    rates = RateLimits()
    for _ in range(60):
        rates.take("x", "x", 60, 0)
    rates.take("y", "y", 60, 0)
    with pytest.raises(TooMany):
        rates.take("x", "x", 60, 999)
    for _ in range(60):
        rates.take("x", "x", 60, 10 * MINUTE)
    with pytest.raises(TooMany):
        rates.take("x", "x", 60, 10 * MINUTE)


def test_what_is_wrong_with_a_key_is_said(keys: ApiKeys, clock: ManualClock) -> None:
    wrong = [
        {"name": " "}, {"user": ""}, {"name": "x" * 201}, {"scopes": ["run.read", "run.everything"]},
        {"expires_at": clock.now()}, {"rate": 0},
    ]  # fmt: skip
    for one in wrong:
        with pytest.raises(BadInput):
            keys.create(**{"name": "a", "user": "kim", "by": "lee", **one})  # type: ignore[arg-type]
    assert keys.each() == []


def test_the_first_start_makes_a_key_for_the_administrator(door: Penstock, keys: ApiKeys) -> None:
    """Z17, Z24: in a file for its owner only; never a second time."""
    path = first_key(door, door.path)
    assert path == door.path.with_name("store.db.admin-key")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    found = keys.verified(path.read_text().strip())
    assert (found.tenant, found.user, found.roles, found.scopes) == (door.tenant, "admin", ("admin",), None)
    assert first_key(door, door.path) is None
    keys.revoke(found.id)
    assert first_key(door, door.path) is None, "a revoked key is not replaced by itself"


def test_a_file_that_a_crash_has_left_is_written_anew(door: Penstock, keys: ApiKeys) -> None:
    path = door.path.with_name("store.db.admin-key")
    path.write_text("ps_half")
    path.with_name(f"{path.name}.new").write_text("half")
    assert first_key(door, door.path) == path and keys.verified(path.read_text().strip())
    assert stat.S_IMODE(path.stat().st_mode) == 0o600 and not path.with_name(f"{path.name}.new").exists()


def test_the_keys_of_a_user_end_together(keys: ApiKeys, door: Penstock) -> None:
    """Z17: who is taken out has no key left; others, and those of another tenant, keep theirs."""
    tokens = [keys.create(f"k{n}", user="kim", by="lee")[1] for n in range(2)]
    _, other = keys.create("k", user="lee", by="lee")
    _, far = ApiKeys(door.of("other"), keys.clock).create("k", user="kim", by="lee")
    assert len(keys.revoke_of("kim")) == 2 and keys.revoke_of("kim") == []
    for token in tokens:
        with pytest.raises(KeyRevoked):
            keys.verified(token)
    assert keys.verified(other).user == "lee" and keys.verified(far).tenant == "other"
