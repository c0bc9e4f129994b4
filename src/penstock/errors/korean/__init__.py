"""Korean for people: what errors, findings and failures say, by their code, with the values that they name.

English is what is stored, logged and compared; Korean is made where a person reads. Every code has a wording here, and
a test holds that. What a wording does not have room for follows in brackets, as it was said.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING

from msgspec.structs import replace

from penstock.errors.korean.failures import CATEGORIES, FAILURES
from penstock.errors.korean.findings import FINDINGS
from penstock.errors.korean.problems import CODES, ERRORS
from penstock.errors.korean.reasons import in_korean

if TYPE_CHECKING:
    from penstock.errors.base import Finding, PenstockError

_QUOTED = re.compile("«([^«»]*)»")
_PLACE, _VALUE = re.compile(r"\{(\d+)\}"), re.compile(r"\{(\w+)\}")
#: where a finding stands, when that is a line of another file than the document
_FILE = re.compile(r"[^\s«»]+\.(?:md|ya?ml):\d+ ")


def is_korean(languages: str | None) -> bool:
    """Does an Accept-Language, or a LANG, ask for Korean first?"""
    first = (languages or "").split(",")[0].split(";")[0].strip().lower()
    return first == "ko" or first.startswith(("ko-", "ko_"))


def error_text(error: PenstockError) -> tuple[str, str]:
    """The message and the hint of an error. One that is not known speaks for itself."""
    for kind in type(error).__mro__:
        if kind.__name__ in ERRORS:
            message, hint = ERRORS[kind.__name__]
            facts = dict(error.facts)
            if kind.__name__ == "BadInput":
                facts |= {name: in_korean(facts.get(name, "…")) for name in ("what", "why")}
            findings = getattr(error, "findings", None)
            if findings:
                facts["first"] = finding_text(_first(findings)).message.rstrip(".")
            return _filled(message, facts), hint
    return error.message, error.hint


def problem_text(code: str, said: str, hint: str) -> tuple[str, str]:
    """The same where there is only a code."""
    message, hint_ko = CODES.get(code, ("", ""))
    return (_filled(message, {"said": said}), hint_ko) if message else (said, hint)


def finding_text(finding: Finding) -> Finding:
    """The finding in Korean; its hint is part of what it says."""
    wordings = FINDINGS.get(finding.rule) or FAILURES.get(finding.rule)
    if wordings is None:
        return finding
    file = _FILE.match(finding.message)
    prefix = file[0] if file else ""
    return replace(finding, message=prefix + _worded(wordings, finding.message.removeprefix(prefix)), hint="")


def failure_text(code: str, message: str) -> str:
    """Why a step failed. What a code that is not ours says is shown as it is."""
    wordings = FAILURES.get(code)
    return message if wordings is None else _worded(wordings, message)


def category_hint(category: str, hint: str | None) -> str | None:
    return CATEGORIES.get(category, hint)


def _first(findings: list[Finding]) -> Finding:
    return next((finding for finding in findings if finding.severity == "error"), findings[0])


def _worded(wordings: tuple[str, ...], said: str) -> str:
    """The first wording for which enough is quoted; the last one, which needs the least, with what there is."""
    quoted = _QUOTED.findall(said)
    wording = next((text for text in wordings if needed(text) <= len(quoted)), wordings[-1])
    values = {str(number): value for number, value in enumerate(quoted, 1)}
    return _filled(wording, {**values, "said": said.rstrip(".")})


def needed(wording: str) -> int:
    """How many quoted values a wording uses."""
    return max((int(number) for number in _PLACE.findall(wording)), default=0)


def _filled(wording: str, values: Mapping[str, object]) -> str:
    """What is not given is left open."""
    return _VALUE.sub(lambda name: str(values.get(name[1], "…")), wording)
