"""Large values: stored once, by reference, and whole again for whoever gets them."""

from __future__ import annotations

from typing import Any

import pytest

from penstock.errors import StoreError
from penstock.host.blobs import LIMIT, REF, Blobs
from penstock.kernel import command as C
from penstock.net.model import Edge, Net
from penstock.store.run_store import Batch
from penstock.store.sqlite import Sqlite
from tests.host.rig import END, START, Fn, Rig, chain, ended, eventually, fan, go, task, wait

LARGE: dict[str, Any] = {
    "text": "ü" * 70_000,
    "binary": bytes(range(256)) * 400,
    "object": {"rows": [{"n": n, "name": f"row {n}"} for n in range(5000)]},
    "list": list(range(60_000)),
}


@pytest.mark.parametrize("kind", LARGE)
def test_a_large_body_is_stored_by_reference_and_comes_back_equal(rig: Rig, kind: str) -> None:
    """D-X.20: bodies over 64 KiB; the journal and the checkpoint stay small, the next executor gets the value."""
    body = LARGE[kind]
    got: list[Any] = []
    x = Fn(lambda request: body if request.node == "a" else got.append(request.inputs[0]))

    async def scene() -> str:
        async with rig.driving(x) as host:
            run: str = host.start(host.release(chain(task("a"), task("b"))))
            await ended(host, run)
            return run

    run = go(scene())
    assert got[0].body == body and type(got[0].body) is type(body)
    assert got[0].content_types == ({"text": "raw_text", "binary": "binary"}.get(kind, "object"),)
    (settled,) = (f for f in rig.facts(run, "settled") if f["node"] == 1)
    assert set(settled["body"]) == {REF, "size"} and settled["body"]["size"] > LIMIT
    with rig.reading() as store:
        assert sum(len(j.body) for j in store.journal(1)) < 4000
        assert [size for _, size, _ in store.c.execute("SELECT * FROM blob")] == [settled["body"]["size"]]
    rig.sound()


def test_a_large_body_survives_a_restart(rig: Rig) -> None:
    """D-12.8: written with the turn that refers to it, so that no token ever points at nothing."""
    body = LARGE["object"]

    async def scene() -> None:
        host = rig.open(Fn(lambda request: body))
        host.start(host.release(chain(task("a"), task("b", "y"))), id="r1")
        host.iterate()
        await eventually(lambda: host.turns.ready)
        host.turns.turn()
        await host.dispatch.close()
        rig.close()
        y = Fn(name="y")
        async with rig.driving(Fn(lambda request: "not again"), y) as host:
            await ended(host, "r1")
        assert [r.inputs[0].body for r in y.seen] == [body]

    go(scene())
    rig.sound()


def test_the_same_value_is_stored_once(rig: Rig) -> None:
    x = Fn(lambda request: LARGE["text"])

    async def scene() -> None:
        async with rig.driving(x) as host:
            await ended(host, host.start(host.release(fan(*(task(f"t{i}") for i in range(10))))))

    go(scene())
    with rig.reading() as store:
        assert store.c.execute("SELECT count(*) FROM blob").fetchone() == (1,)


def test_a_small_body_stays_where_it_is(rig: Rig) -> None:
    rig.store = Sqlite(rig.path)
    blobs = Blobs(rig.store)
    for body in (None, 1, True, "x" * (LIMIT // 4), b"x" * LIMIT, {"a": 1}, [1, 2], "x" * (LIMIT - 10)):
        assert blobs.shelve("t", body) == body
    assert not blobs.pending


def test_a_body_that_looks_like_a_reference_is_not_taken_for_one(rig: Rig) -> None:
    """Neither a missing blob nor somebody else's value comes of what an executor happens to answer."""
    odd = {REF: "0" * 64, "size": 1}
    x = Fn(lambda request: odd if request.node == "a" else None)

    async def scene() -> str:
        async with rig.driving(x) as host:
            run: str = host.start(host.release(chain(task("a"), task("b"))))
            await ended(host, run)
            return run

    assert rig.status(go(scene())) == "COMPLETED"
    assert x.seen[1].inputs[0].body == odd
    rig.sound()


def test_many_large_bodies_do_not_stay_in_memory(rig: Rig) -> None:
    rig.store = Sqlite(rig.path)
    blobs = Blobs(rig.store)
    refs = []
    for n in range(100):
        refs.append(blobs.shelve("t", [n] * 70_000))
        batch = Batch()
        blobs.write(batch)
        rig.store.commit(batch)
    assert len(blobs.fresh) <= 64 and not blobs.pending
    assert all(blobs.resolve("t", ref) == [n] * 70_000 for n, ref in enumerate(refs))


def test_expressions_see_the_value_and_not_the_reference(rig: Rig) -> None:
    """D-X.20: a guard over a large answer decides by what is in it, live and after a restart."""
    x = Fn(lambda request: {"ok": True, "pad": "x" * 100_000} if request.node == "a" else request.node)
    nodes = (START, task("a", split="first"), wait("w"), task("yes"), task("no"), END)
    guard = "a.output.ok == true"
    edges = (
        Edge(id="s>a", src="s", dst="a"), Edge(id="a>w", src="a", dst="w", guard=guard),
        Edge(id="a>no", src="a", dst="no", default=True), Edge(id="w>yes", src="w", dst="yes", guard=guard),
        Edge(id="yes>e", src="yes", dst="e"), Edge(id="no>e", src="no", dst="e"),
    )  # fmt: skip

    async def scene() -> None:
        async with rig.driving(x) as host:
            host.start(host.release(Net(name="large", nodes=nodes, edges=edges)), id="r1")
            await eventually(lambda: host.row("r1") and rig.status("r1") == "WAITING")
        async with rig.driving(x) as host:
            await host.ask(1, C.signal("", "go"))
            await ended(host, "r1")

    go(scene())
    assert [r.node for r in x.seen] == ["a", "yes"]
    rig.sound()


def test_a_reference_is_no_way_to_another_tenants_value(rig: Rig) -> None:
    """Z11: whoever knows the name of a blob, or all that is in it, gets nothing by writing it down."""
    rig.store = Sqlite(rig.path)
    blobs, value = Blobs(rig.store), ["canary"] * 70_000
    theirs, ours = blobs.shelve("theirs", value), blobs.shelve("ours", value)
    assert theirs != ours
    for step in ("fresh", "failed", "stored"):
        assert blobs.resolve("theirs", theirs) == value and blobs.of("ours")(ours) == value, step
        if step == "fresh":
            with pytest.raises(StoreError):
                blobs.resolve("ours", theirs)
        else:
            assert blobs.resolve("ours", theirs) == theirs, step
        batch = Batch()
        blobs.write(batch)
        blobs.fresh.clear()
        if step == "fresh":
            blobs.on_rollback(batch)
        else:
            rig.store.commit(batch)
            blobs = Blobs(rig.store)


@pytest.mark.parametrize("name", [1, None, [1], {"a": 1}, "", "0", "G" * 64, "0" * 63, "0" * 64 + "\n"])
def test_what_is_no_reference_is_a_value(rig: Rig, name: Any) -> None:
    """Whatever somebody writes under the engine's word trips nobody."""
    rig.store = Sqlite(rig.path)
    odd = {REF: name, "size": 1}
    assert Blobs(rig.store).resolve("t", odd) == odd
