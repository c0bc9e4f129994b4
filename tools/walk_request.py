"""What one HTTP approval costs: the files it crosses, the returns to files already left, the store reads, the folds.

python -m tools.walk_request [--files]
"""

from __future__ import annotations

import asyncio
import inspect
import json
import sys
import tempfile
from collections import Counter
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import httpx
import msgspec

from penstock.api.server import create
from penstock.api.server_state import Options
from penstock.app.access.keys import ApiKeys
from penstock.app.penstock import Penstock, Release
from penstock.app.runs.reading import state_of
from penstock.kernel.fact_lines import FactReader
from penstock.store.contract import Store

SOURCE = str(Path(__file__).resolve().parents[1] / "src" / "penstock")
USER = "manager@example.com"
DOCUMENT = {
    "id": "wf_walk", "version": 1, "name": "walk", "tenant_id": "tenant_001",
    "nodes": [
        {"id": "ask", "type": "APPROVAL", "notification": {"channels": []},
         "request": {"title": "ask", "approvers": {"type": "any_of", "targets": [f"user:{USER}"]}}},
    ],
    "edges": [],
}  # fmt: skip
#: what the store is asked; everything else of it writes, opens or closes
_WRITES = (
    "put_", "add_", "append_", "commit", "drop_", "take_", "open", "close", "rebuild", "move_", "pause_",
    "schedule_fired",
)  # fmt: skip


_RESUMED = inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR
_BEGUN = 8  # bytes of code before a generator's own


class Walk(msgspec.Struct):
    """`files` in the order of the first visit; `returns` are entries into a file that was left before."""

    files: list[str] = []
    returns: int = 0
    reads: Counter[str] = msgspec.field(default_factory=Counter)
    folds: int = 0
    body: Any = None

    @property
    def hops(self) -> int:
        """Steps from one file to another."""
        return len(self.files) + self.returns - 1

    def text(self) -> str:
        reads = ", ".join(f"{name} {count}" for name, count in sorted(self.reads.items()))
        return (
            f"files {len(self.files)}, returns {self.returns}, hops {self.hops}, folds {self.folds}, "
            f"store reads {self.reads.total()} ({reads})"
        )


class _Profile:
    """Counts calls into the package while it is switched on."""

    def __init__(self) -> None:
        self.walk, self.last = Walk(), ""
        self.folding = {FactReader.__init__.__code__, state_of.__code__}
        self.seen: set[str] = set()

    def __call__(self, frame: FrameType, event: str, _: object) -> None:
        code = frame.f_code
        if event != "call" or not code.co_filename.startswith(SOURCE):
            return
        if code.co_flags & _RESUMED and frame.f_lasti > _BEGUN:
            return  # a generator or a coroutine goes on: nothing was called
        file = code.co_filename.removeprefix(SOURCE).removeprefix("/")
        if file != self.last:
            if file in self.seen:
                self.walk.returns += 1
            else:
                self.seen.add(file)
                self.walk.files.append(file)
            self.last = file
        self.walk.folds += code in self.folding
        if self._reads(code, file, frame):
            self.walk.reads[code.co_name] += 1

    def _reads(self, code: CodeType, file: str, frame: FrameType) -> bool:
        """A method of the store's contract, called from outside the store."""
        name, caller = code.co_name, frame.f_back
        if not file.startswith("store/") or not hasattr(Store, name) or name.startswith(("_", *_WRITES)):
            return False
        return caller is None or not caller.f_code.co_filename.startswith(f"{SOURCE}/store")


async def approval(folder: Path) -> Walk:
    """One run that waits for an approval, approved over HTTP by whoever may, in this process."""
    door = Penstock(folder / "walk.db", profile="dev")
    app = create(door, Options(console=False, dev=True))
    async with app.router.lifespan_context(app):
        token = ApiKeys(door).create("walk", user=USER, by=USER)[1]
        transport = httpx.ASGITransport(app=app)
        headers = {"Authorization": f"Bearer {token}"}
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost", headers=headers) as client:
            release = door.release(json.dumps(DOCUMENT).encode(), name="walk.json")
            walks = [await _approve(door, client, release) for _ in range(21)]
    return min(walks[1:], key=lambda walk: walk.hops)  # everything is imported, and no timer of the engine came between


async def _approve(door: Penstock, client: httpx.AsyncClient, release: Release) -> Walk:
    run = await door.start(release)
    await door.wait(run, until_waiting=True)
    profile = _Profile()
    sys.setprofile(profile)
    try:
        answer = await client.post(f"/api/v1/inbox/{run}/ask/approve", json={"comment": "yes"})
    finally:
        sys.setprofile(None)
    answer.raise_for_status()
    profile.walk.body = answer.json()
    return profile.walk


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        walk = asyncio.run(approval(Path(folder)))
    print(walk.text())
    if "--files" in sys.argv:
        print("\n".join(walk.files))


if __name__ == "__main__":
    main()
