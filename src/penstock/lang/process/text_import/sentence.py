"""Reads one sentence of a manual, in Korean or English: its condition, a jump to a step, an end, parallel work."""

from __future__ import annotations

import re
from typing import NamedTuple

from penstock.lang.process.text_import.guards import EXPRESSION, NEGATION, find_comparison

BULLET = re.compile(r"\s*[-*•]\s+(.+)")
#: Longer sentences are not searched for conditions: the patterns would be slow.
MAX_LENGTH = 600
#: words that end like «if» in Korean
_NOUN_MYEON = "화면|서면|반면|측면|표면|도면|평면|전면|정면|후면|국면|장면|대면|단면|양면|수면|노면|방면|그러면"
_MYEON = rf"(?!(?:\S*(?:{_NOUN_MYEON}))(?:[\s,]|\Z))\S*[가-힣]면"
_CASE = r"\S+\s*(?:경우|(?<![이그])때)(?:\s*[(（][^)）]*[)）])?(?:에는|에|는|엔)?"
_AT = r"(?:[가-힣]{2,}\s+시|(?:필요|부재|누락|초과|미달|발생|실패|합격|승인|반려|거절)시)(?:에는|에|는)?"
_IF_KO = re.compile(
    rf"(?:만약|만일|혹시)?\s*(?P<condition>.*?(?:{_MYEON}|{_CASE}|{_AT}))(?:\s*[,:]\s*|\s+)(?P<action>.+)", re.S
)
_IF = re.compile(
    r"(?:and\s+)?(?P<word>if|when(?:ever)?|in case(?: that)?|unless|in the event that|should)\s+(?P<condition>.+?)"
    r"(?:,(?!\d)\s*(?:then\s+)?|\s+then\s+|:\s+)(?P<action>.+)", re.I | re.S,
)  # fmt: skip
_IF_AFTER = re.compile(
    r"(?P<action>[^,]+?,?)\s+(?:only\s+)?(?P<word>if|in case|unless)\s+(?P<condition>[^,;]+)\Z", re.I | re.S
)
_ELSE_WORDS = (
    r"그렇지\s*않으면|그렇지\s*않은\s*경우(?:에는|에|는)?|그\s*(?:외|밖)(?:의\s*경우)?(?:에는|에|는)?|아니면"
    r"|아닌\s*경우(?:에는|에|는)?"
    r"|아닐\s*경우(?:에는|에|는)?|나머지(?:의\s*경우)?(?:에는|는)|이외에는"
)
_ELSE_KO = re.compile(rf"(?:{_ELSE_WORDS})(?:\s*[,:]\s*|\s+)(.+)", re.S)
_ELSE = re.compile(
    r"(?:and\s+|but\s+)?(?:otherwise|or\s+else|else|if\s+not|in all other cases|in any other case)\b"
    r"\s*[,:]?\s*(?:then\s+)?(.+)",
    re.I | re.S,
)
OTHERWISE_WORDS = re.compile(rf"{_ELSE_WORDS}|나머지|기타|otherwise|else|(?:all )?others?|in all other cases", re.I)
_CLAUSE = re.compile(
    rf"\s*;\s*|\s*,\s+(?=(?:and\s+|or\s+|but\s+)?(?:if|when|unless|otherwise|else)\b)|\s+(?=(?:otherwise|or else)\b)"
    rf"|(?:,|(?<![이가은는도])\s)\s*(?=(?:{_ELSE_WORDS})[\s,])|(?<=[고며]),\s*"
    rf"|(?<=[고며])\s+(?=[가-힣]+\s시(?:에는|에|는)?[\s,])", re.I,
)  # fmt: skip
_AND_IF = re.compile(r"\s*(?:and|but)\s+(?:if|when|unless)\b", re.I)
_REFUSED = re.compile(
    r"반려|거절|부결|부적합|불합격|미비|rejected|refused|declined|returned|not approved|incorrect", re.I
)
_REWORK = re.compile(
    r"재작성|재제출|재상신|재신청|수정|보완|다시|rewrit|revis|correct|resubmit|rework|again|amend", re.I
)
_ANSWER = re.compile(r"(yes|y|예|네|true|그렇다|해당)|no|n|아니오|아니요|아니다|false|해당\s*없음", re.I)
_LISTED = re.compile(r"(?P<condition>[^:：→]{1,60}?)\s*(?:[:：→]|->|=>)\s*(?P<action>.+)", re.S)
CONDITION_WORDS = re.compile(
    rf"\b(?:if|unless|otherwise|in case|depending on|whenever|provided that|as long as|whether)\b"
    rf"|\bwhen\s+(?:the|a|an|it)\b"
    rf"|(?:\A|\s){_MYEON}(?=[\s,.]|\Z)|(?:인|한|는|은|된|을|일|할|될)\s*(?:경우|때)(?:에는|에만|에|는|엔)?(?=[\s,.)]"
    rf"|\Z)"
    rf"|(?:여부|유무|결과|등급|금액|유형|종류|상태|규모|수량)에\s*따라"
    rf"|(?:\A|\s){_AT}(?=[\s,])|만약|만일|그렇지\s*않", re.I,
)  # fmt: skip
_DONE_KO = re.compile(
    r"(?:완료|종료|마무리)(?:되|하)면\Z|(?:끝나|마치|끝내)면\Z|(?:완료된|끝난|마친)\s*(?:경우|때)(?:에|에는|는)?\Z"
)
_DONE = re.compile(r"\b(?:complete|completed|done|finished|over)\Z", re.I)
#: A second condition without a subject: it means that the first one does not hold.
_BARE = re.compile(
    r"(?:없|있|않|못하|모자라)(?:으)?면|(?:없|있|않)(?:는|을|은)\s*경우(?:에는|에|는)?"
    r"|(?:초과|미만|이상|이하|미달)(?:\s*시|하면|이면|(?:인|일|하는|할)\s*경우)(?:에는|에|는)?"
)
_TRIGGER = re.compile(
    r"(?:접수|도착|제출|신청|요청|발생|입고|신고|문의|감지)\s+시(?:에는|에|는)?\Z"
    r"|(?:접수|도착|제출|신청|요청|발생|입고|신고|문의|감지|들어오|오|받으|인입)(?:되|하)?(?:면|면서)\Z"
    r"|\b(?:arrives?|comes? in|is received|is submitted|calls?)\Z",
    re.I,
)

