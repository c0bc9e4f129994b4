"""The element types of a process, one line each."""

from __future__ import annotations

from penstock.lang.process.graph import ProcessGraph
from penstock.lang.process.nodes import (
    ad_hoc,
    complex_gateway,
    events,
    gateways,
    messages,
    rule_task,
    script_task,
    sub_process,
    tasks,
    transaction,
)
from penstock.lang.process.nodes.contract import ElementType, Fragment
from penstock.lang.process.schema import Element

ELEMENT_TYPES: dict[str, ElementType] = {
    type.name: type
    for type in (
        tasks.HUMAN_TASK, tasks.SERVICE_TASK, script_task.SCRIPT_TASK, rule_task.RULE_TASK, messages.SEND_TASK,
        messages.RECEIVE_TASK, sub_process.EMBEDDED, transaction.TRANSACTION, ad_hoc.AD_HOC, sub_process.CALL_ACTIVITY,
        gateways.EXCLUSIVE, gateways.PARALLEL, gateways.INCLUSIVE_GATEWAY, complex_gateway.COMPLEX,
        gateways.EVENT_BASED, events.START, events.END, events.CATCH, events.THROW, events.BOUNDARY,
    )
}  # fmt: skip
#: BPMN tags that are a type of their own; other tags only say how the element is drawn.
_TAGGED = ("sendTask", "receiveTask", "businessRuleTask")


def type_of(element: Element, graph: ProcessGraph) -> ElementType:
    if element.event is not None:
        return ELEMENT_TYPES[f"{element.event.position}Event"]
    if element.gateway is not None:
        return ELEMENT_TYPES[str(element.gateway.type)]
    activity = element.activity
    assert activity is not None
    if activity.type == "subProcess":
        if not graph.is_embedded(element):
            return ELEMENT_TYPES["callActivity"]
        if graph.is_ad_hoc(element.id):
            return ELEMENT_TYPES["adHocSubProcess"]
        return ELEMENT_TYPES["transaction" if graph.is_transaction(element.id) else "subProcess"]
    if activity.computes is not None:
        return ELEMENT_TYPES["scriptTask"]
    if (activity.tool or activity.job) and activity.type != "humanTask" and activity.bpmn != "receiveTask":
        return ELEMENT_TYPES["serviceTask"]
    return ELEMENT_TYPES[str(activity.bpmn if activity.bpmn in _TAGGED else activity.type)]


__all__ = ["ELEMENT_TYPES", "ElementType", "Fragment", "type_of"]
