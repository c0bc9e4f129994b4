"""The words of BPMN 2.0 files: namespaces, elements, and what each of them is in a ProcessDefinition."""

from __future__ import annotations

BPMN = "http://www.omg.org/spec/BPMN/20100524/MODEL"
DI = "http://www.omg.org/spec/BPMN/20100524/DI"
DC = "http://www.omg.org/spec/DD/20100524/DC"
DD = "http://www.omg.org/spec/DD/20100524/DI"
XSI = "http://www.w3.org/2001/XMLSchema-instance"
#: what of a ProcessDefinition BPMN has no element for, as JSON in an extension element of ours
OURS = "urn:penstock:bpmn:1"
STANDARD = {BPMN: "bpmn", DI: "bpmndi", DC: "dc", DD: "di", XSI: "xsi", OURS: "penstock"}
#: vendors whose extensions are read where there is a word for them
CAMUNDA = ("http://camunda.org/schema/1.0/bpmn", "http://activiti.org/bpmn", "http://flowable.org/bpmn",
           "http://operaton.org/schema/1.0/bpmn")  # fmt: skip
ZEEBE = "http://camunda.org/schema/zeebe/1.0"

TASKS = {
    "task": "humanTask", "userTask": "humanTask", "manualTask": "humanTask", "serviceTask": "serviceTask",
    "sendTask": "serviceTask", "receiveTask": "serviceTask", "businessRuleTask": "serviceTask",
    "scriptTask": "scriptTask", "subProcess": "subProcess", "callActivity": "subProcess",
}  # fmt: skip
TAGS = {"humanTask": "userTask", "serviceTask": "serviceTask", "scriptTask": "scriptTask", "subProcess": "subProcess"}
GATEWAYS = ("exclusiveGateway", "parallelGateway", "inclusiveGateway", "eventBasedGateway")
POSITIONS = {
    "startEvent": "start", "endEvent": "end", "intermediateCatchEvent": "catch", "intermediateThrowEvent": "throw",
    "boundaryEvent": "boundary",
}  # fmt: skip
EVENTS = {position: tag for tag, position in POSITIONS.items()}
TRIGGERS = {
    "timerEventDefinition": "timer", "messageEventDefinition": "message", "signalEventDefinition": "signal",
    "errorEventDefinition": "error", "escalationEventDefinition": "escalation",
    "compensateEventDefinition": "compensation", "terminateEventDefinition": "terminate",
    "conditionalEventDefinition": "conditional", "linkEventDefinition": "link", "cancelEventDefinition": "cancel",
}  # fmt: skip
DEFINITIONS = {trigger: tag for tag, trigger in TRIGGERS.items()}
#: collection of a ProcessDefinition → element at the top of a file, and how an event refers to it
NEWS = {
    "messages": ("message", "messageRef"), "signals": ("signal", "signalRef"), "errors": ("error", "errorRef"),
    "escalations": ("escalation", "escalationRef"),
}  # fmt: skip
REFERS = {"message": "messageRef", "signal": "signalRef", "error": "errorRef", "escalation": "escalationRef"}
#: elements that nobody runs, by the words in which they are refused
REFUSED = {
    "transaction": "transaction sub-process", "adHocSubProcess": "ad-hoc sub-process",
    "complexGateway": "complex gateway", "choreographyTask": "choreography", "subChoreography": "choreography",
    "callChoreography": "choreography", "globalTask": "global task", "implicitThrowEvent": "implicit event",
    "event": "plain event",
}  # fmt: skip
#: what is drawn beside a process and says nothing about how it runs: kept as it is
KEPT = (
    "textAnnotation", "association", "group", "dataObject", "dataObjectReference", "dataStoreReference", "property",
    "ioSpecification", "dataInputAssociation", "dataOutputAssociation", "auditing", "monitoring", "resourceRole",
    "performer", "potentialOwner", "humanPerformer", "correlationSubscription", "artifact",
)  # fmt: skip
