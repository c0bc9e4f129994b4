"""ImageThumbnail: the picture, small enough for a box, its proportions kept; never made larger."""

from __future__ import annotations

from penstock.executors.processors.contract import Output, ProcessorContext, bad_file
from penstock.executors.processors.images import chosen_format, mime_warnings, open_image, saved, upright

_USUAL, _MOST = 256, 8192


def run(context: ProcessorContext) -> Output:
    """config: size, or width and height; format, quality."""
    size = context.number("size", _USUAL, 1, _MOST)
    box = (context.number("width", size, 1, _MOST), context.number("height", size, 1, _MOST))
    with open_image(context) as image:
        warned = mime_warnings(image, context)
        format = chosen_format(context, image.format)
        try:
            image.draft("RGB", (box[0] * 2, box[1] * 2))  # a JPEG is decoded no larger than is needed
        except (OSError, ValueError, SyntaxError):
            raise bad_file("the picture is broken") from None
        small = upright(image)
        small.thumbnail(box)
        return saved(small, format, context, warned)
