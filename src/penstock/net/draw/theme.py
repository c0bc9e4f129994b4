"""The console's colours, light and dark. A mark is for shapes, an ink for text, a tint for grounds."""

from __future__ import annotations

from typing import Literal, NamedTuple

from penstock.net.draw.marks import Tone

ThemeName = Literal["light", "dark"]

FONT = "Pretendard,'Apple SD Gothic Neo','Noto Sans KR','Noto Sans CJK KR',Inter,system-ui,sans-serif"
MONO = "'JetBrains Mono','D2Coding',ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono',monospace"


class Ink(NamedTuple):
    mark: str
    ink: str
    tint: str


class Theme(NamedTuple):
    bg: str
    surface: str
    sunken: str
    line: str
    line2: str
    text: str
    text2: str
    text3: str
    accent: str
    on_accent: str
    on_mark: str
    dot: str
    tones: dict[Tone, Ink]


#: of the light theme, and of the dark one
_TONES: dict[Tone, tuple[Ink, Ink]] = {
    "idle": (Ink("#82909C", "#5A6872", "#EEF1F3"), Ink("#A3AFB7", "#A3AFB7", "#1E292F")),
    "moving": (Ink("#1B6FDB", "#0B5CAD", "#E6F0FB"), Ink("#4F8DFF", "#7FB2FF", "#13263F")),
    "held": (Ink("#C47D10", "#8A5A00", "#FFF4DC"), Ink("#F6B02C", "#F6BC4F", "#32270D")),
    "failed": (Ink("#A5140F", "#A5140F", "#FDEBE8"), Ink("#F0492C", "#FF8A75", "#3A1A15")),
    "done": (Ink("#1F7358", "#0F6349", "#E2F4ED"), Ink("#8FEFCB", "#7FE3BE", "#10302A")),
    "undone": (Ink("#561766", "#561766", "#F5EAF7"), Ink("#B065A6", "#E0A3D8", "#331D33")),
}


def _tones(column: int) -> dict[Tone, Ink]:
    return {tone: inks[column] for tone, inks in _TONES.items()}


THEMES: dict[ThemeName, Theme] = {
    "light": Theme(
        bg="#F6F8F9", surface="#FFFFFF", sunken="#EEF2F4", line="#DDE4E8", line2="#7A8993",
        text="#10202A", text2="#4A5B66", text3="#586974", accent="#0B6A86",
        on_accent="#FFFFFF", on_mark="#FFFFFF", dot="#D3DBE0", tones=_tones(0),
    ),
    "dark": Theme(
        bg="#0D1418", surface="#141D22", sunken="#0F171B", line="#263238", line2="#6B7C87",
        text="#E8EFF2", text2="#A9B7BF", text3="#8A9AA4", accent="#4CC3E0",
        on_accent="#06222B", on_mark="#0B1317", dot="#223037", tones=_tones(1),
    ),
}  # fmt: skip
