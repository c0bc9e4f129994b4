"""The picture of a net as coloured text, for a terminal."""

from __future__ import annotations

from rich.text import Text

from penstock.app.drawing.authored_net import authored_net
from penstock.cli.output import TONES
from penstock.net.draw.marks import Marks
from penstock.net.draw.terminal import TextLine, terminal
from penstock.net.model import Net

_STYLES: dict[str, str] = {
    **{str(tone): style for tone, style in TONES.items()},
    "token": "bold bright_yellow", "label": "cyan", "lane": "bright_black", "title": "bold", "dim": "bright_black",
}  # fmt: skip


def drawing(net: Net, marks: Marks | None = None, *, indent: int = 0) -> Text:
    """The net as coloured text."""
    return Text("\n").join(coloured(line, indent) for line in terminal(authored_net(net), marks))


def coloured(line: TextLine, indent: int) -> Text:
    text = Text(" " * indent + line.text, no_wrap=True, overflow="ellipsis")
    for span in line.spans:
        text.stylize(_STYLES.get(span.style, ""), indent + span.start, indent + span.end)
    return text
