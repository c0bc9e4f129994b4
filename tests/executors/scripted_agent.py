"""A scripted agent program: it does what a JSON scenario says, well behaved or not. Standard library only.

    python scripted_agent.py SCENARIO      SCENARIO is JSON text, or the name of a file that holds it

A scenario is a list of steps, or an object:

    {"steps": [...]}                                   the same
    {"shape": "claude", "steps": [...]}                speaks like that CLI (seed, claude, gemini, codex, text)
    {"attempts": [[steps], [steps]], "counted_in": F}  the n-th start does the n-th list (the last one again and again)
    {"count": F, "steps": [...]}                       abuse writes a line «what pid start-time» into F when it is on

A step is an object with one action, its value and perhaps options beside it; `ACTIONS` at the end has them all:

    {"say": text} {"progress": n} {"tool": name, "input": {}} {"result": text, "tokens": [in, out], "cost": usd}
    {"error": text, "fatal": true} {"usage": [in, out]} {"init": true} {"event": {…}}
    {"raw": text} {"hex": bytes} {"parts": [text, …], "pause": s}
    {"stderr": text} {"sleep": s} {"hang": true} {"spin": true} {"exit": code} {"die": "KILL"} {"ignore": ["TERM"]}
    {"edit": {path: text}} {"append": {path: text}} {"delete": path} {"shell": line} {"prompt": path} {"environ": path}
    {"heartbeat": true} {"wait_for": path} {"try_write": path} {"flood": bytes, "to": "stderr"} {"close": ["stdout"]}
    {"fork": {"children": 1, "depth": 1, "setsid", "double", "ignore_term", "clear_env", "quiet", "spin": true}}
    {"comet": {"setsid": true}} {"bomb": n} {"unreaped": n}
    {"signal": {"whom": "parent"|"group"|"self", "number": "KILL"}}
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

SESSION = "scripted-session"
MODEL = "scripted-model"


class Agent:
    def __init__(self, scenario: Any) -> None:
        self.scenario: dict[str, Any] = {"steps": scenario} if isinstance(scenario, list) else scenario
        self.shape = self.scenario.get("shape", "seed")
        self.began = time.monotonic()
        self.calls = 0
        self.tokens = [0, 0]

    def run(self) -> int:
        for step in self._steps():
            action = next(iter(step))
            if action not in ACTIONS:
                sys.stderr.write(f"scripted agent: there is no step «{action}»\n")
                return 64
            code = ACTIONS[action](self, step)
            if code is not None:
                return code
        return 0

    def _steps(self) -> list[dict[str, Any]]:
        if "attempts" not in self.scenario:
            steps: list[dict[str, Any]] = self.scenario.get("steps", [])
            return steps
        attempts: list[list[dict[str, Any]]] = self.scenario["attempts"]
        counter = Path(self.scenario["counted_in"])
        _append(counter, f"{os.getpid()}\n")
        number = len(counter.read_text().splitlines())
        return attempts[min(number, len(attempts)) - 1]

    # What it says

    def write(self, data: bytes, to: int = 1) -> None:
        while data:
            data = data[os.write(to, data) :]

    def event(self, event: dict[str, Any]) -> None:
        self.write(json.dumps(event, ensure_ascii=False).encode() + b"\n")

    def fired(self, what: str) -> None:
        """The abuse is in place: whoever counts knows it by this line."""
        if "count" in self.scenario:
            _append(Path(self.scenario["count"]), f"{what} {os.getpid()} {_start_time()}\n")


def _append(path: Path, text: str) -> None:
    file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    os.write(file, text.encode())
    os.close(file)


def _start_time() -> int:
    with contextlib.suppress(OSError):
        return int(Path("/proc/self/stat").read_text().rpartition(")")[2].split()[19])
    return 0


# Speech, in the shapes of the real programs


def init(agent: Agent, step: dict[str, Any]) -> None:
    if agent.shape == "claude":
        agent.event({
            "type": "system", "subtype": "init", "cwd": str(Path.cwd()), "session_id": SESSION,
            "tools": ["Bash", "Edit"], "mcp_servers": [], "model": MODEL, "permissionMode": "acceptEdits",
            "apiKeySource": "none",
        })  # fmt: skip
    elif agent.shape == "gemini":
        agent.event({"type": "init", "timestamp": _now(), "session_id": SESSION, "model": MODEL})
    elif agent.shape == "codex":
        agent.event({"type": "thread.started", "thread_id": SESSION})
        agent.event({"type": "turn.started"})
    elif agent.shape == "seed":
        agent.event({"type": "system", "subtype": "init", "session_id": SESSION, "model": MODEL})


def say(agent: Agent, step: dict[str, Any]) -> None:
    text = str(step["say"])
    if agent.shape == "claude":
        agent.event(_claude_message([{"type": "text", "text": text}], agent.tokens))
    elif agent.shape == "gemini":
        agent.event({"type": "message", "timestamp": _now(), "role": "assistant", "content": text, "delta": True})
    elif agent.shape == "codex":
        agent.event({"type": "item.completed", "item": {"id": _id(agent), "type": "agent_message", "text": text}})
    elif agent.shape == "text":
        agent.write(text.encode() + b"\n")
    else:
        agent.event({"type": "message", "role": "assistant", "content": text})


def progress(agent: Agent, step: dict[str, Any]) -> None:
    """Said whether it is true or not."""
    if agent.shape == "text":
        agent.write(f"progress: {step['progress']}%\n".encode())
    else:
        agent.event({"type": "progress", "percent": step["progress"]})


def tool(agent: Agent, step: dict[str, Any]) -> None:
    name, given, answer = str(step["tool"]), step.get("input", {}), str(step.get("output", "ok"))
    call = _id(agent)
    if agent.shape == "claude":
        agent.event(_claude_message([{"type": "tool_use", "id": call, "name": name, "input": given}], agent.tokens))
        result = {"type": "tool_result", "tool_use_id": call, "content": answer}
        agent.event({
            "type": "user", "message": {"role": "user", "content": [result]}, "parent_tool_use_id": None,
            "session_id": SESSION,
        })  # fmt: skip
    elif agent.shape == "gemini":
        agent.event({"type": "tool_use", "timestamp": _now(), "tool_name": name, "tool_id": call, "parameters": given})
        agent.event(
            {"type": "tool_result", "timestamp": _now(), "tool_id": call, "status": "success", "output": answer}
        )
    elif agent.shape == "codex":
        item = {"id": call, "type": "command_execution", "command": f"bash -lc {name}"}
        agent.event({
            "type": "item.started",
            "item": item | {"aggregated_output": "", "exit_code": None, "status": "in_progress"},
        })  # fmt: skip
        agent.event({
            "type": "item.completed",
            "item": item | {"aggregated_output": answer, "exit_code": 0, "status": "completed"},
        })  # fmt: skip
    elif agent.shape == "text":
        agent.write(f"$ {name}\n{answer}\n".encode())
    else:
        agent.event({"type": "tool_use", "id": call, "name": name, "input": given})


def result(agent: Agent, step: dict[str, Any]) -> None:
    text, (taken, given), cost = str(step["result"]), step.get("tokens", (100, 20)), step.get("cost", 0.01)
    took = int((time.monotonic() - agent.began) * 1000)
    if agent.shape == "claude":
        agent.event({
            "type": "result", "subtype": "success", "is_error": False, "duration_ms": took, "duration_api_ms": took,
            "num_turns": 1, "result": text, "session_id": SESSION, "total_cost_usd": cost,
            "usage": {
                "input_tokens": taken, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0,
                "output_tokens": given,
            },
        })  # fmt: skip
    elif agent.shape == "gemini":
        say(agent, {"say": text})
        stats = {"total_tokens": taken + given, "input_tokens": taken, "output_tokens": given, "duration_ms": took}
        agent.event({"type": "result", "timestamp": _now(), "status": "success", "stats": stats | {"tool_calls": 0}})
    elif agent.shape == "codex":
        say(agent, {"say": text})
        usage = {"input_tokens": taken, "cached_input_tokens": 0, "output_tokens": given}
        agent.event({"type": "turn.completed", "usage": usage})
    elif agent.shape == "text":
        agent.write(text.encode() + b"\n")
    else:
        usage = {"input_tokens": taken, "output_tokens": given}
        agent.event({"type": "result", "subtype": "success", "result": text, "usage": usage, "total_cost_usd": cost})


def error(agent: Agent, step: dict[str, Any]) -> None:
    text = str(step["error"])
    if agent.shape == "claude":
        agent.event({
            "type": "result", "subtype": "error_during_execution", "is_error": True, "result": text,
            "session_id": SESSION, "num_turns": 1, "total_cost_usd": 0.01,
            "usage": {"input_tokens": 10, "output_tokens": 1},
        })  # fmt: skip
    elif agent.shape == "gemini":
        agent.event({"type": "error", "timestamp": _now(), "severity": "error", "message": text})
    elif agent.shape == "codex":
        agent.event({"type": "error", "message": text})
        agent.event({"type": "turn.failed", "error": {"message": text}})
    elif agent.shape == "text":
        agent.write(text.encode() + b"\n", to=2)
    else:
        agent.event({"type": "error", "message": text} | ({"fatal": True} if step.get("fatal") else {}))


def usage(agent: Agent, step: dict[str, Any]) -> None:
    """Tokens that the next messages of the shape `claude` carry."""
    agent.tokens = list(step["usage"])


def _claude_message(content: list[dict[str, Any]], tokens: list[int]) -> dict[str, Any]:
    message = {
        "id": "msg_scripted", "type": "message", "role": "assistant", "model": MODEL, "content": content,
        "stop_reason": None, "usage": {"input_tokens": tokens[0], "output_tokens": tokens[1]},
    }  # fmt: skip
    return {"type": "assistant", "message": message, "parent_tool_use_id": None, "session_id": SESSION}


def _id(agent: Agent) -> str:
    agent.calls += 1
    return f"item_{agent.calls}"


def _now() -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%S.000Z", time.gmtime())


# Bytes, as they are


def parts(agent: Agent, step: dict[str, Any]) -> None:
    for part in step["parts"]:
        agent.write(part.encode())
        time.sleep(step.get("pause", 0.02))


def flood(agent: Agent, step: dict[str, Any]) -> None:
    """So many bytes as fast as they are taken, in lines."""
    line = step.get("line", json.dumps({"type": "message", "role": "assistant", "content": "x" * 900})).encode() + b"\n"
    block, left, to = line * max(1, (1 << 16) // len(line)), int(step["flood"]), 2 if step.get("to") == "stderr" else 1
    agent.fired("flood")
    while left > 0:
        agent.write(block, to)
        left -= len(block)


def close(agent: Agent, step: dict[str, Any]) -> None:
    for name in step["close"]:
        os.close({"stdin": 0, "stdout": 1, "stderr": 2}[name])
    agent.fired("close")


# Work


def edit(agent: Agent, step: dict[str, Any]) -> None:
    for name, text in step.get("edit", step.get("append", {})).items():
        Path(name).parent.mkdir(parents=True, exist_ok=True)
        with open(name, "w" if "edit" in step else "a", encoding="utf-8") as file:
            file.write(text)


def shell(agent: Agent, step: dict[str, Any]) -> int | None:
    code = subprocess.run(["/bin/sh", "-c", step["shell"]]).returncode
    return code if code and not step.get("goes_on") else None


def prompt(agent: Agent, step: dict[str, Any]) -> None:
    Path(step["prompt"]).write_bytes(sys.stdin.buffer.read())


def environ(agent: Agent, step: dict[str, Any]) -> None:
    Path(step["environ"]).write_text(json.dumps(dict(os.environ)))


def heartbeat(agent: Agent, step: dict[str, Any]) -> None:
    Path(os.environ["PENSTOCK_HEARTBEAT"]).touch()


def wait_for(agent: Agent, step: dict[str, Any]) -> None:
    while not Path(step["wait_for"]).exists():
        time.sleep(0.01)


def try_write(agent: Agent, step: dict[str, Any]) -> None:
    """Says what came of it: written, or the error's name."""
    try:
        with open(step["try_write"], "a") as file:
            file.write("written\n")
        said = "written"
    except OSError as problem:
        said = type(problem).__name__
    agent.event({"type": "message", "role": "assistant", "content": f"{said} {step['try_write']}"})


