"""penstock pipeline: its verbs."""

from __future__ import annotations

from penstock.cli.pipeline.executions import logs, ls, show, trace, usage
from penstock.cli.pipeline.messages import define, dlq, ingest
from penstock.cli.pipeline.schedules import schedule, schedules
from penstock.cli.pipeline.steering import cancel, retry
from penstock.cli.pipeline.watch import watch

pipeline = {
    "define": define, "watch": watch, "ingest": ingest, "ls": ls, "show": show, "logs": logs, "cancel": cancel,
    "retry": retry, "dlq": dlq, "usage": usage, "trace": trace, "schedule": schedule, "schedules": schedules,
}  # fmt: skip
