"""Every example of examples/diagram: it compiles without a finding, it is drawn, it runs, and ends as it says."""

from __future__ import annotations

import asyncio
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from penstock import Penstock
from penstock.app.maintenance.verify import verify
from penstock.app.releases.documents import check_source
from penstock.net.draw import mermaid, svg, terminal
from tests.conformance.diagram.running import EXAMPLES, PATIENCE_S, Ran, door


class Case(NamedTuple):
    file: str
    input: Any
    status: str
    answer: tuple[str, Any] | None  # what a person says while it waits
    ran: dict[str, int]  # how often these nodes executed
    states: dict[str, str]


DONE = "COMPLETED"
CASES = [
    Case("ask.yaml", None, DONE, ("Ask name", "Kim"), {"Ask name": 1, "Greet": 1}, {"Endpoint": DONE}),
    Case("branches.yaml", {"score": 90}, DONE, None, {"Accept": 1, "Reject": 0}, {"Rejected": "SKIPPED"}),
    Case("branches.yaml", {"score": 10}, DONE, None, {"Accept": 0, "Reject": 1}, {"Accepted": "SKIPPED"}),
    Case("branches.yaml", None, DONE, None, {"Accept": 1, "Reject": 0}, {"Enough": DONE}),
    Case("calls.yaml", None, DONE, None, {"Greet all": 1, "Greet all.item": 3}, {"Greet all": DONE}),
    Case("count.native.json", None, DONE, None, {"Begin": 1, "Count": 4, "Enough": 4}, {"Counted": DONE}),
    Case("debate.light.yaml", None, DONE, None, {"For": 2, "Against": 3, "Judge": 1}, {"For": "MAXITER_REACHED"}),
    Case("diamond.yaml", {"express": True}, DONE, None, {"By air": 1, "By sea": 0, "Book": 1}, {"By sea": "SKIPPED"}),
    Case("diamond.yaml", None, DONE, None, {"By air": 0, "By sea": 1, "Book": 1}, {"By air": "SKIPPED"}),
    Case("early_exit.yaml", None, DONE, None, {"Try": 2}, {"Try": DONE}),
    Case("edge_options.yaml", None, DONE, None, {"Count": 1, "Name": 1, "Expired": 0}, {"Expired": "SKIPPED"}),
    Case("epochs.yaml", None, DONE, None, {"PJ": 6, "C1": 6, "C2": 3}, {"PJ": "MAXITER_REACHED"}),
    Case("files.yaml", None, DONE, None, {"Keep": 1, "Load": 1, "Save": 1}, {"Save": DONE}),
    Case("judge.yaml", None, DONE, None, {"Write": 2, "Good": 2}, {"Write": DONE, "Good": DONE}),
    Case("keep_going.yaml", None, DONE, None, {"Load": 1, "Report": 1}, {"Load": "FAILED"}),
    Case("loop.native.json", None, DONE, None, {"PersonJob": 3, "Ask": 1}, {"PersonJob": "MAXITER_REACHED"}),
    Case("loop.yaml", None, DONE, None, {"PersonJob": 3, "Ask": 1}, {"PersonJob": "MAXITER_REACHED"}),
    Case("loop_skippable.yaml", None, DONE, None, {"PersonJob": 3, "Ask": 1}, {"PersonJob": "MAXITER_REACHED"}),
    Case("optional_check.yaml", {"strict": False}, DONE, None, {"Publish": 1}, {"Needs check": DONE}),
    Case("optional_check.yaml", {"strict": True}, DONE, None, {"Publish": 1}, {"Needs check": DONE}),
    Case("quorum.yaml", None, DONE, None, {"First": 1, "Second": 1, "Third": 1, "Decide": 1}, {"Third": DONE}),
]
CASES.append(Case("revise.readable.yaml", None, DONE, None, {"Write": 3, "Good enough": 3}, {"Sent": DONE}))
FILES = sorted(file.name for file in EXAMPLES.iterdir() if ".scenario." not in file.name)


def test_the_table_has_every_example() -> None:
    """D-X.14: an example that nobody runs is a promise that nobody keeps."""
    assert sorted({case.file for case in CASES}) == FILES


@pytest.mark.parametrize("file", FILES)
def test_it_compiles_without_a_finding(file: str) -> None:
    """D-X.14, D-X.29: `penstock check` has nothing to say."""
    language, findings = check_source(EXAMPLES / file)
    assert (language, findings) == ("diagram", [])


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.file} {case.input or ''}".strip())
def test_it_runs_and_ends_as_expected(tmp_path: Path, case: Case) -> None:
    """D-11.1, D-X.14: the end, the executions and the states are those of the table, and the store is sound."""

    async def story() -> Ran:
        async with door(tmp_path) as p:
            ran = await _to_the_end(p, case)
            _drawn(p, ran)
            assert verify(p.store).violations == []
            return ran

    ran = asyncio.run(story())
    assert ran.status == case.status
    assert {node: ran.times(node) for node in case.ran} == case.ran
    assert {node: ran.look.nodes[node] for node in case.states} == case.states
    assert (ran.warned(), ran.balance()) == ([], 0)


async def _to_the_end(p: Penstock, case: Case) -> Ran:
    run = await p.start(p.release(EXAMPLES / case.file), case.input)
    if case.answer is not None:
        look = await p.wait(run, until_waiting=True, timeout=PATIENCE_S)
        assert look.status == "WAITING"
        await p.respond(run, *case.answer)
    await p.wait(run, timeout=PATIENCE_S)
    return Ran(p, run)


def _drawn(p: Penstock, ran: Ran) -> None:
    """In every form, with and without what the run did; every label of the author stands in it."""
    marks = p.fold(p.row(ran.id)).marks()
    labels = [n.id for n in ran.net.nodes if n.spec.origin in ("", n.id)]
    for shown in (None, marks):
        picture = svg(ran.net.net, shown)
        ET.fromstring(picture)
        text = mermaid(ran.net.net, shown)
        lines = "\n".join(line.text for line in terminal(ran.net.net, shown))
        for label in labels:
            assert label in picture
            assert label in text
            assert label in lines
