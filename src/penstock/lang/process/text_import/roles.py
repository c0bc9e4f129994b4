"""Finds the role in a sentence of a manual: before a colon, in brackets, or as its subject."""

from __future__ import annotations

import re

from penstock.lang.process.text_import.guards import find_comparison
from penstock.lang.process.text_import.sentence import CONDITION_WORDS, MAX_LENGTH, OTHERWISE_WORDS


def _ending(words: str) -> re.Pattern[str]:
    """A text that ends with one of the words."""
    return re.compile(rf"(?:{words})\Z", re.I)


_ROLE_AFTER = re.compile(
    r"(.+?)\s*[(（]\s*(?:담당|역할|role|by)\s*[:：]?\s*([^()（）]{1,40})[)）]\s*[:：]?\s*(.*)", re.I | re.S
)
_ROLE_BEFORE = re.compile(r"(?:\[([^\]]{1,40})\]|([^:：.,()\[\]（）]{1,40}?)\s*[:：])\s*(\S.*)", re.S)
_ROLE_SAYS = re.compile(
    r"(?:the\s+)?([A-Za-z][\w ]{1,30}?)\s+(?:must|should|shall|has to|have to|needs to|will)\s+(.+)", re.I | re.S
)
_ROLE_DOES = re.compile(
    r"(?:the|an?)\s+((?:[\w-]+\s+){0,2}?[\w-]+)\s+((?!(?:is|was|has|does)\b)[a-z]+s\s+.+)", re.I | re.S
)
_BY_KO = re.compile(
    r"(.*?[은는이가을를]\s+|)((?:[가-힣A-Za-z]+\s){0,2}?[가-힣A-Za-z]+?)(?:에|으로|로)\s*(?:의해서?|의하여"
    r"|부터\s*의해)\s+(.+)",
    re.S,
)
_BY = re.compile(
    r"(?P<text>.+?\b(?:is|are|be|been|gets?)\s+(?:\w+ly\s+|then\s+|also\s+|first\s+)?[a-z]+(?:ed|en|t|de|ne|ld|id|wn"
    r"|nt)\b.*?)\s+by\s+"
    r"(?:the\s+|an?\s+)?(?P<role>[A-Za-z][\w-]*(?:\s+(?!(?:within|before|in|after|on|for|to|at|and|if|when|using|via"
    r"|until|with|from)\b)"
    r"[\w-]+){0,3})(?P<rest>\s+(?:within|before|in|after|on|for|to|at|and|using|via|until|with|from)\b.*)?\s*\.?\Z",
    re.I | re.S,
)  # fmt: skip
_NO_AGENT = re.compile(
    r"(?:\w+ing|e-?mail|mail|post|phone|hand|fax|letter|default|law|system|monday|tuesday|wednesday|thursday|friday"
    r"|saturday"
    r"|sunday|end|noon|tomorrow|then|now|means|way|itself|date|type|\d.*)\b(?!\s+(?:room|clerk|team|department|desk"
    r"|administrator))", re.I,
)  # fmt: skip
#: what stands before the one who does it: «승인된 출장에 대하여 총무팀은 …»
_LEAD_KO = re.compile(r"(\S.{1,40}?(?:에\s*(?:대하여|대해서?|관하여|따라)|\s후|\s뒤|\s전)에?,?\s+)(\S.+)", re.S)
_NEEDS = re.compile(
    r"(?P<text>.*?\b(?:requires?|needs?)\s+(?:the\s+|an?\s+)?(?:approval|signature|confirmation|consent|review|check|decision))\s+"
    r"(?:by|of|from)\s+the\s+(?P<role>[a-z][\w-]*(?:\s+(?!before|within|in|on|for|to|and)[\w-]+){0,2})(?P<rest>\s.*)?\s*\.?\Z",
    re.I | re.S,
)
_SENT_TO = re.compile(
    r"(?P<text>.*?\b(?:goes?|is|are|must be)(?:\s+(?:sent|forwarded|passed|handed|submitted|escalated))?\s+)to\s+the\s+"
    r"(?P<role>[a-z][\w-]*(?:\s+[\w-]+){0,2}?)\s+(?P<rest>for\s+(?:approval|review|signature|decision|checking"
    r"|confirmation|verification|inspection)\b.*)",
    re.I | re.S,
)
_WORKER = _ending(
    r"\w{2,}(?:er|or|ist|ant|yst|ian)|clerk|team|department|staff|desk|nurse|lead|head|committee|board|office"
    r"|secretary|warehouse|representative|technician|finance|accounting|procurement|logistics|reception"
    r"|sales|legal|hr|employee|candidate|client|tenant|patient|student|assistant|agent|chief|president|user|member"
    r"|guard"
    r"|trainee|nurse|mechanic|room|facilities|it|treasury|controlling|director|owner"
)
_NO_WORKER = _ending(
    r"order|letter|number|paper|folder|offer|computer|server|error|door|monitor|matter|answer|counter|other|another"
    r"|either|whether|ledger|register|printer|container|parameter|factor|color|sensor|voucher|document|want|plant|grant"
    r"|transfer|remainder|reminder|newsletter|invoice"
)
_KOREAN_ROLE = re.compile(
    r"((?:[가-힣A-Za-z]{1,10} ){0,2}[가-힣A-Za-z]{0,12}"
    r"(?:자|팀|부서|부|원|인|장|실|관|과|처|센터|본부|위원회|창구|고객|손님|본사|지점|은행|대표|이사|매니저|리더"
    r"|엔지니어|기사|의사|간호사|약사"
    r"|약국|사무국|담당|변호사|회계사|상담사|비서|당직|심사역|감사역|점주))(?:이|가|은|는|께서|에서)\s+(\S.*)", re.S,
)  # fmt: skip
_NO_ROLE_KO = _ending(
    r"결과|성과|효과|초과|경과|통과|일부|전부|여부|내부|외부|세부|첨부|지원|인원|민원|확인|승인|할인|원인|시장|공장"
    r"|저장|포장|통장|보관"
    r"|\b사실|\b과실|투자|문자|전자|숫자|글자|이자|일자|하자|시스템|입장|주장|연장|소관|차원|정원|복원"
    r"|예외인|문서실|일과|품과|기부|거부|납부|공부|만원|천원|억원|백원"
)
_MODIFIER = _ending(r"[을를의에며로면한된할될]|[하되내리기치]고|하는|되는|있는|없는|에서|에게|께|다음|해당|모든|각")
_ACTION_NOUN = _ending(
    r"접수|검증|분류|처리|확인|승인|검토|등록|발송|통보|작성|보고|결재|배정|심사|평가|분석|조사|출고|입고|배송|생산"
    r"|점검|준비|완료|시작|종료"
    r"|단계|절차|계획|선정|체결|발주|요청|신청|관리|발급|지급|정산|청구|교육|면담|채용|공고|안내|수령|회수|폐기|저장"
    r"|보관|측정|검사|포장|출하|상담"
    r"|제출|수정|보완|판단|결정|조회|계산|산정|납부|입금|환불|반품|교환|설치|시험|테스트|배포|개발|설계|인수|인계"
    r"|협의|회의|공유|기록|수집|마감|진행"
    r"|유무|여부|목적|범위|참고|비고|주의|주|예|정의|개요|입력|출력|기한|기준|조건|제목|대상|문서번호|시행일|일시"
    r"|시간|장소|일자|날짜"
    r"|하기|되기|다|함|됨|음|면|까지|부터|으로|에서|을|를|경우|때"
)
_ACTION_WORD = _ending(
    r"\w+(?:tion|sion|ment|ing|ance|ery)|check|review|approval|entry|audit|test|request|report|intake|step|notes?"
    r"|handover|sign-?off|release|delivery|follow-?up|purpose|scope|warning|input|output|example|result|caution|tip"
    r"|important|hint|remark|definition|deadline|goal|trigger|parallel|time|following|date|version|title"
    r"|subject|prerequisites?"
)
_DEPARTMENT = _ending(
    r"accounting|procurement|purchasing|shipping|receiving|marketing|engineering|manufacturing|billing|planning"
    r"|production|reception|administration|management|government"
)
_VERB_FIRST = re.compile(
    r"(?:check|receive|review|approve|send|create|register|verify|record|file|assign|prepare|notify|update|close|open"
    r"|collect|confirm|inspect|issue|pay|place|print|sign|submit|test|validate|write|take|make|get|in|at|if|when|unless"
    r"|otherwise|note|then|after|before|do|go|for|on|to)\b", re.I,
)  # fmt: skip


