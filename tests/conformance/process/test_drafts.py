"""Drafts of drawings on a store: what is kept, what is released with what, and what is not."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from penstock import Penstock
from penstock.app.process.definitions import Processes
from penstock.app.process.drafts import drafts as module
from penstock.app.process.drafts import present
from penstock.app.process.drafts.answers import DraftReply, packed, unpacked
from penstock.app.process.drafts.drafts import Drafts
from penstock.app.process.drafts.present import PresentDraft
from penstock.app.process.version_writer import VersionWriter
from penstock.cli.identity import Claimed
from penstock.errors import (
    DraftChanged,
    DraftUnfinished,
    PenstockError,
    ProcessInvalid,
    ProcessNotFound,
    ProcessState,
)
from tests.conformance.process.drawings import calling, decided, file, flow, waiting
from tests.conformance.process.make import EXAMPLES
from tests.conformance.process.running import awaited

WORK = '<userTask id="w" name="Work"/>'
TIMED = {"kind": "duration", "value": "PT1H"}


def two_pools() -> str:
    """Two processes, of which the second waits for a time that nobody says."""
    first = f'<startEvent id="s1"/><userTask id="a" name="A"/>{flow("f1", "s1", "a")}'
    timer = '<intermediateCatchEvent id="later" name="Later"><timerEventDefinition/></intermediateCatchEvent>'
    flows = flow("g1", "s2", "later") + flow("g2", "later", "b")
    second = f'<startEvent id="s2"/>{timer}<userTask id="b" name="B"/>{flows}'
    return file(f'<process id="p1" name="One">{first}</process><process id="p2" name="Two">{second}</process>')


def gateways(*ids: str) -> str:
    """One gateway without conditions after the other."""
    parts, last = ['<startEvent id="s"/><userTask id="first" name="First"/>', flow("f0", "s", "first")], "first"
    for id in ids:
        parts += [
            f'<exclusiveGateway id="{id}" name="{id}?"/><userTask id="{id}1" name="{id} one"/>',
            f'<userTask id="{id}2" name="{id} two"/><exclusiveGateway id="{id}j"/>', flow(f"{id}a", last, id),
            flow(f"{id}b", id, f"{id}1", "one"), flow(f"{id}c", id, f"{id}2", "two"),
            flow(f"{id}d", f"{id}1", f"{id}j"), flow(f"{id}e", f"{id}2", f"{id}j"),
        ]  # fmt: skip
        last = f"{id}j"
    return file(f'<process id="many" name="Many">{"".join(parts)}<endEvent id="e"/>{flow("fe", last, "e")}</process>')


def key(element: str, process: str = "many", kind: str = "gateway_conditions") -> str:
    return f"{kind}:{process}:{element}"


@awaited
async def test_numbers_are_given_along_the_flow_and_for_good(tmp_path: Path) -> None:
    """P-X.25: a to-do keeps its number whatever happens to others, also in a file with another one before it."""
    async with Penstock(tmp_path / "s.db") as door:
        drafts = Drafts(door)
        draft = (await drafts.bring(gateways("g1", "g2", "g3"), by=None)).draft
        assert [(todo.no, todo.element) for todo in draft.todos] == [(1, "g1"), (2, "g2"), (3, "g3")]
        draft = await drafts.answer(draft.id, [DraftReply(key("g2"), proposal=0)], number=1)
        assert [(todo.no, todo.state) for todo in draft.todos] == [(1, "open"), (2, "done"), (3, "open")]
        draft = await drafts.replace(draft.id, gateways("g0", "g1", "g2", "g3"), number=2)
        assert [(todo.no, todo.element, todo.state) for todo in draft.todos] == [
            (1, "g1", "open"), (2, "g2", "done"), (3, "g3", "open"), (4, "g0", "open"),
        ]  # fmt: skip
        draft = await drafts.replace(draft.id, gateways("g3"), number=3)
        assert [(todo.no, todo.element) for todo in draft.todos] == [(3, "g3")]
        assert (await drafts.accept(draft.id, number=4)).status == "finished"


@awaited
async def test_an_answer_in_the_middle_is_taken_back_or_given_anew(tmp_path: Path) -> None:
    """P-X.25: the others stay, with who has given them and when."""
    async with Penstock(tmp_path / "s.db") as door:
        drafts = Drafts(door)
        draft = (await drafts.bring(gateways("g1", "g2", "g3"))).draft
        for n, id in enumerate(("g1", "g2", "g3"), 1):
            draft = await drafts.answer(draft.id, [DraftReply(key(id), proposal=0)], number=n)
        text = await drafts.text(draft.id)
        draft = await drafts.undo(draft.id, key("g2"), number=4)
        assert [todo.state for todo in draft.todos] == ["done", "open", "done"] and draft.status == "open"
        with pytest.raises(ProcessNotFound):
            await drafts.undo(draft.id, key("g2"))
        own = {"conditions": {"g2b": "n > 1"}, "default": "g2c"}
        draft = await drafts.answer(draft.id, [DraftReply(key("g2"), answer=own)])
        draft = await drafts.answer(draft.id, [DraftReply(key("g2"), proposal=0)])
        assert [todo.by_proposal for todo in draft.todos] == [True, True, True]
        assert (draft.by_proposal, draft.by_hand) == (3, 0) and await drafts.text(draft.id) == text
        draft = await drafts.answer(draft.id, [DraftReply(key("g1"), answer={**own, **_flows("g1")})])
        assert (draft.by_proposal, draft.by_hand) == (2, 1), "answered anew in its place"
        for left in (2, 1, 0):
            draft = await drafts.undo(draft.id)
            assert draft.by_proposal + draft.by_hand == left
        with pytest.raises(ProcessNotFound):
            await drafts.undo(draft.id)


@awaited
async def test_an_answer_goes_with_the_one_that_has_brought_it_to_light(tmp_path: Path) -> None:
    """P-X.25, P-X.28: a form is asked for by the conditions after it; without those nobody asks."""
    form = {"form": {"type": "object", "properties": {"n": {"type": "number"}}}}
    async with Penstock(tmp_path / "s.db") as door:
        drafts = Drafts(door)
        draft = (await drafts.bring(gateways("g1", "g2"))).draft
        draft = await drafts.answer(draft.id, [DraftReply(key("g1"), answer=_flows("g1"))])
        draft = await drafts.answer(draft.id, [DraftReply(key("first", kind="form"), answer=form)])
        draft = await drafts.answer(draft.id, [DraftReply(key("g2"), proposal=0)])
        draft = await drafts.undo(draft.id, key("g1"))
        assert [(todo.element, todo.state) for todo in draft.todos] == [("g1", "open"), ("g2", "done")]
        (activity, *_) = (await drafts.definitions(draft.id))[0]["activities"]
        assert activity["id"] == "first" and "form" not in activity


def _flows(id: str) -> dict[str, object]:
    return {"conditions": {f"{id}b": "n > 1"}, "default": f"{id}c"}


@awaited
async def test_of_many_who_answer_at_once_one_is_first(tmp_path: Path) -> None:
    """P-2.3.5: each with the number that was seen."""
    async with Penstock(tmp_path / "s.db") as door:
        drafts = Drafts(door)
        draft = (await drafts.bring(gateways("g1", "g2"))).draft
        answers = [drafts.answer(draft.id, [DraftReply(key(id), proposal=0)], number=1) for id in ("g1", "g2") * 4]
        done = await asyncio.gather(*answers, return_exceptions=True)
        errors = [one for one in done if isinstance(one, BaseException)]
        assert len(errors) == 7 and {type(error) for error in errors} == {DraftChanged}
        assert {error.facts["number"] for error in errors if isinstance(error, PenstockError)} == {2}
        draft = await drafts.get(draft.id)
        assert (draft.number, draft.by_proposal) == (2, 1)


@awaited
async def test_two_definitions_or_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """P-X.5, P-X.8: while the second is not complete nothing of the first is there; neither where it turns out to be
    wrong only when it is compiled."""
    async with Penstock(tmp_path / "s.db") as door:
        drafts, held = Drafts(door), Processes(door)
        draft = (await drafts.bring(two_pools())).draft
        assert [one.id for one in draft.definitions] == ["p1", "p2"] and draft.status == "open"
        with pytest.raises(DraftUnfinished) as refused:
            await drafts.release(draft.id, number=1)
        assert [finding.node for finding in refused.value.findings] == ["later"]
        assert held.named("p1") == held.named("p2") == []
        with monkeypatch.context() as patch:
            patch.setattr(module, "missing", lambda todos, unsound: [])  # as if nobody had looked
            with pytest.raises(ProcessInvalid):
                await drafts.release(draft.id, number=1)
        assert held.named("p1") == held.named("p2") == [] and (await drafts.get(draft.id)).number == 1
        draft = await drafts.answer(draft.id, [DraftReply(key("later", "p2", "timer_value"), answer=TIMED)])
        released = await drafts.release(draft.id, number=2)
        assert [(one.release.name, one.release.version) for one in released.definitions] == [("p1", 1), ("p2", 1)]
        texts = {one.release.bpmn for one in released.definitions}
        assert texts == {(await drafts.text(draft.id)).encode()}, "each row has the whole file"
        assert [(one.id, one.version) for one in released.draft.released] == [("p1", 1), ("p2", 1)]


@awaited
async def test_a_draft_that_changes_while_it_is_released(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """P-2.3.5: what was looked at is released, or nothing."""
    async with Penstock(tmp_path / "s.db") as door:
        drafts, held = Drafts(door), Processes(door)
        draft = (await drafts.bring(decided(), accept=True)).draft
        compiled = VersionWriter._compiled

        async def slow(*args: object) -> object:
            made = await compiled(*args)  # type: ignore[arg-type]
            row = door.store.document_draft(door.tenant, draft.id)
            assert row is not None
            if row.number == 1:
                assert door.store.put_document_draft(replace(row, number=2), 1)
            return made

        monkeypatch.setattr(VersionWriter, "_compiled", slow)
        with pytest.raises(DraftChanged):
            await drafts.release(draft.id, number=1)
        assert held.named("order") == []


@awaited
async def test_four_eyes_hold_for_the_whole_drawing(tmp_path: Path) -> None:
    """P-X.23: where one of its definitions waits for an approval all do: who calls it cannot run it before."""
    async with Penstock(tmp_path / "s.db") as door:
        drafts, held = Drafts(door), Processes(door)
        await drafts.release((await drafts.bring(calling())).draft.id)
        draft = (await drafts.bring(calling(step="Else"))).draft
        waiting_for = await drafts.release(draft.id, pending=True)
        assert [one.release.status for one in waiting_for.definitions] == ["pending_approval", "pending_approval"]
        assert {(row.name, row.version) for row in held.each()} == {("outer", 1), ("inner", 1)}
        assert waiting_for.draft.status == "released"


@awaited
@pytest.mark.parametrize("version", ["\N{SUPERSCRIPT TWO}", "9" * 5_000, "99", ""])
async def test_a_call_of_a_version_that_there_is_not(tmp_path: Path, version: str) -> None:
    """P-X.4: whatever stands behind the @ is a to-do."""
    async with Penstock(tmp_path / "s.db") as door:
        drafts = Drafts(door)
        await drafts.release((await drafts.bring(decided("inner"), accept=True)).draft.id)
        call = f'<callActivity id="c" name="Call" calledElement="inner@{version}"/>'
        draft = (await drafts.bring(file(f'<process id="outer" name="Outer">{call}</process>'))).draft
        assert [todo.kind for todo in draft.todos] == ["called_process"]


@awaited
async def test_where_the_tenant_asks_for_four_eyes_a_drawing_waits(tmp_path: Path) -> None:
    """P-X.23: whoever releases it need not say so."""
    async with Penstock(tmp_path / "s.db") as door:
        door.load_sample()
        door.register("config", "tenant", {"release": {"four_eyes": True}})
        drafts = Drafts(door)
        done = await drafts.release((await drafts.bring(calling(), by="kim")).draft.id, by="kim")
        assert [one.release.status for one in done.definitions] == ["pending_approval", "pending_approval"]
        assert done.draft.status == "released"


@awaited
async def test_a_released_draft_is_closed(tmp_path: Path) -> None:
    """P-X.8: it stays readable, and only another import goes on from it."""
    async with Penstock(tmp_path / "s.db") as door:
        drafts = Drafts(door)
        draft = (await drafts.bring(decided(), accept=True)).draft
        done = (await drafts.release(draft.id)).draft
        assert (await drafts.get(draft.id)).todos == done.todos and done.version == 1
        changes: list[Callable[[], object]] = [
            lambda: drafts.answer(draft.id, [DraftReply(key("stock", "order"), proposal=0)]),
            lambda: drafts.accept(draft.id), lambda: drafts.undo(draft.id), lambda: drafts.release(draft.id),
            lambda: drafts.replace(draft.id, decided()),
        ]  # fmt: skip
        for change in changes:
            with pytest.raises(ProcessState, match="is released"):
                await change()  # type: ignore[misc]
        following = (await drafts.bring(decided(gateway="else"))).draft
        assert (following.version, [todo.no for todo in following.todos]) == (2, [1]), "it counts anew"
        drafts.discard(draft.id)
        assert [line.id for line in drafts.each()] == [following.id] and Processes(door).named("order")


@awaited
async def test_the_next_draft_counts_along_the_flow(tmp_path: Path) -> None:
    """P-X.25, P-X.8: whatever was answered first in the one before; the answers stay their givers'."""
    async with Penstock(tmp_path / "s.db") as door:
        drafts = Drafts(door)
        draft = (await drafts.bring(gateways("g1", "g2"))).draft
        for n, id in enumerate(("g2", "g1"), 1):
            await drafts.answer(draft.id, [DraftReply(key(id), proposal=0)], number=n, by=Claimed(id))
        await drafts.release(draft.id, number=3)
        following = await drafts.bring(gateways("g0", "g1", "g2"))
        seen = [(todo.no, todo.element, todo.state, todo.answered_by) for todo in following.draft.todos]
        assert following.new and seen == [
            (1, "g0", "open", None), (2, "g1", "done", "g1"), (3, "g2", "done", "g2")
        ]  # fmt: skip


