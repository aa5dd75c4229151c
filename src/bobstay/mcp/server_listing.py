"""Lists of one MCP server: its tools, resources, prompts and skills, read page by page."""

from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import msgspec
from msgspec import Struct

from bobstay.mcp.clean_text import clean_line, clean_text
from bobstay.mcp.failure_text import describe_failure
from bobstay.mcp.skill_listing import ListedSkill, fetch_skills

if TYPE_CHECKING:
    from mcp.client.client import Client

_MAX_PAGES = 100
_MAX_LISTED = 5_000
MAX_DESCRIPTION = 2_048
"""Characters of a tool's description that the model reads."""
ListKind: TypeAlias = Literal["tools", "resources", "prompts", "skills"]
LIST_KINDS: tuple[ListKind, ...] = ("tools", "resources", "prompts", "skills")


class ListedTool(Struct, frozen=True):
    name: str
    """As the server calls it."""
    description: str
    schema: dict[str, Any]
    title: str = ""
    annotations: dict[str, bool] = {}
    """What the server claims, such as `readOnly`; shown, never trusted."""
    always_load: bool = False
    hint: str = ""


class ListedResource(Struct, frozen=True):
    uri: str
    name: str
    description: str = ""
    mime_type: str = ""
    is_template: bool = False


class PromptArgument(Struct, frozen=True):
    name: str
    description: str = ""
    required: bool = False


class ListedPrompt(Struct, frozen=True):
    name: str
    """As the server calls it."""
    description: str = ""
    arguments: tuple[PromptArgument, ...] = ()


class ServerListing(Struct, frozen=True):
    tools: tuple[ListedTool, ...] = ()
    resources: tuple[ListedResource, ...] = ()
    prompts: tuple[ListedPrompt, ...] = ()
    skills: tuple[ListedSkill, ...] = ()


async def fetch_lists(
    client: "Client", kinds: tuple[ListKind, ...], before: ServerListing, note: Callable[[str], None]
) -> ServerListing:
    """Read lists of a server. One that cannot be read stays as it was before, and `note` is told why."""
    fetchers: dict[ListKind, Callable[[Client], Awaitable[Any]]] = {
        "tools": _fetch_tools,
        "resources": _fetch_resources,
        "prompts": _fetch_prompts,
        "skills": fetch_skills,
    }
    found: dict[str, Any] = {}
    for kind in kinds:
        try:
            found[kind] = await fetchers[kind](client)
        except Exception as error:  # noqa: BLE001 - a broken list is no reason to lose the others
            note(f"its {kind} could not be listed: {describe_failure(error)}")
    return msgspec.structs.replace(before, **found)


async def _fetch_tools(client: "Client") -> tuple[ListedTool, ...]:
    if client.server_capabilities.tools is None:
        return ()
    return tuple(_to_tool(tool) for tool in await _fetch_pages(client.list_tools, "tools"))


async def _fetch_resources(client: "Client") -> tuple[ListedResource, ...]:
    if client.server_capabilities.resources is None:
        return ()
    found = [_to_resource(each.uri, each) for each in await _fetch_pages(client.list_resources, "resources")]
    try:
        templates = await _fetch_pages(client.list_resource_templates, "resource_templates")
    except Exception:  # noqa: BLE001 - many servers with resources do not know this method
        templates = []
    return (*found, *(_to_resource(each.uri_template, each, is_template=True) for each in templates))


async def _fetch_prompts(client: "Client") -> tuple[ListedPrompt, ...]:
    if client.server_capabilities.prompts is None:
        return ()
    return tuple(_to_prompt(prompt) for prompt in await _fetch_pages(client.list_prompts, "prompts"))


async def listen_for_changes(client: "Client") -> None:
    """Subscribe to changes of the lists, which servers of the newest protocol only tell those who do.

    They arrive as notifications, like those of other servers; this ends when the server ends it.
    """
    with suppress(Exception):
        async with client.listen(
            tools_list_changed=True, prompts_list_changed=True, resources_list_changed=True
        ) as subscription:
            async for _ in subscription:
                pass


async def _fetch_pages(fetch: Callable[..., Awaitable[Any]], field: str) -> list[Any]:
    """Read all pages; a server that gives one cursor twice, or ever more pages, is cut short."""
    entries: list[Any] = []
    cursor: str | None = None
    seen: set[str | None] = set()
    while cursor not in seen and len(seen) < _MAX_PAGES and len(entries) < _MAX_LISTED:
        seen.add(cursor)
        page = await fetch(cursor=cursor)
        entries.extend(getattr(page, field))
        cursor = page.next_cursor
        if cursor is None:
            break
    return entries[:_MAX_LISTED]


def _to_tool(tool: Any) -> ListedTool:
    meta = tool.meta or {}
    hint = meta.get("anthropic/searchHint")
    annotations: dict[str, bool] = {}
    title = tool.title or ""
    if tool.annotations is not None:
        title = title or tool.annotations.title or ""
        hints = {
            "readOnly": tool.annotations.read_only_hint,
            "destructive": tool.annotations.destructive_hint,
            "idempotent": tool.annotations.idempotent_hint,
            "openWorld": tool.annotations.open_world_hint,
        }
        annotations = {name: value for name, value in hints.items() if value is not None}
    return ListedTool(
        name=tool.name,
        description=clean_text(tool.description or title or tool.name, MAX_DESCRIPTION),
        schema=tool.input_schema,
        title=clean_line(title, 200),
        annotations=annotations,
        always_load=meta.get("anthropic/alwaysLoad") is True,
        hint=clean_line(hint, 200) if isinstance(hint, str) else "",
    )


def _to_resource(uri: str, each: Any, *, is_template: bool = False) -> ListedResource:
    return ListedResource(
        uri=uri,
        name=clean_line(each.title or each.name, 200),
        description=clean_text(each.description or "", 500),
        mime_type=clean_line(each.mime_type or "", 100),
        is_template=is_template,
    )


def _to_prompt(prompt: Any) -> ListedPrompt:
    arguments = tuple(
        PromptArgument(each.name, clean_line(each.description or "", 300), bool(each.required))
        for each in prompt.arguments or ()
    )
    return ListedPrompt(prompt.name, clean_line(prompt.description or prompt.title or "", 500), arguments)
