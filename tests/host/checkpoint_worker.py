"""A process that runs a workflow and is killed after a commit of its own choosing: store, server, port, commits."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from pathlib import Path
from typing import Any

from penstock.store.sqlite import Sqlite
from tests.host.decisions import House, api, value, workflow


def document() -> dict[str, Any]:
    wait = {"id": "wait_go", "type": "WAIT", "condition": {"type": "time", "duration_ms": 150}}
    judge = {
        "id": "judge", "type": "JUDGMENT", "policy": {"type": "RULE_ONLY", "rule_pack_id": "quality_rules_v2"},
        "input": {"data": [{"defect_rate": 0.01}]},
    }  # fmt: skip
    checkpoint = {"strategy": "node_boundary", "storage": {"encryption": False}}
    nodes = (value("data_a", "1"), api("data_b", "/b"), judge, wait, api("data_c", "/c"))
    return workflow(*nodes, policies={"checkpoint": checkpoint})


def house(folder: Path, url: str, port: int) -> House:
    one = House(folder)
    one.settings["http.ports"] = [port]
    one.register("connection", "server", type="http", base_url=url)
    return one


async def main(folder: str, url: str, port: str, commits: str) -> None:
    left = int(commits)
    whole = Sqlite.commit

    def commit(self: Sqlite, batch: Any) -> None:
        nonlocal left
        whole(self, batch)
        left -= 1
        if left <= 0:
            os.kill(os.getpid(), signal.SIGKILL)

    Sqlite.commit = commit  # type: ignore[method-assign]
    mine = house(Path(folder), url, int(port))
    async with mine.driving() as host:
        run = mine.start(host, document(), key="the-one")
        while (row := host.row(run)) is None or row.status < 5:
            await asyncio.sleep(0.005)


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
