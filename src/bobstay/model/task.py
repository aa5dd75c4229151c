"""One task of a session's task list."""

from typing import Any, Literal

from msgspec import Struct


class Task(Struct, frozen=True, omit_defaults=True):
    content: str
    status: Literal["pending", "in_progress", "completed"]
    active_form: str = ""
    id: str = ""
    """Given to a task that is created by itself; "" in a list that is only replaced as a whole."""
    description: str = ""
    owner: str = ""
    """The agent that works on it."""
    blocks: tuple[str, ...] = ()
    """Ids of the tasks that wait for this one."""
    blocked_by: tuple[str, ...] = ()
    metadata: dict[str, Any] = {}
