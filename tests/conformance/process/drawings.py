"""Drawings as people bring them: not complete, in one pool or two."""

from __future__ import annotations

from collections.abc import Iterable

HEAD = (
    '<?xml version="1.0" encoding="UTF-8"?>\n'
    '<definitions xmlns="http://www.omg.org/spec/BPMN/20100524/MODEL" id="file" targetNamespace="urn:drawn">\n'
)


def flow(id: str, source: str, target: str, name: str = "") -> str:
    named = f' name="{name}"' if name else ""
    return f'<sequenceFlow id="{id}"{named} sourceRef="{source}" targetRef="{target}"/>'


def decided(id: str = "order", *, name: str = "주문 처리", more: str = "", gateway: str = "stock") -> str:
    """One pool: a step, a gateway without conditions, two ways, and nothing that says which."""
    parts = (
        '<startEvent id="s"/><userTask id="look" name="주문 확인"/>',
        f'<exclusiveGateway id="{gateway}" name="재고 있음?"/>',
        '<userTask id="ship" name="발송"/><userTask id="buy" name="발주"/><endEvent id="e"/>',
        flow("f1", "s", "look"), flow("f2", "look", gateway), flow("f3", gateway, "ship", "예"),
        flow("f4", gateway, "buy", "아니오"), flow("f5", "ship", "e"), flow("f6", "buy", "e"), more,
    )  # fmt: skip
    return file(f'<process id="{id}" name="{name}">{"".join(parts)}</process>')


def waiting(id: str = "wait", *, steps: Iterable[str] = ()) -> str:
    """A timer without a value, which nothing can be proposed for."""
    parts = (
        '<startEvent id="s"/><userTask id="ask" name="Ask"/>',
        '<intermediateCatchEvent id="later" name="Later"><timerEventDefinition/></intermediateCatchEvent>',
        '<endEvent id="e"/>', flow("f1", "s", "ask"), flow("f2", "ask", "later"), flow("f3", "later", "e"), *steps,
    )  # fmt: skip
    return file(f'<process id="{id}" name="Waiting">{"".join(parts)}</process>')


def calling(caller: str = "outer", called: str = "inner", *, step: str = "일") -> str:
    """Two processes in one file, of which the first calls the second."""
    outer = (
        f'<startEvent id="s"/><callActivity id="call" name="부름" calledElement="{called}"/><endEvent id="e"/>'
        f"{flow('f1', 's', 'call')}{flow('f2', 'call', 'e')}"
    )
    inner = (
        f'<startEvent id="s2"/><userTask id="do" name="{step}"/><endEvent id="e2"/>'
        f"{flow('g1', 's2', 'do')}{flow('g2', 'do', 'e2')}"
    )
    return file(f'<process id="{caller}" name="밖">{outer}</process><process id="{called}" name="안">{inner}</process>')


def file(body: str) -> str:
    return f"{HEAD}{body}\n</definitions>\n"
