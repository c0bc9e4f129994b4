"""The expression of a condition in a manual: a comparison with a number or a variable, or a boolean variable."""

from __future__ import annotations

import re
from typing import NamedTuple

from penstock.lang.process.expression_names import ROOTS

_CASE_END = re.compile(r"(?:인|한|는|은|된|을|일|ㄹ)?\s*(?:경우|때|\s시)\s*([(（][^)）]*[)）])?(?:에는|에|는|엔)?\Z")
_UNIT = {"십": 10, "백": 100, "천": 10**3, "만": 10**4, "십만": 10**5, "백만": 10**6, "천만": 10**7, "억": 10**8,
         "조": 10**12, "k": 10**3, "thousand": 10**3, "million": 10**6, "billion": 10**9}  # fmt: skip
_NUMBER = r"(?P<number>\d[\d,]*(?:\.\d+)?)\s*(?P<unit>(?:k|thousand|million|billion)\b)?"
_NUMBER_KO = r"(?P<number>\d[\d,]*(?:\.\d+)?)\s*(?P<unit>천만|백만|십만|천|백|십|만|억|조)?"
_AMOUNT = re.compile(
    rf"(?P<what>.*?)(?:이|가|은|는|을|를)?\s*{_NUMBER_KO}\s*"
    r"(?P<more>\d[\d,]*\s*(?:천만|백만|십만|천|만))?\s*(?:[%％]|[A-Za-z가-힣]{0,3}?)\s*(?:을|를|이|가|보다)?\s*"
    r"(?P<sign>초과|미만|이상|이하|넘|크|많|높|작|적|낮|밑돌|웃돌|미달|같|이면|일\s*경우|인\s*경우)"
)
_COMPARED = re.compile(
    r"(?:the\s+)?(?P<what>.+?)\s+(?:is\s+|are\s+|was\s+|has\s+)?(?P<sign>greater than or equal to|less than or equal to"
    r"|not more than|not less than|no more than|no less than|greater than|more than|larger than|higher than"
    r"|exceeds?|exceeded|over|above|less than|fewer than|lower than|smaller than|below"
    rf"|under|at least|at most|up to|equal to|equals|[<>]=?|==)\s+(?:[$€£₩]|(?:USD|EUR|KRW)\s*)?{_NUMBER}", re.I,
)  # fmt: skip
_COMPARED_FIRST = re.compile(
    rf"(?:there (?:is|are)\s+)?(?P<sign>more than|over|less than|fewer than|at least|at most|up to)\s+[$€£₩]?{_NUMBER}"
    r"\s+(?P<what>[a-z].*)", re.I,
)  # fmt: skip
_BETWEEN = re.compile(
    r"(?P<what>[^\d]*?)(?:이|가|은|는)?\s*(?P<low>\d[\d,]*)\s*[~∼]\s*(?P<high>\d[\d,]*)\s*[가-힣%]{0,4}?(?:이면|인\s*경우|일\s*경우|인\s*때)"
)
_THAN_KO = re.compile(r"(?P<what>.+?)(?:이|가|은|는)\s+(?P<other>\S.*?)보다\s+(?:더\s+)?(?P<sign>크|많|높|작|적|낮)")
_THAN = re.compile(
    r"(?:the\s+)?(?P<what>.+?)\s+(?:is\s+|are\s+)?(?P<sign>greater than|more than|larger than|higher than|exceeds?"
    r"|less than|fewer than|lower than|smaller than)\s+the\s+(?P<other>.+)", re.I,
)  # fmt: skip
_WRITTEN_NUMBER = re.compile(
    r"(?<![\w.])(?P<number>\d[\d,]*(?:\.\d+)?)\s*(?:(?P<unit>천만|백만|십만|천|백|십|만|억|조)"
    r"|(?P<unit_en>(?:k|thousand|million|billion)\b))?\s*(?P<more>\d[\d,]*\s*(?:천만|백만|십만|천|만))?", re.I,
)  # fmt: skip
_OR = re.compile(r"(?<=[가-힣])거나,?\s+|\s(?:또는|혹은)\s|,?\s+or\s+(?!equal)", re.I)
_AND = re.compile(r"(?<=[이하크많높작적낮])(?:고|며),?\s+|\s그리고\s|,?\s+and\s+", re.I)
_SIGNS = {
    "greater than or equal to": ">=", "less than or equal to": "<=", "not more than": "<=", "no more than": "<=",
    "not less than": ">=", "no less than": ">=", "greater than": ">", "more than": ">", "larger than": ">",
    "higher than": ">", "exceed": ">", "exceeds": ">", "exceeded": ">", "over": ">", "above": ">", "less than": "<",
    "fewer than": "<", "lower than": "<", "smaller than": "<", "below": "<", "under": "<", "at least": ">=",
    "at most": "<=", "up to": "<=", "equal to": "==", "equals": "==",
    "초과": ">", "넘": ">", "크": ">", "많": ">", "높": ">", "웃돌": ">", "미만": "<", "작": "<", "적": "<", "낮": "<",
    "밑돌": "<", "미달": "<", "이상": ">=", "이하": "<=", "같": "==", "이면": "==",
}  # fmt: skip
_NEGATED_SIGNS = {">": "<=", "<": ">=", ">=": "<", "<=": ">", "==": "!="}
EXPRESSION = re.compile(r"[(（`]\s*([A-Za-z_]\w*\s*(?:==|!=|<=|>=|<|>)\s*[^()（）`]+?)\s*[)）`]")
_WORDS = {
    "이슈": "has_issue", "문제": "has_issue", "오류": "has_error", "승인": "approved", "거절": "rejected",
    "반려": "rejected", "금액": "amount", "수량": "quantity", "재고": "in_stock", "불량률": "defect_rate",
    "불량": "defective", "issue": "has_issue", "problem": "has_issue", "error": "has_error", "approved": "approved",
    "rejected": "rejected",
}  # fmt: skip
_NAMELESS = "condition_holds"
_MEASURES = {"재고": "stock", "불량": "defects"}
_STOP_WORDS = (
    "the", "a", "an", "is", "are", "was", "were", "if", "of", "it", "has", "have", "had", "not", "no", "does", "do",
    "been", "be", "this", "that", "any", "its", "still", "there",
)  # fmt: skip
NEGATION = re.compile(r"없|않|아니|(?:\A|\s)안\s|(?<!잘)못|\bno\b|\bnot\b|n't\b|\bwithout\b", re.I)