_JUMP = re.compile(
    r"(?:go (?:back )?to|goes (?:back )?to|returns? to|back to|proceed (?:to|with)|continue (?:with|at|to)"
    r"|skip to|repeat(?: from)?|restart (?:at|from)|resume (?:at|from))"
    r"\s+(?:the\s+)?(?:step\s*)?(?P<en>\d{1,3})\b|(?P<ko>\d{1,3})\s*(?:단계|번(?:째 단계)?)(?:으로|로|부터)"
    r"(?=\s*(?:다시\s*)?(?:돌|간|가|진행|넘|이동|되|반복|재|보|회귀|복귀|옮|시작|수행|한|하|[.,)]|\Z))"
    r"|(?P<first>처음(?:으로|부터)|첫\s*단계로|start over|from the (?:beginning|start)|the first step)"
    r"|(?P<before>(?:이전|앞|직전)\s*단계(?:로|부터)|(?:the )?previous step)", re.I,
)  # fmt: skip
_JUMP_LEAD = re.compile(r"(?:\s*(?:and|then|,)?\s*(?:go|goes|returns?|is)?\s*|\s*(?:다시)?\s*)\Z", re.I)
_END = re.compile(
    r"\s*(?:(?:(?:the )?(?:process|procedure|case|it) )?(?:ends?|stops?|finish(?:es)?|is closed)\b"
    r"(?! (?:the|a|an|it)\b)"
    r"|end the process|(?:(?:절차|프로세스|업무)[를을은는가이]?\s*)?(?:종료|끝낸다|끝난다|끝내|끝))", re.I,
)  # fmt: skip
PARALLEL_WORDS = re.compile(
    r"동시에|병렬로|나란히|\b(?:at the same time|in parallel|simultaneously|concurrently)\b"
    r"|(?<=,)\s*while(?=\s+(?:the|an?)\b)",
    re.I,
)
_GOES_ON = re.compile(r"(?:진행|수행|실시|처리|시작)?(?:한다|합니다|함|하고)|(?:진행|수행|실시)(?:된다|됩니다)")
_BESIDE = re.compile(
    r"(?:한편|(?:이와\s*|그와\s*)?동시에|이와\s*병행(?:하여|해)|meanwhile|in the meantime|at the same time|in parallel"
    r"|simultaneously)\b\s*[,:]?\s*(.+)", re.I | re.S,
)  # fmt: skip
_ENDINGS = re.compile(r"(?:[가-힣]다|[하되내리기치]고|하여|함|하기)[.\s]*\Z")
_END_AFTER = re.compile(
    r"(.+[하되내리기치]고|.+?,?\s+and)\s+(?:(?:절차|프로세스|업무)[를을은는가이]?\s*)?"
    r"(?:종료|끝|(?:the process )?(?:ends?|stops?)\b|close the case)",
    re.I | re.S,
)


