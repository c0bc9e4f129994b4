"""Releases: numbers, hashes, the way from submission to force, what differs, and what runs keep."""

from __future__ import annotations

import asyncio
import hashlib
import json
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from penstock.app.penstock import Penstock
from penstock.app.releases.diff import changes, summary
from penstock.app.releases.releases import ActiveRelease, Releases, document_of
from penstock.app.releases.start_release import start
from penstock.app.releases.triggers import RateLimit, active_release, webhooks
from penstock.errors import BadInput, DocumentInvalid, PathTaken, ReleaseNotFound, StatusConflict, VersionConflict
from penstock.host.clock import ManualClock
from penstock.lifecycle import MACHINES
from tests.app.workflows import opened, scheduled, workflow

NAME = "wf_small"


@pytest.fixture
def door(tmp_path: Path) -> Iterator[Penstock]:
    with opened(tmp_path) as one:
        yield one


@pytest.fixture
def versions(door: Penstock) -> Releases:
    return Releases(door, ManualClock(1_700_000_000_000))


def in_place(versions: Releases, document: dict[str, Any]) -> Any:
    row = versions.submit(document).release
    versions.approve(row.name, row.version, by="lee")
    return versions.activate(row.name, row.version)


# ---- submitting ------------------------------------------------------------------------------------------------------


def test_a_version_that_is_greater_is_kept_and_an_absent_one_filled_in(versions: Releases) -> None:
    """C-61: 11.x begin with version 2; without one it is the next."""
    assert versions.submit(workflow(version=2)).release.version == 2
    less = workflow()
    del less["version"]
    filled = versions.submit(less).release
    assert filled.version == 3 and json.loads(filled.document)["version"] == 3
    assert versions.submit(workflow(version=7)).release.version == 7
    with pytest.raises(VersionConflict, match="version 7 is newer"):
        versions.submit(workflow(version=5))


def test_the_same_again_is_the_same_and_another_document_is_refused(versions: Releases) -> None:
    """C-61: idempotent by hash, whatever the order of its keys; another document under the version is 409."""
    first = versions.submit(workflow(), by="kim")
    again = versions.submit(dict(reversed(workflow().items())), by="somebody else")
    assert (first.new, again.new) == (True, False) and again.release == first.release
    with pytest.raises(VersionConflict) as refused:
        versions.submit(workflow(description="changed"))
    assert refused.value.http == 409 and len(versions.each()) == 1


