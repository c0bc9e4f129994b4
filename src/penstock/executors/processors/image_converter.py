"""ImageConverter: the same picture in another format."""

from __future__ import annotations

from penstock.executors.processors.contract import Output, ProcessorContext, ProcessorError
from penstock.executors.processors.images import WRITTEN, chosen_format, mime_warnings, open_image, saved, upright


def run(context: ProcessorContext) -> Output:
    """config: format, quality."""
    if "format" not in context.config:
        raise ProcessorError("CONFIG_INVALID", f"«format» must be one of {', '.join(WRITTEN)}")
    with open_image(context) as image:
        warned = mime_warnings(image, context)
        return saved(upright(image), chosen_format(context, image.format), context, warned)
