"""Drawings in the shapes that modelers export: twelve modelers, each with its own words, times what people draw."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from xml.sax.saxutils import escape, quoteattr

BPMN = "http://www.omg.org/spec/BPMN/20100524/MODEL"
DI = "http://www.omg.org/spec/BPMN/20100524/DI"
DC = "http://www.omg.org/spec/DD/20100524/DC"
DD = "http://www.omg.org/spec/DD/20100524/DI"
XSI = "http://www.w3.org/2001/XMLSchema-instance"
SIZES = {"Event": (36, 36), "Gateway": (50, 50), "ubProcess": (350, 200), "transaction": (350, 200)}
#: how elements end that have a shape
DRAWN = ("Task", "Event", "Gateway", "task", "rocess", "Activity", "transaction", "Reference", "participant", "lane",
         "textAnnotation", "group")  # fmt: skip


@dataclass
class Node:
    """An element before a modeler has written it: `tag` without a prefix is BPMN's, else `bpmndi:`, `dc:` …"""

    tag: str
    given: dict[str, str] = field(default_factory=dict)
    inner: list[Node | str] = field(default_factory=list)

    def all(self) -> Iterator[Node]:
        yield self
        for child in self.inner:
            if isinstance(child, Node):
                yield from child.all()


def n(tag: str, *inner: Node | str, **given: str) -> Node:
    return Node(tag, {name.rstrip("_"): value for name, value in given.items()}, list(inner))


def flow(source: str, target: str, name: str = "", *inner: Node) -> Node:
    named = {"name": name} if name else {}
    return n("sequenceFlow", *inner, id=f"{source}_{target}", **named, sourceRef=source, targetRef=target)


def text(tag: str, content: str = "") -> Node:
    return n(tag, content) if content else n(tag)


# ---- what people draw ------------------------------------------------------------------------------------------------


def gateway_without_conditions() -> list[Node]:
    return [n(
        "process", n("startEvent", id="s", name="Order came"), n("userTask", id="look", name="Look at it & decide"),
        n("exclusiveGateway", id="g", name="In stock?"), n("task", id="send", name="Send"),
        n("manualTask", id="buy", name="Buy <more>"), n("endEvent", id="e"),
        flow("s", "look"), flow("look", "g"), flow("g", "send", "yes"), flow("g", "buy", "no"), flow("send", "e"),
        flow("buy", "e"), id="order", name="Order", isExecutable="false",
    )]  # fmt: skip


def two_pools() -> list[Node]:
    return [
        n("message", id="m", name="Order"),
        n("collaboration", n("participant", id="shop", name="Shop", processRef="sell"),
          n("participant", id="buyer", name="Buyer", processRef="purchase"),
          n("messageFlow", id="mf1", name="order", sourceRef="ask", targetRef="got"),
          n("messageFlow", id="mf2", sourceRef="give", targetRef="take"), id="c"),
        n("process", n("startEvent", n("messageEventDefinition", id="got_d", messageRef="m"), id="got", name="Order"),
          n("sendTask", id="give", name="Give"), n("endEvent", id="sold"), flow("got", "give"), flow("give", "sold"),
          id="sell", isExecutable="true"),
        n("process", n("startEvent", id="want"),
          n("intermediateThrowEvent", n("messageEventDefinition", id="ask_d"), id="ask", name="Ask"),
          n("receiveTask", id="take", name="Take"), n("endEvent", id="has"),
          flow("want", "ask"), flow("ask", "take"), flow("take", "has"), id="purchase"),
    ]  # fmt: skip


def timers_without_values() -> list[Node]:
    return [n(
        "process", n("startEvent", n("timerEventDefinition", id="t0"), id="s", name="Every morning"),
        n("userTask", id="work", name="Work"),
        n("boundaryEvent", n("timerEventDefinition", text("timeDuration"), id="t1"), id="late", name="3 days",
          attachedToRef="work", cancelActivity="false"),
        n("intermediateCatchEvent", n("timerEventDefinition", text("timeDate", "2030-01-01T00:00:00Z"), id="t2"),
          id="wait", name="New year"),
        n("task", id="ask", name="Ask"), n("endEvent", id="e"), n("endEvent", id="e2"), flow("s", "work"),
        flow("work", "wait"), flow("wait", "e"), flow("late", "ask"), flow("ask", "e2"), id="timed",
    )]  # fmt: skip


