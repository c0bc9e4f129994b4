"""What a tenant registers, read and checked: JSON, YAML and DMN, with a finding for everything that is wrong."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec.structs import replace

from penstock.errors import BadInput, DocumentInvalid, Finding, PenstockError, Place, ThingInvalid
from penstock.expr import compile_template
from penstock.host.secrets import PLACES
from penstock.lang.document import Document
from penstock.lang.read import read_document

TYPES = (
    "aas", "agent", "calendar", "channel", "collection", "config", "connection", "mcp_server", "metric", "model",
    "prompt", "robot", "role", "rule_pack", "secret", "template", "tool", "user",
)  # fmt: skip
CONNECTIONS = ("sqlite", "postgresql", "http", "file", "smtp", "mqtt", "sqs", "events", "openai", "stub")
_SIZE = 200  # of an id


def known_type(type: str) -> str:
    if type not in TYPES:
        raise BadInput(what="the type", why=f"«{type}» is none of {', '.join(TYPES)}", hint="Choose one of them.")
    return type


def read_artifact(type: str, id: str, source: bytes, name: str) -> tuple[dict[str, Any], list[Finding]]:
    """The body of a thing, and what is worth knowing about it. The name says how it is read: .dmn or .xml, .json,
    .yaml; without an ending its text does. Raises ThingInvalid with all findings, each with its line."""
    what = f"{known_type(type)} «{id}»"
    try:
        if name.endswith((".dmn", ".xml")) or source.lstrip()[:1] == b"<":
            return _dmn(type, id, source)
        document = read_document(source, name=name)
    except DocumentInvalid as wrong:
        raise ThingInvalid(wrong.findings, what=what, file=name) from None
    except PenstockError as error:
        error.facts["file"] = name or what
        raise
    findings = check_artifact(type, id, document.data, document, name)
    return document.data, findings


def _dmn(type: str, id: str, source: bytes) -> tuple[dict[str, Any], list[Finding]]:
    if type != "rule_pack":
        why = "only a rule_pack can be a DMN file"
        raise BadInput(what=f"{type} «{id}»", why=why, hint="Give it as JSON or YAML.")
    from penstock.executors.parts.rules.dmn import import_dmn

    return import_dmn(source, id=id)


def check_artifact(type: str, id: str, body: Any, document: Document | None = None, file: str = "") -> list[Finding]:
    """The findings about a usable artifact. Raises ThingInvalid, with all findings, for one that has errors."""
    if not id or len(id) > _SIZE or any(ord(c) < 32 for c in id):
        raise BadInput(what="the id", why="it is empty, too long, or holds a control character")
    if not isinstance(body, Mapping):
        findings = [_finding("wrong_type", "It must be an object.", "", 'Write for example {"type": "sqlite"}.')]
    elif type == "rule_pack":
        findings = _rule_pack(id, body, document)
    else:
        findings = _CHECKS[type](body) if type in _CHECKS else []
    if document is not None:
        findings = [
            finding if finding.where.line else replace(finding, where=document.place(finding.where.pointer))
            for finding in findings
        ]
    if any(finding.severity == "error" for finding in findings):
        raise ThingInvalid(findings, what=f"{known_type(type)} «{id}»", file=file)
    return findings


def _finding(rule: str, message: str, at: str, hint: str) -> Finding:
    return Finding(rule, "error", message, Place(at), hint)


def _rule_pack(id: str, body: Mapping[str, Any], document: Document | None) -> list[Finding]:
    from penstock.executors.parts.rules.evaluate import check_pack

    named = {"id": id, **body}
    return check_pack(named if document is None else replace(document, data=named))


def _calendar(body: Mapping[str, Any]) -> list[Finding]:
    from penstock.app.registry.calendars import expand_holidays
    from penstock.expr.calendar import compile_calendar

    try:
        compile_calendar(expand_holidays(body))
    except PenstockError as wrong:
        hint = str(wrong.facts.get("hint") or "")
        text = str(wrong)
        at = next((f"/{name}" for name in body if name in text), "")
        return [_finding("calendar", text, at, hint or "Correct the member that is named.")]
    return []


def _template(body: Mapping[str, Any]) -> list[Finding]:
    findings = [
        finding for name in ("subject", "body") for finding in _texts(body.get(name), f"/{name}", secrets=False)
    ]
    return findings + _texts(body.get("channel_config"), "/channel_config", secrets=True)


def _channel(body: Mapping[str, Any]) -> list[Finding]:
    return _texts(body, "", secrets=True)


def _texts(value: Any, at: str, *, secrets: bool) -> list[Finding]:
    """Templates that cannot be read, or ask for a secret that they must not have, each with its place."""
    if isinstance(value, Mapping):
        return [finding for name, part in value.items() for finding in _texts(part, f"{at}/{name}", secrets=secrets)]
    if isinstance(value, list):
        return [finding for i, part in enumerate(value) for finding in _texts(part, f"{at}/{i}", secrets=secrets)]
    return _text(value, at, secrets) if isinstance(value, str) and "${" in value else []


def _text(text: str, at: str, secrets: bool) -> list[Finding]:
    from penstock.executors.parts.notification import secret_misuse

    try:
        wrong = secret_misuse(compile_template(text), allowed=secrets)
    except PenstockError as error:
        return [_finding("expression_syntax", str(error), at, str(error.facts.get("hint") or error.hint))]
    if wrong is None:
        return []
    hint = "Write ${secrets.NAME}." if secrets else "Name the secret in channel_config: ${secrets.NAME}."
    return [_finding("secret_not_allowed", f"It {wrong}.", at, hint)]


def _secret(body: Mapping[str, Any]) -> list[Finding]:
    hint = 'Write {"ref": "env:NAME"}, {"ref": "file:path"} or {"ref": "vault:path#key"}.'
    if not {"value", "ref"} & body.keys():
        return [_finding("missing_field", "It has neither «value» nor «ref».", "", hint)]
    kind, colon, rest = str(body.get("ref", "env:-")).partition(":")
    if "value" in body or kind in PLACES and colon and rest:
        return []
    return [_finding("secret_reference", f"Nothing here can read a secret from «{kind[:40]}:».", "/ref", hint)]


def _connection(body: Mapping[str, Any]) -> list[Finding]:
    if body.get("type") in CONNECTIONS:
        return []
    message = f"Its «type» must be one of {', '.join(CONNECTIONS)}."
    return [_finding("connection_type", message, "/type", 'Write {"type": "sqlite", "path": "data.db"}.')]


def _agent(body: Mapping[str, Any]) -> list[Finding]:
    """P-X.3: the kind of an agent, and what that kind needs."""
    hint = 'Write {"kind": "http", "url": "https://…"}, {"kind": "model"}, {"kind": "echo"} or {"kind": "process"}.'
    needs = {"http": "url", "process": "command"}
    kind = body.get("kind", "model")
    if kind not in ("echo", "http", "model", "process"):
        return [_finding("agent_kind", "Its «kind» must be echo, http, model or process.", "/kind", hint)]
    missing = needs.get(kind)
    if missing is not None and not body.get(missing):
        return [_finding("missing_field", f"An agent of kind {kind} needs «{missing}».", "", hint)]
    if "tools" in body and _no_names(body["tools"]):
        return [_finding("wrong_type", "«tools» is a list of names.", "/tools", hint)]
    return []


def _tool(body: Mapping[str, Any]) -> list[Finding]:
    hint = 'Write {"type": "http", "url": "https://…"}, {"type": "mcp", "server": "erp"} or {"type": "outbox"}.'
    needs = {"http": "url", "mcp": "server"}
    kind = body.get("type", "http")
    if kind not in ("http", "mcp", "outbox"):
        return [_finding("tool_type", "Its «type» must be http, mcp or outbox.", "/type", hint)]
    missing = needs.get(kind)
    if missing is not None and not body.get(missing):
        return [_finding("missing_field", f"A tool of type {kind} needs «{missing}».", "", hint)]
    return []


def _user(body: Mapping[str, Any]) -> list[Finding]:
    hint = 'Write {"roles": ["quality_manager"]}.'
    findings = [
        _finding("wrong_type", f"«{name}» is a list of names.", f"/{name}{at}", hint)
        for name in ("roles", "groups")
        for at in _no_names(body.get(name, []))
    ]
    number = body.get("organization_id", 0)
    if not isinstance(number, int) or isinstance(number, bool) or not 0 <= number < 2**63:
        message = "«organization_id» is a whole number, at least 0."
        findings.append(_finding("wrong_type", message, "/organization_id", "Leave it out: the whole tenant."))
    return findings


def _no_names(given: Any) -> list[str]:
    """The pointers at which a value is not a list of names."""
    if not isinstance(given, list):
        return [""]
    return [f"/{i}" for i, name in enumerate(given) if not isinstance(name, str) or not name.strip()]


def _role(body: Mapping[str, Any]) -> list[Finding]:
    from penstock.app.access.roles import PERMISSIONS, in_our_words

    hint = 'Write {"permissions": ["run.read"]}.'
    given = body.get("permissions")
    if not isinstance(given, list):
        return [_finding("wrong_type", "«permissions» is a list.", "/permissions", hint)]
    known = f"They are {', '.join(PERMISSIONS)}."
    return [
        _finding("permission_unknown", f"«{permission}» is no permission.", f"/permissions/{i}", known)
        for i, permission in enumerate(given)
        if not isinstance(permission, str) or not in_our_words([permission])
    ]


def _robot(body: Mapping[str, Any]) -> list[Finding]:
    """C-56: a robot does only what it is registered to do."""
    hint = 'Write {"commands": ["stop"]}, or {"commands": {"move": {"type": "object"}}} with a JSON Schema for each.'
    given, findings = body.get("commands"), list[Finding]()
    if isinstance(given, Mapping):
        findings = [
            _finding("wrong_type", f"The parameters of «{name}» need a JSON Schema.", f"/commands/{name}", hint)
            for name, schema in given.items()
            if not isinstance(schema, Mapping)
        ]
    elif not isinstance(given, list) or _no_names(given):
        findings = [_finding("wrong_type", "«commands» is a list of names, or an object.", "/commands", hint)]
    if "queues" in body:
        findings += [_finding("wrong_type", "«queues» is a list of names.", f"/queues{at}", hint)
                  for at in _no_names(body["queues"])]  # fmt: skip
    return findings


def _metric(body: Mapping[str, Any]) -> list[Finding]:
    """C-50: an entry of the metric catalogue, as far as its database is not needed to check it."""
    from penstock.executors.parts.bi.catalogue import metric_problems

    return [_finding(problem.rule, problem.message, problem.at, problem.hint) for problem in metric_problems(body)]


def _aas(body: Mapping[str, Any]) -> list[Finding]:
    return [] if body else [_finding("missing_field", "It is empty.", "", 'Write {"id": "L01", "status": "running"}.')]


_CHECKS = {
    "agent": _agent, "tool": _tool,
    "calendar": _calendar, "channel": _channel, "template": _template, "secret": _secret, "connection": _connection,
    "user": _user, "role": _role, "robot": _robot, "aas": _aas,
    "metric": _metric,
}  # fmt: skip
