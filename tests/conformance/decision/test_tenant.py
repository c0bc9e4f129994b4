"""Whose a document is: what names a tenant is released and started for no other (C-04)."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from penstock.app.releases.releases import Releases
from penstock.app.runs.start_input import checked_tenant
from penstock.errors import TenantConflict
from tests.conformance.decision.make import compiled, document, value
from tests.conformance.decision.test_tc_wf import play
from tests.conformance.decision.world import TENANT, Door, Wire, World

ID = "6f1c0c1e-7a52-4a53-9d3c-0c9f7f0a9d11"


@pytest.fixture(scope="module")
def wire() -> Iterator[Wire]:
    one = Wire()
    yield one
    one.close()


def mine(tenant: str | None) -> bytes:
    whole = document([value("a", "1")])
    return json.dumps(whole if tenant is None else {**whole, "tenant_id": tenant}).encode()


def test_it_is_for_its_tenant_alone(tmp_path: Path, wire: Wire) -> None:
    """C-04, C-78: refused with both names and what to do, when it is released, submitted or started; without a
    tenant it is the caller's. A tenant may be named by its id, too."""
    world = World(tmp_path, wire)
    world.register("config", "tenant", id=ID, timezone="Asia/Seoul")

    async def scene(door: Door) -> None:
        for release in (door.release, lambda text: Releases(door, world.clock).submit(text)):
            with pytest.raises(TenantConflict) as refused:
                release(mine("other"))
            error = refused.value
            assert "«other»" in str(error) and f"«{TENANT}»" in str(error) and "/tenant_id" in str(error)
            assert error.http == 403 and "tenant_id" in error.hint
        assert door.releases.each() == [] and door.runs() == []
        for tenant in (None, TENANT, ID):
            run = await door.start(door.release(mine(tenant)))
            await door.quiet()
            assert door.view(run).status == "completed"
        kept = door.release(mine(TENANT))
        with pytest.raises(TenantConflict):
            await door.of("other").start(kept)
        prepare, nets = door.host.starter.prepare, door.host.nets
        found = nets.by_hash(kept.hash)
        assert found is not None
        with pytest.raises(TenantConflict):  # and what the host starts by itself: a schedule, an event
            prepare("other", found[0], None, "r1")

    play(world, scene)


def test_a_document_without_one_is_everybody_s() -> None:
    """C-04."""
    net = compiled(document([value("a", "1")])).net
    assert "tenant" not in net.declares.policies
    checked_tenant(net, None, "anybody")  # type: ignore[arg-type]
