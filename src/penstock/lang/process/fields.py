"""The fields of a ProcessDefinition: P-2.2 word for word, and beside it what BPMN files have more.

What P-2.2 does not name may be left out; a document without any of it means what the seed says.
"""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal

from msgspec import Meta

from penstock.lang.fields import Fields
from penstock.lang.process import limits

AgentMode = Literal["AUTONOMOUS", "SUPERVISED", "MANUAL"]
ActivityType = Literal["humanTask", "serviceTask", "scriptTask", "subProcess"]
GatewayType = Literal[
    "exclusiveGateway", "parallelGateway", "inclusiveGateway", "eventBasedGateway", "complexGateway",
]  # fmt: skip
#: Gateways that take several ways by their conditions, and all that choose by conditions.
SEVERAL_WAYS = ("inclusiveGateway", "complexGateway")
CHOOSING = ("exclusiveGateway", *SEVERAL_WAYS)
DataType = Literal["sql", "db", "api", "file"]
DefinitionType = Literal["mega", "major", "base", "sub", "discovered"]
Tag = Literal[
    "task", "userTask", "manualTask", "serviceTask", "scriptTask", "sendTask", "receiveTask", "businessRuleTask",
    "subProcess", "callActivity", "transaction", "adHocSubProcess",
]  # fmt: skip
Position = Literal["start", "end", "catch", "throw", "boundary"]
SingleTrigger = Literal["timer", "message", "signal", "conditional", "error", "escalation", "compensation", "terminate"]
EventTrigger = Literal[
    "none", "timer", "message", "signal", "conditional", "error", "escalation", "compensation", "terminate", "cancel",
    "link", "multiple", "parallelMultiple",
]  # fmt: skip
#: P-X.13: how a role's work is assigned, where no name says it.
ASSIGNMENT_RULES = ("round_robin", "least_loaded", "initiator")
Name = Annotated[str, Meta(max_length=limits.NAME)]
Id = Annotated[str, Meta(max_length=limits.ID)]
Seconds = Annotated[float, Meta(gt=0, le=limits.SECONDS)]
#: an ISO 8601 duration, or seconds, or ${an expression that gives seconds}
Duration = str | Seconds


class ProcessData(Fields):
    """P-2.2.4: a source of data that a process uses."""

    name: Annotated[Name, Meta(description="The name under which it is read or written.")] = ""
    type: Annotated[DataType | None, Meta(description="What kind of source it is.")] = None
    source: Annotated[str, Meta(description="A connection, then # and its table, statement or path.")] = ""
    fields: Annotated[list[str], Meta(description="Only these columns; none listed means all.")] = []

    REQUIRED: ClassVar[tuple[str, ...]] = ("name", "type", "source")


class DataUse(ProcessData):
    """The same where it is read or written: in full, or by its name under `data` of the process."""

    REQUIRED: ClassVar[tuple[str, ...]] = ("name",)


class ProcessRole(Fields):
    """P-2.2.5, P-X.13."""

    name: Name = ""
    id: Id = ""
    assignment_rule: Annotated[
        str | None, Meta(description="round_robin, least_loaded, initiator, user:ID or role:NAME.")
    ] = None

    REQUIRED: ClassVar[tuple[str, ...]] = ("name", "id")


class Compensation(Fields):
    """P-X.18: a tool that undoes, with its parameters; without them it gets the activity's result."""

    tool: str = ""
    params: dict[str, Any] | None = None
    timeout: Annotated[Seconds, Meta(description="Seconds one attempt may take.")] = 30
    retry: Annotated[dict[str, Any] | None, Meta(description="{max, backoff_ms}; none by default.")] = None

    REQUIRED: ClassVar[tuple[str, ...]] = ("tool",)


class Multi(Fields):
    """Several instances of one activity: for every item, so many times, or as long as a condition holds."""

    mode: Literal["parallel", "sequential", "loop"] = "parallel"
    items: Annotated[str | None, Meta(description="An expression that gives a list.")] = None
    count: Annotated[str | int | None, Meta(description="How many, or an expression that says it.")] = None
    ask: Annotated[str, Meta(description="Who is asked how many: previous, initiator, anyone, role:NAME …")] = ""
    item: Annotated[str, Meta(description="The name of an instance's item, also in sub-processes.")] = ""
    until: Annotated[
        str | None, Meta(description="Completion condition over nrOfInstances, nrOfCompletedInstances and the like.")
    ] = None
    again: Annotated[str | None, Meta(description="loop: another round while it holds.")] = None
    test_before: Annotated[bool, Meta(description="loop: `again` is asked before the first round, too.")] = False
    most: Annotated[int, Meta(ge=1, le=limits.COUNT, description="loop: at most so many rounds.")] | None = None
    collect: Annotated[str, Meta(description="The variable that gets the list of all results.")] = ""
    output: Annotated[
        str | None, Meta(description="What is collected of each: an expression over its result; all of it by default.")
    ] = None


