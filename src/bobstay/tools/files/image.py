"""Validates images and scales them to the limits and formats every provider accepts."""

from base64 import b64encode
from io import BytesIO
from typing import TYPE_CHECKING

from msgspec import Struct

from bobstay.tools.base import ToolError

if TYPE_CHECKING:
    from PIL.Image import Image as PillowImage

MAX_BASE64 = 700_000
"""Characters of base64, so that a frame stays under a mebibyte."""
MAX_SIDE = 1568
_MAX_PIXELS = 50_000_000
_TYPES = {"PNG": "image/png", "JPEG": "image/jpeg", "GIF": "image/gif", "WEBP": "image/webp"}


class FittedImage(Struct, frozen=True):
    media_type: str
    data: str
    """Base64."""
    width: int
    height: int
    original_width: int
    original_height: int


def shrink(raw: bytes, budget: int = MAX_BASE64) -> FittedImage:
    """Return the image in `raw`, scaled down and re-encoded as far as the limits require.

    It is decoded completely, because a broken image would make every later request fail.

    Raises:
        ToolError: it cannot be decoded, or has too many pixels.
    """
    from PIL import Image, UnidentifiedImageError

    Image.MAX_IMAGE_PIXELS = None  # replaced by our own limit below; theirs warns on stderr
    try:
        with Image.open(BytesIO(raw), formats=tuple(_TYPES)) as image:
            original, kind = image.size, image.format or ""
            if max(original) > MAX_SIDE:
                image.draft("RGB", (MAX_SIDE, MAX_SIDE))
            if image.width * image.height > _MAX_PIXELS:
                raise ToolError(
                    f"The image has {original[0]} x {original[1]} pixels, too many to open. "
                    "Make a smaller copy with a shell tool and read that."
                )
            image.load()
            animated = getattr(image, "is_animated", False)  # some providers refuse it: show the first frame
            if not animated and max(original) <= MAX_SIDE and len(raw) * 4 / 3 + 4 <= budget:
                return FittedImage(_TYPES[kind], b64encode(raw).decode(), *original, *original)
            return fit_image(_normalise(image), original, budget)
    except (UnidentifiedImageError, OSError, ValueError, SyntaxError, EOFError, IndexError) as error:
        raise ToolError(f"The image cannot be shown, its data is broken or of an unknown kind ({error}).") from None


def fit_image(image: "PillowImage", original: tuple[int, int], budget: int) -> FittedImage:
    """Scale and encode `image` until it takes at most `budget` characters of base64."""
    image.thumbnail((MAX_SIDE, MAX_SIDE))
    most = budget * 3 // 4 - 4
    transparent = image.mode in ("RGBA", "LA", "PA") or "transparency" in image.info
    for _ in range(12):
        for kind, quality in (("PNG", 0), ("JPEG", 85), ("JPEG", 60)):
            data = _encode(image, kind, quality, transparent)
            if len(data) <= most:
                return FittedImage(_TYPES[kind], b64encode(data).decode(), *image.size, *original)
        image = image.resize((max(image.width * 3 // 4, 1), max(image.height * 3 // 4, 1)))
    raise ToolError("The image cannot be made small enough to be shown.")


def _normalise(image: "PillowImage") -> "PillowImage":
    from PIL import ImageOps

    rotated = ImageOps.exif_transpose(image)
    if rotated.mode in ("P", "PA", "LA", "I", "I;16", "F", "CMYK", "YCbCr", "LAB", "HSV"):
        rotated = rotated.convert("RGBA" if rotated.mode in ("P", "PA", "LA") else "RGB")
    return rotated


def _encode(image: "PillowImage", kind: str, quality: int, transparent: bool) -> bytes:
    from PIL import Image

    out = BytesIO()
    if kind == "PNG":
        image.save(out, "PNG")
        return out.getvalue()
    if transparent:
        image = image.convert("RGBA")
        background = Image.new("RGB", image.size, "white")
        background.paste(image, mask=image.getchannel("A"))
        image = background
    image.convert("RGB").save(out, "JPEG", quality=quality)
    return out.getvalue()
