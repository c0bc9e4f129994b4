"""VirusScan: asks a clamd about the file, by its protocol INSTREAM."""

from __future__ import annotations

import socket
import struct

from penstock.executors.processors.contract import Output, ProcessorContext, ProcessorError

_CHUNK = 256 * 1024
_ANSWER_MAX = 4096
_SECONDS = 60


def run(context: ProcessorContext) -> Output:
    """The setting `pipelines.clamd` says where clamd listens: a path, or host:port. config: refuse (a file with a virus
    fails the stage; default true)."""
    address = context.settings.get("clamd")
    if not isinstance(address, str) or not address:
        why = 'VirusScan needs clamd; say where it listens: clamd = "/run/clamav/clamd.ctl" under [pipelines]'
        raise ProcessorError("CLAMD_MISSING", why, "permanent")
    try:
        answer = _ask(context, address)
    except OSError as error:
        raise ProcessorError("CLAMD_DOWN", f"clamd does not answer ({error.strerror or error})", "transient") from None
    if answer.endswith("OK"):
        return Output(output={"clean": True, "signature": None})
    if answer.endswith("FOUND"):
        signature = answer.removesuffix("FOUND").partition(":")[2].strip()
        if context.flag("refuse", True):
            raise ProcessorError("VIRUS_FOUND", f"the file holds {signature[:200]}", detail={"signature": signature})
        return Output(output={"clean": False, "signature": signature}, warnings=[f"the file holds {signature[:200]}"])
    if "size limit exceeded" in answer.lower():
        raise ProcessorError("FILE_LIMIT", "the file is larger than clamd takes (its StreamMaxLength)")
    raise ProcessorError("CLAMD_ERROR", f"clamd answered: {answer[:200]}", "external")


def _ask(context: ProcessorContext, address: str) -> str:
    with _connect(address) as connection:
        try:
            connection.sendall(b"zINSTREAM\0")
            with context.file.open("rb") as file:
                while data := file.read(_CHUNK):
                    connection.sendall(struct.pack("!I", len(data)) + data)
            connection.sendall(struct.pack("!I", 0))
        except (BrokenPipeError, ConnectionResetError):
            pass  # it has heard enough, and says why
        answer = b""
        while not answer.endswith(b"\0") and len(answer) < _ANSWER_MAX:
            data = connection.recv(_ANSWER_MAX)
            if not data:
                break
            answer += data
    if not answer:
        raise ConnectionError("it hung up")
    return answer.rstrip(b"\0").decode(errors="replace").strip()


def _connect(address: str) -> socket.socket:
    if "/" in address:
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        connection.settimeout(_SECONDS)
        try:
            connection.connect(address.removeprefix("unix:"))
        except BaseException:
            connection.close()
            raise
        return connection
    host, _, port = address.rpartition(":")
    if not host or not port.isdigit():
        raise ProcessorError("CONFIG_INVALID", "the setting pipelines.clamd must be a path or host:port", "permanent")
    return socket.create_connection((host.strip("[]"), int(port)), _SECONDS)
