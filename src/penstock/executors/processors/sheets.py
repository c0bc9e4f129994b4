"""Rows of spreadsheets and CSV files, one after the other (openpyxl, extra `documents`, for the former)."""

from __future__ import annotations

import contextlib
import csv
import datetime
import io
import os
from collections.abc import Iterator
from typing import Any

from penstock.executors.processors.contract import (
    ProcessorContext,
    ProcessorError,
    bad_file,
    beyond_limit,
    missing_extra,
)
from penstock.executors.processors.file_kinds import detected_mime
from penstock.executors.processors.texts import text_encoding
from penstock.executors.processors.zip_limits import check_zip

MAX_ROWS = 1_000_000
_FIELD_MAX = 1024 * 1024
_HEAD = 64 * 1024


def is_sheet(context: ProcessorContext) -> bool:
    """A spreadsheet by its first bytes, whatever it was announced as."""
    detected = detected_mime(context.file)
    if detected == "application/x-ole-storage":
        raise ProcessorError("FILE_INVALID", "spreadsheets of the old format (xls) are not read; save it as xlsx")
    if detected not in ("", "application/zip"):
        raise bad_file(f"the file is {detected}, and no table")
    return detected == "application/zip"


def rows_of(context: ProcessorContext) -> Iterator[list[Any]]:
    """Raises ProcessorError, also on the way."""
    most = context.bound("max_rows", MAX_ROWS)
    rows = _sheet_rows(context) if is_sheet(context) else _csv_rows(context)
    for number, row in enumerate(rows, 1):
        if number > most:
            raise beyond_limit(f"the table has more than {most} rows")
        yield row


def _csv_rows(context: ProcessorContext) -> Iterator[list[Any]]:
    with context.file.open("rb") as file:
        head = file.read(_HEAD)
        encoding = text_encoding(context, head, whole=len(head) < _HEAD)
        file.seek(0)
        csv.field_size_limit(_FIELD_MAX)
        text = io.TextIOWrapper(file, encoding=encoding, errors="replace", newline="")
        try:
            yield from csv.reader(text, delimiter=_delimiter(context, head.decode(encoding, "replace")), strict=True)
        except csv.Error as error:
            raise bad_file(f"the file is no CSV: {str(error)[:200]}") from None


def _delimiter(context: ProcessorContext, head: str) -> str:
    asked = context.text("delimiter")
    if asked:
        if len(asked) != 1:
            raise ProcessorError("CONFIG_INVALID", "«delimiter» must be one character")
        return asked
    first = head.partition("\n")[0]
    return max(",;\t|", key=first.count)


def _sheet_rows(context: ProcessorContext) -> Iterator[list[Any]]:
    os.environ["OPENPYXL_LXML"] = "False"  # the parser that fetches nothing and limits what entities unfold to
    try:
        import openpyxl
    except ImportError:
        raise missing_extra(context.processor, "documents") from None
    check_zip(context)
    opened = context.file.open("rb")  # by its contents: the library would judge a path by its ending
    try:
        book = openpyxl.load_workbook(opened, read_only=True, data_only=True, keep_links=False)
    except MemoryError:
        raise
    except Exception as error:  # whatever a broken file brings about
        raise bad_file(f"the file is no spreadsheet ({type(error).__name__})") from None
    with contextlib.closing(book):
        name = context.text("sheet") or (book.sheetnames[0] if book.sheetnames else "")
        if name not in book.sheetnames:
            raise ProcessorError("CONFIG_INVALID", f"there is no sheet «{name[:100]}» in the file")
        try:
            for row in book[name].iter_rows(values_only=True):
                yield [_value(cell) for cell in row]
        except (MemoryError, ProcessorError):
            raise
        except Exception as error:
            raise bad_file(f"the spreadsheet is broken ({type(error).__name__})") from None


def _value(cell: Any) -> Any:
    if cell is None or isinstance(cell, str | int | bool):
        return cell
    if isinstance(cell, float):
        return int(cell) if cell.is_integer() and abs(cell) < 2**53 else cell
    if isinstance(cell, datetime.datetime | datetime.date | datetime.time):
        return cell.isoformat()
    return str(cell)