def collapsed_sub_process() -> list[Node]:
    return [n(
        "process", n("startEvent", id="s"),
        n("subProcess", n("startEvent", id="in"), n("task", id="inside", name="Inside"), n("endEvent", id="out"),
          flow("in", "inside"), flow("inside", "out"), id="plane", name="Its own plane"),
        n("subProcess", n("task", id="open", name="Open"), id="expanded", name="Open block"), n("endEvent", id="e"),
        flow("s", "plane"), flow("plane", "expanded"), flow("expanded", "e"), id="blocks",
    )]  # fmt: skip


def event_sub_process() -> list[Node]:
    return [
        n("error", id="err", name="Broken", errorCode="E1"), n("escalation", id="esc", name="Up"),
        n("process", n("startEvent", id="s"), n("serviceTask", id="call", name="Call"),
          n("boundaryEvent", n("errorEventDefinition", id="ed", errorRef="err"), id="broken", attachedToRef="call"),
          n("endEvent", id="e"), n("endEvent", n("terminateEventDefinition", id="td"), id="stop"),
          n("subProcess",
            n("startEvent", n("escalationEventDefinition", id="sd", escalationRef="esc"), id="up",
              isInterrupting="false"),
            n("task", id="tell", name="Tell"), n("endEvent", id="told"), flow("up", "tell"), flow("tell", "told"),
            id="handler", name="Handler", triggeredByEvent="true"),
          flow("s", "call"), flow("call", "e"), flow("broken", "stop"), id="errors"),
    ]  # fmt: skip


def data_and_notes() -> list[Node]:
    return [
        n("itemDefinition", id="item", structureRef="String"), n("dataStore", id="db", name="Customers"),
        n("category", n("categoryValue", id="slow", value="Slow"), id="cat", name="Cat"),
        n("process", n("property", id="prop", name="x"), n("startEvent", id="s"),
          n("task", n("property", id="src", name="__targetRef_placeholder"),
            n("dataInputAssociation", text("sourceRef", "bill"), text("targetRef", "src"), id="dia"),
            n("dataOutputAssociation", text("targetRef", "store"), id="doa"), id="pay", name="Pay"),
          n("endEvent", id="e"), n("dataObject", id="bill_do", itemSubjectRef="item"),
          n("dataObjectReference", id="bill", name="Bill", dataObjectRef="bill_do"),
          n("dataStoreReference", id="store", name="Customers", dataStoreRef="db"), flow("s", "pay"), flow("pay", "e"),
          n("textAnnotation", text("text", "As agreed\non Monday"), id="note"),
          n("association", id="as", sourceRef="pay", targetRef="note"),
          n("group", id="grp", categoryValueRef="slow"), id="data"),
    ]  # fmt: skip


def several_times_and_calls() -> list[Node]:
    return [n(
        "process", n("startEvent", id="s"),
        n("userTask", n("multiInstanceLoopCharacteristics", text("loopCardinality", "3"), isSequential="true"),
          id="three", name="Three times"),
        n("task", n("standardLoopCharacteristics", testBefore="true"), id="again", name="Again"),
        n("callActivity", id="called", name="Other process", calledElement="elsewhere"), n("endEvent", id="e"),
        flow("s", "three"), flow("three", "again"), flow("again", "called"), flow("called", "e"), id="many",
    )]  # fmt: skip


def links_and_signals() -> list[Node]:
    return [
        n("signal", id="sig", name="Ready"),
        n("process", n("startEvent", n("signalEventDefinition", id="d0", signalRef="sig"), id="s"),
          n("intermediateThrowEvent", n("linkEventDefinition", id="d1", name="A"), id="away", name="A"),
          n("intermediateCatchEvent", n("linkEventDefinition", id="d2", name="A"), id="here", name="A"),
          n("intermediateThrowEvent", n("signalEventDefinition", id="d3"), id="shout", name="Done!"),
          n("endEvent", n("signalEventDefinition", id="d4", signalRef="sig"), id="e"),
          flow("s", "away"), flow("here", "shout"), flow("shout", "e"), id="links"),
    ]  # fmt: skip


