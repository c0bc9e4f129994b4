"""Says in the plain form «if …, … Otherwise, …» what manuals say in other ways.

These are exceptions, kinds of cases, limits without a condition word, and repetition. Each sentence keeps what the
manual said, for its evidence.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from penstock.lang.process.text_import.lines import ManualLine
from penstock.lang.process.text_import.roles import role_of
from penstock.lang.process.text_import.sentence import MAX_LENGTH, PARALLEL_WORDS, branches, looks_conditional

_BOUND = (
    r"(?:넘는|초과하는|초과한|초과된|이상인|이하인|미만인|미달하는|미달한|밑도는|웃도는|많은|적은|큰|작은|높은|낮은)"
)
_OF_KIND = r"(?:않는|않은|아닌|없는|못한|못하는|누락된|지난|경과한|만료된)"
_TOPIC = r"(?:에게는|에는|에\s*대해서는|에\s*대하여는|에\s*한하여|에\s*한해|은|는)"
#: «100만원을 넘는 건은 …», «요건에 맞지 않는 지원자에게는 …»
_CASES_KO = re.compile(
    rf"(?P<condition>\S.*?\s?(?:{_BOUND}|{_OF_KIND}))\s+(?P<noun>[가-힣]{{1,8}}?){_TOPIC}\s*,?\s+(?P<action>\S.+)", re.S
)
_HAS_KO = re.compile(rf"(?P<condition>\S.*?\s(?:있는|된|한|인))\s+(?:건|것){_TOPIC}\s*,?\s+(?P<action>\S.+)", re.S)
#: «승인 건에 한하여 …»
_ONLY_KO = re.compile(r"(?P<condition>\S+(?:\s\S+)?\s?(?:건|자|것))에\s*한(?:하여|해서?)\s+(?P<action>\S.+)", re.S)
_TOPIC_KO = re.compile(
    r"(?P<noun>[가-힣A-Za-z]{2,8}(?:\s[가-힣]{2,6})?)(?:은|는|의\s*경우(?:에는|에|는)?)\s+(?P<action>\S.+)", re.S
)
#: «7등급 이하는 …»
_BOUND_TOPIC = re.compile(r"(\d\S*\s*(?:이상|이하|초과|미만))(?:은|는)(?=\s)")
_AND_ANOTHER = re.compile(r"((?:[하되내리기치])고),?\s+(?=\S+(?:\s\S+)?(?:은|는|이|가)\s)")
_NUMBER = r"(?:[$€£₩]\s*)?\d[\d,.]*\s*(?:k|thousand|million)?\s*(?P<unit>[A-Za-z%€]{0,10})"
#: «Orders above 10,000 go to …»
_CASES = re.compile(
    rf"(?:all\s+|any\s+)?(?P<noun>(?!(?:if|when|whenever|unless|otherwise|for|in|at|on|by|after|before|once|any\w*|some\w*|it|they|there)\b)"
    r"[A-Za-z][a-z]+(?: [a-z]+)??)\s+(?:of\s+|with an? (?P<what>\w+)\s+(?:of\s+)?)?"
    rf"(?P<bound>(?:over|above|exceeding|more than|greater than|at least|under|below|less than|up to)\s+{_NUMBER})\s+"
    r"(?P<action>(?:go|goes|are|is|need|needs|require|requires|must|have|has|will|can|may)\b.+)", re.I | re.S,
)  # fmt: skip
_CASES_OF_KIND = re.compile(
    r"(?P<noun>[A-Z][a-z]+s)\s+(?P<rest>(?:that|which|whose|without|with)\s+.{3,80}?)\s+"
    r"(?P<action>(?:go|are (?:sent|returned|rejected|passed|forwarded|approved|handled|checked|escalated))\b.+)", re.S,
)  # fmt: skip
_OTHERS = re.compile(
    r"(?:and\s+)?(?:all\s+)?(?:the\s+)?(?:others?(?:\s+\w+)??|rest|remaining(?:\s+\w+)?|remainder)\s+"
    r"(?P<action>(?:go|goes|are|is|need|needs|must|will|can|may)\b.+)", re.I | re.S,
)  # fmt: skip
_EXCEPT = re.compile(r",?\s+(?:except|other than)\s+(?:when|if|where|in case(?: that)?|for the case that)\s+", re.I)
_EXCEPTION = re.compile(r"(?:다만|단)\s*,\s*(.+)|(?:예외(?:적으로)?\s*[:,]?)\s+(.+)"
                        r"|(?:except(?:ion(?:ally|s)?)?\s*[:,]\s*|however,?\s+)(.+)", re.I | re.S)  # fmt: skip
_KIND_KO = re.compile(r"(?P<kind>[가-힣]{2,6})\s+(?P<noun>[가-힣]{2,6})(?:은|는)\s+(?P<action>\S.+)", re.S)
_KIND = re.compile(r"(?P<kind>[A-Z][a-z]+)\s+(?P<noun>[a-z]+s)\s+(?P<action>(?:go|are|need|must|will)\b.+)", re.S)
_ORDINARY = re.compile(r"일반|보통|정상|기타|나머지|통상|other|normal|ordinary|regular|standard|usual|remaining", re.I)
_UNTIL = re.compile(
    r"(?:(?:this|it|the (?:step|test|check|loop))\s+(?:is|are|must be|has to be)\s+repeated|repeat (?:this"
    r"|it)(?: step)?)"
    r"\s+(?:until|as long as (?P<positive>not )?)\s*(?P<condition>.+)", re.I | re.S,
)  # fmt: skip
_UNTIL_AFTER = re.compile(r"(?P<action>.+?),?\s+until\s+(?P<condition>[^,]+)\Z", re.I | re.S)
_UNTIL_KO = re.compile(
    r"(?P<condition>.+?)(?:될|할|일|ㄹ|을|를)\s*때까지\s+(?P<action>.*?)\s*(?P<verb>반복|되풀이)(?:한다|합니다|하여.*"
    r"|된다)\Z",
    re.S,
)
_FUTURE = re.compile(r"(\S*)([될할일])\s*때까지\s+(?P<action>.*)", re.S)
#: What a branch does when it skips the work that an exception is from.
_SKIP = re.compile(
    r"(?:이를?\s*|그를?\s*)?(?:생략|면제)(?:한다|합니다|할\s*수\s*있다|된다)|.{0,20}(?:하지\s*않는다"
    r"|하지\s*않아도\s*된다|필요\s*없다|필요가\s*없다)"
    r"|(?:this|it|the \w+|this step)\s+(?:is|can be|may be)\s+(?:skipped|omitted|waived)|(?:this|it) is not (?:needed"
    r"|required|necessary)"
    r"|no \w+ is (?:needed|required|necessary)|skip this step", re.I,
)  # fmt: skip
REPEAT_MARK = "↻"
SKIP_MARK = "⤳"


def rephrased(lines: Sequence[ManualLine]) -> list[ManualLine]:
    """The sentences of a step, or of a text without steps, in the plain form."""
    told: list[ManualLine] = []
    for line in lines:
        text = line.text if len(line.text) <= MAX_LENGTH else ""
        exception = _exception(text)
        if exception and told and not looks_conditional(told[-1].text):
            before = told.pop()
            korean = re.search(r"[가-힣]", before.text) is not None
            usual = f"그렇지 않으면 {before.text}" if korean else f"Otherwise, {_lower(before.text)}"
            told += [_said(line, exception), _said(before, usual)]
            continue
        if exception and told:  # of a case: it is looked at first
            told.insert(len(told) - 1, _said(line, exception))
            continue
        told += _told(line, text, told) if text else [line]
    return told


def _said(line: ManualLine, text: str) -> ManualLine:
    return ManualLine(line.at, text, line.said or line.text)


def _lower(text: str) -> str:
    return text[:1].lower() + text[1:] if re.match(r"[A-Z][a-z]", text) else text


def _exception(text: str) -> str:
    """The condition and action of a sentence that begins with «다만» or «However»; "" for others."""
    match = _EXCEPTION.match(text)
    inner = next((group for group in match.groups() if group), "") if match is not None else ""
    inner = _case(inner) or inner
    if text[:1] in "단다" and (topic := _TOPIC_KO.match(inner)) and not looks_conditional(inner):
        inner = f"{topic['noun']}인 경우에는 {topic['action']}"
    found = branches(inner)
    if not found or found[0].condition is None:
        return ""
    if _SKIP.fullmatch(found[0].action.strip(" .")):
        return _with_action(inner, found[0].action, SKIP_MARK)
    return inner


def _with_action(text: str, action: str, mark: str) -> str:
    at = text.find(action)
    return f"{text[:at]}{mark} {text[at:]}" if at >= 0 else text


def _told(line: ManualLine, text: str, before: list[ManualLine]) -> list[ManualLine]:
    text = _BOUND_TOPIC.sub(r"\1인 경우", _EXCEPT.sub(" unless ", text))
    if parts := _two_roles(text):
        return [_said(line, part) for part in parts]
    if case := _case(text):
        return [_said(line, case)]
    if match := _OTHERS.match(text):
        return [_said(line, f"Otherwise, the others {match['action']}")]
    if kind := _kind(text, before):
        return [_said(line, kind)]
    if match := _UNTIL.match(text):
        return [_said(line, f"Unless {match['condition'].strip(' .')}, {REPEAT_MARK}")]
    if (match := _UNTIL_KO.match(text.strip(" ."))) and not match["action"]:
        return [_said(line, f"{match['condition']}되지 않으면 {REPEAT_MARK}")]
    if not looks_conditional(text):
        if match := _UNTIL_AFTER.match(text.strip(" .")):
            again = f"Unless {match['condition']}, {REPEAT_MARK}"
            return [_said(line, f"{match['action']}."), _said(line, again)]
        if match := _FUTURE.search(text.strip(" .")):
            done = "되지" if match[2] == "될" else "하지" if match[2] == "할" else "이지"
            return _korean_until(line, text, match, done)
    return [_said(line, text) if text != line.text else line]


def _two_roles(text: str) -> list[str]:
    """The two sentences of one that says what two roles do: «총무팀은 …을 예약하고, 재무팀은 …을 지급한다»."""
    for match in _AND_ANOTHER.finditer(text):
        first, second = text[: match.end(1)], text[match.end() :]
        if looks_conditional(first) or looks_conditional(second) or PARALLEL_WORDS.search(text):
            return []
        before, after = role_of(first)[1], role_of(second)[1]
        if before is not None and after is not None and before != after:
            return [re.sub(r"(하|되)고\Z", lambda verb: "한다" if verb[1] == "하" else "된다", first), second]
    return []


def _korean_until(line: ManualLine, text: str, match: re.Match[str], done: str) -> list[ManualLine]:
    before, subject = text[: match.start()], ""
    if role_of(f"{before}한다")[1] is not None:  # who does it, and not what it waits for
        before, subject = "", before
    condition = f"{before}{match[1]}{done} 않으면"
    action = re.sub(r"(?:을|를)?\s*(?:반복|되풀이)(?:한다|합니다|하여\s*\S+)", "한다", match["action"])
    return [_said(line, f"{subject}{action}."), _said(line, f"{condition} {REPEAT_MARK}")]


def _case(text: str) -> str:
    """A sentence about cases of one kind as a condition; "" for others."""
    if (match := _CASES_KO.match(text)) and not looks_conditional(match["condition"]):
        bound = re.search(rf"{_BOUND}\Z", match["condition"])
        if bound is None or re.search(r"\d", match["condition"]):
            return f"{match['condition']} 경우에는 {match['action']}"
    if (match := _ONLY_KO.match(text)) and not looks_conditional(match["condition"]):
        return f"{match['condition']}인 경우에는 {match['action']}"
    if (match := _HAS_KO.match(text)) and not looks_conditional(match["condition"]):
        return f"{match['condition']} 경우에는 {match['action']}"
    if match := _CASES.match(text):
        noun = re.sub(r"(?<!s)s\Z", "", re.sub(r"ies\Z", "y", match["noun"].lower()))
        unit = match["unit"].lower()
        money = "amount" if match["noun"].lower().endswith("s") else ""
        what = match["what"] or (
            "" if unit and unit not in ("eur", "usd", "euros", "dollars", "krw", "won", "€") else money
        )
        return f"If the {f'{noun} {what}'.strip()} is {match['bound'].lower()}, the {noun} {_singular(match['action'])}"
    if match := _CASES_OF_KIND.match(text):
        rest = re.sub(r"\A(?:that|which)\s+", "", match["rest"])
        return f"If {match['noun'].lower()} {rest}, they {match['action']}"
    return ""


def _singular(action: str) -> str:
    verbs = {"go": "goes", "are": "is", "need": "needs", "require": "requires", "have": "has"}
    first, _, rest = action.partition(" ")
    return f"{verbs.get(first.lower(), first)} {rest}"


def _kind(text: str, before: list[ManualLine]) -> str:
    """One of several kinds, told one after another: «긴급 민원은 …. 일반 민원은 …»; so is the sentence before."""
    korean = _KIND_KO.match(text)
    match = korean or _KIND.match(text)
    last = before[-1] if before else None
    if match is None or last is None:
        return ""
    said = last.said or last.text
    other = (_KIND_KO if korean else _KIND).match(said)
    if other is None or other["noun"] != match["noun"] or other["kind"] == match["kind"]:
        return ""
    before[-1] = _said(last, _of_kind(other, korean is not None))
    if _ORDINARY.fullmatch(match["kind"]):
        return f"그렇지 않으면 {match['action']}" if korean else f"Otherwise, the others {match['action']}"
    return _of_kind(match, korean is not None)


def _of_kind(match: re.Match[str], korean: bool) -> str:
    if korean:
        return f"{match['kind']} {match['noun']}인 경우에는 {match['action']}"
    return f"If the {match['noun']} are {match['kind'].lower()}, they {match['action']}"
