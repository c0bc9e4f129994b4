"""What the process of a stage has answered: an output, or why there is none."""

from __future__ import annotations

import signal
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from penstock.executors.parts.json_values import NotJson, json_value
from penstock.executors.parts.processes.forked_workers import WorkerEnd, WorkerLimits
from penstock.executors.processors.child import RESULT, Problem, Result, decode
from penstock.executors.processors.contract import Output, ProcessorContext, ProcessorError

ANSWER_BYTES = 64 * 1024 * 1024  # more is for a file


def worker_result(end: WorkerEnd, context: ProcessorContext, limits: WorkerLimits) -> Output | Problem:
    name = context.processor
    if end.status == 0:
        try:
            if (context.folder / RESULT).stat().st_size > ANSWER_BYTES:
                return Problem("RESOURCE_LIMIT", "resource", f"«{name}» answers more than {ANSWER_BYTES} bytes")
            result = decode((context.folder / RESULT).read_bytes(), Result)
        except msgspec.ValidationError as error:
            return Problem("OUTPUT_INVALID", "permanent", f"«{name}» answers what is no answer of a processor: {error}")
        except (OSError, msgspec.MsgspecError):
            return Problem("PROCESSOR_CRASHED", "transient", f"«{name}» ended without an answer")
        if result.problem is not None:
            return result.problem
        return result.output or Output()
    killed = end.status == -signal.SIGKILL and end.cpu_ms >= limits.cpu_seconds * 1000
    if end.status == -signal.SIGXCPU or killed:  # the first is sent for nothing else
        return Problem("RESOURCE_LIMIT", "resource", f"«{name}» worked more than {limits.cpu_seconds} s")
    if end.status in (-signal.SIGABRT, -signal.SIGSEGV, -signal.SIGBUS) and end.peak_rss > 0.8 * limits.memory_bytes:
        return Problem("RESOURCE_LIMIT", "resource", f"«{name}» needs more memory than {limits.memory_bytes} bytes")
    if end.status is None:
        return Problem("PROCESSOR_CRASHED", "transient", f"the process of «{name}» was lost")
    how = f"by signal {-end.status}" if end.status < 0 else f"with {end.status}"
    return Problem("PROCESSOR_CRASHED", "transient", f"the process of «{name}» ended {how}", {"status": end.status})


def is_lost(end: WorkerEnd, limits: WorkerLimits) -> bool:
    """It did not end by itself, nor by its limits."""
    out_of_time = end.cpu_ms >= limits.cpu_seconds * 1000
    return end.status is None or end.status == -signal.SIGKILL and not out_of_time


def made_file(made: Output, folder: Path) -> Path | None:
    """The file that a processor says it has made: one of its own folder, and no link out of it."""
    if made.data is not None:
        file = folder / "made.data"
        file.write_bytes(made.data)
        return file
    if made.file is None:
        return None
    file = folder / made.file
    if file.is_symlink() or not file.is_file() or not file.resolve().is_relative_to(folder.resolve()):
        raise ProcessorError("OUTPUT_INVALID", "the file that was made is not in the stage's folder", "permanent")
    return file


def extraction_of(given: Mapping[str, Any]) -> dict[str, Any]:
    """F-5.1, F-X.24: confidence is from 0 to 1."""
    confidence = given.get("confidence")
    if isinstance(confidence, bool) or not isinstance(confidence, int | float) or not 0 <= confidence <= 1:
        raise ProcessorError("OUTPUT_INVALID", "the confidence of an extraction is a number from 0 to 1", "permanent")
    kind, method = str(given.get("extractionType") or "text"), str(given.get("method") or "")
    return {"extractionType": kind[:100], "method": method[:100], "confidence": confidence}


def json_output(value: Any) -> Any:
    try:
        value = json_value(value)
    except NotJson as error:
        raise ProcessorError("OUTPUT_INVALID", f"the output is no value of JSON: {error}", "permanent") from None
    if isinstance(value, bytes):
        raise ProcessorError("OUTPUT_INVALID", "the output is bytes; give them as the file", "permanent")
    return value