# Ends, or none


def die(agent: Agent, step: dict[str, Any]) -> None:
    agent.fired("die")
    os.kill(os.getpid(), _number(step["die"]))
    time.sleep(60)


def ignore(agent: Agent, step: dict[str, Any]) -> None:
    for name in step["ignore"]:
        signal.signal(_number(name), signal.SIG_IGN)
    agent.fired("ignore")


def hang(agent: Agent, step: dict[str, Any]) -> None:
    agent.fired("hang")
    while True:
        time.sleep(3600)


def spin(agent: Agent, step: dict[str, Any]) -> None:
    agent.fired("spin")
    while True:
        pass


def _number(name: str) -> signal.Signals:
    return signal.Signals[f"SIG{name}"]


# Processes


def fork(agent: Agent, step: dict[str, Any]) -> None:
    how: dict[str, Any] = step["fork"] if isinstance(step["fork"], dict) else {"children": int(step["fork"])}
    ready, told = os.pipe()
    for _ in range(how.get("children", 1)):
        if os.fork() == 0:
            os.close(ready)
            _be_child(agent, how, how.get("depth", 1), told)
    os.close(told)
    while os.read(ready, 4096):  # until every child and grandchild is in its place
        pass
    os.close(ready)


def _be_child(agent: Agent, how: dict[str, Any], depth: int, told: int) -> None:
    if how.get("setsid"):
        os.setsid()
    if how.get("double") and os.fork():
        os._exit(0)
    if how.get("ignore_term"):
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN)
    if depth > 1 and os.fork() == 0:
        _be_child(agent, how, depth - 1, told)
    if how.get("quiet"):
        nothing = os.open(os.devnull, os.O_RDWR)
        for number in (0, 1, 2):
            os.dup2(nothing, number)
    if how.get("clear_env"):
        _without_environment(agent, how, told)
    agent.fired("fork")
    os.close(told)
    while True:
        if not how.get("spin"):
            time.sleep(3600)


