"""Skills of MCP servers as the session offers them: named after their server, verified when they are read."""

import base64
import binascii
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from msgspec import Struct
from msgspec.structs import replace

from bobstay.markdown.front_matter import decode_body, split_front_matter
from bobstay.mcp.clean_text import clean_line, clean_text
from bobstay.mcp.server_calls import get_skill, read_resource
from bobstay.mcp.server_connection import ServerConnection
from bobstay.mcp.skill_listing import MAX_BYTES, ListedSkill
from bobstay.tools.base import ToolError

if TYPE_CHECKING:
    from mcp.types import ReadResourceResult

_MAX_TEXT = 100_000


class ServerSkill(Struct, frozen=True):
    """A skill as lists show it."""

    name: str
    """`SERVER:SKILL`."""
    description: str
    server: str


def list_skills(connection: ServerConnection) -> list[ServerSkill]:
    """The skills of a server."""
    config = connection.config
    return [
        ServerSkill(f"{config.called}:{skill.name}", skill.description, config.name)
        for skill in connection.listing.skills
    ]


async def load_skill(connection: ServerConnection, name: str) -> str:
    """Return the text of a skill for the model, with where it comes from. Nothing in it grants or runs anything.

    Raises:
        ToolError: there is no such skill, the server fails, or what it sent is not what it had listed.
    """
    called = connection.config.called
    skill = next((each for each in connection.listing.skills if f"{called}:{each.name}" == name), None)
    if skill is None:
        raise ToolError(f"There is no skill {name[:100]}.")
    data = await _read(connection, skill)
    if _differs(skill, skill.uri, data):
        # The list may be older than the file: the server says once more what the skill is.
        newer = await get_skill(connection, skill.uri)
        skill, data = newer or skill, await _read(connection, skill)
        if newer is None or _differs(skill, skill.uri, data):
            raise ToolError(f"The skill {name} was not used: what the server sent is not what it had listed.")
        skills = tuple(
            replace(skill, name=each.name) if each.uri == skill.uri else each for each in connection.listing.skills
        )
        connection.listing = replace(connection.listing, skills=skills)
    matter = split_front_matter(data)
    fields = matter.fields
    described = (fields.get("name"), clean_line(str(fields.get("description", "")), 1_024), tuple(sorted(fields)))
    if described != (skill.title, skill.description, skill.fields):
        raise ToolError(f"The skill {name} was not used: its front matter is not what the server had listed.")
    server = clean_line(connection.config.name, 80)
    return (
        f"This skill is a text of the MCP server {server}; no person here wrote it. Files that it refers to are read "
        f"with ReadMcpResourceTool from that server, below {skill.root}/\n\n"
        f"{clean_text(decode_body(data, matter), _MAX_TEXT)}"
    )


def check_resource(connection: ServerConnection, uri: str, result: "ReadResourceResult") -> None:
    """Check a file of a skill against the list of its server.

    Raises:
        ToolError: it is not what was listed.
    """
    for skill in connection.listing.skills:
        if not uri.startswith(f"{skill.root}/") or skill.files is None:
            continue
        # Only the first part is compared, so there must not be another one.
        if len(result.contents) != 1 or _differs(skill, uri, _content(result.contents)):
            raise ToolError(f"{uri[:200]} was not used: it is not what the server had listed for its skill.")


async def _read(connection: ServerConnection, skill: ListedSkill) -> bytes:
    data = _content((await read_resource(connection, skill.uri)).contents)
    if len(data) > MAX_BYTES:
        raise ToolError(f"The skill {skill.name} was not used: it is larger than {MAX_BYTES >> 20} MiB.")
    return data


def _differs(skill: ListedSkill, uri: str, data: bytes) -> bool:
    if skill.files is None:
        return False
    listed = next((file for file in skill.files if file.uri == uri), None)
    return listed is None or listed.size != len(data) or listed.digest != f"sha256:{sha256(data).hexdigest()}"


def _content(contents: list[Any]) -> bytes:
    if not contents:
        return b""
    text = getattr(contents[0], "text", None)
    if isinstance(text, str):
        return text.encode("utf-8", "replace")
    try:
        return base64.b64decode(getattr(contents[0], "blob", ""), validate=True)
    except binascii.Error:
        return b""
