"""Imports a manual in plain Korean or English as a ProcessDefinition: steps, roles, conditions (P-X.2, P-X.3).

It reads by rules, so the same text gives the same definition; the confidence says how much of it was certain (P-X.22).
The definition is a proposal, which a person accepts.
"""

from __future__ import annotations

import re
from typing import Any, NamedTuple

import msgspec

from penstock.errors import Finding
from penstock.lang.process.text_import import guards, roles
from penstock.lang.process.text_import import sentence as words
from penstock.lang.process.text_import.builder import DefinitionBuilder, OpenEnd
from penstock.lang.process.text_import.lines import ManualLine, ManualStep, read_text
from penstock.lang.process.text_import.rephrase import REPEAT_MARK, SKIP_MARK, rephrased
from penstock.lang.process.text_import.sentence import BULLET, Branch

#: P-6.1.6, P-X.22: with this confidence nobody has to check the definition before it can be started.
ENOUGH = 0.80
_COMPARISON = re.compile(r"([^|&]+) ([<>]=?) (-?[\d.]+)\Z")


class Extracted(msgspec.Struct, frozen=True, kw_only=True):
    """What was read from a text. `evidence` has the text of every element, `lines` its lines, `certainty`
    how certain it is (0 to 1); `parts` has the parts of the confidence; `findings` are what a person
    has to check, each with its line."""

    definition: dict[str, Any]
    confidence: float
    parts: dict[str, float]
    evidence: dict[str, str]
    lines: dict[str, list[ManualLine]] = {}
    certainty: dict[str, float] = {}
    findings: list[Finding] = []

    @property
    def certain(self) -> bool:
        return self.confidence >= ENOUGH


def extract(text: str, *, id: str = "") -> Extracted:
    """The definition that a text describes. A text without steps becomes one activity with little confidence."""
    return _ManualReader(text, id).extracted()


class _SentenceUnit(NamedTuple):
    """A sentence of a step, with the branches that it names."""

    line: ManualLine
    branches: list[Branch]
    role: str = ""
    is_action: bool = False  # it is something to do, and no heading
    title: str = ""


