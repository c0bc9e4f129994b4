"""Why a manual cannot be read, in Korean: what stands in the place of {what} and {why} of `BadInput`."""

from __future__ import annotations

import re

#: what a file is called
_NAMES = {"the PDF": "PDF", "the DOCX": "DOCX", "the HTML": "HTML", "the text": "글"}
_REASONS = {
    "it is none": "그런 형식의 파일이 아니에요",
    "only PDF, DOCX, HTML, Markdown and plain text are read": "PDF, DOCX, HTML, Markdown, 글만 읽어요",
    "it is no text in UTF-8": "UTF-8로 된 글이 아니에요",
    "its letters are of no encoding that is known": "글자의 인코딩을 알 수 없어요",
    "it is encrypted": "암호가 걸려 있어요",
    "it is encrypted, or of an old format": "암호가 걸려 있거나 옛 형식이에요",
    r"it is broken \((.+)\)": r"깨진 파일이에요 (\1)",
    r"it is no DOCX \((.+)\)": r"DOCX가 아니에요 (\1)",
    "it takes too long to read": "읽는 데 너무 오래 걸려요",
    "it takes too much to read": "읽는 데 시간이나 메모리가 너무 많이 들어요",
    r"it has (\S+) bytes, and (\S+) are read": r"\1바이트예요. \2바이트까지 읽어요",
    r"it has (\S+) pages, and (\S+) are read": r"\1쪽이에요. \2쪽까지 읽어요",
    r"(?:it has|its text has) (\S+) characters, and (\S+) are read": r"글이 \1자예요. \2자까지 읽어요",
    "there is no text in it": "글이 없어요",
    r"there is no text on pages? (\d+) to (\d+); it may hold pictures of pages":
        r"\1쪽부터 \2쪽까지 글이 없어요. 쪽이 그림인 것 같아요",
    r"there is no text on (?:pages? )?(.+); it may hold pictures of pages":
        r"\1쪽에 글이 없어요. 쪽이 그림인 것 같아요",
    r"it unpacks to (\S+) bytes in (\S+) files, which is too much":
        r"압축을 풀면 파일 \2개, \1바이트라서 너무 커요",
    "its tables have too many cells": "표의 칸이 너무 많아요",
    r"more than (\S+) elements are inside each other": r"요소가 \1개 넘게 겹쳐 있어요",
    "it has no decision tables": "의사결정표가 없어요",
    "nothing in it can be drawn": "그릴 수 있는 것이 없어요",
}  # fmt: skip


def in_korean(value: object) -> object:
    """The same in Korean; what is not known stays as it is."""
    if not isinstance(value, str):
        return value
    for reason, korean in _REASONS.items():
        if match := re.fullmatch(reason, value, re.S):
            return match.expand(korean)
    return _NAMES.get(value, value)
