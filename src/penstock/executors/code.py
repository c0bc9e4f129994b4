"""code: a script in a sandbox (a diagram's code_job).

The script runs in an interpreter of its own (pydantic-monty, extra `script`) that has no files, no network, no
environment, a frozen clock and a seeded random, in a process of its own that is thrown away afterwards. The interpreter
holds the limits, the pool kills a process that outlives them, and the system's own limits hold even if we die.
"""

from __future__ import annotations

import ast
import atexit
import contextlib
import datetime
import math
import os
import re
import signal
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from penstock.executors.contract import Done, Outcome, Request, Services, failed
from penstock.executors.parts.extras import extra_missing
from penstock.executors.parts.json_values import NotJson, json_value
from penstock.executors.parts.templates import TemplateError, render_tree
from penstock.executors.parts.threads import in_thread
from penstock.executors.parts.variables import given_names

TIMEOUT_MS, TIMEOUT_MAX_MS = 5_000, 30_000  # P-X.17: a process lets a script run for 30 s
#: A script that runs longer gets its processor time lent, a little at a time, so that none outlives a killed worker by
#: 10 s however long it may run.
_LENT_S, _LENDING_S = 3.0, 0.5
MEMORY_BYTES = 64 * 1024 * 1024
RECURSION = 500
SOURCE_MAX = 64 * 1024
PRINTED_MAX = 64 * 1024
_GRACE_S = 0.25
_NICE = 10
_FROZEN = datetime.datetime(2000, 1, 1, tzinfo=datetime.UTC)
_NAME = re.compile(r"[^\W\d]\w*\Z")
_SETS_RESULT = re.compile(r"(?m)^\s*result\s*(?::[^=\n]+)?[-+*/%|&]?=(?!=)")


class BadScript(ValueError):
    """A script that is not run; the text says why."""


class CodeExecutor:
    """args: language (python), code, function (call it with the inputs that it names), timeout (s), inputs (by name),
    keep (variables that are given back, too).

    Inputs are variables. The result is what `return` or the last line yields, or the variable `result` if the script
    sets it; with `keep` it is an object: `result`, and `variables` that the script has left. `inputs`, `input_data` and
    `node_id` are all inputs by name, the first one, and the node, where the script reads them. Settings:
    `code.timeout_ms`, `code.max_ms` (what a document may ask for at most), `code.memory_bytes`.
    """

    name = "code"
    #: scripts need a processor each: more at once only stand in each other's way, and in the engine's
    width = 1 + max(2, os.cpu_count() or 2)

    def __init__(self) -> None:
        self._pool: Any = None
        self._lock = threading.Lock()

    async def run(self, request: Request, services: Services) -> Outcome:
        args: Mapping[str, Any] = request.args if isinstance(request.args, Mapping) else {}
        language = str(args.get("language") or "python")
        if language != "python":
            message = f"A script in {language[:20]} is not run; only python has a sandbox."
            return failed("CODE_LANGUAGE", "validation", message)
        try:
            import pydantic_monty  # noqa: F401
        except ImportError:
            return extra_missing("A script needs", "script")
        try:
            source, inputs = _script(args, request)
        except (BadScript, TemplateError) as error:
            return failed("CODE_ERROR", "validation", str(error))
        job = _Job(source, inputs, _seconds(args, request, services), services, _kept(args))
        try:
            return await in_thread(job.run, self._workers())
        finally:
            job.stop()

    def close(self) -> None:
        with self._lock:
            pool, self._pool = self._pool, None
        if pool is not None:
            atexit.unregister(self.close)
            pool.__exit__(None, None, None)

    def _workers(self) -> Any:
        # The sync pool in threads, not the async one: that leaves a runtime behind which now and then aborts the
        # process when Python ends.
        from pydantic_monty import Monty

        with self._lock:
            if self._pool is None:
                self._pool = Monty(
                    min_processes=1,
                    max_processes=max(2, os.cpu_count() or 2),
                    max_checkouts_per_worker=1,
                    feed_duration_limit_grace=_GRACE_S,
                ).__enter__()
                atexit.register(self.close)
            return self._pool