class Branch(NamedTuple):
    """The action of a condition; the condition is None for «otherwise», and `negated` for «unless»."""

    condition: str | None
    action: str
    negated: bool = False
    inside: tuple[Branch, ...] = ()  # conditions after the action, which hold besides


def sentences(line: str) -> list[str]:
    return [sentence.strip() for sentence in re.split(r"(?<=[.!?。])\s+|(?<=다\.)\s*", line) if sentence.strip()]


def looks_conditional(sentence: str) -> bool:
    match = CONDITION_WORDS.search(sentence[:MAX_LENGTH])
    return match is not None and not _temporal(sentence)


def _temporal(sentence: str) -> bool:
    """Does a sentence such as «When it is done» say when, and not whether?"""
    branch = _conditional_branch(sentence)
    return branch is not None and branch.condition is not None and is_temporal(branch.condition)


def is_temporal(condition: str, *, first: bool = False) -> bool:
    """Does a condition only say that something went before? In the first step so does the trigger of the process."""
    text = condition.strip(" ,.")
    return bool(_DONE_KO.search(text) or _DONE.search(text) and not NEGATION.search(text)
                or first and _TRIGGER.search(text) and not NEGATION.search(text))  # fmt: skip


def branches(sentence: str) -> list[Branch]:
    """The branches that a sentence names, in order; none if it has no condition, or a part of it is not understood."""
    text = BULLET.sub(r"\1", sentence).strip()
    clauses = [clause for clause in _CLAUSE.split(text) if clause and clause.strip()] if len(text) <= MAX_LENGTH else []
    found_branches: list[Branch] = []
    for clause in _merge_clauses(clauses):
        branch = _otherwise_branch(clause) or _conditional_branch(clause)
        if branch is None:
            return []
        last = found_branches[-1] if found_branches else None
        if (
            last is not None
            and last.condition is not None
            and _AND_IF.match(clause)
            and not _same_subject(last, branch)
        ):
            found_branches[-1] = last._replace(inside=(*last.inside, branch))
            continue
        found_branches.append(branch)
    return found_branches


def _same_subject(branch: Branch, other: Branch) -> bool:
    """Do two conditions compare the same thing? Then they are two cases, and not one inside the other."""
    first, second = find_comparison(branch.condition or ""), find_comparison(other.condition or "")
    if first is None or second is None:
        return first is None and second is None and _subject(branch.condition) == _subject(other.condition)
    return not second["what"].strip() or first["what"].strip() == second["what"].strip()


def _subject(condition: str | None) -> str:
    return " ".join((condition or "").lower().split()[:2])


def is_rework(branch: Branch) -> bool:
    """Is something done anew because it was refused? Then it is looked at again."""
    return _REFUSED.search(branch.condition or "") is not None and _REWORK.search(branch.action) is not None


def repeated_verb(action: str) -> str:
    """The verb of an action that is done again; "" where it is not."""
    korean = re.fullmatch(
        r"(?:\S+(?:이|가|은|는|을|를)\s+)*?다시\s+(?:\S+[을를]\s+)?([가-힣]{2,}?)(?:한다|합니다|하고.*|된다)",
        action.strip(" ."),
    )
    if korean is not None:
        return korean[1]
    english = re.fullmatch(
        r"(?:(?:the|a|an)\s+[\w ]+?\s+)?([a-z]{4,}?)(?:s|es)?\s+(?:it|them|this|the \w+)\s+again",
        action.strip(" ."),
        re.I,
    )
    return english[1].lower() if english is not None else ""


