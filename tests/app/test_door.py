"""The door: what any caller can do through it, whoever drives the store."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from penstock.app.penstock import Penstock
from penstock.errors import NodeNotFound, NothingToUndo, RunNotFound, StatusConflict, ThingInvalid
from tests.app.workflows import opened, workflow

AUTO = {"dlq": {"replay": {"auto_replay_on_fix": True}}}


def bytes_of(document: dict[str, Any]) -> bytes:
    return json.dumps(document).encode()


def failing(version: int = 1, query: str = "SELECT * FROM no_such_table") -> dict[str, Any]:
    data = {"id": "data_x", "type": "DATA", "source": {"type": "sql", "query": query}}
    return workflow("wf_dead", version=version, nodes=[data], edges=[], policies=AUTO)


def put_in_force(door: Penstock, document: dict[str, Any]) -> list[str]:
    row = door.releases.submit(document).release
    door.releases.approve(row.name, row.version)
    return door.releases.activate(row.name, row.version).replayed


# ---- dead letters are replayed by whoever puts a version in force ----------------------------------------------------


def test_w_7_5_4_activating_replays_through_a_door_that_drives(tmp_path: Path) -> None:
    """W-7.5.4: auto_replay_on_fix; once, and not for an older version that comes back."""

    async def scene() -> None:
        async with Penstock(tmp_path / "store.db") as door:
            assert put_in_force(door, failing()) == []
            run = await door.start(door.hash_of(door.releases.get("wf_dead").net))
            assert (await door.wait(run, timeout=60)).status == "failed"
            (new,) = put_in_force(door, failing(2, "SELECT 1 AS one"))
            assert (await door.wait(new, timeout=60)).status == "completed"
            assert door.state_at(new).options["replay_of"] == run
            door.releases.deprecate("wf_dead", 2)
            assert door.releases.activate("wf_dead", 1).replayed == []
            assert door.releases.activate("wf_dead", 2).replayed == []

    asyncio.run(scene())


def test_w_7_5_4_activating_replays_through_a_door_that_does_not_drive(tmp_path: Path) -> None:
    """W-7.5.4: the replay is left to whoever drives the store next."""

    async def fails() -> str:
        async with Penstock(tmp_path / "store.db") as door:
            put_in_force(door, failing())
            run = await door.start(door.hash_of(door.releases.get("wf_dead").net))
            await door.wait(run, timeout=60)
            return run

    async def drives(new: str) -> str:
        async with Penstock(tmp_path / "store.db") as door:
            for _ in range(200):
                try:
                    return (await door.wait(new, timeout=60)).status
                except RunNotFound:
                    await asyncio.sleep(0.02)
            raise AssertionError("nobody has started it")

    run = asyncio.run(fails())
    with opened(tmp_path) as door:
        (new,) = put_in_force(door, failing(2, "SELECT 1 AS one"))
        assert [letter.replays for letter in door.letters()] == [1]
    assert asyncio.run(drives(new)) == "completed"
    with opened(tmp_path) as door:
        assert door.state_at(new).options["replay_of"] == run


# ---- compensation by hand --------------------------------------------------------------------------------------------


def undoable(*, on: list[str] | None = None) -> dict[str, Any]:
    trigger = {} if on is None else {"trigger": {"on": on}}
    nodes = [
        {"id": name, "type": "ACTION", "channel": {"type": "webhook", "config": {"url": f"outbox:{name}"}}}
        for name in ("act_a", "act_b")
    ]
    undoing = [
        {"id": f"undo_{name}", "type": "COMPENSATION", "for_node": f"act_{name}", **trigger,
         "actions": [{"type": "notification", "channel": "slack", "message": f"undone {name}"}]}
        for name in ("a", "b")
    ]  # fmt: skip
    edges = [{"from": "act_a", "to": "act_b"}]
    return workflow("wf_undo", nodes=[*nodes, *undoing], edges=edges)


def undone(door: Penstock, run: str) -> list[str]:
    """What was told about, oldest first."""
    import msgspec

    rows = sorted(door.store.messages(door.tenant, run), key=lambda row: row.at)
    told = [msgspec.msgpack.decode(row.body) for row in rows]
    return [one["text"] for one in told if isinstance(one, dict) and "undone" in str(one.get("text"))]


def test_w_4_10_5_an_operator_undoes_a_run(tmp_path: Path) -> None:
    """W-4.10.5, W-4.10.1, C-45: by hand, the last first; a second time there is nothing left."""

    async def scene() -> None:
        async with Penstock(tmp_path / "store.db") as door:
            run = await door.start(door.release(bytes_of(undoable()), name="undo.json"))
            assert (await door.wait(run, timeout=60)).status == "completed"
            with pytest.raises(NodeNotFound) as unknown:
                await door.compensate(run, only=["act_c"])
            assert "act_a" in unknown.value.facts["hint"]
            await door.compensate(run)
            assert (await door.wait(run, timeout=60)).status == "compensated"
            assert undone(door, run) == ["undone b", "undone a"]
            with pytest.raises((NothingToUndo, StatusConflict)):
                await door.compensate(run)

    asyncio.run(scene())


def test_w_4_10_5_only_one_node_is_undone(tmp_path: Path) -> None:
    async def scene() -> None:
        async with Penstock(tmp_path / "store.db") as door:
            run = await door.start(door.release(bytes_of(undoable()), name="undo.json"))
            await door.wait(run, timeout=60)
            await door.compensate(run, only=["act_a"])
            await door.wait(run, timeout=60)
            assert undone(door, run) == ["undone a"]

    asyncio.run(scene())


def test_w_4_10_5_what_is_not_undone_by_hand_is_left(tmp_path: Path) -> None:
    """W-4.10.5: a trigger without `manual` is for failures only, and the operator hears it."""

    async def scene() -> None:
        async with Penstock(tmp_path / "store.db") as door:
            run = await door.start(door.release(bytes_of(undoable(on=["node_failure"])), name="undo.json"))
            await door.wait(run, timeout=60)
            with pytest.raises(NothingToUndo, match="by hand"):
                await door.compensate(run)
            assert door.view(run).status == "completed" and undone(door, run) == []

    asyncio.run(scene())


# ---- the words of the language ---------------------------------------------------------------------------------------


def test_w_2_3_1_nodes_and_firings_have_the_words_of_the_language(tmp_path: Path) -> None:
    """W-2.3.1, W-2.2.6: in lower case, for nodes as for what they did."""

    async def scene() -> None:
        async with Penstock(tmp_path / "store.db") as door:
            run = await door.start(door.release(bytes_of(workflow())))
            look = await door.wait(run, timeout=60, until_waiting=True)
            assert look.nodes == {"first": "running", "second": "queued"}
            await door.signal(run, look.waiting[0].name or "")
            look = await door.wait(run, timeout=60, until_waiting=True)
            assert look.nodes == {"first": "succeeded", "second": "running"}
            assert {one.node: one.status for one in look.firings} == look.nodes
            await door.cancel(run)
            look = await door.wait(run, timeout=60)
            assert look.nodes == {"first": "succeeded", "second": "skipped"}

    asyncio.run(scene())


# ---- what is registered ----------------------------------------------------------------------------------------------

PACK = b"""
id: pack
version: 1.0.0
rules:
  - {id: R1, when: "rate >", decision: critical}
