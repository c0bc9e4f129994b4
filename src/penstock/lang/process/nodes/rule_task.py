"""businessRuleTask: a rule pack of the registry decides; its verdict is the result."""

from __future__ import annotations

from penstock.lang.process.lowering_context import LoweringContext
from penstock.lang.process.nodes.activities import VARIABLES, work_item_fragment
from penstock.lang.process.nodes.contract import ElementType, Fragment, activity_fields
from penstock.net.model import Effect


def lower(context: LoweringContext) -> Fragment:
    f = activity_fields(context)
    pack = f.rule_pack or f.decision
    if not pack:
        hint = 'Write `"rule_pack": "…"`: the id of a rule pack of the registry.'
        context.error("missing_field", "A businessRuleTask needs «rule_pack».", hint=hint)
    else:
        context.shared.dependencies.append(("rule_pack", pack, context.at("rule_pack" if f.rule_pack else "decision")))
    args = {"policy": {"type": "RULE_ONLY", "rule_pack_id": pack}, "data": VARIABLES}
    return work_item_fragment(context, Effect(executor="judgment", args=args), agent=True)


RULE_TASK = ElementType("businessRuleTask", lower, "Rules of the registry decide.", work=True)
