"""Texts out of files of unknown encoding, with a limit."""

from __future__ import annotations

import codecs
import re

from penstock.executors.processors.contract import Output, ProcessorContext, bad_file, beyond_limit

MAX_TEXT_BYTES = 64 * 1024 * 1024
_MARKS = ((codecs.BOM_UTF8, "utf-8-sig"), (codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"))
_META = re.compile(rb"<meta[^>]{0,200}charset\s*=\s*[\"']?\s*([A-Za-z0-9_.:-]{1,40})", re.I)
#: one that maps everything comes last
_TRIED = ("utf-8", "cp949", "latin-1")


def read_text(context: ProcessorContext, warned: list[str]) -> str:
    """The whole file as text. Raises ProcessorError."""
    most = context.bound("max_text_bytes", MAX_TEXT_BYTES)
    if context.size > most:
        raise beyond_limit(f"the file has {context.size} bytes; at most {most} are read as text")
    with context.file.open("rb") as file:
        data = file.read(most)
    encoding = text_encoding(context, data)
    if encoding == "latin-1":
        warned.append("the encoding of the text is a guess (latin-1)")
    return data.decode(encoding, "replace")


def text_encoding(context: ProcessorContext, head: bytes, whole: bool = True) -> str:
    """By its mark, by what the configuration or an HTML page says, else by trying. Raises ProcessorError."""
    asked = context.text("encoding")
    for mark, encoding in _MARKS:
        if head.startswith(mark):
            return encoding
    if b"\0" in head[:8192]:
        raise bad_file("the file is no text: it holds bytes that no text has")
    named = _META.search(head[:4096])
    for name in (asked, named[1].decode() if named else ""):
        try:
            if name and codecs.lookup(name)._is_text_encoding:
                return codecs.lookup(name).name
        except LookupError:
            continue
    for encoding in _TRIED:
        try:
            codecs.getincrementaldecoder(encoding)().decode(head, final=whole)
        except UnicodeDecodeError:
            continue
        return encoding
    return "latin-1"


def text_output(
    context: ProcessorContext, text: str, method: str, confidence: float, warned: list[str], **more: object
) -> Output:
    """The text as the stage's file, and the extraction that it is."""
    made = context.new_file("txt")
    made.write_text(text, encoding="utf-8", errors="replace")
    output = {"characters": len(text), "words": len(text.split()), **more}
    extraction = {"extractionType": "text", "method": method, "confidence": round(confidence, 4)}
    return Output(output=output, file=made, mime="text/plain", extraction=extraction, warnings=warned)
