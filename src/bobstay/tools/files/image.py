"""Makes an image fit to be sent to a model: whole, not too large, in a format every provider takes."""

from base64 import b64encode
from io import BytesIO
from typing import TYPE_CHECKING

from msgspec import Struct

from bobstay.tools.base import ToolError

if TYPE_CHECKING:
    from PIL.Image import Image as Picture

BUDGET = 700_000
"""Characters of base64; with the rest of its frame it stays under a mebibyte."""
LONGEST_SIDE = 1568
_MOST_PIXELS = 50_000_000
_TYPES = {"PNG": "image/png", "JPEG": "image/jpeg", "GIF": "image/gif", "WEBP": "image/webp"}


class Shrunk(Struct, frozen=True):
    media_type: str
    data: str
    """Base64."""
    width: int
    height: int
    original_width: int
    original_height: int


def shrink(raw: bytes, budget: int = BUDGET) -> Shrunk:
    """Return the image in `raw`, scaled down and re-encoded as far as the limits need.

    It is decoded in full, because a broken image would make every later request fail.

    Raises:
        ToolError: it cannot be decoded, or has too many pixels.
    """
    from PIL import Image, UnidentifiedImageError

    Image.MAX_IMAGE_PIXELS = None  # our own limit stands below; theirs warns on standard error
    try:
        with Image.open(BytesIO(raw), formats=tuple(_TYPES)) as picture:
            original, kind = picture.size, picture.format or ""
            if max(original) > LONGEST_SIDE:
                picture.draft("RGB", (LONGEST_SIDE, LONGEST_SIDE))
            if picture.width * picture.height > _MOST_PIXELS:
                raise ToolError(
                    f"The image has {original[0]} x {original[1]} pixels, too many to open. "
                    "Make a smaller copy with a shell tool and read that."
                )
            picture.load()
            moving = getattr(picture, "is_animated", False)  # which some providers refuse: the first frame is shown
            if not moving and max(original) <= LONGEST_SIDE and len(raw) * 4 / 3 + 4 <= budget:
                return Shrunk(_TYPES[kind], b64encode(raw).decode(), *original, *original)
            return fitted(_upright(picture), original, budget)
    except (UnidentifiedImageError, OSError, ValueError, SyntaxError, EOFError, IndexError) as error:
        raise ToolError(f"The image cannot be shown, its data is broken or of an unknown kind ({error}).") from None


def fitted(picture: "Picture", original: tuple[int, int], budget: int) -> Shrunk:
    """Scale and encode `picture` until it takes at most `budget` characters of base64."""
    picture.thumbnail((LONGEST_SIDE, LONGEST_SIDE))
    most = budget * 3 // 4 - 4
    transparent = picture.mode in ("RGBA", "LA", "PA") or "transparency" in picture.info
    for _ in range(12):
        for kind, quality in (("PNG", 0), ("JPEG", 85), ("JPEG", 60)):
            data = _encoded(picture, kind, quality, transparent)
            if len(data) <= most:
                return Shrunk(_TYPES[kind], b64encode(data).decode(), *picture.size, *original)
        picture = picture.resize((max(picture.width * 3 // 4, 1), max(picture.height * 3 // 4, 1)))
    raise ToolError("The image cannot be made small enough to be shown.")


def _upright(picture: "Picture") -> "Picture":
    from PIL import ImageOps

    turned = ImageOps.exif_transpose(picture)
    if turned.mode in ("P", "PA", "LA", "I", "I;16", "F", "CMYK", "YCbCr", "LAB", "HSV"):
        turned = turned.convert("RGBA" if turned.mode in ("P", "PA", "LA") else "RGB")
    return turned


def _encoded(picture: "Picture", kind: str, quality: int, transparent: bool) -> bytes:
    from PIL import Image

    out = BytesIO()
    if kind == "PNG":
        picture.save(out, "PNG")
        return out.getvalue()
    if transparent:
        picture = picture.convert("RGBA")
        ground = Image.new("RGB", picture.size, "white")
        ground.paste(picture, mask=picture.getchannel("A"))
        picture = ground
    picture.convert("RGB").save(out, "JPEG", quality=quality)
    return out.getvalue()