@awaited
async def test_a_text_of_another_draft_takes_no_place(tmp_path: Path) -> None:
    """P-X.25: one process is in one draft that is not released."""
    async with Penstock(tmp_path / "s.db") as door:
        drafts = Drafts(door)
        one, two = (await drafts.bring(decided("one"))).draft, (await drafts.bring(decided("two"))).draft
        with pytest.raises(ProcessState, match=one.id):
            await drafts.replace(two.id, decided("one"))
        moved = await drafts.replace(two.id, decided("three"))
        assert (moved.id, moved.definitions[0].id) == (two.id, "three") and (await drafts.get("three")).id == two.id


@awaited
async def test_a_draft_is_folded_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """P-X.25: what was computed for whoever changed it is there for who asks; a definition that it calls makes it
    new."""
    async with Penstock(tmp_path / "s.db") as door:
        drafts = Drafts(door)
        text = calling("caller", "apart").replace('<process id="apart"', '<process id="beside"')
        draft = (await drafts.bring(text)).draft
        assert draft.status == "open", "nobody has «apart»"
        with monkeypatch.context() as patch:
            patch.setattr(PresentDraft, "_checked", property(lambda self: pytest.fail("it was folded again")))
            assert await drafts.get(draft.id) == draft
        await Processes(door).define(decided("apart").replace("<exclusiveGateway", "<parallelGateway"))
        assert (await drafts.get(draft.id)).status == "finished"


