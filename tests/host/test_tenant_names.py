"""A name is its tenant's own: another that uses it gets nothing, takes nothing away, and is not kept waiting."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from penstock.api.webhook_rates import WebhookRates
from penstock.app.access.idempotency import IdempotencyKeys, Ticket
from penstock.app.penstock import Penstock
from penstock.app.registry.registry import artifact
from penstock.app.releases.triggers import RateLimit, Webhook
from penstock.app.runs.queries import StoreReader
from penstock.app.runs.waiting.breakers import breakers
from penstock.errors import BadInput
from penstock.executors.contract import Done, failed
from penstock.host.gate import Gate
from penstock.host.secrets import SecretPlaces
from penstock.host.tenants import Tenants, folder_name
from penstock.net.model import Breaker, Cache, Dedupe, Rate
from penstock.store.drafts import DraftRow, RemarkRow
from penstock.store.events import EventRow
from penstock.store.releases import ReleaseRow
from penstock.store.run_store import Batch
from penstock.store.schedules import ScheduleRow
from penstock.store.sqlite import Sqlite
from tests.host.rig import Fn, Rig, chain, ended, go, task, wait
from tests.host.test_timers import laps

MINE, YOURS = "a", "b"


@pytest.fixture
def store(rig: Rig) -> Sqlite:
    rig.store = Sqlite(rig.path)
    return rig.store


# ---- the gate --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("rate", [Rate(name="r", limit=1), Rate(name="r", limit=1, rolling=True)], ids=["", "rolling"])
def test_a_rate(store: Sqlite, rate: Rate) -> None:
    gate = Gate(store)
    assert gate.admit(0, "k1", tenant=MINE, rate=rate) == "go"
    gate.ended(0, "k1", Done(), 1, tenant=MINE, rate=rate)
    assert gate.admit(0, "k2", tenant=MINE, rate=rate) != "go"
    assert gate.admit(0, "k3", tenant=YOURS, rate=rate) == "go"


def test_a_breaker_is_neither_opened_nor_seen_nor_reset(store: Sqlite) -> None:
    breaker, gate = Breaker(name="wf/n", failures=1), Gate(store)
    assert gate.admit(0, "k1", tenant=MINE, breaker=breaker) == "go"
    gate.ended(0, "k1", failed("DOWN", "external", "down"), 1, tenant=MINE, breaker=breaker)
    assert gate.is_open(breaker, MINE) and not gate.is_open(breaker, YOURS)
    assert gate.admit(0, "k2", tenant=YOURS, breaker=breaker) == "go"
    batch = Batch()
    gate.write(batch, 0)
    store.commit(batch)
    assert [b.status for b in breakers(store, MINE)] == ["open"]
    assert [b.status for b in breakers(store, YOURS)] in ([], ["closed"])
    gate.reset(YOURS, "wf/n")
    assert gate.is_open(breaker, MINE)


@pytest.mark.parametrize(
    "gated",
    [
        {"cache": Cache(key="'k'")}, {"cache": Cache(key="'k'", shared=True)},
        {"dedupe": Dedupe(key="'k'", known="answer")}, {"once": Dedupe(key="'k'", known="answer")},
    ],
    ids=["cache", "shared cache", "dedupe", "once"],
)  # fmt: skip
def test_what_was_answered_before(rig: Rig, gated: dict[str, Any]) -> None:
    """The same net, the same key: the first answer is its tenant's."""
    x = Fn(lambda request: request.tenant)

    async def scene() -> None:
        async with rig.driving(x) as host:
            net = host.release(chain(task("t", **gated)))
            for tenant in (MINE, YOURS, MINE):
                await ended(host, host.start(net, tenant=tenant))

    go(scene())
    assert [request.tenant for request in x.seen] == [MINE, YOURS]


# ---- runs and what starts them ---------------------------------------------------------------------------------------


def test_the_key_of_a_run(rig: Rig) -> None:
    """A business key finds a run of its own tenant, and keeps nobody else from starting one."""
    host = rig.open(Fn())
    net = host.release(chain(wait("w")))
    mine, yours = (host.start(net, key="order-1", tenant=tenant) for tenant in (MINE, YOURS))
    laps(host)
    rows = [host.store.run_by_key(tenant, "order-1") for tenant in (MINE, YOURS, "c")]
    assert [row and row.id for row in rows] == [mine, yours, None]


def test_an_idempotency_key(store: Sqlite) -> None:
    keys = IdempotencyKeys(store)
    mine, yours = (keys.begin(tenant, "k", "the same request") for tenant in (MINE, YOURS))
    assert isinstance(mine, Ticket) and isinstance(yours, Ticket) and mine.run_key != yours.run_key


