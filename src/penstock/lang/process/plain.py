"""A text in plain words becomes a ProcessDefinition (P-X.2, P-X.3): headings, numbered steps, roles, conditions.

Korean and English. It reads by rules, so the same text gives the same definition; how much of it was certain is the
confidence (P-X.22). Whatever comes out is a proposal: a person accepts it.
"""

from __future__ import annotations

import re
from typing import Any

import msgspec

#: P-6.1.6, P-X.22: as sure as this, and nobody has to look before it can be started
ENOUGH = 0.80
_STEP = re.compile(r"\s*(?:(?:단계|step)\s*)?(\d{1,3})\s*[.):]\s+(.+)", re.I)
_BULLET = re.compile(r"\s*[-*•]\s+(.+)")
_HEADING = re.compile(r"\s*#+\s*(.+)")
_ROLE_BEFORE = re.compile(r"(?:\[([^\]]{1,40})\]|([^\s:：.,()]{1,20}(?: [^\s:：.,()]{1,20})?)\s*[:：])\s*(.+)")
_ROLE_AFTER = re.compile(
    r"(.+?)\s*[(（]\s*(?:담당|역할|role|by)\s*[:：]?\s*([^()（）]{1,40})[)）]\s*[:：]?\s*(.*)", re.I
)
_ROLE_SAYS = re.compile(r"(?:the\s+)?([A-Za-z][\w ]{1,30}?)\s+(?:must|should|shall|has to|needs to|will)\s+(.+)", re.I)
_KOREAN_ROLE = re.compile(r"(\S{0,15}(?:자|팀|부서|부|원|인|장|실|관|과|센터))(?:이|가|은|는)\s+(.+)")
_IF = re.compile(r"\s*(?:if|when|in case(?: that)?)\s+(.+?)(?:,(?!\d)|\s+then\b|:)\s*(?:then\s+)?(.+)", re.I)
_ELSE = re.compile(r"\s*(?:otherwise|else|if not)\s*[,:]?\s*(.+)", re.I)
_IF_KO = re.compile(
    r"\s*(?:만약|만일)?\s*(.+?)(?:인|한|는|은|된|을|일)?\s*(?:경우|때)\s*((?:\(|（)[^)）]*[)）])?(?:에는|에|는)?\s*[,:]?\s*(.+)"
)
_IF_KO_SHORT = re.compile(
    r"\s*(?:만약|만일)\s*(.+?(?:이면|으면|라면|하면|되면|크면|작으면|있으면|없으면))()\s*,?\s*(.+)"
)
_ELSE_KO = re.compile(r"\s*(?:그렇지\s*않으면|그\s*외(?:에는)?|아니면|나머지는)\s*[,:]?\s*(.+)")
_JUMP = re.compile(r"(?:go (?:back )?to|return to|back to)\s+(?:step\s*)?(\d{1,3})|(\d{1,3})\s*단계로", re.I)
_END = re.compile(
    r"\s*(?:(?:the process )?(?:ends?|stops?|finish(?:es)?)|(?:절차를?|프로세스를?)?\s*(?:종료|끝낸다|끝))", re.I
)
_ALONG = re.compile(r"동시에|병렬로|at the same time|in parallel|simultaneously|concurrently", re.I)
_AGENT = re.compile(r"\bAI\b|에이전트|\bagent\b|\bLLM\b|자동(?:으로)?|automatic(?:ally)?|autonomous", re.I)
_CHECKED = re.compile(r"검토|확인 후|승인|supervised|review(?:ed)?|approv", re.I)
_SYSTEM = re.compile(r"시스템|system|server|API|데이터베이스|database", re.I)
_EXPRESSION = re.compile(r"[(（`]\s*([A-Za-z_]\w*\s*(?:==|!=|<=|>=|<|>)\s*[^()（）`]+?)\s*[)）`]")
_AMOUNT = re.compile(r"(.+?)(?:이|가|은|는)?\s+([\d][\d,.]*)\s*\S{0,3}?\s*(초과|미만|이상|이하)")
_COMPARED = re.compile(
    r"(?:the\s+)?(.+?)\s+(?:is\s+)?(greater than|more than|over|above|less than|below|under|at least|at most|[<>]=?)"
    r"\s+\$?([\d][\d,.]*)", re.I,
)  # fmt: skip
_SIGNS = {
    "greater than": ">", "more than": ">", "over": ">", "above": ">", "less than": "<", "below": "<", "under": "<",
    "at least": ">=", "at most": "<=", "초과": ">", "미만": "<", "이상": ">=", "이하": "<=",
}  # fmt: skip
_WORDS = {
    "이슈": "has_issue", "문제": "has_issue", "오류": "has_error", "승인": "approved", "거절": "rejected",
    "반려": "rejected",
    "금액": "amount", "수량": "quantity", "재고": "in_stock", "불량률": "defect_rate", "불량": "defective",
    "issue": "has_issue", "problem": "has_issue", "error": "has_error", "approved": "approved", "rejected": "rejected",
}  # fmt: skip
_SMALL = ("the", "a", "an", "is", "are", "if", "of", "it", "has", "have", "not", "no")
_NOT = re.compile(r"없|않|아니|\bno\b|\bnot\b|n't\b|without", re.I)
_ENDINGS = re.compile(r"(?:한다|합니다|하고|하여|함|하기|시킨다|된다|됩니다)[.\s]*\Z")