_OPPOSITES = {
    "불합격": "합격",
    "부적합": "적합",
    "비정상": "정상",
    "불일치": "일치",
    "미승인": "승인",
    "미완료": "완료",
}


class Guard(NamedTuple):
    """`is_read` is false when the variable was made up, and a person has to check it."""

    expression: str
    is_read: bool


def guard_of(text: str, negated: bool = False, subject: str = "") -> Guard:
    """The expression of a condition: one that the text holds, a comparison in words, or a boolean variable.

    `subject` is what is compared when the text itself does not name it."""
    if match := EXPRESSION.search(text):
        return Guard(f"!({match[1].strip()})" if negated else match[1].strip(), True)
    for words, sign in ((_OR, "||"), (_AND, "&&")):
        parts = [part for part in words.split(text) if part.strip()]
        if len(parts) > 1 and any(map(find_comparison, parts)):
            return _combined_guard(parts, sign, negated, subject)
    if (match := _BETWEEN.search(text)) and not negated:
        name = variable(match["what"].strip() or subject, measured=True)
        low, high = (match[bound].replace(",", "") for bound in ("low", "high"))
        return Guard(f"{name} >= {low} && {name} <= {high}", name != _NAMELESS)
    if match := find_comparison(text):
        what = match["what"].strip()
        name_and_instruction = (
            variable(what, measured=True) if what else variable(re.sub(r"에\s*따라.*", "", subject), measured=True)
        )
        other = match.groupdict().get("other")
        than = variable(other, measured=True) if other else _number(match)
        return Guard(f"{name_and_instruction} {_sign(match, text, negated)} {than}", name_and_instruction != _NAMELESS)
    truth = (NEGATION.search(text) is None) != negated
    for opposite, plain in _OPPOSITES.items():
        if opposite in text:
            text, truth = text.replace(opposite, plain), not truth
    return Guard(f"{variable(text)} == {'true' if truth else 'false'}", False)


