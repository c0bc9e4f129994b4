"""The tables of simulations: their results, past judgments from elsewhere, and what people say of judgments."""

from __future__ import annotations

from penstock.store.table_shape import Index, Table
from penstock.store.table_shape import column as _c
from penstock.store.table_shape import word as _word

SIMULATION = Table(
    "simulation",
    "Simulations of a change: what it would have meant. The same simulation again takes the place of the first.",
    (
        _c("tenant", "text", "whose it is", key=True),
        _c("id", "text", "its id, made from the effect's key", key=True),
        _c("run", "text", "run.id of the run that has asked for it"),
        _c("node", "text", "the node that has"),
        _c("document", "text", "the name of its document"),
        _c("artifact_type", "text", "rule_pack, prompt, model, config"),
        _c("artifact_id", "text", "what was to be changed"),
        _c("candidate", "text", "its version with the change", null=True),
        _c("baseline", "text", "the version it was compared with", null=True),
        _c("mode", "text", "dry_run, replay, what_if, monte_carlo"),
        _c("created_at", "int", "milliseconds since 1970"),
        _c("result", "blob", "summary, comparison, risk and changed judgments, msgpack"),
        _c("format", "text", "of the report that was asked for: html, pdf, json", null=True),
        _c("report", "blob", "that report", null=True),
    ),
    (
        Index("simulation_at", ("tenant", "created_at", "id")),
        Index("simulation_artifact", ("tenant", "artifact_type", "artifact_id", "created_at")),
        Index("simulation_run", ("run",)),
    ),
    clustered=True,
)

PAST_JUDGMENT = Table(
    "past_judgment",
    "Judgments that were made elsewhere and imported, so that a simulation has a history to replay.",
    (
        _c("tenant", "text", "whose it is", key=True),
        _c("id", "text", "its id", key=True),
        _c("artifact", "text", "the rule pack that has judged"),
        _c("decision", "text", "what was decided then"),
        _c("body", "blob", "input, output and line, msgpack"),
        _c("at", "int", "when it was judged, milliseconds since 1970"),
    ),
    (Index("past_judgment_at", ("tenant", "at")),),
    clustered=True,
)

JUDGMENT_LABEL = Table(
    "judgment_label",
    "What a judgment should have been, said by a person afterwards.",
    (
        _c("tenant", "text", "whose it is", key=True),
        _c("judgment", "text", "RUN/FIRING, or the id of a past judgment", key=True),
        _word("decision", "normal", "warning", "critical", "unknown"),
        _c("by", "text", "who says so"),
        _c("note", "text", "why"),
        _c("at", "int", "milliseconds since 1970"),
    ),
    clustered=True,
)

SIMULATION_TABLES = (SIMULATION, PAST_JUDGMENT, JUDGMENT_LABEL)