class Extracted(msgspec.Struct, frozen=True, kw_only=True):
    """`evidence` says of every element what it was read from; `parts` are the four shares of the confidence."""

    definition: dict[str, Any]
    confidence: float
    parts: dict[str, float]
    evidence: dict[str, str]

    @property
    def certain(self) -> bool:
        return self.confidence >= ENOUGH


def extract(text: str, *, id: str = "") -> Extracted:
    """Never fails: a text without steps is one activity, of which little is certain."""
    return _Reading(text, id).whole()


class _Reading:
    def __init__(self, text: str, id: str) -> None:
        self.lines = [line.rstrip() for line in text.replace("\r\n", "\n").split("\n")]
        self.title, self.id = "", id
        self.activities: list[dict[str, Any]] = []
        self.gateways: list[dict[str, Any]] = []
        self.flows: list[dict[str, Any]] = []
        self.roles: dict[str, dict[str, Any]] = {}
        self.evidence: dict[str, str] = {}
        self.sure: dict[str, bool] = {}
        self.step: dict[int, str] = {}  # number of a step → where it begins
        self.jumps: list[tuple[dict[str, Any], int]] = []
        self.lost = 0
        self.open: list[tuple[str, str | None]] = []  # ends that lead to what comes next: element, and its condition
        self.events: list[dict[str, Any]] = []

    def whole(self) -> Extracted:
        for number, step in self._steps():
            self._step(number, step)
        self._closed()
        for flow, number in self.jumps:
            flow["target"] = self.step.get(number, "")
        self._begun()
        self.lost += sum(1 for flow in self.flows if not flow["target"])
        self.flows = [flow for flow in self.flows if flow["target"]]
        title = self.title or (self.activities[0]["name"] if self.activities else "process")
        definition: dict[str, Any] = {
            "process_definition_id": self.id or f"proc_{_slug(title, 'text')}",
            "process_definition_name": title,
            "description": "\n".join(line for line in self.lines if line.strip())[:2000],
            "roles": list(self.roles.values()),
            "activities": self.activities,
            "gateways": self.gateways,
            "events": self.events,
            "transitions": self.flows,
        }
        definition = {name: value for name, value in definition.items() if value or name != "events"}
        parts = self._parts(definition)
        confidence = round(sum(parts.values()) / len(parts), 4)
        return Extracted(definition=definition, confidence=confidence, parts=parts, evidence=self.evidence)

    def _parts(self, definition: dict[str, Any]) -> dict[str, float]:
        """P-X.22."""
        known = [self.sure.get(one["id"], False) for one in self.activities]
        flows = len(self.flows) + self.lost
        branched = [sum(1 for f in self.flows if f["source"] == one["id"]) >= 2 for one in self._divides()]
        return {
            "activities": sum(known) / len(known) if known else 0.0,
            "transitions": len(self.flows) / flows if flows else 1.0,
            "gateways": sum(branched) / len(branched) if branched else 1.0,
            "schema": 1.0 if self.activities else 0.0,
        }

    def _divides(self) -> list[dict[str, Any]]:
        return [one for one in self.gateways if not one["id"].endswith("_join")]

    # -- lines ---------------------------------------------------------------------------------------------------------

    def _steps(self) -> list[tuple[int, list[str]]]:
        """Numbered steps with what belongs to them; without numbers the bullets, without those the sentences."""
        numbered, bullets, other = [], [], []
        current: list[str] | None = None
        for line in self.lines:
            if not line.strip():
                continue
            if found := _HEADING.match(line):
                self.title = self.title or found[1].strip()
            elif found := _STEP.match(line):
                current = [found[2].strip()]
                numbered.append((int(found[1]), current))
            elif current is not None and line[:1] in (" ", "\t", "-", "*", "•"):
                current.append(line.strip())
            elif found := _BULLET.match(line):
                bullets.append(found[1].strip())
            else:
                other.append(line.strip())
        if numbered:
            self.title = self.title or (other[0].rstrip(":：") if other else "")
            return numbered
        if bullets:
            self.title = self.title or (other[0].rstrip(":：") if other else "")
            return [(n, [one]) for n, one in enumerate(bullets, 1)]
        if other and not self.title and not re.search(r"[.。다]\s*\Z", other[0]):
            self.title = other.pop(0)
        sentences = [one for line in other for one in _sentences(line)]
        return [(n, [one]) for n, one in enumerate(sentences, 1)]

    # -- one step ------------------------------------------------------------------------------------------------------

    def _step(self, number: int, lines: list[str]) -> None:
        head, inner = lines[0], [_BULLET.match(one) for one in lines[1:]]
        bullets = [one[1] for one in inner if one is not None]
        if _ALONG.search(head) and len(bullets) > 1:
            return self._along(number, head, bullets)
        told = [*_sentences(head), *(line for line in lines[1:])]
        branches = [(condition, action) for one in told if (found := _branch(one)) for condition, action in [found]]
        if not branches:
            self._then(number, head, " ".join(one for one in lines[1:]))
            return None
        if all(condition is None for condition, _ in branches):
            return self._otherwise(number, branches[0][1])
        first = _branch(told[0])
        if first is None:
            name, _, _ = _named(told[0])
            if len(told[0]) > 60 or _ends_as_action(told[0]) or len(branches) < 2:
                self._then(number, told[0], "")
            return self._choose(number, name, branches, told[0])
        return self._choose(number, "", branches, head)

    def _otherwise(self, number: int, action: str) -> None:
        """A step of its own that says what follows where the condition of the step before does not hold."""
        waiting = next((one for one in self.open if one[1] is not None), None)
        if waiting is None:
            return self._then(number, action, "")
        self.open.remove(waiting)
        source, condition = waiting
        if found := _JUMP.search(action):
            self.jumps.append((self._flow(source, "", condition), int(found[1] or found[2])))
        elif _END.match(action):
            self._flow(source, self._end(), condition)
        else:
            id = self._activity(action, "")
            self._flow(source, id, condition)
            self.step.setdefault(number, id)
            self.open.append((id, None))
        return None

    def _then(self, number: int, head: str, more: str) -> None:
        id = self._activity(head, more)
        self._lead_to(id)
        self.step.setdefault(number, id)
        self.open = [(id, None)]

    def _along(self, number: int, head: str, bullets: list[str]) -> None:
        fork = self._gateway("parallelGateway", _short(head), head)
        join = self._gateway("parallelGateway", "", head, f"{fork}_join")
        self._lead_to(fork)
        self.step.setdefault(number, fork)
        for one in bullets:
            id = self._activity(one, "")
            self._flow(fork, id)
            self._flow(id, join)
        self.open = [(join, None)]

    def _choose(self, number: int, name: str, branches: list[tuple[str | None, str]], said: str) -> None:
        gateway = self._gateway("exclusiveGateway", _short(name) if name else "", said)
        if not self.open and self.activities:
            self.lost += 1
        self._lead_to(gateway)
        self.step.setdefault(number, gateway)
        ends: list[tuple[str, str | None]] = []
        first = next((one for one, _ in branches if one is not None), None)
        names = _condition(first) if first is not None else ""
        for condition, action in branches:
            guard = _condition(condition) if condition is not None else _opposite(names)
            label = condition.strip() if condition is not None else None
            if found := _JUMP.search(action):
                flow = self._flow(gateway, "", guard, label)
                self.jumps.append((flow, int(found[1] or found[2])))
            elif _END.match(action):
                self._flow(gateway, self._end(), guard, label)
            else:
                id = self._activity(action, "")
                self._flow(gateway, id, guard, label)
                ends.append((id, None))
        if len(branches) == 1:
            ends.append((gateway, _opposite(names)))
        self.open = ends

    def _end(self) -> str:
        id = f"end{len(self.events) + 1}"
        self.events.append({"id": id, "name": "", "position": "end"})
        return id

    def _closed(self) -> None:
        """A gateway at the end of the text has a way to the end where its condition does not hold."""
        for source, condition in self.open:
            if condition is not None:
                self._flow(source, self._end(), condition)
        self.open = []

    def _begun(self) -> None:
        """Where a step leads back to the first one, the process begins before it, and both meet in a gateway."""
        back = [flow for flow, _ in self.jumps if flow["target"] == self.step.get(min(self.step, default=0))]
        if not back:
            return
        first = back[0]["target"]
        self.events.insert(0, {"id": "start", "name": "", "position": "start"})
        self._flow("start", first)

    # -- elements ------------------------------------------------------------------------------------------------------

    def _activity(self, head: str, more: str) -> str:
        text, role = _role(head)
        name, instruction, marks = _named(text)
        sure = role is not None or bool(marks)
        whole = f"{head} {more}"
        id = f"a{len(self.activities) + 1}"
        entry: dict[str, Any] = {"id": id, "name": name[:255], "type": "humanTask"}
        if _AGENT.search(whole):
            entry |= {"type": "serviceTask",
                      "agent_mode": "SUPERVISED" if _CHECKED.search(whole) else "AUTONOMOUS"}  # fmt: skip
            sure = True
        elif _SYSTEM.search(head) and role is None:
            entry |= {"type": "serviceTask", "agent_mode": "AUTONOMOUS"}
            sure = True
        said = " ".join(one for one in (instruction, more.strip()) if one)
        if said:
            entry["instruction"] = said
        if role is not None and entry["type"] == "humanTask":
            slug = next((one["id"] for one in self.roles.values() if one["name"] == role), None)
            slug = slug or _slug(role, f"role_{len(self.roles) + 1}")
            self.roles.setdefault(slug, {"id": slug, "name": role})
            entry["role"] = slug
        self.activities.append(entry)
        self.evidence[id], self.sure[id] = head[:200], sure or _ends_as_action(head)
        return id

    def _gateway(self, kind: str, name: str, said: str, id: str = "") -> str:
        id = id or f"g{len(self.gateways) + 1}"
        self.gateways.append({"id": id, "name": name, "type": kind})
        self.evidence[id] = said[:200]
        return id

    def _flow(self, source: str, target: str, condition: str | None = None, name: str | None = None) -> dict[str, Any]:
        flow: dict[str, Any] = {"id": f"t{len(self.flows) + 1}", "source": source, "target": target}
        if condition:
            flow["condition"] = condition
        if name:
            flow["name"] = name[:255]
        self.flows.append(flow)
        return flow

    def _lead_to(self, id: str) -> None:
        """What is open leads here; several ends meet in a gateway first."""
        if len(self.open) > 1:
            join = self._gateway("exclusiveGateway", "", "", f"g{len(self.gateways) + 1}_join")
            for source, condition in self.open:
                self._flow(source, join, condition)
            self.open = [(join, None)]
        for source, condition in self.open:
            self._flow(source, id, condition)
        self.open = []


