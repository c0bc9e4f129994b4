"""The processors of the house by name, as far as a definition must know them (F-X.14); executors have the work."""

from __future__ import annotations

import msgspec


class ProcessorType(msgspec.Struct, frozen=True):
    """`rollback`: it can undo what it did, when its execution is cancelled (F-X.8)."""

    name: str
    rollback: bool = False


_NAMES = (
    "Copy", "Checksum", "MetadataExtractor", "TextExtractor", "ImageResizer", "ImageThumbnail", "ImageConverter",
    "CsvToJson", "HtmlToText", "OcrProcessor", "PdfPages", "VirusScan", "Archive", "LlmExtractor", "Script", "Command",
    "HttpCall",
)  # fmt: skip
PROCESSORS = {name: ProcessorType(name) for name in _NAMES}
