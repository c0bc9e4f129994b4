"""Fixtures for the tests of executors."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.executors.bench import Bench, Seen, Server
from tests.executors.pipeline_bench import PipelineBench


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


@pytest.fixture
def serve() -> Iterator[Callable[[Callable[[Seen], Any]], Server]]:
    servers: list[Server] = []

    def start(answer: Callable[[Seen], Any]) -> Server:
        servers.append(Server(answer))
        return servers[-1]

    yield start
    for server in servers:
        server.close()


@pytest.fixture
def pipeline(bench: Bench, tmp_path: Path) -> Iterator[PipelineBench]:
    made = PipelineBench(bench, tmp_path)
    yield made
    made.close()