def gateways() -> list[Node]:
    return [n(
        "process", n("startEvent", id="s"), n("inclusiveGateway", id="or", name="Which?", gatewayDirection="Diverging"),
        n("task", id="a", name="A"), n("task", id="b", name="B"), n("inclusiveGateway", id="join"),
        n("parallelGateway", id="and"), n("complexGateway", id="some"), n("eventBasedGateway", id="first"),
        n("intermediateCatchEvent", n("messageEventDefinition", id="d1"), id="mail", name="Mail"),
        n("intermediateCatchEvent", n("timerEventDefinition", id="d2"), id="time", name="A week"),
        n("endEvent", id="e1"), n("endEvent", id="e2"), flow("s", "or"), flow("or", "a", "urgent"),
        flow("or", "b", "", n("conditionExpression", "${amount > 5 && ok}")), flow("a", "join"), flow("b", "join"),
        flow("join", "and"), flow("and", "some"), flow("and", "first"), flow("some", "e1"), flow("first", "mail"),
        flow("first", "time"), flow("mail", "e2"), flow("time", "e2"), id="gates",
    )]  # fmt: skip


def black_boxes_and_lanes() -> list[Node]:
    return [
        n("collaboration", n("participant", id="us", name="Us", processRef="ours"),
          n("participant", id="bank", name="Bank"), n("participant", id="idle", name="Idle", processRef="nothing"),
          n("messageFlow", id="mf", sourceRef="pay", targetRef="bank"),
          n("textAnnotation", text("text", "outside"), id="out_note"), id="c"),
        n("process",
          n("laneSet", n("lane", text("flowNodeRef", "s"), text("flowNodeRef", "pay"),
                         n("childLaneSet", n("lane", text("flowNodeRef", "pay"), id="inner", name="Payer"), id="ls2"),
                         id="clerk", name="Clerk"),
            n("lane", text("flowNodeRef", "e"), id="boss", name="Boss"), id="ls"),
          n("startEvent", id="s"), n("task", id="pay", name="Pay"), n("endEvent", id="e"), flow("s", "pay"),
          flow("pay", "e"), id="ours"),
        n("process", id="nothing"),
    ]  # fmt: skip


def blocks_that_undo() -> list[Node]:
    return [n(
        "process", n("startEvent", id="s"),
        n("transaction",
          n("task", id="book", name="Book"),
          n("boundaryEvent", n("compensateEventDefinition", id="cd"), id="undo", attachedToRef="book"),
          n("task", id="unbook", name="Unbook", isForCompensation="true"), n("endEvent", id="booked"),
          flow("book", "booked"), n("association", id="ca", associationDirection="One", sourceRef="undo",
                                    targetRef="unbook"), id="deal", name="Deal"),
        n("adHocSubProcess", n("task", id="x", name="X"), n("task", id="y", name="Y"), id="free", name="Any order"),
        n("intermediateThrowEvent", n("compensateEventDefinition", id="cd2"), id="back"), n("endEvent", id="e"),
        flow("s", "deal"), flow("deal", "free"), flow("free", "back"), flow("back", "e"), id="undoing",
    )]  # fmt: skip


def who_and_with_what() -> list[Node]:
    return [n(
        "process", n("documentation", "From the modeler's own words."), n("startEvent", id="s"),
        n("userTask", n("documentation", "Line one.\nLine two."), id="form", name="Fill the form"),
        n("serviceTask", id="pay", name="Pay"), n("businessRuleTask", id="rate", name="Rate"),
        n("scriptTask", n("script", "x = 1 < 2"), id="count", name="Count", scriptFormat="groovy"),
        n("endEvent", id="e"), flow("s", "form"), flow("form", "pay"), flow("pay", "rate"), flow("rate", "count"),
        flow("count", "e"), id="work",
    )]  # fmt: skip


CONTENTS: dict[str, Callable[[], list[Node]]] = {
    content.__name__: content for content in (
        gateway_without_conditions, two_pools, timers_without_values, collapsed_sub_process, event_sub_process,
        data_and_notes, several_times_and_calls, links_and_signals, gateways, black_boxes_and_lanes, blocks_that_undo,
        who_and_with_what,
    )
}  # fmt: skip


