"""Small workflows for tests: nodes and edges in; a net, findings or a run on the kernel out."""

from __future__ import annotations

import functools
import json
import re
from pathlib import Path
from typing import Any

from penstock.errors import Finding
from penstock.kernel import command as C
from penstock.lang.compile import check_document, compile_document
from penstock.lang.contract import Compiled
from penstock.net.model import Edge, Net, Node
from tests.kernel.harness import Sim

SEED = Path(__file__).parents[2] / "seeds" / "000_54d5b7dd25453b49.txt"
HOUR = 3_600_000
DAY = 24 * HOUR


def act(id: str, **fields: Any) -> dict[str, Any]:
    """A node that does some work and needs nothing."""
    return {"id": id, "type": "ACTION", "channel": {"type": "slack"}, "message": id, **fields}


def data(id: str, **fields: Any) -> dict[str, Any]:
    return {"id": id, "type": "DATA", "source": {"type": "api", "query": f"/{id}"}, **fields}


def value(id: str, text: str, **fields: Any) -> dict[str, Any]:
    return {"id": id, "type": "DATA", "source": {"type": "expression"}, "output": {"expression": text}, **fields}


def switch(id: str, expression: str, cases: list[Any], **fields: Any) -> dict[str, Any]:
    """A case is (value, goto), or a map."""
    told = [one if isinstance(one, dict) else {"value": one[0], "goto": one[1]} for one in cases]
    return {"id": id, "type": "SWITCH", "expression": expression, "cases": told, **fields}


def parallel(id: str, branches: dict[str, Any], strategy: str = "all", **fields: Any) -> dict[str, Any]:
    """A branch is a list of members, or a map with `nodes`."""
    told = [{"id": key, **(one if isinstance(one, dict) else {"nodes": one})} for key, one in branches.items()]
    join = {"strategy": strategy, **fields.pop("join", {})}
    return {"id": id, "type": "PARALLEL", "branches": told, "join": join, **fields}


def wait(id: str, condition: dict[str, Any], **fields: Any) -> dict[str, Any]:
    return {"id": id, "type": "WAIT", "condition": condition, **fields}


def approval(id: str, *targets: str, type: str = "role", **fields: Any) -> dict[str, Any]:
    request = {"title": id, "approvers": {"type": type, "targets": list(targets or ("qa",))}, **fields.pop("ask", {})}
    request["approvers"] |= fields.pop("who", {})
    return {"id": id, "type": "APPROVAL", "request": request, "notification": {"channels": []}, **fields}


def undo(id: str, for_node: str, **fields: Any) -> dict[str, Any]:
    actions = fields.pop("actions", [{"type": "api", "endpoint": f"/undo/{for_node}"}])
    return {"id": id, "type": "COMPENSATION", "for_node": for_node, "actions": actions, **fields}


def judge(id: str, **policy: Any) -> dict[str, Any]:
    told = {"type": "RULE_ONLY", "rule_pack_id": "pack", **policy}
    return {"id": id, "type": "JUDGMENT", "policy": told, "input": {"data": "${input}"}}


def mcp(id: str, **fields: Any) -> dict[str, Any]:
    operation = {"type": "tool", "name": "get_inventory"}
    return {"id": id, "type": "MCP", "server": {"id": "erp", "version": "1.0.0"}, "operation": operation, **fields}


def edges(*ways: Any) -> list[dict[str, Any]]:
    """ "a>b", or such a text and more fields, or several in one text."""
    found = []
    for way in ways:
        text, more = way if isinstance(way, tuple) else (way, {})
        for one in text.split():
            src, dst = one.split(">")
            found.append({"from": src, "to": dst, **more})
    return found


def document(nodes: list[dict[str, Any]], ways: list[Any] | tuple[Any, ...] = (), **top: Any) -> dict[str, Any]:
    return {"id": "wf_test", "version": 1, "nodes": nodes, "edges": edges(*ways), **top}


