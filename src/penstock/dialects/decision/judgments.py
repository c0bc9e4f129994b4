"""Rows of judgments (C-52): verdicts of rules, models and people, from the facts that settle their firings."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any

import msgspec

from penstock.dialects.contract import ProjectedRun
from penstock.kernel.state import DONE, Firing
from penstock.net.compiled import Compiled
from penstock.store.run_store import Batch

_pack = msgspec.msgpack.Encoder().encode
_unpack = msgspec.msgpack.decode


@lru_cache(1024)
def judges(net: Compiled) -> Mapping[int, bool]:
    """The nodes whose answers are verdicts, by number; True: those of people who are asked instead."""
    executed = {n.no: False for n in net.nodes if n.effect is not None and n.effect.executor == "judgment"}
    return executed | {n.no: True for n in net.nodes if n.spec.type == "REVIEW" and n.spec.work is not None}


class Judgments:
    """The verdicts of one run."""

    def __init__(self, of: ProjectedRun) -> None:
        self.of = of

    def turn(self, facts: Iterable[Any], first: int, at: int, batch: Batch) -> None:
        """A verdict has no fact beside the one that settles its firing."""

    def settled(self, fact: Any, firing: Firing, at: int, batch: Batch) -> None:
        """The row of a verdict. A person's verdict takes the place of the one that was left to them, and names it as
        what was proposed."""
        net, resolve = self.of.net, self.of.resolve
        by_person = judges(net).get(firing.node)
        if by_person is None or fact[2] != DONE:
            return
        node = net.nodes[firing.node]
        output = resolve(fact[7])
        number, body = firing.no, {"input": None, "output": output}
        if by_person:
            output = {**output, "decided_by": "human"} if isinstance(output, dict) else output
            asked = firing.takes[0].envelope if firing.takes else None
            number = asked.firing if asked is not None else number
            kept = self._kept(number, batch)
            body = {**(_unpack(kept) if kept is not None else {}), "output": output}
            body["proposed"] = resolve(asked.body) if asked is not None else None
        else:
            args = firing.args if firing.args is not None or node.effect is None else node.effect.args
            body["input"] = _given(args if isinstance(args, dict) else {})
            if isinstance(fact[9], dict) and "llm" in fact[9]:
                body["llm"] = fact[9]["llm"]  # what the model has said, for replays with other rules
        verdict = output if isinstance(output, dict) else {}
        batch.judgment.append((
            self.of.id, number, self.of.tenant, net.net.name, node.spec.origin or node.id,
            str(verdict.get("decision") or "unknown"), int(verdict.get("needs_review") is True), _pack(body), at,
        ))  # fmt: skip

    def _kept(self, firing: int, batch: Batch) -> bytes | None:
        """What is kept of a judgment that a person decides."""
        for row in reversed(batch.judgment):
            if row[:2] == (self.of.id, firing):
                return bytes(row[7])
        stored = None if self.of.store is None else self.of.store.judgment(self.of.id, firing)
        return None if stored is None else stored.body


def _given(args: Mapping[str, Any]) -> Any:
    """What it was made from; nothing where the document does not want it written down."""
    audit = args.get("audit")
    if isinstance(audit, dict) and audit.get("log_input") is False:
        return None
    policy = args.get("policy")
    given = {"data": args.get("data"), "context": args.get("context")}
    return {**given, "policy": policy} if policy is not None else given
