"""Many virtual runs: here, or in several processes where there are many. The same seed gives the same runs anywhere."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import msgspec

from penstock.app.simulation.figures.tally import Tally
from penstock.app.simulation.virtual.answers import RecordedAnswers
from penstock.app.simulation.virtual.assumptions import seeded
from penstock.app.simulation.virtual.called_nets import CalledNet, ready
from penstock.app.simulation.virtual.compared_values import compared_values
from penstock.app.simulation.virtual.history import History
from penstock.app.simulation.virtual.virtual_run import VirtualRun
from penstock.kernel.run import Run
from penstock.kernel.state import decode_state
from penstock.net import codec
from penstock.net.compiled import Compiled

#: from so many runs on other processes are worth their start
WORTH_PROCESSES = 3_000
_MOST_PROCESSES = 8
_TIMEOUT_S = 900
_pack = msgspec.msgpack.Encoder().encode


class Share(msgspec.Struct, kw_only=True):
    """Runs `first` to `first + count - 1` of a simulation. `net` is encoded; with a `state` they go on from there."""

    net: bytes
    history: History
    given: dict[str, Any]
    inputs: list[Any]
    options: dict[str, Any]
    seed: int
    now: int
    first: int
    count: int
    state: bytes | None = None
    called: dict[str, CalledNet] = {}


def run_share(share: Share, resolve: Callable[[Any], Any] | None = None) -> Tally:
    """Each run draws from a seed of its own, made of the simulation's seed and its number. `resolve` gives values that
    the state keeps by reference."""
    net = Compiled(codec.decode(share.net))
    compared, tally, called = compared_values(net), Tally(), ready(share.called)
    for number in range(share.first, share.first + share.count):
        draw = seeded(f"{share.seed}:{number}")
        answers = RecordedAnswers(net, draw, share.history, share.given, compared, called=called)
        if share.state is not None:
            run = Run.load(net, decode_state(share.state))
            if resolve is not None:
                run.resolve_blob = resolve
            virtual = VirtualRun(net, answers, share.now, run)
            virtual.go_on()
        else:
            virtual = VirtualRun(net, answers, share.now)
            virtual.start(draw.choice(share.inputs) if share.inputs else {}, share.options)
        tally.add(net, virtual, answers)
    return tally


def run_all(share: Share, processes: int | None = None, resolve: Callable[[Any], Any] | None = None) -> Tally:
    """All runs of a simulation. `processes`: how many may work at it; None: as many as are worth it. Values that only
    a store has are resolved in this process."""
    most = processes if processes is not None else _worthwhile(share.count)
    if most <= 1 or resolve is not None:
        return run_share(share, resolve)
    tally = Tally()
    shares = [msgspec.structs.replace(share, first=first, count=count) for first, count in _split(share, most)]
    with ThreadPoolExecutor(len(shares)) as pool:
        for part in pool.map(_in_process, shares):
            tally.merge(part)
    return tally


def _worthwhile(count: int) -> int:
    if count < WORTH_PROCESSES:
        return 1
    return min(len(os.sched_getaffinity(0)), _MOST_PROCESSES, count // (WORTH_PROCESSES // 2))


def _split(share: Share, parts: int) -> list[tuple[int, int]]:
    whole, left = divmod(share.count, parts)
    first, spans = share.first, list[tuple[int, int]]()
    for i in range(parts):
        count = whole + (i < left)
        if count:
            spans.append((first, count))
        first += count
    return spans


def _in_process(share: Share) -> Tally:
    """A process of its own, for one core does one thing at a time. One that cannot be had is done without."""
    try:
        answered = subprocess.run(
            [sys.executable, "-c", f"from {__name__} import main; main()"], input=_pack(share),
            stdout=subprocess.PIPE, check=True, timeout=_TIMEOUT_S, env=_environment(os.environ),
        )  # fmt: skip
        return msgspec.msgpack.decode(answered.stdout, type=Tally)
    except (OSError, subprocess.SubprocessError, msgspec.DecodeError):
        return run_share(share)


def _environment(given: Mapping[str, str]) -> dict[str, str]:
    """Where Python finds its modules, and nothing else of the surroundings: a virtual run needs no secret."""
    kept = ("PATH", "PYTHONPATH", "HOME", "LANG", "LC_ALL", "VIRTUAL_ENV", "PYTEST_PENSTOCK_RUN")
    return {name: given[name] for name in kept if name in given}


def main() -> None:
    share = msgspec.msgpack.decode(sys.stdin.buffer.read(), type=Share)
    sys.stdout.buffer.write(_pack(run_share(share)))
