"""Processors of the tests' own: well-behaved ones and bad ones. A worker imports this module."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

from penstock.executors.processors import Output, ProcessorContext, processor


@processor("TestShout")
def shout(context: ProcessorContext) -> Output:
    made = context.new_file("txt")
    made.write_text(context.file.read_text().upper())
    return Output(output={"length": context.size}, file=made, mime="text/plain")


@processor("TestEcho")
def echo(context: ProcessorContext) -> dict[str, Any]:
    return {"config": context.config, "params": context.params, "input": context.input, "mime": context.mime}


@processor("TestBig")
def big(context: ProcessorContext) -> Any:
    if context.config.get("file"):
        made = context.new_file("bin")
        made.write_bytes(b"x" * int(context.config["bytes"]))
        return Output(file=made, mime="application/octet-stream")
    return {"text": "x" * int(context.config["bytes"])}


@processor("TestUsage")
def usage(context: ProcessorContext) -> Any:
    return Output(output={}, usage={"llm_tokens": "many"})  # type: ignore[dict-item]


@processor("TestBad")
def bad(context: ProcessorContext) -> Any:
    """Misbehaves as `how` says; `pids` is a file that gets the numbers of its processes."""
    how = context.config["how"]
    if "pids" in context.config:
        child = subprocess.Popen(["sleep", "600"])
        Path(context.config["pids"]).write_text(f"{os.getpid()} {child.pid}")
    if how == "hang":
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        while True:
            time.sleep(60)
    if how == "spin":
        while True:
            pass
    if how == "leak":
        hoard = []
        while True:
            hoard.append(bytearray(1024 * 1024))
    if how == "crash":
        os.kill(os.getpid(), signal.SIGSEGV)
    if how == "exit":
        os._exit(3)
    if how == "raise":
        raise RuntimeError("it went wrong")
    if how == "flood":
        with context.new_file("bin").open("wb") as file:
            while True:
                file.write(b"x" * 1024 * 1024)
    if how == "outside":
        return Output(file=Path("/etc/hostname"))
    return {"done": True}


@processor("TestLeave")
def leave(context: ProcessorContext) -> Any:
    """Starts what would outlive it, and then hangs, dies or ends well; `pids` gets the numbers of all."""
    pids = Path(context.config["pids"])
    ready, told = os.pipe()
    for _ in range(20 if context.config["how"] == "forks" else 1):
        if os.fork() == 0:
            os.setsid() if context.config["how"] == "setsid" else None
            if context.config["how"] == "daemon":
                os.setsid()
                if os.fork() != 0:
                    os._exit(0)
            with pids.open("a") as file:
                file.write(f"{os.getpid()} ")
            os.write(told, b".")
            while True:
                time.sleep(60)
    os.read(ready, 1)
    with pids.open("a") as file:
        file.write(f"{os.getpid()} ")
    if context.config["end"] == "exit":
        os._exit(3)
    while context.config["end"] == "hang":
        time.sleep(60)
    return {"done": True}


@processor("TestRemove")
def remove(context: ProcessorContext) -> dict[str, Any]:
    """Somebody takes the bucket away while its file is processed."""
    folder = Path(context.config["folder"])
    if folder.is_dir():
        folder.rename(folder.with_name(f"{folder.name}.away"))
    return {"removed": True}


@processor("TestUndo")
class Undo:
    def process(self, context: ProcessorContext) -> dict[str, Any]:
        Path(context.config["mark"]).write_text("done")
        return {"mark": context.config["mark"]}

    def rollback(self, context: ProcessorContext) -> dict[str, Any]:
        Path(context.result["output"]["mark"]).unlink()
        return {"undone": True}


@processor("TestTrail")
class Trail:
    """Writes into `trail` what it does; works until the file `until` is there; its way back fails where `broken`."""

    def process(self, context: ProcessorContext) -> dict[str, Any]:
        self._write(context, "+")
        while "until" in context.config and not Path(context.config["until"]).exists():
            time.sleep(0.01)
        return {"made": context.stage}

    def rollback(self, context: ProcessorContext) -> dict[str, Any]:
        assert context.result["output"] == {"made": context.stage}
        self._write(context, "-")
        if context.config.get("broken"):
            raise ValueError("ask hong.gildong@example.co.kr to take it back")
        return {}

    def _write(self, context: ProcessorContext, sign: str) -> None:
        with Path(context.config["trail"]).open("a") as trail:
            trail.write(f"{sign}{context.stage} ")


@processor("TestTalks")
def talks(context: ProcessorContext) -> Any:
    """Says what it has read: to its log, as a warning, and as it fails."""
    text = context.file.read_text()
    print(text, flush=True)
    if context.config.get("fails"):
        raise ValueError(text * int(context.config.get("times", 1)))
    return Output(output={"length": len(text)}, warnings=[text])


@processor("TestLost")
def lost(context: ProcessorContext) -> dict[str, Any]:
    """Hangs, and leaves its number in `pids`, as long as fewer than `times` have done so before."""
    pids = Path(context.config["pids"])
    before = pids.read_text().split() if pids.exists() else []
    if len(before) >= int(context.config["times"]):
        return {"after": len(before)}
    (context.folder / "left.txt").write_text("half")
    with pids.open("a") as file:
        file.write(f"{os.getpid()}\n")
    while True:
        time.sleep(60)
