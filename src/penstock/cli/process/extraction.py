"""`penstock process extract`: a manual becomes a process, with the sentence behind every element."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Annotated

import msgspec
import typer

from penstock.app.process.extraction import manual_of_document
from penstock.app.process.manuals.review_page import review_page
from penstock.app.process.models import Proposed, extracted
from penstock.app.releases.documents import read_source
from penstock.cli.drive import driving_or_attached, until_done
from penstock.cli.identity import By, Claimed, identify
from penstock.cli.options import STORE, Json, Store
from penstock.cli.output import DONE, TONES, finding_json, print_json, say
from penstock.errors import BadInput

_STYLES = {"approved": TONES["done"], "pending": TONES["held"], "rejected": TONES["failed"]}
_MANUAL = "A manual: PDF, DOCX, HTML, Markdown or plain text."


def extract(
    file: Annotated[Path, typer.Argument(metavar="MANUAL", help=_MANUAL)],
    id: Annotated[str, typer.Option("--id", metavar="ID", help="The id it gets; else one from its title.")] = "",
    out: Annotated[Path | None, typer.Option("--out", "-o", metavar="FILE", help="Write the definition here.")] = None,
    bpmn: Annotated[Path | None, typer.Option("--bpmn", metavar="FILE", help="Write the BPMN XML here.")] = None,
    dmn: Annotated[
        Path | None, typer.Option("--dmn", metavar="FILE", help="Write the decision tables here, as DMN XML.")
    ] = None,
    html: Annotated[
        Path | None, typer.Option("--html", metavar="FILE", help="Write a page with text and drawing side by side.")
    ] = None,
    save: Annotated[bool, typer.Option("--save", help="Keep it; unsure ones wait for an approval.")] = False,
    by: By = None,
    json: Json = False,
    store: Store = STORE,
) -> int:
    """Make a process out of a manual, for you to accept: each element with the sentence that it comes from. Nothing is
    kept without --save."""
    source = read_source(file)

    async def work() -> Proposed:
        async with contextlib.AsyncExitStack() as stack:
            door = await driving_or_attached(stack, store, create=True)
            manual = await manual_of_document(source, file.name)
            return await extracted(
                door, manual, id=id, by=identify(door, by, "definition.write") or Claimed("cli"), store=save
            )

    done = until_done(work())
    if dmn is not None and done.reading.dmn is None:
        raise BadInput(what=str(file), why="it has no decision tables", hint="Leave out --dmn.")
    if bpmn is not None and not done.reading.bpmn:
        raise BadInput(what=str(file), why="nothing in it can be drawn", hint="Leave out --bpmn; see what is wrong.")
    written = _write(done, {"out": out, "bpmn": bpmn, "dmn": dmn, "html": html})
    if json:
        body = {**msgspec.to_builtins(done), "findings": [finding_json(finding) for finding in done.findings]}
        reading = body.pop("reading")
        print_json({**body, **reading})
        return DONE
    _print_proposed(done)
    for path in written:
        say("wrote ", (str(path), "bold"))
    return DONE


def _write(done: Proposed, files: dict[str, Path | None]) -> list[Path]:
    texts = {
        "out": lambda: msgspec.json.format(msgspec.json.encode(done.definition), indent=2).decode() + "\n",
        "bpmn": lambda: done.reading.bpmn, "dmn": lambda: done.reading.dmn or "", "html": lambda: review_page(done),
    }  # fmt: skip
    written = [(path, texts[name]()) for name, path in files.items() if path is not None]
    for path, text in written:
        path.write_bytes(text.encode(errors="replace"))
    return [path for path, _ in written]


def _print_proposed(done: Proposed) -> None:
    kept = f" v{done.version}" if done.version is not None else ""
    say(
        (f"{done.id}{kept} ", "bold"), (done.approval_status, _STYLES[done.approval_status]),
        f"  {done.confidence:.0%} sure, read by {done.source}",
    )  # fmt: skip
    if done.note:
        say(f"  {done.note}")
    behind = _Evidence(done)
    roles = {role.get("id"): role.get("name") for role in done.definition.get("roles") or []}
    for element in done.definition.get("activities") or []:
        role = str(element.get("role") or "")
        who = str(roles.get(role) or role) if role.startswith("role_") else role or element.get("agent_mode") or ""
        due = f"  within {element['due']}" if element.get("due") else ""
        say(f"  {element.get('id', ''):6} {who:12} {element.get('name', '')}{due}")
        behind.say(str(element.get("id")))
    defaults = {element.get("default") or None for element in done.definition.get("gateways") or []}
    for element in done.definition.get("transitions") or []:
        if element.get("condition"):
            say(f"  {element['source']} → {element['target']}  if {element['condition']}")
            behind.say(str(element.get("id")))
        elif element.get("id") in defaults:
            say(f"  {element['source']} → {element['target']}  otherwise")
    for element in done.reading.elements:
        if element.collection in ("data", "decisions"):
            say(f"  {'data' if element.collection == 'data' else 'table':6} {'':12} {element.name}")
            behind.say(element.id)
    for finding in done.findings:
        say((f"  {finding.severity} ", TONES["failed"] if finding.severity == "error" else ""), finding.message)


class _Evidence:
    """Prints the sentences behind an element, with their pages."""

    def __init__(self, done: Proposed) -> None:
        self.sentences = {sentence.id: sentence for sentence in done.reading.sentences}
        self.elements = {element.id: element for element in done.reading.elements}

    def say(self, id: str) -> None:
        element = self.elements.get(id)
        for sentence_id in element.sentences[:2] if element is not None else ():
            sentence = self.sentences[sentence_id]
            text = sentence.text if len(sentence.text) <= 90 else f"{sentence.text[:89]}…"
            say((f"         p. {sentence.page}  «{text}»", "dim"))
