"""The command that writes a diagram in another of its forms."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from penstock.app.releases.document_files import DocumentFiles
from penstock.app.releases.documents import node_types, read_source
from penstock.cli.options import STORE, Document, Json, NoStore, Root
from penstock.cli.output import DONE, TONES, WRONG, finding_json, print_finding, print_json, say
from penstock.errors import BadInput, DocumentInvalid, PenstockError
from penstock.lang.compile import compile_document, language_of
from penstock.lang.diagram.convert import Converted
from penstock.lang.diagram.convert import convert as converted
from penstock.lang.read import read_document
from penstock.lang.report import Report
from penstock.net.codec import content_hash


def convert(
    file: Document,
    to: Annotated[Literal["light", "native", "readable"], typer.Option("--to", metavar="FORM", help="light (YAML), "
        "native (JSON of the drawing tool) or readable (YAML with a flow).")],
    out: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="FILE", help="Write it there instead of to the screen.")
    ] = None,
    root: Root = None,
    json: Json = False,
    store: NoStore = STORE,
) -> int:  # fmt: skip
    """Write a diagram in another of its forms. It runs as before, step by step; what the form cannot say is told."""
    source = read_source(file)
    document = read_document(source, name=file.stem)
    language = language_of(document)
    if language.name != "diagram":
        why = f"it is a document of the language {language.name}"
        raise BadInput(what=f"«{file}»", why=why, hint="Only diagrams have several forms.")
    report = Report(document)
    made = converted(document, to, report, node_types())
    if made is None:
        return _refused(file, report, json)
    files = DocumentFiles(file, root)
    before, after = _meaning(source, file.stem, files), _meaning(made.text.encode(), file.stem, files)
    if before != after:
        return _differs(file, to, json)
    if isinstance(before, list):
        made.losses.append(f"the proof that it runs as before: it does not compile ({before[0].split(': ')[0]})")
    if out is not None:
        _write(out, made.text)
    if json:
        name = str(out) if out is not None else None
        print_json({"ok": True, "form": to, "file": name, "document": made.text, "losses": made.losses})
    else:
        _tell(made, out)
    return DONE


def _meaning(source: bytes, name: str, files: DocumentFiles) -> str | list[str]:
    """The hash of a document's net, or what is wrong with it where it has none."""
    try:
        return content_hash(compile_document(source, name=name, resolve=files, extra=node_types()).net)
    except DocumentInvalid as error:
        wrong = [finding for finding in error.findings if finding.severity == "error"]
        return sorted(f"{finding.rule}: {finding.node}: {finding.message}" for finding in wrong)
    except PenstockError as error:
        return [f"{error.code}: {error}"]


def _differs(file: Path, to: str, json: bool) -> int:
    why = f"in the form {to} it would not run as before, so nothing is written"
    hint = "Give labels, names and persons plain words, and try again; the diagram itself is not at fault."
    if json:
        print_json({"ok": False, "findings": [], "message": why, "hint": hint})
        return WRONG
    say((f"{file}: ", "bold"), (why, TONES["failed"]), err=True)
    say(hint, err=True)
    return WRONG


def _refused(file: Path, report: Report, json: bool) -> int:
    if json:
        print_json({"ok": False, "findings": [finding_json(finding) for finding in report.findings]})
        return WRONG
    for finding in report.findings:
        print_finding(finding, file, err=True)
    say((f"{file}: ", "bold"), ("cannot be converted", TONES["failed"]), err=True)
    return WRONG


def _tell(made: Converted, out: Path | None) -> None:
    """The document on the screen is for a file or a pipe: what was lost is said beside it."""
    if out is None:
        print(made.text, end="")
    else:
        say("wrote ", (str(out), "bold"), f" ({made.form})")
    for loss in made.losses:
        say(("not kept: ", TONES["held"]), loss, err=out is None)


def _write(file: Path, text: str) -> None:
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    except OSError as error:
        why = f"it cannot be written ({(error.strerror or str(error)).lower()})"
        raise BadInput(what=f"«{file}»", why=why) from error
