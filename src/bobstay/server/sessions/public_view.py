"""Sessions as others may see them: without what only their fold remembers."""

from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from bobstay.server.sessions.session_view import SessionView


def shown(value: Any) -> Any:
    """An answer in which the sessions are as others may see them."""
    if isinstance(value, SessionView):
        return value.shown()
    if not isinstance(value, Struct):
        return value
    changed: dict[str, Any] = {}
    for name in value.__struct_fields__:
        match getattr(value, name):
            case SessionView() as view:
                changed[name] = view.shown()
            case (SessionView(), *_) as views:
                changed[name] = tuple(view.shown() for view in views)
            case _:
                continue
    return replace(value, **changed) if changed else value
