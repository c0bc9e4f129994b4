"""Pictures, opened with care: known formats only, and never more pixels than allowed (Pillow, extra `images`)."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

from penstock.executors.processors.contract import (
    Output,
    ProcessorContext,
    ProcessorError,
    bad_file,
    beyond_limit,
    missing_extra,
)

if TYPE_CHECKING:
    from PIL import Image

MAX_PIXELS = 100_000_000
#: none that starts a program or follows a reference
READ = ("PNG", "JPEG", "GIF", "WEBP", "BMP", "TIFF")
WRITTEN = {"png": "PNG", "jpeg": "JPEG", "jpg": "JPEG", "webp": "WEBP", "gif": "GIF", "bmp": "BMP", "tiff": "TIFF"}


def open_image(context: ProcessorContext) -> Image.Image:
    """Not decoded yet. Raises ProcessorError."""
    try:
        from PIL import Image
    except ImportError:
        raise missing_extra(context.processor, "images") from None
    most = context.bound("max_pixels", MAX_PIXELS)
    Image.MAX_IMAGE_PIXELS = None  # the limit is ours, below, and refuses before anything is decoded
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            image = Image.open(context.file, formats=READ)
    except MemoryError:
        raise
    except Exception as error:  # whatever a broken file brings about
        raise bad_file(f"the file is no picture that can be read ({type(error).__name__})") from None
    width, height = image.size
    if width * height > most:
        raise beyond_limit(f"the picture has {width} × {height} pixels; at most {most} are decoded")
    return image


def upright(image: Image.Image) -> Image.Image:
    """Decoded, and turned as its camera says. Raises ProcessorError."""
    from PIL import ImageOps

    try:
        image.load()
        return ImageOps.exif_transpose(image)
    except MemoryError:
        raise
    except Exception as error:
        raise bad_file(f"the picture is broken ({type(error).__name__})") from None


def mime_warnings(image: Image.Image, context: ProcessorContext) -> list[str]:
    from PIL import Image

    is_a = Image.MIME.get(image.format or "", "")
    said = context.mime.partition(";")[0].strip().lower()
    if said and is_a and said not in (is_a, "application/octet-stream"):
        return [f"the file is {is_a}, although it was announced as {said}"]
    return []


def chosen_format(context: ProcessorContext, image_format: str | None) -> str:
    asked = context.config.get("format")
    if asked is None:
        return image_format if image_format and image_format in WRITTEN.values() else "PNG"
    if not isinstance(asked, str) or asked.lower() not in WRITTEN:
        raise ProcessorError("CONFIG_INVALID", f"«format» must be one of {', '.join(WRITTEN)}")
    return WRITTEN[asked.lower()]


def saved(image: Image.Image, format: str, context: ProcessorContext, warned: list[str]) -> Output:
    """The picture as the stage's file. What it knew about its camera and place stays behind."""
    from PIL import Image

    more: dict[str, Any] = {}
    if format in ("JPEG", "WEBP"):
        more["quality"] = context.number("quality", 85, 1, 100)
    if (
        format == "JPEG"
        and image.mode not in ("RGB", "L", "CMYK")
        or format == "BMP"
        and image.mode not in ("RGB", "L", "P", "1")
    ):
        image = _on_white(image)
    made = context.new_file({"JPEG": "jpg", "TIFF": "tif"}.get(format, format.lower()))
    image.save(made, format, **more)
    width, height = image.size
    output = {"width": width, "height": height, "format": format, "size": made.stat().st_size}
    return Output(output=output, file=made, mime=Image.MIME[format], warnings=warned)


def _on_white(image: Image.Image) -> Image.Image:
    from PIL import Image

    if image.mode in ("RGBA", "LA", "PA") or "transparency" in image.info:
        clear = image.convert("RGBA")
        white = Image.new("RGB", image.size, "white")
        white.paste(clear, mask=clear.getchannel("A"))
        return white
    return image.convert("RGB")