def _without_environment(agent: Agent, how: dict[str, Any], told: int) -> None:
    """A process whose mark is gone: a new program in an empty environment."""
    scenario = [*([{"ignore": ["TERM"]}] if how.get("ignore_term") else []), {"count_now": "fork"}, {"hang": True}]
    line = json.dumps({"steps": scenario, "count_as": agent.scenario.get("count"), "told": told})
    os.set_inheritable(told, True)
    os.execve(sys.executable, [sys.executable, "-S", __file__, line], {})


def count_now(agent: Agent, step: dict[str, Any]) -> None:
    if agent.scenario.get("count_as"):
        _append(Path(agent.scenario["count_as"]), f"{step['count_now']} {os.getpid()} {_start_time()}\n")
    if "told" in agent.scenario:
        os.close(agent.scenario["told"])


def comet(agent: Agent, step: dict[str, Any]) -> None:
    """A process that is never the same for long: it forks, and its parent ends, again and again."""
    how = step["comet"] if isinstance(step["comet"], dict) else {}
    ready, told = os.pipe()
    if os.fork():
        os.close(told)
        os.read(ready, 1)  # until it flies
        os.close(ready)
        return
    agent.fired("comet")
    os.close(told)
    while True:
        if how.get("setsid") and os.getpid() != os.getsid(0):
            os.setsid()
        if os.fork():
            os._exit(0)


