"""Random BPMN with exclusive and parallel gateways, written as text by this file alone."""

from __future__ import annotations

import random
from dataclasses import dataclass, field

_HEAD = '<definitions xmlns="http://www.omg.org/spec/BPMN/20100524/MODEL" targetNamespace="urn:tests" id="d">'


@dataclass
class RandomDrawing:
    """Elements by id and flows between them; only gateways have several flows in or several out."""

    rng: random.Random
    elements: dict[str, str] = field(default_factory=dict)
    flows: list[tuple[str, str]] = field(default_factory=list)

    def new(self, tag: str) -> str:
        id = f"{tag[0]}{len(self.elements)}"
        self.elements[id] = tag
        return id

    def gateway(self) -> str:
        return self.rng.choice(("exclusiveGateway", "parallelGateway"))

    def bpmn(self) -> str:
        counted = {id: sum(1 for source, _ in self.flows if source == id) for id in self.elements}
        lines = [f'<{tag} id="{id}" name="{id}"/>' for id, tag in self.elements.items()]
        for number, (source, target) in enumerate(self.flows):
            choice = self.elements[source] == "exclusiveGateway" and counted[source] > 1
            asked = f"<conditionExpression>${{v{number} == 1}}</conditionExpression>" if choice else ""
            ends = f'sourceRef="{source}" targetRef="{target}"'
            lines.append(f'<sequenceFlow id="f{number}" {ends}>{asked}</sequenceFlow>')
        return f'{_HEAD}<process id="random" isExecutable="true">{"".join(lines)}</process></definitions>'


def block_drawing(seed: int) -> RandomDrawing:
    """Blocks in blocks and loops, in one of three some gateways exchanged for the other kind."""
    drawing = RandomDrawing(random.Random(f"block {seed}"))
    rng = drawing.rng

    def block(depth: int) -> tuple[str, str]:
        kind = rng.choice(["task", "sequence", "fork", "choice", "loop"] if depth else ["task"])
        if kind == "task":
            id = drawing.new("userTask")
            return id, id
        if kind == "sequence":
            (first, end), (begin, last) = block(depth - 1), block(depth - 1)
            drawing.flows.append((end, begin))
            return first, last
        tag = "parallelGateway" if kind == "fork" else "exclusiveGateway"
        opening, closing = drawing.new(tag), drawing.new(tag)
        if kind == "loop":
            first, last = block(depth - 1)
            drawing.flows += [(opening, first), (last, closing), (closing, opening)]
            return opening, closing
        for _ in range(rng.choice((2, 3))):
            first, last = block(depth - 1)
            drawing.flows += [(opening, first), (last, closing)]
        return opening, closing

    start, (first, last), end = drawing.new("startEvent"), block(rng.choice((2, 3))), drawing.new("endEvent")
    drawing.flows += [(start, first), (last, end)]
    gateways = [id for id, tag in drawing.elements.items() if tag.endswith("Gateway")]
    for id in rng.sample(gateways, min(len(gateways), rng.choice((0, 0, 1, 2)))):
        drawing.elements[id] = drawing.gateway()
    return drawing


def free_drawing(seed: int) -> RandomDrawing:
    """A chain into which ways from anywhere to anywhere are laid, each between two new gateways of any kind."""
    drawing = RandomDrawing(random.Random(f"free {seed}"))
    rng = drawing.rng
    chain = [drawing.new("startEvent"), *(drawing.new("userTask") for _ in range(rng.choice((2, 3)))),
             drawing.new("endEvent")]  # fmt: skip
    drawing.flows = list(zip(chain, chain[1:], strict=False))
    for _ in range(rng.choice((1, 2, 2, 3, 4))):
        kind = drawing.gateway()
        split = _inserted(drawing, kind)
        join = _inserted(drawing, kind if rng.random() < 0.7 else drawing.gateway())
        between = drawing.new("userTask")
        drawing.flows += [(split, between), (between, join)]
    return drawing


def _inserted(drawing: RandomDrawing, tag: str) -> str:
    """A new gateway in the middle of a random flow."""
    at = drawing.rng.randrange(len(drawing.flows))
    source, target = drawing.flows[at]
    id = drawing.new(tag)
    drawing.flows[at : at + 1] = [(source, id), (id, target)]
    return id
