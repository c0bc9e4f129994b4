"""What the programs of agents write, one file per program. To add one, add its file and its line."""

from __future__ import annotations

from penstock.executors.parts.agent_streams.claude import CLAUDE
from penstock.executors.parts.agent_streams.codex import CODEX
from penstock.executors.parts.agent_streams.contract import EMITTED, Shape, StreamEvent, StreamSummary
from penstock.executors.parts.agent_streams.gemini import GEMINI
from penstock.executors.parts.agent_streams.parser import StreamParser
from penstock.executors.parts.agent_streams.shell import SHELL
from penstock.executors.parts.agent_streams.transcript import Transcript, TranscriptLine, read_events

SHAPES: dict[str, Shape] = {shape.name: shape for shape in (CLAUDE, GEMINI, CODEX, SHELL)}

__all__ = [
    "EMITTED", "SHAPES", "Shape", "StreamEvent", "StreamParser", "StreamSummary", "Transcript", "TranscriptLine",
    "read_events",
]  # fmt: skip