def test_an_event(store: Sqlite) -> None:
    """Its id, and the name it comes under, which a stream is read by."""
    assert store.put_event(EventRow(MINE, "e1", "news", msgspec.msgpack.encode(1), 1)) == 1
    assert store.put_event(EventRow(YOURS, "e1", "news", msgspec.msgpack.encode(2), 1)) == 2
    tenants = Tenants(store, SecretPlaces(), lambda: 1)

    async def read(tenant: str) -> list[Any]:
        taken = await tenants(tenant).take("news", 10, 0)
        return [] if taken is None else taken.messages

    assert [asyncio.run(read(tenant)) for tenant in (MINE, MINE, YOURS)] == [[1], [], [2]]


def test_a_webhook() -> None:
    """Its rate counts the requests of its own tenant."""
    hook, rates = Webhook("wf", 1, 1, "POST", "/x", "none", RateLimit(requests=1, window_sec=60)), WebhookRates()
    rates.take(MINE, hook, 0)
    rates.take(YOURS, hook, 0)


def test_a_schedule_and_a_release(store: Sqlite) -> None:
    for number, tenant in enumerate((MINE, YOURS)):
        release = ReleaseRow(tenant, "wf", 1, f"id{number}", "active", "h", 1, b"{}", "news", None, 1)
        row = ScheduleRow(tenant, "wf", 1, "* * * * *", "UTC", b"\x91\x80", "allow", "one", 0, None, 5000)
        assert store.move_releases((), new=[release], schedules=[row])
    assert store.pause_schedule(YOURS, "wf", True, None)
    assert [row.tenant for row in store.schedules_due(9000)] == [MINE]
    assert [row.id for row in store.releases(MINE, listens="news")] == ["id0"]


# ---- what is registered and kept -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "type", ["mcp_server", "connection", "secret", "tool", "agent", "model", "rule_pack", "template", "collection"]
)
def test_what_is_registered(store: Sqlite, type: str) -> None:
    """An MCP server, a connection, a secret: found by the tenant that has registered it."""
    store.put_artifacts([artifact(MINE, type, "x", {"n": 1, "value": "v"}, 0)])
    tenants = Tenants(store, SecretPlaces(), lambda: 0)
    assert tenants(MINE).find(type, "x") is not None
    assert tenants(YOURS).find(type, "x") is None and not tenants(YOURS).each(type)
    store.put_artifacts([artifact(YOURS, type, "x", {"n": 2, "value": "w"}, 0)])
    tenants.refresh()
    assert (tenants(MINE).find(type, "x") or {})["n"] == 1 and (tenants(YOURS).find(type, "x") or {})["n"] == 2


def test_whose_turn_it_is(store: Sqlite) -> None:
    """People who take work one after another do so within their tenant."""
    tenants = Tenants(store, SecretPlaces(), lambda: 0)
    assert [tenants(MINE).turn("desk", f"k{n}", ["kim", "lee"]) for n in range(3)] == ["kim", "lee", "kim"]
    assert tenants(YOURS).turn("desk", "k2", ["kim", "lee"]) == "kim"
    assert tenants(MINE).turn("desk", "k3", ["kim", "lee"]) == "lee"


def test_a_draft_and_a_remark(store: Sqlite) -> None:
    assert store.put_draft(DraftRow(MINE, "kim", "k", 1, b"mine", 1), None)
    assert store.draft(YOURS, "kim", "k") is None and not store.drop_draft(YOURS, "kim", "k")
    assert store.put_draft(DraftRow(YOURS, "kim", "k", 1, b"yours", 1), None)
    assert [row.body for row in store.drafts(MINE, "kim")] == [b"mine"]
    assert store.add_remark(RemarkRow(MINE, "r1/n", 1, "kim", 1, "comment", b"x"))
    assert store.remarks(YOURS, ["r1/n"]) == []


def test_a_folder() -> None:
    names = ["a", "b", "A", "a ", "~a", "..", "../a", "a.b", "con", "ａ", folder_name("A")]
    assert len({folder_name(name).casefold() for name in names}) == len(names)
    assert all("/" not in folder_name(name) and folder_name(name) not in ("", ".", "..") for name in names)


# ---- names of tenants ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["", "a/b", "/", "a\n", "a\x00b"])
@pytest.mark.parametrize("door", [Penstock, StoreReader], ids=["drives", "reads"])
def test_a_tenant_is_not_called_like_what_another_has(tmp_path: Path, name: str, door: Callable[..., Any]) -> None:
    """What is kept under TENANT/NAME would be «b/x» of the tenant «a» and «x» of the tenant «a/b»."""
    Sqlite(tmp_path / "s.db").close()
    with pytest.raises(BadInput) as refused:
        door(tmp_path / "s.db", tenant=name)
    assert "tenant" in str(refused.value)