class AdHoc(Fields):
    """An ad-hoc sub-process: somebody chooses which of its steps come next, as often as they like."""

    ordering: Annotated[
        Literal["parallel", "sequential"], Meta(description="Several steps at a time, or one after the other.")
    ] = "parallel"
    until: Annotated[str | None, Meta(description="It is complete when this holds after one of its activities.")] = None
    cancel_remaining: Annotated[
        bool, Meta(description="parallel: what is still open is ended when it is complete; else it is waited for.")
    ] = True
    steps: Annotated[
        str | None, Meta(description="An expression that gives the ids of the steps to do: then nobody is asked.")
    ] = None


class Orchestration(Fields):
    """What only an agent, a call or an approval needs; other members are handed to the agent as they are."""

    OPEN: ClassVar[bool] = True

    sub_process: Annotated[str | None, Meta(description="The definition that is called, by id or name.")] = None
    version: Annotated[int, Meta(ge=1)] | None = None
    input: Annotated[
        dict[str, Any] | None, Meta(description="What it is started with; ${…} is an expression here.")
    ] = None
    output: Annotated[dict[str, str] | None, Meta(description="Name here → variable of the called process.")] = None
    timeout_s: Annotated[Seconds, Meta(description="Seconds an agent may take.")] = 300
    tokens: Annotated[int, Meta(ge=1, description="Tokens an agent may use.")] | None = None
    tools: Annotated[list[str], Meta(description="The tools an agent may use.")] = []
    approvers: Annotated[list[str], Meta(description="Who may approve: user:ID, role:NAME.")] = []


class ActivityFields(Fields):
    """P-2.2.6, and what BPMN's tasks have more."""

    name: Name = ""
    id: Id = ""
    type: ActivityType | None = None
    instruction: Annotated[str, Meta(description="What an agent, or a person, is told to do.")] = ""
    input_data: list[DataUse] = []
    output_data: list[DataUse] = []
    python_code: Annotated[str | None, Meta(description="scriptTask only.")] = None
    agent: Annotated[str | None, Meta(description="The agent's id.")] = None
    agent_mode: AgentMode = "MANUAL"
    orchestration: Annotated[
        dict[str, Any] | None, Meta(description="Settings of the agent, the call or the approval; see Orchestration.")
    ] = None
    compensation: Annotated[
        str | dict[str, Any] | None, Meta(description="What undoes it: an activity's id, a tool, or {tool, params}.")
    ] = None
    role: Annotated[str | None, Meta(description="The role whose work it is: its id, its name, or a lane.")] = None
    candidates: Annotated[
        list[str] | None,
        Meta(description="Who may do it, instead of `role`: user:ID, role:NAME, group:NAME, user:${a variable}."),
    ] = None
    bpmn: Annotated[Tag | None, Meta(description="The BPMN element it was read from.")] = None
    global_task: Annotated[str, Meta(description="The task of a file that a call activity called.")] = ""
    parent: Annotated[str, Meta(description="The sub-process it lies in.")] = ""
    form: Annotated[dict[str, Any] | None, Meta(description="JSON Schema of the result.")] = None
    form_key: Annotated[str, Meta(description="The form by a modeler's own name; it lies elsewhere.")] = ""
    multi: Multi | None = None
    message: Annotated[str, Meta(description="sendTask, receiveTask: the message's name.")] = ""
    signal: Annotated[str, Meta(description="sendTask, receiveTask: the signal's name.")] = ""
    correlation: Annotated[dict[str, Any] | None, Meta(description="Member of the message → its value.")] = None
    payload: Annotated[Any, Meta(description="sendTask: what is sent; all variables by default.")] = None
    instantiate: Annotated[bool, Meta(description="receiveTask: its message begins the process.")] = False
    receives: Annotated[list[str], Meta(description="Names of messages that it needs before it begins.")] = []
    sends: Annotated[list[str], Meta(description="Names of messages that are sent when it is done.")] = []
    replies: Annotated[list[str], Meta(description="Names of messages that it waits for after it has sent.")] = []
    answered_by: Annotated[
        list[str], Meta(description="receiveTask: people who may give the message: user:ID, role:NAME.")
    ] = []
    rule_pack: Annotated[str, Meta(description="businessRuleTask: the rule pack of the registry.")] = ""
    decision: Annotated[str, Meta(description="businessRuleTask: the same as rule_pack.")] = ""
    tool: Annotated[str, Meta(description="The tool that does it: no person, and no agent.")] = ""
    params: Annotated[
        dict[str, Any] | None, Meta(description="What tool, job or person is given: else all variables, a person none.")
    ] = None
    job: Annotated[str, Meta(description="The type of a job that an outside worker does: a text, ${…} or =FEEL.")] = ""
    job_retries: Annotated[
        Annotated[int, Meta(ge=0, le=limits.RETRIES)] | str,
        Meta(description="job: how often it is tried before an operator must look at it, or ${an expression}."),
    ] = limits.JOB_RETRIES
    job_headers: Annotated[dict[str, str], Meta(description="job: fixed texts that its worker is given.")] = {}
    outputs: Annotated[
        dict[str, Any] | None,
        Meta(description="Variable → ${expression over the result}; all members of the result by default."),
    ] = None
    computes: Annotated[
        dict[str, Any] | None, Meta(description="Variable → ${expression}: nothing else is done, and nobody does it.")
    ] = None
    due: Annotated[
        Duration | None, Meta(description="When it should be done: a duration, a date, or ${an expression}.")
    ] = None
    escalate_to: Annotated[list[str], Meta(description="Who gets it when it is due: user:ID, role:NAME.")] = []
    priority: Literal["high", "normal", "low"] = "normal"
    is_for_compensation: bool = False
    triggered_by_event: bool = False
    ad_hoc: Annotated[AdHoc | None, Meta(description="adHocSubProcess: in which order, and until when.")] = None
    method: Annotated[
        str, Meta(description="transaction: the protocol of a cancel, as drawn; here what was done is compensated.")
    ] = ""
    default: Annotated[str, Meta(description="The transition taken when no condition holds.")] = ""
    documentation: str = ""

    REQUIRED: ClassVar[tuple[str, ...]] = ("name", "id", "type")


