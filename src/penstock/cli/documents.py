"""Commands about documents: check one, draw one, draw a run."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Literal

import typer

from penstock.app.access.missing_candidates import Held, held_by_rows, unheld
from penstock.app.drawing.render import Form, Subject, of_run, render
from penstock.app.registry.registry import known_to, rows_of
from penstock.app.releases.documents import check_source, compile_source
from penstock.app.releases.rehearsal import Level, judge_levels
from penstock.cli.net_text import drawing
from penstock.cli.open_store import reading
from penstock.cli.options import STORE, Document, Json, SelectedTenant, Store
from penstock.cli.output import (
    DONE,
    TONES,
    WRONG,
    console,
    error_json,
    finding_json,
    print_finding,
    print_json,
    say,
)
from penstock.cli.settings import read_settings
from penstock.errors import BadInput, Finding, PenstockError, Place
from penstock.host.secrets import SecretPlaces
from penstock.lang.contract import Compiled
from penstock.lang.soundness import UNSOUND

PictureTo = Annotated[
    Path | None, typer.Option("--picture", metavar="FILE", help="With --sound: draw that way as SVG.")
]


def check(
    file: Document,
    sound: Annotated[bool, typer.Option("--sound", help="Can every run end? If not: the way that shows it.")] = False,
    picture_to: PictureTo = None,
    json: Json = False,
    store: Store = STORE,
) -> int:
    """Say whether a document can be run: every error and warning, with its place and what to do about it."""
    try:
        language, findings = check_source(
            file, registered=_registered(store), sound=sound, settings=read_settings(store)
        )
    except PenstockError as error:
        if not json:
            raise
        finding = Finding(error.code, "error", str(error), Place(), error.hint)
        print_json({"ok": False, "language": None, "findings": [finding_json(finding)], **error_json(error)})
        return WRONG
    errors = [finding for finding in findings if finding.severity == "error"]
    if all(error.rule == UNSOUND for error in errors):
        findings += unheld(compile_named(file, unsound=True)[0].net, _held(store))
    judge_soundness = sound and all(error.rule == UNSOUND for error in errors)
    levels = judge_levels(compile_named(file, unsound=True)[0].net) if judge_soundness else []
    if picture_to is not None and levels:
        _write(picture_to, render(levels[0].subject, "svg"))
    if json:
        findings_json = [finding_json(finding) for finding in findings]
        soundness = {"soundness": [level.told() for level in levels]} if judge_soundness else {}
        print_json({"ok": not errors, "language": language, "findings": findings_json, **soundness})
        return WRONG if errors else DONE
    for finding in findings:
        print_finding(finding, file, err=bool(errors))
    for level in levels:
        _print_way(level, err=bool(errors))
    if errors:
        say((f"{file}: ", "bold"), (_count(len(errors), "error"), TONES["failed"]), err=True)
        return WRONG
    counted = [(sum(finding.severity == severity for finding in findings), word) for severity, word in _SEVERITIES]
    more = "".join(f", {_count(number, word)}" for number, word in counted if number)
    more += ", sound" if judge_soundness and not levels else ""
    say((f"{file}: ", "bold"), ("ok", TONES["done"]), f" ({language}{more})")
    return DONE


def _print_way(level: Level, *, err: bool) -> None:
    """The way that shows it, and what became of it when the kernel went it."""
    if not level.found.trace:
        return
    say(("the way that shows it:", "bold"), err=err)
    for number, line in enumerate(level.way, 1):
        say(f"  {number}. {line}", err=err)
    if level.rehearsed is not None:
        say(f"  rehearsed: {level.rehearsed.ending()}", err=err)


_SEVERITIES = (("warning", "warning"), ("info", "remark"))


def _registered(store: Path) -> Callable[[str, str], bool]:
    """What the store's tenant has; where there is no store yet, what a new one is born with. A secret may also lie in
    the environment or in the settings."""
    places = SecretPlaces(read_settings(store)["secrets"])
    if store.exists():
        with reading(store) as door:
            held = known_to(door.store, SelectedTenant.tenant)
    else:
        held = known_to(None, SelectedTenant.tenant)

    def registered(kind: str, name: str) -> bool:
        return held(kind, name) or kind == "secret" and places.find(name, None) is not None

    return registered


def _held(store: Path) -> Held:
    """Whom the store's tenant can give work to; where there is no store yet, whom a new one is born with."""
    if not store.exists():
        return held_by_rows(rows_of(None, SelectedTenant.tenant))
    with reading(store) as door:
        return held_by_rows(rows_of(door.store, SelectedTenant.tenant))


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"


def compile_named(file: Path, *, unsound: bool = False, store: Path | None = None) -> tuple[Compiled, bytes]:
    """Compile a document, for a store with its settings; its errors know the file's name."""
    settings = read_settings(store) if store is not None else None
    try:
        return compile_source(file, unsound=unsound, settings=settings)
    except PenstockError as error:
        error.facts["file"] = file
        raise


def draw(
    what: Annotated[str, typer.Argument(metavar="FILE|RUN", help="A document, or a run: then with its tokens.")],
    as_svg: Annotated[bool, typer.Option("--svg", help="An SVG picture.")] = False,
    as_mermaid: Annotated[bool, typer.Option("--mermaid", help="Mermaid text, for a README or a wiki.")] = False,
    out: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="FILE", help="Write it there instead of to the screen.")
    ] = None,
    theme: Annotated[Literal["light", "dark"], typer.Option("--theme", help="The colours of the SVG.")] = "light",
    json: Json = False,
    store: Store = STORE,
) -> int:
    """Draw a document, or a run with its tokens: for the terminal, as SVG or as Mermaid."""
    if as_svg and as_mermaid:
        raise BadInput(what="the form", why="--svg and --mermaid exclude each other")
    subject = _subject(what, store)
    form: Form = "svg" if as_svg else "mermaid" if as_mermaid else "text"
    if form == "text" and out is None and not json:
        console().print(drawing(subject.net, subject.marks))
        return DONE
    drawn = render(subject, form, theme)
    if out is not None:
        _write(out, drawn)
    if json:
        print_json({"form": form, "file": str(out) if out is not None else None, "picture": drawn})
    elif out is not None:
        say("wrote ", (str(out), "bold"))
    else:
        print(drawn.rstrip("\n"))
    return DONE


def _subject(what: str, store: Path) -> Subject:
    if Path(what).exists() or not what.isalnum():
        net = compile_named(Path(what))[0].net
        return Subject(net, None, net.name)
    with reading(store) as door:
        return of_run(door, what)


def _write(file: Path, text: str) -> None:
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    except OSError as error:
        why = f"it cannot be written ({(error.strerror or str(error)).lower()})"
        raise BadInput(what=f"«{file}»", why=why) from error