# ---- how modelers write it -------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Modeler:
    """`spaces`: prefix → namespace; "" is the default one. `own`: attributes of the root. `words` gives an element what
    its modeler adds to it. `local`: the drawing declares its namespaces where it stands."""

    name: str
    prefix: str
    spaces: dict[str, str]
    own: dict[str, str]
    words: Callable[[Node], None]
    id: str = "{}"
    prolog: str = '<?xml version="1.0" encoding="UTF-8"?>\n'
    indent: str | None = "  "
    newline: str = "\n"
    empty: str = " />"
    number: str = "{:g}"
    sort: bool = False
    links: bool = True  # incoming and outgoing
    type: str = "tFormalExpression"
    local: bool = False
    tail: str = ""

    def text(self, roots: list[Node]) -> str:
        for node in [node for root in roots for node in root.all()]:
            self.words(node)
        if self.links:
            _link(roots)
        root = Node("definitions", dict(self.own), [*roots, *self.diagrams(roots)])
        _rename(root, self.id)
        body = "".join(self.lines(root, 0))
        return (self.prolog + body).replace("\n", self.newline)

    def lines(self, node: Node, depth: int) -> Iterator[str]:
        pad, end = ("", "") if self.indent is None else (self.indent * depth, "\n")
        tag, given = self.tag(node.tag), dict(node.given)
        if node.tag == "definitions":
            given = {f"xmlns:{prefix}" if prefix else "xmlns": space for prefix, space in self.spaces.items()} | given
        elif self.local and node.tag in ("bpmndi:BPMNDiagram", "dc:Bounds", "di:waypoint"):
            given["xmlns"] = {"bpmndi": DI, "dc": DC, "di": DD}[node.tag.partition(":")[0]]
        if node.tag == "conditionExpression":
            given["xsi:type"] = f"{self.prefix}:{self.type}" if self.prefix else self.type
        names = sorted(given) if self.sort else given
        start = f"{pad}<{tag}" + "".join(f" {name}={quoteattr(given[name])}" for name in names)
        if node.tag == "definitions":
            inner = [line for child in node.inner if isinstance(child, Node) for line in self.lines(child, depth + 1)]
            yield from (f"{start}>{end}", *inner, f"{self.tail}</{tag}>{end}")
        elif not node.inner:
            yield f"{start}{self.empty.format(tag)}{end}"
        elif all(isinstance(child, Node) for child in node.inner):
            inner = [line for child in node.inner if isinstance(child, Node) for line in self.lines(child, depth + 1)]
            yield from (f"{start}>{end}", *inner, f"{pad}</{tag}>{end}")
        else:
            yield f"{start}>{''.join(str(child) for child in map(_escaped, node.inner))}</{tag}>{end}"

    def tag(self, tag: str) -> str:
        if ":" not in tag:
            return f"{self.prefix}:{tag}" if self.prefix else tag
        prefix, name = tag.split(":")
        space = {"bpmndi": DI, "dc": DC, "di": DD}.get(prefix)
        if self.local and space is not None:
            return name
        known = next((own for own, uri in self.spaces.items() if uri == space), prefix)
        return f"{known}:{name}" if known else name

    def diagrams(self, roots: list[Node]) -> list[Node]:
        """One plane for the file, and one for what is collapsed."""
        top = next((root for root in roots if root.tag in ("collaboration", "process")), None)
        assert top is not None, "something is drawn"
        shown, inside = [node for root in roots for node in root.all()], []
        for node in shown:
            if node.given.get("id") == "plane":
                inside = [child for child in node.all() if child is not node]
        planes = [(top.given["id"], [node for node in shown if all(node is not other for other in inside)])]
        planes += [("plane", inside)] if inside else []
        return [self.diagram(number, element, nodes) for number, (element, nodes) in enumerate(planes)]

    def diagram(self, number: int, element: str, nodes: list[Node]) -> Node:
        drawn, at = [], 100.5
        for node in nodes:
            id, tag = node.given.get("id", ""), node.tag
            if tag in ("sequenceFlow", "association", "messageFlow"):
                across = (self.number.format(at), self.number.format(at + 50))
                points = [n("di:waypoint", x=x, y=self.number.format(200.25)) for x in across]
                drawn.append(n("bpmndi:BPMNEdge", *points, id=f"{id}_di", bpmnElement=id))
            elif tag.endswith(DRAWN) and tag != "process" and ":" not in tag:
                wide, high = next((size for end, size in SIZES.items() if tag.endswith(end)), (100, 80))
                sides = {"x": at, "y": 80.125, "width": wide, "height": high}
                bounds = n("dc:Bounds", **{side: self.number.format(value) for side, value in sides.items()})
                flags = {"isExpanded": str(id != "plane").lower()} if tag.endswith(("rocess", "transaction")) else {}
                flags |= {"isHorizontal": "true"} if tag in ("participant", "lane") else {}
                drawn.append(n("bpmndi:BPMNShape", bounds, id=f"{id}_di", bpmnElement=id, **flags))
                at += wide + 31.75
        plane = n("bpmndi:BPMNPlane", *drawn, id=f"plane_{number}", bpmnElement=element)
        return n("bpmndi:BPMNDiagram", plane, id=f"diagram_{number}")