def test_the_hash_is_that_of_the_canonical_json(versions: Releases, tmp_path: Path) -> None:
    """W-9.3.2, W-3.1.2: SHA-256 of sorted, compact UTF-8, unknown keys included; YAML and JSON are one document. What
    is kept has the author's order, in which it is read again."""
    document = workflow(name="불량 알람", x_own={"b": 1, "a": [True, None, 1.5]})
    row = versions.submit(document).release
    text = json.dumps(document, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    written = json.dumps(document, separators=(",", ":"), ensure_ascii=False)
    assert written != text
    assert row.hash == hashlib.sha256(text.encode()).hexdigest() and row.document.decode() == written
    file = tmp_path / "same.json"
    file.write_text(json.dumps(document, indent=3), encoding="utf-8")
    assert not versions.submit(file).new
    with sqlite3.connect(tmp_path / "store.db") as c:
        found = c.execute("SELECT dsl, dsl_hash, status, workflow_id FROM workflow_versions").fetchall()
    assert found == [(written, row.hash, "pending_approval", NAME)]


def test_a_document_with_mistakes_is_not_submitted(versions: Releases, tmp_path: Path) -> None:
    """W-9.4.1: every finding, with the author's lines where the document is the author's; nothing is stored."""
    file = tmp_path / "bad.json"
    bad = workflow()
    bad["nodes"][1]["id"] = "first"
    file.write_text(json.dumps(bad, indent=1), encoding="utf-8")
    with pytest.raises(DocumentInvalid) as wrong:
        versions.submit(file)
    assert any(one.where.line for one in wrong.value.findings)
    del bad["version"]
    with pytest.raises(DocumentInvalid) as wrong:
        versions.submit(bad)
    assert all(one.where.pointer and not one.where.line for one in wrong.value.findings if one.severity == "error")
    with pytest.raises(BadInput, match="id"):
        versions.submit({"version": "light", "nodes": [], "connections": []})
    assert versions.each() == []


@pytest.mark.parametrize(
    ("trigger", "rule"),
    [
        ({"type": "event", "config": {"source": "a", "filter": {"n": {"$near": 1}}}}, "filter_operator"),
        ({"type": "schedule", "config": {"cron": "0 8 * * *", "overlap": "maybe"}}, "schedule_policy"),
        ({"type": "schedule", "config": {"cron": "0 8 * * *", "inputs": {"a": 1}}}, "schedule_input"),
        ({"type": "webhook", "config": {"path": "no/slash"}}, "webhook_path"),
        ({"type": "webhook", "config": {"method": "DELETE"}}, "webhook_method"),
        ({"type": "webhook", "config": {"rate_limit": {"requests": 0}}}, "webhook_rate"),
    ],
)
def test_a_trigger_that_means_nothing_is_refused(versions: Releases, trigger: Any, rule: str) -> None:
    """W-3.2.2, W-3.2.4: at the submission, with its place."""
    with pytest.raises(DocumentInvalid) as wrong:
        versions.submit(workflow(trigger=trigger))
    (finding,) = wrong.value.findings
    assert finding.rule == rule and finding.where.pointer.startswith("/trigger/config/")


# ---- the way into force ----------------------------------------------------------------------------------------------


def test_the_way_of_a_version(versions: Releases) -> None:
    """W-9.3.2, W-9.4.1: rejected with feedback, asked for again, approved, active, deprecated, and back."""
    versions.submit(workflow(), by="kim")
    assert versions.get(NAME, 1).status == "pending_approval"
    rejected = versions.reject(NAME, 1, by="lee", feedback="name the owner")
    assert (rejected.status, rejected.feedback) == ("draft", "lee: name the owner")
    assert versions.submit(workflow()).release.status == "pending_approval"
    approved = versions.approve(NAME, 1, by="lee")
    assert (approved.status, approved.approved_by, approved.feedback) == ("approved", "lee", None)
    assert approved.approved_at == versions.clock.now()
    assert versions.activate(NAME, 1).status == "active"
    over = versions.deprecate(NAME, 1)
    assert (over.status, over.deprecated_at) == ("deprecated", versions.clock.now())
    back = versions.activate(NAME, 1)
    assert (back.status, back.deprecated_at) == ("active", None)
    assert ActiveRelease(**msgspec.structs.asdict(versions.get(NAME, 1))) == back


def test_what_the_lifecycle_does_not_name_is_refused(versions: Releases) -> None:
    """W-9.3.2: every other move, from every status."""
    moves = {
        "approve": lambda v: versions.approve(NAME, v), "reject": lambda v: versions.reject(NAME, v, feedback="no"),
        "activate": lambda v: versions.activate(NAME, v), "deprecate": lambda v: versions.deprecate(NAME, v),
    }  # fmt: skip
    ways: dict[str, list[str]] = {
        "pending_approval": [], "draft": ["reject"], "approved": ["approve"], "active": ["approve", "activate"],
        "deprecated": ["approve", "deprecate"],
    }  # fmt: skip
    for n, (status, way) in enumerate(ways.items(), 1):
        versions.submit(workflow(version=n))
        for move in way:
            moves[move](n)
        assert versions.get(NAME, n).status == status
        for move in set(moves) - set(MACHINES["release"].moves(status)):
            with pytest.raises(StatusConflict):
                moves[move](n)
    with pytest.raises(ReleaseNotFound):
        versions.approve(NAME, 99)
    with pytest.raises(ReleaseNotFound):
        versions.get("nothing")


def test_one_version_is_in_force_at_a_time(versions: Releases) -> None:
    """W-9.3.2: activating deprecates the one before; per tenant and workflow."""
    in_place(versions, workflow())
    in_place(versions, workflow("wf_other"))
    in_place(versions, workflow(version=2))
    assert [(r.version, r.status) for r in versions.each(NAME)] == [(1, "deprecated"), (2, "active")]
    assert versions.get(NAME).version == 2 and versions.get("wf_other").status == "active"
    versions.activate(NAME, 1)
    assert [(r.version, r.status) for r in versions.each(NAME)] == [(1, "active"), (2, "deprecated")]


def test_somebody_else_was_first(versions: Releases, tmp_path: Path) -> None:
    """Two people activate two versions at once: both are done, one after the other, and one is in force."""
    for n in (1, 2):
        versions.submit(workflow(version=n))
        versions.approve(NAME, n)
    store = versions.door.store
    move = store.move_releases
    with opened(tmp_path) as other:

        def late(*args: Any) -> bool:
            store.move_releases = move  # type: ignore[method-assign]
            Releases(other).activate(NAME, 2)
            return move(*args)

        store.move_releases = late  # type: ignore[method-assign]
        versions.activate(NAME, 1)
    assert [r.status for r in versions.each(NAME)] == ["active", "deprecated"]


def test_what_a_document_says_about_its_approval_is_how_it_stands(versions: Releases) -> None:
    """C-17: pending_approval is pending, active is approved; either spelling is read."""
    for n, spelling in enumerate(("pending_approval", "pending", "active"), 1):
        versions.submit(workflow(version=n, metadata={"approval_status": spelling}))
        assert document_of(versions.get(NAME, n))["metadata"]["approval_status"] == "pending"
    versions.approve(NAME, 3)
    versions.activate(NAME, 3)
    assert document_of(versions.get(NAME))["metadata"]["approval_status"] == "approved"
    versions.deprecate(NAME, 3)
    assert document_of(versions.get(NAME, 3))["metadata"]["approval_status"] == "deprecated"


# ---- what is new -----------------------------------------------------------------------------------------------------


def test_what_differs_is_told_by_its_place(versions: Releases) -> None:
    """W-9.3.1: nodes by id, edges by their ends, policies and the rest by pointer."""
    old, new = workflow(policies={"timeout_ms": 1000}), workflow(version=2, policies={"timeout_ms": 2000})
    new["nodes"] = [
        {"id": "zeroth", "type": "WAIT", "condition": {"type": "manual"}},
        {"id": "first", "type": "WAIT", "condition": {"type": "manual"}, "name": "a/b"},
    ]
    new["edges"] = [{"from": "zeroth", "to": "first"}]
    versions.submit(old)
    second = versions.submit(new).release
    found = [(c.part, c.change, c.pointer, c.what) for c in versions.diff(NAME, 1, 2)]
    assert found == [
        ("nodes", "added", "/nodes/0", "zeroth"),
        ("nodes", "added", "/nodes/1/name", "first"),
        ("nodes", "removed", "/nodes/1", "second"),
        ("edges", "added", "/edges/0", "zeroth → first"),
        ("edges", "removed", "/edges/0", "first → second"),
        ("policies", "changed", "/policies/timeout_ms", "/policies/timeout_ms"),
    ]
    changed = versions.diff(NAME, 1, 2)[-1]
    assert (changed.before, changed.after) == (1000, 2000)
    assert second.change_summary == (
        "Added node zeroth, added node first, removed node second, added edge zeroth → first, removed edge first →"
        " second, changed /policies/timeout_ms."
    )
    assert versions.diff(NAME, 2, 2) == []


def test_the_authors_own_words_come_first(versions: Releases) -> None:
    assert versions.submit(workflow()).release.change_summary == "First version: 2 nodes, 1 edge."
    assert versions.submit(workflow(version=2), change_summary="as asked").release.change_summary == "as asked"
    assert versions.submit(workflow(version=3)).release.change_summary == "No change."
    assert summary({"a/b": 1, "c": [1]}, {"c": [1, 2]}) == "Added /c/1, removed /a/b."
    assert [c.pointer for c in changes({"x": {"a~b": 1}}, {"x": {"a~b": True}})] == ["/x/a~0b"]


# ---- triggers that go with it ----------------------------------------------------------------------------------------


def inputs_of(versions: Releases, name: str = NAME) -> Any:
    (row,) = [one for one in versions.door.store.schedules(versions.door.tenant) if one.name == name]
    return msgspec.msgpack.decode(row.inputs)


def test_activating_registers_the_schedule_with_its_inputs(versions: Releases) -> None:
    """C-31, C-81: the trigger's own inputs, else the tenant's, else the defaults of the schema, else an empty one."""
    schema = {"type": "object", "properties": {"line": {"type": "string", "default": "L09"}}}
    cases: list[tuple[dict[str, Any], Any]] = [
        (scheduled({"input": {"line": "L01"}}), [{"line": "L01"}]),
        (scheduled({"inputs": [{"line": "L01"}, {"line": "L02"}]}), [{"line": "L01"}, {"line": "L02"}]),
        (scheduled({}, id="wf_defect_alert_v2"), [{"line_id": "L01"}, {"line_id": "L02"}]),
        (scheduled({}, input_schema=schema), [{"line": "L09"}]),
        (scheduled({}), [{}]),
    ]
    for n, (document, expected) in enumerate(cases, 1):
        row = in_place(versions, {**document, "version": n})
        assert inputs_of(versions, row.name) == expected


def test_a_schedule_goes_with_its_version(versions: Releases) -> None:
    """W-3.2.1, C-31: without a zone it is the tenant's; the next version takes its place and stays paused; without a
    schedule, or without a version in force, there is none."""
    store, tenant = versions.door.store, versions.door.tenant
    in_place(versions, scheduled({"overlap": "skip", "catch_up": "all"}))
    (row,) = store.schedules(tenant)
    assert (row.zone, row.version, row.overlap, row.catch_up) == ("Asia/Seoul", 1, "skip", "all")
    assert row.next_at is not None and row.next_at > versions.clock.now()
    store.pause_schedule(tenant, NAME, True, None)
    in_place(versions, scheduled({"timezone": "UTC"}, version=2))
    (row,) = store.schedules(tenant)
    assert (row.zone, row.version, row.paused) == ("UTC", 2, 1)
    in_place(versions, workflow(version=3))
    assert store.schedules(tenant) == []
    versions.activate(NAME, 2)
    assert [one.version for one in store.schedules(tenant)] == [2]
    versions.deprecate(NAME, 2)
    assert store.schedules(tenant) == []


def test_webhooks_are_registered_with_their_path(versions: Releases) -> None:
    """W-3.2.4, W-3.2.8: {workflow_id} is replaced; two workflows cannot have one path; a version may keep its own."""
    store, tenant = versions.door.store, versions.door.tenant
    config = {
        "path": "/api/v1/workflows/{workflow_id}/trigger", "method": "POST", "auth": "bearer_token",
        "rate_limit": {"requests": 100, "window_sec": 60},
    }  # fmt: skip
    in_place(versions, workflow(trigger={"type": "webhook", "config": config}))
    in_place(versions, workflow("wf_hook", trigger={"type": "webhook", "config": {"path": "/hooks/one"}}))
    first, second = webhooks(store, tenant)
    assert (second.path, second.method, second.rate) == (
        "/api/v1/workflows/wf_small/trigger", "POST", RateLimit(requests=100, window_sec=60),
    )  # fmt: skip
    assert (first.name, first.path, first.rate, first.auth) == ("wf_hook", "/hooks/one", None, "bearer_token")
    taken = versions.submit(workflow("wf_third", trigger={"type": "webhook", "config": {"path": "/hooks/one"}}))
    versions.approve("wf_third", taken.release.version)
    with pytest.raises(PathTaken, match="wf_hook"):
        versions.activate("wf_third", 1)
    assert versions.get("wf_third", 1).status == "approved"
    in_place(versions, workflow("wf_hook", version=2, trigger={"type": "webhook", "config": {"path": "/hooks/one"}}))
    assert [hook.version for hook in webhooks(store, tenant) if hook.name == "wf_hook"] == [2]
    with pytest.raises(DocumentInvalid):
        versions.submit(workflow("wf_auth", trigger={"type": "webhook", "config": {"auth": "basic"}}))


# ---- runs ------------------------------------------------------------------------------------------------------------


def test_a_run_stays_on_the_version_it_began_with(tmp_path: Path) -> None:
    """W-9.3.2: while the next one is put in force under it; what starts afterwards is of the new one."""

    async def scene() -> None:
        async with Penstock(tmp_path / "store.db") as door:
            versions = Releases(door)
            in_place(versions, workflow())
            old = await start(door, NAME)
            await door.wait(old, until_waiting=True, timeout=60)
            shorter = workflow(version=2, nodes=[workflow()["nodes"][0]], edges=[])
            in_place(versions, shorter)
            new = await start(door, NAME, {"a": 1}, parent="r1")
            third = await start(door, NAME, version=1)
            for run in (old, new, third):
                await door.wait(run, until_waiting=True, timeout=60)
                await door.signal(run, "manual:first")
            assert (await door.wait(new, timeout=60)).status == "completed"
            for run in (old, third):
                look = await door.wait(run, until_waiting=True, timeout=60)
                assert (look.status, look.waiting[0].node) == ("waiting", "second")
            net = {run: door.row(run).net for run in (old, new, third)}
            assert net[old] == net[third] != net[new]
            found = active_release(door.store, door.tenant, NAME)
            assert found is not None and net[new] == found.net
            with pytest.raises(ReleaseNotFound):
                await start(door, "wf_nothing")

    asyncio.run(scene())


def test_a_run_knows_who_asked_for_it(tmp_path: Path) -> None:
    """C-18, W-3.2.6: sys.parent_instance_id is null unless somebody gives it; sys.trigger is what started it."""
    document = workflow(nodes=[{
        "id": "tell", "type": "DATA", "source": {"type": "sql", "query": "SELECT :a AS parent, :b AS source"},
        "params": {"a": "${sys.parent_instance_id}", "b": "${sys.trigger.source}"},
    }], edges=[])  # fmt: skip

    async def scene() -> None:
        async with Penstock(tmp_path / "store.db") as door:
            in_place(Releases(door), document)
            alone = await start(door, NAME)
            child = await start(door, NAME, parent=alone, trigger={"type": "webhook", "source": "line"})
            looks = [await door.wait(run, timeout=60) for run in (alone, child)]
            rows = [look.output[0] for look in looks]
            assert rows == [{"parent": None, "source": None}, {"parent": alone, "source": "line"}]

    asyncio.run(scene())
