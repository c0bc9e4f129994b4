"""Who does it: the roles that a step of a manual names, before a colon, in brackets, or as its subject."""

from __future__ import annotations

import re

from penstock.lang.process.text_import.guards import compared
from penstock.lang.process.text_import.sentence import LONG, MAYBE, REST

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
_WORKER = re.compile(
    r"(?:\w{2,}(?:er|or|ist|ant|yst|ian)|clerk|team|department|staff|desk|nurse|lead|head|committee|board|office"
    r"|secretary|warehouse|representative|technician|finance|accounting|procurement|logistics|reception"
    r"|sales|legal|hr)\Z", re.I,
)  # fmt: skip
_NO_WORKER = re.compile(
    r"(?:order|letter|number|paper|folder|offer|computer|server|error|door|monitor|matter|answer|counter|other|another"
    r"|either|whether|ledger|register|printer|container|parameter|factor|color|sensor|voucher|document|want|plant|grant"
    r"|transfer|remainder|reminder|newsletter|invoice)\Z", re.I,
)  # fmt: skip
_KOREAN_ROLE = re.compile(
    r"((?:[가-힣A-Za-z]{1,10} ){0,2}[가-힣A-Za-z]{0,12}"
    r"(?:자|팀|부서|부|원|인|장|실|관|과|처|센터|본부|위원회|창구|고객|손님|본사|지점|은행|대표|이사|매니저|리더|엔지니어|기사|의사|간호사|약사"
    r"|약국|사무국|담당|변호사|회계사|상담사|비서|당직|심사역|감사역|점주))(?:이|가|은|는|께서|에서)\s+(\S.*)", re.S,
)  # fmt: skip
_NO_ROLE_KO = re.compile(
    r"(?:결과|성과|효과|초과|경과|통과|일부|전부|여부|내부|외부|세부|첨부|지원|인원|민원|확인|승인|할인|원인|시장|공장|저장|포장|통장|보관"
    r"|\b사실|\b과실|투자|문자|전자|숫자|글자|이자|일자|하자|시스템|입장|주장|연장|소관|차원|정원|복원"
    r"|예외인|문서실|일과|품과|기부|거부|납부|공부|만원|천원|억원|백원)\Z"
)
_MODIFIER = re.compile(r"(?:[을를의에고며로면한된할될]|하는|되는|있는|없는|에서|에게|께|다음|해당|모든|각)\Z")
_ACTION_NOUN = re.compile(
    r"(?:접수|검증|분류|처리|확인|승인|검토|등록|발송|통보|작성|보고|결재|배정|심사|평가|분석|조사|출고|입고|배송|생산|점검|준비|완료|시작|종료"
    r"|단계|절차|계획|선정|체결|발주|요청|신청|관리|발급|지급|정산|청구|교육|면담|채용|공고|안내|수령|회수|폐기|저장|보관|측정|검사|포장|출하|상담"
    r"|제출|수정|보완|판단|결정|조회|계산|산정|납부|입금|환불|반품|교환|설치|시험|테스트|배포|개발|설계|인수|인계|협의|회의|공유|기록|수집|마감|진행"
    r"|유무|여부|목적|범위|참고|비고|주의|주|예|정의|개요|입력|출력|기한|기준|조건|제목|대상|문서번호|시행일|일시|시간|장소|일자|날짜"
    r"|하기|되기|다|함|됨|음|면|까지|부터|으로|에서|을|를|경우|때)\Z"
)
_ACTION_WORD = re.compile(
    r"(?:\w+(?:tion|sion|ment|ing|ance|ery)|check|review|approval|entry|audit|test|request|report|intake|step|notes?"
    r"|handover|sign-?off|release|delivery|follow-?up|purpose|scope|warning|input|output|example|result|caution|tip"
    r"|important|hint|remark|definition|deadline|goal|trigger|parallel|time|following|date|version|title"
    r"|subject|prerequisites?)\Z", re.I,
)  # fmt: skip
_DEPARTMENT = re.compile(
    r"(?:accounting|procurement|purchasing|shipping|receiving|marketing|engineering|manufacturing|billing|planning"
    r"|production|reception|administration|management|government)\Z", re.I,
)  # fmt: skip
_VERB_FIRST = re.compile(
    r"(?:check|receive|review|approve|send|create|register|verify|record|file|assign|prepare|notify|update|close|open"
    r"|collect|confirm|inspect|issue|pay|place|print|sign|submit|test|validate|write|take|make|get|in|at|if|when|unless"
    r"|otherwise|note|then|after|before|do|go|for|on|to)\b", re.I,
)  # fmt: skip


