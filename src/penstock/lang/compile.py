"""From a document's bytes to a net: the way every document goes, whatever its language."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from penstock.errors import DocumentInvalid, Finding, LanguageUnknown, PenstockError, Place
from penstock.lang.contract import Compiled, Language, Lowered, Resolve, Setting, languages
from penstock.lang.document import Document
from penstock.lang.files import why_not_found
from penstock.lang.read import read_document
from penstock.lang.report import TOO_MANY, Report
from penstock.lang.soundness import soundness
from penstock.net.calls import DOCUMENT

#: How deep documents may call documents.
DEEPEST = 20
_TOP = Place("", 1, 1)


def compile_document(
    data: bytes,
    *,
    name: str,
    language: str | None = None,
    resolve: Resolve | None = None,
    extra: Mapping[str, Any] | None = None,
    unsound: bool = False,
    judged: bool = True,
    defaults: Mapping[str, int] | None = None,
) -> Compiled:
    """The net of a document. Raises DocumentUnreadable, DocumentTooLarge, LanguageUnknown, or DocumentInvalid with all
    findings. `resolve` gives the bytes of files it names; `extra` are node types of the language from outside;
    `unsound`: it is taken although not every run of it can end; not `judged`: whoever asks looks at that himself;
    `defaults` hold where it says nothing."""
    document = read_document(data, name=name)
    chosen = language_of(document, language)
    findings: list[Finding] = []
    lowered = _Compilation(resolve, extra or {}, defaults=defaults).lower(document, chosen, findings)
    if lowered is not None and chosen.sound and judged:
        findings += _soundness(lowered, findings, "warning" if unsound else "error")
    if lowered is None or any(f.severity == "error" for f in findings):
        raise DocumentInvalid(_in_order(findings))
    return Compiled(lowered.net, _in_order(findings), chosen.name, lowered.children)


def check_document(
    data: bytes,
    *,
    name: str,
    language: str | None = None,
    resolve: Resolve | None = None,
    extra: Mapping[str, Any] | None = None,
    secret: Callable[[str], bool] | None = None,
    registered: Callable[[str, str], bool] | None = None,
    sound: bool = False,
) -> tuple[str | None, list[Finding]]:
    """The language of a document, if it has one, and everything there is to say about it. `secret` tells whether a
    secret is set on this machine, `registered` whether the tenant has what is asked for (type, id); what is not there
    is a warning. `sound`: can every run end? is asked also where the language does not ask it by itself."""
    chosen: Language | None = None
    findings: list[Finding] = []
    try:
        document = read_document(data, name=name)
        chosen = language_of(document, language)
        lowered = _Compilation(resolve, extra or {}, secret, registered).lower(document, chosen, findings)
        if lowered is not None and (sound or chosen.sound):
            findings += _soundness(lowered, findings, "error" if chosen.sound else "warning")
    except PenstockError as wrong:
        findings.append(_as_finding(wrong))
    return (chosen.name if chosen else None), _in_order(findings)


def _soundness(lowered: Lowered, findings: list[Finding], severity: str) -> list[Finding]:
    """Of a net without errors; of one with errors it would only tell consequences."""
    return [] if any(f.severity == "error" for f in findings) else soundness(lowered.net, severity)


def language_of(document: Document, wanted: str | None = None) -> Language:
    for language in languages():
        if language.name == wanted if wanted else language.recognise(document.data):
            return language
    raise LanguageUnknown(known=", ".join(language.name for language in languages()), where=document.place())


def _in_order(findings: list[Finding]) -> list[Finding]:
    """As the author meets them going down the document."""
    return sorted(findings, key=lambda f: (f.rule == TOO_MANY, f.where.line, f.where.column, f.rule))


def _recursive(document: Document, why: str) -> Finding:
    own = language_of(document).recursive
    if own is not None:
        return own(document, why)
    message = f"The document «{document.name}» cannot be called here: {why}."
    return Finding("recursive_document", "error", message, document.place(), "Use a loop instead.")


def _as_finding(wrong: PenstockError) -> Finding:
    where = wrong.facts.get("where")
    return Finding(wrong.code, "error", str(wrong), where if isinstance(where, Place) else _TOP, wrong.hint)


class _Compilation:
    """One document and all that it calls. Every called file is compiled once; a file that calls itself is refused."""

    def __init__(
        self, resolve: Resolve | None, extra: Mapping[str, Any], secret: Callable[[str], bool] | None = None,
        registered: Callable[[str, str], bool] | None = None, defaults: Mapping[str, int] | None = None,
    ) -> None:  # fmt: skip
        self.resolve, self.extra, self.secret, self.registered = resolve, extra, secret, registered
        self.defaults = defaults or {}
        self.done: dict[str, tuple[Lowered | None, list[Finding]]] = {}
        self.chain: list[str] = []
        self.names: list[tuple[str, ...]] = []  # by which those of the chain are called
        self.marks: set[str] = set()  # of those that are called while they are compiled

    def lower(self, document: Document, language: Language, findings: list[Finding]) -> Lowered | None:
        report = Report(document, findings)
        setting = Setting(
            self.resolve, self.extra, self.call, self.secret, self.registered, self.defaults, self.under_way
        )
        self.chain.append(document.digest + document.base)
        self.names.append(())
        lowered = language.lower(language.read(document, report, setting), report, setting)
        self.names.pop()
        return self._marked(lowered, self.chain.pop())

    def under_way(self, called: str, own_id: str, own_title: str) -> str:
        """The mark of a document that is called while it is compiled: it calls itself, or one that it calls does. An id
        comes before a title, which others may have, too."""
        self.names[-1] = (own_id, own_title)
        key = self._named(called, 0)
        if not key:
            source = self.fetch(called)
            key = hashlib.sha256(source).hexdigest() if isinstance(source, bytes) else self._named(called, 1)
        if key not in self.chain:
            return ""
        self.marks.add(key)
        return key

    def _named(self, called: str, by: int) -> str:
        known = zip(self.chain, self.names, strict=True)
        return next((key for key, names in known if names and names[by] == called), "")

    def _marked(self, lowered: Lowered | None, key: str) -> Lowered | None:
        """What calls itself can be found by its mark, since nobody knows the hash of a net that is not made yet."""
        if lowered is None or key not in self.marks:
            return lowered
        declares = lowered.net.declares
        declares = msgspec.structs.replace(declares, policies={**declares.policies, DOCUMENT: key})
        return Lowered(msgspec.structs.replace(lowered.net, declares=declares), lowered.children)

    def call(self, what: str | Document) -> tuple[Lowered | None, list[Finding]]:
        source = self.fetch(what) if isinstance(what, str) else what
        if isinstance(source, Finding):
            return None, [source]
        try:
            document = source if isinstance(source, Document) else read_document(source, name=str(what))
            key = document.digest + document.base
            if key in self.chain or len(self.chain) > DEEPEST:
                why = "it calls itself" if key in self.chain else f"calls go deeper than {DEEPEST}"
                return None, [_recursive(document, why)]
            if key not in self.done:
                findings: list[Finding] = []
                lowered = self.lower(document, language_of(document), findings)
                self.done[key] = (lowered, findings)
            return self.done[key]
        except PenstockError as wrong:
            return None, [_as_finding(wrong)]

    def fetch(self, name: str) -> bytes | Finding:
        if self.resolve is None:
            hint = "Write the called diagram inline, under `diagram:`."
            message = f"«{name}» cannot be read here: there is no folder to look in."
            return Finding("file_not_found", "error", message, Place(), hint)
        try:
            return self.resolve(name)
        except (OSError, PenstockError) as wrong:
            why, looked = why_not_found(wrong)
            return Finding("file_not_found", "error", f"«{name}» cannot be read: {why}.", Place(), looked)