# ---- words -----------------------------------------------------------------------------------------------------------


def _sentences(line: str) -> list[str]:
    return [one.strip() for one in re.split(r"(?<=[.!?。])\s+|(?<=다\.)\s*", line) if one.strip()]


def _branch(sentence: str) -> tuple[str | None, str] | None:
    """(condition, what follows); the condition is None for «otherwise»."""
    text = _BULLET.sub(r"\1", sentence).strip()
    for pattern in (_ELSE, _ELSE_KO):
        if found := pattern.match(text):
            return None, found[1].strip(" .。")
    if (found := _IF.match(text)) and found[2].strip(" .。"):
        return found[1].strip(), found[2].strip(" .。")
    for pattern in (_IF_KO_SHORT, _IF_KO):
        if (found := pattern.match(text)) and found[3].strip(" .。"):
            return f"{found[1].strip()} {found[2] or ''}".strip(), found[3].strip(" .。")
    return None


def _condition(text: str) -> str:
    """An expression that the text holds, a comparison that it says, or a name that is true."""
    if found := _EXPRESSION.search(text):
        return found[1].strip()
    if found := _COMPARED.search(text) or _AMOUNT.search(text):
        first, second, third = found[1], found[2], found[3]
        number, sign = (third, second) if third[0].isdigit() else (second, third)
        return f"{_variable(first)} {_SIGNS.get(sign.lower(), sign)} {number.replace(',', '').rstrip('.')}"
    return f"{_variable(text)} == {'false' if _NOT.search(text) else 'true'}"