def action_then_branches(sentence: str) -> tuple[str, list[Branch]]:
    """The action before the branches, and the branches: «check it; if it is wrong, send it back»."""
    text = BULLET.sub(r"\1", sentence).strip()
    cuts = list(_CLAUSE.finditer(text)) if len(text) <= MAX_LENGTH else []
    for clause_end in cuts:
        rest = text[clause_end.end() :].strip()
        if found_branches := branches(re.sub(r"\A(?:and|or|but)\s+", "", rest, flags=re.I)):
            return _as_sentence(text[: clause_end.start()]), found_branches
    return "", []


def starts_with_action(sentence: str) -> bool:
    """Does an action come before the condition, as in «통보하고, …면 …»?"""
    match = _CLAUSE.search(sentence[:MAX_LENGTH])
    lead = sentence[: match.start()] if match else ""
    return (
        re.search(r"(?:을|를|에게|께)\s.*[하내리기치]고\Z", lead) is not None and CONDITION_WORDS.search(lead) is None
    )


def _merge_clauses(clauses: list[str]) -> list[str]:
    """Joins a clause without a condition to the one before it, or to the first."""
    merged: list[str] = []
    for clause in clauses:
        if merged and not (_conditional(clause) and _conditional(merged[-1])):
            merged[-1] = f"{merged[-1]}, {clause.strip()}"
        else:
            merged.append(clause.strip())
    return merged


def _conditional(clause: str) -> bool:
    return (_otherwise_branch(clause) or _conditional_branch(clause)) is not None


def case_of_list_item(bullet: str, question: str = "") -> Branch | None:
    """A case in a list, such as «over 100: the boss signs»; «yes» and «no» answer the question of the step."""
    text = BULLET.sub(r"\1", bullet).strip()
    if match := _LISTED.match(text):
        condition = match["condition"].strip()
        if question and (answer := _ANSWER.fullmatch(condition)):
            return Branch(question.strip(" ?:："), match["action"].strip(" .。"), answer[1] is None)
        if OTHERWISE_WORDS.fullmatch(condition):
            return Branch(None, match["action"].strip(" .。"))
        if find_comparison(condition) or EXPRESSION.search(condition) or re.search(r"(?:경우|시|때)\Z", condition):
            return Branch(condition, match["action"].strip(" .。"))
    return None


def _otherwise_branch(text: str) -> Branch | None:
    for pattern in (_ELSE, _ELSE_KO):
        if (match := pattern.match(text)) and match[1].strip(" .。"):
            return Branch(None, _as_sentence(match[1]))
    return None


def _conditional_branch(text: str) -> Branch | None:
    if len(text) > MAX_LENGTH:
        return None
    if match := _IF.match(text):
        return Branch(match["condition"].strip(), _as_sentence(match["action"]), match["word"].lower() == "unless")
    if (match := _IF_KO.match(text)) and match["action"].strip(" .。,"):
        return Branch(match["condition"].strip(), _as_sentence(match["action"]))
    if (match := _IF_AFTER.match(text)) and match["action"].strip(" ,"):
        return Branch(
            match["condition"].strip(" .。"), _as_sentence(match["action"]), match["word"].lower() == "unless"
        )
    return None


def is_bare_condition(condition: str) -> bool:
    """Does a condition after another only say that the other one does not hold?"""
    return _BARE.fullmatch(condition.strip()) is not None


def split_title(text: str) -> tuple[str, str]:
    """The title before a colon and the rest: «심사: 금액이 …» has the title 심사."""
    match = re.match(r"([^:：,.]{1,40})[:：]\s+(\S.*)", text, re.S)
    if (
        match is None
        or CONDITION_WORDS.search(match[1])
        or _IF.match(text)
        or _ELSE.match(text)
        or find_comparison(match[1])
    ):
        return "", text
    return match[1].strip(), match[2]


def without_sequence_words(text: str) -> str:
    """The text without words that only say that it comes after something: «Once it has arrived, …»."""
    return re.sub(
        r"\A(?:once|after|as soon as)\s+[^,]{1,80},\s*|\A(?:then|next|finally|afterwards)\b,?\s+", "", text, flags=re.I
    )


def _as_sentence(text: str) -> str:
    """An action with the ending of a sentence."""
    text = text.strip(" .。,;")
    return re.sub(r"(하|되)(?:고|며)\Z", lambda match: "한다" if match[1] == "하" else "된다", text)