@awaited
async def test_so_many_are_kept_as_they_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """P-X.25: by number and by size; others are folded again, and look the same."""
    monkeypatch.setattr(present, "_KEPT", 2)
    async with Penstock(tmp_path / "s.db") as door:
        drafts = Drafts(door)
        brought = [(await drafts.bring(decided(f"p{n}"))).draft for n in range(4)]
        assert len(present._PRESENT.held) == len(present._DRAWINGS.held) == 2
        monkeypatch.setattr(present, "_KEPT_BYTES", 1)
        assert [await drafts.get(draft.id) for draft in brought] == brought
        assert len(present._PRESENT.held) == 1, "the one that was asked for last"


@awaited
async def test_an_answer_that_is_not_taken_any_more_is_asked_for_again(tmp_path: Path) -> None:
    """P-X.25: after an update of the program; the draft can still be looked at."""
    async with Penstock(tmp_path / "s.db") as door:
        drafts = Drafts(door)
        draft = (await drafts.bring(gateways("g1", "g2"), accept=True)).draft
        row = door.store.document_draft(door.tenant, draft.id)
        assert row is not None
        log = unpacked(row.body)
        odd = replace(log.answers[0], answer={"of another": "version"})
        body = packed(replace(log, answers=(odd, *log.answers[1:])))
        assert door.store.put_document_draft(replace(row, number=2, body=body), 1)
        seen = await drafts.get(draft.id)
        assert [todo.state for todo in seen.todos] == ["open", "done"] and seen.status == "open"


