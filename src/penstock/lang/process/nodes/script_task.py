"""scriptTask (P-X.17): Python in the sandbox, always by the engine; variables in, the dict `result` out."""

from __future__ import annotations

from typing import Any

from penstock.lang.process.lowering_context import LoweringContext
from penstock.lang.process.nodes.contract import ElementType, Fragment
from penstock.lang.process.nodes.parts import VARIABLES, activity_of, work_of
from penstock.net.model import Effect

#: seconds
TIME_LIMIT = 30


def lower(site: LoweringContext) -> Fragment:
    return work_of(site, Effect(executor="code", args=code_args(site)), agent=True)


def code_args(site: LoweringContext) -> dict[str, Any]:
    f = activity_of(site)
    if not (f.python_code or "").strip():
        hint = 'Write `"python_code": "result = {\'total\': amount * 2}"`.'
        site.error("missing_field", "A scriptTask needs «python_code».", hint=hint)
    given = "timeout_s" in (f.orchestration or {})
    limit = site.element.orchestration.timeout_s if given else TIME_LIMIT
    return {"language": "python", "code": f.python_code or "", "timeout": limit, "inputs": VARIABLES}


SCRIPT_TASK = ElementType("scriptTask", lower, "Runs Python in the sandbox.", work=True)
