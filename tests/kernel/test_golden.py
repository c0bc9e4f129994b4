"""Golden traces: one document, a list of commands, and every fact that follows, as text to be read by eye.

`pytest tests/kernel/test_golden.py --golden=write` writes what is; the difference is what a change does to runs.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from penstock.kernel import command as C
from penstock.kernel.fact_lines import FactLine
from penstock.lang.compile import compile_document
from penstock.net.model import Net
from tests.kernel.harness import Sim

GOLDEN = Path(__file__).parent / "golden" / "diagrams"
EXAMPLES = Path(__file__).parents[2] / "examples" / "diagram"

Story = tuple[str | dict[str, Any], Any, list[str]]


def drawn(nodes: str, ways: str, **more: dict[str, Any]) -> dict[str, Any]:
    """A small diagram: «Start A B End» are template_jobs but for Start, End and those that `more` gives fields."""
    made = []
    for label in nodes.split():
        kind = {"Start": "start", "End": "endpoint"}.get(label, "template_job")
        base = {"label": label, "type": kind} | ({"template": label} if kind == "template_job" else {})
        fields = more.get(label, {})
        made.append({"label": label, **fields} if "type" in fields else {**base, **fields})
    connections = []
    for way in ways.split():
        ends, _, options = way.partition("|")
        source, target = ends.split(">")
        connections.append({"from": source, "to": target, **(json.loads(options) if options else {})})
    return {"version": "light", "nodes": made, "connections": connections}


def cond(expression: str, **more: Any) -> dict[str, Any]:
    return {"type": "condition", "condition_type": "custom", "expression": expression, **more}


#: name → the document (an example's file or a diagram), the run's input, and what is done, one turn each
STORIES: dict[str, Story] = {
    "loop": ("loop.yaml", None, ["ok PersonJob", "ok PersonJob", "ok PersonJob", "ok Ask"]),
    "loop_skippable": ("loop_skippable.yaml", None, ["ok PersonJob", "ok PersonJob", "ok PersonJob", "ok Ask"]),
    "early_exit": ("early_exit.yaml", None, ["ok Try", "ok Try done"]),
    "epochs": ("epochs.yaml", None, ["ok PJ"] * 6),
    "branches": ("branches.yaml", {"score": 10}, ["ok Reject"]),
    "quorum": ("quorum.yaml", None, ["ok Second", "ok First", "ok Decide", "ok Third"]),
    "optional_check": ("optional_check.yaml", {"strict": False}, ["ok Write", "ok Publish"]),
    "user_response": ("ask.yaml", None, ['respond "Ask name" "Kim"', "ok Greet"]),
    "user_response_timeout": ("ask.yaml", None, ["tick"]),
    "judge": ("judge.yaml", None, ["ok Write", "ok Good.ask no", "ok Write", "ok Good.ask yes"]),
    "batch": ("calls.yaml", None, ['ok "Greet all.item"'] * 3),
    "deadlock": (
        drawn("Start C A B Merge End", "Start>C C[condtrue]>A C[condfalse]>B A>Merge B>Merge Merge>End",
              C=cond("input.yes")), {"yes": True}, ["ok A"],
    ),
    "max_iteration_forwards": (
        drawn("Start A C End", "Start>A A>C C[condfalse]>A C[condtrue]>End", A={"max_iteration": 1},
              C=cond("counters.C >= 1")), None, ["ok A"],
    ),
    "max_iteration_absorbs": (
        drawn("Start A C", "Start>A A>C C[condfalse]>A", A={"max_iteration": 1}, C=cond("false")), None, ["ok A"],
    ),
    "iteration_limit": (
        {**drawn("Start A C", "Start>A A>C C[condfalse]>A", C=cond("false")), "max_node_executions": 2}, None,
        ["ok A", "ok A"],
    ),
    "any_fires_again": (
        drawn("Start A B N End", "Start>A Start>B A>N B>N N>End", N={"join_policy": "any"}), None,
        ["ok B", "ok N", "ok A", "ok N"],
    ),
    "history": (
        drawn("Start A C B N End Out", "Start>A Start>B A>C C[condfalse]>A C[condtrue]>Out A>N B>N N>End",
              A={"max_iteration": 2}, C=cond("counters.A >= 2"), Out={"type": "endpoint"}), None,
        ["ok A", "ok A", "ok B", "ok N"],
    ),
    "retry_then_continue": (
        drawn("Start A B End", "Start>A A>B B>End",
              A={"retry": {"max": 1, "backoff_ms": 100}, "on_error": "continue"}), None,
        ["fail A", "tick", "fail A", "ok B"],
    ),
    "failure_drains": (
        drawn("Start A B C End", "Start>A Start>B B>C C>End A>End"), None, ["bad A", "ok B"],
    ),
    "expires": (
        drawn("Start A B N End Gone", 'Start>A Start>B A>N|{"ttl_s":1} B>N N>End A[dead]>Gone',
              Gone={"type": "endpoint"}), None, ["ok A", "tick", "ok B"],
    ),
    "capacity": (
        drawn("Start P C N End Out", 'Start>P P>C C[condfalse]>P C[condtrue]>Out P>N|{"capacity":1} N>End',
              P={"max_iteration": 2, "priority": 1}, C=cond("counters.P >= 2", priority=1), N={"priority": 9},
              Out={"type": "endpoint"}), None,
        ["limit 1", "ok P", "ok N", "ok P", "ok N"],
    ),
    "transform": (
        drawn("Start A End", 'Start>A|{"transform":"body.n+1","label":"n"} A>End'), {"n": 1}, ["ok A"],
    ),
    "cancel": (drawn("Start A B N End", "Start>A Start>B A>N B>N N>End"), None, ["ok A", "cancel"]),
    "pause_and_resume": (drawn("Start A B End", "Start>A A>B B>End"), None, ["pause", "ok A", "resume", "ok B"]),
    "too_many_at_once": (
        drawn("Start A B C End", "Start>A Start>B Start>C A>End B>End C>End"), None,
        ["limit 1", "ok A", "ok B", "ok C"],
    ),
}  # fmt: skip


def net_of(document: str | dict[str, Any]) -> Net:
    if isinstance(document, str):
        file = EXAMPLES / document
        return compile_document(file.read_bytes(), name=file.name).net
    return compile_document(json.dumps(document).encode(), name="story.json").net


def told(document: str | dict[str, Any], given: Any, commands: list[str]) -> str:
    limit = next((int(c.split()[1]) for c in commands if c.startswith("limit ")), None)
    options = {"limits": {"diagram": limit}} if limit is not None else {}
    m = Sim(net_of(document), given, options=options)
    begins = f"> start {json.dumps(given)}" + (f" {json.dumps(options)}" if options else "")
    text = [begins, *map(shown, m.lines)]
    for command in commands:
        if not command.startswith("limit "):
            text += [f"> {command}", *map(shown, do(m, command))]
    assert not m.effects(), "a story tells a run to its end, or until only somebody outside can move it on"
    return "\n".join(text) + "\n"


def shown(line: FactLine) -> str:
    """Times count from 0 here, so they stay; the net's hash would change with every word of the document."""
    data = {k: v for k, v in line.data.items() if k not in ("net", "seed", "trace", "tenant", "parent")}
    return f"  {line.seq:>3} {replace(line, data=data).text()}"


