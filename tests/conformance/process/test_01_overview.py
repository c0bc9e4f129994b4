"""1, the overview: what the language promises, and where each responsibility of the port map is."""

from __future__ import annotations

import re
from importlib import import_module
from pathlib import Path

import pytest

from tests.conformance.process.make import compiled, process, service, task
from tests.conformance.process.running import Failing, Office, awaited

#: P-1.2: the source's module → the house's, and something of it that does the work.
PORTED = {
    "P-1.2.1 models": ("penstock.lang.process.fields", "ActivityFields"),
    "P-1.2.2 engine": ("penstock.kernel.step", "advance"),
    "P-1.2.3 service": ("penstock.app.penstock", "Penstock"),
    "P-1.2.4 saga": ("penstock.kernel.saga", "plan"),
    "P-1.2.5 orchestrator": ("penstock.executors.agent", "AgentExecutor"),
    "P-1.2.9 MCP client": ("penstock.executors.tool", "ToolExecutor"),
}


@pytest.mark.parametrize("what", PORTED)
def test_the_port_map(what: str) -> None:
    """P-1.2.1, P-1.2.2, P-1.2.3, P-1.2.4, P-1.2.5, P-1.2.9: each responsibility has one home (P-X.3)."""
    module, name = PORTED[what]
    assert getattr(import_module(module), name)


@awaited
async def test_automatic_half_automatic_and_by_hand(tmp_path: Path) -> None:
    """P-1.1.2, P-0.1: an agent may be given to every activity; the mode says how far it goes alone."""
    modes = {"A": "AUTONOMOUS", "B": "SUPERVISED", "C": "MANUAL"}
    document = process([service(id, mode, agent="x") for id, mode in modes.items()], [])
    async with Office(tmp_path) as office:
        run = await office.start(document)
        assert run.states() == {"A": "DONE", "B": "SUBMITTED", "C": "TODO"}
        assert {one.node: one.mode for one in run.items()} == modes


@awaited
async def test_failure_undoes_by_itself(tmp_path: Path) -> None:
    """P-1.1.3, P-5.1.1: nobody has to ask for it."""
    async with Office(tmp_path, agents={"B": Failing("x")}) as office:
        run = await office.start(process([service("A", compensation="undo_a"), service("B")], ["A>B"]))
        assert [tool for tool, _ in office.undone] == ["undo_a"] and run.status == "TERMINATED"


def test_a_process_is_one_net_like_every_document() -> None:
    """P-1.1.1, P-3.2.2: BPMN's semantics on the house's own kernel: stuck tokens pause, groups are undone as one."""
    net = compiled(process([task("A"), task("B")], ["A>B"])).net
    assert (net.language, net.on_stuck, net.undo_policy, net.tracks_origin) == ("process", "pause", "group", True)


def test_p_0_2_the_companion_documents_are_absent_and_have_their_pages() -> None:
    """P-0.2: the seed's companion documents were not supplied; for each, a page that is here stands in its place."""
    root = Path(__file__).parents[3]
    seed = next((root / "tests" / "seeds").glob("001_*.txt")).read_text("utf-8")
    wanted = set(re.findall(r"\b\d\d_[a-z]+/[\w-]+\.md", seed))
    assert len(wanted) == 5
    page = root / "docs" / "explanation" / "process-companions.md"
    rows = re.findall(r"^\| `([^`]+)` \|[^|]+\|[^|]*\]\(([^)]+)\)[^|]*\| (P-[^|]+) \|$", page.read_text("utf-8"), re.M)
    assert {name for name, _, _ in rows} == wanted
    catalogue = (root / "docs" / "requirements" / "process.md").read_text("utf-8")
    for name, target, decisions in rows:
        assert not list(root.glob(f"docs/**/{Path(name).name}")), f"{name} is there by now"
        assert (page.parent / target).resolve().is_file(), target
        assert all(f"**{id}**" in catalogue for id in decisions.split(", ")), decisions
