"""Refusals of the Anthropic Messages API about deferred tools and references to them.

Looked up on 2026-11-17: platform.claude.com/docs/en/agents-and-tools/tool-use/tool-search-tool (no beta, Claude 4 and
later; each reference needs a deferred tool in `tools`; not all tools may be deferred) and tool-use-with-prompt-caching;
the messages as people quote them in anthropics/claude-code#30920, #81863 and #86743. On Bedrock and Vertex AI the
beta `tool-search-tool-2025-10-19` is needed.
"""

from collections.abc import Iterator
from typing import Any

CLOUD_BETA = "tool-search-tool-2025-10-19"


def deferral_complaints(body: dict[str, Any], *, known: bool) -> Iterator[str]:
    """Yield what is wrong with deferred tools and references; `known`: the model knows them."""
    tools = body.get("tools") or []
    deferred = [tool for tool in tools if tool.get("defer_loading")]
    for place, tool in enumerate(tools):
        if tool.get("defer_loading") and not known:
            yield f"tools.{place}.custom.defer_loading: Extra inputs are not permitted"
        if tool.get("defer_loading") and "cache_control" in tool:
            yield (
                f"Tool '{tool['name']}' cannot have both defer_loading=true and cache_control set. Tools with "
                "defer_loading cannot use prompt caching."
            )
    if deferred and len(deferred) == len(tools):
        yield "All tools have defer_loading set. At least one tool must be non-deferred."
    names = {tool["name"] for tool in deferred}
    for place, message in enumerate(body.get("messages") or []):
        content = message.get("content")
        for index, block in enumerate(content if isinstance(content, list) else []):
            if block["type"] == "tool_reference":
                yield f"messages.{place}.content.{index}: Input tag 'tool_reference' does not match any expected tag"
            if block["type"] == "tool_result" and isinstance(block.get("content"), list):
                yield from _references(block["content"], names)


def _references(content: list[dict[str, Any]], names: set[str]) -> Iterator[str]:
    references = [part for part in content if part["type"] == "tool_reference"]
    if references and len(references) < len(content):
        yield "Tool definitions/code execution functions cannot be mixed with other content"
    for reference in references:
        if reference.get("tool_name") not in names:
            yield f"Tool reference '{reference.get('tool_name')}' not found in available tools"
