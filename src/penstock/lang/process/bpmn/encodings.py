"""The text of a file as it was brought: UTF-8, or the encoding that its first line declares; kept as UTF-8."""

from __future__ import annotations

import re
from typing import NoReturn

from penstock.errors import DocumentTooLarge, DocumentUnreadable, Place
from penstock.lang.files import LIMIT

_DECLARED = re.compile(r"""\A(\ufeff?<\?xml\b[^>]{0,200}?\bencoding\s*=\s*["'])([A-Za-z][A-Za-z0-9._-]{0,39})(["'])""")
_UTF_8 = ("utf-8", "utf8", "us-ascii", "ascii")
#: Encodings that modelers on people's machines still write, by the name that XML has for them.
_KNOWN = {
    "utf-16": "utf-16", "utf-16le": "utf-16-le", "utf-16be": "utf-16-be", "euc-kr": "cp949", "ks_c_5601-1987": "cp949",
    "cp949": "cp949", "ms949": "cp949", "windows-949": "cp949", "iso-8859-1": "cp1252", "iso-8859-15": "iso8859-15",
    "windows-1252": "cp1252", "iso-8859-2": "iso8859-2", "windows-1250": "cp1250", "windows-1251": "cp1251",
    "shift_jis": "cp932", "euc-jp": "euc_jp", "gb2312": "gb18030", "gbk": "gb18030", "gb18030": "gb18030",
    "big5": "big5",
}  # fmt: skip


def source_text(given: str | bytes) -> str:
    """The text, which says that it is UTF-8 where it said something else. Raises DocumentTooLarge, and
    DocumentUnreadable for what no encoding fits."""
    size = len(given) if isinstance(given, bytes) else len(given.encode(errors="surrogatepass"))
    if size > LIMIT:
        raise DocumentTooLarge(size=size, limit=LIMIT, where=Place("", 1, 1))
    text = _decoded(given) if isinstance(given, bytes) else given
    if (at := text.find("\0")) >= 0:
        _refuse("it holds a NUL byte", text, at)
    if not text.strip("\ufeff \t\r\n"):
        _refuse("it is empty", text, 0)
    declared = _DECLARED.match(text)
    if declared is None or declared[2].lower() in _UTF_8:
        return text
    return f"{declared[1]}UTF-8{declared[3]}{text[declared.end() :]}"


def _decoded(data: bytes) -> str:
    wide = data.startswith((b"\xff\xfe", b"\xfe\xff"))
    if wide or data[:1] == b"\0" or data[1:2] == b"\0":
        codec = "utf-16" if wide else "utf-16-be" if data[:1] == b"\0" else "utf-16-le"
        return _by(codec, "UTF-16", data)
    declared = _DECLARED.match(data[:300].decode("latin-1").removeprefix("\xef\xbb\xbf"))
    name = declared[2].lower() if declared is not None else "utf-8"
    if name in _UTF_8 or data.startswith(b"\xef\xbb\xbf"):
        return _by("utf-8", "UTF-8", data)
    if name.startswith("utf-16") or name not in _KNOWN:
        why = "it says that it is {}, and is not" if name in _KNOWN else "it is in the encoding «{}»; save it as UTF-8"
        raise DocumentUnreadable(why=why.format(name), where=Place("", 1, 1))
    return _by(_KNOWN[name], name.upper(), data)


def _by(codec: str, name: str, data: bytes) -> str:
    try:
        return data.decode(codec)
    except UnicodeDecodeError as broken:
        before = data[: broken.start]
        line, column = before.count(b"\n") + 1, broken.start - before.rfind(b"\n")
        raise DocumentUnreadable(why=f"it is not {name}", where=Place("", line, column)) from None


def _refuse(why: str, text: str, at: int) -> NoReturn:
    before = text[:at]
    raise DocumentUnreadable(why=why, where=Place("", before.count("\n") + 1, at - before.rfind("\n")))