def _opposite(expression: str) -> str:
    for a, b in (("== true", "== false"), ("== false", "== true")):
        if expression.endswith(a):
            return expression[: -len(a)] + b
    return f"!({expression})"


def _variable(text: str) -> str:
    for word, name in _WORDS.items():
        if word in text.lower():
            return name
    words = re.findall(r"[A-Za-z][A-Za-z0-9]*", text.lower())
    return "_".join([one for one in words if one not in _SMALL][:4]) or "condition_holds"


def _role(text: str) -> tuple[str, str | None]:
    if found := _ROLE_AFTER.match(text):
        return f"{found[1]}: {found[3]}".rstrip(": "), found[2].strip()
    if (found := _ROLE_BEFORE.match(text)) and found[3]:
        role = (found[1] or found[2]).strip()
        if found[1] is None and (len(role.split()) > 2 or not re.search(r"[자팀부원인장실관과]\Z|[A-Za-z]\Z", role)):
            return text, None
        if not _AGENT.fullmatch(role) and found[1] is None and re.search(r"검증|접수|분류|처리|확인|승인\Z", role):
            return text, None
        return found[3].strip(), role
    for pattern in (_KOREAN_ROLE, _ROLE_SAYS):
        if found := pattern.match(text):
            return found[2].strip(), found[1].strip()
    return text, None