def net_of(nodes: list[dict[str, Any]], *ways: Any, **top: Any) -> Net:
    return compiled(document(nodes, ways, **top)).net


def compiled(whole: dict[str, Any]) -> Compiled:
    return compile_document(json.dumps(whole).encode(), name="test.json", language="decision")


def found(whole: Any, **more: Any) -> list[Finding]:
    """Everything there is to say about a document; each with a place and with what to do."""
    body = whole if isinstance(whole, bytes) else json.dumps(whole).encode()
    language, findings = check_document(body, name="test.json", language="decision", **more)
    assert language == "decision"
    assert [str(one) for one in findings if not one.hint or not one.where.line or not one.category] == []
    return findings


def rules(nodes: list[dict[str, Any]], *ways: Any, **top: Any) -> list[tuple[str, str, str]]:
    """(severity, rule, pointer) of every finding."""
    return [(f.severity, f.rule, f.where.pointer) for f in found(document(nodes, ways, **top))]


def node(net: Net, id: str) -> Node:
    (one,) = [n for n in net.nodes if n.id == id]
    return one


def edge(net: Net, id: str) -> Edge:
    (one,) = [e for e in net.edges if e.id == id]
    return one


class Play(Sim):
    """A workflow on the kernel alone: effects are answered by hand."""

    def __init__(
        self, nodes: list[dict[str, Any]], *ways: Any, input: Any = None, start: Any = None, **top: Any
    ) -> None:
        super().__init__(net_of(nodes, *ways, **top), input, **(start or {}))

    def asks(self) -> list[str]:
        """Who waits for an answer."""
        return [self.net.nodes[f.node].id for f in self.effects()]

    def args(self, id: str) -> Any:
        """What was asked, resolved."""
        firing = self.asked(id)
        assert firing is not None, f"{id} asks nothing"
        effect = self.net.nodes[firing.node].effect
        assert effect is not None
        return firing.args if firing.args is not None else effect.args

    def told(self, id: str) -> list[tuple[int, Any]]:
        """What people are told by a node, and when."""
        lines = [line for line in self.of("settled") if line.node == f"{id}.notify"]
        return [(line.at, line.data["output"]) for line in lines if line.data["status"] == "done"]

    def all_ok(self, **bodies: Any) -> list[str]:
        """Answer whoever asks until nobody does, in order."""
        told = []
        while self.effects():
            id = self.asks()[0]
            told.append(id)
            self.ok(id, bodies.get(id, {"by": id}))
        return told

    def moves(self) -> list[str]:
        return [line.data["to"] for line in self.of("run.moved")]

    def vote(self, id: str, by: str = "kim", vote: str = "approved", **more: Any) -> None:
        self.do(C.work(self.item(id), "vote", by, {"vote": vote, **more}))

    def news(self, name: str, payload: Any, id: str = "") -> None:
        self.do(C.signal(id, name, payload))

    def states(self) -> dict[str, str]:
        """The last word about every author's node."""
        return {id: status for id, status in self.settled() if "." not in id}

    def failure(self) -> tuple[str, str, str]:
        assert self.st.failure is not None
        return self.st.failure.code, self.st.failure.category, self.st.failure.node


def blocks() -> list[tuple[str, Any]]:
    """Every JSON block of the seed, with the number of its section."""
    return [(section, json.loads(text)) for section, text in _block_texts()]


@functools.cache
def _block_texts() -> list[tuple[str, str]]:
    section = ""
    found: list[tuple[str, str]] = []
    inside: list[str] | None = None
    for line in SEED.read_text(encoding="utf-8").splitlines():
        head = re.match(r"#{2,3} ([\d.]+)", line)
        if head and inside is None:
            section = head[1].rstrip(".")
        if inside is not None and line == "```":
            found.append((section, "\n".join(inside)))
            inside = None
        elif inside is not None:
            inside.append(line)
        elif line == "```json":
            inside = []
    return found


def seeds(section: str) -> list[Any]:
    return [json.loads(text) for number, text in _block_texts() if number == section]
