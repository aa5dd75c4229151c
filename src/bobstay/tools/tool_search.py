"""ToolSearch: loads the schemas of deferred tools that fit a query."""

from collections.abc import Callable
from typing import Annotated

from msgspec import Meta

from bobstay.permissions.access import Access
from bobstay.tools.base import Args, Claim, Context, Outcome, Tool
from bobstay.tools.deferred_tools import SEARCH_TOOL, DeferrableTool, search_tools

_MAX_RESULTS = 50


class ToolSearchArgs(Args, frozen=True):
    query: Annotated[
        str, Meta(description="Words to look for; +word must occur; select:A,B loads tools by their exact names")
    ]
    max_results: Annotated[int, Meta(description="How many tools to load at most", ge=1, le=_MAX_RESULTS)] = 5


class ToolSearch(Tool[ToolSearchArgs]):
    """The tools that were found are in `display["matches"]`, which `LoadedTools` folds from the log."""

    name = SEARCH_TOOL
    hint = "find and load further tools"
    description = (
        "Finds tools that are available but whose schemas are not loaded yet, and loads them: from the next step on "
        "you can call them like any other tool. Search by words of what you need (`slack send message`), demand a word "
        "(`+github issue`), or name tools (`select:mcp__github__create_issue`)."
    )
    args = ToolSearchArgs

    def __init__(self, find: Callable[[], tuple[DeferrableTool, ...]]) -> None:
        """`find` returns the tools that are deferred at the moment."""
        self._find = find

    def read_only(self, args: ToolSearchArgs, context: Context) -> bool:
        return True

    def access(self, args: ToolSearchArgs, context: Context) -> tuple[Access, ...]:
        return (Access("none"),)

    def claims(self, args: ToolSearchArgs, context: Context) -> tuple[Claim, ...]:
        return ()

    async def run(self, args: ToolSearchArgs, context: Context) -> Outcome:
        tools = self._find()
        names = search_tools(tools, args.query, max(1, min(args.max_results, _MAX_RESULTS)))[:_MAX_RESULTS]
        display = {"matches": names, "query": args.query[:500], "total_deferred_tools": len(tools)}
        if not names:
            return Outcome("No matching deferred tools found. Try other words, or fewer.", display=display)
        by_name = {tool.name: tool for tool in tools}
        lines = [f"{name}: {_first_line(by_name[name].description)}" for name in names]
        text = "Loaded; you can call them now:\n" + "\n".join(lines)
        return Outcome(text, display=display, loads=tuple(names))


def _first_line(text: str) -> str:
    line = text.strip().partition("\n")[0]
    return line if len(line) <= 200 else f"{line[:200]}..."
