"""7, the event log: every item once, however many there are, and whatever is written in them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from penstock import Penstock
from penstock.app.process import event_log
from penstock.app.process.definitions import Processes
from penstock.app.process.event_log import LoggedEvent, Wanted, traces, wanted, written
from penstock.app.process.work_items import WorkItems
from penstock.errors import BadInput, ProcessNotFound
from penstock.kernel import fact as F
from tests.conformance.process.make import process, service, task
from tests.conformance.process.running import Instance, Office, awaited
from tests.contract.store_suite import a_batch, a_run

TWO = process([task("A"), task("B")], ["A>B"])


async def begun(office: Office, document: dict[str, Any] = TWO) -> Instance:
    if not Processes(office.p).named(document["process_definition_id"]):
        await Processes(office.p).define(document, by="kim")
    run = Instance(office, await WorkItems(office.p).initiate(document["process_definition_id"], by="kim"))
    await run.rest()
    return run


async def log(door: Penstock, **how: Any) -> list[tuple[str, list[LoggedEvent]]]:
    return [(one.case_id, one.events) for one in traces(door, await wanted(door, "p", **how))]


@awaited
async def test_what_is_done_again_is_done_once(tmp_path: Path) -> None:
    """P-X.24, P-7.3.2, P-X.15: an item that was sent back stands at its last completion, and open ones not at all."""
    async with Office(tmp_path) as office:
        run = await begun(office)
        await run.do("A", "start")
        await run.submit("A")
        ((_, (first,)),) = await log(office.p)
        await run.do("A", "rework", by="lee")
        assert run.item("A").status == "TODO" and await log(office.p) == []
        await run.submit("A", by="park")
        ((case, events),) = await log(office.p, full=True)
        assert case == run.id and [(one.activity, one.lifecycle) for one in events] == [
            ("A", "start"),
            ("A", "complete"),
        ]
        assert events[0].at == events[1].at > first.at, "who submits at once has started then"
        assert {one.resource for one in events} == {"park"}


@awaited
async def test_work_of_nobody_is_of_the_system(tmp_path: Path) -> None:
    """P-X.24, P-7.3.6, P-7.3.8: null is not a name; without a mode it was a person."""
    async with Office(tmp_path) as office:
        run = await begun(office)
        await run.submit("A")
        row = office.p.row(run.id).no
        office.p.store.c.execute("UPDATE work SET assignee=NULL, mode=NULL WHERE run=?", (row,))  # type: ignore[attr-defined]
        ((_, (event,)),) = await log(office.p)
        assert (event.resource, event.agent_mode, event.lifecycle) == ("system", "MANUAL", "complete")


@awaited
async def test_a_long_log_lets_others_have_their_turn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """P-8.6, C-78: between two pieces no more is read than a page of items and a slice of a journal, also where nothing
    of it is in the period; and the log is the one that is read at once."""
    async with Office(tmp_path) as office:
        for _ in range(3):
            run = await begun(office)
            await run.submit("A")
            await run.submit("B")
        asked = await wanted(office.p, "p", full=True)
        whole = [piece for piece in written(office.p, asked, "json") if piece]
        monkeypatch.setattr(event_log, "_PAGE", 2)
        monkeypatch.setattr(event_log, "SLICE", 5)
        done, plain, page = [0, 0], F.decode_facts, office.p.store.done_items

        def decoded(body: bytes) -> Any:
            facts = plain(body)
            done[0] += len(facts)
            return facts

        def paged(*given: Any, **more: Any) -> Any:
            rows = page(*given, **more)
            done[1] += len(rows)
            return rows

        monkeypatch.setattr(event_log.F, "decode_facts", decoded)
        monkeypatch.setattr(office.p.store, "done_items", paged)
        turns = office.p.store.journal(office.p.row(run.id).no)
        largest = max(turn.seq_to - turn.seq_from + 1 for turn in turns)
        never = await wanted(office.p, "p", end=1, full=True)
        for which, pieces in ((asked, whole), (never, None)):
            parts, total = list[bytes](), 0
            for piece in written(office.p, which, "json"):
                assert done[0] <= 5 + largest and done[1] <= 2, done
                total, done[0], done[1] = total + done[0], 0, 0
                parts.append(piece)
            assert total > 3 * 10 and len(parts) > 3 * 2
            if pieces is not None:
                assert _undated(b"".join(parts)) == _undated(b"".join(pieces))


def _undated(log: bytes) -> Any:
    return {**json.loads(log), "export_date": None}


@awaited
async def test_a_long_log_is_read_page_by_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """P-8.6, P-X.24, P-7.3.10: also where a case lies across two pages; it leaves in pieces, and is whole together."""
    monkeypatch.setattr(event_log, "_PAGE", 3)
    monkeypatch.setattr(event_log, "_CHUNK", 500)
    async with Office(tmp_path) as office:
        ids = []
        for _ in range(5):
            run = await begun(office)
            await run.submit("A")
            await run.submit("B")
            ids.append(run.id)
        asked = await wanted(office.p, "p")
        for format in ("json", "xes"):
            pieces = list(written(office.p, asked, "json" if format == "json" else "xes"))
            assert len(pieces) > 2
            whole = b"".join(pieces)
            if format == "json":
                found = json.loads(whole)["traces"]
                assert [one["case_id"] for one in found] == ids
                assert all([e["activity"] for e in one["events"]] == ["A", "B"] for one in found)
            else:
                assert len(ElementTree.fromstring(whole).findall("{*}trace/{*}event")) == 10
        middle = [one.events[0].at for one in traces(office.p, asked)][2]
        later = [one for one in traces(office.p, Wanted(id="p", begin=middle, end=asked.end)) if one.case_id in ids[2:]]
        assert [len(one.events) for one in later] == [2, 2, 2]


@awaited
async def test_what_no_xml_may_hold_is_left_out(tmp_path: Path) -> None:
    """P-X.24: control characters and what has a meaning in XML break nothing; everything else is as it was."""
    name = "\x01\x0b첫\ufffe <&\"'>\r\n\t]]> é🙂"
    async with Office(tmp_path) as office:
        run = await begun(office, process([task("A", name=name)], []))
        await run.submit("A", by='<kim & "lee">')
        whole = b"".join(written(office.p, await wanted(office.p, "p"), "xes"))
        event = {
            one.get("key"): one.get("value") for one in ElementTree.fromstring(whole).findall("{*}trace/{*}event/*")
        }
        assert event["concept:name"] == "\ufffd\ufffd첫\ufffd <&\"'>\r\n\t]]> é🙂"
        assert event["org:resource"] == '<kim & "lee">'
        (trace,) = json.loads(b"".join(written(office.p, await wanted(office.p, "p"), "json")))["traces"]
        assert trace["events"][0]["activity"] == name


@awaited
async def test_only_the_process_that_is_asked_for(tmp_path: Path) -> None:
    """P-7.3.2, P-7.5.2, P-7.3.3: all its versions, no other process, and no other tenant's rows, whatever they say."""
    async with Office(tmp_path) as office:
        first = await begun(office)
        await first.submit("A")
        await Processes(office.p).define(process([task("C")], []), by="kim")  # version 2
        second = await begun(office)
        await second.submit("C")
        other = await begun(office, {**TWO, "process_definition_id": "q"})
        await other.submit("A")
        net = office.p.row(first.id).net
        foreign = a_run(9001, tenant="other", net=net)
        item = [(9001, 2, 1, "DONE", b"\x80", None, None, 1, 1)]
        work = [(9001, 2, "other", "DONE", None, "eve", "MANUAL", 3)]
        office.p.store.commit(a_batch(new=[foreign], item_new=item, work_new=work))
        assert [case for case, _ in await log(office.p)] == [first.id, second.id]
        assert [case for case, _ in await log(office.p, since="0")] == [first.id, second.id]
        with pytest.raises(ProcessNotFound):
            await wanted(office.p.of("other"), "p")
        with pytest.raises(BadInput):
            await wanted(office.p, "p", since="-1")


@awaited
async def test_the_mode_at_completion_is_told(tmp_path: Path) -> None:
    """P-7.5.4, P-X.40, P-7.3.8: an agent's work that a person has taken over was done by that person."""
    async with Office(tmp_path, agents={"A": "waits"}) as office:
        await Processes(office.p).define(process([service("A", agent="bot")], []), by="kim")
        run = Instance(office, await WorkItems(office.p).initiate("p", by="kim"))
        await run.until(lambda one: one.states() == {"A": "IN_PROGRESS"})
        await run.do("A", "take_over", by="kim")
        await run.submit("A", by="kim")
        ((_, (event,)),) = await log(office.p)
        assert (event.resource, event.agent_mode) == ("kim", "MANUAL")