def _escaped(child: Node | str) -> str:
    assert isinstance(child, str), "text and elements are not mixed"
    return child if child.startswith("<![CDATA[") else escape(child)


def _link(roots: list[Node]) -> None:
    """Each element names the flows that lead to it and from it."""
    nodes = {node.given["id"]: node for root in roots for node in root.all() if node.given.get("id")}
    for node in list(nodes.values()):
        if node.tag == "sequenceFlow":
            for end, word in (("targetRef", "incoming"), ("sourceRef", "outgoing")):
                inner = nodes[node.given[end]].inner
                before = ("documentation", "extensionElements", "incoming", "outgoing")
                place = sum(isinstance(child, Node) and child.tag in before for child in inner)
                inner.insert(place, text(word, node.given["id"]))


def _rename(root: Node, form: str) -> None:
    """Ids as the modeler makes them."""
    ids = {node.given["id"]: form.format(node.given["id"]) for node in root.all() if "id" in node.given}
    for node in root.all():
        for name, value in node.given.items():
            if name in ("id", "bpmnElement", "default") or name.endswith("Ref"):
                node.given[name] = ids.get(value, value)
        if node.tag in ("incoming", "outgoing", "flowNodeRef", "sourceRef", "targetRef", "dataInputRefs"):
            node.inner = [ids.get(str(child), str(child)) for child in node.inner]


def _extend(node: Node, *inner: Node) -> None:
    place = sum(isinstance(child, Node) and child.tag == "documentation" for child in node.inner)
    node.inner.insert(place, n("extensionElements", *inner))


def _drawn(node: Node) -> bool:
    return node.tag.endswith(("Task", "task", "Event", "Gateway", "rocess", "sequenceFlow"))


def camunda7(node: Node) -> None:
    words = {
        "form": {"camunda:assignee": "${initiator}", "camunda:formKey": "embedded:app:forms/a.html"},
        "pay": {"camunda:type": "external", "camunda:topic": "pay"}, "rate": {"camunda:decisionRef": "rating"},
        "look": {"camunda:candidateGroups": "sales, ${group}"},
    }  # fmt: skip
    node.given |= words.get(node.given.get("id", ""), {}) if _drawn(node) else {}
    if node.given.get("id") == "pay":
        _extend(node, n("camunda:inputOutput", n("camunda:inputParameter", "${amount}", name="sum")),
                n("camunda:properties", n("camunda:property", name="owner", value="A & B")))  # fmt: skip
    if node.tag == "process":
        node.given["camunda:historyTimeToLive"] = "180"


def camunda8(node: Node) -> None:
    words = {
        "form": [n("zeebe:userTask"), n("zeebe:formDefinition", formId="f"),
                 n("zeebe:assignmentDefinition", candidateGroups='=["a","b"]')],
        "pay": [n("zeebe:taskDefinition", type="pay", retries="5"),
                n("zeebe:ioMapping", n("zeebe:input", source="=amount", target="sum"))],
        "call": [n("zeebe:taskDefinition", type="call"),
                 n("zeebe:taskHeaders", n("zeebe:header", key="method", value="GET"))],
        "rate": [n("zeebe:calledDecision", decisionId="rating", resultVariable="rate")],
    }  # fmt: skip
    if inner := words.get(node.given.get("id", "")):
        if node.tag.endswith("Task"):
            _extend(node, *inner)


def signavio(node: Node) -> None:
    if _drawn(node) or node.tag in ("participant", "lane"):
        _extend(node, n("signavio:signavioMetaData", metaKey="bgcolor", metaValue="#ffffff"),
                n("signavio:signavioLabel", align="center", ref="text_name", x="50.0", y="40.0"))  # fmt: skip


def bizagi(node: Node) -> None:
    if _drawn(node):
        color = n("bizagi:BizagiProperty", name="bgColor", value="#ECEFFF")
        given = {"xmlns:bizagi": "http://www.bizagi.com/bpmn20"}
        _extend(node, Node("bizagi:BizagiExtensions", given, [n("bizagi:BizagiProperties", color)]))