class _ManualReader:
    """Reads the steps of a manual sentence by sentence, and builds the definition."""

    def __init__(self, text: str, id: str) -> None:
        self.text, self.manual, self.id = text, read_text(text), id
        heads = [step.lines[0].text for step in self.manual.steps]
        self.known_roles = frozenset(self.manual.roles) | {role for role in map(roles.role_before, heads) if role}
        self.builder = DefinitionBuilder(self.manual.steps, self.known_roles)

    def extracted(self) -> Extracted:
        builder = self.builder
        for name in self.manual.roles:
            builder.role(name)
        for step in self.manual.steps:
            self._step(step)
        for line in self.manual.leftover:
            builder.condition_not_read(line)
        builder.finish()
        activities = builder.activities
        title = self.manual.title or (activities[0]["name"] if activities else "process")
        definition: dict[str, Any] = {
            "process_definition_id": self.id or f"proc_{words.slug(title, 'text')}",
            "process_definition_name": title,
            "description": "\n".join(line.rstrip() for line in self.text.splitlines() if line.strip())[:2000],
            "roles": list(builder.roles.values()),
            "activities": activities,
            "gateways": builder.gateways,
            "events": builder.events,
            "transitions": builder.flows,
        }
        definition = {name: value for name, value in definition.items() if value or name != "events"}
        parts = builder.confidence_parts()
        return Extracted(
            definition=definition, confidence=round(sum(parts.values()) / len(parts), 4), parts=parts,
            evidence=builder.evidence, lines=builder.lines, certainty=builder.certainty(),
            findings=sorted(builder.findings, key=lambda finding: finding.where.line),
        )  # fmt: skip

    # -- steps ---------------------------------------------------------------------------------------------------------

    def _step(self, step: ManualStep) -> None:
        before = len(self.builder.activities) + len(self.builder.gateways)
        head, rest = step.lines[0], step.lines[1:]
        bullets = [ManualLine(line.at, bullet[1]) for line in rest if (bullet := BULLET.match(line.text))]
        if words.PARALLEL_WORDS.search(head.text) and len(bullets) > 1:
            self.builder.add_parallel(head, bullets, step)
        else:
            self._units(self._sentence_units(step), step)
        if (
            len(self.builder.activities) + len(self.builder.gateways) == before
            and not self.builder.open_ends
            and not self.builder.step_starts
        ):
            self._add_activity(head, [], step)

    def _sentence_units(self, step: ManualStep) -> list[_SentenceUnit]:
        first = step.lines[0]
        lines = [line._replace(text=sentence) for line in step.lines for sentence in words.sentences(line.text)]
        if not any(BULLET.match(line.text) for line in lines):
            lines = rephrased(lines)
        return [unit for line in lines for unit in self._unit(line, first.text if line.at != first.at else "")]

    def _unit(self, line: ManualLine, head: str) -> list[_SentenceUnit]:
        text, role = BULLET.sub(r"\1", line.text).strip(), ""
        if head and (case := words.case_of_list_item(text, head)):
            return [_SentenceUnit(line, [case])]
        if role_first := roles.role_before(text):
            text, role = roles.role_of(text, self.known_roles)[0], role_first
        title, text = words.split_title(text) if not role else ("", text)
        branches = words.branches(text) if not words.starts_with_action(text) else []
        if branches and branches[0].condition is not None and not role:
            role, condition = roles.topic_of(branches[0].condition)
            branches[0] = branches[0]._replace(condition=condition)
        if not branches and words.looks_conditional(text):
            lead, branches = words.action_then_branches(text)
            if branches:
                lead = f"{role or title}: {lead}" if role or title else lead
                return [
                    _SentenceUnit(line._replace(text=lead, said=line.said or line.text), [], is_action=True),
                    _SentenceUnit(line, branches, role),
                ]
        return [_SentenceUnit(line, branches, role, title=title if branches else "")]

    def _units(self, units: list[_SentenceUnit], step: ManualStep) -> None:
        """Sentences in a row without a condition become one activity, those with a condition one gateway."""
        at = 0
        while at < len(units):
            end = at + 1
            if units[at].branches:
                while end < len(units) and units[end].branches and units[end - 1].branches[-1].condition is not None:
                    end += 1
                self._read_choice(units[at:end], step)
            else:
                while end < len(units) and not units[end].branches and not self._is_separate(units[at], units[end]):
                    end += 1
                after = units[end:]
                if at == 0 and end == 1 and self._is_gateway_name(units[0], after):
                    self._read_choice(after_all := self._conditional_run(after), step, units[0].line.text)
                    end += len(after_all)
                else:
                    self._add_activity(units[at].line, [unit.line for unit in units[at + 1 : end]], step)
            at = end

    def _conditional_run(self, units: list[_SentenceUnit]) -> list[_SentenceUnit]:
        end = 1
        while end < len(units) and units[end].branches and units[end - 1].branches[-1].condition is not None:
            end += 1
        return units[:end]

    def _is_gateway_name(self, unit: _SentenceUnit, after: list[_SentenceUnit]) -> bool:
        """Is a short phrase before the branches the name of the gateway, and no activity?"""
        text = unit.line.text
        count = sum(len(unit.branches) for unit in self._conditional_run(after)) if after and after[0].branches else 0
        if unit.is_action or roles.role_of(text, self.known_roles)[1] is not None:
            return False
        return (
            count >= 2 and len(text) <= 60 and (text.endswith("?") or "따라" in text or not words.ends_as_action(text))
        )

    def _is_separate(self, first: _SentenceUnit, unit: _SentenceUnit) -> bool:
        """Is a sentence another activity: by another role, done in parallel, or a jump to a step?"""
        text = unit.line.text
        if BULLET.match(text):
            return False
        role, next_role = roles.role_of(first.line.text, self.known_roles)[1], roles.role_of(text, self.known_roles)[1]
        return (role is not None and next_role is not None and next_role != role or bool(words.parallel_action(text))
                or len(words.parallel_parts(text)) > 1 or words.jump_of(text) is not None
                or words.end_of(text) == "")  # fmt: skip

    def _read_choice(self, units: list[_SentenceUnit], step: ManualStep, name: str = "") -> None:
        branches = [(branch, unit) for unit in units for branch in unit.branches]
        for n in range(1, len(branches)):
            if words.is_bare_condition(branches[n][0].condition or ""):
                branches[n] = (branches[n][0]._replace(condition=None), branches[n][1])
        first, unit = branches[0]
        name = name or unit.title
        if (
            len(branches) == 1
            and first.condition is not None
            and words.is_temporal(first.condition, first=not self.builder.step_starts)
        ):
            text = f"{unit.title}: {first.action}" if unit.title else first.action
            line = unit.line._replace(text=text, said=unit.line.said or unit.line.text)
            return self._add_activity(line, [], step, unit.role)
        if all(branch.condition is None for branch, _ in branches):
            return self._otherwise_branch(first, unit, step)
        role = next((unit.role for unit in units if unit.role), "") or self._default_role(step)
        return self._add_choice(_narrowest_first(branches), step, name, role)

    def _default_role(self, step: ManualStep) -> str:
        """The role of a step, for sentences that name none."""
        head = words.sentences(step.lines[0].text)[0] if step.lines[0].text.strip() else ""
        named_role = roles.role_of(head, self.known_roles)[1] if not words.branches(head) else None
        return step.role or roles.role_before(head) or named_role or ""

    def _otherwise_branch(self, branch: Branch, unit: _SentenceUnit, step: ManualStep) -> None:
        """A step that only says what follows when the condition of the step before does not hold."""
        waiting = next((open_end for open_end in self.builder.open_ends if open_end.default), None)
        if waiting is None:
            self.builder.condition_not_read(unit.line)
            line = unit.line._replace(text=branch.action, said=unit.line.said or unit.line.text)
            return self._add_activity(line, [], step, unit.role, reported=True)
        self.builder.open_ends.remove(waiting)
        flows = [flow for flow in self.builder.flows if flow["source"] == waiting.source]
        other = guards.negated_expression(flows[0].get("condition", "")) if len(flows) == 1 else ""
        open_end = OpenEnd(waiting.source, other, not other)
        self.builder.open_ends += self._branch_ends(open_end, branch, unit, step, unit.role or self._default_role(step))
        return None

    def _add_choice(self, branches: list[tuple[Branch, _SentenceUnit]], step: ManualStep, name: str, role: str) -> None:
        evidence = name or branches[0][1].line.text
        lines = [ManualLine(branches[0][1].line.at, name)] if name else []
        lines += [unit.line for _, unit in branches]
        gateway = self.builder.gateway("exclusiveGateway", words.shortened(name) if name else "", evidence, lines=lines)
        if not self.builder.open_ends and self.builder.step_starts:
            self.builder.lost_flows += 1
        sources = [open_end.source for open_end in self.builder.open_ends]
        before = sources[0] if len(sources) == 1 and sources[0] in self.builder.certain else ""
        self.builder.lead_to(gateway)
        self.builder.step_starts.append((step, gateway))
        ends: list[OpenEnd] = []
        conditions: list[str] = []
        subject = name
        for branch, unit in branches:
            if branch.condition is None:
                other = guards.negated_expression(conditions[0]) if len(conditions) == 1 and len(branches) == 2 else ""
                open_end = OpenEnd(gateway, other, not other)
            else:
                guard = guards.guard_of(branch.condition, branch.negated, subject)
                subject = guards.subject_of(branch.condition) or subject
                if not guard.is_read:
                    self.builder.condition_to_check(unit.line, guard.expression, branch.condition, gateway)
                conditions.append(guard.expression)
                open_end = OpenEnd(gateway, guard.expression)
            ends += self._branch_ends(open_end, branch, unit, step, role, before)
        if all(branch.condition is not None for branch, _ in branches) and not _is_exhaustive(conditions):
            ends.append(OpenEnd(gateway, default=True))
        self.builder.open_ends = ends

    def _repeated(self, branch: Branch, before: str) -> str:
        """The activity that a branch repeats: the one before the gateway, or the one that «다시 …» names."""
        if branch.action.startswith(REPEAT_MARK):
            return before
        verb = words.repeated_verb(branch.action)
        known = [activity for activity in self.builder.activities if verb and verb in activity["name"].lower()]
        return str(known[-1]["id"]) if known else ""

    def _inner_choice(self, id: str, branch: Branch, unit: _SentenceUnit, step: ManualStep, role: str) -> list[OpenEnd]:
        """A condition inside a branch, after its activity: «…, and if …, …»."""
        gateway = self.builder.gateway("exclusiveGateway", "", unit.line.text, lines=[unit.line])
        self.builder.flow(OpenEnd(id), gateway, lines=[unit.line])
        ends: list[OpenEnd] = []
        for inner in branch.inside:
            guard = guards.guard_of(inner.condition or "", inner.negated)
            if not guard.is_read:
                self.builder.condition_to_check(unit.line, guard.expression, inner.condition or "", gateway)
            ends += self._branch_ends(OpenEnd(gateway, guard.expression), inner, unit, step, role)
        return [*ends, OpenEnd(gateway, default=True)]

    def _branch_ends(
        self, open_end: OpenEnd, branch: Branch, unit: _SentenceUnit, step: ManualStep, role: str, before: str = ""
    ) -> list[OpenEnd]:
        """Adds what a branch leads to: a step, the end, or an activity. Returns the ends that lead on. `before` is the
        activity before the gateway."""
        if words.looks_conditional(branch.action):
            self.builder.condition_not_read(unit.line)
        label = branch.condition or ""
        if branch.action.startswith(SKIP_MARK):
            return [open_end]
        if target := self._repeated(branch, before):
            self.builder.flow(open_end, target, label, [unit.line])
            return []
        jump, end = words.jump_of(branch.action), words.end_of(branch.action)
        lead = jump.lead if jump is not None else end if end is not None else branch.action
        if lead:
            id = self.builder.activity(lead, "", role, [unit.line])
            self.builder.flow(open_end, id, label, [unit.line])
            open_end, label = OpenEnd(id), ""
            if branch.inside:
                return self._inner_choice(id, branch, unit, step, role)
            if jump is None and end is None and before and words.is_rework(branch):
                self.builder.flow(open_end, before, "", [unit.line])
                return []
        if jump is not None:
            flow = self.builder.flow(open_end, "", label, [unit.line])
            self.builder.jumps.append((flow, jump.step, step, unit.line))
            return []
        if end is not None:
            self.builder.flow(open_end, self.builder.end([unit.line]), label, [unit.line])
            return []
        return [open_end]

    def _add_activity(
        self, line: ManualLine, more: list[ManualLine], step: ManualStep, role: str = "", *, reported: bool = False
    ) -> None:
        for text_line in (line, *more):
            if not reported and words.looks_conditional(text_line.text):
                self.builder.condition_not_read(text_line)
        line = line._replace(text=words.without_sequence_words(line.text), said=line.said or line.text)
        parts = words.parallel_parts(line.text)
        if len(parts) > 1 and (
            not words.parallel_action(line.text)
            or words.names_all_parallel_parts(line.text)
            or not self.builder.open_ends
        ):
            return self.builder.add_parallel(line, [line._replace(text=part) for part in parts], step)
        if meanwhile := words.parallel_action(line.text):
            if self.builder.add_beside_last(line._replace(text=meanwhile)):
                return None
            self.builder.unread_conditions += 1
            message = "What it goes on beside of is not certain; it follows instead"
            hint = "Write «In parallel:» or «동시에:», and a list of what is done."
            self.builder.report("parallel_not_read", line, message, "", hint)
            line = line._replace(text=meanwhile)
        if not more and self._leads_away(line, step, role):
            return None
        instruction = " ".join(text_line.text for text_line in more)
        id = self.builder.activity(line.text, instruction, role or self._default_role(step), [line, *more])
        self.builder.lead_to(id)
        self.builder.step_starts.append((step, id))
        self.builder.open_ends = [OpenEnd(id)]
        return None

    def _leads_away(self, line: ManualLine, step: ManualStep, role: str) -> bool:
        """Adds a sentence that only leads to a step, or to the end; False if it is another kind of sentence."""
        jump, end = words.jump_of(line.text), words.end_of(line.text)
        if not self.builder.open_ends or jump is None and (end != "" or len(line.text) > 30):
            return False
        if jump is not None and jump.lead:
            lead = line._replace(text=jump.lead, said=line.said or line.text)
            self._add_activity(lead, [], step, role, reported=True)
        target = "" if jump is not None else self.builder.end([line])
        for open_end in self.builder.open_ends:
            flow = self.builder.flow(open_end, target, lines=[line])
            if jump is not None:
                self.builder.jumps.append((flow, jump.step, step, line))
        self.builder.open_ends = []
        return True


