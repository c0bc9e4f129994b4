"""processor: one stage of a pipeline: a file in, an object and a small answer out.

A processor works in a process of its own with limits of memory, processor time and output, and that process is gone
when the stage has ended, however it ended. What it makes becomes an object only when it is whole and valid.
"""

from __future__ import annotations

import contextlib
import hashlib
import math
import os
import shutil
import signal
import socket
import time
from collections.abc import Iterator, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

import msgspec

from penstock.executors.contract import Done, Failed, Outcome, Request, Services, failed
from penstock.executors.parts.exceptions import exception_failure, scrub_failure, secrets_of
from penstock.executors.parts.json_schema import schema_failure
from penstock.executors.parts.json_values import NotJson, json_value
from penstock.executors.parts.objects import ARTIFACTS, Buckets, ObjectError, ObjectStore
from penstock.executors.parts.personal_data import masked
from penstock.executors.parts.processes.forked_workers import ForkedWorkers, WorkerEnd, WorkerLimits
from penstock.executors.processors import ProcessorSpec, processor_names, spec_of
from penstock.executors.processors.child import JOB, RESULT, Job, Problem, Result, decode, encode
from penstock.executors.processors.contract import Output, ProcessorContext, ProcessorError
from penstock.executors.processors.file_kinds import ending_of
from penstock.executors.processors.stage_failure import is_long, told
from penstock.executors.processors.stage_input import StageFile, input_file, outputs, stage_prefix

MEMORY_MB, CPU_SECONDS = 1024, 300
OUTPUT_BYTES = 16 * 1024**3
INLINE_BYTES = 16 * 1024  # F-X.16
ANSWER_BYTES = 64 * 1024 * 1024  # more is for a file
LOG_BYTES = 1024 * 1024
#: F-1.3.18: who does the stages that this process gives away
WORKER = {"worker_id": f"{socket.gethostname()[:80]}:{os.getpid()}"}
#: F-X.3: workers of one attempt that may be lost
CLAIMS = 3
_MIB = 1024 * 1024


class ProcessorExecutor:
    """args: stage, seq, processor, config, params, file, input, input_validation, output_validation, limits, metrics;
    or `undo` with the same: the processor's way back.

    An answer's body is {stage, output, output_ref, mime, size, file, input_ref, usage, warnings} and, where something
    was extracted, `extraction`. `file` is what the next stage works on: what was made, else what came in.
    """

    name = "processor"
    #: those that compute need a core each, and some only wait for others
    width = 2 * max(2, os.cpu_count() or 2)

    def __init__(self) -> None:
        self.workers = ForkedWorkers("penstock.executors.processors.child")

    async def run(self, request: Request, services: Services) -> Outcome:
        outcome = await self._outcome(request, services)
        return told(outcome) if isinstance(outcome, Failed) else outcome

    async def _outcome(self, request: Request, services: Services) -> Outcome:
        try:
            if isinstance(request.args, Mapping) and "undo" in request.args:
                return await _Attempt(request, services, self.workers).roll_back()
            return await _Attempt(request, services, self.workers).run()
        except ProcessorError as error:
            return failed(error.code, error.category, str(error), error.detail)
        except ObjectError as error:
            return failed("PP-500-IO", error.category, str(error))

    def close(self) -> None:
        self.workers.close()


