"""Every split with every join: which of the nine can always end, and for the others a way that the kernel goes, too."""

from __future__ import annotations

import json
from typing import Any

import pytest

from penstock.app.releases.rehearsal import counterexample, judge_levels, rehearse
from penstock.errors import DocumentInvalid
from penstock.lang.compile import check_document, compile_document
from penstock.net.soundness import verdict

X, O, A = "exclusiveGateway", "inclusiveGateway", "parallelGateway"  # noqa: E741
SOUND = {(X, X), (X, O), (O, O), (A, O), (A, A)}
PAIRS = [(split, join) for split in (X, O, A) for join in (X, O, A)]
WHY = {(X, A): "deadlock", (O, X): "improper end", (O, A): "deadlock", (A, X): "improper end"}


def pair(split: str, join: str) -> dict[str, Any]:
    ways = {"to_a": "amount > 10", "to_b": "urgent == true"} if split != A else {}
    names = {"s": "접수", "a": "수치 검증", "b": "분류", "e": "완료"}
    flows = [("in", "s", "g"), ("to_a", "g", "a"), ("to_b", "g", "b"), ("a_j", "a", "j"), ("b_j", "b", "j"),
             ("out", "j", "e")]  # fmt: skip
    return {
        "process_definition_id": "pair",
        "process_definition_name": f"{split} {join}",
        "activities": [{"id": id, "name": name, "type": "humanTask"} for id, name in names.items()],
        "gateways": [{"id": "g", "name": "갈림", "type": split, "conditions": ways},
                     {"id": "j", "name": "합류", "type": join}],
        "transitions": [{"id": id, "source": source, "target": target} for id, source, target in flows],
    }  # fmt: skip


def source(document: dict[str, Any]) -> bytes:
    return json.dumps(document, ensure_ascii=False).encode()


@pytest.mark.parametrize(("split", "join"), PAIRS)
def test_the_verdict(split: str, join: str) -> None:
    """P-3.4.4, P-X.10, P-X.12, P-X.33: nine pairs; what is not sound is refused, in the author's names, with place."""
    document = pair(split, join)
    found = [one for one in check_document(source(document), name="pair.json")[1] if one.rule == "unsound"]
    assert bool(found) == ((split, join) not in SOUND)
    if not found:
        compile_document(source(document), name="pair.json")
        return
    assert found[0].severity == "error" and found[0].hint and found[0].where.line > 0
    with pytest.raises(DocumentInvalid):
        compile_document(source(document), name="pair.json")
    taken = compile_document(source(document), name="pair.json", unsound=True)
    assert [one.severity for one in taken.findings if one.rule == "unsound"] == ["warning"]
    way = counterexample(taken.net)
    assert way.why == WHY[split, join] and way.trace
    gone = rehearse(taken.net, way)
    assert gone.shows, gone
    if way.why == "deadlock":
        assert (gone.code, gone.stuck) == ("DEADLOCK", ["j"]) and "«합류»" in found[0].message
    else:
        assert gone.ends == 2 and gone.fired.count("e") == 2


def nested(depth: int) -> dict[str, Any]:
    """Blocks in blocks: parallel, inclusive, exclusive in turn, two ways each."""
    activities: list[Any] = []
    gateways: list[Any] = []
    flows: list[tuple[str, str, str | None]] = []

    def block(level: int, name: str) -> tuple[str, str]:
        if level == 0:
            activities.append({"id": name, "name": name, "type": "humanTask"})
            return name, name
        kind = (A, O, X)[level % 3]
        gateways.extend({"id": f"{name}.{end}", "name": "", "type": kind} for end in ("split", "join"))
        for n in range(2):
            first, last = block(level - 1, f"{name}{n}")
            flows.append((f"{name}.split", first, None if kind == A else f"v{n} == true"))
            flows.append((last, f"{name}.join", None))
        return f"{name}.split", f"{name}.join"

    block(depth, "n")
    transitions: list[dict[str, Any]] = []
    for n, (start, end, condition) in enumerate(flows):
        guarded = {"condition": condition} if condition else {}
        transitions.append({"id": f"t{n}", "source": start, "target": end, **guarded})
    return {"process_definition_id": "deep", "process_definition_name": "deep", "activities": activities,
            "gateways": gateways, "transitions": transitions}  # fmt: skip


def test_nested_blocks_are_sound() -> None:
    """KERNEL 8, K21: 46 nodes of nested gateways are decided, with reductions and within the budget."""
    net = compile_document(source(nested(4)), name="deep.json").net
    assert len(net.nodes) >= 46 and verdict(net).status == "sound" and judge_levels(net) == []


def test_a_thousand_activities_are_released() -> None:
    """P-8.1: a long process is decided like a short one; what it costs is in `bench`."""
    activities = [{"id": f"a{i}", "name": f"a{i}", "type": "humanTask"} for i in range(1000)]
    flows = [{"id": f"t{i}", "source": f"a{i}", "target": f"a{i + 1}"} for i in range(999)]
    text = source({"process_definition_id": "long", "process_definition_name": "long", "activities": activities,
                   "transitions": flows})  # fmt: skip
    net = compile_document(text, name="long.json").net
    assert len(net.nodes) > 1000 and verdict(net).why == "reduced"
