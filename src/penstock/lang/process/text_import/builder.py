"""Builds a definition while a manual is read: elements, transitions, and what a person has to look at."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise
from typing import Any, NamedTuple

from penstock.errors import Finding, Place
from penstock.lang.process.text_import import roles
from penstock.lang.process.text_import import sentence as words
from penstock.lang.process.text_import.due_times import due_of
from penstock.lang.process.text_import.lines import ManualLine, ManualStep
from penstock.lang.process.text_import.sentence import BULLET

_AGENT = re.compile(
    r"(?<![A-Za-z])AI(?![A-Za-z])|에이전트"
    r"|(?<!service )(?<!cent[er][er] )(?<!support )(?<!sales )(?<!travel )(?<!insurance )\bagent\b|\bLLM\b"
    r"|자동(?!차)|automatic(?:ally)?|autonomous",
    re.I,
)
_CHECKED = re.compile(r"검토|확인 후|승인|supervised|review(?:ed)?|approv", re.I)
_SYSTEM = re.compile(r"시스템|system|server|API|데이터베이스|database", re.I)


def mode_said(text: str) -> str:
    """The mode of work that no person does, as a text says it; "" where it says nothing of the kind."""
    if _AGENT.search(text) or _SYSTEM.search(text):
        return "SUPERVISED" if _CHECKED.search(text) else "AUTONOMOUS"
    return ""


class OpenEnd(NamedTuple):
    """The end of a path that leads to whatever comes next: an element, with a condition, or as its default."""

    source: str
    condition: str = ""
    default: bool = False


class DefinitionBuilder:
    """`open_ends` lead to whatever comes next; `step_starts` has the first element of each step."""

    def __init__(self, steps: list[ManualStep], known_roles: frozenset[str]) -> None:
        self.steps, self.known_roles = steps, known_roles
        self.activities: list[dict[str, Any]] = []
        self.gateways: list[dict[str, Any]] = []
        self.flows: list[dict[str, Any]] = []
        self.roles: dict[str, dict[str, Any]] = {}
        self.events: list[dict[str, Any]] = []
        self.evidence: dict[str, str] = {}
        self.lines: dict[str, list[ManualLine]] = {}
        self.guessed: set[str] = set()  # elements whose condition was made up
        self.certain: dict[str, bool] = {}
        self.step_starts: list[tuple[ManualStep, str]] = []
        self.jumps: list[tuple[dict[str, Any], int, ManualStep, ManualLine]] = []
        self.findings: list[Finding] = []
        self.lost_flows = self.unread_conditions = 0
        self.open_ends: list[OpenEnd] = []

    def finish(self) -> None:
        self._close_open_ends()
        self._resolve_jumps()

    def confidence_parts(self) -> dict[str, float]:
        """The four parts of the confidence (P-X.22). A condition that became no gateway counts as a gateway without
        branches; a default counts as a branch with a condition."""
        known = [self.certain.get(activity["id"], False) for activity in self.activities]
        flows = len(self.flows) + self.lost_flows
        flows_from: dict[str, list[dict[str, Any]]] = {}
        for flow in self.flows:
            flows_from.setdefault(flow["source"], []).append(flow)
        gateways = [gateway for gateway in self.gateways if not gateway["id"].endswith("_join")]
        branched = [_has_branches(gateway, flows_from.get(gateway["id"], [])) for gateway in gateways]
        branched += [False] * self.unread_conditions
        return {
            "activities": sum(known) / len(known) if known else 0.0,
            "transitions": len(self.flows) / flows if flows else 1.0,
            "gateways": sum(branched) / len(branched) if branched else 1.0,
            "schema": 1.0 if self.activities else 0.0,
        }

    def certainty(self) -> dict[str, float]:
        """How certain each element is: less where its role or type is not in the text, where its condition was made up,
        and where a gateway has no two branches."""
        flows_from: dict[str, list[dict[str, Any]]] = {}
        for flow in self.flows:
            flows_from.setdefault(flow["source"], []).append(flow)
        known = {id: 1.0 if certain else 0.6 for id, certain in self.certain.items()}
        for gateway in self.gateways:
            id = gateway["id"]
            branched = id.endswith("_join") or _has_branches(gateway, flows_from.get(id, []))
            known[id] = 0.4 if not branched else 0.7 if id in self.guessed else 1.0
        for flow in self.flows:
            guessed = flow["source"] in self.guessed and "condition" in flow
            known[flow["id"]] = (
                0.7 if guessed else min(1.0, known.get(flow["source"], 1.0), known.get(flow["target"], 1.0))
            )
        return known

    # -- elements ------------------------------------------------------------------------------------------------------

    def activity(self, head: str, more: str, role: str = "", lines: Sequence[ManualLine] = ()) -> str:
        head = words.without_sequence_words(BULLET.sub(r"\1", head).strip())
        text, said_role = roles.role_of(head, self.known_roles)
        said_role = said_role or role or None
        if said_role is None and more:
            said_role = roles.role_of(BULLET.sub(r"\1", words.sentences(more)[0]).strip(), self.known_roles)[1]
        name, instruction, brackets = words.name_and_instruction(text)
        text_of_all = f"{head} {more}"
        id = f"a{len(self.activities) + 1}"
        entry: dict[str, Any] = {"id": id, "name": name[:255], "type": "humanTask"}
        if due := due_of(text_of_all):
            entry["due"] = due
        if _AGENT.search(text_of_all):
            entry |= {"type": "serviceTask",
                      "agent_mode": "SUPERVISED" if _CHECKED.search(text_of_all) else "AUTONOMOUS"}  # fmt: skip
        elif _SYSTEM.search(head) and (said_role is None or _SYSTEM.search(said_role)):
            entry |= {"type": "serviceTask", "agent_mode": "AUTONOMOUS"}
        if full_instruction := " ".join(part for part in (instruction, more.strip()) if part):
            entry["instruction"] = full_instruction
        if said_role is not None and entry["type"] == "humanTask":
            entry["role"] = self.role(said_role)
        self.activities.append(entry)
        self.evidence[id] = head[:200]
        self.lines[id] = list(lines)
        self.certain[id] = bool(said_role or brackets or "agent_mode" in entry) or words.ends_as_action(head)
        return id

    def role(self, name: str) -> str:
        known = next((role["id"] for role in self.roles.values() if role["name"].lower() == name.lower()), None)
        slug = known or words.slug(name, f"role_{len(self.roles) + 1}")
        self.roles.setdefault(slug, {"id": slug, "name": name})
        return slug

    def gateway(self, kind: str, name: str, evidence: str, id: str = "", lines: Sequence[ManualLine] = ()) -> str:
        id = id or f"g{len(self.gateways) + 1}"
        self.gateways.append({"id": id, "name": name, "type": kind})
        self.evidence[id] = evidence[:200]
        self.lines[id] = list(lines)
        return id

    def flow(self, open_end: OpenEnd, target: str, name: str = "", lines: Sequence[ManualLine] = ()) -> dict[str, Any]:
        flow: dict[str, Any] = {"id": f"t{len(self.flows) + 1}", "source": open_end.source, "target": target}
        if open_end.condition:
            flow["condition"] = open_end.condition
        if open_end.default:
            next(gateway for gateway in reversed(self.gateways) if gateway["id"] == open_end.source)["default"] = flow[
                "id"
            ]
        if name:
            flow["name"] = name[:255]
        self.lines[flow["id"]] = list(lines)
        self.flows.append(flow)
        return flow

    def end(self, lines: Sequence[ManualLine] = ()) -> str:
        id = f"end{len(self.events) + 1}"
        self.lines[id] = list(lines)
        self.events.append({"id": id, "name": "", "position": "end"})
        return id

    def lead_to(self, id: str) -> None:
        """Connects the open ends with an element; several meet in a gateway first."""
        if len(self.open_ends) > 1:
            join = self.gateway("exclusiveGateway", "", "", f"g{len(self.gateways) + 1}_join")
            for open_end in self.open_ends:
                self.flow(open_end, join)
            self.open_ends = [OpenEnd(join)]
        for open_end in self.open_ends:
            self.flow(open_end, id)
        self.open_ends = []

    def add_parallel(self, line: ManualLine, parts: Sequence[ManualLine], step: ManualStep) -> None:
        head = line.text
        fork = self.gateway("parallelGateway", words.shortened(head), head, lines=[line])
        join = self.gateway("parallelGateway", "", head, f"{fork}_join", lines=[line])
        self.lead_to(fork)
        self.step_starts.append((step, fork))
        for part in parts:
            id = self.activity(part.text, "", lines=[part])
            self.flow(OpenEnd(fork), id)
            self.flow(OpenEnd(id), join)
        self.open_ends = [OpenEnd(join)]

    def add_beside_last(self, line: ManualLine) -> bool:
        """Adds an activity in parallel with the last one, or to the last parallel gateway; False if there is none."""
        if len(self.open_ends) != 1 or self.open_ends[0].condition or self.open_ends[0].default:
            return False
        before, text = self.open_ends[0].source, line.text
        forks = [gateway["id"] for gateway in self.gateways if gateway["type"] == "parallelGateway"]
        if before in forks:
            fork, join = before.removesuffix("_join"), before
        elif any(activity["id"] == before for activity in self.activities):
            fork = self.gateway("parallelGateway", "", text, lines=[line])
            join = self.gateway("parallelGateway", "", text, f"{fork}_join", lines=[line])
            for flow in self.flows:
                flow["target"] = fork if flow["target"] == before else flow["target"]
            self.step_starts = [(step, fork if id == before else id) for step, id in self.step_starts]
            self.flow(OpenEnd(fork), before)
            self.flow(OpenEnd(before), join)
        else:
            return False
        id = self.activity(text, "", lines=[line])
        self.flow(OpenEnd(fork), id)
        self.flow(OpenEnd(id), join)
        self.open_ends = [OpenEnd(join)]
        return True

    # -- the ends of paths ---------------------------------------------------------------------------------------------

    def _close_open_ends(self) -> None:
        """Leads conditional open ends to an end event."""
        for open_end in self.open_ends:
            if open_end.default or open_end.condition:
                self.flow(open_end, self.end())
        self.open_ends = []

    def _resolve_jumps(self) -> None:
        """Gives jumps their targets; reports jumps to unknown steps, and steps that nothing leads to."""
        for flow, number, step, line in self.jumps:
            flow["target"] = self._step_at(number, step)
            if not flow["target"]:
                self.report("step_unknown", line, "It leads to a step that the text does not have", flow["source"],
                           "Number the steps, and name one of them.")  # fmt: skip
        self.lost_flows += sum(1 for flow in self.flows if not flow["target"])
        self.flows = [flow for flow in self.flows if flow["target"]]
        if not self.step_starts:
            return
        first = self.step_starts[0][1]
        if any(
            flow["target"] == first for flow in self.flows
        ):  # a jump leads to it, so the process needs a start event
            self.events.insert(0, {"id": "start", "name": "", "position": "start"})
            self.flow(OpenEnd("start"), first)
        reached = {flow["target"] for flow in self.flows} | {first}
        for step, id in self.step_starts:
            if id not in reached:
                self.lost_flows += 1
                self.report("step_not_reached", step.lines[0], "No way leads to this step", id,
                           "Say in the steps before it when it follows.")  # fmt: skip

    def _step_at(self, number: int, from_step: ManualStep) -> str:
        """The first element of a step: by number, of the same section first; 0 is the first step, -1 the one before."""
        if number == 0:
            return self.step_starts[0][1]
        if number == -1:
            before = next((a for a, b in pairwise(self.steps) if b is from_step), None)
            return next((id for step, id in self.step_starts if step is before), "")
        candidates = [(step.section != from_step.section, id) for step, id in self.step_starts if step.number == number]
        return min(candidates, key=lambda candidate: candidate[0])[1] if candidates else ""

    # -- what a person has to look at ----------------------------------------------------------------------------------

    def report(self, rule: str, line: ManualLine, message: str, node: str, hint: str) -> None:
        excerpt = words.shortened(line.text)
        self.findings.append(Finding(
            rule=rule, severity="warning", message=f"Line {line.at}: {message}: «{excerpt}».",
            where=Place(line=line.at, column=1), hint=hint, node=node, category="semantic",
        ))  # fmt: skip

    def condition_not_read(self, line: ManualLine) -> None:
        self.unread_conditions += 1
        self.report("condition_not_read", line, "It says a condition, and no gateway could be made of it", "",
                    "Write «If …, …. Otherwise, …», or «…이면 …. 그렇지 않으면 …».")  # fmt: skip

    def condition_to_check(self, line: ManualLine, expression: str, condition: str, gateway: str) -> None:
        name, _, truth = expression.rpartition(" == ")
        is_comparison = truth not in ("true", "false")
        self.guessed.add(gateway)
        made_up = f"The condition {expression} is a guess" if is_comparison else f"The name {name} was made up"
        message = f"{made_up} for «{words.shortened(condition)}»"
        hint = "See that the work before it gives this name true or false, or write the condition yourself."
        self.report("condition_to_check", line, message, gateway, hint)


def _has_branches(gateway: dict[str, Any], flows: list[dict[str, Any]]) -> bool:
    if gateway["type"] == "exclusiveGateway":
        flows = [flow for flow in flows if "condition" in flow or flow["id"] == gateway.get("default")]
    return len(flows) >= 2