class _Attempt:
    """One attempt of one stage."""

    def __init__(self, request: Request, services: Services, workers: ForkedWorkers) -> None:
        args = request.args
        if not isinstance(args, Mapping):
            raise ProcessorError("CONFIG_INVALID", "the arguments must be an object with «processor»")
        self.request, self.services, self.workers, self.args = request, services, workers, args
        self.stage = str(args.get("stage") or request.node)
        self.settings = services.settings if services.machine is None else services.machine
        self.buckets = Buckets(services)
        seq = args.get("seq")
        attempt = f"{request.visit}.{request.attempt}" if request.visit > 1 else str(request.attempt)
        attempt = f"{request.epoch}.{attempt}" if request.epoch else attempt
        number = seq if isinstance(seq, int) else 0
        self.prefix = stage_prefix(request.tenant, request.run, number, self.stage, attempt)

    async def run(self) -> Outcome:
        spec = self._spec()
        file = input_file(self.args, self.request.tenant, self.buckets)
        if file is None:
            raise ProcessorError("INPUT_INVALID", "there is no file to work on")
        store = self.buckets.artifacts
        began = time.monotonic()
        with _work_folder(store) as folder:
            source = self.buckets[file.bucket]
            size = (await source.info(file.key)).size
            file = msgspec.structs.replace(file, size=size)
            wrong = self._invalid("input_validation", self._input_document(file))
            if wrong is not None:
                return wrong
            context = self._context(spec, file, await source.local(file.key, folder), folder)
            made, usage = await self._process(spec, context)
            if isinstance(made, Problem):
                return await self._problem(made, folder, store, usage)
            return await self._keep(made, file, folder, store, usage, began)

    async def roll_back(self) -> Outcome:
        """F-X.8: of a stage that was done; a processor without a way back has nothing to take back."""
        if not self.args.get("processor"):
            return Done(None)
        spec = self._spec()
        if spec.awaits:
            return Done({"stage": self.stage, "output": None})
        with _work_folder(self.buckets.artifacts) as folder:
            file = input_file(self.args, self.request.tenant, self.buckets) or StageFile("", "")
            context = self._context(spec, file, folder / "none", folder)
            context = msgspec.structs.replace(context, result=self.request.result or self.args.get("undo"))
            made, usage = await self._in_worker(spec, context, rollback=True)
            if isinstance(made, Problem):
                return await self._problem(made, folder, self.buckets.artifacts, usage)
            return Done({"stage": self.stage, "output": _json(made.output), "usage": usage})

    def _spec(self) -> ProcessorSpec:
        name = str(self.args.get("processor") or "")
        spec = spec_of(name)
        if spec is None:
            known = ", ".join(processor_names())
            raise ProcessorError("PROCESSOR_UNKNOWN", f"there is no processor «{name[:100]}»; there are {known}")
        return spec

    def _context(self, spec: ProcessorSpec, file: StageFile, local: Path, folder: Path) -> ProcessorContext:
        request, args = self.request, self.args
        config = args.get("config")
        if config is not None and not isinstance(config, Mapping):
            raise ProcessorError("CONFIG_INVALID", "«processor_config» must be an object")
        params = args.get("params")
        below = "pipelines."
        settings = {
            name.removeprefix(below): value
            for name, value in self.settings.items()
            if name.startswith(below) and not name.startswith("pipelines.buckets.")
            if isinstance(value, str | int | float | bool | list)
        }
        return ProcessorContext(
            tenant=request.tenant, execution=request.run, stage=self.stage, processor=spec.name,
            attempt=request.attempt, trace_id=request.trace_id, bucket=file.bucket, key=file.key, mime=file.mime,
            size=file.size, file=local, folder=folder, config=dict(config or {}),
            params=dict(params) if isinstance(params, Mapping) else {},
            input=outputs(args.get("input"), (config or {}).get("input_stage")), settings=settings,
        )  # fmt: skip

    def _input_document(self, file: StageFile) -> dict[str, Any]:
        """What `input_validation` is about: the file, the parameters, the output of the stage before."""
        about = {"bucket": file.bucket, "key": file.key, "mime": file.mime, "size": file.size}
        return {**about, "params": self.args.get("params") or {}, "input": outputs(self.args.get("input"))}

    def _invalid(self, name: str, value: Any) -> Failed | None:
        schema = self.args.get(name)
        if not schema:
            return None
        wrong = schema_failure(value, schema, "VALIDATION")
        if wrong is None:
            return None
        what = "input" if name == "input_validation" else "output"
        return failed(wrong.failure.code, "validation", f"The stage's {what}: {wrong.failure.message}", {
            **(wrong.failure.detail or {}), "validation": name,
        })  # fmt: skip

    async def _process(self, spec: ProcessorSpec, context: ProcessorContext) -> tuple[Output | Problem, dict[str, int]]:
        if not spec.awaits:
            return await self._in_worker(spec, context)
        began = time.monotonic()
        made: Output | Problem
        try:
            made = await getattr(import_module(spec.module), spec.function)(context, self.request, self.services)
        except ProcessorError as error:
            made = Problem(error.code, error.category, str(error), error.detail)
        except Exception as error:
            failure = exception_failure(error, secrets_of(self.services)).failure
            category = failure.category if failure.code != "NODE_ERROR" else "transient"
            made = Problem(failure.code, category, failure.message, failure.detail)
        usage = {"wall_ms": _ms(began), "cpu_ms": 0, "peak_rss": 0, "bytes_in": context.size, "bytes_out": 0}
        return made, usage

    async def _in_worker(
        self, spec: ProcessorSpec, context: ProcessorContext, rollback: bool = False
    ) -> tuple[Output | Problem, dict[str, int]]:
        limits = self._limits()
        job = Job(spec.module, spec.function, spec.file, rollback, context)
        try:
            (context.folder / JOB).write_bytes(encode(job))
        except OSError as error:
            raise ObjectError(f"there is no room to work in ({error.strerror})") from None
        began = time.monotonic()
        end = await self._until_answered(context.folder, limits, spec.warm)
        usage = {
            "wall_ms": _ms(began), "cpu_ms": end.cpu_ms, "peak_rss": end.peak_rss, "bytes_in": context.size,
            "bytes_out": 0,
        }  # fmt: skip
        if _is_lost(end, limits) and not self.workers.closed:
            why = f"the process of «{context.processor}» was killed or lost, {CLAIMS} times"
            return Problem("WORKER_LOST", "transient", why), usage
        return _result(end, context, limits), usage

    async def _until_answered(self, folder: Path, limits: WorkerLimits, warm: tuple[str, ...]) -> WorkerEnd:
        """F-X.3: a worker that somebody has killed is replaced, in the same attempt and a few times."""
        before = set(folder.iterdir())
        for claim in range(1, CLAIMS + 1):
            end = await self.workers.run(folder, limits, warm)
            if not _is_lost(end, limits) or self.workers.closed or claim == CLAIMS:
                break
            for left in set(folder.iterdir()) - before:
                shutil.rmtree(left, ignore_errors=True) if left.is_dir() else left.unlink(missing_ok=True)
        return end

    def _limits(self) -> WorkerLimits:
        asked = self.args.get("limits")
        asked = asked if isinstance(asked, Mapping) else {}
        labels, has = asked.get("labels") or [], self.settings.get("pipelines.labels") or []
        if isinstance(labels, list) and not set(map(str, labels)) <= set(map(str, has)):
            why = f"no worker here has the labels {', '.join(map(str, labels))[:200]}"
            raise ProcessorError("RESOURCE_LABELS", why, "resource")
        memory = _number(asked.get("memory_mb"), self._setting("memory_mb", MEMORY_MB))
        most = self._setting("max_memory_mb", 0)
        return WorkerLimits(
            (min(memory, most) if most else memory) * _MIB,
            _seconds(asked.get("cpu_seconds"), self._setting("cpu_seconds", CPU_SECONDS)),
            self._setting("max_output_bytes", OUTPUT_BYTES),
        )

    def _setting(self, name: str, otherwise: int) -> int:
        return _number(self.settings.get(f"pipelines.{name}"), otherwise)

    async def _keep(
        self, made: Output, file: StageFile, folder: Path, store: ObjectStore, usage: dict[str, int], began: float
    ) -> Outcome:
        output = _json(made.output)
        wrong = self._invalid("output_validation", output)
        if wrong is not None:
            return wrong
        body: dict[str, Any] = {"stage": self.stage, "output": output}
        whole = msgspec.json.encode(output)
        local, mime = _made_file(made, folder), made.mime
        if local is not None:
            mime = mime or file.mime or "application/octet-stream"
            key = f"{self.prefix}output.{ending_of(mime)}"
            size = await store.put_file(key, local, mime)
            handed = StageFile(ARTIFACTS, key, mime, size)
            if len(whole) > INLINE_BYTES:
                body["output"] = {"$ref": f"{self.prefix}output.json"}
                await store.put(f"{self.prefix}output.json", whole, "application/json")
        else:
            key, mime, size, handed = f"{self.prefix}output.json", "application/json", len(whole), file
            await store.put(key, whole, mime)
            if len(whole) > INLINE_BYTES:
                body["output"] = {"$ref": key}
        usage = {**usage, **made.usage, "bytes_out": size, "wall_ms": _ms(began)}
        body |= {
            "output_ref": key, "mime": mime, "size": size, "input_ref": file.ref, "usage": usage,
            "file": {"bucket": handed.bucket, "key": handed.key, "mime": handed.mime, "size": handed.size},
            "warnings": [masked(str(text)[:1000]) for text in made.warnings[:100]], **WORKER,
        }  # fmt: skip
        log = await self._log(folder, store)
        body |= {"log_ref": log} if log else {}
        body |= {"extraction": _extraction(made.extraction)} if made.extraction is not None else {}
        metrics = self._metrics(usage, output)
        body |= {"metrics": metrics} if metrics else {}
        return Done(body)

    def _metrics(self, usage: Mapping[str, int], output: Any) -> dict[str, float]:
        """F-X.33: what `metrics_config` asks for, of the usage and of the numbers in the output. An execution is in the
        sample or not, whichever attempt it is."""
        asked = self.args.get("metrics")
        if not isinstance(asked, Mapping) or not asked.get("emit"):
            return {}
        digest = hashlib.sha256(f"{self.request.run}\0{self.stage}".encode()).digest()
        if int.from_bytes(digest[:8], "big") >= float(asked.get("sample", 1)) * 2**64:
            return {}
        known = {**(output if isinstance(output, Mapping) else {}), **usage}
        numbers = {name: known.get(name) for name in map(str, asked["emit"])}
        return {
            name: value
            for name, value in numbers.items()
            if isinstance(value, int | float) and not isinstance(value, bool)
        }

    async def _problem(self, problem: Problem, folder: Path, store: ObjectStore, usage: dict[str, int]) -> Outcome:
        detail = dict(problem.detail) if isinstance(problem.detail, Mapping) else {}
        outcome = failed(problem.code, problem.category, problem.message, {**detail, "usage": usage, **WORKER})
        outcome = scrub_failure(outcome, secrets_of(self.services))
        whole = outcome.failure.message if is_long(outcome.failure.message) else ""
        with contextlib.suppress(ObjectError):
            log = await self._log(folder, store, whole)
            if log:
                outcome.failure.detail["log_ref"] = log
        return outcome

    async def _log(self, folder: Path, store: ObjectStore, whole: str = "") -> str | None:
        """What the processor has printed, kept beside its output; and a message that is too long for a row."""
        log = folder / "log.txt"
        printed = ""
        if log.is_file():
            with log.open("rb") as file:
                printed = file.read(LOG_BYTES).decode(errors="replace")
        if not printed and not whole:
            return None
        key = f"{self.prefix}log.txt"
        text = masked(f"{printed}{whole}")[: 2 * LOG_BYTES]
        await store.put(key, text.encode(errors="replace"), "text/plain")
        return key


