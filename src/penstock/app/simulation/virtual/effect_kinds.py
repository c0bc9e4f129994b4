"""What an effect would do to the world: a simulation refuses and counts whatever is more than reading or computing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

Kind = Literal["compute", "read", "ask", "send", "write", "run", "deploy", "call"]

#: kinds that a simulation refuses, in the order in which a report lists them
REFUSED: tuple[Kind, ...] = ("send", "write", "deploy", "run", "ask")
#: executor → what it does; where its arguments decide, see `kind_of`
_KINDS: dict[str, Kind] = {
    "agent": "ask", "assign": "read", "bi": "read", "call": "call", "cli_agent": "run", "code": "run",
    "command": "run",
    "context": "read", "dataset": "read", "expression": "compute", "handler": "run", "judgment": "compute",
    "llm": "ask", "mcp": "send", "notify": "send", "person": "ask", "processor": "write", "publish": "send",
    "rollback": "deploy", "shape": "compute", "simulate": "compute", "sql": "read",
    "stream": "read", "tool": "send",
}  # fmt: skip
_READING_METHODS = ("GET", "HEAD", "OPTIONS")
_READING_FILES = ("read", "list", "exists")


def kind_of(executor: str, args: Any) -> Kind:
    """An executor that nobody knows may do anything: it counts as a program that is run."""
    given: Mapping[str, Any] = args if isinstance(args, Mapping) else {}
    if executor in ("http", "api"):
        return "read" if str(given.get("method") or "GET").upper() in _READING_METHODS else "send"
    if executor == "file":
        return "read" if str(given.get("operation") or "read") in _READING_FILES else "write"
    if executor == "process_data":
        return "write" if given.get("op") == "write" else "read"
    if executor == "template":
        return "write" if given.get("output_path") else "compute"
    if executor == "rollout":
        return "read" if given.get("op") in ("look", "result") else "deploy"
    if executor == "judgment":
        policy = given.get("policy")
        by_model = isinstance(policy, Mapping) and policy.get("type") in ("LLM_ONLY", "HYBRID")
        return "ask" if by_model else "compute"
    return _KINDS.get(executor, "run")
