"""Runs an agent and watches it to its end: output, heartbeat, time, requests to stop; then ends all that is left.

Part of the supervisor: standard library only.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import time
from pathlib import Path
from typing import Any

from penstock.executors.parts.sessions import process_tree, session_files
from penstock.executors.parts.sessions.agent_start import Started, start_agent
from penstock.executors.parts.sessions.output_file import OutputFile
from penstock.executors.parts.sessions.process_identity import Identity, identity_of, started_at_ms, stat_of
from penstock.executors.parts.sessions.process_tree import SignalLog

_TICK_S = 0.25  # how often it looks for a stop file, a touched heartbeat
_RECORD_S = 1.0  # how often it writes down who belongs to the agent
_SAVE_S = 0.5
_LEFT_OVER_S = 1.0  # what a finished agent leaves behind gets this long to end by itself
_RECORDED_MAX = 200
STOPPING = (signal.SIGTERM, signal.SIGINT)


class AgentRun:
    def __init__(self, folder: Path, given: dict[str, Any], umask: int) -> None:
        self.folder, self.given, self.umask = folder, given, umask
        self.log = SignalLog(folder / session_files.SIGNALS)
        most = int(given["output_max"])
        self.outputs = (OutputFile(folder / session_files.OUT, most), OutputFile(folder / session_files.ERR, most))
        self.heartbeat_file = folder / session_files.TEMPORARY / session_files.HEARTBEAT
        self.touched = dict.fromkeys((self.heartbeat_file, folder / session_files.BEAT), 0)
        self.began = self.heard = time.monotonic()
        self.began_at = self.heard_at = now_ms()
        self.agent = Identity(0, 0, "")
        self.landlock = False
        self.status: tuple[int | None, int | None] | None = None  # exit code, signal: when the agent itself has ended
        self.phase = "running"  # then term, kill, over
        self.until = 0.0  # when the phase ends
        self.ended_by = ""  # timeout, zombie, stopped
        self.why = ""
        self.asked = ""  # by a signal to this process
        self.waited_for = False  # from then on its number may be another's
        self.kill_failed = False
        self.diagnostics: dict[str, Any] = {}
        self.saved = self.recorded = 0.0
        self.tree: list[Identity] = []
        self.cpu_ms = 0  # of the agent, when it was last heard of

    def run(self) -> None:
        self._listen()
        if self._stop_asked():
            self._write_exit("stopped", None, None)
            return
        started = self._start()
        if started.error:
            code = None if started.cwd_missing else 127
            self.why = started.error
            self._write_exit("exited", code, None, not_found=started.not_found, cwd_missing=started.cwd_missing)
            return
        self._save()
        while self.phase != "over":
            self._wait()
            self._take_output()
            self._reap()
            self._step(time.monotonic())
        for output in self.outputs:
            output.finish()
        code, number = self.status or (None, None)
        self._write_exit(self.ended_by or ("exited" if number is None else "signalled"), code, number)

    # Starting

    def _listen(self) -> None:
        reader, writer = os.pipe()
        os.set_blocking(reader, False)
        os.set_blocking(writer, False)
        signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
        self.woken = reader
        signal.signal(signal.SIGCHLD, lambda number, frame: None)
        for number in STOPPING:
            signal.signal(number, self._asked_by_signal)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, STOPPING)
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
        self.poll = select.poll()
        for descriptor in (reader, *(output.reader for output in self.outputs)):
            self.poll.register(descriptor, select.POLLIN)

    def _asked_by_signal(self, number: int, frame: object) -> None:
        self.asked = self.asked or f"{signal.Signals(number).name} to the supervisor"

    def _start(self) -> Started:
        given, temporary = self.given, self.heartbeat_file.parent
        temporary.mkdir(mode=0o700, exist_ok=True)
        env: dict[str, str] = dict(given["env"])
        env[process_tree.MARK] = given["mark"]
        env["PENSTOCK_HEARTBEAT"] = str(self.heartbeat_file)
        env["TMPDIR"] = str(temporary)
        writable = None if given["writable"] is None else [*given["writable"], str(temporary)]
        out, err = self.outputs
        prompt = str(self.folder / session_files.PROMPT)
        self.began = self.heard = time.monotonic()
        self.began_at = self.heard_at = now_ms()
        started = start_agent(
            list(given["command"]), env, given["cwd"], prompt, (out.writer, err.writer), writable, self.umask
        )
        for output in self.outputs:
            output.close_writer()
        self.agent, self.landlock = identity_of(started.pid), started.landlock
        given.pop("env")  # nobody needs it any more
        return started

    # Watching

    def _wait(self) -> None:
        now = time.monotonic()
        wait = {"running": _TICK_S, "term": 0.05}.get(self.phase, 0.01)
        if self.phase == "running" and (timeout := self.given["timeout_s"]) is not None:
            wait = min(wait, self.began + timeout - now)
        with contextlib.suppress(InterruptedError):
            self.poll.poll(max(0.0, wait) * 1000 + 1)
        with contextlib.suppress(BlockingIOError):
            os.read(self.woken, 4096)

    def _take_output(self) -> None:
        """Some of it at a time: a flood must not keep us from looking at the clock."""
        for output in self.outputs:
            for _ in range(16):
                if not output.open or not output.take():
                    break
                self._hear()
            if not output.open and output.reader >= 0:
                self.poll.unregister(output.reader)
                output.reader = -1

    def _hear(self) -> None:
        self.heard, self.heard_at = time.monotonic(), now_ms()

    def _reap(self) -> None:
        """The agent is not waited for before the end: so long nobody else can have its number, or its group's."""
        if self.status is None and not hasattr(os, "waitid"):  # macOS, where there are no lists of processes, either
            pid, status = os.waitpid(self.agent.pid, os.WNOHANG)
            if pid:
                self._signal_group(signal.SIGKILL)
                self.waited_for, code = True, os.waitstatus_to_exitcode(status)
                self.status = (code, None) if code >= 0 else (None, -code)
        elif self.status is None:
            ended = os.waitid(os.P_PID, self.agent.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
            if ended is not None:
                exited = ended.si_code == os.CLD_EXITED
                self.status = (ended.si_status, None) if exited else (None, ended.si_status)
        for child in process_tree.children_of(os.getpid()):
            if child != self.agent.pid:
                process_tree.reap(child)

    def _step(self, now: float) -> None:
        if self.phase == "running":
            self._look(now)
        elif self._nobody_left():
            self.phase = "over"
        elif self.phase == "term" and now >= self.until:
            waited = round(now - self.term_sent, 1)
            self.log.add({"waited_s": waited, "for": "SIGTERM", "why": self.ended_by or "left over"})
            self.phase, self.until = "kill", now + float(self.given["kill_s"])
            self._kill()
        elif self.phase == "term" and self.status is not None:
            self.until = min(self.until, now + _LEFT_OVER_S)
        elif self.phase == "kill" and now >= self.until:
            self.kill_failed, self.phase = True, "over"  # T-X.22: it goes on all the same
        elif self.phase == "kill":
            self._kill()

    def _look(self, now: float) -> None:
        if self.status is not None:
            self.phase = "over" if self._nobody_left() else "term"
            if self.phase == "term":
                self._terminate(now, "left over", min(float(self.given["term_s"]), _LEFT_OVER_S))
        elif self._stop_asked():
            self._end(now, "stopped")
        elif (timeout := self.given["timeout_s"]) is not None and now - self.began >= timeout:
            self.why = f"it took more than {timeout:g} s"
            self._end(now, "timeout")
        else:
            self._look_at_heartbeat(now)
        if self.phase == "running":
            self._record(now)

    def _stop_asked(self) -> bool:
        if self.asked:
            self.why = self.asked
        with contextlib.suppress(OSError):
            self.why = (self.folder / session_files.STOP).read_text(errors="replace") or "stop"
        return bool(self.why)

    def _look_at_heartbeat(self, now: float) -> None:
        """T-8.2.1, T-X.7: any byte on either output, or a heartbeat file was touched, by the agent or by the engine."""
        for file, known in self.touched.items():
            with contextlib.suppress(OSError):
                self.touched[file] = file.stat().st_mtime_ns
            if self.touched[file] != known:
                self._hear()
        most = self.given["heartbeat_s"]
        if most is not None and now - self.heard >= most:
            self._verify()
            self.why = f"no heartbeat for {most:g} s"
            self._end(now, "zombie")

    def _verify(self) -> None:
        """T-8.2.2: does it exist, and what does it do?"""
        agent = stat_of(self.agent.pid)
        self.diagnostics["silent_s"] = round(time.monotonic() - self.heard, 1)
        self.diagnostics["exists"] = agent is not None
        if agent is not None:
            self.diagnostics["cpu_ms_since_heartbeat"] = agent.cpu_ms - self.cpu_ms
        self.diagnostics["processes"] = process_tree.usage_of(process_tree.descendants_of(os.getpid()))

    def _record(self, now: float) -> None:
        """Writes down when it was heard of and who belongs to it, for engines that come later."""
        if now - self.recorded >= _RECORD_S:
            self.recorded = now
            stats = process_tree.descendants_of(os.getpid())
            tree = [stat.identity for stat in stats[:_RECORDED_MAX]]
            if self.heard >= now - _RECORD_S:
                self.cpu_ms = next((stat.cpu_ms for stat in stats if stat.pid == self.agent.pid), 0)
            if tree != self.tree:
                self.tree = tree
                self._save()
        if self.heard > self.saved and now - self.saved >= _SAVE_S:
            self._save()

    # Ending

    def _end(self, now: float, by: str) -> None:
        self.ended_by, self.phase = by, "term"
        self._terminate(now, by, float(self.given["term_s"]))

    def _terminate(self, now: float, why: str, seconds: float) -> None:
        """T-8.2.3. One that was stopped (SIGSTOP) hears nothing before it goes on."""
        self.term_sent, self.until = now, now + seconds
        self._signal(signal.SIGTERM, why)
        stopped = [stat for stat in process_tree.descendants_of(os.getpid()) if stat.state == "T"]
        process_tree.signal_all(signal.SIGCONT, why, stopped, self.log)

    def _kill(self) -> None:
        """T-8.2.4; again and again, because new ones may be forked meanwhile."""
        self._signal(signal.SIGKILL, self.ended_by or "left over")
        process_tree.kill_children(keep=self.agent.pid)

    def _signal(self, number: signal.Signals, why: str) -> None:
        """The agent's group at one stroke, then everybody below us or marked who has left that group."""
        if self._signal_group(number):
            self.log.sent(number, self.agent, why, group=True)
        found = {stat.pid: stat for stat in process_tree.descendants_of(os.getpid())}
        found |= {stat.pid: stat for stat in process_tree.marked(self.given["mark"])}
        others = [stat for stat in found.values() if self.waited_for or stat.group != self.agent.pid]
        process_tree.signal_all(number, why, others, self.log)

    def _nobody_left(self) -> bool:
        if self.status is None or any(pid != self.agent.pid for pid in process_tree.children_of(os.getpid())):
            return False
        if process_tree.marked(self.given["mark"]):
            return False
        # A list of processes can miss one that forks just now. Whether there is a child at all, the kernel knows. The
        # group ends with its last member, so that it is asked for before the agent is waited for.
        self._signal_group(signal.SIGKILL)
        self.waited_for = True
        return not process_tree.has_children()

    def _signal_group(self, number: signal.Signals) -> bool:
        if self.waited_for:
            return False
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.agent.pid, number)
            return True
        return False

    # Writing down

    def _save(self) -> None:
        self.saved = time.monotonic()
        state = {
            "supervisor": identity_of(os.getpid()).as_json(), "agent": self.agent.as_json(), "pid": self.agent.pid,
            "pid_started_at": started_at_ms(self.agent), "started_at": self.began_at,
            "last_heartbeat_at": self.heard_at, "landlock": self.landlock,
            "tree": [process.as_json() for process in self.tree],
        }  # fmt: skip
        with contextlib.suppress(OSError):  # no room on the disk; the next time perhaps
            session_files.write(self.folder / session_files.STATE, state)

    def _write_exit(self, kind: str, code: int | None, number: int | None, **more: bool) -> None:
        started = bool(self.agent.pid) and not more.get("not_found") and not more.get("cwd_missing")
        out, err = self.outputs
        remove_temporary(self.folder)
        self.diagnostics["signals"] = self.log.lines
        end = {
            "kind": kind, "exit_code": code, "signal": number, "pid": self.agent.pid if started else None,
            "pid_started_at": started_at_ms(self.agent) if started else None, "started_at": self.began_at,
            "ended_at": now_ms(), "last_heartbeat_at": self.heard_at, "kill_failed": self.kill_failed,
            "landlock": self.landlock, "why": self.why, "out_bytes": out.kept, "err_bytes": err.kept,
            "dropped_bytes": out.dropped + err.dropped, "diagnostics": self.diagnostics, **more,
        }  # fmt: skip
        session_files.write(self.folder / session_files.EXIT, end, sync=True)


def remove_temporary(folder: Path) -> None:
    """T-8.2.5: the agent's temporary files."""
    import shutil

    shutil.rmtree(folder / session_files.TEMPORARY, ignore_errors=True)


def now_ms() -> int:
    return int(time.time() * 1000)
