"""PDF files as a test needs them, object by object."""

from __future__ import annotations

from collections.abc import Sequence


def stream(body: bytes, more: str = "") -> bytes:
    return b"<< /Length %d %b >>\nstream\n%b\nendstream" % (len(body), more.encode(), body)


def of_objects(objects: Sequence[bytes], trailer: str = "") -> bytes:
    """Numbered from 1; the first is the catalog."""
    out, places = bytearray(b"%PDF-1.7\n"), list[int]()
    for number, body in enumerate(objects, 1):
        places.append(len(out))
        out += b"%d 0 obj\n%b\nendobj\n" % (number, body)
    start = len(out)
    out += b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1)
    out += b"".join(b"%010d 00000 n \n" % place for place in places)
    out += b"trailer\n<< /Size %d /Root 1 0 R %b >>\n" % (len(objects) + 1, trailer.encode())
    return bytes(out + b"startxref\n%d\n%%%%EOF\n" % start)


def of_lines(lines: Sequence[str], content: bytes | None = None, more: str = "", trailer: str = "") -> bytes:
    """One page; every letter has a code of its own, and a table says which letter it is."""
    letters = sorted({one for line in lines for one in line})
    code = {one: f"{number:04x}" for number, one in enumerate(letters, 1)}
    shown = "".join(f"<{''.join(code[one] for one in line)}> Tj 0 -20 Td\n" for line in lines)
    table = "".join(f"<{code[one]}> <{one.encode('utf-16-be').hex()}>\n" for one in letters)
    cmap = (
        "/CIDInit /ProcSet findresource begin 12 dict begin begincmap /CMapName /T def /CMapType 2 def\n"
        "1 begincodespacerange <0000> <ffff> endcodespacerange\n"
        f"{len(letters)} beginbfchar\n{table}endbfchar endcmap end end"
    )
    page = f"BT /F 12 Tf 50 700 Td\n{shown}ET".encode()
    return of_objects(
        [
            b"<< /Type /Catalog /Pages 2 0 R >>",
            b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
            b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents 4 0 R /Resources %b >>"
            % b"<< /Font << /F 5 0 R >> >>",
            stream(page if content is None else content, more),
            b"<< /Type /Font /Subtype /Type0 /Encoding /Identity-H /DescendantFonts [6 0 R] /ToUnicode 7 0 R >>",
            b"<< /Type /Font /Subtype /CIDFontType2 /BaseFont /T >>",
            stream(cmap.encode()),
        ],
        trailer,
    )