@awaited
async def test_processes_that_call_each_other_are_released_together(tmp_path: Path) -> None:
    """P-X.4: each compiled with the other as it will be; again nothing changes."""
    call = '<callActivity id="{0}c" name="call" calledElement="{1}"/>'
    parts = (
        '<startEvent id="{0}s"/><userTask id="{0}t" name="T"/><exclusiveGateway id="{0}g" name="again?"/>'
        + call + '<endEvent id="{0}e"/>' + flow("{0}1", "{0}s", "{0}t") + flow("{0}2", "{0}t", "{0}g")
        + flow("{0}3", "{0}g", "{0}c", "yes") + flow("{0}4", "{0}g", "{0}e", "no") + flow("{0}5", "{0}c", "{0}e")
    )  # fmt: skip
    processes = (f'<process id="{one}" name="P {one}">{parts.format(one, two)}</process>' for one, two in ("ab", "ba"))
    text = file("".join(processes))
    async with Penstock(tmp_path / "s.db") as door:
        drafts = Drafts(door)
        for version, new in ((1, True), (1, False)):
            released = await drafts.release((await drafts.bring(text, accept=True)).draft.id)
            done = [(one.release.name, one.release.version, one.new) for one in released.definitions]
            assert done == [("a", version, new), ("b", version, new)]


