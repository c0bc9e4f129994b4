"""The work of a worker process: reads its job, calls the processor, writes what came of it, and ends."""

from __future__ import annotations

import errno
import importlib
import importlib.util
import inspect
import re
import sys
import traceback
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from penstock.executors.processors.contract import Output, ProcessorContext, ProcessorError

JOB, RESULT = "job.json", "result.json"
_CODE = re.compile(r"[A-Za-z][A-Za-z0-9_.-]{0,49}\Z")
_CATEGORIES = frozenset(
    "transient permanent timeout validation authorization business external resource system".split()
)
_TRACE_MAX = 64 * 1024
T = TypeVar("T")


class Job(msgspec.Struct):
    module: str
    function: str
    file: str
    rollback: bool
    context: ProcessorContext


class Problem(msgspec.Struct):
    code: str
    category: str
    message: str
    detail: Any = None


class Result(msgspec.Struct):
    """One of both."""

    output: Output | None = None
    problem: Problem | None = None


def encode(value: Job | Result) -> bytes:
    return msgspec.json.encode(value, enc_hook=_plain)


def decode(data: bytes, type: type[T]) -> T:
    return msgspec.json.decode(data, type=type, dec_hook=lambda kind, text: kind(text))


def _plain(value: Any) -> Any:
    if isinstance(value, Path):
        return str(value)
    raise NotImplementedError(f"a value of {type(value).__name__}")


def run_job(folder: str) -> None:
    at = Path(folder)
    job = decode((at / JOB).read_bytes(), Job)
    try:
        result = Result(output=_call(job))
    except MemoryError as error:
        error.__traceback__ = None  # and with it everything that the processor held
        result = Result(problem=_problem(error, job))
    except BaseException as error:
        _print_trace(error)
        result = Result(problem=_problem(error, job))
    try:
        data = encode(result)
    except (TypeError, ValueError, OverflowError, RecursionError) as error:
        why = f"«{job.context.processor}» returned what JSON cannot hold: {str(error)[:300]}"
        data = encode(Result(problem=Problem("OUTPUT_INVALID", "permanent", why)))
    (at / RESULT).write_bytes(data)


def _call(job: Job) -> Output:
    made = getattr(_module(job), job.function)
    target: Any = made() if inspect.isclass(made) else made
    if job.rollback:
        rollback: Any = getattr(target, "rollback", None) or getattr(_module(job), "rollback", None)
        returned = rollback(job.context) if rollback is not None else None
        return Output(output=None if isinstance(returned, Output) else returned)
    process: Any = getattr(target, "process", target)
    returned = process(job.context)
    if isinstance(returned, Output):
        return returned
    if isinstance(returned, bytes):
        return Output(data=returned)
    if isinstance(returned, Path):
        return Output(file=returned)
    if returned is None or isinstance(returned, Mapping | list | str | int | float):
        return Output(output=returned)
    raise ProcessorError("OUTPUT_INVALID", f"it returned {type(returned).__name__}, and no Output", "permanent")


def _module(job: Job) -> Any:
    if job.module not in ("__main__", "__mp_main__"):
        try:
            return importlib.import_module(job.module)
        except ModuleNotFoundError as error:
            if not job.file or error.name is None or not job.module.startswith(error.name):
                raise
    name = f"penstock_processor_{abs(hash(job.file))}"
    if name not in sys.modules:
        spec = importlib.util.spec_from_file_location(name, job.file)
        if spec is None or spec.loader is None:
            raise ProcessorError("PROCESSOR_UNKNOWN", f"«{job.module}» cannot be imported by a worker")
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module
        spec.loader.exec_module(module)
    return sys.modules[name]


def _problem(error: BaseException, job: Job) -> Problem:
    if isinstance(error, MemoryError):
        return Problem("RESOURCE_LIMIT", "resource", f"«{job.context.processor}» needs more memory than it may have")
    if isinstance(error, OSError) and error.errno == errno.EFBIG:
        return Problem("RESOURCE_LIMIT", "resource", f"«{job.context.processor}» writes more than it may")
    if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT):
        return Problem("PP-500-IO", "transient", "there is no room left for what the stage makes")
    code, category = "PROCESSOR_ERROR", "transient"  # F-2.5: a stage that failed is tried again
    own_code, own_category = getattr(error, "code", None), getattr(error, "category", None)
    if isinstance(own_code, str) and _CODE.match(own_code):
        code = own_code
    if isinstance(own_category, str) and own_category in _CATEGORIES:
        category = own_category
    if isinstance(error, RecursionError):
        code = "PROCESSOR_ERROR"
    named = "" if isinstance(error, ProcessorError) else f"{type(error).__name__}: "
    detail = getattr(error, "detail", None) if isinstance(error, ProcessorError) else {"error": type(error).__name__}
    return Problem(code, category, f"{named}{str(error)[:4000]}" if str(error) else type(error).__name__, detail)


def _print_trace(error: BaseException) -> None:
    """Into the log, for who wrote the processor. What a processor has said on purpose needs none."""
    if isinstance(error, ProcessorError):
        return
    sys.stderr.write("".join(traceback.format_exception(error))[-_TRACE_MAX:])
