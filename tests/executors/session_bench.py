"""What tests of sessions share: the scripted agent in a folder of its own, and who is left of a session."""

from __future__ import annotations

import asyncio
import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from penstock.executors.parts.sessions import process_identity, process_tree, session_files
from penstock.executors.parts.sessions.process_identity import Identity
from penstock.executors.parts.sessions.session import SessionEnd, SessionSpec, session_mark
from penstock.executors.parts.sessions.sessions import Sessions
from tests.servers.processes import mark

AGENT = Path(__file__).with_name("scripted_agent.py")
PATIENCE_S = 120.0  # only a hang takes that long


def agent_command(scenario: Any) -> list[str]:
    return [sys.executable, "-S", str(AGENT), json.dumps(scenario)]


class SessionBench:
    """`work` is where the agent works, and all that it may write to."""

    def __init__(self, home: Path, name: str = "s1") -> None:
        self.home, self.folder, self.work = home, home / "sessions" / name, home / "work"
        self.work.mkdir(parents=True, exist_ok=True)
        self.sessions = Sessions(environment=mark())
        self.pieces: list[bytes] = []
        self.count = self.work / "count.txt"

    @property
    def output(self) -> bytes:
        return b"".join(self.pieces)

    def spec(self, scenario: Any, **how: Any) -> SessionSpec:
        env = {"PATH": os.environ["PATH"]} | mark() | how.pop("env", {})
        given: dict[str, Any] = {
            "command": agent_command(scenario), "folder": self.folder, "cwd": self.work, "env": env,
            "writable": [self.work], "timeout_s": PATIENCE_S, "heartbeat_s": None, "term_s": 0.3, "kill_s": 30.0,
        }  # fmt: skip
        return SessionSpec(**given | how)

    async def run(self, scenario: Any, **how: Any) -> SessionEnd:
        return await self.sessions.run(self.spec(scenario, **how), self.pieces.append)

    def run_now(self, scenario: Any, **how: Any) -> SessionEnd:
        return asyncio.run(self.run(scenario, **how))

    def counted(self) -> list[tuple[str, Identity]]:
        """What the scripted agent said that it has done, and by which process. The last line may be half written."""
        if not self.count.exists():
            return []
        lines = [line.split() for line in self.count.read_text().splitlines(keepends=True) if line.endswith("\n")]
        return [(what, Identity(int(pid), int(start), process_identity.boot_id())) for what, pid, start in lines]

    def left(self) -> list[int]:
        """Processes of the session that live: marked, counted, or its supervisors."""
        marked = [stat.pid for stat in process_tree.marked(session_mark(self.folder))]
        known = [identity for _, identity in self.counted()] + list(self.supervisors().values())
        return marked + [identity.pid for identity in known if process_identity.is_alive(identity)]

    def supervisors(self) -> dict[str, Identity]:
        claim = session_files.read(self.folder / session_files.CLAIM) or {}
        state = session_files.read(self.folder / session_files.STATE) or {}
        found = {"guard": claim.get("guard"), "supervisor": state.get("supervisor"), "agent": state.get("agent")}
        return {name: Identity.read(value) for name, value in found.items() if value}

    def signals(self) -> list[dict[str, Any]]:
        path = self.folder / session_files.SIGNALS
        return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []

    def recorded(self) -> list[int]:
        state = session_files.read(self.folder / session_files.STATE) or {}
        return [process["pid"] for process in state.get("tree", [])]


async def until(holds: Callable[[], Any]) -> None:
    ends = time.monotonic() + PATIENCE_S
    while not holds():
        assert time.monotonic() < ends, "what was waited for did not come"
        await asyncio.sleep(0.01)