@awaited
async def test_a_list_of_definitions_in_json(tmp_path: Path) -> None:
    """P-X.4, P-X.25: is a drawing of several; each row has the BPMN of its own."""
    call = {"id": "c", "name": "C", "type": "subProcess", "orchestration": {"sub_process": "two"}}
    work = {"id": "w", "name": "W", "type": "humanTask"}
    both = [
        {"process_definition_id": id, "process_definition_name": id, "activities": [step]}
        for id, step in (("one", call), ("two", work))
    ]
    async with Penstock(tmp_path / "s.db") as door:
        drafts = Drafts(door)
        draft = (await drafts.bring(json.dumps(both), file="both.json")).draft
        assert ([one.id for one in draft.definitions], draft.status, draft.file) == (
            ["one", "two"], "finished", "both.json"
        )  # fmt: skip
        released = await drafts.release(draft.id)
        assert [(one.release.name, one.release.version) for one in released.definitions] == [("one", 1), ("two", 1)]
        assert all(f'id="{one.release.name}"'.encode() in (one.release.bpmn or b"") for one in released.definitions)
        assert (await drafts.bring(json.dumps(both))).new, "the last one is released"


@pytest.mark.parametrize(
    ("wrong", "rule", "pointer"),
    [
        ({"lanes": [{"id": "l", "elements": 7}]}, "wrong_type", "/lanes/0/elements"),
        ({"activities": "none"}, "wrong_type", "/activities"),
        ({"events": [{"id": "e"}]}, "missing_field", "/events/0"),
        ({"events": [{"id": "e", "position": "middle"}]}, "wrong_type", "/events/0/position"),
        ({"transitions": [{"id": "f", "target": "w"}]}, "missing_field", "/transitions/0"),
        ({"gateways": [{"id": 3, "type": "exclusiveGateway"}]}, "bad_id", "/gateways/0/id"),
    ],
)  # fmt: skip
@awaited
async def test_json_that_is_no_definition_is_refused(
    tmp_path: Path, wrong: dict[str, Any], rule: str, pointer: str
) -> None:
    """P-X.25: with the place of what is wrong, and nothing is kept."""
    work = {"id": "w", "name": "W", "type": "humanTask"}
    definition = {"process_definition_id": "p", "process_definition_name": "P", "activities": [work]}
    async with Penstock(tmp_path / "s.db") as door:
        text = json.dumps({**definition, **wrong})
        with pytest.raises(ProcessInvalid) as refused:
            await Drafts(door).bring(text, file="p.json")
        assert (refused.value.findings[0].rule, refused.value.findings[0].where.pointer) == (rule, pointer)
        assert Drafts(door).each() == []