def aris(node: Node) -> None:
    if node.tag == "process":
        node.given |= {"processType": "None", "isClosed": "false"}
    if node.tag.endswith(("Task", "task")):
        node.given |= {"startQuantity": "1", "completionQuantity": "1"}
        _extend(node, n("aris:attribute", n("aris:value", "<b>bold</b>"), type="AT_DESC"))


def visio(node: Node) -> None:
    if _drawn(node):
        _extend(node, n("itp:keyvalue", key="itp:ShapeId", value=str(len(node.given))),
                n("itp:keyvalue", key="BackColor", value=""))  # fmt: skip
    if node.tag in ("startEvent", "endEvent"):
        node.given.setdefault("name", "")


def yaoqiang(node: Node) -> None:
    if node.tag == "process":
        node.given |= {"isClosed": "false", "isExecutable": "true", "processType": "None"}
        _extend(node, n("yaoqiang:pageFormat", height="841.8897637795276", width="595.2755905511812"))
    if node.tag.endswith(("Task", "task")):
        node.given |= {"completionQuantity": "1", "startQuantity": "1"}
        node.given.setdefault("isForCompensation", "false")


def trisotech(node: Node) -> None:
    if node.tag.endswith(("Task", "task", "Gateway")):
        node.given["triso:color"] = "rgb(1,2,3)"
        _extend(node, n("trisofeed:extElements", n("triso:reuseLink", itemType="task", uri="graph:1?x=1&y=2")))


def bonita(node: Node) -> None:
    if node.tag == "sequenceFlow":
        if not any(isinstance(child, Node) and child.tag == "conditionExpression" for child in node.inner):
            node.inner.append(n("conditionExpression", id=f"{node.given['id']}_c", language="http://groovy.apache.org/"))
        node.given.pop("name", None)


def jbpm(node: Node) -> None:
    if _drawn(node):
        value = n("drools:metaValue", f"<![CDATA[{node.given.get('name', '')}]]>")
        _extend(node, n("drools:metaData", value, name="elementname"))
    if node.given.get("id") == "form":
        node.inner += [
            n("ioSpecification", n("dataInput", id="form_in", name="TaskName"),
              n("inputSet", text("dataInputRefs", "form_in"), id="form_is"), n("outputSet", id="form_os"),
              id="form_io"),
            n("potentialOwner", n("resourceAssignmentExpression", n("formalExpression", "group(clerks)")), id="owner"),
        ]  # fmt: skip
    if node.tag == "process":
        node.given |= {"drools:packageName": "com.example", "drools:version": "1.0", "drools:adHoc": "false"}


def flowable(node: Node) -> None:
    words = {"form": {"flowable:assignee": "$INITIATOR", "flowable:formKey": "form"},
             "pay": {"flowable:class": "com.example.Pay"}, "look": {"flowable:candidateUsers": "kim,lee"}}  # fmt: skip
    node.given |= words.get(node.given.get("id", ""), {}) if _drawn(node) else {}
    if node.tag == "conditionExpression":
        node.inner = [f"<![CDATA[{child}]]>" for child in node.inner if isinstance(child, str)]


def process_gpt(node: Node) -> None:
    if node.tag.endswith(("Task", "task")):
        json = '{"role": "담당자", "instruction": "<b>확인</b>", "agentMode": "none"}'
        _extend(node, n("uengine:properties", n("uengine:json", json)))
    if node.tag == "process":
        _extend(node, n("uengine:properties", n("uengine:variable", name="금액", type="Number")))


def _spaces(bpmn: str, dc: str = "dc", di: str = "di", **more: str) -> dict[str, str]:
    return {bpmn: BPMN, "bpmndi": DI, dc: DC, di: DD, "xsi": XSI} | more


