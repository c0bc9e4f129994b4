"""pm4py in a process of its own: its inductive miner, its token replay and its alignments, each with a time limit.

pm4py is AGPL and comes with the extra `mining` only, never with `all`. Nothing of it is imported here: the process is
given the log as a file and answers JSON; one that takes too long is ended. What Penstock itself needs (`discover_tree`,
`conformance`) does not need it; it is a second opinion.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

import msgspec

from penstock.errors import ExtraMissing, MinerFailed
from penstock.mining.block_tree import ProcessTree

#: Seconds for one question, where whoever asks says nothing; beginning pm4py takes some of them.
LIMIT_S = 60.0
#: Seconds that an alignment of one variant may take.
ALIGNMENT_S = 5.0
_WORKER = Path(__file__).with_name("pm4py_worker.py")

Method = Literal["token", "alignments"]


class SecondOpinion(msgspec.Struct, frozen=True):
    """`costs`: by variant, in their order, how many deviations its best alignment has; None where the search was ended
    before one was found. Token replay gives 0 for what fits and None else. `bounded`: so many variants have no answer
    because their time was over; then `fitness` is of the others."""

    fitness: float
    precision: float
    costs: tuple[int | None, ...]
    bounded: int
    version: str


def discover_with_pm4py(
    variants: Mapping[tuple[str, ...], int],
    noise: float = 0.0,
    *,
    limit_s: float = LIMIT_S,
    python: str = sys.executable,
) -> ProcessTree:
    """The tree of pm4py's inductive miner. Raises ExtraMissing, and MinerFailed where it takes longer or fails."""
    answer = _asked({"ask": "tree", "noise": noise}, variants, limit_s, python)
    return msgspec.convert(answer["tree"], ProcessTree)


def check_with_pm4py(
    bpmn: str, variants: Mapping[tuple[str, ...], int], method: Method = "alignments", *, limit_s: float = LIMIT_S,
    alignment_s: float = ALIGNMENT_S, python: str = sys.executable,
) -> SecondOpinion:  # fmt: skip
    """What pm4py says of cases and a BPMN file. Raises ExtraMissing, and MinerFailed where it takes longer or fails."""
    answer = _asked({"ask": method, "bpmn": bpmn, "alignment_s": alignment_s}, variants, limit_s, python)
    return msgspec.convert(answer, SecondOpinion)


def _asked(
    question: dict[str, Any], variants: Mapping[tuple[str, ...], int], limit_s: float, python: str
) -> dict[str, Any]:  # fmt: skip
    with tempfile.TemporaryDirectory(prefix="penstock-pm4py-") as folder:
        log = Path(folder) / "log.json"
        log.write_text(json.dumps([[list(case), cases] for case, cases in variants.items()]), encoding="utf-8")
        answer = _run(json.dumps({**question, "log": str(log), "folder": folder}), limit_s, python)
    if answer.get("missing"):
        raise ExtraMissing(extra="mining")
    if "error" in answer:
        raise MinerFailed(why=str(answer["error"]))
    return answer


def _run(question: str, limit_s: float, python: str) -> dict[str, Any]:
    try:
        process = subprocess.Popen(
            [python, "-I", str(_WORKER)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
            text=True, encoding="utf-8", start_new_session=True,
        )  # fmt: skip
    except OSError as error:
        raise MinerFailed(why=f"«{python}» cannot be begun: {error.strerror}") from None
    try:
        told, _ = process.communicate(question, timeout=limit_s)
    except subprocess.TimeoutExpired:
        raise MinerFailed(why=f"it took longer than {limit_s:g} s and was ended") from None
    finally:
        _end(process)
    try:
        answer = json.loads(told)
    except ValueError:
        raise MinerFailed(why=f"its process ended with {process.returncode}") from None
    return dict(answer)


def _end(process: subprocess.Popen[str]) -> None:
    """With everything that it has begun."""
    if process.poll() is None:
        if hasattr(os, "killpg"):
            os.killpg(process.pid, signal.SIGKILL)
        else:
            process.kill()
        process.communicate()