def role_of(text: str, known: frozenset[str] = frozenset()) -> tuple[str, str | None]:
    """The action and its role, if the sentence names one; `known` are roles that the manual names elsewhere."""
    if len(text) > MAX_LENGTH:
        return text, None
    if match := _ROLE_AFTER.match(text):
        return f"{match[1]}: {match[3]}".rstrip(": "), match[2].strip()
    if match := _ROLE_BEFORE.match(text):
        role = (match[1] or match[2]).strip()
        if match[1] is not None or role in known or _is_role(role):
            return match[3].strip(), role
        return text, None
    for name in sorted(known, key=len, reverse=True):
        if match := re.match(
            rf"(?:the\s+)?{re.escape(name)}(?:이|가|은|는|께서|에서)?\s+"
            rf"(?:(?:must|should|shall|has to|have to|needs to|will)\s+)?(\S.*)",
            text,
            re.I | re.S,
        ):
            return match[1].strip(), name
    if passive := _passive_role(text, known):
        return passive
    if (match := _KOREAN_ROLE.match(text)) and (role := _korean_role(match[1])):
        return match[2].strip(), role
    if (lead := _LEAD_KO.match(text)) and (match := _KOREAN_ROLE.match(lead[2])) and (role := _korean_role(match[1])):
        return f"{lead[1]}{match[2].strip()}", role
    if match := _ROLE_SAYS.match(text):
        return match[2].strip(), match[1].strip()
    if (match := _ROLE_DOES.match(text)) and _WORKER.search(match[1]) and not _NO_WORKER.search(match[1]):
        return match[2].strip(), match[1].strip()
    return text, None


