"""Twelve manuals against their right answers: activities, flows, roles, time limits, the sentence behind each."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from penstock import Penstock
from penstock.app.process.extraction import Proposal, manual_of_document, propose
from penstock.lang.compile import check_document
from penstock.lang.process.text_import.evidence import normalized
from tests.conformance.process.manuals import files
from tests.conformance.process.manuals.answers import ANSWERS, Answer

pytest.importorskip("pdfplumber", reason="the extra «extract» is not installed")
pytest.importorskip("docx", reason="the extra «extract» is not installed")
pytest.importorskip("fpdf", reason="the extra «reports» is not installed")
FORMS = {
    "text": ("manual.md", files.text_of), "html": ("manual.html", files.html_of), "docx": ("manual.docx",
    files.docx_of),
    "pdf": ("manual.pdf", files.pdf_of), "pdf2": ("manual.pdf", lambda parts: files.pdf_of(parts, columns=2)),
}  # fmt: skip


def read(answer: Answer, folder: Path) -> Proposal:
    async def scene() -> Proposal:
        name, make = FORMS[answer.form]
        async with Penstock(folder / "store.db", tenant="other") as door:
            return await propose(door, await manual_of_document(make(answer.parts), name))

    return asyncio.run(scene())


def matched(answer: Answer, definition: dict[str, Any]) -> dict[str, str]:
    """Which activity is which of the answer's: its id → the answer's name."""
    free = dict(answer.activities)
    found: dict[str, str] = {}
    for activity in definition["activities"]:
        name = normalized(activity["name"])
        key = next((key for key, said in free.items() if normalized(said) in name), None)
        if key is not None:
            found[activity["id"]] = key
            del free[key]
    return found


def flows_of(definition: dict[str, Any], names: dict[str, str]) -> set[str]:
    """From activity to activity, through gateways and events."""
    activities = {activity["id"] for activity in definition["activities"]}
    after: dict[str, list[str]] = {}
    for flow in definition["transitions"]:
        after.setdefault(flow["source"], []).append(flow["target"])
    nodes = {each["id"] for name in ("activities", "gateways", "events") for each in definition.get(name) or []}
    led = {target for targets in after.values() for target in targets}

    def reached(node: str, seen: frozenset[str] = frozenset()) -> set[str]:
        targets = after.get(node, [])
        if not targets:
            return {"END"}
        ends: set[str] = set()
        for target in targets:
            if target in activities:
                ends.add(names.get(target, f"?{target}"))
            elif target not in seen:
                ends |= reached(target, seen | {target})
        return ends

    flows = {f"{names.get(source, f'?{source}')}>{end}" for source in activities for end in reached(source)}
    for first in nodes - led:
        ends = {names.get(first, f"?{first}")} if first in activities else reached(first)
        flows |= {f"START>{end}" for end in ends}
    return flows


@pytest.mark.parametrize("answer", ANSWERS, ids=lambda answer: answer.name)
def test_p_6_1_3_what_a_person_reads_out_of_it(answer: Answer, tmp_path: Path) -> None:
    """P-6.1.3, P-6.1.4, P-6.1.1, P-X.2: all activities, 95 of 100 flows, none without a
    sentence: what docs/howto/process-manual.md says of them."""
    proposal = read(answer, tmp_path)
    definition, names = proposal.definition, matched(answer, proposal.definition)
    flows, wanted = flows_of(definition, names), set(answer.flows)
    roles = {role["id"]: role["name"] for role in definition["roles"]}
    by_name = {names[each["id"]]: each for each in definition["activities"] if each["id"] in names}
    right_roles = [key for key, role in answer.roles.items() if roles.get(by_name.get(key, {}).get("role", "")) == role]
    limits = {key: each["due"] for key, each in by_name.items() if "due" in each}
    strange = [each["name"] for each in definition["activities"] if each["id"] not in names]
    wrong_roles = sorted(set(answer.roles) - set(right_roles))
    print(f"{answer.name}: activities {len(names)}/{len(answer.activities)}, "
          f"flows {len(flows & wanted)}/{len(wanted)}, roles {len(right_roles)}/{len(answer.roles)}, "
          f"limits {limits}; strange {strange}; "
          f"missing {sorted(set(answer.activities) - set(names.values()))} {sorted(wanted - flows)}; "
          f"too many {sorted(flows - wanted)}; roles {wrong_roles}")  # fmt: skip
    for element in proposal.reading.elements:
        assert element.sentences, element
    assert not [
        each for each in check_document(proposal.reading.bpmn.encode(), name="a.bpmn")[1] if each.severity == "error"
    ]
    assert len(names) == len(answer.activities), "the how-to says that all are found"
    assert len(strange) <= 0.1 * len(definition["activities"])
    right = len(flows & wanted)  # and that so many of the ways are
    assert right >= 0.95 * len(wanted) and right >= 0.95 * len(flows)
    assert len(right_roles) >= 0.8 * len(answer.roles)
    assert limits == answer.dues
