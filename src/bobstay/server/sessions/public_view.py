"""Public views of sessions, without the internal memory of their fold."""

from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from bobstay.server.sessions.session_view import SessionView


def to_public(value: Any) -> Any:
    """A response in which all session views are public."""
    if isinstance(value, SessionView):
        return value.without_memory()
    if not isinstance(value, Struct):
        return value
    changed: dict[str, Any] = {}
    for name in value.__struct_fields__:
        match getattr(value, name):
            case SessionView() as view:
                changed[name] = view.without_memory()
            case (SessionView(), *_) as views:
                changed[name] = tuple(view.without_memory() for view in views)
            case _:
                continue
    return replace(value, **changed) if changed else value
