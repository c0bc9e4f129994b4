"""Reads BPMN 2.0 XML as a ProcessDefinition (P-X.25): every element with its place; unsupported ones are listed.

What does not change how a process runs (drawings, annotations, a modeler's own extensions) is kept, so that the file
can be written again as it was.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from penstock.errors import DocumentUnreadable, Place
from penstock.lang.document import Mark
from penstock.lang.process.bpmn import dialects, entry_parts, vendor_forms, vendor_tasks, vendors
from penstock.lang.process.bpmn.file_index import FileIndex, tree_of
from penstock.lang.process.bpmn.global_tasks import as_drawn_here, called_task, called_tasks, why_not
from penstock.lang.process.bpmn.instances import instances
from penstock.lang.process.bpmn.vocabulary import (
    BPMN,
    CALLABLE,
    CHANGING_ATTRIBUTES,
    EVENT_DECLARATIONS,
    GATEWAYS,
    KEPT_ELEMENTS,
    POSITIONS,
    REFERENCES,
    STANDARD,
    SUB_PROCESSES,
    TASKS,
    TRIGGERS,
    UNSUPPORTED,
)  # fmt: skip
from penstock.lang.process.bpmn.xml_tree import XmlElement, mark_of, to_xml
from penstock.lang.process.expression_names import beside_elements

_CORRECTIONS = ("$order", "$instead", "$without")
_LANES = ("lane", "flowNodeRef", "childLaneSet", "partitionElement")


def recognise(text: str) -> bool:
    return text.lstrip("\ufeff \t\r\n")[:1] == "<"


def read_bpmn(text: str) -> tuple[dict[str, Any], Mark]:
    """The ProcessDefinition and its places. Raises DocumentUnreadable for what is no BPMN file."""
    return _Reader(FileIndex(tree_of(text))).read()


class ReadProcess(NamedTuple):
    """A process of a file as a definition, with the elements of the file that its entries were read from."""

    data: dict[str, Any]
    mark: Mark
    process: XmlElement
    entries: dict[str, list[tuple[dict[str, Any], XmlElement]]]  # by collection


def read_processes(index: FileIndex) -> list[ReadProcess]:
    """Every process of a file that has elements, executable or not."""
    return [read_process(index, process) for process in index.processes]


def read_process(index: FileIndex, process: XmlElement) -> ReadProcess:
    reader = _Reader(index, whole_file=True)
    data, mark = reader.read(process)
    return ReadProcess(data, mark, process, reader.collections)


class _Reader:
    """`whole_file`: the other processes of the file are read, too, and the file is kept beside the definitions."""

    def __init__(self, index: FileIndex, *, whole_file: bool = False) -> None:
        self.index, self.root, self.prefixes, self.whole_file = index, index.root, index.prefixes, whole_file
        self.language = self.root.get("expressionLanguage")
        self.collections: dict[str, list[tuple[dict[str, Any], XmlElement]]] = {}
        self.extensions: dict[str, Any] = {}
        self.roles: dict[str, dict[str, Any]] = {}
        self.corrections: dict[str, Any] = {}  # of what is read otherwise from the elements themselves
        self.left_out: list[XmlElement] = []  # processes of the file that are kept, and not imported
        self.forms: dict[str, str] = {}  # id of a form that the process holds → its JSON
        self.starter = ""  # the variable that names whoever has begun the process
        self.handlers: dict[str, str] = {}  # boundary event of compensation → its handler

    def read(self, process: XmlElement | None = None) -> tuple[dict[str, Any], Mark]:
        with beside_elements(self.index.taken_names):
            return self._read(process or self._process())

    def _read(self, process: XmlElement) -> tuple[dict[str, Any], Mark]:
        self.forms, self.starter = vendor_forms.forms_in(process), vendors.starter_variable(process)
        top = self._top(process)
        self._declarations(process)
        self._pools(process)
        self._level(process, "")
        for event, _ in self.collections.get("events", []):
            if event.get("position") == "boundary" and event.get("trigger") == "compensation":
                event.setdefault("activity", self.handlers.get(str(event.get("id")), ""))
        return self._result(top, process)

    def _result(self, top: dict[str, Any], process: XmlElement) -> tuple[dict[str, Any], Mark]:
        data, marks = dict(top), entry_parts.marks(top, process)
        roles = data.get("roles", [])
        if self.roles and isinstance(roles, list):
            known = {str(role.get("id")) for role in roles if isinstance(role, dict)}
            data["roles"] = [*roles, *(role for role in self.roles.values() if role["id"] not in known)]
        if "roles" in data:
            marks["roles"] = mark_of(process)
        self._add_known_left_out(data.pop("left_out", None), process)
        entry_parts.reorder(self.collections, self.corrections.get("$order"))
        for name, entries in self.collections.items():
            data[name] = [entry for entry, _ in entries]
            lines = [entry_parts.mark(entry, node) for entry, node in entries]
            marks[name] = Mark(process.line, process.column, lines)
        numbered = self.index.planes_of(process) if self.whole_file else enumerate(self.index.planes)
        if planes := [plane for _, plane in numbered]:
            data["diagram"] = {**planes[0], "more": planes[1:]} if len(planes) > 1 else planes[0]
            marks["diagram"] = mark_of(process)
        if self.extensions:
            data["extensions"] = self.extensions
            marks["extensions"] = mark_of(process)
        instead = self.corrections.get("$instead")
        for name, value in instead.items() if isinstance(instead, dict) else ():
            data[name], marks[name] = value, mark_of(process)
        entry_parts.remove(data, self.corrections)
        items = {name: (mark.line, mark.column, mark) for name, mark in marks.items() if name in data}
        return data, Mark(process.line, process.column, items)

    def _add_known_left_out(self, entries: Any, process: XmlElement) -> None:
        """Of a file that we have written: what its elements do not show any more."""
        known = [entry for entry, _ in self.collections.get("left_out", ())]
        for entry in entries if isinstance(entries, list) else ():
            if isinstance(entry, dict) and entry not in known:
                self._add("left_out", entry, process)

    def _of_others(self, process: XmlElement, id: str) -> bool:
        return self.whole_file and self.index.of_others(process, id)

    # -- the top -------------------------------------------------------------------------------------------------------

    def _process(self) -> XmlElement:
        """The process of the file that is run: the executable one. Others with elements are unsupported."""
        processes = self.root.all("process", BPMN)
        if not processes:
            raise DocumentUnreadable(why="it has no <process>", where=Place("", self.root.line, self.root.column))
        filled = self.index.processes
        candidates = [process for process in filled if process.get("isExecutable") == "true"] or filled or processes
        for other in processes:
            if other is candidates[0]:
                continue
            self.left_out.append(other)
            if other in filled and other in candidates:
                self._add_unsupported("second process of the file", other)
            else:
                why = "it is not executable" if other in filled else "nothing is drawn in it"
                self._leave_out("the process", why, other)
        for child in self.root.children:
            if child.space == BPMN and child.name in CALLABLE:
                self.left_out.append(child)
                if child.get("id") not in called_tasks(self.index):
                    self._leave_out(f"the {CALLABLE[child.name]}", why_not(child), child)
        return candidates[0]

    def _leave_out(self, what: str, why: str, node: XmlElement) -> None:
        entry = {"what": what, "id": self._id(node), "name": node.get("name") or self._pool_name(node), "why": why}
        self._add("left_out", {name: value for name, value in entry.items() if value}, node)

    def _top(self, process: XmlElement) -> dict[str, Any]:
        id = process.get("id") or "process"
        settings = self.index.settings(process)
        self.corrections = {name: settings.pop(name) for name in _CORRECTIONS if name in settings}
        top: dict[str, Any] = {
            "process_definition_id": str(settings.pop("id", id)),
            "process_definition_name": process.get("name") or self._pool_name(process) or str(id),
        }
        if text := process.child_text("documentation", BPMN):
            top["description"] = text
        if starters := vendors.starters(process, self.index.resources):
            top["starters"] = starters
        top |= {name: value for name, value in settings.items() if name not in ("activities", "transitions", "events")}
        file: dict[str, Any] = {
            name: self.root.get(name) for name in ("id", "name", "targetNamespace", "exporter", "exporterVersion")
            if self.root.get(name)
        }  # fmt: skip
        file["process"] = id
        if self.left_out and not self.whole_file:
            file["others"] = [to_xml(other, self.prefixes) for other in self.left_out]
        foreign = {prefix: space for space, prefix in self.prefixes.items() if space not in STANDARD}
        if foreign:
            file["namespaces"] = foreign
        if process.get("isExecutable"):
            file["executable"] = process.get("isExecutable") == "true"
        self.extensions["file"] = file
        self._keep_extensions(process, "process")
        for name, why in vendor_tasks.not_of_activities(process):
            self._leave_out(f"«{name}» of", why, process)
        return top

    def _pool_name(self, process: XmlElement) -> str:
        for pools in self.index.collaborations:
            for pool in pools.all("participant", BPMN):
                if process.get("id") and pool.get("processRef") == process.get("id") and pool.get("name"):
                    return pool.get("name")
        return ""

    def _declarations(self, process: XmlElement) -> None:
        """The messages, signals, errors and escalations of the file; of several processes, those that it refers to."""
        several = self.whole_file and len(self.index.processes) > 1
        used = self.index.referred[process] if several else None
        for collection, (tag, _) in EVENT_DECLARATIONS.items():
            for id, node in self.index.declarations.get(tag, {}).items():
                if used is not None and id not in used:
                    continue
                entry = {"id": node.get("id"), "name": node.get("name")}
                if dialects.is_computed(entry["name"]):
                    entry["name"] = ""
                    self._leave_out(f"the name of the {tag}", f"«{node.get('name')[:80]}» would be computed", node)
                code = node.get("errorCode") or node.get("escalationCode")
                self._add(collection, {**entry, "code": code} if code else entry, node)
                self._keep_extensions(node, node.get("id"))

    def _pools(self, process: XmlElement) -> None:
        for pools in self.index.collaborations:
            file = self.extensions["file"]
            file["collaboration"] = pools.get("id")
            for child in pools.children:
                if child.name == "participant" and child.space == BPMN:
                    if self._of_others(process, child.get("processRef")):
                        continue
                    pool = {"id": child.get("id"), "name": child.get("name"), "process": child.get("processRef")}
                    self._add("pools", pool, child)
                    self._keep_extensions(child, child.get("id"))
                elif child.name not in ("documentation", "extensionElements") and not self.whole_file:
                    file.setdefault("beside", []).append(to_xml(child, self.prefixes))

    # -- elements ------------------------------------------------------------------------------------------------------

    def _level(self, container: XmlElement, parent: str) -> None:
        for node in container.children:
            if node.space != BPMN:
                continue
            name, id = node.name, self._id(node)
            if refused := self._changed_by(node):
                self._add_unsupported(refused, node)
            elif name in TASKS:
                self._activity(node, parent)
                if name in SUB_PROCESSES:
                    self._level(node, id)
            elif name in GATEWAYS:
                self._gateway(node, parent)
            elif name in POSITIONS:
                self._event(node, parent)
            elif name == "sequenceFlow":
                self._flow(node)
            elif name == "laneSet":
                self._lanes(node, "")
            elif name in UNSUPPORTED:
                self._add_unsupported(UNSUPPORTED[name], node)
            elif name in KEPT_ELEMENTS:
                if name == "association":
                    self.handlers.setdefault(
                        self._author_id(node.get("sourceRef")), self._author_id(node.get("targetRef"))
                    )
                self.extensions.setdefault("beside", {}).setdefault(parent or "process", []).append(
                    to_xml(node, self.prefixes)
                )

    def _changed_by(self, node: XmlElement) -> str:
        """What an element is by an attribute that changes how it runs, where it is not run so here."""
        for attribute, value, what in CHANGING_ATTRIBUTES.get(node.name, ()):
            if (given := node.get(attribute)) and (given == value) is not what.startswith("not "):
                return what.removeprefix("not ")
        loop = node.first("multiInstanceLoopCharacteristics", BPMN)
        if loop is not None and loop.get("behavior") not in ("", "All"):
            return "multi-instance activity that throws events for its instances"
        refs = [child.text.strip() for child in node.all("eventDefinitionRef", BPMN)]
        return "event whose definition is not in the file" if set(refs) - self.index.definitions.keys() else ""

    def _definitions(self, node: XmlElement) -> list[XmlElement]:
        """An event's definitions, its own and those beside the processes that it refers to."""
        own = [child for child in node.children if child.space == BPMN and child.name in TRIGGERS]
        refs = (child.text.strip() for child in node.all("eventDefinitionRef", BPMN))
        return own + [self.index.definitions[ref] for ref in refs if ref in self.index.definitions]

    def _activity(self, drawn: XmlElement, parent: str) -> None:
        task = called_task(drawn, self.index)
        node = drawn if task is None else as_drawn_here(task, drawn)
        id, tag = self._id(drawn), node.name
        entry: dict[str, Any] = {"id": id, "name": node.get("name") or id, "type": TASKS[tag], "bpmn": tag}
        entry |= entry_parts.described(node, parent)
        if task is not None:
            entry["global_task"] = task.get("id")
        if node.get("default"):
            entry["default"] = self._author_id(node.get("default"))
        if node.get("isForCompensation") == "true":
            entry["is_for_compensation"] = True
        if node.get("triggeredByEvent") == "true":
            entry["triggered_by_event"] = True
        if tag == "transaction" and node.get("method"):
            entry["method"] = node.get("method")
        if tag == "adHocSubProcess" and (ad_hoc := self._ad_hoc(node)):
            entry["ad_hoc"] = ad_hoc
        if tag == "callActivity" and node.get("calledElement"):
            entry["orchestration"] = {"sub_process": node.get("calledElement")}
        if tag in ("sendTask", "receiveTask"):  # without a reference its own name is the message's name
            ref = node.get("messageRef")
            entry["message"] = self._named("message", ref) if ref else entry["name"]
        if tag == "receiveTask" and node.get("instantiate") == "true":
            entry["instantiate"] = True
        if multi := instances(node, self.language, self.index.data):
            entry["multi"] = multi
        vendors.read(node, entry, self.roles, self.index.resources, self.starter)
        vendor_forms.read_form(node, entry, self.forms)
        unread = vendor_tasks.read(node, entry, self.index.settings(drawn), self._script_text(node))
        if tag == "scriptTask" and not {"computes", "job"} & entry.keys():
            self._script(node, entry)
        if tag == "receiveTask":
            entry |= self._correlation(node.get("messageRef"))
        for name, why in dict.fromkeys(unread):
            self._leave_out(f"«{name}» of", why, node)
        self._store("activities", entry, drawn)

    def _script_text(self, node: XmlElement) -> str:
        """A script that is an expression of a dialect that is read here."""
        text, language = node.child_text("script", BPMN).strip(), node.get("scriptFormat").lower()
        if language == "feel":
            return f"={text.removeprefix('=')}"
        return text if language in ("juel", "") and text.startswith(("${", "#{", "=")) else ""

    def _correlation(self, ref: str) -> dict[str, Any]:
        """By which value a message finds the one that waits for it."""
        message = self.index.declarations.get("message", {}).get(ref)
        return vendors.correlation(message) if message is not None else {}

    def _ad_hoc(self, node: XmlElement) -> dict[str, Any]:
        ad_hoc: dict[str, Any] = {"ordering": "sequential"} if node.get("ordering") == "Sequential" else {}
        if until := self._formal(node, "completionCondition", condition=True):
            ad_hoc["until"] = until
        if node.get("cancelRemainingInstances") == "false":
            ad_hoc["cancel_remaining"] = False
        return ad_hoc | vendors.ad_hoc_steps(node)

    def _script(self, node: XmlElement, entry: dict[str, Any]) -> None:
        """P-X.25: only Python scripts are run; a script in another language is kept beside the elements."""
        format = node.get("scriptFormat")
        if format.lower() in ("python", "python3", "text/x-python", "application/x-python"):
            entry["python_code"] = node.child_text("script", BPMN)
            if format != "python":
                self.extensions.setdefault("script", {})[entry["id"]] = {"format": format}
        else:
            self.extensions.setdefault("script", {})[entry["id"]] = {
                "format": format,
                "text": node.child_text("script", BPMN),
            }

    def _gateway(self, node: XmlElement, parent: str) -> None:
        entry: dict[str, Any] = {"id": self._id(node), "name": node.get("name"), "type": node.name}
        if node.get("instantiate") == "true":
            entry["instantiate"] = True
        if activation := self._formal(node, "activationCondition", condition=True):
            entry["activation"] = activation
        if node.get("eventGatewayType") == "Parallel":
            entry["all_events"] = True
        if node.get("default"):
            entry["default"] = self._author_id(node.get("default"))
        self._store("gateways", entry | entry_parts.described(node, parent), node)

    def _event(self, node: XmlElement, parent: str) -> None:
        entry: dict[str, Any] = {"id": self._id(node), "name": node.get("name"), "position": POSITIONS[node.name]}
        definitions = self._definitions(node)
        if len(definitions) > 1:
            entry["trigger"] = "parallelMultiple" if node.get("parallelMultiple") == "true" else "multiple"
            entry["triggers"] = [self._definition(definition) for definition in definitions]
        elif definitions:
            entry |= self._definition(definitions[0])
        if node.get("attachedToRef"):
            entry["attached_to"] = self._author_id(node.get("attachedToRef"))
        if node.get("cancelActivity") == "false" or node.get("isInterrupting") == "false":
            entry["interrupting"] = False
        if entry.get("trigger") == "message" and (entry["position"] in ("catch", "boundary") or parent):
            entry |= self._correlation(entry.get("name_ref", ""))
        return self._store("events", entry | entry_parts.described(node, parent), node)

    def _definition(self, node: XmlElement) -> dict[str, Any]:
        trigger = TRIGGERS[node.name]
        fields: dict[str, Any] = {"trigger": trigger}
        if trigger == "timer":
            words = {"timeDate": "date", "timeDuration": "duration", "timeCycle": "cycle"}
            fields["timer"] = {word: dialects.time_text(node.child_text(tag, BPMN)) for tag, word in words.items()
                              if node.child_text(tag, BPMN)}  # fmt: skip
        elif trigger in REFERENCES and (ref := node.get(REFERENCES[trigger])):
            fields["name_ref"] = ref
            fields["code" if trigger in ("error", "escalation") else trigger] = self._named(trigger, ref)
        elif trigger == "conditional" and (condition := self._formal(node, "condition", condition=True)):
            fields["condition"] = condition
        elif trigger == "link" and node.get("name"):
            fields["link"] = node.get("name")
        elif trigger == "compensation":
            if node.get("activityRef"):
                fields["activity"] = self._author_id(node.get("activityRef"))
            if node.get("waitForCompletion") == "false":
                fields["wait_for_completion"] = False
        return fields

    def _flow(self, node: XmlElement) -> None:
        id = self._id(node)
        source, target = self._author_id(node.get("sourceRef")), self._author_id(node.get("targetRef"))
        entry: dict[str, Any] = {"id": id, "source": source, "target": target}
        if node.get("name"):
            entry["name"] = node.get("name")
        if condition := self._formal(node, "conditionExpression", condition=True):
            entry["condition"] = condition
        self._store("transitions", entry | entry_parts.described(node, ""), node)

    def _formal(self, node: XmlElement, name: str, *, condition: bool = False) -> str:
        """An expression of an element; its own language goes before that of the file."""
        return dialects.formal_expression(node.first(name, BPMN), self.language, condition=condition)

    def _lanes(self, container: XmlElement, parent: str) -> None:
        for lane in container.all("lane", BPMN):
            members = [self._author_id(ref.text.strip()) for ref in lane.all("flowNodeRef", BPMN)]
            entry: dict[str, Any] = {"id": self._id(lane), "name": lane.get("name"), "elements": members}
            if parent:
                entry["parent"] = parent
            self._add("lanes", self._with_settings(entry, lane), lane)
            for inner in lane.all("childLaneSet", BPMN):
                self._lanes(inner, self._id(lane))

    # -- ids, names, extensions ----------------------------------------------------------------------------------------

    def _id(self, node: XmlElement) -> str:
        return self._author_id(node.get("id"))

    def _author_id(self, ref: str) -> str:
        return self.index.author_id(ref)

    def _named(self, kind: str, ref: str) -> str:
        """The name, or the code, of a message, signal, error or escalation of the file."""
        node = self.index.declarations.get(kind, {}).get(ref)
        if node is None:
            return ref
        name = node.get("errorCode") or node.get("escalationCode") or node.get("name")
        return name if name and not dialects.is_computed(name) else ref

    def _store(self, collection: str, entry: dict[str, Any], node: XmlElement) -> None:
        """Adds an element with what BPMN has no place for: our settings win, and the modeler's extensions are kept."""
        self._keep_extensions(node, entry["id"])
        for name, why in vendor_tasks.not_of_activities(node) if collection != "activities" else ():
            self._leave_out(f"«{name}» of", why, node)
        self._add(collection, self._with_settings(entry, node), node)

    def _add(self, collection: str, entry: dict[str, Any], node: XmlElement) -> None:
        self.collections.setdefault(collection, []).append((entry, node))

    def _add_unsupported(self, what: str, node: XmlElement) -> None:
        name = node.get("name") or (self._pool_name(node) if node.name == "process" else "")
        self._add("unsupported", {"element": what, "id": node.get("id"), "name": name}, node)

    def _with_settings(self, entry: dict[str, Any], node: XmlElement) -> dict[str, Any]:
        """An entry with what our settings say of it: they win over the element."""
        own = self.index.settings(node)
        entry |= {name: value for name, value in own.items() if not name.startswith("$")}
        return entry_parts.remove(entry, own)

    def _keep_extensions(self, node: XmlElement, id: str) -> None:
        if kept := entry_parts.kept_extensions(node, self.prefixes):
            self.extensions.setdefault("elements", {})[id] = kept
