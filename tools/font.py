"""The font of charts and reports: NanumGothic of Debian's fonts-nanum, cut down and renamed.

`python -m tools.font DIR`: DIR holds NanumGothic.ttf and NanumGothicBold.ttf. Hanja and hinting go, all 11,172 Hangul
syllables stay: 1.5 MB in place of 4.7 MB each. The Open Font License reserves the name Nanum for the unchanged fonts,
so the cut ones have another.
"""

from __future__ import annotations

import sys
from pathlib import Path

from fontTools import subset
from fontTools.ttLib import TTFont

OUT = Path(__file__).resolve().parent.parent / "src/penstock/fonts"
FAMILY = "Penstock Sans KR"
CUTS = (("NanumGothic.ttf", "PenstockSansKR-Regular.ttf", "Regular"),
        ("NanumGothicBold.ttf", "PenstockSansKR-Bold.ttf", "Bold"))  # fmt: skip
#: Ranges of CJK ideographs, first and last.
HANJA = ((0x3400, 0x4DBF), (0x4E00, 0x9FFF), (0xF900, 0xFAFF))


def cut(source: Path, target: Path, style: str) -> None:
    """Writes the font without Hanja and hinting, under its new name."""
    font = TTFont(source)
    kept = [code for code in font.getBestCmap() if not any(first <= code <= last for first, last in HANJA)]
    options = subset.Options(hinting=False, notdef_outline=True, name_IDs=["*"], layout_features=["*"])
    cutter = subset.Subsetter(options)
    cutter.populate(unicodes=kept)
    cutter.subset(font)
    rename(font, style)
    font["OS/2"].usWeightClass = 700 if style == "Bold" else 400
    font.save(target)


def rename(font: TTFont, style: str) -> None:
    """The names of the font: copyright and licence of the original, its own family."""
    table = font["name"]
    copyright, licence = table.getDebugName(0) or "", "SIL Open Font License 1.1, see OFL.txt"
    full = FAMILY if style == "Regular" else f"{FAMILY} {style}"
    names = {0: copyright, 1: FAMILY, 2: style, 3: f"{full} cut", 4: full, 5: "Version 1.000", 13: licence,
             6: f"{FAMILY.replace(' ', '')}-{style}", 14: "https://openfontlicense.org"}  # fmt: skip
    table.names = []
    for number, text in names.items():
        table.setName(text, number, 3, 1, 0x409)


if __name__ == "__main__":
    for name, out, style in CUTS:
        cut(Path(sys.argv[1]) / name, OUT / out, style)
