"""What workflow modes leave behind: found in the logs, and handed to the next mode with its first words."""

import asyncio
from collections.abc import Iterable

from bobstay.model.message import Block, Text
from bobstay.model.session_events import ArtifactMade
from bobstay.server.console import Console
from bobstay.server.errors import ApiError
from bobstay.server.sessions.log_reader import LogReader

NAMES = {"research": "research note", "plan": "plan", "review": "review of the plan"}


async def left_by(console: Console, session_id: str) -> list[ArtifactMade]:
    """What a session left, oldest first."""
    view = console.registry.view(session_id)
    # The whole log is read: others need not wait for that.
    return await asyncio.to_thread(_made, console.registry.reader(view.id))


def _made(reader: LogReader) -> list[ArtifactMade]:
    return [envelope.event for envelope in reader.read() if isinstance(envelope.event, ArtifactMade)]


async def handed_over(console: Console, wanted: Iterable[tuple[str, str]]) -> tuple[Block, ...]:
    """The artifacts named by session and id, as words for the model.

    Raises:
        ApiError: one of them is not there.
    """
    blocks: list[Block] = []
    for session_id, id in wanted:
        found = next((one for one in await left_by(console, session_id) if one.id == id), None)
        if found is None:
            raise ApiError("not_found", f"Session {session_id[:80]} left no artifact {id[:80]}.")
        text = f"This is the {NAMES[found.kind]} of an earlier session, titled {found.title!r}:\n\n{found.text}"
        blocks.append(Text(text))
    return tuple(blocks)
