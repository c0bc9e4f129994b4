"""Sessions against agents that abuse processes: each kind really happens, and no process is left afterwards.

`PENSTOCK_ABUSE_ROUNDS=10 pytest tests/executors/test_sessions_abuse.py` does each kind ten times.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from penstock.executors.parts.sessions import process_identity
from tests.executors.session_bench import SessionBench, until

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="process trees are told by /proc")

ROUNDS = int(os.environ.get("PENSTOCK_ABUSE_ROUNDS", "1"))
STUBBORN = {"ignore_term": True}
DAEMON = {"setsid": True, "double": True, "ignore_term": True}
HANG = {"hang": True}


@dataclass(frozen=True)
class Abuse:
    """`fires` is how often the agent must have counted what it does; `ends` is how the session may end."""

    name: str
    steps: list[dict[str, Any]]
    fires: dict[str, int]
    ends: tuple[str, ...]
    how: dict[str, Any] = field(default_factory=dict)
    then: Callable[[SessionBench], None] | None = None  # done from outside, when the abuse is on


def kill(*whom: str, number: signal.Signals = signal.SIGKILL) -> Callable[[SessionBench], None]:
    def do(bench: SessionBench) -> None:
        known = bench.supervisors()
        for name in whom:
            assert process_identity.send(known[name], number), f"{name} is not there to be signalled"

    return do


def stop(bench: SessionBench) -> None:
    bench.sessions.stop(bench.folder, "enough")


def fork(**how: Any) -> dict[str, Any]:
    return {"fork": how}


KINDS = [
    Abuse("ignores TERM", [{"ignore": ["TERM"]}, HANG], {"ignore": 1, "hang": 1}, ("stopped",), {}, stop),
    Abuse("is silent", [{"ignore": ["TERM"]}, fork(**DAEMON), HANG], {"hang": 1}, ("zombie",), {"heartbeat_s": 5.0}),
    Abuse("spins", [{"spin": True}], {"spin": 1}, ("stopped",), then=stop),
    Abuse("closes its outputs", [{"close": ["stdout", "stderr"]}, HANG], {"close": 1}, ("stopped",), {}, stop),
    Abuse("stops itself", [{"signal": {"whom": "self", "number": "STOP"}}], {"signal": 1}, ("stopped",), then=stop),
    Abuse("leaves a child", [fork()], {"fork": 1}, ("exited",)),
    Abuse("leaves a child that ignores TERM", [fork(**STUBBORN)], {"fork": 1}, ("exited",)),
    Abuse("leaves generations", [fork(children=2, depth=4, **STUBBORN)], {"fork": 8}, ("exited",)),
    Abuse("leaves a session leader", [fork(setsid=True)], {"fork": 1}, ("exited",)),
    Abuse("leaves what was forked twice", [fork(double=True, **STUBBORN)], {"fork": 1}, ("exited",)),
    Abuse("leaves a daemon", [fork(**DAEMON, quiet=True)], {"fork": 1}, ("exited",)),
    Abuse("leaves a daemon without its mark", [fork(**DAEMON, clear_env=True)], {"fork": 1}, ("exited",)),
    Abuse("leaves daemons of daemons", [fork(**DAEMON, depth=3, clear_env=True)], {"fork": 3}, ("exited",)),
    Abuse("leaves many", [fork(children=20, **STUBBORN)], {"fork": 20}, ("exited",)),
    Abuse("leaves some that spin", [fork(children=2, spin=True, **DAEMON)], {"fork": 2}, ("exited",)),
    Abuse("leaves dead children unreaped", [{"unreaped": 30}, fork(**STUBBORN)], {"unreaped": 1, "fork": 1},
          ("exited",)),
    Abuse("hangs with daemons", [fork(children=3, **DAEMON), HANG], {"fork": 3, "hang": 1}, ("stopped",), then=stop),
    Abuse("fork bomb", [{"bomb": 32}], {"bomb": 32}, ("stopped",), then=stop),
    Abuse("fork bomb, half of it orphans", [{"bomb": 32, "ends": True}], {"bomb": 32}, ("stopped", "exited"), {}, stop),
    Abuse("forks and ends, again and again", [{"comet": True}, {"sleep": 0.2}], {"comet": 1}, ("exited",)),
    Abuse("… and in a new session each time", [{"comet": {"setsid": True}}, {"sleep": 0.2}], {"comet": 1}, ("exited",)),
    Abuse("dies by KILL and leaves daemons", [fork(**DAEMON), {"die": "KILL"}], {"fork": 1, "die": 1}, ("signalled",)),
    Abuse("dies by SEGV and leaves generations", [fork(depth=3), {"die": "SEGV"}], {"fork": 3}, ("signalled",)),
    Abuse("kills its group but the daemon", [fork(**DAEMON), {"signal": {"whom": "group", "number": "KILL"}}],
          {"fork": 1, "signal": 1}, ("signalled",)),
    Abuse("kills its supervisor",
          [fork(**DAEMON, clear_env=True), {"signal": {"whom": "parent", "number": "KILL"}}, HANG],
          {"fork": 1, "signal": 1}, ("signalled",), {"writable": None}),
    Abuse("floods and never ends", [fork(**DAEMON), {"flood": 1 << 40}], {"fork": 1, "flood": 1}, ("stopped",),
          {"output_max": 1 << 20}, stop),
    Abuse("floods stderr and never ends", [{"flood": 1 << 40, "to": "stderr"}], {"flood": 1}, ("stopped",),
          {"output_max": 1 << 20}, stop),
    Abuse("is killed from outside", [fork(**DAEMON), HANG], {"fork": 1, "hang": 1}, ("signalled",), {}, kill("agent")),
    Abuse("its supervisor is killed", [fork(children=2, **DAEMON, clear_env=True), HANG], {"fork": 2, "hang": 1},
          ("signalled",), {}, kill("supervisor")),
    Abuse("its guard is killed", [fork(**DAEMON), {"wait_for": "go"}], {"fork": 1}, ("exited",), {},
          lambda bench: (kill("guard")(bench), (bench.work / "go").touch())[0]),
    Abuse("both supervisors are killed", [fork(children=2, **DAEMON), HANG], {"fork": 2, "hang": 1}, ("signalled",), {},
          kill("guard", "supervisor")),
    Abuse("its supervisor gets TERM", [fork(**DAEMON), HANG], {"fork": 1, "hang": 1}, ("stopped",), {},
          kill("supervisor", number=signal.SIGTERM)),
]  # fmt: skip


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_no_process_is_left_whatever_the_agent_does(kind: Abuse, tmp_path: Path) -> None:
    """T-8.2.3, T-8.2.4, T-8.2.5, T-X.3, T-X.19, T-X.22: TERM, then KILL, to all that the agent has started, and to
    nobody else; told by marks in /proc and by number and start time."""
    for round in range(ROUNDS):
        bench = SessionBench(tmp_path / str(round))
        try:
            asyncio.run(_check_abuse(bench, kind))
        finally:
            bench.sessions.stop(bench.folder, "the test is over")  # a test that failed leaves nobody, either


async def _check_abuse(bench: SessionBench, kind: Abuse) -> None:
    scenario = {"steps": kind.steps, "count": str(bench.count)}
    running = asyncio.create_task(bench.run(scenario, **kind.how))
    if kind.then is not None:
        await until(lambda: (_fired(bench, kind) and len(bench.supervisors()) == 3) or running.done())
        kind.then(bench)
    end = await running
    assert _fired(bench, kind), f"it did not happen: {bench.counted()}"
    assert end.kind in kind.ends, end
    assert not end.kill_failed
    assert bench.left() == []


def _fired(bench: SessionBench, kind: Abuse) -> bool:
    counted = [what for what, _ in bench.counted()]
    return all(counted.count(what) >= times for what, times in kind.fires.items())
