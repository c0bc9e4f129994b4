"""What pm4py says of the same cases and the same process: beside our numbers, in a process of its own."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any
from xml.etree import ElementTree

from penstock.app.process.mining.histories.maps import definition_of, variants_of
from penstock.app.process.mining.views.overview import MinedMap
from penstock.cli.output import TONES, say
from penstock.errors import BadInput
from penstock.lang.process.bpmn.writer import write_bpmn
from penstock.mining.pm4py_client import ALIGNMENT_S, SecondOpinion, check_with_pm4py


def ask_pm4py(mined: MinedMap, python: str = "") -> SecondOpinion:
    """Alignments over the BPMN of the process in force. Raises BadInput where there is none, ExtraMissing, and
    MinerFailed where it takes too long or fails."""
    row, fits = mined.source.row, mined.conformance
    if row is None or fits is None:
        raise BadInput(
            what="--second-opinion", why="there are no cases of a process to hold against it",
            hint="Name the process: `penstock mine ID --second-opinion`, with --log FILE for a log.",
        )  # fmt: skip
    return check_with_pm4py(bpmn_of(definition_of(row)), variants_of(mined.map), python=python or sys.executable)


def bpmn_of(definition: Mapping[str, Any]) -> str:
    """As pm4py reads it: between a start and an end event, and every element with its name, also where that is its
    id."""
    events, flows = list(definition.get("events") or ()), list(definition.get("transitions") or ())
    sources, targets = ({flow[end] for flow in flows} for end in ("source", "target"))
    for entry in (*(definition.get("activities") or ()), *(definition.get("gateways") or ())):
        id = entry["id"]
        if entry.get("parent") or entry.get("triggered_by_event") or entry.get("is_for_compensation"):
            continue
        for position, known, way in (("start", targets, ("", id)), ("end", sources, (id, ""))):
            if id not in known:
                new = f"{position}_of_{id}"
                events.append({"id": new, "position": position})
                flows.append({"id": f"way_{new}", "source": way[0] or new, "target": way[1] or new})
    whole = {name: value for name, value in definition.items() if name != "diagram"}
    root = ElementTree.fromstring(write_bpmn({**whole, "events": events, "transitions": flows}))  # noqa: S314 (our own)
    for element in root.iter():
        if element.tag.rpartition("}")[2].lower().endswith(("task", "activity", "subprocess")):
            element.set("name", element.get("name") or str(element.get("id")))
    return ElementTree.tostring(root, encoding="unicode")


def opinion_body(opinion: SecondOpinion) -> dict[str, Any]:
    return {
        "by": f"pm4py {opinion.version}", "fitness": opinion.fitness, "precision": opinion.precision,
        "bounded": opinion.bounded, "variants": len(opinion.costs), "fitting": opinion.costs.count(0),
    }  # fmt: skip


def print_opinion(opinion: SecondOpinion, mined: MinedMap) -> None:
    fits = mined.conformance
    assert fits is not None, "it was asked about this"
    say()
    say(
        ("second opinion ", "bold"), f"pm4py {opinion.version}: fitness of alignments {opinion.fitness:.3f} (here",
        f" {fits.fitness:.3f}), precision {opinion.precision:.2f} (here {fits.precision:.2f}),",
        f" {opinion.costs.count(0)} of {len(opinion.costs)} variants fit (here {sum(fits.fits)})",
    )  # fmt: skip
    if opinion.bounded:
        say(("  bounded ", TONES["held"]), f"{opinion.bounded} variants were given up after {ALIGNMENT_S:g} s each")
