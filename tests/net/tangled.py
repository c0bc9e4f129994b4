"""BPMN of a few kilobytes with more markings than anybody looks at."""

from __future__ import annotations


def tangled(branches: int, levels: int = 0) -> str:
    """Loops side by side, each behind an inclusive join; `levels`: so many sub-processes of them, one after another."""
    if not levels:
        return _document(_loops("", branches))
    ids = ["s", *(f"sub{n}" for n in range(levels)), "e"]
    flows = "".join(_flow(f"w{n}", a, b) for n, (a, b) in enumerate(zip(ids, ids[1:], strict=False)))
    subs = "".join(f'<subProcess id="sub{n}">{_loops(f"l{n}_", branches)}</subProcess>' for n in range(levels))
    return _document(f'<startEvent id="s"/>{subs}<endEvent id="e"/>{flows}')


def _document(inner: str) -> str:
    return (
        '<definitions xmlns="http://www.omg.org/spec/BPMN/20100524/MODEL" targetNamespace="x">'
        f'<process id="tangled" isExecutable="true">{inner}</process></definitions>'
    )


def _loops(begin: str, branches: int) -> str:
    nodes = [("startEvent", "s"), ("parallelGateway", "p"), ("parallelGateway", "j"), ("endEvent", "e")]
    ways = [("s", "p"), ("j", "e")]
    for n in range(branches):
        nodes += [("exclusiveGateway", f"m{n}"), ("userTask", f"a{n}"), ("exclusiveGateway", f"x{n}")]
        nodes += [("inclusiveGateway", f"o{n}")]
        ways += [("p", f"m{n}"), (f"m{n}", f"a{n}"), (f"a{n}", f"x{n}"), (f"x{n}", f"m{n}"), (f"x{n}", f"o{n}")]
        ways += [(f"o{n}", "j")]
    drawn = "".join(f'<{kind} id="{begin}{id}"/>' for kind, id in nodes)
    return drawn + "".join(
        _flow(f"{begin}f{n}", f"{begin}{a}", f"{begin}{b}", "${v == 1}" if a[0] == "x" else "")
        for n, (a, b) in enumerate(ways)
    )


def _flow(id: str, source: str, target: str, condition: str = "") -> str:
    inner = f"<conditionExpression>{condition}</conditionExpression>" if condition else ""
    return f'<sequenceFlow id="{id}" sourceRef="{source}" targetRef="{target}">{inner}</sequenceFlow>'
