"""Skills that an MCP server offers (extension `io.modelcontextprotocol/skills`, SEP-2640): lists them."""

from typing import TYPE_CHECKING, Any

from msgspec import Struct
from msgspec.structs import replace

from bobstay.mcp.clean_text import clean_line

if TYPE_CHECKING:
    from mcp.client.client import Client

EXTENSION = "io.modelcontextprotocol/skills"
_MAX_PAGES = 100
_MAX_SKILLS = 500
MAX_FILES = 512
MAX_BYTES = 16 << 20
"""Limits of one skill, as the extension has them."""
_FILE = "/SKILL.md"


class SkillFile(Struct, frozen=True):
    uri: str
    digest: str
    size: int


class ListedSkill(Struct, frozen=True):
    name: str
    """Within its server: the name in its front matter, or its path if two have that name."""
    uri: str
    """Of its SKILL.md."""
    title: str
    """The name as its front matter has it."""
    description: str
    fields: tuple[str, ...]
    """Names of all fields of its front matter."""
    files: tuple[SkillFile, ...] | None
    """All of its files; None if the server makes them as they are read, so that they cannot be verified."""

    @property
    def root(self) -> str:
        """What the addresses of its files begin with."""
        return self.uri.removesuffix(_FILE)


async def fetch_skills(client: "Client") -> tuple[ListedSkill, ...]:
    """Read the skills of a server that offers some; what is no skill is left out."""
    if EXTENSION not in (client.server_capabilities.extensions or {}):
        return ()
    found: dict[str, ListedSkill] = {}
    params: dict[str, Any] = {}
    for _ in range(_MAX_PAGES):
        page = await _request(client, "skills/list", params)
        entries = page.get("skills")
        for entry in entries if isinstance(entries, list) else ():
            skill = parse_skill(entry)
            if skill is not None and len(found) < _MAX_SKILLS:
                found.setdefault(skill.uri, skill)
        cursor = page.get("nextCursor")
        if not isinstance(cursor, str) or params.get("cursor") == cursor:
            break
        params = {"cursor": cursor}
    return tuple(sorted(_with_own_names(list(found.values())), key=lambda skill: skill.name))


async def fetch_skill(client: "Client", uri: str) -> ListedSkill | None:
    """Read the entry of one skill as it is now."""
    return parse_skill((await _request(client, "skills/get", {"uri": uri})).get("skill"))


def parse_skill(entry: Any) -> ListedSkill | None:
    """Parse an entry of a list; None if no skill can be made of it."""
    if not isinstance(entry, dict) or not isinstance(entry.get("frontmatter"), dict):
        return None
    uri, matter, resources = entry.get("uri"), entry["frontmatter"], entry.get("resources")
    name, description = matter.get("name"), matter.get("description")
    if not isinstance(name, str) or not isinstance(description, str) or not isinstance(uri, str):
        return None
    if not uri.endswith(f"/{name}{_FILE}") or clean_line(name, 64) != name or not name or len(uri) > 2_000:
        return None
    files = None if resources == "dynamic" else _parse_files(resources)
    if files is not None and uri not in {file.uri for file in files}:
        return None
    fields = tuple(sorted(key for key in matter if isinstance(key, str)))
    return ListedSkill(name, uri, name, clean_line(description, 1_024), fields, files)


def _parse_files(resources: Any) -> tuple[SkillFile, ...]:
    """The files of a skill; none if one of them makes no sense, or they are too many or too large."""
    found: list[SkillFile] = []
    for each in resources if isinstance(resources, list) else ():
        given = each if isinstance(each, dict) else {}
        uri, digest, size = given.get("uri"), given.get("digest"), given.get("size")
        if not isinstance(uri, str) or not isinstance(digest, str) or not isinstance(size, int):
            return ()
        found.append(SkillFile(uri, digest, size))
    return tuple(found) if len(found) <= MAX_FILES and sum(file.size for file in found) <= MAX_BYTES else ()


def _with_own_names(skills: list[ListedSkill]) -> list[ListedSkill]:
    """Give skills that share a name their paths instead."""
    counts: dict[str, int] = {}
    for skill in skills:
        counts[skill.name] = counts.get(skill.name, 0) + 1
    return [
        skill if counts[skill.name] == 1 else replace(skill, name=clean_line(skill.root.partition("://")[2], 200))
        for skill in skills
    ]


async def _request(client: "Client", method: str, params: dict[str, Any]) -> dict[str, Any]:
    from mcp.types import Request
    from pydantic import TypeAdapter

    request = Request[dict[str, Any], str](method=method, params=params)
    plain: Any = TypeAdapter(dict[str, Any])  # the SDK knows no model of this result
    result: dict[str, Any] = await client.session.send_request(request, plain)
    return result