def _named(text: str) -> tuple[str, str, list[str]]:
    """The name of an activity, what it is told to do, and what stands in brackets about it."""
    marks = re.findall(r"[\[(（]([^\])）]{1,60})[\])）]", text)
    plain_text = re.sub(r"\s*[\[(（][^\])）]{1,60}[\])）]", "", text).strip()
    name, colon, rest = plain_text.partition(":")
    if colon and 0 < len(name.strip()) <= 60:
        return name.strip(), rest.strip(" .。"), marks
    name, dash, rest = plain_text.partition(" - ")
    if dash and 0 < len(name.strip()) <= 60:
        return name.strip(), rest.strip(" .。"), marks
    whole = plain_text.strip(" .。")
    short = _short(whole)
    return short, whole if whole != short else "", marks


def _short(text: str) -> str:
    text = text.strip(" .:：。?")
    return text if len(text) <= 60 else f"{text[:57].rstrip()}…"


def _ends_as_action(text: str) -> bool:
    return (
        _ENDINGS.search(text) is not None
        or re.match(r"[A-Z]?[a-z]+s?\s+(?:the|a|an|all|each|every)\b", text) is not None
    )


def _slug(text: str, otherwise: str) -> str:
    found = "_".join(re.findall(r"[a-z0-9]+", text.lower()))[:40]
    return found or otherwise