class _Job:
    """One script in one process."""

    def __init__(
        self, source: str, inputs: dict[str, Any], seconds: float, services: Services, keep: list[str] | None = None
    ) -> None:
        self.source, self.inputs, self.seconds, self.keep = source, inputs, seconds, keep
        self.memory = int(services.settings.get("code.memory_bytes") or MEMORY_BYTES)
        self._lock = threading.Lock()
        self._pid: int | None = None
        self._stopped = False
        self._over = threading.Event()

    def stop(self) -> None:
        """Nobody waits any more: end the process if the script still runs."""
        with self._lock:
            self._stopped = True
            if self._pid is not None:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(self._pid, signal.SIGKILL)

    def run(self, pool: Any) -> Outcome:
        from pydantic_monty import CollectString, MontyCrashedError, MontyError

        printed = CollectString(max_bytes=PRINTED_MAX)
        limits = {
            "max_feed_duration_secs": self.seconds,
            "max_memory": self.memory,
            "max_recursion_depth": RECURSION,
            "max_total_sleep_secs": 0.0,
        }
        policy = {"datetime": _FROZEN, "sleep": "zero", "random_start": {"seed": 0}}
        try:
            with pool.checkout(script_name="code", limits=limits, os_policy=policy) as session:
                with self._lock:
                    if self._stopped:
                        return failed("CODE_STOPPED", "transient", "The script was stopped before it began.")
                    self._pid = session.worker_pid
                try:
                    _limit_process(self._pid, self.seconds, self.memory)
                    self._lend()
                    value = session.feed_run(self.source, inputs=self.inputs, print_callback=printed)
                    if _SETS_RESULT.search(self.source):
                        with contextlib.suppress(MontyError):  # set inside a function only: the last line counts
                            value = session.feed_run("result")
                    if self.keep is not None:
                        value = {"result": value, "variables": self._left(session)}
                finally:
                    self._over.set()
                    with self._lock:
                        self._pid = None
            text = printed.output
            return Done(json_value(value), {"printed": text} if text else None)
        except MontyCrashedError as error:
            return self._worker_died(error)
        except MontyError as error:
            return self._script_failed(error)
        except NotJson as error:
            return failed("CODE_RESULT", "permanent", f"The script's result is no value that JSON can hold: {error}.")
        except (ValueError, OverflowError, RecursionError) as error:
            return failed("CODE_RESULT", "permanent", f"The script's result cannot be read: {str(error)[:200]}.")

    def _left(self, session: Any) -> dict[str, Any]:
        """The variables that are asked for; one that is not set, or that JSON cannot hold, is left out."""
        from pydantic_monty import MontyError

        left = {}
        for name in self.keep or ():
            with contextlib.suppress(MontyError, NotJson):
                left[name] = json_value(session.feed_run(name))
        return left

    def _lend(self) -> None:
        """While we live, the process has some seconds of processor time left. A thread, since the loop may be busy."""
        pid = self._pid
        if pid is None or self.seconds <= _LENT_S:
            return

        def lending() -> None:
            while not self._over.wait(_LENDING_S):
                with self._lock:
                    if self._pid == pid:
                        _extend_cpu_limit(pid, self.seconds)

        _extend_cpu_limit(pid, self.seconds)
        threading.Thread(target=lending, name="penstock-lending", daemon=True).start()

    def _worker_died(self, error: Any) -> Outcome:
        if error.timed_out or self._stopped:
            return self._timed_out()
        return failed("CODE_MEMORY", "resource", "The script's process died; most likely it used too much memory.")

    def _timed_out(self) -> Outcome:
        return failed("CODE_TIMEOUT", "timeout", f"The script ran longer than {self.seconds:g} s.")

    def _script_failed(self, error: Any) -> Outcome:
        inner = error.exception()
        frames = error.traceback() if hasattr(error, "traceback") else []
        line = frames[-1].line if frames else None
        if isinstance(inner, TimeoutError) and "limit exceeded" in str(error):
            return self._timed_out()
        if isinstance(inner, MemoryError):
            return failed("CODE_MEMORY", "resource", f"The script used more than {self.memory} bytes.", {"line": line})
        reason = f"{type(inner).__name__}: {str(inner)[:500]}" if str(inner) else type(inner).__name__
        where = f" (line {line})" if line else ""
        return failed("CODE_ERROR", "permanent", f"{reason}{where}", {"error": type(inner).__name__, "line": line})


