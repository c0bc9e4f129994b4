"""processor: one stage of a pipeline: a file in, an object and a small answer out.

A processor works in a process of its own with limits of memory, processor time and output, and that process is gone
when the stage has ended, however it ended. What it makes becomes an object only when it is whole and valid.
"""

from __future__ import annotations

import contextlib
import hashlib
import logging
import math
import os
import shutil
import socket
import time
from collections.abc import AsyncIterator, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

import msgspec

from penstock.executors.contract import Done, Failed, Lane, Outcome, Request, Services, failed
from penstock.executors.parts.exceptions import exception_failure, scrub_failure, secrets_of
from penstock.executors.parts.json_schema import schema_failure
from penstock.executors.parts.objects import ARTIFACTS, Buckets, ObjectChanged, ObjectError, ObjectStore
from penstock.executors.parts.personal_data import masked
from penstock.executors.parts.processes.forked_workers import ForkedWorkers, WorkerEnd, WorkerLimits
from penstock.executors.parts.threads import in_thread
from penstock.executors.processors import BUILTIN, ProcessorSpec, processor_names, spec_of
from penstock.executors.processors.child import JOB, Job, Problem, encode
from penstock.executors.processors.contract import Output, ProcessorContext, ProcessorError
from penstock.executors.processors.file_kinds import ending_of
from penstock.executors.processors.stage_failure import is_long, told
from penstock.executors.processors.stage_input import StageFile, input_file, outputs, stage_prefix
from penstock.executors.processors.stage_output import extraction_of, is_lost, json_output, made_file, worker_result

MEMORY_MB, CPU_SECONDS = 1024, 300
OUTPUT_BYTES = 16 * 1024**3
INLINE_BYTES = 16 * 1024  # F-X.16
LOG_BYTES = 1024 * 1024
#: F-1.3.18: who does the stages that this process gives away
WORKER = {"worker_id": f"{socket.gethostname()[:80]}:{os.getpid()}"}
#: stages that wait for a server, at once
REMOTE_AT_ONCE = 64
#: F-X.3: workers of one attempt that may be lost
CLAIMS = 3
_MIB = 1024 * 1024
_LOG = logging.getLogger(__name__)