_IO = "http://bpmn.io/schema/bpmn"
MODELERS = [
    Modeler("camunda7", "bpmn", _spaces("bpmn", camunda="http://camunda.org/schema/1.0/bpmn",
                                        modeler="http://camunda.org/schema/modeler/1.0"),
            {"id": "Definitions_1", "targetNamespace": _IO, "exporter": "Camunda Modeler", "exporterVersion": "5.9.0",
             "modeler:executionPlatform": "Camunda Platform"}, camunda7, "Activity_{}"),
    Modeler("camunda8", "bpmn", _spaces("bpmn", zeebe="http://camunda.org/schema/zeebe/1.0"),
            {"id": "Definitions_1", "targetNamespace": _IO, "exporter": "Camunda Web Modeler"}, camunda8),
    Modeler("signavio", "", _spaces("", "omgdc", "omgdi", signavio="http://www.signavio.com"),
            {"exporter": "Signavio Process Editor, http://www.signavio.com", "id": "sid-1", "expressionLanguage":
             "http://www.w3.org/1999/XPath", "targetNamespace": "http://www.signavio.com",
             "xsi:schemaLocation": f"{BPMN} http://www.omg.org/spec/BPMN/2.0/20100501/BPMN20.xsd"}, signavio,
            "sid-A1-{}", indent="   ", empty="/>", number="{:.1f}"),
    Modeler("bizagi", "", {"xsi": XSI, "xsd": "http://www.w3.org/2001/XMLSchema", "": BPMN},
            {"targetNamespace": "http://www.bizagi.com/definitions/1"}, bizagi, "Id_{}", "\ufeff"
            '<?xml version="1.0" encoding="utf-8"?>\n', newline="\r\n", number="{:.4f}", local=True),
    Modeler("aris", "semantic", _spaces("semantic", aris="http://www.aris.com/bpmn"),
            {"exporter": "ARIS", "id": "ID-0", "targetNamespace": "http://www.aris.com"}, aris, "ID-{}",
            '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>', None, number="{:.2f}", empty="></{}>"),
    Modeler("visio", "", _spaces("", itp="http://www.itp-commerce.com/BPMN2.0"),
            {"id": "_1", "name": "Page-1", "targetNamespace": "http://www.itp-commerce.com"}, visio, "_V{}",
            '<?xml version="1.0" encoding="utf-8"?>\n<!--Created by Process Modeler 6 for Microsoft Visio -->\n',
            "\t", "\r\n", sort=True, links=False),
    Modeler("yaoqiang", "", _spaces("", tns="http://sourceforge.net/bpmn/definitions/_1", yaoqiang=
                                    "http://bpmn.sourceforge.net"),
            {"exporter": "Yaoqiang BPMN Editor", "id": "_1", "name": "",
             "targetNamespace": "http://sourceforge.net/bpmn/definitions/_1"}, yaoqiang, "_{}",
            '<?xml version="1.0" encoding="UTF-8" standalone="no"?>\n', number="{:.16g}", sort=True, empty="/>"),
    Modeler("trisotech", "semantic", _spaces("semantic", triso="http://www.trisotech.com/2015/triso/modeling",
                                             trisofeed="http://trisotech.com/feed"),
            {"id": "_2", "targetNamespace": "http://www.trisotech.com/definitions/_2", "triso:logoChoice": "None"},
            trisotech, "_b8{}", indent="    ", empty="/>"),
    Modeler("bonita", "model", _spaces("model", java="http://jcp.org/en/jsr/detail?id=270"),
            {"exporter": "BonitaSoft", "expressionLanguage": "http://groovy.apache.org/", "targetNamespace":
             "http://bonitasoft.com/_l"}, bonita, "_l{}", number="{:.1f}", empty="/>"),
    Modeler("jbpm", "bpmn2", _spaces("bpmn2", drools="http://www.jboss.org/drools",
                                     bpsim="http://www.bpsim.org/schemas/1.0"),
            {"id": "_3", "exporter": "jBPM Process Modeler", "targetNamespace": "http://www.omg.org/bpmn20"}, jbpm,
            "_J{}", indent="  ", empty="/>", tail="<!-- simulated: nothing -->"),
    Modeler("flowable", "", _spaces("", "omgdc", "omgdi", flowable="http://flowable.org/bpmn"),
            {"targetNamespace": "http://www.flowable.org/processdef", "typeLanguage":
             "http://www.w3.org/2001/XMLSchema"}, flowable, number="{:.1f}", empty="></{}>"),
    Modeler("process_gpt", "bpmn", _spaces("bpmn", uengine="http://uengine"),
            {"id": "Definitions_p", "targetNamespace": _IO, "exporter": "bpmn-js (https://demo.bpmn.io)"}, process_gpt,
            "{}_p1"),
]  # fmt: skip


def exports() -> Iterator[tuple[str, str]]:
    """Every content as every modeler writes it: its name, and the text of the file."""
    for modeler in MODELERS:
        for name, content in CONTENTS.items():
            yield f"{modeler.name}-{name}", modeler.text(content())