class Ask(Fields):
    """A person says which way is taken; `who` is previous: whoever did what comes before, else the initiator."""

    who: Annotated[str, Meta(description="previous, initiator, anyone, user:ID, role:NAME or group:NAME.")] = "previous"
    choices: Annotated[dict[str, str], Meta(description="Transition → the word by which it is chosen.")] = {}


class GatewayFields(Fields):
    """P-2.2.7, P-X.9, P-X.10."""

    id: Id = ""
    name: Name = ""
    type: GatewayType | None = None
    conditions: Annotated[dict[str, Any], Meta(description="Transition → condition; `default` → transition.")] = {}
    default: Annotated[str, Meta(description="The transition taken when no condition holds.")] = ""
    ask: Annotated[Ask | None, Meta(description="A person chooses the way, and no condition is asked.")] = None
    instantiate: Annotated[bool, Meta(description="eventBasedGateway: its events begin the process.")] = False
    count: Annotated[
        Annotated[int, Meta(ge=1, le=limits.COUNT)] | None,
        Meta(description="complexGateway: so many of the ways into it are waited for."),
    ] = None
    activation: Annotated[str, Meta(description="complexGateway: the same as BPMN says it: activationCount >= 2.")] = ""
    all_events: Annotated[bool, Meta(description="eventBasedGateway: all of its events are waited for.")] = False
    parent: str = ""
    documentation: str = ""

    REQUIRED: ClassVar[tuple[str, ...]] = ("id", "type")


class TransitionFields(Fields):
    """P-2.2.8."""

    id: Id = ""
    source: str = ""
    target: str = ""
    condition: str | None = None
    name: Name = ""
    documentation: str = ""

    REQUIRED: ClassVar[tuple[str, ...]] = ("id", "source", "target")


class TimerFields(Fields):
    """One of date, duration and cycle. What follows them is for the start event of a process."""

    date: Annotated[str | None, Meta(description="A moment: ISO 8601, or ${an expression}.")] = None
    duration: Annotated[Duration | None, Meta(description="ISO 8601 duration, seconds, or ${either of them}.")] = None
    cycle: Annotated[
        str | None, Meta(description="R3/PT10M: every ten minutes, three times; at the start cron, too.")
    ] = None
    timezone: Annotated[str, Meta(description="IANA name; the tenant's by default.")] = ""
    overlap: Annotated[
        Literal["allow", "skip", "queue"], Meta(description="What happens while the last instance goes on.")
    ] = "allow"
    catch_up: Annotated[
        Literal["one", "all", "none"], Meta(description="What becomes of times that nobody was there for.")
    ] = "one"


class EventTriggerFields(Fields):
    """One of several things that an event waits for, or sends; its fields are those of an event."""

    trigger: SingleTrigger | None = None
    timer: TimerFields | None = None
    condition: str = ""
    message: str = ""
    signal: str = ""
    code: str = ""
    name_ref: str = ""
    correlation: dict[str, Any] | None = None
    payload: Any = None
    activity: str = ""
    wait_for_completion: bool = True

    REQUIRED: ClassVar[tuple[str, ...]] = ("trigger",)


