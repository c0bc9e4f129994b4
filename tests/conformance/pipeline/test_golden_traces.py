"""The traces of the pipeline that was lowered by hand come out of the real lowering, line for line.

Three things of the document are no part of the hand's net, and are taken away here: `queued` (a run is admitted by the
host), `active_timeout_ms` (the seed's definition always has one), and arguments that only the processor reads.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import msgspec
import pytest

from penstock.lang.pipeline import ProcessorType
from penstock.net.model import Net
from tests.conformance.pipeline.make import lowered, pipeline, stage
from tests.kernel import documents as D
from tests.kernel import test_documents as scripts

DELAY = {"retry_delay_seconds": 1}
PROCESSORS = {"Undoing": ProcessorType("Undoing", rollback=True)}
_ARGS = re.compile(r"(?m)^(effect\.asked +(\S+) .*?)args=(\{.*\})$")


def document(max_retries: int = 2, *, resize: dict[str, Any] | None = None) -> dict[str, Any]:
    """What `documents.pipeline` says of itself, in the words of the seed."""

    def brief(code: str, order: int, processor: str = "Copy", **more: Any) -> dict[str, Any]:
        return stage(code, order, processor, **{"max_retries": 0, "processor_config": DELAY, **more})

    small = {"on_failure": "SKIP"} if resize is None else {"on_failure": "FAIL"}
    return pipeline(
        brief("fetch", 1, "Undoing"),
        brief("resize", 2, "Undoing", is_parallel=1, **small),
        brief("ocr", 2, is_parallel=1, on_failure="RETRY"),
        brief("checksum", 2, is_parallel=1, is_optional=1),
        brief("index", 3, on_failure="RETRY", condition={"field": "size", "op": "lte", "value": 1000}),
        brief("publish", 4, max_retries=1),
        max_retries=max_retries,
        parallelism=2,
    )


def by_the_language(max_retries: int = 2, *, resize: dict[str, Any] | None = None) -> Net:
    net = lowered(document(max_retries, resize=resize), **PROCESSORS)
    assert net.queued and net.active_timeout_ms == 300_000
    return msgspec.structs.replace(net, queued=False, active_timeout_ms=None)


def plain(trace: str) -> str:
    """Only what the hand's net tells a processor; the first stage is told of no output before it."""

    def less(match: re.Match[str]) -> str:
        args = json.loads(match[3])
        kept = {name: args[name] for name in ("stage", "input", "undo") if name in args}
        kept = {"undo": kept["undo"]} if "undo" in kept else kept
        if match[2] == "fetch":
            kept.pop("input")
        return f"{match[1]}args={json.dumps(kept, sort_keys=True)}"

    return _ARGS.sub(less, trace)


def check_trace(path: Path, trace: str) -> None:
    assert plain(trace) == plain(path.read_text(encoding="utf-8")), path.name


@pytest.mark.parametrize(
    "script",
    [
        scripts.test_a_pipeline_runs_its_group_two_at_a_time,
        scripts.test_a_pipeline_goes_on_after_skip_and_continue,
        scripts.test_a_pipeline_starts_again_at_the_first_stage,
        scripts.test_a_pipeline_resumes_in_its_group,
        scripts.test_a_member_says_for_itself_how_its_group_is_tried_again,
        scripts.test_a_failed_pipeline_is_resumed_by_hand,
        scripts.test_a_pipeline_is_cancelled_at_the_boundary,
    ],
    ids=lambda script: script.__name__.removeprefix("test_"),
)
def test_f_x_6b_f_x_15_the_lowering_gives_the_golden_trace(script: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same script drives both nets."""
    monkeypatch.setattr(D, "pipeline", by_the_language)
    script(check_trace)


def test_the_net_of_the_hand_is_the_net_of_the_language() -> None:
    """Nodes and edges, in the same order; what differs is what people and processors read."""
    hand, real = D.pipeline(), by_the_language()
    assert real.edges == hand.edges and [n.id for n in real.nodes] == [n.id for n in hand.nodes]
    for ours, theirs in zip(real.nodes, hand.nodes, strict=True):
        read = {"type": "", "label": "", "origin": "", "effect": None, "port": None, "timeout_ms": None}
        assert msgspec.structs.replace(ours, **read) == msgspec.structs.replace(theirs, **read)
