"""What every error is made of: a place in a document, a finding about it, and the error itself."""

from __future__ import annotations

import re
from typing import Any, ClassVar

import msgspec

_STATUS = re.compile(r"(?:PS|PROC|PP|TASK|AGENT|PROJECT|EXECUTION)-(\d{3})\b")
#: the languages' own codes do not say their HTTP status
_STATUS_OF_CODE = {
    "APPROVER_DENIED": 403,
    "EXPR_SYNTAX": 422,
    "EXPR_TYPE": 422,
    "FEEL_EVALUATION": 422,
    "FEEL_LIMIT": 422,
    "FEEL_SYNTAX": 422,
    "INPUT_INVALID": 422,
    "NO_BRANCH": 422,
    "OUTPUT_SCHEMA": 422,
}


class Place(msgspec.Struct, frozen=True, omit_defaults=True):
    """Where something stands in the user's document."""

    pointer: str = ""
    line: int = 0
    column: int = 0

    def __str__(self) -> str:
        spot = f"{self.line}:{self.column}" if self.line else ""
        return " ".join(part for part in (self.pointer, f"({spot})" if spot else "") if part) or "/"


class Finding(msgspec.Struct, frozen=True, omit_defaults=True):
    """One thing a check has to say about a document or a net."""

    rule: str
    severity: str  # error | warning | info
    message: str
    where: Place = Place()
    hint: str = ""
    node: str = ""
    category: str = ""  # syntax | semantic | security | performance, where the language names it

    def __str__(self) -> str:
        hint = f" Hint: {self.hint}" if self.hint else ""
        return f"{self.severity} {self.rule} at {self.where}: {self.message}{hint}"


class _Blank(dict[str, Any]):
    def __missing__(self, key: str) -> str:
        return f"<{key}>"


class PenstockError(Exception):
    """Something was asked that cannot be done."""

    code: ClassVar[str] = "PS-500"
    http: ClassVar[int] = 400
    hint: ClassVar[str] = ""
    exit_code: ClassVar[int] = 2
    #: facts that programs read: members of the problem that HTTP answers with
    told: ClassVar[tuple[str, ...]] = ()

    def __init_subclass__(cls, code: str | None = None) -> None:
        """A code of ours says its HTTP status. One that neither does nor is listed has that of the base."""
        super().__init_subclass__()
        if code is not None:
            status = _STATUS.match(code)
            cls.code, cls.http = code, int(status[1]) if status else _STATUS_OF_CODE.get(code, cls.http)

    def __init__(self, **facts: Any) -> None:
        self.facts = facts
        template = (type(self).__doc__ or "").strip().splitlines()[0]
        super().__init__(template.format_map(_Blank(facts)))

    @property
    def message(self) -> str:
        return str(self)

    @property
    def where(self) -> str:
        return str(self.facts.get("where", ""))


class DocumentInvalid(PenstockError, code="PS-422-DOCUMENT"):
    """The document has {count} error(s); the first: {first}."""

    hint = "Every finding has its own hint; `penstock check FILE` lists them all."

    def __init__(self, findings: list[Finding], **facts: Any) -> None:
        self.findings = findings
        errors = [f for f in findings if f.severity == "error"] or findings
        super().__init__(count=len(errors), first=errors[0].message.rstrip("."), where=errors[0].where, **facts)


class Refused(PenstockError, code="PS-409-REFUSED"):
    """The command was refused: {why}."""

    hint = "`penstock show RUN` says how the run stands and what it waits for."
