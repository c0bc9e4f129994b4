"""Programs that a processor starts: without a shell, in the worker's process group, under its limits."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Sequence

from penstock.executors.processors.contract import ProcessorError

_ERROR_MAX = 1000


def find_program(processor: str, name: str, how: str) -> str:
    """Its path. Raises ProcessorError, with `how` to get it."""
    path = shutil.which(name)
    if path is None:
        why = f"{processor} needs the program «{name}», which is not installed here; {how}"
        raise ProcessorError("PROGRAM_MISSING", why, "permanent", {"program": name})
    return path


def run_program(line: Sequence[str], most: int) -> bytes:
    """What it prints; at most so many bytes. Raises ProcessorError."""
    kept = ("PATH", "LANG", "TMPDIR", "TESSDATA_PREFIX", "LD_LIBRARY_PATH")
    environment = {name: os.environ[name] for name in kept if name in os.environ} | {"OMP_THREAD_LIMIT": "1"}
    with subprocess.Popen(
        list(line), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment
    ) as program:
        try:
            printed, errors = program.communicate()
        except BaseException:
            program.kill()
            raise
    if program.returncode:
        said = errors[-_ERROR_MAX:].decode(errors="replace").strip()
        detail = {"status": program.returncode}
        raise ProcessorError(
            "PROGRAM_FAILED", f"the program ended with {program.returncode}: {said}", "external", detail
        )
    if len(printed) > most:
        raise ProcessorError("RESOURCE_LIMIT", f"the program printed more than {most} bytes", "resource")
    return printed