class ProcessorExecutor:
    """args: stage, seq, processor, config, params, file, input, input_validation, output_validation, limits, metrics,
    max_file_size; or `undo` with the same: the processor's way back.

    An answer's body is {stage, output, output_ref, mime, size, file, input_ref, usage, warnings} and, where something
    was extracted, `extraction`. `file` is what the next stage works on: what was made, else what came in.
    """

    name = "processor"
    #: those that compute need a core each, and read and write around it
    width = 2 * max(2, os.cpu_count() or 2)

    def __init__(self) -> None:
        self.workers = ForkedWorkers("penstock.executors.processors.child")

    def lane(self, args: Any) -> Lane:
        """Who waits for a server keeps no core from those that compute. A way back is always a worker's."""
        remote = False
        if isinstance(args, Mapping) and "undo" not in args:
            spec = BUILTIN.get(str(args.get("processor") or ""))
            remote = spec is not None and spec.remote
        return Lane("remote", REMOTE_AT_ONCE) if remote else Lane("", self.width)

    async def run(self, request: Request, services: Services) -> Outcome:
        outcome = await self._outcome(request, services)
        if not isinstance(outcome, Failed):
            return outcome
        outcome = told(outcome)
        if isinstance(request.args, Mapping) and "undo" in request.args:  # F-X.8: it is logged, and the others go on
            stage, failure = str(request.args.get("stage"))[:50], outcome.failure
            _LOG.warning("«%s» of %s was not taken back: %s %s", stage, request.run, failure.code, failure.message)
        return outcome

    async def _outcome(self, request: Request, services: Services) -> Outcome:
        try:
            if isinstance(request.args, Mapping) and "undo" in request.args:
                return await _Attempt(request, services, self.workers).roll_back()
            return await _Attempt(request, services, self.workers).run()
        except ProcessorError as error:
            return failed(error.code, error.category, str(error), error.detail)
        except ObjectChanged as error:
            return failed("FILE_CHANGED", "validation", str(error))
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
        async with _work_folder(store) as folder:
            source = self.buckets[file.bucket]
            size = (await source.info(file.key, file.version_id)).size
            file = msgspec.structs.replace(file, size=size)
            self._check_size(file)
            wrong = self._invalid("input_validation", self._input_document(file))
            if wrong is not None:
                return wrong
            local = await source.local(file.key, folder, version=file.version_id, etag=file.etag)
            context = self._context(spec, file, local, folder)
            made, usage = await self._process(spec, context)
            if isinstance(made, Problem):
                return await self._problem(made, folder, store, usage)
            return await self._keep(made, file, folder, store, usage, began)

    def _check_size(self, file: StageFile) -> None:
        """F-1.1.10: of the file that is there, whatever its message has said."""
        most = _number(self.args.get("max_file_size"), 0)
        if most and file.size > most and file.bucket != ARTIFACTS:
            raise ProcessorError("FILE_TOO_LARGE", f"the file has {file.size} bytes; the pipeline takes at most {most}")

    async def roll_back(self) -> Outcome:
        """F-X.8: of a stage that was done; a processor without a way back has nothing to take back."""
        if not self.args.get("processor"):
            return Done(None)
        spec = self._spec()
        if spec.awaits:
            return Done({"stage": self.stage, "output": None})
        async with _work_folder(self.buckets.artifacts) as folder:
            file = input_file(self.args, self.request.tenant, self.buckets) or StageFile("", "")
            context = self._context(spec, file, folder / "none", folder)
            context = msgspec.structs.replace(context, result=self.request.result or self.args.get("undo"))
            made, usage = await self._in_worker(spec, context, rollback=True)
            if isinstance(made, Problem):
                return await self._problem(made, folder, self.buckets.artifacts, usage)
            return Done({"stage": self.stage, "output": json_output(made.output), "usage": usage})

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
        if is_lost(end, limits) and not self.workers.closed:
            why = f"the process of «{context.processor}» was killed or lost, {CLAIMS} times"
            return Problem("WORKER_LOST", "transient", why), usage
        return await in_thread(worker_result, end, context, limits), usage

    async def _until_answered(self, folder: Path, limits: WorkerLimits, warm: tuple[str, ...]) -> WorkerEnd:
        """F-X.3: a worker that somebody has killed is replaced, in the same attempt and a few times."""
        before = set(folder.iterdir())
        for claim in range(1, CLAIMS + 1):
            end = await self.workers.run(folder, limits, warm)
            if not is_lost(end, limits) or self.workers.closed or claim == CLAIMS:
                break
            await in_thread(_remove_all_but, folder, before)
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
        output, whole, wrong = await in_thread(self._checked, made.output)
        if wrong is not None:
            return wrong
        body: dict[str, Any] = {"stage": self.stage, "output": output}
        local, mime = await in_thread(made_file, made, folder), made.mime
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
        body |= {"extraction": extraction_of(made.extraction)} if made.extraction is not None else {}
        metrics = self._metrics(usage, output)
        body |= {"metrics": metrics} if metrics else {}
        return Done(body)

    def _checked(self, given: Any) -> tuple[Any, bytes, Failed | None]:
        """The output as JSON has it, the same in bytes, and what its validation has against it."""
        output = json_output(given)
        return output, msgspec.json.encode(output), self._invalid("output_validation", output)

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


@contextlib.asynccontextmanager
async def _work_folder(store: ObjectStore) -> AsyncIterator[Path]:
    """Gone when it is left, in a thread: a processor may have made ten thousand files."""
    folder = store.work_folder()
    try:
        yield folder
    finally:
        await in_thread(shutil.rmtree, folder, True)


def _remove_all_but(folder: Path, kept: set[Path]) -> None:
    for left in set(folder.iterdir()) - kept:
        shutil.rmtree(left, ignore_errors=True) if left.is_dir() else left.unlink(missing_ok=True)


def _number(value: Any, otherwise: int) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else otherwise


def _seconds(value: Any, otherwise: int) -> int:
    """Whole ones: processor time is limited by the second."""
    return math.ceil(value) if isinstance(value, float) and 0 < value < math.inf else _number(value, otherwise)


def _ms(began: float) -> int:
    return int((time.monotonic() - began) * 1000)