def _narrowest_first(branches: list[tuple[Branch, _SentenceUnit]]) -> list[tuple[Branch, _SentenceUnit]]:
    """Branches that compare the same variable, ordered so that the narrower limit is evaluated first."""
    conditional = [(branch, unit) for branch, unit in branches if branch.condition is not None]
    comparisons = [
        _COMPARISON.match(guards.guard_of(branch.condition or "", branch.negated).expression)
        for branch, _ in conditional
    ]
    bounds = [comparison for comparison in comparisons if comparison is not None]
    if len(bounds) < len(conditional) or len({(bound[1], bound[2][0]) for bound in bounds}) != 1:
        return branches
    numbered = sorted(
        zip(bounds, conditional, strict=True), key=lambda pair: float(pair[0][3]), reverse=bounds[0][2][0] == ">"
    )
    return [*(branch for _, branch in numbered), *(branch for branch in branches if branch[0].condition is None)]


def _is_exhaustive(conditions: list[str]) -> bool:
    """Does always one of two conditions hold?"""
    if len(conditions) != 2:
        return False
    first, second = map(_COMPARISON.match, conditions)
    if first is not None and second is not None:
        same = (first[1], first[3]) == (second[1], second[3])
        return same and {first[2], second[2]} in ({"<", ">="}, {"<=", ">"})
    return guards.negated_expression(conditions[0]) == conditions[1]
