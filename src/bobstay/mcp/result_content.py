"""Converts content of MCP servers to parts of a reply; what is no text or image is saved to a file."""

from __future__ import annotations

from base64 import b64decode
from binascii import Error as Base64Error
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from bobstay.mcp.clean_text import clean_line
from bobstay.model.message import Image, ReplyPart, Text
from bobstay.tools.base import ToolError
from bobstay.tools.output_limit import save_output

if TYPE_CHECKING:
    from mcp.types import CallToolResult

_MAX_PARTS = 500
_MAX_IMAGES = 20
_MAX_DISPLAY = 100_000
"""Characters of text that people and programs are shown of a result."""
_SUFFIXES = {"image/png": ".png", "image/jpeg": ".jpg", "image/gif": ".gif", "image/webp": ".webp"}


class ContentConverter:
    """Makes the parts of one reply."""

    def __init__(self, spill: Path, stem: str) -> None:
        """`spill` is the folder for what is not shown; the names of files there begin with `stem`."""
        self._spill = spill
        self._stem = stem
        self._images = 0

    def convert_result(self, result: CallToolResult) -> tuple[ReplyPart, ...]:
        parts = self.convert(result.content)
        if not parts and result.structured_content is not None:
            return (Text(_to_json(result.structured_content)),)
        return parts or (Text("(no output)"),)

    def convert(self, blocks: Iterable[Any]) -> tuple[ReplyPart, ...]:
        """Convert content blocks; beyond a number the rest is named, not shown."""
        parts: list[ReplyPart] = []
        for number, block in enumerate(blocks):
            if number >= _MAX_PARTS:
                parts.append(Text(f"[Only the first {_MAX_PARTS} parts of the result are shown.]"))
                break
            parts.extend(self._convert_block(block))
        return tuple(parts)

    def convert_contents(self, contents: Iterable[Any]) -> tuple[ReplyPart, ...]:
        """Convert the contents of a resource."""
        parts: list[ReplyPart] = []
        for content in list(contents)[:_MAX_PARTS]:
            parts.extend(self._convert_resource(content))
        return tuple(parts) or (Text("(the resource is empty)"),)

    def _convert_block(self, block: Any) -> list[ReplyPart]:
        match block.type:
            case "text":
                return [Text(block.text)] if block.text else []
            case "image":
                return self._convert_binary(block.data, block.mime_type, "Image")
            case "audio":
                return self._convert_binary(block.data, block.mime_type, "Audio")
            case "resource":
                return self._convert_resource(block.resource)
            case "resource_link":
                described = f": {clean_line(block.description, 500)}" if block.description else ""
                return [Text(f"[Resource {clean_line(block.name, 200)} ({clean_line(block.uri, 2_000)}){described}]")]
            case _:
                return [Text(f"[Content of the unknown kind {clean_line(str(block.type), 40)!r} was left out.]")]

    def _convert_resource(self, resource: Any) -> list[ReplyPart]:
        uri = clean_line(str(resource.uri), 2_000)
        text = getattr(resource, "text", None)
        if isinstance(text, str):
            return [Text(f"[Resource from {uri}]\n{text}")]
        return self._convert_binary(resource.blob, resource.mime_type or "", f"Resource {uri}")

    def _convert_binary(self, data: str, media_type: str, what: str) -> list[ReplyPart]:
        kind = clean_line(media_type, 100) or "unknown type"
        try:
            raw = b64decode(data, validate=False)
        except (Base64Error, ValueError):
            return [Text(f"[{what}: its data is not valid base64 and was left out.]")]
        saved = self._save(raw, media_type)
        where = f"saved as {saved}" if saved else "it could not be saved"
        note = Text(f"[{what} ({kind}, {len(raw):,} bytes): {where}]")
        if not media_type.startswith("image/"):
            return [note]
        self._images += 1
        if self._images > _MAX_IMAGES:
            return [note]
        from bobstay.tools.files.image import shrink

        try:
            fitted = shrink(raw)
        except ToolError as error:
            return [Text(f"{note.text[:-1]}. {error}]")]
        return [Image(fitted.media_type, fitted.data), note]

    def _save(self, raw: bytes, media_type: str) -> str:
        from mimetypes import guess_extension

        suffix = _SUFFIXES.get(media_type) or guess_extension(media_type) or ".bin"
        try:
            return save_output(raw, self._spill, self._stem, suffix)
        except OSError:
            return ""


def describe_parts(parts: tuple[ReplyPart, ...]) -> list[dict[str, str]] | str:
    """Return what people and programs are shown of a result: its parts, or a short text if it is long."""
    texts = sum(len(part.text) for part in parts if isinstance(part, Text))
    if texts > _MAX_DISPLAY:
        return f"{texts:,} characters"
    return [_describe_part(part) for part in parts]


def _describe_part(part: ReplyPart) -> dict[str, str]:
    if isinstance(part, Text):
        return {"type": "text", "text": part.text}
    return {"type": "image", "mimeType": part.media_type}


def _to_json(value: Any) -> str:
    try:
        return msgspec.json.encode(value).decode()
    except (TypeError, ValueError, RecursionError):
        return str(value)