"""


def test_c_53_findings_name_the_thing_its_line_and_what_to_do(tmp_path: Path) -> None:
    """C-53: a rule pack that cannot be used is refused with places, and nothing is stored."""
    with opened(tmp_path) as door:
        with pytest.raises(ThingInvalid) as wrong:
            door.registry.put_source("rule_pack", "pack", PACK, "pack.yaml")
        assert "rule_pack «pack»" in str(wrong.value) and wrong.value.facts["file"] == "pack.yaml"
        errors = [one for one in wrong.value.findings if one.severity == "error"]
        assert errors and all(one.where.line and one.hint for one in errors)
        assert any(one.where.pointer.startswith("/rules/0") and one.where.line == 5 for one in errors)
        assert door.registry.each("rule_pack") == []


@pytest.mark.parametrize(
    ("type", "body", "pointer"),
    [
        ("connection", {"type": "fax"}, "/type"),
        ("user", {"roles": "boss"}, "/roles"),
        ("secret", {}, ""),
        ("template", {"body": "a ${b"}, "/body"),
        ("calendar", {"timezone": "Mars/North"}, "/timezone"),
        ("channel", ["no"], ""),
        ("channel", {"headers": {"A": "${secrets[name]}"}}, "/headers/A"),
        ("template", {"channel_config": {"headers": {"A": "${fn.get_secret(name)}"}}}, "/channel_config/headers/A"),
        ("template", {"body": "b", "channel_config": {"url": "${secrets[name]}"}}, "/channel_config/url"),
        ("template", {"body": {"deep": ["${secrets.token}"]}}, "/body/deep/0"),
        ("template", {"body": "b", "subject": "${fn.get_secret('token')}"}, "/subject"),
        ("secret", {"ref": "safe:x"}, "/ref"),
        ("secret", {"ref": "plain"}, "/ref"),
    ],
)
def test_what_cannot_be_used_is_said_with_its_place(tmp_path: Path, type: str, body: Any, pointer: str) -> None:
    """C-55, C-63: also what would let data choose a secret, ask for one where people read, or find none ever."""
    with opened(tmp_path) as door:
        with pytest.raises(ThingInvalid, match=f"{type} «it»") as wrong:
            door.registry.put(type, "it", body)
        (one,) = wrong.value.findings
        assert one.where.pointer == pointer and one.hint
        with pytest.raises(ThingInvalid) as placed:
            door.registry.put_source(type, "it", json.dumps(body, indent=1).encode())
        assert placed.value.findings[0].where.line