def do(m: Sim, command: str) -> list[FactLine]:
    """ok NODE [BODY], fail NODE (it may pass), bad NODE (for good), respond NODE JSON, tick, cancel, pause, resume."""
    verb, _, rest = command.partition(" ")
    node, _, body = rest[1:].partition('"') if rest.startswith('"') else rest.partition(" ")
    body = body.strip()
    if verb == "ok":
        return m.ok(node, body or f"{node} {m.asked(node).visit}")  # type: ignore[union-attr]
    if verb in ("fail", "bad"):
        return m.bad(node, "BROKEN", "transient" if verb == "fail" else "permanent")
    if verb == "respond":
        return m.do(C.work(m.item(node), "submit", None, json.loads(body)))
    if verb == "tick":
        return m.tick()
    return m.do({"cancel": C.cancel("now"), "pause": C.pause(), "resume": C.resume()}[verb])


@pytest.mark.parametrize("name", STORIES)
def test_golden(name: str, golden: Callable[[Path, str], None]) -> None:
    """D-11.4: what a run does is told fact by fact, and changes only on purpose."""
    golden(GOLDEN / f"{name}.trace", told(*STORIES[name]))


def test_every_golden_file_belongs_to_a_story() -> None:
    mine = {f"{name}.trace" for name in STORIES} | {"nine_steps.trace"}
    assert {file.name for file in GOLDEN.iterdir()} == mine
