"""Commands about rule packs: list those of the tenant, check one and run its own tests."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import msgspec
import typer

from penstock.app.releases.documents import read_source
from penstock.cli.decision.models import ask_model, try_model
from penstock.cli.open_store import reading
from penstock.cli.options import STORE, Json, Store, read_value
from penstock.cli.output import DONE, FAILED, TONES, WRONG, finding_json, print_finding, print_json, say
from penstock.errors import BadInput, DocumentInvalid, Finding, PenstockError
from penstock.executors.parts.rules.dmn import read_definitions
from penstock.executors.parts.rules.evaluate import TestResult, check_pack, compile_pack, try_pack
from penstock.lang.read import read_document

_MODELS = (".dmn", ".xml")
_ENDINGS = (".json", ".yaml", ".yml", *_MODELS)


def try_out(
    what: Annotated[str, typer.Argument(metavar="FILE|PACK", help="A file, or a registered pack (ID or ID@VERSION).")],
    tests: Annotated[
        list[Path] | None,
        typer.Option("--tests", metavar="FILE", help="Tests of a DMN file that do not lie beside it. May be repeated."),
    ] = None,
    decision: Annotated[
        str | None, typer.Option("--decision", metavar="NAME", help="Evaluate this decision of a DMN file by hand.")
    ] = None,
    input: Annotated[
        str | None, typer.Option("--input", metavar="JSON|@FILE|-", help="The inputs of --decision, by name.")
    ] = None,
    strict: Annotated[
        bool, typer.Option("--strict", help="Fail where DMN gives null because something is wrong.")
    ] = False,
    json: Json = False,
    store: Store = STORE,
) -> int:
    """Check a rule pack and run the tests that it brings along. A file is JSON, YAML or DMN.

    A DMN file is tested with FILE.tests.yaml (a list of name, decision, input, expect) and with FILE-test-*.xml, the
    form of the public DMN suite, beside it.

    Exit code 2: the pack has errors; 3: one of its tests fails."""
    if what.endswith(_MODELS):
        if decision is not None:
            return ask_model(Path(what), decision, read_value(input, "--input") or {}, strict=strict, json=json)
        return try_model(Path(what), tests or [], strict=strict, json=json)
    if tests or decision or input or strict:
        why = "--tests, --decision, --input and --strict are for a DMN file"
        raise BadInput(what=f"«{what}»", why=why, hint="Give a file that ends with .dmn.")
    body, findings, name = _of_file(Path(what)) if _is_file(what) else _of_store(what, store)
    errors = [finding for finding in findings if finding.severity == "error"]
    tried = try_pack(compile_pack(body)) if not errors else []
    wrong = [trial for trial in tried if trial.wrong]
    if json:
        findings_json = [finding_json(finding) for finding in findings]
        trials = [{"name": t.name, "ok": not t.wrong, "wrong": t.wrong, "verdict": t.verdict} for t in tried]
        print_json({"pack": name, "ok": not errors and not wrong, "findings": findings_json, "tests": trials})
    else:
        _print(Path(name), findings, tried)
    return WRONG if errors else FAILED if wrong else DONE


def ls(json: Json = False, store: Store = STORE) -> int:
    """List the rule packs that are registered, every version."""
    with reading(store) as door:
        rows = door.store.artifacts(door.tenant, "rule_pack")
    packs: list[dict[str, Any]] = []
    for row in rows:
        body = msgspec.msgpack.decode(row.body)
        size = _size(body)
        packs.append({
            "id": row.id, "version": row.version, "status": row.status, "rules": size,
            "tests": len(body.get("tests") or []), "name": body.get("name", ""), "summary": body.get("summary", ""),
        })  # fmt: skip
    if json:
        print_json(packs)
        return DONE
    if not packs:
        say("No rule pack is registered.")
    for pack in packs:
        counts = f"{pack['rules']} rules, {pack['tests']} tests"
        say((f"{pack['id']} ", "bold"), f"{pack['version']}  {pack['status']}  {counts}")
        if pack["summary"] or pack["name"]:
            say((f"  {pack['summary'] or pack['name']}", "bright_black"))
    return DONE


def _size(body: dict[str, Any]) -> int:
    """How many rules a pack has; of a DMN model, how many decisions."""
    if isinstance(form := body.get("dmn"), dict):
        try:
            return len(read_definitions(str(form.get("model", "")).encode()).decisions)
        except PenstockError:
            return 0
    return len(body.get("rules") or body.get("decisions") or (body.get("table") or {}).get("rules") or [])


def _is_file(what: str) -> bool:
    return what.endswith(_ENDINGS) or Path(what).is_file()


def _of_file(file: Path) -> tuple[Any, list[Finding], str]:
    source = read_source(file)
    try:
        document = read_document(source, name=file.name)
    except DocumentInvalid as wrong:
        return None, wrong.findings, str(file)
    except PenstockError as error:
        error.facts["file"] = file
        raise
    return document, check_pack(document), str(file)


def _of_store(what: str, store: Path) -> tuple[Any, list[Finding], str]:
    """The version asked for, or else the one in force."""
    from penstock.host.secrets import SecretPlaces
    from penstock.host.tenants import StoredTenant

    id, _, version = what.partition("@")
    with reading(store) as door:
        body = StoredTenant(door.tenant, door.store, SecretPlaces(), lambda: 0).find("rule_pack", id, version or None)
    if body is None:
        hint = "`penstock rules ls` lists the packs; a file is named with its ending, such as rules.json."
        raise BadInput(what=f"«{what}»", why="no rule pack is registered under this name", hint=hint)
    return body, check_pack(body), what


def _print(name: Path, findings: list[Finding], tried: list[TestResult]) -> None:
    errors = sum(finding.severity == "error" for finding in findings)
    for finding in findings:
        print_finding(finding, name, err=bool(errors))
    if errors:
        say((f"{name}: ", "bold"), (f"{errors} error{'' if errors == 1 else 's'}", TONES["failed"]), err=True)
        return
    width = max((len(trial.name) for trial in tried), default=0)
    for trial in tried:
        verdict = trial.verdict.decision if trial.verdict is not None else ""
        mark = ("failed", TONES["failed"]) if trial.wrong else ("ok    ", TONES["done"])
        say("  ", mark, f"  {trial.name:<{width}}  {trial.wrong or verdict}")
    wrong = sum(bool(trial.wrong) for trial in tried)
    passed = f"{len(tried) - wrong} of {len(tried)} tests pass" if tried else "it has no tests"
    say((f"{name}: ", "bold"), (passed, TONES["failed"] if wrong else TONES["done"]))


rules = {"ls": ls, "test": try_out}
