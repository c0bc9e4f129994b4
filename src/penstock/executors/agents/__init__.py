"""The kinds of agents: one line each. To add one, add its file and its line."""

from __future__ import annotations

from penstock.executors.agents.contract import Agent
from penstock.executors.agents.echo import EchoAgent
from penstock.executors.agents.http import HttpAgent
from penstock.executors.agents.model import ModelAgent
from penstock.executors.agents.program import ProgramAgent

AGENTS: dict[str, Agent] = {
    "echo": EchoAgent(),
    "http": HttpAgent(),
    "model": ModelAgent(),
    "process": ProgramAgent(),
}