@contextlib.contextmanager
def _work_folder(store: ObjectStore) -> Iterator[Path]:
    folder = store.work_folder()
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _result(end: WorkerEnd, context: ProcessorContext, limits: WorkerLimits) -> Output | Problem:
    name = context.processor
    if end.status == 0:
        try:
            if (context.folder / RESULT).stat().st_size > ANSWER_BYTES:
                return Problem("RESOURCE_LIMIT", "resource", f"«{name}» answers more than {ANSWER_BYTES} bytes")
            result = decode((context.folder / RESULT).read_bytes(), Result)
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


def _is_lost(end: WorkerEnd, limits: WorkerLimits) -> bool:
    """It did not end by itself, nor by its limits."""
    out_of_time = end.cpu_ms >= limits.cpu_seconds * 1000
    return end.status is None or end.status == -signal.SIGKILL and not out_of_time


def _made_file(made: Output, folder: Path) -> Path | None:
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


def _extraction(given: Mapping[str, Any]) -> dict[str, Any]:
    """F-5.1, F-X.24: confidence is from 0 to 1."""
    confidence = given.get("confidence")
    if isinstance(confidence, bool) or not isinstance(confidence, int | float) or not 0 <= confidence <= 1:
        raise ProcessorError("OUTPUT_INVALID", "the confidence of an extraction is a number from 0 to 1", "permanent")
    kind, method = str(given.get("extractionType") or "text"), str(given.get("method") or "")
    return {"extractionType": kind[:100], "method": method[:100], "confidence": confidence}


def _json(value: Any) -> Any:
    try:
        value = json_value(value)
    except NotJson as error:
        raise ProcessorError("OUTPUT_INVALID", f"the output is no value of JSON: {error}", "permanent") from None
    if isinstance(value, bytes):
        raise ProcessorError("OUTPUT_INVALID", "the output is bytes; give them as the file", "permanent")
    return value


def _number(value: Any, otherwise: int) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else otherwise


def _seconds(value: Any, otherwise: int) -> int:
    """Whole ones: processor time is limited by the second."""
    return math.ceil(value) if isinstance(value, float) and 0 < value < math.inf else _number(value, otherwise)


def _ms(began: float) -> int:
    return int((time.monotonic() - began) * 1000)
