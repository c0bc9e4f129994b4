"""A plain program: lines of text are messages, `[x] TEXT` says that a criterion is met; the seed's JSON lines count."""

from __future__ import annotations

from penstock.executors.parts.agent_streams import seed
from penstock.executors.parts.agent_streams.contract import Shape

#: no command of its own: a shell that is told a task would take it for commands
SHELL = Shape("shell", (), seed.LINES, plain=True)
