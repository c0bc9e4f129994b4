"""`penstock rules test FILE.dmn`: a DMN model with the tests beside it, or one decision by hand."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

from penstock.app.releases.documents import read_source
from penstock.cli.output import DONE, FAILED, TONES, WRONG, finding_json, print_finding, print_json, say, short
from penstock.errors import BadInput, DocumentInvalid, Finding, PenstockError
from penstock.executors.parts.rules.dmn import Model, read_definitions, read_model
from penstock.executors.parts.rules.dmn.cases import RIGHT, Case, Outcome, read_own_form, read_suite_form, run_case
from penstock.feel import from_python, to_json

_MOST_BESIDE = 200
_OWN_FORM = (".yaml", ".yml", ".json")


def try_model(file: Path, tests: list[Path], *, strict: bool, json: bool) -> int:
    """Checks the model, runs its tests, and prints a line for each."""
    try:
        model = load_model(file)
    except DocumentInvalid as wrong:
        return _report(file, wrong.findings, [], json=json)
    findings = model.check()
    errors = any(finding.severity == "error" for finding in findings)
    outcomes = [] if errors else [run_case(model, case, now=_now(), strict=strict) for case in _cases(file, tests)]
    return _report(file, findings, outcomes, json=json)


def ask_model(file: Path, decision: str, data: Any, *, strict: bool, json: bool) -> int:
    """Evaluates one decision and prints its value, and why parts of it are null."""
    if not isinstance(data, dict):
        raise BadInput(what="--input", why="it is no object with the inputs by name", hint="Write '{\"name\": value}'.")
    try:
        model = load_model(file)
    except DocumentInvalid as wrong:
        return _report(file, wrong.findings, [], json=json)
    answer = model.evaluate(decision, data, now=_now(), strict=strict)
    value, warnings = to_json(answer.value), [str(warning) for warning in answer.warnings]
    if json:
        hits = [{"decision": hit.element, "rules": hit.rules} for hit in answer.hits]
        print_json({"decision": decision, "value": value, "warnings": warnings, "hits": hits})
        return DONE
    say(short(value, 10_000))
    for warning in warnings:
        say(("  warning ", TONES["held"]), warning, err=True)
    return DONE


def _now() -> Any:
    return from_python(datetime.now().astimezone())


def load_model(file: Path) -> Model:
    """The model of a file; what it imports is looked for in the files beside it."""
    source = read_source(file)
    try:
        wanted = {entry.namespace for entry in read_definitions(source).imports}
        return read_model(source, list(_imported(file, wanted)) if wanted else [])
    except PenstockError as error:
        error.facts["file"] = file
        raise


def _imported(file: Path, wanted: set[str]) -> Iterator[bytes]:
    """The DMN files beside this one that are imported, directly or by one that is; another one may be broken."""
    beside: dict[str, tuple[bytes, set[str]]] = {}
    for other in sorted(file.parent.glob("*.dmn"))[:_MOST_BESIDE]:
        if other.resolve() == file.resolve():
            continue
        try:
            source = read_source(other)
            definitions = read_definitions(source)
        except PenstockError:
            continue
        beside.setdefault(definitions.namespace, (source, {entry.namespace for entry in definitions.imports}))
    left, reached = list(wanted), set(wanted)
    while left:
        source, further = beside.get(left.pop(), (b"", set()))
        if source:
            yield source
        left += further - reached
        reached |= further


# ---- tests -----------------------------------------------------------------------------------------------------------


def _cases(file: Path, tests: list[Path]) -> list[Case]:
    return [case for path in tests or _beside(file) for case in _read(path, file)]


def _beside(file: Path) -> list[Path]:
    """FILE.tests.yaml, and the XML files of the public suite's form that are called after the model."""
    own = [file.with_name(f"{file.stem}.tests{ending}") for ending in _OWN_FORM]
    suite = [path for path in sorted(file.parent.glob("*.xml")) if path.name.startswith(f"{file.stem}-test-")]
    return [path for path in own if path.is_file()] + suite


def _read(path: Path, file: Path) -> list[Case]:
    source = read_source(path)
    try:
        if path.suffix != ".xml":
            return read_own_form(source, path.name)
        named, cases = read_suite_form(source, path.name)
    except PenstockError as error:
        error.facts["file"] = path
        raise
    if named and named != file.name:
        why = f"it is about «{named}», not about {file.name}"
        raise BadInput(what=f"«{path}»", why=why, hint="Give the tests of this model with --tests.")
    return cases


def _report(file: Path, findings: list[Finding], outcomes: list[Outcome], *, json: bool) -> int:
    errors = sum(finding.severity == "error" for finding in findings)
    wrong = sum(outcome.kind != RIGHT for outcome in outcomes)
    if json:
        print_json({
            "pack": str(file), "ok": not errors and not wrong, "findings": list(map(finding_json, findings)),
            "tests": list(map(_outcome_json, outcomes)),
        })  # fmt: skip
    else:
        for finding in findings:
            print_finding(finding, file, err=bool(errors))
        _print(file, errors, outcomes, wrong)
    return WRONG if errors else FAILED if wrong else DONE


def _outcome_json(outcome: Outcome) -> dict[str, Any]:
    case = outcome.case
    return {
        "name": case.name, "decision": case.asked, "ok": outcome.kind == RIGHT, "result": outcome.kind,
        "expected": outcome.wanted, "got": outcome.got, "where": case.where, "warnings": outcome.warnings,
    }  # fmt: skip


def _print(file: Path, errors: int, outcomes: list[Outcome], wrong: int) -> None:
    if errors:
        say((f"{file}: ", "bold"), (f"{errors} error{'' if errors == 1 else 's'}", TONES["failed"]), err=True)
        return
    width = max((len(outcome.case.name) for outcome in outcomes), default=0)
    asked = max((len(outcome.case.asked) for outcome in outcomes), default=0)
    for outcome in outcomes:
        case, right = outcome.case, outcome.kind == RIGHT
        mark = ("right", TONES["done"]) if right else (outcome.kind, TONES["failed"])
        say("  ", mark, f"  {case.name:<{width}}  {case.asked:<{asked}}  {short(outcome.got)}")
        if not right:
            say((f"         expected {outcome.wanted}  at {case.where}", "bright_black"))
            for warning in outcome.warnings:
                say(("         why ", "bright_black"), short(warning, 300))
    passed = f"{len(outcomes) - wrong} of {len(outcomes)} tests pass" if outcomes else "it has no tests"
    say((f"{file}: ", "bold"), (passed, TONES["failed"] if wrong else TONES["done"]))
