"""A text in plain words becomes a ProcessDefinition (P-X.2, P-X.3): headings, numbered steps, roles, conditions.

Korean and English. It reads by rules, so the same text gives the same definition; how much of it was certain is the
confidence (P-X.22). Whatever comes out is a proposal: a person accepts it.
"""

from __future__ import annotations

import re
from itertools import pairwise
from typing import Any, NamedTuple

import msgspec

from penstock.errors import Finding, Place
from penstock.lang.process.text_import import guards, roles
from penstock.lang.process.text_import import sentence as words
from penstock.lang.process.text_import.lines import ManualLine, ManualStep, read_text
from penstock.lang.process.text_import.sentence import BULLET, Branch

#: P-6.1.6, P-X.22: as sure as this, and nobody has to look before it can be started
ENOUGH = 0.80
_AGENT = re.compile(
    r"(?<![A-Za-z])AI(?![A-Za-z])|에이전트|\bagent\b|\bLLM\b|자동(?!차)|automatic(?:ally)?|autonomous", re.I
)
_CHECKED = re.compile(r"검토|확인 후|승인|supervised|review(?:ed)?|approv", re.I)
_SYSTEM = re.compile(r"시스템|system|server|API|데이터베이스|database", re.I)
_COMPARISON = re.compile(r"([^|&]+) ([<>]=?) (-?[\d.]+)\Z")


class Extracted(msgspec.Struct, frozen=True, kw_only=True):
    """`evidence` says of every element what it was read from; `parts` are the four shares of the confidence;
    `findings` are what a person has to look at, each with its line of the text."""

    definition: dict[str, Any]
    confidence: float
    parts: dict[str, float]
    evidence: dict[str, str]
    findings: list[Finding] = []

    @property
    def certain(self) -> bool:
        return self.confidence >= ENOUGH


def extract(text: str, *, id: str = "") -> Extracted:
    """Never fails: a text without steps is one activity, of which little is certain."""
    return _Reading(text, id).whole()


class _End(NamedTuple):
    """What leads to whatever comes next: an element, with the condition of that way, or as its default."""

    source: str
    condition: str = ""
    default: bool = False


class _Unit(NamedTuple):
    """A sentence of a step: the ways that it names, or none."""

    line: ManualLine
    branches: list[Branch]
    role: str = ""
    todo: bool = False  # it is something to do, and no heading
    title: str = ""