class EventFields(Fields):
    id: Id = ""
    name: Name = ""
    position: Position | None = None
    trigger: EventTrigger = "none"
    attached_to: Annotated[str, Meta(description="boundary: the activity it belongs to.")] = ""
    interrupting: bool = True
    timer: TimerFields | None = None
    condition: Annotated[str, Meta(description="conditional: it comes as soon as this holds.")] = ""
    link: Annotated[str, Meta(description="link: its name, which the other end has, too; else the event's own.")] = ""
    triggers: Annotated[
        list[EventTriggerFields], Meta(description="multiple: any of these; parallelMultiple: all; thrown: each.")
    ] = []
    message: str = ""
    signal: str = ""
    code: Annotated[str, Meta(description="error, escalation: its code; empty catches every one.")] = ""
    name_ref: Annotated[str, Meta(description="Id of an entry of messages, signals, errors, escalations.")] = ""
    correlation: Annotated[dict[str, Any] | None, Meta(description="Member of the news → its value.")] = None
    payload: Annotated[
        Any, Meta(description="throw, end: what is sent, all variables by default; timer at the start: the input.")
    ] = None
    activity: Annotated[str, Meta(description="compensation: only this activity; boundary: the handler.")] = ""
    wait_for_completion: Annotated[
        bool, Meta(description="compensation: its path goes on only when everything is undone.")
    ] = True
    answered_by: Annotated[
        list[str], Meta(description="catch: people who may give the message: user:ID, role:NAME.")
    ] = []
    parent: str = ""
    documentation: str = ""

    REQUIRED: ClassVar[tuple[str, ...]] = ("id", "position")


class LaneFields(Fields):
    id: Id = ""
    name: Name = ""
    role: str = ""
    parent: str = ""
    elements: list[str] = []

    REQUIRED: ClassVar[tuple[str, ...]] = ("id",)


class PoolFields(Fields):
    id: Id = ""
    name: Name = ""
    process: str = ""
    part: Annotated[
        Literal["", "definition", "outside"], Meta(description="What it is here: a definition, or somebody outside.")
    ] = ""
    answered_by: Annotated[list[str], Meta(description="outside: who answers for it, beside programs.")] = []


class NewsFields(Fields):
    """A message, signal, error or escalation that events name by its id."""

    id: Id = ""
    name: Name = ""
    code: str = ""


class UnsupportedFields(Fields):
    """An element that the reader of a BPMN file has met and that cannot be run."""

    element: str = ""
    id: str = ""
    name: str = ""


class LeftOutFields(Fields):
    """What the reader of a BPMN file has met and not imported, although the rest can be run."""

    what: str = ""
    id: str = ""
    name: str = ""
    why: str = ""


class TopFields(Fields):
    """P-2.2.9 without its collections."""

    schema: str = ""
    process_definition_id: Id = ""
    process_definition_name: Name = ""
    description: str = ""
    version: Annotated[int, Meta(ge=1, le=limits.COUNT)] = 1
    tenant_id: Annotated[str, Meta(max_length=50)] = ""
    type: Annotated[DefinitionType, Meta(description="mega and major hold others and are not started.")] = "base"
    parent_id: Annotated[str, Meta(description="The definition one level above.")] = ""
    source_event_log_id: Annotated[str, Meta(description="discovered: the event log it comes from.")] = ""
    starters: Annotated[
        list[str] | None,
        Meta(
            description="Who may start it by hand: user:ID, role:NAME, group:NAME. Anybody who may, where it is absent."
        ),
    ] = None
    conversation: Annotated[
        Name, Meta(description="Variable by which instances of several pools know each other; else the instance's id.")
    ] = ""
    documentation: str = ""
    diagram: Annotated[dict[str, Any] | None, Meta(description="Where shapes and flows are drawn.")] = None
    extensions: Annotated[dict[str, Any], Meta(description="A modeler's own extension elements, as they were.")] = {}

    ALIASES: ClassVar[dict[str, str]] = {"$schema": "schema"}
    REQUIRED: ClassVar[tuple[str, ...]] = ("process_definition_id", "process_definition_name")


#: collection → what an entry of it is
COLLECTIONS: dict[str, type[Fields]] = {
    "data": ProcessData, "roles": ProcessRole, "activities": ActivityFields, "gateways": GatewayFields,
    "transitions": TransitionFields, "events": EventFields, "lanes": LaneFields, "pools": PoolFields,
    "messages": NewsFields, "signals": NewsFields, "errors": NewsFields, "escalations": NewsFields,
    "unsupported": UnsupportedFields, "left_out": LeftOutFields,
}  # fmt: skip