def test_a_killed_process_leaves_the_draft(tmp_path: Path) -> None:
    """P-X.25: what was answered before a kill -9 is there after it."""
    code = (
        "import asyncio, os, sys\nfrom penstock import Penstock\n"
        "from penstock.app.process.drafts.drafts import Drafts\n"
        "async def main():\n"
        "    async with Penstock(sys.argv[1]) as door:\n"
        "        draft = (await Drafts(door).bring(sys.argv[2])).draft\n"
        "        await Drafts(door).accept(draft.id, number=1)\n"
        "        os.kill(os.getpid(), 9)\n"
        "asyncio.run(main())\n"
    )
    store = tmp_path / "s.db"
    done = subprocess.run([sys.executable, "-c", code, str(store), gateways("g1", "g2")], check=False, timeout=120)
    assert done.returncode == -9

    async def look() -> None:
        async with Penstock(store) as door:
            (line,) = Drafts(door).each()
            assert (line.status, line.number, line.by_proposal) == ("finished", 2, 2)
            released = await Drafts(door).release(line.id, number=2)
            assert released.definitions[0].release.status == "active"

    asyncio.run(look())


@awaited
async def test_what_is_wrong_keeps_nothing(tmp_path: Path) -> None:
    """P-X.25: neither a draft nor half of one."""
    async with Penstock(tmp_path / "s.db") as door:
        drafts = Drafts(door)
        nameless = file(f"<process>{WORK}</process><process>{WORK.replace('w', 'v')}</process>")
        for text in ("", "<a/>", decided()[:100], nameless, "[1]", '{"process_definition_id": ""}', b"\xff\xfe\x00"):
            with pytest.raises(PenstockError):
                await drafts.bring(text)
        assert drafts.each() == []
        draft = (await drafts.bring(waiting())).draft
        with pytest.raises(PenstockError):
            await drafts.replace(draft.id, "<a/>")
        assert await drafts.get(draft.id) == draft


@awaited
async def test_another_drawing_with_the_same_id_is_not_the_next_text(tmp_path: Path) -> None:
    """P-X.25, P-X.28: modelers call many processes Process_1: another file with another title takes nothing's place;
    the same file, or the same title in a file that was renamed, does."""
    other = decided().replace("주문 처리", "반품 처리")
    assert other != decided()
    async with Penstock(tmp_path / "s.db") as door:
        drafts = Drafts(door)
        first = (await drafts.bring(decided(), file="order.bpmn")).draft
        with pytest.raises(ProcessState, match=r"«주문 처리» of order\.bpmn has a process with the id «order», too"):
            await drafts.bring(other, file="return.bpmn")
        assert (await drafts.get(first.id)).number == 1
        renamed = (await drafts.bring(decided(gateway="else"), file="order2.bpmn")).draft
        assert (renamed.id, renamed.number, renamed.file) == (first.id, 2, "order2.bpmn")
        drafts.discard(first.id)
        assert (await drafts.bring(other, file="return.bpmn")).draft.name == "반품 처리"


@awaited
async def test_soundness_waits_for_no_time(tmp_path: Path) -> None:
    """P-X.12, P-X.25: whether a drawing is sound does not depend on when a timer is due: it is known before."""
    async with Penstock(tmp_path / "s.db") as door:
        draft = (await Drafts(door).bring(two_pools())).draft
        assert [todo.kind for todo in draft.todos if todo.state == "open"] == ["timer_value"]
        assert (draft.soundness.status, draft.status) == ("sound", "open")


@awaited
async def test_what_a_proposal_settles_is_not_told_beside_it(tmp_path: Path) -> None:
    """P-X.25: the second pool begins with a message that nothing names but its flow: that is the pool's to-do, and no
    finding of its own; one that stays when all proposals are taken is told."""
    async with Penstock(tmp_path / "s.db") as door:
        drafts = Drafts(door)
        draft = (await drafts.bring((EXAMPLES / "purchase_request.bpmn").read_text())).draft
        assert draft.findings == []
        refused = next(todo for todo in draft.todos if todo.kind == "pool")
        outside = DraftReply(refused.key, answer={"as": "outside"})
        assert (await drafts.answer(draft.id, [outside])).findings == []
        alone = file(
            '<process id="alone" name="Alone"><startEvent id="s" name="Asked"><conditionalEventDefinition>'
            "<condition>stock &lt; 10</condition></conditionalEventDefinition></startEvent>"
            f'<userTask id="a" name="A"/>{flow("f1", "s", "a")}</process>'
        )
        told = (await drafts.bring(alone)).draft.findings
        assert [(finding.rule, finding.node) for finding in told] == [("start_by_hand", "s")]