class _Reading:
    def __init__(self, text: str, id: str) -> None:
        self.text, self.read, self.id = text, read_text(text), id
        self.activities: list[dict[str, Any]] = []
        self.gateways: list[dict[str, Any]] = []
        self.flows: list[dict[str, Any]] = []
        self.roles: dict[str, dict[str, Any]] = {}
        self.events: list[dict[str, Any]] = []
        self.evidence: dict[str, str] = {}
        self.sure: dict[str, bool] = {}
        self.begins: list[tuple[ManualStep, str]] = []  # where each step begins
        self.jumps: list[tuple[dict[str, Any], int, ManualStep, ManualLine]] = []
        self.findings: list[Finding] = []
        self.lost = self.unread = 0
        self.open: list[_End] = []
        heads = [one.lines[0].text for one in self.read.steps]
        self.known = frozenset(self.read.roles) | {one for one in map(roles.role_before, heads) if one}

    def whole(self) -> Extracted:
        for name in self.read.roles:
            self._role(name)
        for step in self.read.steps:
            self._step(step)
        for line in self.read.left:
            self._not_read(line)
        self._closed()
        self._resolved()
        title = self.read.title or (self.activities[0]["name"] if self.activities else "process")
        definition: dict[str, Any] = {
            "process_definition_id": self.id or f"proc_{words.slug(title, 'text')}",
            "process_definition_name": title,
            "description": "\n".join(one.rstrip() for one in self.text.splitlines() if one.strip())[:2000],
            "roles": list(self.roles.values()),
            "activities": self.activities,
            "gateways": self.gateways,
            "events": self.events,
            "transitions": self.flows,
        }
        definition = {name: value for name, value in definition.items() if value or name != "events"}
        parts = self._parts()
        return Extracted(
            definition=definition, confidence=round(sum(parts.values()) / len(parts), 4), parts=parts,
            evidence=self.evidence, findings=sorted(self.findings, key=lambda one: one.where.line),
        )  # fmt: skip

    def _parts(self) -> dict[str, float]:
        """P-X.22. A sentence that should have become a gateway and did not counts as one without branches; the default
        is a branch with a condition: that no other one holds."""
        known = [self.sure.get(one["id"], False) for one in self.activities]
        flows = len(self.flows) + self.lost
        outs: dict[str, list[dict[str, Any]]] = {}
        for flow in self.flows:
            outs.setdefault(flow["source"], []).append(flow)
        gateways = [one for one in self.gateways if not one["id"].endswith("_join")]
        divided = [_divided(one, outs.get(one["id"], [])) for one in gateways]
        divided += [False] * self.unread
        return {
            "activities": sum(known) / len(known) if known else 0.0,
            "transitions": len(self.flows) / flows if flows else 1.0,
            "gateways": sum(divided) / len(divided) if divided else 1.0,
            "schema": 1.0 if self.activities else 0.0,
        }

    # -- one step ------------------------------------------------------------------------------------------------------

    def _step(self, step: ManualStep) -> None:
        before = len(self.activities) + len(self.gateways)
        head, rest = step.lines[0], step.lines[1:]
        bullets = [ManualLine(one.at, found[1]) for one in rest if (found := BULLET.match(one.text))]
        if words.ALONG.search(head.text) and len(bullets) > 1:
            self._along(head.text, [one.text for one in bullets], step)
        else:
            self._units(self._told(step), step)
        if len(self.activities) + len(self.gateways) == before and not self.open and not self.begins:
            self._then(head, [], step)

    def _told(self, step: ManualStep) -> list[_Unit]:
        told: list[_Unit] = []
        for n, line in enumerate(step.lines):
            for one in words.sentences(line.text):
                told += self._unit(ManualLine(line.at, one), step.lines[0].text if n > 0 else "")
        return told

    def _unit(self, line: ManualLine, head: str) -> list[_Unit]:
        text, role = BULLET.sub(r"\1", line.text).strip(), ""
        if head and (case := words.listed(text, head)):
            return [_Unit(line, [case])]
        if role_first := roles.role_before(text):
            text, role = roles.role_of(text, self.known)[0], role_first
        title, text = words.titled(text) if not role else ("", text)
        found = words.branches(text) if not words.does_first(text) else []
        if found and found[0].condition is not None and not role:
            role, condition = roles.topic_of(found[0].condition)
            found[0] = found[0]._replace(condition=condition)
        if not found and words.looks_conditional(text):
            lead, found = words.led(text)
            if found:
                lead = f"{role or title}: {lead}" if role or title else lead
                return [_Unit(ManualLine(line.at, lead), [], todo=True), _Unit(line, found, role)]
        return [_Unit(line, found, role, title=title if found else "")]

    def _units(self, units: list[_Unit], step: ManualStep) -> None:
        """What is plain in a row is one activity, what is conditional in a row is one gateway."""
        at = 0
        while at < len(units):
            end = at + 1
            if units[at].branches:
                while end < len(units) and units[end].branches and units[end - 1].branches[-1].condition is not None:
                    end += 1
                self._choice(units[at:end], step)
            else:
                while end < len(units) and not units[end].branches and not self._apart(units[at], units[end]):
                    end += 1
                after = units[end:]
                if at == 0 and end == 1 and self._is_question(units[0], after):
                    self._choice(after_all := self._run(after), step, units[0].line.text)
                    end += len(after_all)
                else:
                    self._then(units[at].line, [one.line for one in units[at + 1 : end]], step)
            at = end

    def _run(self, units: list[_Unit]) -> list[_Unit]:
        end = 1
        while end < len(units) and units[end].branches and units[end - 1].branches[-1].condition is not None:
            end += 1
        return units[:end]

    def _is_question(self, unit: _Unit, after: list[_Unit]) -> bool:
        """A short phrase before the ways is what the gateway is called, and nothing to do."""
        text = unit.line.text
        ways = sum(len(one.branches) for one in self._run(after)) if after and after[0].branches else 0
        if unit.todo or roles.role_of(text, self.known)[1] is not None:
            return False
        return (
            ways >= 2 and len(text) <= 60 and (text.endswith("?") or "따라" in text or not words.ends_as_action(text))
        )

    def _apart(self, first: _Unit, unit: _Unit) -> bool:
        """Another role than the first one's is another activity; so is what is done meanwhile, and a way back."""
        text = unit.line.text
        if BULLET.match(text):
            return False
        role, here = roles.role_of(first.line.text, self.known)[1], roles.role_of(text, self.known)[1]
        return (role is not None and here is not None and here != role or bool(words.beside(text))
                or len(words.side_by_side(text)) > 1 or words.jump_of(text) is not None
                or words.end_of(text) == "")  # fmt: skip

    def _choice(self, units: list[_Unit], step: ManualStep, name: str = "") -> None:
        branches = [(one, unit) for unit in units for one in unit.branches]
        for n in range(1, len(branches)):
            if words.is_rest(branches[n][0].condition or ""):
                branches[n] = (branches[n][0]._replace(condition=None), branches[n][1])
        first, unit = branches[0]
        name = name or unit.title
        if (
            len(branches) == 1
            and first.condition is not None
            and words.after_it(first.condition, first=not self.begins)
        ):
            text = f"{unit.title}: {first.action}" if unit.title else first.action
            return self._then(ManualLine(unit.line.at, text), [], step, unit.role)
        if all(one.condition is None for one, _ in branches):
            return self._otherwise(first, unit, step)
        role = next((one.role for one in units if one.role), "") or self._who(step)
        return self._choose(_in_order(branches), step, name, role)

    def _who(self, step: ManualStep) -> str:
        """Who does what a step says, where a sentence of it does not say it."""
        head = words.sentences(step.lines[0].text)[0] if step.lines[0].text.strip() else ""
        said = roles.role_of(head, self.known)[1] if not words.branches(head) else None
        return step.role or roles.role_before(head) or said or ""

    def _otherwise(self, branch: Branch, unit: _Unit, step: ManualStep) -> None:
        """A step of its own that says what follows where the condition of the step before does not hold."""
        waiting = next((one for one in self.open if one.default), None)
        if waiting is None:
            self._not_read(unit.line)
            return self._then(ManualLine(unit.line.at, branch.action), [], step, unit.role, told=True)
        self.open.remove(waiting)
        ways = [one for one in self.flows if one["source"] == waiting.source]
        other = guards.opposite(ways[0].get("condition", "")) if len(ways) == 1 else ""
        way = _End(waiting.source, other, not other)
        self.open += self._way(way, branch, unit, step, unit.role or self._who(step))
        return None

    def _choose(self, branches: list[tuple[Branch, _Unit]], step: ManualStep, name: str, role: str) -> None:
        said = name or branches[0][1].line.text
        gateway = self._gateway("exclusiveGateway", words.shortened(name) if name else "", said)
        if not self.open and self.begins:
            self.lost += 1
        self._lead_to(gateway)
        self.begins.append((step, gateway))
        ends: list[_End] = []
        conditions: list[str] = []
        for branch, unit in branches:
            if branch.condition is None:
                other = guards.opposite(conditions[0]) if len(conditions) == 1 and len(branches) == 2 else ""
                way = _End(gateway, other, not other)
            else:
                guard = guards.guard_of(branch.condition, branch.negated, name)
                if not guard.read:
                    self._to_check(unit.line, guard.expression, branch.condition, gateway)
                conditions.append(guard.expression)
                way = _End(gateway, guard.expression)
            ends += self._way(way, branch, unit, step, role)
        if all(branch.condition is not None for branch, _ in branches) and not _whole(conditions):
            ends.append(_End(gateway, default=True))
        self.open = ends

    def _way(self, way: _End, branch: Branch, unit: _Unit, step: ManualStep, role: str) -> list[_End]:
        """What a branch leads to: a step, the end, or something to do; and what of it leads on."""
        if words.looks_conditional(branch.action):
            self._not_read(unit.line)
        label = branch.condition or ""
        jump, end = words.jump_of(branch.action), words.end_of(branch.action)
        lead = jump.lead if jump is not None else end if end is not None else branch.action
        if lead:
            id = self._activity(lead, "", role)
            self._flow(way, id, label)
            way, label = _End(id), ""
        if jump is not None:
            self.jumps.append((self._flow(way, "", label), jump.step, step, unit.line))
            return []
        if end is not None:
            self._flow(way, self._end(), label)
            return []
        return [way]

    def _then(
        self, line: ManualLine, more: list[ManualLine], step: ManualStep, role: str = "", *, told: bool = False
    ) -> None:
        for one in (line, *more):
            if not told and words.looks_conditional(one.text):
                self._not_read(one)
        line = ManualLine(line.at, words.afterwards(line.text))
        parts = words.side_by_side(line.text)
        if len(parts) > 1 and (not words.beside(line.text) or words.gathers(line.text) or not self.open):
            return self._along(line.text, parts, step)
        if meanwhile := words.beside(line.text):
            if self._beside(meanwhile):
                return None
            self.unread += 1
            self._tell("parallel_not_read", line, "What it goes on beside of is not certain; it follows instead", "",
                       "Write «In parallel:» or «동시에:», and a list of what is done.")  # fmt: skip
            line = ManualLine(line.at, meanwhile)
        if not more and self._left(line, step, role):
            return None
        id = self._activity(line.text, " ".join(one.text for one in more), role or self._who(step))
        self._lead_to(id)
        self.begins.append((step, id))
        self.open = [_End(id)]
        return None

    def _left(self, line: ManualLine, step: ManualStep, role: str) -> bool:
        """A sentence that only leads to a step, or to the end."""
        jump, end = words.jump_of(line.text), words.end_of(line.text)
        if not self.open or jump is None and (end != "" or len(line.text) > 30):
            return False
        if jump is not None and jump.lead:
            self._then(ManualLine(line.at, jump.lead), [], step, role, told=True)
        target = "" if jump is not None else self._end()
        for way in self.open:
            flow = self._flow(way, target)
            if jump is not None:
                self.jumps.append((flow, jump.step, step, line))
        self.open = []
        return True

    def _along(self, head: str, parts: list[str], step: ManualStep) -> None:
        fork = self._gateway("parallelGateway", words.shortened(head), head)
        join = self._gateway("parallelGateway", "", head, f"{fork}_join")
        self._lead_to(fork)
        self.begins.append((step, fork))
        for one in parts:
            id = self._activity(one, "")
            self._flow(_End(fork), id)
            self._flow(_End(id), join)
        self.open = [_End(join)]

    def _beside(self, text: str) -> bool:
        """What goes on meanwhile goes on beside the activity before, or beside what goes on beside it already."""
        if len(self.open) != 1 or self.open[0].condition or self.open[0].default:
            return False
        before = self.open[0].source
        forks = [one["id"] for one in self.gateways if one["type"] == "parallelGateway"]
        if before in forks:
            fork, join = before.removesuffix("_join"), before
        elif any(one["id"] == before for one in self.activities):
            fork = self._gateway("parallelGateway", "", text)
            join = self._gateway("parallelGateway", "", text, f"{fork}_join")
            for flow in self.flows:
                flow["target"] = fork if flow["target"] == before else flow["target"]
            self.begins = [(step, fork if id == before else id) for step, id in self.begins]
            self._flow(_End(fork), before)
            self._flow(_End(before), join)
        else:
            return False
        id = self._activity(text, "")
        self._flow(_End(fork), id)
        self._flow(_End(id), join)
        self.open = [_End(join)]
        return True

    # -- how it ends and begins ----------------------------------------------------------------------------------------

    def _end(self) -> str:
        id = f"end{len(self.events) + 1}"
        self.events.append({"id": id, "name": "", "position": "end"})
        return id

    def _closed(self) -> None:
        """A gateway at the end of the text has a way to the end where its condition does not hold."""
        for one in self.open:
            if one.default or one.condition:
                self._flow(one, self._end())
        self.open = []

    def _resolved(self) -> None:
        """Ways to a step get their ends; what leads nowhere is told, and so is what nothing leads to."""
        for flow, number, step, line in self.jumps:
            flow["target"] = self._step_at(number, step)
            if not flow["target"]:
                self._tell("step_unknown", line, "It leads to a step that the text does not have", flow["source"],
                           "Number the steps, and name one of them.")  # fmt: skip
        self.lost += sum(1 for flow in self.flows if not flow["target"])
        self.flows = [flow for flow in self.flows if flow["target"]]
        if not self.begins:
            return
        first = self.begins[0][1]
        if any(flow["target"] == first for flow in self.flows):  # the process begins before it
            self.events.insert(0, {"id": "start", "name": "", "position": "start"})
            self._flow(_End("start"), first)
        reached = {flow["target"] for flow in self.flows} | {first}
        for step, id in self.begins:
            if id not in reached:
                self.lost += 1
                self._tell("step_not_reached", step.lines[0], "No way leads to this step", id,
                           "Say in the steps before it when it follows.")  # fmt: skip

    def _step_at(self, number: int, here: ManualStep) -> str:
        """The step of that number, of the same section first; 0 is the first one, -1 the one before."""
        if number == 0:
            return self.begins[0][1]
        if number == -1:
            steps = self.read.steps
            before = next((a for a, b in pairwise(steps) if b is here), None)
            return next((id for step, id in self.begins if step is before), "")
        found = [(step.section != here.section, id) for step, id in self.begins if step.number == number]
        return min(found, key=lambda one: one[0])[1] if found else ""

    # -- elements ------------------------------------------------------------------------------------------------------

    def _activity(self, head: str, more: str, role: str = "") -> str:
        head = words.afterwards(BULLET.sub(r"\1", head).strip())
        text, said_role = roles.role_of(head, self.known)
        said_role = said_role or role or None
        if said_role is None and more:
            said_role = roles.role_of(BULLET.sub(r"\1", words.sentences(more)[0]).strip(), self.known)[1]
        name, instruction, marks = words.named(text)
        whole = f"{head} {more}"
        id = f"a{len(self.activities) + 1}"
        entry: dict[str, Any] = {"id": id, "name": name[:255], "type": "humanTask"}
        if _AGENT.search(whole):
            entry |= {"type": "serviceTask",
                      "agent_mode": "SUPERVISED" if _CHECKED.search(whole) else "AUTONOMOUS"}  # fmt: skip
        elif _SYSTEM.search(head) and (said_role is None or _SYSTEM.search(said_role)):
            entry |= {"type": "serviceTask", "agent_mode": "AUTONOMOUS"}
        if told := " ".join(one for one in (instruction, more.strip()) if one):
            entry["instruction"] = told
        if said_role is not None and entry["type"] == "humanTask":
            entry["role"] = self._role(said_role)
        self.activities.append(entry)
        self.evidence[id] = head[:200]
        self.sure[id] = bool(said_role or marks or "agent_mode" in entry) or words.ends_as_action(head)
        return id

    def _role(self, name: str) -> str:
        found = next((one["id"] for one in self.roles.values() if one["name"].lower() == name.lower()), None)
        slug = found or words.slug(name, f"role_{len(self.roles) + 1}")
        self.roles.setdefault(slug, {"id": slug, "name": name})
        return slug

    def _gateway(self, kind: str, name: str, said: str, id: str = "") -> str:
        id = id or f"g{len(self.gateways) + 1}"
        self.gateways.append({"id": id, "name": name, "type": kind})
        self.evidence[id] = said[:200]
        return id

    def _flow(self, way: _End, target: str, name: str = "") -> dict[str, Any]:
        flow: dict[str, Any] = {"id": f"t{len(self.flows) + 1}", "source": way.source, "target": target}
        if way.condition:
            flow["condition"] = way.condition
        if way.default:
            next(one for one in reversed(self.gateways) if one["id"] == way.source)["default"] = flow["id"]
        if name:
            flow["name"] = name[:255]
        self.flows.append(flow)
        return flow

    def _lead_to(self, id: str) -> None:
        """What is open leads here; several ends meet in a gateway first."""
        if len(self.open) > 1:
            join = self._gateway("exclusiveGateway", "", "", f"g{len(self.gateways) + 1}_join")
            for one in self.open:
                self._flow(one, join)
            self.open = [_End(join)]
        for one in self.open:
            self._flow(one, id)
        self.open = []

    # -- what a person has to look at ----------------------------------------------------------------------------------

    def _tell(self, rule: str, line: ManualLine, message: str, node: str, hint: str) -> None:
        shown = words.shortened(line.text)
        self.findings.append(Finding(
            rule=rule, severity="warning", message=f"Line {line.at}: {message}: «{shown}».",
            where=Place(line=line.at, column=1), hint=hint, node=node, category="semantic",
        ))  # fmt: skip

    def _not_read(self, line: ManualLine) -> None:
        self.unread += 1
        self._tell("condition_not_read", line, "It says a condition, and no gateway could be made of it", "",
                   "Write «If …, …. Otherwise, …», or «…이면 …. 그렇지 않으면 …».")  # fmt: skip

    def _to_check(self, line: ManualLine, expression: str, condition: str, gateway: str) -> None:
        name, _, truth = expression.rpartition(" == ")
        whole = truth not in ("true", "false")
        made_up = f"The condition {expression} is a guess" if whole else f"The name {name} was made up"
        message = f"{made_up} for «{words.shortened(condition)}»"
        hint = "See that the work before it gives this name true or false, or write the condition yourself."
        self._tell("condition_to_check", line, message, gateway, hint)


def _divided(gateway: dict[str, Any], ways: list[dict[str, Any]]) -> bool:
    if gateway["type"] == "exclusiveGateway":
        ways = [one for one in ways if "condition" in one or one["id"] == gateway.get("default")]
    return len(ways) >= 2


def _in_order(branches: list[tuple[Branch, _Unit]]) -> list[tuple[Branch, _Unit]]:
    """Of bounds upon the same thing the narrower one is asked first, in whichever order they are told."""
    asked = [(one, unit) for one, unit in branches if one.condition is not None]
    found = [_COMPARISON.match(guards.guard_of(one.condition or "", one.negated).expression) for one, _ in asked]
    bounds = [one for one in found if one is not None]
    if len(bounds) < len(asked) or len({(one[1], one[2][0]) for one in bounds}) != 1:
        return branches
    numbered = sorted(zip(bounds, asked, strict=True), key=lambda one: float(one[0][3]), reverse=bounds[0][2][0] == ">")
    return [*(one for _, one in numbered), *(one for one in branches if one[0].condition is None)]


def _whole(conditions: list[str]) -> bool:
    """Does one of two conditions always hold?"""
    return len(conditions) == 2 and guards.opposite(conditions[0]) == conditions[1]
