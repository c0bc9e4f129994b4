"""ImageResizer: the picture in another size: inside a box, covering it, or stretched to it."""

from __future__ import annotations

from penstock.executors.processors.contract import Output, ProcessorContext, ProcessorError, beyond_limit
from penstock.executors.processors.images import (
    MAX_PIXELS,
    chosen_format,
    mime_warnings,
    open_image,
    saved,
    upright,
)

_MOST = 32_768


def run(context: ProcessorContext) -> Output:
    """config: width and height, or one of them; mode fit (default), cover or stretch; format, quality."""
    if "width" not in context.config and "height" not in context.config:
        raise ProcessorError("CONFIG_INVALID", "«width» or «height» must be given")
    mode = context.text("mode", "fit", ("fit", "cover", "stretch"))
    with open_image(context) as image:
        warned = mime_warnings(image, context)
        format = chosen_format(context, image.format)
        whole = upright(image)
        width, height = _box(context, whole.size)
        if width * height > context.bound("max_pixels", MAX_PIXELS):
            raise beyond_limit(f"{width} × {height} pixels are more than a picture may have")
        if whole.mode in ("P", "1"):
            whole = whole.convert("RGBA" if "transparency" in whole.info else "RGB")
        if mode == "cover":
            from PIL import ImageOps

            return saved(ImageOps.fit(whole, (width, height)), format, context, warned)
        if mode == "fit" and "width" in context.config and "height" in context.config:
            scale = min(width / whole.width, height / whole.height)
            width, height = max(1, round(whole.width * scale)), max(1, round(whole.height * scale))
        return saved(whole.resize((width, height)), format, context, warned)


def _box(context: ProcessorContext, size: tuple[int, int]) -> tuple[int, int]:
    """What is not given follows from the proportions."""
    if "height" not in context.config:
        width = context.number("width", 1, 1, _MOST)
        return width, max(1, round(size[1] * width / size[0]))
    height = context.number("height", 1, 1, _MOST)
    if "width" not in context.config:
        return max(1, round(size[0] * height / size[1])), height
    return context.number("width", 1, 1, _MOST), height
