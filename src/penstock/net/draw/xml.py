"""Elements of an SVG as text: attributes are escaped and numbers kept short, so no call can forget it."""

from __future__ import annotations

from html import escape

Attribute = str | float | None


def tag(name: str, *inside: str, **attributes: Attribute) -> str:
    """`stroke_width` becomes stroke-width; what is None or empty is left out; `inside` is markup already."""
    written = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{_value(value)}"'
        for key, value in attributes.items()
        if value is not None and value != ""
    )
    return f"<{name}{written}>{''.join(inside)}</{name}>" if inside else f"<{name}{written}/>"


def document(width: float, height: float, name: str, font: str, parts: list[str], **more: Attribute) -> str:
    """A whole picture with its name for those who cannot see it."""
    inside = [tag("title", text(name)), *parts]
    return (
        tag(
            "svg",
            "\n",
            *(f"{part}\n" for part in inside),
            xmlns="http://www.w3.org/2000/svg",
            width=width,
            height=height,
            viewBox=path(0, 0, width, height),
            role="img",
            aria_label=name,
            font_family=font,
            **more,
        )
        + "\n"
    )


def text(words: str) -> str:
    return escape(words)


def number(value: float) -> str:
    """At most two places, and none that say nothing."""
    short = f"{value:.2f}".rstrip("0").rstrip(".")
    return "0" if short in ("-0", "") else short


def path(*parts: str | float) -> str:
    """The data of a path: letters as they are, numbers short."""
    words = [part if isinstance(part, str) else number(part) for part in parts]
    return " ".join(words).strip()


def _value(value: str | float) -> str:
    return number(value) if isinstance(value, (int, float)) else escape(value)
