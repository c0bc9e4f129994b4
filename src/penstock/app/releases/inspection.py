"""A document as an editor shows it: what is wrong with it and where, its drawing, and whether its runs can end."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import msgspec

from penstock.app.access.missing_candidates import Held, unheld
from penstock.app.drawing.net_graph import NetDrawing, drawing_of
from penstock.app.drawing.run_graph import RunGraph, definition_graph
from penstock.app.releases.documents import compile_source
from penstock.app.releases.rehearsal import Level, judge_levels
from penstock.errors import DocumentInvalid, Finding, PenstockError
from penstock.lang.contract import language_named
from penstock.lang.read import read_document
from penstock.net.author import author
from penstock.net.compiled import Compiled
from penstock.net.soundness import Verdict


class InspectionStep(msgspec.Struct, kw_only=True):
    """The author's node that has run, and where tokens lie after it, by the author's edges."""

    node: str
    label: str
    tokens: dict[str, int]


class SoundnessReport(msgspec.Struct, kw_only=True):
    """A level that is not known to be sound: `way` in words, `steps` to be drawn, `dead` what can never run."""

    scope: str
    verdict: str
    why: str
    way: list[str]
    steps: list[InspectionStep]
    dead: list[str]
    rehearsed: str | None


class Inspection(msgspec.Struct, kw_only=True):
    """`graph` is None of a document that cannot be drawn; `soundness` is empty of one whose every run can end.
    `document`: what was read, where a language has XML, too: its text may be either."""

    language: str | None
    findings: list[Finding]
    graph: RunGraph | None = None
    soundness: list[SoundnessReport] = []
    bpmn: str | None = None
    input_schema: Any = None
    document: Any = None


def inspect(source: bytes, held: Held = None) -> Inspection:
    """Inspect a document without a store; `held`: whom work can be given to. Costs a compilation and, if unsound, the
    search for a counterexample."""
    try:
        made, _ = compile_source(source, unsound=True)
    except DocumentInvalid as wrong:
        return Inspection(language=None, findings=list(wrong.findings))
    net, write_xml = Compiled(made.net), language_named(made.language).write_xml
    read = read_document(source, name="document").data if write_xml is not None else None
    return Inspection(
        language=made.language, findings=_as_refused(source, [*made.findings, *unheld(made.net, held)]),
        graph=definition_graph(net),
        soundness=[_judged(net, level) for level in judge_levels(made.net)],
        bpmn=_xml(read, write_xml) if write_xml is not None else None, input_schema=made.net.declares.input_schema,
        document=read,
    )  # fmt: skip


def _as_refused(source: bytes, findings: list[Finding]) -> list[Finding]:
    """The findings as a release reports them: some languages refuse an unsound document."""
    if not any(finding.rule == "unsound" for finding in findings):
        return findings
    try:
        compile_source(source)
    except DocumentInvalid as wrong:
        return list(wrong.findings)
    return findings


def _xml(data: Any, write_xml: Callable[[Any], str]) -> str | None:
    try:
        return write_xml(data)
    except (PenstockError, KeyError, TypeError, ValueError):  # a drawing is more than anybody needs
        return None


def _judged(net: Compiled, level: Level) -> SoundnessReport:
    shape = drawing_of(net)
    return SoundnessReport(
        scope=level.scope, verdict=level.found.status, why=level.found.why, way=level.way,
        steps=list(_steps(net, shape, level.found)),
        dead=[*dict.fromkeys(author(net.by_id[id]) for id in level.found.nodes if id in net.by_id)],
        rehearsed=level.rehearsed.ending() if level.rehearsed is not None else None,
    )  # fmt: skip


def _steps(net: Compiled, shape: NetDrawing, verdict: Verdict) -> Iterator[InspectionStep]:
    lying: Counter[int] = Counter()
    for number, step in enumerate(verdict.trace, 1):
        node = net.by_id.get(step.node)
        if node is None:
            continue
        into = [edge.no for edge in net.edges if edge.dst is node and lying[edge.no]]
        for no in into[:1] if node.spec.join.mode == "k" else into:
            lying[no] -= 1
        lying.update(net.edge_by_id[id].no for id in step.edges if id in net.edge_by_id)
        if number == len(verdict.trace) and verdict.held:
            lying = Counter(net.edge_by_id[id].no for id in verdict.held if id in net.edge_by_id)
        tokens: Counter[str] = Counter()
        for no, count in lying.items():
            if (way := shape.ways[no]) is not None and count > 0:
                tokens[way] += count
        yield InspectionStep(node=author(node), label=node.label, tokens=dict(tokens))