# ---- jumps, ends, parallel work --------------------------------------------------------------------------------------


class Jump(NamedTuple):
    """A jump to a step: its number, 0 the first, -1 the one before; `lead` is the action before the jump."""

    step: int
    lead: str


def jump_of(action: str) -> Jump | None:
    action = re.sub(r"[①-⑳]", lambda match: str(ord(match[0]) - ord("①") + 1), action)
    match = _JUMP.search(action)
    if match is None:
        return None
    step = 0 if match["first"] else -1 if match["before"] else int(match["en"] or match["ko"])
    lead = _JUMP_LEAD.sub("", action[: match.start()]).strip(" ,.")
    lead = re.sub(r"\s*(?:and|then|다시)\Z", "", lead, flags=re.I).strip(" ,")
    is_action = " " in lead and (ends_as_action(lead) or re.match(r"[A-Za-z]", lead) is not None)
    return Jump(step, _as_sentence(lead) if is_action else "")


def end_of(action: str) -> str | None:
    """The action before the end, if the text leads to the end; "" if nothing is done before it; else None."""
    if _END.match(action):
        return ""
    match = _END_AFTER.match(action) if len(action) <= MAX_LENGTH else None
    return _as_sentence(re.sub(r",?\s+and\Z", "", match[1])) if match else None


def parallel_action(sentence: str) -> str:
    """The action of a sentence that begins with a word such as «meanwhile»; else ""."""
    match = _BESIDE.match(BULLET.sub(r"\1", sentence).strip())
    return match[1].strip(" .。") if match else ""


def parallel_parts(sentence: str) -> list[str]:
    """The actions that a sentence says are done at the same time; fewer than two if it says none."""
    text = BULLET.sub(r"\1", sentence).strip(" .。")
    match = PARALLEL_WORDS.search(text)
    if match is None or len(text) > MAX_LENGTH:
        return []
    left, right = text[: match.start()].strip(" ,"), text[match.end() :].strip(" ,:")
    left = re.sub(r"\s*\b(?:and|,)\Z|(?<=[가-힣])[와과]\Z", "", left, flags=re.I).strip(" ,")
    if left and right and not _GOES_ON.fullmatch(right):
        return [_as_sentence(left), _as_sentence(right)]
    listed = left or right
    if re.search(r"[가-힣]", listed):
        listed = re.sub(r"[을를은는]\Z", "", listed)
        parts = re.split(r"(?<=[가-힣])(?<![결성효초경통])(?:와|과)\s+|\s+및\s+|,\s*", listed)
    else:
        parts = re.split(r",?\s+and\s+|,\s+", listed)
    return [part.strip() for part in parts if part.strip()]


def names_all_parallel_parts(sentence: str) -> bool:
    """Does a sentence name all parallel actions itself: «In parallel, A and B»?"""
    return re.match(r"(?:in parallel|simultaneously|concurrently)\b.*\band\b", sentence, re.I | re.S) is not None


def ends_as_action(text: str) -> bool:
    return (
        _ENDINGS.search(text) is not None
        or re.match(r"[A-Z]?[a-z]+s?\s+(?:the|a|an|all|each|every)\b", text) is not None
    )


def name_and_instruction(text: str) -> tuple[str, str, list[str]]:
    """The name of an activity, its instruction, and what the text has in brackets."""
    brackets = re.findall(r"[\[(（]([^\])）]{1,60})[\])）]", text)
    plain_text = re.sub(r"\s*[\[(（][^\])）]{1,60}[\])）]", "", text).strip()
    for mark in (":", "：", " - ", " – "):
        name, separator, rest = plain_text.partition(mark)
        if separator and 0 < len(name.strip()) <= 60:
            return name.strip(), rest.strip(" .。"), brackets
    instruction = plain_text.strip(" .。")
    short = shortened(instruction)
    return short, instruction if instruction != short else "", brackets


def shortened(text: str) -> str:
    text = text.strip(" .:：。?")
    return text if len(text) <= 60 else f"{text[:57].rstrip()}…"


def slug(text: str, otherwise: str) -> str:
    words = "_".join(re.findall(r"[a-z0-9]+", text.lower()))[:40]
    return words or otherwise