def _seconds(args: Mapping[str, Any], request: Request, services: Services) -> float:
    settings = services.settings
    asked = args.get("timeout")
    usual = int(settings.get("code.timeout_ms") or TIMEOUT_MS)
    wanted = int(asked * 1000) if isinstance(asked, int | float) and asked > 0 else request.timeout_ms or usual
    most = int(settings.get("code.max_ms") or TIMEOUT_MAX_MS)
    return max(1, min(wanted, request.timeout_ms or wanted, most)) / 1000


def _script(args: Mapping[str, Any], request: Request) -> tuple[str, dict[str, Any]]:
    source = args.get("code")
    if not isinstance(source, str) or not source.strip():
        raise BadScript("«code» must be a text")
    if len(source) > SOURCE_MAX:
        raise BadScript(f"the script is longer than {SOURCE_MAX} characters")
    given = args.get("inputs")
    if args.get("render"):
        given = render_tree(given, given_names(request))
    named = {**(given if isinstance(given, Mapping) else {}), **given_names(request)}
    inputs = {name: value for name, value in named.items() if _NAME.match(name)}
    inputs |= {name: value for name, value in _usual(source, named, request).items() if name not in inputs}
    function = args.get("function")
    if function:
        source = f"{source}\n{function}({', '.join(_call_arguments(source, str(function), inputs))})"
    return source, inputs


def _usual(source: str, named: dict[str, Any], request: Request) -> dict[str, Any]:
    """What scripts of the public form expect to be there; given only to those that name it."""
    usual = {"inputs": dict(named), "input_data": named.get("default"),
             "node_id": request.node}  # fmt: skip
    return {name: value for name, value in usual.items() if re.search(rf"\b{name}\b", source)}


def _kept(args: Mapping[str, Any]) -> list[str] | None:
    keep = args.get("keep")
    if not isinstance(keep, list | tuple):
        return None
    return [name for name in keep if isinstance(name, str) and _NAME.match(name)]


def _call_arguments(source: str, function: str, inputs: Mapping[str, Any]) -> list[str]:
    """The arguments of a call: every parameter for which there is an input. The source is only read here, never run."""
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise BadScript(f"the script cannot be read: {str(error)[:200]}") from None
    for node in tree.body:
        if isinstance(node, ast.FunctionDef) and node.name == function:
            given = [argument.arg for argument in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)]
            if len(given) == 1 and given[0] not in inputs and "default" in inputs:
                return ["default"]
            names = [name for name in inputs if name in given or (node.args.kwarg and name != "default")]
            return [f"{name}={name}" for name in names]
    raise BadScript(f"the script has no function «{function[:60]}»")


def _limit_process(pid: int | None, seconds: float, memory: int) -> None:
    """The system's limits, for the case that nobody is left to kill the process."""
    with contextlib.suppress(ImportError, AttributeError, OSError, ValueError):
        import resource

        if pid is not None:
            cpu = _most_cpu(seconds)
            resource.prlimit(pid, resource.RLIMIT_CPU, (cpu, cpu))
            space = memory + 512 * 1024 * 1024
            resource.prlimit(pid, resource.RLIMIT_AS, (space, space))
            os.setpriority(os.PRIO_PROCESS, pid, _NICE)  # the engine goes first
            resource.prlimit(pid, resource.RLIMIT_CORE, (0, 0))


def _most_cpu(seconds: float) -> int:
    return math.ceil(seconds + _GRACE_S) + 1


def _extend_cpu_limit(pid: int, seconds: float) -> None:
    """The soft limit only: going over it ends the process, and we may raise it up to the hard one."""
    with contextlib.suppress(ImportError, AttributeError, OSError, ValueError, IndexError):
        import resource

        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        used = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
        most = _most_cpu(seconds)
        resource.prlimit(pid, resource.RLIMIT_CPU, (min(most, math.ceil(used + _LENT_S)), most))