def bomb(agent: Agent, step: dict[str, Any]) -> None:
    """Processes that fork until there are about so many, in a tree."""
    most = int(step["bomb"])
    for _ in range(most.bit_length() - 1):
        os.fork()
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    agent.fired("bomb")
    while step.get("ends") and os.getpid() % 2:
        if len(Path(agent.scenario["count"]).read_text().splitlines()) >= most:  # not before all are there
            os._exit(0)
        time.sleep(0.01)
    while True:
        time.sleep(3600)


def unreaped(agent: Agent, step: dict[str, Any]) -> None:
    for _ in range(int(step["unreaped"])):
        if os.fork() == 0:
            os._exit(0)
    agent.fired("unreaped")


def send_signal(agent: Agent, step: dict[str, Any]) -> None:
    """To the processes above it or beside it. Where that is forbidden it goes on, and says so."""
    whom, number = step["signal"]["whom"], _number(step["signal"]["number"])
    agent.fired("signal")
    try:
        if whom == "group":
            os.killpg(0, number)
        else:
            os.kill(os.getppid() if whom == "parent" else os.getpid(), number)
    except OSError as problem:
        agent.event({"type": "message", "role": "assistant", "content": f"{type(problem).__name__} signal"})


ACTIONS: dict[str, Callable[[Agent, dict[str, Any]], int | None]] = {
    "init": init, "say": say, "progress": progress, "tool": tool, "result": result, "error": error, "usage": usage,
    "raw": lambda agent, step: agent.write(step["raw"].encode()),
    "hex": lambda agent, step: agent.write(bytes.fromhex(step["hex"])),
    "event": lambda agent, step: agent.event(step["event"]),
    "stderr": lambda agent, step: agent.write(step["stderr"].encode(), to=2),
    "parts": parts, "flood": flood, "close": close,
    "edit": edit, "append": edit, "shell": shell, "prompt": prompt, "environ": environ, "heartbeat": heartbeat,
    "delete": lambda agent, step: Path(step["delete"]).unlink(),
    "chdir": lambda agent, step: os.chdir(step["chdir"]),
    "wait_for": wait_for, "try_write": try_write,
    "sleep": lambda agent, step: time.sleep(step["sleep"]),
    "exit": lambda agent, step: int(step["exit"]),
    "die": die, "ignore": ignore, "hang": hang, "spin": spin,
    "fork": fork, "count_now": count_now, "comet": comet, "bomb": bomb, "unreaped": unreaped, "signal": send_signal,
}  # fmt: skip


def main(given: str) -> int:
    text = given if given.lstrip()[:1] in "[{" else Path(given).read_text()
    agent = Agent(json.loads(text))
    try:
        return agent.run()
    finally:
        with contextlib.suppress(Exception):
            sys.stdout.flush()


if __name__ == "__main__":
    code = main(sys.argv[1])
    os._exit(code)