def role_of(text: str, known: frozenset[str] = frozenset()) -> tuple[str, str | None]:
    """What is to be done, and who does it, where the text says so; `known` are roles that it has named elsewhere."""
    if len(text) > LONG:
        return text, None
    if found := _ROLE_AFTER.match(text):
        return f"{found[1]}: {found[3]}".rstrip(": "), found[2].strip()
    if found := _ROLE_BEFORE.match(text):
        role = (found[1] or found[2]).strip()
        if found[1] is not None or role in known or _role_word(role):
            return found[3].strip(), role
        return text, None
    for name in sorted(known, key=len, reverse=True):
        if found := re.match(
            rf"(?:the\s+)?{re.escape(name)}(?:이|가|은|는|께서|에서)?\s+"
            rf"(?:(?:must|should|shall|has to|have to|needs to|will)\s+)?(\S.*)",
            text,
            re.I | re.S,
        ):
            return found[1].strip(), name
    if (found := _KOREAN_ROLE.match(text)) and (role := _korean_role(found[1])):
        return found[2].strip(), role
    if found := _ROLE_SAYS.match(text):
        return found[2].strip(), found[1].strip()
    if (found := _ROLE_DOES.match(text)) and _WORKER.search(found[1]) and not _NO_WORKER.search(found[1]):
        return found[2].strip(), found[1].strip()
    return text, None


def _korean_role(words: str) -> str:
    """Without what only describes it: «제출한 신청자» is 신청자."""
    if _NO_ROLE_KO.search(words):
        return ""
    kept = words.split()
    while len(kept) > 1 and any(_MODIFIER.search(one) for one in kept[:-1]):
        kept = kept[1:]
    return " ".join(kept)


def _role_word(prefix: str) -> bool:
    """Is what stands before a colon somebody? It is short, and no work, no heading and no condition."""
    words = prefix.split()
    if (
        not words
        or len(words) > 4
        or REST.fullmatch(prefix)
        or re.fullmatch(r"yes|no|예|네|아니오|아니요", prefix, re.I)
        or not re.search(r"[A-Za-z가-힣]", prefix)
        or re.search(r"[<>=?!\"'`/]", prefix)
    ):
        return False
    if _DEPARTMENT.search(words[-1]):
        return True
    if _ACTION_NOUN.search(words[-1]) or _ACTION_WORD.search(words[-1]) or _VERB_FIRST.match(prefix):
        return False
    return compared(prefix) is None and not MAYBE.search(prefix)


def role_before(text: str) -> str:
    """The role that a step begins with, by its colon or its brackets."""
    if (
        (found := _ROLE_BEFORE.match(text))
        and not _ROLE_AFTER.match(text)
        and found[2]
        and _role_word(found[2].strip())
    ):
        return found[2].strip()
    return ""


def topic_of(condition: str) -> tuple[str, str]:
    """Who is meant by a sentence whose condition has a subject of its own, and the condition: «담당자는 서류가 …면»."""
    found = re.match(r"((?:\S+ ){0,2}?\S+)(?:은|는)\s+(\S+(?:이|가)\s.+)", condition, re.S)
    role = role_of(f"{found[1]}이 한다")[1] if found else None
    return (role, found[2]) if found and role else ("", condition)