def _passive_role(text: str, known: frozenset[str]) -> tuple[str, str] | None:
    """Who does what is said without them as the subject: «… is checked by the clerk», «심사 담당자에 의해 검토된다»."""
    if match := _BY_KO.match(text):
        before, name = match[1].strip(), match[2].strip()
        return f"{before} {match[3]}".strip(), name
    if (match := _BY.match(text)) and not _NO_AGENT.match(match["role"]):
        return f"{match['text'].strip()}{match['rest'] or ''}".strip(), match["role"].strip()
    if match := _NEEDS.match(text):
        return f"{match['text']}{match['rest'] or ''}".strip(), match["role"].strip()
    if match := _SENT_TO.match(text):
        return f"{match['text']}{match['rest']}".strip(), match["role"].strip()
    return None


def _korean_role(words: str) -> str:
    """The role without its modifiers: «제출한 신청자» is 신청자."""
    if _NO_ROLE_KO.search(words):
        return ""
    words_left = words.split()
    while len(words_left) > 1 and any(_MODIFIER.search(word) for word in words_left[:-1]):
        words_left = words_left[1:]
    return " ".join(words_left)


def _is_role(prefix: str) -> bool:
    """Is the text before a colon a role? It is short, and no action, no heading and no condition."""
    words = prefix.split()
    if (
        not words
        or len(words) > 4
        or OTHERWISE_WORDS.fullmatch(prefix)
        or re.fullmatch(r"yes|no|예|네|아니오|아니요", prefix, re.I)
        or not re.search(r"[A-Za-z가-힣]", prefix)
        or re.search(r"[<>=?!\"'`/]", prefix)
    ):
        return False
    if _DEPARTMENT.search(words[-1]):
        return True
    if _ACTION_NOUN.search(words[-1]) or _ACTION_WORD.search(words[-1]) or _VERB_FIRST.match(prefix):
        return False
    return find_comparison(prefix) is None and not CONDITION_WORDS.search(prefix)


def role_before(text: str) -> str:
    """The role before the colon with which a step begins; "" if there is none."""
    if (match := _ROLE_BEFORE.match(text)) and not _ROLE_AFTER.match(text) and match[2] and _is_role(match[2].strip()):
        return match[2].strip()
    return ""


def topic_of(condition: str) -> tuple[str, str]:
    """The role of a sentence whose condition has another subject, and the condition: «담당자는 서류가 …면»."""
    match = re.match(r"((?:\S+ ){0,2}?\S+)(?:은|는)\s+(\S+(?:이|가)\s.+)", condition, re.S)
    role = role_of(f"{match[1]}이 한다")[1] if match else None
    return (role, match[2]) if match and role else ("", condition)