def _combined_guard(parts: list[str], sign: str, negated: bool, subject: str) -> Guard:
    """Conditions joined by and or or; a later one may leave out the subject of the first."""
    first = find_comparison(parts[0])
    subject = subject or (first["what"] if first else "")
    guards = [guard_of(part, subject=subject) for part in parts]
    names_subject = [
        comparison is not None and bool(comparison["what"].strip()) for comparison in map(find_comparison, parts)
    ]
    expression = f" {sign} ".join(guard.expression for guard in guards)
    return Guard(
        f"!({expression})" if negated else expression, all(names_subject) and all(guard.is_read for guard in guards)
    )


def find_comparison(text: str) -> re.Match[str] | None:
    for pattern in (_COMPARED_FIRST, _COMPARED, _AMOUNT, _THAN_KO, _THAN):
        if match := pattern.match(text) if pattern is _COMPARED_FIRST else pattern.search(text):
            return match
    return None


def _sign(comparison: re.Match[str], text: str, negated: bool) -> str:
    word = comparison["sign"].lower()
    sign = _SIGNS.get(word, "==" if word[0] in "일인" else word)
    tail, what = text[comparison.end() :], comparison["what"]
    if re.match(r"\S{0,3}?지?\s*(?:않|아니|못)", tail) or re.search(r"\b(?:does|do|is|are|did) not\b|n't\b", what):
        sign = _NEGATED_SIGNS[sign]
    return _NEGATED_SIGNS[sign] if negated else sign


def _number(comparison: re.Match[str]) -> str:
    number = scaled(comparison["number"], comparison["unit"])
    rest = comparison.groupdict().get("more")
    if rest and (part := re.match(r"(\d[\d,]*)\s*(천만|백만|십만|천|만)", rest)):
        number += scaled(part[1], part[2])
    return str(int(number)) if number == int(number) else str(number)


def scaled(number: str, unit: str | None) -> float:
    return round(float(number.replace(",", "")) * _UNIT.get((unit or "").lower(), 1), 6)


def subject_of(text: str) -> str:
    """What a condition compares; "" where it does not say."""
    match = _BETWEEN.search(text) or find_comparison(text)
    return str(match["what"]).strip() if match is not None else ""


def numbers_in(text: str) -> set[float]:
    """Every number that a text says, in digits with its units: 100만 is 1,000,000, and 1억 5천만 is 150,000,000."""
    numbers: set[float] = set()
    for match in _WRITTEN_NUMBER.finditer(text):
        plain = float(match["number"].replace(",", ""))
        value = scaled(match["number"], match["unit"] or match["unit_en"])
        numbers |= {plain, value}
        if match["more"] and (part := re.match(r"(\d[\d,]*)\s*(천만|백만|십만|천|만)", match["more"])):
            numbers.add(value + scaled(part[1], part[2]))
    return numbers


def negated_expression(expression: str) -> str:
    """The negation of a boolean comparison; "" for other expressions, whose negation is the default branch."""
    for a, b in (("== true", "== false"), ("== false", "== true")):
        if expression.endswith(a):
            return expression[: -len(a)] + b
    return ""


def variable(text: str, *, measured: bool = False) -> str:
    """The variable of a phrase: an English name for known words, else its own, read as `context['…']`."""
    if measured:
        for word, name in _MEASURES.items():
            if word in text:
                return "defect_rate" if "불량률" in text else name
    for word, name in _WORDS.items():
        if word in text.lower():
            return name
    words = [word for word in re.findall(r"[A-Za-z][A-Za-z0-9]*", text.lower()) if word not in _STOP_WORDS]
    if words and not re.search(r"[가-힣]", text):
        name = "_".join(words[:4])
        return f"context['{name}']" if name in ROOTS else name
    korean = _korean_name(text)
    return f"context['{korean}']" if korean else _NAMELESS


def _korean_name(text: str) -> str:
    text = re.sub(r"[(（][^)）]*[)）]|['\"\[\]]|만약|만일|혹시", " ", _CASE_END.sub("", text.strip()))
    words = [re.sub(r"(?:이|가|은|는|을|를|에|의|도|와|(?<![결성효])과)\Z", "", word) if len(word) > 1 else word
             for word in re.findall(r"[가-힣A-Za-z0-9]+", text)]  # fmt: skip
    stems = [re.sub(r"(?:이라|하|되|으|이|다|라|지)?(?:면|않으면|않은|않)\Z", "", word) for word in words]
    return "_".join(stem for stem in stems if stem and stem not in ("있", "없"))[:40]
