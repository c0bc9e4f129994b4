"""Tables of deployments: how each stands, what has happened to it, and the uses of what was deployed."""

from __future__ import annotations

from penstock.lifecycle.deployment import DEPLOYMENT as LIFE
from penstock.store.table_shape import Index, Table
from penstock.store.table_shape import column as _c
from penstock.store.table_shape import word as _word

DEPLOYMENT = Table(
    "deployment",
    "Deployments of rules, prompts, models, settings and workflows. Which version applies is derived from these rows.",
    (
        _c("tenant", "text", "whose it is", key=True),
        _c("id", "text", "made of the key it was begun with", key=True),
        _c("rank", "int", "1, 2, 3 … of its tenant: a later one lies above an earlier one"),
        _c("type", "text", "artifact.type, or workflow"),
        _c("artifact", "text", "artifact.id, or release.name"),
        _c("version", "text", "what is deployed"),
        _c("previous", "text", "what applied in its scope before", null=True),
        _c("environment", "text", "staging, production …"),
        _c("lines", "text", "JSON: the lines of its scope; none: all", null=True),
        _c("request", "text", "JSON: strategy, criteria, triggers and notifications as they were asked for"),
        _c("stages", "text", "JSON: percent, minutes and lines of each stage"),
        _word("status", *LIFE.statuses),
        _c("percent", "int", "of the instances get the new version"),
        _c("progress", "int", "0 to 100"),
        _c("stage", "int", "the stage that is live, from 0"),
        _c("live_lines", "text", "JSON: lines that have the new version; none: all of its scope", null=True),
        _c("number", "int", "grows with every move"),
        _c("run", "text", "the run that has begun it", null=True),
        _c("node", "text", "its node", null=True),
        _c("rollout", "text", "the run that moves it", null=True),
        _c("by", "text", "who has begun it by hand", null=True),
        _c("reason", "text", "why it has failed or was rolled back", null=True),
        _c("to_version", "text", "what it was rolled back to", null=True),
        _c("pinned", "int", "1: what it was rolled back to lies in its place; 0: what lies beneath shows"),
        _c("began_at", "int", "milliseconds since 1970"),
        _c("stage_at", "int", "when the stage began, without the time that it was paused"),
        _c("next_at", "int", "when somebody should look again", null=True),
        _c("paused_at", "int", "milliseconds since 1970", null=True),
        _c("ended_at", "int", "milliseconds since 1970", null=True),
        _c("checks", "text", "JSON: criteria and triggers at the last look, and warnings"),
    ),
    (
        Index("deployment_rank", ("tenant", "rank"), unique=True),
        Index("deployment_artifact", ("tenant", "type", "artifact", "rank")),
        Index("deployment_rollout", ("rollout",), where="rollout IS NOT NULL"),
    ),
    clustered=True,
)

DEPLOYMENT_EVENT = Table(
    "deployment_event",
    "What has happened to deployments: appended, never changed.",
    (
        _c("tenant", "text", "whose it is", key=True),
        _c("deployment", "text", "deployment.id", key=True),
        _c("number", "int", "deployment.number after it", key=True),
        _c("at", "int", "milliseconds since 1970"),
        _c("what", "text", "begin, advance, pause, resume, promote, complete, roll_back, fail"),
        _c("who", "text", "who did it; none: it went by itself", null=True),
        _c("percent", "int", "after it"),
        _c("body", "text", "JSON: text, metrics and checks of that moment"),
    ),
    clustered=True,
)

ARTIFACT_USE = Table(
    "artifact_use",
    "Each use of a thing that has been deployed: which version, how it ended, and how long it took.",
    (
        _c("run", "text", "the run", key=True),
        _c("firing", "int", "number of the firing; -1: of the run as a whole", key=True),
        _c("type", "text", "deployment.type", key=True),
        _c("artifact", "text", "deployment.artifact", key=True),
        _c("tenant", "text", "whose it is"),
        _c("version", "text", "that was used"),
        _c("environment", "text", "where"),
        _c("line", "text", "of which line; empty where that is not known"),
        _c("deployment", "text", "deployment.id that led to this version; empty: none did"),
        _c("decision", "text", "what was decided; of a run its status"),
        _c("confidence", "int", "thousandths", null=True),
        _c("failed", "int", "1: it ended with a failure"),
        _c("ms", "int", "how long it took"),
        _c("at", "int", "when it ended, milliseconds since 1970"),
    ),
    (Index("artifact_use_at", ("tenant", "type", "artifact", "environment", "at")),),
    projection=True,
    clustered=True,
)

DEPLOYMENT_TABLES = (DEPLOYMENT, DEPLOYMENT_EVENT, ARTIFACT_USE)
