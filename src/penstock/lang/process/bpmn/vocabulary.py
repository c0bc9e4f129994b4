"""The vocabulary of BPMN 2.0 files: namespaces, elements, and what each of them is in a ProcessDefinition."""

from __future__ import annotations

BPMN = "http://www.omg.org/spec/BPMN/20100524/MODEL"
DI = "http://www.omg.org/spec/BPMN/20100524/DI"
DC = "http://www.omg.org/spec/DD/20100524/DC"
DD = "http://www.omg.org/spec/DD/20100524/DI"
XSI = "http://www.w3.org/2001/XMLSchema-instance"
#: The namespace of our extension element: JSON of the fields that BPMN has no element for.
PENSTOCK = "urn:penstock:bpmn:1"
STANDARD = {BPMN: "bpmn", DI: "bpmndi", DC: "dc", DD: "di", XSI: "xsi", PENSTOCK: "penstock"}
#: Vendors whose extensions are read where a ProcessDefinition has a field for them.
CAMUNDA = ("http://camunda.org/schema/1.0/bpmn", "http://activiti.org/bpmn", "http://flowable.org/bpmn",
           "http://operaton.org/schema/1.0/bpmn")  # fmt: skip
ZEEBE = "http://camunda.org/schema/zeebe/1.0"

TASKS = {
    "task": "humanTask", "userTask": "humanTask", "manualTask": "humanTask", "serviceTask": "serviceTask",
    "sendTask": "serviceTask", "receiveTask": "serviceTask", "businessRuleTask": "serviceTask",
    "scriptTask": "scriptTask", "subProcess": "subProcess", "callActivity": "subProcess",
    "transaction": "subProcess", "adHocSubProcess": "subProcess",
}  # fmt: skip
#: Activities that hold elements of their own.
SUB_PROCESSES = ("subProcess", "transaction", "adHocSubProcess")
TAGS = {"humanTask": "userTask", "serviceTask": "serviceTask", "scriptTask": "scriptTask", "subProcess": "subProcess"}
GATEWAYS = ("exclusiveGateway", "parallelGateway", "inclusiveGateway", "eventBasedGateway", "complexGateway")
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
#: Collection of a ProcessDefinition → root element of a file, and the attribute by which an event refers to it.
EVENT_DECLARATIONS = {
    "messages": ("message", "messageRef"), "signals": ("signal", "signalRef"), "errors": ("error", "errorRef"),
    "escalations": ("escalation", "escalationRef"),
}  # fmt: skip
REFERENCES = {"message": "messageRef", "signal": "signalRef", "error": "errorRef", "escalation": "escalationRef"}
#: Elements that are not run, and how a finding calls them.
UNSUPPORTED = {
    "choreographyTask": "choreography", "subChoreography": "choreography",
    "callChoreography": "choreography", "globalTask": "global task", "implicitThrowEvent": "implicit event",
    "event": "plain event",
}  # fmt: skip
#: Tasks beside the processes of a file, and the task of a process that each of them is where it is called.
GLOBAL_TASKS = {
    "globalTask": "task", "globalUserTask": "userTask", "globalManualTask": "manualTask",
    "globalScriptTask": "scriptTask", "globalBusinessRuleTask": "businessRuleTask",
}  # fmt: skip
#: Elements beside the processes of a file that run elsewhere, and how a finding calls them.
CALLABLE = {
    "globalTask": "global task", "globalUserTask": "global user task", "globalManualTask": "global manual task",
    "globalScriptTask": "global script task", "globalBusinessRuleTask": "global business rule task",
    "choreography": "choreography", "globalChoreographyTask": "choreography task", "conversation": "conversation",
}  # fmt: skip
_QUANTITIES = (
    ("startQuantity", "1", "not task that waits for several tokens"),
    ("completionQuantity", "1", "not task that puts several tokens"),
)
#: Element → attributes that change how it runs: name, value, and what the element then is; `not`: by any other value.
CHANGING_ATTRIBUTES: dict[str, tuple[tuple[str, str, str], ...]] = {
    **dict.fromkeys(TASKS, _QUANTITIES),
}
#: Elements that do not change how a process runs: kept as they are.
KEPT_ELEMENTS = (
    "textAnnotation", "association", "group", "dataObject", "dataObjectReference", "dataStoreReference", "property",
    "ioSpecification", "dataInputAssociation", "dataOutputAssociation", "auditing", "monitoring", "resourceRole",
    "performer", "potentialOwner", "humanPerformer", "correlationSubscription", "artifact",
)  # fmt: skip
