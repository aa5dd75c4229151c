"""bobstay, an open coding agent: the public Python API (`from bobstay import query, Session, Tool, tool`).

Names are imported on first use, because the command line needs few of them at start.
"""

from bobstay.version import __version__

TYPE_CHECKING = False  # not from typing: that import alone would double the time of `bobstay --version`
if TYPE_CHECKING:
    from bobstay.assembly.build_session import StartError
    from bobstay.assembly.embed import Session, query
    from bobstay.engine.engine_ports import Answer
    from bobstay.model.event import InteractionOpened, RunDone, ToolDone, ToolStarted
    from bobstay.model.live_events import TextDelta
    from bobstay.tools.base import Args, Context, Outcome, Tool, ToolError
    from bobstay.tools.function_tool import tool

__all__ = [
    "Answer",
    "Args",
    "Context",
    "InteractionOpened",
    "Outcome",
    "RunDone",
    "Session",
    "StartError",
    "TextDelta",
    "Tool",
    "ToolDone",
    "ToolError",
    "ToolStarted",
    "__version__",
    "query",
    "tool",
]

_HOMES = {
    "StartError": "bobstay.assembly.build_session",
    "Session": "bobstay.assembly.embed",
    "query": "bobstay.assembly.embed",
    "Answer": "bobstay.engine.engine_ports",
    "InteractionOpened": "bobstay.model.event",
    "RunDone": "bobstay.model.event",
    "TextDelta": "bobstay.model.live_events",
    "ToolDone": "bobstay.model.event",
    "ToolStarted": "bobstay.model.event",
    "Args": "bobstay.tools.base",
    "Context": "bobstay.tools.base",
    "Outcome": "bobstay.tools.base",
    "Tool": "bobstay.tools.base",
    "ToolError": "bobstay.tools.base",
    "tool": "bobstay.tools.function_tool",
}


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module 'bobstay' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
