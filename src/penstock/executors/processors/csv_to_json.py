"""CsvToJson: the rows of a CSV file or of a spreadsheet as JSON, row by row."""

from __future__ import annotations

import math
import re
from typing import Any

import msgspec

from penstock.executors.processors.contract import Output, ProcessorContext, bad_file
from penstock.executors.processors.sheets import rows_of

_NUMBER = re.compile(r"-?(0|[1-9]\d{0,14})(\.\d{1,15})?\Z")


def run(context: ProcessorContext) -> Output:
    """config: header (the first row has the names; default true), types (texts that are numbers become numbers;
    default false), format json (default) or ndjson, delimiter, encoding, sheet, max_rows."""
    header, types = context.flag("header", True), context.flag("types")
    lines = context.text("format", "json", ("json", "ndjson")) == "ndjson"
    made = context.new_file("ndjson" if lines else "json")
    count = 0
    columns: list[str] = []
    encoder = msgspec.json.Encoder()
    with made.open("wb") as target:
        target.write(b"" if lines else b"[")
        for row in rows_of(context):
            if not any(cell not in (None, "") for cell in row):
                continue
            if header and not columns:
                columns = _names(row)
                continue
            cells = [_typed(cell) for cell in row] if types else row
            target.write(b"" if lines or not count else b",\n")
            target.write(encoder.encode(_record(columns, cells) if header else cells))
            target.write(b"\n" if lines else b"")
            count += 1
        target.write(b"" if lines else b"]")
    if header and not columns:
        raise bad_file("the table is empty")
    mime = "application/x-ndjson" if lines else "application/json"
    return Output(output={"rows": count, "columns": columns[:1000]}, file=made, mime=mime)


def _names(row: list[Any]) -> list[str]:
    names: list[str] = []
    for number, cell in enumerate(row, 1):
        name = str(cell if cell is not None else "").strip() or f"column{number}"
        names.append(name if name not in names else f"{name}_{number}")
    return names


def _record(columns: list[str], cells: list[Any]) -> dict[str, Any]:
    """What has no column is kept under the number of its place."""
    record = dict.fromkeys(columns)
    for number, cell in enumerate(cells, 1):
        record[columns[number - 1] if number <= len(columns) else f"column{number}"] = cell
    return record


def _typed(cell: Any) -> Any:
    if not isinstance(cell, str) or not _NUMBER.match(cell):
        return cell
    if "." not in cell:
        return int(cell)
    number = float(cell)
    return number if math.isfinite(number) else cell
